//! Parts of a packet: the header, which switches read, and the body, which hosts read.
//!
//! Header and body are separate because a switch reads only the header. Together, header and body hold the fields of a real TCP/IP packet,
//! so a capture of simulated packets looks like a real capture. Each kind of body has its own type, in which each field has one meaning.

use std::num::NonZeroU32;

use crate::rdma::{RdmaData, RdmaReadRequest, RdmaReply};
use crate::time::Instant;
use crate::units::Bytes;

/// Number of a host, counted from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

impl HostId {
    /// Destination of frames that go no further than the next node, such as PFC frames.
    pub const NEXT_NODE: Self = Self(u32::MAX);
}

/// ECN field of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable transport.
    Ect,
    /// Congestion experienced.
    Ce,
}

/// Kind of a packet. Statistics are kept separately for each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketKind {
    /// A TCP segment with data.
    #[default]
    Data,
    /// A TCP segment without data.
    PureAck,
    /// A UDP datagram, which may belong to a queue pair of RoCEv2.
    Datagram,
    /// An ICMP echo request or reply.
    Probe,
}

/// Header of a packet, the part that switches may read. It has only 16 bytes, because every hop copies it. It has two
/// fields, because the compiler keeps a structure of two words in registers, and a structure with more fields in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Sending host in the high half, receiving host in the low half.
    hosts: u64,
    /// Bit fields, from the lowest bit: size (16 bits), class (6), ECN (2), kind (2), hops (4), incast (1), a bit reserved for trimmed packets,
    /// port number of the receiver (16), port number of the sender (16).
    tags: u64,
}

const CLASS_SHIFT: u32 = 16;
const ECN_SHIFT: u32 = 22;
const KIND_SHIFT: u32 = 24;
const HOPS_SHIFT: u32 = 26;
const INCAST_SHIFT: u32 = 30;
const DESTINATION_PORT_SHIFT: u32 = 32;
const SOURCE_PORT_SHIFT: u32 = 48;

impl Header {
    /// Creates the header of a packet between two hosts: size zero, kind `Data`, class 0, not ECN-capable. The methods `with_…` change
    /// these values.
    #[inline]
    pub fn new(source: HostId, destination: HostId) -> Self {
        Self { hosts: u64::from(source.0) << 32 | u64::from(destination.0), tags: 0 }
    }

    /// Returns the sending host.
    #[inline]
    pub fn source(&self) -> HostId {
        HostId((self.hosts >> 32) as u32)
    }

    /// Returns the receiving host.
    #[inline]
    pub fn destination(&self) -> HostId {
        HostId(self.hosts as u32)
    }

    /// Returns the header with the port numbers of the sender (`source`) and the receiver (`destination`).
    #[must_use]
    #[inline]
    pub fn with_ports(self, source: u16, destination: u16) -> Self {
        let ports = u64::from(source) << SOURCE_PORT_SHIFT | u64::from(destination) << DESTINATION_PORT_SHIFT;
        Self { tags: self.tags & u64::from(u32::MAX) | ports, ..self }
    }

    /// Returns the header with this size on the wire in bytes, including all headers and framing.
    #[must_use]
    #[inline]
    pub fn with_size(self, wire_size: u16) -> Self {
        self.with_tag(0, 0xffff, wire_size.into())
    }

    /// Returns the header with this service class (DSCP), which has six bits (RFC 2474 §3).
    #[must_use]
    pub fn with_class(self, class: u8) -> Self {
        debug_assert!(class < 64, "a DSCP has six bits");
        self.with_tag(CLASS_SHIFT, 0x3f, class.into())
    }

    /// Returns the header with this ECN codepoint.
    #[must_use]
    #[inline]
    pub fn with_ecn(self, ecn: Ecn) -> Self {
        self.with_tag(ECN_SHIFT, 0x3, ecn as u64)
    }

    /// Returns the header with this packet kind.
    #[must_use]
    #[inline]
    pub fn with_kind(self, kind: PacketKind) -> Self {
        self.with_tag(KIND_SHIFT, 0x3, kind as u64)
    }

