//! `[tcp.congestion]`: the congestion control of connections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Duration};
use shallows_transport::congestion::cubic::{self, Counting};
use shallows_transport::congestion::pulser::{self, Restore, Signal};
use shallows_transport::congestion::{Config, dctcp, hystart, reno};

use super::omitted::is_default;
use crate::quantity::{Time, Window};
use crate::tagged::tagged;

tagged! {
    /// Congestion control: how the window reacts to signals of congestion.
    Congestion, "congestion control" {
        /// Additive increase, and halving after a loss (RFC 5681).
        "reno" => Reno(reno::Config),
        /// ECN*, the papers' name for regular TCP with ECN: `reno` with `ecn = true`, and with `ect = "all"` unless `tcp.ect` is set.
        "ecn-star" => EcnStar(EcnStar),
        /// Reduction of the window in proportion to the fraction of marked bytes (RFC 8257).
        "dctcp" => Dctcp(dctcp::Config),
        /// Growth of the window by a cubic function of the time since the last reduction (RFC 9438).
        "cubic" => Cubic(Cubic),
        /// DCTCP with a brake for incast (Pulser, ANCS '19).
        "pulser" => Pulser(Pulser),
    }
}

/// Additive increase, and halving after marks as well as losses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EcnStar {}

/// Growth of the window by a cubic function of the time since the last reduction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cubic {
    /// Whether connections use classic ECN (RFC 3168). Default false.
    #[serde(default)]
    pub(crate) ecn: bool,
    /// Factor C of the cubic function, in segments/s³, above 0. A larger factor gives faster growth. Default 0.4 (RFC 9438 §5).
    #[serde(default = "two_fifths")]
    pub(crate) c: f64,
    /// Factor by which a reduction multiplies the window, between 0 and 1. Default 0.7 (RFC 9438 §4.6).
    #[serde(default = "seven_tenths")]
    pub(crate) beta: f64,
    /// Whether fast convergence is on: after a reduction while the window is below its previous maximum, the flow aims for a new maximum
    /// below the window before the reduction. This leaves room for new flows. Default true (RFC 9438 §4.7).
    #[serde(default = "yes")]
    pub(crate) fast_convergence: bool,
    /// Rule that ends slow start before a loss occurs. Default `"off"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) hystart: HyStart,
    /// With `hystart = "linux"`: the smallest increase of the round-trip time that ends slow start (`HYSTART_DELAY_MIN`). Two other times
    /// are derived from it: `HYSTART_DELAY_MAX` is four times this value, and the longest gap in a train of acknowledgements is half of
    /// this value. Default 4 ms. For a testbed that slows network time N-fold, divide this value by N.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) hystart_delay: Option<Time>,
    /// Arithmetic of the window: exact, or in whole segments and clock ticks as in Linux. Default `"exact"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) counting: Counting,
    /// With `counting = "segments"`: length of a clock tick (Linux' jiffy, 1/HZ). If omitted or 0, time is continuous.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) tick: Option<Time>,
    /// With `counting = "segments"`: time for which an unchanged window is not recomputed (Linux: HZ/32 ticks). If omitted or 0, the window
    /// is always recomputed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) hold: Option<Time>,
}

/// Rule that ends slow start before a loss occurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HyStart {
    /// Slow start ends only with a loss, with a mark, or when the window reaches the slow-start threshold.
    #[default]
    Off,
    /// Slow start ends before a loss if round-trip times grow and a phase of slower window growth confirms this (HyStart++, RFC 9406).
    #[serde(rename = "hystart++")]
    PlusPlus,
    /// Slow start ends before a loss if a train of acknowledgements lasts half a round trip, or if round-trip times grow (Linux).
    Linux,
}

/// DCTCP that cuts its window to a safe size (the brake) during incast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pulser {
    /// Window while the brake is active. Default 4 segments (Pulser, §III-B).
    #[serde(default = "four_segments")]
    pub(crate) safe_window: Window,
    /// Condition that releases Pulser's brake. Default `"first-clean-ack"`.
    #[serde(default)]
    pub(crate) restore: Restore,
    /// Whether the brake works as in the testbed of Pulser's authors: ECE activates the brake and sets the slow-start threshold to the safe
    /// window, and has no other effect on the window. Default false: explicit incast notifications activate the brake.
    #[serde(default)]
    pub(crate) as_released: bool,
    /// Keys of DCTCP, as in the kind `dctcp`.
    #[serde(default)]
    pub(crate) dctcp: dctcp::Config,
}

impl Congestion {
    /// Returns the configuration of the algorithm for segments of `mss` bytes.
    pub(crate) fn config(&self, mss: Bytes) -> Config {
        match self {
            Self::Reno(c) => Config::Reno(*c),
            Self::EcnStar(_) => Config::Reno(reno::Config { ecn: true }),
            Self::Dctcp(c) => Config::Dctcp(*c),
            Self::Cubic(c) => Config::Cubic(cubic::Config {
                ecn: c.ecn,
                c: c.c,
                beta: c.beta,
                fast_convergence: c.fast_convergence,
                hystart: match c.hystart {
                    HyStart::Off => hystart::Config::Off,
                    HyStart::PlusPlus => hystart::Config::PlusPlus,
                    HyStart::Linux => c
                        .hystart_delay
                        .map_or(hystart::Config::LINUX, |delay| hystart::Config::Linux { delay: delay.0 }),
                },
                counting: c.counting,
                clock: cubic::Clock {
                    tick: c.tick.map_or(Duration::ZERO, |tick| tick.0),
                    hold: c.hold.map_or(Duration::ZERO, |hold| hold.0),
                },
            }),
            Self::Pulser(c) => Config::Pulser(pulser::Config {
                dctcp: c.dctcp,
                safe_window: c.safe_window.in_bytes(mss),
                restore: c.restore,
                signal: if c.as_released { Signal::Ece } else { Signal::Incast },
            }),
        }
    }
}

impl Default for Congestion {
    fn default() -> Self {
        Self::Dctcp(dctcp::Config::default())
    }
}

fn two_fifths() -> f64 {
    0.4
}

fn seven_tenths() -> f64 {
    0.7
}

fn four_segments() -> Window {
    Window::Segments(4)
}

fn yes() -> bool {
    true
}
