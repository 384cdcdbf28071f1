//! The retransmission timeout from measured round-trip times (RFC 6298).
//!
//! The gains of the averages assume one sample per round trip. RFC 7323 appendix G scales the gains if every acknowledgement gives a
//! sample; Linux, ns-2 and this file do not scale them.

use shallows_core::Duration;

/// Bounds of the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Timeout before the first RTT sample (RFC 6298 §2.1).
    pub initial: Duration,
    /// Smallest timeout (§2.4).
    pub minimum: Duration,
    /// Largest timeout, with or without back-off (§2.5); at least `minimum` and `initial`.
    pub maximum: Duration,
    /// *G*: lower bound of the term 4 RTTVAR (§2.2).
    pub granularity: Duration,
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            minimum: Duration::from_secs(1),
            maximum: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
        }
    }
}

/// SRTT, RTTVAR and RTO of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttEstimator {
    /// Smoothed round-trip time; `Duration::MAX` before the first sample.
    srtt: Duration,
    rttvar: Duration,
    rto: Duration,
}

impl RttEstimator {
    pub(crate) fn new(config: &RtoConfig) -> Self {
        Self { srtt: Duration::MAX, rttvar: Duration::ZERO, rto: config.initial }
    }

    /// Adds the round-trip time of a segment that was sent once. Ends a back-off (RFC 6298 §5, last note).
    #[inline]
    pub(crate) fn on_sample(&mut self, config: &RtoConfig, rtt: Duration) {
        if self.srtt == Duration::MAX {
            // RFC 6298 §2.2.
            self.srtt = rtt;
            self.rttvar = rtt / 2;
        } else {
            // RFC 6298 §2.3: RTTVAR first, with the old SRTT; gains 1/4 and 1/8.
            self.rttvar = (self.rttvar * 3 + self.srtt.abs_diff(rtt)) / 4;
            self.srtt = (self.srtt * 7 + rtt) / 8;
        }
        // RFC 6298 §2.4, §2.5.
        self.end_back_off(config);
    }

    /// Doubles the timeout after the timer has fired (RFC 6298 §5.5).
    pub(crate) fn back_off(&mut self, config: &RtoConfig) {
        self.rto = self.rto.saturating_double(1).min(config.maximum);
    }

    /// Ends a back-off without a sample.
    pub(crate) fn end_back_off(&mut self, config: &RtoConfig) {
        self.rto = self.unbounded(config).clamp(config.minimum, config.maximum);
    }

    /// Raises the timeout to at least 3 s after a lost SYN (RFC 6298 §5.7), but not above its maximum.
    pub(crate) fn fall_back(&mut self, config: &RtoConfig) {
        self.rto = self.rto.max(Duration::from_secs(3)).min(config.maximum);
    }

    /// Returns the timeout that follows from the RTT samples, before bounds and back-off apply.
    pub(crate) fn unbounded(&self, config: &RtoConfig) -> Duration {
        self.srtt().map_or(config.initial, |srtt| srtt + config.granularity.max(self.rttvar * 4))
    }

    #[inline]
    pub(crate) fn rto(&self) -> Duration {
        self.rto
    }

    /// Returns the stored SRTT: `Duration::MAX` before the first sample.
    #[inline]
    pub(crate) fn raw_srtt(&self) -> Duration {
        self.srtt
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        (self.srtt != Duration::MAX).then_some(self.srtt)
    }
}
