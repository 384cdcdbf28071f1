//! Measurement of the number of free cores: cores on which no other process runs.

use std::fs;
use std::hint::spin_loop;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::run::stretch::Clock;

/// Measurement of the free cores besides the core of the calling thread, which goes on working. Each thread of the measurement spins, and a
/// core is free if its thread rarely waits for it.
#[derive(Debug)]
pub(crate) struct FreeCores {
    threads: Vec<JoinHandle<bool>>,
    /// Time at which the measurement began.
    pub(crate) begun: Clock,
    /// Time for which the calling thread had waited for a core when the measurement began.
    waited: Duration,
}

/// Duration of a round.
const ROUND: Duration = Duration::from_millis(10);

/// Maximum number of rounds. The kernel may start a thread on a used core although another core is free, and moves it some milliseconds later.
const ROUNDS: usize = 4;

/// Largest share of a round that a thread on a free core may wait. If another process uses the core, a thread waits 40 % or more.
const MOST_WAITED: f64 = 0.25;

/// Size of the stack of a thread that spins, in bytes.
const STACK: usize = 1 << 16;

impl FreeCores {
    /// Begins to count up to `most` free cores.
    pub(crate) fn measure(most: u32) -> Self {
        let spin = || is_free((0..ROUNDS).map(|_| share_waited()));
        let start = |_| thread::Builder::new().stack_size(STACK).spawn(spin).ok();
        Self { threads: (0..most).map_while(start).collect(), begun: Clock::now(), waited: waited() }
    }

    /// Returns whether the measurement is over.
    pub(crate) fn is_over(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Waits for the end of the measurement and returns the number of free cores. The calling thread needs one of them itself if it also
    /// had to wait for its core.
    pub(crate) fn count(self) -> u32 {
        self.count_after(waited())
    }

    /// Counts the free cores like [`Self::count`], if the calling thread has now waited for `waited`.
    fn count_after(self, waited: Duration) -> u32 {
        let free =
            self.threads.into_iter().map(|thread| u32::from(thread.join().unwrap_or(false))).sum::<u32>();
        let has_core = share(waited.saturating_sub(self.waited), self.begun.elapsed()) <= MOST_WAITED;
        if has_core { free } else { free.saturating_sub(1) }
    }

    /// Returns a measurement that is over and has found this number of free cores, and one used core.
    #[cfg(test)]
    pub(crate) fn known(free: u32) -> Self {
        let threads = (0..=free).map(|core| thread::spawn(move || core < free)).collect();
        let cores = Self { threads, begun: Clock::now(), waited: Duration::MAX };
        while !cores.is_over() {
            thread::yield_now();
        }
        cores
    }

    /// Returns a measurement that is over when the second value is dropped.
    #[cfg(test)]
    pub(crate) fn endless() -> (Self, std::sync::mpsc::Sender<bool>) {
        let (end, ended) = std::sync::mpsc::channel();
        let threads = vec![thread::spawn(move || ended.recv().is_ok())];
        (Self { threads, begun: Clock::now(), waited: Duration::MAX }, end)
    }
}

/// Spins for one round. Returns the share of the round for which the calling thread waited for a core.
fn share_waited() -> f64 {
    let (begun, before) = (Clock::now(), waited());
    while begun.elapsed() < ROUND {
        spin_loop();
    }
    share(waited().saturating_sub(before), begun.elapsed())
}

/// Returns whether a core is free. `waited` gives the share of each round for which a thread waited for this core. Two rounds in
/// succession are longer than the time slice of another process.
fn is_free(waited: impl IntoIterator<Item = f64>) -> bool {
    let mut before = false;
    waited.into_iter().any(|share| {
        let ran = share <= MOST_WAITED;
        std::mem::replace(&mut before, ran) && ran
    })
}

fn share(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64()
}

/// Returns the time for which the calling thread has waited for a core. Linux counts it as the second number of `schedstat`, in nanoseconds.
/// Without this file, every core counts as free, and trials of the number of threads find the used ones.
fn waited() -> Duration {
    let counts = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = counts.split_whitespace().nth(1).and_then(|count| count.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_free_if_a_thread_rarely_waits_for_it_in_two_rounds_in_succession() {
        assert!(is_free([0.25, 0.25]));
        assert!(!is_free([0.26, 0.0, 0.26, 0.0]), "time slices of 10 ms");
        assert!(is_free([1.0, 0.4, 0.0, 0.1]), "the kernel has moved the thread to a free core");
        assert!(!is_free([0.6, 0.6, 0.6, 0.1]));
        assert!(!is_free([]));
    }

    #[test]
    fn a_thread_that_waits_for_its_core_needs_one_of_the_free_cores() {
        for (free, waited, others) in [(2, 900, 2), (2, 1_100, 1), (0, 2_000, 0)] {
            // The measurement began four seconds ago, when the thread had waited for one second.
            let begun = Clock::now().checked_sub(Duration::from_secs(4)).expect("the clock is later");
            let cores = FreeCores { begun, waited: Duration::from_secs(1), ..FreeCores::known(free) };
            assert_eq!(cores.count_after(Duration::from_millis(1_000 + waited)), others, "{waited} ms");
        }
    }

    #[test]
    fn each_thread_spins_for_at_least_two_rounds() {
        let begun = Clock::now();
        let measured = FreeCores::measure(3);
        assert_eq!(measured.threads.len(), 3);
        while !measured.is_over() {
            thread::yield_now();
        }
        assert!(begun.elapsed() >= 2 * ROUND);
        assert!(measured.count() <= 3);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn one_of_many_threads_waits_most_of_the_time() {
        if !fs::exists("/proc/thread-self/schedstat").unwrap_or_default() {
            return;
        }
        let cores = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..8 * cores).map(|_| scope.spawn(share_waited)).collect();
            let shares = threads.into_iter().map(|thread| thread.join().expect("it spins"));
            let sum: f64 = shares.sum();
            // On each core, eight threads spin; the first to start may run alone at first.
            assert!(sum > 4.0 * cores as f64, "{sum} of {} threads waited", 8 * cores);
        });
    }
}
