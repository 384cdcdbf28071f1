//! Bodies of packets under way. No switch reads a body, so bodies stay in this store while headers travel through the network.
//!
//! Each kind of body has its own store, with one body per cache line. Bodies therefore need no tag, and no field has two meanings.

pub(crate) mod bodies;

use std::num::NonZeroU16;

use shallows_core::packet::{AckSegment, Body, DataSegment, EchoMessage, Flags};
use shallows_core::rdma::{RdmaData, RdmaOperation, RdmaReadRequest, RdmaReply};
use shallows_core::{Instant, prefetch};
use shallows_rdma::congestion::Telemetry;
use shallows_rdma::{MOST_HOPS, extended_headers};

use crate::hosts::names::{FlowNumber, Name};
use crate::network::slots::Slots;

/// Place of a packet's body: the body's kind in the four highest bits, and its slot in the store of that kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PacketRef(u32);

const KIND_SHIFT: u32 = 28;
const SLOT_MASK: u32 = (1 << KIND_SHIFT) - 1;
const DATA: u32 = 0;
const ACK: u32 = 1;
const PROBE: u32 = 2;
const RDMA_DATA: u32 = 3;
const RDMA_REPLY: u32 = 4;
/// Number of the store for data packets with in-band telemetry. `TOLD_REPLY` is the number of the store for replies with telemetry.
const TOLD_DATA: u32 = 5;
const TOLD_REPLY: u32 = 6;
const READ_REQUEST: u32 = 7;

impl PacketRef {
    /// Reference for a packet without a body, such as a datagram.
    pub(crate) const NONE: Self = Self(u32::MAX);

    #[inline]
    fn new(kind: u32, slot: u32) -> Self {
        debug_assert!(slot <= SLOT_MASK, "fewer than 2^28 packets of a kind are under way at once");
        Self(kind << KIND_SHIFT | slot)
    }

    #[inline]
    fn kind(self) -> u32 {
        self.0 >> KIND_SHIFT
    }

    #[inline]
    fn slot(self) -> u32 {
        self.0 & SLOT_MASK
    }

    /// Returns whether the packet belongs to a queue pair.
    #[inline]
    pub(crate) fn is_of_queue_pair(self) -> bool {
        matches!(self.kind(), RDMA_DATA..=READ_REQUEST)
    }
}

/// Segment with data, or one that opens or closes a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataPacket {
    pub(crate) segment: DataSegment,
    pub(crate) framing: Framing,
    /// Connection of the segment.
    pub(crate) name: Name,
}

impl DataPacket {
    /// Returns the flow that this packet probably begins or ends.
    #[inline(always)]
    pub(crate) fn begun_or_ended(&self) -> Option<u32> {
        let flags = self.segment.flags;
        match self.framing {
            Framing::Flow(framing) if flags.contains(Flags::SYN) || flags.contains(Flags::PSH) => {
                Some(framing.flow.get())
            }
            _ => None,
        }
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckPacket {
    pub(crate) segment: AckSegment,
    /// Connection of the acknowledgement.
    pub(crate) name: Name,
}

/// Packet with data of a queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RdmaPacket {
    pub(crate) data: RdmaData,
    pub(crate) framing: Framing,
    /// Connection of the packet.
    pub(crate) name: Name,
}

impl RdmaPacket {
    /// Returns whether the packet is a response to an RDMA READ.
    pub(crate) fn is_response(&self) -> bool {
        self.data.operation == RdmaOperation::ReadResponse
    }

    /// Returns the length of the data and the extended headers. The headers that every packet has do not count.
    pub(crate) fn len(&self) -> u16 {
        self.data.len + extended_headers(&self.data).0 as u16
    }
}

/// Request of an RDMA READ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadRequestPacket {
    pub(crate) request: RdmaReadRequest,
    /// Flow of the request.
    pub(crate) framing: Framing,
    /// Connection of the request.
    pub(crate) name: Name,
}

