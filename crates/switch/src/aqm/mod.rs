//! Active queue management: what marks packets, or drops them early.
//!
//! A port has a list of markers and asks every one, since its state must advance; the port carries out the
//! verdict and counts it. To add one: a file here, a variant of [`Marker`] and of [`Config`], a row in
//! `docs/models.md`.

mod red;
mod threshold;

pub use red::Red;
use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Instant, Rate};
pub use threshold::Threshold;

/// What a marker decides about one packet; bits, so that the verdicts of several markers add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict(u8);

impl Verdict {
    /// Leave it alone.
    pub const PASS: Self = Self(0);
    /// Set CE if it is ECN-capable; otherwise drop it (RFC 3168 §5).
    pub const MARK: Self = Self(1);

    /// Whether the packet is to be marked.
    pub fn marks(self) -> bool {
        self.0 & Self::MARK.0 != 0
    }

    /// This verdict and `other` together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn mark_if(condition: bool) -> Self {
        if condition { Self::MARK } else { Self::PASS }
    }
}

/// One egress port as its markers see it.
///
/// A backlog is the bytes that wait: neither the packet on the wire nor the arriving or departing one is in it.
#[derive(Clone, Copy, Debug)]
pub struct PortView {
    /// Rate of the link.
    pub rate: Rate,
    /// Bytes waiting in the queue of the packet.
    pub queue_backlog: Bytes,
    /// Bytes waiting at the port.
    pub port_backlog: Bytes,
    /// Bytes held in the pool that the queue shares.
    pub pool_used: Bytes,
}

/// Marks packets, or drops them early. Reads no clock and never touches the packet.
pub trait Aqm {
    /// A packet that the buffer admits is about to join its queue.
    fn on_enqueue(&mut self, now: Instant, header: &Header, port: &PortView) -> Verdict;

    /// A packet is about to leave its queue for the link.
    fn on_dequeue(&mut self, now: Instant, header: &Header, port: &PortView) -> Verdict;
}

/// Whose backlog a marker compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// That of the packet's queue.
    #[default]
    Queue,
    /// That of all queues of the port.
    Port,
    /// What the pool holds that the queue shares.
    Pool,
}

/// When a marker looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Point {
    /// As the packet joins its queue.
    #[default]
    Enqueue,
    /// As it leaves for the link.
    Dequeue,
}

/// What a marker measures: whose backlog, when, and whether the packet itself counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauge {
    /// Whose backlog.
    pub scope: Scope,
    /// When.
    pub point: Point,
    /// Whether the arriving or departing packet is added to the backlog.
    pub counts_packet: bool,
}

impl Gauge {
    #[inline]
    fn read(&self, header: &Header, port: &PortView) -> Bytes {
        let backlog = match self.scope {
            Scope::Queue => port.queue_backlog,
            Scope::Port => port.port_backlog,
            Scope::Pool => port.pool_used,
        };
        if self.counts_packet { backlog + header.size() } else { backlog }
    }
}

/// A marker before it is placed at a port.
#[derive(Clone, Debug)]
pub enum Config {
    /// Mark all above one threshold: DCTCP's setting, Kmin = Kmax.
    Threshold {
        /// What it measures.
        gauge: Gauge,
        /// *K*.
        threshold: Bytes,
    },
    /// Mark with a probability that grows from Kmin to Kmax.
    Red {
        /// What it measures.
        gauge: Gauge,
        /// Up to here nothing is marked.
        kmin: Bytes,
        /// From here on everything is.
        kmax: Bytes,
        /// Probability just below Kmax.
        pmax: f64,
    },
}

impl Config {
    /// A marker for one port, which draws from `stream`.
    pub fn build(&self, stream: Stream) -> Marker {
        match *self {
            Self::Threshold { gauge, threshold } => Marker::Threshold(Threshold::new(gauge, threshold)),
            Self::Red { gauge, kmin, kmax, pmax } => Marker::Red(Red::new(gauge, kmin, kmax, pmax, stream)),
        }
    }
}

/// Any marker, dispatched without a pointer: ports hold them side by side.
#[derive(Clone, Debug)]
pub enum Marker {
    /// See [`Threshold`].
    Threshold(Threshold),
    /// See [`Red`].
    Red(Red),
}

impl Aqm for Marker {
    #[inline]
    fn on_enqueue(&mut self, now: Instant, header: &Header, port: &PortView) -> Verdict {
        match self {
            Self::Threshold(marker) => marker.on_enqueue(now, header, port),
            Self::Red(marker) => marker.on_enqueue(now, header, port),
        }
    }

    #[inline]
    fn on_dequeue(&mut self, now: Instant, header: &Header, port: &PortView) -> Verdict {
        match self {
            Self::Threshold(marker) => marker.on_dequeue(now, header, port),
            Self::Red(marker) => marker.on_dequeue(now, header, port),
        }
    }
}
