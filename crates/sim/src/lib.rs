//! Runs an experiment as a discrete-event simulation and reports what happened.
//!
//! Four rooms, of which each knows those before it: the [`network`] of nodes and links, the [`hosts`], the [`traffic`] that they are
//! given, and the [`run`] of all that. No model lives here, and nothing that measures: that is in `shallows_measure`. Who drives an
//! experiment with hosts of its own takes its [`Network`].
#![forbid(unsafe_code)]

mod hosts;
mod network;
mod run;
mod traffic;

pub use hosts::pool::Pool;
pub use network::division::{Division, Undivided, partition_window};
pub use network::link::Target;
pub use network::{Change, Driver, LinkAt, Network};
pub use run::footprint::{Need, footprint};
pub use run::simulation::{Progress, Simulation, nowhere};
pub use run::world::pace::Execution;
/// Results of a simulation, destinations of its captures, and readers of its tables.
pub use shallows_measure::{Cell, Columns, Report, Sink};
pub use traffic::datagram::Datagrams;
pub use traffic::probe::{echo_reply, echo_request};
