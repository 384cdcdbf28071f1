//! The life of a flow: it arrives, gets a connection, is received, is acknowledged, and is recorded.

use std::collections::BTreeMap;

use shallows_core::event::EventQueue;
use shallows_core::packet::HostId;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant};
use shallows_scenario::{
    Connections as Policy, Experiment, FIRST_PORT, Flow, Milestone, Next, WhenBusy, Workload,
};

use crate::connection::Address;
use crate::event::{Class, Event};
use crate::flow::{FlowRecord, Starved};
use crate::gap::Gap;
use crate::world::World;

/// The workloads, and what became of their flows.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub(crate) sources: Vec<Source>,
    /// In order of arrival.
    pub(crate) records: Vec<FlowRecord>,
    /// Finite flows that have arrived and are not complete.
    pub(crate) open: u64,
    pub(crate) completed: u64,
    /// Connections to be primed, latest first.
    pub(crate) warm_ups: Vec<WarmUp>,
    /// Idle persistent connections, by pair.
    pub(crate) pools: BTreeMap<(u16, HostId, HostId), Pool>,
    /// Next port number of each host.
    pub(crate) next_port: Vec<u16>,
}

/// A workload, its next flow and its way with connections.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) workload: Box<dyn Workload>,
    pub(crate) policy: Policy,
    pub(crate) next: Option<Flow>,
    pub(crate) done: bool,
    /// Times of its pending events, each once, latest first. Several, where a flow that completes brings another one
    /// before the time that was waited for.
    alarms: Vec<Instant>,
}

/// The persistent connections of a pair.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// All of them, in the order in which they were opened; a flow takes the first that is idle.
    connections: Vec<u32>,
    /// Flows that wait because all are busy.
    waiting: std::collections::VecDeque<u32>,
}

/// A few bytes that prime a persistent connection before the first flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarmUp {
    pub(crate) at: Instant,
    pub(crate) connection: u32,
    pub(crate) bytes: Bytes,
}

pub(crate) fn traffic(experiment: &Experiment) -> Traffic {
    let workloads = experiment.workloads().into_iter().zip(&experiment.connections);
    Traffic {
        sources: workloads
            .map(|(workload, policy)| Source {
                workload,
                policy: *policy,
                next: None,
                done: false,
                alarms: Vec::new(),
            })
            .collect(),
        records: Vec::new(),
        open: 0,
        completed: 0,
        warm_ups: Vec::new(),
        pools: BTreeMap::new(),
        next_port: vec![FIRST_PORT; experiment.network.hosts as usize],
    }
}

/// Port on which receivers listen, but for flows that say another.
const SERVICE_PORT: u16 = 5_001;

impl Traffic {
    /// Whether every flow that will ever arrive has arrived and completed.
    pub(crate) fn is_complete(&self) -> bool {
        self.open == 0 && self.sources.iter().all(|source| source.done)
    }
}

impl World {
    /// Ask every workload for its first flow, and open the connections that are there from the start.
    pub(crate) fn start_traffic(&mut self, queue: &mut EventQueue<Event>) {
        for source in 0..self.traffic.sources.len() {
            self.pull(source, queue);
        }
        if let Some(first) = self.traffic.warm_ups.last() {
            self.schedule(first.at, Class::WarmUp, 0, queue);
        }
    }

