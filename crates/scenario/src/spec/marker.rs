//! Markers: algorithms that mark packets, or drop packets before the buffer is full.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Duration};
use shallows_switch::aqm::{
    Action, EinAverage, Forced, IdleSince, Point, RedSpacing, Sampled, Scope, Split, Unit,
};

use crate::quantity::{Automatic, Depth, Size, Time};
use crate::tagged::tagged;

tagged! {
    /// Marker: marks packets, or drops packets that are not ECN-capable.
    Marker, "marker" {
        /// No marking; packets are dropped only when the buffer is full.
        "drop-tail" => DropTail(DropTail),
        /// Marking of every packet while the backlog exceeds one threshold, as DCTCP recommends (RFC 8257 §3.1).
        "threshold" => Threshold(Threshold),
        /// Marking probability that grows with the current backlog, as in switches: 0 up to kmin, then growing to pmax just below kmax, and
        /// 1 at or above kmax.
        "red" => Red(Red),
        /// Thresholds in proportion to the share of the link that each queue gets under round-robin or fair queueing (MQ-ECN, NSDI '16).
        "mq-ecn" => MqEcn(MqEcn),
        /// RED on the average backlog, which marks or drops, as in the paper by Floyd and Jacobson (ToN '93) or in ns-2.
        "red-classic" => RedClassic(Box<RedClassic>),
        /// Explicit incast notification (Pulser, Algorithm 1): while the backlog of a port grows fast, the port sets a header bit other
        /// than the ECN bits in packets. It is used together with a `threshold` marker, which sets ECN marks.
        "ein" => Ein(Ein),
        /// Incast detector as in Pulser's released testbed, which sets CE in packets.
        "ein-as-released" => EinAsReleased(EinAsReleased),
        /// Marking at dequeue of every packet that has waited longer than a threshold (TCN, CoNEXT '16).
        "tcn" => Tcn(Tcn),
        /// Marking or dropping while even the shortest waiting time stays above a target (CoDel, RFC 8289).
        "codel" => Codel(Codel),
        /// RED on the occupancy of the shared pool, with Kmax = B − B_R/α (BCC, INFOCOM '20). It is used in addition to a threshold for
        /// each port.
        "bcc" => Bcc(Bcc),
    }
}

/// No marking.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DropTail {}

/// Marking of every packet while the backlog exceeds one threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Threshold {
    /// Threshold K: a size, a number of full packets, or the time that the link takes to send the backlog. Packets are marked if the
    /// backlog exceeds K.
    pub(crate) k: Depth,
    /// Backlog that is compared with the threshold: of the queue, the port or the pool. Default `"queue"`.
    #[serde(default)]
    pub(crate) scope: Scope,
    /// Point at which packets are marked. Default `"enqueue"`.
    #[serde(default)]
    pub(crate) at: Point,
    /// Whether the backlog includes the packet that is being enqueued or dequeued. Default false.
    #[serde(default)]
    pub(crate) counts_packet: bool,
    /// Unit in which the backlog is counted. Default `"bytes"`. With `"packets"`, thresholds are numbers of packets of any size. With
    /// `"cells"`, each packet counts as the whole memory cells that it occupies, as in switch chips (`switch.buffer.cell`).
    #[serde(default)]
    pub(crate) unit: Unit,
    /// Weight of the newest backlog, above 0 and at most 1, in a moving average, which the marker compares instead of the current backlog.
    /// Every packet updates this average. Default: no average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<f64>,
    /// Threshold of each queue: the whole K (default), or a share of K in proportion to the queue's quantum or weight.
    #[serde(default)]
    pub(crate) split: Split,
    /// Numbers of the queues to whose packets the marker applies. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queues: Option<Vec<u8>>,
}

/// Marking probability that grows with the backlog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Red {
    /// Backlog up to which nothing is marked: a size, a number of full packets, or the time that the link takes to send it.
    pub(crate) kmin: Depth,
    /// Backlog at or above which every packet is marked.
    pub(crate) kmax: Depth,
    /// Marking probability at a backlog just below kmax, above 0 and at most 1.
    pub(crate) pmax: f64,
    /// Backlog that is compared with the thresholds: of the queue, the port or the pool. Default `"queue"`.
    #[serde(default)]
    pub(crate) scope: Scope,
    /// Point at which packets are marked. Default `"enqueue"`.
    #[serde(default)]
    pub(crate) at: Point,
    /// Whether the backlog includes the packet that is being enqueued or dequeued. Default false.
    #[serde(default)]
    pub(crate) counts_packet: bool,
    /// Unit in which the backlog is counted. Default `"bytes"`. With `"packets"`, thresholds are numbers of packets of any size. With
    /// `"cells"`, each packet counts as the whole memory cells that it occupies, as in switch chips (`switch.buffer.cell`).
    #[serde(default)]
    pub(crate) unit: Unit,
    /// Weight of the newest backlog, above 0 and at most 1, in a moving average, which the marker compares instead of the current backlog.
    /// Every packet updates this average. Default: no average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<f64>,
    /// Spacing of marks. Default `"independent"`; BCC's released simulator uses `"count"`.
    #[serde(default)]
    pub(crate) spacing: Spacing,
    /// Numbers of the queues to whose packets the marker applies. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queues: Option<Vec<u8>>,
}

