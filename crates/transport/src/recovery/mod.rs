//! Loss detection and recovery: which kinds there are, and what they share.
//!
//! A connection has this state only once something was missing. Sequence numbers are of the byte *after*: what the RFCs
//! call HighData, recover or RecoveryPoint is one less.

mod fulltcp;
pub(crate) mod interface;
mod newreno;
mod prr;
mod sack;
mod sack1;

use fulltcp::FullTcp;
pub use interface::Method;
use interface::Phase;
pub(crate) use interface::{Allowance, Arrival, Outcome, Outstanding};
use newreno::NewReno;
pub use prr::Bound;
pub(crate) use prr::Prr;
use sack::Sack;
use sack1::Sack1;

use crate::config::Config;
use crate::scoreboard::Range;

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
            Method::FullTcp => Self::FullTcp(FullTcp::default()),
            Method::Sack1 => Self::Sack1(Sack1::default()),
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
