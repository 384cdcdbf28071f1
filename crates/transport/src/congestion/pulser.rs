//! Pulser: DCTCP that brakes when a switch says that an incast begins (Pulser, ANCS '19 §III-B).
//!
//! What the paper leaves open is decided so. While the brake is on, cwnd does not grow. Marks go on to move alpha and to
//! cut cwnd below `safe_window`; what was saved is as the brake found it. A loss halves what was saved, too, and cwnd
//! stays at most `safe_window`. A timeout, and a restart after idleness, forget what was saved.

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
    /// What it is without the brake.
    pub dctcp: dctcp::Config,
    /// cwnd while the brake is on (*cwnd_safe*); at least one segment. The paper: four.
    pub safe_window: Bytes,
    /// What lets the brake go.
    pub restore: Restore,
    /// What pulls the brake.
    pub signal: Signal,
}

/// What lets Pulser's brake go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Restore {
    /// The first acknowledgement without the signal (the authors' testbed).
    #[default]
    FirstCleanAck,
    /// A window of data, all of whose acknowledgements are without it.
    CleanWindow,
}

/// What pulls the brake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signal {
    /// The echo of an explicit incast notification (§III).
    #[default]
    Incast,
    /// ECE, which then cuts cwnd in no other way, and sets ssthresh to the safe window: the testbed as released.
    Ece,
}

/// The state of one connection.
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
    /// cwnd to return to.
    saved: u64,
    /// What was sent by the last acknowledgement with the signal.
    sent: u64,
}

impl Pulser {
    /// A new connection.
    pub fn new(config: &Config) -> Self {
        Self {
            dctcp: Dctcp::new(&config.dctcp),
            safe_window: config.safe_window.0,
            restore: config.restore,
            signal: config.signal,
            brake: None,
        }
    }

    /// Pulser §III-B: the window is saved once, and returns when a batch of acknowledgements has no signal.
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
                    // All that was on its way then has been heard of.
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

    /// cwnd is at most the safe window; a smaller one is not raised.
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
