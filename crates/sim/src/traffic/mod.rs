//! Workloads: arrivals of their flows, and notification of their progress.

pub(crate) mod announced;
pub(crate) mod datagram;
pub(crate) mod generators;
pub(crate) mod probe;
pub(crate) mod warm_up;

use shallows_core::Instant;
use shallows_core::event::EventQueue;
use shallows_measure::{FlowChoices, FlowRecord};
use shallows_scenario::{Experiment, Flow, LocalHosts, Milestone, Next, QueryRecord, Workload};

use crate::network::event::{Class, Event, Ranks};

/// Workloads of a run or partition, which generate flows in order of arrival.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// Sources by number of the workload; `None` for workloads that are not in this selection.
    sources: Vec<Option<Source>>,
    /// Number of flows that have arrived.
    pub(crate) arrived: u32,
    /// Number of arrived flows with a size.
    pub(crate) finite: u64,
    /// Selection of traced flows.
    pub(crate) choices: FlowChoices,
    names: Names,
    ranks: Ranks,
}

/// Selection of workloads.
#[derive(Clone, Debug)]
pub(crate) enum Here {
    /// All workloads of an undivided network.
    All,
    /// Workloads whose flows are drawn ahead for all partitions.
    Drawn,
    /// Workloads that react to flows, at the hosts of one partition.
    Applications(LocalHosts),
}

/// Names of flows: the numbers `first`, `first` + `step`, and so on, so that partitions name their flows independently.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    pub(crate) first: u32,
    pub(crate) step: u32,
}

impl Names {
    /// Names that are numbers in order of arrival.
    pub(crate) const IN_ORDER: Self = Self { first: 0, step: 1 };

    /// Returns the distance of names from one source, in a network of `partitions` partitions. It is 1 if no workload reacts: all flows are
    /// then drawn ahead and named in order of arrival.
    pub(crate) fn step(experiment: &Experiment, partitions: u32) -> u32 {
        if experiment.reacts().contains(&true) { partitions + 1 } else { 1 }
    }

    fn of(self, place: u32) -> u32 {
        let name = place.checked_mul(self.step).and_then(|name| name.checked_add(self.first));
        name.filter(|&name| name < u32::MAX).expect("fewer than 2^32 flows")
    }
}

/// Flow that arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newcomer {
    pub(crate) flow: Flow,
    /// Name during the run; in an undivided network, the place in order of arrival.
    pub(crate) number: u32,
    /// Trace of the flow, if it is traced.
    pub(crate) trace: Option<u16>,
}

/// A workload and its next flow.
#[derive(Debug)]
struct Source {
    workload: Box<dyn Workload>,
    next: Option<Flow>,
    /// Whether the workload has no further flow unless a notification causes one.
    is_idle: bool,
    /// Times of the source's pending events, without duplicates, latest first. There are several if a completed flow causes another flow
    /// before the scheduled time.
    alarms: Vec<Instant>,
}

impl Source {
    /// Draws the source's next flow, unless it has one. Returns the time of that flow, or the time to draw again.
    fn fill(&mut self, now: Instant) -> Option<Instant> {
        if let Some(flow) = self.next {
            return Some(flow.at);
        }
        let next = self.workload.next(now);
        self.is_idle = matches!(next, Next::Wait | Next::Done);
        match next {
            Next::Flow(flow) => {
                self.next = Some(flow);
                Some(flow.at)
            }
            Next::Until(at) => Some(at),
            Next::Wait | Next::Done => None,
        }
    }

    /// Updates the source after a notification. Returns the time at which to draw the flows that result from it.
    fn heard(&mut self, now: Instant) -> Option<Instant> {
        if self.next.is_some() {
            return None;
        }
        let due = self.workload.due();
        self.is_idle = due.is_none();
        due.map(|due| due.max(now))
    }

    /// Records an event at this time; returns whether it must be scheduled.
    fn arm(&mut self, at: Instant) -> bool {
        let place = self.alarms.partition_point(|&alarm| alarm > at);
        let is_new = self.alarms.get(place) != Some(&at);
        if is_new {
            self.alarms.insert(place, at);
        }
        is_new
    }
}

