//! `[[workload]]`: who sends what to whom, when, and over which connections.

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
    /// Whose capacity. Default `"receivers"`.
    #[serde(default)]
    pub(crate) of: LoadOf,
    /// Bytes that count against the capacity. Default `"wire"`.
    #[serde(default)]
    pub(crate) counted: Counted,
    /// Allow links to be offered more than they can carry. Default false.
    #[serde(default)]
    pub(crate) overload: bool,
    /// Sizes of the flows.
    pub(crate) sizes: Sizes,
    /// How times, pairs and sizes are drawn. Default `"own"`.
    #[serde(default)]
    pub(crate) draws: Draws,
    /// How many flows arrive. Default: as many as there are before `stop.at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) flows: Option<u64>,
    /// Hosts that send. Default `"all"`.
    #[serde(default)]
    pub(crate) senders: HostSet,
    /// Hosts that receive. Default `"all"`; nobody sends to itself.
    #[serde(default)]
    pub(crate) receivers: HostSet,
    /// When arrivals begin. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// How flows use connections. Default `"new"`.
    #[serde(default)]
    pub(crate) connections: Connections,
    /// Class of service of its flows: a number (DSCP), or a rule. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
    /// Keys in which its connections differ from what `[tcp]` and the groups of its hosts say, as a group differs from `[tcp]`. Not those
    /// that a host has once: `timestamps`, `receive_window`, `receiver`, `ack_class`, selective acknowledgements. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
}

/// How the times, pairs and sizes of flows are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Draws {
    /// From streams of the run's seed: one Poisson process, and pairs at random.
    #[default]
    Own,
    /// As by the ns-2 scripts of BCC and MQ-ECN: a Poisson process for each pair, with their generator and their seeds. The
    /// same flows under every seed of the run.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// Whose capacity a load is a share of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LoadOf {
    /// The links to the receiving hosts.
    #[default]
    Receivers,
    /// The links from the sending hosts.
    Senders,
    /// The links from leaves to spines, or the directions of a dumbbell's bottleneck, as far as flows leave a switch by
    /// them. Flows between hosts of one switch use none.
    Uplinks,
}

/// Bytes that count against the capacity of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Counted {
    /// Every byte on the wire: data, and the headers and framing of each segment, exactly. Acknowledgements are not
    /// counted.
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
        /// Hadoop (Facebook, SIGCOMM '15), published in packets, here in bytes at 1460 each; mean 4,135,297.
        "hadoop" => Hadoop(Sampling),
        /// Web search in packets of 1460 bytes, as MQ-ECN's simulator has it.
        "web-search-packets" => WebSearchPackets(Sampling),
        /// Data mining in packets of 1460 bytes.
        "data-mining-packets" => DataMiningPackets(Sampling),
        /// Cache in packets of 1460 bytes.
        "cache-packets" => CachePackets(Sampling),
        /// Hadoop in packets of 1460 bytes.
        "hadoop-packets" => HadoopPackets(Sampling),
        /// A cumulative distribution from a file.
        "file" => File(SizesFile),
        /// All alike.
        "fixed" => Fixed(Fixed),
        /// Any size between two, equally likely.
        "uniform" => Uniform(Uniform),
    }
}

/// How sizes are drawn from a distribution: linearly between its points, rounded up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sampling {
    /// Sizes below this become this. Default `"1B"`; BCC's scripts have `"2B"`.
    #[serde(default)]
    pub(crate) minimum: Minimum,
}

/// The least size of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Minimum(pub(crate) Size);

/// A cumulative distribution from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SizesFile {
    /// The file, relative to the scenario: lines of a value and the share of flows up to it, in 0–1 or 0–100; `#`
    /// begins a comment.
    pub(crate) path: String,
    /// Size of one unit of the values. Default `"1B"`; `"1460B"` for files in packets.
    #[serde(default = "one_byte")]
    pub(crate) unit: Size,
    /// Sizes below this become this. Default `"1B"`.
    #[serde(default)]
    pub(crate) minimum: Minimum,
}

