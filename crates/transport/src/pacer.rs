//! Pacing: a connection spreads its bursts over the round trip.
//!
//! Linux's `sch_fq` releases a buffer at the time that TCP assigned to it. `tcp_update_skb_after_send`
//! (net/ipv4/tcp_output.c) delays the next buffer by the transmission time of the current one at the pacing rate, except for the
//! first ten segments. Not modelled: the rounds of `sch_fq`, in which connections share a NIC.

use shallows_core::{Bytes, Duration, Instant};

use crate::pacing_rate::PacingRate;

/// Time at which the next burst of a connection may start.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    next: Instant,
    /// Lateness of the current burst that the pacer has not made up yet. To make it up, the pacer shortens the gap after each segment, by
    /// at most half of the gap.
    late: Duration,
    /// Segments that leave before pacing starts.
    free: u8,
}

/// Number of packets that `sch_fq` lets a new flow send at once (`initial_quantum`).
const FREE_SEGMENTS: u8 = 10;

impl Default for Pacer {
    fn default() -> Self {
        Self { next: Instant::ZERO, late: Duration::ZERO, free: FREE_SEGMENTS }
    }
}

impl Pacer {
    /// Returns the time at which the next burst may start; in the past if it may start now.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Starts a burst now, which must not be before [`Self::next`].
    pub fn begin(&mut self, now: Instant) {
        self.late = now.saturating_since(self.next);
        self.next = self.next.max(now);
    }

    /// Records that a segment with `len` bytes of data was sent in the current burst, by a connection with this pacing rate.
    pub fn on_send(&mut self, rate: Option<PacingRate>, len: Bytes) {
        if self.free > 0 {
            self.free -= 1;
            return;
        }
        let Some(rate) = rate else { return };
        let time = rate.time(len);
        let forgiven = self.late.min(time / 2);
        self.late = self.late - forgiven;
        self.next = self.next + (time - forgiven);
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::packet::Flags;

    use super::*;
    use crate::testing::{Driven, MSS};

    /// Sends a burst of `segments` segments that begins at `now`.
    fn burst(pacer: &mut Pacer, driven: &Driven, now: Instant, segments: u64) {
        pacer.begin(now);
        for _ in 0..segments {
            pacer.on_send(driven.sender.pacing_rate(), Bytes(MSS));
        }
    }

    #[test]
    fn ten_segments_are_free_and_then_each_takes_its_time_at_the_pacing_rate() {
        let mut driven = Driven::new();
        driven.ack(1, Flags::ACK);
        let (mut pacer, start) = (Pacer::default(), driven.now);
        burst(&mut pacer, &driven, start, 10);
        assert_eq!(pacer.next(), start);
        // Slow start, cwnd of 11 segments: 22 segments in 100 us, 4,545.45 ns each.
        burst(&mut pacer, &driven, start, 4);
        assert_eq!(pacer.next(), start + Duration(4 * 4_545_454));
        // A burst at exactly that time has no credit: its two segments take their full times.
        let then = pacer.next();
        burst(&mut pacer, &driven, then, 2);
        assert_eq!(pacer.next(), then + Duration(2 * 4_545_454));
    }

    #[test]
    fn up_to_half_of_a_gap_is_forgiven_to_a_burst_that_comes_late() {
        let mut driven = Driven::new();
        driven.ack(1, Flags::ACK);
        let (mut pacer, start) = (Pacer::default(), driven.now);
        burst(&mut pacer, &driven, start, 10);
        burst(&mut pacer, &driven, start, 1);
        // A burst that is 3 us late shortens the next gap of 2 · 4,545.454 ns by 3 us: by half of the first segment's time, and then by the
        // rest.
        let late = pacer.next() + Duration::from_micros(3);
        burst(&mut pacer, &driven, late, 2);
        assert_eq!(pacer.next(), late + Duration(2 * 4_545_454 - 3_000_000));
        // A burst that is a millisecond late halves the gap.
        let late = pacer.next() + Duration::from_millis(1);
        burst(&mut pacer, &driven, late, 2);
        assert_eq!(pacer.next(), late + Duration(2 * (4_545_454 - 2_272_727)));
    }

    #[test]
    fn in_congestion_avoidance_the_rate_is_a_fifth_above_the_windows() {
        let mut driven = Driven::new();
        // RFC 3168: ECE halves ten segments; cwnd = ssthresh = 5, and nine are outstanding.
        driven.ack(1, Flags::ACK.with(Flags::ECE));
        let (mut pacer, now) = (Pacer::default(), driven.now);
        burst(&mut pacer, &driven, now, 10);
        burst(&mut pacer, &driven, now, 1);
        // 1.2 · 9 segments in 100 us.
        assert_eq!(pacer.next(), now + Duration(100_000_000 * 10 / 108));
    }
}
