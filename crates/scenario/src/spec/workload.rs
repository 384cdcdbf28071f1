//! `[[workload]]`: senders, receivers, times and connections of traffic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Duration};
use toml::Table;

use super::Tcp;
use super::omitted::is_default;
use super::roce::{Roce, Transport};
use crate::hosts::HostSet;
use crate::quantity::{Size, Speed, Time};
use crate::tagged::tagged;

/// Flows that arrive at random times. Each is between a random pair of hosts (uniform) and has a random size from a distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Poisson {
    /// Load: the average share of the capacity that the flows use, on the links that `of` selects. Below 1 unless `overload` is set.
    pub(crate) load: f64,
    /// Links to whose capacity `load` refers. Default `"receivers"`.
    #[serde(default)]
    pub(crate) of: LoadOf,
    /// Bytes of a flow that count towards `load`. Default `"wire"`.
    #[serde(default)]
    pub(crate) counted: Counted,
    /// Whether `load` may be so high that links are offered more traffic than their capacity. Default false.
    #[serde(default)]
    pub(crate) overload: bool,
    /// Distribution of the flow sizes.
    pub(crate) sizes: Sizes,
    /// Method that draws the times, pairs and sizes of flows. Default `"own"`.
    #[serde(default)]
    pub(crate) draws: Draws,
    /// Number of flows. Default: as many as arrive before `stop.at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) flows: Option<u64>,
    /// Hosts that send. Default `"all"`.
    #[serde(default)]
    pub(crate) senders: HostSet,
    /// Hosts that receive. A host sends no flow to itself. Default `"all"`.
    #[serde(default)]
    pub(crate) receivers: HostSet,
    /// Time from which flows arrive. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// Whether each flow opens a new connection or uses a pool of open ones. Default `"new"`.
    #[serde(default)]
    pub(crate) connections: Connections,
    /// Class of service (DSCP) of the workload's flows: a number from 0 to 63, or a rule. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
    /// Settings of this workload's connections. They take precedence over `[tcp]` and over the `tcp` tables of host groups. A workload
    /// cannot set keys that apply to all connections of a host: `timestamps`, `receive_window`, `receiver`, `ack_class`, and selective
    /// acknowledgements. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
    /// Transport of the workload's flows. Default `"tcp"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) transport: Transport,
    /// Settings of this workload's queue pairs. They take precedence over `[roce]`. Only with `transport = "roce"`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Roce>")]
    pub(crate) roce: Option<Table>,
}

/// Method that draws the times, pairs and sizes of flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Draws {
    /// Random streams that depend on the seed of the run: one Poisson process for the whole workload, and random pairs.
    #[default]
    Own,
    /// Method of the ns-2 scripts of BCC and MQ-ECN: one Poisson process for each pair, with the generator and the seeds of these scripts.
    /// The flows do not depend on the seed of the run.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// Links to whose capacity a load refers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LoadOf {
    /// Links to the receiving hosts.
    #[default]
    Receivers,
    /// Links from the sending hosts.
    Senders,
    /// Links from leaves to spines, or both directions of a dumbbell's bottleneck. Flows between hosts of the same switch do not use them.
    Uplinks,
}

/// Bytes of a flow that count towards a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Counted {
    /// Every byte on the wire: data, and the headers and framing of each segment. Acknowledgements do not count.
    #[default]
    Wire,
    /// Data, scaled by the ratio of a full packet's size to its data, as in the scripts of the reproduced papers.
    FullSegments,
    /// Data without headers.
    Payload,
}

tagged! {
    /// Distribution of flow sizes.
    Sizes, "size distribution" {
        /// Web search traffic (DCTCP, SIGCOMM '10): sizes in bytes, with mean 1,711,250.
        "web-search" => WebSearch(Sampling),
        /// Data mining traffic (VL2, SIGCOMM '09): sizes in bytes, with mean 12,658,199.
        "data-mining" => DataMining(Sampling),
        /// Cache traffic (Facebook, SIGCOMM '15): sizes in bytes, with mean 935,452.5.
        "cache" => Cache(Sampling),
        /// Hadoop traffic (Facebook, SIGCOMM '15): sizes in bytes, with mean 4,135,297. The published sizes are in packets, which are
        /// converted to 1460 bytes each.
        "hadoop" => Hadoop(Sampling),
        /// Web search traffic: sizes in packets of 1460 bytes, as in MQ-ECN's simulator.
        "web-search-packets" => WebSearchPackets(Sampling),
        /// Data mining traffic: sizes in packets of 1460 bytes.
        "data-mining-packets" => DataMiningPackets(Sampling),
        /// Cache traffic: sizes in packets of 1460 bytes.
        "cache-packets" => CachePackets(Sampling),
        /// Hadoop traffic: sizes in packets of 1460 bytes.
        "hadoop-packets" => HadoopPackets(Sampling),
        /// Cumulative distribution that a file contains.
        "file" => File(SizesFile),
        /// One size for all flows.
        "fixed" => Fixed(Fixed),
        /// Sizes distributed uniformly between two sizes.
        "uniform" => Uniform(Uniform),
    }
}

