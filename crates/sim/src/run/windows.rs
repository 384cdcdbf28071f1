//! Runs the parts of a network beside each other, window by window.
//!
//! Simulated time is cut into cells, each as long as the shortest delay between two parts. In a window, which is a cell in
//! which something happens, every part runs on its own; what it sends to others arrives in a later one. Between two
//! windows, flows that arrive in the next are drawn, and it is seen whether the run is over. So nothing depends on how many
//! parts there are, or on which thread runs them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use shallows_core::event::{EventQueue, World, run};
use shallows_core::{Duration, Instant};
use shallows_scenario::Experiment;

use crate::network::division::Division;
use crate::network::event::{Event, Ranks};
use crate::run::critical_path::CriticalPath;
use crate::run::end::{Ending, step_end};
use crate::run::gate::{Alarm, Gate};
use crate::run::part::{Mail, Part};
use crate::traffic::{Here, Names, Newcomer, Traffic};

/// What the parts have in common.
#[derive(Debug)]
pub(crate) struct Windows {
    division: Division,
    drawing: Drawing,
    /// Flows that are to arrive.
    arrivals: EventQueue<Event>,
    /// The last moment of the run, if nothing ends it before.
    limit: Instant,
    ends_on_completion: bool,
    ending: Ending,
    /// Whether the run is over because everything in it has ended.
    pub(crate) finished: bool,
    /// Events of a window of late.
    density: u64,
    /// Windows in which several threads ran.
    pub(crate) threaded_windows: u64,
    /// Where that is asked for; only one thread follows it.
    pub(crate) critical_path: Option<CriticalPath>,
    /// Empty between two stretches; kept to spare its allocations.
    mail: [Mail; 2],
}

/// With as many events in a window, threads gain more than meeting twice costs them: some microseconds.
const DENSE: u64 = 100;

/// Events between two looks at how dense windows are: threads begin anew for each stretch, which takes as long as some
/// thousand events.
const STRETCH_TOGETHER: u64 = 1 << 19;
const STRETCH_IN_TURN: u64 = 1 << 14;

/// Workloads that are asked for the flows of a window.
#[derive(Debug)]
struct Drawing {
    traffic: Traffic,
    ranks: Ranks,
    drawn: Vec<Newcomer>,
}

impl World for Drawing {
    type Event = Event;

    fn handle(&mut self, event: Event, queue: &mut EventQueue<Event>) {
        self.drawn.extend(self.traffic.arrive(event.index(self.ranks) as usize, queue));
    }
}

impl Windows {
    pub(crate) fn new(
        experiment: &Experiment,
        division: Division,
        limit: Instant,
        horizon: Duration,
    ) -> Self {
        let ranks = Ranks::new(experiment.seed);
        let mut arrivals = EventQueue::new(horizon);
        // With applications, flows have names of the parts that start them.
        let step = if experiment.reacts().contains(&true) { division.parts() + 1 } else { 1 };
        let mut traffic = Traffic::new(experiment, &Here::Drawn, Names { first: 0, step }, ranks);
        traffic.start(&mut arrivals);
        let parts = division.parts() as usize;
        Self {
            mail: [Mail::new(parts), Mail::new(parts)],
            critical_path: None,
            division,
            drawing: Drawing { traffic, ranks, drawn: Vec::new() },
            arrivals,
            limit,
            ends_on_completion: experiment.stop.on_completion,
            ending: Ending::new(experiment),
            finished: false,
            density: 0,
            threaded_windows: 0,
        }
    }

    /// From now on see how long a run on so many `cores` would take at least.
    pub(crate) fn follow_critical_path(&mut self, cores: &[u32]) {
        self.critical_path = Some(CriticalPath::new(&self.division, cores));
    }

    pub(crate) fn division(&self) -> &Division {
        &self.division
    }

    /// Workloads that are drawn, as far as they were asked: for all flows that have arrived, and for those of this window.
    pub(crate) fn traffic(&self) -> &Traffic {
        &self.drawing.traffic
    }

    /// Run windows until some `events` have fired, a stretch is over or the run ends; says whether that has.
    pub(crate) fn advance(&mut self, parts: &mut [Part], events: u64) -> bool {
        let fired = |parts: &[Part]| parts.iter().map(Part::events).sum::<u64>();
        let before = fired(parts);
        let threads = self.division.threads() as usize;
        let together = threads > 1 && self.density >= DENSE;
        let enough = before + events.min(if together { STRETCH_TOGETHER } else { STRETCH_IN_TURN });
        let team = Team::new(parts, threads, enough, std::mem::take(&mut self.mail));
        let ended = if together { self.run_together(parts, &team) } else { self.run_in_turn(parts, &team) };
        team.deliver(parts);
        self.density = (fired(parts) - before) / team.windows().max(1);
        self.threaded_windows += if together { team.windows() } else { 0 };
        self.mail = team.mail;
        ended
    }