    /// Returns the header with this hop count: the number of switches that have forwarded the packet, below 16. Only networks with routing
    /// loops count hops.
    #[must_use]
    pub fn with_hops(self, hops: u8) -> Self {
        self.with_tag(HOPS_SHIFT, 0xf, hops.into())
    }

    /// Returns the header with the explicit incast notification set or cleared (Pulser §III-A: a new bit of the IP header, which switches
    /// set).
    #[must_use]
    #[inline]
    pub fn with_incast(self, incast: bool) -> Self {
        self.with_tag(INCAST_SHIFT, 0x1, incast.into())
    }

    /// Returns the port numbers of the sender and the receiver, in this order.
    #[inline]
    pub fn ports(&self) -> (u16, u16) {
        ((self.tags >> SOURCE_PORT_SHIFT) as u16, (self.tags >> DESTINATION_PORT_SHIFT) as u16)
    }

    /// Returns the size on the wire, including all headers and framing.
    #[inline]
    pub fn size(&self) -> Bytes {
        Bytes(u64::from(self.tags as u16))
    }

    /// Returns the service class (DSCP).
    pub fn class(&self) -> u8 {
        (self.tags >> CLASS_SHIFT & 0x3f) as u8
    }

    /// Returns the ECN codepoint.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        match self.tags >> ECN_SHIFT & 0x3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect,
            _ => Ecn::Ce,
        }
    }

    /// Returns the kind of the packet.
    #[inline]
    pub fn kind(&self) -> PacketKind {
        match self.tags >> KIND_SHIFT & 0x3 {
            0 => PacketKind::Data,
            1 => PacketKind::PureAck,
            2 => PacketKind::Datagram,
            _ => PacketKind::Probe,
        }
    }

    /// Returns the hop count: the number of switches that have forwarded the packet. Only networks with routing loops count hops.
    pub fn hops(&self) -> u8 {
        (self.tags >> HOPS_SHIFT & 0xf) as u8
    }

    /// Returns whether a switch on the path has set the explicit incast notification.
    #[inline]
    pub fn incast(&self) -> bool {
        self.tags >> INCAST_SHIFT & 0x1 != 0
    }

    /// Returns a hash of the five-tuple with this `seed`, uniform over 64 bits.
    pub fn five_tuple_hash(&self, seed: u64) -> u64 {
        let protocol = match self.kind() {
            PacketKind::Data | PacketKind::PureAck => 0,
            PacketKind::Datagram => 1,
            PacketKind::Probe => 2,
        };
        let ports = self.tags >> DESTINATION_PORT_SHIFT | protocol << 32;
        mix(mix(self.hosts ^ seed) ^ ports)
    }

    #[inline]
    fn with_tag(self, shift: u32, mask: u64, value: u64) -> Self {
        Self { tags: self.tags & !(mask << shift) | value << shift, ..self }
    }
}

/// Returns `value` with all bits mixed: the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA '14), which is a bijection.
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// TCP header flags, as bits (RFC 9293 §3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// Finish: the sender sends no more data.
    pub const FIN: Self = Self(0x01);
    /// Synchronise: the segment opens a connection.
    pub const SYN: Self = Self(0x02);
    /// Push: the sending application has written no further data, so the receiver delivers this data to its application at once.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);
    /// Echo of an explicit incast notification (Pulser §III-B: a new bit of the TCP header). The flag takes the place of the URG bit, which
    /// simulated hosts never send. Captures write the flag as a reserved bit.
    pub const INCAST_ECHO: Self = Self(0x20);
    /// ECN echo (RFC 3168 §6.1).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: Self = Self(0x80);

    /// Returns whether all flags of `other` are set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the union of these flags and `other`.
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Maximum number of SACK blocks in a simulated segment: three, because that many fit beside timestamps (RFC 2018 §3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// SACK block: a range of received data. The range lies above the cumulative acknowledgement (RFC 2018 §3), or below it if the block
/// reports data that was received twice (RFC 2883 §4). If `start` is larger than `end`, the range lies below the acknowledgement, and the
/// offsets count downwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// Distance from the acknowledgement number to the first byte of the block.
    pub start: u32,
    /// Distance from the acknowledgement number to the first byte after the block.
    pub end: u32,
}

