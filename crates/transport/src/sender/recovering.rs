//! What recovery decides of its sender: when the timer fires and for what, and what a reduction has changed for nothing.

use shallows_core::{Duration, Instant};

use super::Sender;
use super::interface::State;
use crate::config::Config;
use crate::recovery::{Clock, Expiry, Prior};

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

    /// The window is about to be reduced for what recovery has found.
    pub(super) fn remember_window(&mut self) {
        let prior = Prior { cwnd: self.cwnd().0, ssthresh: self.window.ssthresh().0 };
        if let Some(recovery) = &mut self.recovery {
            recovery.remember(prior);
        }
    }

    /// Linux, `tcp_fastretrans_alert`: an ECE prohibits undoing, the reduction is required.
    #[cold]
    pub(super) fn forbid_undo(&mut self) {
        if let Some(recovery) = &mut self.recovery {
            recovery.forbid_undo();
        }
    }

    /// What recovery has found was not so: Linux, `tcp_undo_cwnd_reduction` and `tcp_reno_undo_cwnd`, takes back what that did to
    /// the window, where it is not larger already, and tells the receiver of no reduction (`tcp_ecn_withdraw_cwr`).
    pub(super) fn undo_reduction(&mut self) {
        if let Some(prior) = self.recovery.as_mut().and_then(|recovery| recovery.take_prior()) {
            self.window.undo(prior.cwnd, prior.ssthresh);
            self.cwr_due = false;
            self.reduce_from = self.una;
        }
    }
}
