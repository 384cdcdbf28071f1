//! Loss detection and recovery: which kinds there are, and what they share.
//!
//! A connection has this state only once something was missing. Sequence numbers are of the byte *after*: what the RFCs
//! call HighData, recover or RecoveryPoint is one less.

mod fulltcp;
mod newreno;
mod prr;
mod sack;
mod sack1;

use fulltcp::FullTcp;
use newreno::NewReno;
pub use prr::Bound;
use sack::Sack;
use sack1::Sack1;
use shallows_core::packet::Segment;

use crate::config::Config;
use crate::congestion::Congestion;
use crate::scoreboard::Range;

/// How losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// With selective acknowledgements (RFC 6675), under proportional rate reduction (RFC 6937) if a bound is named.
    Sack(Option<Bound>),
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

    /// Whether it is one of ns-2's agents with selective acknowledgements. Their timer starts anew with a fast retransmit, and
    /// any acknowledgement of new data ends its back-off; holes that are filled leave the timed segment as it is; a timeout
    /// leaves ssthresh after a cut for ECN, and never for being repeated; the first ECE after a timeout cuts.
    pub(crate) fn is_ns2(self) -> bool {
        matches!(self, Self::FullTcp | Self::Sack1)
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
    fn cut_for_ecn(self) -> bool {
        self.cut_for == Some(Congestion::Ecn)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
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
    pub(crate) segment: &'a Segment,
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
    /// It ends, and nothing beyond this may be sent at once.
    pub(crate) burst_limit: Option<u64>,
    /// The retransmission timer goes on as it is.
    pub(crate) keeps_timer: bool,
}

/// How much may be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    pub(crate) cwnd: u64,
    /// Length of the next segment of unsent data; zero if there is none or the receiver has no room for it.
    pub(crate) unsent: u64,
}

/// The state of one connection.
#[derive(Debug)]
pub(crate) enum Recovery {
    Sack(Sack),
    FullTcp(FullTcp),
    Sack1(Sack1),
    NewReno(NewReno),
}

impl Recovery {
    pub(crate) fn new(config: &Config) -> Self {
        match config.recovery {
            Method::Sack(bound) => Self::Sack(Sack::new(bound)),
            Method::FullTcp => Self::FullTcp(FullTcp::new()),
            Method::Sack1 => Self::Sack1(Sack1::new()),
            Method::NewReno | Method::Reno => Self::NewReno(NewReno::default()),
        }
    }

    /// Whether nothing is missing and nothing is being repaired.
    pub(crate) fn is_idle(&self) -> bool {
        match self {
            Self::Sack(sack) => sack.is_idle(),
            Self::FullTcp(fulltcp) => fulltcp.is_idle(),
            Self::Sack1(sack1) => sack1.is_idle(),
            Self::NewReno(newreno) => newreno.is_idle(),
        }
    }

    /// Whether this is fast recovery.
    pub(crate) fn is_fast(&self, data: Outstanding) -> bool {
        self.phase(data) == Phase::Recovery
    }

    /// Whether what a timeout found outstanding is still being sent again.
    pub(crate) fn is_after_timeout(&self, data: Outstanding) -> bool {
        self.phase(data) == Phase::Timeout
    }

    /// For how many of the bytes that an acknowledgement newly covers cwnd may grow; before it is taken in.
    pub(crate) fn growth(&self, config: &Config, data: Outstanding, acked: u64, slow_start: bool) -> u64 {
        let held = match self {
            Self::FullTcp(fulltcp) => fulltcp.is_partial(data),
            _ => self.is_fast(data),
        };
        if held {
            0
        } else if slow_start && self.is_after_timeout(data) {
            // RFC 3465 §2.3: L = 1 while slow start repairs what a timeout found outstanding.
            acked.min(config.mss.0)
        } else {
            acked
        }
    }

