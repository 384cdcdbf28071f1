//! The network as plain data, and how it comes from the few words of a scenario.

pub(crate) mod build;
mod graph;
mod network;
mod paths;
mod plan;
pub(crate) mod routing;

pub use network::{Cable, FIRST_PORT, Link, Network, Node, NodeId, PortKind, Routes, SERVICE_PORT};
