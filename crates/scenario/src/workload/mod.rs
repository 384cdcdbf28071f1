//! Who sends what to whom, and when: sources of flows that the simulation pulls.

mod build;
mod chain;
mod classes;
mod distribution;
mod load;
mod pairwise;
mod poisson;
mod queries;
mod query;
mod schedule;
mod trace;

use std::fmt;

pub(crate) use build::{Traffic, build};
pub(crate) use chain::Chain;
pub(crate) use classes::Classed;
pub use classes::Classes;
pub(crate) use load::Segments;
pub(crate) use pairwise::Pairwise;
pub(crate) use poisson::Poisson;
pub(crate) use queries::Queries;
pub use query::{Leg, LegKind, QueryRecord};
pub(crate) use schedule::{Incast, Schedule};

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Instant};

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
    /// Which workload it belongs to, by its place in the scenario among those that send flows.
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
fn times(start: Instant, end: Option<Instant>, gap: f64, most: Option<u64>) -> f64 {
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

/// What a workload has next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This flow, no earlier than any before; it arrives at its time whatever happens until then.
    Flow(Flow),
    /// Nothing until this time, unless one of its flows completes before.
    Until(Instant),
    /// Nothing until one of its flows completes.
    Wait,
    /// Nothing any more.
    Done,
}

/// A source of flows. Owns its random streams.
pub trait Workload: fmt::Debug + Send {
    /// The next flow, at `now` or later. Asked again after each flow has arrived, at the time of a [`Next::Until`], and
    /// whenever one of its flows completes while none is to arrive.
    fn next(&mut self, now: Instant) -> Next;

    /// The receiver has all of the flow that was this part of a query.
    fn on_complete(&mut self, _leg: Leg, _now: Instant) {}

    /// The flow of this place in a list has come so far.
    fn on_milestone(&mut self, _listed: u32, _milestone: Milestone, _now: Instant) {}

    /// What has become of its queries so far, in the order in which they were asked.
    fn queries(&self) -> &[QueryRecord] {
        &[]
    }
}

/// What makes a fresh workload from the seed.
#[derive(Clone, Debug)]
pub(crate) enum Generator {
    /// Random arrivals.
    Poisson(Poisson),
    /// Random arrivals of each pair by itself.
    Pairwise(Pairwise),
    /// Rounds of synchronised flows.
    Incast(Incast),
    /// A list of flows.
    Schedule(Schedule),
    /// A list of flows of which some wait for others.
    Chain(Chain),
    /// Requests and answers.
    Queries(Queries),
}

impl Generator {
    /// The workload, as it is before its first flow.
    pub(crate) fn start(&self) -> Box<dyn Workload> {
        match self {
            Self::Poisson(workload) => Box::new(workload.clone()),
            Self::Pairwise(workload) => Box::new(workload.clone()),
            Self::Incast(workload) => Box::new(workload.clone()),
            Self::Schedule(workload) => Box::new(workload.clone()),
            Self::Chain(workload) => Box::new(workload.clone()),
            Self::Queries(workload) => Box::new(workload.clone()),
        }
    }

    /// How many flows it will have sent in the end, if that is known.
    pub(crate) fn expected_flows(&self) -> Option<u64> {
        match self {
            Self::Poisson(workload) => workload.expected_flows(),
            Self::Pairwise(workload) => workload.expected_flows(),
            Self::Incast(workload) => Some(workload.expected_flows()),
            Self::Schedule(workload) => Some(workload.expected_flows()),
            Self::Chain(workload) => Some(workload.expected_flows()),
            Self::Queries(workload) => workload.expected_flows(),
        }
    }

    /// What it will have sent until `end`, or in the end, whatever happens to it.
    pub(crate) fn arrivals(&self, end: Option<Instant>) -> Arrivals {
        let flows = match self {
            Self::Poisson(workload) => workload.arrivals(end),
            Self::Pairwise(workload) => workload.arrivals(end),
            Self::Incast(workload) => workload.arrivals(end),
            Self::Schedule(workload) => workload.arrivals(end),
            // Those that wait for others may wait for ever.
            Self::Chain(_) => 0.0,
            Self::Queries(workload) => return workload.arrivals(end),
        };
        Arrivals { flows, queries: 0.0 }
    }

    /// Whether it asks queries.
    pub(crate) fn asks(&self) -> bool {
        matches!(self, Self::Queries(_))
    }
}
