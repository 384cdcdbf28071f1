//! Choice of the number of threads, based on the measured speed of a run.
//!
//! Results are the same on any number of threads, so a run can change their number at any time. Threads with a barrier are slower than one
//! thread if other processes use their cores: each time window then waits for a thread that the kernel has suspended.

/// Choice of the number of threads. From time to time, a run tries another number and keeps the faster of the two.
///
/// Between two trials, the run uses the current number for at least [`SHARE`] times the duration of a trial. Each trial without a large
/// difference in speed doubles this time, up to [`PATIENCE`] times its minimum. A trial and its warm-up may run at half the speed, but take
/// at most 1/17 of a run. A new number is measured only after a warm-up of [`TRIAL`] seconds, in which threads wake, move to different
/// cores and fill their caches.
#[derive(Clone, Debug)]
pub(crate) struct ThreadCount {
    most: u32,
    current: u32,
    /// Number of threads that is being tried instead of `current`; `None` between two trials.
    trial: Option<u32>,
    /// Candidate that the next trial considers first: 0 for one thread, 1 for half the current number, 2 for twice this number; modulo 3.
    next: usize,
    /// Packet-hops per second with the current number of threads: an average in which recent measurements count more. `None` before the
    /// first measurement.
    rate: Option<f64>,
    measured: Measured,
    /// Whether the number of threads has just changed, so that the next measurement is warm-up and does not count.
    is_fresh: bool,
    /// Seconds for which the run has used the current number of threads since the last trial.
    since_trial: f64,
    /// Seconds for which the run must use the current number of threads before the next trial.
    wait: f64,
    trial_lasted: f64,
}

/// Number of packet-hops, and seconds of wall time, since the last evaluation.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    hops: u64,
    seconds: f64,
}

/// Duration of a trial in seconds, after a warm-up of the same duration. A trial comprises several hundred time windows and several time
/// slices of the kernel.
const TRIAL: f64 = 0.01;

/// Seconds between two evaluations of the current number of threads.
const LOOK: f64 = 0.04;

/// Smallest ratio of the time between two trials to the duration of a trial without its warm-up.
const SHARE: f64 = 32.0;

/// Largest factor by which trials without a large difference in speed can lengthen the time between two trials.
const PATIENCE: f64 = 8.0;

/// Smallest speed-up at which a larger number of threads replaces a smaller one. It is above 1, because more threads take cores from other
/// processes. A smaller number replaces a larger one if it is at least as fast.
const WORTH_IT: f64 = 1.1;

/// Ratio of the rate to its previous average. Below this ratio, the next trial is brought forward, because other processes have probably
/// begun to run.
const FALL: f64 = 0.75;

impl ThreadCount {
    /// Returns a choice among 1 to `most` threads. The run begins with `first` threads.
    pub(crate) fn new(most: u32, first: u32) -> Self {
        Self {
            most,
            current: first.min(most),
            trial: None,
            next: 0,
            rate: None,
            measured: Measured::default(),
            is_fresh: true,
            since_trial: 0.0,
            wait: 0.0,
            trial_lasted: TRIAL,
        }
    }

    /// Returns the number of threads that run now.
    pub(crate) fn threads(&self) -> u32 {
        self.trial.unwrap_or(self.current)
    }

    /// Returns whether the run uses one thread and tries no other number.
    pub(crate) fn prefers_one(&self) -> bool {
        self.current == 1 && self.trial.is_none()
    }

    /// Returns the remaining seconds until [`Self::on_measured`] can change the number of threads.
    pub(crate) fn seconds(&self) -> f64 {
        let is_short = self.is_fresh || self.trial.is_some() || self.rate.is_none();
        let whole = if is_short { TRIAL } else { LOOK };
        whole - self.measured.seconds
    }

    /// Records that `hops` packet-hops have taken `seconds` seconds of wall time. May change the number of threads.
    pub(crate) fn on_measured(&mut self, hops: u64, seconds: f64) {
        self.measured.hops += hops;
        self.measured.seconds += seconds;
        if self.seconds() > 0.0 {
            return;
        }
        let Measured { hops, seconds } = std::mem::take(&mut self.measured);
        if std::mem::take(&mut self.is_fresh) {
            return;
        }
        let rate = hops as f64 / seconds;
        match (self.trial.take(), self.rate) {
            (Some(tried), Some(before)) => self.on_trial(tried, rate / before, rate, seconds),
            (_, before) => self.on_current(before, rate, seconds),
        }
    }

    fn on_current(&mut self, before: Option<f64>, rate: f64, seconds: f64) {
        if before.is_some_and(|before| rate < FALL * before) {
            self.wait = self.wait.min(SHARE * self.trial_lasted);
        }
        self.rate = Some(before.map_or(rate, |before| f64::midpoint(before, rate)));
        self.since_trial += seconds;
        if self.since_trial >= self.wait {
            self.trial = self.candidate();
            self.is_fresh = self.trial.is_some();
        }
    }

