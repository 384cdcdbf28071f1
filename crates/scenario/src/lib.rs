//! Scenarios: a text becomes a checked [`Experiment`], which is plain data.
//!
//! Nothing here opens a file: whoever asks hands over what reads those that a scenario names, a [`Reader`].
//!
//! The stage is in the type: text → `Spec`, what the file says → `Resolved`, the same with every default → [`Experiment`],
//! what can run. Every check happens once, on the way; whoever holds an `Experiment` need check nothing.
#![forbid(unsafe_code)]

mod agreement;
mod bcc;
mod captures;
mod check;
mod document;
mod error;
mod experiment;
mod flow_traces;
mod groups;
mod hosts;
mod marking;
mod membership;
mod memory;
mod offloads;
mod own_tcp;
mod parse;
mod pattern;
mod ports;
mod quantity;
mod renamed;
mod resolve;
mod resolved;
mod spec;
mod tagged;
mod tcp;
mod timing;
mod topology;
mod warnings;
mod workload;

pub use agreement::Agreement;
pub use check::{InputFile, Reader};
pub use error::{Problem, ScenarioError};
pub use experiment::{
    Capture, Connections, DatagramPattern, DatagramSource, Experiment, FlowChoice, FlowTrace, HostConfigs,
    Pairs, PortTrace, Probe, Setup, Stop, WarmUp,
};
pub use groups::HostGroup;
pub use marking::{BusyLimit, MarkingCurve};
pub use membership::Groups;
pub use offloads::{Coalescing, Offloads, Wait};
pub use parse::{parse, schema};
pub use spec::preset::linux_delayed_ack;
pub use spec::workload::WhenBusy;
pub use spec::{FctEnd, MAX_SEED};
pub use topology::describe::describe;
pub use topology::{Epoch, FIRST_PORT, Link, LinkState, Network, NodeId, PortKind, Routing, SERVICE_PORT};
pub use workload::{
    Arrivals, Classes, Flow, Leg, LegKind, LocalHosts, Milestone, Next, QueryRecord, Workload,
};
