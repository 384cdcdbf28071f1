//! Choice between executing switches event by event and in time windows.
//!
//! If a window has many events, it is faster to run one switch after the other through the window ([`crate::network`]). If a window has few
//! events, it is faster to handle single events. Both give the same results, so a run can change between them at any time.

use shallows_core::{Duration, Instant};

/// Way to run switches: event by event or in time windows. Affects only the speed of a run. If a link has no delay, or if the network has
/// lossless classes, switches always run event by event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// Switches run event by event or in time windows, depending on the recent number of events per window.
    #[default]
    Adaptive,
    /// Switches always run event by event.
    Events,
    /// Switches always run in time windows. Windows of partitions are long if possible.
    Windows,
}

/// Choice between event-by-event and window-by-window execution, from recent numbers of events.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    execution: Execution,
    /// Whether the first check of the number of events has been made.
    is_begun: bool,
    /// Number of events between two checks: [`FIRST_PERIOD`] at first, doubled at each check until the run tries window-by-window execution or
    /// the number is [`PERIOD`].
    period: u64,
    /// Total number of events at the last check. `visits` and `at` are the total number of visits and the simulated time at that check.
    events: u64,
    visits: u64,
    at: Instant,
    /// Number of checks until the run tries window-by-window execution again. `patience` is the value that `wait` gets after the next
    /// failed try.
    wait: u32,
    patience: u32,
}

/// Maximum number of events between two checks of the number of events per time window. After the first try of window-by-window execution, the
/// number is always this.
const PERIOD: u64 = 1 << 14;

/// Number of events before the first check. It is lower than `PERIOD`, so that the many partitions of a large network run only briefly event
/// by event.
const FIRST_PERIOD: u64 = 1 << 8;

/// Number of events per time window above which a run tries window-by-window execution.
const WORTH_A_TRY: u64 = 4;

/// Number of events per two visits below which switches run slower in time windows than event by event. A visit is the execution of one
/// group of ports, or of all hosts together, through one time window or, for a group with two turns, through a part of it.
const WORTH_TWO_VISITS: u64 = 3;

/// Maximum number of checks between a failed try of window-by-window execution and the next try.
const MOST_PATIENCE: u32 = 1 << 7;

impl Pace {
    pub(super) fn new(execution: Execution, is_possible: bool) -> Self {
        let execution = if is_possible { execution } else { Execution::Events };
        Self {
            execution,
            is_begun: false,
            period: FIRST_PERIOD,
            events: 0,
            visits: 0,
            at: Instant::ZERO,
            wait: 0,
            patience: 1,
        }
    }

    /// Records the total numbers of events and visits, and the simulated time, at a check.
    pub(super) fn note(&mut self, events: u64, visits: u64, now: Instant) {
        *self = Self { is_begun: true, events, visits, at: now, ..*self };
    }

    /// Returns the total number of events at which the next check is due.
    pub(super) fn next(&self) -> u64 {
        match self.execution {
            Execution::Adaptive => self.events + self.period,
            Execution::Events => u64::MAX,
            Execution::Windows if self.is_begun => u64::MAX,
            Execution::Windows => 0,
        }
    }

    /// Returns whether switches must change to running in time windows. `events` is the total number of events at time `now`; `window` is
    /// the length of a time window.
    pub(super) fn tries_windows(&mut self, events: u64, now: Instant, window: Duration) -> bool {
        if self.execution == Execution::Windows {
            return true;
        }
        let windows = (now - self.at).0 / window.0 + 1;
        if events - self.events <= WORTH_A_TRY * windows || self.wait > 0 {
            self.wait = self.wait.saturating_sub(1);
            self.period = (2 * self.period).min(PERIOD);
            return false;
        }
        self.period = PERIOD;
        true
    }

