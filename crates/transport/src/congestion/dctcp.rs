//! DCTCP: cuts the window in proportion to the fraction of marked bytes (RFC 8257).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;

use super::interface::{Ack, Congestion, CongestionControl};
use super::window::Window;

/// Parameters of a cut in proportion to the fraction of marked bytes. The defaults are RFC 8257's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Dctcp")]
pub struct Config {
    /// Weight of the newest window in alpha, above 0 and at most 1. Default 1/16 (RFC 8257 §4.2).
    #[serde(rename = "g")]
    pub gain: f64,
    /// Alpha of a new connection, 0 to 1. Default 1 (RFC 8257 §3.3, Linux); the papers' simulators start with 0.
    pub initial_alpha: f64,
    /// Acknowledgement that ends an observation window. Default `"passed"`.
    pub window_end: WindowEnd,
    /// Whether duplicate acknowledgements count in the fraction of marked bytes. Default `"ignored"`.
    pub duplicate_acks: DuplicateAcks,
    /// Acknowledgements with ECE that grow cwnd; an acknowledgement that cuts cwnd never grows it. Default `"all"`.
    pub ece_growth: EceGrowth,
    /// Arithmetic of alpha. Default `"float"`.
    pub arithmetic: Arithmetic,
}

/// Arithmetic that computes alpha and reductions of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arithmetic {
    /// Alpha is a floating-point number. A value below 2⁻³⁰ becomes zero (ns-2, ns-3).
    #[default]
    Float,
    /// Alpha is a whole number of 1,024ths. A value too small to decay becomes zero (Linux). The gain `g` is 1, 1/2, 1/4, … or 1/1024.
    Fixed,
    /// Alpha is a whole number of 1,024ths. A cut is a whole number of segments, rounded down (Linux): a window of three segments loses at
    /// most one.
    Segments,
}

/// Acknowledgement that ends an observation window. The window's end is the highest sequence number that was sent before the window
/// began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowEnd {
    /// The first acknowledgement above the window's end (RFC 8257 §3.3 step 4; ns-2).
    #[default]
    Passed,
    /// The first acknowledgement that reaches the window's end (Linux, ns-3).
    Reached,
}

/// Whether duplicate acknowledgements count in the fraction of marked bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DuplicateAcks {
    /// Duplicate acknowledgements cover no new bytes, so they do not count (RFC 8257 §3.3 step 1).
    #[default]
    Ignored,
    /// Each duplicate acknowledgement counts as one segment (ns-2).
    OneSegment,
}

/// Acknowledgements with ECE that grow cwnd. The acknowledgement that cuts cwnd never grows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EceGrowth {
    /// All acknowledgements with ECE: DCTCP does not change the growth of cwnd (RFC 8257 §3.4).
    #[default]
    All,
    /// All acknowledgements with ECE, except the first of several in a row (ns-2's `ecn_burst_`).
    NotFirst,
    /// No acknowledgement with ECE grows cwnd (RFC 3168 §6.1.2).
    None,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // RFC 8257 §4.2: 1/16.
            gain: 1.0 / 16.0,
            initial_alpha: 1.0,
            window_end: WindowEnd::default(),
            duplicate_acks: DuplicateAcks::default(),
            ece_growth: EceGrowth::default(),
            arithmetic: Arithmetic::default(),
        }
    }
}

/// DCTCP's state of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    alpha: f64,
    gain: f64,
    observation_end: u64,
    bytes_acked: u64,
    bytes_marked: u64,
    window_end: WindowEnd,
    duplicate_acks: DuplicateAcks,
    ece_growth: EceGrowth,
    arithmetic: Arithmetic,
    previous_ece: bool,
    /// Whether the last two acknowledgements carried ECE.
    in_run: bool,
}

/// Number of 1,024ths in an alpha of 1, for [`Arithmetic::Fixed`].
const FIXED_ONE: f64 = 1_024.0;

/// Smallest alpha above zero; smaller values become zero. They would not remove a byte from a cwnd of up to 2³⁰ bytes, and RFC 8257 §4.2
/// requires that alpha can reach zero, which a decaying fraction never does.
const NEGLIGIBLE: f64 = 1.0 / (1 << 30) as f64;

impl Dctcp {
    /// Creates the state of a new connection.
    pub fn new(config: &Config) -> Self {
        Self {
            alpha: config.initial_alpha,
            gain: config.gain,
            observation_end: 0,
            bytes_acked: 0,
            bytes_marked: 0,
            window_end: config.window_end,
            duplicate_acks: config.duplicate_acks,
            ece_growth: config.ece_growth,
            arithmetic: config.arithmetic,
            previous_ece: false,
            in_run: false,
        }
    }

