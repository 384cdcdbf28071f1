//! Reductions of a sender's window because of losses, ECN echoes and timeouts, at most once per window of data.

use shallows_core::{Bytes, Instant};

use super::Sender;
use super::interface::ConnectionState;
use crate::config::{Config, EceReaction};
use crate::congestion::{Congestion, CongestionControl, EcnMode};

impl Sender {
    /// Returns whether an acknowledgement with ECE cuts the window, given its `number` and the new bytes that it acknowledges (`acked`).
    #[inline]
    pub(super) fn heeds_ece(&self, config: &Config, number: u64, acked: u64) -> bool {
        let after_timeout = self.last_cut == Some(Congestion::Timeout);
        config.recovery.dialect().ece.cuts(number >= self.reduce_from, acked > 0, after_timeout)
    }

    /// Handles a detected loss: begins fast recovery.
    #[cold]
    pub(super) fn on_loss(&mut self, config: &Config, now: Instant) {
        self.stats.fast_recoveries += 1;
        if config.recovery.dialect().fast_retransmit_restarts_timer {
            self.deadline = now + self.rtt.rto();
            self.timed_end = 0;
        }
        self.end_reduction();
        self.remember_window();
        self.respond_to_loss(config);
    }

    /// Reduces the window after a detected loss, or after a loss that a probe has repaired.
    pub(super) fn respond_to_loss(&mut self, config: &Config) {
        self.end_reduction();
        // RFC 3168 §6.1.2: a window is reduced once, for ECN or for losses. With DCTCP a loss has its conventional
        // effect in addition to earlier marks (RFC 8257 §3.5).
        if self.ecn == EcnMode::Classic && self.una < self.reduce_from {
            if config.recovery.dialect().loss_replaces_cut_for_ecn {
                self.note_cut(Congestion::Loss);
            }
            return;
        }
        // RFC 5681 §3.2 step 2.
        let limited = self.recovery.as_ref().map_or(0, |recovery| recovery.limited());
        self.reduce(Congestion::Loss, Bytes(self.next - self.una - limited));
    }

    /// Reduces the window after an ECE on an acknowledgement of `acked` new bytes.
    #[cold]
    pub(super) fn on_ece(&mut self, config: &Config, now: Instant, acked: u64) {
        self.stats.ecn_reductions += 1;
        if self.ecn == EcnMode::Classic && self.cwnd() <= config.mss {
            // RFC 3168 §6.1.2: a window of one segment cannot be reduced. Instead the timer restarts, and new data
            // waits for it.
            self.state = ConnectionState::Held;
            self.deadline = now + self.rtt.rto();
        }
        self.forbid_undo();
        let prior = self.cwnd().0;
        self.reduce(Congestion::Ecn, Bytes(self.next - self.una));
        if config.ece_reaction == EceReaction::Prr {
            self.begin_reduction(config, prior, acked);
        }
    }

    /// Calls the congestion control to reduce the window, and records the reduction.
    pub(super) fn reduce(&mut self, congestion: Congestion, flight_size: Bytes) {
        self.congestion.on_congestion(&mut self.window, congestion, flight_size);
        self.note_cut(congestion);
        self.cwr_due = self.ecn != EcnMode::Off;
    }

    pub(super) fn note_cut(&mut self, congestion: Congestion) {
        // An acknowledgement of data sent after the reduction has a number above the current `next`.
        self.reduce_from = self.next + 1;
        if congestion != Congestion::RepeatedTimeout {
            self.last_cut = Some(congestion);
        }
    }
}
