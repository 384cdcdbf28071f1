//! Runs an experiment as a discrete-event simulation and reports what happened.
//!
//! [`Simulation`] is the driver: it owns the event queue and the [`world`] of links, hosts and connections, and
//! turns decisions of the models into events. No model lives here.

mod connection;
mod datagram;
mod event;
mod flow;
mod link;
mod packet;
mod report;
mod sampler;
mod simulation;
mod traffic;
mod world;

pub use report::{FlowOutcome, Report};
pub use simulation::{Progress, Simulation};
