//! What happens to a packet inside a switch: buffer admission, marking, queueing, the choice of next hop.
//!
//! Every model is handed the time and a packet's header and returns a decision; nothing here knows whether it
//! runs in a simulator or carries real frames. A port queues `(Header, T)`, where `T` is whatever the driver
//! needs to find the rest of the packet.
#![forbid(unsafe_code)]

pub mod aqm;
pub mod buffer;
pub mod discipline;
mod node;
pub mod port;
pub mod queue;
pub mod ring;
pub mod routing;
pub mod scheduler;
pub mod shaper;

pub use node::{Effects, Node, Paths};
pub use port::{EgressDrop, Ingress, Port};
