//! Loss detection and recovery: the methods, and their common interface.
//!
//! A connection has recovery state only after data was missing; with RACK it has the state from the start. Sequence numbers point *after*
//! the last byte: the RFCs' HighData, recover and RecoveryPoint are one less.

mod course;
pub(crate) mod dialect;
mod frto;
mod fulltcp;
pub(crate) mod interface;
mod newreno;
mod prr;
pub mod rack;
mod sack;
mod sack1;
mod undo;

use fulltcp::FullTcp;
pub use interface::Method;
use interface::Phase;
pub(crate) use interface::{Allowance, Arrival, Clock, Expiry, Outcome, Outstanding, Prior};
use newreno::NewReno;
pub use prr::Bound;
pub(crate) use prr::{Delivery, Prr};
use rack::Rack;
use sack::Sack;
use sack1::Sack1;
use undo::Undo;

use crate::config::Config;
use crate::scoreboard::Range;
use shallows_core::{Duration, Instant};

/// Recovery state of one connection.
#[derive(Debug)]
pub(crate) enum Recovery {
    Sack(Sack),
    Rack(Box<Rack>),
    FullTcp(FullTcp),
    Sack1(Sack1),
    NewReno(NewReno),
}

impl Recovery {
    pub(crate) fn new(config: &Config) -> Self {
        match config.recovery {
            Method::Sack(bound) => Self::Sack(Sack::new(bound)),
            Method::Rack(bound) => Self::Rack(Box::new(Rack::new(bound))),
            Method::FullTcp => Self::FullTcp(FullTcp::default()),
            Method::Sack1 => Self::Sack1(Sack1::default()),
            Method::NewReno | Method::Reno => Self::NewReno(NewReno::default()),
        }
    }

    /// Returns whether no data is missing and none is being repaired.
    pub(crate) fn is_idle(&self) -> bool {
        match self {
            Self::Sack(sack) => sack.is_idle(),
            // RACK processes every segment.
            Self::Rack(_) => false,
            Self::FullTcp(fulltcp) => fulltcp.is_idle(),
            Self::Sack1(sack1) => sack1.is_idle(),
            Self::NewReno(newreno) => newreno.is_idle(),
        }
    }

    /// Returns whether fast recovery is in progress.
    pub(crate) fn is_fast(&self, data: Outstanding) -> bool {
        self.phase(data) == Phase::Recovery
    }

    /// Returns whether data outstanding at a timeout is still being retransmitted.
    pub(crate) fn is_after_timeout(&self, data: Outstanding) -> bool {
        self.phase(data) == Phase::Timeout
    }

    /// Returns the number of newly acknowledged bytes that count towards the growth of cwnd, at most `acked`. Call this before the
    /// acknowledgement is processed.
    pub(crate) fn growth(&self, config: &Config, data: Outstanding, acked: u64, slow_start: bool) -> u64 {
        let held = match self {
            Self::FullTcp(fulltcp) => fulltcp.is_partial(data),
            _ => self.is_fast(data),
        };
        if held {
            0
        } else if slow_start && self.is_after_timeout(data) {
            // RFC 3465 §2.3: L = 1 while slow start repairs a timeout.
            acked.min(config.mss.0)
        } else {
            acked
        }
    }

    /// Returns the estimated number of bytes in flight.
    pub(crate) fn pipe(&self, data: Outstanding) -> u64 {
        match self {
            Self::Sack(sack) => sack.pipe(),
            Self::Rack(rack) => rack.pipe(data),
            Self::FullTcp(fulltcp) => fulltcp.pipe(data),
            Self::Sack1(sack1) => sack1.pipe(data),
            Self::NewReno(newreno) => newreno.pipe(data),
        }
    }

    /// Returns FlightSize at a timeout (RFC 5681 Eq. 4) without the data that is known to have arrived. There can be much such data: while
    /// a hole remains, no cumulative acknowledgement covers the new data sent beyond it.
    pub(crate) fn flight_size(&self, data: Outstanding) -> u64 {
        let left = match self {
            Self::Sack(sack) => sack.sacked(data),
            Self::Rack(rack) => rack.sacked(),
            Self::FullTcp(fulltcp) => fulltcp.sacked(data),
            Self::Sack1(sack1) => sack1.sacked(data),
            Self::NewReno(newreno) => newreno.inflation(),
        };
        (data.next - data.una).saturating_sub(left)
    }

    /// Returns the number of new bytes that limited transmit has sent. FlightSize excludes them (RFC 5681 §3.2 step 2).
    pub(crate) fn limited(&self) -> u64 {
        match self {
            Self::Sack(sack) => sack.limited(),
            Self::Rack(rack) => rack.limited(),
            Self::FullTcp(_) | Self::Sack1(_) => 0,
            Self::NewReno(newreno) => newreno.limited(),
        }
    }

