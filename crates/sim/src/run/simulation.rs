//! A run of one experiment: fires events until the run ends, checks the conservation laws and returns the report.

use std::io;
use std::sync::Arc;

use shallows_core::event::{EventQueue, World as _};
use shallows_core::{Instant, parallel};
use shallows_measure::{Captures, Report, Sink, Tally};
use shallows_scenario::Experiment;

use crate::network::division::{Division, longest_flight};
use crate::network::site::Site;
use crate::network::stages::Stages;
use crate::run::closing::{self, Whole};
use crate::run::critical_path::CriticalPath;
use crate::run::deadlock::{Advance, Search};
use crate::run::end::Ending;
use crate::run::partition::Partition;
use crate::run::restarts::Restarts;
use crate::run::windows::Windows;
use crate::run::world::World;
use crate::run::world::pace::Execution;
use crate::traffic::Traffic;

mod adapting;

/// Run of one experiment.
#[derive(Debug)]
pub struct Simulation {
    experiment: Experiment,
    execution: Execution,
    /// Number of threads that compute the report.
    threads: usize,
    /// Partitions of the network. An undivided network is a single partition.
    partitions: Vec<Partition>,
    /// Time windows in which several partitions run; `None` for a single partition.
    windows: Option<Windows>,
    ending: Ending,
    search: Search,
    /// Whether every flow of a run with a single partition is complete. If so, the run continues step by step until its end ([`Ending`]).
    closing: bool,
    captures: Captures,
    /// Whether the run has yet to decide between one and several partitions per thread.
    on_trial: bool,
    /// Choice between an undivided network and partitions; `None` if the choice is final.
    restarts: Option<Restarts>,
    /// Whether a run with a single partition is over because all its traffic has ended. With several partitions, `windows` holds this
    /// state.
    finished: bool,
    done: bool,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Whether the run has ended.
    pub done: bool,
    /// Simulated time.
    pub now: Instant,
    /// Share of the run that is done, from 0 to 1: the larger of the share of completed flows and the share of the time to `stop.at`.
    pub fraction: f64,
    /// Number of flows that have arrived.
    pub flows_started: u64,
    /// Number of flows that are complete.
    pub flows_completed: u64,
    /// Number of packet-hops: each packet counts once for each link on which it was sent.
    pub packet_hops: u64,
    /// Number of events fired.
    pub events: u64,
}

/// Number of events after which captured packets are written to files. The packets captured during these events take only a few megabytes.
const CAUGHT: u64 = 1 << 16;

/// Number of events after which an undivided run checks whether cores are free. These events take a few milliseconds.
const EVENTS_PER_CHECK: u64 = 1 << 14;

/// Number of events after which the number of partitions per thread is decided. During these events, which take less than a second of wall
/// time, the queues of large networks fill.
const TRIAL: u64 = 1 << 20;

/// Number of events per time window of a partition above which several partitions per thread are faster than one.
const WORTH_A_VISIT: u64 = 50;

/// Number of directed links above which a run keeps several partitions per thread even with few events, because the network exceeds the
/// cache in any case.
const NEVER_ONE: usize = 8_192;

/// Time at which a run without `stop.at` ends in any case. A run reaches this time only if a flow has no path, so that its retransmission
/// timer backs off again and again. 100 days are half of the clock's range, so no deadline overflows.
const END_OF_TIME: Instant = Instant(100 * 24 * 3_600 * 1_000_000_000_000);

/// Opens a sink that discards all data.
///
/// # Errors
///
/// Never.
pub fn nowhere(_name: &str) -> io::Result<Sink> {
    Ok(Box::new(io::sink()))
}

impl Simulation {
    /// Builds the network and schedules the first events. Captures are discarded.
    pub fn new(experiment: Experiment) -> Self {
        Self::divided(experiment, 1)
    }

