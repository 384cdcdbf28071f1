//! `[roce.congestion]`: congestion control of queue pairs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;

use crate::quantity::{Automatic, Size, Speed, Time};
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
        /// TIMELY (SIGCOMM '15): the rate follows the gradient of round-trip times.
        "timely" => Timely(Timely),
        /// Patched TIMELY (CoNEXT '16), which has a fair fixed point.
        "timely-patched" => TimelyPatched(Timely),
        /// Swift (SIGCOMM '20): the window follows a target of the round-trip time.
        "swift" => Swift(Swift),
        /// HPCC (SIGCOMM '19): the window follows the utilisation of each hop, which in-band telemetry measures. The telemetry adds 42
        /// bytes to each packet, and paths have at most five switches.
        "hpcc" => Hpcc(Hpcc),
        /// HPCC with PINT (SIGCOMM '20): switches measure their utilisation, and packets carry the highest utilisation on their path in a
        /// byte or two.
        "hpcc-pint" => HpccPint(HpccPint),
        /// PowerTCP (NSDI '22): the window follows the power of each hop, which in-band telemetry measures. The telemetry adds 42 bytes to
        /// each packet, and paths have at most five switches.
        "powertcp" => PowerTcp(PowerTcp),
        /// θ-PowerTCP (NSDI '22): PowerTCP with round-trip times instead of in-band telemetry.
        "theta-powertcp" => ThetaPowerTcp(PowerTcp),
        /// DCTCP as HPCC's authors run it (`CC_MODE` 8): the rate falls with the fraction of marked data.
        "dctcp" => RdmaDctcp(Dctcp),
    }
}

/// No congestion control.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoControl {}

/// DCQCN's reaction point. Keys that are left out have the values of `preset`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dcqcn {
    /// Source of the keys that are left out. Default `"sigcomm15"`.
    #[serde(default)]
    pub(crate) preset: DcqcnPreset,
    /// Weight g of the newest observation in α, above 0 and at most 1. Default 1/256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gain: Option<f64>,
    /// Time without a CNP after which α decreases; longer than `roce.cnp.interval`. Default `"55us"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) alpha_period: Option<Time>,
    /// Period of the timer that increases the rate. Default `"55us"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) increase_period: Option<Time>,
    /// Number of bytes after which the byte counter increases the rate; `"0B"` for no byte counter. Default `"10MB"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) increase_bytes: Option<Size>,
    /// Number F of increases in fast recovery, by the timer and by the byte counter. Default 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fast_recovery: Option<u32>,
    /// Rate R_AI that an additive increase adds to the target rate. Default `"40Mbps"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) additive_increase: Option<Speed>,
    /// Rate that a hyper increase adds to the target rate. Default: no hyper increase, as in the paper's table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hyper_increase: Option<Speed>,
    /// Smallest rate. Default `"10Mbps"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_rate: Option<Speed>,
    /// Window in addition to the rate. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<RateWindow>,
}

/// Source of the parameters of `dcqcn`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DcqcnPreset {
    /// Values of the paper (table 14), which were chosen for 40 Gb/s.
    #[default]
    Sigcomm15,
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
    /// Smallest factor of a decrease (`RPG_MIN_DEC_FAC`), from 0 to 1. A factor up to 0.5 has no effect, because a decrease
    /// at most halves the rate.
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
    /// Window in addition to the rate. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<RateWindow>,
}

/// Source of the parameters of `dcqcn-connectx`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ConnectXPreset {
    /// Values that dumps of the settings of ConnectX NICs contain.
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

