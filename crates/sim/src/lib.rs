//! Runs an experiment as a discrete-event simulation and reports what happened.
//!
//! [`Simulation`] is the driver: it owns the event queue and the [`world`] of links, hosts and connections, and
//! turns decisions of the models into events. No model lives here. Another driver of the same experiment takes its ports
//! from [`ports`] and tells what it has measured in a [`Report`] of the same kind ([`Report::measured`]).
#![forbid(unsafe_code)]

mod announced;
mod build;
mod capture;
mod connection;
mod critical_path;
mod crossing;
mod datagram;
mod departing;
mod division;
mod duplex;
mod end;
mod event;
mod flow;
mod flow_choice;
mod flow_tracer;
mod footprint;
mod gap;
mod gate;
mod generators;
mod host;
mod hosts;
mod inbox;
mod link;
mod moderation;
mod network;
mod numbered;
mod observers;
mod packet;
mod part;
mod places;
mod pool;
mod port_tracer;
mod ports;
mod probe;
mod report;
mod sampler;
mod simulation;
mod site;
mod slots;
mod sync;
mod tally;
mod traffic;
mod warm_up;
mod windows;
mod world;

pub use capture::{Captures, Sink};
pub use connection::Address;
pub use datagram::Datagrams;
pub use division::{Division, Undivided, cell};
pub use flow::{FlowRecord, Received, Sent};
pub use flow_choice::FlowChoices;
pub use flow_tracer::{FlowTracer, Readings};
pub use footprint::{Need, footprint};
pub use link::Target;
pub use network::{Change, Driver, LinkAt, Network};
pub use pool::Pool;
pub use port_tracer::{PortRow, PortTracer};
pub use probe::Echo;
pub use report::{FlowOutcome, Measured, Problem, QueryOutcome, Report};
pub use sampler::{Entity, Row, Sampler};
pub use simulation::{Progress, Simulation, nowhere};
pub use tally::Tally;
