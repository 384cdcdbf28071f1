//! Pulser: DCTCP with a brake that a switch's incast notification applies (Pulser, ANCS '19 §III-B).
//!
//! Rules where the paper is silent: while the brake is on, cwnd does not grow. Marks still change alpha and cut cwnd
//! below `safe_window`; the saved window keeps its value. A loss also halves the saved window, and cwnd stays at most
//! `safe_window`. A timeout, or a restart after idleness, discards the saved window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::packet::Flags;
use shallows_core::{Bytes, Duration};

use super::dctcp::{self, Dctcp};
use super::interface::{Ack, Congestion, CongestionControl};
use super::window::Window;

/// Parameters of [`Pulser`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Parameters of DCTCP, which Pulser extends.
    pub dctcp: dctcp::Config,
    /// cwnd while the brake is on (*cwnd_safe*); at least one segment. The paper uses four.
    pub safe_window: Bytes,
    /// Signal that releases the brake.
    pub restore: Restore,
    /// Signal that applies the brake.
    pub signal: Signal,
}

/// Signal that releases Pulser's brake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Restore {
    /// The first acknowledgement without the notification (the authors' testbed).
    #[default]
    FirstCleanAck,
    /// A window of data in which no acknowledgement carries the notification.
    CleanWindow,
}

/// Signal that applies the brake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signal {
    /// The echo of an explicit incast notification (§III).
    #[default]
    Incast,
    /// ECE. It applies the brake; the cut that DCTCP makes after ECE does not occur. The brake also sets ssthresh to the safe window (the
    /// authors' testbed, as released).
    Ece,
}

/// Pulser's state of one connection.
#[derive(Clone, Debug)]
pub struct Pulser {
    dctcp: Dctcp,
    safe_window: u64,
    restore: Restore,
    signal: Signal,
    brake: Option<Brake>,
}

#[derive(Clone, Copy, Debug)]
struct Brake {
    /// cwnd to restore when the brake is released.
    saved: u64,
    /// Highest sequence number sent before the last acknowledgement with the notification.
    sent: u64,
}

impl Pulser {
    /// Creates the state of a new connection.
    pub fn new(config: &Config) -> Self {
        Self {
            dctcp: Dctcp::new(&config.dctcp),
            safe_window: config.safe_window.0,
            restore: config.restore,
            signal: config.signal,
            brake: None,
        }
    }

    /// Applies the brake and saves the window, or releases the brake and restores the window (Pulser §III-B).
    fn steer(&mut self, window: &mut Window, ack: &Ack) {
        let signalled = match self.signal {
            Signal::Incast => ack.flags.contains(Flags::INCAST_ECHO),
            Signal::Ece => ack.ece,
        };
        match &mut self.brake {
            Some(brake) if signalled => brake.sent = ack.next,
            Some(brake) => {
                let released = match self.restore {
                    Restore::FirstCleanAck => true,
                    // All packets in flight at the last notification have been acknowledged.
                    Restore::CleanWindow => ack.number >= brake.sent,
                };
                if released {
                    let saved = brake.saved;
                    self.brake = None;
                    window.set_cwnd(saved);
                }
            }
            None if signalled => {
                self.brake = Some(Brake { saved: window.cwnd().0, sent: ack.next });
                self.hold(window);
                if self.signal == Signal::Ece {
                    window.set_ssthresh(self.safe_window);
                }
            }
            None => {}
        }
    }

    /// Limits cwnd to the safe window; does not raise a smaller cwnd.
    fn hold(&self, window: &mut Window) {
        window.set_cwnd(window.cwnd().0.min(self.safe_window));
    }
}

impl CongestionControl for Pulser {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.steer(window, ack);
        let growth = if self.brake.is_some() { Bytes(0) } else { ack.growth };
        self.dctcp.on_ack(window, &Ack { growth, ..*ack });
    }

    fn on_congestion(&mut self, window: &mut Window, congestion: Congestion, flight_size: Bytes) {
        match congestion {
            Congestion::Ecn if self.signal == Signal::Ece => return,
            Congestion::Ecn => {}
            Congestion::Loss => {
                if let Some(brake) = &mut self.brake {
                    brake.saved = (brake.saved / 2).max(2 * window.mss().0);
                }
            }
            Congestion::Timeout | Congestion::RepeatedTimeout => self.brake = None,
        }
        self.dctcp.on_congestion(window, congestion, flight_size);
        if self.brake.is_some() {
            self.hold(window);
        }
    }

    fn on_restart(&mut self, window: &mut Window, restart_window: Bytes) {
        self.brake = None;
        self.dctcp.on_restart(window, restart_window);
    }

    fn on_idle(&mut self, idle: Duration) {
        self.dctcp.on_idle(idle);
    }

    fn alpha(&self) -> Option<f64> {
        self.dctcp.alpha()
    }

    fn is_braking(&self) -> bool {
        self.brake.is_some()
    }
}
