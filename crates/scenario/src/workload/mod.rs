//! Who sends what to whom, and when: sources of flows that the simulation pulls.

mod build;
mod distribution;
mod load;
mod poisson;
mod schedule;
mod trace;

use std::fmt;

pub(crate) use build::build;
pub(crate) use load::Segments;
pub(crate) use poisson::Poisson;
pub(crate) use schedule::{Incast, Schedule};

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Instant};

/// A flow, by its number in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

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
    /// Service class; 0 while ports have one queue.
    pub class: u8,
}

/// What a workload has next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This flow, no earlier than any before.
    Flow(Flow),
    /// Nothing until one of its flows completes.
    Wait,
    /// Nothing any more.
    Done,
}

/// A source of flows. Owns its random streams.
pub trait Workload: fmt::Debug + Send {
    /// The next flow, at `now` or later. Asked again after each flow has arrived, and after a [`Next::Wait`] when one
    /// of its flows completes.
    fn next(&mut self, now: Instant) -> Next;

    /// The receiver has all of `flow`.
    fn on_complete(&mut self, _flow: FlowId, _now: Instant) {}
}

/// What makes a fresh workload from the seed.
#[derive(Clone, Debug)]
pub(crate) enum Generator {
    /// Random arrivals.
    Poisson(Poisson),
    /// Rounds of synchronised flows.
    Incast(Incast),
    /// A list of flows.
    Schedule(Schedule),
}

impl Generator {
    /// The workload, as it is before its first flow.
    pub(crate) fn start(&self) -> Box<dyn Workload> {
        match self {
            Self::Poisson(workload) => Box::new(workload.clone()),
            Self::Incast(workload) => Box::new(workload.clone()),
            Self::Schedule(workload) => Box::new(workload.clone()),
        }
    }

    /// How many flows it will have sent in the end, if that is known.
    pub(crate) fn expected_flows(&self) -> Option<u64> {
        match self {
            Self::Poisson(workload) => workload.expected_flows(),
            Self::Incast(workload) => Some(workload.expected_flows()),
            Self::Schedule(workload) => Some(workload.expected_flows()),
        }
    }
}
