//! Ports: queues, schedulers and shapers.

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
    /// Queues of a port, and the scheduler that chooses the queue to send from.
    Port, "port" {
        /// A single queue.
        "fifo" => Fifo(Fifo),
        /// Strict priority: the first queue that is not empty sends.
        "strict-priority" => StrictPriority(StrictPriority),
        /// Round-robin by bytes without carry-over: the unused part of a turn is lost.
        "wrr" => Wrr(Wrr),
        /// Round-robin by bytes with carry-over: the unused part of a turn is added to the next turn (Shreedhar and Varghese, SIGCOMM '95).
        "dwrr" => Dwrr(Dwrr),
        /// Weighted fair queueing (Demers et al., SIGCOMM '89; Parekh and Gallager, ToN '93).
        "wfq" => Wfq(Wfq),
        /// Hashed Credits Fair (Shpiner et al.): a high-priority and a low-priority queue that swap roles. Flows are hashed to bins, whose
        /// credits admit packets to the high-priority queue.
        "hcf" => Hcf(Hcf),
        /// Deficit round-robin over buckets to which flows are hashed; at the limit, the head of the longest bucket is dropped (ns-2's
        /// DRR).
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

/// A single queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fifo {}

/// Strict priority: queue 0 is served before queue 1, and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StrictPriority {
    /// Number of queues of a port.
    pub(crate) queues: u8,
    /// Queue of each class of service, as a list indexed by class (SONiC: `TC_TO_QUEUE_MAP`). The class of a packet is its DSCP, or the
    /// class to which `switch.lossless.dscp_to_tc` maps it. Default: class *n* uses queue *n*.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) classes: Option<Vec<u8>>,
    /// Limit of each queue, in addition to the limits of the buffer. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queue_limit: Option<PerQueue<Amount>>,
    /// Limit of all queues of a port together, which they share first come, first served. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) port_limit: Option<Amount>,
}

/// Round-robin by bytes, without carry-over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wrr {
    /// Number of queues that take turns.
    pub(crate) queues: u8,
    /// Data that each queue may send in a round: one value for all queues, or a list with one value per queue.
    pub(crate) quantum: PerQueue<Amount>,
    /// Order in which queues take turns. Default `"cyclic"`.
    #[serde(default)]
    pub(crate) order: Order,
    /// Number of additional queues with strict priority over the other queues. They have the lowest queue numbers. Default 0.
    #[serde(default)]
    pub(crate) strict: u8,
    /// Queue of each class of service, as a list indexed by class (SONiC: `TC_TO_QUEUE_MAP`). The class of a packet is its DSCP, or the
    /// class to which `switch.lossless.dscp_to_tc` maps it. Default: class *n* uses queue *n*.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) classes: Option<Vec<u8>>,
    /// Limit of each queue, in addition to the limits of the buffer. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queue_limit: Option<PerQueue<Amount>>,
    /// Limit of all queues of a port together, which they share first come, first served. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) port_limit: Option<Amount>,
}

/// Round-robin by bytes, with carry-over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dwrr {
    /// Number of queues that take turns.
    pub(crate) queues: u8,
    /// Data that each queue may send in a round, on average: one value for all queues, or a list with one value per queue.
    pub(crate) quantum: PerQueue<Amount>,
    /// Number of additional queues with strict priority over the other queues. They have the lowest queue numbers. Default 0.
    #[serde(default)]
    pub(crate) strict: u8,
    /// Queue of each class of service, as a list indexed by class (SONiC: `TC_TO_QUEUE_MAP`). The class of a packet is its DSCP, or the
    /// class to which `switch.lossless.dscp_to_tc` maps it. Default: class *n* uses queue *n*.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) classes: Option<Vec<u8>>,
    /// Limit of each queue, in addition to the limits of the buffer. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queue_limit: Option<PerQueue<Amount>>,
    /// Limit of all queues of a port together, which they share first come, first served. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) port_limit: Option<Amount>,
}

/// Weighted fair queueing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wfq {
    /// Number of queues that share the link.
    pub(crate) queues: u8,
    /// Weights of the queues. Busy queues share the link in proportion to their weights. One value for all queues (default 1), or a list
    /// with one value per queue.
    #[serde(default = "one_weight")]
    pub(crate) weight: PerQueue<u32>,
    /// Definition of WFQ's virtual time. Default `"gps"`.
    #[serde(default)]
    pub(crate) virtual_time: VirtualTime,
    /// Number of additional queues with strict priority over the other queues. They have the lowest queue numbers. Default 0.
    #[serde(default)]
    pub(crate) strict: u8,
    /// Queue of each class of service, as a list indexed by class (SONiC: `TC_TO_QUEUE_MAP`). The class of a packet is its DSCP, or the
    /// class to which `switch.lossless.dscp_to_tc` maps it. Default: class *n* uses queue *n*.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) classes: Option<Vec<u8>>,
    /// Limit of each queue, in addition to the limits of the buffer. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queue_limit: Option<PerQueue<Amount>>,
    /// Limit of all queues of a port together, which they share first come, first served. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) port_limit: Option<Amount>,
}

