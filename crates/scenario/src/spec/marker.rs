//! Markers, which mark packets or drop them early.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Duration};
use shallows_switch::aqm::{
    Action, EinAverage, Forced, IdleSince, Point, RedSpacing, Sampled, Scope, Split, Unit,
};

use crate::quantity::{Automatic, Depth, Size, Time};
use crate::tagged::tagged;

tagged! {
    /// Marker: marks packets, or drops them if they are not ECN-capable.
    Marker, "marker" {
        /// No marking; only the buffer drops.
        "drop-tail" => DropTail(DropTail),
        /// Marking of every packet above one threshold: DCTCP's setting (RFC 8257 §3.1).
        "threshold" => Threshold(Threshold),
        /// Marking probability that grows with the instantaneous backlog, as in switches: from 0 at kmin to pmax at kmax, and 1 above.
        "red" => Red(Red),
        /// Thresholds in proportion to each queue's share of the link under round-robin or fair queueing (MQ-ECN, NSDI '16).
        "mq-ecn" => MqEcn(MqEcn),
        /// RED on the average backlog, marking or dropping, as in the paper of Floyd and Jacobson (ToN '93) or in ns-2.
        "red-classic" => RedClassic(Box<RedClassic>),
        /// Explicit incast notification (Pulser, Algorithm 1): if the backlog of a port grows fast, packets get a bit of their own. Used
        /// together with a threshold.
        "ein" => Ein(Ein),
        /// Incast detector of Pulser's released testbed, which sets CE.
        "ein-as-released" => EinAsReleased(EinAsReleased),
        /// Marking at dequeue of packets that have waited longer than a threshold (TCN, CoNEXT '16).
        "tcn" => Tcn(Tcn),
        /// Marking or dropping while the shortest wait stays too long (RFC 8289).
        "codel" => Codel(Codel),
        /// Additional marker of BCC (INFOCOM '20): RED on the occupancy of the shared pool, Kmax = B − B_R/α. Used beside a threshold for
        /// each port.
        "bcc" => Bcc(Bcc),
    }
}

/// No marking.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DropTail {}

/// Marking of every packet above one threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Threshold {
    /// Threshold K, as a size, full packets, or time on the link. A packet is marked if the backlog exceeds it.
    pub(crate) k: Depth,
    /// Backlog that the threshold compares: queue, port or pool. Default `"queue"`.
    #[serde(default)]
    pub(crate) scope: Scope,
    /// Point of marking. Default `"enqueue"`.
    #[serde(default)]
    pub(crate) at: Point,
    /// Whether the arriving or departing packet is part of the backlog. Default false.
    #[serde(default)]
    pub(crate) counts_packet: bool,
    /// Unit of the backlog. Default `"bytes"`. With `"packets"`, thresholds are numbers of packets of any size. With `"cells"`, the
    /// backlog is the memory of the cells that it occupies, as in chips (`switch.buffer.cell`).
    #[serde(default)]
    pub(crate) unit: Unit,
    /// Weight of the newest backlog in a moving average over the packets at this marker, above 0 and at most 1. Default: no average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<f64>,
    /// Division of K among the queues of a port: each queue has the whole K (default), or its share by quantum or weight.
    #[serde(default)]
    pub(crate) split: Split,
    /// Numbers of the queues that the marker applies to. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queues: Option<Vec<u8>>,
}

/// Marking probability that grows with the backlog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Red {
    /// Backlog up to which nothing is marked; as a size, full packets, or time on the link.
    pub(crate) kmin: Depth,
    /// Backlog at or above which every packet is marked.
    pub(crate) kmax: Depth,
    /// Probability just below kmax, above 0 and at most 1.
    pub(crate) pmax: f64,
    /// Backlog that is compared: queue, port or pool. Default `"queue"`.
    #[serde(default)]
    pub(crate) scope: Scope,
    /// Point of marking. Default `"enqueue"`.
    #[serde(default)]
    pub(crate) at: Point,
    /// Whether the arriving or departing packet is part of the backlog. Default false.
    #[serde(default)]
    pub(crate) counts_packet: bool,
    /// Unit of the backlog. Default `"bytes"`. With `"packets"`, thresholds are numbers of packets of any size. With `"cells"`, the
    /// backlog is the memory of the cells that it occupies, as in chips (`switch.buffer.cell`).
    #[serde(default)]
    pub(crate) unit: Unit,
    /// Weight of the newest backlog in a moving average over the packets at this marker, above 0 and at most 1. Default: no average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<f64>,
    /// Spacing of marks. Default `"independent"`; BCC's released simulator has `"count"`.
    #[serde(default)]
    pub(crate) spacing: Spacing,
    /// Numbers of the queues that the marker applies to. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queues: Option<Vec<u8>>,
}

