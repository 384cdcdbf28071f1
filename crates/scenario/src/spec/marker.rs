//! Markers: what marks packets, or drops them early.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Duration};
use shallows_switch::aqm::{
    Action, EinAverage, Forced, IdleSince, Point, RedSpacing, Sampled, Scope, Split, Unit,
};

use crate::quantity::{Automatic, Depth, Size, Time};
use crate::tagged::tagged;

tagged! {
    /// Marker: marks packets, or drops those that are not ECN-capable.
    Marker, "marker" {
        /// Nothing is marked; the buffer alone drops.
        "drop-tail" => DropTail(DropTail),
        /// Every packet above one threshold is marked: DCTCP's setting (RFC 8257 §3.1).
        "threshold" => Threshold(Threshold),
        /// The probability of a mark grows from 0 at kmin to pmax at kmax, and is 1 from there on; on the instantaneous
        /// backlog, as switches do.
        "red" => Red(Red),
        /// Thresholds that follow what each queue of a round-robin or fair queueing can get of the link (MQ-ECN, NSDI '16).
        "mq-ecn" => MqEcn(MqEcn),
        /// RED as Floyd and Jacobson published it (ToN '93), and as ns-2 has it: on the average backlog, marking or dropping.
        "red-classic" => RedClassic(Box<RedClassic>),
        /// Explicit incast notification (Pulser, Algorithm 1): where the backlog of a port grows fast, packets carry a bit
        /// of their own. Goes beside a threshold.
        "ein" => Ein(Ein),
        /// The detector of Pulser's released testbed, which sets CE.
        "ein-as-released" => EinAsReleased(EinAsReleased),
        /// Marks packets, as they leave, that waited longer than a threshold (TCN, CoNEXT '16).
        "tcn" => Tcn(Tcn),
        /// Marks or drops where the shortest wait stays too long (RFC 8289).
        "codel" => Codel(Codel),
        /// BCC's one more setting (INFOCOM '20): RED on the occupancy of the shared pool, Kmax = B − B_R/α. Goes beside a
        /// threshold for each port.
        "bcc" => Bcc(Bcc),
    }
}

/// Nothing is marked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DropTail {}

/// Every packet above one threshold is marked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Threshold {
    /// The threshold K, as a size, full packets, or time on the link; a packet is marked that finds more.
    pub(crate) k: Depth,
    /// Whose backlog is compared. Default `"queue"`.
    #[serde(default)]
    pub(crate) scope: Scope,
    /// When. Default `"enqueue"`.
    #[serde(default)]
    pub(crate) at: Point,
    /// Whether the arriving or departing packet is part of the backlog. Default false.
    #[serde(default)]
    pub(crate) counts_packet: bool,
    /// In what the backlog is counted. Default `"bytes"`; in `"packets"`, thresholds are numbers of packets of any size.
    #[serde(default)]
    pub(crate) unit: Unit,
    /// Weight of the newest backlog in a moving average over the packets that the marker sees, above 0 and at most 1.
    /// Default: no average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<f64>,
    /// How the queues of a port divide K: each has all of it (default), or its share by quantum or weight.
    #[serde(default)]
    pub(crate) split: Split,
    /// Numbers of the queues that it looks at. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queues: Option<Vec<u8>>,
}

/// The probability of a mark grows with the backlog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Red {
    /// Up to here nothing is marked; as a size, full packets, or time on the link.
    pub(crate) kmin: Depth,
    /// From here on everything is.
    pub(crate) kmax: Depth,
    /// Probability just below kmax, above 0 and at most 1.
    pub(crate) pmax: f64,
    /// Whose backlog is compared. Default `"queue"`.
    #[serde(default)]
    pub(crate) scope: Scope,
    /// When. Default `"enqueue"`.
    #[serde(default)]
    pub(crate) at: Point,
    /// Whether the arriving or departing packet is part of the backlog. Default false.
    #[serde(default)]
    pub(crate) counts_packet: bool,
    /// In what the backlog is counted. Default `"bytes"`; in `"packets"`, thresholds are numbers of packets of any size.
    #[serde(default)]
    pub(crate) unit: Unit,
    /// Weight of the newest backlog in a moving average over the packets that the marker sees, above 0 and at most 1.
    /// Default: no average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<f64>,
    /// How marks follow one another. Default `"independent"`; BCC's released simulator has `"count"`.
    #[serde(default)]
    pub(crate) spacing: Spacing,
    /// Numbers of the queues that it looks at. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queues: Option<Vec<u8>>,
}

