//! Time dilation: if a second of a 10 Gb/s network takes a hundred seconds of the machine, the machine must carry only 100 Mb/s.
//!
//! Only the clock of the network runs slower than the machine's. Links, ports, workloads and results keep the values and units of the
//! scenario. Times of the machine (waits, kernel settings, kernel measurements) are converted by this module alone. docs/testbed.md lists
//! times of the kernel that do not dilate.

use serde::Deserialize;
use shallows_core::{Duration, Rate};

/// Dilation factor: seconds of the machine for each second of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub struct Dilation(u32);

impl Dilation {
    /// Factor 1: network time is as fast as the machine's time.
    pub const NONE: Self = Self(1);
    /// Largest dilation factor, with which one second of network time takes almost three hours of real time.
    pub const MOST: u32 = 10_000;

    /// Returns the dilation factor.
    pub fn factor(self) -> u32 {
        self.0
    }

    /// Converts a duration from network time to the machine's time.
    pub fn real(self, span: Duration) -> Duration {
        Duration(span.0.saturating_mul(u64::from(self.0)))
    }

    /// Converts a duration from the machine's time to network time, rounded down to a picosecond.
    pub fn network(self, span: Duration) -> Duration {
        Duration(span.0 / u64::from(self.0))
    }

    /// Converts the rate of a link from network time to the machine's time, rounded up.
    pub fn real_rate(self, rate: Rate) -> Rate {
        Rate(rate.0.div_ceil(u64::from(self.0)))
    }
}

impl TryFrom<u32> for Dilation {
    type Error = String;

    fn try_from(factor: u32) -> Result<Self, String> {
        match factor {
            1..=Self::MOST => Ok(Self(factor)),
            _ => Err(format!("the dilation must be from 1 to {}, got {factor}", Self::MOST)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_grow_and_rates_shrink_by_the_same_factor() {
        let dilation = Dilation::try_from(100).unwrap();
        assert_eq!(dilation.real(Duration::from_micros(10)), Duration::from_millis(1));
        assert_eq!(dilation.network(Duration::from_millis(1)), Duration::from_micros(10));
        assert_eq!(dilation.real_rate(Rate::from_gbps(10)), Rate(100_000_000));
        // The number of bits is unchanged: a link of 10 Gb/s sends as many in 10 us as a link of 100 Mb/s in 1 ms.
        let (span, rate) = (Duration::from_micros(10), Rate::from_gbps(10));
        assert_eq!(dilation.real_rate(rate).bytes_in(dilation.real(span)), rate.bytes_in(span));
        assert_eq!(Dilation::try_from(0).unwrap_err(), "the dilation must be from 1 to 10000, got 0");
    }
}
