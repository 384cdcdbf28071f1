//! Ports: their queues, which of them sends next, and what holds them back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;
use shallows_switch::discipline::FlowHash;
use shallows_switch::discipline::hcf::{Footnote, Rekey, Sizes, Swap};
use shallows_switch::discipline::sfq::DropRule;
use shallows_switch::scheduler::{Order, VirtualTime};

use crate::quantity::{Amount, Automatic, PerQueue, Size, Speed, Time};
use crate::tagged::tagged;

tagged! {
    /// The queues of a port, and which of them sends next.
    Port, "port" {
        /// One queue.
        "fifo" => Fifo(Fifo),
        /// Always the first queue that is not empty.
        "strict-priority" => StrictPriority(StrictPriority),
        /// Round-robin by bytes; what a turn leaves over is lost.
        "wrr" => Wrr(Wrr),
        /// Round-robin by bytes; what a turn leaves over is added to the next (Shreedhar and Varghese, SIGCOMM '95).
        "dwrr" => Dwrr(Dwrr),
        /// Weighted fair queueing (Demers et al., SIGCOMM '89; Parekh and Gallager, ToN '93).
        "wfq" => Wfq(Wfq),
        /// Hashed Credits Fair (Shpiner et al.): a queue of high and one of low priority that swap, and credits for bins of
        /// flows.
        "hcf" => Hcf(Hcf),
        /// Deficit round-robin over hashed buckets, which drops from the head of the longest (ns-2's DRR).
        "hashed-drr" => HashedDrr(HashedDrr),
        /// Stochastic Fairness Queueing (McKenney, INFOCOM '90).
        "sfq" => Sfq(Sfq),
    }
}

impl Default for Port {
    fn default() -> Self {
        Self::Fifo(Fifo {})
    }
}

/// One queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fifo {}

/// Queue 0 before queue 1, and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StrictPriority {
    /// How many queues a port has.
    pub(crate) queues: u8,
    /// By class of service (DSCP): the queue that its packets join. Default: class 0 joins queue 0, class 1 queue 1 …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) classes: Option<Vec<u8>>,
    /// How much each queue may hold, whatever the buffer allows. Default: no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queue_limit: Option<PerQueue<Amount>>,
    /// How much the queues of a port may hold together, first come, first served. Default: no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) port_limit: Option<Amount>,
}

/// Round-robin by bytes, without carry-over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wrr {
    /// How many queues have turns.
    pub(crate) queues: u8,
    /// Quantum of each queue, the bytes that it may send in a round: one value for all, or a list.
    pub(crate) quantum: PerQueue<Amount>,
    /// In which order they have their turns. Default `"cyclic"`.
    #[serde(default)]
    pub(crate) order: Order,
    /// How many queues before these have strict priority; they are the first in number. Default 0.
    #[serde(default)]
    pub(crate) strict: u8,
    /// By class of service (DSCP): the queue that its packets join. Default: class 0 joins queue 0, class 1 queue 1 …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) classes: Option<Vec<u8>>,
    /// How much each queue may hold, whatever the buffer allows. Default: no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queue_limit: Option<PerQueue<Amount>>,
    /// How much the queues of a port may hold together, first come, first served. Default: no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) port_limit: Option<Amount>,
}

/// Round-robin by bytes, with carry-over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dwrr {
    /// How many queues have turns.
    pub(crate) queues: u8,
    /// Average bytes that each queue may send in a round: one value for all, or a list.
    pub(crate) quantum: PerQueue<Amount>,
    /// How many queues before these have strict priority; they are the first in number. Default 0.
    #[serde(default)]
    pub(crate) strict: u8,
    /// By class of service (DSCP): the queue that its packets join. Default: class 0 joins queue 0, class 1 queue 1 …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) classes: Option<Vec<u8>>,
    /// How much each queue may hold, whatever the buffer allows. Default: no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queue_limit: Option<PerQueue<Amount>>,
    /// How much the queues of a port may hold together, first come, first served. Default: no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) port_limit: Option<Amount>,
}

/// Weighted fair queueing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wfq {
    /// How many queues share the link.
    pub(crate) queues: u8,
    /// In what proportion the busy ones do: one value for all (default 1), or a list.
    #[serde(default = "one_weight")]
    pub(crate) weight: PerQueue<u32>,
    /// By which time. Default `"gps"`.
    #[serde(default)]
    pub(crate) virtual_time: VirtualTime,
    /// How many queues before these have strict priority; they are the first in number. Default 0.
    #[serde(default)]
    pub(crate) strict: u8,
    /// By class of service (DSCP): the queue that its packets join. Default: class 0 joins queue 0, class 1 queue 1 …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) classes: Option<Vec<u8>>,
    /// How much each queue may hold, whatever the buffer allows. Default: no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queue_limit: Option<PerQueue<Amount>>,
    /// How much the queues of a port may hold together, first come, first served. Default: no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) port_limit: Option<Amount>,
}

