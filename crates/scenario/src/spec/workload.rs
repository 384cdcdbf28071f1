//! `[[workload]]`: senders, receivers, times and connections of traffic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Duration};
use toml::Table;

use super::Tcp;
use crate::hosts::HostSet;
use crate::quantity::{Size, Speed, Time};
use crate::tagged::tagged;

/// Flows that arrive at random times, between pairs drawn uniformly, with sizes drawn from a distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Poisson {
    /// Share of the capacity of the links named in `of` that the flows use on average, below 1 unless `overload` is set.
    pub(crate) load: f64,
    /// Links whose capacity counts. Default `"receivers"`.
    #[serde(default)]
    pub(crate) of: LoadOf,
    /// Bytes that count against the capacity. Default `"wire"`.
    #[serde(default)]
    pub(crate) counted: Counted,
    /// Whether links may be offered more than their capacity. Default false.
    #[serde(default)]
    pub(crate) overload: bool,
    /// Sizes of the flows.
    pub(crate) sizes: Sizes,
    /// Method of drawing times, pairs and sizes. Default `"own"`.
    #[serde(default)]
    pub(crate) draws: Draws,
    /// Number of flows. Default: as many as arrive before `stop.at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) flows: Option<u64>,
    /// Hosts that send. Default `"all"`.
    #[serde(default)]
    pub(crate) senders: HostSet,
    /// Hosts that receive. Default `"all"`; a host sends no flow to itself.
    #[serde(default)]
    pub(crate) receivers: HostSet,
    /// Start of the flow arrivals. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// Whether each flow opens a new connection or uses a pool of open ones. Default `"new"`.
    #[serde(default)]
    pub(crate) connections: Connections,
    /// Class of service (DSCP) of the workload's flows: a number from 0 to 63, or a rule. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
    /// Settings of this workload's connections, which take precedence over `[tcp]` and over the groups of its hosts. A workload cannot set
    /// keys that a host has for all connections: `timestamps`, `receive_window`, `receiver`, `ack_class`, selective acknowledgements.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
}

/// Method of drawing the times, pairs and sizes of flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Draws {
    /// Streams of the run's seed: one Poisson process, and random pairs.
    #[default]
    Own,
    /// The ns-2 scripts of BCC and MQ-ECN: a Poisson process for each pair, with their generator and their seeds. The flows are the same
    /// under every seed of the run.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// Links whose capacity a load is a share of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LoadOf {
    /// Links to the receiving hosts.
    #[default]
    Receivers,
    /// Links from the sending hosts.
    Senders,
    /// Links from leaves to spines, or both directions of a dumbbell's bottleneck, for flows that leave a switch by them. Flows between
    /// hosts of one switch use none.
    Uplinks,
}

/// Bytes that count against the capacity of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Counted {
    /// Every byte on the wire: data, and the headers and framing of each segment, exactly. Acknowledgements do not count.
    #[default]
    Wire,
    /// Data times the ratio of a full packet to its data, as in the papers' scripts.
    FullSegments,
    /// Data alone.
    Payload,
}

tagged! {
    /// Sizes of flows.
    Sizes, "size distribution" {
        /// Web search (DCTCP, SIGCOMM '10), in bytes; mean 1,711,250.
        "web-search" => WebSearch(Sampling),
        /// Data mining (VL2, SIGCOMM '09), in bytes; mean 12,658,199.
        "data-mining" => DataMining(Sampling),
        /// Cache (Facebook, SIGCOMM '15), in bytes; mean 935,452.5.
        "cache" => Cache(Sampling),
        /// Hadoop (Facebook, SIGCOMM '15), published in packets, converted to bytes at 1460 each; mean 4,135,297.
        "hadoop" => Hadoop(Sampling),
        /// Web search in packets of 1460 bytes, as in MQ-ECN's simulator.
        "web-search-packets" => WebSearchPackets(Sampling),
        /// Data mining in packets of 1460 bytes.
        "data-mining-packets" => DataMiningPackets(Sampling),
        /// Cache in packets of 1460 bytes.
        "cache-packets" => CachePackets(Sampling),
        /// Hadoop in packets of 1460 bytes.
        "hadoop-packets" => HadoopPackets(Sampling),
        /// Cumulative distribution from a file.
        "file" => File(SizesFile),
        /// One size for all flows.
        "fixed" => Fixed(Fixed),
        /// Uniform distribution between two sizes.
        "uniform" => Uniform(Uniform),
    }
}