    /// Builds the network for `threads` threads, or fewer if it has too few switches. Captures are discarded. Results do not depend on the
    /// number of threads.
    pub fn divided(experiment: Experiment, threads: u32) -> Self {
        Self::capturing(experiment, threads, nowhere).expect("nowhere takes everything")
    }

    /// Builds the network like [`Self::divided`], and writes each capture to the sink that `open` returns for its name.
    ///
    /// # Errors
    ///
    /// If a sink cannot be opened or written to.
    pub fn capturing(
        experiment: Experiment,
        threads: u32,
        open: impl FnMut(&str) -> io::Result<Sink>,
    ) -> io::Result<Self> {
        let captures = Captures::simulated(&experiment, open)?;
        Ok(Self::for_threads(experiment, threads, captures))
    }

    fn for_threads(experiment: Experiment, threads: u32, captures: Captures) -> Self {
        let division = Division::new(&experiment, threads).ok();
        let mut built = Self::build(experiment, division, Execution::default(), captures, threads);
        // Captures are written during the run, so a captured run cannot restart with other partitions.
        let may_be_one = !built.captures.any() && built.experiment.network.links.len() <= NEVER_ONE;
        let divided = built.windows.as_ref().map(Windows::division);
        built.on_trial =
            may_be_one && divided.is_some_and(|division| division.partitions() > division.threads());
        built
    }

    /// Builds the network with this division, and writes each capture to the sink that `open` returns for its name.
    ///
    /// # Errors
    ///
    /// If a sink cannot be opened or written to.
    pub fn of_partitions(
        experiment: Experiment,
        division: Division,
        open: impl FnMut(&str) -> io::Result<Sink>,
    ) -> io::Result<Self> {
        Self::executed(experiment, Some(division), Execution::default(), open)
    }

    /// Builds the network with this division; without a division, builds it as one partition. `execution` selects how switches run. Writes
    /// each capture to the sink that `open` returns for its name.
    ///
    /// # Errors
    ///
    /// If a sink cannot be opened or written to.
    pub fn executed(
        experiment: Experiment,
        division: Option<Division>,
        execution: Execution,
        open: impl FnMut(&str) -> io::Result<Sink>,
    ) -> io::Result<Self> {
        let captures = Captures::simulated(&experiment, open)?;
        let threads = division.as_ref().map_or(1, Division::threads);
        Ok(Self::build(experiment, division, execution, captures, threads))
    }

    fn build(
        experiment: Experiment,
        division: Option<Division>,
        execution: Execution,
        captures: Captures,
        threads: u32,
    ) -> Self {
        let threads = threads as usize;
        let (ending, search) = (Ending::new(&experiment), Search::new(&experiment));
        let (partitions, windows) = divide(&experiment, division, execution, &captures);
        Self {
            experiment,
            execution,
            threads,
            partitions,
            windows,
            ending,
            search,
            closing: false,
            captures,
            on_trial: false,
            restarts: None,
            finished: false,
            done: false,
        }
    }

    /// Fires `events` events, or fewer if the run ends or restarts, and returns the progress. Fires some more events if the network is
    /// divided or switches run in time windows, because a window is not interrupted. Samples, records of traces and searches for deadlocks
    /// count as events here, so that the call also returns if nothing else happens. If a run that adapts its threads restarts, its progress
    /// falls.
    pub fn advance(&mut self, events: u64) -> Progress {
        let enough = self.fired().saturating_add(events);
        while !self.done && self.fired() < enough {
            let most = match (&self.restarts, &self.windows) {
                _ if self.captures.any() => CAUGHT,
                (Some(_), None) => EVENTS_PER_CHECK,
                _ => u64::MAX,
            };
            let some = most.min(enough - self.fired());
            let advance = match &mut self.windows {
                Some(windows) => {
                    windows.search = self.search.due;
                    windows.advance(&mut self.partitions, some)
                }
                None => self.advance_whole(some),
            };
            self.done = match advance {
                Advance::Budget => false,
                Advance::Search => self.search_deadlock(),
                Advance::End => true,
            };
            if self.on_trial && (self.done || self.events() >= TRIAL) {
                self.judge();
            }
            if self.reconsider() {
                break;
            }
            self.write_captures();
        }
        self.progress()
    }

