//! A sender whose window comes down over a round trip: what it sends and what it hears meanwhile.

use shallows_core::Instant;
use shallows_core::packet::AckSegment;

use super::Sender;
use super::interface::{Growth, Phase, State, Transmit};
use super::reduction::Reduction;
use crate::config::Config;
use crate::congestion::CongestionControl;

impl Sender {
    /// cwnd was `prior` until an echo, which acknowledged `acked` bytes, sent it elsewhere: let it go there slowly. Where
    /// something else is in charge, it is there at once.
    #[cold]
    pub(super) fn begin_reduction(&mut self, config: &Config, prior: u64, acked: u64) {
        if self.state != State::Open || self.phase() != Phase::Open {
            return;
        }
        self.reduction = Some(Box::new(Reduction::new(prior, self.cwnd().0)));
        self.state = State::Reducing;
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
        // Linux, `tcp_fastretrans_alert`: CWR ends with an acknowledgement of what was sent since it began. That one may grow
        // cwnd, or begin the next.
        if (self.reduce_from..=self.next).contains(&segment.ack) {
            self.end_reduction();
            return self.take_ack_rarely(config, now, segment, Growth::Allowed);
        }
        let una = self.una;
        self.state = State::Open;
        self.take_ack_rarely(config, now, segment, Growth::Frozen);
        if self.congestion.is_braking() {
            // It holds cwnd where it wants it.
            self.reduction = None;
        }
        if self.reduction.is_some() {
            self.state = State::Reducing;
            self.reduce_further(config, self.una - una);
        }
    }

    /// An acknowledgement of `delivered` bytes lets cwnd come down. One that delivers nothing changes nothing, as in Linux.
    pub(super) fn reduce_further(&mut self, config: &Config, delivered: u64) {
        let flight = self.next - self.una;
        if let Some(reduction) = self.reduction.as_mut().filter(|_| delivered > 0) {
            self.window.set_cwnd(reduction.on_ack(delivered, flight, config.mss.0));
        }
    }

    /// cwnd is where it was to go, be it that it came down there, or that something else happened.
    pub(super) fn end_reduction(&mut self) {
        if let Some(reduction) = self.reduction.take() {
            self.state = State::Open;
            self.window.set_cwnd(reduction.target());
        }
    }
}
