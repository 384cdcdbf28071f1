//! The network as plain data, and its construction from a scenario.

pub(crate) mod build;
pub(crate) mod describe;
mod epoch;
mod epochs;
mod graph;
mod loops;
mod lossless;
mod network;
mod paths;
mod plan;
mod routes;
pub(crate) mod routing;

pub use epoch::{Epoch, LinkState};
pub use lossless::{Headroom, Lossless, LosslessPort, Storm};
pub use network::{FIRST_PORT, Link, Network, NodeId, PortKind, SERVICE_PORT};
pub use routes::Routing;