impl SackBlock {
    /// Creates a block with the bytes from `start` up to `end`. Either all bytes must be above the acknowledgement `ack`, or all below.
    /// Returns `None` if an offset exceeds 32 bits.
    pub fn new(ack: u64, start: u64, end: u64) -> Option<Self> {
        debug_assert!(start < end && (end <= ack || ack <= start));
        let offset = |at: u64| u32::try_from(at.abs_diff(ack)).ok();
        Some(Self { start: offset(start)?, end: offset(end)? })
    }

    fn range(self, ack: u64) -> (u64, u64) {
        let (start, end) = (u64::from(self.start), u64::from(self.end));
        if start > end {
            (ack.saturating_sub(start), ack.saturating_sub(end))
        } else {
            (ack + start, ack + end)
        }
    }
}

/// Body of a packet. Datagrams have none, because no host reads their contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Segment from the side that sends data: data, a SYN or a FIN.
    Data(DataSegment),
    /// An acknowledgement without data.
    Ack(AckSegment),
    /// An ICMP echo request or reply.
    Echo(EchoMessage),
    /// Data packet of a queue pair.
    RdmaData(RdmaData),
    /// Request of an RDMA READ.
    RdmaReadRequest(RdmaReadRequest),
    /// Packet that a queue pair sends without data, such as a reply.
    RdmaReply(RdmaReply),
}

/// TCP segment from the side that sends data: data, a SYN or a FIN.
///
/// Sequence numbers count bytes from the start of the connection and never wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSegment {
    /// Sequence number of the first byte of data.
    pub seq: u64,
    /// Time at which the segment was sent (RFC 7323 TSval).
    pub tsval: Instant,
    /// TSval of the newest acknowledgement that the sender of this segment has received (RFC 7323 TSecr); zero if it has received none.
    pub tsecr: Instant,
    /// Acknowledgement number for data in the opposite direction of the connection, modulo 2³² as in a TCP header. `None` if the segment
    /// acknowledges nothing or if the number is zero modulo 2³².
    pub carried_ack: Option<NonZeroU32>,
    /// Number of bytes of data.
    pub len: u16,
    /// Header flags.
    pub flags: Flags,
}

impl DataSegment {
    /// Returns the sequence number of the first byte after the data.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }

    /// Returns this segment with the acknowledgement number, TSecr and flags of `ack`, which acknowledges data in the opposite direction.
    /// The receive window of `ack` is not copied.
    #[must_use]
    #[inline]
    pub fn carrying(self, ack: &AckSegment) -> Self {
        let flags = self.flags.with(ack.flags);
        Self { carried_ack: NonZeroU32::new(ack.ack as u32), flags, tsecr: ack.tsecr, ..self }
    }

    /// Returns the acknowledgement that this segment carries, with the receive window `window`. Returns `None` if the segment acknowledges
    /// no new data. `has` is the highest acknowledgement number received so far. The segment carries only 32 bits of its number, which must
    /// therefore be less than 2³¹ above `has`.
    #[inline]
    pub fn carried(&self, has: u64, window: u32) -> Option<AckSegment> {
        let news = self.carried_ack?.get().wrapping_sub(has as u32) as i32;
        if news <= 0 {
            return None;
        }
        let flags = Flags(self.flags.0 & Flags::ACK.with(Flags::ECE).with(Flags::INCAST_ECHO).0);
        let (tsval, tsecr) = (self.tsval, self.tsecr);
        Some(AckSegment { ack: has + news as u64, tsval, tsecr, window, flags, ..AckSegment::default() })
    }
}

/// TCP segment from the side that receives data: an acknowledgement, or the answer to a SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckSegment {
    /// Acknowledgement number: the sequence number of the next byte that the receiver expects.
    pub ack: u64,
    /// Time at which the segment was sent (RFC 7323 TSval).
    pub tsval: Instant,
    /// TSval of the segment that triggered this acknowledgement (RFC 7323 TSecr).
    pub tsecr: Instant,
    /// SACK blocks, most recent first. Only the first `sack_count` blocks are valid.
    pub sack: [SackBlock; MAX_SACK_BLOCKS],
    /// Receive window: the number of bytes beyond `ack` that the receiver accepts.
    pub window: u32,
    /// Header flags.
    pub flags: Flags,
    /// Number of SACK blocks.
    pub sack_count: u8,
}