    /// Evaluates a trial of `tried` threads. `faster` is the speed in the trial divided by the speed with the current number of threads.
    fn on_trial(&mut self, tried: u32, faster: f64, rate: f64, seconds: f64) {
        let first = SHARE * seconds;
        self.since_trial = 0.0;
        self.trial_lasted = seconds;
        let is_better = faster >= if tried > self.current { WORTH_IT } else { 1.0 };
        // If another number is much faster, the load of the machine has changed and may change again, so the next trial comes soon.
        self.wait =
            if faster >= 1.0 / FALL { first } else { (2.0 * self.wait).clamp(first, PATIENCE * first) };
        if is_better {
            (self.current, self.rate) = (tried, Some(rate));
        }
    }

    /// Returns the number of threads to try next: in turn 1, half the current number, and twice the current number. `None` if none of these
    /// differs from the current number.
    fn candidate(&mut self) -> Option<u32> {
        let candidates = [1, self.current.div_ceil(2), (2 * self.current).min(self.most)];
        let turns = (0..candidates.len()).map(|turn| (self.next + turn) % candidates.len());
        let turn = turns.into_iter().find(|&turn| candidates[turn] != self.current)?;
        self.next = turn + 1;
        Some(candidates[turn])
    }

    /// Returns the number of packet-hops since the last evaluation.
    #[cfg(test)]
    pub(crate) fn hops(&self) -> u64 {
        self.measured.hops
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a run of this many seconds on a machine with `rate(threads, now)` packet-hops per second. Returns the mean rate, and how
    /// often the number of threads changed.
    fn run(count: &mut ThreadCount, seconds: f64, mut rate: impl FnMut(u32, f64) -> f64) -> (f64, u32) {
        let (mut now, mut hops, mut changes) = (0.0, 0.0, 0);
        while now < seconds {
            let (before, stretch) = (count.current, count.seconds());
            let fired = rate(count.threads(), now) * stretch;
            count.on_measured(fired as u64, stretch);
            changes += u32::from(count.current != before);
            (now, hops) = (now + stretch, hops + fired);
        }
        (hops / now, changes)
    }

    /// Packet-hops per second on one thread.
    const ONE: f64 = 8e6;

    #[test]
    fn beside_other_work_a_run_is_at_most_5_percent_slower_than_on_one_thread() {
        // Measured for BCC's Fig. 4 beside two busy processes: two threads run at 0.52 times the speed of one.
        for slow in [0.1, 0.52, 0.9] {
            for seconds in [1.0, 3.0, 10.0] {
                let rate = |threads, _| if threads == 1 { ONE } else { slow * ONE };
                let (hops, changes) = run(&mut ThreadCount::new(2, 2), seconds, rate);
                assert!(hops >= 0.95 * ONE, "{slow}, {seconds} s: {}", hops / ONE);
                assert_eq!(changes, 1, "{slow}, {seconds} s");
            }
        }
    }

    #[test]
    fn where_two_threads_are_faster_a_run_loses_at_most_3_percent_to_trials() {
        for fast in [1.15, 1.7, 2.0] {
            for seconds in [1.0, 10.0] {
                let rate = |threads, _| if threads == 1 { ONE } else { fast * ONE };
                let (hops, changes) = run(&mut ThreadCount::new(2, 2), seconds, rate);
                assert!(hops >= 0.97 * fast * ONE, "{fast}, {seconds} s: {}", hops / ONE);
                assert_eq!(changes, 0);
            }
        }
    }

    #[test]
    fn other_work_that_begins_and_ends_changes_the_number_within_half_a_second_and_three() {
        let mut count = ThreadCount::new(2, 2);
        let quiet = |threads, _| f64::from(threads) * ONE;
        let beside = |threads, _| if threads == 1 { 0.9 * ONE } else { 0.5 * ONE };
        run(&mut count, 20.0, quiet);
        assert_eq!(count.current, 2);
        run(&mut count, 0.5, beside);
        assert_eq!(count.current, 1, "the rate fell, so a trial came soon");
        run(&mut count, 20.0, beside);
        assert_eq!(count.current, 1);
        // At most 8 × 32 times 10 ms lie between two trials, plus one evaluation.
        run(&mut count, 2.56 + LOOK + 2.0 * TRIAL, quiet);
        assert_eq!(count.current, 2);
    }

    #[test]
    fn noise_of_8_percent_does_not_make_the_number_flap() {
        for fast in [0.95, 1.0, 1.05, 1.5] {
            let mut state = 1_u32;
            let noisy = |threads: u32, _| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let noise = 0.92 + 0.16 * f64::from(state >> 16) / 65_536.0;
                noise * if threads == 1 { ONE } else { fast * ONE }
            };
            let (hops, changes) = run(&mut ThreadCount::new(2, 2), 30.0, noisy);
            // There are some 14 trials: after 320 ms, 640 ms, 1,280 ms, and then every 2.56 s.
            assert!(changes <= 4, "{fast}: {changes}");
            assert!(hops >= 0.93 * ONE, "{fast}: {}", hops / ONE);
        }
    }

