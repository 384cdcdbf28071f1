//! Interface between a port and its markers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::packet::Header;
use shallows_core::{Bytes, Duration, Instant, Rate};

use crate::buffer::{Pool, SharedBuffer};
use crate::queue::{QueueState, Reading};

/// Verdict of a marker on a packet. Its bits combine the verdicts of several markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict(u8);

impl Verdict {
    /// Verdict to leave the packet unchanged.
    pub const PASS: Self = Self(0);
    /// Verdict to set CE if the packet is ECN-capable, and otherwise to drop it (RFC 3168 §5).
    pub const MARK: Self = Self(1);
    /// Verdict to set the explicit incast notification (Pulser §III-A).
    pub const INCAST: Self = Self(2);
    /// Verdict to drop the packet, ECN-capable or not.
    pub const DROP: Self = Self(4);

    /// Returns whether to mark the packet.
    pub fn marks(self) -> bool {
        self.0 & Self::MARK.0 != 0
    }

    /// Returns whether to set the explicit incast notification.
    pub fn notifies_incast(self) -> bool {
        self.0 & Self::INCAST.0 != 0
    }

    /// Returns whether to drop the packet.
    pub fn drops(self) -> bool {
        self.0 & Self::DROP.0 != 0
    }

    /// Combines this verdict with `other`.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn mark_if(condition: bool) -> Self {
        if condition { Self::MARK } else { Self::PASS }
    }
}

/// Read-only view of one egress port for its markers.
///
/// A backlog counts the waiting bytes. It excludes the packet on the wire and the arriving or departing packet.
#[derive(Clone, Copy, Debug)]
pub struct PortView<'a> {
    /// Rate of the link.
    pub rate: Rate,
    /// Queue of the packet.
    pub queue: usize,
    /// All queues of the port.
    pub queues: &'a [QueueState],
    /// Bytes waiting at the port.
    pub port_backlog: Bytes,
    /// Memory of the switch, in which `account` identifies the packet's queue. Markers look up the queue only when they need it.
    pub buffer: &'a SharedBuffer,
    /// Number of the packet's queue in `buffer`.
    pub account: usize,
    /// Time at which the link becomes free; in the past if the port is idle.
    pub busy_until: Instant,
    /// Waiting time of the departing packet; zero for an arriving packet.
    pub sojourn: Duration,
}

impl PortView<'_> {
    /// Returns the bytes waiting in the packet's queue.
    #[inline]
    pub fn queue_backlog(&self) -> Bytes {
        self.queues[self.queue].backlog
    }

    /// Returns the pool that the queue shares.
    #[inline]
    pub fn pool(&self) -> &Pool {
        self.buffer.pool_of(self.account)
    }
}

/// A model that marks packets or drops them early. It reads no clock and does not change the packet itself.
pub trait Aqm {
    /// Returns the events that the port must pass to the marker. The port may skip all other events.
    fn hears(&self) -> Hears;

    /// Handles the arrival of a packet, before the buffer admits or refuses it.
    fn on_arrival(&mut self, _now: Instant, _header: &Header, _port: &PortView<'_>) {}

    /// Returns the verdict on a packet that the buffer admits and that is about to join its queue.
    fn on_enqueue(&mut self, _now: Instant, _header: &Header, _port: &PortView<'_>) -> Verdict {
        Verdict::PASS
    }

    /// Returns the verdict on a packet that has left its queue and is about to enter the link.
    fn on_dequeue(&mut self, _now: Instant, _header: &Header, _port: &PortView<'_>) -> Verdict {
        Verdict::PASS
    }

    /// Handles the end of a turn of `port.queue`: the queue has used up its quantum or is empty. The last packet of the turn is on the
    /// wire until `port.busy_until`.
    fn on_turn(&mut self, _now: Instant, _port: &PortView<'_>) {}

    /// Calls `tell` with each value of the marker's state that a trace records.
    fn observe(&self, _port: &PortView<'_>, _tell: &mut dyn FnMut(Reading)) {}
}

/// Action on a packet that a marker has chosen for a congestion signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Marks the packet, or drops it if it is not ECN-capable.
    #[default]
    Mark,
    /// Drops the packet.
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

/// Set of the events that one marker, or all markers of a port, need. Each kind of event is one bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hears(u8);

impl Hears {
    /// Calls of [`Aqm::on_enqueue`].
    pub const ENQUEUES: Self = Self(1);
    /// Calls of [`Aqm::on_dequeue`].
    pub const DEQUEUES: Self = Self(2);
    /// Calls of [`Aqm::on_arrival`].
    pub const ARRIVALS: Self = Self(4);
    /// Calls of [`Aqm::on_turn`].
    pub const TURNS: Self = Self(8);

    /// Returns the union of this set and `other`.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether this set contains all events of `other`.
    #[inline]
    pub fn includes(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