/// Acknowledgement, negative acknowledgement or congestion notification packet of a queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyPacket {
    pub(crate) reply: RdmaReply,
    /// Connection of the reply.
    pub(crate) name: Name,
}

/// In-band telemetry of a packet: one entry per switch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Hops {
    hops: [Telemetry; MOST_HOPS],
    count: usize,
}

impl Hops {
    /// Returns the entries, in the order of the switches.
    pub(crate) fn entries(&self) -> &[Telemetry] {
        &self.hops[..self.count]
    }

    fn add(&mut self, hop: Telemetry) {
        self.hops[self.count] = hop;
        self.count += 1;
    }
}

/// Packet with in-band telemetry.
#[derive(Clone, Copy, Debug)]
struct Told<P> {
    packet: P,
    hops: Hops,
}

/// Packet with data that waits in a NIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    /// Connection of the packet.
    pub(crate) name: Name,
    /// Length without the headers that every packet of the connection has.
    pub(crate) len: u16,
}

/// An echo request or reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbePacket {
    pub(crate) message: EchoMessage,
    /// Number of the pair of hosts that the probe measures.
    pub(crate) pair: u32,
    /// Number of the request among all requests from its partition of the network.
    pub(crate) asked: u64,
    pub(crate) sent_at: Instant,
}

/// Framing of a data segment: the flow that it belongs to, if any. Applications use framing to separate messages in a byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// The segment belongs to a flow.
    Flow(FlowFraming),
    /// The segment precedes the first flow of a persistent connection of this workload.
    BeforeFlows { workload: u16 },
}

/// Flow of a data segment, and the flow's position in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowFraming {
    pub(crate) flow: FlowNumber,
    /// Number of the sender's timeouts since the flow became the current flow of its connection.
    pub(crate) timeouts: u32,
    /// Sequence number of the flow's first byte.
    pub(crate) start: u64,
    /// Time at which the flow was handed to its connection.
    pub(crate) started: Instant,
}

/// Body of a packet of any kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Packet {
    Data(DataPacket),
    Ack(AckPacket),
    Probe(ProbePacket),
    RdmaData(RdmaPacket),
    RdmaReply(ReplyPacket),
    ReadRequest(ReadRequestPacket),
}

/// All packets under way.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    data: Slots<Line<DataPacket>>,
    acks: Slots<Line<AckPacket>>,
    probes: Slots<Line<ProbePacket>>,
    rdma_data: Slots<Line<RdmaPacket>>,
    rdma_replies: Slots<Line<ReplyPacket>>,
    told_data: Slots<Told<RdmaPacket>>,
    told_replies: Slots<Told<ReplyPacket>>,
    read_requests: Slots<Line<ReadRequestPacket>>,
}

/// A body on a cache line of its own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line<T>(T);

impl Packets {
    #[inline]
    pub(crate) fn insert_data(&mut self, packet: DataPacket) -> PacketRef {
        PacketRef::new(DATA, self.data.insert(Line(packet)))
    }

    #[inline]
    pub(crate) fn insert_ack(&mut self, packet: AckPacket) -> PacketRef {
        PacketRef::new(ACK, self.acks.insert(Line(packet)))
    }

    pub(crate) fn insert_probe(&mut self, packet: ProbePacket) -> PacketRef {
        PacketRef::new(PROBE, self.probes.insert(Line(packet)))
    }

    pub(crate) fn insert_rdma_data(&mut self, packet: RdmaPacket) -> PacketRef {
        PacketRef::new(RDMA_DATA, self.rdma_data.insert(Line(packet)))
    }

    pub(crate) fn insert_rdma_reply(&mut self, packet: ReplyPacket) -> PacketRef {
        PacketRef::new(RDMA_REPLY, self.rdma_replies.insert(Line(packet)))
    }