/// Sampling of sizes from a distribution: linear between its points, rounded up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sampling {
    /// Minimum size; smaller sizes are raised to this one. Default `"1B"`; BCC's scripts have `"2B"`.
    #[serde(default)]
    pub(crate) minimum: Minimum,
}

/// Minimum size of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Minimum(pub(crate) Size);

/// Cumulative distribution from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SizesFile {
    /// Path of the file, relative to the scenario. Each line has a value and the share of flows up to it, in 0–1 or 0–100; `#` begins a
    /// comment.
    pub(crate) path: String,
    /// Size of one unit of the values. Default `"1B"`; `"1460B"` for files in packets.
    #[serde(default = "one_byte")]
    pub(crate) unit: Size,
    /// Minimum size; smaller sizes are raised to this one. Default `"1B"`.
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

/// Uniform distribution between two sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Uniform {
    /// Smallest size.
    pub(crate) from: Size,
    /// Largest size.
    pub(crate) to: Size,
}

tagged! {
    /// Use of connections by flows.
    Connections, "connections" {
        /// A new connection for each flow, which closes when the flow is complete.
        "new" => New(NewConnections),
        /// A pool of open connections for each pair, whose state is kept from flow to flow.
        "persistent" => Persistent(Persistent),
    }
}

/// A new connection for each flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewConnections {}

/// A pool of open connections for each pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Persistent {
    /// Number of connections of each pair at the start. Default 1.
    #[serde(default = "one")]
    pub(crate) per_pair: u32,
    /// Action of a flow that finds all connections busy. Default `"open-another"`.
    #[serde(default)]
    pub(crate) when_busy: WhenBusy,
    /// Data that each connection sends before the first flow. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) warm_up: Option<WarmUp>,
}

/// Action of a flow that finds every connection busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenBusy {
    /// Open another connection, which stays open.
    #[default]
    OpenAnother,
    /// Wait for a connection, first come, first served.
    Queue,
}

/// A few bytes that give a connection its first round-trip time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WarmUp {
    /// Number of bytes.
    pub(crate) bytes: Size,
    /// Earliest time. Each connection draws its time uniformly between `from` and `to`.
    pub(crate) from: Time,
    /// Latest time.
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
    /// Number of flows of each pair. Default 1.
    #[serde(default = "one")]
    pub(crate) per_pair: u32,
    /// Earliest start of a flow. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// Maximum random delay of each start, uniform. Default `"0s"`: all start at once.
    #[serde(default = "no_time")]
    pub(crate) spread: Time,
    /// Class of service (DSCP) of the workload's flows: a number from 0 to 63, or a rule. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
    /// Settings of this workload's connections, which take precedence over `[tcp]` and over the groups of its hosts. A workload cannot set
    /// keys that a host has for all connections: `timestamps`, `receive_window`, `receiver`, `ack_class`, selective acknowledgements.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
}

/// Several senders that respond to a receiver at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Incast {
    /// Hosts that send.
    pub(crate) senders: HostSet,
    /// Hosts that receive; every sender responds to each of them.
    pub(crate) receivers: HostSet,
    /// Size of each sender's response to each receiver. Exactly one of `size` and `total` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<Size>,
    /// Size of all responses to a receiver together, in equal parts, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<Size>,
    /// Start of the first round. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// Number of rounds. Default 1.
    #[serde(default = "one")]
    pub(crate) repeats: u32,
    /// Time from the start of one round to that of the next. With more than one round, exactly one of `period` and `think_time` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) period: Option<Time>,
    /// Time from the end of a receiver's round to the start of its next. Rounds never overlap, and each is a row of `queries.parquet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) think_time: Option<Time>,
    /// Maximum random delay of each response, uniform. Default `"0s"`: all at once.
    #[serde(default = "no_time")]
    pub(crate) spread: Time,
    /// Whether each flow opens a new connection or uses a pool of open ones. Default `"new"`.
    #[serde(default)]
    pub(crate) connections: Connections,
    /// Class of service (DSCP) of the workload's flows: a number from 0 to 63, or a rule. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
    /// Settings of this workload's connections, which take precedence over `[tcp]` and over the groups of its hosts. A workload cannot set
    /// keys that a host has for all connections: `timestamps`, `receive_window`, `receiver`, `ack_class`, selective acknowledgements.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
}

