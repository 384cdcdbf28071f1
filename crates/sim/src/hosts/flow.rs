//! What is remembered of each flow: one record, from its arrival to the end of the run.

use shallows_core::{Duration, Instant, Numbered};
use shallows_measure::FlowRecord;
use shallows_scenario::{Connections, Experiment, Flow, LegKind};

use crate::hosts::connection::SenderSide;
use crate::network::event::Ranks;

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