    pub(crate) fn insert_read_request(&mut self, packet: ReadRequestPacket) -> PacketRef {
        PacketRef::new(READ_REQUEST, self.read_requests.insert(Line(packet)))
    }

    /// Stores a packet with data to which switches add telemetry.
    pub(crate) fn insert_told_data(&mut self, packet: RdmaPacket) -> PacketRef {
        PacketRef::new(TOLD_DATA, self.told_data.insert(Told { packet, hops: Hops::default() }))
    }

    /// Stores a reply that carries the telemetry of the packet that triggered it.
    pub(crate) fn insert_told_reply(&mut self, packet: ReplyPacket, hops: Hops) -> PacketRef {
        PacketRef::new(TOLD_REPLY, self.told_replies.insert(Told { packet, hops }))
    }

    /// Adds the telemetry of a switch to a packet with data; other packets do not change.
    pub(crate) fn add_telemetry(&mut self, packet: PacketRef, hop: Telemetry) {
        if packet.kind() == TOLD_DATA {
            self.told_data.get_mut(packet.slot()).hops.add(hop);
        }
    }

    /// Returns the code of the highest utilisation on the path of a packet so far; `None` for a packet without PINT.
    pub(crate) fn utilisation_mut(&mut self, packet: PacketRef) -> Option<&mut NonZeroU16> {
        if packet.kind() != RDMA_DATA {
            return None;
        }
        self.rdma_data.get_mut(packet.slot()).0.data.utilisation.as_mut()
    }

    /// Stores a body of any kind.
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketRef {
        match packet {
            Packet::Data(packet) => self.insert_data(packet),
            Packet::Ack(packet) => self.insert_ack(packet),
            Packet::Probe(packet) => self.insert_probe(packet),
            Packet::RdmaData(packet) => self.insert_rdma_data(packet),
            Packet::RdmaReply(packet) => self.insert_rdma_reply(packet),
            Packet::ReadRequest(packet) => self.insert_read_request(packet),
        }
    }

    /// Returns the body of a data packet; `None` for a packet of another kind.
    #[inline]
    pub(crate) fn data(&self, packet: PacketRef) -> Option<&DataPacket> {
        if packet.kind() == DATA { self.data.get(packet.slot()).map(|line| &line.0) } else { None }
    }

    /// Returns the body of an acknowledgement; `None` for a packet of another kind.
    #[inline]
    pub(crate) fn ack(&self, packet: PacketRef) -> Option<&AckPacket> {
        if packet.kind() == ACK { self.acks.get(packet.slot()).map(|line| &line.0) } else { None }
    }

    /// Returns the body of a data packet for modification.
    pub(crate) fn data_mut(&mut self, packet: PacketRef) -> &mut DataPacket {
        debug_assert_eq!(packet.kind(), DATA);
        &mut self.data.get_mut(packet.slot()).0
    }

    /// Removes a data packet. Its body stays in its slot until the next insertion.
    #[inline]
    pub(crate) fn remove_data(&mut self, packet: PacketRef) -> &DataPacket {
        debug_assert_eq!(packet.kind(), DATA);
        &self.data.remove(packet.slot()).0
    }

    /// Removes an acknowledgement. Its body stays in its slot until the next insertion.
    #[inline]
    pub(crate) fn remove_ack(&mut self, packet: PacketRef) -> &AckPacket {
        debug_assert_eq!(packet.kind(), ACK);
        &self.acks.remove(packet.slot()).0
    }

    pub(crate) fn remove_probe(&mut self, packet: PacketRef) -> ProbePacket {
        debug_assert_eq!(packet.kind(), PROBE);
        self.probes.remove(packet.slot()).0
    }

    /// Removes and returns a data packet of a queue pair, with its telemetry if it has any.
    pub(crate) fn remove_rdma_data(&mut self, packet: PacketRef) -> (RdmaPacket, Option<Hops>) {
        if packet.kind() == TOLD_DATA {
            let told = self.told_data.remove(packet.slot());
            return (told.packet, Some(told.hops));
        }
        debug_assert_eq!(packet.kind(), RDMA_DATA);
        (self.rdma_data.remove(packet.slot()).0, None)
    }

