//! Configuration that queue pairs share.

use shallows_core::rdma::{RdmaData, RdmaOperation, RnrTimer};
use shallows_core::{Bytes, Duration};

use crate::congestion;

/// Parameters of a queue pair.
///
/// Each value must be in the range stated at its field. The check of a scenario ensures this before the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Operation of all messages: WRITE, SEND or READ.
    pub operation: Operation,
    /// Data of a full packet (path MTU), 1 to 4,096 bytes.
    pub mtu: Bytes,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Tolerance of reordering. If a packet arrives more than this number of packets ahead of the expected packet, a go-back-N responder
    /// considers the expected packet lost. Zero with other methods of recovery, because their responders keep all packets.
    pub reordering: u64,
    /// Number of packets after which the requester sets AckReq; at least 1. The requester also sets AckReq in the last packet of a message,
    /// in selective retransmissions, and in a packet after which it must wait for an acknowledgement.
    pub ack_every: u32,
    /// Retransmission timeout. IRN has timeouts of its own.
    pub timeout: Duration,
    /// Settings of adaptive timeouts, which are at most `timeout`. `None` if every timeout lasts `timeout`, or if the recovery is IRN.
    pub adaptive: Option<Adaptive>,
    /// Limit of consecutive timeouts without progress, each followed by a retransmission; one more timeout ends the queue pair. `None` for
    /// no limit.
    pub retry_count: Option<u32>,
    /// Congestion notification packets.
    pub notification: Notification,
    /// Congestion control.
    pub congestion: congestion::Config,
    /// Largest size of a burst, in bytes on the wire, at which the burst accepts another packet of any size. At zero, the pacer delays each
    /// packet.
    pub burst_room: Bytes,
}

/// Operation of the messages of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// RDMA WRITE.
    Write,
    /// SEND.
    Send(Send),
    /// RDMA READ: the responder sends the data. Requires [`Recovery::GoBackN`] with neither tolerance of reordering nor adaptive timeouts,
    /// and a congestion control that reacts only to CNPs and has no window. Responses are not acknowledged.
    Read(Read),
}

/// Parameters of READs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Largest number of outstanding READs of a queue pair (`ibv_qp_attr.max_rd_atomic`); at least 1.
    pub outstanding: u32,
}

/// Parameters of SENDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Send {
    /// Receive queue of the responder; `None` if a receive work request is always available. Requires [`Recovery::GoBackN`].
    pub receive: Option<ReceiveQueue>,
    /// Limit of consecutive RNR NAKs without progress, each followed by a retransmission; one more RNR NAK ends the queue pair. `None` for
    /// no limit.
    pub rnr_retry: Option<u32>,
}

/// Receive queue of a responder. Each SEND consumes a receive work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveQueue {
    /// Number of receive work requests; at least 1.
    pub depth: u32,
    /// Time from the arrival of the last packet of a message until its receive work request is posted again.
    pub refill: Duration,
    /// Time for which the requester waits after an RNR NAK.
    pub rnr_timer: RnrTimer,
}

/// Loss recovery of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The responder drops packets that arrive out of order, and the requester retransmits everything from the missing packet on.
    GoBackN,
    /// The responder keeps packets that arrive out of order, and the requester retransmits only missing packets.
    SelectiveRepeat,
    /// IRN (Mittal et al., SIGCOMM '18).
    Irn(Irn),
}

/// Adaptive retransmission timeouts of ConnectX NICs (NVIDIA, "Adaptive Retransmission: Parameters Control", August 2025).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptive {
    /// Shortest timeout, and the timeout of a new queue pair; above zero and at most [`Config::timeout`].
    pub first: Duration,
    /// Number of consecutive timeouts of the same length before the length doubles; at least 1.
    pub attempts: u32,
    /// Effect of an acknowledgement of new data on the timeout.
    pub decrease: Decrease,
}

/// Effect of an acknowledgement of new data on an adaptive timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decrease {
    /// The timeout is divided by this number.
    By(u64),
    /// The timeout returns to [`Adaptive::first`].
    Reset,
}

/// Parameters of IRN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Irn {
    /// Limit on the number of packets in flight (BDP-FC); at least 1.
    pub window: u32,
    /// Timeout if at most `few` packets are in flight.
    pub low_timeout: Duration,
    /// Timeout if more than `few` packets are in flight; at least `low_timeout`.
    pub high_timeout: Duration,
    /// Largest number of packets in flight at which `low_timeout` applies.
    pub few: u32,
}

/// Congestion notification packets (CNPs) of a responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Shortest time between two CNPs of a queue pair; `None` if the responder sends no CNPs.
    pub interval: Option<Duration>,
    /// Time from the arrival of a marked packet until the responder sends the CNP.
    pub latency: Duration,
    /// Whether a packet that arrives out of order also causes a CNP (ConWeave, SIGCOMM '23).
    pub out_of_order: bool,
}

/// Returns the bytes of the extended headers of a packet with data: RETH, AETH or none.
pub fn extended_headers(packet: &RdmaData) -> Bytes {
    match packet.operation {
        RdmaOperation::Write if packet.first => RETH,
        RdmaOperation::ReadResponse if packet.first || packet.last => AETH,
        RdmaOperation::Write | RdmaOperation::Send | RdmaOperation::ReadResponse => Bytes(0),
    }
}

/// Bytes that every packet has in addition to its data and extended headers: the headers of IPv4 (20), UDP (8) and BTH (12), and the
/// trailing ICRC (4) (InfiniBand, annex A17).
pub const HEADERS: Bytes = Bytes(44);
/// Largest number of hops with in-band telemetry (HPCC, SIGCOMM '19, section 4.1).
pub const MOST_HOPS: usize = 5;
/// Bytes of in-band telemetry in the packets of HPCC and PowerTCP: 8 for each of five hops, and 2 for a path number (SIGCOMM '19, section
/// 4.1).
pub const INT: Bytes = Bytes(42);
/// Bytes of the RDMA extended transport header (RETH) of the first packet of an RDMA WRITE, and of the request of an RDMA READ.
pub const RETH: Bytes = Bytes(16);
/// Bytes of the ACK extended transport header (AETH) of acknowledgements, and of the first and the last response to a READ request.
pub const AETH: Bytes = Bytes(4);
/// Reserved bytes of a congestion notification packet after its BTH.
pub const CNP_PAYLOAD: Bytes = Bytes(16);
