//! Summary, warnings and observations of a run.

use serde_json::{Value, json};
use shallows_core::{Duration, parallel};
use shallows_scenario::LosslessPort;
use shallows_switch::port::{Counters, DropReason};

use super::record::Report;
use super::statistics::{self, ratio};
use crate::echo::Echo;
use crate::flow::FlowRecord;
use crate::pause_counts::PauseCounts;
use crate::queue_pair_counts::{QueuePairCounts, Senders};
use crate::tally::Lost;

/// Congestion control of a workload's queue pairs, at one group of hosts that send data.
struct Control<'a> {
    /// Number of the workload in the scenario.
    workload: u16,
    group: &'a str,
    name: &'static str,
}

impl Report {
    /// Returns the document `summary.json` without its machine-dependent parts (wall clock, memory).
    pub fn summary(&self) -> Value {
        let counted = || self.flows.iter().filter(|flow| self.counts(flow));
        let [fct, slowdown] = self.describe_times();
        let delivered: u64 = self.flows.iter().map(|flow| flow.delivered().0).sum();
        let seconds = self.end.as_secs_f64();
        let sum = |field: fn(&Counters) -> u64| self.ports.iter().map(field).sum::<u64>();
        let tally = &self.tally;
        let (mut nics, switches) = self.nics_and_switches();
        let mut lost = Lost::default();
        self.lost.values().for_each(|&link| lost += link);
        nics.dropped += lost.packets_in_nics;
        nics.dropped_data += lost.data_in_nics;
        let mut data_dropped = nics.dropped_data + switches.dropped_data;
        if self.experiment.network.lossless.is_none() {
            // Counters of ports do not include the packets that were in flight on a link when it went down.
            data_dropped += lost.data;
        }
        let mut summary = json!({
            "name": self.experiment.name,
            "seed": self.experiment.seed,
            "simulated_s": seconds,
            "flows": {
                "started": counted().count(),
                "completed": counted().filter(|flow| self.completion_us(flow).is_some()).count(),
                "unbounded": counted().filter(|flow| flow.size.is_none()).count(),
            },
            "fct_us": fct,
            "slowdown": slowdown,
            "goodput_gbps": if seconds > 0.0 { delivered as f64 * 8e-9 / seconds } else { 0.0 },
            "datagram_gbps": if seconds > 0.0 { self.datagram_bytes.0 as f64 * 8e-9 / seconds } else { 0.0 },
            "packets": {
                "sent": tally.packets_sent,
                "data": tally.data_sent,
                "dropped": tally.packets_dropped,
                "dropped_in_nics": nics.dropped,
                "dropped_in_switches": switches.dropped,
                "dropped_data": data_dropped,
                "dropped_data_in_nics": nics.dropped_data,
                "dropped_data_in_switches": switches.dropped_data,
                "dropped_at_dequeue": sum(|port| port.dropped_at_dequeue),
                "marked": sum(|port| port.marked),
                "stale": tally.packets_stale,
            },
            "loss_rate": ratio(tally.packets_dropped, tally.packets_sent),
            "loss_rate_in_nics": ratio(nics.dropped, tally.packets_sent),
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
            "engine": {"packet_hops": tally.packet_hops},
        });
        self.describe_rest(&mut summary, lost);
        summary
    }

    /// Describes the completion times in microseconds and the slowdowns of the flows after the warm-up.
    fn describe_times(&self) -> [Value; 2] {
        let edges: Vec<u64> = self.experiment.bins.iter().map(|edge| edge.0).collect();
        // The two values of a flow, from its completion time and its ideal completion time.
        let values: Vec<fn(f64, f64) -> f64> = vec![|time, _| time, |time, ideal| time / ideal];
        let describe = |value: fn(f64, f64) -> f64| {
            let flows = self.flows.iter().zip(&self.ideals).filter(|(flow, _)| self.counts(flow));
            let value = |(flow, ideal): (&FlowRecord, &Option<Duration>)| {
                let (time, ideal) = (self.completion_us(flow)?, (*ideal)?.as_micros_f64());
                Some((flow.size?.0, value(time, ideal)))
            };
            statistics::describe_by_bin(flows.filter_map(value).collect(), &edges)
        };
        let described = parallel::map(self.threads, values, describe);
        described.try_into().expect("one description for each of the two values")
    }

