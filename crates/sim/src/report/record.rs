//! Everything that a finished run knows, and what became of each flow.

use std::collections::BTreeMap;

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration, Instant};
use shallows_scenario::{Experiment, FctEnd, QueryRecord};
use shallows_switch::aqm::MarkerCounts;
use shallows_switch::port::Counters;

use super::ideal;
use super::queries::number_queries;
use crate::hosts::flow::{End, FlowRecord};
use crate::network::Network;
use crate::network::link::Link;
use crate::network::port_tracer::PortRow;
use crate::network::sampler::{Entity, Row};
use crate::network::tally::Tally;
use crate::report::flow_tracer::{FlowTracer, QUANTITIES, Traced};
use crate::traffic::probe::Echo;

/// Everything that a finished run knows.
#[derive(Debug)]
pub struct Report {
    pub(crate) experiment: Experiment,
    pub(crate) flows: Vec<FlowRecord>,
    /// By workload, in the order in which they were asked.
    pub(crate) queries: Vec<Vec<QueryRecord>>,
    /// By link.
    pub(crate) ports: Vec<Counters>,
    /// By link and queue.
    pub(crate) queues: Vec<Vec<Counters>>,
    /// By link and marker: its name and what it has done.
    pub(crate) markers: Vec<Vec<(&'static str, MarkerCounts)>>,
    pub(crate) echoes: Vec<Echo>,
    pub(crate) port_traces: Vec<PortRow>,
    /// By flow.
    pub(crate) flow_traces: BTreeMap<u32, Traced>,
    pub(crate) samples: Vec<Row>,
    /// Packets of each capture.
    pub(crate) captured: Vec<u64>,
    pub(crate) tally: Tally,
    /// By link: segments with data that its port dropped.
    pub(crate) data_dropped: Vec<u64>,
    pub(crate) datagram_bytes: Bytes,
    pub(crate) end: Instant,
}

/// Measurements of an experiment, beside the counters of its ports.
#[derive(Debug, Default)]
pub struct Measured {
    /// In order of arrival.
    pub flows: Vec<FlowRecord>,
    /// By workload.
    pub queries: Vec<Vec<QueryRecord>>,
    /// Samples of queues and pools.
    pub samples: Vec<Row>,
    /// Readings of traced ports.
    pub trace: Vec<PortRow>,
    /// Packets of the whole network.
    pub tally: Tally,
    /// Packets of each capture.
    pub captured: Vec<u64>,
    /// Wire bytes of datagrams that reached their hosts.
    pub datagram_bytes: Bytes,
    /// Echo requests, in the order in which they left.
    pub echoes: Vec<Echo>,
    /// Readings of traced flows.
    pub flow_traces: FlowTracer,
    /// When it ended.
    pub end: Instant,
}

/// What became of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowOutcome {
    /// Number of the workload that it belongs to, in the scenario.
    pub workload: u16,
    /// When it arrived.
    pub arrival: Instant,
    /// Who sent it.
    pub source: HostId,
    /// To whom.
    pub destination: HostId,
    /// Application bytes; `None` for a flow that lasts as long as the run.
    pub size: Option<Bytes>,
    /// Bytes that reached the receiver in order.
    pub delivered: Bytes,
    /// From its arrival to where the scenario says that a flow ends, if it got there.
    pub completion_time: Option<Duration>,
    /// Expiries of its retransmission timer.
    pub timeouts: u32,
    /// Segments sent again.
    pub retransmits: u32,
    /// Longest time without an acknowledgement of new data at its sender; `None` if it was never sent, or that is not known.
    pub longest_ack_gap: Option<Duration>,
    /// Longest time without an arrival of data at its receiver.
    pub longest_arrival_gap: Option<Duration>,
    /// Class of service (DSCP).
    pub class: u8,
    /// Number of the query that it is a part of, among those of its workload.
    pub query: Option<u32>,
}

impl Report {
    /// A run of `experiment` in this network, by whatever has measured it.
    pub fn measured<T: Copy + Default>(
        experiment: Experiment,
        network: &Network<T>,
        measured: Measured,
    ) -> Self {
        Self::of(experiment, network.links().iter(), measured)
    }

