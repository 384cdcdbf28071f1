//! Tail loss probes: a segment that asks for an acknowledgement before the retransmission timer fires (RFC 8985 §7).

use shallows_core::{Duration, Instant};

use super::super::interface::Clock;
use super::interface::Config;
use crate::scoreboard::Range;

/// The variables of RFC 8985 §5.4 and the probe timer.
#[derive(Debug)]
pub(super) struct Tlp {
    /// *TLP.end_seq*: SND.NXT when the probe went that is under way; zero for none.
    end: u64,
    /// *TLP.is_retrans*.
    is_retransmission: bool,
    /// The round-trip time was measured since the last probe.
    measured: bool,
    /// When the probe timer fires; `Instant::MAX` while it is off.
    pub(super) at: Instant,
    /// A probe is to be sent.
    pub(super) due: bool,
}

impl Tlp {
    pub(super) fn new() -> Self {
        Self { end: 0, is_retransmission: false, measured: true, at: Instant::MAX, due: false }
    }

    /// §7.1: a recovery begins.
    pub(super) fn reset(&mut self) {
        (self.end, self.is_retransmission, self.due, self.at) = (0, false, false, Instant::MAX);
    }

    /// New data is acknowledged: that is what a probe asks for, and gives a round-trip time.
    pub(super) fn on_new_data(&mut self) {
        self.measured = true;
        self.due = false;
    }

    /// §7.2: start the timer anew, with this many segments outstanding. Where §7.3 would not let a probe go, it stays off.
    pub(super) fn schedule(&mut self, config: &Config, clock: Clock, segments: usize) {
        self.at = Instant::MAX;
        if segments == 0 || self.end > 0 || !self.measured || clock.srtt == Duration::MAX {
            return;
        }
        let delay = if segments == 1 { config.max_ack_delay } else { Duration::ZERO };
        self.at = clock.now + clock.srtt * 2 + delay.max(config.timer_slack);
    }

    /// §7.3: the probe goes, and SND.NXT is `next`.
    pub(super) fn on_probe(&mut self, next: u64, is_retransmission: bool) {
        (self.end, self.is_retransmission) = (next, is_retransmission);
        self.measured = false;
    }

    /// §7.4.2: an acknowledgement of everything below `number`, which may have `reported` something to have come again. Says
    /// whether the probe has repaired a loss, to which the window shall react.
    pub(super) fn on_ack(&mut self, number: u64, bare_duplicate: bool, reported: Option<Range>) -> bool {
        if self.end == 0 || number < self.end {
            return false;
        }
        // Cases 1 and 2: the original has arrived, too.
        let needless = bare_duplicate || reported.is_some_and(|range| range.end == self.end);
        let repaired = self.is_retransmission && !needless && number > self.end;
        if repaired || needless || !self.is_retransmission {
            self.end = 0;
        }
        repaired
    }
}