fn one_weight() -> PerQueue<u32> {
    PerQueue::All(1)
}

/// Hashed Credits Fair. The defaults are the settings of the HCF paper for long flows (§5.1.1). Other values are alternatives that the
/// paper describes (§4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hcf {
    /// Limit of both queues together (B in the HCF paper).
    pub(crate) limit: Amount,
    /// Number of bins (K in the HCF paper). Default 20.
    #[serde(default = "twenty")]
    pub(crate) bins: u32,
    /// Credits that each bin gets at the start of a period (c0 in the HCF paper), in packets or bytes. Default `"1p"`.
    #[serde(default = "one_packet")]
    pub(crate) credits: Amount,
    /// Number of bins to which each packet is hashed. Several bins form a Bloom counter (HCF paper, §4.1). Default 1.
    #[serde(default = "one")]
    pub(crate) hashes: u32,
    /// Event that ends a period. `"auto"` (default): the high-priority queue becomes empty. A time: the period ends at every multiple of
    /// this time, which may reorder packets (HCF paper, §4.3).
    #[serde(default)]
    pub(crate) period: Automatic<Time>,
    /// Division of the buffer between the two queues (HCF paper, §4.4 and §4.5). Default `"equal"`.
    #[serde(default)]
    pub(crate) division: Division,
    /// Source of the hash function for the next period (HCF paper, §4.6). Default `"drawn"`.
    #[serde(default)]
    pub(crate) rekey: Rekey,
    /// Whether a packet that joins the low-priority queue takes all credits of its bins (HCF paper, footnote 1). Without this rule,
    /// packets of a flow may be reordered. Default `"applied"`.
    #[serde(default)]
    pub(crate) footnote: Footnote,
    /// Whether the queues swap roles when the high-priority queue becomes empty. Default `"when-empty"`: they do.
    #[serde(default)]
    pub(crate) swap: Swap,
}

tagged! {
    /// Division of the buffer between the two queues of HCF.
    Division, "division" {
        /// Each queue has half of the buffer.
        "equal" => Equal(NoMore),
        /// A given share for the high-priority queue, and the rest for the low-priority queue.
        "unequal" => Unequal(Unequal),
        /// No fixed division: packets at the tail of the low-priority queue are dropped to make room for high-priority packets.
        "dynamic" => Dynamic(NoMore),
        /// Two thirds of the buffer for high priority, one third for low priority.
        "thirds" => Thirds(NoMore),
    }
}

impl Default for Division {
    fn default() -> Self {
        Self::Equal(NoMore {})
    }
}

/// Kind of buffer division that has no further keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoMore {}

/// A given share for the high-priority queue, and the rest for the low-priority queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unequal {
    /// Share of the buffer that the high-priority queue has, between 0 and 1.
    pub(crate) high: f64,
    /// Whether a swap of the queues also swaps their sizes. Default `"swap"`: the sizes are swapped.
    #[serde(default)]
    pub(crate) sizes: Sizes,
}

/// Deficit round-robin over buckets to which flows are hashed. The defaults are those of ns-2, except for the hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HashedDrr {
    /// Number of buckets. Default 10.
    #[serde(default = "ten")]
    pub(crate) buckets: u32,
    /// Bytes by which the allowance of a bucket grows each time its turn comes. Default `"250B"`.
    #[serde(default = "ns2_quantum")]
    pub(crate) quantum: Size,
    /// Limit of all buckets together. Default `"25KB"`.
    #[serde(default = "ns2_limit")]
    pub(crate) limit: Amount,
    /// Packet fields that choose the bucket. Default `"five-tuple"`; ns-2 uses `"source-only"`.
    #[serde(default)]
    pub(crate) hash: FlowHash,
}

/// Stochastic Fairness Queueing. Flows are hashed to buckets, and the buckets take turns to send one packet each. The defaults are those of
/// ns-2, except for the hash and the drop rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sfq {
    /// Number of buckets. Default 16.
    #[serde(default = "sixteen")]
    pub(crate) buckets: u32,
    /// Limit of all buckets together, in packets. Default 40.
    #[serde(default = "forty")]
    pub(crate) max_packets: u32,
    /// Packet fields that choose the bucket. Default `"address-pair"`, as in the SFQ paper; ns-2 uses `"address-sum"`.
    #[serde(default = "address_pair")]
    pub(crate) hash: FlowHash,
    /// Time between two changes of the hash function. A change may reorder packets. Default: it never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) perturbation: Option<Time>,
    /// Choice of the packet that is dropped when the buckets are full. Default `"steal-tail"`.
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

/// Token bucket that limits a port below the rate of its link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shaper {
    /// Maximum long-term rate, counted in bits on the wire.
    pub(crate) rate: Speed,
    /// Depth of the bucket: the number of bytes that may pass at once after a pause, at least one full packet.
    pub(crate) burst: Size,
}
