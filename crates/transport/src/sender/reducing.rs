//! Gradual reduction of a sender's window over a round trip after an ECN echo.

use shallows_core::Instant;
use shallows_core::packet::AckSegment;

use super::Sender;
use super::interface::{ConnectionState, Growth, Phase, Transmit};
use super::reduction::Reduction;
use crate::config::Config;
use crate::congestion::CongestionControl;

impl Sender {
    /// Begins the gradual reduction of cwnd from `prior`, after an echo that acknowledged `acked` bytes. If another mechanism controls the
    /// window, cwnd instead stays at the value to which it was cut.
    #[cold]
    pub(super) fn begin_reduction(&mut self, config: &Config, prior: u64, acked: u64) {
        if self.state != ConnectionState::Open || self.phase() != Phase::Open {
            return;
        }
        self.reduction = Some(Box::new(Reduction::new(prior, self.cwnd().0)));
        self.state = ConnectionState::Reducing;
        self.window.set_cwnd(prior);
        self.reduce_further(config, acked);
    }

    pub(super) fn poll_reducing(&mut self, config: &Config, now: Instant) -> Option<Transmit> {
        let transmit = if self.disordered {
            self.poll_disordered(config, now)
        } else {
            self.poll_in_order(config, now)
        }?;
        if let Some(reduction) = &mut self.reduction {
            reduction.on_send(u64::from(transmit.segment.len));
        }
        Some(transmit)
    }

    pub(super) fn on_ack_reducing(&mut self, config: &Config, now: Instant, segment: &AckSegment) {
        // Linux, `tcp_fastretrans_alert`: the CWR state ends with an acknowledgement of data sent since the state began. That
        // acknowledgement may grow cwnd, or begin the next reduction.
        if (self.reduce_from..=self.next).contains(&segment.ack) {
            self.end_reduction();
            return self.take_ack_rarely(config, now, segment, Growth::Allowed);
        }
        let una = self.una;
        self.state = ConnectionState::Open;
        self.take_ack_rarely(config, now, segment, Growth::Frozen);
        if self.congestion.is_braking() {
            // The congestion control now limits cwnd to its own value.
            self.reduction = None;
        }
        if self.reduction.is_some() {
            self.state = ConnectionState::Reducing;
            self.reduce_further(config, self.una - una);
        }
    }

    /// Lowers cwnd after an acknowledgement of `delivered` bytes. An acknowledgement of no new data has no effect, as in Linux.
    pub(super) fn reduce_further(&mut self, config: &Config, delivered: u64) {
        let flight = self.next - self.una;
        if let Some(reduction) = self.reduction.as_mut().filter(|_| delivered > 0) {
            self.window.set_cwnd(reduction.on_ack(delivered, flight, config.mss.0));
        }
    }

    /// Sets cwnd to the target and ends the reduction, because it is complete or another mechanism takes over.
    pub(super) fn end_reduction(&mut self) {
        if let Some(reduction) = self.reduction.take() {
            self.state = ConnectionState::Open;
            self.window.set_cwnd(reduction.target());
        }
    }
}
