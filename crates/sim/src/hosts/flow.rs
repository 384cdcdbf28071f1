//! What is remembered of each flow: one record, from its arrival to the end of the run.

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration, Instant};
use shallows_scenario::{Connections, Experiment, Flow, Leg, LegKind};

use crate::hosts::connection::Address;
use crate::network::event::Ranks;
use crate::network::numbered::Numbered;

/// Flows by number: all that have arrived, by place in that order, or those that concern one part of the network.
#[derive(Debug)]
pub(crate) struct Flows {
    records: Vec<FlowRecord>,
    /// Which flows the records are of, and where each is, unless they are all.
    selection: Option<Selection>,
    /// By workload.
    connections: Vec<Connections>,
    /// By workload: whether answers go on the connections of their requests.
    shares: Vec<bool>,
}

/// Some of all flows.
#[derive(Debug, Default)]
struct Selection {
    /// By place.
    numbers: Vec<u32>,
    places: Numbered<u32>,
}

/// A flow that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct FlowRecord {
    /// When its application handed it over.
    pub arrival: Instant,
    /// Sending host.
    pub source: HostId,
    /// Receiving host.
    pub destination: HostId,
    /// Application bytes; `None` for a flow that lasts as long as the run.
    pub size: Option<Bytes>,
    /// Index of its workload among those that send flows.
    pub workload: u16,
    /// Class of service (DSCP).
    pub class: u8,
    /// Which part of a query it is.
    pub leg: Option<Leg>,
    /// Its place in a list of flows that wait for one another.
    pub listed: Option<u32>,
    /// What its sender saw, once it has a connection.
    pub sent: Option<Sent>,
    /// What its receiver saw, from the first of its data on.
    pub received: Option<Received>,
}

/// A flow as its sender sees it.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Its connection's.
    pub address: Address,
    /// When every byte was acknowledged.
    pub acked_at: Option<Instant>,
    /// Expiries of its retransmission timer.
    pub timeouts: u32,
    /// Segments sent again.
    pub retransmits: u32,
    /// Longest time between acknowledgements of new data, from when it had the flow on (HCF's Fig. 4), where that is known.
    /// What waits at the end of the run counts up to there, here and of the receiver.
    pub longest_gap: Option<Duration>,
}

/// A flow as its receiver sees it. Final when the flow or the run ends.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// When its last byte came.
    pub at: Option<Instant>,
    /// Bytes that came in order.
    pub delivered: Bytes,
    /// Timeouts of its sender of which its data told: the others held nobody up here.
    pub timeouts_felt: u32,
    /// Longest time between arrivals of data, likewise (HCF's Fig. 7 to 9).
    pub longest_gap: Option<Duration>,
}

/// Where a flow's completion time ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Received,
    Acked,
}

impl Flows {
    /// None so far of all flows of `experiment`, or of `some` of them.
    pub(crate) fn new(experiment: &Experiment, some: bool) -> Self {
        Self {
            records: Vec::new(),
            selection: some.then(Selection::default),
            connections: experiment.connections.clone(),
            shares: experiment.shares(),
        }
    }

    /// Remember a flow, unless it is known. Of all flows, they come in the order of their numbers.
    pub(crate) fn know(&mut self, number: u32, flow: &Flow) {
        if self.get(number).is_some() {
            return;
        }
        if let Some(Selection { numbers, places }) = &mut self.selection {
            places.insert(number.into(), numbers.len() as u32);
            numbers.push(number);
        } else {
            debug_assert_eq!(number as usize, self.records.len());
        }
        self.records.push(FlowRecord::of(flow));
    }

    fn place(&self, number: u32) -> Option<usize> {
        match &self.selection {
            None => Some(number as usize),
            Some(some) => some.places.get(&number.into()).map(|&place| place as usize),
        }
    }

    /// The flow of this number, if it is known.
    pub(crate) fn get(&self, number: u32) -> Option<&FlowRecord> {
        self.records.get(self.place(number)?)
    }

    /// One that is known.
    pub(crate) fn at(&self, number: u32) -> &FlowRecord {
        self.get(number).expect("a flow is known before its packets")
    }

