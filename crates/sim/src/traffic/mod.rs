//! Workloads: when each of their flows arrives, and what they hear of it.

pub(crate) mod announced;
pub(crate) mod datagram;
pub(crate) mod generators;
pub(crate) mod probe;
pub(crate) mod warm_up;

use shallows_core::Instant;
use shallows_core::event::EventQueue;
use shallows_measure::{FlowChoices, FlowRecord};
use shallows_scenario::{Experiment, Flow, Milestone, Next, Workload};

use crate::network::event::{Class, Event, Ranks};

/// The workloads, which draw flows in the order in which they arrive.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub(crate) sources: Vec<Source>,
    /// Flows that have arrived.
    pub(crate) arrived: u32,
    /// Those among them that have an end.
    finite: u64,
    /// Which of them are traced.
    pub(crate) choices: FlowChoices,
    ranks: Ranks,
}

/// A flow that arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newcomer {
    pub(crate) flow: Flow,
    /// Its place in the order of arrival.
    pub(crate) number: u32,
    /// The trace that it belongs to, if to any.
    pub(crate) trace: Option<u16>,
}

/// A workload and its next flow.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) workload: Box<dyn Workload>,
    next: Option<Flow>,
    done: bool,
    /// Times of its pending events, each once, latest first. Several, where a flow that completes brings another one
    /// before the time that was waited for.
    alarms: Vec<Instant>,
}

impl Traffic {
    /// The traffic of `experiment`, whose workloads have not been asked for anything yet.
    pub(crate) fn new(experiment: &Experiment, ranks: Ranks) -> Self {
        let source = |workload| Source { workload, next: None, done: false, alarms: Vec::new() };
        let sources = experiment.workloads().into_iter().map(source).collect();
        Self { sources, arrived: 0, finite: 0, choices: FlowChoices::new(experiment), ranks }
    }

    /// Whether every flow that will ever arrive has arrived and, as `completed` of them have, completed.
    pub(crate) fn is_complete(&self, completed: u64) -> bool {
        self.finite == completed && self.sources.iter().all(|source| source.done)
    }

    /// Ask every workload for its first flow.
    pub(crate) fn start(&mut self, queue: &mut EventQueue<Event>) {
        for source in 0..self.sources.len() {
            self.pull(source, queue);
        }
    }

    /// Ask a workload for its next flow, unless it has one or is done.
    fn pull(&mut self, index: usize, queue: &mut EventQueue<Event>) {
        let source = &mut self.sources[index];
        if source.next.is_some() || source.done {
            return;
        }
        let at = match source.workload.next(queue.now()) {
            Next::Flow(flow) => {
                source.next = Some(flow);
                flow.at
            }
            Next::Until(at) => at,
            Next::Wait => return,
            Next::Done => {
                source.done = true;
                return;
            }
        };
        let place = source.alarms.partition_point(|&alarm| alarm > at);
        if source.alarms.get(place) != Some(&at) {
            source.alarms.insert(place, at);
            queue.schedule(at, Event::new(Class::Arrival, index as u64, self.ranks));
        }
    }

    /// A workload is to be asked, or its next flow arrives.
    pub(crate) fn arrive(&mut self, index: usize, queue: &mut EventQueue<Event>) -> Option<Newcomer> {
        let source = &mut self.sources[index];
        let alarm = source.alarms.pop();
        debug_assert_eq!(alarm, Some(queue.now()), "every event of a workload is in its list");
        let now = queue.now();
        let arrived = source.next.take_if(|flow| flow.at == now);
        self.pull(index, queue);
        arrived.map(|flow| {
            self.finite += u64::from(flow.size.is_some());
            self.arrived = self.arrived.checked_add(1).expect("fewer than 2^32 flows");
            let number = self.arrived - 1;
            Newcomer { flow, number, trace: self.choices.trace_of(number, flow.workload) }
        })
    }

    /// The last byte of a flow has reached its receiver.
    pub(crate) fn on_received(&mut self, flow: &FlowRecord, queue: &mut EventQueue<Event>) {
        let workload = usize::from(flow.workload);
        if let Some(leg) = flow.leg {
            self.sources[workload].workload.on_complete(leg, queue.now());
            self.pull(workload, queue);
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
            let workload = usize::from(flow.workload);
            self.sources[workload].workload.on_milestone(listed, milestone, queue.now());
            self.pull(workload, queue);
        }
    }
}
