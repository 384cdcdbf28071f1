//! Problems: measurements that the scenario of a run requests and the run could not make.
//!
//! A warning qualifies a number; a problem reports that the number is missing.

use serde_json::{Value, json};
use shallows_scenario::{Capture, FlowChoice, FlowTrace};

use super::record::Report;
use crate::pause_counts::PauseCounts;

/// Requested measurement that has no data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Code for programs, such as `nothing-measured`.
    pub code: &'static str,
    /// Text for readers.
    pub text: String,
}

impl Report {
    /// Returns the measurements that are missing. If all are missing, the first entry is `nothing-measured`.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let reached = self.reached();
        if self.measured_nothing(&reached) {
            problems.push(Problem {
                code: "nothing-measured",
                text: "nothing was measured: no counted flow, query, datagram or echo completed, and all samples, \
                       traces and captures are empty"
                    .to_owned(),
            });
        }
        for (number, key) in self.experiment.workload_keys().iter().enumerate() {
            problems.extend(self.problem_of_workload(number, key, reached[number]));
        }
        problems.extend(self.unheard_datagrams());
        problems.extend(self.empty_flow_traces());
        problems.extend(self.empty_traces());
        problems.extend(self.empty_captures());
        problems.extend(self.lossless_drops());
        problems.extend(self.deadlocks());
        problems
    }

    pub(super) fn describe_problems(&self) -> Value {
        let describe = |problem: Problem| json!({"code": problem.code, "text": problem.text});
        self.problems().into_iter().map(describe).collect()
    }

    /// Returns whether every measurement that the scenario requests is empty.
    fn measured_nothing(&self, reached: &[Reached]) -> bool {
        let ends = reached.iter().any(|workload| workload.measured > 0)
            || self.datagram_bytes.0 > 0
            || self.echoes.iter().any(|echo| echo.rtt.is_some());
        let rows = !self.samples.is_empty()
            || self.experiment.port_traces.iter().any(|trace| self.has_packets(&trace.links))
            || self.flow_traces.values().any(|traced| !traced.rows.is_empty())
            || self.captured.iter().any(|&packets| packets > 0);
        !ends && !rows
    }

    /// Returns a problem if a workload sent nothing, if all its flows (or queries) began during the warm-up, or if no later flow (or query)
    /// completed.
    fn problem_of_workload(&self, number: usize, key: &str, reached: Reached) -> Option<Problem> {
        let what = if self.experiment.asks()[number] { "queries" } else { "flows" };
        let Reached { sent, counted, measured } = reached;
        let end = self.end;
        let (code, text) = if sent == 0 {
            ("nothing-sent", format!("{key} sent nothing before the end of the run at {end}"))
        } else if counted == 0 {
            let warm_up = self.experiment.warm_up;
            let text = format!(
                "{key} has no counted {what}: all {what} ({sent}) began before the end of the warm-up, \
                 measure.warm_up = {warm_up}"
            );
            ("nothing-counted", text)
        } else if measured == 0 {
            let text = format!(
                "{key} completed no {what}: the counted {what} ({counted}) were unfinished at the end of the run at \
                 {end}"
            );
            ("nothing-complete", text)
        } else {
            return None;
        };
        Some(Problem { code, text })
    }

    /// Returns the counts of each workload. An unbounded flow always counts as begun after the warm-up, and counts as complete when a byte
    /// has arrived, because only its goodput is measured.
    fn reached(&self) -> Vec<Reached> {
        let asks = self.experiment.asks();
        let mut reached = vec![Reached::default(); asks.len()];
        for (workload, queries) in self.queries.iter().enumerate().filter(|(workload, _)| asks[*workload]) {
            for query in queries {
                reached[workload].add(self.is_after_warm_up(query.start), query.completed_at.is_some());
            }
        }
        let end = self.end_of_flows();
        for flow in self.flows.iter().filter(|flow| !asks[usize::from(flow.workload)]) {
            let (counts, through) = match flow.size {
                Some(_) => (self.counts(flow), flow.completion_time(end).is_some()),
                None => (true, flow.delivered().0 > 0),
            };
            reached[usize::from(flow.workload)].add(counts, through);
        }
        reached
    }

    fn unheard_datagrams(&self) -> Vec<Problem> {
        let lost = |what: &str| Problem {
            code: "nothing-received",
            text: format!("no {what} before the end of the run at {}", self.end),
        };
        let datagrams = !self.experiment.datagram_sources.is_empty() && self.datagram_bytes.0 == 0;
        let echoes = !self.experiment.probes.is_empty() && self.echoes.iter().all(|echo| echo.rtt.is_none());
        let found = [(datagrams, "datagram reached its destination"), (echoes, "echo reply arrived")];
        found.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| lost(what)).collect()
    }

    /// Returns one problem for each flow trace that has no rows, or that lacks rows of a flow named in the trace.
    fn empty_flow_traces(&self) -> Vec<Problem> {
        let is_recorded =
            |flow: &u32| self.flow_traces.get(flow).is_some_and(|traced| !traced.rows.is_empty());
        let missing = |(entry, trace): (usize, &FlowTrace)| {
            let text = match &trace.choice {
                FlowChoice::Numbers(flows) => {
                    let absent: Vec<String> =
                        flows.iter().filter(|flow| !is_recorded(flow)).map(u32::to_string).collect();
                    let last = self.flows.len().checked_sub(1);
                    let began = last.map_or("no flow began".to_owned(), |last| {
                        format!("the last flow that began is flow {last}")
                    });
                    (!absent.is_empty()).then(|| format!("flow {} never began: {began}", absent.join(", ")))
                }
                FlowChoice::Sample { .. } | FlowChoice::Workload(_) => {
                    let recorded = self
                        .flow_traces
                        .values()
                        .any(|traced| traced.trace == entry && !traced.rows.is_empty());
                    (!recorded).then(|| "no flow of the trace began".to_owned())
                }
            };
            Some(Problem {
                code: "empty-flow-trace",
                text: format!("measure.flow_traces[{entry}]: {}", text?),
            })
        };
        self.experiment.flow_traces.iter().enumerate().filter_map(missing).collect()
    }

    fn empty_traces(&self) -> Vec<Problem> {
        let traces = self.experiment.port_traces.iter().enumerate();
        let empty = traces.filter(|(_, trace)| !self.has_packets(&trace.links));
        let tell = |(entry, _)| Problem {
            code: "empty-trace",
            text: format!("measure.traces[{entry}]: no packet reached the ports of the trace"),
        };
        empty.map(tell).collect()
    }

    fn empty_captures(&self) -> Vec<Problem> {
        let captures = self.experiment.captures.iter().zip(&self.captured);
        let empty = captures.filter(|(_, packets)| **packets == 0);
        let tell = |(capture, _): (&Capture, _)| Problem {
            code: "empty-capture",
            text: format!("no packet passed the ports of the capture {:?}", capture.name),
        };
        empty.map(tell).collect()
    }

    /// Returns a problem for each port that dropped packets of a lossless class because the headroom was full. Ignores drops at switches if
    /// the scenario sets a shared pool of headroom: its size is the user's choice, and may be too small for all groups at once.
    fn lossless_drops(&self) -> Vec<Problem> {
        let network = &self.experiment.network;
        let pooled = network.lossless.as_ref().is_none_or(|lossless| lossless.pooled);
        let is_host = |row: &PauseCounts| row.link < network.hosts;
        let dropped = self.pauses.iter().filter(|row| row.dropped > 0 && (is_host(row) || !pooled));
        let tell = |row: &PauseCounts| Problem {
            code: "lossless-drop",
            text: format!(
                "packets of the lossless class {} were dropped by the receive buffer of {} ({}): its room of {} above xoff is too small; \
                 use host.nic.receive.xoff = \"auto\"",
                row.class,
                network.links[row.link as usize].from_name(),
                row.dropped,
                row.headroom
            ),
        };
        let tell_of_switch = |row: &PauseCounts| Problem {
            code: "lossless-drop",
            text: format!(
                "packets of the lossless class {} that arrived by the port {} were dropped ({}): its headroom of {} is too \
                 small; use switch.lossless.headroom = \"auto\"",
                row.class, network.links[row.link as usize].name, row.dropped, row.headroom
            ),
        };
        dropped.map(|row| if is_host(row) { tell(row) } else { tell_of_switch(row) }).collect()
    }

    /// Returns a problem if a deadlock has ended the run.
    fn deadlocks(&self) -> Option<Problem> {
        let deadlock = self.deadlock.as_ref()?;
        let links = &self.experiment.network.links;
        let sender = |&(link, class): &(u32, u8)| format!("{} (class {class})", links[link as usize].name);
        let senders: Vec<String> = deadlock.cycle.iter().map(sender).collect();
        Some(Problem {
            code: "deadlock",
            text: format!(
                "the run ended at {} in a deadlock: these paused ports wait for each other, each for the next one: {}; the \
                 results until then are kept",
                deadlock.at,
                senders.join(", ")
            ),
        })
    }

    fn has_packets(&self, links: &[u32]) -> bool {
        links.iter().any(|&link| self.ports[link as usize].received > 0)
    }
}

/// Numbers of flows or queries from one workload. `sent` is the number that began, `counted` the number that began after the warm-up, and
/// `measured` the number that began after the warm-up and completed.
#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    sent: usize,
    counted: usize,
    measured: usize,
}

impl Reached {
    fn add(&mut self, counts: bool, through: bool) {
        self.sent += 1;
        self.counted += usize::from(counts);
        self.measured += usize::from(counts && through);
    }
}
