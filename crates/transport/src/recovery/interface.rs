//! What a sender tells the repair of losses, and what follows from it.

use shallows_core::packet::AckSegment;
use shallows_core::{Bytes, Duration, Instant};

use super::prr::Bound;
use crate::congestion::Congestion;
use crate::scoreboard::Range;

/// How losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// With selective acknowledgements (RFC 6675), under proportional rate reduction (RFC 6937) if a bound is named.
    Sack(Option<Bound>),
    /// With them and by time, with tail loss probes (RACK-TLP, RFC 8985), likewise.
    Rack(Option<Bound>),
    /// With them, as ns-2's `Agent/TCP/FullTcp/Sack`.
    FullTcp,
    /// With them, as ns-2's `Agent/TCP/Sack1`.
    Sack1,
    /// Without them, until everything is repaired that was outstanding when the loss was found (RFC 6582).
    NewReno,
    /// Without them, until the first acknowledgement of new data (RFC 5681 §3.2).
    Reno,
}

impl Method {
    /// Whether receivers report what they hold above a gap.
    pub fn uses_sack(self) -> bool {
        !matches!(self, Self::NewReno | Self::Reno)
    }

    /// Whether it knows when each segment was sent, and so has its state from the start.
    pub(crate) fn keeps_times(self) -> bool {
        matches!(self, Self::Rack(_))
    }
}

/// What is sent but not acknowledged: bytes from `una` up to `next`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outstanding {
    pub(crate) una: u64,
    pub(crate) next: u64,
    /// `next` when cwnd was last cut.
    pub(crate) cut_at: u64,
    /// What that was for.
    pub(crate) cut_for: Option<Congestion>,
}

impl Outstanding {
    pub(super) fn cut_for_ecn(self) -> bool {
        self.cut_for == Some(Congestion::Ecn)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// No loss is being repaired, though something may be missing.
    #[default]
    Open,
    /// Fast recovery (RFC 5681 §3.2, RFC 6675 §5).
    Recovery,
    /// After a timeout (RFC 5681 §3.1, RFC 6675 §5.1): what was outstanding counts as lost.
    Timeout,
}

/// An acknowledgement, as recovery sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    pub(crate) segment: &'a AckSegment,
    /// Bytes that it newly acknowledges.
    pub(crate) acked: u64,
    /// Whether it is a duplicate by RFC 5681 §2.
    pub(crate) duplicate: bool,
}

/// What follows from an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// Fast recovery begins.
    pub(crate) begins: bool,
    /// A probe has repaired a loss (RFC 8985 §7.4).
    pub(crate) repaired: bool,
    /// What was found lost was not (RFC 5682, RFC 3708).
    pub(crate) spurious: bool,
    /// It ends, and nothing beyond this may be sent at once.
    pub(crate) burst_limit: Option<u64>,
    /// The retransmission timer goes on as it is.
    pub(crate) keeps_timer: bool,
}

/// What the sender's clock says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) now: Instant,
    /// The smoothed round-trip time; `Duration::MAX` before the first sample.
    pub(crate) srtt: Duration,
    pub(crate) rto: Duration,
}

/// The window before a reduction, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prior {
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
}

/// What the sender's timer was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// The retransmission timeout.
    Timeout,
    /// A loss that is found by time: fast recovery begins.
    Found,
    /// Something that recovery does by itself.
    Nothing,
}

/// How much may be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    pub(crate) cwnd: u64,
    /// Length of the next segment of unsent data; zero if there is none or the receiver has no room for it.
    pub(crate) unsent: u64,
}

/// What was sent from `start` on, up to `next`.
pub(super) fn at_most_a_segment(start: u64, next: u64, mss: Bytes) -> Range {
    Range { start, end: next.min(start + mss.0) }
}

pub(super) fn non_empty(range: Range) -> Option<Range> {
    (range.start < range.end).then_some(range)
}
