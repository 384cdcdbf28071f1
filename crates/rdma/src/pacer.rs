//! Pacer of a queue pair: the time between two packets or two bursts.

use shallows_core::{Bytes, Instant};

use crate::congestion::Pace;

/// Pacer of a queue pair. It releases a packet once the transmission time of the previous packet at the present rate is over.
///
/// A change of the rate therefore moves the time of the next packet by the difference between the old and the new transmission time, as
/// `RdmaHw::ChangeRate` of HPCC's simulator does. Idle time earns no credit.
///
/// NICs can send several packets before they evaluate the rate (`max_burst_sz` in ibv_modify_qp_rate_limit(3)). The pacer releases the
/// packets of such a burst back to back. It releases the next burst once the transmission time of all these packets at the present rate is
/// over.
#[derive(Debug)]
pub(crate) struct Pacer {
    pace: Pace,
    /// Time of the first packet of the last burst.
    start: Instant,
    /// Bytes of the last burst so far.
    sent: Bytes,
    /// Time from which the next burst may begin.
    paced_at: Instant,
    /// Whether the last burst accepts another packet of any size.
    has_room: bool,
}

impl Pacer {
    pub(crate) fn new(pace: Pace) -> Self {
        Self { pace, start: Instant::ZERO, sent: Bytes(0), paced_at: Instant::ZERO, has_room: false }
    }

    /// Returns the limit of outstanding bytes; `None` for no limit.
    pub(crate) fn window(&self) -> Option<Bytes> {
        self.pace.window
    }

    /// Returns the time from which the next packet may leave.
    pub(crate) fn ready_at(&self) -> Instant {
        if self.has_room { Instant::ZERO } else { self.paced_at }
    }

    /// Records that a packet of `size` bytes on the wire leaves now. A burst of at most `room` bytes accepts another packet.
    pub(crate) fn on_send(&mut self, now: Instant, size: Bytes, room: Bytes) {
        if now >= self.paced_at {
            (self.start, self.sent) = (now, Bytes(0));
        }
        self.sent += size;
        self.has_room = self.sent <= room;
        self.paced_at = self.start + self.pace.rate.transmission_time(self.sent);
    }

    /// Changes rate and window.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        let is_rate_new = pace.rate != self.pace.rate;
        self.pace = pace;
        if is_rate_new {
            self.paced_at = self.start + pace.rate.transmission_time(self.sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Rate;

    use super::*;

    const fn pace(gbps: u64) -> Pace {
        Pace { rate: Rate::from_gbps(gbps), window: None }
    }

    /// Sends packets of 1,000 bytes as early as the pacer and a NIC of 100 Gb/s allow. Returns the times of the packets in nanoseconds.
    fn times(pacer: &mut Pacer, room: u64, from: u64, packets: usize) -> Vec<u64> {
        let mut free_at = Instant(from * 1_000);
        let send = || {
            let at = pacer.ready_at().max(free_at);
            pacer.on_send(at, Bytes(1_000), Bytes(room));
            free_at = at + Rate::from_gbps(100).transmission_time(Bytes(1_000));
            at.0 / 1_000
        };
        std::iter::repeat_with(send).take(packets).collect()
    }

    #[test]
    fn packets_of_a_burst_leave_back_to_back_and_bursts_have_the_rate() {
        // 1,000 bytes take 80 ns on the wire, and 800 ns at 10 Gb/s. A burst with room after 2,000 bytes has three packets.
        let paced = [0, 800, 1_600, 2_400, 3_200, 4_000, 4_800];
        for (room, expected) in [
            (0, paced),
            (999, paced),
            (2_000, [0, 80, 160, 2_400, 2_480, 2_560, 4_800]),
            (2_999, [0, 80, 160, 2_400, 2_480, 2_560, 4_800]),
        ] {
            assert_eq!(times(&mut Pacer::new(pace(10)), room, 0, 7), expected, "{room}");
        }
    }

    #[test]
    fn time_without_packets_ends_a_burst() {
        let mut pacer = Pacer::new(pace(10));
        assert_eq!(times(&mut pacer, 2_000, 0, 2), [0, 80]);
        // The burst has room for a third packet until its two packets have taken their time of 1,600 ns.
        assert_eq!(times(&mut pacer, 2_000, 1_600, 4), [1_600, 1_680, 1_760, 4_000]);
        assert_eq!(times(&mut pacer, 2_000, 4_080, 1), [4_080]);
        assert_eq!(times(&mut pacer, 2_000, 5_599, 2), [5_599, 6_400]);
    }

    #[test]
    fn a_short_packet_leaves_no_room_for_a_burst_that_is_too_long() {
        // The burst has at most 3,000 bytes, and packets at most 1,000. A fourth packet could have 990 bytes, or 1,000.
        let mut pacer = Pacer::new(pace(10));
        for size in [1_000, 1_000, 10] {
            assert_eq!(pacer.ready_at(), Instant::ZERO);
            pacer.on_send(Instant::ZERO, Bytes(size), Bytes(2_000));
        }
        // 2,010 bytes take 1,608 ns at 10 Gb/s.
        assert_eq!(pacer.ready_at(), Instant(1_608_000));
    }

    #[test]
    fn a_change_of_the_rate_moves_the_next_burst() {
        let mut pacer = Pacer::new(pace(10));
        assert_eq!(times(&mut pacer, 2_000, 0, 2), [0, 80]);
        pacer.set_pace(pace(5));
        // The third packet belongs to the burst. Three packets take 4,800 ns at 5 Gb/s, and 1,200 ns at 20 Gb/s.
        assert_eq!(times(&mut pacer, 2_000, 1_599, 1), [1_599]);
        assert_eq!(pacer.ready_at(), Instant(4_800_000));
        pacer.set_pace(pace(20));
        assert_eq!(pacer.ready_at(), Instant(1_200_000));
    }

    #[test]
    fn a_change_of_the_rate_moves_the_next_packet_by_the_difference_of_the_times_on_the_wire() {
        let mut pacer = Pacer::new(pace(100));
        pacer.set_pace(pace(50));
        assert_eq!(pacer.ready_at(), Instant::ZERO, "the first packet need not wait");
        pacer.set_pace(pace(100));
        pacer.on_send(Instant(5_000), Bytes(1_000), Bytes(0));
        // 1,000 bytes take 80 ns at 100 Gb/s, and 160 ns at half of this rate.
        assert_eq!(pacer.ready_at(), Instant(85_000));
        pacer.set_pace(pace(50));
        assert_eq!(pacer.ready_at(), Instant(165_000));
    }
}
