//! Shared basics of Shallows: time and units, the event queue, random streams, packets.
//!
//! This crate reads no clock, file or global state; its callers supply the wall-clock time.
#![deny(unsafe_code)]

mod address;
pub mod event;
pub mod mrg32k3a;
mod numbered;
pub mod packet;
pub mod parallel;
mod prefetch;
mod quantity;
pub mod random;
pub mod rdma;
pub mod time;
pub mod units;

pub use address::Address;
pub use numbered::Numbered;
pub use prefetch::{prefetch, prefetch_all, prefetch_lines};
pub use time::{Duration, Instant};
pub use units::{Bytes, Rate};