/// Flows listed in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowList {
    /// Path of the file, relative to the scenario. It has a header line `start_ns,source,destination,bytes` with optional further columns
    /// (`class`, `port`, `after`, `count`, `on_received`, `on_acked`), then one line per flow in order of time.
    pub(crate) path: String,
    /// Whether each flow opens a new connection or uses a pool of open ones. Default `"new"`.
    #[serde(default)]
    pub(crate) connections: Connections,
    /// Class of service (DSCP) of the workload's flows: a number from 0 to 63, or a rule. Default 0. Not allowed if the file has a column
    /// `class`.
    #[serde(default)]
    pub(crate) class: Class,
    /// Settings of this workload's connections, which take precedence over `[tcp]` and over the groups of its hosts. A workload cannot set
    /// keys that a host has for all connections: `timestamps`, `receive_window`, `receiver`, `ack_class`, selective acknowledgements.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
}

/// Unresponsive datagrams from every sender to every receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Udp {
    /// Hosts that send.
    pub(crate) senders: HostSet,
    /// Hosts that receive.
    pub(crate) receivers: HostSet,
    /// Times at which datagrams leave, and their rate.
    pub(crate) pattern: Pattern,
    /// Whether links may be offered more than their capacity by all workloads together, as if all sent at once. An offer equal to the
    /// capacity is always allowed. Default false.
    #[serde(default)]
    pub(crate) overload: bool,
    /// Bytes of data in each datagram. Default: as many as an MTU holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) payload: Option<Size>,
    /// Start of sending: immediate, but with `poisson` after a first random time. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// Time at which sending ends. Default: the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Time>,
    /// Whether datagrams are ECN-capable; markers drop those that are not. Sources do not react to marks. Default false.
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
    /// Time between two requests of a pair.
    pub(crate) interval: Time,
    /// Time at which the first request leaves. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// Time at which requests end. Default: the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Time>,
    /// Bytes of data in each request, without IP and ICMP headers. Default `"56B"`, as in ping.
    #[serde(default = "ping_payload")]
    pub(crate) payload: Size,
    /// Whether requests and replies are ECN-capable; markers drop those that are not. Default true.
    #[serde(default = "yes")]
    pub(crate) ecn: bool,
    /// Class of service (DSCP) of requests and replies. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
}

/// Class of service of a workload's packets.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Class {
    /// One class (DSCP) for all.
    Fixed(u8),
    /// A rule.
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

/// Number of classes: differentiated services have six bits (RFC 2474 §3).
pub(crate) const CLASSES: u8 = 64;

tagged! {
    /// Rule for the class of service of a flow.
    ClassRule, "class" {
        /// Host *h* sends in class *h* modulo `classes`.
        "by-sender" => BySender(BySender),
        /// All traffic from one host to another has one class.
        "by-pair" => ByPair(ByPair),
        /// Each flow draws its class.
        "random" => Random(RandomClass),
    }
}

/// Host *h* sends in class *h* modulo `classes`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BySender {
    /// Number of classes.
    pub(crate) classes: u8,
}

/// Host *s* sends to host *r* in class *r* · *n* + *s* modulo `classes`, where *n* is the number of hosts, as in MQ-ECN's simulations. If
/// `classes` divides *n*, this equals `by-sender`.
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
    /// Relative probability of each class.
    pub(crate) weights: Vec<f64>,
}

tagged! {
    /// Times at which datagrams leave.
    Pattern, "pattern" {
        /// Equal intervals.
        "constant" => Constant(ConstantRate),
        /// Random intervals.
        "poisson" => Poisson(ConstantRate),
        /// Bursts at a constant rate.
        "on-off" => OnOff(OnOff),
    }
}

/// Rate that is constant on average.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConstantRate {
    /// Rate of each source, in bits per second on the wire.
    pub(crate) rate: Speed,
}

/// Bursts at a constant rate.
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

fn one_byte() -> Size {
    Size(Bytes(1))
}

fn no_time() -> Time {
    Time(Duration::ZERO)
}
