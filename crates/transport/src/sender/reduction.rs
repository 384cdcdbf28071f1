//! Gradual reduction of a window over a round trip after an ECN echo, as in Linux's CWR state.
//!
//! The congestion control sets the target. The window falls by proportional rate reduction, as in Linux's
//! `tcp_cwnd_reduction` with the formulas of RFC 6937, and does not grow meanwhile.

use crate::recovery::{Bound, Delivery, Prr};

/// Reduction from one window to a smaller one.
#[derive(Debug)]
pub(super) struct Reduction {
    prr: Prr,
    target: u64,
    /// Whether any segment was sent since the start of the reduction.
    sent: bool,
}

impl Reduction {
    /// Starts the reduction of a window of `prior` bytes to `target`. As in Linux, the reduction is proportional to the whole window; RFC
    /// 6937 §3 uses the data in flight (RecoverFS).
    pub(super) fn new(prior: u64, target: u64) -> Self {
        Self { prr: Prr::new(Bound::SlowStart, prior), target, sent: false }
    }

    /// Returns the target window.
    pub(super) fn target(&self) -> u64 {
        self.target
    }

    /// Returns cwnd after an acknowledgement of `delivered` bytes that leaves `flight` bytes outstanding.
    pub(super) fn on_ack(&mut self, delivered: u64, flight: u64, mss: u64) -> u64 {
        self.prr.on_ack(Delivery { bytes: delivered, safe: false }, flight, self.target, mss);
        // Linux sends one segment at once. This rule is for fast retransmit, but also applies in the CWR state.
        flight + self.prr.allowed().max(if self.sent { 0 } else { mss })
    }

    /// Records that a segment of `len` bytes was sent.
    pub(super) fn on_send(&mut self, len: u64) {
        self.sent = true;
        self.prr.on_send(len);
    }
}
