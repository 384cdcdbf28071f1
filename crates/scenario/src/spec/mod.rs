//! Specification of a scenario file. These types alone define its keys; the JSON Schema and the errors are derived from them.
//!
//! The comment of each field is its description in the schema: its meaning, its default and its source. Conditions that involve several
//! values are checked elsewhere.

mod capture;
mod congestion;
mod flow_trace;
mod lossless;
mod lossless_preset;
mod marker;
mod nic_pauses;
mod offloads;
mod omitted;
mod port;
pub(crate) mod preset;
mod query;
mod receiver;
mod recovery;
mod roce;
pub(crate) mod roce_congestion;
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
pub(crate) use lossless::{
    CyclicRoutes, Lossless, LosslessPreset, PauseKind, RoutingLoop, StormAction, Watchdog,
};
pub(crate) use marker::*;
pub(crate) use nic_pauses::{NicWatchdog, PfcStorm, Receive};
pub(crate) use offloads::*;
pub(crate) use port::*;
pub(crate) use query::*;
pub(crate) use receiver::*;
pub(crate) use recovery::*;
pub(crate) use roce::{
    AdaptiveTimeout, Cnp, Decrease, Irn, NicSend, Read, Roce, RoceOperation, RoceRecovery, Send, Transport,
};
pub(crate) use roce_congestion::RoceCongestion;
pub(crate) use switch::{Buffer, Ecmp, PortOverride, Switch};
pub(crate) use tcp::*;
pub(crate) use topology::{Common, FatTree, Graph, LinkOverride, Topology};
pub(crate) use workload::*;

/// One experiment: a network, the behaviour of its hosts and switches, and the traffic that it carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    /// Name of the scenario and of its results. Default: the name of the file without its ending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Seed of all random streams, from 0 to 2⁶³ − 1 (the range of TOML integers). The same scenario and seed give the same results on
    /// every machine. Default 1.
    #[serde(default = "one", deserialize_with = "seed")]
    pub(crate) seed: u64,
    /// Condition that ends the run.
    #[serde(default)]
    pub(crate) stop: Stop,
    /// Hosts, switches and links.
    pub(crate) topology: Topology,
    /// Configuration of every switch.
    pub(crate) switch: Switch,
    /// Configuration of every host.
    #[serde(default)]
    pub(crate) host: Host,
    /// Behaviour of every TCP connection.
    #[serde(default, deserialize_with = "preset::read")]
    pub(crate) tcp: Tcp,
    /// Queue pairs of the workloads with `transport = "roce"`. Default: the defaults of the keys of `[roce]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) roce: Option<Roce>,
    /// Settings of the measurements.
    #[serde(default)]
    pub(crate) measure: Measure,
    /// Workloads: the traffic of the experiment. At least one is required.
    #[serde(default)]
    pub(crate) workload: Vec<Workload>,
    /// Axes of a sweep for `shallows sweep`: keys such as `"workload.0.load"`, each with a list of values. A single run ignores them.
    #[serde(default, skip_serializing)]
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub(crate) sweep: toml::Table,
}

impl Spec {
    /// Returns whether some workload sends its flows on queue pairs.
    pub(crate) fn sends_on_queue_pairs(&self) -> bool {
        self.workload.iter().any(|workload| workload.transport() == Transport::Roce)
    }
}

tagged! {
    /// Traffic of one kind: its senders, its receivers and its times.
    Workload, "workload" {
        /// Flows that arrive at random times and on average use a given share of the capacity of links.
        "poisson" => Poisson(Poisson),
        /// Flows that last as long as the run.
        "long-lived" => LongLived(LongLived),
        /// Rounds in which several senders send to the same receiver at once.
        "incast" => Incast(Incast),
        /// Queries: a client sends requests to several workers and gathers their responses.
        "partition-aggregate" => PartitionAggregate(PartitionAggregate),
        /// Blocks whose parts are on several servers. A client fetches all parts of a block at once, and then the next block.
        "block-transfer" => BlockTransfer(BlockTransfer),
        /// Flows that a file lists.
        "trace" => FlowList(FlowList),
        /// Unresponsive datagrams.
        "udp" => Udp(Udp),
        /// Echo requests whose round-trip times are recorded.
        "ping" => Ping(Ping),
    }
}

