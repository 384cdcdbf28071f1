//! The window that a receiver advertises; it never revokes an offer.

pub mod ictcp;

use shallows_core::Bytes;

/// Control of the receive windows of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Control {
    /// No control: each receiver advertises its initial window.
    #[default]
    Fixed,
    /// The rate of the host's link ([`ictcp::Ictcp`], which the driver keeps for each host).
    Ictcp(ictcp::Config),
}

/// The advertised window of one connection. Its control may change its size at any time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveWindow {
    size: u64,
    /// Right edge: end of the bytes that the sender may send.
    edge: u64,
}

impl ReceiveWindow {
    /// Creates a window of `size` bytes that the sender knows.
    pub(crate) fn new(size: Bytes) -> Self {
        Self { size: size.0, edge: size.0 }
    }

    /// Offers `size` bytes from now on.
    pub(crate) fn resize(&mut self, size: Bytes) {
        self.size = size.0;
    }

    /// Window to advertise now that everything below `next` has arrived. A smaller window takes effect only as data
    /// arrives: RFC 9293 §3.8.6 asks not to move the right edge to the left.
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
