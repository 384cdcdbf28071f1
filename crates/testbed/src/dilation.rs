//! The scale of time: a network of 10 Gb/s, each of whose seconds takes a hundred of the machine's, needs only 100 Mb/s of it.
//!
//! The clock of the network runs slower than the machine's, and that is all: links, ports, workloads and results are those of the
//! scenario, in its own units. What belongs to the machine is converted here, and nowhere else: waits, the settings of kernels,
//! what a kernel tells. docs/testbed.md says what of a kernel has times of its own.

use serde::Deserialize;
use shallows_core::{Duration, Rate};

/// How many times as long everything takes on the machine as it does in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub struct Dilation(u32);

impl Dilation {
    /// Both times are one.
    pub const NONE: Self = Self(1);
    /// A second then takes three hours.
    pub const MOST: u32 = 10_000;

    /// The factor.
    pub fn factor(self) -> u32 {
        self.0
    }

    /// How long the machine takes for what takes so long in the network.
    pub fn real(self, span: Duration) -> Duration {
        Duration(span.0.saturating_mul(u64::from(self.0)))
    }

    /// How much time passes in the network meanwhile, rounded down to a picosecond.
    pub fn network(self, span: Duration) -> Duration {
        Duration(span.0 / u64::from(self.0))
    }

    /// Rate on the machine for a link of this network rate, rounded up.
    pub fn real_rate(self, rate: Rate) -> Rate {
        Rate(rate.0.div_ceil(u64::from(self.0)))
    }
}

impl TryFrom<u32> for Dilation {
    type Error = String;

    fn try_from(factor: u32) -> Result<Self, String> {
        match factor {
            1..=Self::MOST => Ok(Self(factor)),
            _ => Err(format!("time cannot be dilated {factor} times; from 1 to {}", Self::MOST)),
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
        // What a link carries meanwhile stays: 10 Gb/s for 10 us are 100 Mb/s for 1 ms.
        let (span, rate) = (Duration::from_micros(10), Rate::from_gbps(10));
        assert_eq!(dilation.real_rate(rate).bytes_in(dilation.real(span)), rate.bytes_in(span));
        assert_eq!(Dilation::try_from(0).unwrap_err(), "time cannot be dilated 0 times; from 1 to 10000");
    }
}
