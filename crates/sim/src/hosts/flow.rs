//! Records of flows, from arrival to the end of the run.

use shallows_core::{Duration, Instant, Numbered, prefetch_lines};
use shallows_measure::FlowRecord;
use shallows_scenario::{Connections, Experiment, Flow, LegKind};

use crate::hosts::endpoint::Repairs;
use crate::hosts::packet::Framing;
use crate::network::event::Ranks;

/// Records of flows, by flow number. The records cover either all flows, in order of arrival, or only the flows in one partition.
#[derive(Debug)]
pub(crate) struct Flows {
    records: Vec<FlowRecord>,
    /// Numbers of the recorded flows, and their indices in `records`; `None` if all flows are recorded.
    selection: Option<Selection>,
    /// Connection policy, by workload.
    connections: Vec<Connections>,
    /// Whether answers use the connections of their requests, by workload.
    shares: Vec<bool>,
}

/// Numbers of the recorded flows, and their indices in `records`. Used if only some flows have records.
#[derive(Debug, Default)]
struct Selection {
    /// Number of each recorded flow, in the order of `records`.
    numbers: Vec<u32>,
    places: Numbered<u32, u32>,
}

/// Maximum number of flows of a run for whose records memory is reserved at the start.
const MOST_RESERVED: f64 = 1e6;

impl Flows {
    /// Creates an empty store for the flows of a partition with this number of hosts; `None` stands for the whole network.
    pub(crate) fn new(experiment: &Experiment, hosts: Option<u32>) -> Self {
        let flows: f64 = experiment.arrivals().iter().map(|each| each.flows).sum();
        // Each flow has two hosts.
        let share = hosts.map_or(1.0, |hosts| 2.0 * f64::from(hosts) / f64::from(experiment.network.hosts));
        let mut records = Vec::new();
        // Each growth of the vector could copy all records. If this fails, the vector grows nevertheless.
        _ = records.try_reserve_exact((flows.min(MOST_RESERVED) * share.min(1.0)) as usize);
        Self {
            records,
            selection: hosts.map(|_| Selection::default()),
            connections: experiment.connections.clone(),
            shares: experiment.shares(),
        }
    }

    /// Adds a record for a flow that has none. In a run that records every flow, the caller adds flows in ascending order of their numbers.
    pub(crate) fn know(&mut self, number: u32, flow: &Flow) {
        if self.get(number).is_some() {
            return;
        }
        if let Some(Selection { numbers, places }) = &mut self.selection {
            places.insert(number, numbers.len() as u32);
            numbers.push(number);
        } else {
            debug_assert_eq!(number as usize, self.records.len());
        }
        self.records.push(FlowRecord::of(flow));
    }

    fn place(&self, number: u32) -> Option<usize> {
        match &self.selection {
            None => Some(number as usize),
            Some(some) => some.places.get(number).map(|place| place as usize),
        }
    }

    /// Returns the record of the flow with this number, if there is one.
    pub(crate) fn get(&self, number: u32) -> Option<&FlowRecord> {
        self.records.get(self.place(number)?)
    }

    /// Prefetches the table entry that contains the index of a flow's record.
    #[cold]
    pub(crate) fn prefetch_place(&self, number: u32) {
        if let Some(some) = &self.selection {
            some.places.prefetch(number);
        }
    }

    /// Prefetches the record of a flow.
    #[cold]
    pub(crate) fn prefetch(&self, number: u32) {
        self.get(number).map(prefetch_lines);
    }

    /// Returns the record of the flow with this number. The flow must have a record.
    pub(crate) fn at(&self, number: u32) -> &FlowRecord {
        self.get(number).expect("a flow is known before its packets")
    }

    pub(crate) fn at_mut(&mut self, number: u32) -> &mut FlowRecord {
        let place = self.place(number).expect("a flow is known before its packets");
        &mut self.records[place]
    }

    /// Records a flow's timeouts, retransmissions, longest gap and time of completion at its sender. Called when the flow ends or, if it
    /// has not ended, at the end of the run.
    pub(super) fn book(
        &mut self,
        flow: u32,
        repairs: Repairs,
        longest_gap: Duration,
        acked_at: Option<Instant>,
    ) {
        let sent = self.at_mut(flow).sent.as_mut().expect("it has been handed over");
        sent.acked_at = acked_at;
        (sent.timeouts, sent.retransmits) = (repairs.timeouts, repairs.retransmits);
        sent.longest_gap = Some(longest_gap);
    }

    /// Records that a queue pair passes a packet to its NIC. The packet's first byte has the sequence number `offset`.
    pub(super) fn on_transmit(&mut self, framing: &Framing, offset: u64, now: Instant) {
        let Framing::Flow(framing) = framing else { return };
        if framing.start == offset {
            let sent = &mut self.at_mut(framing.flow.get()).sent;
            sent.as_mut().expect("it has been handed over").first_sent.get_or_insert(now);
        }
    }

