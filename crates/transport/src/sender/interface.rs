//! What a sender is asked for and says of itself.

use shallows_core::packet::{DataSegment, Ecn};

/// A segment to be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The segment.
    pub segment: DataSegment,
    /// Whether its data was sent before.
    pub retransmission: bool,
    /// Its ECN codepoint.
    pub ecn: Ecn,
}

/// What has happened to a sender so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// Segments sent that held data sent before.
    pub retransmits: u32,
    /// Entries into fast recovery.
    pub fast_recoveries: u32,
    /// Windows cut because of ECN.
    pub ecn_reductions: u32,
}

/// What a sender is busy with, apart from sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing: new data goes out as the window allows.
    Open,
    /// Repairing a loss that duplicate acknowledgements revealed.
    Recovery,
    /// Sending again what a timeout found outstanding.
    Timeout,
    /// Holding its window down during an incast (Pulser §III-B).
    Braking,
}

/// What the connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A SYN is to be sent.
    SynDue,
    /// It was sent, and not answered yet.
    SynSent,
    /// For nothing; it is open.
    Open,
    /// It is open, but new data waits for the timer (RFC 3168 §6.1.2).
    Held,
    /// It is open, and cwnd comes down over a round trip.
    Reducing,
}

/// Whether an acknowledgement may grow cwnd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    Allowed,
    Frozen,
}

/// Whether the last segment ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fin {
    No,
    /// It shall, with a FIN that is not part of `written` yet.
    Due,
    /// `written` counts the FIN as its last byte.
    Counted,
}
