//! TCP between two hosts: segments to send, acknowledgements, and the congestion window.
//!
//! Each call receives the time and a segment and returns a decision. The crate has no clock, socket or queue. A
//! connection carries data one way, from a [`Sender`] at one host to a [`Receiver`] at the other; all connections of a
//! run borrow one [`Config`]. The driver owns the network and the timers. Not modelled: the FIN of the receiving side,
//! urgent data, Nagle's algorithm, and receiving applications that are slower than the network.
#![forbid(unsafe_code)]

mod bursts;
mod config;
pub mod congestion;
mod pacer;
mod pacing_rate;
mod reassembly;
pub mod receive_window;
mod receiver;
mod recovery;
mod rtt;
mod scoreboard;
mod sender;
mod small_queue;
#[cfg(test)]
mod testing;

pub use bursts::{Backlog, Tso};
pub use config::{
    AckCounts, AppLimited, Config, DelayedAck, EceReaction, EctPolicy, FullAck, LostSyn, RestartAfterIdle,
    SackAfterTimeout, header_bytes,
};
pub use pacer::Pacer;
pub use pacing_rate::PacingRate;
pub use receiver::{Acks, Marks, Receiver};
pub use recovery::{Bound, Method, rack};
pub use rtt::RtoConfig;
pub use sender::{Phase, Sender, Stats, Transmit};
pub use small_queue::SmallQueue;
