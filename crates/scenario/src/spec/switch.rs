//! `[switch]`: the packet memory and the ports of every switch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;
use shallows_switch::EgressDrop;
use shallows_switch::buffer::{DtCounts, ReservedRule};

use super::lossless::Lossless;
use super::lossless_preset;
use super::marker::Marker;
use super::port::{Port, Shaper};
use crate::quantity::{Amount, PerQueue, Size};
use crate::tagged::tagged;

/// Configuration of every switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Switch {
    /// Packet memory, and the rule by which ports share it.
    pub(crate) buffer: Buffer,
    /// Queues and scheduler of each port. Default `"fifo"`, one queue.
    #[serde(default)]
    pub(crate) port: Port,
    /// Markers of each port. A packet is marked if at least one of them marks it. Default: no marker, which is drop-tail.
    #[serde(default)]
    pub(crate) markers: Vec<Marker>,
    /// Token bucket that limits each port below the rate of its link. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shaper: Option<Shaper>,
    /// Time for which the link stays idle after a marker drops a packet at dequeue: the packet's transmission time (default, as in
    /// hardware), or none.
    #[serde(default)]
    pub(crate) egress_drop: EgressDrop,
    /// Choice among the shortest paths of a connection if there are several. Default `"five-tuple"`.
    #[serde(default)]
    pub(crate) ecmp: Ecmp,
    /// Lossless classes, which priority flow control (PFC) protects. Default: none, so that every class is lossy.
    #[serde(default, deserialize_with = "lossless_preset::read", skip_serializing_if = "Option::is_none")]
    pub(crate) lossless: Option<Lossless>,
    /// Ports whose settings differ from those of other ports. If several entries match a port, the last one applies.
    #[serde(default)]
    pub(crate) overrides: Vec<PortOverride>,
}

/// Choice among the shortest paths of a connection if there are several. Default `"five-tuple"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ecmp {
    /// Hash of addresses, port numbers and protocol, with a different seed for each switch. It spreads connections evenly.
    #[default]
    FiveTuple,
    /// Hash as in `five-tuple`, but with the two ends of a connection in sorted order and with the same seed for all switches of a tier. It
    /// spreads connections evenly, and acknowledgements take the reverse path of their data.
    Symmetric,
    /// Hash of switch, source, destination and the number of the connection between the two hosts, as in MQ-ECN's ns-2 simulations. It
    /// spreads connections unevenly.
    #[serde(rename = "ns-2")]
    Ns2,
    /// Random number for each connection, which determines its path, as in BCC's ns-2 simulations. Connections are spread nearly evenly,
    /// and acknowledgements take the reverse path of their data. Connections that are opened during the run use `"symmetric"`.
    #[serde(rename = "ns-2-bcc")]
    Ns2Bcc,
}

/// Ports whose settings differ from those of other ports. Keys that an entry omits keep the values that are set for all ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PortOverride {
    /// Ports, given by kind (`"to-host"`, `"up"`, `"down"`, `"bottleneck"`) or by name, such as `"leaf0->host3"`; `*` matches any text.
    pub(crate) ports: Vec<String>,
    /// Queues and scheduler of the ports that match this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) port: Option<Port>,
    /// Markers of the ports that match this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) markers: Option<Vec<Marker>>,
    /// Shaper of the ports that match this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shaper: Option<Shaper>,
    /// Time for which the link of a matching port stays idle after a marker drops a packet at dequeue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) egress_drop: Option<EgressDrop>,
}

tagged! {
    /// Packet memory of a switch, and the rule by which its ports share it.
    Buffer, "buffer" {
        /// Shared pool: each queue may grow to alpha times the free part of its pool (Choudhury and Hahne, ToN '98).
        "dynamic-threshold" => DynamicThreshold(DynamicThreshold),
        /// Fixed partition of size `per_port` for every port; there is no shared pool.
        "static-partition" => StaticPartition(StaticPartition),
        /// Shared pool: queues may grow as long as their pool has room.
        "complete-sharing" => CompleteSharing(CompleteSharing),
        /// Shared pool: the limit of a queue is alpha · *d*/*n* times the free part of its pool (ABM, SIGCOMM '22). *n* is the number of
        /// congested queues of the same priority in the pool, and *d* is the drain rate of the queue as a share of the link's rate.
        "abm" => Abm(Abm),
    }
}