    /// Lets the partitions read their unread mail.
    fn read_mail(&mut self) {
        if let Some(windows) = &self.windows {
            windows.read_mail(&mut self.partitions);
        }
    }

    /// Searches for a deadlock, and ends the run if there is one. Returns whether there is a deadlock.
    fn search_deadlock(&mut self) -> bool {
        self.read_mail();
        let bound = |partition: &Partition| partition.world.not_before(&partition.queue);
        let arrival = self.windows.iter().map(Windows::not_before);
        let next = self.partitions.iter().map(bound).chain(arrival).min().unwrap_or(Instant::MAX);
        let worlds = self.partitions.iter().map(|partition| &partition.world);
        self.search.run(worlds, next)
    }

    /// Decides whether each thread keeps several partitions, which is faster if a partition has many events per time window. If a partition
    /// has few events per window, restarts the run with one partition per thread and fires as many events as before. Results do not depend
    /// on this decision.
    fn judge(&mut self) {
        self.on_trial = false;
        let (events, visits) =
            (self.events(), self.partitions.iter().map(|partition| partition.visits).sum::<u64>());
        let Some(windows) = &self.windows else { return };
        if self.done || events >= visits * WORTH_A_VISIT {
            return;
        }
        let division = windows.division().merged();
        let adapts = windows.adapts_threads().then_some(division.threads());
        self.restart(Some(division), adapts);
        self.advance(events);
    }

    /// Starts the run again with this division. If `adapts` is a number, the run measures its speed and changes its number of threads,
    /// which is this number at first.
    fn restart(&mut self, division: Option<Division>, adapts: Option<u32>) {
        // Memory of the earlier network is freed before the new network needs it.
        self.partitions.clear();
        self.windows = None;
        (self.partitions, self.windows) = divide(&self.experiment, division, self.execution, &self.captures);
        self.search = Search::new(&self.experiment);
        self.closing = false;
        if let Some(first) = adapts {
            self.adapt_threads(first);
        }
    }

    /// Writes the captured packets of times before the current time, because later packets cannot precede them. With several partitions, or
    /// after the end of the run, writes all captured packets.
    fn write_captures(&mut self) {
        let until = match &self.partitions[..] {
            [whole] if !self.done => whole.queue.now(),
            _ => Instant::MAX,
        };
        let taps = self.partitions.iter_mut().map(|partition| partition.world.tap());
        self.captures.write_before(until, taps);
    }

    /// Fires about `events` events of a run with a single partition. Returns the reason for stopping.
    fn advance_whole(&mut self, events: u64) -> Advance {
        if self.closing {
            return self.close(events);
        }
        let limit = limit(&self.experiment);
        let Partition { world, queue, .. } = &mut self.partitions[0];
        if !world.stop_if_complete() && world.run(queue, limit.min(self.search.due), events) {
            return Advance::Budget;
        }
        if !world.is_finished() {
            return if self.search.due <= limit { Advance::Search } else { Advance::End };
        }
        // The step in which the last flow completes runs to its end, as it does in every partition of a divided network.
        world.go_on_after_completion();
        world.run(queue, self.ending.step_end(queue.now()).min(limit), u64::MAX);
        self.closing = true;
        self.close(events)
    }

    /// Advances a run with a single partition by about `events` events, step by step, after all its flows are complete. Returns the reason
    /// for stopping.
    fn close(&mut self, events: u64) -> Advance {
        let limit = limit(&self.experiment);
        let Partition { world, queue, .. } = &mut self.partitions[0];
        let enough = world.events(queue).saturating_add(events);
        while world.events(queue) < enough {
            let next = world.next_at(queue);
            self.finished = self.ending.is_over(world.tally().under_way(), next);
            if !self.finished && next > self.search.due && self.search.due <= limit {
                return Advance::Search;
            }
            if self.finished || next > limit {
                return Advance::End;
            }
            world.run(queue, self.ending.step_end(next).min(limit), u64::MAX);
        }
        Advance::Budget
    }

