//! A NIC's account of one endpoint: the endpoint's bytes in the NIC's queue, and the progress of its burst.

use shallows_core::{Bytes, Instant};
use shallows_transport::Pacer;

/// A NIC's records about one endpoint: its queued bytes and the progress of its burst.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Account {
    /// Bytes of the endpoint's data packets in the NIC's queue; counted only with backpressure.
    pub(crate) queued: Bytes,
    /// Packets that remain in the current burst.
    pub(super) left: u32,
    /// Whether pacing delays the endpoint's next burst.
    pub(super) waits: bool,
    /// Whether an event at the current time lets the endpoint continue after backpressure.
    pub(crate) resumes: bool,
    pub(crate) pacer: Pacer,
}

impl Account {
    /// Subtracts a data packet of `size` bytes on the wire, after the packet has left the NIC's queue or was dropped there.
    #[inline]
    pub(crate) fn on_departure(&mut self, size: Bytes) {
        self.queued -= size;
    }

    /// Ends the burst. Returns the time of the next burst, if that burst must wait.
    #[inline]
    pub(super) fn rest(&mut self) -> Option<Instant> {
        self.left = 0;
        std::mem::take(&mut self.waits).then(|| self.pacer.next())
    }
}
