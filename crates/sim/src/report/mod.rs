//! What a run leaves behind: the summary and the tables of flows, counters and samples.

mod ideal;
mod parquet;
mod places;
mod problems;
mod queries;
mod statistics;
mod tables;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration, Instant};
use shallows_scenario::{Experiment, FctEnd, QueryRecord};
use shallows_switch::aqm::MarkerCounts;
use shallows_switch::port::{Counters, DropReason};

pub use self::problems::Problem;
pub use self::queries::QueryOutcome;
use crate::flow::{End, FlowRecord};
use crate::flow_tracer::{QUANTITIES, Traced};
use crate::probe::Echo;
use crate::sampler::{Entity, Row};
use crate::tracer::TraceRow;
use crate::world::Tally;

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
    pub(crate) trace: Vec<TraceRow>,
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
    pub(crate) events: u64,
}

/// What became of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowOutcome {
    /// Which workload it belongs to, by its place among those that send flows.
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
    /// Longest time without an acknowledgement of new data at its sender; `None` if it was never sent.
    pub longest_ack_gap: Option<Duration>,
    /// Longest time without an arrival of data at its receiver.
    pub longest_arrival_gap: Option<Duration>,
    /// Class of service (DSCP).
    pub class: u8,
    /// Number of the query that it is a part of, among those of its workload.
    pub query: Option<u32>,
}

impl Report {
    /// What became of each flow, in order of arrival.
    pub fn flows(&self) -> impl Iterator<Item = FlowOutcome> + '_ {
        self.flows.iter().map(|flow| FlowOutcome {
            workload: flow.workload,
            arrival: flow.arrival,
            source: flow.source,
            destination: flow.destination,
            size: flow.size,
            delivered: flow.delivered(),
            completion_time: flow.completion_time(self.end_of_flows()),
            timeouts: flow.timeouts(),
            retransmits: flow.retransmits(),
            longest_ack_gap: flow.sent.map(|sent| sent.longest_gap),
            longest_arrival_gap: flow.received.map(|received| received.longest_gap),
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
        let delivered: u64 = self.flows.iter().map(|flow| flow.delivered().0).sum();
        let seconds = self.end.as_secs_f64();
        let sum = |field: fn(&Counters) -> u64| self.ports.iter().map(field).sum::<u64>();
        let tally = &self.tally;
        let (cards, switches) = self.cards_and_switches();
        let data_dropped = cards.dropped_data + switches.dropped_data;
        json!({
            "name": self.experiment.name,
            "seed": self.experiment.seed,
            "simulated_s": seconds,
            "flows": {
                "started": counted().count(),
                "completed": counted().filter(|flow| fct(flow).is_some()).count(),
                "endless": counted().filter(|flow| flow.size.is_none()).count(),
            },
            "fct_us": statistics::describe_by_bin(&counted().filter_map(fct).collect::<Vec<_>>(), &edges),
            "slowdown": statistics::describe_by_bin(&counted().filter_map(slowdown).collect::<Vec<_>>(), &edges),
            "goodput_gbps": if seconds > 0.0 { delivered as f64 * 8e-9 / seconds } else { 0.0 },
            "datagram_gbps": if seconds > 0.0 { self.datagram_bytes.0 as f64 * 8e-9 / seconds } else { 0.0 },
            "packets": {
                "sent": tally.packets_sent,
                "data": tally.data_sent,
                "dropped": tally.packets_dropped,
                "dropped_in_cards": cards.dropped,
                "dropped_in_switches": switches.dropped,
                "dropped_data": data_dropped,
                "dropped_data_in_cards": cards.dropped_data,
                "dropped_data_in_switches": switches.dropped_data,
                "dropped_at_dequeue": sum(|port| port.dropped_at_dequeue),
                "marked": sum(|port| port.marked),
                "stale": tally.packets_stale,
            },
            "loss_rate": ratio(tally.packets_dropped, tally.packets_sent),
            "loss_rate_in_cards": ratio(cards.dropped, tally.packets_sent),
            "loss_rate_in_switches": ratio(switches.dropped, tally.packets_sent),
            "loss_rate_data": ratio(data_dropped, tally.data_sent),
            "loss_rate_mean_over_ports": self.mean_loss_over_ports(),
            "queries": self.describe_queries(),
            "ping_rtt_us": self.describe_echoes(),
            "ports": self.describe_ports(),
            "markers": self.describe_markers(),
            "timeouts": self.flows.iter().map(|flow| u64::from(flow.timeouts())).sum::<u64>(),
            "retransmits": self.flows.iter().map(|flow| u64::from(flow.retransmits())).sum::<u64>(),
            "problems": self.describe_problems(),
            "engine": {"events": self.events, "packet_hops": tally.packet_hops},
        })
    }

    /// What is as it should be and yet worth knowing.
    pub fn observations(&self) -> Vec<String> {
        let lossless = self.tally.packets_dropped == 0;
        let text = "no packet was dropped: buffer limits and loss recovery never came into play";
        lossless.then(|| text.to_owned()).into_iter().collect()
    }

    /// What a reader of the numbers should know: features that never fired, and losses that mislead.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut fired = std::collections::BTreeMap::new();
        for (name, counts) in self.markers.iter().flatten() {
            *fired.entry(*name).or_insert(0) += counts.marked + counts.incast + counts.dropped;
        }
        for (name, _) in fired.iter().filter(|(_, count)| **count == 0) {
            warnings.push(format!("no \"{name}\" marker chose any packet: they never fired"));
        }
        warnings.extend(self.losses_of_cards());
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
        let open = self.query_outcomes().filter(|query| query.completion_time.is_none()).count();
        if open > 0 {
            warnings
                .push(format!("{open} queries were not complete when the run stopped; they are in no mean"));
        }
        warnings
    }

