//! Flows of a scenario, at the same times as in a simulation with the same seed.
//!
//! A workload receives the scheduled time of each of its flows, even if this program processes the flow late. Random draws therefore do
//! not depend on the speed of the machine. Flows without dependencies are announced in advance, so that their
//! connections can be opened in time.

use std::collections::VecDeque;

use shallows_core::{Duration, Instant};
use shallows_scenario::{Experiment, Flow, Leg, Milestone, Next, QueryRecord, Workload};

/// Flow with the number of its announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Number of the announcement, unique in a run.
    pub ticket: u64,
    /// The flow.
    pub flow: Flow,
}

/// The workloads of a run.
#[derive(Debug)]
pub struct Announcer {
    sources: Vec<Source>,
    tickets: u64,
    /// Flows announced since the last call of [`Self::announced`].
    announced: Vec<Announced>,
    /// Lead time with which flows without dependencies are announced.
    ahead: Duration,
}

#[derive(Debug)]
struct Source {
    workload: Box<dyn Workload>,
    /// Announced flows that are not yet due, in order.
    ahead: VecDeque<Announced>,
    /// Time at which to poll the workload again, if the workload has requested a poll.
    until: Option<Instant>,
    done: bool,
}

impl Announcer {
    /// Starts the workloads of `experiment`; flows without dependencies are announced a time `ahead` before they arrive.
    pub fn new(experiment: &Experiment, ahead: Duration) -> Self {
        let source = |workload| Source { workload, ahead: VecDeque::new(), until: None, done: false };
        let sources = experiment.workloads().into_iter().map(source).collect();
        let mut traffic = Self { sources, tickets: 0, announced: Vec::new(), ahead };
        (0..traffic.sources.len()).for_each(|index| traffic.refill(index, Instant::ZERO, Instant::ZERO));
        traffic
    }

    /// Removes and returns the earliest flow that is due by `now`; `None` if none is due.
    pub fn due(&mut self, now: Instant) -> Option<Announced> {
        loop {
            let (at, index) = self
                .sources
                .iter()
                .enumerate()
                .filter_map(|(i, source)| Some((source.next_at()?, i)))
                .min()?;
            if at > now {
                (0..self.sources.len()).for_each(|index| self.look_ahead(index, now));
                return None;
            }
            let source = &mut self.sources[index];
            if source.until.take_if(|until| *until == at).is_some() {
                self.refill(index, at, now);
                continue;
            }
            let due = source.ahead.pop_front().expect("it is what comes next");
            self.refill(index, at, now);
            return Some(due);
        }
    }

    /// Returns the time of the next flow or poll.
    pub fn next_at(&self) -> Option<Instant> {
        self.sources.iter().filter_map(Source::next_at).min()
    }

    /// Returns the flows announced since the last call.
    pub fn announced(&mut self) -> Vec<Announced> {
        std::mem::take(&mut self.announced)
    }

    /// Returns whether there will be no further flow.
    pub fn is_done(&self) -> bool {
        self.sources.iter().all(|source| source.done && source.ahead.is_empty())
    }

    /// Handles the completion of a flow that carried the part `leg` of a query: all its data has arrived.
    pub fn on_complete(&mut self, workload: u16, leg: Leg, now: Instant) {
        self.sources[usize::from(workload)].workload.on_complete(leg, now);
        self.ask_again(workload, now);
    }

    /// Handles the progress of a flow with dependencies, which has the index `listed` in its workload's list.
    pub fn on_milestone(&mut self, workload: u16, listed: u32, milestone: Milestone, now: Instant) {
        self.sources[usize::from(workload)].workload.on_milestone(listed, milestone, now);
        self.ask_again(workload, now);
    }

    /// Returns the results of queries for each workload.
    pub fn queries(&self) -> Vec<Vec<QueryRecord>> {
        self.sources.iter().map(|source| source.workload.queries().to_vec()).collect()
    }

    fn ask_again(&mut self, workload: u16, now: Instant) {
        self.refill(usize::from(workload), now, now);
    }

