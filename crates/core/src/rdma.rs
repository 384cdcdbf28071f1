//! Bodies of RoCEv2 packets. Packet sequence numbers (PSNs) count the packets of a queue pair from zero and never wrap; a capture writes
//! their lowest 24 bits.

use std::num::NonZeroU16;

use crate::time::{Duration, Instant};

/// Operation to which a packet with data belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RdmaOperation {
    /// RDMA WRITE.
    #[default]
    Write,
    /// SEND.
    Send,
    /// Response to an RDMA READ, from the responder to the requester.
    ReadResponse,
}

/// Packet with data of a message: an RDMA WRITE, a SEND or a response to an RDMA READ.
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
    /// Operation of the message.
    pub operation: RdmaOperation,
    /// Whether this is the first packet of its message, or of the responses to a READ request. The first packet of a WRITE has a RETH.
    pub first: bool,
    /// Whether this is the last packet of its message, or of the responses to a READ request.
    pub last: bool,
    /// Whether the packet requests an acknowledgement (BTH AckReq).
    pub ack_request: bool,
    /// Code of the highest port utilisation on the path so far; `None` without PINT.
    pub utilisation: Option<NonZeroU16>,
}

/// Request of an RDMA READ, from the requester to the responder. The first response has the PSN of the request, and each further response
/// the next PSN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RdmaReadRequest {
    /// Packet sequence number of the request and of its first response.
    pub psn: u64,
    /// Number of bytes that the queue pair reads before the first response.
    pub offset: u64,
    /// Number of bytes to read, at least 1.
    pub bytes: u64,
    /// Time at which the NIC sent the request.
    pub sent_at: Instant,
}

/// Kind of a packet without data: a reply from the responder, or a congestion notification packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RdmaReplyKind {
    /// Acknowledgement: all packets before the PSN have arrived.
    #[default]
    Ack,
    /// NAK with a PSN sequence error: the packet with the PSN is missing, and all earlier packets have arrived.
    Nak,
    /// NACK of IRN or selective repeat: the packet with the PSN is missing. All earlier packets have arrived, and also the packet whose PSN
    /// is `arrived`.
    SelectiveNack {
        /// PSN of the packet that arrived.
        arrived: u64,
    },
    /// NAK of a responder that is not ready (RNR). The responder has no receive work request for the SEND that begins at the PSN, and all
    /// earlier packets have arrived. The requester waits for the time of this timer.
    RnrNak(RnrTimer),
    /// Congestion notification packet from the responder of WRITEs and SENDs.
    Cnp,
    /// Congestion notification packet from the requester of READs, whose responder sends the data.
    ReadCnp,
}

/// Time for which a requester waits after an RNR NAK: one of the 32 times of InfiniBand, stored as its code (ibv_modify_qp(3) lists the
/// codes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RnrTimer(u8);

/// Times of the codes 0 to 31 in units of 10 µs.
const RNR_TIMES: [u32; 32] = [
    65_536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024, 1_536, 2_048,
    3_072, 4_096, 6_144, 8_192, 12_288, 16_384, 24_576, 32_768, 49_152,
];

impl RnrTimer {
    /// Returns the timer with this time; `None` if no code stands for this time.
    pub fn of(time: Duration) -> Option<Self> {
        (0..32).map(Self).find(|timer| timer.time() == time)
    }

    /// Returns all timers in ascending order of their times.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..32).chain([0]).map(Self)
    }

    /// Returns the code of the timer, from 0 to 31.
    pub fn code(self) -> u8 {
        self.0
    }

    /// Returns the time of the timer.
    pub fn time(self) -> Duration {
        Duration::from_micros(10 * u64::from(RNR_TIMES[usize::from(self.0)]))
    }
}

/// Packet without data on a queue pair: a reply from the responder to its requester, or a congestion notification packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RdmaReply {
    /// Kind of the packet.
    pub kind: RdmaReplyKind,
    /// PSN of the next packet that the sender of this reply expects.
    pub psn: u64,
    /// Number of bytes in the packets before `psn`.
    pub received: u64,
    /// `sent_at` of the packet that triggered the reply.
    pub echo: Instant,
    /// Whether the packet that triggered the reply, or another packet since the last acknowledgement, was marked with CE. Only congestion
    /// controls whose acknowledgements echo marks use this flag.
    pub marked: bool,
    /// `utilisation` of the packet that triggered the reply.
    pub utilisation: Option<NonZeroU16>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rnr_timers_have_the_times_of_infiniband() {
        let code = |micros| RnrTimer::of(Duration::from_micros(micros)).map(RnrTimer::code);
        // ibv_modify_qp(3): 1 is 0.01 ms, 12 is 0.64 ms, 31 is 491.52 ms and 0 is 655.36 ms.
        let known = [10, 640, 491_520, 655_360].map(code);
        assert_eq!(known, [Some(1), Some(12), Some(31), Some(0)]);
        assert_eq!(code(50), None);
        assert!(RnrTimer::all().map(RnrTimer::time).is_sorted());
        assert_eq!(RnrTimer::all().count(), 32);
    }
}