    /// Round-trip times of echoes: of all, and by class where there are several. Null without probes.
    fn describe_echoes(&self) -> Value {
        let probes = &self.experiment.probes;
        if probes.is_empty() {
            return Value::Null;
        }
        let describe = |class: Option<u8>| {
            let asked =
                self.echoes.iter().filter(|echo| class.is_none_or(|class| self.class_of(echo) == class));
            let rtts: Vec<f64> = asked.clone().filter_map(|echo| Some(echo.rtt?.as_micros_f64())).collect();
            let lost = asked.count() - rtts.len();
            let mut described = statistics::describe(rtts);
            described["lost"] = json!(lost);
            described
        };
        let mut table = json!({"all": describe(None)});
        let classes: std::collections::BTreeSet<u8> = probes.iter().map(|probe| probe.class).collect();
        for class in classes {
            table[format!("class{class}")] = describe(Some(class));
        }
        table
    }

    fn class_of(&self, echo: &Echo) -> u8 {
        self.experiment.probes[echo.probe as usize].class
    }

    /// By marker, as scenarios call it: the packets that it chose, at all ports together.
    fn describe_markers(&self) -> Value {
        let mut table = serde_json::Map::new();
        for (name, counts) in self.markers.iter().flatten() {
            let sum = table.entry(*name).or_insert_with(|| json!({"marked": 0, "incast": 0, "dropped": 0}));
            for (what, count) in
                [("marked", counts.marked), ("incast", counts.incast), ("dropped", counts.dropped)]
            {
                sum[what] = json!(sum[what].as_u64().unwrap_or(0) + count);
            }
        }
        Value::Object(table)
    }

    /// What the port of this `name` told of `quantity`, of a queue or of the port as a whole: times and values.
    pub fn trace<'a>(
        &'a self,
        name: &str,
        quantity: &'a str,
        queue: Option<u32>,
    ) -> impl Iterator<Item = (Instant, f64)> + 'a {
        let link = self.link(name).map(|link| link as u32);
        self.trace
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
    fn ideal(&self, flow: &FlowRecord) -> Duration {
        let address = flow.sent.expect("a complete flow had a connection").address;
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
        self.is_after_warm_up(flow.arrival)
    }

    fn is_after_warm_up(&self, at: Instant) -> bool {
        at.0 >= self.experiment.warm_up.0
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
