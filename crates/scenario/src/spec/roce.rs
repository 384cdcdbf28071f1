//! `[roce]`: queue pairs of RoCEv2.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Duration;

use super::omitted::is_default;
use super::roce_congestion::{NoControl, RoceCongestion};
use crate::quantity::{Automatic, PacketRate, Size, Speed, Time};
use crate::tagged::tagged;

/// Transport of a workload's flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Transport {
    /// TCP, with the settings of `[tcp]`.
    #[default]
    Tcp,
    /// RDMA over converged Ethernet, version 2 (RoCEv2), with the settings of `[roce]`. Each flow is a message on a queue pair.
    Roce,
}

/// RoCEv2: queue pairs of the workloads with `transport = "roce"`. Every connection is a reliable connection (RC), and every flow is one
/// message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Roce {
    /// Operation of the messages. Default `"write"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) operation: RoceOperation,
    /// Data of a full packet (path MTU), 256 B to 4096 B. InfiniBand allows only powers of two. Default `"auto"`: the largest power of two
    /// that fits the MTU of all hosts.
    #[serde(default)]
    pub(crate) mtu: Automatic<Size>,
    /// Loss recovery. Default `"go-back-n"`.
    #[serde(default = "go_back_n")]
    pub(crate) recovery: RoceRecovery,
    /// Number of packets after which an acknowledgement is requested. Default 1.
    #[serde(default = "one")]
    pub(crate) ack_every: u32,
    /// Retransmission timeout. InfiniBand allows only 4.096 µs times a power of two. Default: the largest such time below 100 ms, 67.1 ms
    /// (`ibv_qp_attr.timeout` 14). IRN has timeouts of its own.
    #[serde(default = "timeout")]
    pub(crate) timeout: Time,
    /// Adaptive timeouts, which begin below `timeout` and grow up to it. Not with IRN. Default: every timeout lasts `timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) adaptive_timeout: Option<AdaptiveTimeout>,
    /// Number of consecutive timeouts without progress, from 0 to 7, after which a queue pair ends with an error. Default 7
    /// (`ibv_qp_attr.retry_cnt`). With `adaptive_timeout`, the queue pair ends with the first timeout after `retry_count` · `timeout`
    /// without progress.
    #[serde(default = "seven")]
    pub(crate) retry_count: u32,
    /// Class of service (DSCP) of acknowledgements and negative acknowledgements. Default: the class of the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ack_class: Option<u8>,
    /// Congestion notification packets (CNPs). Only with a congestion control that uses them.
    #[serde(default)]
    pub(crate) cnp: Cnp,
    /// Congestion control. Default `"none"`: queue pairs send at line rate.
    #[serde(default = "none")]
    pub(crate) congestion: RoceCongestion,
    /// Largest number of bytes on the wire that a queue pair sends back to back before its rate delays the next packet (`max_burst_sz` in
    /// ibv_modify_qp_rate_limit(3)), at least two of the largest packets. Default: its rate delays every packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) burst: Option<Size>,
}

/// Limits of a NIC on the data that its queue pairs send. The NIC serves its queue pairs in turns, and each limit applies to all of them
/// together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NicSend {
    /// Largest number of packets with data per second. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) packet_rate: Option<PacketRate>,
    /// Rate at which the NIC reads the data of packets, without headers, from the memory of its host (PCIe). Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dma_rate: Option<Speed>,
    /// Time from the posting of a message until its first packet may leave: doorbell, and fetch of the work request and of its data. The
    /// delays of messages on different queue pairs overlap. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) message_delay: Time,
}

/// Adaptive retransmission timeouts of ConnectX NICs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdaptiveTimeout {
    /// Shortest timeout, and the timeout of a new queue pair. Default `"2097152ns"`, 4.096 µs times 2⁹, as in a capture of a ConnectX-5
    /// (linux-rdma/perftest, issue 251).
    #[serde(default = "first_timeout")]
    pub(crate) first: Time,
    /// Number of consecutive timeouts of the same length before they double. Default 1.
    #[serde(default = "one")]
    pub(crate) attempts: u32,
    /// Effect of an acknowledgement of new data. Default `"reset"`.
    #[serde(default)]
    pub(crate) decrease: Decrease,
}

/// Effect of an acknowledgement of new data on an adaptive timeout, which is never shorter than `first`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Decrease {
    /// The timeout is `first` again.
    #[default]
    Reset,
    /// The timeout is halved.
    Half,
    /// The timeout is divided by four.
    Quarter,
}

/// Congestion notification packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cnp {
    /// Shortest time between two CNPs of a queue pair. Default `"auto"`: `"50us"` (DCQCN, SIGCOMM '15). For hosts with
    /// `dcqcn-connectx`, `"auto"` means `"4us"` with the preset `"connectx"` and `"0s"` with the preset `"hpcc-repo"`.
    #[serde(default)]
    pub(crate) interval: Automatic<Time>,
    /// Time from the arrival of a marked packet to the CNP. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) latency: Time,
    /// Whether a packet that arrives out of order also causes a CNP. Default false.
    #[serde(default)]
    pub(crate) out_of_order: bool,
    /// Class of service (DSCP) of CNPs. Default: the class of the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) class: Option<u8>,
}

impl Cnp {
    /// Returns the shortest time between two CNPs.
    pub(crate) fn interval(&self) -> Duration {
        self.interval.filled().0
    }
}