impl Workload {
    /// Returns the workload's own `tcp` table, or `None` if it has none.
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

    /// Returns the transport of the workload's flows.
    pub(crate) fn transport(&self) -> Transport {
        match self {
            Self::Poisson(w) => w.transport,
            Self::LongLived(w) => w.transport,
            Self::Incast(w) => w.transport,
            Self::PartitionAggregate(w) => w.transport,
            Self::BlockTransfer(w) => w.transport,
            Self::FlowList(w) => w.transport,
            Self::Udp(_) | Self::Ping(_) => Transport::Tcp,
        }
    }

    /// Returns the persistent connections of the workload, or `None` if it has none.
    pub(crate) fn pools(&self) -> Option<&Persistent> {
        let connections = match self {
            Self::Poisson(w) => &w.connections,
            Self::Incast(w) => &w.connections,
            Self::PartitionAggregate(w) => &w.connections,
            Self::BlockTransfer(w) => &w.connections,
            Self::FlowList(w) => &w.connections,
            Self::LongLived(_) | Self::Udp(_) | Self::Ping(_) => return None,
        };
        match connections {
            Connections::Persistent(pools) => Some(pools),
            Connections::New(_) => None,
        }
    }

    /// Returns the class of service of the workload's packets.
    pub(crate) fn class(&self) -> &Class {
        match self {
            Self::Poisson(w) => &w.class,
            Self::LongLived(w) => &w.class,
            Self::Incast(w) => &w.class,
            Self::PartitionAggregate(w) => &w.class,
            Self::BlockTransfer(w) => &w.class,
            Self::FlowList(w) => &w.class,
            Self::Udp(w) => &w.class,
            Self::Ping(w) => &w.class,
        }
    }

    /// Returns the workload's own `roce` table, or `None` if it has none.
    pub(crate) fn roce(&self) -> Option<&toml::Table> {
        match self {
            Self::Poisson(w) => w.roce.as_ref(),
            Self::LongLived(w) => w.roce.as_ref(),
            Self::Incast(w) => w.roce.as_ref(),
            Self::PartitionAggregate(w) => w.roce.as_ref(),
            Self::BlockTransfer(w) => w.roce.as_ref(),
            Self::FlowList(w) => w.roce.as_ref(),
            Self::Udp(_) | Self::Ping(_) => None,
        }
    }

    /// Replaces the workload's own `roce` table. The workload must send flows.
    pub(crate) fn set_roce(&mut self, roce: toml::Table) {
        match self {
            Self::Poisson(w) => w.roce = Some(roce),
            Self::LongLived(w) => w.roce = Some(roce),
            Self::Incast(w) => w.roce = Some(roce),
            Self::PartitionAggregate(w) => w.roce = Some(roce),
            Self::BlockTransfer(w) => w.roce = Some(roce),
            Self::FlowList(w) => w.roce = Some(roce),
            Self::Udp(_) | Self::Ping(_) => unreachable!("datagrams and echo requests use no queue pairs"),
        }
    }

    /// Returns whether the workload sends flows. Datagrams and echo requests are not flows; they are not numbered, counted or traced.
    pub(crate) fn sends_flows(&self) -> bool {
        !matches!(self, Self::Udp(_) | Self::Ping(_))
    }
}

/// Condition that ends the run: a time, or the completion of every flow, whichever comes first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stop {
    /// Simulated time at which the run ends at the latest. Required if a workload has no end. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Time>,
}

/// Configuration of every host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Host {
    /// Network interface (NIC) of each host and its queue.
    #[serde(default)]
    pub(crate) nic: Nic,
    /// Maximum random delay of each packet at its host. Delays are distributed uniformly, and packets keep their order. Without this
    /// jitter, identical senders synchronise, and a full buffer can lock out some flows. `"auto"` (default): the time to send one MTU on
    /// the host's link.
    #[serde(default)]
    pub(crate) jitter: Jitter,
    /// Groups of hosts whose settings differ from those of other hosts. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) group: Vec<Group>,
}

