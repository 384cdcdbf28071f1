//! Simulated time in integer picoseconds.
//!
//! The unit is small enough that one byte takes exactly 80 ps at 100 Gbit/s and 10 ps at 800 Gbit/s, and a `u64` still represents 213 days.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use crate::quantity::{ParseUnitError, Suffix, parse_quantity, print_quantity};

const PS_PER_US: u64 = 1_000_000;
const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// Point in simulated time, in picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

/// Span of simulated time, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub u64);

const SUFFIXES: &[Suffix] =
    &[("ps", 1), ("ns", 1_000), ("us", PS_PER_US), ("ms", 1_000 * PS_PER_US), ("s", PS_PER_SECOND)];

impl Instant {
    /// Start of the run.
    pub const ZERO: Self = Self(0);
    /// Instant that is later than every event.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns this instant in seconds since the start of the run.
    pub fn as_secs_f64(self) -> f64 {
        Duration(self.0).as_secs_f64()
    }

    /// Returns the span from `earlier` to this instant, or zero if `earlier` is later.
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// Span of length zero.
    pub const ZERO: Self = Self(0);
    /// Span that is longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns a span of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    /// Returns a span of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * PS_PER_US)
    }

    /// Returns a span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000 * PS_PER_US)
    }

    /// Returns a span of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * PS_PER_SECOND)
    }

    /// Returns the span nearest to `seconds`.
    ///
    /// # Panics
    ///
    /// If `seconds` is negative, not a number, or longer than 213 days.
    pub fn from_secs_f64(seconds: f64) -> Self {
        let ps = (seconds * PS_PER_SECOND as f64).round();
        assert!(ps >= 0.0 && ps < u64::MAX as f64, "not a span of time: {seconds} s");
        Self(ps as u64)
    }

    /// Returns this span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_SECOND as f64
    }

    /// Returns this span in microseconds.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / PS_PER_US as f64
    }

    /// Returns the absolute difference of two spans.
    pub fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// Returns this span times 2 to the power of `times`, or the longest span on overflow.
    pub fn saturating_double(self, times: u32) -> Self {
        Self(self.0.saturating_mul(1u64.checked_shl(times).unwrap_or(u64::MAX)))
    }

    /// Returns the sum, or the longest span on overflow.
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.checked_add(rhs.0).expect("simulated time ends after 213 days"))
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, rhs: Self) -> Duration {
        Duration(self.0.checked_sub(rhs.0).expect("time ran backwards"))
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0.checked_add(rhs.0).expect("a span is shorter than 213 days"))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0.checked_sub(rhs.0).expect("a span is not negative"))
    }
}

impl std::iter::Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Self::add)
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, rhs: u64) -> Self {
        Self(self.0.checked_mul(rhs).expect("a span is shorter than 213 days"))
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    /// Divides the span by `rhs` and rounds down.
    fn div(self, rhs: u64) -> Self {
        Self(self.0 / rhs)
    }
}

impl FromStr for Duration {
    type Err = ParseUnitError;
    /// Parses a span such as `"80us"`, `"1.5 ms"` or `"0s"` exactly, or returns an error.
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        parse_quantity(text, "a duration such as \"80us\"", SUFFIXES).map(Self)
    }
}

impl fmt::Display for Duration {
    /// Prints the span exactly, in the largest unit that gives a number of at least 1 with at most three decimals: `80us`, `1.5ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_quantity(f, self.0, SUFFIXES)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_parse_exactly_and_print_back() {
        for (text, ps) in [
            ("80us", 80_000_000),
            ("1.5ms", 1_500_000_000),
            ("0s", 0),
            ("81 ps", 81),
            ("2s", 2 * PS_PER_SECOND),
        ] {
            let parsed: Duration = text.parse().unwrap();
            assert_eq!(parsed.0, ps, "{text}");
            assert_eq!(parsed.to_string().parse::<Duration>().unwrap(), parsed);
        }
        assert_eq!(Duration(1_234_567).to_string(), "1234.567ns");
    }

    #[test]
    fn a_duration_without_a_known_unit_is_refused_with_the_units_named() {
        for text in ["80", "80 m", "us", "-1us", "1.5ps", "1e3us", ""] {
            let error = text.parse::<Duration>().unwrap_err().to_string();
            assert!(error.contains("ps, ns, us, ms, s"), "{text}: {error}");
        }
    }

    #[test]
    fn durations_that_overflow_are_refused() {
        assert!("99999999999s".parse::<Duration>().is_err());
    }

    #[test]
    #[should_panic(expected = "time ran backwards")]
    fn time_does_not_run_backwards() {
        let _ = Instant(1) - Instant(2);
    }
}