    /// Adds the entries of `summary.json` that only some scenarios have. `lost` are the packets that links lost.
    fn describe_rest(&self, summary: &mut Value, lost: Lost) {
        if self.experiment.network.lossless.is_some() {
            summary["lossless"] = self.describe_pauses();
        }
        if self.experiment.has_queue_pairs() {
            summary["queue_pairs"] = describe_queue_pairs(&self.all_queue_pairs());
            summary["queue_pair_controls"] = self.describe_controls();
        }
        if !self.experiment.network.epochs().is_empty() {
            summary["packets"]["lost_in_flight"] = json!(lost.packets);
            summary["packets"]["lost_data_in_flight"] = json!(lost.data);
        }
    }

    /// Returns the counts of all queue pairs together.
    fn all_queue_pairs(&self) -> QueuePairCounts {
        self.queue_pairs.values().copied().sum()
    }

    /// Describes the queue pairs for each combination of workload and sending host group, with the name of their congestion control.
    fn describe_controls(&self) -> Value {
        let describe = |(control, counts): (Control<'_>, _)| {
            let mut described = describe_queue_pairs(counts);
            described["workload"] = json!(control.workload);
            described["group"] = json!(control.group);
            described["congestion"] = json!(control.name);
            described
        };
        self.controls().map(describe).collect()
    }

    /// Returns the congestion control for each combination of workload and sending host group, with the counts of its queue pairs.
    fn controls(&self) -> impl Iterator<Item = (Control<'_>, &QueuePairCounts)> {
        let workloads = self.workload_places();
        let groups = self.experiment.network.groups.names();
        self.queue_pairs.iter().map(move |(&Senders { workload, group }, counts)| {
            let control = Control {
                workload: workloads[usize::from(workload)],
                group: &groups[usize::from(group)],
                name: self.experiment.congestion_of(workload, group).name(),
            };
            (control, counts)
        })
    }

    /// Describes the pauses of all ports, by lossless class.
    fn describe_pauses(&self) -> Value {
        let mut table = serde_json::Map::new();
        let classes = self.experiment.network.lossless.iter().flat_map(|lossless| &lossless.classes);
        for &class in classes {
            let rows = || self.pauses.iter().filter(move |row| row.class == class);
            table.insert(
                format!("class{class}"),
                json!({
                    "pauses": rows().map(|row| row.sent).sum::<u64>(),
                    "frames": rows().map(|row| row.frames).sum::<u64>(),
                    "paused_us": rows().map(|row| row.paused.as_micros_f64()).sum::<f64>(),
                    "dropped": rows().map(|row| row.dropped).sum::<u64>(),
                    "ttl_expired": rows().map(|row| row.expired).sum::<u64>(),
                    "storms": rows().map(|row| row.storms).sum::<u64>(),
                    "dropped_by_watchdog": rows().map(|row| row.dropped_by_watchdog).sum::<u64>(),
                    "max_headroom_bytes": rows().map(|row| row.max_headroom.0).max(),
                }),
            );
        }
        Value::Object(table)
    }

    /// Returns observations: correct behaviour that matters for reading the results.
    pub fn observations(&self) -> Vec<String> {
        let is_idle = self.tally.packets_dropped == 0 && self.pauses.iter().all(|row| row.sent == 0);
        let text = "no packet was dropped: buffer limits and loss recovery had no effect";
        is_idle.then(|| text.to_owned()).into_iter().collect()
    }

