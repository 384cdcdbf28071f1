//! Runs the partitions of a network in time windows, on one thread or several.
//!
//! Simulated time is divided into windows. Usually, a window is as long as the shortest delay between two partitions. Within such a window,
//! partitions run independently, because packets to other partitions arrive in a later window. A long window has several stages, and
//! partitions exchange packets after each stage ([`crate::network::stages`]). Between two windows, the flows of the next window are drawn, and
//! the run may end (`schedule.rs`). Results therefore depend neither on the number of partitions nor on the number of threads.

use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use shallows_core::{Duration, Instant};
use shallows_scenario::Experiment;

use crate::network::division::Division;
use crate::network::stages::Stages;
use crate::run::barrier::Barrier;
use crate::run::crew::Crew;
use crate::run::critical_path::CriticalPath;
use crate::run::deadlock::Advance;
use crate::run::partition::{Mail, Partition};
use crate::run::schedule::Schedule;
use crate::run::stretch::{Limits, Stretch};
use crate::run::thread_count::ThreadCount;
use crate::run::world::pace::Execution;
use crate::traffic::Traffic;

/// State of a run with several partitions.
#[derive(Debug)]
pub(crate) struct Windows {
    /// Schedule of the run; `None` while several threads share it.
    schedule: Option<Schedule>,
    crew: Crew,
    /// Choice of the number of threads, based on the speed of the run; `None` if the number does not change.
    pub(crate) thread_count: Option<ThreadCount>,
    /// Number of threads that the machine can run at the same time.
    cores: usize,
    /// Mean number of events per time window, or per stage of a long window, in the last stretch (series of windows); `None` before the first
    /// stretch.
    density: Option<u64>,
    /// Stages of long time windows; `None` if windows cannot be long.
    stages: Option<Arc<Stages>>,
    /// Whether the last stretch had long windows.
    are_long: bool,
    /// Mean number of events per [`Stages::mean_length`] of simulated time in the last stretch.
    per_stage: f64,
    pub(crate) execution: Execution,
    /// Number of time windows that ran on several threads. Each stage of a long window counts.
    pub(crate) threaded_windows: u64,
    /// Critical path, if requested. Measured only if the run uses one thread.
    pub(crate) critical_path: Option<CriticalPath>,
    /// Time of the next search for deadlocks.
    pub(crate) search: Instant,
    /// Mail that partitions have not read. They read the first element in the next time window; the second is empty. While a stretch (series of
    /// time windows) runs, the stretch has the mail, and these two have no letterboxes.
    mail: [Mail; 2],
}

/// Number of events per time window at and above which several threads save more time than the barrier costs (a few microseconds).
pub(crate) const DENSE: u64 = 100;

/// Number of times that a thread spins at the barrier before it sleeps. Spinning takes a few microseconds, about as long as waking a
/// thread. With more threads than cores, a thread sleeps at once, because other threads need its core.
const LOOKS: u32 = 2_000;

/// Number of events after which a stretch (series of time windows) ends, on several threads, and on one thread if the run tries numbers of
/// threads. Otherwise, it is `STRETCH_IN_TURN`, or `FIRST_STRETCH` for the first stretch. The number of events per window is checked between
/// stretches. A stretch is long, because waking its threads costs as much as several hundred events.
const STRETCH_TOGETHER: u64 = 1 << 19;
const STRETCH_IN_TURN: u64 = 1 << 14;

/// Number of events after which the first stretch ends, at the end of a window. It is low, because a run uses one thread until the number of
/// events per window is known.
const FIRST_STRETCH: u64 = 1 << 12;

/// Message of the panic if the schedule is missing.
const HANDED_BACK: &str = "threads have handed it back, or the run has panicked";

