//! Reno: slow start, additive increase, halving (RFC 5681), with or without ECN (RFC 3168).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;

use super::interface::{Ack, Congestion, CongestionControl};
use super::window::Window;

/// Parameters of additive increase and halving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Reno")]
pub struct Config {
    /// Whether connections use classic ECN (RFC 3168). Default false.
    pub ecn: bool,
}

/// Reno; its only state is its window.
#[derive(Clone, Copy, Debug)]
pub struct Reno;

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        // RFC 3168 §6.1.2: an acknowledgement with ECE does not increase cwnd.
        if ack.growth.0 > 0 && !ack.ece {
            window.grow(ack.growth);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, congestion: Congestion, flight_size: Bytes) {
        match congestion {
            // RFC 3168 §6.1.2: ECE has the same effect as a loss; cwnd itself is halved.
            Congestion::Ecn => window.reduce(window.cwnd().0 / 2),
            Congestion::Loss => window.halve(flight_size),
            Congestion::Timeout => window.collapse(flight_size, false),
            Congestion::RepeatedTimeout => window.collapse(flight_size, true),
        }
    }
}
