//! RoCEv2 between two hosts: queue pairs of reliable connections (RC), their loss recovery and congestion control.
//!
//! Each call receives the time and a packet and returns a decision. The crate has no clock, socket or queue. A queue pair carries messages
//! one way: WRITEs and SENDs from a [`Requester`] at one host to a [`Responder`] at the other, and READs from a [`ReadResponder`] to a
//! [`ReadRequester`]. The driver owns the network and the timers.
#![forbid(unsafe_code)]

mod adaptive;
mod config;
pub mod congestion;
mod messages;
mod notification;
mod pacer;
mod ranges;
mod reaction_point;
mod read_requester;
mod read_responder;
mod recovery;
mod requester;
mod responder;

pub use config::{
    AETH, Adaptive, CNP_PAYLOAD, Config, Decrease, HEADERS, INT, Irn, MOST_HOPS, Notification, Operation,
    RETH, Read, ReceiveQueue, Recovery, Send, extended_headers,
};
pub use read_requester::ReadRequester;
pub use read_responder::ReadResponder;
pub use requester::{Ended, Requester, Stats};
pub use responder::{Replies, Responder};
