//! Loss detection and recovery: which kinds there are, and what they share.
//!
//! A connection has this state only once something was missing. Sequence numbers are of the byte *after*: what the RFCs
//! call HighData, recover or RecoveryPoint is one less.

mod newreno;
mod prr;
mod sack;

use newreno::NewReno;
pub use prr::Bound;
pub(crate) use prr::Prr;
use sack::Sack;
use shallows_core::packet::Segment;

use crate::config::Config;
use crate::scoreboard::Range;

/// How losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// With selective acknowledgements (RFC 6675), under proportional rate reduction (RFC 6937) if a bound is named.
    Sack(Option<Bound>),
    /// Without them, until everything is repaired that was outstanding when the loss was found (RFC 6582).
    NewReno,
    /// Without them, until the first acknowledgement of new data (RFC 5681 §3.2).
    Reno,
}

impl Method {
    /// Whether receivers report what they hold above a gap.
    pub fn uses_sack(self) -> bool {
        matches!(self, Self::Sack(_))
    }
}

/// What is sent but not acknowledged: bytes from `una` up to `next`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outstanding {
    pub(crate) una: u64,
    pub(crate) next: u64,
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
    NewReno(NewReno),
}

impl Recovery {
    pub(crate) fn new(config: &Config) -> Self {
        match config.recovery {
            Method::Sack(bound) => Self::Sack(Sack::new(bound)),
            Method::NewReno | Method::Reno => Self::NewReno(NewReno::default()),
        }
    }

    /// Whether nothing is missing and nothing is being repaired.
    pub(crate) fn is_idle(&self) -> bool {
        match self {
            Self::Sack(sack) => sack.is_idle(),
            Self::NewReno(newreno) => newreno.is_idle(),
        }
    }

    /// Whether this is fast recovery, in which cwnd does not grow.
    pub(crate) fn is_fast(&self) -> bool {
        self.phase() == Phase::Recovery
    }

    /// Whether what a timeout found outstanding is still being sent again.
    pub(crate) fn is_after_timeout(&self) -> bool {
        self.phase() == Phase::Timeout
    }

    /// The estimate of how many bytes are in the network.
    pub(crate) fn pipe(&self, data: Outstanding) -> u64 {
        match self {
            Self::Sack(sack) => sack.pipe(),
            Self::NewReno(newreno) => newreno.pipe(data),
        }
    }

    /// FlightSize as a timeout finds it (RFC 5681 Eq. 4), less what is known to have left the network: while a hole stands,
    /// new data goes on beyond it, however long that is not covered by an acknowledgement number.
    pub(crate) fn flight_size(&self, data: Outstanding) -> u64 {
        let left = match self {
            Self::Sack(sack) => sack.sacked(data),
            Self::NewReno(newreno) => newreno.inflation(),
        };
        (data.next - data.una).saturating_sub(left)
    }

    /// New data that limited transmit sent, which FlightSize shall not hold (RFC 5681 §3.2 step 2).
    pub(crate) fn limited(&self) -> u64 {
        match self {
            Self::Sack(sack) => sack.limited(),
            Self::NewReno(newreno) => newreno.limited(),
        }
    }

    /// `cwnd` as fast recovery has inflated it.
    pub(crate) fn inflated(&self, config: &Config, cwnd: u64) -> u64 {
        match self {
            Self::Sack(_) => cwnd,
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
            Self::NewReno(newreno) => newreno.on_ack(config, data, arrival),
        }
    }

    /// The retransmission timer fired. Says whether it did so before for the same segment.
    pub(crate) fn on_timeout(&mut self, config: &Config, data: Outstanding) -> bool {
        match self {
            Self::Sack(sack) => sack.on_timeout(config, data),
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
            Self::NewReno(newreno) => newreno.next_segment(config, data, allowance),
        }
    }

    fn phase(&self) -> Phase {
        match self {
            Self::Sack(sack) => sack.phase(),
            Self::NewReno(newreno) => newreno.phase(),
        }
    }
}

fn non_empty(range: Range) -> Option<Range> {
    (range.start < range.end).then_some(range)
}
