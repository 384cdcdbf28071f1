//! Headers of real packets: Ethernet, PFC, IPv4, TCP with its options, UDP, RoCEv2 and ICMP echo.
//!
//! Each module has a struct `Repr` for its header, as in smoltcp. `parse` reads a `Repr` from bytes, and `emit` writes it to bytes. `parse`
//! returns `None` for bytes that are not such a header, and never panics. No function allocates memory.
//!
//! `parse` does not verify checksums, because switches forward packets without this check, and hosts verify checksums elsewhere. `emit`
//! writes correct checksums.
#![forbid(unsafe_code)]

pub mod address;
pub mod bth;
pub mod checksum;
pub mod ethernet;
pub mod icmp;
pub mod ipv4;
pub mod pfc;
pub mod tcp;
pub mod tcp_options;
pub mod udp;
