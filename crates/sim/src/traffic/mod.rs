//! Workloads: when each of their flows arrives, and what they hear of it.

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

/// Some of the workloads, which give their flows in the order in which they arrive.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// By workload, of those that are here.
    sources: Vec<Option<Source>>,
    /// Flows that have arrived.
    pub(crate) arrived: u32,
    /// Number of them with a size.
    pub(crate) finite: u64,
    /// Which of them are traced.
    pub(crate) choices: FlowChoices,
    names: Names,
    ranks: Ranks,
}

/// Which workloads are here.
#[derive(Clone, Debug)]
pub(crate) enum Here {
    /// All of a network that is one partition.
    All,
    /// Workloads whose flows are drawn ahead for all partitions.
    Drawn,
    /// Workloads that react, at the hosts of one partition.
    Applications(LocalHosts),
}

/// Names of flows: every `step`-th number from `first` on, so that partitions name their flows without asking each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    pub(crate) first: u32,
    pub(crate) step: u32,
}

impl Names {
    /// Numbers in the order of arrival.
    pub(crate) const IN_ORDER: Self = Self { first: 0, step: 1 };

    /// How far apart names are that the same source gives, in a network of so many partitions. Flows that no partition starts by itself are named in
    /// the order of arrival.
    pub(crate) fn step(experiment: &Experiment, partitions: u32) -> u32 {
        if experiment.reacts().contains(&true) { partitions + 1 } else { 1 }
    }

    fn of(self, place: u32) -> u32 {
        let name = place.checked_mul(self.step).and_then(|name| name.checked_add(self.first));
        name.filter(|&name| name < u32::MAX).expect("fewer than 2^32 flows")
    }
}

/// A flow that arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newcomer {
    pub(crate) flow: Flow,
    /// Its name while the network runs: of one that is one partition, its place in the order of arrival.
    pub(crate) number: u32,
    /// The trace that it belongs to, if to any.
    pub(crate) trace: Option<u16>,
}

/// A workload and its next flow.
#[derive(Debug)]
struct Source {
    workload: Box<dyn Workload>,
    next: Option<Flow>,
    /// Whether nothing comes of it unless it hears of a flow.
    is_idle: bool,
    /// Times of its pending events, each once, latest first. Several, where a flow that completes brings another one
    /// before the time that was waited for.
    alarms: Vec<Instant>,
}

impl Source {
    /// Ask for its next flow, unless it has one. Returns when to come for that, or to ask again.
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

    /// It has heard of a flow. Returns when it is to be asked for what comes of it.
    fn heard(&mut self, now: Instant) -> Option<Instant> {
        if self.next.is_some() {
            return None;
        }
        let due = self.workload.due();
        self.is_idle = due.is_none();
        due.map(|due| due.max(now))
    }

    /// See that an event is pending at this time; returns whether one is to be scheduled.
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
    /// The traffic of `experiment` that is here. Its workloads have not been asked for anything yet.
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

    /// Whether a workload is here.
    pub(crate) fn has(&self, workload: usize) -> bool {
        self.sources[workload].is_some()
    }

    /// How many workloads have something to send whatever they hear of.
    pub(crate) fn busy(&self) -> u64 {
        self.sources.iter().flatten().filter(|source| !source.is_idle).count() as u64
    }

    /// Outcomes of the queries that began here, by workload.
    pub(crate) fn queries(&self) -> impl Iterator<Item = &[QueryRecord]> {
        self.sources.iter().map(|source| source.as_ref().map_or(&[][..], |source| source.workload.queries()))
    }

    /// Ask every workload for its first flow.
    pub(crate) fn start(&mut self, queue: &mut EventQueue<Event>) {
        for index in 0..self.sources.len() {
            self.fill(index, queue);
        }
    }

    /// Ask a workload that is here for its next flow, unless it has one.
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

    /// A workload is to be asked, or its next flow arrives.
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
        // Only where all flows are drawn do traces choose by number, which then is that of the order of arrival.
        Some(Newcomer { flow, number, trace: self.choices.trace_of(number, flow.workload) })
    }

    /// The last byte of a flow has reached its receiver.
    pub(crate) fn on_received(&mut self, flow: &FlowRecord, queue: &mut EventQueue<Event>) {
        if let Some(leg) = flow.leg {
            self.tell(flow, queue, |workload, now| workload.on_complete(leg, now));
        }
        self.milestone(flow, Milestone::Received, queue);
    }

    /// The sender of a flow has every acknowledgement.
    pub(crate) fn on_acked(&mut self, flow: &FlowRecord, queue: &mut EventQueue<Event>) {
        self.milestone(flow, Milestone::Acked, queue);
    }

    /// Tell a workload how far a flow of its list has come, if it is in one.
    fn milestone(&mut self, flow: &FlowRecord, milestone: Milestone, queue: &mut EventQueue<Event>) {
        if let Some(listed) = flow.listed {
            self.tell(flow, queue, |workload, now| workload.on_milestone(listed, milestone, now));
        }
    }

    /// Tell the workload of a flow of it. What comes of that starts after all else that happens now, so that the order in which
    /// several hear of something does not matter.
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
