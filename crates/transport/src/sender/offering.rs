//! What a sender has to send and at what rate, as far as its host asks: bursts are made of it.

use shallows_core::Bytes;

use super::Sender;
use super::interface::State;
use crate::bursts::Backlog;
use crate::congestion::{CongestionControl, Pace};
use crate::pacing_rate::{Course, PacingRate};

impl Sender {
    /// How much may be sent, and how fast: what the congestion control answers.
    #[inline]
    pub fn pace(&self) -> Pace {
        self.congestion.pace(&self.window)
    }

    /// The rate that sizes what waits in the host and spaces what leaves it: that of the congestion control, if it answers one,
    /// or else Linux's, once there was a round trip.
    #[inline]
    pub fn pacing_rate(&self) -> Option<PacingRate> {
        let Pace { window: cwnd, rate } = self.pace();
        if let Some(rate) = rate {
            return Some(PacingRate::exactly(rate));
        }
        let (ssthresh, outstanding) = (self.window.ssthresh(), self.next - self.una);
        Some(PacingRate::of(Course { cwnd, ssthresh, outstanding, srtt: self.rtt.srtt()? }))
    }

    /// What may be outstanding: the smaller of cwnd and what the receiver offers.
    pub fn usable_window(&self) -> Bytes {
        self.cwnd().min(Bytes(self.limit - self.una))
    }

    /// What is there to send. None if something else than the window decides about what goes next: a connection that opens or
    /// repairs a loss.
    pub fn backlog(&self) -> Option<Backlog> {
        if self.disordered || !matches!(self.state, State::Open | State::Reducing) {
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
