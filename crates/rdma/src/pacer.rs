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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_rate_moves_the_next_packet_by_the_difference_of_the_times_on_the_wire() {
        let mut pacer = Pacer::default();
        assert_eq!(pacer.ready_at(Rate(1)), Instant::ZERO, "the first packet need not wait");
        pacer.on_send(Instant(5_000), Bytes(1_000));
        // 1,000 bytes take 80 ns at 100 Gb/s, and 160 ns at half of this rate.
        assert_eq!(pacer.ready_at(Rate::from_gbps(100)), Instant(85_000));
        assert_eq!(pacer.ready_at(Rate::from_gbps(50)), Instant(165_000));
    }
}