    /// Counts an acknowledgement's bytes, and ends the observation window if due (RFC 8257 §3.3 steps 1 to 4).
    #[inline]
    fn observe(&mut self, mss: Bytes, ack: &Ack) {
        let bytes = match self.duplicate_acks {
            DuplicateAcks::OneSegment if ack.acked == Bytes(0) => mss.0,
            _ => ack.acked.0,
        };
        self.bytes_acked += bytes;
        if ack.ece {
            self.bytes_marked += bytes;
        }
        let ended = match self.window_end {
            WindowEnd::Passed => ack.number > self.observation_end,
            WindowEnd::Reached => ack.number >= self.observation_end,
        };
        if ended && self.bytes_acked > 0 {
            self.update_alpha(ack.next);
        }
    }

    /// Updates alpha at the end of an observation window (RFC 8257 §3.3 steps 5 to 8).
    fn update_alpha(&mut self, next: u64) {
        self.alpha = match self.arithmetic {
            Arithmetic::Float => {
                let fraction = self.bytes_marked as f64 / self.bytes_acked as f64;
                let alpha = self.alpha * (1.0 - self.gain) + self.gain * fraction;
                if alpha < NEGLIGIBLE { 0.0 } else { alpha }
            }
            Arithmetic::Fixed | Arithmetic::Segments => self.fixed_alpha(),
        };
        debug_assert!((0.0..=1.0).contains(&self.alpha));
        self.observation_end = next;
        self.bytes_acked = 0;
        self.bytes_marked = 0;
    }

    /// Returns the updated alpha, computed in 1,024ths (RFC 8257 §3.3 step 7) with each term rounded down. If the decay rounds to zero, the
    /// old alpha is dropped entirely (§4.2: alpha must be able to reach zero), as in Linux's tcp_dctcp.c. Linux counts packets instead of
    /// bytes.
    #[cold]
    fn fixed_alpha(&self) -> f64 {
        let alpha = (self.alpha * FIXED_ONE) as u64;
        let decay = match (alpha as f64 * self.gain) as u64 {
            0 => alpha,
            decay => decay,
        };
        let weight = (FIXED_ONE * self.gain) as u64;
        let rise = u128::from(self.bytes_marked) * u128::from(weight) / u128::from(self.bytes_acked);
        ((alpha - decay) as f64 + rise as f64) / FIXED_ONE
    }

    /// Returns cwnd after a cut (RFC 8257 §3.3 step 9). With [`Arithmetic::Segments`], the result is in whole segments (Linux,
    /// `dctcp_ssthresh`).
    fn cut(&self, cwnd: Bytes, mss: Bytes) -> u64 {
        if self.arithmetic != Arithmetic::Segments {
            return cwnd.0 - cwnd.scale(self.alpha / 2.0).0;
        }
        let segments = cwnd.0 / mss.0;
        let alpha = (self.alpha * FIXED_ONE) as u64;
        (segments - ((segments * alpha) >> 11)) * mss.0
    }

    #[inline]
    fn grows(&self, ack: &Ack) -> bool {
        let held_back = ack.ece
            && match self.ece_growth {
                EceGrowth::All => false,
                EceGrowth::NotFirst => !self.previous_ece,
                EceGrowth::None => true,
            };
        ack.growth.0 > 0 && !held_back
    }
}

impl CongestionControl for Dctcp {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.observe(window.mss(), ack);
        if self.grows(ack) {
            window.grow(ack.growth);
        }
        self.in_run = ack.ece && self.previous_ece;
        self.previous_ece = ack.ece;
    }

    fn on_congestion(&mut self, window: &mut Window, congestion: Congestion, flight_size: Bytes) {
        match congestion {
            // RFC 8257 §3.3 step 9: cwnd × (1 − alpha / 2).
            Congestion::Ecn => {
                window.reduce(self.cut(window.cwnd(), window.mss()));
                if self.in_run && self.ece_growth == EceGrowth::NotFirst {
                    // ns-2 cuts first, and then counts every acknowledgement within a run.
                    window.count_reducing_ack();
                }
            }
            // RFC 8257 §3.5: as conventional TCP, for any alpha.
            Congestion::Loss => window.halve(flight_size),
            Congestion::Timeout => window.collapse(flight_size, false),
            Congestion::RepeatedTimeout => window.collapse(flight_size, true),
        }
    }

    fn alpha(&self) -> Option<f64> {
        Some(self.alpha)
    }
}
