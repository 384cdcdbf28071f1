//! Decisions that a switch makes about a packet: buffer admission, marking, queueing, and the choice of the next hop.
//!
//! Each model receives the time and a packet's header and returns a decision. The same code runs in the simulator and
//! on real frames. A port queues `(Header, T)`, where `T` is the driver's reference to the rest of the packet.
#![forbid(unsafe_code)]

pub mod aqm;
pub mod buffer;
mod counters;
pub mod discipline;
pub mod headroom;
pub mod ingress;
mod node;
pub mod pfc;
pub mod port;
pub mod queue;
pub mod ring;
pub mod routing;
pub mod scheduler;
pub mod shaper;

pub use node::{Effects, Node};
pub use port::{EgressDrop, Ingress, Port};
