//! Record of a finished run, and the outcomes of its flows.

use std::collections::BTreeMap;

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration, Instant, parallel};
use shallows_scenario::{Experiment, FctEnd, QueryRecord};
use shallows_switch::aqm::MarkerCounts;
use shallows_switch::port::Counters;

use super::ideal;
use super::numbering::number_queries;
use crate::echo::Echo;
use crate::flow::{End, FlowRecord};
use crate::flow_tracer::{FlowTracer, QUANTITIES, Traced};
use crate::pause_counts::{Deadlock, PauseCounts};
use crate::pause_interval::PauseInterval;
use crate::port_counts::PortCounts;
use crate::port_tracer::PortRow;
use crate::queue_pair_counts::QueuePairs;
use crate::sampler::{Entity, SampleRow};
use crate::tally::{Lost, Tally};

/// Number of flows whose ideal completion times a thread computes in one go.
const BATCH: usize = 4_096;

/// All results of a finished run.
#[derive(Debug)]
pub struct Report {
    pub(crate) experiment: Experiment,
    pub(crate) flows: Vec<FlowRecord>,
    /// Ideal completion times of the flows ([`ideal`]); `None` for an unfinished flow.
    pub(super) ideals: Vec<Option<Duration>>,
    /// Queries by workload, in the order in which they began.
    pub(crate) queries: Vec<Vec<QueryRecord>>,
    /// Counters of ports, by link.
    pub(crate) ports: Vec<Counters>,
    /// Counters of queues, by link and queue.
    pub(crate) queues: Vec<Vec<Counters>>,
    /// Name and counters of markers, by link and marker.
    pub(crate) markers: Vec<Vec<(&'static str, MarkerCounts)>>,
    pub(crate) echoes: Vec<Echo>,
    pub(crate) port_traces: Vec<PortRow>,
    /// Traces of flows, by flow number.
    pub(crate) flow_traces: BTreeMap<u32, Traced>,
    pub(crate) samples: Vec<SampleRow>,
    /// Number of packets in each capture.
    pub(crate) captured: Vec<u64>,
    pub(crate) tally: Tally,
    /// Number of dropped segments with data at each port, by link.
    pub(crate) data_dropped: Vec<u64>,
    pub(crate) lost: BTreeMap<u32, Lost>,
    pub(crate) pauses: Vec<PauseCounts>,
    pub(crate) deadlock: Option<Deadlock>,
    pub(crate) pause_intervals: Vec<PauseInterval>,
    pub(crate) datagram_bytes: Bytes,
    pub(crate) queue_pairs: QueuePairs,
    pub(crate) end: Instant,
    /// Number of threads that compute the summary and the tables.
    pub(super) threads: usize,
}

/// Measurements of an experiment.
#[derive(Debug, Default)]
pub struct Measured {
    /// Flows in order of arrival.
    pub flows: Vec<FlowRecord>,
    /// Queries by workload.
    pub queries: Vec<Vec<QueryRecord>>,
    /// Counters of ports, in the order of their links.
    pub ports: Vec<PortCounts>,
    /// Samples of queues and pools.
    pub samples: Vec<SampleRow>,
    /// Readings of traced ports.
    pub trace: Vec<PortRow>,
    /// Packet counts of the whole network.
    pub tally: Tally,
    /// Packets that links lost ([`Lost`]), by link number.
    pub lost: BTreeMap<u32, Lost>,
    /// Counts of pauses, by port and class.
    pub pauses: Vec<PauseCounts>,
    /// Deadlock that ended the run, if any.
    pub deadlock: Option<Deadlock>,
    /// Pauses over time, in order of their start, and at equal times in order of port and class.
    pub pause_intervals: Vec<PauseInterval>,
    /// Number of packets in each capture.
    pub captured: Vec<u64>,
    /// Wire bytes of datagrams that reached their destinations.
    pub datagram_bytes: Bytes,
    /// Counters of queue pairs.
    pub queue_pairs: QueuePairs,
    /// Echo requests, in the order in which they were sent.
    pub echoes: Vec<Echo>,
    /// Readings of traced flows.
    pub flow_traces: FlowTracer,
    /// End of the run.
    pub end: Instant,
}

/// Outcome of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowOutcome {
    /// Index of the flow's workload in the scenario.
    pub workload: u16,
    /// Arrival time.
    pub arrival: Instant,
    /// Sending host.
    pub source: HostId,
    /// Receiving host.
    pub destination: HostId,
    /// Application bytes; `None` for a flow that lasts as long as the run.
    pub size: Option<Bytes>,
    /// Bytes that reached the receiver in order.
    pub delivered: Bytes,
    /// Time from arrival to completion; `measure.fct` in the scenario determines whether the receiver or the sender completes the flow.
    /// `None` if unfinished.
    pub completion_time: Option<Duration>,
    /// Time from arrival until the queue pair of the flow passed the flow's first packet to the NIC; `None` for a flow that was not sent,
    /// and for TCP.
    pub queued: Option<Duration>,
    /// Number of expiries of the flow's retransmission timer.
    pub timeouts: u32,
    /// Number of retransmitted segments.
    pub retransmits: u32,
    /// Longest time without an acknowledgement of new data at the sender; `None` if the flow was never sent or the time is unknown.
    pub longest_ack_gap: Option<Duration>,
    /// Longest time without an arrival of data at the receiver; `None` if the flow was never sent or the time is unknown.
    pub longest_arrival_gap: Option<Duration>,
    /// Class of service (DSCP).
    pub class: u8,
    /// Number of the flow's query among the queries of its workload; `None` for a flow outside queries.
    pub query: Option<u32>,
}