impl Traffic {
    /// Builds the selected workloads of `experiment`, without drawing from them.
    pub(crate) fn new(experiment: &Experiment, here: &Here, names: Names, ranks: Ranks) -> Self {
        let hosts = match here {
            Here::All | Here::Drawn => LocalHosts::all(),
            Here::Applications(hosts) => hosts.clone(),
        };
        let source = |(workload, reacts): (_, bool)| {
            let is_here = match here {
                Here::All => true,
                Here::Drawn => !reacts,
                Here::Applications(_) => reacts,
            };
            is_here.then(|| Source { workload, next: None, is_idle: false, alarms: Vec::new() })
        };
        let sources = experiment.workloads_at(&hosts).into_iter().zip(experiment.reacts()).map(source);
        let choices = FlowChoices::new(experiment);
        Self { sources: sources.collect(), arrived: 0, finite: 0, choices, names, ranks }
    }

    /// Returns whether a workload is in the selection.
    pub(crate) fn has(&self, workload: usize) -> bool {
        self.sources[workload].is_some()
    }

    /// Returns the number of workloads that will send more even if they receive nothing.
    pub(crate) fn busy(&self) -> u64 {
        self.sources.iter().flatten().filter(|source| !source.is_idle).count() as u64
    }

    /// Returns the results of the queries that began in this selection, by workload.
    pub(crate) fn queries(&self) -> impl Iterator<Item = &[QueryRecord]> {
        self.sources.iter().map(|source| source.as_ref().map_or(&[][..], |source| source.workload.queries()))
    }

    /// Draws the first flow of every workload.
    pub(crate) fn start(&mut self, queue: &mut EventQueue<Event>) {
        for index in 0..self.sources.len() {
            self.fill(index, queue);
        }
    }

    /// Draws the next flow of a workload, unless it has one.
    fn fill(&mut self, index: usize, queue: &mut EventQueue<Event>) {
        let at = self.sources[index].as_mut().and_then(|source| source.fill(queue.now()));
        self.arm(index, at, queue);
    }

    fn arm(&mut self, index: usize, at: Option<Instant>, queue: &mut EventQueue<Event>) {
        if let (Some(at), Some(source)) = (at, &mut self.sources[index])
            && source.arm(at)
        {
            queue.schedule(at, Event::new(Class::Arrival, index as u64, self.ranks));
        }
    }

    /// Handles an event of a workload. Returns the flow that arrives now, if any.
    pub(crate) fn arrive(&mut self, index: usize, queue: &mut EventQueue<Event>) -> Option<Newcomer> {
        let now = queue.now();
        let source = self.sources[index].as_mut()?;
        let alarm = source.alarms.pop();
        debug_assert_eq!(alarm, Some(now), "every event of a workload is in its list");
        source.fill(now);
        let arrived = source.next.take_if(|flow| flow.at == now);
        self.fill(index, queue);
        let flow = arrived?;
        self.finite += u64::from(flow.size.is_some());
        let place = self.arrived;
        self.arrived = place.checked_add(1).expect("fewer than 2^32 flows");
        let number = self.names.of(place);
        // Traces choose by number only if all flows are drawn; the number is then the place in order of arrival.
        Some(Newcomer { flow, number, trace: self.choices.trace_of(number, flow.workload) })
    }

    /// Handles a flow whose last byte has reached its receiver.
    pub(crate) fn on_received(&mut self, flow: &FlowRecord, queue: &mut EventQueue<Event>) {
        if let Some(leg) = flow.leg {
            self.tell(flow, queue, |workload, now| workload.on_complete(leg, now));
        }
        self.milestone(flow, Milestone::Received, queue);
    }

    /// Handles a flow whose sender has all acknowledgements.
    pub(crate) fn on_acked(&mut self, flow: &FlowRecord, queue: &mut EventQueue<Event>) {
        self.milestone(flow, Milestone::Acked, queue);
    }

    /// Notifies a workload of the progress of a flow, if the flow is in its list.
    fn milestone(&mut self, flow: &FlowRecord, milestone: Milestone, queue: &mut EventQueue<Event>) {
        if let Some(listed) = flow.listed {
            self.tell(flow, queue, |workload, now| workload.on_milestone(listed, milestone, now));
        }
    }

    /// Notifies the workload of a flow. Resulting flows start after all other events of that time, so that the order of notifications does
    /// not matter.
    fn tell(
        &mut self,
        flow: &FlowRecord,
        queue: &mut EventQueue<Event>,
        tell: impl FnOnce(&mut dyn Workload, Instant),
    ) {
        let index = usize::from(flow.workload);
        let Some(source) = &mut self.sources[index] else { return };
        tell(&mut *source.workload, queue.now());
        let at = source.heard(queue.now());
        self.arm(index, at, queue);
    }
}
