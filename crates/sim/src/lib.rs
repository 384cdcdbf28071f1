//! Runs an experiment as a discrete-event simulation and reports what happened.
//!
//! [`Simulation`] is the driver: it owns the event queue and the [`world`] of links, hosts and connections, and
//! turns decisions of the models into events. No model lives here.

mod announced;
mod build;
mod capture;
mod connection;
mod crossing;
mod datagram;
mod division;
mod event;
mod flow;
mod flow_tracer;
mod footprint;
mod gap;
mod generators;
mod host;
mod hosts;
mod link;
mod numbered;
mod observers;
mod packet;
mod part;
mod places;
mod probe;
mod report;
mod sampler;
mod simulation;
mod tracer;
mod traffic;
mod warm_up;
mod windows;
mod world;

pub use capture::Sink;
pub use division::{Division, Undivided, cell};
pub use footprint::{Need, footprint};
pub use report::{FlowOutcome, Problem, QueryOutcome, Report};
pub use simulation::{Progress, Simulation};
