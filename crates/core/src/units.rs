//! Sizes and data rates.
//!
//! Decimal prefixes are powers of ten (`KB` = 1,000), binary prefixes are powers of two (`KiB` = 1,024). Parsing is exact integer
//! arithmetic: a value that the unit cannot hold exactly is an error and is never rounded.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;

pub use crate::quantity::ParseUnitError;
use crate::quantity::{Suffix, parse_quantity, print_quantity};
use crate::time::Duration;

/// Amount of data, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// Data rate, in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

const SIZE_SUFFIXES: &[Suffix] = &[
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];
const RATE_SUFFIXES: &[Suffix] =
    &[("bps", 1), ("Kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000), ("Tbps", 1_000_000_000_000)];

impl Bytes {
    /// Returns this amount times `factor`, rounded down.
    ///
    /// # Panics
    ///
    /// If `factor` is negative or not a number.
    pub fn scale(self, factor: f64) -> Self {
        assert!(factor >= 0.0, "cannot scale {self} by {factor}");
        // Converted through `i64`, because processors convert signed integers in one instruction. Amounts are below 2^63.
        Self((self.0 as i64 as f64 * factor) as i64 as u64)
    }

    /// Returns this amount minus `other`, or zero if `other` is larger.
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Rate {
    /// Returns a rate of `gbps` gigabits per second.
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(gbps * 1_000_000_000)
    }

    /// Returns the time that a link of this rate takes to send `size`, rounded up to a picosecond.
    pub fn transmission_time(self, size: Bytes) -> Duration {
        const PS_PER_BYTE_BPS: u64 = 8_000_000_000_000;
        debug_assert!(self.0 > 0);
        // For a packet, the product fits 64 bits; for a whole flow it may not.
        match size.0.checked_mul(PS_PER_BYTE_BPS) {
            Some(product) => Duration(product.div_ceil(self.0)),
            None => {
                let ps = (u128::from(size.0) * u128::from(PS_PER_BYTE_BPS)).div_ceil(u128::from(self.0));
                Duration(u64::try_from(ps).expect("a transmission takes less than 213 days"))
            }
        }
    }

    /// Returns the number of bytes that are sent in `span` at this rate, rounded down. If `span` is a round-trip time, this is *C·RTT*.
    pub fn bytes_in(self, span: Duration) -> Bytes {
        let bytes = u128::from(self.0) * u128::from(span.0) / 8_000_000_000_000;
        Bytes(u64::try_from(bytes).expect("fewer than 2^64 bytes"))
    }

    /// Returns the number of bytes that are sent in `span` at this rate, rounded up.
    pub fn bytes_in_up(self, span: Duration) -> Bytes {
        let bytes = (u128::from(self.0) * u128::from(span.0)).div_ceil(8_000_000_000_000);
        Bytes(u64::try_from(bytes).expect("fewer than 2^64 bytes"))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0.checked_add(rhs.0).expect("fewer than 2^64 bytes"))
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0.checked_sub(rhs.0).expect("an amount of data is not negative"))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, rhs: Self) {
        *self = *self - rhs;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, rhs: u64) -> Self {
        Self(self.0.checked_mul(rhs).expect("fewer than 2^64 bytes"))
    }
}

impl FromStr for Bytes {
    type Err = ParseUnitError;
    /// Parses a size such as `"720KB"` (720,000), `"3MiB"` (3,145,728) or `"1500B"` exactly, or returns an error.
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        parse_quantity(text, "a size such as \"720KB\"", SIZE_SUFFIXES).map(Self)
    }
}

impl FromStr for Rate {
    type Err = ParseUnitError;
    /// Parses a rate such as `"100Gbps"`, `"2.5Gbps"` or `"56Mbps"` exactly, or returns an error.
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        parse_quantity(text, "a rate such as \"100Gbps\"", RATE_SUFFIXES).map(Self)
    }
}

