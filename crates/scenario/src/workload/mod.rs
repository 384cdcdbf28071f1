//! Workloads: sources of flows, from which the simulation pulls.

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

/// Builds fresh workloads from the seed.
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
    /// The workload, as it is before its first flow; one that reacts as it runs at these hosts.
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

    /// Expected traffic until `end`, or in total, independently of events in the run.
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

    /// Whether it decides by what becomes of its flows.
    pub(crate) fn reacts(&self) -> bool {
        matches!(self, Self::Chain(_) | Self::Queries(_))
    }

    /// Whether something that happens at one host starts its flows at another, at once and without a packet.
    pub(crate) fn crosses_hosts(&self) -> bool {
        match self {
            Self::Chain(workload) => workload.crosses_hosts(),
            Self::Queries(workload) => workload.crosses_hosts(),
            _ => false,
        }
    }

    /// Whether its answers go on the connections of their requests.
    pub(crate) fn shares(&self) -> bool {
        matches!(self, Self::Queries(workload) if workload.shares())
    }

    /// Whether it asks queries.
    pub(crate) fn asks(&self) -> bool {
        matches!(self, Self::Queries(_))
    }
}
