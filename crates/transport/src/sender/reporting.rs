//! State that a sender reports.

use shallows_core::{Bytes, Duration};

use super::Sender;
use super::interface::{Phase, Stats};
use crate::config::Config;
use crate::congestion::CongestionControl;

impl Sender {
    /// Acknowledged bytes from the first on (SND.UNA); a FIN counts as one.
    #[inline]
    pub fn acked(&self) -> u64 {
        self.una
    }

    /// Bytes sent at least once (SND.NXT).
    pub fn sent(&self) -> u64 {
        self.next
    }

    /// Bytes that the application has written, including a FIN.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Whether everything written has been acknowledged.
    pub fn is_idle(&self) -> bool {
        self.una == self.written
    }

    /// Statistics so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The congestion window.
    #[inline]
    pub fn cwnd(&self) -> Bytes {
        self.pace().window
    }

    /// cwnd with the inflation of fast recovery (RFC 5681 §3.2 step 4); otherwise cwnd.
    pub fn inflated_window(&self, config: &Config) -> Bytes {
        let cwnd = self.cwnd();
        let recovery = self.recovery.as_ref().filter(|_| self.disordered);
        recovery.map_or(cwnd, |recovery| Bytes(recovery.inflated(config, cwnd.0)))
    }

    /// The slow start threshold.
    pub fn ssthresh(&self) -> Bytes {
        self.window.ssthresh()
    }

    /// DCTCP's estimate of the fraction of marked bytes, if there is one.
    pub fn alpha(&self) -> Option<f64> {
        self.congestion.alpha()
    }

    /// Smoothed round-trip time, after the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }

    /// Retransmission timeout, including back-off.
    pub fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// Estimated bytes in the network (RFC 6675 `pipe`).
    pub fn pipe(&self) -> Bytes {
        match &self.recovery {
            Some(recovery) if self.disordered => Bytes(recovery.pipe(self.outstanding())),
            _ => Bytes(self.next - self.una),
        }
    }

    /// Whether the sender repairs a loss that duplicate acknowledgements revealed.
    pub fn in_fast_recovery(&self) -> bool {
        let data = self.outstanding();
        self.disordered && self.recovery.as_ref().is_some_and(|recovery| recovery.is_fast(data))
    }

    /// Current activity. The repair of a loss hides a brake.
    pub fn phase(&self) -> Phase {
        let data = self.outstanding();
        match self.recovery.as_ref().filter(|_| self.disordered) {
            Some(recovery) if recovery.is_after_timeout(data) => Phase::Timeout,
            Some(recovery) if recovery.is_fast(data) => Phase::Recovery,
            _ if self.congestion.is_braking() => Phase::Braking,
            _ => Phase::Open,
        }
    }
}
