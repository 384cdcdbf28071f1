//! A window that comes down over a round trip after an ECN echo, as Linux's does in the state that it calls CWR.
//!
//! The congestion control says where the window goes; here is how it gets there: by proportional rate reduction, as in
//! Linux's `tcp_cwnd_reduction`, whose formulas are those of RFC 6937. Nothing grows meanwhile.

use crate::recovery::{Bound, Delivery, Prr};

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
        self.prr.on_ack(Delivery { bytes: delivered, safe: false }, flight, self.target, mss);
        // Linux: one segment goes at once. It is there for fast retransmit, but CWR has it, too.
        flight + self.prr.allowed().max(if self.sent { 0 } else { mss })
    }

    /// A segment of `len` bytes was sent.
    pub(super) fn on_send(&mut self, len: u64) {
        self.sent = true;
        self.prr.on_send(len);
    }
}
