//! TCP Small Queues: the limit on a connection's data in its own host.
//!
//! Linux (net/ipv4/tcp_output.c, `tcp_small_queue_check`) lets a socket keep about a millisecond's worth of data in its host's queues, and
//! wakes the socket when one of its buffers leaves or is dropped (`tcp_wfree`). The limit counts the memory of buffers (`sk_wmem_alloc`). Not modelled: the doubled
//! limit of retransmissions.

use shallows_core::Bytes;

use crate::pacing_rate::PacingRate;

/// Rule that limits a connection's waiting data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallQueue {
    /// Upper limit in bytes: `tcp_limit_output_bytes`.
    pub limit_output: Bytes,
    /// Size of a full packet. The rule always allows a connection to have two packets in its host.
    pub packet: Bytes,
    /// Overhead of a buffer in addition to its packet, in bytes.
    pub beside: u64,
}

impl SmallQueue {
    /// Returns whether a connection with `queued` bytes in its host must hold back more data. Before the first round trip, `rate` is
    /// `None` and sets no limit.
    #[inline]
    pub fn is_full(&self, rate: Option<PacingRate>, queued: Bytes) -> bool {
        self.is_full_of(self.packet, rate, queued)
    }

    /// Returns whether a connection that passes up to `unit` bytes at once to its host must hold back more data, given its `queued` bytes
    /// in the host. Up to two units are always allowed.
    #[inline]
    pub fn is_full_of(&self, unit: Bytes, rate: Option<PacingRate>, queued: Bytes) -> bool {
        if queued <= unit * 2 {
            return false;
        }
        let memory = self.memory_of(unit, queued);
        memory > self.limit_output || rate.is_some_and(|rate| rate.is_exceeded(memory))
    }

    /// Returns how much memory `queued` bytes occupy in buffers of `unit` bytes each, with the overhead of the buffers.
    #[inline]
    fn memory_of(&self, unit: Bytes, queued: Bytes) -> Bytes {
        if self.beside == 0 { queued } else { queued + Bytes(self.beside * queued.0.div_ceil(unit.0)) }
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Duration;
    use shallows_core::packet::Flags;

    use super::*;
    use crate::testing::{Driven, MSS};

    const RULE: SmallQueue = SmallQueue { limit_output: Bytes(1 << 20), packet: Bytes(1_500), beside: 0 };

    /// Returns the largest number of a connection's bytes that may wait in its host.
    fn most(driven: &Driven) -> u64 {
        let full = |queued: &u64| RULE.is_full(driven.sender.pacing_rate(), Bytes(*queued));
        (0..=1 << 20).find(full).map_or(1 << 20, |queued| queued - 1)
    }

    #[test]
    fn two_packets_may_always_wait_and_never_more_than_the_limit_of_the_host() {
        let narrow = SmallQueue { limit_output: Bytes(3_000), ..RULE };
        assert!(!narrow.is_full(None, Bytes(3_000)) && narrow.is_full(None, Bytes(3_001)));
        // Before the first RTT sample there is no rate, and only `limit_output` applies.
        assert!(!RULE.is_full(None, Bytes(1 << 20)) && RULE.is_full(None, Bytes((1 << 20) + 1)));
        // Two bursts may always wait, instead of two packets.
        let of = |unit, queued| narrow.is_full_of(Bytes(unit), None, Bytes(queued));
        assert!(!of(60_000, 120_000) && of(60_000, 120_001));
    }

    #[test]
    fn buffers_are_larger_than_what_they_hold() {
        // Linux 6.18 adds 832 bytes to 1,448 bytes of data, which is 780 bytes more than a packet of 1,500. Seven packets are 15,960 bytes,
        // above 14,677.
        let linux = SmallQueue { limit_output: Bytes(14_677), beside: 780, ..RULE };
        assert_eq!(linux.memory_of(Bytes(1_500), Bytes(10_500)), Bytes(15_960));
        assert!(!linux.is_full(None, Bytes(9_000)) && linux.is_full(None, Bytes(10_500)));
        assert!(!SmallQueue { beside: 0, ..linux }.is_full(None, Bytes(10_500)));
        // A burst is one buffer.
        let burst = |queued| linux.memory_of(Bytes(6_000), Bytes(queued)).0;
        assert_eq!([burst(6_000), burst(7_500)], [6_780, 9_060]);
        // Two buffers may always wait, however large.
        let narrow = SmallQueue { limit_output: Bytes(3_000), ..linux };
        assert!(!narrow.is_full(None, Bytes(3_000)) && narrow.is_full(None, Bytes(4_500)));
    }

    #[test]
    fn else_it_is_what_the_pacing_rate_sends_in_a_millisecond() {
        let mut driven = Driven::new();
        driven.ack(1, Flags::ACK);
        // Slow start: cwnd is 11 segments. Twice 11 · 1460 bytes in 100 us are 321.2 MB/s, 313,671.9 bytes in 2^-10 s.
        assert_eq!(driven.sender.cwnd(), Bytes(11 * MSS));
        assert_eq!(most(&driven), 313_671);
        // The timer fires with nine segments outstanding: ssthresh becomes 4.5 segments, and cwnd one. Twice the outstanding 13,140 bytes
        // in 100 us are 256,640.6 bytes in 2^-10 s.
        driven.sender.on_timer(&driven.config, driven.now + Duration::from_secs(60));
        assert_eq!((driven.sender.cwnd(), driven.sender.ssthresh()), (Bytes(MSS), Bytes(9 * MSS / 2)));
        assert_eq!(most(&driven), 256_640);
        // Slow start again: cwnd is three segments, no longer below half of ssthresh. 1.2 times the seven outstanding segments are
        // 119,765.6 bytes.
        driven.ack(2, Flags::ACK);
        driven.ack(3, Flags::ACK);
        assert_eq!(driven.sender.cwnd(), Bytes(3 * MSS));
        assert_eq!(most(&driven), 119_765);
    }

    #[test]
    fn a_window_that_is_not_what_limits_grows_in_slow_start_to_twice_what_was_outstanding() {
        let mut driven = Driven::new();
        driven.sender.hold(&driven.config, true);
        assert!(!driven.sender.is_held(), "its window is full: that is what limits it");
        driven.ack(1, Flags::ACK);
        driven.sender.hold(&driven.config, true);
        assert!(driven.sender.is_held());
        // Before each acknowledgement, 9, 8, 7, 6 segments are outstanding. cwnd grows below twice that: at 11 < 18, 12 < 16 and 13 < 14,
        // but not at 14 > 12.
        let windows = [2, 3, 4, 5, 10].map(|segments| {
            driven.ack(segments, Flags::ACK);
            driven.sender.cwnd().0 / MSS
        });
        assert_eq!(windows, [12, 13, 14, 14, 14]);
    }

    #[test]
    fn and_not_at_all_in_congestion_avoidance() {
        let mut driven = Driven::new();
        // RFC 3168: ECE halves the window, and slow start is over.
        driven.ack(1, Flags::ACK.with(Flags::ECE));
        driven.ack(10, Flags::ACK);
        // The window is about five segments: eight segments acknowledged one by one make it grow by at least one segment.
        let mut grows = |from: u64, held: bool| {
            let before = driven.sender.cwnd();
            for segments in from..from + 8 {
                driven.sender.hold(&driven.config, held);
                assert_eq!(driven.sender.is_held(), held);
                driven.send();
                driven.ack(segments, Flags::ACK);
            }
            driven.sender.cwnd() > before
        };
        assert!(!grows(11, true));
        assert!(grows(19, false));
    }
}
