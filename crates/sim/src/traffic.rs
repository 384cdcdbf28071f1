//! Flows: when each arrives, which connection it gets, and what its workload hears of it.

use shallows_core::event::EventQueue;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant};
use shallows_scenario::{Connections as Policy, Experiment, Flow, Milestone, Next, Workload};

use crate::connection::Place;
use crate::event::{Class, Event, Ranks};
use crate::flow::{FlowRecord, Flows};
use crate::hosts::Hosts;

/// The workloads, and what became of their flows.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub(crate) sources: Vec<Source>,
    pub(crate) flows: Flows,
    /// Finite flows that have arrived and are not complete.
    open: u64,
    pub(crate) completed: u64,
    /// Connections to be primed, latest first.
    warm_ups: Vec<WarmUp>,
    ranks: Ranks,
}

/// A workload, its next flow and its way with connections.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) workload: Box<dyn Workload>,
    policy: Policy,
    next: Option<Flow>,
    done: bool,
    /// Times of its pending events, each once, latest first. Several, where a flow that completes brings another one
    /// before the time that was waited for.
    alarms: Vec<Instant>,
}

/// A few bytes that prime a persistent connection before the first flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarmUp {
    at: Instant,
    pub(crate) place: Place,
    pub(crate) bytes: Bytes,
}

impl Traffic {
    /// The traffic of `experiment`, whose workloads have not been asked for anything yet.
    pub(crate) fn new(experiment: &Experiment, ranks: Ranks) -> Self {
        let source = |(workload, policy): (Box<dyn Workload>, &Policy)| Source {
            workload,
            policy: *policy,
            next: None,
            done: false,
            alarms: Vec::new(),
        };
        let persistent = |policy: &Policy| matches!(policy, Policy::Persistent { .. });
        Self {
            sources: experiment.workloads().into_iter().zip(&experiment.connections).map(source).collect(),
            flows: Flows {
                records: Vec::new(),
                persistent: experiment.connections.iter().map(persistent).collect(),
            },
            open: 0,
            completed: 0,
            warm_ups: Vec::new(),
            ranks,
        }
    }

    /// Whether every flow that will ever arrive has arrived and completed.
    pub(crate) fn is_complete(&self) -> bool {
        self.open == 0 && self.sources.iter().all(|source| source.done)
    }

    /// Open the connections that are there from the start, and ask every workload for its first flow.
    pub(crate) fn start(
        &mut self,
        experiment: &Experiment,
        hosts: &mut Hosts,
        queue: &mut EventQueue<Event>,
    ) {
        self.open_warm_connections(experiment, hosts);
        for source in 0..self.sources.len() {
            self.pull(source, queue);
        }
        self.schedule_warm_up(queue);
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

    /// A workload is to be asked, or its next flow arrives: that flow, and its number.
    pub(crate) fn arrive(&mut self, index: usize, queue: &mut EventQueue<Event>) -> Option<(Flow, u32)> {
        let source = &mut self.sources[index];
        let alarm = source.alarms.pop();
        debug_assert_eq!(alarm, Some(queue.now()), "every event of a workload is in its list");
        let now = queue.now();
        let arrived = source.next.take_if(|flow| flow.at == now);
        self.pull(index, queue);
        arrived.map(|flow| (flow, self.record(&flow)))
    }

    fn record(&mut self, flow: &Flow) -> u32 {
        if flow.size.is_some() {
            self.open += 1;
        }
        let records = &mut self.flows.records;
        records.push(FlowRecord {
            arrival: flow.at,
            source: flow.source,
            destination: flow.destination,
            size: flow.size,
            workload: flow.workload,
            class: flow.class,
            leg: flow.leg,
            listed: flow.listed,
            sent: None,
            received: None,
        });
        u32::try_from(records.len() - 1).expect("fewer than 2^32 flows")
    }

    /// How the flows of a workload use connections.
    pub(crate) fn policy(&self, flow: &Flow) -> Policy {
        self.sources[usize::from(flow.workload)].policy
    }

    /// The last byte of a flow has reached its receiver.
    pub(crate) fn on_received(&mut self, flow: u32, queue: &mut EventQueue<Event>) {
        let FlowRecord { workload, leg, .. } = self.flows.records[flow as usize];
        if let Some(leg) = leg {
            self.sources[usize::from(workload)].workload.on_complete(leg, queue.now());
            self.pull(usize::from(workload), queue);
        }
        self.milestone(flow, Milestone::Received, queue);
    }

    /// The sender of a flow has every acknowledgement.
    pub(crate) fn on_acked(&mut self, flow: u32, queue: &mut EventQueue<Event>) {
        self.open -= 1;
        self.completed += 1;
        self.milestone(flow, Milestone::Acked, queue);
    }

    /// Tell a workload how far a flow of its list has come, if it is in one.
    fn milestone(&mut self, flow: u32, milestone: Milestone, queue: &mut EventQueue<Event>) {
        let FlowRecord { workload, listed, .. } = self.flows.records[flow as usize];
        if let Some(listed) = listed {
            self.sources[usize::from(workload)].workload.on_milestone(listed, milestone, queue.now());
            self.pull(usize::from(workload), queue);
        }
    }

    /// Open the connections that a workload wants primed, and draw when each is.
    fn open_warm_connections(&mut self, experiment: &Experiment, hosts: &mut Hosts) {
        for (index, policy) in experiment.connections.iter().enumerate() {
            let Policy::Persistent { per_pair, warm_up: Some(warm_up), .. } = policy else { continue };
            let mut stream = Stream::new(experiment.seed, "warm-up", index as u64);
            let spread = (warm_up.to - warm_up.from).0.max(1);
            let classes = &experiment.classes[index];
            for (source, destination) in experiment.pairs[index].iter() {
                for _ in 0..*per_pair {
                    let class = classes.before_any_flow(source, destination);
                    let place = hosts.open_persistent(index as u16, source, destination, class);
                    let at = warm_up.from + Duration(stream.below(spread));
                    self.warm_ups.push(WarmUp { at, place, bytes: warm_up.bytes });
                }
            }
        }
        self.warm_ups.sort_by_key(|warm_up| std::cmp::Reverse((warm_up.at, warm_up.place)));
    }

    fn schedule_warm_up(&mut self, queue: &mut EventQueue<Event>) {
        if let Some(next) = self.warm_ups.last() {
            queue.schedule(next.at, Event::new(Class::WarmUp, 0, self.ranks));
        }
    }

    /// The next connection that is primed now; if none is, the one after it is scheduled.
    pub(crate) fn next_warm_up(&mut self, queue: &mut EventQueue<Event>) -> Option<WarmUp> {
        let due = self.warm_ups.pop_if(|next| next.at <= queue.now());
        if due.is_none() {
            self.schedule_warm_up(queue);
        }
        due
    }
}