    /// Returns warnings about the results: markers that never acted, misleading losses, unfinished flows and queries.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut fired = std::collections::BTreeMap::new();
        for (name, counts) in self.markers.iter().flatten() {
            *fired.entry(*name).or_insert(0) += counts.marked + counts.incast + counts.dropped;
        }
        for (name, _) in fired.iter().filter(|(_, count)| **count == 0) {
            warnings.push(format!("no \"{name}\" marker had an effect on any packet"));
        }
        let sum = |count: fn(&PauseCounts) -> u64| self.pauses.iter().map(count).sum::<u64>();
        let (storms, dropped) = (sum(|row| row.storms), sum(|row| row.dropped_by_watchdog));
        if storms > 0 {
            warnings.push(format!("PFC watchdogs found storms ({storms}) and dropped packets ({dropped})"));
        }
        warnings.extend(self.lasting_storms());
        warnings.extend(self.losses_of_nics());
        warnings.extend(self.warnings_of_queue_pairs());
        let lost_acks: u64 = self.ports.iter().map(|port| port.dropped[DropReason::NotEctAck as usize]).sum();
        if lost_acks > 0 {
            warnings.push(format!(
                "markers dropped {lost_acks} pure ACKs, which are not ECN-capable; set tcp.ect = \"all\" to send \
                 ACKs as ECT, as Linux does for DCTCP"
            ));
        }
        let end = self.end_of_flows();
        let is_unfinished = |flow: &&FlowRecord| flow.size.is_some() && flow.completion_time(end).is_none();
        let unfinished = self.flows.iter().filter(is_unfinished).count();
        if unfinished > 0 {
            warnings.push(format!(
                "{unfinished} flows were unfinished at the end of the run; means exclude these flows"
            ));
        }
        let incomplete = self.query_outcomes().filter(|query| query.completion_time.is_none()).count();
        if incomplete > 0 {
            warnings.push(format!(
                "{incomplete} queries were unfinished at the end of the run; means exclude these queries"
            ));
        }
        warnings
    }

    /// Returns a warning for each host whose PFC storm paused its switch until the end of the run.
    fn lasting_storms(&self) -> Vec<String> {
        let network = &self.experiment.network;
        let ports = network.lossless.iter().flat_map(|lossless| &lossless.ports);
        let pauses = |link: usize| {
            self.pauses
                .iter()
                .any(|row| row.link as usize == link && row.sent > row.resumed && row.storms == 0)
        };
        let warn = |(number, port): (usize, &LosslessPort)| {
            let storm = port.storm.as_ref().filter(|_| pauses(number))?;
            Some(format!(
                "the PFC storm of {} paused its switch from {} to the end of the run at {}",
                network.links[number].from_name(),
                storm.start,
                self.end
            ))
        };
        ports.enumerate().filter_map(warn).collect()
    }

    /// Returns warnings about queue pairs that ended with an error, and about congestion controls that never acted.
    fn warnings_of_queue_pairs(&self) -> Vec<String> {
        let counts = self.all_queue_pairs();
        let mut warnings = Vec::new();
        if counts.retries_exhausted > 0 {
            warnings.push(format!(
                "queue pairs ended with an error ({}), because their retransmissions were not acknowledged",
                counts.retries_exhausted
            ));
        }
        if counts.abandoned > 0 {
            warnings
                .push(format!("flows that waited for these queue pairs never began ({})", counts.abandoned));
        }
        if counts.rnr_retries_exhausted > 0 {
            warnings.push(format!(
                "queue pairs ended with an error ({}), because their responders had no receive work requests: RNR \
                 retries were exhausted",
                counts.rnr_retries_exhausted
            ));
        }
        if self.experiment.controls_queue_pairs() && counts.cuts == 0 {
            warnings
                .push("the congestion control of queue pairs never reduced a rate or a window".to_owned());
        } else {
            warnings.extend(self.passive_controls());
        }
        warnings
    }

    /// Returns a warning for each combination of workload and sending host group whose congestion control never acted.
    fn passive_controls(&self) -> impl Iterator<Item = String> {
        let has_groups = self.experiment.network.groups.any();
        let passive = self.controls().filter(|(control, counts)| control.name != "none" && counts.cuts == 0);
        passive.map(move |(Control { workload, group, name }, _)| {
            let of_group = if has_groups { format!(" and group \"{group}\"") } else { String::new() };
            format!(
                "the congestion control of workload {workload}{of_group} (\"{name}\") never reduced a rate or a window"
            )
        })
    }

    /// Returns JSON statistics of the echoes' round-trip times, over all classes and for each class. Null if the experiment has no probes.
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

    /// Returns how many packets each kind of marker marked or dropped, summed over all ports, as JSON.
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
}

/// Describes the losses of queue pairs and the actions of their congestion control.
fn describe_queue_pairs(counts: &QueuePairCounts) -> Value {
    json!({
        "queue_pairs": counts.queue_pairs,
        "retries_exhausted": counts.retries_exhausted,
        "rnr_retries_exhausted": counts.rnr_retries_exhausted,
        "naks": counts.naks,
        "rnr_naks": counts.rnr_naks,
        "timeouts": counts.timeouts,
        "retransmits": counts.retransmits,
        "cnps": counts.cnps,
        "telemetry": counts.telemetry,
        "cuts": counts.cuts,
        "increases": counts.increases,
    })
}
