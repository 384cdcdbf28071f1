//! `[switch]`: the packet memory of every switch, its markers, and what a drop at dequeue costs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;

use crate::quantity::{Amount, Size};
use crate::tagged::tagged;

/// What every switch is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Switch {
    /// Its packet memory, and how ports share it.
    pub(crate) buffer: Buffer,
    /// The markers of each of its ports; a packet is marked if any of them says so. Default: none, which is drop-tail.
    #[serde(default)]
    pub(crate) markers: Vec<Marker>,
    /// What a packet that a dequeue marker drops costs: its slot on the wire (default, hardware) or nothing.
    #[serde(default)]
    pub(crate) egress_drop: EgressDrop,
}

/// What a packet that a dequeue marker drops costs on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EgressDrop {
    /// Its slot stays empty.
    #[default]
    Slot,
    /// The next packet goes at once.
    Free,
}

tagged! {
    /// The packet memory of a switch, and how its ports share it.
    Buffer, "buffer" {
        /// A queue may grow to alpha times what its pool has free (Choudhury and Hahne, ToN '98).
        "dynamic-threshold" => DynamicThreshold(DynamicThreshold),
        /// Every port has a fixed part of its own.
        "static-partition" => StaticPartition(StaticPartition),
        /// A queue may grow as long as its pool has room.
        "complete-sharing" => CompleteSharing(CompleteSharing),
    }
}

/// A queue may grow to alpha times what its pool has free.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DynamicThreshold {
    /// Alpha. Chips offer powers of two from 1/128 to 8. Default 1.
    #[serde(default = "one")]
    pub(crate) alpha: f64,
    /// Size of each pool, apart from the private bytes.
    pub(crate) pool: Size,
    /// How many ports share a pool, in the order of ports: first those to hosts, then those to switches. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ports_per_pool: Option<u32>,
    /// Bytes of its own that each port has beside the pool; used first. Default `"0B"`.
    #[serde(default = "nothing")]
    pub(crate) private: Size,
    /// How the private bytes are counted. Default `"exact"`.
    #[serde(default)]
    pub(crate) private_rule: PrivateRule,
    /// Which backlog the threshold bounds: what the queue holds in the pool (default), or all of it.
    #[serde(default)]
    pub(crate) counts: DtCounts,
}

/// Every port has a fixed part of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StaticPartition {
    /// What each port may hold, in bytes or packets.
    pub(crate) per_port: Amount,
}

/// A queue may grow as long as its pool has room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompleteSharing {
    /// Size of each pool, apart from the private bytes.
    pub(crate) pool: Size,
    /// How many ports share a pool. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ports_per_pool: Option<u32>,
    /// Bytes of its own that each port has beside the pool; used first. Default `"0B"`.
    #[serde(default = "nothing")]
    pub(crate) private: Size,
    /// How the private bytes are counted. Default `"exact"`.
    #[serde(default)]
    pub(crate) private_rule: PrivateRule,
}

/// How the private bytes of a port are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PrivateRule {
    /// A packet takes its size and gives it back.
    #[default]
    Exact,
    /// As in BCC's released simulator, whose counter leaks until about one packet fits.
    AsReleased,
}

/// Which backlog Dynamic Threshold compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DtCounts {
    /// What the queue holds in the pool.
    #[default]
    Shared,
    /// Its private bytes too, as in BCC's released simulator.
    Total,
}

tagged! {
    /// What marks packets, or drops those that are not ECN-capable.
    Marker, "marker" {
        /// Nothing is marked; the buffer alone drops.
        "drop-tail" => DropTail(DropTail),
        /// Every packet above one threshold is marked: DCTCP's setting (RFC 8257 §3.1).
        "threshold" => Threshold(Threshold),
        /// The probability of a mark grows from 0 at kmin to pmax at kmax, and is 1 from there on; on the instantaneous
        /// backlog, as switches do.
        "red" => Red(Red),
    }
}

/// Nothing is marked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DropTail {}

/// Every packet above one threshold is marked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Threshold {
    /// The threshold K, in bytes or packets of an MTU; a packet is marked that finds more.
    pub(crate) k: Amount,
    /// Whose backlog is compared. Default `"queue"`.
    #[serde(default)]
    pub(crate) scope: Scope,
    /// When. Default `"enqueue"`.
    #[serde(default)]
    pub(crate) at: Point,
    /// Whether the arriving or departing packet is part of the backlog. Default false.
    #[serde(default)]
    pub(crate) counts_packet: bool,
}

/// The probability of a mark grows with the backlog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Red {
    /// Up to here nothing is marked; in bytes or packets of an MTU.
    pub(crate) kmin: Amount,
    /// From here on everything is.
    pub(crate) kmax: Amount,
    /// Probability just below kmax, above 0 and at most 1.
    pub(crate) pmax: f64,
    /// Whose backlog is compared. Default `"queue"`.
    #[serde(default)]
    pub(crate) scope: Scope,
    /// When. Default `"enqueue"`.
    #[serde(default)]
    pub(crate) at: Point,
    /// Whether the arriving or departing packet is part of the backlog. Default false.
    #[serde(default)]
    pub(crate) counts_packet: bool,
}

/// Whose backlog a marker compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scope {
    /// That of the packet's queue.
    #[default]
    Queue,
    /// That of all queues of the port.
    Port,
    /// What the pool holds that the queue shares.
    Pool,
}

/// When a marker looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Point {
    /// As the packet joins its queue.
    #[default]
    Enqueue,
    /// As it leaves for the link.
    Dequeue,
}

fn one() -> f64 {
    1.0
}

fn nothing() -> Size {
    Size(Bytes(0))
}
