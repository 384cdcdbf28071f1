//! Bodies of RoCEv2 packets. Packet sequence numbers (PSNs) count the packets of a queue pair from zero and never wrap; a capture writes
//! their lowest 24 bits.

use crate::time::Instant;

/// Packet of a message: an RDMA WRITE or SEND.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RdmaData {
    /// Packet sequence number.
    pub psn: u64,
    /// Number of bytes that the queue pair sends before this packet.
    pub offset: u64,
    /// Time at which the NIC sent the packet; acknowledgements echo it.
    pub sent_at: Instant,
    /// Number of bytes of data.
    pub len: u16,
    /// Whether this is the first packet of its message, which has a RETH.
    pub first: bool,
    /// Whether this is the last packet of its message.
    pub last: bool,
    /// Whether the packet requests an acknowledgement (BTH AckReq).
    pub ack_request: bool,
}

/// Kind of a packet from the responder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RdmaReplyKind {
    /// All packets before the PSN have arrived.
    #[default]
    Ack,
    /// NAK with a PSN sequence error: the packet with the PSN is missing, and all earlier packets have arrived.
    Nak,
    /// NACK of IRN or selective repeat: the packet with the PSN is missing, all earlier packets and the packet `arrived` have arrived.
    SelectiveNack {
        /// PSN of the packet that arrived.
        arrived: u64,
    },
    /// Congestion notification packet.
    Cnp,
}

/// Packet from the responder of a queue pair to its requester.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RdmaReply {
    /// Kind of the packet.
    pub kind: RdmaReplyKind,
    /// PSN of the next packet that the responder expects.
    pub psn: u64,
    /// Number of bytes in the packets before `psn`.
    pub received: u64,
    /// `sent_at` of the packet that triggered the reply.
    pub echo: Instant,
    /// Whether the packet that triggered the reply was marked with CE, or one since the last acknowledgement. Only congestion controls whose
    /// acknowledgements echo marks use it.
    pub marked: bool,
}