    /// Returns the progress of the run.
    pub fn progress(&self) -> Progress {
        let tally = self.tally();
        Progress {
            done: self.done,
            now: self.now(),
            fraction: self.fraction(),
            flows_started: self.flows_started(),
            flows_completed: tally.flows_completed,
            packet_hops: tally.packet_hops,
            events: self.events(),
        }
    }

    pub(crate) fn worlds(&self) -> impl Iterator<Item = &World> {
        self.partitions.iter().map(|partition| &partition.world)
    }

    /// Returns the workloads of all partitions, and the workloads whose flows are drawn in advance for all partitions.
    fn traffic(&self) -> impl Iterator<Item = &Traffic> {
        let drawn = self.windows.as_ref().map(Windows::traffic);
        drawn.into_iter().chain(self.worlds().map(World::traffic))
    }

    /// Returns the number of stored packet bodies.
    fn packets(&self) -> u64 {
        let threads = self.partitions.chunk_by(Partition::shares_memory_with).map(|share| share[0].stored());
        threads.chain(self.worlds().map(World::packets)).sum::<usize>() as u64
    }

    fn flows_started(&self) -> u64 {
        self.traffic().map(|traffic| u64::from(traffic.arrived)).sum()
    }

    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        self.worlds().for_each(|world| tally += *world.tally());
        tally
    }

    fn now(&self) -> Instant {
        self.partitions
            .iter()
            .map(|partition| partition.world.last(&partition.queue))
            .max()
            .unwrap_or_default()
    }

    /// Returns the number of fired events. This number depends on the division, so no result contains it.
    fn events(&self) -> u64 {
        self.partitions.iter().map(Partition::events).sum()
    }

    /// Returns the number of fired events and of searches for deadlocks.
    fn fired(&self) -> u64 {
        self.partitions.iter().map(Partition::fired).sum::<u64>() + self.search.searches
    }

    /// Returns the number of partitions.
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// Returns the number of time windows, or stages of long windows, that ran on several threads. Windows with few events run on one thread.
    pub fn threaded_windows(&self) -> u64 {
        self.windows.as_ref().map_or(0, |windows| windows.threaded_windows)
    }

    /// Lets the run change its number of threads, which is `first` at first. The run then measures its speed and uses the fastest number, up to
    /// the number of threads of the division. Results do not depend on this number.
    fn adapt_threads(&mut self, first: u32) {
        if let Some(windows) = &mut self.windows {
            windows.adapt_threads(first);
        }
    }

    /// Enables the measurement of the critical path for each number of cores in `cores`. Has an effect only with several partitions on one
    /// thread.
    pub fn follow_critical_path(&mut self, cores: &[u32]) {
        if let Some(windows) = &mut self.windows {
            windows.follow_critical_path(cores);
        }
    }

    /// Returns each number of cores, with an upper bound on the speed-up of the run over one core. The bound assumes that all events take
    /// equal time and all other work takes none. Empty unless [`Self::follow_critical_path`] was called.
    pub fn speed_ups(&self) -> Vec<(u32, f64)> {
        let path = self.windows.as_ref().and_then(|windows| windows.critical_path.as_ref());
        path.map(CriticalPath::speed_ups).unwrap_or_default()
    }

    /// Flushes the captures. Call this function regularly, to detect errors early, and before [`Self::finish`].
    ///
    /// # Errors
    ///
    /// The first error since the run began; nothing was captured after it.
    pub fn flush_captures(&mut self) -> io::Result<()> {
        self.captures.flush()
    }

    fn fraction(&self) -> f64 {
        if self.done {
            return 1.0;
        }
        let by_time = self.experiment.stop.at.map(|at| share(self.now().as_secs_f64(), at.as_secs_f64()));
        let completed = self.tally().flows_completed as f64;
        let by_flows = self.experiment.expected_flows().map(|flows| share(completed, flows as f64));
        by_time.unwrap_or(0.0).max(by_flows.unwrap_or(0.0))
    }

    /// Ends the run, checks the conservation laws and returns the report.
    ///
    /// # Panics
    ///
    /// If a conservation law does not hold, which is a defect of this program.
    pub fn finish(mut self) -> Report {
        self.done = true;
        self.read_mail();
        self.write_captures();
        let under_way = self.worlds().map(World::audit).fold(0, u64::wrapping_add);
        self.tally().audit(under_way);
        assert!(self.packets() <= under_way, "no packet is kept that is not under way");
        let finished = self.windows.as_ref().map_or(self.finished, Windows::finished);
        // A run with `stop.at` lasts until that time, even if its last event is earlier.
        let end = match (self.experiment.stop.at, &self.search.found) {
            (_, Some(deadlock)) => deadlock.at,
            (Some(at), None) if !finished => at,
            (stop, None) => {
                let after = self.ending.after(self.now());
                stop.map_or(after, |at| at.min(after))
            }
        };
        let forgotten = self.traffic().flat_map(|traffic| traffic.choices.forgotten()).copied().collect();
        let (captured, deadlock) = (self.captures.packets(), self.search.found);
        let whole = Whole { end, forgotten, captured, deadlock, threads: self.threads };
        let worlds = self.partitions.into_iter().map(|partition| partition.world).collect();
        closing::report(self.experiment, worlds, whole)
    }
}

