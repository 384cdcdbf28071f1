//! A stretch: a series of time windows that a fixed number of threads runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use shallows_core::Instant;

use crate::run::barrier::{Alarm, Barrier};
use crate::run::deadlock::Advance;
use crate::run::partition::{Mail, Partition};
use crate::run::schedule::{Next, RunCounts, Schedule};

/// Wall clock. It affects the number of threads and the end of a stretch (series of time windows), but never the results.
#[expect(clippy::disallowed_types)]
pub(crate) type Clock = std::time::Instant;

/// State that the threads of a stretch (series of time windows) share: counts and mail of the partitions, and the barrier.
#[derive(Debug)]
pub(crate) struct Stretch {
    board: Vec<Entry>,
    /// Mail (packets and announced flows) of two time windows. In each window, partitions read from one element and write to the other. The
    /// roles swap after each window.
    mail: [Mail; 2],
    /// Last instant of the current time window; `NONE` if the stretch (series of windows) or the run is over.
    until: AtomicU64,
    windows: AtomicU64,
    limits: Limits,
    begun: Clock,
    /// Whether the run is over.
    is_last: AtomicBool,
    /// Whether a search for deadlocks is due.
    is_search_due: AtomicBool,
    barrier: Barrier,
}

/// Limits at which a stretch (series of time windows) ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Limit on the number of events of all partitions since the run began.
    pub(crate) events: u64,
    /// Limit on the wall time of the stretch (series of time windows), in seconds; `None` for no limit.
    pub(crate) seconds: Option<f64>,
    /// Time of the next search for deadlocks.
    pub(crate) search: Instant,
}

/// Counts of one partition after its last time window.
#[derive(Debug)]
struct Entry {
    /// Lower bound on the time of the partition's next event.
    next: AtomicU64,
    events: AtomicU64,
    /// Number of finite flows that the partition's workloads have started.
    flows_started: AtomicU64,
    flows_completed: AtomicU64,
    /// Number of the partition's workloads that will generate further flows without first being notified of a flow's progress.
    busy: AtomicU64,
    under_way: AtomicU64,
}

const NONE: u64 = u64::MAX;

impl Entry {
    fn of(partition: &Partition) -> Self {
        let [next, events, flows_started, flows_completed, busy, under_way] =
            [(); 6].map(|()| AtomicU64::new(0));
        let entry = Self { next, events, flows_started, flows_completed, busy, under_way };
        entry.write(partition);
        entry
    }

    fn write(&self, partition: &Partition) {
        self.next.store(partition.world.not_before(&partition.queue).0, Ordering::Relaxed);
        self.events.store(partition.fired(), Ordering::Relaxed);
        self.flows_started.store(partition.world.traffic().finite, Ordering::Relaxed);
        self.busy.store(partition.world.traffic().busy(), Ordering::Relaxed);
        self.flows_completed.store(partition.world.tally().flows_ended(), Ordering::Relaxed);
        self.under_way.store(partition.world.tally().under_way(), Ordering::Relaxed);
    }
}

impl Stretch {
    /// Begins a stretch (series of time windows) of these partitions. `mail` is their mail; `barrier` is for the threads of the stretch.
    pub(crate) fn new(partitions: &[Partition], barrier: Barrier, limits: Limits, mail: [Mail; 2]) -> Self {
        Self {
            board: partitions.iter().map(Entry::of).collect(),
            mail,
            until: AtomicU64::new(NONE),
            windows: AtomicU64::new(0),
            limits,
            begun: Clock::now(),
            is_last: AtomicBool::new(false),
            is_search_due: AtomicBool::new(false),
            barrier,
        }
    }

    /// Returns the number of time windows that the stretch (series of windows) has opened.
    pub(crate) fn windows(&self) -> u64 {
        self.windows.load(Ordering::Relaxed)
    }