/// Spacing of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Spacing {
    /// Every packet is decided independently, as in switches.
    #[default]
    Independent,
    /// The probability grows with the bytes since the last mark, as in BCC's released simulator.
    Count,
}

/// Thresholds that follow each queue's share of a round (NSDI '16, Eq. 5 and 6). Queues of strict priority keep the standard threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MqEcn {
    /// Standard threshold of a queue that has the whole link, C·RTT·lambda. Give either this key, or kmin, kmax and pmax.
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
    /// Weight of the old value in the moving average of the round time, from 0 to below 1. Default 0.75.
    #[serde(default = "three_quarters")]
    pub(crate) beta: f64,
    /// Idle time after which the average of the round time is updated once. `"auto"` (default): the time of one MTU on the link.
    #[serde(default)]
    pub(crate) idle_time: Automatic<Time>,
    /// Event at which a port becomes idle. Default `"link-free"`.
    #[serde(default)]
    pub(crate) idle_since: IdleSince,
    /// Point of marking. Default `"enqueue"`.
    #[serde(default)]
    pub(crate) at: Point,
    /// Whether the arriving or departing packet is part of the backlog. Default true, as in the released simulator.
    #[serde(default = "yes")]
    pub(crate) counts_packet: bool,
}

/// RED on the average backlog. By default, the rules are the paper's and the numbers ns-2's; `variant = "ns-2"` selects ns-2's rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RedClassic {
    /// Rules of the paper (default), or of ns-2 with its defaults (gentle, in bytes, `wait_`). The keys below change single rules.
    #[serde(default)]
    pub(crate) variant: RedVariant,
    /// Average below which no packet is marked, in bytes or packets according to `unit`. `"auto"` (default): ns-2's automatic
    /// configuration, which computes kmin, kmax and weight from the rate of the link and `target_delay`.
    #[serde(default)]
    pub(crate) kmin: Automatic<Depth>,
    /// Average at or above which every packet is marked or dropped, unless gentle.
    #[serde(default)]
    pub(crate) kmax: Automatic<Depth>,
    /// Weight of the newest backlog in the average, above 0 and at most 1. Required with kmin and kmax.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<f64>,
    /// Twice the queueing delay at the automatic kmin. Default `"5ms"`.
    #[serde(default = "five_milliseconds")]
    pub(crate) target_delay: Time,
    /// Probability just below kmax. Default 0.1.
    #[serde(default = "tenth")]
    pub(crate) pmax: f64,
    /// Backlog that is averaged: `"queue"` (default) or `"port"`.
    #[serde(default)]
    pub(crate) scope: Scope,
    /// Unit of the backlog. Default: packets; with `variant = "ns-2"`, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unit: Option<Unit>,
    /// Action on a chosen packet. Default: `"mark"`; with `variant = "ns-2"`, `"drop"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) action: Option<Action>,
    /// Whether the probability continues to grow above kmax, to 1 at twice kmax. Default: false; with `variant = "ns-2"`, true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gentle: Option<bool>,
    /// Action on a packet that is selected because the average exceeds the curve. Default: `"as-below"`, as for other packets; with
    /// `variant = "ns-2"`, `"drop"` (RFC 3168 §7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) forced: Option<Forced>,
    /// Spacing of marks. Default: `"uniform"`; with `variant = "ns-2"`, `"wait"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) spacing: Option<RedSpacing>,
    /// Packet size whose transmission time is the unit in which idle time is counted. Default `"500B"`.
    #[serde(default = "five_hundred_bytes")]
    pub(crate) typical_packet: Size,
    /// Numbers of the queues that the marker applies to. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queues: Option<Vec<u8>>,
}

