//! Workloads: sources from which the simulation takes flows one after the other.

mod asking;
pub(crate) mod build;
mod chain;
mod classes;
mod distribution;
mod flow_list;
mod interface;
mod load;
mod pairwise;
mod poisson;
mod queries;
mod query;
mod schedule;

pub(crate) use chain::Chain;
pub(crate) use classes::Classed;
pub use classes::Classes;
pub use interface::{Arrivals, Flow, Leg, LegKind, LocalHosts, Milestone, Next, QueryRecord, Workload};
pub(crate) use pairwise::Pairwise;
pub(crate) use poisson::Poisson;
pub(crate) use queries::Queries;
pub(crate) use schedule::{Incast, Schedule};

use shallows_core::Instant;

/// Checked workload that has sent no flow yet. Any number of identical workloads can be started from it.
#[derive(Clone, Debug)]
pub(crate) enum Generator {
    /// Flows at random times, from one process for all pairs.
    Poisson(Poisson),
    /// Flows at random times, from a separate process for each pair.
    Pairwise(Pairwise),
    /// Rounds of flows that start together.
    Incast(Incast),
    /// Flows with known start times.
    Schedule(Schedule),
    /// Flows of a list, some of which wait for others.
    Chain(Chain),
    /// Queries: requests and responses.
    Queries(Queries),
}

impl Generator {
    /// Creates the workload, which has not started any flow. A workload that reacts to its flows runs only at `hosts`.
    pub(crate) fn start(&self, hosts: &LocalHosts) -> Box<dyn Workload> {
        match self {
            Self::Poisson(workload) => Box::new(workload.clone()),
            Self::Pairwise(workload) => Box::new(workload.clone()),
            Self::Incast(workload) => Box::new(workload.clone()),
            Self::Schedule(workload) => Box::new(workload.clone()),
            Self::Chain(workload) => Box::new(workload.start(hosts)),
            Self::Queries(workload) => Box::new(workload.start(hosts)),
        }
    }

    /// Returns the total number of flows, or `None` if it is unknown.
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

    /// Returns the expected traffic until `end`, or the total if `end` is `None`. Traffic that depends on events during the run is not
    /// counted.
    pub(crate) fn arrivals(&self, end: Option<Instant>) -> Arrivals {
        let flows = match self {
            Self::Poisson(workload) => workload.arrivals(end),
            Self::Pairwise(workload) => workload.arrivals(end),
            Self::Incast(workload) => workload.arrivals(end),
            Self::Schedule(workload) => workload.arrivals(end),
            // Flows that wait for others may never start.
            Self::Chain(_) => 0.0,
            Self::Queries(workload) => return workload.arrivals(end),
        };
        Arrivals { flows, queries: 0.0 }
    }

    /// Returns whether the workload reacts to the progress of its flows.
    pub(crate) fn reacts(&self) -> bool {
        matches!(self, Self::Chain(_) | Self::Queries(_))
    }

    /// Returns whether an event at one host can start flows of the workload at another host at once, without a packet between them.
    pub(crate) fn crosses_hosts(&self) -> bool {
        match self {
            Self::Chain(workload) => workload.crosses_hosts(),
            Self::Queries(workload) => workload.crosses_hosts(),
            _ => false,
        }
    }

    /// Returns whether the workload's responses use the connections of their requests.
    pub(crate) fn shares(&self) -> bool {
        matches!(self, Self::Queries(workload) if workload.shares())
    }

    /// Returns whether the workload sends queries.
    pub(crate) fn asks(&self) -> bool {
        matches!(self, Self::Queries(_))
    }
}