    /// Returns the seconds of wall time since the stretch (series of time windows) began.
    pub(crate) fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Returns the reason for which the stretch (series of time windows) has ended.
    pub(crate) fn ended(&self) -> Advance {
        if self.is_last.load(Ordering::Relaxed) {
            Advance::End
        } else if self.is_search_due.load(Ordering::Relaxed) {
            Advance::Search
        } else {
            Advance::Budget
        }
    }

    fn sum(&self, count: fn(&Entry) -> &AtomicU64) -> u64 {
        self.board.iter().map(|entry| count(entry).load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }

    fn is_over(&self) -> bool {
        self.sum(|entry| &entry.events) >= self.limits.events
            || self.limits.seconds.is_some_and(|seconds| self.seconds() >= seconds)
    }

    /// Opens the next time window, or ends the stretch (series of windows) or the run. `read` is the index of the mail to read in this
    /// window.
    pub(crate) fn open(&self, schedule: &mut Schedule, read: usize) {
        let next = if self.is_over() {
            None
        } else {
            let next = self.next_of(schedule, read);
            self.is_last.store(next == Next::End, Ordering::Relaxed);
            self.is_search_due.store(next == Next::Search, Ordering::Relaxed);
            if let Next::Window(until) = next { Some(until) } else { None }
        };
        self.until.store(next.map_or(NONE, |until| until.0), Ordering::Relaxed);
        self.windows.fetch_add(next.is_some().into(), Ordering::Relaxed);
    }

    fn next_of(&self, schedule: &mut Schedule, read: usize) -> Next {
        let earliest = (0..self.board.len()).map(|partition| self.next(partition, read)).min();
        let state = || RunCounts {
            flows_started: self.sum(|entry| &entry.flows_started),
            flows_completed: self.sum(|entry| &entry.flows_completed),
            busy: self.sum(|entry| &entry.busy),
            under_way: self.sum(|entry| &entry.under_way),
        };
        let earliest = earliest.expect("a network has a partition");
        schedule.next(earliest, self.limits.search, state, &self.mail[read])
    }

    /// Returns the last instant of the time window that runs now; `None` if the stretch (series of windows) is over.
    pub(crate) fn until(&self) -> Option<Instant> {
        let until = self.until.load(Ordering::Relaxed);
        (until != NONE).then_some(Instant(until))
    }

    /// Returns a lower bound on the time of the next event in this partition, including events that the mail at index `read` will cause.
    fn next(&self, partition: usize, read: usize) -> Instant {
        Instant(self.board[partition].next.load(Ordering::Relaxed)).min(self.mail[read].first(partition))
    }

    /// Runs one time window, up to `until`, in each of `partitions` that has an event or mail in this window. `first` is the number of the
    /// first partition.
    pub(crate) fn live(&self, partitions: &mut [Partition], first: usize, until: Instant, read: usize) {
        let in_turn = partitions.len() > 1;
        for (number, partition) in (first..).zip(partitions) {
            if self.next(number, read) <= until || self.mail[read].first(number) < Instant::MAX {
                if in_turn {
                    partition.prefetch();
                }
                partition.run(until, &self.mail[read], &self.mail[1 - read], number);
                self.board[number].write(partition);
            }
        }
    }

    /// Runs all time windows of the stretch (series of windows) in these partitions, in parallel with other threads. `first` is the number
    /// of the first partition.
    pub(crate) fn work(&self, partitions: &mut [Partition], first: usize, schedule: &Mutex<Schedule>) {
        let _alarm = Alarm(&self.barrier);
        let mut read = 0;
        let open = |read| self.open(&mut schedule.lock().unwrap_or_else(PoisonError::into_inner), read);
        while self.barrier.pass(|| open(read)) {
            let Some(until) = self.until() else { return };
            self.live(partitions, first, until, read);
            read = 1 - read;
        }
    }

    /// Ends the stretch (series of time windows): each partition reads its remaining mail. Returns the empty mail for reuse.
    pub(crate) fn deliver(self, partitions: &mut [Partition]) -> [Mail; 2] {
        for mail in &self.mail {
            for (number, partition) in partitions.iter_mut().enumerate() {
                partition.read(mail, number);
            }
        }
        self.mail
    }
}
