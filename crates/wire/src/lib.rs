//! Headers of real packets: Ethernet, PFC, IPv4, TCP with its options, UDP and ICMP echo.
//!
//! Each module has a `Repr` of its header, named as in smoltcp: a plain struct that `parse` reads from bytes and `emit` writes to bytes.
//! `parse` returns `None` for bytes that are not such a header, and never panics. No function allocates.
//!
//! `parse` verifies no checksum, because switches forward packets unverified and hosts verify them. `emit` writes correct checksums.
#![forbid(unsafe_code)]

pub mod address;
pub mod checksum;
pub mod ethernet;
pub mod icmp;
pub mod ipv4;
pub mod pfc;
pub mod tcp;
pub mod tcp_options;
pub mod udp;
