//! Choice between an undivided network and one partition per thread, for runs that adapt their number of threads.
//!
//! On one thread, an undivided network is faster than its partitions in turn. A run therefore begins undivided, and restarts with
//! partitions if other cores are free. If one thread then proves to be as fast as several, the run restarts undivided. Results
//! do not depend on these restarts.

use std::time;

use shallows_core::{Duration, Instant};

use crate::run::free_cores::FreeCores;
use crate::run::stretch::Clock;

/// Restarts of one run.
#[derive(Debug)]
pub(crate) struct Restarts {
    /// Maximum number of threads besides the first.
    others: u32,
    /// Mean simulated time between two exchanges of packets by partitions.
    window: Duration,
    /// Measurement under way; `None` between two measurements.
    pub(crate) cores: Option<FreeCores>,
    /// Time of the next measurement, unless one is under way.
    next: Clock,
    /// Time from the end of a measurement to the next one.
    wait: time::Duration,
    /// Number of further restarts.
    left: u32,
    /// Share of the run that all restarts together have discarded.
    pub(crate) discarded: f64,
    /// Time of the last restart, or of the start of the run.
    begun: Clock,
    /// Number of events and simulated time at the last call of [`Self::events_per_exchange`].
    seen: (u64, Instant),
}

/// Share of a run that has been simulated, by two estimates from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    /// Share of completed flows, or of the time to `stop.at`.
    pub(crate) completed: f64,
    /// Share of flows that have arrived, or of the time to `stop.at`; 1 if neither total is known.
    pub(crate) arrived: f64,
}

/// Maximum number of restarts.
const MOST: u32 = 3;

/// Largest share of a run that restarts may discard.
const MOST_DISCARDED: f64 = 0.1;

/// Time from a start for which the progress of a run is estimated by its completed flows; after this time, by the flows that have arrived. A
/// run whose flows all arrive at the beginning can restart in this time, and not when it is almost complete.
const EARLY: time::Duration = time::Duration::from_millis(100);

/// Largest age of a measurement that counts. The load of the machine may have changed since an older one.
const OLDEST: time::Duration = time::Duration::from_millis(500);

/// Time from the first measurement of the free cores to the second. Each measurement doubles this time.
const FIRST_WAIT: time::Duration = time::Duration::from_millis(80);

impl Restarts {
    /// Returns the restarts of a run on up to `threads` threads. `window` is the mean simulated time between two exchanges of packets by
    /// its partitions.
    pub(crate) fn new(threads: u32, window: Duration) -> Self {
        let now = Clock::now();
        Self {
            others: threads - 1,
            window,
            cores: None,
            next: now,
            wait: FIRST_WAIT,
            left: MOST,
            discarded: 0.0,
            begun: now,
            seen: (0, Instant::ZERO),
        }
    }

    /// Returns the restarts of a run that begins no measurement for an hour.
    #[cfg(test)]
    pub(crate) fn idle(threads: u32, window: Duration) -> Self {
        let next = Clock::now() + time::Duration::from_secs(3_600);
        Self { next, ..Self::new(threads, window) }
    }

    /// Returns whether a run that is done to this share may restart.
    pub(crate) fn may_restart(&self, done: Done) -> bool {
        self.left > 0 && self.discarded + self.share(done) <= MOST_DISCARDED
    }

    fn share(&self, done: Done) -> f64 {
        if self.begun.elapsed() < EARLY { done.completed } else { done.arrived }
    }

    /// Returns the number of threads with which a run that is done to this share must restart; `None` if it continues. `is_divided` is
    /// whether the run has partitions now. Begins a measurement of the free cores if one is due.
    pub(crate) fn decide(&mut self, done: Done, is_divided: bool) -> Option<u32> {
        let free = self.measured().filter(|&free| is_divided == (free == 0))?;
        self.left -= 1;
        self.discarded += self.share(done);
        self.begun = Clock::now();
        self.seen = (0, Instant::ZERO);
        Some(1 + free)
    }

    /// Returns the mean number of events between two exchanges of packets since the last call. `events` is the number of events up to the time `now`.
    pub(crate) fn events_per_exchange(&mut self, events: u64, now: Instant) -> f64 {
        let (before, begun) = std::mem::replace(&mut self.seen, (events, now));
        (events - before) as f64 * self.window.as_secs_f64() / (now - begun).as_secs_f64()
    }