/// How marks follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Spacing {
    /// Every packet is decided on its own, as switches do.
    #[default]
    Independent,
    /// More likely with every byte that has passed unmarked, as in BCC's released simulator.
    Count,
}

/// Thresholds that follow each queue's share of a round (NSDI '16, Eq. 5 and 6). Queues of strict priority keep the
/// standard threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MqEcn {
    /// The standard threshold, C·RTT·lambda: that of a queue which has the link to itself. Either this, or kmin, kmax and
    /// pmax.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) k: Option<Depth>,
    /// Standard kmin of the probabilistic form (§3.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kmin: Option<Depth>,
    /// Standard kmax of the probabilistic form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kmax: Option<Depth>,
    /// Probability just below kmax, the same for every queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pmax: Option<f64>,
    /// Weight of the old value when the round time is smoothed, from 0 to below 1. Default 0.75.
    #[serde(default = "three_quarters")]
    pub(crate) beta: f64,
    /// After this much idle time the round time is smoothed once. `"auto"` (default): the time of one MTU on the link.
    #[serde(default)]
    pub(crate) idle_time: Automatic<Time>,
    /// When a port begins to idle. Default `"link-free"`.
    #[serde(default)]
    pub(crate) idle_since: IdleSince,
    /// When it looks. Default `"enqueue"`.
    #[serde(default)]
    pub(crate) at: Point,
    /// Whether the arriving or departing packet is part of the length. Default true, as in the released simulator.
    #[serde(default = "yes")]
    pub(crate) counts_packet: bool,
}

/// RED on the average backlog. Defaults are the paper's rules with ns-2's numbers; `variant = "ns-2"` has its rules too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RedClassic {
    /// Whose rules: of the paper (default), or of ns-2 with its defaults (gentle, in bytes, `wait_`). Each of the keys
    /// below changes one of them.
    #[serde(default)]
    pub(crate) variant: RedVariant,
    /// Below this average nothing happens; in bytes or packets as `unit` says. `"auto"` (default) is ns-2's automatic
    /// configuration, from the rate of the link and `target_delay`; then kmax and weight are automatic too.
    #[serde(default)]
    pub(crate) kmin: Automatic<Depth>,
    /// From this average on every packet is a victim, unless gentle.
    #[serde(default)]
    pub(crate) kmax: Automatic<Depth>,
    /// Weight of the newest backlog in the average, above 0 and at most 1. Needed with kmin and kmax.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<f64>,
    /// Twice the queueing delay at the automatic kmin. Default `"5ms"`.
    #[serde(default = "five_milliseconds")]
    pub(crate) target_delay: Time,
    /// Probability just below kmax. Default 0.1.
    #[serde(default = "tenth")]
    pub(crate) pmax: f64,
    /// Whose backlog is averaged: `"queue"` (default) or `"port"`.
    #[serde(default)]
    pub(crate) scope: Scope,
    /// In what the backlog is counted. Default: packets, in ns-2 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unit: Option<Unit>,
    /// Action on a selected packet. Default `"mark"`, in ns-2 `"drop"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) action: Option<Action>,
    /// Whether the probability grows on above kmax, to 1 at twice that. Default false, in ns-2 true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gentle: Option<bool>,
    /// Action on a packet while the average is above the upper threshold. Default `"as-below"`, in ns-2 `"drop"` (RFC 3168 §7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) forced: Option<Forced>,
    /// How marks follow one another. Default `"uniform"`, in ns-2 `"wait"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) spacing: Option<RedSpacing>,
    /// Size of the packet in whose transmission times idle time is counted. Default `"500B"`.
    #[serde(default = "five_hundred_bytes")]
    pub(crate) typical_packet: Size,
    /// Numbers of the queues that it looks at. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queues: Option<Vec<u8>>,
}

/// Whose rules of RED.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RedVariant {
    /// Floyd and Jacobson's.
    #[default]
    Paper,
    /// Thresholds of ns-2's red.cc with its defaults.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// Explicit incast notification by the growth of a port's backlog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ein {
    /// Once notifying, it goes on while the backlog is above this. The paper takes the threshold of ECN.
    pub(crate) high_water: Depth,
    /// How many dequeues the growth is averaged over, N. Default 50.
    #[serde(default = "fifty")]
    pub(crate) samples: u32,
    /// Growth above which it notifies, as a share of the line rate. Default 0.25.
    #[serde(default = "quarter")]
    pub(crate) threshold: f64,
    /// How the average is meant. Default `"mean-of-ratios"`, as Algorithm 1 says.
    #[serde(default)]
    pub(crate) average: EinAverage,
    /// When the backlog is read. Default `"after"`: once the packet has left.
    #[serde(default)]
    pub(crate) sampled: Sampled,
}

