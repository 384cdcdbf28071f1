//! Rules of the testbed's own congestion controls in the kernel: the cases of `crates/transport/tests/conformance`, as far as
//! a kernel allows them. evidence/conformance.md lists them.
//!
//! They need root; without it each prints that it is not run.
#![cfg(all(target_os = "linux", feature = "ebpf"))]

mod beside;
mod ecn_star;
mod receiver;
mod script;
mod sender;
mod threads;
