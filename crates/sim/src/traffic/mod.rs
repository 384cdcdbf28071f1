//! Workloads: arrivals of flows, and notification of workloads when flows finish.

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

/// Workloads of a run or of a partition. They generate flows in order of arrival.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// Sources, indexed by workload number; `None` for a workload that is not in this world's selection ([`Here`]).
    sources: Vec<Option<Source>>,
    /// Number of flows that have arrived.
    pub(crate) arrived: u32,
    /// Number of arrived flows that have a finite size.
    pub(crate) finite: u64,
    /// Number of flows whose last byte has reached a receiver of this world.
    pub(crate) received: u64,
    /// Choice of the flows to trace.
    pub(crate) choices: FlowChoices,
    names: Names,
    ranks: Ranks,
}

/// Selection of the workloads that generate flows in one world.
#[derive(Clone, Debug)]
pub(crate) enum Here {
    /// All workloads of an undivided network.
    All,
    /// The workloads that do not react to flows. Their flows are drawn in advance for all partitions together.
    Drawn,
    /// The workloads that react to flows, restricted to the hosts of one partition.
    Applications(LocalHosts),
}

/// Sequence of numbers that name flows: `first`, `first` + `step`, and so on. Each partition has a different `first`, so that partitions
/// can name their flows independently.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    pub(crate) first: u32,
    pub(crate) step: u32,
}

impl Names {
    /// The numbers 0, 1, 2 and so on, in order of arrival.
    pub(crate) const IN_ORDER: Self = Self { first: 0, step: 1 };

    /// Returns the difference between consecutive names in a network of `partitions` partitions. It is 1 if no workload reacts to flows,
    /// because all flows are then drawn in advance and named in order of arrival.
    pub(crate) fn step(experiment: &Experiment, partitions: u32) -> u32 {
        if experiment.reacts().contains(&true) { partitions + 1 } else { 1 }
    }

    fn of(self, place: u32) -> u32 {
        let name = place.checked_mul(self.step).and_then(|name| name.checked_add(self.first));
        name.filter(|&name| name < u32::MAX).expect("fewer than 2^32 flows")
    }
}

/// Flow that arrives at its sender, with its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newcomer {
    pub(crate) flow: Flow,
    /// Name of the flow during the run ([`Names`]). In an undivided network, flows are numbered in order of arrival.
    pub(crate) number: u32,
    /// Index of the trace that records this flow; `None` if the flow is not traced.
    pub(crate) trace: Option<u16>,
}

/// A workload and its next flow.
#[derive(Debug)]
struct Source {
    workload: Box<dyn Workload>,
    next: Option<Flow>,
    /// Whether the workload generates further flows only after being notified of a flow's progress.
    is_idle: bool,
    /// Times of the source's pending events, latest first, without duplicates. A second event is scheduled if a completed flow causes
    /// another flow before the time of the first event.
    alarms: Vec<Instant>,
}

impl Source {
    /// Draws the source's next flow if none is waiting. Returns the time of the next flow, or the time at which to draw again; `None` if
    /// neither is known.
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

    /// Updates the source after its workload has been notified. Returns the time at which to draw the next flow; `None` if a flow is
    /// already waiting or the notification causes no flow.
    fn heard(&mut self, now: Instant) -> Option<Instant> {
        if self.next.is_some() {
            return None;
        }
        let due = self.workload.due();
        self.is_idle = due.is_none();
        due.map(|due| due.max(now))
    }

    /// Adds a time to `alarms`. Returns whether the time is new, so that the caller must schedule an event.
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
        Self { sources: sources.collect(), arrived: 0, finite: 0, received: 0, choices, names, ranks }
    }

    /// Returns whether a workload is in the selection.
    pub(crate) fn has(&self, workload: usize) -> bool {
        self.sources[workload].is_some()
    }

    /// Returns the number of workloads that will generate further flows without first being notified of a flow's progress.
    pub(crate) fn busy(&self) -> u64 {
        self.sources.iter().flatten().filter(|source| !source.is_idle).count() as u64
    }

    /// Returns whether a finite flow has been drawn and has not yet arrived.
    pub(crate) fn expects_finite(&self) -> bool {
        let mut expected = self.sources.iter().flatten().filter_map(|source| source.next.as_ref());
        expected.any(|flow| flow.size.is_some())
    }

    /// Returns the records of queries for each workload; an empty slice for a workload that is not in this selection.
    pub(crate) fn queries(&self) -> impl Iterator<Item = &[QueryRecord]> {
        self.sources.iter().map(|source| source.as_ref().map_or(&[][..], |source| source.workload.queries()))
    }

    /// Draws the first flow of every workload.
    pub(crate) fn start(&mut self, queue: &mut EventQueue<Event>) {
        for index in 0..self.sources.len() {
            self.fill(index, queue);
        }
    }

    /// Draws the next flow of a workload if none is waiting, and schedules its arrival.
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

    /// Handles an arrival event of a workload. Returns the flow that arrives now, if any, and schedules the next arrival.
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
        // Traces choose flows by number only if all flows are drawn in advance. In this case, flows are numbered in order of arrival.
        Some(Newcomer { flow, number, trace: self.choices.trace_of(number, flow.workload) })
    }

    /// Notifies a flow's workload that the flow's last byte has reached the receiver.
    pub(crate) fn on_received(&mut self, flow: &FlowRecord, queue: &mut EventQueue<Event>) {
        self.received += 1;
        if let Some(leg) = flow.leg {
            self.tell(flow, queue, |workload, now| workload.on_complete(leg, now));
        }
        self.milestone(flow, Milestone::Received, queue);
    }

    /// Notifies a flow's workload that the flow's last byte has been acknowledged.
    pub(crate) fn on_acked(&mut self, flow: &FlowRecord, queue: &mut EventQueue<Event>) {
        self.milestone(flow, Milestone::Acked, queue);
    }

    /// Notifies the workload that a flow has reached a milestone. Does nothing if the flow does not come from a list of flows.
    fn milestone(&mut self, flow: &FlowRecord, milestone: Milestone, queue: &mut EventQueue<Event>) {
        if let Some(listed) = flow.listed {
            self.tell(flow, queue, |workload, now| workload.on_milestone(listed, milestone, now));
        }
    }

    /// Calls `tell` with the workload of this flow, and schedules the flow that the workload starts in response. That flow starts after all
    /// other events of its time, so the order of notifications at one time does not affect results.
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