impl Measured {
    /// Merges the measurements of partitions. Samples and readings of ports are in order of time. At equal times, samples are in order of
    /// entity, and readings in order of link. Ports are in the order of their links. Captures are not merged, because they always cover the
    /// whole network.
    pub fn joined(partitions: impl IntoIterator<Item = Self>) -> Self {
        let mut whole = Self::default();
        for mut partition in partitions {
            whole.flows.append(&mut partition.flows);
            whole.queries.resize(whole.queries.len().max(partition.queries.len()), Vec::new());
            for (all, queries) in whole.queries.iter_mut().zip(&mut partition.queries) {
                all.append(queries);
            }
            whole.ports.append(&mut partition.ports);
            whole.pauses.append(&mut partition.pauses);
            whole.pause_intervals.append(&mut partition.pause_intervals);
            whole.samples.append(&mut partition.samples);
            whole.trace.append(&mut partition.trace);
            whole.tally += partition.tally;
            for (senders, counts) in partition.queue_pairs {
                *whole.queue_pairs.entry(senders).or_default() += counts;
            }
            for (link, lost) in partition.lost {
                *whole.lost.entry(link).or_default() += lost;
            }
            whole.datagram_bytes += partition.datagram_bytes;
            whole.echoes.append(&mut partition.echoes);
            whole.flow_traces.append(partition.flow_traces);
            whole.end = whole.end.max(partition.end);
        }
        whole.ports.sort_by_key(|port| port.link);
        whole.pauses.sort_by_key(|pause| (pause.link, pause.class));
        whole.pause_intervals.sort_unstable();
        whole.samples.sort_by_key(|row| (row.at, row.entity));
        whole.trace.sort_by_key(|row| (row.at, row.link));
        whole.flow_traces.merge_responders();
        whole
    }
}

impl Report {
    /// Creates the report of a run of `experiment`, either a simulation or a testbed run. Computes the ideal completion times now, and
    /// the summary and the tables later, on up to `threads` threads. No result depends on `threads`.
    pub fn new(experiment: Experiment, mut measured: Measured, threads: usize) -> Self {
        number_queries(&mut measured.queries, &mut measured.flows);
        let mut report = Self {
            captured: measured.captured,
            experiment,
            flows: measured.flows,
            ideals: Vec::new(),
            queries: measured.queries,
            ports: Vec::new(),
            queues: Vec::new(),
            markers: Vec::new(),
            echoes: measured.echoes,
            port_traces: measured.trace,
            flow_traces: measured.flow_traces.flows,
            samples: measured.samples,
            tally: measured.tally,
            data_dropped: Vec::new(),
            lost: measured.lost,
            pauses: measured.pauses,
            deadlock: measured.deadlock,
            pause_intervals: measured.pause_intervals,
            datagram_bytes: measured.datagram_bytes,
            queue_pairs: measured.queue_pairs,
            end: measured.end,
            threads,
        };
        for PortCounts { port, queues, markers, data_dropped, .. } in measured.ports {
            report.ports.push(port);
            report.queues.push(queues);
            report.markers.push(markers);
            report.data_dropped.push(data_dropped);
        }
        report.ideals = report.ideal_times();
        report
    }