    /// Returns whether switches must change to running event by event. `events` and `visits` are total numbers since the start of the run.
    pub(super) fn leaves_windows(&mut self, events: u64, visits: u64) -> bool {
        // Partitions can begin to run in windows without a try.
        self.period = PERIOD;
        let leaves = 2 * (events - self.events) < WORTH_TWO_VISITS * (visits - self.visits);
        if leaves {
            (self.wait, self.patience) = (self.patience, (2 * self.patience).min(MOST_PATIENCE));
        } else {
            self.patience = 1;
        }
        leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration(1_000);

    #[test]
    fn windows_are_tried_where_much_happens_in_one_and_left_where_little_happens_at_a_visit() {
        let mut pace = Pace::new(Execution::Adaptive, true);
        assert!(pace.tries_windows(PERIOD, Instant(1), WINDOW));
        assert_eq!(pace.next(), PERIOD);
        // At 4 events per window, a period of 16,384 events has 4,096 windows. The periods of this test have 5,001 and 3,501 windows.
        assert!(!pace.tries_windows(PERIOD, Instant(5_000_000), WINDOW));
        assert!(pace.tries_windows(PERIOD, Instant(3_500_000), WINDOW));
        // At 1.5 events per visit, a period has 10,922.7 visits.
        assert!(!pace.leaves_windows(PERIOD, 10_922));
        assert!(pace.leaves_windows(PERIOD, 10_923));
    }

    #[test]
    fn the_first_checks_come_soon() {
        let mut pace = Pace::new(Execution::Adaptive, true);
        let mut events = 0;
        for period in [256, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 16_384] {
            events += period;
            assert_eq!(pace.next(), events);
            assert!(!pace.tries_windows(events, Instant(u64::MAX / 2), WINDOW));
            pace.note(events, 0, Instant(u64::MAX / 4));
        }
        let mut pace = Pace::new(Execution::Adaptive, true);
        assert!(pace.tries_windows(256, Instant(1), WINDOW));
        pace.note(256, 9, Instant(1));
        assert_eq!(pace.next(), 256 + 16_384, "windows have begun");
        let mut pace = Pace::new(Execution::Adaptive, true);
        pace.note(0, 0, Instant::ZERO);
        assert!(!pace.leaves_windows(256, 1));
        pace.note(256, 1, Instant(1));
        assert_eq!(pace.next(), 256 + 16_384, "windows began without a try");
    }

    #[test]
    fn each_try_in_vain_doubles_the_time_to_the_next() {
        let mut pace = Pace::new(Execution::Adaptive, true);
        let looks = |pace: &mut Pace| (1..).find(|_| pace.tries_windows(PERIOD, Instant(1), WINDOW)).unwrap();
        assert_eq!(looks(&mut pace), 1);
        for waits in [2, 3, 5, 9] {
            assert!(pace.leaves_windows(PERIOD, PERIOD));
            assert_eq!(looks(&mut pace), waits);
        }
        assert!(!pace.leaves_windows(PERIOD, 1) && pace.leaves_windows(PERIOD, PERIOD));
        assert_eq!(looks(&mut pace), 2, "a success restores it");
        for _ in 0..20 {
            assert!(pace.leaves_windows(PERIOD, PERIOD));
        }
        assert_eq!(looks(&mut pace), 129, "at most 128 checks are left out");
    }

    #[test]
    fn what_is_forced_stays_and_what_cannot_be_is_not_forced() {
        assert_eq!(Pace::new(Execution::Events, true).next(), u64::MAX);
        let mut windows = Pace::new(Execution::Windows, true);
        assert!(windows.next() == 0 && windows.tries_windows(0, Instant::ZERO, WINDOW));
        assert_eq!(Pace { is_begun: true, ..windows }.next(), u64::MAX);
        assert_eq!(Pace::new(Execution::Windows, false).next(), u64::MAX);
    }

    #[test]
    fn each_check_counts_from_the_check_before() {
        let mut pace = Pace::new(Execution::Adaptive, true);
        assert!(pace.tries_windows(1_000, Instant(1), WINDOW));
        pace.note(1_000, 50, Instant(500_000));
        let next = 1_000 + PERIOD;
        assert_eq!(pace.next(), next);
        // 4,096 windows have 4 events each; 4,095 windows have 4.001.
        assert!(!pace.tries_windows(next, Instant(500_000 + 4_095_000), WINDOW));
        assert!(pace.tries_windows(next, Instant(500_000 + 4_094_999), WINDOW));
        assert!(!pace.leaves_windows(next, 50 + 10_922));
        assert!(pace.leaves_windows(next, 50 + 10_923));
        let mut forced = Pace::new(Execution::Windows, true);
        forced.note(0, 0, Instant::ZERO);
        assert_eq!(forced.next(), u64::MAX, "no check is due after the first");
    }
}
