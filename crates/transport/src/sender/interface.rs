//! Types of a sender's interface: segments, statistics and phases.

use shallows_core::packet::{DataSegment, Ecn};

/// A segment to send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The segment.
    pub segment: DataSegment,
    /// Whether the segment's data was sent before.
    pub retransmission: bool,
    /// ECN codepoint of the packet.
    pub ecn: Ecn,
}

/// Statistics of a sender so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Number of times that the retransmission timer fired.
    pub timeouts: u32,
    /// Segments that contained data already sent.
    pub retransmits: u32,
    /// Entries into fast recovery.
    pub fast_recoveries: u32,
    /// Window reductions because of ECN.
    pub ecn_reductions: u32,
}

/// Current activity of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No repair: new data leaves as the window allows.
    Open,
    /// Repair of a loss detected by duplicate acknowledgements.
    Recovery,
    /// Retransmission of data outstanding at a timeout.
    Timeout,
    /// Brake: the window stays small during an incast (Pulser §III-B).
    Braking,
}

/// State of a connection's opening and of its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionState {
    /// A SYN must be sent.
    SynDue,
    /// The SYN was sent and has not been answered yet.
    SynSent,
    /// The connection is open.
    Open,
    /// The connection is open, but new data waits for the timer (RFC 3168 §6.1.2).
    Held,
    /// The connection is open, and cwnd falls gradually over a round trip.
    Reducing,
}

/// Whether an acknowledgement may grow cwnd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    Allowed,
    Frozen,
}

/// State of the FIN that ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fin {
    No,
    /// The last segment will carry a FIN that `written` does not include yet.
    Due,
    /// `written` counts the FIN as its last byte.
    Counted,
}
