//! Headers of real packets: Ethernet, IPv4, TCP with its options, UDP and ICMP echo.
//!
//! Each module has a `Repr` of its header, after smoltcp's: a plain struct that `parse` reads from bytes and `emit` writes
//! to bytes. `parse` returns `None` for bytes that are no such header and never panics. Nothing here allocates.
//!
//! `parse` verifies no checksum: a switch forwards what a host has to verify. `emit` writes correct ones.
#![forbid(unsafe_code)]

pub mod address;
pub mod checksum;
pub mod ethernet;
pub mod icmp;
pub mod ipv4;
pub mod tcp;
pub mod tcp_options;
pub mod udp;
