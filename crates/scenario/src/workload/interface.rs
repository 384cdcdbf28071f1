//! Interface between the simulation and workloads.

use std::fmt;
use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Instant};

/// Hosts whose applications run together: all hosts, or those of one partition of the network.
#[derive(Clone, Debug, Default)]
pub struct LocalHosts(Option<Arc<[bool]>>);

impl LocalHosts {
    /// Returns the set of all hosts.
    pub fn all() -> Self {
        Self(None)
    }

    /// Creates a set from a flag for each host number.
    pub fn of(are: Vec<bool>) -> Self {
        Self(Some(are.into()))
    }

    /// Returns whether `host` is in the set.
    pub fn has(&self, host: HostId) -> bool {
        self.0.as_ref().is_none_or(|are| are[host.0 as usize])
    }
}

/// Part of a query that one flow carries. Flows of a workload that start at the same time are in the order of their legs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leg {
    /// Name of the query ([`QueryRecord::name`]); in a report, its index in the order of query starts.
    pub query: u32,
    /// Index of the aggregator or worker among the members of the query.
    pub member: u32,
    /// Iteration of the query, from zero.
    pub iteration: u16,
    /// Direction of the flow.
    pub kind: LegKind,
    /// Number of workers' responses that the flow carries: 1 from a worker, several from an aggregator.
    pub answers: u32,
}

/// Direction of a query's flow.
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
    /// Name of the query in its workload: *k* · *n* + *p* for query *k* of client *p* among *n* clients, counted from 0. If clients
    /// are drawn, all clients count as one.
    pub name: u32,
    /// Client of the query.
    pub client: HostId,
    /// Time at which the first requests were due, before their jitter.
    pub start: Instant,
    /// End of the last iteration: its last response or its deadline. `None` if unfinished.
    pub completed_at: Option<Instant>,
    /// Number of workers' responses in a complete result, over all iterations.
    pub responses: u32,
    /// Number of responses in time.
    pub in_time: u32,
    /// Bytes of responses that the client received in time.
    pub bytes: Bytes,
}

/// Data that one host sends to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Time at which the application passes the data to the transport.
    pub at: Instant,
    /// Sending host.
    pub source: HostId,
    /// Receiving host.
    pub destination: HostId,
    /// Application bytes; `None` for a flow that lasts as long as the run.
    pub size: Option<Bytes>,
    /// Index of the flow's workload among those that send flows. Results have the number of the workload in the scenario
    /// (`Experiment::workload_places`).
    pub workload: u16,
    /// Class of service (DSCP).
    pub class: u8,
    /// Port on which the flow's receiver listens; `None` for the default port.
    pub port: Option<u16>,
    /// Part of a query that the flow carries, if any.
    pub leg: Option<Leg>,
    /// Index of the flow in a list with dependencies; `None` for all other flows.
    pub listed: Option<u32>,
}

impl Flow {
    /// Creates an unbounded flow at time zero, of the first workload and in class 0.
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

/// Expected amount of traffic that a workload sends until some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arrivals {
    /// Number of flows, including those of its queries.
    pub flows: f64,
    /// Number of queries.
    pub queries: f64,
}

/// Returns the number of events from `start` on, with `gap` picoseconds between them, at most `most` and not after `end`.
pub(super) fn times(start: Instant, end: Option<Instant>, gap: f64, most: Option<u64>) -> f64 {
    let until = end.map_or(f64::INFINITY, |end| end.0.saturating_sub(start.0) as f64 / gap + 1.0);
    most.map_or(f64::INFINITY, |most| most as f64).min(until)
}

/// Progress of a flow.
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
    /// A flow that is not earlier than any previous flow. It arrives at its time regardless of other events.
    Flow(Flow),
    /// No flow until this time, unless one of the workload's flows completes earlier.
    Until(Instant),
    /// No flow until one of the workload's flows completes.
    Wait,
    /// No further flow. A workload that reacts returns this only if it runs at all hosts.
    Done,
}

/// Source of flows, with its own random streams.
///
/// A workload that reacts to its flows is an application at certain hosts ([`LocalHosts`]). It starts flows from these hosts, and is
/// notified of data that these hosts have received and of flows that they have sent. It does not depend on events at other hosts.
pub trait Workload: fmt::Debug + Send {
    /// Returns the next flow, at `now` or later. Called again after each flow has arrived, at the time of a [`Next::Until`], and at
    /// [`Self::due`] after one of its flows has completed.
    fn next(&mut self, now: Instant) -> Next;

    /// Returns the time of the next action of a workload that reacts, if none of its flows completes earlier; `None` if it only waits for
    /// flows.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// Called when one of the workload's hosts has received the whole flow of this part of a query.
    fn on_complete(&mut self, _leg: Leg, _now: Instant) {}

    /// Called when the flow with this index in a list reaches a milestone at one of the workload's hosts, the receiver or the sender.
    fn on_milestone(&mut self, _listed: u32, _milestone: Milestone, _now: Instant) {}

    /// Returns the records of queries so far whose clients are among the workload's hosts, in the order of starts.
    fn queries(&self) -> &[QueryRecord] {
        &[]
    }
}
