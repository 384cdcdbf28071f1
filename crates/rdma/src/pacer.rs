//! Pacer of a queue pair: the time between two packets.

use shallows_core::{Bytes, Instant, Rate};

/// Pacer of a queue pair. A packet may leave after the previous packet's time on the wire at the present rate.
///
/// A change of the rate therefore moves the time of the next packet by the difference between the old and the new time on the wire, as
/// `RdmaHw::ChangeRate` of HPCC's simulator does. Time without a packet earns no credit.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    sent_at: Instant,
    size: Bytes,
}

impl Pacer {
    /// Returns the time from which the next packet may leave.
    pub(crate) fn ready_at(&self, rate: Rate) -> Instant {
        self.sent_at + rate.transmission_time(self.size)
    }

    /// Records that a packet of `size` bytes on the wire leaves now.
    pub(crate) fn on_send(&mut self, now: Instant, size: Bytes) {
        self.sent_at = now;
        self.size = size;
    }
}
