//! The pacing rate that Linux computes for a connection. From this rate, the host derives queue limits, burst sizes and gaps.

use shallows_core::{Bytes, Duration, Rate};

/// `sk_pacing_shift`: a burst is the data that is sent at the pacing rate in 2⁻¹⁰ s, about a millisecond.
const PACING_SHIFT: u32 = 10;

/// Rate of a connection, as bytes per time.
#[derive(Clone, Copy, Debug)]
pub struct PacingRate {
    /// Amount of data sent in `time`, in hundredths of a byte.
    hundredths: u128,
    time: Duration,
}

/// Inputs of [`PacingRate::of`], for a connection whose congestion control sets no rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    pub(crate) cwnd: Bytes,
    pub(crate) ssthresh: Bytes,
    pub(crate) outstanding: u64,
    pub(crate) srtt: Duration,
}

impl PacingRate {
    /// Returns the rate of a window-based control (net/ipv4/tcp_input.c, `tcp_update_pacing_rate`).
    #[inline]
    pub(crate) fn of(course: Course) -> Self {
        // The larger of cwnd and the outstanding data, times a factor that lets the window grow: 2 early in slow start
        // (`tcp_pacing_ss_ratio`), otherwise 1.2 (`tcp_pacing_ca_ratio`).
        let percent = if course.cwnd.0 < course.ssthresh.0 / 2 { 200 } else { 120 };
        let window = course.cwnd.0.max(course.outstanding);
        Self { hundredths: u128::from(window) * percent, time: course.srtt }
    }

    /// Returns the rate that a congestion control has set, unchanged.
    pub(crate) fn exactly(rate: Rate) -> Self {
        // Bytes in eight seconds equal bits in one.
        Self { hundredths: u128::from(rate.0) * 100, time: Duration::from_secs(8) }
    }

    /// Returns whether `bytes` exceed the amount that is sent at this rate in 2⁻¹⁰ s.
    #[inline]
    pub(crate) fn is_exceeded(self, bytes: Bytes) -> bool {
        (u128::from(bytes.0) * u128::from(self.time.0) * 100) << PACING_SHIFT > self.hundredths * SECOND
    }

    /// Returns the number of bytes that are sent at this rate in 2⁻¹⁰ s.
    pub(crate) fn at_once(self) -> Bytes {
        let bytes = self.hundredths * SECOND / ((u128::from(self.time.0.max(1)) * 100) << PACING_SHIFT);
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// Returns the time to send `bytes`.
    pub(crate) fn time(self, bytes: Bytes) -> Duration {
        let time = u128::from(bytes.0) * 100 * u128::from(self.time.0) / self.hundredths.max(1);
        Duration(u64::try_from(time).unwrap_or(u64::MAX))
    }
}

const SECOND: u128 = Duration::from_secs(1).0 as u128;