fn one_weight() -> PerQueue<u32> {
    PerQueue::All(1)
}

/// Hashed Credits Fair. The defaults are those of the paper's long flows (§5.1.1), the other values its alternatives (§4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hcf {
    /// Capacity of both queues together, B.
    pub(crate) limit: Amount,
    /// How many bins there are, K. Default 20.
    #[serde(default = "twenty")]
    pub(crate) bins: u32,
    /// Credit of each bin at the start of a period, c0, in packets or bytes. Default `"1p"`.
    #[serde(default = "one_packet")]
    pub(crate) credits: Amount,
    /// How many bins a packet is hashed to; more than one is a Bloom counter (§4.1). Default 1.
    #[serde(default = "one")]
    pub(crate) hashes: u32,
    /// When a period ends: when the queue of high priority has become empty (`"auto"`, default), or at every multiple of
    /// a time, which may reorder packets (§4.3).
    #[serde(default)]
    pub(crate) period: Automatic<Time>,
    /// How the two queues divide the buffer (§4.4, §4.5). Default `"equal"`.
    #[serde(default)]
    pub(crate) division: Division,
    /// Where the hash of the next period comes from (§4.6). Default `"drawn"`.
    #[serde(default)]
    pub(crate) rekey: Rekey,
    /// Whether a packet that joins the low queue takes all credits of its bins (footnote 1), without which packets of a
    /// flow may be reordered. Default `"applied"`.
    #[serde(default)]
    pub(crate) footnote: Footnote,
    /// Change of the queues when that of high priority has become empty. Default `"when-empty"`: they swap.
    #[serde(default)]
    pub(crate) swap: Swap,
}

tagged! {
    /// How the two queues of HCF divide the buffer.
    Division, "division" {
        /// Half each.
        "equal" => Equal(NoMore),
        /// A share for the queue of high priority, the rest for the other.
        "unequal" => Unequal(Unequal),
        /// No borders; the tail of the low queue makes room for packets of high priority.
        "dynamic" => Dynamic(NoMore),
        /// Two of three segments for high priority, one for low.
        "thirds" => Thirds(NoMore),
    }
}

impl Default for Division {
    fn default() -> Self {
        Self::Equal(NoMore {})
    }
}

/// No further key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoMore {}

/// A share for the queue of high priority, the rest for the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unequal {
    /// The share, between 0 and 1.
    pub(crate) high: f64,
    /// Where the sizes go when the queues swap. Default `"swap"`: with them.
    #[serde(default)]
    pub(crate) sizes: Sizes,
}

/// Deficit round-robin over hashed buckets. The defaults are ns-2's, but for the hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HashedDrr {
    /// How many buckets there are. Default 10.
    #[serde(default = "ten")]
    pub(crate) buckets: u32,
    /// Bytes that a bucket earns at each visit. Default `"250B"`.
    #[serde(default = "ns2_quantum")]
    pub(crate) quantum: Size,
    /// Capacity of all buckets together. Default `"25KB"`.
    #[serde(default = "ns2_limit")]
    pub(crate) limit: Amount,
    /// Fields that the hash of a packet covers. Default `"five-tuple"`; ns-2 has `"source-only"`.
    #[serde(default)]
    pub(crate) hash: FlowHash,
}

/// Buckets that send one packet each in turn. The defaults are ns-2's, but for hash and drop rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sfq {
    /// How many buckets there are. Default 16.
    #[serde(default = "sixteen")]
    pub(crate) buckets: u32,
    /// How many packets all buckets hold together. Default 40.
    #[serde(default = "forty")]
    pub(crate) max_packets: u32,
    /// Fields that the hash of a packet covers. Default `"address-pair"`, SFQ's conversation; ns-2 has `"address-sum"`.
    #[serde(default = "address_pair")]
    pub(crate) hash: FlowHash,
    /// How often the hash is perturbed, which may reorder packets. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) perturbation: Option<Time>,
    /// Packet that is dropped. Default `"steal-tail"`.
    #[serde(default)]
    pub(crate) drop: DropRule,
}

fn one() -> u32 {
    1
}

fn ten() -> u32 {
    10
}

fn sixteen() -> u32 {
    16
}

fn twenty() -> u32 {
    20
}

fn forty() -> u32 {
    40
}

fn one_packet() -> Amount {
    Amount::Packets(1)
}

fn ns2_quantum() -> Size {
    Size(Bytes(250))
}

fn ns2_limit() -> Amount {
    Amount::Bytes(Bytes(25_000))
}

fn address_pair() -> FlowHash {
    FlowHash::AddressPair
}

/// A token bucket that holds a port below the rate of its link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shaper {
    /// Long-term rate, in bits on the wire.
    pub(crate) rate: Speed,
    /// Depth of the bucket: what may pass at once after a pause. At least one full packet.
    pub(crate) burst: Size,
}
