//! State of a sender, for its driver and for traces.

use shallows_core::{Bytes, Duration};

use super::Sender;
use super::interface::{Phase, Stats};
use crate::config::Config;
use crate::congestion::CongestionControl;
use crate::recovery::Recovery;

impl Sender {
    /// Returns the number of acknowledged bytes (SND.UNA); a FIN counts as one byte.
    #[inline]
    pub fn acked(&self) -> u64 {
        self.una
    }

    /// Returns the number of bytes sent at least once (SND.NXT).
    pub fn sent(&self) -> u64 {
        self.next
    }

    /// Returns the number of bytes that the application has written, including a FIN.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns whether all written data has been acknowledged.
    pub fn is_idle(&self) -> bool {
        self.una == self.written
    }

    /// Returns the statistics so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Returns the congestion window.
    #[inline]
    pub fn cwnd(&self) -> Bytes {
        self.pace().window
    }

    /// Returns cwnd with the inflation of fast recovery (RFC 5681 §3.2 step 4); cwnd outside fast recovery.
    pub fn inflated_window(&self, config: &Config) -> Bytes {
        let cwnd = self.cwnd();
        let recovery = self.recovery.as_ref().filter(|_| self.disordered);
        recovery.map_or(cwnd, |recovery| Bytes(recovery.inflated(config, cwnd.0)))
    }

    /// Returns the slow start threshold.
    pub fn ssthresh(&self) -> Bytes {
        self.window.ssthresh()
    }

    /// Returns DCTCP's estimate of the fraction of marked bytes, if the congestion control has one.
    pub fn alpha(&self) -> Option<f64> {
        self.congestion.alpha()
    }

    /// Returns the smoothed round-trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }

    /// Returns the retransmission timeout, including back-off.
    pub fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// Returns the estimated number of bytes in flight (RFC 6675 `pipe`).
    pub fn pipe(&self) -> Bytes {
        match &self.recovery {
            Some(recovery) if self.disordered => Bytes(recovery.pipe(self.outstanding())),
            _ => Bytes(self.next - self.una),
        }
    }

    /// Returns whether the sender repairs a loss that duplicate acknowledgements revealed.
    pub fn in_fast_recovery(&self) -> bool {
        let data = self.outstanding();
        self.disordered && self.recovery.as_ref().is_some_and(|recovery| recovery.is_fast(data))
    }

    /// Returns the current activity of the sender. While the sender repairs a loss, a brake is not reported. A reduction of the window
    /// after ECN marks is never reported.
    pub fn phase(&self) -> Phase {
        let data = self.outstanding();
        match self.recovery.as_ref().filter(|_| self.disordered) {
            Some(recovery) if recovery.is_after_timeout(data) => Phase::Timeout,
            Some(recovery) if recovery.is_fast(data) => Phase::Recovery,
            _ if self.congestion.is_braking() => Phase::Braking,
            _ => Phase::Open,
        }
    }

    /// Returns whether the connection repairs a loss. With RACK, `disordered` is always set, so only the phase shows ongoing repairs.
    pub(super) fn repairs(&self) -> bool {
        let every_segment = matches!(self.recovery.as_deref(), Some(Recovery::Rack(_)));
        self.disordered && !(every_segment && self.phase() == Phase::Open)
    }
}
