//! Outcomes of queries: their table and their part of the summary.

use std::io::{self, Write};

use crate::flow::Received;
use serde_json::{Value, json};
use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration, Instant};

use super::parquet::{self, Column};
use super::record::Report;
use super::statistics::{self, ratio};

/// Outcome of one query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryOutcome {
    /// Index of the query's workload in the scenario.
    pub workload: u16,
    /// Number of the query among the queries of its workload, in the order of their starts.
    pub number: u32,
    /// Client of the query.
    pub client: HostId,
    /// Start of the query, before any jitter.
    pub start: Instant,
    /// Time from `start` to the last response or to the deadline, whichever comes first; `None` if the run ended before both.
    pub completion_time: Option<Duration>,
    /// Number of responses that a complete result of the query contains.
    pub responses: u32,
    /// Number of responses that the client received in time.
    pub in_time: u32,
    /// Bytes of responses that the client received in time.
    pub bytes: Bytes,
    /// Number of timeouts that delayed the query's flows, including its requests and late responses.
    pub timeouts: u32,
    /// Retransmitted segments of the query's flows.
    pub retransmits: u32,
}

impl QueryOutcome {
    /// Returns the share of responses that the client received in time.
    pub fn quality(&self) -> f64 {
        ratio(self.in_time.into(), self.responses.into())
    }

    /// Returns the bytes received in time divided by the completion time, in Gbit/s. For a block transfer, this is the size of the block
    /// divided by the time of its slowest part.
    pub fn goodput_gbps(&self) -> Option<f64> {
        let seconds = self.completion_time?.as_secs_f64();
        (seconds > 0.0).then(|| self.bytes.0 as f64 * 8e-9 / seconds)
    }
}

impl Report {
    /// Returns the outcomes of the queries, by workload and then in the order in which they began.
    pub fn query_outcomes(&self) -> impl Iterator<Item = QueryOutcome> + '_ {
        // Timeouts and retransmitted segments of the flows of each query.
        let mut losses: Vec<Vec<(u32, u32)>> =
            self.queries.iter().map(|queries| vec![(0, 0); queries.len()]).collect();
        for flow in &self.flows {
            if let Some(leg) = flow.leg {
                let (timeouts, retransmits) = &mut losses[usize::from(flow.workload)][leg.query as usize];
                *timeouts += match flow.received {
                    Some(Received { at: Some(_), timeouts_felt, .. }) => timeouts_felt,
                    _ => flow.timeouts(),
                };
                *retransmits += flow.retransmits();
            }
        }
        let asked = self.workload_places().into_iter().zip(&self.queries).zip(losses);
        asked.flat_map(|((workload, queries), losses)| {
            queries.iter().zip(losses).zip(0..).map(move |((query, losses), number)| QueryOutcome {
                workload,
                number,
                client: query.client,
                start: query.start,
                completion_time: query.completed_at.map(|at| at - query.start),
                responses: query.responses,
                in_time: query.in_time,
                bytes: query.bytes,
                timeouts: losses.0,
                retransmits: losses.1,
            })
        })
    }

    /// Returns whether any workload sends queries.
    pub(super) fn asks(&self) -> bool {
        self.experiment.asks().contains(&true)
    }

    /// Writes `queries.parquet`: one row for each query, by workload and then in the order of query starts.
    pub(super) fn write_queries(&self, out: impl Write + Send) -> io::Result<()> {
        let queries: Vec<QueryOutcome> = self.query_outcomes().collect();
        let integers = |field: fn(&QueryOutcome) -> i64| Column::integers(queries.iter().map(field));
        let time = |query: &QueryOutcome| query.completion_time.map(|time| time.as_micros_f64());
        let start = |query: &QueryOutcome| query.start.as_secs_f64() * 1e6;
        let columns = vec![
            ("workload", integers(|query| query.workload.into())),
            ("query", integers(|query| query.number.into())),
            ("client", integers(|query| query.client.0.into())),
            ("start_us", Column::floats(queries.iter().map(start))),
            ("completion_us", Column::optional_floats(queries.iter().map(time))),
            ("responses", integers(|query| query.responses.into())),
            ("in_time", integers(|query| query.in_time.into())),
            ("quality", Column::floats(queries.iter().map(QueryOutcome::quality))),
            ("bytes", integers(|query| query.bytes.0 as i64)),
            ("goodput_gbps", Column::optional_floats(queries.iter().map(QueryOutcome::goodput_gbps))),
            ("timeouts", integers(|query| query.timeouts.into())),
            ("retransmits", integers(|query| query.retransmits.into())),
            (
                "counted",
                Column::integers(queries.iter().map(|query| self.is_after_warm_up(query.start).into())),
            ),
        ];
        parquet::write(self.threads, columns, out)
    }

    /// Returns JSON statistics of all queries, and of each workload's queries if several workloads send queries. Null if no workload sends
    /// queries.
    pub(super) fn describe_queries(&self) -> Value {
        let asks = self.experiment.asks();
        let asking = self.workload_places().into_iter().zip(&asks).filter(|(_, asks)| **asks);
        let asking: Vec<u16> = asking.map(|(workload, _)| workload).collect();
        if asking.is_empty() {
            return Value::Null;
        }
        let outcomes = self.query_outcomes().filter(|query| self.is_after_warm_up(query.start));
        let outcomes: Vec<QueryOutcome> = outcomes.collect();
        let mut table = json!({"all": describe(&outcomes)});
        if asking.len() > 1 {
            for workload in asking {
                let own: Vec<QueryOutcome> =
                    outcomes.iter().copied().filter(|query| query.workload == workload).collect();
                table[format!("workload{workload}")] = describe(&own);
            }
        }
        table
    }
}

/// Returns JSON statistics of counts, completion times, quality and goodput. Shares and means include only complete queries.
fn describe(queries: &[QueryOutcome]) -> Value {
    let complete: Vec<&QueryOutcome> =
        queries.iter().filter(|query| query.completion_time.is_some()).collect();
    let times = complete.iter().filter_map(|query| Some(query.completion_time?.as_micros_f64()));
    let mut times: Vec<f64> = times.collect();
    times.sort_unstable_by(f64::total_cmp);
    let or_null = |value: f64| if complete.is_empty() { Value::Null } else { json!(value) };
    let p999 = if times.is_empty() { 0.0 } else { statistics::nearest_rank(&times, 999) };
    let hit = complete.iter().filter(|query| query.timeouts > 0).count() as u64;
    let mean = |values: Vec<f64>| statistics::describe(values)["mean"].take();
    let mut described = statistics::describe_sorted(&times);
    described["p999"] = or_null(p999);
    described["started"] = json!(queries.len());
    described["with_timeout"] = or_null(ratio(hit, complete.len() as u64));
    described["timeouts"] = json!(queries.iter().map(|query| u64::from(query.timeouts)).sum::<u64>());
    described["quality"] = mean(complete.iter().map(|query| query.quality()).collect());
    described["goodput_gbps"] = mean(complete.iter().filter_map(|query| query.goodput_gbps()).collect());
    described
}
