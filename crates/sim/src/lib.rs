//! Runs an experiment as a discrete-event simulation and reports the results.
//!
//! The crate has four parts, each of which uses only the parts before it: `network` (nodes and links), `hosts`, `traffic` and `run`. The
//! crate contains no model and no measurement; these are in `shallows_switch`, `shallows_transport` and `shallows_measure`. A driver with
//! hosts of its own, such as the testbed, uses [`Network`] alone.
#![forbid(unsafe_code)]

mod hosts;
mod network;
mod run;
mod traffic;

pub use hosts::pool::Pool;
pub use network::division::{Division, Undivided, partition_window};
pub use network::link::Target;
pub use network::stages::time_between_exchanges;
pub use network::{Change, Driver, LinkAt, Network};
pub use run::footprint::{Need, footprint};
pub use run::simulation::{Progress, Simulation, nowhere};
pub use run::world::pace::Execution;
/// Results of a simulation, destinations of its captures, and readers of its tables.
pub use shallows_measure::{Cell, Columns, Report, Sink};
pub use traffic::datagram::Datagrams;
pub use traffic::probe::{echo_reply, echo_request};