    /// Removes a reply of a queue pair; returns it with the telemetry that it carries.
    pub(crate) fn remove_rdma_reply(&mut self, packet: PacketRef) -> (ReplyPacket, Hops) {
        if packet.kind() == TOLD_REPLY {
            let told = self.told_replies.remove(packet.slot());
            return (told.packet, told.hops);
        }
        debug_assert_eq!(packet.kind(), RDMA_REPLY);
        (self.rdma_replies.remove(packet.slot()).0, Hops::default())
    }

    /// Removes the request of an RDMA READ; `None` for a packet of another kind.
    pub(crate) fn remove_read_request(&mut self, packet: PacketRef) -> Option<ReadRequestPacket> {
        (packet.kind() == READ_REQUEST).then(|| self.read_requests.remove(packet.slot()).0)
    }

    /// Returns the body of a packet with data of a queue pair; `None` for a packet of another kind.
    pub(crate) fn rdma_data(&self, packet: PacketRef) -> Option<&RdmaPacket> {
        match packet.kind() {
            RDMA_DATA => self.rdma_data.get(packet.slot()).map(|line| &line.0),
            TOLD_DATA => self.told_data.get(packet.slot()).map(|told| &told.packet),
            _ => None,
        }
    }

    /// Removes and returns the body of a packet; `None` for a packet without a body.
    #[inline(never)]
    fn remove(&mut self, packet: PacketRef) -> Option<Packet> {
        match packet.kind() {
            DATA => Some(Packet::Data(*self.remove_data(packet))),
            ACK => Some(Packet::Ack(*self.remove_ack(packet))),
            PROBE => Some(Packet::Probe(self.remove_probe(packet))),
            RDMA_DATA | TOLD_DATA => Some(Packet::RdmaData(self.remove_rdma_data(packet).0)),
            RDMA_REPLY | TOLD_REPLY => Some(Packet::RdmaReply(self.remove_rdma_reply(packet).0)),
            READ_REQUEST => self.remove_read_request(packet).map(Packet::ReadRequest),
            _ => None,
        }
    }

    /// Returns the contents of a packet for captures; `None` for a packet without a body.
    pub(crate) fn body(&self, packet: PacketRef) -> Option<Body> {
        let slot = packet.slot();
        match packet.kind() {
            DATA => self.data.get(slot).map(|line| Body::Data(line.0.segment)),
            ACK => self.acks.get(slot).map(|line| Body::Ack(line.0.segment)),
            PROBE => self.probes.get(slot).map(|line| Body::Echo(line.0.message)),
            RDMA_DATA | TOLD_DATA => self.rdma_data(packet).map(|body| Body::RdmaData(body.data)),
            RDMA_REPLY => self.rdma_replies.get(slot).map(|line| Body::RdmaReply(line.0.reply)),
            TOLD_REPLY => self.told_replies.get(slot).map(|told| Body::RdmaReply(told.packet.reply)),
            READ_REQUEST => self.read_requests.get(slot).map(|line| Body::RdmaReadRequest(line.0.request)),
            _ => None,
        }
    }

    /// Prefetches the body of a packet that will be removed soon.
    #[inline]
    pub(crate) fn prefetch(&self, packet: PacketRef) {
        match packet.kind() {
            DATA => self.data.get(packet.slot()).map(prefetch),
            ACK => self.acks.get(packet.slot()).map(prefetch),
            _ => None,
        };
    }