/// TIMELY and patched TIMELY. Keys that are left out have the values of `preset`. The paper's parameters are for 10 Gb/s.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timely {
    /// Source of the keys that are left out. Default `"sigcomm15"`. Only with kind `"timely"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preset: Option<TimelyPreset>,
    /// Acknowledgements that update the rate. Default `"each-segment"`; with `preset = "hpcc-repo"`, `"each-rtt"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) update: Option<TimelyUpdate>,
    /// Weight α of the newest difference between two round-trip times, above 0 and at most 1. Default 0.875.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<f64>,
    /// Factor β of decreases, above 0 and at most 1. Default 0.8 (SIGCOMM '15); with kind `"timely-patched"`, 0.008 (CoNEXT '16).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decrease: Option<f64>,
    /// Round-trip time T_low below which the rate always increases. With kind `"timely-patched"`, decreases up to T_high are
    /// proportional to the excess of the round-trip time over T_low. Default `"50us"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) low: Option<Time>,
    /// Round-trip time T_high above which the rate always decreases, at least `low`. Default `"500us"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) high: Option<Time>,
    /// Round-trip time that normalises the gradient (minRTT). Default `"20us"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_rtt: Option<Time>,
    /// Rate δ that an increase adds. Default: a thousandth of the rate of the hosts' links, at least 1 Mb/s. The paper has
    /// 10 Mb/s at 10 Gb/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) increase: Option<Speed>,
    /// Increases that count towards the hyperactive increase: after five counted increases in a row, each further one adds five times δ.
    /// Default `"gradient"`; with `preset = "hpcc-repo"`, `"all"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hyperactive: Option<Hyperactive>,
    /// Smallest rate. Default `"10Mbps"`; with `preset = "hpcc-repo"`, `"1Gbps"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_rate: Option<Speed>,
    /// Rate of a new queue pair. Default: the rate of its host's link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first_rate: Option<Speed>,
    /// Window in addition to the rate. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<RateWindow>,
}

/// Increases that count towards TIMELY's hyperactive increase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Hyperactive {
    /// Increases because of the gradient, as in the paper (section 4.3).
    Gradient,
    /// All increases, also those below `low`, as in HPCC's simulator.
    All,
}

/// Source of the parameters of `timely`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TimelyPreset {
    /// Values of the paper.
    #[default]
    Sigcomm15,
    /// Values that HPCC's repository gives to TIMELY (`run.py`): one update in each round-trip time, a smallest rate of 1 Gb/s, and a
    /// hyperactive increase that counts all increases.
    HpccRepo,
}

tagged! {
    /// Acknowledgements that update TIMELY's rate.
    TimelyUpdate, "update" {
        /// The first acknowledgement of a packet that was sent after the last update.
        "each-rtt" => EachRtt(EachRtt),
        /// The acknowledgement that completes a segment, at least `min_rtt` after the last update.
        "each-segment" => EachSegment(EachSegment),
    }
}

/// One update in each round-trip time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EachRtt {}

/// One update in each segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EachSegment {
    /// Size of a segment, at least 1 B. Default `"64KB"` (SIGCOMM '15).
    #[serde(default = "kb64")]
    pub(crate) size: Size,
}

/// Swift's window for the fabric. Windows are in packets. The defaults are those of htsim, whose authors call them guesses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Swift {
    /// Target round-trip time if the path has no hops and the window is large. Must be above 0. Default `"20us"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base_target: Option<Time>,
    /// Time ħ that a hop adds to the target. Default: 20 µs/6.55.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hop_target: Option<Time>,
    /// Number of hops of the path. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hops: Option<u32>,
    /// Largest time that flow scaling adds to the target; `"0s"` for no flow scaling. Default `"100us"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scaling_range: Option<Time>,
    /// Window up to which flow scaling adds the whole `scaling_range`, above 0. Default 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scaling_min: Option<f64>,
    /// Window from which flow scaling adds nothing, above `scaling_min`. Default 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scaling_max: Option<f64>,
    /// Packets ai that the window gains in a round-trip time, above 0. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) additive_increase: Option<f64>,
    /// Factor β of decreases, above 0 and at most 1. Default 0.8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decrease: Option<f64>,
    /// Largest fraction of the window that a decrease removes (max_mdf), above 0 and at most 1. Default 0.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_decrease: Option<f64>,
    /// Window of a new queue pair, from `min_window` to `max_window`. Default 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first_window: Option<f64>,
    /// Smallest window in packets, above 0. Default: 10 bytes divided by the bytes of data in a full packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_window: Option<f64>,
    /// Largest window, at least `min_window`. Default 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_window: Option<f64>,
    /// Number of timeouts in a row that reset the window to `min_window`, at least 1. Default 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reset_after: Option<u32>,
}

