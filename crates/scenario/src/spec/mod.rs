//! Contents of a scenario file: these types define its keys, the JSON Schema and the errors.
//!
//! The comment of each field is its description in the schema: meaning, default, source. Nothing is checked here that
//! concerns more than one value.

mod capture;
mod congestion;
mod flow_trace;
mod marker;
mod offloads;
mod omitted;
mod port;
pub(crate) mod preset;
mod query;
mod receiver;
mod recovery;
mod switch;
mod tcp;
mod topology;
pub(crate) mod workload;

use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use shallows_core::Bytes;

use crate::hosts::{HostSet, RackSet};
use crate::quantity::{Amount, Backpressure, Every, Jitter, PacketSize, Size, Time, Tso};
use crate::tagged::tagged;
pub(crate) use capture::Capture;
pub(crate) use congestion::*;
pub(crate) use flow_trace::FlowTrace;
pub(crate) use marker::*;
pub(crate) use offloads::*;
pub(crate) use port::*;
pub(crate) use query::*;
pub(crate) use receiver::*;
pub(crate) use recovery::*;
pub(crate) use switch::{Buffer, Ecmp, PortOverride, Switch};
pub(crate) use tcp::*;
pub(crate) use topology::{Common, FatTree, Graph, LinkOverride, Topology};
pub(crate) use workload::*;

/// One experiment: a network, how its hosts and switches behave, and the traffic it carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    /// Name of the scenario; results carry it. Default: the name of the file without its ending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Root of every random stream: the same scenario and seed give the same results everywhere.
    /// 0 to 2⁶³ − 1, as TOML counts. Default 1.
    #[serde(default = "one", deserialize_with = "seed")]
    pub(crate) seed: u64,
    /// When the run ends.
    #[serde(default)]
    pub(crate) stop: Stop,
    /// Hosts, switches and links.
    pub(crate) topology: Topology,
    /// Configuration of every switch.
    pub(crate) switch: Switch,
    /// Configuration of every host.
    #[serde(default)]
    pub(crate) host: Host,
    /// How every TCP connection behaves.
    #[serde(default, deserialize_with = "preset::read")]
    pub(crate) tcp: Tcp,
    /// Measurements.
    #[serde(default)]
    pub(crate) measure: Measure,
    /// The traffic; at least one.
    #[serde(default)]
    pub(crate) workload: Vec<Workload>,
    /// Axes of a sweep, which `shallows sweep` reads: a key such as `"workload.0.load"` and its values. A single run
    /// leaves them aside.
    #[serde(default, skip_serializing)]
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub(crate) sweep: toml::Table,
}

tagged! {
    /// Sources of traffic: senders, receivers and times.
    Workload, "workload" {
        /// Flows that arrive at random times and load given links to a given share.
        "poisson" => Poisson(Poisson),
        /// Flows that last as long as the run.
        "long-lived" => LongLived(LongLived),
        /// Several senders answer a receiver at once.
        "incast" => Incast(Incast),
        /// Queries that are split over workers, whose answers are gathered.
        "partition-aggregate" => PartitionAggregate(PartitionAggregate),
        /// Blocks that are split over servers, fetched one after the other.
        "block-transfer" => BlockTransfer(BlockTransfer),
        /// The flows that a file lists.
        "trace" => FlowList(FlowList),
        /// Datagrams that react to nothing.
        "udp" => Udp(Udp),
        /// Echo requests, whose round-trip times are recorded.
        "ping" => Ping(Ping),
    }
}

impl Workload {
    /// Keys of its own connections.
    pub(crate) fn tcp(&self) -> Option<&toml::Table> {
        match self {
            Self::Poisson(w) => w.tcp.as_ref(),
            Self::LongLived(w) => w.tcp.as_ref(),
            Self::Incast(w) => w.tcp.as_ref(),
            Self::PartitionAggregate(w) => w.tcp.as_ref(),
            Self::BlockTransfer(w) => w.tcp.as_ref(),
            Self::FlowList(w) => w.tcp.as_ref(),
            Self::Udp(_) | Self::Ping(_) => None,
        }
    }

    /// Whether flows are numbered, counted and traced that it sends: datagrams and echo requests are none.
    pub(crate) fn sends_flows(&self) -> bool {
        !matches!(self, Self::Udp(_) | Self::Ping(_))
    }
}

