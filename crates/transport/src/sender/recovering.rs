//! What recovery decides of its sender: when the timer fires and for what, and what a timeout has changed for nothing.

use shallows_core::{Duration, Instant};

use super::Sender;
use super::interface::State;
use crate::config::Config;
use crate::recovery::{Clock, Expiry};

impl Sender {
    /// The timer fires while recovery is in charge. Says whether that was for another purpose than a retransmission timeout.
    #[cold]
    pub(super) fn on_timer_of_recovery(&mut self, config: &Config, now: Instant) -> bool {
        let (data, clock) = (self.outstanding(), self.clock(now));
        if matches!(self.state, State::SynDue | State::SynSent) {
            return false;
        }
        let Some(recovery) = &mut self.recovery else { return false };
        let expiry = recovery.on_timer(config, data, clock);
        self.adopt_deadline();
        if expiry == Expiry::Found {
            self.on_loss(config, now);
        }
        expiry != Expiry::Timeout
    }

    /// Where recovery decides on the timer, as it says; but a window of one segment that waits for it comes first.
    pub(super) fn adopt_deadline(&mut self) {
        if let Some(deadline) = self.recovery.as_ref().and_then(|recovery| recovery.deadline())
            && self.state != State::Held
        {
            self.deadline = deadline;
        }
    }

    pub(super) fn clock(&self, now: Instant) -> Clock {
        Clock { now, srtt: self.rtt.raw_srtt(), rto: self.rtt.rto() }
    }

    #[cold]
    pub(super) fn measured(&self) -> Duration {
        self.recovery.as_ref().map_or(Duration::MAX, |recovery| recovery.measured())
    }

    /// The last timeout was spurious: Linux, `tcp_undo_cwnd_reduction` and `tcp_reno_undo_cwnd`, takes back what it did to the
    /// window, where that is not larger already.
    pub(super) fn undo_timeout(&mut self) {
        if let Some(prior) = self.recovery.as_ref().and_then(|recovery| recovery.prior()) {
            self.window.undo(prior.cwnd, prior.ssthresh);
        }
    }
}