/// All flows alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fixed {
    /// Size of each.
    pub(crate) size: Size,
}

/// Any size between two, equally likely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Uniform {
    /// The least.
    pub(crate) from: Size,
    /// The largest.
    pub(crate) to: Size,
}

tagged! {
    /// How flows use connections.
    Connections, "connections" {
        /// Each flow opens one, which closes when it is complete.
        "new" => New(NewConnections),
        /// Each pair has a pool of open ones, whose state survives from flow to flow.
        "persistent" => Persistent(Persistent),
    }
}

/// Each flow opens a connection of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewConnections {}

/// Each pair has a pool of open connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Persistent {
    /// Connections of each pair at the start. Default 1.
    #[serde(default = "one")]
    pub(crate) per_pair: u32,
    /// Behaviour of a flow that finds all connections busy. Default `"open-another"`.
    #[serde(default)]
    pub(crate) when_busy: WhenBusy,
    /// Data that each connection sends before the first flow. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) warm_up: Option<WarmUp>,
}

/// Behaviour of a flow that finds every connection busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenBusy {
    /// It opens one more, which stays.
    #[default]
    OpenAnother,
    /// It waits its turn.
    Queue,
}

/// A few bytes that give a connection its first round-trip time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WarmUp {
    /// How many.
    pub(crate) bytes: Size,
    /// Each connection draws its time from here …
    pub(crate) from: Time,
    /// … to here.
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
    /// Flows of each pair. Default 1.
    #[serde(default = "one")]
    pub(crate) per_pair: u32,
    /// When the first may start. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// Each starts up to this much later, uniformly. Default `"0s"`: all at once.
    #[serde(default = "no_time")]
    pub(crate) spread: Time,
    /// Class of service of its flows: a number (DSCP), or a rule. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
    /// Keys in which its connections differ from what `[tcp]` and the groups of its hosts say, as a group differs from `[tcp]`. Not those
    /// that a host has once: `timestamps`, `receive_window`, `receiver`, `ack_class`, selective acknowledgements. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
}

/// Several senders answer a receiver at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Incast {
    /// Hosts that send.
    pub(crate) senders: HostSet,
    /// Hosts that receive; every sender answers each of them.
    pub(crate) receivers: HostSet,
    /// Data that each sender sends to each receiver. Exactly one of `size` and `total` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<Size>,
    /// Data that each receiver gets from all senders together, in equal parts, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<Size>,
    /// When the first round starts. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// How many rounds there are. Default 1.
    #[serde(default = "one")]
    pub(crate) repeats: u32,
    /// From the start of one round to that of the next. With more than one round, exactly one of `period` and
    /// `think_time` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) period: Option<Time>,
    /// From the end of a receiver's round to the start of its next: rounds never overlap, and each is a row of
    /// `queries.parquet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) think_time: Option<Time>,
    /// Each sender answers up to this much later, uniformly. Default `"0s"`: all at once.
    #[serde(default = "no_time")]
    pub(crate) spread: Time,
    /// How flows use connections. Default `"new"`.
    #[serde(default)]
    pub(crate) connections: Connections,
    /// Class of service of its flows: a number (DSCP), or a rule. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
    /// Keys in which its connections differ from what `[tcp]` and the groups of its hosts say, as a group differs from `[tcp]`. Not those
    /// that a host has once: `timestamps`, `receive_window`, `receiver`, `ack_class`, selective acknowledgements. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
}

/// The flows that a file lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowList {
    /// The file, relative to the scenario: a header line `start_ns,source,destination,bytes` with further columns if need
    /// be (`class`, `port`, `after`, `count`, `on_received`, `on_acked`), then one line per flow in order of time.
    pub(crate) path: String,
    /// How flows use connections. Default `"new"`.
    #[serde(default)]
    pub(crate) connections: Connections,
    /// Class of service of its flows: a number (DSCP), or a rule. Default 0; not with a column of that name.
    #[serde(default)]
    pub(crate) class: Class,
    /// Keys in which its connections differ from what `[tcp]` and the groups of its hosts say, as a group differs from `[tcp]`. Not those
    /// that a host has once: `timestamps`, `receive_window`, `receiver`, `ack_class`, selective acknowledgements. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
}