impl Host {
    /// Returns the NIC settings of a group and their key in the scenario. Group 0 consists of the hosts that are in no other group.
    pub(crate) fn nic_of(&self, group: usize) -> (&Nic, String) {
        let own = group.checked_sub(1).and_then(|index| Some((self.group[index].nic.as_ref()?, index)));
        own.map_or((&self.nic, "host.nic".to_owned()), |(nic, index)| {
            (nic, format!("host.group[{index}].nic"))
        })
    }
}

/// Group of hosts that have their own settings, or that results list separately. A host is in at most one group; all hosts without a group
/// form the group `default`. Workloads refer to a group by name: `senders = "group:old"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    /// Name of the group in results and workloads: letters, digits, `-`, `_` and `.`; not `default` or `all`.
    pub(crate) name: String,
    /// Hosts in the group, by number or name. A group needs `members`, `racks` or both. Default: only the hosts of `racks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) members: Option<HostSet>,
    /// Racks whose hosts are in the group in addition to `members`. A rack is given by the number of its switch among the switches with
    /// hosts (`"0..2"`), or by its name (`"leaf0, leaf3"`). Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) racks: Option<RackSet>,
    /// Settings of the group's connections that differ from `[tcp]`. If a setting is a table without `kind`, only its keys replace those in `[tcp]`.
    /// Any other setting, including a table with `kind`, replaces the setting in `[tcp]` completely. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tcp: Option<Tcp>,
    /// Settings of the group's queue pairs that differ from `[roce]`. This table overrides `[roce]` as the group's `tcp` overrides `[tcp]`.
    /// Requires a workload with `transport = "roce"`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Roce>")]
    pub(crate) roce: Option<toml::Table>,
    /// Settings of the group's NICs that differ from `host.nic`. This table overrides `host.nic` as the group's `tcp` overrides `[tcp]`.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) nic: Option<Nic>,
    /// Largest IP packet of the group's hosts, at most `topology.mtu`. A connection uses the smaller value of its two hosts. Default:
    /// `topology.mtu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mtu: Option<PacketSize>,
    /// Delay of each packet in a sending host of the group, and again in a receiving host of the group. Default: `topology.host_delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<Time>,
    /// Maximum random delay of each packet at its host. `"auto"`: the time to send one MTU of the group on the host's link. Default:
    /// `host.jitter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) jitter: Option<Jitter>,
}

/// Network interface (NIC) of a host and its queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nic {
    /// Limit of the queue, in bytes or packets. Default with `backpressure`: `"64MB"`, which is Linux' transmit queue of 1,000 packets of
    /// up to 64 KB each (a waiting burst counts as one packet). Default without `backpressure`: `"1000p"`, as in simulators. With queue
    /// pairs, at least `"64MB"`, because a queue pair waits for its NIC and loses no packets there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<Amount>,
    /// Limit of a connection's data in the queue of the NIC. A connection at its limit waits, as in Linux (TCP Small Queues). The limit is
    /// two segments, or the data that the pacing rate sends in 1 ms if that is more, but at most this value (`tcp_limit_output_bytes` of
    /// Linux). Default `"1MiB"`, as in Linux 4.20 to 6.15; later versions have 4 MiB. `"off"`: connections send into a full queue, which
    /// drops packets, as in ns-2.
    #[serde(default = "one_mebibyte")]
    pub(crate) backpressure: Backpressure,
    /// Memory that each waiting packet or burst takes from `backpressure` in addition to its data. Linux 6.18 counts 832 bytes, for the
    /// socket buffer, its shared part and room for headers (`truesize`). With a larger value, less data can wait. Requires `backpressure`.
    /// Default: a packet takes only its own size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) buffer_overhead: Option<Size>,
    /// Segmentation offload (TSO, GSO): size of the bursts that a connection passes to the NIC. The segments of a burst leave back to back.
    /// `"off"` (default): each segment is sent as soon as possible. `"linux"`: a burst is the data that the pacing rate sends in 1 ms, at
    /// least two segments and at most 64 KB; the connection waits until it can send a third of its window. A size: bursts have this size at
    /// every pacing rate, as in Linux before 3.12 and in Windows, and otherwise follow the rules of `"linux"`.
    #[serde(default)]
    pub(crate) tso: Tso,
    /// Whether connections pace their packets. Default `"off"`.
    #[serde(default)]
    pub(crate) pacing: Pacing,
    /// Interrupt coalescing: the NIC collects arriving packets and passes them to the host together. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) coalescing: Option<Coalescing>,
    /// Receive buffer from which the host reads at a limited rate. The NIC pauses its switch before the buffer is full. Requires
    /// `switch.lossless`. Default: the host reads every packet at once and sends no pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) receive: Option<Receive>,
    /// Limits on the data that queue pairs of the NIC send. Requires a workload with `transport = "roce"`. Default: no limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) send: Option<NicSend>,
    /// PFC storm: the NIC pauses its switch regardless of the packets that arrive. Requires `switch.lossless`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pfc_storm: Option<PfcStorm>,
    /// PFC watchdog of the NIC, which ends the pauses of a NIC that has paused its switch for too long. Requires `switch.lossless`.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) watchdog: Option<NicWatchdog>,
    /// Queues and scheduler of the NIC. Default `"fifo"`.
    #[serde(default)]
    pub(crate) port: Port,
    /// Markers of the NIC. Default: none.
    #[serde(default)]
    pub(crate) markers: Vec<Marker>,
    /// Token bucket that limits the NIC below the rate of its link. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shaper: Option<Shaper>,
}

