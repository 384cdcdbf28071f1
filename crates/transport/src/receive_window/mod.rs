//! The window that a receiver advertises: how much it offers, and that it takes nothing back.

pub mod ictcp;

use shallows_core::Bytes;

/// What controls the windows of a host's receivers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Control {
    /// Nothing: each advertises what it began with.
    #[default]
    Fixed,
    /// What its link carries ([`ictcp::Ictcp`], which the driver keeps for each host).
    Ictcp(ictcp::Config),
}

/// The advertised window of one connection. Its size may be changed at any time, by whoever controls it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveWindow {
    size: u64,
    /// The sender was allowed bytes up to here.
    edge: u64,
}

impl ReceiveWindow {
    /// A window of `size` bytes, which the sender knows of.
    pub(crate) fn new(size: Bytes) -> Self {
        Self { size: size.0, edge: size.0 }
    }

    /// From now on offer `size` bytes.
    pub(crate) fn resize(&mut self, size: Bytes) {
        self.size = size.0;
    }

    /// The window to advertise now that everything below `next` has arrived. A smaller one shows only as data arrives:
    /// RFC 9293 §3.8.6 asks not to move the right edge to the left.
    #[inline]
    pub(crate) fn advertise(&mut self, next: u64) -> u32 {
        self.edge = self.edge.max(next + self.size);
        (self.edge - next) as u32
    }

    /// Whether bytes up to `end` were allowed.
    pub(crate) fn allows(&self, end: u64) -> bool {
        end <= self.edge
    }
}