    /// Returns `cwnd` with the inflation of fast recovery.
    pub(crate) fn inflated(&self, config: &Config, cwnd: u64) -> u64 {
        match self {
            Self::Sack(_) | Self::Rack(_) | Self::FullTcp(_) | Self::Sack1(_) => cwnd,
            Self::NewReno(newreno) => newreno.inflated(config, cwnd),
        }
    }

    /// Processes an acknowledgement.
    pub(crate) fn on_ack(
        &mut self,
        config: &Config,
        data: Outstanding,
        arrival: Arrival<'_>,
        clock: Clock,
    ) -> Outcome {
        match self {
            Self::Rack(rack) => rack.on_ack(config, data, arrival, clock),
            Self::Sack(sack) => sack.on_ack(config, data, arrival.segment, arrival.acked),
            Self::FullTcp(fulltcp) => fulltcp.on_ack(config, data, arrival),
            Self::Sack1(sack1) => sack1.on_ack(config, data, arrival),
            Self::NewReno(newreno) => newreno.on_ack(config, data, arrival),
        }
    }

    /// Handles the retransmission timer. Returns whether to keep ssthresh: for most methods, `true` if the timer had already fired for the
    /// same segment.
    pub(crate) fn on_timeout(&mut self, config: &Config, data: Outstanding, now: Instant) -> bool {
        match self {
            Self::Rack(rack) => rack.on_timeout(config, data, now),
            Self::Sack(sack) => sack.on_timeout(config, data),
            Self::FullTcp(fulltcp) => fulltcp.on_timeout(data),
            Self::Sack1(sack1) => sack1.on_timeout(data),
            Self::NewReno(newreno) => newreno.on_timeout(data),
        }
    }

    /// Returns the bytes to send next, if any may be sent, and counts them as sent.
    pub(crate) fn next_segment(
        &mut self,
        config: &Config,
        data: Outstanding,
        allowance: Allowance,
        clock: Clock,
    ) -> Option<Range> {
        match self {
            Self::Rack(rack) => rack.next_segment(config, data, allowance, clock),
            Self::Sack(sack) => sack.next_segment(config, data, allowance),
            Self::FullTcp(fulltcp) => fulltcp.next_segment(config, data, allowance),
            Self::Sack1(sack1) => sack1.next_segment(config, data, allowance),
            Self::NewReno(newreno) => newreno.next_segment(config, data, allowance),
        }
    }

    /// Sets the retransmission timer to `at`.
    pub(crate) fn restart_timer(&mut self, at: Instant) {
        if let Self::Rack(rack) = self {
            rack.restart_timer(at);
        }
    }

    /// Saves cwnd and ssthresh before a recovery reduces them, to restore them if the recovery turns out to be spurious.
    pub(crate) fn remember(&mut self, prior: Prior) {
        if let Some(undo) = self.undo() {
            undo.remember(prior);
        }
    }

    /// Forbids the undo of the recovery's reduction, because the window was also reduced for another reason.
    pub(crate) fn forbid_undo(&mut self) {
        if let Some(undo) = self.undo() {
            undo.forbid();
        }
    }

    /// Removes and returns the window to restore after a spurious recovery; `None` if another reduction forbids the undo.
    pub(crate) fn take_prior(&mut self) -> Option<Prior> {
        self.undo().and_then(Undo::take_prior)
    }

    fn undo(&mut self) -> Option<&mut Undo> {
        match self {
            Self::Sack(sack) => Some(&mut sack.course.undo),
            Self::Rack(rack) => Some(&mut rack.course.undo),
            _ => None,
        }
    }

    /// Returns the round-trip time that the last acknowledgement measured, if segments are timed; otherwise `Duration::MAX`.
    pub(crate) fn measured(&self) -> Duration {
        match self {
            Self::Rack(rack) => rack.measured(),
            _ => Duration::MAX,
        }
    }

    /// Returns the time of the sender's timer, if recovery owns the timer.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Rack(rack) => Some(rack.deadline()),
            _ => None,
        }
    }

    /// Handles the sender's timer.
    pub(crate) fn on_timer(&mut self, config: &Config, data: Outstanding, clock: Clock) -> Expiry {
        match self {
            Self::Rack(rack) => rack.on_timer(config, data, clock),
            _ => Expiry::Timeout,
        }
    }

    /// Moves the end of the last segment of new data to `next`, because the segment now carries a FIN.
    pub(crate) fn extend(&mut self, next: u64) {
        if let Self::Rack(rack) = self {
            rack.extend(next);
        }
    }

    fn phase(&self, data: Outstanding) -> Phase {
        match self {
            Self::Rack(rack) => rack.phase(),
            Self::Sack(sack) => sack.phase(),
            Self::FullTcp(fulltcp) => fulltcp.phase(data),
            Self::Sack1(sack1) => sack1.phase(data),
            Self::NewReno(newreno) => newreno.phase(),
        }
    }
}
