//! What is remembered of each flow: one record, from its arrival to the end of the run.

use shallows_core::{Duration, Instant, Numbered};
use shallows_measure::FlowRecord;
use shallows_scenario::{Connections, Experiment, Flow, LegKind};

use crate::hosts::connection::SenderSide;
use crate::network::event::Ranks;

/// Flows by number: all that have arrived, by place in that order, or those that concern one partition of the network.
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
            Some(some) => some.places.get(number.into()).map(|place| place as usize),
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

    /// Keep what a sender has done for a flow of its own, which ends now or with the run.
    pub(super) fn book(
        &mut self,
        flow: u32,
        side: &SenderSide,
        longest_gap: Duration,
        acked_at: Option<Instant>,
    ) {
        let stats = side.endpoint.stats();
        let sent = self.at_mut(flow).sent.as_mut().expect("it has been handed over");
        sent.acked_at = acked_at;
        sent.timeouts = stats.timeouts - side.before.0;
        sent.retransmits = stats.retransmits - side.before.1;
        sent.longest_gap = Some(longest_gap);
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
    /// that they had in the partitions. Those that one source names are `step` apart; they are places in that order if that is one.
    pub(crate) fn merged(mut partitions: Vec<Self>, ranks: Ranks, step: u32) -> (Vec<FlowRecord>, Vec<u32>) {
        if let [Self { records, selection: None, .. }] = &mut partitions[..] {
            let records = std::mem::take(records);
            let numbers = (0..records.len() as u32).collect();
            return (records, numbers);
        }
        // By who named them and in that order, which spares a search for the other end, and most of the sorting.
        let mut named: Vec<Vec<Option<FlowRecord>>> = vec![Vec::new(); step as usize];
        for Self { records, selection, .. } in &partitions {
            let numbers = selection.iter().flat_map(|some| &some.numbers);
            for (&number, &flow) in numbers.zip(records) {
                let (named, place) = (&mut named[(number % step) as usize], (number / step) as usize);
                named.resize(named.len().max(place + 1), None);
                named[place] = Some(named[place].map_or(flow, |known| known.joined(flow)));
            }
        }
        // As one partition would have them arrive: by time, then workload, then as the workload has them.
        let mut order = Vec::new();
        for (named, first) in named.iter().zip(0..) {
            for (flow, place) in named.iter().zip(0..) {
                let Some(flow) = flow else { continue };
                let number: u32 = first + place * step;
                let rank = ranks.of(flow.workload.into());
                order.push(((flow.arrival, rank, flow.leg, flow.listed, number), flow));
            }
        }
        if step > 1 {
            order.sort_by_key(|(key, _)| *key);
        }
        order.into_iter().map(|((.., number), flow)| (*flow, number)).unzip()
    }
}