/// When the run ends: at a time, or when every flow is complete, whichever is first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stop {
    /// Simulated time at which the run ends at the latest. Default: none; needed where a workload has no end of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Time>,
}

/// Configuration of every host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Host {
    /// The queue of its NIC.
    #[serde(default)]
    pub(crate) nic: Nic,
    /// Each packet leaves its host up to this much later than it could, uniformly, in order; without it deterministic
    /// simulators lock flows out of a full buffer. `"auto"` (default) is the time of one MTU on the host's link.
    #[serde(default)]
    pub(crate) jitter: Jitter,
    /// Hosts that differ from the others. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) group: Vec<Group>,
}

impl Host {
    /// The NIC of hosts of a group, by number, of which 0 has the hosts in no other; and the key of the scenario that is about it.
    pub(crate) fn nic_of(&self, group: usize) -> (&Nic, String) {
        let own = group.checked_sub(1).and_then(|index| Some((self.group[index].nic.as_ref()?, index)));
        own.map_or((&self.nic, "host.nic".to_owned()), |(nic, index)| {
            (nic, format!("host.group[{index}].nic"))
        })
    }
}

/// Hosts that differ from the others, or are told apart in results. A host is in one group at most; those in none are the group
/// `default`. Workloads name them: `senders = "group:old"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    /// Name of the group in results and workloads: letters, digits, `-`, `_` and `.`; not `default` or `all`.
    pub(crate) name: String,
    /// Its hosts, by number or name. Default: those of `racks`; at least one of the two is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) members: Option<HostSet>,
    /// All hosts of these racks, too: of switches with hosts, counted from 0 (`"0..2"`), or by name (`"leaf0, leaf3"`). Default:
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) racks: Option<RackSet>,
    /// Keys in which its connections differ from `[tcp]`. A table without `kind` differs in the keys that it has, any other value
    /// as a whole. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tcp: Option<Tcp>,
    /// Keys in which its NICs differ from `host.nic`, likewise. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) nic: Option<Nic>,
    /// Largest IP packet of its hosts, at most `topology.mtu`. Two hosts send each other what both of them and the network can take.
    /// Default: `topology.mtu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mtu: Option<PacketSize>,
    /// Time that each packet spends in a host of the group that sends it, and in one that receives it. Default:
    /// `topology.host_delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<Time>,
    /// Each packet leaves its host up to this much later, as `host.jitter`, where `"auto"` is the time of one MTU of the group.
    /// Default: `host.jitter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) jitter: Option<Jitter>,
}

/// The queue of a NIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nic {
    /// How much it holds, in bytes or packets. Default with backpressure `"64MB"`: Linux' transmit queue of 1,000 packets, each of
    /// which is what a connection hands over at once, up to 64 KB. Without it `"1000p"`, as simulators have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<Amount>,
    /// A connection whose own data fills its part of this queue waits until some of it has left, as in Linux (TCP Small Queues):
    /// the larger of two segments and what its pacing rate sends in 1 ms, at most this, which Linux calls `tcp_limit_output_bytes`.
    /// Default `"1MiB"`, Linux' from 4.20 to 6.15 (4 MiB since). `"off"`: connections send into a full queue, which drops, as in ns-2.
    #[serde(default = "one_mebibyte")]
    pub(crate) backpressure: Backpressure,
    /// The memory that Linux counts as waiting for each packet or burst beside its data: 832 bytes in Linux 6.18, of a socket buffer,
    /// what it shares and room for headers (`truesize`). So less data may wait. Needs `backpressure`. Default: packets count as large
    /// as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) buffer_overhead: Option<Size>,
    /// How many segments a connection hands over at once, which leave back to back (TSO, GSO). `"off"` (default): it sends each as
    /// soon as it may. `"linux"`: what its pacing rate sends in 1 ms, two segments at least, 64 KB at most, and it waits until a third
    /// of its window may leave. A size: likewise, but bursts are as large whatever the rate, as in Linux before 3.12 and in Windows.
    #[serde(default)]
    pub(crate) tso: Tso,
    /// Whether connections spread what they send. Default `"off"`.
    #[serde(default)]
    pub(crate) pacing: Pacing,
    /// Packets that have arrived wait for others before the host hears of them, and then are taken up together. Default: none waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) coalescing: Option<Coalescing>,
    /// Its queues, and which of them sends next. Default `"fifo"`.
    #[serde(default)]
    pub(crate) port: Port,
    /// Its markers. Default: none.
    #[serde(default)]
    pub(crate) markers: Vec<Marker>,
    /// A token bucket that holds it below the rate of its link. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shaper: Option<Shaper>,
}

