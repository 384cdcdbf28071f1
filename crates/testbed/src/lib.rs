//! Runs an experiment with real Linux TCP: hosts are network namespaces of one machine, connected by the same ports, buffers,
//! markers and schedulers as in a simulation, built from the same checked scenario.
//!
//! [`fabric`] is the network; it takes frames and times and contains no Linux code. [`background`] generates its datagrams and echoes.
//! [`mapping`] maps a scenario to Linux, [`hosts`] sets hosts up, [`load`] sends the flows that [`traffic`] draws from the workloads, and
//! [`carry`] moves frames. [`dilation`] slows network time relative to the machine's. [`health`] determines whether the machine kept up;
//! otherwise the results are invalid.
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
