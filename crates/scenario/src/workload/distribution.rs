//! Sizes of flows: a cumulative distribution, sampled by inversion with linear interpolation.
//!
//! Sampling follows mode 2 of ns-2's empirical random variable: sizes between two points are interpolated linearly and rounded up to a
//! whole unit. A draw at or below the share of the first point gives the value of the first point.

use shallows_core::Bytes;

use crate::spec::{Minimum, Sampling, Sizes as Spec};

/// Cumulative distribution: for each of several values, the share of flows up to this value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cdf {
    /// Pairs of a value and a share, both non-decreasing. The last share is 1.
    points: Vec<(f64, f64)>,
}

/// Distribution of flow sizes in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    /// Distribution of sizes in units. No value is below the minimum.
    cdf: Cdf,
    /// Number of bytes in a unit.
    unit: u64,
}

/// Largest flow, chosen so that the sum of a few thousand flows stays below 2⁶⁴.
const MAX_FLOW: f64 = (1u64 << 50) as f64;

impl Cdf {
    /// Parses a file whose lines have a value and a share, from 0 to 1 or from 0 to 100. A number between value and share, as in ns-2's
    /// files, is skipped. `#` begins a comment. An error contains the number of the line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        let mut end = 0;
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let fields: Vec<&str> = line.split_whitespace().collect();
            let at = number + 1;
            let point = match fields[..] {
                [] => continue,
                [value, share] => value.parse::<f64>().ok().zip(share.parse::<f64>().ok()),
                [value, skipped, share] if skipped.parse::<f64>().is_ok() => {
                    value.parse::<f64>().ok().zip(share.parse::<f64>().ok())
                }
                _ => None,
            };
            let (value, share) = point.ok_or_else(|| {
                format!("line {at}: must have a value and a share, got \"{}\"", line.trim())
            })?;
            if !(0.0..=MAX_FLOW).contains(&value) || !(0.0..=100.0).contains(&share) {
                return Err(format!(
                    "line {at}: the value must be from 0 to {MAX_FLOW} and the share from 0 to 100, got {value} \
                     {share}"
                ));
            }
            if points.last().is_some_and(|last| value < last.0 || share < last.1) {
                return Err(format!(
                    "line {at}: value and share must not be less than in the line before, got {value} {share}"
                ));
            }
            points.push((value, share));
            end = at;
        }
        match points.last().map(|last| last.1) {
            None => Err("the file must have at least one value".to_owned()),
            Some(1.0) => Ok(Self { points }),
            // HPCC's files have percentages, and HKUST's have shares from 0 to 1.
            Some(100.0) => {
                Ok(Self { points: points.into_iter().map(|(v, share)| (v, share / 100.0)).collect() })
            }
            Some(last) => Err(format!("line {end}: the last share must be 1 or 100, got {last}")),
        }
    }

    /// Returns the quantile `u`: the value up to which a share `u` of flows lies. `u` must be at most 1, the share of the last point.
    fn quantile(&self, u: f64) -> f64 {
        let index = self.points.partition_point(|point| point.1 < u);
        let (value, share) = self.points[index];
        match index.checked_sub(1).map(|before| self.points[before]) {
            Some((low, below)) if share > below => low + (value - low) * ((u - below) / (share - below)),
            _ => value,
        }
    }

    /// Returns the share of flows up to `value`.
    fn share_up_to(&self, value: f64) -> f64 {
        let index = self.points.partition_point(|point| point.0 <= value);
        let Some(before) = index.checked_sub(1) else {
            return 0.0;
        };
        let (low, below) = self.points[before];
        match self.points.get(index) {
            Some(&(high, above)) => below + (above - below) * ((value - low) / (high - low)),
            None => 1.0,
        }
    }

    /// Returns the distribution in which all values below `least` are replaced by `least`.
    fn at_least(&self, least: f64) -> Self {
        if self.points[0].0 >= least {
            return self.clone();
        }
        let kept = self.points.iter().copied().filter(|point| point.0 > least);
        Self { points: std::iter::once((least, self.share_up_to(least))).chain(kept).collect() }
    }

    /// Returns the intervals between consecutive points: the value at both ends, and the share of flows between them. The first interval
    /// has length zero and holds the flows up to the first value.
    fn stretches(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        let (first, share) = self.points[0];
        let rest = self.points.windows(2).map(|pair| (pair[0].0, pair[1].0, pair[1].1 - pair[0].1));
        std::iter::once((first, first, share)).chain(rest)
    }

    /// Returns the mean of the values before rounding.
    #[cfg(test)]
    fn mean(&self) -> f64 {
        self.stretches().map(|(from, to, share)| (from + to) / 2.0 * share).sum()
    }
}

impl Sizes {
    /// Creates the distribution of sizes from `cdf`, whose values count units of `unit` bytes. A size is at least one unit and at least
    /// `minimum`, rounded up to a whole unit.
    pub(crate) fn new(cdf: &Cdf, unit: Bytes, minimum: Bytes) -> Result<Self, String> {
        if unit.0 == 0 || minimum.0 == 0 {
            return Err(format!("unit and minimum must be above 0B, got {unit} and {minimum}"));
        }
        let largest = cdf.points[cdf.points.len() - 1].0 * unit.0 as f64;
        if largest > MAX_FLOW {
            return Err(format!("the largest flow must be at most {MAX_FLOW} bytes, got {largest}"));
        }
        Ok(Self { cdf: cdf.at_least(minimum.0.div_ceil(unit.0) as f64), unit: unit.0 })
    }

