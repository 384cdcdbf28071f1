//! Tables of a finished run, written as Parquet files.

use std::borrow::Cow;
use std::io::{self, Write};

use shallows_core::Duration;
use shallows_core::packet::HostId;
use shallows_scenario::{Network, Probe};
use shallows_switch::aqm::MarkerCounts;
use shallows_switch::port::{Counters, DropReason};

use super::parquet::{self, Column};
use super::record::Report;
use crate::echo::Echo;
use crate::flow::{End, FlowRecord};
use crate::flow_tracer::QUANTITIES;
use crate::pause_counts::PauseCounts;
use crate::pause_interval::PauseInterval;
use crate::sampler::{Entity, SampleRow};
use shallows_core::Address;

impl Report {
    /// Returns the names of the tables that this run has.
    pub fn tables(&self) -> Vec<&'static str> {
        let experiment = &self.experiment;
        let optional = [
            ("markers", self.markers.iter().any(|markers| !markers.is_empty())),
            ("pauses", experiment.network.lossless.is_some()),
            ("pause_times", experiment.network.lossless.is_some()),
            ("queries", self.asks()),
            ("queues", experiment.sample_queues.is_some()),
            ("traces", !experiment.port_traces.is_empty()),
            ("flow_traces", !experiment.flow_traces.is_empty()),
            ("pings", !experiment.probes.is_empty()),
        ];
        let present = optional.into_iter().filter(|(_, present)| *present).map(|(name, _)| name);
        ["flows", "counters"].into_iter().chain(present).collect()
    }

    /// Writes the table of this name, one of [`Self::tables`], as a Parquet file.
    ///
    /// # Errors
    ///
    /// If `out` cannot be written, or there is no such table.
    pub fn write_table(&self, name: &str, out: impl Write + Send) -> io::Result<()> {
        match name {
            "flows" => self.write_flows(out),
            "counters" => self.write_counters(out),
            "markers" => self.write_markers(out),
            "pauses" => self.write_pauses(out),
            "pause_times" => self.write_pause_times(out),
            "queries" => self.write_queries(out),
            "queues" => self.write_queues(out),
            "traces" => self.write_traces(out),
            "flow_traces" => self.write_flow_traces(out),
            "pings" => self.write_pings(out),
            _ => Err(io::Error::other(format!("a run has no table {name:?}"))),
        }
    }

    /// Returns, for each workload that sends flows, its index in the scenario. The tables identify workloads by this index.
    pub(super) fn workload_places(&self) -> Vec<u16> {
        let places = self.experiment.workload_places().into_iter();
        places.map(|place| u16::try_from(place).expect("checked by the scenario")).collect()
    }

    /// Writes `flows.parquet`: one row for each flow, in order of arrival.
    fn write_flows(&self, out: impl Write + Send) -> io::Result<()> {
        let flows = &self.flows;
        let places = self.workload_places();
        let integers = |field: fn(&FlowRecord) -> i64| Column::integers(flows.iter().map(field));
        let times = |end| {
            let time = move |flow: &FlowRecord| flow.completion_time(end).map(Duration::as_micros_f64);
            Column::optional_floats(flows.iter().map(time))
        };
        let gaps = |gap: fn(&FlowRecord) -> Option<Duration>| {
            Column::optional_floats(flows.iter().map(move |flow| gap(flow).map(Duration::as_micros_f64)))
        };
        let ideals = self.ideals.iter().map(|ideal| ideal.map(Duration::as_micros_f64));
        let slowdown = |(flow, ideal): (&FlowRecord, Option<f64>)| Some(self.completion_us(flow)? / ideal?);
        let port = |port: fn(&Address) -> u16| {
            let port = move |flow: &FlowRecord| flow.sent.map(|sent| i64::from(port(&sent.address)));
            Column::optional_integers(flows.iter().map(port))
        };
        let groups = &self.experiment.network.groups;
        let group = |host: fn(&FlowRecord) -> HostId| {
            Column::text(flows.iter().map(move |flow| &groups.names()[groups.of(host(flow))]))
        };
        let mut columns = vec![
            ("flow", Column::integers(0..flows.len() as i64)),
            (
                "workload",
                Column::integers(flows.iter().map(|flow| places[usize::from(flow.workload)].into())),
            ),
            ("class", integers(|flow| i64::from(flow.class))),
            (
                "query",
                Column::optional_integers(flows.iter().map(|flow| flow.leg.map(|leg| i64::from(leg.query)))),
            ),
            ("source", integers(|flow| i64::from(flow.source.0))),
            ("destination", integers(|flow| i64::from(flow.destination.0))),
            ("source_port", port(|address| address.source_port)),
            ("destination_port", port(|address| address.destination_port)),
            ("size_bytes", Column::optional_integers(flows.iter().map(|f| f.size.map(|size| size.0 as i64)))),
            ("delivered_bytes", integers(|flow| flow.delivered().0 as i64)),
            ("arrival_us", Column::floats(flows.iter().map(|flow| flow.arrival.as_secs_f64() * 1e6))),
            ("fct_us", times(self.end_of_flows())),
            ("fct_receiver_us", times(End::Received)),
            ("fct_sender_us", times(End::Acked)),
            ("ideal_us", Column::optional_floats(ideals.clone())),
            ("slowdown", Column::optional_floats(flows.iter().zip(ideals).map(slowdown))),
            ("timeouts", integers(|flow| i64::from(flow.timeouts()))),
            ("retransmits", integers(|flow| i64::from(flow.retransmits()))),
            ("longest_ack_gap_us", gaps(|flow| flow.sent.and_then(|sent| sent.longest_gap))),
            ("longest_arrival_gap_us", gaps(|flow| flow.received.and_then(|received| received.longest_gap))),
            ("counted", Column::integers(flows.iter().map(|flow| i64::from(self.counts(flow))))),
        ];
        if self.experiment.has_queue_pairs() {
            let queued = |flow: &FlowRecord| flow.queued().map(|time| time.as_micros_f64());
            columns.push(("queued_us", Column::optional_floats(flows.iter().map(queued))));
        }
        if groups.any() {
            columns.push(("group", group(|flow| flow.source)));
            columns.push(("to_group", group(|flow| flow.destination)));
        }
        parquet::write(self.threads, columns, out)
    }

    /// Writes `counters.parquet`: one row for each queue of each port, in order of links. A row with a null queue counts the packets that a
    /// port refused before it assigned them to a queue.
    fn write_counters(&self, out: impl Write + Send) -> io::Result<()> {
        let links = &self.experiment.network.links;
        let mut rows = Vec::new();
        for ((link, port), queues) in links.iter().zip(&self.ports).zip(&self.queues) {
            rows.extend(
                queues.iter().enumerate().map(|(queue, counters)| (link, Some(queue as i64), *counters)),
            );
            let homeless = port.received - queues.iter().map(|queue| queue.received).sum::<u64>();
            if homeless > 0 {
                // The port refused all of these packets before it assigned them to a queue.
                let mut refused = Counters { received: homeless, ..Counters::default() };
                for (reason, count) in refused.dropped.iter_mut().enumerate() {
                    *count =
                        port.dropped[reason] - queues.iter().map(|queue| queue.dropped[reason]).sum::<u64>();
                }
                rows.push((link, None, refused));
            }
        }
        let counts = |field: fn(&Counters) -> u64| {
            Column::integers(rows.iter().map(move |(.., counters)| field(counters) as i64))
        };
        let mut columns = vec![
            ("port", Column::text(rows.iter().map(|(link, ..)| link.name.as_str()))),
            ("kind", Column::text(rows.iter().map(|(link, ..)| link.kind.name()))),
            ("rate_bps", Column::integers(rows.iter().map(|(link, ..)| link.rate.0 as i64))),
            ("queue", Column::optional_integers(rows.iter().map(|(_, queue, _)| *queue))),
            ("received", counts(|port| port.received)),
            ("enqueued", counts(Counters::enqueued)),
            ("dequeued", counts(Counters::dequeued)),
            ("sent", counts(|port| port.sent)),
            ("sent_bytes", counts(|port| port.sent_bytes.0)),
            ("marked", counts(|port| port.marked)),
            ("incast", counts(|port| port.incast)),
            ("max_backlog_bytes", counts(|port| port.max_backlog.0)),
            ("dropped", counts(Counters::dropped_total)),
            ("dropped_at_dequeue", counts(|port| port.dropped_at_dequeue)),
        ];
        let names = DropReason::ALL.map(|reason| format!("dropped_{}", reason.name()));
        // Links go down only in a network with epochs.
        let changes = !self.experiment.network.epochs().is_empty();
        let reasons = DropReason::ALL.into_iter().filter(|&reason| changes || reason != DropReason::LinkDown);
        for (name, reason) in names.iter().zip(reasons) {
            let dropped = rows.iter().map(move |(.., port)| port.dropped[reason as usize] as i64);
            columns.push((name, Column::integers(dropped)));
        }
        parquet::write(self.threads, columns, out)
    }

    /// Writes `markers.parquet`: one row for each marker of each port, with the numbers of packets that it marked or dropped.
    fn write_markers(&self, out: impl Write + Send) -> io::Result<()> {
        let links = &self.experiment.network.links;
        let rows: Vec<_> = links
            .iter()
            .zip(&self.markers)
            .flat_map(|(link, markers)| {
                markers.iter().enumerate().map(move |(place, marker)| (link, place, marker))
            })
            .collect();
        let counts = |field: fn(&MarkerCounts) -> u64| {
            Column::integers(rows.iter().map(move |(_, _, (_, counts))| field(counts) as i64))
        };
        let columns = vec![
            ("port", Column::text(rows.iter().map(|(link, ..)| link.name.as_str()))),
            ("marker", Column::integers(rows.iter().map(|(_, place, _)| *place as i64))),
            ("kind", Column::text(rows.iter().map(|(_, _, (name, _))| *name))),
            ("marked", counts(|counts| counts.marked)),
            ("incast", counts(|counts| counts.incast)),
            ("dropped", counts(|counts| counts.dropped)),
        ];
        parquet::write(self.threads, columns, out)
    }

    /// Writes `pauses.parquet`: one row for each port and lossless class.
    fn write_pauses(&self, out: impl Write + Send) -> io::Result<()> {
        let (links, rows) = (&self.experiment.network.links, &self.pauses);
        let link = |row: &PauseCounts| &links[row.link as usize];
        let counts =
            |field: fn(&PauseCounts) -> u64| Column::integers(rows.iter().map(move |row| field(row) as i64));
        let columns = vec![
            ("port", Column::text(rows.iter().map(|row| link(row).name.as_str()))),
            ("kind", Column::text(rows.iter().map(|row| link(row).kind.name()))),
            ("class", counts(|row| row.class.into())),
            ("pauses_sent", counts(|row| row.sent)),
            ("resumes_sent", counts(|row| row.resumed)),
            ("frames_sent", counts(|row| row.frames)),
            ("pauses_received", counts(|row| row.received)),
            ("paused_us", Column::floats(rows.iter().map(|row| row.paused.as_micros_f64()))),
            ("admitted", counts(|row| row.admitted)),
            ("dropped", counts(|row| row.dropped)),
            ("ttl_expired", counts(|row| row.expired)),
            ("storms", counts(|row| row.storms)),
            ("dropped_by_watchdog", counts(|row| row.dropped_by_watchdog)),
            ("headroom_bytes", counts(|row| row.headroom.0)),
            ("max_headroom_bytes", counts(|row| row.max_headroom.0)),
        ];
        parquet::write(self.threads, columns, out)
    }

    /// Writes `pause_times.parquet`: one row for each pause of each port and lossless class, in order of time. `end_us` is null if the
    /// pause lasted until the end of the run.
    fn write_pause_times(&self, out: impl Write + Send) -> io::Result<()> {
        let (links, rows) = (&self.experiment.network.links, &self.pause_intervals);
        let end = |row: &PauseInterval| row.until.map(|until| until.as_secs_f64() * 1e6);
        let columns = vec![
            ("start_us", Column::floats(rows.iter().map(|row| row.since.as_secs_f64() * 1e6))),
            ("end_us", Column::optional_floats(rows.iter().map(end))),
            ("port", Column::text(rows.iter().map(|row| links[row.link as usize].name.as_str()))),
            ("class", Column::integers(rows.iter().map(|row| row.class.into()))),
        ];
        parquet::write(self.threads, columns, out)
    }

    /// Writes `queues.parquet`: samples of ports and pools. A sample of zero bytes has a row only if the previous sample was above zero.
    fn write_queues(&self, out: impl Write + Send) -> io::Result<()> {
        let network = &self.experiment.network;
        let name = |row: &SampleRow| match row.entity {
            Entity::Port(link) => Cow::from(&network.links[link as usize].name),
            Entity::Pool(node, pool) => format!("{}.pool{pool}", node_name(network, node)).into(),
        };
        let kind = |row: &SampleRow| if matches!(row.entity, Entity::Port(_)) { "port" } else { "pool" };
        let columns = vec![
            ("time_us", Column::floats(self.samples.iter().map(|row| row.at.as_secs_f64() * 1e6))),
            ("kind", Column::text(self.samples.iter().map(kind))),
            ("name", Column::text(self.samples.iter().map(name))),
            ("bytes", Column::integers(self.samples.iter().map(|row| row.bytes as i64))),
        ];
        parquet::write(self.threads, columns, out)
    }

    /// Writes `traces.parquet`: each change of each quantity that a traced port reports. A quantity keeps its value until its next row.
    fn write_traces(&self, out: impl Write + Send) -> io::Result<()> {
        let links = &self.experiment.network.links;
        let rows = &self.port_traces;
        let columns = vec![
            ("time_us", Column::floats(rows.iter().map(|row| row.at.as_secs_f64() * 1e6))),
            ("port", Column::text(rows.iter().map(|row| links[row.link as usize].name.as_str()))),
            ("queue", Column::optional_integers(rows.iter().map(|row| row.queue.map(i64::from)))),
            ("quantity", Column::text(rows.iter().map(|row| row.quantity))),
            ("value", Column::floats(rows.iter().map(|row| row.value))),
        ];
        parquet::write(self.threads, columns, out)
    }

    /// Writes `flow_traces.parquet`: each change of each quantity of a traced sender, by flow and time. A quantity keeps its value until
    /// its next row.
    fn write_flow_traces(&self, out: impl Write + Send) -> io::Result<()> {
        let rows = || {
            self.flow_traces.iter().flat_map(|(flow, traced)| traced.rows.iter().map(move |row| (*flow, row)))
        };
        let columns = vec![
            ("time_us", Column::floats(rows().map(|(_, row)| row.at.as_secs_f64() * 1e6))),
            ("flow", Column::integers(rows().map(|(flow, _)| i64::from(flow)))),
            ("quantity", Column::text(rows().map(|(_, row)| QUANTITIES[row.quantity]))),
            ("value", Column::floats(rows().map(|(_, row)| row.value))),
        ];
        parquet::write(self.threads, columns, out)
    }

    /// Writes `pings.parquet`: one row for each echo request, in order of time; `rtt_us` is null if no reply arrived.
    fn write_pings(&self, out: impl Write + Send) -> io::Result<()> {
        let echoes = &self.echoes;
        let probe = |echo: &Echo| &self.experiment.probes[echo.probe as usize];
        let of_probes =
            |field: fn(&Probe) -> i64| Column::integers(echoes.iter().map(move |echo| field(probe(echo))));
        let columns = vec![
            ("source", of_probes(|probe| probe.source.0.into())),
            ("destination", of_probes(|probe| probe.destination.0.into())),
            ("class", of_probes(|probe| probe.class.into())),
            ("sent_us", Column::floats(echoes.iter().map(|echo| echo.sent_at.as_secs_f64() * 1e6))),
            (
                "rtt_us",
                Column::optional_floats(echoes.iter().map(|echo| echo.rtt.map(|rtt| rtt.as_micros_f64()))),
            ),
        ];
        parquet::write(self.threads, columns, out)
    }
}

/// Returns the name of a node.
fn node_name(network: &Network, node: u32) -> &str {
    let link = network.links.iter().find(|link| link.from.0 == node).expect("every node has a link");
    link.from_name()
}
