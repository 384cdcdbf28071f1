//! `[switch]`: the packet memory of every switch, and what its ports are made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;
use shallows_switch::EgressDrop;
use shallows_switch::buffer::{DtCounts, ReservedRule};

use super::marker::Marker;
use super::port::{Port, Shaper};
use crate::quantity::{Amount, PerQueue, Size};
use crate::tagged::tagged;

/// Configuration of every switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Switch {
    /// Its packet memory, and how ports share it.
    pub(crate) buffer: Buffer,
    /// The queues of each of its ports, and which of them sends next. Default `"fifo"`, one queue.
    #[serde(default)]
    pub(crate) port: Port,
    /// The markers of each of its ports; a packet is marked if any of them says so. Default: none, which is drop-tail.
    #[serde(default)]
    pub(crate) markers: Vec<Marker>,
    /// A token bucket that holds each of its ports below the rate of its link. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shaper: Option<Shaper>,
    /// Cost of a packet that a dequeue marker drops: its slot on the wire (default, hardware) or nothing.
    #[serde(default)]
    pub(crate) egress_drop: EgressDrop,
    /// Which of several shortest paths a connection takes. Default `"five-tuple"`.
    #[serde(default)]
    pub(crate) ecmp: Ecmp,
    /// Ports that differ from the others. Where several entries name a port, the last one counts.
    #[serde(default)]
    pub(crate) overrides: Vec<PortOverride>,
}

/// Which of several shortest paths a connection takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ecmp {
    /// By a hash of addresses, ports and protocol with a seed for each switch: evenly.
    #[default]
    FiveTuple,
    /// By a hash of the same with the two ends in order, and a seed for each tier of switches: evenly, and acknowledgements
    /// go back the way of their data.
    Symmetric,
    /// By the hash of MQ-ECN's ns-2 simulations, which is uneven: of node, source, destination and the number of the pair.
    #[serde(rename = "ns-2")]
    Ns2,
    /// By the numbers that BCC's ns-2 simulations draw for connections: nearly evenly, and acknowledgements go back the way of
    /// their data. Connections that are opened later than the first ones have a way as with `"symmetric"`.
    #[serde(rename = "ns-2-bcc")]
    Ns2Bcc,
}

/// Ports that differ from the others; what is not given stays as for all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PortOverride {
    /// Which ports: their kind (`"to-host"`, `"up"`, `"down"`, `"bottleneck"`), or names such as `"leaf0->host3"`, in which
    /// `*` stands for anything.
    pub(crate) ports: Vec<String>,
    /// Their queues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) port: Option<Port>,
    /// Their markers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) markers: Option<Vec<Marker>>,
    /// Their shaper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shaper: Option<Shaper>,
    /// Cost of a drop at dequeue at these ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) egress_drop: Option<EgressDrop>,
}

tagged! {
    /// The packet memory of a switch, and how its ports share it.
    Buffer, "buffer" {
        /// A queue may grow to alpha times what its pool has free (Choudhury and Hahne, ToN '98).
        "dynamic-threshold" => DynamicThreshold(DynamicThreshold),
        /// Every port has a fixed part of its own, `per_port`; there is no pool to share.
        "static-partition" => StaticPartition(StaticPartition),
        /// A queue may grow as long as its pool has room.
        "complete-sharing" => CompleteSharing(CompleteSharing),
        /// A queue may grow with what its pool has free, its priority's share, and how fast it drains (ABM, SIGCOMM '22).
        "abm" => Abm(Abm),
    }
}

/// A queue may grow to alpha times what its pool has free.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DynamicThreshold {
    /// Alpha, at most 1024, and enough that an empty pool or reserved bytes hold a packet. Chips offer powers of two from
    /// 1/128 to 8. Default 1.
    #[serde(default = "one")]
    pub(crate) alpha: f64,
    /// Size of each pool, apart from the reserved bytes.
    pub(crate) pool: Size,
    /// How many ports share a pool, in the order of ports: first those to hosts, then those to switches. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ports_per_pool: Option<u32>,
    /// Bytes of its own that each queue of a port has beside the pool; used first. Default `"0B"`.
    #[serde(default = "nothing")]
    pub(crate) reserved: Size,
    /// How the reserved bytes are counted. Default `"exact"`.
    #[serde(default)]
    pub(crate) reserved_rule: ReservedRule,
    /// Which backlog the threshold bounds: what the queue holds in the pool (default), or all of it.
    #[serde(default)]
    pub(crate) counts: DtCounts,
}

/// Every port has a fixed part of its own. There is no pool, and so no `pool`, `ports_per_pool`, `reserved` or `alpha`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StaticPartition {
    /// Memory of each port: bytes, or packets of any size.
    pub(crate) per_port: Amount,
}

/// A queue may grow as long as its pool has room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompleteSharing {
    /// Size of each pool, apart from the reserved bytes.
    pub(crate) pool: Size,
    /// How many ports share a pool. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ports_per_pool: Option<u32>,
    /// Bytes of its own that each queue of a port has beside the pool; used first. Default `"0B"`.
    #[serde(default = "nothing")]
    pub(crate) reserved: Size,
    /// How the reserved bytes are counted. Default `"exact"`.
    #[serde(default)]
    pub(crate) reserved_rule: ReservedRule,
}

/// A queue may grow with what its pool has free, its priority's share, and how fast it drains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Abm {
    /// Alpha by priority, which is the number of the queue at its port; one value is for all. Each is at most 1024, and
    /// enough that an empty pool or reserved bytes hold a packet. Default 0.5.
    #[serde(default = "half")]
    pub(crate) alpha: PerQueue<f64>,
    /// Size of each pool, apart from the reserved bytes.
    pub(crate) pool: Size,
    /// How many ports share a pool. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ports_per_pool: Option<u32>,
    /// Bytes of its own that each queue of a port has beside the pool; used first. Default `"0B"`.
    #[serde(default = "nothing")]
    pub(crate) reserved: Size,
    /// How the reserved bytes are counted. Default `"exact"`.
    #[serde(default)]
    pub(crate) reserved_rule: ReservedRule,
    /// A queue counts as congested while it holds at least this share of its threshold. Default 0.9.
    #[serde(default = "nine_tenths")]
    pub(crate) congested: f64,
    /// Bytes that a port sends from one measurement of drain rates to the next, about one round-trip time's. Default
    /// `"75KB"`.
    #[serde(default = "window")]
    pub(crate) window: Size,
}

fn half() -> PerQueue<f64> {
    PerQueue::All(0.5)
}

fn nine_tenths() -> f64 {
    0.9
}

fn window() -> Size {
    Size(Bytes(75_000))
}

fn one() -> f64 {
    1.0
}

fn nothing() -> Size {
    Size(Bytes(0))
}