impl Default for Cnp {
    fn default() -> Self {
        Self { interval: Automatic::Auto, latency: no_time(), out_of_order: false, class: None }
    }
}

tagged! {
    /// Operation of the messages of queue pairs.
    RoceOperation, "operation" {
        /// RDMA WRITE: the sender writes to memory of the receiver, whose processor takes no part.
        "write" => Write(Write),
        /// SEND: each message consumes a receive work request of the receiver.
        "send" => Send(Send),
        /// RDMA READ: the sender of a flow reads from memory of the receiver, so the data flows from the receiver to the sender. Requires
        /// `recovery = "go-back-n"` without tolerance of reordering. The congestion control must be `"none"`, `"dcqcn"` or
        /// `"dcqcn-connectx"`, without a window.
        "read" => Read(Read),
    }
}

impl Default for RoceOperation {
    fn default() -> Self {
        Self::Write(Write {})
    }
}

/// RDMA WRITE without immediate data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Write {}

/// RDMA READ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Read {
    /// Largest number of outstanding READs of a queue pair (`ibv_qp_attr.max_rd_atomic`), from 1 to 255. A READ is outstanding from its
    /// request until all of its data has arrived. Default 16. This limit takes effect if `connections.queue_depth` is larger.
    #[serde(default = "sixteen", skip_serializing_if = "is_sixteen")]
    pub(crate) max_rd_atomic: u32,
}

/// SEND, and the receive queue of its receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Send {
    /// Number of receive work requests of each queue pair. If all are in use when a message begins, the receiver answers that it is not ready
    /// (RNR NAK). Only with `recovery = "go-back-n"`. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) receive_depth: Option<u32>,
    /// Time from the arrival of the last packet of a message until the receiver posts its receive work request again. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) refill: Time,
    /// Time for which the sender waits after an RNR NAK: one of the 32 times that InfiniBand allows. Default `"640us"`
    /// (`ibv_qp_attr.min_rnr_timer` 12).
    #[serde(default = "rnr_timer")]
    pub(crate) rnr_timer: Time,
    /// Number of consecutive RNR NAKs without progress, from 0 to 6, after which a queue pair ends with an error; 7 for no limit. Default 7
    /// (`ibv_qp_attr.rnr_retry`).
    #[serde(default = "seven")]
    pub(crate) rnr_retry: u32,
}

tagged! {
    /// Loss recovery of queue pairs.
    RoceRecovery, "recovery" {
        /// Responders drop packets that arrive out of order, and requesters send everything again from the missing packet.
        "go-back-n" => GoBackN(GoBackN),
        /// Responders keep packets that arrive out of order, and requesters retransmit only missing packets.
        "selective-repeat" => SelectiveRepeat(SelectiveRepeat),
        /// IRN (SIGCOMM '18): selective repeat with a fixed window and two timeouts, for networks without lossless classes.
        "irn" => Irn(Irn),
    }
}

/// Retransmission of all packets from the first missing one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GoBackN {
    /// Tolerance of reordering: a responder holds packets that are ahead of the expected packet by at most this number of packets. When a
    /// packet arrives that is further ahead, the responder treats the expected packet as lost. Default 0: the responder drops each
    /// packet out of order.
    #[serde(default)]
    pub(crate) reordering: u32,
}

/// Retransmission of missing packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SelectiveRepeat {}

/// IRN's window and timeouts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Irn {
    /// Limit of the packets in flight (BDP-FC): the bandwidth-delay product of the longest path.
    pub(crate) window: u32,
    /// Timeout if at most `few` packets are in flight. Default `"100us"`.
    #[serde(default = "low")]
    pub(crate) low_timeout: Time,
    /// Timeout if more than `few` packets are in flight. Default `"320us"`.
    #[serde(default = "high")]
    pub(crate) high_timeout: Time,
    /// Largest number of packets in flight for `low_timeout`. Default 3.
    #[serde(default = "three")]
    pub(crate) few: u32,
}

impl Default for Roce {
    fn default() -> Self {
        Self {
            operation: RoceOperation::default(),
            mtu: Automatic::Auto,
            recovery: go_back_n(),
            ack_every: one(),
            timeout: timeout(),
            adaptive_timeout: None,
            retry_count: seven(),
            ack_class: None,
            cnp: Cnp::default(),
            congestion: none(),
            burst: None,
        }
    }
}

fn go_back_n() -> RoceRecovery {
    RoceRecovery::GoBackN(GoBackN::default())
}

fn none() -> RoceCongestion {
    RoceCongestion::None(NoControl {})
}

fn one() -> u32 {
    1
}

fn three() -> u32 {
    3
}

fn sixteen() -> u32 {
    16
}

fn is_sixteen(number: &u32) -> bool {
    *number == sixteen()
}

fn seven() -> u32 {
    7
}

/// 4.096 µs · 2¹⁴ (InfiniBand specification, C9-139).
fn timeout() -> Time {
    Time(Duration::from_nanos(4_096 << 14))
}

fn first_timeout() -> Time {
    Time(Duration::from_nanos(4_096 << 9))
}

fn rnr_timer() -> Time {
    Time(Duration::from_micros(640))
}

fn low() -> Time {
    Time(Duration::from_micros(100))
}

fn high() -> Time {
    Time(Duration::from_micros(320))
}

fn no_time() -> Time {
    Time(Duration::ZERO)
}