impl AckSegment {
    /// Returns the SACK blocks as ranges of sequence numbers.
    pub fn sack_ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let ack = self.ack;
        self.sack[..usize::from(self.sack_count)].iter().map(move |block| block.range(ack))
    }

    /// Returns the range of duplicate data that this acknowledgement reports (D-SACK): the first SACK block, if that block lies below the
    /// acknowledgement number or within the second block (RFC 2883 §4).
    pub fn duplicate(&self) -> Option<(u64, u64)> {
        let mut blocks = self.sack_ranges();
        let (start, end) = blocks.next()?;
        let is_within = |(from, to): (u64, u64)| from <= start && end <= to;
        (start < end && (end <= self.ack || blocks.next().is_some_and(is_within))).then_some((start, end))
    }
}

/// ICMP echo message (RFC 792).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoMessage {
    /// Number of the request, counted from zero among all requests between the same two hosts. A reply has the number of its request.
    pub sequence: u64,
    /// Whether the message is a reply, not a request.
    pub is_reply: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_small_enough_to_be_moved_once_per_hop() {
        assert_eq!(size_of::<Header>(), 16);
        assert_eq!((size_of::<DataSegment>(), size_of::<AckSegment>()), (32, 56));
    }

    #[test]
    fn the_five_tuple_hash_differs_by_seed_and_by_every_field() {
        let base = Header::new(HostId(1), HostId(2)).with_ports(3, 4);
        let hash = base.five_tuple_hash(7);
        assert_ne!(hash, base.five_tuple_hash(8));
        for other in [
            Header::new(HostId(9), HostId(2)).with_ports(3, 4),
            Header::new(HostId(1), HostId(9)).with_ports(3, 4),
            base.with_ports(9, 4),
            base.with_ports(3, 9),
            base.with_kind(PacketKind::Datagram),
            base.with_kind(PacketKind::Probe),
        ] {
            assert_ne!(hash, other.five_tuple_hash(7));
        }
        assert_eq!(hash, base.with_size(9).with_class(1).with_ecn(Ecn::Ce).five_tuple_hash(7));
    }

    #[test]
    fn a_header_keeps_what_it_is_given() {
        let header = Header::new(HostId(1), HostId(2));
        for (ecn, kind) in [
            (Ecn::NotEct, PacketKind::Datagram),
            (Ecn::Ect, PacketKind::PureAck),
            (Ecn::Ce, PacketKind::Data),
        ] {
            let full = header.with_size(65_535).with_class(63).with_ecn(ecn).with_kind(kind).with_hops(15);
            assert_eq!((full.size(), full.class(), full.hops()), (Bytes(65_535), 63, 15));
            assert_eq!((full.ecn(), full.kind()), (ecn, kind));
            assert_eq!(full.with_ports(7, 65_535).ports(), (7, 65_535));
            assert_eq!(full.with_ports(65_535, 1).with_ports(0, 0), full);
            assert_eq!((full.source(), full.destination()), (HostId(1), HostId(2)));
            assert!(!full.incast() && full.with_incast(true).incast());
            assert_eq!(full.with_incast(true).with_incast(false), full);
            let changed = full.with_size(1).with_class(0).with_ecn(Ecn::Ect).with_incast(true);
            assert_eq!((changed.size(), changed.class(), changed.ecn()), (Bytes(1), 0, Ecn::Ect));
            assert_eq!((changed.kind(), changed.hops(), changed.with_hops(0).hops()), (kind, 15, 0));
        }
    }

    #[test]
    fn the_five_tuple_hash_spreads_flows_evenly() {
        // 8,000 flows on 8 paths: each count is binomial with mean 1,000 and standard deviation 29.6. Five standard deviations are 148.
        let mut counts = [0u32; 8];
        for port in 0..8_000 {
            let header = Header::new(HostId(3), HostId(77)).with_ports(port, 0);
            counts[(header.five_tuple_hash(1) % 8) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| count.abs_diff(1_000) < 148), "{counts:?}");
    }
}
