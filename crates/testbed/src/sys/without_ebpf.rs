//! A testbed that was built without BPF has no congestion controls of its own.

use std::io;
use std::os::fd::BorrowedFd;

/// None.
pub const OWN: [&str; 0] = [];

/// Never made.
#[derive(Debug)]
pub struct Registered {
    /// Name in the kernel.
    pub name: String,
}

/// Nothing can be given to the kernel.
///
/// # Errors
///
/// Always.
pub fn register(_own: &str, _told: &[u32]) -> io::Result<Registered> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Registered {
    /// Never called.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn attach(&mut self, _interface: u32) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Never called.
    pub fn alpha(&self, _socket: BorrowedFd<'_>) -> Option<u32> {
        None
    }
}
