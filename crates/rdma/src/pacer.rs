//! Pacer of a queue pair, which determines the time between two packets.

use shallows_core::{Bytes, Instant};

use crate::congestion::Pace;

/// Pacer of a queue pair. A packet may leave once the transmission time of the previous packet at the present rate is over.
///
/// A change of the rate therefore moves the time of the next packet by the difference between the old and the new transmission time, as
/// `RdmaHw::ChangeRate` of HPCC's simulator does. Idle time earns no credit.
#[derive(Debug)]
pub(crate) struct Pacer {
    pace: Pace,
    /// Time and size of the last packet.
    sent: Option<(Instant, Bytes)>,
    ready_at: Instant,
}

impl Pacer {
    pub(crate) fn new(pace: Pace) -> Self {
        Self { pace, sent: None, ready_at: Instant::ZERO }
    }

    /// Returns the limit of outstanding bytes; `None` for no limit.
    pub(crate) fn window(&self) -> Option<Bytes> {
        self.pace.window
    }

    /// Returns the time from which the next packet may leave.
    pub(crate) fn ready_at(&self) -> Instant {
        self.ready_at
    }

    /// Records that a packet of `size` bytes on the wire leaves now.
    pub(crate) fn on_send(&mut self, now: Instant, size: Bytes) {
        self.sent = Some((now, size));
        self.ready_at = now + self.pace.rate.transmission_time(size);
    }

    /// Changes rate and window.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        let is_rate_new = pace.rate != self.pace.rate;
        self.pace = pace;
        if let Some((sent_at, size)) = self.sent
            && is_rate_new
        {
            self.on_send(sent_at, size);
        }
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Rate;

    use super::*;

    #[test]
    fn a_change_of_the_rate_moves_the_next_packet_by_the_difference_of_the_times_on_the_wire() {
        let pace = |gbps| Pace { rate: Rate::from_gbps(gbps), window: None };
        let mut pacer = Pacer::new(pace(100));
        pacer.set_pace(pace(50));
        assert_eq!(pacer.ready_at(), Instant::ZERO, "the first packet need not wait");
        pacer.set_pace(pace(100));
        pacer.on_send(Instant(5_000), Bytes(1_000));
        // 1,000 bytes take 80 ns at 100 Gb/s, and 160 ns at half of this rate.
        assert_eq!(pacer.ready_at(), Instant(85_000));
        pacer.set_pace(pace(50));
        assert_eq!(pacer.ready_at(), Instant(165_000));
    }
}
