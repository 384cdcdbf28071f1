//! A token bucket that limits an egress port below the rate of its link.

use shallows_core::{Bytes, Duration, Instant, Rate};

/// Rate and depth of a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Long-run rate, in bits per second on the wire.
    pub rate: Rate,
    /// Depth of the bucket: in any time *t*, at most this many bytes pass in addition to *rate · t*. A packet larger than the bucket
    /// waits until the bucket is full.
    pub burst: Bytes,
}

/// A token bucket: in any time *t*, at most *burst + rate · t* bytes pass. The bucket starts full.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    config: Config,
    /// Time at which the bucket will be full if no more packets pass. It determines the number of tokens in the bucket: the missing tokens
    /// are those that arrive between now and this time.
    full_at: Instant,
}

impl TokenBucket {
    /// Creates a full bucket.
    ///
    /// # Panics
    ///
    /// Panics if the rate is zero.
    pub fn new(config: Config) -> Self {
        assert!(config.rate.0 > 0, "a token bucket that never fills lets nothing pass");
        Self { config, full_at: Instant::ZERO }
    }

    /// Returns the earliest time at which a packet of `size` may leave. A packet larger than the bucket waits until the
    /// bucket is full.
    pub fn ready_at(&self, now: Instant, size: Bytes) -> Instant {
        // At time t the bucket holds burst − rate · (full_at − t) tokens. They suffice from full_at − (burst − size)/rate on.
        let slack = self.config.rate.transmission_time(self.config.burst.saturating_sub(size));
        now.max(Instant(self.full_at.0.saturating_sub(slack.0)))
    }

    /// Takes tokens for a packet of `size` that leaves now.
    pub fn take(&mut self, now: Instant, size: Bytes) {
        let refill: Duration = self.config.rate.transmission_time(size);
        self.full_at = self.full_at.max(now) + refill;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// In any sequence of departures, bytes ≤ burst + rate · time. While packets wait, the bucket wastes no tokens.
        #[test]
        fn what_passes_stays_below_the_arrival_curve_and_reaches_it(
            sizes in prop::collection::vec(64u64..1_600, 2..60),
            burst in 1_600u64..6_000,
            gbps in 1u64..20,
        ) {
            let rate = Rate::from_gbps(gbps);
            let mut bucket = TokenBucket::new(Config { rate, burst: Bytes(burst) });
            let mut now = Instant::ZERO;
            let mut sent = Vec::new();
            for &size in &sizes {
                now = bucket.ready_at(now, Bytes(size));
                bucket.take(now, Bytes(size));
                sent.push((now, size));
            }
            for first in 0..sent.len() {
                let mut bytes = 0;
                for &(at, size) in &sent[first..] {
                    bytes += size;
                    let time = (at - sent[first].0).0 as f64 * 1e-12;
                    // The times are rounded by up to one picosecond per packet.
                    let curve = burst as f64 + rate.0 as f64 / 8.0 * (time + 1e-12 * sizes.len() as f64);
                    prop_assert!(bytes as f64 <= curve + 1e-6, "{} > {}", bytes, curve);
                }
            }
            let total: u64 = sizes.iter().sum();
            let last = rate.transmission_time(Bytes(total.saturating_sub(burst))).0;
            prop_assert!(now.0.abs_diff(last) <= sizes.len() as u64, "ends at {} instead of {}", now.0, last);
        }
    }

    #[test]
    fn an_idle_bucket_fills_and_no_further() {
        // 1 Gbit/s is 125 B/µs: after 2,000 B at once, a bucket of 2,000 B needs 12 µs until 1,500 B may pass.
        let mut bucket = TokenBucket::new(Config { rate: Rate::from_gbps(1), burst: Bytes(2_000) });
        bucket.take(Instant::ZERO, Bytes(2_000));
        assert_eq!(bucket.ready_at(Instant::ZERO, Bytes(1_500)), Instant::ZERO + Duration::from_micros(12));
        let later = Instant::ZERO + Duration::from_millis(1);
        assert_eq!(bucket.ready_at(later, Bytes(2_000)), later);
        bucket.take(later, Bytes(2_000));
        assert_eq!(bucket.ready_at(later, Bytes(2_000)), later + Duration::from_micros(16));
    }
}
