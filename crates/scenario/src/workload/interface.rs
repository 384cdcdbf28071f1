//! Interface through which the simulation uses workloads.

use std::fmt;
use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Instant};

/// Set of hosts whose applications run together: all hosts, or the hosts of one partition of the network.
#[derive(Clone, Debug, Default)]
pub struct LocalHosts(Option<Arc<[bool]>>);

impl LocalHosts {
    /// Returns the set of all hosts.
    pub fn all() -> Self {
        Self(None)
    }

    /// Creates a set from one flag for each host, in the order of host numbers.
    pub fn of(are: Vec<bool>) -> Self {
        Self(Some(are.into()))
    }

    /// Returns whether `host` is in the set.
    pub fn has(&self, host: HostId) -> bool {
        self.0.as_ref().is_none_or(|are| are[host.0 as usize])
    }
}

/// Part of a query that one flow carries, called a leg. If flows of a workload start at the same time, they start in the order of their
/// legs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leg {
    /// Name of the query ([`QueryRecord::name`]). In a report, the index of the query among all queries in order of start.
    pub query: u32,
    /// Index of the aggregator or worker among the members of the query.
    pub member: u32,
    /// Number of the query's iteration, counted from zero.
    pub iteration: u16,
    /// Direction of the flow.
    pub kind: LegKind,
    /// Number of workers whose responses the flow contains: 1 in a worker's response, several in an aggregator's, 0 in a request.
    pub answers: u32,
}

/// Direction of a flow that belongs to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LegKind {
    /// Request to a worker or an aggregator.
    Request,
    /// Response from a worker or an aggregator.
    Answer,
}

/// Record of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryRecord {
    /// Name of the query in its workload, a number: *k* · *n* + *p* for query *k* of client *p* among *n* clients, with *k* and *p* counted
    /// from 0. If queries draw their clients, all clients count as one client.
    pub name: u32,
    /// Client of the query.
    pub client: HostId,
    /// Time at which the query started, before the random delays of its first requests.
    pub start: Instant,
    /// Time at which the last iteration ended, by its last response or by its deadline. `None` if the query is unfinished.
    pub completed_at: Option<Instant>,
    /// Number of workers' responses in a complete result, over all iterations.
    pub responses: u32,
    /// Number of workers' responses that the client received in time, over all iterations.
    pub in_time: u32,
    /// Bytes of the responses that the client received in time.
    pub bytes: Bytes,
}

/// Data that one host sends to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Time at which the sending application passes the data to its transport.
    pub at: Instant,
    /// Sending host.
    pub source: HostId,
    /// Receiving host.
    pub destination: HostId,
    /// Bytes of application data; `None` for a flow that lasts as long as the run.
    pub size: Option<Bytes>,
    /// Index of the flow's workload among the workloads that send flows. Results instead have the workload's number in the scenario
    /// (`Experiment::workload_places`).
    pub workload: u16,
    /// Class of service (DSCP).
    pub class: u8,
    /// Port number on which the flow's receiver listens; `None` for the default, `SERVICE_PORT`.
    pub port: Option<u16>,
    /// Part of a query that the flow carries; `None` for a flow outside queries.
    pub leg: Option<Leg>,
    /// Index of the flow in a list with dependencies; `None` for all other flows.
    pub listed: Option<u32>,
}

impl Flow {
    /// Creates an unbounded flow that starts at time zero, belongs to workload 0 and has class 0.
    pub(crate) fn between(source: HostId, destination: HostId) -> Self {
        Self {
            at: Instant::ZERO,
            source,
            destination,
            size: None,
            workload: 0,
            class: 0,
            port: None,
            leg: None,
            listed: None,
        }
    }
}

/// Amount of traffic that a workload is expected to send until the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arrivals {
    /// Expected number of flows. For queries, only the responses of workers are counted.
    pub flows: f64,
    /// Expected number of queries.
    pub queries: f64,
}

/// Returns the number of events from `start` to `end`, at most `most`. The first event occurs at `start`, and `gap` picoseconds lie between
/// two events. The result is not rounded.
pub(super) fn times(start: Instant, end: Option<Instant>, gap: f64, most: Option<u64>) -> f64 {
    let until = end.map_or(f64::INFINITY, |end| end.0.saturating_sub(start.0) as f64 / gap + 1.0);
    most.map_or(f64::INFINITY, |most| most as f64).min(until)
}

/// Event in the progress of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// Receipt of all data at the receiver.
    Received,
    /// Acknowledgement of every byte at the sender.
    Acked,
}

/// Next action of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The next flow. It starts no earlier than the flows returned before. No event before its start time can change the flow.
    Flow(Flow),
    /// No flow until this time, unless one of the workload's flows completes earlier.
    Until(Instant),
    /// No flow until one of the workload's flows completes.
    Wait,
    /// No further flow. Exception: a workload of queries that runs at only some hosts can start more flows, because requests can still
    /// arrive from other hosts.
    Done,
}

/// Source of flows, with its own random streams.
///
/// A workload that reacts to its flows models applications at certain hosts ([`LocalHosts`]). It starts flows only from these hosts. It is
/// notified when these hosts have received data and when flows that they have sent make progress. It does not depend on events at other
/// hosts.
pub trait Workload: fmt::Debug + Send {
    /// Returns the next flow, which starts at `now` or later, or the time at which to call again. The simulation calls this method again
    /// when a flow has started, at the time of a [`Next::Until`], and at [`Self::due`] after one of the workload's flows has completed.
    fn next(&mut self, now: Instant) -> Next;

    /// Returns the time at which a workload that reacts to its flows acts next, unless one of its flows completes earlier. Returns `None`
    /// if the workload only waits for its flows.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// Called when a host of the workload has received the whole flow that carries this part of a query.
    fn on_complete(&mut self, _leg: Leg, _now: Instant) {}

    /// Called when the flow with this index in a list reaches a milestone. The milestone occurs at a host of the workload: `Received` at
    /// the flow's receiver, `Acked` at its sender.
    fn on_milestone(&mut self, _listed: u32, _milestone: Milestone, _now: Instant) {}

    /// Returns the records of queries, in the order of their starts. A query has a record if it has started and its client is a host of the
    /// workload.
    fn queries(&self) -> &[QueryRecord] {
        &[]
    }
}
