//! What a run leaves behind: the summary and the tables of flows, counters and samples.

mod ideal;
mod parquet;
mod statistics;

use std::io::{self, Write};

use serde_json::{Value, json};
use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration, Instant};
use shallows_scenario::{Experiment, FctEnd, Network};
use shallows_switch::port::{Counters, DropReason};

use crate::flow::{End, FlowRecord};
use crate::sampler::{Entity, Row};
use crate::world::Tally;
use parquet::Column;

/// Everything that a finished run knows.
#[derive(Debug)]
pub struct Report {
    pub(crate) experiment: Experiment,
    pub(crate) flows: Vec<FlowRecord>,
    /// By link.
    pub(crate) ports: Vec<Counters>,
    pub(crate) samples: Vec<Row>,
    pub(crate) tally: Tally,
    pub(crate) datagram_bytes: Bytes,
    pub(crate) end: Instant,
    pub(crate) events: u64,
}

/// What became of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowOutcome {
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
}

impl Report {
    /// What became of each flow, in order of arrival.
    pub fn flows(&self) -> impl Iterator<Item = FlowOutcome> + '_ {
        self.flows.iter().map(|flow| FlowOutcome {
            arrival: flow.arrival,
            source: flow.source,
            destination: flow.destination,
            size: flow.size,
            delivered: flow.delivered,
            completion_time: flow.completion_time(self.end_of_flows()),
            timeouts: flow.timeouts,
            retransmits: flow.retransmits,
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

    fn link(&self, name: &str) -> Option<usize> {
        self.experiment.network.links.iter().position(|link| link.name == name)
    }

    /// The document `summary.json`, less what depends on the machine (wall clock, memory).
    pub fn summary(&self) -> Value {
        let edges: Vec<u64> = self.experiment.bins.iter().map(|edge| edge.0).collect();
        let counted = || self.flows.iter().filter(|flow| self.counts(flow));
        let fct = |flow: &FlowRecord| {
            let time = flow.completion_time(self.end_of_flows())?;
            Some((flow.size?.0, time.as_micros_f64()))
        };
        let slowdown =
            |flow: &FlowRecord| fct(flow).map(|(size, us)| (size, us / self.ideal(flow).as_micros_f64()));
        let delivered: u64 = self.flows.iter().map(|flow| flow.delivered.0).sum();
        let seconds = self.end.as_secs_f64();
        let sum = |field: fn(&Counters) -> u64| self.ports.iter().map(field).sum::<u64>();
        let tally = &self.tally;
        json!({
            "name": self.experiment.name,
            "seed": self.experiment.seed,
            "simulated_s": seconds,
            "flows": {"started": counted().count(), "completed": counted().filter(|flow| fct(flow).is_some()).count()},
            "fct_us": statistics::describe_by_bin(&counted().filter_map(fct).collect::<Vec<_>>(), &edges),
            "slowdown": statistics::describe_by_bin(&counted().filter_map(slowdown).collect::<Vec<_>>(), &edges),
            "goodput_gbps": if seconds > 0.0 { delivered as f64 * 8e-9 / seconds } else { 0.0 },
            "datagram_gbps": if seconds > 0.0 { self.datagram_bytes.0 as f64 * 8e-9 / seconds } else { 0.0 },
            "packets": {
                "sent": tally.packets_sent,
                "data": tally.data_sent,
                "dropped": tally.packets_dropped,
                "dropped_data": tally.data_dropped,
                "dropped_at_dequeue": sum(|port| port.dropped_at_dequeue),
                "marked": sum(|port| port.marked),
                "stale": tally.packets_stale,
            },
            "loss_rate": ratio(tally.packets_dropped, tally.packets_sent),
            "loss_rate_data": ratio(tally.data_dropped, tally.data_sent),
            "loss_rate_mean_over_ports": self.mean_loss_over_ports(),
            "timeouts": self.flows.iter().map(|flow| u64::from(flow.timeouts)).sum::<u64>(),
            "retransmits": self.flows.iter().map(|flow| u64::from(flow.retransmits)).sum::<u64>(),
            "engine": {"events": self.events, "packet_hops": tally.packet_hops},
        })
    }

    /// What a reader of the numbers should know: features that never fired, and losses that mislead.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let marks = self.ports.iter().any(|port| port.marked > 0);
        let nodes = &self.experiment.network.nodes;
        if !marks && nodes.iter().any(|node| !node.markers.is_empty()) {
            warnings.push("no packet was marked: the markers of this scenario never fired".into());
        }
        if self.tally.packets_dropped == 0 {
            warnings
                .push("no packet was dropped: buffer limits and loss recovery never came into play".into());
        }
        let lost_acks: u64 = self.ports.iter().map(|port| port.dropped[DropReason::NotEctAck as usize]).sum();
        if lost_acks > 0 {
            warnings.push(format!(
                "{lost_acks} pure ACKs were dropped by markers because they are not ECN-capable; \
                 tcp.ect = \"all\" sends them as ECT, as Linux does for DCTCP"
            ));
        }
        let end = self.end_of_flows();
        let is_open = |flow: &&FlowRecord| flow.size.is_some() && flow.completion_time(end).is_none();
        let unfinished = self.flows.iter().filter(is_open).count();
        if unfinished > 0 {
            warnings.push(format!(
                "{unfinished} flows were not complete when the run stopped; they are in no mean"
            ));
        }
        warnings
    }

    /// Write `flows.parquet`: one row for each flow, in order of arrival.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn write_flows(&self, out: impl Write + Send) -> io::Result<()> {
        let flows = &self.flows;
        let integers = |field: fn(&FlowRecord) -> i64| Column::Integers(flows.iter().map(field).collect());
        let times = |end| {
            let time = |flow: &FlowRecord| flow.completion_time(end).map(|time| time.as_micros_f64());
            Column::OptionalFloats(flows.iter().map(time).collect())
        };
        let fct =
            |flow: &FlowRecord| flow.completion_time(self.end_of_flows()).map(|time| time.as_micros_f64());
        let ideal = |flow: &FlowRecord| fct(flow).map(|_| self.ideal(flow).as_micros_f64());
        let slowdown = |flow: &FlowRecord| fct(flow).map(|us| us / self.ideal(flow).as_micros_f64());
        let columns = [
            ("flow", Column::Integers((0..flows.len() as i64).collect())),
            ("workload", integers(|flow| i64::from(flow.workload))),
            ("class", integers(|flow| i64::from(flow.class))),
            ("source", integers(|flow| i64::from(flow.source.0))),
            ("destination", integers(|flow| i64::from(flow.destination.0))),
            (
                "size_bytes",
                Column::OptionalIntegers(flows.iter().map(|f| f.size.map(|size| size.0 as i64)).collect()),
            ),
            ("delivered_bytes", integers(|flow| flow.delivered.0 as i64)),
            (
                "arrival_us",
                Column::Floats(flows.iter().map(|flow| flow.arrival.as_secs_f64() * 1e6).collect()),
            ),
            ("fct_us", Column::OptionalFloats(flows.iter().map(fct).collect())),
            ("fct_receiver_us", times(End::Received)),
            ("fct_sender_us", times(End::Acked)),
            ("ideal_us", Column::OptionalFloats(flows.iter().map(ideal).collect())),
            ("slowdown", Column::OptionalFloats(flows.iter().map(slowdown).collect())),
            ("timeouts", integers(|flow| i64::from(flow.timeouts))),
            ("retransmits", integers(|flow| i64::from(flow.retransmits))),
            ("counted", Column::Integers(flows.iter().map(|flow| i64::from(self.counts(flow))).collect())),
        ];
        parquet::write(&columns, out)
    }