/// Shared pool in which each queue may grow to alpha times the free part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DynamicThreshold {
    /// Alpha of the dynamic threshold, at most 1024. It must be large enough that one packet fits into an empty pool or into the reserved
    /// bytes. Chips offer powers of two from 1/128 to 8. Default 1.
    #[serde(default = "one")]
    pub(crate) alpha: f64,
    /// Size of each pool, without the reserved bytes.
    pub(crate) pool: Size,
    /// Number of ports that share a pool. Ports are assigned to pools in order: first ports to hosts, then ports to switches. Default: all
    /// ports share one pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ports_per_pool: Option<u32>,
    /// Bytes reserved for each queue of a port, in addition to the pool. A queue uses them first. Default `"0B"`.
    #[serde(default = "nothing")]
    pub(crate) reserved: Size,
    /// Rule for counting the reserved bytes that are in use. Default `"exact"`.
    #[serde(default)]
    pub(crate) reserved_rule: ReservedRule,
    /// Backlog that the threshold limits: only the bytes of a queue that are in the pool (default), or all of its bytes.
    #[serde(default)]
    pub(crate) counts: DtCounts,
    /// Size of the memory's cells, such as `"254B"`; every packet occupies whole cells. Default: a packet occupies its own size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cell: Option<Size>,
}

/// Fixed partition for every port. There is no shared pool, so the keys `pool`, `ports_per_pool`, `reserved` and `alpha` do not exist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StaticPartition {
    /// Limit of each port: a size, or a number of packets of any size.
    pub(crate) per_port: Amount,
    /// Size of the memory's cells, such as `"254B"`; every packet occupies whole cells. Default: a packet occupies its own size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cell: Option<Size>,
}

/// Shared pool: queues may grow as long as their pool has room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompleteSharing {
    /// Size of each pool, without the reserved bytes.
    pub(crate) pool: Size,
    /// Number of ports that share a pool. Default: all ports share one pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ports_per_pool: Option<u32>,
    /// Bytes reserved for each queue of a port, in addition to the pool. A queue uses them first. Default `"0B"`.
    #[serde(default = "nothing")]
    pub(crate) reserved: Size,
    /// Rule for counting the reserved bytes that are in use. Default `"exact"`.
    #[serde(default)]
    pub(crate) reserved_rule: ReservedRule,
    /// Size of the memory's cells, such as `"254B"`; every packet occupies whole cells. Default: a packet occupies its own size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cell: Option<Size>,
}

/// Shared pool: the limit of a queue is alpha · *d*/*n* times the free part of its pool (ABM, SIGCOMM '22). *n* is the number of congested
/// queues of the same priority in the pool, and *d* is the drain rate of the queue as a share of the link's rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Abm {
    /// ABM's alpha of each priority, where the priority is the number of the queue at its port. A single value applies to all priorities.
    /// Each value is at most 1024, and large enough that one packet fits into an empty pool or into the reserved bytes. Default 0.5.
    #[serde(default = "half")]
    pub(crate) alpha: PerQueue<f64>,
    /// Size of each pool, without the reserved bytes.
    pub(crate) pool: Size,
    /// Number of ports that share a pool. Default: all ports share one pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ports_per_pool: Option<u32>,
    /// Bytes reserved for each queue of a port, in addition to the pool. A queue uses them first. Default `"0B"`.
    #[serde(default = "nothing")]
    pub(crate) reserved: Size,
    /// Rule for counting the reserved bytes that are in use. Default `"exact"`.
    #[serde(default)]
    pub(crate) reserved_rule: ReservedRule,
    /// Share of a queue's threshold that its backlog must reach before the queue counts as congested. Default 0.9.
    #[serde(default = "nine_tenths")]
    pub(crate) congested: f64,
    /// Number of bytes that a port sends between two measurements of drain rates; it should be about the number of bytes sent in one
    /// round-trip time. Default `"75KB"`.
    #[serde(default = "window")]
    pub(crate) window: Size,
    /// Size of the memory's cells, such as `"254B"`; every packet occupies whole cells. Default: a packet occupies its own size.
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
