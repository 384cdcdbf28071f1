//! Workloads: sources of flows from which the simulation pulls.

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

/// Factory of fresh workloads from the seed.
#[derive(Clone, Debug)]
pub(crate) enum Generator {
    /// Random arrivals.
    Poisson(Poisson),
    /// Random arrivals with a separate process for each pair.
    Pairwise(Pairwise),
    /// Rounds of synchronised flows.
    Incast(Incast),
    /// A list of flows.
    Schedule(Schedule),
    /// A list of flows with dependencies.
    Chain(Chain),
    /// Requests and responses.
    Queries(Queries),
}

impl Generator {
    /// Returns the workload before its first flow. A workload that reacts runs only at these hosts.
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

    /// Returns the total number of flows, if it is known.
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

    /// Returns the expected traffic until `end`, or the total without `end`. Traffic that depends on events during the run is left out.
    pub(crate) fn arrivals(&self, end: Option<Instant>) -> Arrivals {
        let flows = match self {
            Self::Poisson(workload) => workload.arrivals(end),
            Self::Pairwise(workload) => workload.arrivals(end),
            Self::Incast(workload) => workload.arrivals(end),
            Self::Schedule(workload) => workload.arrivals(end),
            // Flows that wait for others may wait for ever.
            Self::Chain(_) => 0.0,
            Self::Queries(workload) => return workload.arrivals(end),
        };
        Arrivals { flows, queries: 0.0 }
    }

    /// Returns whether the workload reacts to the progress of its flows.
    pub(crate) fn reacts(&self) -> bool {
        matches!(self, Self::Chain(_) | Self::Queries(_))
    }

    /// Returns whether an event at one host can start the workload's flows at another host at once, without a packet.
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
