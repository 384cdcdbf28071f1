//! What a port asks of its markers, what it shows them, and what they answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::packet::Header;
use shallows_core::{Bytes, Duration, Instant, Rate};

use crate::buffer::{Pool, SharedBuffer};
use crate::queue::{QueueState, Reading};

/// What a marker decides about one packet; bits, so that the verdicts of several markers add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict(u8);

impl Verdict {
    /// Leave it alone.
    pub const PASS: Self = Self(0);
    /// Set CE if it is ECN-capable; otherwise drop it (RFC 3168 §5).
    pub const MARK: Self = Self(1);
    /// Set the explicit incast notification (Pulser §III-A).
    pub const INCAST: Self = Self(2);
    /// Drop it, ECN-capable or not.
    pub const DROP: Self = Self(4);

    /// Whether the packet is to be marked.
    pub fn marks(self) -> bool {
        self.0 & Self::MARK.0 != 0
    }

    /// Whether the packet is to carry the explicit incast notification.
    pub fn notifies_incast(self) -> bool {
        self.0 & Self::INCAST.0 != 0
    }

    /// Whether the packet is to be dropped.
    pub fn drops(self) -> bool {
        self.0 & Self::DROP.0 != 0
    }

    /// This verdict and `other` together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn mark_if(condition: bool) -> Self {
        if condition { Self::MARK } else { Self::PASS }
    }
}

/// One egress port as its markers see it.
///
/// A backlog is the bytes that wait: neither the packet on the wire nor the arriving or departing one is in it.
#[derive(Clone, Copy, Debug)]
pub struct PortView<'a> {
    /// Rate of the link.
    pub rate: Rate,
    /// The queue of the packet.
    pub queue: usize,
    /// All queues of the port.
    pub queues: &'a [QueueState],
    /// Bytes waiting at the port.
    pub port_backlog: Bytes,
    /// The memory of the switch, and the number in it of the packet's queue: only those who ask pay for the look-up.
    pub buffer: &'a SharedBuffer,
    /// That number.
    pub account: usize,
    /// When the link is free: in the past if the port idles.
    pub busy_until: Instant,
    /// How long the departing packet has waited; zero for one that arrives.
    pub sojourn: Duration,
}

impl PortView<'_> {
    /// Bytes waiting in the queue of the packet.
    #[inline]
    pub fn queue_backlog(&self) -> Bytes {
        self.queues[self.queue].backlog
    }

    /// The pool that the queue shares.
    #[inline]
    pub fn pool(&self) -> &Pool {
        self.buffer.pool_of(self.account)
    }
}

/// Marks packets, or drops them early. Reads no clock and never touches the packet.
pub trait Aqm {
    /// What it must hear of.
    fn hears(&self) -> Hears;

    /// A packet has arrived, also one that the buffer is about to refuse.
    fn on_arrival(&mut self, _now: Instant, _header: &Header, _port: &PortView<'_>) {}

    /// A packet that the buffer admits is about to join its queue.
    fn on_enqueue(&mut self, _now: Instant, _header: &Header, _port: &PortView<'_>) -> Verdict {
        Verdict::PASS
    }

    /// A packet has left its queue and is about to go on the link.
    fn on_dequeue(&mut self, _now: Instant, _header: &Header, _port: &PortView<'_>) -> Verdict {
        Verdict::PASS
    }

    /// The turn of `port.queue` in a round is over: its quantum is used up, or it is empty. Its last packet is on the
    /// wire until `port.busy_until`.
    fn on_turn(&mut self, _now: Instant, _port: &PortView<'_>) {}

    /// Tell what traces should show.
    fn observe(&self, _port: &PortView<'_>, _tell: &mut dyn FnMut(Reading)) {}
}

/// What a marker does to a packet that it has chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It is marked, or dropped if it is not ECN-capable.
    #[default]
    Mark,
    /// It is dropped.
    Drop,
}

impl Action {
    pub(super) fn verdict(self) -> Verdict {
        match self {
            Self::Mark => Verdict::MARK,
            Self::Drop => Verdict::DROP,
        }
    }
}

/// What a marker must hear of, or the markers of a port together; bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hears(u8);

impl Hears {
    /// [`Aqm::on_enqueue`].
    pub const ENQUEUES: Self = Self(1);
    /// [`Aqm::on_dequeue`].
    pub const DEQUEUES: Self = Self(2);
    /// [`Aqm::on_arrival`].
    pub const ARRIVALS: Self = Self(4);

    /// These and those of `other`.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` are among these.
    #[inline]
    pub fn includes(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
