//! Segmentation offload: the size of a connection's bursts, and the decision to wait for larger ones.
//!
//! Linux (net/ipv4/tcp_output.c) fills buffers of several segments. The NIC (TSO), or the host just before the NIC (GSO), splits the
//! buffers into segments, which leave back to back. `tcp_tso_autosize` sets the size of a buffer. `tcp_tso_should_defer` decides whether a
//! connection waits until acknowledgements let it fill a larger part of a buffer. This file implements the shares and limits of
//! `tcp_tso_should_defer`, but not its clocks. In Linux, a connection also sends if its last buffer left a millisecond ago, or if the next
//! acknowledgement is half an SRTT away. This file also omits `tcp_tso_rtt_log`, which enlarges buffers for short round trips (Linux 5.18).

use shallows_core::Bytes;

use crate::config::Config;
use crate::pacing_rate::PacingRate;

/// Rule for the size of bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tso {
    /// Largest burst, in bytes of data: `gso_max_size`, 65,536 in Linux.
    pub largest: Bytes,
    /// Whether the size of a burst is the data that is sent at the pacing rate in 2⁻¹⁰ s (Linux since 3.12). Otherwise every burst has the
    /// largest size.
    pub autosized: bool,
}

/// `tcp_min_tso_segs`: smallest burst in segments, at any rate.
const MIN_SEGMENTS: u64 = 2;
/// `tcp_tso_win_divisor`: a burst of at least a third of the window leaves without waiting.
const WIN_DIVISOR: u64 = 3;

/// Data that a connection can send and data that it has in flight, with the limits on outstanding data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// New data that may be sent now, in bytes.
    pub sendable: Bytes,
    /// Outstanding data, in bytes.
    pub in_flight: Bytes,
    /// Whether `sendable` is all the unsent data that the application has written.
    pub is_all: bool,
    /// Congestion window (cwnd).
    pub cwnd: Bytes,
    /// Limit of outstanding data: the smaller of cwnd and the receiver's window.
    pub usable_window: Bytes,
}

impl Tso {
    /// Returns the size of a full burst at this rate, in bytes of data: whole segments, at least two.
    pub fn size(&self, config: &Config, rate: Option<PacingRate>) -> Bytes {
        let rate = rate.filter(|_| self.autosized);
        let bytes = rate.map_or(self.largest, |rate| rate.at_once().min(self.largest));
        config.mss * (bytes.0 / config.mss.0).max(MIN_SEGMENTS)
    }

