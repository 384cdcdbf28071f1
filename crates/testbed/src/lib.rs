//! Runs an experiment with real Linux TCP: hosts are network namespaces of one machine, and between them are the very ports,
//! buffers, markers and schedulers that a simulation has, made from the same checked scenario.
//!
//! [`fabric`] is the network, which knows nothing of Linux: it is handed frames and times. What reacts to nothing, [`background`] makes in it. [`mapping`] says what of a scenario
//! Linux can be told, [`hosts`] sets them up, [`load`] plays the flows that [`traffic`] has from the scenario's workloads, and
//! [`carry`] moves frames. In [`dilation`] the network's time passes slower than the machine's. [`health`] says whether the machine kept up, without which no number means anything.
#![cfg(target_os = "linux")]

pub mod background;
pub mod carry;
pub mod dilation;
pub mod fabric;
pub mod frame;
pub mod frames;
pub mod health;
pub mod hosts;
pub mod load;
pub mod mapping;
pub mod run;
pub mod shell;
mod source_ports;
#[expect(unsafe_code, reason = "it calls the kernel, and all that does is there")]
pub mod sys;
pub mod traffic;