impl Windows {
    pub(crate) fn new(
        experiment: &Experiment,
        division: Division,
        stages: Option<Arc<Stages>>,
        execution: Execution,
        limit: Instant,
        horizon: Duration,
    ) -> Self {
        let partitions = division.partitions() as usize;
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            schedule: Some(Schedule::new(experiment, division, limit, horizon)),
            crew: Crew::default(),
            thread_count: None,
            cores,
            density: None,
            stages,
            are_long: false,
            per_stage: 0.0,
            execution,
            threaded_windows: 0,
            critical_path: None,
            search: Instant::MAX,
            mail: [Mail::new(partitions), Mail::new(partitions)],
        }
    }

    /// Enables the measurement of the critical path for each number of cores in `cores`.
    pub(crate) fn follow_critical_path(&mut self, cores: &[u32]) {
        self.critical_path = Some(CriticalPath::new(self.division(), cores));
    }

    /// Lets the run measure its speed and switch to the fastest number of threads, up to the number in the division. The run begins with
    /// `first` threads.
    pub(crate) fn adapt_threads(&mut self, first: u32) {
        let most = self.division().threads();
        self.thread_count = (most > 1).then(|| ThreadCount::new(most, first));
    }

    /// Returns whether the run can change its number of threads.
    pub(crate) fn adapts_threads(&self) -> bool {
        self.thread_count.is_some()
    }

    /// Returns whether the run uses one thread and tries no other number.
    pub(crate) fn prefers_one_thread(&self) -> bool {
        self.thread_count.as_ref().is_some_and(ThreadCount::prefers_one)
    }

    pub(crate) fn division(&self) -> &Division {
        self.schedule().division()
    }

    /// Returns the workloads whose flows start independently of other flows. Their flow counts include the current time window.
    pub(crate) fn traffic(&self) -> &Traffic {
        self.schedule().traffic()
    }

    /// Returns a lower bound on the time of the next flow that is drawn in advance for all partitions.
    pub(crate) fn not_before(&self) -> Instant {
        self.schedule().not_before()
    }

    /// Returns whether the run is over because all its traffic has ended.
    pub(crate) fn finished(&self) -> bool {
        self.schedule().finished()
    }

    /// Returns the number of threads that run time windows with many events. Windows with few events run on one thread.
    pub(crate) fn threads(&self) -> u32 {
        self.thread_count.as_ref().map_or_else(|| self.division().threads(), ThreadCount::threads)
    }

    fn schedule(&self) -> &Schedule {
        self.schedule.as_ref().expect(HANDED_BACK)
    }

    /// Runs one stretch (series of time windows), which ends after about `events` events or earlier. Returns the reason for its end.
    pub(crate) fn advance(&mut self, partitions: &mut Vec<Partition>, events: u64) -> Advance {
        let (before, hops_before) = (fired(partitions), hops(partitions));
        let dense = self.density.is_some_and(|density| density >= DENSE);
        let threads = if dense { self.threads() } else { 1 };
        let adapting = self.thread_count.as_ref().filter(|_| dense);
        let most = match self.density {
            None => FIRST_STRETCH,
            _ if threads > 1 || adapting.is_some() => STRETCH_TOGETHER,
            _ => STRETCH_IN_TURN,
        };
        let limits = Limits {
            events: before + events.min(most),
            seconds: adapting.map(ThreadCount::seconds),
            search: self.search,
        };
        let barrier = Barrier::new(threads as usize, if threads as usize > self.cores { 0 } else { LOOKS });
        let begun = self.schedule().opened();
        let stages = self.choose_length(partitions);
        let stretch = Stretch::new(partitions, barrier, limits, std::mem::take(&mut self.mail), stages);
        let stretch = if threads > 1 {
            self.run_together(partitions, threads, stretch)
        } else {
            self.run_in_turn(partitions, stretch)
        };
        let events = fired(partitions) - before;
        self.density = Some(events / stretch.windows().max(1));
        self.measure(events, begun);
        self.threaded_windows += if threads > 1 { stretch.windows() } else { 0 };
        if let Some(count) = self.thread_count.as_mut().filter(|_| dense) {
            count.on_measured(hops(partitions) - hops_before, stretch.seconds());
        }
        let ended = stretch.ended();
        self.mail = stretch.into_mail();
        ended
    }

    /// Lets all partitions read their unread mail on the calling thread. Called between two stretches (series of time windows).
    pub(crate) fn read_mail(&self, partitions: &mut [Partition]) {
        for (number, partition) in partitions.iter_mut().enumerate() {
            partition.read(&self.mail[0], number);
        }
    }

    /// Chooses whether the next stretch has long time windows. Returns the stages of these windows; `None` if windows are short. Windows are long
    /// if a stage has enough events to be worth a barrier. To avoid frequent changes, they become short only at half as many events.
    fn choose_length(&mut self, partitions: &mut [Partition]) -> Option<Arc<Stages>> {
        let stages = self.stages.as_ref()?;
        let enough = if self.are_long { DENSE / 2 } else { DENSE };
        let are_long = match self.execution {
            Execution::Adaptive => self.per_stage >= enough as f64,
            Execution::Events => false,
            Execution::Windows => true,
        };
        if are_long != std::mem::replace(&mut self.are_long, are_long) {
            let now = self.schedule().opened();
            let window = if are_long { stages.turns.window } else { self.division().window() };
            for partition in partitions {
                partition.set_window(window, now);
                if are_long {
                    partition.run_by_window(now);
                }
            }
        }
        are_long.then(|| Arc::clone(stages))
    }

    /// Records the number of events of a stretch that began at the time `begun`.
    fn measure(&mut self, events: u64, begun: Instant) {
        let time = self.schedule().opened() - begun;
        if let Some(stages) = &self.stages
            && time > Duration::ZERO
        {
            self.per_stage = events as f64 * stages.mean_length().0 as f64 / time.0 as f64;
        }
    }

    /// Runs a stretch (series of time windows) on `threads` threads. Each thread runs its share of the partitions.
    fn run_together(&mut self, partitions: &mut Vec<Partition>, threads: u32, stretch: Stretch) -> Stretch {
        let shares = self.division().shares_of(threads);
        let schedule = self.schedule.take().expect(HANDED_BACK);
        let (stretch, schedule) = self.crew.run(partitions, &shares, stretch, schedule);
        self.schedule = Some(schedule);
        stretch
    }

    /// Runs a stretch (series of time windows) on the calling thread, one partition after another.
    fn run_in_turn(&mut self, partitions: &mut [Partition], stretch: Stretch) -> Stretch {
        let schedule = self.schedule.as_mut().expect(HANDED_BACK);
        let mut read = 0;
        loop {
            stretch.open(schedule, read);
            let Some(until) = stretch.until() else { return stretch };
            stretch.live(partitions, 0, until, read);
            if let Some(path) = &mut self.critical_path {
                path.on_window(partitions);
            }
            read = 1 - read;
        }
    }
}

