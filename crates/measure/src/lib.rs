//! Measurements: traces, samples and captures of ports, records and traces of flows, and reports of runs.
//!
//! The crate reads ports, buffers and sender statistics and does not depend on the simulator, so the testbed can use it too.
#![forbid(unsafe_code)]

mod capture;
mod echo;
mod flow;
mod flow_choice;
mod flow_tracer;
mod pause_counts;
mod pause_interval;
mod port_counts;
mod port_tracer;
mod queue_pair_counts;
mod report;
mod sampler;
mod tally;

pub use capture::{Captures, Sink, Tap};
pub use echo::Echo;
pub use flow::{FlowRecord, Received, Sent};
pub use flow_choice::FlowChoices;
pub use flow_tracer::{FlowRow, FlowTracer, Readings};
pub use pause_counts::{Deadlock, PauseCounts};
pub use pause_interval::PauseInterval;
pub use port_counts::PortCounts;
pub use port_tracer::{PortRow, PortTracer};
pub use queue_pair_counts::{QueuePairCounts, QueuePairs, Senders};
pub use report::{Cell, Columns, FlowOutcome, Measured, Problem, QueryOutcome, Report};
pub use sampler::{Entity, SampleRow, Sampler};
pub use tally::{Lost, Tally};