    /// Ask a workload for its next flow, unless it has one or is done.
    fn pull(&mut self, index: usize, queue: &mut EventQueue<Event>) {
        let source = &mut self.traffic.sources[index];
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
            self.schedule(at, Class::Arrival, index as u32, queue);
        }
    }

    /// A workload is to be asked, or its next flow arrives.
    #[inline(never)]
    pub(crate) fn flow_arrival(&mut self, index: u32, queue: &mut EventQueue<Event>) {
        let source = &mut self.traffic.sources[index as usize];
        let alarm = source.alarms.pop();
        debug_assert_eq!(alarm, Some(queue.now()), "every event of a workload is in its list");
        let now = queue.now();
        if let Some(flow) = source.next.take_if(|flow| flow.at == now) {
            self.begin(index, &flow, queue);
        }
        self.pull(index as usize, queue);
    }

    /// A flow arrives: it gets a connection, or waits for one.
    fn begin(&mut self, index: u32, flow: &Flow, queue: &mut EventQueue<Event>) {
        let source = &self.traffic.sources[index as usize];
        let policy = source.policy;
        let record = self.record(flow);
        match policy {
            Policy::New => {
                let ends = (flow.source, flow.destination, flow.port);
                let slot = self.open_connection(ends, flow.class, false);
                self.start_flow(slot, record, queue);
            }
            Policy::Persistent { per_pair, when_busy, .. } => {
                self.assign(flow, record, per_pair, when_busy, queue)
            }
        }
    }

    fn record(&mut self, flow: &Flow) -> u32 {
        if flow.size.is_some() {
            self.traffic.open += 1;
        }
        self.traffic.records.push(FlowRecord {
            arrival: flow.at,
            source: flow.source,
            destination: flow.destination,
            size: flow.size,
            workload: flow.workload,
            class: flow.class,
            leg: flow.leg,
            listed: flow.listed,
            received_at: None,
            acked_at: None,
            address: None,
            delivered: Bytes(0),
            timeouts: 0,
            timeouts_felt: 0,
            retransmits: 0,
            starved: None,
        });
        let number = u32::try_from(self.traffic.records.len() - 1).expect("fewer than 2^32 flows");
        self.flow_tracer.on_arrival(number, flow.workload);
        number
    }

    /// Give a flow the first idle connection of its pair, or a new one, or let it wait.
    fn assign(
        &mut self,
        flow: &Flow,
        record: u32,
        per_pair: u32,
        when_busy: WhenBusy,
        queue: &mut EventQueue<Event>,
    ) {
        let key = (flow.workload, flow.source, flow.destination);
        let pool = self.traffic.pools.entry(key).or_default();
        let is_idle = |slot: &&u32| self.connections.senders[**slot as usize].flow.is_none();
        if let Some(&slot) = pool.connections.iter().find(is_idle) {
            self.start_flow(slot, record, queue);
        } else if pool.connections.len() < per_pair as usize || when_busy == WhenBusy::OpenAnother {
            let slot = self.open_persistent(key, flow.class);
            self.start_flow(slot, record, queue);
        } else {
            pool.waiting.push_back(record);
        }
    }

    /// Open one more persistent connection of a pair.
    pub(crate) fn open_persistent(&mut self, key: (u16, HostId, HostId), class: u8) -> u32 {
        let slot = self.open_connection((key.1, key.2, None), class, true);
        self.traffic.pools.entry(key).or_default().connections.push(slot);
        slot
    }

    /// Open a connection from a host to another, and there to a port of its own if that is given.
    fn open_connection(
        &mut self,
        (source, destination, port): (HostId, HostId, Option<u16>),
        class: u8,
        persistent: bool,
    ) -> u32 {
        let next = &mut self.traffic.next_port[source.0 as usize];
        let source_port = *next;
        *next = next.checked_add(1).unwrap_or(FIRST_PORT);
        let destination_port = port.unwrap_or(SERVICE_PORT);
        let address = Address { source, destination, source_port, destination_port, class };
        self.connections.open(&self.tcp, address, persistent)
    }

    fn start_flow(&mut self, slot: u32, record: u32, queue: &mut EventQueue<Event>) {
        let FlowRecord { size, class, .. } = self.traffic.records[record as usize];
        // A persistent connection takes the class of each flow that it carries.
        self.connections.senders[slot as usize].address.class = class;
        self.traffic.records[record as usize].address = Some(self.connections.senders[slot as usize].address);
        let bytes = size.map_or(FOREVER, |size| size.0);
        let sending = &mut self.connections.senders[slot as usize];
        let stats = sending.sender.stats();
        sending.flow = Some(record);
        sending.before = (stats.timeouts, stats.retransmits);
        sending.gap = Gap::from(queue.now());
        sending.traced = self.flow_tracer.on_start(record, slot, &sending.sender);
        sending.sender.write(&self.tcp, queue.now(), bytes);
        sending.flow_end = if size.is_some() { sending.sender.written() } else { u64::MAX };
        let (start, end) = (sending.sender.written() - bytes, sending.flow_end);
        if !sending.persistent {
            sending.sender.close(&self.tcp);
        }
        let receiving = &mut self.connections.receivers[slot as usize];
        (receiving.flow, receiving.flow_start, receiving.flow_end) = (Some(record), start, end);
        receiving.gap = Gap::from(queue.now());
        self.pump(slot, queue);
    }

    /// The last byte of a flow has reached its receiver.
    #[inline(never)]
    pub(crate) fn flow_received(&mut self, slot: u32, queue: &mut EventQueue<Event>) {
        let side = &mut self.connections.receivers[slot as usize];
        let number = side.flow.take().expect("called while a flow is being received");
        let record = &mut self.traffic.records[number as usize];
        record.received_at = Some(queue.now());
        record.delivered = record.size.expect("a flow without end is never complete");
        // The sender's side is booked when that is done.
        record.starved = Some(Starved { ack: Duration::ZERO, arrival: side.gap.longest() });
        let index = usize::from(record.workload);
        let listed = record.listed;
        if let Some(leg) = record.leg {
            let sending = &self.connections.senders[slot as usize];
            record.timeouts_felt = sending.sender.stats().timeouts - sending.before.0;
            self.traffic.sources[index].workload.on_complete(leg, queue.now());
            self.pull(index, queue);
        }
        self.milestone(index, listed, Milestone::Received, queue);
    }

    /// The sender of a flow has every acknowledgement: the connection is free, or closes.
    #[inline(never)]
    pub(crate) fn flow_acked(&mut self, slot: u32, queue: &mut EventQueue<Event>) {
        let side = &mut self.connections.senders[slot as usize];
        let number = side.flow.take().expect("called while a flow is being sent");
        let (persistent, address) = (side.persistent, side.address);
        side.traced = false;
        let longest = side.gap.longest();
        self.settle(slot, number);
        self.flow_tracer.on_end(number);
        let record = &mut self.traffic.records[number as usize];
        record.starved.as_mut().expect("what is acknowledged was received").ack = longest;
        record.acked_at = Some(queue.now());
        self.traffic.open -= 1;
        self.traffic.completed += 1;
        let key = (record.workload, address.source, address.destination);
        let (index, listed) = (usize::from(record.workload), record.listed);
        self.milestone(index, listed, Milestone::Acked, queue);
        self.finished = self.ends_on_completion && self.traffic.is_complete();
        if !persistent {
            if let Some(card) = self.ictcp.get_mut(address.destination.0 as usize) {
                card.close(slot);
            }
            return self.connections.close(slot);
        }
        let pool =
            self.traffic.pools.get_mut(&key).expect("persistent connections are in the pool of their pair");
        match pool.waiting.pop_front() {
            Some(waiting) => self.start_flow(slot, waiting, queue),
            None => self.pump(slot, queue),
        }
    }

    /// Tell a workload how far a flow of its list has come, if it is in one.
    fn milestone(
        &mut self,
        index: usize,
        listed: Option<u32>,
        milestone: Milestone,
        queue: &mut EventQueue<Event>,
    ) {
        if let Some(listed) = listed {
            self.traffic.sources[index].workload.on_milestone(listed, milestone, queue.now());
            self.pull(index, queue);
        }
    }

    /// Book the timeouts and retransmissions of a flow.
    pub(crate) fn settle(&mut self, slot: u32, number: u32) {
        let side = &self.connections.senders[slot as usize];
        let stats = side.sender.stats();
        let record = &mut self.traffic.records[number as usize];
        record.timeouts = stats.timeouts - side.before.0;
        record.retransmits = stats.retransmits - side.before.1;
    }

    /// Open the connections that a workload wants primed, and draw when each is.
    pub(crate) fn open_warm_connections(&mut self, experiment: &Experiment) {
        for (index, policy) in experiment.connections.iter().enumerate() {
            let Policy::Persistent { per_pair, warm_up: Some(warm_up), .. } = policy else { continue };
            let mut stream = Stream::new(experiment.seed, "warm-up", index as u64);
            let spread = (warm_up.to - warm_up.from).0.max(1);
            let classes = &experiment.classes[index];
            for (source, destination) in experiment.pairs[index].iter() {
                for _ in 0..*per_pair {
                    let key = (index as u16, source, destination);
                    let connection = self.open_persistent(key, classes.before_any_flow(source, destination));
                    let at = warm_up.from + Duration(stream.below(spread));
                    self.traffic.warm_ups.push(WarmUp { at, connection, bytes: warm_up.bytes });
                }
            }
        }
        self.traffic.warm_ups.sort_by_key(|warm_up| std::cmp::Reverse((warm_up.at, warm_up.connection)));
    }

    /// Book what the flows that are still open have done so far.
    pub(crate) fn settle_open_flows(&mut self, end: Instant) {
        for slot in 0..self.connections.senders.len() as u32 {
            let Some(number) = self.connections.senders[slot as usize].flow else { continue };
            self.settle(slot, number);
            let ack = self.connections.senders[slot as usize].gap.until(end);
            let receiver = &self.connections.receivers[slot as usize];
            let record = &mut self.traffic.records[number as usize];
            let arrival = record.starved.map_or_else(|| receiver.gap.until(end), |starved| starved.arrival);
            record.starved = Some(Starved { ack, arrival });
            if record.received_at.is_none() {
                // Bytes that were written before the flow may still be on their way.
                record.delivered =
                    Bytes(receiver.receiver.received()).saturating_sub(Bytes(receiver.flow_start));
            }
        }
    }

    #[inline(never)]
    pub(crate) fn warm_up(&mut self, queue: &mut EventQueue<Event>) {
        while let Some(next) = self.traffic.warm_ups.last().copied() {
            if next.at > queue.now() {
                return self.schedule(next.at, Class::WarmUp, 0, queue);
            }
            self.traffic.warm_ups.pop();
            let sender = &mut self.connections.senders[next.connection as usize].sender;
            sender.write(&self.tcp, queue.now(), next.bytes.0);
            self.pump(next.connection, queue);
        }
    }
}

/// What a long-lived flow writes: more than any run sends, and far from overflow.
const FOREVER: u64 = 1 << 60;
