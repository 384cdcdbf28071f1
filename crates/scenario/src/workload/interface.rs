//! Interface between the simulation and a workload.

use std::fmt;
use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Instant};

/// The hosts whose applications run together: all, or those of one part of the network.
#[derive(Clone, Debug, Default)]
pub struct LocalHosts(Option<Arc<[bool]>>);

impl LocalHosts {
    /// All hosts.
    pub fn all() -> Self {
        Self(None)
    }

    /// Hosts by number: whether each is one of them.
    pub fn of(are: Vec<bool>) -> Self {
        Self(Some(are.into()))
    }

    /// Whether `host` is one of them.
    pub fn has(&self, host: HostId) -> bool {
        self.0.as_ref().is_none_or(|are| are[host.0 as usize])
    }
}

/// A part of a query that one flow carries. Legs are ordered as flows of a workload that start at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leg {
    /// Name of the query ([`QueryRecord::name`]); in a report, its place in the order in which queries were asked.
    pub query: u32,
    /// Which of those whom it asks, directly or not.
    pub member: u32,
    /// Which time.
    pub iteration: u16,
    /// Which way.
    pub kind: LegKind,
    /// Answers of workers that it carries: 1 from a worker, several from an aggregator.
    pub answers: u32,
}

/// Which way a flow of a query goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LegKind {
    /// To a worker or an aggregator.
    Request,
    /// From one.
    Answer,
}

/// Outcome of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryRecord {
    /// Name of the query in its workload: *k* · *n* + *p* of query *k* of client *p* among *n*, from 0 on. Clients that are drawn
    /// count as one.
    pub name: u32,
    /// Client of the query.
    pub client: HostId,
    /// When the first requests were due, before their jitter.
    pub start: Instant,
    /// When the last iteration ended: with the last answer, or at its deadline.
    pub completed_at: Option<Instant>,
    /// Answers of workers that would make the result whole, of all iterations.
    pub responses: u32,
    /// Number of answers in time.
    pub in_time: u32,
    /// Bytes of answers that the client received in time.
    pub bytes: Bytes,
}

/// Data that one host has for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// When the application hands it to the transport.
    pub at: Instant,
    /// Sending host.
    pub source: HostId,
    /// Receiving host.
    pub destination: HostId,
    /// Application bytes; none for a flow that lasts as long as the run.
    pub size: Option<Bytes>,
    /// Index of its workload among those that send flows. Results number workloads as the scenario does
    /// (`Experiment::workload_places`).
    pub workload: u16,
    /// Class of service (DSCP).
    pub class: u8,
    /// Port on which its receiver listens; none for the one of all flows that do not say.
    pub port: Option<u16>,
    /// Which part of a query it is, if it is one.
    pub leg: Option<Leg>,
    /// Its place in a list of flows that wait for one another, if it is in one.
    pub listed: Option<u32>,
}

impl Flow {
    /// A flow without end at the beginning of time, of the first workload and in class 0.
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

/// How much a workload sends until some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arrivals {
    /// Flows, also those of its queries.
    pub flows: f64,
    /// Queries.
    pub queries: f64,
}

/// How often something happens from `start` on that happens every `gap` picoseconds, `most` times at most, until `end`.
pub(super) fn times(start: Instant, end: Option<Instant>, gap: f64, most: Option<u64>) -> f64 {
    let until = end.map_or(f64::INFINITY, |end| end.0.saturating_sub(start.0) as f64 / gap + 1.0);
    most.map_or(f64::INFINITY, |most| most as f64).min(until)
}

/// How far a flow has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// The receiver has all of it.
    Received,
    /// The sender has every acknowledgement.
    Acked,
}

/// Next step of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This flow, no earlier than any before; it arrives at its time whatever happens until then.
    Flow(Flow),
    /// Nothing until this time, unless one of its flows completes before.
    Until(Instant),
    /// Nothing until one of its flows completes.
    Wait,
    /// Nothing any more; one that reacts knows that only if it runs at all hosts.
    Done,
}

/// A source of flows. Owns its random streams.
///
/// One that reacts to what becomes of its flows is an application beside the hosts that it runs at ([`LocalHosts`]): it starts
/// flows from them, and hears of what they receive and of what they have sent. What it does depends on nothing at other hosts.
pub trait Workload: fmt::Debug + Send {
    /// The next flow, at `now` or later. Asked again after each flow has arrived, at the time of a [`Next::Until`], and
    /// at [`Self::due`] after one of its flows has completed.
    fn next(&mut self, now: Instant) -> Next;

    /// When one that reacts has something to do next, unless it hears of something before; none if it only waits.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// One of its hosts has received all of the flow that was this part of a query.
    fn on_complete(&mut self, _leg: Leg, _now: Instant) {}

    /// The flow of this place in a list has come so far, at one of its hosts: at the receiver, or back at the sender.
    fn on_milestone(&mut self, _listed: u32, _milestone: Milestone, _now: Instant) {}

    /// Outcomes of the queries of its hosts so far, in the order in which they began.
    fn queries(&self) -> &[QueryRecord] {
        &[]
    }
}
