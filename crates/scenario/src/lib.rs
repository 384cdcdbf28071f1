//! Scenarios: the text of a scenario file becomes a checked [`Experiment`], which is plain data.
//!
//! This crate opens no file. The caller passes a [`Reader`] that reads the files that a scenario names.
//!
//! Each stage has its own type: text → `Spec` (the content of the file) → `Resolved` (every default filled in) → [`Experiment`] (ready
//! to run). Each check happens once along the way, so code with an `Experiment` needs no further check.
#![forbid(unsafe_code)]

mod agreement;
mod bcc;
mod captures;
mod check;
mod class_maps;
mod document;
mod error;
mod experiment;
mod flow_traces;
mod groups;
mod headroom;
mod hosts;
mod lossless;
mod lossless_preset;
mod marking;
mod membership;
mod memory;
mod nic_pauses;
mod offloads;
mod own_roce;
mod own_tcp;
mod parse;
mod pattern;
mod pausing;
mod ports;
mod quantity;
mod queue_depth;
mod read_operation;
mod renamed;
mod resolve;
mod resolved;
mod roce;
mod roce_congestion;
mod roce_ends;
mod roce_groups;
mod roce_presets;
mod spec;
mod tagged;
mod tcp;
mod timing;
mod topology;
mod warnings;
mod workload;

pub use agreement::{Agreement, Segments};
pub use check::{InputFile, Reader};
pub use error::{Problem, ScenarioError};
pub use experiment::{
    Capture, Connections, DatagramPattern, DatagramSource, Experiment, FlowChoice, FlowTrace, HostConfigs,
    Pairs, PortTrace, Probe, Setup, Stop, WarmUp,
};
pub use groups::{HostGroup, SendLimits};
pub use headroom::PortHeadroom;
pub use marking::{BusyLimit, MarkingCurve};
pub use membership::Groups;
pub use offloads::{Coalescing, Offloads, Wait};
pub use parse::{parse, schema};
pub use pausing::{PauseLevel, PauseThreshold};
pub use roce::QueuePairs;
pub use spec::preset::linux_delayed_ack;
pub use spec::workload::WhenBusy;
pub use spec::{FctEnd, MAX_SEED};
pub use topology::describe::describe;
pub use topology::{
    Epoch, FIRST_PORT, Headroom, Link, LinkState, Lossless, LosslessPort, Network, NodeId, PortKind, Routing,
    SERVICE_PORT, Storm,
};
pub use workload::{
    Arrivals, Classes, Flow, Leg, LegKind, LocalHosts, Milestone, Next, QueryRecord, Workload,
};