    /// Announces the flows of a workload that are due soon. A workload without announced flows is first polled at the time `at`, which may
    /// be before `now`.
    fn refill(&mut self, index: usize, at: Instant, now: Instant) {
        if self.sources[index].ahead.is_empty() {
            self.ask(index, at);
        }
        self.look_ahead(index, now);
    }

    fn ask(&mut self, index: usize, at: Instant) {
        let source = &mut self.sources[index];
        if source.done {
            return;
        }
        match source.workload.next(at) {
            Next::Flow(flow) => {
                let announced = Announced { ticket: self.tickets, flow };
                self.tickets += 1;
                source.ahead.push_back(announced);
                self.announced.push(announced);
            }
            Next::Until(until) => source.until = Some(until),
            Next::Wait => {}
            Next::Done => source.done = true,
        }
    }

    /// Announces flows that are due soon, unless they react to other flows.
    fn look_ahead(&mut self, index: usize, now: Instant) {
        let mut known = 0;
        while let Some(last) = self.sources[index].ahead.back()
            && self.sources[index].ahead.len() > known
        {
            let flow = last.flow;
            if flow.leg.is_some() || flow.listed.is_some() || flow.at >= now + self.ahead {
                return;
            }
            known = self.sources[index].ahead.len();
            self.ask(index, flow.at);
        }
    }
}

impl Source {
    fn next_at(&self) -> Option<Instant> {
        let flow = self.ahead.front().map(|announced| announced.flow.at);
        flow.into_iter().chain(self.until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(workload: &str) -> Experiment {
        let text = format!(
            "name = \"star\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100Mbps\"\n[switch]\nbuffer = {{kind = \"static-partition\", per_port = \"150KB\"}}\n\
             [[workload]]\n{workload}\n[stop]\nat = \"10s\"\n"
        );
        let loaded =
            shallows_scenario::parse(&text, "star.toml", &|_| unreachable!("it names no file"), &[], None);
        loaded.unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    const AHEAD: Duration = Duration::from_millis(100);
    const POISSON: &str = "kind = \"poisson\"\nload = 0.5\nflows = 300\nsizes = \"web-search\"";

    /// Simulates `experiment` and returns its flows: arrival, source, destination and size.
    fn simulated(experiment: &Experiment) -> Vec<(u64, u32, u32, Option<u64>)> {
        let mut simulation = shallows_sim::Simulation::new(experiment.clone());
        while !simulation.advance(1 << 16).done {}
        let flows = simulation.finish();
        flows.flows().map(|f| (f.arrival.0, f.source.0, f.destination.0, f.size.map(|size| size.0))).collect()
    }

    #[test]
    fn the_flows_are_those_of_the_simulation_however_late_they_are_fetched() {
        let experiment = experiment(POISSON);
        let mut traffic = Announcer::new(&experiment, AHEAD);
        let mut flows = Vec::new();
        // Steps of 7 ms, so that several flows are due at once.
        for step in 0..=1_428 {
            while let Some(Announced { flow, .. }) = traffic.due(Instant(step * 7_000_000_000)) {
                flows.push((flow.at.0, flow.source.0, flow.destination.0, flow.size.map(|size| size.0)));
            }
        }
        let expected = simulated(&experiment);
        assert!(flows.len() > 50, "{}", flows.len());
        assert_eq!(flows, expected[..flows.len()]);
    }

    #[test]
    fn what_waits_for_nothing_is_announced_before_it_is_due() {
        let mut traffic = Announcer::new(&experiment(POISSON), AHEAD);
        let mut known = std::collections::BTreeSet::new();
        let mut late = 0;
        for step in 0..10_000 {
            known.extend(traffic.announced().iter().map(|announced| announced.ticket));
            while let Some(due) = traffic.due(Instant(step * 1_000_000_000)) {
                late += usize::from(!known.contains(&due.ticket));
            }
        }
        assert!(known.len() > 50 && late == 0, "{} were known, {late} too late", known.len());
    }
}
