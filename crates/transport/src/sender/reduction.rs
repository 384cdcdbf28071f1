//! A window that comes down over a round trip after an ECN echo, as Linux's does in the state that it calls CWR.
//!
//! The congestion control says where the window goes; here is how it gets there: by proportional rate reduction, as in
//! Linux's `tcp_cwnd_reduction`, whose formulas are those of RFC 6937. Nothing grows meanwhile.

use shallows_core::Instant;
use shallows_core::packet::Segment;

use super::{Growth, Phase, Sender, State, Transmit};
use crate::config::Config;
use crate::congestion::CongestionControl;
use crate::recovery::{Bound, Prr};

/// The way down from one window to a smaller one.
#[derive(Debug)]
pub(super) struct Reduction {
    prr: Prr,
    target: u64,
    /// Something was sent since it began.
    sent: bool,
}

impl Reduction {
    /// A window of `prior` bytes shall become one of `target`. Linux has the window, used or not, where RFC 6937 §3 has
    /// RecoverFS, what was in flight.
    pub(super) fn new(prior: u64, target: u64) -> Self {
        Self { prr: Prr::new(Bound::SlowStart, prior), target, sent: false }
    }

    /// Where it ends.
    pub(super) fn target(&self) -> u64 {
        self.target
    }

    /// cwnd after an acknowledgement of `delivered` bytes that leaves `flight` outstanding.
    pub(super) fn on_ack(&mut self, delivered: u64, flight: u64, mss: u64) -> u64 {
        self.prr.on_ack(delivered, flight, self.target, mss);
        // Linux: one segment goes at once. It is there for fast retransmit, but CWR has it, too.
        flight + self.prr.allowed().max(if self.sent { 0 } else { mss })
    }

    /// A segment of `len` bytes was sent.
    pub(super) fn on_send(&mut self, len: u64) {
        self.sent = true;
        self.prr.on_send(len);
    }
}

impl Sender {
    /// cwnd was `prior` until an echo, which acknowledged `acked` bytes, sent it elsewhere: let it go there slowly. Where
    /// something else is in charge, it is there at once.
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

    pub(super) fn on_ack_reducing(&mut self, config: &Config, now: Instant, segment: &Segment) {
        // Linux, `tcp_fastretrans_alert`: CWR ends with an acknowledgement of what was sent since it began. That one may grow
        // cwnd, or begin the next.
        if (self.reduce_from..=self.next).contains(&segment.ack) {
            self.end_reduction();
            return self.take_ack(config, now, segment, Growth::Allowed);
        }
        let una = self.una;
        self.state = State::Open;
        self.take_ack(config, now, segment, Growth::Frozen);
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
    fn reduce_further(&mut self, config: &Config, delivered: u64) {
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
