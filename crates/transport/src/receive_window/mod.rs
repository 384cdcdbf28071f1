//! The window that a receiver advertises. The receiver never takes back a window that it has offered.

pub mod ictcp;

use shallows_core::Bytes;

/// Control of the receive windows of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Control {
    /// No control: each receiver advertises its initial window.
    #[default]
    Fixed,
    /// Control that depends on the rate of the host's link; the driver keeps an [`ictcp::Ictcp`] for each host.
    Ictcp(ictcp::Config),
}

/// Advertised window of one connection. A control may change the window's size at any time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveWindow {
    size: u64,
    /// Right edge: end of the bytes that the sender may send.
    edge: u64,
}

impl ReceiveWindow {
    /// Creates a window of `size` bytes, which the sender assumes at the start.
    pub(crate) fn new(size: Bytes) -> Self {
        Self { size: size.0, edge: size.0 }
    }

    /// Offers `size` bytes from now on.
    pub(crate) fn resize(&mut self, size: Bytes) {
        self.size = size.0;
    }

    /// Returns the window to advertise after all data below `next` has arrived. A smaller window takes effect only as data arrives, because
    /// RFC 9293 §3.8.6 advises against moving the right edge to the left.
    #[inline]
    pub(crate) fn advertise(&mut self, next: u64) -> u32 {
        self.edge = self.edge.max(next + self.size);
        (self.edge - next) as u32
    }

    /// Returns whether the sender was allowed to send bytes up to `end`.
    pub(crate) fn allows(&self, end: u64) -> bool {
        end <= self.edge
    }
}