/// Spacing of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Spacing {
    /// Each packet is marked independently of all others, as in switches.
    #[default]
    Independent,
    /// The probability grows with the number of bytes since the last mark, as in BCC's released simulator.
    Count,
}

/// Thresholds in proportion to each queue's share of a round (MQ-ECN, NSDI '16, Eq. 5 and 6). Queues with strict priority keep the standard
/// threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MqEcn {
    /// Standard threshold C·RTT·lambda, which applies to a queue that has the whole link. Set either this key, or kmin, kmax and pmax.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) k: Option<Depth>,
    /// For probabilistic marking (MQ-ECN paper, §3.4): kmin of a queue that has the whole link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kmin: Option<Depth>,
    /// For probabilistic marking (MQ-ECN paper, §3.4): kmax of a queue that has the whole link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kmax: Option<Depth>,
    /// For probabilistic marking (MQ-ECN paper, §3.4): marking probability at a backlog just below kmax, the same for every queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pmax: Option<f64>,
    /// Weight of the previous value in the moving average of the round time, from 0 to below 1. Default 0.75.
    #[serde(default = "three_quarters")]
    pub(crate) beta: f64,
    /// Idle time that counts as one empty round in the average of the round time. `"auto"` (default): the time to send one MTU on the link.
    #[serde(default)]
    pub(crate) idle_time: Automatic<Time>,
    /// Event from which a port counts as idle. Default `"link-free"`.
    #[serde(default)]
    pub(crate) idle_since: IdleSince,
    /// Point at which packets are marked. Default `"enqueue"`.
    #[serde(default)]
    pub(crate) at: Point,
    /// Whether the backlog includes the packet that is being enqueued or dequeued. Default true, as in MQ-ECN's simulator.
    #[serde(default = "yes")]
    pub(crate) counts_packet: bool,
}

/// RED on the average backlog. By default it has the rules of Floyd and Jacobson with the parameters of ns-2; `variant = "ns-2"` selects
/// the rules of ns-2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RedClassic {
    /// Rules of Floyd and Jacobson (default), or those of ns-2 with its defaults (gentle, in bytes, `wait_`). The other keys change single
    /// rules.
    #[serde(default)]
    pub(crate) variant: RedVariant,
    /// Average backlog below which no packet is marked, in bytes or packets according to `unit`. `"auto"` (default): as in ns-2's automatic
    /// configuration, kmin, kmax and weight are computed from the rate of the link and `target_delay`.
    #[serde(default)]
    pub(crate) kmin: Automatic<Depth>,
    /// Average backlog at or above which every packet is marked or dropped, unless `gentle` is true.
    #[serde(default)]
    pub(crate) kmax: Automatic<Depth>,
    /// Weight of the newest backlog in the average, above 0 and at most 1. Required if kmin and kmax are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<f64>,
    /// Queueing delay from which `"auto"` computes kmin, which is half of this delay and at least 5 packets. Default `"5ms"`.
    #[serde(default = "five_milliseconds")]
    pub(crate) target_delay: Time,
    /// Probability of marking or dropping a packet at an average just below kmax. Default 0.1.
    #[serde(default = "tenth")]
    pub(crate) pmax: f64,
    /// Backlog whose average is computed: `"queue"` (default) or `"port"`.
    #[serde(default)]
    pub(crate) scope: Scope,
    /// Unit in which the backlog is counted. Default: packets; with `variant = "ns-2"`, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unit: Option<Unit>,
    /// Action on a packet that RED selects. Default: `"mark"`; with `variant = "ns-2"`, `"drop"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) action: Option<Action>,
    /// Whether the probability grows further above kmax and reaches 1 at twice kmax. Default: false; with `variant = "ns-2"`, true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gentle: Option<bool>,
    /// Action on a packet that arrives while the average is so high that every packet is selected. Default: `"as-below"`, the same as for
    /// other selected packets; with `variant = "ns-2"`, `"drop"` (RFC 3168 §7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) forced: Option<Forced>,
    /// Spacing of marks. Default: `"uniform"`; with `variant = "ns-2"`, `"wait"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) spacing: Option<RedSpacing>,
    /// Size of a typical packet; its transmission time is the unit in which idle time is counted. Default `"500B"`.
    #[serde(default = "five_hundred_bytes")]
    pub(crate) typical_packet: Size,
    /// Numbers of the queues to whose packets the marker applies. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queues: Option<Vec<u8>>,
}