    /// Likewise, over these links in the order of their numbers.
    pub(crate) fn of<'a, T: Copy + Default + 'a>(
        experiment: Experiment,
        links: impl Iterator<Item = &'a Link<T>>,
        measured: Measured,
    ) -> Self {
        let Measured { mut flows, mut queries, samples, trace, tally, end, .. } = measured;
        number_queries(&mut queries, &mut flows);
        let Counted { ports, queues, markers, data_dropped } = counted(links);
        Self {
            captured: measured.captured,
            experiment,
            flows,
            queries,
            ports,
            queues,
            markers,
            echoes: measured.echoes,
            port_traces: trace,
            flow_traces: measured.flow_traces.flows,
            samples,
            tally,
            data_dropped,
            datagram_bytes: measured.datagram_bytes,
            end,
        }
    }

    /// What became of each flow, in order of arrival.
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
            timeouts: flow.timeouts(),
            retransmits: flow.retransmits(),
            longest_ack_gap: flow.sent.and_then(|sent| sent.longest_gap),
            longest_arrival_gap: flow.received.and_then(|received| received.longest_gap),
            class: flow.class,
            query: flow.leg.map(|leg| leg.query),
        })
    }

    /// What passed the port that feeds the link of this `name`, such as `switch0->host1`, if there is one.
    pub fn port(&self, name: &str) -> Option<&Counters> {
        self.link(name).map(|link| &self.ports[link])
    }

    /// Samples of the bytes that waited at the port of this `name`; empty ones that follow an empty one are left out.
    pub fn backlog(&self, name: &str) -> impl Iterator<Item = (Instant, Bytes)> + '_ {
        let port = self.link(name).map(|link| Entity::Port(link as u32));
        let rows = self.samples.iter().filter(move |row| Some(row.entity) == port);
        rows.map(|row| (row.at, Bytes(row.bytes)))
    }

    pub(super) fn link(&self, name: &str) -> Option<usize> {
        self.experiment.network.links.iter().position(|link| link.name == name)
    }

    /// What the port of this `name` told of `quantity`, of a queue or of the port as a whole: times and values.
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

    /// What the sender of flow `number` told of `quantity`, such as `cwnd_bytes`: times and values. A value lasts until the
    /// next one; nothing if the flow was not traced.
    pub fn flow_trace(&self, number: u32, quantity: &str) -> impl Iterator<Item = (Instant, f64)> + '_ {
        let place = QUANTITIES.iter().position(|&known| known == quantity);
        let rows = self.flow_traces.get(&number).into_iter().flat_map(|traced| &traced.rows);
        rows.filter(move |row| Some(row.quantity) == place).map(|row| (row.at, row.value))
    }

    /// What passed each queue of the port of this `name`.
    pub fn queues(&self, name: &str) -> &[Counters] {
        self.link(name).map_or(&[], |link| &self.queues[link])
    }

    /// Completion time of a complete flow's bytes on its path, alone and without slow start.
    pub(super) fn ideal(&self, flow: &FlowRecord) -> Duration {
        let address = flow.sent.expect("a complete flow had a connection").address;
        let size = flow.size.expect("a flow without end is never complete");
        ideal::completion(&self.experiment, &address, size, self.end_of_flows())
    }

    pub(super) fn end_of_flows(&self) -> End {
        match self.experiment.fct {
            FctEnd::Receiver => End::Received,
            FctEnd::Sender => End::Acked,
        }
    }

    /// Whether a flow counts: it arrived after the warm-up.
    pub(super) fn counts(&self, flow: &FlowRecord) -> bool {
        self.is_after_warm_up(flow.arrival)
    }

    pub(super) fn is_after_warm_up(&self, at: Instant) -> bool {
        at.0 >= self.experiment.warm_up.0
    }
}

/// What ports have counted, by link.
#[derive(Debug, Default)]
struct Counted {
    ports: Vec<Counters>,
    queues: Vec<Vec<Counters>>,
    markers: Vec<Vec<(&'static str, MarkerCounts)>>,
    data_dropped: Vec<u64>,
}

fn counted<'a, T: Copy + Default + 'a>(links: impl Iterator<Item = &'a Link<T>>) -> Counted {
    let mut counted = Counted::default();
    for Link { port, data_dropped, .. } in links {
        counted.ports.push(port.counters());
        counted.queues.push(port.queue_counters());
        counted.markers.push(port.markers().iter().map(|marker| (marker.name(), marker.counts())).collect());
        counted.data_dropped.push(*data_dropped);
    }
    counted
}