    /// Write `counters.parquet`: one row for each port and queue, in order of links.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn write_counters(&self, out: impl Write + Send) -> io::Result<()> {
        let links = &self.experiment.network.links;
        let counts = |field: fn(&Counters) -> u64| {
            Column::Integers(self.ports.iter().map(|port| field(port) as i64).collect())
        };
        let mut columns = vec![
            ("port", Column::Text(links.iter().map(|link| link.name.clone()).collect())),
            ("kind", Column::Text(links.iter().map(|link| link.kind.name().to_owned()).collect())),
            ("queue", Column::Integers(vec![0; links.len()])),
            ("received", counts(|port| port.received)),
            ("enqueued", counts(Counters::enqueued)),
            ("dequeued", counts(Counters::dequeued)),
            ("sent", counts(|port| port.sent)),
            ("sent_bytes", counts(|port| port.sent_bytes.0)),
            ("marked", counts(|port| port.marked)),
            ("max_backlog_bytes", counts(|port| port.max_backlog.0)),
            ("dropped", counts(Counters::dropped_total)),
            ("dropped_at_dequeue", counts(|port| port.dropped_at_dequeue)),
        ];
        let names = ["dropped_queue_limit", "dropped_pool_full", "dropped_not_ect", "dropped_not_ect_ack"];
        for (name, reason) in names.into_iter().zip(DropReason::ALL) {
            let dropped = self.ports.iter().map(|port| port.dropped[reason as usize] as i64).collect();
            columns.push((name, Column::Integers(dropped)));
        }
        parquet::write(&columns, out)
    }

    /// Whether queues were sampled.
    pub fn has_samples(&self) -> bool {
        self.experiment.sample_queues.is_some()
    }

    /// Write `queues.parquet`: samples of ports and pools. What stays empty has no row.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written.
    pub fn write_queues(&self, out: impl Write + Send) -> io::Result<()> {
        let network = &self.experiment.network;
        let name = |row: &Row| match row.entity {
            Entity::Port(link) => network.links[link as usize].name.clone(),
            Entity::Pool(node, pool) => format!("{}.pool{pool}", node_name(network, node)),
        };
        let kind = |row: &Row| if matches!(row.entity, Entity::Port(_)) { "port" } else { "pool" };
        let columns = [
            ("time_us", Column::Floats(self.samples.iter().map(|row| row.at.as_secs_f64() * 1e6).collect())),
            ("kind", Column::Text(self.samples.iter().map(|row| kind(row).to_owned()).collect())),
            ("name", Column::Text(self.samples.iter().map(name).collect())),
            ("bytes", Column::Integers(self.samples.iter().map(|row| row.bytes as i64).collect())),
        ];
        parquet::write(&columns, out)
    }

    /// Completion time of a complete flow's bytes on its path, alone and without slow start.
    fn ideal(&self, flow: &FlowRecord) -> Duration {
        let address = flow.address.expect("a complete flow had a connection");
        let size = flow.size.expect("a flow without end is never complete");
        ideal::completion(&self.experiment, &address, size, self.end_of_flows())
    }

    fn end_of_flows(&self) -> End {
        match self.experiment.fct {
            FctEnd::Receiver => End::Received,
            FctEnd::Sender => End::Acked,
        }
    }

    /// Whether a flow counts: it arrived after the warm-up.
    fn counts(&self, flow: &FlowRecord) -> bool {
        flow.arrival.0 >= self.experiment.warm_up.0
    }

    /// Mean of dropped/received over the switch ports that received something, as BCC's scripts print loss.
    fn mean_loss_over_ports(&self) -> f64 {
        let hosts = self.experiment.network.hosts;
        let ports = self.ports.iter().zip(&self.experiment.network.links);
        let losses: Vec<f64> = ports
            .filter(|(port, link)| link.from.0 >= hosts && port.received > 0)
            .map(|(port, _)| ratio(port.dropped_total(), port.received))
            .collect();
        if losses.is_empty() { 0.0 } else { losses.iter().sum::<f64>() / losses.len() as f64 }
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The name of a node, which is the first half of the name of any link that leaves it.
fn node_name(network: &Network, node: u32) -> &str {
    let link = network.links.iter().find(|link| link.from.0 == node).expect("every node has a link");
    link.name.split("->").next().unwrap_or(&link.name)
}