/// HPCC. The defaults are those of the paper's simulations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hpcc {
    /// Target utilisation η, above 0 and at most 1. Default 0.95.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<f64>,
    /// Number of additive increases in a row (maxStage) after which the window follows the utilisation even if it is below the target.
    /// Default 0: the authors' project page calls the 5 in the paper a typing error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_stage: Option<u32>,
    /// Bytes W_AI that an update adds to the window. Default: C·`base_rtt`·(1 − 0.95)/100, where C is the rate of the hosts' links. This
    /// default leaves room for 100 queue pairs at the default target (section 3.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) additive_increase: Option<Size>,
    /// Round-trip time T without queues, above 0. Default `"auto"`: the longest round-trip time without queues between two hosts, with a
    /// full packet and its acknowledgement.
    #[serde(default)]
    pub(crate) base_rtt: Automatic<Time>,
    /// Smallest rate. Default `"100Mbps"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_rate: Option<Speed>,
    /// Whether each hop has its own utilisation and its own window; the smallest window then applies (`MULTI_RATE` of HPCC's repository).
    /// Default: the hop with the highest utilisation determines the window, as in the paper.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) per_hop: bool,
    /// Whether hops without a queue are ignored in acknowledgements that do not update the reference window (`SAMPLE_FEEDBACK` of HPCC's
    /// repository). Default: every acknowledgement includes all hops, as in the paper.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) skip_empty: bool,
}

/// HPCC with PINT. The defaults are those of HPCC (`kind = "hpcc"`), with one byte of telemetry in every packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HpccPint {
    /// Target utilisation η, above 0 and at most 1. Default 0.95.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<f64>,
    /// Number of additive increases in a row (maxStage) after which the window follows the utilisation even if it is below the target.
    /// Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_stage: Option<u32>,
    /// Bytes W_AI that an update adds to the window. Default: as in HPCC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) additive_increase: Option<Size>,
    /// Round-trip time T without queues, above 0. Queue pairs compute rates with this time, and switches average their utilisation over it.
    /// All queue pairs with PINT have the same value. Default `"auto"`: as in HPCC.
    #[serde(default)]
    pub(crate) base_rtt: Automatic<Time>,
    /// Smallest rate. Default `"100Mbps"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_rate: Option<Speed>,
    /// Base of the logarithm, from 1.001 to 2: packets carry the utilisation as a logarithm to this base. All queue pairs with PINT have
    /// the same base. The logarithm takes one byte if the base is about 1.05 or more, otherwise two. Default 1.05.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) log_base: Option<f64>,
    /// Share of the acknowledgements that change the window, above 0 and at most 1. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sampled: Option<f64>,
}

/// PowerTCP and θ-PowerTCP. The defaults are those of the paper.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PowerTcp {
    /// Weight γ of the newest window, above 0 and at most 1. Default 0.9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<f64>,
    /// Bytes β that each queue pair keeps in the queue. Default: C·`base_rtt`/10, where C is the rate of the hosts' links. This is the
    /// paper's formula for ten queue pairs of a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) additive_increase: Option<Size>,
    /// Round-trip time τ without queues, above 0. Default `"auto"`: the longest round-trip time without queues between two hosts, with a
    /// full packet and its acknowledgement.
    #[serde(default)]
    pub(crate) base_rtt: Automatic<Time>,
    /// Smallest rate. Default `"100Mbps"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_rate: Option<Speed>,
}

/// DCTCP for queue pairs. The defaults are those of HPCC's repository (`run.py`, `dctcp`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dctcp {
    /// Weight g of the newest round-trip time in α, the average fraction of marked data. Above 0 and at most 1. Default 1/16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gain: Option<f64>,
    /// Increase of the rate after a round-trip time without a cut. Default: the rate that sends one packet in the round-trip time
    /// `window.rtt`, at least 1 Mb/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) additive_increase: Option<Speed>,
    /// Smallest rate. Default `"1Gbps"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_rate: Option<Speed>,
    /// Window in addition to the rate. Default: the bytes that the current rate sends in the longest round-trip time.
    #[serde(default)]
    pub(crate) window: RateWindow,
}

/// Window of a congestion control that computes only a rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RateWindow {
    /// Round-trip time; the window is the number of bytes that the rate in `of` sends in this time. Default `"auto"`: the longest
    /// round-trip time without queues between two hosts, with a full packet and its acknowledgement.
    #[serde(default)]
    pub(crate) rtt: Automatic<Time>,
    /// Rate from which the window is computed. Default `"current"`.
    #[serde(default)]
    pub(crate) of: WindowOf,
}

/// Rate from which a window is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WindowOf {
    /// The current rate of the queue pair.
    #[default]
    Current,
    /// The rate of the NIC's link.
    Line,
}

fn kb64() -> Size {
    Size(Bytes(64_000))
}
