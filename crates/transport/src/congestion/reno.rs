//! Reno: slow start, additive increase, halving (RFC 5681), with or without ECN (RFC 3168).

use shallows_core::Bytes;

use super::{Ack, Congestion, CongestionControl, Window};

/// Parameters of [`Reno`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Whether connections use classic ECN.
    pub ecn: bool,
}

/// The state of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Reno {
    window: Window,
}

impl Reno {
    /// A new connection that starts with `window`.
    pub fn new(window: Window) -> Self {
        Self { window }
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        // RFC 3168 §6.1.2: an acknowledgement with ECE does not increase cwnd.
        if ack.may_grow && !ack.ece {
            self.window.grow(ack.acked);
        }
    }

    fn on_congestion(&mut self, congestion: Congestion, flight_size: Bytes) {
        match congestion {
            // RFC 3168 §6.1.2: as for a loss; cwnd itself is halved.
            Congestion::Ecn => self.window.reduce(self.window.cwnd().0 / 2),
            Congestion::Loss => self.window.halve(flight_size),
            Congestion::Timeout => self.window.collapse(flight_size, false),
            Congestion::RepeatedTimeout => self.window.collapse(flight_size, true),
        }
    }

    #[inline]
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }
}