    pub(crate) fn at_mut(&mut self, number: u32) -> &mut FlowRecord {
        let place = self.place(number).expect("a flow is known before its packets");
        &mut self.records[place]
    }

    /// How many are known.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// How the flows of a workload use connections.
    pub(crate) fn policy(&self, workload: u16) -> Connections {
        self.connections[usize::from(workload)]
    }

    /// Whether the answers of a workload go on the connections of their requests.
    pub(crate) fn shares(&self, workload: u16) -> bool {
        self.shares[usize::from(workload)]
    }

    /// Whether its flows take their connections from pools.
    pub(crate) fn is_pooled(&self, workload: u16) -> bool {
        matches!(self.policy(workload), Connections::Persistent { .. })
    }

    /// Whether the connection of a flow is one of a pool.
    pub(crate) fn is_persistent(&self, flow: u32) -> bool {
        self.is_pooled(self.at(flow).workload)
    }

    /// Whether it is a request whose answer goes on the same connection.
    pub(crate) fn is_request(&self, flow: u32) -> bool {
        self.is_leg(flow, LegKind::Request)
    }

    /// Whether it is such an answer.
    pub(crate) fn is_answer(&self, flow: u32) -> bool {
        self.is_leg(flow, LegKind::Answer)
    }

    fn is_leg(&self, flow: u32, kind: LegKind) -> bool {
        let record = self.at(flow);
        self.shares(record.workload) && record.leg.is_some_and(|leg| leg.kind == kind)
    }

    /// The records of all flows in the order in which they arrived, each from what is known of it at its two ends; and the numbers
    /// that they had in the parts, which may be their places in that order already.
    pub(crate) fn merged(parts: Vec<Self>, ranks: Ranks, are_places: bool) -> (Vec<FlowRecord>, Vec<u32>) {
        let mut all: Vec<(u32, FlowRecord)> = Vec::new();
        for Self { records, selection, .. } in parts {
            let Some(Selection { numbers, .. }) = selection else {
                let numbers = (0..records.len() as u32).collect();
                return (records, numbers);
            };
            all.extend(numbers.into_iter().zip(records));
        }
        all.sort_unstable_by_key(|(number, _)| *number);
        all.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                kept.1 = kept.1.joined(later.1);
            }
            is_same
        });
        if !are_places {
            // As one part would have them arrive: by time, then workload, then as the workload has them.
            all.sort_by_key(|(number, flow)| {
                (flow.arrival, ranks.of(flow.workload.into()), flow.leg, flow.listed, *number)
            });
        }
        let (numbers, records) = all.into_iter().unzip();
        (records, numbers)
    }
}

impl FlowRecord {
    /// A flow as it arrives.
    pub fn of(flow: &Flow) -> Self {
        Self {
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
        }
    }

    /// What its two ends know together. A sender says of a receiver only that it has heard nothing.
    fn joined(self, other: Self) -> Self {
        let (near, far) = if self.sent.is_some() { (self, other) } else { (other, self) };
        Self { received: far.received.or(near.received), ..near }
    }

    /// When the last byte reached the receiver.
    pub(crate) fn received_at(&self) -> Option<Instant> {
        self.received.and_then(|received| received.at)
    }

    /// When the sender had every acknowledgement.
    pub(crate) fn acked_at(&self) -> Option<Instant> {
        self.sent.and_then(|sent| sent.acked_at)
    }

    /// Bytes that reached the receiver in order.
    pub(crate) fn delivered(&self) -> Bytes {
        self.received.map_or(Bytes(0), |received| received.delivered)
    }

    /// Timeouts of its sender.
    pub(crate) fn timeouts(&self) -> u32 {
        self.sent.map_or(0, |sent| sent.timeouts)
    }

    /// Segments sent again.
    pub(crate) fn retransmits(&self) -> u32 {
        self.sent.map_or(0, |sent| sent.retransmits)
    }

    /// Completion time, if the flow is complete.
    pub(crate) fn completion_time(&self, end: End) -> Option<Duration> {
        let ended = match end {
            End::Received => self.received_at(),
            End::Acked => self.acked_at(),
        };
        ended.map(|at| at - self.arrival)
    }
}