/// Options for sampling flow sizes from a distribution. Sizes between two points are interpolated linearly and rounded up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sampling {
    /// Minimum size of a flow; smaller sizes are raised to this one. Default `"1B"`; BCC's scripts have `"2B"`.
    #[serde(default)]
    pub(crate) minimum: Minimum,
}

/// Minimum size of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Minimum(pub(crate) Size);

/// Cumulative distribution that a file contains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SizesFile {
    /// Path of the file, relative to the scenario. Each line has a size and the cumulative share of flows up to this size, in 0–1 or 0–100.
    /// `#` begins a comment.
    pub(crate) path: String,
    /// Unit in which the file gives sizes. Default `"1B"`; `"1460B"` for sizes in packets.
    #[serde(default = "one_byte")]
    pub(crate) unit: Size,
    /// Minimum size of a flow; smaller sizes are raised to this one. Default `"1B"`.
    #[serde(default)]
    pub(crate) minimum: Minimum,
}

/// One size for all flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fixed {
    /// Size of each flow.
    pub(crate) size: Size,
}

/// Sizes distributed uniformly between two sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Uniform {
    /// Smallest size.
    pub(crate) from: Size,
    /// Largest size.
    pub(crate) to: Size,
}

tagged! {
    /// Whether flows open new connections or use a pool of open ones.
    Connections, "connections" {
        /// A new connection for each flow, which closes when the flow is complete.
        "new" => New(NewConnections),
        /// A pool of open connections for each pair of hosts. Connections keep their state from flow to flow.
        "persistent" => Persistent(Persistent),
    }
}

/// A new connection for each flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewConnections {}

/// A pool of open connections for each pair of hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Persistent {
    /// Number of connections of each pair of hosts at the start of the run. Default 1.
    #[serde(default = "one")]
    pub(crate) per_pair: u32,
    /// Rule for a flow that finds every connection of its host pair busy. Default `"open-another"`.
    #[serde(default)]
    pub(crate) when_busy: WhenBusy,
    /// Largest number of unfinished messages that are posted to a queue pair. Values above 1 require `transport = "roce"` and
    /// `when_busy = "queue"`. Default 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(crate) queue_depth: u32,
    /// Warm-up data that each connection sends before its first flow. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) warm_up: Option<WarmUp>,
}

/// Rule for a flow that finds every connection of its host pair busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenBusy {
    /// The flow opens another connection, which stays open.
    #[default]
    OpenAnother,
    /// The flow waits for a connection; waiting flows are served first come, first served.
    Queue,
}

/// Data that a connection sends before its first flow, to measure its round-trip time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WarmUp {
    /// Number of bytes of warm-up data.
    pub(crate) bytes: Size,
    /// Earliest time at which the warm-up data is sent. Each connection draws its own time uniformly between `from` and `to`.
    pub(crate) from: Time,
    /// Latest time at which the warm-up data is sent.
    pub(crate) to: Time,
}

/// Flows that last as long as the run, from every sender to every receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LongLived {
    /// Hosts that send.
    pub(crate) senders: HostSet,
    /// Hosts that receive.
    pub(crate) receivers: HostSet,
    /// Number of flows from each sender to each receiver. Default 1.
    #[serde(default = "one")]
    pub(crate) per_pair: u32,
    /// Time at which flows start, apart from the random delay `spread`. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// Maximum random delay of the start of each flow; delays are distributed uniformly. Default `"0s"`: all flows start at once.
    #[serde(default = "no_time")]
    pub(crate) spread: Time,
    /// Class of service (DSCP) of the workload's flows: a number from 0 to 63, or a rule. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
    /// Settings of this workload's connections. They take precedence over `[tcp]` and over the `tcp` tables of host groups. A workload
    /// cannot set keys that apply to all connections of a host: `timestamps`, `receive_window`, `receiver`, `ack_class`, and selective
    /// acknowledgements. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
    /// Transport of the workload's flows. Default `"tcp"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) transport: Transport,
    /// Settings of this workload's queue pairs. They take precedence over `[roce]`. Only with `transport = "roce"`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Roce>")]
    pub(crate) roce: Option<Table>,
}

