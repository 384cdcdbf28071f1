//! The congestion controls that we bring to kernels, rule by rule: the cases of `crates/transport/tests/conformance`, as far as
//! they can be posed to a kernel. evidence/conformance.md lists them.
//!
//! They need root; without it each says that it is not run.
#![cfg(all(target_os = "linux", feature = "ebpf"))]

mod beside;
mod ecn_star;
mod receiver;
mod script;
mod sender;
mod threads;