    /// Builds the distribution of sizes that `spec` describes. `read` returns the text of a file.
    pub(crate) fn build(
        spec: &Spec,
        read: impl FnOnce(&str) -> Option<String>,
    ) -> Result<Option<Self>, String> {
        let packets = Bytes(1_460);
        let (text, unit, sampling) = match spec {
            Spec::WebSearch(s) => (include_str!("../../data/web-search.cdf"), Bytes(1), s),
            Spec::DataMining(s) => (include_str!("../../data/data-mining.cdf"), Bytes(1), s),
            Spec::Cache(s) => (include_str!("../../data/cache.cdf"), Bytes(1), s),
            Spec::Hadoop(s) => (include_str!("../../data/hadoop.cdf"), Bytes(1), s),
            Spec::WebSearchPackets(s) => (include_str!("../../data/web-search-packets.cdf"), packets, s),
            Spec::DataMiningPackets(s) => (include_str!("../../data/data-mining-packets.cdf"), packets, s),
            Spec::CachePackets(s) => (include_str!("../../data/cache-packets.cdf"), packets, s),
            Spec::HadoopPackets(s) => (include_str!("../../data/hadoop-packets.cdf"), packets, s),
            Spec::Fixed(s) => {
                let cdf = Cdf { points: vec![(s.size.0.0 as f64, 1.0)] };
                return Self::new(&cdf, Bytes(1), s.size.0).map(Some);
            }
            Spec::Uniform(s) => {
                if s.from > s.to || s.from.0.0 == 0 {
                    return Err(format!(
                        "`from` must be above 0B and not larger than `to`, got from = {} and to = {}",
                        s.from, s.to
                    ));
                }
                // Draws are rounded up, so a range that begins at `from` − 1 makes every size from `from` to `to` equally likely.
                let cdf = Cdf { points: vec![((s.from.0.0 - 1) as f64, 0.0), (s.to.0.0 as f64, 1.0)] };
                return Self::new(&cdf, Bytes(1), s.from.0).map(Some);
            }
            Spec::File(s) => {
                let Some(text) = read(&s.path) else {
                    return Ok(None);
                };
                let cdf = Cdf::parse(&text).map_err(|error| format!("{}, {error}", s.path))?;
                return Self::new(&cdf, s.unit.0, s.minimum.0.0).map(Some);
            }
        };
        let Sampling { minimum: Minimum(minimum) } = sampling;
        Self::new(&Cdf::parse(text)?, unit, minimum.0).map(Some)
    }

    /// Returns the quantile `u`: the size up to which a share `u` of flows lies.
    pub(crate) fn quantile(&self, u: f64) -> Bytes {
        Bytes(self.cdf.quantile(u).ceil() as u64 * self.unit)
    }

    /// Returns the exact mean size in bytes, including the effect of rounding.
    pub(crate) fn mean(&self) -> f64 {
        self.expect(1, 1) * self.unit as f64
    }

    /// Returns the exact mean number of segments of a flow, if a segment has at most `mss` bytes.
    pub(crate) fn mean_segments(&self, mss: Bytes) -> f64 {
        self.expect(self.unit, mss.0)
    }

    /// Returns the mean of *⌈n · factor / divisor⌉*, where *n* is the random size of a flow in units.
    fn expect(&self, factor: u64, divisor: u64) -> f64 {
        let of = |units: u128| (units * u128::from(factor)).div_ceil(u128::from(divisor)) as f64;
        let stretch = |(from, to, share): (f64, f64, f64)| {
            let (first, last) = (from.floor() as u128 + 1, to.ceil() as u128);
            if to.ceil() <= from.ceil() || first >= last {
                // All sizes in the interval round up to the same number of units.
                return share * of(last);
            }
            let head = (first as f64 - from) * of(first);
            let tail = (to - (last - 1) as f64) * of(last);
            let middle = sum_of_ceilings(first + 1, last - 1, u128::from(factor), u128::from(divisor));
            share * (head + middle as f64 + tail) / (to - from)
        };
        self.cdf.stretches().filter(|stretch| stretch.2 > 0.0).map(stretch).sum()
    }
}

/// Returns *Σ ⌈n·a/d⌉* for *n* from `first` to `last`, or zero if the range is empty.
fn sum_of_ceilings(first: u128, last: u128, a: u128, d: u128) -> u128 {
    let below = |count: u128| sum_of_floors(count, d, a, d - 1);
    if last < first { 0 } else { below(last + 1) - below(first) }
}

/// Returns *Σ ⌊(a·i + b)/d⌋* for *i* from 0 to *count* − 1, in logarithmic time. Each step first sums the whole parts of a/d and b/d. The
/// remaining sum counts lattice points under a line, and the next step counts them along the other axis.
fn sum_of_floors(mut count: u128, mut d: u128, mut a: u128, mut b: u128) -> u128 {
    let mut sum = 0;
    while count > 0 {
        sum += (a / d) * (count * (count - 1) / 2) + (b / d) * count;
        (a, b) = (a % d, b % d);
        let top = a * count + b;
        (count, b) = (top / d, top % d);
        (d, a) = (a, d);
    }
    sum
}

#[cfg(test)]
mod tests;
