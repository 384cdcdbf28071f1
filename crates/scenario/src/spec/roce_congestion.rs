//! `[roce.congestion]`: congestion control of queue pairs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Duration, Rate};

use crate::quantity::{Size, Speed, Time};
use crate::tagged::tagged;

tagged! {
    /// Congestion control of queue pairs.
    RoceCongestion, "congestion control" {
        /// Queue pairs send at line rate.
        "none" => None(NoControl),
        /// DCQCN (SIGCOMM '15): the rate falls with congestion notification packets, and a timer and a byte counter raise it again.
        "dcqcn" => Dcqcn(Dcqcn),
        /// DCQCN as ConnectX NICs run it, with three periodic timers and without a byte counter.
        "dcqcn-connectx" => ConnectX(ConnectX),
    }
}

/// No congestion control.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoControl {}

/// DCQCN's reaction point. The defaults are those of the paper (table 14).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dcqcn {
    /// Weight g of the newest observation in α, above 0 and at most 1. Default 1/256.
    #[serde(default = "paper_gain")]
    pub(crate) gain: f64,
    /// Time without a CNP after which α decreases; longer than `roce.cnp.interval`. Default `"55us"`.
    #[serde(default = "us55")]
    pub(crate) alpha_period: Time,
    /// Period of the timer that increases the rate. Default `"55us"`.
    #[serde(default = "us55")]
    pub(crate) increase_period: Time,
    /// Number of bytes after which the byte counter increases the rate; `"0B"` for no byte counter. Default `"10MB"`.
    #[serde(default = "mb10")]
    pub(crate) increase_bytes: Size,
    /// Number F of increases in fast recovery, by the timer and by the byte counter. Default 5.
    #[serde(default = "five")]
    pub(crate) fast_recovery: u32,
    /// Rate R_AI that an additive increase adds to the target rate. Default `"40Mbps"`.
    #[serde(default = "mbps40")]
    pub(crate) additive_increase: Speed,
    /// Rate that a hyper increase adds to the target rate. Default: no hyper increase, as in the paper's table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hyper_increase: Option<Speed>,
    /// Smallest rate. Default `"10Mbps"`.
    #[serde(default = "mbps10")]
    pub(crate) min_rate: Speed,
    /// Window beside the rate. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<RateWindow>,
}

/// Reaction point of ConnectX NICs. Keys that are left out have the values of `preset`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConnectX {
    /// Source of the keys that are left out. Default `"connectx"`.
    #[serde(default)]
    pub(crate) preset: ConnectXPreset,
    /// Weight g of the newest observation in α (1 − `DCE_TCP_G`/1024), above 0 and at most 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gain: Option<f64>,
    /// Period of the updates of α (`DCE_TCP_RTT`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) alpha_period: Option<Time>,
    /// Period of the checks for a decrease (`RATE_REDUCE_MONITOR_PERIOD`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decrease_period: Option<Time>,
    /// Smallest factor of a decrease (`RPG_MIN_DEC_FAC`), from 0 to 1. A factor up to 0.5 has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_decrease_factor: Option<f64>,
    /// Period of the increases (`RPG_TIME_RESET`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) increase_period: Option<Time>,
    /// Number F of increases in fast recovery (`RPG_THRESHOLD`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fast_recovery: Option<u32>,
    /// Rate that the first increase after fast recovery adds to the target rate (`RPG_AI_RATE`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) additive_increase: Option<Speed>,
    /// Rate that later increases add to the target rate (`RPG_HAI_RATE`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hyper_increase: Option<Speed>,
    /// Smallest rate (`RPG_MIN_RATE`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_rate: Option<Speed>,
    /// Rate after the first CNP (`RATE_TO_SET_ON_FIRST_CNP`). Default: the rate is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first_rate: Option<Speed>,
    /// Decreases that set the target rate to the current rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) clamp: Option<Clamp>,
    /// Window beside the rate. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<RateWindow>,
}

/// Source of the parameters of `dcqcn-connectx`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ConnectXPreset {
    /// Values that dumps of ConnectX NICs show.
    #[default]
    Connectx,
    /// Values that HPCC's repository gives to DCQCN (`run.py`). Two of them grow with the rate of the hosts' links.
    HpccRepo,
}

/// Decreases of the rate that set the target rate to the current rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Clamp {
    /// All decreases (`CLAMP_TGT_RATE`).
    Always,
    /// The first decrease after an increase (`CLAMP_TGT_RATE_AFTER_TIME_INC`).
    AfterIncrease,
}

/// Window of a control that computes only a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RateWindow {
    /// Round-trip time. The window is the number of bytes that a rate sends in this time.
    pub(crate) rtt: Time,
    /// Rate of which the window is computed. Default `"current"`.
    #[serde(default)]
    pub(crate) of: WindowOf,
}

/// Rate of which a window is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WindowOf {
    /// The current rate of the queue pair.
    #[default]
    Current,
    /// The rate of the NIC's link.
    Line,
}

fn paper_gain() -> f64 {
    1.0 / 256.0
}

fn us55() -> Time {
    Time(Duration::from_micros(55))
}

fn mb10() -> Size {
    Size(Bytes(10_000_000))
}

fn five() -> u32 {
    5
}

fn mbps40() -> Speed {
    Speed(Rate(40_000_000))
}

fn mbps10() -> Speed {
    Speed(Rate(10_000_000))
}