/// Measurements of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measure {
    /// When a flow is complete. Default `"receiver"`.
    #[serde(default)]
    pub(crate) fct: FctEnd,
    /// Largest sizes of the bins of flows, ascending; one more bin holds what is larger. Default 100 KB and 10 MB.
    #[serde(default = "bins")]
    pub(crate) bins: Vec<Size>,
    /// How often the length of every queue is recorded. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sample_queues: Option<Time>,
    /// Ports whose whole state is recorded: backlogs, pool, thresholds, what markers and schedulers keep. Default: none.
    #[serde(default)]
    pub(crate) traces: Vec<PortTrace>,
    /// Flows whose senders are recorded: windows, alpha, round-trip time, bytes in flight, state. A flow that several of
    /// these choose belongs to the first. Default: none.
    #[serde(default)]
    pub(crate) flow_traces: Vec<FlowTrace>,
    /// Packets that chosen ports send, as files for Wireshark and its kin. Default: none.
    #[serde(default)]
    pub(crate) captures: Vec<Capture>,
    /// Flows that arrive before this time are simulated but not counted. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) warm_up: Time,
}

/// A record of the state of ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PortTrace {
    /// Which ports: their kind (`"nic"`, `"to-host"`, `"up"` …), or names such as `"leaf0->host3"`, in which `*` stands for
    /// anything.
    pub(crate) ports: Vec<String>,
    /// How often: `"event"` (default) is at every change, or an interval.
    #[serde(default)]
    pub(crate) every: Every,
}

/// When a flow is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FctEnd {
    /// When its last byte reaches the receiver.
    #[default]
    Receiver,
    /// When the sender has every acknowledgement, as in BCC's results.
    Sender,
}

impl Nic {
    /// The same with the default of its limit.
    pub(crate) fn spelled_out(self) -> Self {
        Self { limit: Some(self.limit()), ..self }
    }

    /// How much it holds.
    pub(crate) fn limit(&self) -> Amount {
        self.limit.unwrap_or(match self.backpressure {
            Backpressure::Off => Amount::Packets(1_000),
            Backpressure::Upto(_) => Amount::Bytes(Bytes(64_000_000)),
        })
    }
}

impl Default for Nic {
    fn default() -> Self {
        Self {
            limit: None,
            backpressure: one_mebibyte(),
            buffer_overhead: None,
            tso: Tso::default(),
            pacing: Pacing::default(),
            coalescing: None,
            port: Port::default(),
            markers: Vec::new(),
            shaper: None,
        }
    }
}

impl Default for Measure {
    fn default() -> Self {
        Self {
            fct: FctEnd::default(),
            bins: bins(),
            sample_queues: None,
            traces: Vec::new(),
            flow_traces: Vec::new(),
            captures: Vec::new(),
            warm_up: no_time(),
        }
    }
}

/// The largest seed: TOML's integers end here, and a resolved scenario is written in TOML.
pub const MAX_SEED: u64 = i64::MAX as u64;

/// Reads a seed. A larger number in an option is no TOML and comes as text.
fn seed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    struct Seed;
    impl Visitor<'_> for Seed {
        type Value = u64;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "a whole number from 0 to {MAX_SEED}")
        }

        fn visit_i64<E: Error>(self, value: i64) -> Result<u64, E> {
            u64::try_from(value).map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
        }
    }
    deserializer.deserialize_u64(Seed)
}

fn one() -> u64 {
    1
}

fn one_mebibyte() -> Backpressure {
    // Linux, net/ipv4/tcp_ipv4.c: `sysctl_tcp_limit_output_bytes = 16 * 65536`.
    Backpressure::Upto(Bytes(16 * 65_536))
}

fn no_time() -> Time {
    Time(shallows_core::Duration::ZERO)
}

fn bins() -> Vec<Size> {
    // DCTCP (SIGCOMM '10) §4.3 and the papers after it: small up to 100 KB, large above 10 MB.
    [100_000, 10_000_000].map(|edge| Size(Bytes(edge))).to_vec()
}
