//! Stands in for the module `ebpf` if the testbed is built without BPF. Such a testbed has no congestion controls of its own.

use std::io;
use std::os::fd::BorrowedFd;

/// Names of the testbed's own congestion controls: none.
pub const OWN: [&str; 0] = [];

/// Registered congestion control; never constructed.
#[derive(Debug)]
pub struct Registered {
    /// Name of the congestion control in the kernel.
    pub name: String,
}

/// Fails: nothing can be registered with the kernel.
///
/// # Errors
///
/// Always.
pub fn register(_own: &str, _told: &[u32]) -> io::Result<Registered> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Registered {
    /// Fails; never called.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn attach(&mut self, _interface: u32) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns `None`; never called.
    pub fn alpha(&self, _socket: BorrowedFd<'_>) -> Option<u32> {
        None
    }
}