    /// Returns the number of records.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns the connection policy of a workload.
    pub(crate) fn policy(&self, workload: u16) -> Connections {
        self.connections[usize::from(workload)]
    }

    /// Returns whether answers of a workload use the connections of their requests.
    pub(crate) fn shares(&self, workload: u16) -> bool {
        self.shares[usize::from(workload)]
    }

    /// Returns whether flows of a workload take their connections from pools.
    pub(crate) fn is_pooled(&self, workload: u16) -> bool {
        matches!(self.policy(workload), Connections::Persistent { .. })
    }

    /// Returns whether the connection of a flow belongs to a pool.
    pub(crate) fn is_persistent(&self, flow: u32) -> bool {
        self.is_pooled(self.at(flow).workload)
    }

    /// Returns whether a flow is a request whose answer uses the same connection.
    pub(crate) fn is_request(&self, flow: u32) -> bool {
        self.is_leg(flow, LegKind::Request)
    }

    /// Returns whether a flow is an answer on the connection of its request.
    pub(crate) fn is_answer(&self, flow: u32) -> bool {
        self.is_leg(flow, LegKind::Answer)
    }

    fn is_leg(&self, flow: u32, kind: LegKind) -> bool {
        let record = self.at(flow);
        self.shares(record.workload) && record.leg.is_some_and(|leg| leg.kind == kind)
    }

    /// Merges the records of all partitions. If the sender and the receiver of a flow are in different partitions, the two records of the
    /// flow become one. Returns the records in order of arrival, and the number that each flow had during the run. Flows that one partition
    /// named have numbers that are `step` apart, and so have flows that were drawn in advance. If `step` is 1, a number is a position in
    /// the order of arrival.
    pub(crate) fn merged(mut partitions: Vec<Self>, ranks: Ranks, step: u32) -> (Vec<FlowRecord>, Vec<u32>) {
        if let [Self { records, selection: None, .. }] = &mut partitions[..] {
            let records = std::mem::take(records);
            let numbers = (0..records.len() as u32).collect();
            return (records, numbers);
        }
        // Records are placed by source and number, so both records of a flow are found without a search, and flows are almost in order of
        // arrival.
        let mut named: Vec<Vec<[Option<&FlowRecord>; 2]>> = vec![Vec::new(); step as usize];
        for Self { records, selection, .. } in &partitions {
            let numbers = selection.iter().flat_map(|some| &some.numbers);
            for (&number, flow) in numbers.zip(records) {
                let (named, place) = (&mut named[(number % step) as usize], (number / step) as usize);
                if named.len() <= place {
                    named.resize(place + 1, [None; 2]);
                }
                let [first, second] = &mut named[place];
                assert!(second.is_none(), "a flow has at most two records");
                *if first.is_none() { first } else { second } = Some(flow);
            }
        }
        let numbered = named.iter().zip(0..).flat_map(|(named, first)| {
            named
                .iter()
                .zip(0..)
                .filter_map(move |(&[one, other], place)| Some((one?, other, first + place * step)))
        });
        let mut order: Vec<(&FlowRecord, Option<&FlowRecord>, u32)> = numbered.collect();
        if step > 1 {
            // The order is that of arrivals in an undivided network: by time, then by workload, then by the order within the workload.
            let rank = |flow: &FlowRecord| ranks.of(flow.workload.into());
            order.sort_by_key(|&(flow, _, number)| (flow.arrival, rank(flow), flow.leg, flow.listed, number));
        }
        let joined = |(one, other, number): (&FlowRecord, Option<&FlowRecord>, u32)| {
            (other.map_or(*one, |other| one.joined(*other)), number)
        };
        order.into_iter().map(joined).unzip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::testing::star;

    #[test]
    fn there_is_room_for_the_expected_flows_of_the_hosts() {
        let room = |repeats: u32, hosts: Option<u32>| {
            let incast = "[tcp]\n[[workload]]\nkind = 'incast'\nsenders = '1..3'\nreceivers = 0\nsize = '1KB'\nperiod = '1us'\n";
            let experiment = star(&format!("{incast}repeats = {repeats}\n"));
            Flows::new(&experiment, hosts).records.capacity()
        };
        let is_near = |capacity: usize, count: usize| (count..count * 5 / 4).contains(&capacity);
        // The network has three hosts.
        assert!(is_near(room(60, None), 120));
        assert!(is_near(room(60, Some(1)), 80));
        assert!(is_near(room(60, Some(2)), 120));
        assert_eq!(room(60, Some(0)), 0);
        assert!(is_near(room(1_000_000, None), 1_000_000), "of two million");
    }
}
