//! Interface between a sender and its loss recovery.

use shallows_core::packet::AckSegment;
use shallows_core::{Bytes, Duration, Instant};

use super::prr::Bound;
use crate::congestion::Congestion;
use crate::scoreboard::Range;

/// Method of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Selective acknowledgements (RFC 6675), with proportional rate reduction (RFC 6937) if a bound is given.
    Sack(Option<Bound>),
    /// Selective acknowledgements and time, with tail loss probes (RACK-TLP, RFC 8985), and rate reduction if a bound
    /// is given.
    Rack(Option<Bound>),
    /// Selective acknowledgements as in ns-2's `Agent/TCP/FullTcp/Sack`.
    FullTcp,
    /// Selective acknowledgements as in ns-2's `Agent/TCP/Sack1`.
    Sack1,
    /// Recovery without SACK, until all data outstanding at the detection is acknowledged (RFC 6582).
    NewReno,
    /// Recovery without SACK, until the first acknowledgement of new data (RFC 5681 §3.2).
    Reno,
}

impl Method {
    /// Returns whether receivers report data received above a gap (selective acknowledgements).
    pub fn uses_sack(self) -> bool {
        !matches!(self, Self::NewReno | Self::Reno)
    }

    /// Returns whether the method records the time of each segment. If so, its state must exist from the start of the connection.
    pub(crate) fn keeps_times(self) -> bool {
        matches!(self, Self::Rack(_))
    }
}

/// Outstanding data: bytes from `una` up to `next`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outstanding {
    pub(crate) una: u64,
    pub(crate) next: u64,
    /// Value of `next` at the last cut of cwnd.
    pub(crate) cut_at: u64,
    /// Cause of the last cut of cwnd.
    pub(crate) cut_for: Option<Congestion>,
}

impl Outstanding {
    pub(super) fn cut_for_ecn(self) -> bool {
        self.cut_for == Some(Congestion::Ecn)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// No repair is in progress, though data may be missing.
    #[default]
    Open,
    /// Fast recovery (RFC 5681 §3.2, RFC 6675 §5).
    Recovery,
    /// Repair after a timeout (RFC 5681 §3.1, RFC 6675 §5.1): all outstanding data counts as lost.
    Timeout,
}

/// An acknowledgement, with the data that recovery needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    pub(crate) segment: &'a AckSegment,
    /// Newly acknowledged bytes.
    pub(crate) acked: u64,
    /// Whether the acknowledgement is a duplicate by RFC 5681 §2.
    pub(crate) duplicate: bool,
}

/// Consequences of an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// Whether fast recovery begins.
    pub(crate) begins: bool,
    /// Whether a probe has repaired a loss, so that cwnd must react (RFC 8985 §7.4).
    pub(crate) repaired: bool,
    /// Whether a detected loss was spurious (RFC 5682, RFC 3708).
    pub(crate) spurious: bool,
    /// Upper limit of cwnd that prevents a burst; set when recovery ends (RFC 6582 §3.2 step 3).
    pub(crate) burst_limit: Option<u64>,
    /// Whether the retransmission timer continues unchanged.
    pub(crate) keeps_timer: bool,
}

/// Current time, smoothed round-trip time and retransmission timeout of the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) now: Instant,
    /// Smoothed round-trip time; `Duration::MAX` before the first sample.
    pub(crate) srtt: Duration,
    pub(crate) rto: Duration,
}

/// cwnd and ssthresh before a reduction, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prior {
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
}

/// Reason for which the sender's timer fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// The retransmission timeout.
    Timeout,
    /// A loss was detected by time, and fast recovery begins.
    Found,
    /// An event that recovery handles itself; the sender has nothing to do.
    Nothing,
}

/// Limits on transmissions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    pub(crate) cwnd: u64,
    /// Length of the next segment of unsent data; zero if there is none, or if the receiver has no room for it.
    pub(crate) unsent: u64,
}

/// Returns the range from `start` to `next`, limited to one segment.
pub(super) fn at_most_a_segment(start: u64, next: u64, mss: Bytes) -> Range {
    Range { start, end: next.min(start + mss.0) }
}

pub(super) fn non_empty(range: Range) -> Option<Range> {
    (range.start < range.end).then_some(range)
}