    /// The estimate of how many bytes are in the network.
    pub(crate) fn pipe(&self, data: Outstanding) -> u64 {
        match self {
            Self::Sack(sack) => sack.pipe(),
            Self::FullTcp(fulltcp) => fulltcp.pipe(data),
            Self::Sack1(sack1) => sack1.pipe(data),
            Self::NewReno(newreno) => newreno.pipe(data),
        }
    }

    /// FlightSize as a timeout finds it (RFC 5681 Eq. 4), less what is known to have left the network: while a hole stands,
    /// new data goes on beyond it, however long that is not covered by an acknowledgement number.
    pub(crate) fn flight_size(&self, data: Outstanding) -> u64 {
        let left = match self {
            Self::Sack(sack) => sack.sacked(data),
            Self::FullTcp(fulltcp) => fulltcp.sacked(data),
            Self::Sack1(sack1) => sack1.sacked(data),
            Self::NewReno(newreno) => newreno.inflation(),
        };
        (data.next - data.una).saturating_sub(left)
    }

    /// New data that limited transmit sent, which FlightSize shall not hold (RFC 5681 §3.2 step 2).
    pub(crate) fn limited(&self) -> u64 {
        match self {
            Self::Sack(sack) => sack.limited(),
            Self::FullTcp(_) | Self::Sack1(_) => 0,
            Self::NewReno(newreno) => newreno.limited(),
        }
    }

    /// `cwnd` as fast recovery has inflated it.
    pub(crate) fn inflated(&self, config: &Config, cwnd: u64) -> u64 {
        match self {
            Self::Sack(_) | Self::FullTcp(_) | Self::Sack1(_) => cwnd,
            Self::NewReno(newreno) => newreno.inflated(config, cwnd),
        }
    }

    /// Take in an acknowledgement.
    pub(crate) fn on_ack(&mut self, config: &Config, data: Outstanding, arrival: Arrival<'_>) -> Outcome {
        match self {
            Self::Sack(sack) => {
                let begins = sack.on_ack(config, data, arrival.segment, arrival.acked);
                Outcome { begins, ..Outcome::default() }
            }
            Self::FullTcp(fulltcp) => fulltcp.on_ack(config, data, arrival),
            Self::Sack1(sack1) => sack1.on_ack(config, data, arrival),
            Self::NewReno(newreno) => newreno.on_ack(config, data, arrival),
        }
    }

    /// The retransmission timer fired. Says whether ssthresh stays: where it did so before for the same segment.
    pub(crate) fn on_timeout(&mut self, config: &Config, data: Outstanding) -> bool {
        match self {
            Self::Sack(sack) => sack.on_timeout(config, data),
            Self::FullTcp(fulltcp) => fulltcp.on_timeout(data),
            Self::Sack1(sack1) => sack1.on_timeout(data),
            Self::NewReno(newreno) => newreno.on_timeout(data),
        }
    }

    /// The bytes to send next, if any may go, and count them as sent.
    pub(crate) fn next_segment(
        &mut self,
        config: &Config,
        data: Outstanding,
        allowance: Allowance,
    ) -> Option<Range> {
        match self {
            Self::Sack(sack) => sack.next_segment(config, data, allowance),
            Self::FullTcp(fulltcp) => fulltcp.next_segment(config, data, allowance),
            Self::Sack1(sack1) => sack1.next_segment(config, data, allowance),
            Self::NewReno(newreno) => newreno.next_segment(config, data, allowance),
        }
    }

    fn phase(&self, data: Outstanding) -> Phase {
        match self {
            Self::Sack(sack) => sack.phase(),
            Self::FullTcp(fulltcp) => fulltcp.phase(data),
            Self::Sack1(sack1) => sack1.phase(data),
            Self::NewReno(newreno) => newreno.phase(),
        }
    }
}

/// What was sent from `start` on, up to `next`.
fn at_most_a_segment(start: u64, next: u64, config: &Config) -> Range {
    Range { start, end: next.min(start + config.mss.0) }
}

fn non_empty(range: Range) -> Option<Range> {
    (range.start < range.end).then_some(range)
}