    #[test]
    fn trials_without_a_gain_become_rarer_up_to_eight_times() {
        let mut count = ThreadCount::new(2, 2);
        let (mut now, mut trials) = (0.0, Vec::new());
        while now < 16.0 {
            let (was, stretch) = (count.trial, count.seconds());
            let rate = if count.threads() == 1 { ONE } else { 1.2 * ONE };
            count.on_measured((rate * stretch) as u64, stretch);
            now += stretch;
            if was.is_none() && count.trial.is_some() {
                trials.push(now);
            }
        }
        // Trials of 10 ms: after 320 ms, 640 ms, 1.28 s and then every 2.56 s, rounded up to evaluations of 40 ms, plus warm-up and trial.
        let gaps: Vec<f64> = trials.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let expected = [0.32, 0.64, 1.28, 2.56, 2.56, 2.56];
        assert!(gaps.len() >= expected.len(), "{gaps:?}");
        for (gap, least) in gaps.iter().zip(expected) {
            assert!(
                (least..least + LOOK + 2.5 * TRIAL).contains(gap),
                "{gap} s instead of {least} s: {gaps:?}"
            );
        }
    }

    #[test]
    fn of_64_threads_as_many_run_as_gain_something() {
        let of = |useful: u32, seconds| {
            let mut count = ThreadCount::new(64, 64);
            run(&mut count, seconds, |threads: u32, _| f64::from(threads.min(useful)) * ONE);
            count.current
        };
        assert_eq!(of(64, 20.0), 64);
        // The smallest number with the highest speed is kept.
        assert_eq!(of(8, 20.0), 8);
        assert_eq!(of(1, 1.0), 1);
    }

    #[test]
    fn a_single_thread_has_no_other_number_to_try() {
        let mut count = ThreadCount::new(1, 1);
        run(&mut count, 1.0, |_, _| ONE);
        assert_eq!(count.threads(), 1);
        assert!(count.trial.is_none());
    }

    #[test]
    fn a_trial_is_no_preference() {
        for (current, trial, prefers) in
            [(1, None, true), (1, Some(2), false), (2, None, false), (2, Some(1), false)]
        {
            let count = ThreadCount { current, trial, ..ThreadCount::new(2, 2) };
            assert_eq!(count.prefers_one(), prefers, "{current} threads, in a trial of {trial:?}");
        }
    }

    #[test]
    fn measurements_are_added_up_and_the_first_of_a_number_does_not_count() {
        let mut count = ThreadCount::new(2, 2);
        // 10 ms of warm-up, with a far higher rate, and 10 ms that count.
        for (hops, threads) in [(9_000, 2), (1_000, 1)] {
            for step in 0..10 {
                assert_eq!(count.threads(), 2, "step {step}");
                count.on_measured(hops, 0.001_001);
            }
            assert_eq!(count.threads(), threads);
        }
        // One thread is as fast as two in the time that counts.
        count.on_measured(1, 0.01);
        assert_eq!(count.threads(), 1);
        count.on_measured(10_000, 0.01);
        assert_eq!((count.threads(), count.current), (1, 1));
    }

    #[test]
    fn a_rate_below_three_quarters_of_the_average_brings_the_next_trial_forward() {
        for (hops, wait) in [(30_000, 2.0), (29_999, SHARE * TRIAL)] {
            let rate = Some(1e6);
            let mut count = ThreadCount { rate, is_fresh: false, wait: 2.0, ..ThreadCount::new(2, 2) };
            count.on_measured(hops, LOOK);
            assert!((count.wait - wait).abs() < 1e-12, "{hops} hops in 40 ms: {} s", count.wait);
        }
    }

    #[test]
    fn trials_are_of_one_thread_of_half_as_many_and_of_twice_as_many_in_turn() {
        let tried = |current: u32| {
            let mut count = ThreadCount { current, ..ThreadCount::new(24, 24) };
            [(); 4].map(|()| count.candidate())
        };
        assert_eq!(tried(7), [1, 4, 14, 1].map(Some));
        assert_eq!(tried(16), [1, 8, 24, 1].map(Some), "at most 24");
        assert_eq!(tried(24), [1, 12, 1, 12].map(Some));
        assert_eq!(tried(1), [2, 2, 2, 2].map(Some));
    }
}