/// Source of the RED rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RedVariant {
    /// The rules of the paper by Floyd and Jacobson (ToN '93).
    #[default]
    Paper,
    /// The rules of ns-2's `red.cc` with its defaults.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// Explicit incast notifications while the backlog of a port grows fast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ein {
    /// Backlog above which notifications continue once they have started. Pulser's paper uses the ECN threshold.
    pub(crate) high_water: Depth,
    /// Number N of the most recent dequeues over which the growth of the backlog is averaged. Default 50.
    #[serde(default = "fifty")]
    pub(crate) samples: u32,
    /// Growth of the backlog, as a share of the line rate, above which notifications start. Default 0.25.
    #[serde(default = "quarter")]
    pub(crate) threshold: f64,
    /// Definition of the average growth of the backlog. Default `"mean-of-ratios"`, as in Pulser's Algorithm 1.
    #[serde(default)]
    pub(crate) average: EinAverage,
    /// Whether the backlog is read before or after the packet leaves the queue. Default `"after"`.
    #[serde(default)]
    pub(crate) sampled: Sampled,
}

/// Incast detector of Pulser's released testbed. Its defaults are the released constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EinAsReleased {
    /// Number of the most recent dequeues that the detector stores in a ring buffer. Default 70.
    #[serde(default = "seventy")]
    pub(crate) samples: u32,
    /// Backlog in packets above which CE is set in every packet. Default 15.
    #[serde(default = "fifteen")]
    pub(crate) limit: u32,
    /// Unit in which the detector counts time. `"auto"` (default): the time to send one MTU on the link. The testbed uses `"250us"`.
    #[serde(default)]
    pub(crate) packet_time: Automatic<Time>,
}

/// Marking by the waiting time of packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tcn {
    /// Waiting time above which a packet is marked: RTT·lambda, which is the standard marking threshold divided by the rate of the link.
    pub(crate) threshold: Time,
    /// Numbers of the queues to whose packets the marker applies. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queues: Option<Vec<u8>>,
}

/// CoDel (controlled delay). Its defaults suit the Internet; round-trip times in a datacenter are about a thousand times shorter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Codel {
    /// Waiting time that CoDel tolerates. Default `"5ms"`.
    #[serde(default = "five_milliseconds")]
    pub(crate) target: Time,
    /// CoDel's interval: time for which waiting times may stay above the target, about the longest round-trip time. Default `"100ms"`.
    #[serde(default = "hundred_milliseconds")]
    pub(crate) interval: Time,
    /// Action on a packet that CoDel selects. Default `"drop"`. With `egress_drop = "free"`, a drop takes no time on the link.
    #[serde(default = "drop_it")]
    pub(crate) action: Action,
    /// Waiting time above which every ECN-capable packet is marked. Default: no such threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ce_threshold: Option<Time>,
    /// Numbers of the queues to whose packets the marker applies. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queues: Option<Vec<u8>>,
}

/// RED on the occupancy of the shared pool. A value `"auto"` is computed from the scenario by BCC's formula (INFOCOM '20); value and
/// formula are printed before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bcc {
    /// Occupancy at or above which every packet is marked. `"auto"` (default): B − B_R/alpha, with the size B of the pool, alpha of its
    /// dynamic threshold, and B_R = C·RTT·(1 + lambda) minus the reserved bytes of a port.
    #[serde(default)]
    pub(crate) kmax: Automatic<Depth>,
    /// Occupancy up to which nothing is marked. `"auto"` (default): Kmax − C·N·h, with the link rate C, the number N of ports in the pool,
    /// and the time `h`. If kmin equals kmax, the marker is BCC's cut-off variant.
    #[serde(default)]
    pub(crate) kmin: Automatic<Depth>,
    /// Marking probability at an occupancy just below kmax. Default 0.1.
    #[serde(default = "tenth")]
    pub(crate) pmax: f64,
    /// Lambda: the marking threshold that the transport needs for full throughput, as a share of C·RTT. Default 0.72, for DCTCP; ECN* needs
    /// 1.
    #[serde(default = "lambda")]
    pub(crate) lambda: f64,
    /// Time in which all ports of the pool together can fill the pool from Kmin to Kmax. Default `"8us"`.
    #[serde(default = "eight_microseconds")]
    pub(crate) h: Time,
    /// Round-trip time without queues. `"auto"` (default): the round-trip time of the longest path.
    #[serde(default)]
    pub(crate) rtt: Automatic<Time>,
    /// Point at which packets are marked. Default `"dequeue"`, as in BCC's switch (§IV-C).
    #[serde(default = "dequeue")]
    pub(crate) at: Point,
    /// Spacing of marks. Default `"independent"`; BCC's released simulator uses `"count"`.
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
