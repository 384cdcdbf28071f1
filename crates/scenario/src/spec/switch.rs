//! `[switch]`: the packet memory and the ports of every switch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;
use shallows_switch::EgressDrop;
use shallows_switch::buffer::{DtCounts, ReservedRule};

use super::lossless::Lossless;
use super::marker::Marker;
use super::port::{Port, Shaper};
use crate::quantity::{Amount, PerQueue, Size};
use crate::tagged::tagged;

/// Configuration of every switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Switch {
    /// Packet memory, and its sharing among ports.
    pub(crate) buffer: Buffer,
    /// Queues and scheduler of each port. Default `"fifo"`, one queue.
    #[serde(default)]
    pub(crate) port: Port,
    /// Markers of each port; a packet is marked if any of them marks it. Default: none, which is drop-tail.
    #[serde(default)]
    pub(crate) markers: Vec<Marker>,
    /// Token bucket that limits each port below the rate of its link. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shaper: Option<Shaper>,
    /// Cost of a packet that a marker drops at dequeue: its transmission time on the link (default, as in hardware), or nothing.
    #[serde(default)]
    pub(crate) egress_drop: EgressDrop,
    /// Choice among several shortest paths of a connection. Default `"five-tuple"`.
    #[serde(default)]
    pub(crate) ecmp: Ecmp,
    /// Lossless classes, by priority flow control (PFC). Default: none; every class is lossy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lossless: Option<Lossless>,
    /// Ports that differ from all other ports. If several entries match a port, the last entry applies.
    #[serde(default)]
    pub(crate) overrides: Vec<PortOverride>,
}

/// Choice among several shortest paths of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ecmp {
    /// Hash of addresses, ports and protocol, with a different seed for each switch. Spreads connections evenly.
    #[default]
    FiveTuple,
    /// As `five-tuple`, but with both ends of a connection in sorted order, and one seed for each tier of switches. It spreads connections
    /// evenly, and acknowledgements take the reverse path of their data.
    Symmetric,
    /// Hash of node, source, destination and the number of the pair, as in MQ-ECN's ns-2 simulations. It is uneven.
    #[serde(rename = "ns-2")]
    Ns2,
    /// Random numbers for connections, as in BCC's ns-2 simulations: nearly even, and acknowledgements take the reverse path of their data.
    /// Connections that are opened during the run use `"symmetric"`.
    #[serde(rename = "ns-2-bcc")]
    Ns2Bcc,
}

/// Ports that differ from all other ports. Omitted keys have the values of all ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PortOverride {
    /// Ports by kind (`"to-host"`, `"up"`, `"down"`, `"bottleneck"`) or by name, such as `"leaf0->host3"`; `*` matches any text.
    pub(crate) ports: Vec<String>,
    /// Queues and scheduler of these ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) port: Option<Port>,
    /// Markers of these ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) markers: Option<Vec<Marker>>,
    /// Shaper of these ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shaper: Option<Shaper>,
    /// Cost of a drop at dequeue at these ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) egress_drop: Option<EgressDrop>,
}

tagged! {
    /// Packet memory of a switch, and its sharing among ports.
    Buffer, "buffer" {
        /// Each queue may grow to alpha times the free part of its pool (Choudhury and Hahne, ToN '98).
        "dynamic-threshold" => DynamicThreshold(DynamicThreshold),
        /// A fixed partition for every port, `per_port`; there is no shared pool.
        "static-partition" => StaticPartition(StaticPartition),
        /// Queues that may grow as long as their pool has room.
        "complete-sharing" => CompleteSharing(CompleteSharing),
        /// Queues that may grow with the free part of their pool, the share of their priority, and their drain rate (ABM, SIGCOMM '22).
        "abm" => Abm(Abm),
    }
}

/// Queues that may grow to alpha times the free part of their pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DynamicThreshold {
    /// Alpha, at most 1024, and large enough that an empty pool or the reserved bytes hold a packet. Chips offer powers of two from 1/128
    /// to 8. Default 1.
    #[serde(default = "one")]
    pub(crate) alpha: f64,
    /// Size of each pool, without the reserved bytes.
    pub(crate) pool: Size,
    /// Number of ports that share a pool, in the order of ports: first those to hosts, then those to switches. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ports_per_pool: Option<u32>,
    /// Reserved bytes of each queue of a port, in addition to the pool and used first. Default `"0B"`.
    #[serde(default = "nothing")]
    pub(crate) reserved: Size,
    /// Accounting of the reserved bytes. Default `"exact"`.
    #[serde(default)]
    pub(crate) reserved_rule: ReservedRule,
    /// Backlog that the threshold limits: the queue's bytes in the pool (default), or all of its bytes.
    #[serde(default)]
    pub(crate) counts: DtCounts,
    /// Cell of the memory, such as `"254B"`: every packet occupies whole cells. Default: packets occupy their size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cell: Option<Size>,
}

/// A fixed partition for every port. There is no pool, and so no `pool`, `ports_per_pool`, `reserved` or `alpha`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StaticPartition {
    /// Limit of each port: bytes, or packets of any size.
    pub(crate) per_port: Amount,
    /// Cell of the memory, such as `"254B"`: every packet occupies whole cells. Default: packets occupy their size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cell: Option<Size>,
}

/// Queues that may grow as long as their pool has room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompleteSharing {
    /// Size of each pool, without the reserved bytes.
    pub(crate) pool: Size,
    /// Number of ports that share a pool. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ports_per_pool: Option<u32>,
    /// Reserved bytes of each queue of a port, in addition to the pool and used first. Default `"0B"`.
    #[serde(default = "nothing")]
    pub(crate) reserved: Size,
    /// Accounting of the reserved bytes. Default `"exact"`.
    #[serde(default)]
    pub(crate) reserved_rule: ReservedRule,
    /// Cell of the memory, such as `"254B"`: every packet occupies whole cells. Default: packets occupy their size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cell: Option<Size>,
}

/// Queues that may grow with the free part of their pool, the share of their priority, and their drain rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Abm {
    /// Alpha by priority, which is the number of the queue at its port; a single value applies to all. Each is at most 1024, and large
    /// enough that an empty pool or the reserved bytes hold a packet. Default 0.5.
    #[serde(default = "half")]
    pub(crate) alpha: PerQueue<f64>,
    /// Size of each pool, without the reserved bytes.
    pub(crate) pool: Size,
    /// Number of ports that share a pool. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ports_per_pool: Option<u32>,
    /// Reserved bytes of each queue of a port, in addition to the pool and used first. Default `"0B"`.
    #[serde(default = "nothing")]
    pub(crate) reserved: Size,
    /// Accounting of the reserved bytes. Default `"exact"`.
    #[serde(default)]
    pub(crate) reserved_rule: ReservedRule,
    /// Share of its threshold at or above which a queue counts as congested. Default 0.9.
    #[serde(default = "nine_tenths")]
    pub(crate) congested: f64,
    /// Bytes that a port sends between two measurements of drain rates, about those of one round-trip time. Default `"75KB"`.
    #[serde(default = "window")]
    pub(crate) window: Size,
    /// Cell of the memory, such as `"254B"`: every packet occupies whole cells. Default: packets occupy their size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cell: Option<Size>,
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