    /// Several threads beside each other, each with its parts.
    fn run_together(&mut self, parts: &mut [Part], team: &Team) -> bool {
        let mut shares = shares(parts, self.division.shares());
        let mine = shares.remove(0).1;
        let windows = &Mutex::new(self);
        thread::scope(|scope| {
            let work = |(first, parts)| scope.spawn(move || team.work(parts, first, windows));
            let others: Vec<_> = shares.into_iter().map(work).collect();
            team.work(mine, 0, windows);
            for thread in others {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
        !team.has_enough()
    }

    /// One part after another.
    fn run_in_turn(&mut self, parts: &mut [Part], team: &Team) -> bool {
        let mut read = 0;
        loop {
            team.open(self, read);
            let Some(until) = team.until() else { return !team.has_enough() };
            team.live(parts, 0, until, read);
            if let Some(path) = &mut self.critical_path {
                path.on_window(parts);
            }
            read = 1 - read;
        }
    }

    /// The last moment of the next window, whose flows are announced in `mail`; none if the run is over. Nothing happens in
    /// the parts before `earliest`, so many of their flows are `open`, drawn ones aside that have not completed, and so many packets
    /// under way.
    fn next(&mut self, earliest: Instant, state: State, mail: &Mail) -> Option<Instant> {
        let first = earliest.min(self.arrivals.not_before());
        let traffic = &self.drawing.traffic;
        let open = traffic.finite + state.flows_started - state.flows_completed;
        let complete = self.ends_on_completion && open + state.busy + traffic.busy() == 0;
        if complete && self.ending.is_over(state.under_way, first) {
            self.finished = true;
            return None;
        }
        if first > self.limit {
            return None;
        }
        let until = step_end(first, self.division.cell()).min(self.limit);
        run(&mut self.drawing, &mut self.arrivals, until, u64::MAX);
        for newcomer in self.drawing.drawn.drain(..) {
            let [source, destination] =
                [newcomer.flow.source, newcomer.flow.destination].map(|host| self.division.part_of(host.0));
            mail.announce(source, newcomer, newcomer.flow.at);
            if destination != source {
                mail.announce(destination, newcomer, newcomer.flow.at);
            }
        }
        Some(until)
    }
}

/// The parts of each thread, with the number of the first.
fn shares<'parts>(mut parts: &'parts mut [Part], counts: &[usize]) -> Vec<(usize, &'parts mut [Part])> {
    let mut next = 0;
    let share = |&count: &usize| {
        let (share, rest) = std::mem::take(&mut parts).split_at_mut(count);
        parts = rest;
        next += count;
        (next - count, share)
    };
    counts.iter().map(share).collect()
}

/// The parts of a run while it advances: what each has written up, and what they send each other.
#[derive(Debug)]
struct Team {
    board: Vec<Entry>,
    /// The one is read in a window and the other written; in the next it is the other way round.
    mail: [Mail; 2],
    /// The last moment of the window; `NONE` if it is enough or the run is over.
    until: AtomicU64,
    windows: AtomicU64,
    /// How many events are enough.
    enough: u64,
    gate: Gate,
}

/// What a part has written up.
#[derive(Debug)]
struct Entry {
    /// Nothing happens before that it knows of.
    next: AtomicU64,
    events: AtomicU64,
    /// Flows of its applications that have an end.
    flows_started: AtomicU64,
    flows_completed: AtomicU64,
    /// Applications that have something to send whatever they hear of.
    busy: AtomicU64,
    under_way: AtomicU64,
}

/// What all parts together have written up.
#[derive(Clone, Copy, Debug)]
struct State {
    flows_started: u64,
    flows_completed: u64,
    busy: u64,
    under_way: u64,
}

const NONE: u64 = u64::MAX;

impl Entry {
    fn of(part: &Part) -> Self {
        let [next, events, flows_started, flows_completed, busy, under_way] =
            [(); 6].map(|()| AtomicU64::new(0));
        let entry = Self { next, events, flows_started, flows_completed, busy, under_way };
        entry.write(part);
        entry
    }

    fn write(&self, part: &Part) {
        self.next.store(part.world.not_before(&part.queue).0, Ordering::Relaxed);
        self.events.store(part.events(), Ordering::Relaxed);
        self.flows_started.store(part.world.traffic().finite, Ordering::Relaxed);
        self.busy.store(part.world.traffic().busy(), Ordering::Relaxed);
        self.flows_completed.store(part.world.tally().flows_completed, Ordering::Relaxed);
        self.under_way.store(part.world.tally().under_way(), Ordering::Relaxed);
    }
}

impl Team {
    fn new(parts: &[Part], threads: usize, enough: u64, mail: [Mail; 2]) -> Self {
        Self {
            board: parts.iter().map(Entry::of).collect(),
            mail,
            until: AtomicU64::new(NONE),
            windows: AtomicU64::new(0),
            enough,
            gate: Gate::new(threads),
        }
    }

    /// How many windows there have been.
    fn windows(&self) -> u64 {
        self.windows.load(Ordering::Relaxed)
    }

    fn sum(&self, count: fn(&Entry) -> &AtomicU64) -> u64 {
        self.board.iter().map(|entry| count(entry).load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }

    fn has_enough(&self) -> bool {
        self.sum(|entry| &entry.events) >= self.enough
    }

    /// Decide when the next window ends, in which `read` is read.
    fn open(&self, windows: &mut Windows, read: usize) {
        let next = if self.has_enough() { None } else { self.next_of(windows, read) };
        self.until.store(next.map_or(NONE, |until| until.0), Ordering::Relaxed);
        self.windows.fetch_add(next.is_some().into(), Ordering::Relaxed);
    }

    fn next_of(&self, windows: &mut Windows, read: usize) -> Option<Instant> {
        let earliest = (0..self.board.len()).map(|part| self.next(part, read)).min();
        let state = State {
            flows_started: self.sum(|entry| &entry.flows_started),
            flows_completed: self.sum(|entry| &entry.flows_completed),
            busy: self.sum(|entry| &entry.busy),
            under_way: self.sum(|entry| &entry.under_way),
        };
        windows.next(earliest.expect("a network has a part"), state, &self.mail[read])
    }

    /// The last moment of the window that is open.
    fn until(&self) -> Option<Instant> {
        let until = self.until.load(Ordering::Relaxed);
        (until != NONE).then_some(Instant(until))
    }

    /// Nothing happens in this part before.
    fn next(&self, part: usize, read: usize) -> Instant {
        Instant(self.board[part].next.load(Ordering::Relaxed)).min(self.mail[read].first(part))
    }

    /// Parts live through a window, from the one with number `first` on: each in which something happens or has been heard of.
    fn live(&self, parts: &mut [Part], first: usize, until: Instant, read: usize) {
        let in_turn = parts.len() > 1;
        for (number, part) in (first..).zip(parts) {
            if self.next(number, read) <= until || self.mail[read].first(number) < Instant::MAX {
                if in_turn {
                    part.prefetch();
                }
                part.run(until, &self.mail[read], &self.mail[1 - read], number);
                self.board[number].write(part);
            }
        }
    }

    /// Run these parts, from the one with number `first` on, beside others who run theirs.
    fn work(&self, parts: &mut [Part], first: usize, windows: &Mutex<&mut Windows>) {
        let _alarm = Alarm(&self.gate);
        let mut read = 0;
        let open = |read| self.open(&mut windows.lock().unwrap_or_else(PoisonError::into_inner), read);
        while self.gate.pass(|| open(read)) {
            let Some(until) = self.until() else { return };
            self.live(parts, first, until, read);
            read = 1 - read;
        }
    }

    /// Give the parts what they have sent each other and nobody has read yet.
    fn deliver(&self, parts: &mut [Part]) {
        for mail in &self.mail {
            for (number, part) in parts.iter_mut().enumerate() {
                part.read(mail, number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use shallows_measure::Captures;

    use super::*;
    use crate::network::event::Class;
    use crate::network::site::Site;
    use crate::network::testing::parse;
    use crate::run::world;
    use crate::run::world::execution::Execution;

    #[test]
    fn nobody_passes_a_gate_before_all_are_there() {
        for threads in [1, 2, 7] {
            let (gate, steps) = (Gate::new(threads), 2_000);
            let there: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
            let walk = |mine: usize| {
                for step in 1..=steps {
                    there[mine].store(step, Ordering::Relaxed);
                    assert!(gate.pass(|| ()));
                    assert!(there.iter().all(|other| other.load(Ordering::Relaxed) >= step));
                    assert!(gate.pass(|| ()));
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

    #[test]
    fn a_part_that_panics_ends_the_others_and_is_heard() {
        let experiment = parse(TWO_SWITCHES, &[]);
        for broken in [0, 1] {
            let division = Division::new(&experiment, 2).expect("it has two switches");
            let horizon = Duration::from_micros(10);
            let captures = Captures::simulated(&experiment, |_| unreachable!("no captures"));
            let captures = captures.expect("nothing is opened");
            let sites = Site::all(&experiment, Some(&division));
            let last = sites[broken].links.numbers().last().expect("links leave every node");
            let (rank, place) = (Ranks::new(experiment.seed).of_link(last), sites[broken].links.count() - 1);
            let build = |site| {
                let world =
                    world::World::new(&experiment, Some(&division), site, &captures, Execution::Events);
                Part::new(world, EventQueue::new(horizon), Arc::default())
            };
            let mut parts: Vec<Part> = sites.into_iter().map(build).collect();
            // Nothing is in flight to a receiver so soon.
            parts[broken].queue.schedule(Instant(5), Event::of_link(Class::Deliver, rank, place));
            let mut windows = Windows::new(&experiment, division, Instant(1_000_000), horizon);
            windows.density = DENSE;
            let ended = catch_unwind(AssertUnwindSafe(|| windows.advance(&mut parts, u64::MAX)));
            assert!(ended.is_err(), "part {broken}");
        }
    }
}
