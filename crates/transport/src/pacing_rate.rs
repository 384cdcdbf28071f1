//! The rate that Linux gives a connection: what queues, bursts and gaps in its host are sized by.

use shallows_core::{Bytes, Duration, Rate};

/// `sk_pacing_shift`: what may be sent at once is what the rate sends in 2⁻¹⁰ s, about a millisecond.
const PACING_SHIFT: u32 = 10;

/// So many bytes in such a time.
#[derive(Clone, Copy, Debug)]
pub struct PacingRate {
    /// In hundredths of bytes.
    hundredths: u128,
    time: Duration,
}

/// What the rate of a connection follows from where its congestion control answers none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    pub(crate) cwnd: Bytes,
    pub(crate) ssthresh: Bytes,
    pub(crate) outstanding: u64,
    pub(crate) srtt: Duration,
}

impl PacingRate {
    /// That of windows (net/ipv4/tcp_input.c, `tcp_update_pacing_rate`).
    #[inline]
    pub(crate) fn of(course: Course) -> Self {
        // The larger of cwnd and what is outstanding, and more than that, so that the window can grow: twice as much early in
        // slow start (`tcp_pacing_ss_ratio`), else 1.2 times (`tcp_pacing_ca_ratio`).
        let percent = if course.cwnd.0 < course.ssthresh.0 / 2 { 200 } else { 120 };
        let window = course.cwnd.0.max(course.outstanding);
        Self { hundredths: u128::from(window) * percent, time: course.srtt }
    }

    /// That of a congestion control, as it is.
    pub(crate) fn exactly(rate: Rate) -> Self {
        // As many bytes in eight seconds as bits in one.
        Self { hundredths: u128::from(rate.0) * 100, time: Duration::from_secs(8) }
    }

    /// Whether `bytes` are more than it sends in 2⁻¹⁰ s.
    #[inline]
    pub(crate) fn is_exceeded(self, bytes: Bytes) -> bool {
        (u128::from(bytes.0) * u128::from(self.time.0) * 100) << PACING_SHIFT > self.hundredths * SECOND
    }

    /// What it sends in 2⁻¹⁰ s.
    pub(crate) fn at_once(self) -> Bytes {
        let bytes = self.hundredths * SECOND / ((u128::from(self.time.0.max(1)) * 100) << PACING_SHIFT);
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// How long it takes to send `bytes`.
    pub(crate) fn time(self, bytes: Bytes) -> Duration {
        let time = u128::from(bytes.0) * 100 * u128::from(self.time.0) / self.hundredths.max(1);
        Duration(u64::try_from(time).unwrap_or(u64::MAX))
    }
}

const SECOND: u128 = Duration::from_secs(1).0 as u128;
