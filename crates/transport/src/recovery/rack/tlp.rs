//! Tail loss probes: segments that elicit an acknowledgement before the retransmission timer fires (RFC 8985 §7).

use shallows_core::{Duration, Instant};

use super::super::interface::Clock;
use super::interface::Config;
use crate::scoreboard::Range;

/// Variables of RFC 8985 §5.4, and the probe timer.
#[derive(Debug)]
pub(super) struct Tlp {
    /// *TLP.end_seq*: SND.NXT when the current probe was sent; zero without a probe.
    end: u64,
    /// Whether the current probe is a retransmission (*TLP.is_retrans*).
    is_retransmission: bool,
    /// Whether the round-trip time was measured since the last probe.
    measured: bool,
    /// Time at which the probe timer fires; `Instant::MAX` while it is off.
    pub(super) at: Instant,
    /// Whether a probe must be sent.
    pub(super) due: bool,
}

impl Tlp {
    pub(super) fn new() -> Self {
        Self { end: 0, is_retransmission: false, measured: true, at: Instant::MAX, due: false }
    }

    /// Resets the state when a recovery begins (§7.1).
    pub(super) fn reset(&mut self) {
        (self.end, self.is_retransmission, self.due, self.at) = (0, false, false, Instant::MAX);
    }

    /// Handles an acknowledgement of new data, which gives a round-trip time and makes a probe unnecessary.
    pub(super) fn on_new_data(&mut self) {
        self.measured = true;
        self.due = false;
    }

    /// Restarts the timer with this many segments outstanding (§7.2). The timer stays off if §7.3 forbids a probe.
    pub(super) fn schedule(&mut self, config: &Config, clock: Clock, segments: usize) {
        self.at = Instant::MAX;
        if segments == 0 || self.end > 0 || !self.measured || clock.srtt == Duration::MAX {
            return;
        }
        let delay = if segments == 1 { config.max_ack_delay } else { Duration::ZERO };
        self.at = clock.now + clock.srtt * 2 + delay.max(config.timer_slack);
    }

    /// Records that the probe is sent while SND.NXT is at `next` (§7.3).
    pub(super) fn on_probe(&mut self, next: u64, is_retransmission: bool) {
        (self.end, self.is_retransmission) = (next, is_retransmission);
        self.measured = false;
    }

    /// Processes an acknowledgement of all data below `number` (§7.4.2). `bare_duplicate` states whether it has neither new data nor SACK
    /// blocks; `reported` is the duplicate range that it reports. Returns whether the probe has repaired a loss, so that the window must be
    /// reduced.
    pub(super) fn on_ack(&mut self, number: u64, bare_duplicate: bool, reported: Option<Range>) -> bool {
        if self.end == 0 || number < self.end {
            return false;
        }
        // Cases 1 and 2: the original has also arrived.
        let needless = bare_duplicate || reported.is_some_and(|range| range.end == self.end);
        let repaired = self.is_retransmission && !needless && number > self.end;
        if repaired || needless || !self.is_retransmission {
            self.end = 0;
        }
        repaired
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Bytes;

    use super::*;
    use crate::congestion;

    const RTT: Duration = Duration::from_micros(100);
    const CLOCK: Clock = Clock { now: Instant::ZERO, srtt: RTT, rto: Duration::from_secs(1) };

    fn schedules(tlp: &mut Tlp, segments: usize) -> bool {
        let config = crate::Config::new(Bytes(1_000), congestion::Config::Reno(Default::default())).rack;
        tlp.schedule(&config, CLOCK, segments);
        tlp.at != Instant::MAX
    }

    #[test]
    fn no_probe_without_data_while_one_is_under_way_or_before_another_round_trip_time() {
        // RFC 8985 §7.2 and §7.3, one condition after the other.
        let mut tlp = Tlp::new();
        assert!(!schedules(&mut tlp, 0));
        assert!(schedules(&mut tlp, 2));
        tlp.on_probe(2_000, true);
        tlp.on_new_data();
        assert!(!schedules(&mut tlp, 2), "the probe is under way");
        tlp.on_probe(2_000, false);
        assert!(!tlp.on_ack(2_000, false, None));
        assert!(!schedules(&mut tlp, 2), "no sample since");
        tlp.on_new_data();
        assert!(schedules(&mut tlp, 2));
    }

    #[test]
    fn a_recovery_takes_back_a_probe_its_timer_and_its_episode() {
        // RFC 8985 §7.1.
        let mut tlp = Tlp::new();
        tlp.on_probe(2_000, true);
        (tlp.at, tlp.due) = (Instant::ZERO, true);
        tlp.reset();
        assert!(tlp.at == Instant::MAX && !tlp.due);
        assert!(!tlp.on_ack(3_000, false, None), "no probe has repaired anything");
    }

    #[test]
    fn new_data_makes_a_probe_that_is_due_needless() {
        let mut tlp = Tlp::new();
        tlp.due = true;
        tlp.on_new_data();
        assert!(!tlp.due);
    }
}
