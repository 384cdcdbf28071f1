//! Effects of loss recovery on the sender: timers, and the undo of spurious reductions.

use shallows_core::{Duration, Instant};

use super::Sender;
use super::interface::ConnectionState;
use crate::config::Config;
use crate::recovery::{Clock, Expiry, Prior};

impl Sender {
    /// Handles the timer if recovery owns it. Returns `false` if the caller must handle a retransmission timeout: the timer fired for such
    /// a timeout, or recovery does not own the timer.
    #[cold]
    pub(super) fn on_timer_of_recovery(&mut self, config: &Config, now: Instant) -> bool {
        let (data, clock) = (self.outstanding(), self.clock(now));
        if matches!(self.state, ConnectionState::SynDue | ConnectionState::SynSent) {
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

    /// Copies the deadline from recovery if recovery owns the timer, except in [`ConnectionState::Held`], in which the deadline
    /// delays new data.
    pub(super) fn adopt_deadline(&mut self) {
        if let Some(deadline) = self.recovery.as_ref().and_then(|recovery| recovery.deadline())
            && self.state != ConnectionState::Held
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

    /// Saves the window before recovery reduces it.
    pub(super) fn remember_window(&mut self) {
        let prior = Prior { cwnd: self.cwnd().0, ssthresh: self.window.ssthresh().0 };
        if let Some(recovery) = &mut self.recovery {
            recovery.remember(prior);
        }
    }

    /// Forbids the undo after an ECE, because the ECE requires the reduction (Linux, `tcp_fastretrans_alert`).
    #[cold]
    pub(super) fn forbid_undo(&mut self) {
        if let Some(recovery) = &mut self.recovery {
            recovery.forbid_undo();
        }
    }

    /// Undoes a reduction that turned out to be spurious: raises cwnd and ssthresh to their earlier values if these are larger, and cancels
    /// CWR (Linux, `tcp_undo_cwnd_reduction`, `tcp_reno_undo_cwnd` and `tcp_ecn_withdraw_cwr`).
    pub(super) fn undo_reduction(&mut self) {
        if let Some(prior) = self.recovery.as_mut().and_then(|recovery| recovery.take_prior()) {
            self.window.undo(prior.cwnd, prior.ssthresh);
            self.cwr_due = false;
            self.reduce_from = self.una;
        }
    }
}