/// Builds the partitions of a network at time zero. Also returns the time windows in which they run; `None` for a single partition.
fn divide(
    experiment: &Experiment,
    division: Option<Division>,
    execution: Execution,
    captures: &Captures,
) -> (Vec<Partition>, Option<Windows>) {
    // Most events are the arrivals of packets.
    let horizon = longest_flight(experiment, experiment.network.links.iter());
    let sites = Site::all(experiment, division.as_ref());
    let stages = division.as_ref().and_then(|division| Stages::new(experiment, division)).map(Arc::new);
    let threads = division.as_ref().map_or(1, Division::threads);
    let shares = division.as_ref().map_or(vec![1], |division| division.shares_of(threads));
    let build = |site, memory| {
        let mut queue = EventQueue::new(horizon);
        let mut world =
            World::new(experiment, division.as_ref(), stages.as_deref(), site, captures, execution);
        world.start(experiment, &mut queue);
        Partition::new(world, queue, memory)
    };
    let mut sites = sites.into_iter();
    let sites_of_threads = shares.into_iter().map(|share| sites.by_ref().take(share).collect()).collect();
    // The calling thread builds the partitions that it will run. A vector usually grows in the arena of the allocator in which it was first
    // allocated, so threads then rarely wait for each other's arenas.
    let partitions = parallel::map(threads as usize, sites_of_threads, |sites: Vec<Site>| {
        let memory = Arc::default();
        sites.into_iter().map(|site| build(site, Arc::clone(&memory))).collect::<Vec<_>>()
    });
    let partitions = partitions.into_iter().flatten().collect();
    let windows = division.filter(|division| division.partitions() > 1).map(|division| {
        Windows::new(experiment, division, stages.clone(), execution, limit(experiment), horizon)
    });
    (partitions, windows)
}

/// Returns `part` divided by `whole`, but at most 1; 0 if `whole` is 0.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 }
}

/// Returns the latest instant at which a run ends: `stop.at`, or [`END_OF_TIME`] without it.
fn limit(experiment: &Experiment) -> Instant {
    experiment.stop.at.unwrap_or(END_OF_TIME)
}

#[cfg(test)]
mod tests;
