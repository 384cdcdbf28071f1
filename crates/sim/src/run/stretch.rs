//! A stretch: a series of time windows that a fixed number of threads runs.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use shallows_core::Instant;

use crate::network::stages::Stages;
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
    /// Mail (packets and announced flows) of two time windows or stages. In each of them, partitions read from one element
    /// and write to the other. The roles swap afterwards.
    mail: [Mail; 2],
    /// Last instant of the current time window; `NONE` if the stretch (series of windows) or the run is over.
    until: AtomicU64,
    /// Stages of long time windows; `None` if windows are short.
    stages: Option<Arc<Stages>>,
    /// Number of the current stage ([`Stages::steps`]).
    stage: AtomicUsize,
    /// Number of time windows so far. Each stage of a long window counts.
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

/// Counts of one partition after its last time window or stage.
#[derive(Debug)]
#[repr(align(128))]
struct Entry {
    /// Lower bound on the time of the partition's next event.
    next: AtomicU64,
    events: AtomicU64,
    /// Number of finite flows that the partition's workloads have started.
    flows_started: AtomicU64,
    flows_completed: AtomicU64,
    /// Number of flows whose last byte has reached a receiver of this partition.
    flows_received: AtomicU64,
    /// Number of the partition's workloads that will generate further flows without first being notified of a flow's progress.
    busy: AtomicU64,
    under_way: AtomicU64,
}

const NONE: u64 = u64::MAX;

impl Entry {
    fn of(partition: &Partition) -> Self {
        let [next, events, flows_started, flows_completed, flows_received, busy, under_way] =
            [(); 7].map(|()| AtomicU64::new(0));
        let entry = Self { next, events, flows_started, flows_completed, flows_received, busy, under_way };
        entry.write(partition);
        entry
    }

    fn write(&self, partition: &Partition) {
        self.next.store(partition.world.not_before(&partition.queue).0, Ordering::Relaxed);
        self.events.store(partition.fired(), Ordering::Relaxed);
        self.flows_started.store(partition.world.traffic().finite, Ordering::Relaxed);
        self.flows_received.store(partition.world.traffic().received, Ordering::Relaxed);
        self.busy.store(partition.world.traffic().busy(), Ordering::Relaxed);
        self.flows_completed.store(partition.world.tally().flows_ended(), Ordering::Relaxed);
        self.under_way.store(partition.world.tally().under_way(), Ordering::Relaxed);
    }
}

impl Stretch {
    /// Begins a stretch (series of time windows) of these partitions. In the first window, they read the first element of `mail` and write to the
    /// second. `barrier` is for the threads of the stretch. If `stages` are given, windows are long.
    pub(crate) fn new(
        partitions: &[Partition],
        barrier: Barrier,
        limits: Limits,
        mail: [Mail; 2],
        stages: Option<Arc<Stages>>,
    ) -> Self {
        Self {
            board: partitions.iter().map(Entry::of).collect(),
            mail,
            until: AtomicU64::new(NONE),
            stages,
            stage: AtomicUsize::new(0),
            windows: AtomicU64::new(0),
            limits,
            begun: Clock::now(),
            is_last: AtomicBool::new(false),
            is_search_due: AtomicBool::new(false),
            barrier,
        }
    }

    /// Returns the number of time windows that the stretch (series of windows) has opened. Each stage of a long window counts.
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

    /// Opens the next stage of a long time window or the next window, or ends the stretch (series of windows) or the run. `read` is the
    /// index of the mail to read in this window or stage.
    pub(crate) fn open(&self, schedule: &mut Schedule, read: usize) {
        if self.open_stage() {
            return;
        }
        let next = (!self.is_over()).then(|| self.next_of(schedule, read));
        self.is_last.store(next == Some(Next::End), Ordering::Relaxed);
        self.is_search_due.store(next == Some(Next::Search), Ordering::Relaxed);
        let (until, stage) = match next {
            Some(Next::Window(until)) => (Some(until), 0),
            Some(Next::OneStage(until)) => (Some(until), self.stages()),
            Some(Next::Search | Next::End) | None => (None, 0),
        };
        self.stage.store(stage, Ordering::Relaxed);
        self.until.store(until.map_or(NONE, |until| until.0), Ordering::Relaxed);
        self.windows.fetch_add(until.is_some().into(), Ordering::Relaxed);
    }

    /// Opens the next stage of the current window. Returns whether there is one.
    fn open_stage(&self) -> bool {
        let next = self.stage.load(Ordering::Relaxed) + 1;
        let is_there = self.until().is_some() && next < self.stages();
        if is_there {
            self.stage.store(next, Ordering::Relaxed);
            self.windows.fetch_add(1, Ordering::Relaxed);
        }
        is_there
    }

    /// Returns the number of stages of a long window; 0 if windows are short.
    fn stages(&self) -> usize {
        self.stages.as_ref().map_or(0, |stages| stages.count())
    }

    /// Returns the steps of the current stage; `None` if windows are short.
    pub(crate) fn steps(&self) -> Option<Range<usize>> {
        let stages = self.stages.as_ref()?;
        Some(stages.steps(self.stage.load(Ordering::Relaxed)))
    }

    fn next_of(&self, schedule: &mut Schedule, read: usize) -> Next {
        let earliest = (0..self.board.len()).map(|partition| self.next(partition, read)).min();
        let state = || RunCounts {
            flows_started: self.sum(|entry| &entry.flows_started),
            flows_completed: self.sum(|entry| &entry.flows_completed),
            flows_received: self.sum(|entry| &entry.flows_received),
            busy: self.sum(|entry| &entry.busy),
            under_way: self.sum(|entry| &entry.under_way),
        };
        let earliest = earliest.expect("a network has a partition");
        schedule.next(earliest, self.limits.search, self.stages.as_deref(), state, &self.mail[read])
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

    /// Runs one time window or stage, up to `until`, in each of `partitions` that has an event or mail in this window. `first` is the number of the
    /// first partition.
    pub(crate) fn live(&self, partitions: &mut [Partition], first: usize, until: Instant, read: usize) {
        let in_turn = partitions.len() > 1;
        let steps = self.steps();
        for (number, partition) in (first..).zip(partitions) {
            if self.next(number, read) <= until || self.mail[read].first(number) < Instant::MAX {
                if in_turn {
                    partition.prefetch();
                }
                partition.run(until, steps.clone(), &self.mail[read], &self.mail[1 - read], number);
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

    /// Ends the stretch (series of time windows). Returns the mail; partitions have yet to read the first element, and the second is empty.
    pub(crate) fn into_mail(self) -> [Mail; 2] {
        let (windows, mut mail) = (self.windows(), self.mail);
        mail.rotate_left((windows % 2) as usize);
        mail
    }
}