impl fmt::Display for Bytes {
    /// Prints the size exactly. A binary unit is used only for a whole number of that unit: `720KB`, `3MiB`, `128KiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary =
            SIZE_SUFFIXES[5..].iter().rev().find(|unit| self.0 >= unit.1 && self.0.is_multiple_of(unit.1));
        match binary {
            Some((unit, factor)) if !self.0.is_multiple_of(1_000) => write!(f, "{}{unit}", self.0 / factor),
            _ => print_quantity(f, self.0, &SIZE_SUFFIXES[..5]),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_quantity(f, self.0, RATE_SUFFIXES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_exactly_and_print_back() {
        for (text, bytes) in [
            ("720KB", 720_000),
            ("3MiB", 3_145_728),
            ("1.5KB", 1_500),
            ("0B", 0),
            ("9000 B", 9_000),
            ("1_000KB", 1_000_000),
        ] {
            let parsed: Bytes = text.parse().unwrap();
            assert_eq!(parsed.0, bytes, "{text}");
            assert_eq!(parsed.to_string().parse::<Bytes>().unwrap(), parsed);
        }
        assert_eq!(Bytes(720_000).to_string(), "720KB");
        assert_eq!(Bytes(131_072).to_string(), "128KiB");
        assert_eq!(Bytes(1_500).to_string(), "1.5KB");
    }

    #[test]
    fn rates_parse_exactly_and_print_back() {
        for (text, bps) in
            [("100Gbps", 100_000_000_000), ("2.5Gbps", 2_500_000_000), ("995Mbps", 995_000_000)]
        {
            let parsed: Rate = text.parse().unwrap();
            assert_eq!(parsed.0, bps, "{text}");
            assert_eq!(parsed.to_string(), text);
        }
    }

    #[test]
    fn a_wrong_unit_is_named_with_the_known_ones() {
        let error = "100Gb".parse::<Rate>().unwrap_err().to_string();
        assert_eq!(
            error,
            "must be a rate such as \"100Gbps\", got \"100Gb\": the unit is missing or unknown; did you mean \"100Gbps\"? \
             (units: bps, Kbps, Mbps, Gbps, Tbps)"
        );
        assert!("720kb".parse::<Bytes>().is_err());
        assert!("0.5B".parse::<Bytes>().is_err());
        assert!("1.2.3KB".parse::<Bytes>().is_err());
        assert!("99999999999999999999999999999999999999999TB".parse::<Bytes>().is_err());
    }

    #[test]
    fn another_spelling_of_a_unit_is_recognised() {
        for (text, meant) in
            [("10gbps", "10Gbps"), ("10 Gbit/s", "10Gbps"), ("10G", "10Gbps"), ("2.5gb/s", "2.5Gbps")]
        {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert!(error.contains(&format!("did you mean \"{meant}\"?")), "{error}");
        }
        for (text, meant) in [("720kb", "720KB"), ("3mib", "3MiB"), ("9K", "9KB"), ("1 kilobyte", "1KB")] {
            let error = text.parse::<Bytes>().unwrap_err().to_string();
            assert!(error.contains(&format!("did you mean \"{meant}\"?")), "{error}");
        }
        for (text, meant) in [("5 usec", "5us"), ("5µs", "5us"), ("5 MS", "5ms"), ("1 second", "1s")] {
            let error = text.parse::<Duration>().unwrap_err().to_string();
            assert!(error.contains(&format!("did you mean \"{meant}\"?")), "{error}");
        }
        for text in ["10", "10parsec", "10x"] {
            assert!(!text.parse::<Rate>().unwrap_err().to_string().contains("did you mean"), "{text}");
        }
    }

    #[test]
    fn a_byte_takes_80_ps_at_100_gbps_and_10_ps_at_800() {
        assert_eq!(Rate::from_gbps(100).transmission_time(Bytes(1)), Duration(80));
        assert_eq!(Rate::from_gbps(800).transmission_time(Bytes(1)), Duration(10));
        assert_eq!(Rate(3).transmission_time(Bytes(1)), Duration(2_666_666_666_667), "rounded up");
        assert_eq!(Rate(8_000_000_000_000).transmission_time(Bytes(1 << 40)), Duration(1 << 40));
    }

    #[test]
    fn the_bandwidth_delay_product_of_100_gbps_and_80_us_is_one_megabyte() {
        assert_eq!(Rate::from_gbps(100).bytes_in(Duration::from_micros(80)), Bytes(1_000_000));
    }
}