/// Source of the rules of RED.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RedVariant {
    /// The paper of Floyd and Jacobson.
    #[default]
    Paper,
    /// The file red.cc of ns-2 with its defaults.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// Explicit incast notification by the growth of a port's backlog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ein {
    /// Backlog above which the marker continues to notify after it has started. The paper uses the ECN threshold.
    pub(crate) high_water: Depth,
    /// Number N of dequeues over which the growth is averaged. Default 50.
    #[serde(default = "fifty")]
    pub(crate) samples: u32,
    /// Growth above which the marker notifies, as a share of the line rate. Default 0.25.
    #[serde(default = "quarter")]
    pub(crate) threshold: f64,
    /// Definition of the average. Default `"mean-of-ratios"`, as in Algorithm 1.
    #[serde(default)]
    pub(crate) average: EinAverage,
    /// Moment at which the backlog is read. Default `"after"`: once the packet has left.
    #[serde(default)]
    pub(crate) sampled: Sampled,
}

/// Incast detector of Pulser's released testbed. Its defaults are the released constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EinAsReleased {
    /// Number of dequeues in the ring. Default 70.
    #[serde(default = "seventy")]
    pub(crate) samples: u32,
    /// Backlog in packets above which CE is always set. Default 15.
    #[serde(default = "fifteen")]
    pub(crate) limit: u32,
    /// Unit of time. `"auto"` (default): one MTU on the link; the testbed uses `"250us"`.
    #[serde(default)]
    pub(crate) packet_time: Automatic<Time>,
}

/// Marking by the waiting time of packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tcn {
    /// Waiting time above which a packet is marked: RTT·lambda, which is the standard threshold divided by the rate of the link.
    pub(crate) threshold: Time,
    /// Numbers of the queues that the marker applies to. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queues: Option<Vec<u8>>,
}

/// Controlled delay. Its defaults are for the Internet; round-trip times in a datacenter are about a thousandth of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Codel {
    /// Tolerated waiting time. Default `"5ms"`.
    #[serde(default = "five_milliseconds")]
    pub(crate) target: Time,
    /// Time for which waiting times may exceed the target; about the longest round-trip time. Default `"100ms"`.
    #[serde(default = "hundred_milliseconds")]
    pub(crate) interval: Time,
    /// Action on a chosen packet. Default `"drop"`; with `egress_drop = "free"` a drop takes no time on the link.
    #[serde(default = "drop_it")]
    pub(crate) action: Action,
    /// Waiting time above which every ECN-capable packet is marked. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ce_threshold: Option<Time>,
    /// Numbers of the queues that the marker applies to. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queues: Option<Vec<u8>>,
}

/// RED on the occupancy of the shared pool. A value `"auto"` is computed from the scenario by the paper's formula, and printed with it
/// before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bcc {
    /// Occupancy at or above which every packet is marked. `"auto"` (default): B − B_R/alpha, where B is the size of the pool, alpha that of
    /// its dynamic threshold, and B_R = C·RTT·(1 + lambda) minus the reserved bytes of a port.
    #[serde(default)]
    pub(crate) kmax: Automatic<Depth>,
    /// Occupancy up to which nothing is marked. `"auto"` (default): Kmax − C·N·h for the N ports of the pool. If it equals kmax, this is
    /// the paper's cut-off variant.
    #[serde(default)]
    pub(crate) kmin: Automatic<Depth>,
    /// Probability just below kmax. Default 0.1.
    #[serde(default = "tenth")]
    pub(crate) pmax: f64,
    /// Lambda: the share of C·RTT that the transport needs for full throughput. Default 0.72, for DCTCP; 1 for ECN*.
    #[serde(default = "lambda")]
    pub(crate) lambda: f64,
    /// Time in which all ports of the pool together may fill it from Kmin to Kmax. Default `"8us"`.
    #[serde(default = "eight_microseconds")]
    pub(crate) h: Time,
    /// Round-trip time without queues. `"auto"` (default): that of the longest path.
    #[serde(default)]
    pub(crate) rtt: Automatic<Time>,
    /// Point of marking. Default `"dequeue"`, as in the paper's switch (§IV-C).
    #[serde(default = "dequeue")]
    pub(crate) at: Point,
    /// Spacing of marks. Default `"independent"`; the released simulator has `"count"`.
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