    /// Returns the connection and the length of a packet that its sender counts as queued in the NIC; `None` for other packets. Other
    /// packets include responses to READs, because the receiving side of the connection sends them.
    pub(crate) fn queued(&self, packet: PacketRef) -> Option<Queued> {
        if let Some(DataPacket { segment, name, .. }) = self.data(packet) {
            return (segment.len > 0).then_some(Queued { name: *name, len: segment.len });
        }
        let packet = self.rdma_data(packet).filter(|packet| !packet.is_response())?;
        Some(Queued { name: packet.name, len: packet.len() })
    }

    /// Removes the body of a dropped packet. Returns whether the packet had data.
    pub(crate) fn discard(&mut self, packet: PacketRef) -> bool {
        match self.remove(packet) {
            Some(Packet::Data(packet)) => packet.segment.len > 0,
            Some(Packet::RdmaData(_)) => true,
            _ => false,
        }
    }

    /// Returns the number of stored bodies.
    pub(crate) fn len(&self) -> usize {
        let told = self.told_data.len() + self.told_replies.len();
        let rdma = self.rdma_data.len() + self.rdma_replies.len() + told;
        self.data.len() + self.acks.len() + self.probes.len() + rdma + self.read_requests.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: Name = Name { slot: 1, generation: 2 };

    fn data(len: u16) -> DataPacket {
        let segment = DataSegment { seq: 3, len, ..DataSegment::default() };
        DataPacket { segment, framing: Framing::BeforeFlows { workload: 7 }, name: NAME }
    }

    #[test]
    fn a_packet_is_one_cache_line() {
        assert_eq!((size_of::<Line<DataPacket>>(), size_of::<Line<AckPacket>>()), (64, 64));
        assert_eq!((size_of::<Line<ProbePacket>>(), size_of::<Option<Packet>>()), (64, 72));
        assert_eq!((size_of::<Line<RdmaPacket>>(), size_of::<Line<ReplyPacket>>()), (64, 64));
        assert_eq!(size_of::<Line<ReadRequestPacket>>(), 64);
    }

    #[test]
    fn a_flow_is_told_from_none_without_room_of_its_own() {
        assert_eq!((size_of::<Framing>(), size_of::<FlowFraming>()), (24, 24));
        for number in [0, 7, u32::MAX - 1] {
            assert_eq!(FlowNumber::new(number).get(), number);
        }
    }

    #[test]
    fn each_kind_is_kept_among_itself_and_found_again() {
        let mut packets = Packets::default();
        let ack = AckSegment { ack: 9, ..AckSegment::default() };
        let message = EchoMessage { sequence: 5, is_reply: true };
        let probe = ProbePacket { message, pair: 1, asked: 4, sent_at: Instant(8) };
        let all = [
            packets.insert(Packet::Data(data(1_460))),
            packets.insert(Packet::Ack(AckPacket { segment: ack, name: NAME })),
            packets.insert(Packet::Probe(probe)),
        ];
        let bodies = all.map(|packet| packets.body(packet));
        let segment = data(1_460).segment;
        assert_eq!(bodies, [Some(Body::Data(segment)), Some(Body::Ack(ack)), Some(Body::Echo(message))]);
        assert_eq!(packets.body(PacketRef::NONE), None);
        assert!(packets.data(all[0]).is_some() && packets.data(all[1]).is_none());
        assert!(packets.data(PacketRef::NONE).is_none());
        assert_eq!(packets.len(), 3);
        assert_eq!(packets.remove_probe(all[2]).sent_at, Instant(8));
        assert_eq!((packets.remove_ack(all[1]).segment, packets.len()), (ack, 1));
    }

    #[test]
    fn only_data_with_bytes_counts_as_lost_data() {
        let mut packets = Packets::default();
        let segment = AckSegment::default();
        let kept = [
            packets.insert_data(data(1_460)),
            packets.insert_data(data(0)),
            packets.insert_ack(AckPacket { segment, name: NAME }),
            PacketRef::NONE,
        ];
        assert_eq!(kept.map(|packet| packets.discard(packet)), [true, false, false, false]);
        assert_eq!(packets.len(), 0);
    }
}