/// The detector of Pulser's released testbed. Its defaults are the released constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EinAsReleased {
    /// Dequeues in the ring. Default 70.
    #[serde(default = "seventy")]
    pub(crate) samples: u32,
    /// Packets above which CE is set in any case. Default 15.
    #[serde(default = "fifteen")]
    pub(crate) limit: u32,
    /// Unit of time of the average. `"auto"` (default): one MTU on the link; the testbed has `"250us"`.
    #[serde(default)]
    pub(crate) packet_time: Automatic<Time>,
}

/// Marking by how long packets have waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tcn {
    /// Wait above which packets are marked: the standard threshold over the rate of the link, RTT·lambda.
    pub(crate) threshold: Time,
    /// Numbers of the queues that it looks at. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queues: Option<Vec<u8>>,
}

/// Controlled delay. Its defaults are for the Internet; a datacenter's round-trip times are a thousandth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Codel {
    /// The wait that is tolerated. Default `"5ms"`.
    #[serde(default = "five_milliseconds")]
    pub(crate) target: Time,
    /// For how long the wait may stay above that; about the longest round-trip time. Default `"100ms"`.
    #[serde(default = "hundred_milliseconds")]
    pub(crate) interval: Time,
    /// Action on a selected packet. Default `"drop"`; a drop costs no time on the link with `egress_drop = "free"`.
    #[serde(default = "drop_it")]
    pub(crate) action: Action,
    /// Beyond this wait every ECN-capable packet is marked. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ce_threshold: Option<Time>,
    /// Numbers of the queues that it looks at. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queues: Option<Vec<u8>>,
}

/// RED on the occupancy of the shared pool. What is `"auto"` is computed from the scenario by the paper's formula, and
/// printed with it before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bcc {
    /// From this occupancy on every packet is marked. `"auto"` (default): B − B_R/alpha, where B is the size of the pool,
    /// alpha that of its dynamic threshold, and B_R = C·RTT·(1 + lambda) less the reserved bytes of a port.
    #[serde(default)]
    pub(crate) kmax: Automatic<Depth>,
    /// Up to this occupancy nothing is marked. `"auto"` (default): Kmax − C·N·h for the N ports of the pool. Equal to kmax,
    /// it is the cut-off variant.
    #[serde(default)]
    pub(crate) kmin: Automatic<Depth>,
    /// Probability just below kmax. Default 0.1.
    #[serde(default = "tenth")]
    pub(crate) pmax: f64,
    /// Lambda: the share of C·RTT that the transport needs for full throughput. Default 0.72, DCTCP's; 1 for ECN*.
    #[serde(default = "lambda")]
    pub(crate) lambda: f64,
    /// How long all ports of the pool together may fill it between Kmin and Kmax. Default `"8us"`.
    #[serde(default = "eight_microseconds")]
    pub(crate) h: Time,
    /// Round-trip time without queues. `"auto"` (default): that of the longest path.
    #[serde(default)]
    pub(crate) rtt: Automatic<Time>,
    /// When it looks. Default `"dequeue"`, as the paper's switch (§IV-C).
    #[serde(default = "dequeue")]
    pub(crate) at: Point,
    /// How marks follow one another. Default `"independent"`; the released simulator has `"count"`.
    #[serde(default)]
    pub(crate) spacing: Spacing,
}

fn drop_it() -> Action {
    Action::Drop
}

fn quarter() -> f64 {
    0.25
}

fn fifteen() -> u32 {
    15
}

fn fifty() -> u32 {
    50
}

fn seventy() -> u32 {
    70
}

fn five_hundred_bytes() -> Size {
    Size(Bytes(500))
}

fn five_milliseconds() -> Time {
    Time(Duration::from_millis(5))
}

fn hundred_milliseconds() -> Time {
    Time(Duration::from_millis(100))
}

fn yes() -> bool {
    true
}

fn three_quarters() -> f64 {
    0.75
}

fn tenth() -> f64 {
    0.1
}

fn lambda() -> f64 {
    0.72
}

fn eight_microseconds() -> Time {
    Time(Duration::from_micros(8))
}

fn dequeue() -> Point {
    Point::Dequeue
}