/// Datagrams that react to nothing, from every sender to every receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Udp {
    /// Hosts that send.
    pub(crate) senders: HostSet,
    /// Hosts that receive.
    pub(crate) receivers: HostSet,
    /// When they leave, and at what rate.
    pub(crate) pattern: Pattern,
    /// Allow links to be offered more than they can carry, all workloads together, as if all sent at once. Exactly as much
    /// is allowed without. Default false.
    #[serde(default)]
    pub(crate) overload: bool,
    /// Data in each datagram. Default: as much as an MTU holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) payload: Option<Size>,
    /// When sending begins: at once, but with `poisson` after a first random time. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// From here on nothing is sent. Default: the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Time>,
    /// Whether they are ECN-capable: markers drop those that are not. They react to marks as little. Default false.
    #[serde(default)]
    pub(crate) ecn: bool,
    /// Class of service of its datagrams: a number (DSCP), or a rule. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
}

/// Echo requests from every sender to every receiver, whose round-trip times are recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ping {
    /// Hosts that ask.
    pub(crate) senders: HostSet,
    /// Hosts that answer.
    pub(crate) receivers: HostSet,
    /// From one request of a pair to its next.
    pub(crate) interval: Time,
    /// When the first one leaves. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// From here on nothing is asked. Default: the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Time>,
    /// Data in each, beside IP and ICMP headers. Default `"56B"`, as ping has it.
    #[serde(default = "ping_payload")]
    pub(crate) payload: Size,
    /// Whether they are ECN-capable: markers drop those that are not. Default true.
    #[serde(default = "yes")]
    pub(crate) ecn: bool,
    /// Class of service (DSCP) of requests and replies. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
}

/// Class of service of what a workload sends.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Class {
    /// This one (DSCP), for all.
    Fixed(u8),
    /// By a rule.
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
                    serde::de::Error::custom(format!("class {class} is not from 0 to {}", CLASSES - 1))
                })
            }
            value => ClassRule::deserialize(value).map(Self::Rule).map_err(serde::de::Error::custom),
        }
    }
}

/// Differentiated services have six bits (RFC 2474 §3).
pub(crate) const CLASSES: u8 = 64;

tagged! {
    /// Which class of service a flow has.
    ClassRule, "class" {
        /// Host *h* sends in class *h* modulo `classes`.
        "by-sender" => BySender(BySender),
        /// A pair of hosts has one class for all that the first sends to the second.
        "by-pair" => ByPair(ByPair),
        /// Each flow draws its class.
        "random" => Random(RandomClass),
    }
}

/// Host *h* sends in class *h* modulo `classes`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BySender {
    /// How many classes there are.
    pub(crate) classes: u8,
}

/// Classes of MQ-ECN's simulations: among *n* hosts, *s* sends to *r* in class *r* · *n* + *s* modulo `classes`. If `classes` divides
/// *n*, this equals `by-sender`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ByPair {
    /// How many classes there are.
    pub(crate) classes: u8,
}

/// Each flow draws its class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RandomClass {
    /// By class: how likely it is, relative to the others.
    pub(crate) weights: Vec<f64>,
}

tagged! {
    /// When datagrams leave.
    Pattern, "pattern" {
        /// At equal intervals.
        "constant" => Constant(ConstantRate),
        /// At random intervals.
        "poisson" => Poisson(ConstantRate),
        /// In bursts at a constant rate.
        "on-off" => OnOff(OnOff),
    }
}

/// At a rate that is constant on average.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConstantRate {
    /// Bits per second on the wire, of each source.
    pub(crate) rate: Speed,
}

/// In bursts at a constant rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnOff {
    /// Bits per second on the wire within a burst, of each source.
    pub(crate) rate: Speed,
    /// Length of a burst.
    pub(crate) on: Time,
    /// Length of the silence after it.
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
