//! Data and rate that a sender offers to its host. The host forms bursts from the data.

use shallows_core::Bytes;

use super::Sender;
use super::interface::ConnectionState;
use crate::bursts::Backlog;
use crate::congestion::{CongestionControl, Pace};
use crate::pacing_rate::{Course, PacingRate};

impl Sender {
    /// Returns window and rate of the congestion control.
    #[inline]
    pub fn pace(&self) -> Pace {
        self.congestion.pace(&self.window)
    }

    /// Returns the rate that determines the size of the host's queue and the gaps between departures: the congestion control's rate, or
    /// otherwise Linux's pacing rate. `None` if the congestion control sets no rate and no round-trip time was measured yet.
    #[inline]
    pub fn pacing_rate(&self) -> Option<PacingRate> {
        let Pace { window: cwnd, rate } = self.pace();
        if let Some(rate) = rate {
            return Some(PacingRate::exactly(rate));
        }
        let (ssthresh, outstanding) = (self.window.ssthresh(), self.next - self.una);
        Some(PacingRate::of(Course { cwnd, ssthresh, outstanding, srtt: self.rtt.srtt()? }))
    }

    /// Returns the limit of outstanding data: the smaller of cwnd and the receiver's window.
    pub fn usable_window(&self) -> Bytes {
        self.cwnd().min(Bytes(self.limit - self.una))
    }

    /// Returns the data that is ready to send. `None` while a connection opens or repairs a loss, because the window then does
    /// not determine the next segment.
    pub fn backlog(&self) -> Option<Backlog> {
        if self.repairs() || !matches!(self.state, ConnectionState::Open | ConnectionState::Reducing) {
            return None;
        }
        let (cwnd, usable_window) = (self.cwnd(), self.usable_window());
        let end = self.written.min(self.una + usable_window.0);
        let sendable = Bytes(end.saturating_sub(self.next));
        let in_flight = Bytes(self.next - self.una);
        let is_all = self.next + sendable.0 == self.written;
        Some(Backlog { sendable, in_flight, is_all, cwnd, usable_window })
    }
}