    /// Returns the outcomes of the flows, in order of arrival.
    pub fn flows(&self) -> impl Iterator<Item = FlowOutcome> + '_ {
        let places = self.workload_places();
        self.flows.iter().map(move |flow| FlowOutcome {
            workload: places[usize::from(flow.workload)],
            arrival: flow.arrival,
            source: flow.source,
            destination: flow.destination,
            size: flow.size,
            delivered: flow.delivered(),
            completion_time: flow.completion_time(self.end_of_flows()),
            queued: flow.queued(),
            timeouts: flow.timeouts(),
            retransmits: flow.retransmits(),
            longest_ack_gap: flow.sent.and_then(|sent| sent.longest_gap),
            longest_arrival_gap: flow.received.and_then(|received| received.longest_gap),
            class: flow.class,
            query: flow.leg.map(|leg| leg.query),
        })
    }

    /// Returns the counters of the port that feeds the link `name`, such as `switch0->host1`; `None` if there is no such link.
    pub fn port(&self, name: &str) -> Option<&Counters> {
        self.link(name).map(|link| &self.ports[link])
    }

    /// Returns the counts of pauses by port and lossless class.
    pub fn pauses(&self) -> &[PauseCounts] {
        &self.pauses
    }

    /// Returns the pauses of all ports over time, in order of their start, and at equal times in order of port and class.
    pub fn pause_intervals(&self) -> &[PauseInterval] {
        &self.pause_intervals
    }

    /// Returns the packets that the link `name` lost ([`Lost`]). In a network without lossless classes, these packets were in flight when
    /// the link went down.
    pub fn lost_in_flight(&self, name: &str) -> Lost {
        let link = self.link(name).and_then(|link| self.lost.get(&(link as u32)));
        link.copied().unwrap_or_default()
    }

    /// Returns the times and backlogs of the samples of the port `name`. A sample of zero bytes is omitted if it is the port's first
    /// sample, or if the previous sample was zero too.
    pub fn backlog(&self, name: &str) -> impl Iterator<Item = (Instant, Bytes)> + '_ {
        let port = self.link(name).map(|link| Entity::Port(link as u32));
        let rows = self.samples.iter().filter(move |row| Some(row.entity) == port);
        rows.map(|row| (row.at, Bytes(row.bytes)))
    }

    pub(super) fn link(&self, name: &str) -> Option<usize> {
        self.experiment.network.links.iter().position(|link| link.name == name)
    }

    /// Returns times and values of `quantity` at the port `name`, of one `queue` or of the port as a whole.
    pub fn port_trace<'a>(
        &'a self,
        name: &str,
        quantity: &'a str,
        queue: Option<u32>,
    ) -> impl Iterator<Item = (Instant, f64)> + 'a {
        let link = self.link(name).map(|link| link as u32);
        self.port_traces
            .iter()
            .filter(move |row| Some(row.link) == link && row.quantity == quantity && row.queue == queue)
            .map(|row| (row.at, row.value))
    }

    /// Returns times and values of `quantity`, such as `cwnd_bytes`, at the sender of flow `number`. A value lasts until the next one. The
    /// result is empty if the flow was not traced.
    pub fn flow_trace(&self, number: u32, quantity: &str) -> impl Iterator<Item = (Instant, f64)> + '_ {
        let place = QUANTITIES.iter().position(|&known| known == quantity);
        let rows = self.flow_traces.get(&number).into_iter().flat_map(|traced| &traced.rows);
        rows.filter(move |row| Some(row.quantity) == place).map(|row| (row.at, row.value))
    }

    /// Returns the counters of each queue of the port `name`.
    pub fn queues(&self, name: &str) -> &[Counters] {
        self.link(name).map_or(&[], |link| &self.queues[link])
    }

    /// Returns the ideal completion time of each complete flow: the time that the flow would take alone on its path, without slow start.
    fn ideal_times(&self) -> Vec<Option<Duration>> {
        let end = self.end_of_flows();
        let ideal = |flow: &FlowRecord| {
            flow.completion_time(end)?;
            let address = flow.sent.expect("a complete flow had a connection").address;
            let size = flow.size.expect("a flow without end is never complete");
            let agreement = self.experiment.agreement_of(flow.workload, address.source, address.destination);
            Some(ideal::completion(&self.experiment.network, agreement, &address, size, end))
        };
        let batches = self.flows.chunks(BATCH).collect();
        parallel::map(self.threads, batches, |batch| batch.iter().map(ideal).collect::<Vec<_>>()).concat()
    }

    /// Returns the completion time of a complete flow, in microseconds.
    pub(super) fn completion_us(&self, flow: &FlowRecord) -> Option<f64> {
        flow.completion_time(self.end_of_flows()).map(Duration::as_micros_f64)
    }

    pub(super) fn end_of_flows(&self) -> End {
        match self.experiment.fct {
            FctEnd::Receiver => End::Received,
            FctEnd::Sender => End::Acked,
        }
    }

    /// Returns whether a flow arrived after the warm-up, so that statistics include the flow.
    pub(super) fn counts(&self, flow: &FlowRecord) -> bool {
        self.is_after_warm_up(flow.arrival)
    }

    pub(super) fn is_after_warm_up(&self, at: Instant) -> bool {
        at.0 >= self.experiment.warm_up.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the measurements of a partition whose only port sent `sent` packets, and was sampled and read at the times `looks`.
    fn partition(link: u32, sent: u64, looks: &[u64]) -> Measured {
        let row = |&at: &u64| SampleRow { at: Instant(at), entity: Entity::Port(link), bytes: at };
        let reading =
            |&at: &u64| PortRow { at: Instant(at), link, queue: None, quantity: "q", value: at as f64 };
        Measured {
            ports: vec![PortCounts {
                link,
                port: Counters::default(),
                queues: Vec::new(),
                markers: Vec::new(),
                data_dropped: u64::from(link),
            }],
            samples: looks.iter().map(row).collect(),
            trace: looks.iter().map(reading).collect(),
            tally: Tally { packets_sent: sent, ..Tally::default() },
            datagram_bytes: Bytes(10),
            end: Instant(sent),
            ..Measured::default()
        }
    }

    #[test]
    fn what_partitions_have_measured_is_in_order_of_time_and_then_of_links_whatever_partition_came_first() {
        for partitions in [
            [partition(4, 3, &[1, 5]), partition(2, 2, &[1, 3, 5])],
            [partition(2, 2, &[1, 3, 5]), partition(4, 3, &[1, 5])],
        ] {
            let whole = Measured::joined(partitions);
            assert_eq!(
                whole.ports.iter().map(|port| (port.link, port.data_dropped)).collect::<Vec<_>>(),
                [(2, 2), (4, 4)]
            );
            let rows: Vec<_> = whole.samples.iter().map(|row| (row.at.0, row.entity)).collect();
            assert_eq!(
                rows,
                [(1, 2), (1, 4), (3, 2), (5, 2), (5, 4)].map(|(at, link)| (at, Entity::Port(link)))
            );
            let readings: Vec<_> = whole.trace.iter().map(|row| (row.at.0, row.link)).collect();
            assert_eq!(readings, [(1, 2), (1, 4), (3, 2), (5, 2), (5, 4)]);
            assert_eq!(
                (whole.tally.packets_sent, whole.datagram_bytes, whole.end),
                (5, Bytes(20), Instant(3))
            );
        }
    }
}