/// Rounds in which several senders send to the same receiver at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Incast {
    /// Hosts that send.
    pub(crate) senders: HostSet,
    /// Hosts that receive. In each round, every sender sends one response to each receiver.
    pub(crate) receivers: HostSet,
    /// Size of the response of each sender to each receiver. Set either `size` or `total`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<Size>,
    /// Total size of all responses to one receiver in a round. Each response is an equal part, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<Size>,
    /// Time at which the first round starts. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// Number of rounds. Default 1.
    #[serde(default = "one")]
    pub(crate) repeats: u32,
    /// Time from the start of a round to the start of the next. With more than one round, set either `period` or `think_time`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) period: Option<Time>,
    /// Time from the end of a round at a receiver to the start of its next round. Rounds never overlap, and each has a row in
    /// `queries.parquet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) think_time: Option<Time>,
    /// Maximum random delay of each response; delays are distributed uniformly. Default `"0s"`: all responses start at once.
    #[serde(default = "no_time")]
    pub(crate) spread: Time,
    /// Whether each flow opens a new connection or uses a pool of open ones. Default `"new"`.
    #[serde(default)]
    pub(crate) connections: Connections,
    /// Class of service (DSCP) of the workload's flows: a number from 0 to 63, or a rule. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
    /// Settings of this workload's connections. They take precedence over `[tcp]` and over the `tcp` tables of host groups. A workload
    /// cannot set keys that apply to all connections of a host: `timestamps`, `receive_window`, `receiver`, `ack_class`, and selective
    /// acknowledgements. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
    /// Transport of the workload's flows. Default `"tcp"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) transport: Transport,
    /// Settings of this workload's queue pairs. They take precedence over `[roce]`. Only with `transport = "roce"`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Roce>")]
    pub(crate) roce: Option<Table>,
}

/// Flows listed in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowList {
    /// Path of the file, relative to the scenario. The file has a header line `start_ns,source,destination,bytes` with further, optional
    /// columns (`class`, `port`, `after`, `count`, `on_received`, `on_acked`), and then one line for each flow in order of time.
    pub(crate) path: String,
    /// Whether each flow opens a new connection or uses a pool of open ones. Default `"new"`.
    #[serde(default)]
    pub(crate) connections: Connections,
    /// Class of service (DSCP) of the workload's flows: a number from 0 to 63, or a rule. Default 0. Not allowed if the file has a column
    /// `class`.
    #[serde(default)]
    pub(crate) class: Class,
    /// Settings of this workload's connections. They take precedence over `[tcp]` and over the `tcp` tables of host groups. A workload
    /// cannot set keys that apply to all connections of a host: `timestamps`, `receive_window`, `receiver`, `ack_class`, and selective
    /// acknowledgements. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
    /// Transport of the workload's flows. Default `"tcp"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) transport: Transport,
    /// Settings of this workload's queue pairs. They take precedence over `[roce]`. Only with `transport = "roce"`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Roce>")]
    pub(crate) roce: Option<Table>,
}

/// Unresponsive datagrams from every sender to every receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Udp {
    /// Hosts that send.
    pub(crate) senders: HostSet,
    /// Hosts that receive.
    pub(crate) receivers: HostSet,
    /// Rule for the times at which datagrams leave, and their rate.
    pub(crate) pattern: Pattern,
    /// Whether the total traffic that all workloads offer a link may exceed its capacity. The total ignores start and stop times. A total
    /// equal to the capacity is always allowed. Default false.
    #[serde(default)]
    pub(crate) overload: bool,
    /// Bytes of data in each datagram. Default: the largest payload that fits into the MTU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) payload: Option<Size>,
    /// Time at which a source sends its first datagram; with the pattern `poisson`, the first datagram leaves a random time later. Default
    /// `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// Time after which no datagram is sent. Default: the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Time>,
    /// Whether datagrams are ECN-capable. Markers drop datagrams without ECN instead of marking them. Sources do not react to marks.
    /// Default false.
    #[serde(default)]
    pub(crate) ecn: bool,
    /// Class of service (DSCP) of the workload's datagrams: a number from 0 to 63, or a rule. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
}