/// Settings of the measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measure {
    /// Event that completes a flow: arrival of its last byte at the receiver, or acknowledgement of every byte at the sender. Default
    /// `"receiver"`.
    #[serde(default)]
    pub(crate) fct: FctEnd,
    /// Upper edges of the flow-size bins, inclusive, ascending. One more bin holds all larger flows. Default 100 KB and 10 MB.
    #[serde(default = "bins")]
    pub(crate) bins: Vec<Size>,
    /// Time between two samples of the length of every queue. Default: no samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sample_queues: Option<Time>,
    /// Ports whose state is recorded: backlogs, pool, thresholds, and the state of markers and schedulers. Default: none.
    #[serde(default)]
    pub(crate) traces: Vec<PortTrace>,
    /// Flows whose senders are recorded: window, alpha, round-trip time, bytes in flight and state. If several entries choose a flow, it
    /// belongs to the first. Default: none.
    #[serde(default)]
    pub(crate) flow_traces: Vec<FlowTrace>,
    /// Files with the packets that chosen ports send, for Wireshark and similar programs. Default: none.
    #[serde(default)]
    pub(crate) captures: Vec<Capture>,
    /// End of the warm-up: flows that arrive earlier are simulated but not counted. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) warm_up: Time,
}

/// Request to record the state of ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PortTrace {
    /// Ports, given by kind (`"nic"`, `"to-host"`, `"up"` …) or by name, such as `"leaf0->host3"`; `*` matches any text.
    pub(crate) ports: Vec<String>,
    /// Time between two records; `"event"` (default) records every change.
    #[serde(default)]
    pub(crate) every: Every,
}

/// Event that completes a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FctEnd {
    /// Arrival of the flow's last byte at the receiver.
    #[default]
    Receiver,
    /// Acknowledgement of every byte at the sender, as in BCC's results.
    Sender,
}

impl Nic {
    /// Returns the NIC settings with the default limit of the queue filled in.
    pub(crate) fn spelled_out(self) -> Self {
        Self { limit: Some(self.limit()), ..self }
    }

    /// Returns the limit of the NIC's queue.
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
            receive: None,
            send: None,
            pfc_storm: None,
            watchdog: None,
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

/// Largest seed: the largest TOML integer, because resolved scenarios are written as TOML.
pub const MAX_SEED: u64 = i64::MAX as u64;

/// Deserialises a seed. An override with a seed above the range of TOML integers is not a number in TOML, so it arrives as text.
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
    // DCTCP (SIGCOMM '10) §4.3 and later papers call flows up to 100 KB small and those above 10 MB large.
    [100_000, 10_000_000].map(|edge| Size(Bytes(edge))).to_vec()
}
