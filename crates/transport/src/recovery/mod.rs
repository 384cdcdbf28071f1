//! Loss detection and recovery: which kinds there are, and what they share.
//!
//! A connection has this state only once something was missing. Sequence numbers are of the byte *after*: what the RFCs
//! call HighData, recover or RecoveryPoint is one less.

pub(crate) mod interface;
mod newreno;
mod prr;
mod sack;

pub use interface::Method;
use interface::Phase;
pub(crate) use interface::{Allowance, Arrival, Outcome, Outstanding};
use newreno::NewReno;
pub use prr::Bound;
use sack::Sack;

use crate::config::Config;
use crate::scoreboard::Range;

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