/// Returns the number of events that these partitions have fired.
fn fired(partitions: &[Partition]) -> u64 {
    partitions.iter().map(Partition::fired).sum()
}

/// Returns the number of packet-hops of these partitions.
fn hops(partitions: &[Partition]) -> u64 {
    partitions.iter().map(|partition| partition.world.tally().packet_hops).sum()
}

#[cfg(test)]
impl Windows {
    /// Returns whether any partition has unread mail.
    pub(crate) fn has_mail(&self) -> bool {
        let partitions = self.division().partitions() as usize;
        (0..partitions).any(|partition| self.mail[0].first(partition) < Instant::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use shallows_core::event::EventQueue;
    use shallows_measure::Captures;

    use super::*;
    use crate::network::event::{Class, Event, Ranks};
    use crate::network::site::Site;
    use crate::network::testing::parse;
    use crate::run::world;
    use crate::run::world::pace::Execution;

    #[test]
    fn nobody_passes_a_barrier_before_all_are_there() {
        for (threads, looks) in [(1, 2_000), (2, 2_000), (2, 0), (7, 2_000), (7, 0)] {
            let (barrier, steps) = (Barrier::new(threads, looks), 2_000);
            let there: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
            let walk = |mine: usize| {
                for step in 1..=steps {
                    there[mine].store(step, Ordering::Relaxed);
                    assert!(barrier.pass(|| ()));
                    assert!(there.iter().all(|other| other.load(Ordering::Relaxed) >= step));
                    assert!(barrier.pass(|| ()));
                }
            };
            thread::scope(|scope| (0..threads).for_each(|mine| drop(scope.spawn(move || walk(mine)))));
        }
    }

    const TWO_SWITCHES: &str = r#"
        [topology]
        kind = "dumbbell"
        left = 2
        right = 2
        rate = "10Gbps"

        [switch.buffer]
        kind = "static-partition"
        per_port = "100KB"

        [tcp]

        [[workload]]
        kind = "long-lived"
        senders = "0..2"
        receivers = "2..4"

        [stop]
        at = "1ms"
    "#;

    /// Divides the network of `TWO_SWITCHES` for two threads, and returns the two partitions at time zero.
    fn two_partitions(experiment: &Experiment, execution: Execution) -> (Vec<Partition>, Windows) {
        let division = Division::new(experiment, 2).expect("it has two switches");
        let stages = Stages::new(experiment, &division).map(Arc::new);
        let horizon = Duration::from_micros(10);
        let captures = Captures::simulated(experiment, |_| unreachable!("no captures"));
        let captures = captures.expect("nothing is opened");
        let build = |site| {
            let mut world =
                world::World::new(experiment, Some(&division), stages.as_deref(), site, &captures, execution);
            let mut queue = EventQueue::new(horizon);
            world.start(experiment, &mut queue);
            Partition::new(world, queue, Arc::default())
        };
        let partitions = Site::all(experiment, Some(&division)).into_iter().map(build).collect();
        let mut windows =
            Windows::new(experiment, division, stages, execution, Instant(20_000_000_000), horizon);
        windows.density = Some(DENSE);
        (partitions, windows)
    }

    #[test]
    fn a_partition_that_panics_ends_the_others_and_is_heard() {
        let experiment = parse(TWO_SWITCHES, &[]);
        for broken in [0, 1] {
            let (mut partitions, mut windows) = two_partitions(&experiment, Execution::Events);
            let sites = Site::all(&experiment, Some(windows.division()));
            let last = sites[broken].links.numbers().last().expect("links leave every node");
            let (rank, place) = (Ranks::new(experiment.seed).of_link(last), sites[broken].links.count() - 1);
            // At this time, no packet is in flight on this link, so the event makes the partition panic.
            partitions[broken].queue.schedule(Instant(5), Event::of_link(Class::Deliver, rank, place));
            let ended = catch_unwind(AssertUnwindSafe(|| windows.advance(&mut partitions, u64::MAX)));
            assert!(ended.is_err(), "partition {broken}");
        }
    }

    #[test]
    fn threads_stand_by_between_two_stretches() {
        let experiment = parse(TWO_SWITCHES, &[]);
        let (mut partitions, mut windows) = two_partitions(&experiment, Execution::Events);
        assert_eq!(windows.crew.threads(), [], "nobody stands by before there is work for two");
        let mut known = Vec::new();
        for stretch in 0..3 {
            windows.density = Some(DENSE);
            windows.advance(&mut partitions, 1);
            assert_eq!(partitions.len(), 2, "each thread hands back its partition");
            assert_eq!(windows.crew.threads().len(), 1, "beside the one that advances the run");
            assert!(stretch == 0 || windows.crew.threads() == known, "another thread in stretch {stretch}");
            known = windows.crew.threads();
        }
    }

    #[test]
    fn each_stretch_records_its_mean_number_of_events_per_window() {
        let experiment = parse(TWO_SWITCHES, &[]);
        let (mut partitions, mut windows) = two_partitions(&experiment, Execution::Events);
        for stretch in 0..3 {
            let is_dense = stretch != 1;
            windows.density = Some(if is_dense { DENSE } else { DENSE - 1 });
            let (before, threaded) = (fired(&partitions), windows.threaded_windows);
            windows.advance(&mut partitions, 500);
            let opened = windows.threaded_windows - threaded;
            assert_eq!(opened > 1, is_dense, "only dense windows run on two threads");
            if is_dense {
                assert_eq!(windows.density, Some((fired(&partitions) - before) / opened));
            }
        }
    }

    #[test]
    fn the_limit_of_events_depends_on_the_last_density() {
        let experiment = parse(TWO_SWITCHES, &[]);
        let (mut partitions, mut windows) = two_partitions(&experiment, Execution::Events);
        windows.density = None;
        assert_eq!(windows.advance(&mut partitions, u64::MAX), Advance::Budget);
        let first = fired(&partitions);
        assert!((FIRST_STRETCH..2 * FIRST_STRETCH).contains(&first), "{first} events");
        windows.density = Some(1);
        assert_eq!(windows.advance(&mut partitions, u64::MAX), Advance::Budget);
        let in_turn = fired(&partitions) - first;
        assert!((STRETCH_IN_TURN..2 * STRETCH_IN_TURN).contains(&in_turn), "{in_turn} events");
        windows.density = Some(DENSE);
        assert_eq!(windows.advance(&mut partitions, u64::MAX), Advance::End);
        let together = fired(&partitions) - first - in_turn;
        assert!((2 * STRETCH_IN_TURN..STRETCH_TOGETHER).contains(&together), "{together} events");
    }

    /// Hosts of these two switches have delays of 10 us, and the link between the switches has 1 us.
    fn long_delays(rate: &str) -> Experiment {
        let sets = [("topology.rate", rate), ("topology.host_delay", "9us"), ("topology.link_delay", "1us")];
        parse(TWO_SWITCHES, &sets)
    }

    #[test]
    fn a_long_window_has_all_its_stages_before_the_next_window_or_the_end_of_a_stretch() {
        let experiment = long_delays("100Gbps");
        let (mut partitions, mut windows) = two_partitions(&experiment, Execution::Windows);
        let stages = windows.choose_length(&mut partitions).expect("long windows");
        let limits = Limits { events: 1, seconds: None, search: Instant::MAX };
        let mail = std::mem::take(&mut windows.mail);
        let stretch = Stretch::new(&partitions, Barrier::new(1, 0), limits, mail, Some(stages));
        let schedule = windows.schedule.as_mut().expect(HANDED_BACK);
        let mut opened = Vec::new();
        for read in [0, 1, 0] {
            stretch.open(schedule, read);
            let Some(until) = stretch.until() else { break };
            opened.push((until.0, stretch.steps().expect("long windows")));
            stretch.live(&mut partitions, 0, until, read);
        }
        // The first stage has more than one event, so the stretch ends after the second.
        assert_eq!(opened, [(9_999_999, 0..1), (9_999_999, 1..2)]);
        assert_eq!((stretch.windows(), schedule.opened()), (2, Instant(10_000_000)));
    }

    #[test]
    fn windows_are_long_if_a_stage_has_many_events() {
        // Windows can be 10 us long instead of 1 us. A packet takes 0.12 us on a link at 100 Gb/s, and 12 us at 1 Gb/s.
        for (rate, execution, are_long) in [
            ("100Gbps", Execution::Adaptive, [false, true, true]),
            ("1Gbps", Execution::Adaptive, [false, false, false]),
            ("100Gbps", Execution::Events, [false, false, false]),
            ("1Gbps", Execution::Windows, [true, true, true]),
        ] {
            let experiment = long_delays(rate);
            let (mut partitions, mut windows) = two_partitions(&experiment, execution);
            for expected in are_long {
                windows.advance(&mut partitions, 10_000);
                assert_eq!(windows.are_long, expected, "{rate}, {execution:?}");
            }
        }
    }

    #[test]
    fn the_choice_of_threads_receives_the_packet_hops_of_each_stretch() {
        let experiment = parse(TWO_SWITCHES, &[]);
        let (mut partitions, mut windows) = two_partitions(&experiment, Execution::Events);
        windows.adapt_threads(2);
        let (mut measured, mut most) = (0, 0);
        for _ in 0..20 {
            windows.density = Some(DENSE);
            let before = hops(&partitions);
            windows.advance(&mut partitions, 500);
            let sum = measured + hops(&partitions) - before;
            measured = windows.thread_count.as_ref().expect("it adapts").hops();
            // After 10 ms of wall time, the count starts again.
            assert!(measured == sum || measured == 0, "{measured} hops instead of {sum}");
            most = most.max(measured);
        }
        assert!(most > 0);
    }

    #[test]
    fn a_run_adapts_its_threads_only_if_it_has_more_than_one() {
        let experiment = parse(TWO_SWITCHES, &[]);
        for threads in [1, 2] {
            let division = Division::new(&experiment, threads).expect("it has two switches");
            let mut windows =
                Windows::new(&experiment, division, None, Execution::Events, Instant(1), Duration(1));
            windows.adapt_threads(2);
            assert_eq!(windows.adapts_threads(), threads > 1);
        }
    }

    #[test]
    fn a_stretch_opens_no_window_after_its_limit_of_events_or_of_wall_time() {
        let experiment = parse(TWO_SWITCHES, &[]);
        let begun = |events, seconds| {
            let (partitions, mut windows) = two_partitions(&experiment, Execution::Events);
            let limits = Limits { events, seconds, search: Instant::MAX };
            let stretch = Stretch::new(
                &partitions,
                Barrier::new(1, 0),
                limits,
                std::mem::take(&mut windows.mail),
                None,
            );
            thread::sleep(std::time::Duration::from_millis(2));
            stretch.open(windows.schedule.as_mut().expect(HANDED_BACK), 0);
            (stretch.until().is_some(), stretch.windows())
        };
        assert_eq!(begun(u64::MAX, None), (true, 1));
        assert_eq!(begun(u64::MAX, Some(3_600.0)), (true, 1));
        assert_eq!(begun(0, None), (false, 0));
        assert_eq!(begun(u64::MAX, Some(0.001)), (false, 0), "2 ms have passed");
    }

    #[test]
    fn a_partition_without_an_event_or_mail_in_a_window_is_not_visited() {
        let experiment = parse(TWO_SWITCHES, &[]);
        let (mut partitions, mut windows) = two_partitions(&experiment, Execution::Events);
        let limits = Limits { events: u64::MAX, seconds: None, search: Instant::MAX };
        let mail = std::mem::take(&mut windows.mail);
        let stretch = Stretch::new(&partitions, Barrier::new(1, 0), limits, mail, None);
        stretch.open(windows.schedule.as_mut().expect(HANDED_BACK), 0);
        let until = stretch.until().expect("flows begin");
        // All events of the window happen at the first visits.
        for _ in 0..2 {
            stretch.live(&mut partitions, 0, until, 0);
            assert!(partitions.iter().all(|partition| partition.visits <= 1));
        }
        assert!(partitions.iter().any(|partition| partition.visits == 1));
    }
}