/// Echo requests from every sender to every receiver, whose round-trip times are recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ping {
    /// Hosts that send requests.
    pub(crate) senders: HostSet,
    /// Hosts that reply.
    pub(crate) receivers: HostSet,
    /// Time between two requests from the same sender to the same receiver.
    pub(crate) interval: Time,
    /// Time at which the first request leaves. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// Time after which no request is sent. Default: the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Time>,
    /// Bytes of data in each request, without IP and ICMP headers. Default `"56B"`, as in ping.
    #[serde(default = "ping_payload")]
    pub(crate) payload: Size,
    /// Whether requests and replies are ECN-capable. Markers drop packets without ECN instead of marking them. Default true.
    #[serde(default = "yes")]
    pub(crate) ecn: bool,
    /// Class of service (DSCP) of requests and replies. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
}

/// Class of service of a workload's packets: a number or a rule.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Class {
    /// One class (DSCP) for all packets.
    Fixed(u8),
    /// A rule that gives each flow a class.
    Rule(ClassRule),
}

impl Default for Class {
    fn default() -> Self {
        Self::Fixed(0)
    }
}

impl<'de> Deserialize<'de> for Class {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match toml::Value::deserialize(deserializer)? {
            toml::Value::Integer(class) => {
                u8::try_from(class).ok().filter(|&class| class < CLASSES).map(Self::Fixed).ok_or_else(|| {
                    serde::de::Error::custom(format!(
                        "must be a class from 0 to {}, got {class}",
                        CLASSES - 1
                    ))
                })
            }
            value => ClassRule::deserialize(value).map(Self::Rule).map_err(serde::de::Error::custom),
        }
    }
}

/// Number of classes of service that a packet can have: the DSCP has six bits (RFC 2474 §3).
pub(crate) const CLASSES: u8 = 64;

tagged! {
    /// Rule that gives each flow a class of service.
    ClassRule, "class" {
        /// Traffic from host *h* has class *h* modulo `classes`.
        "by-sender" => BySender(BySender),
        /// All traffic from one host to another has one class, which depends on both hosts.
        "by-pair" => ByPair(ByPair),
        /// Each flow draws its class.
        "random" => Random(RandomClass),
    }
}

/// Traffic from host *h* has class *h* modulo `classes`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BySender {
    /// Number of classes.
    pub(crate) classes: u8,
}

/// Traffic from host *s* to host *r* has class (*r* · *n* + *s*) modulo `classes`, where *n* is the number of hosts, as in MQ-ECN's
/// simulations. If `classes` divides *n*, the result is the same as with `by-sender`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ByPair {
    /// Number of classes.
    pub(crate) classes: u8,
}

/// Each flow draws its class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RandomClass {
    /// Relative probability of each class, as a list that begins with class 0.
    pub(crate) weights: Vec<f64>,
}

tagged! {
    /// Times at which datagrams leave.
    Pattern, "pattern" {
        /// Equal intervals between datagrams.
        "constant" => Constant(ConstantRate),
        /// Random, exponentially distributed intervals between datagrams.
        "poisson" => Poisson(ConstantRate),
        /// Bursts at a constant rate, with pauses between them.
        "on-off" => OnOff(OnOff),
    }
}

/// Constant rate, or constant average rate with the pattern `poisson`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConstantRate {
    /// Rate of each source, in bits per second on the wire.
    pub(crate) rate: Speed,
}

/// Bursts at a constant rate, with pauses between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnOff {
    /// Rate of each source within a burst, in bits per second on the wire.
    pub(crate) rate: Speed,
    /// Duration of a burst.
    pub(crate) on: Time,
    /// Duration of the pause after a burst.
    pub(crate) off: Time,
}

impl Default for Connections {
    fn default() -> Self {
        Self::New(NewConnections {})
    }
}

impl Default for Minimum {
    fn default() -> Self {
        Self(Size(Bytes(1)))
    }
}

fn yes() -> bool {
    true
}

fn ping_payload() -> Size {
    Size(Bytes(56))
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == one()
}

fn one_byte() -> Size {
    Size(Bytes(1))
}

fn no_time() -> Time {
    Time(Duration::ZERO)
}