    /// Returns the number of segments of the next burst; zero if the connection waits for acknowledgements. Call this after the previous
    /// burst has been sent completely.
    ///
    /// `backlog` is `None` while a connection opens or repairs a loss; the connection then sends segments one by one.
    pub fn next(&self, config: &Config, rate: Option<PacingRate>, backlog: Option<Backlog>) -> u32 {
        let Some(backlog) = backlog else { return 1 };
        let (mss, window, sendable) = (config.mss.0, backlog.usable_window.0, backlog.sendable.0);
        let size = self.size(config, rate).0;
        // A connection does not wait if no acknowledgement can arrive, or if its burst cannot grow. The sender handles window probes.
        let goes = backlog.in_flight == Bytes(0)
            || backlog.is_all
            || sendable >= size
            || sendable >= window / WIN_DIVISOR;
        if !goes {
            return 0;
        }
        // `tcp_cwnd_test`: at most half of cwnd, so that a window has at least two buffers.
        let most = (size / mss).min((backlog.cwnd.0 / mss / 2).max(1));
        u32::try_from(sendable.div_ceil(mss).clamp(1, most)).expect("a burst has few segments")
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Duration;
    use shallows_core::packet::Flags;

    use super::*;
    use crate::testing::{Driven, MSS};

    const AUTOSIZED: Tso = Tso { largest: Bytes(65_536), autosized: true };
    const FULL: Tso = Tso { autosized: false, ..AUTOSIZED };

    fn next(tso: Tso, driven: &Driven) -> u32 {
        tso.next(&driven.config, driven.sender.pacing_rate(), driven.sender.backlog())
    }

    fn segments(tso: Tso, driven: &Driven) -> u64 {
        tso.size(&driven.config, driven.sender.pacing_rate()).0 / MSS
    }

    #[test]
    fn a_burst_is_what_the_pacing_rate_sends_in_a_millisecond_between_two_segments_and_64_kb() {
        let mut driven = Driven::new();
        // 65,536 / 1,460 = 44.9. Before the first sample there is no rate.
        assert_eq!((segments(FULL, &driven), segments(AUTOSIZED, &driven)), (44, 44));
        // Twice 11 segments in 100 us are 313,671 bytes in 2^-10 s: more than 64 KB.
        driven.ack(1, Flags::ACK);
        assert_eq!(segments(AUTOSIZED, &driven), 44);
        // One more acknowledgement, after 71.3 ms: SRTT = 7/8 · 100 us + 1/8 · 71.3 ms = 9 ms. Twice 12 segments in that time
        // are 3,802.1 bytes in 2^-10 s: 2.6 segments.
        let sent = driven.now;
        driven.now = sent + Duration::from_micros(71_300);
        driven.ack_of(sent, 2, Flags::ACK);
        assert_eq!(driven.sender.srtt(), Some(Duration::from_millis(9)));
        assert_eq!((segments(AUTOSIZED, &driven), segments(FULL, &driven)), (2, 44));
        // The smallest burst that Linux fills has two segments, however slow the connection.
        let narrow = Tso { largest: Bytes(MSS), autosized: true };
        assert_eq!(segments(narrow, &driven), 2);
    }

    #[test]
    fn a_burst_waits_until_a_third_of_the_window_may_leave() {
        let mut driven = Driven::new();
        assert_eq!(next(AUTOSIZED, &driven), 0, "nothing may leave");
        // Slow start: cwnd is 11 segments and nine are outstanding. Two may leave, and 2 < 11/3.
        driven.ack(1, Flags::ACK);
        assert_eq!(next(AUTOSIZED, &driven), 0);
        // cwnd is 12 and eight are outstanding: four may leave, a third.
        driven.ack(2, Flags::ACK);
        assert_eq!(next(AUTOSIZED, &driven), 4);
        // Three segments are too few for the next burst, which is decided after the current one.
        driven.send();
        assert_eq!(next(AUTOSIZED, &driven), 0);
        // A full burst, here of two segments, leaves however large the window is.
        driven.ack(3, Flags::ACK);
        assert_eq!(next(Tso { largest: Bytes(2 * MSS), autosized: false }, &driven), 2);
    }

    #[test]
    fn with_nothing_outstanding_half_of_the_window_goes_at_once() {
        let mut driven = Driven::new();
        driven.ack(10, Flags::ACK);
        // One acknowledgement of ten segments adds one: cwnd is 11, and 11 / 2 = 5.
        assert_eq!(next(AUTOSIZED, &driven), 5);
        for _ in 0..5 {
            driven.send();
        }
        assert_eq!(next(AUTOSIZED, &driven), 5);
        for _ in 0..5 {
            driven.send();
        }
        // The eleventh segment may leave, but would be a burst of its own.
        assert_eq!(next(AUTOSIZED, &driven), 0);
    }

    #[test]
    fn the_end_of_the_data_waits_for_nothing() {
        let mut driven = Driven::of(10 * MSS + 1);
        driven.ack(1, Flags::ACK);
        assert_eq!(next(AUTOSIZED, &driven), 1);
        driven.send();
        assert!(!driven.send(), "nothing is left");
    }

    #[test]
    fn a_loss_is_repaired_segment_by_segment() {
        let mut driven = Driven::new();
        driven.ack(1, Flags::ACK);
        driven.sender.on_timer(&driven.config, driven.now + Duration::from_secs(60));
        assert_eq!(next(AUTOSIZED, &driven), 1);
    }
}
