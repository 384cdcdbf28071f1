//! Runs an experiment as a discrete-event simulation and reports what happened.
//!
//! Five rooms, of which each knows those before it: the [`network`] of nodes and links, the [`hosts`], the [`traffic`] that they are
//! given, the [`report`] of what has happened, and the [`run`] of all that. No model lives here. Who drives an experiment with hosts of
//! its own takes its [`Network`], and tells what it has measured in a [`Report`] of the same kind ([`Report::measured`]).
#![forbid(unsafe_code)]

mod hosts;
mod network;
mod report;
mod run;
mod traffic;

pub use hosts::connection::Address;
pub use hosts::flow::{FlowRecord, Received, Sent};
pub use hosts::pool::Pool;
pub use network::capture::{Captures, Sink};
pub use network::division::{Division, Undivided, cell};
pub use network::link::Target;
pub use network::port_tracer::{PortRow, PortTracer};
pub use network::sampler::{Entity, Row, Sampler};
pub use network::tally::{Lost, Tally};
pub use network::{Change, Driver, LinkAt, Network};
pub use report::flow_tracer::{FlowTracer, Readings};
pub use report::{FlowOutcome, Measured, Problem, QueryOutcome, Report};
pub use run::footprint::{Need, footprint};
pub use run::simulation::{Progress, Simulation, nowhere};
pub use traffic::datagram::Datagrams;
pub use traffic::flow_choice::FlowChoices;
pub use traffic::probe::Echo;