    /// Returns the number of free cores if a measurement has ended since the last call. Begins a measurement if one is due.
    fn measured(&mut self) -> Option<u32> {
        let now = Clock::now();
        match self.cores.take() {
            None => {
                self.cores = (now >= self.next).then(|| FreeCores::measure(self.others));
                None
            }
            Some(cores) if cores.is_over() => {
                self.next = now + self.wait;
                self.wait *= 2;
                (cores.begun.elapsed() <= OLDEST).then(|| cores.count())
            }
            cores => {
                self.cores = cores;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle() -> Restarts {
        Restarts::idle(4, Duration(10))
    }

    fn done(share: f64) -> Done {
        Done { completed: share, arrived: share }
    }

    /// Returns the number of threads with which a run restarts after 1 % of it, if this number of cores is free.
    fn decide(restarts: &mut Restarts, free: u32, is_divided: bool) -> Option<u32> {
        restarts.cores = Some(FreeCores::known(free));
        restarts.decide(done(0.01), is_divided)
    }

    #[test]
    fn a_run_restarts_with_partitions_for_free_cores_and_undivided_without_them() {
        for (free, undivided, divided) in [(0, None, Some(1)), (1, Some(2), None), (3, Some(4), None)] {
            assert_eq!(decide(&mut idle(), free, false), undivided, "{free} free cores");
            assert_eq!(decide(&mut idle(), free, true), divided, "{free} free cores");
        }
    }

    #[test]
    fn a_run_restarts_at_most_three_times_and_repeats_at_most_a_tenth() {
        let mut restarts = idle();
        for is_divided in [false, true, false] {
            assert!(restarts.may_restart(done(0.0)));
            decide(&mut restarts, u32::from(!is_divided), is_divided);
        }
        assert!(!restarts.may_restart(done(0.0)));
        let mut restarts = idle();
        assert!(restarts.may_restart(done(0.1)) && !restarts.may_restart(done(0.101)));
        decide(&mut restarts, 1, false);
        assert!(restarts.may_restart(done(0.089)) && !restarts.may_restart(done(0.091)));
    }

    #[test]
    fn after_a_tenth_of_a_second_flows_that_have_arrived_count() {
        let mut restarts = idle();
        let (completed, arrived) =
            (Done { completed: 0.2, arrived: 0.0 }, Done { completed: 0.0, arrived: 1.0 });
        restarts.begun = Clock::now() + EARLY;
        assert!(restarts.may_restart(arrived) && !restarts.may_restart(completed));
        restarts.begun = Clock::now().checked_sub(EARLY).expect("the clock is later");
        assert!(!restarts.may_restart(arrived) && restarts.may_restart(completed));
        decide(&mut restarts, 1, false);
        assert!(restarts.may_restart(arrived), "the run has just restarted");
    }

    #[test]
    fn times_between_measurements_double() {
        let mut restarts = idle();
        for wait in [80, 160, 320] {
            let before = Clock::now();
            restarts.next = before;
            assert_eq!(decide(&mut restarts, 0, false), None);
            let next = restarts.next - before;
            assert!(next >= time::Duration::from_millis(wait), "{next:?}");
            assert_eq!(restarts.wait, time::Duration::from_millis(2 * wait));
        }
        let mut restarts = idle();
        assert_eq!(restarts.decide(done(0.01), false), None);
        assert!(restarts.cores.is_none(), "no measurement is due");
        assert_eq!(restarts.others, 3, "one thread runs on the core of the calling thread");
        restarts.next = Clock::now();
        restarts.decide(done(0.01), false);
        assert!(restarts.cores.is_some());
    }

    #[test]
    fn the_events_of_a_window_are_counted_since_the_last_call() {
        let mut restarts = idle();
        let mut per_window = |events, now| restarts.events_per_exchange(events, Instant(now));
        assert_eq!([per_window(1_000, 100), per_window(1_050, 200)].map(f64::round), [100.0, 5.0]);
        decide(&mut restarts, 1, false);
        assert_eq!(restarts.events_per_exchange(60, Instant(300)).round(), 2.0, "the run has restarted");
    }

    #[test]
    fn an_old_measurement_does_not_count() {
        let mut restarts = idle();
        let mut cores = FreeCores::known(1);
        cores.begun = Clock::now().checked_sub(OLDEST).expect("the clock is later");
        restarts.cores = Some(cores);
        assert_eq!(restarts.decide(done(0.01), false), None);
        assert!(restarts.cores.is_none());
    }

    #[test]
    fn a_measurement_that_is_not_over_continues() {
        let (cores, end) = FreeCores::endless();
        let mut restarts = Restarts { cores: Some(cores), ..idle() };
        assert_eq!(restarts.decide(done(0.01), true), None);
        assert!(restarts.cores.is_some());
        drop(end);
    }
}
