//! What a simulated packet looks like on a wire: Ethernet, IPv4 and TCP, UDP or ICMP headers, and data of zeros.
//!
//! A header of 16 bytes and a segment hold all that differs from packet to packet; the rest follows from the run's
//! configuration. docs/captures.md has the table of fields.

use etherparse::checksum::Sum16BitWords;
use etherparse::{
    EtherType, Ethernet2Header, IcmpEchoHeader, Icmpv4Header, Icmpv4Type, IpDscp, IpEcn, IpNumber,
    Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader,
};
use shallows_core::Instant;
use shallows_core::packet::{Ecn, Flags, Header, HostId, PacketKind, Segment};
use shallows_scenario::Experiment;

use super::numbers::Numbers;

/// What all packets from hosts of one group to those of another have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    /// Bytes of a packet's size that are not of its IP packet.
    framing: u16,
    /// The MSS option: what fits beside headers without options (RFC 6691 §2).
    mss: u16,
    sack: bool,
    timestamps: bool,
    window_scale: u8,
    /// Bytes that a sender would take.
    own_window: u32,
}

/// A packet as it is on the wire, as much of it as is kept.
#[derive(Debug, Default)]
pub(super) struct Frame {
    bytes: Vec<u8>,
    len: usize,
    kept: usize,
}

impl Frame {
    /// A place for packets of which `kept` bytes are wanted at most.
    pub(super) fn new(kept: u32) -> Self {
        Self { bytes: Vec::new(), len: 0, kept: kept as usize }
    }

    /// Bytes from the Ethernet header to the end of the IP packet; no frame check sequence.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// As many of them as are wanted.
    pub(super) fn kept(&self) -> &[u8] {
        &self.bytes
    }
}

/// The Internet's largest scale (RFC 7323 §2.3).
const MAX_WINDOW_SCALE: u8 = 14;
/// As hosts send it (RFC 1122 §3.2.1.7 asks for a default; Linux has 64). Switches here forward without touching it.
const TIME_TO_LIVE: u8 = 64;
/// The bit of the IPv4 header that no standard uses: the first of the three flags (RFC 791 §3.1).
const IP_RESERVED: u8 = 0x80;
/// The last of TCP's three reserved bits (RFC 9293 §3.1), beside the one of Accurate ECN.
const TCP_RESERVED: u8 = 0x02;

impl Wire {
    /// That of packets between two groups of hosts.
    pub(super) fn new(experiment: &Experiment, from: usize, to: usize) -> Self {
        let hosts = &experiment.hosts;
        // What a host offers as a receiver it offers as a sender, too; and the rest is the same in both directions.
        let offered = |to| hosts.agreement(to, from).receiver.receive_window.0.max(1);
        let largest = (0..hosts.groups.len()).map(offered).max().unwrap_or(1);
        let fits = |scale: &u8| largest.div_ceil(1 << scale) <= u64::from(u16::MAX);
        let tcp = &hosts.agreement(to, from).receiver;
        let mtu = hosts.groups[from].mtu;
        Self {
            framing: u16::try_from(experiment.network.framing.0).expect("framing is small"),
            mss: u16::try_from(mtu.0 - 40).expect("an IP packet has at most 65,535 bytes"),
            sack: tcp.recovery.uses_sack(),
            timestamps: tcp.timestamps,
            window_scale: (0..MAX_WINDOW_SCALE).find(fits).unwrap_or(MAX_WINDOW_SCALE),
            own_window: offered(to) as u32,
        }
    }

    /// By how many bits the window field is shifted (RFC 7323 §2).
    pub(super) fn window_scale(&self) -> u8 {
        self.window_scale
    }

    /// Write a packet with this header, and this segment if it has one, into `frame`; `numbers` are what its host has said.
    pub(super) fn write(
        &self,
        header: &Header,
        segment: Option<&Segment>,
        numbers: Numbers,
        frame: &mut Frame,
    ) {
        frame.bytes.clear();
        let ip_len = header.size().0 as u16 - self.framing;
        match (header.kind(), segment) {
            (PacketKind::Data | PacketKind::PureAck, Some(segment)) => {
                let tcp = self.tcp(header, segment, numbers);
                let total = Ipv4Header::MIN_LEN + tcp.header_len() + usize::from(segment.len);
                // The options of a SYN are not counted in the simulation.
                debug_assert!(segment.flags.contains(Flags::SYN) || total == usize::from(ip_len));
                write_network(header, IpNumber::TCP, total as u16, frame);
                let mut bytes = tcp.to_bytes();
                if segment.flags.contains(Flags::INCAST_ECHO) {
                    bytes[12] |= TCP_RESERVED;
                }
                let sum = pseudo_header(header, IpNumber::TCP, tcp.header_len_u16() + segment.len);
                put_checksum(&mut bytes, 16, sum);
                frame.bytes.extend_from_slice(&bytes);
            }
            (PacketKind::Probe, Some(segment)) => {
                write_network(header, IpNumber::ICMP, ip_len, frame);
                frame.bytes.extend_from_slice(&icmp(header, segment).to_bytes());
            }
            _ => {
                write_network(header, IpNumber::UDP, ip_len, frame);
                frame.bytes.extend_from_slice(&udp(header, ip_len - Ipv4Header::MIN_LEN_U16).to_bytes());
            }
        }
        frame.bytes.resize(frame.len.min(frame.kept), 0);
    }

    fn tcp(&self, header: &Header, segment: &Segment, numbers: Numbers) -> TcpHeader {
        let (source, destination) = header.ports();
        let flags = segment.flags;
        let syn = flags.contains(Flags::SYN);
        let answers = header.kind() == PacketKind::PureAck;
        // Both sides begin at 0 with the SYN; bytes are counted from 1 on (RFC 9293 §3.4).
        let seq = match (syn, answers) {
            (true, _) => 0,
            (false, true) => numbers.next,
            (false, false) => (1 + segment.seq) as u32,
        };
        let mut tcp = TcpHeader::new(source, destination, seq, self.window(syn, answers, segment));
        tcp.ack = flags.contains(Flags::ACK);
        tcp.acknowledgment_number = match (tcp.ack, answers) {
            (false, _) => 0,
            (true, true) => (1 + segment.ack) as u32,
            (true, false) => numbers.expected,
        };
        (tcp.syn, tcp.fin, tcp.psh) = (syn, flags.contains(Flags::FIN), flags.contains(Flags::PSH));
        (tcp.ece, tcp.cwr) = (flags.contains(Flags::ECE), flags.contains(Flags::CWR));
        let mut options = Vec::with_capacity(8);
        self.options(syn, answers, segment, &mut options);
        tcp.set_options(&options).expect("timestamps and three blocks are 40 bytes");
        tcp
    }

    fn window(&self, syn: bool, answers: bool, segment: &Segment) -> u16 {
        let window = if answers { segment.window } else { self.own_window };
        // RFC 7323 §2.2: never scaled on a SYN. Elsewhere rounded up, as Linux does, so that a small window is not none.
        let field = if syn { window } else { window.div_ceil(1 << self.window_scale) };
        field.min(u32::from(u16::MAX)) as u16
    }

    /// The options, as Linux orders them.
    fn options(&self, syn: bool, answers: bool, segment: &Segment, options: &mut Vec<TcpOptionElement>) {
        use TcpOptionElement::{
            MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, Timestamp,
            WindowScale,
        };
        // RFC 7323 §3.2; the places are told in `Segment`. A SYN repeats nothing yet.
        let (value, echo) = if answers {
            (segment.value(), segment.timestamp)
        } else {
            (segment.timestamp, if syn { Instant::ZERO } else { segment.echo() })
        };
        let timestamp = Timestamp(ticks(value), ticks(echo));
        if syn {
            options.push(MaximumSegmentSize(self.mss));
            match (self.sack, self.timestamps) {
                (true, _) => options.push(SelectiveAcknowledgementPermitted),
                (false, true) => options.extend([Noop, Noop]),
                (false, false) => {}
            }
            match (self.sack, self.timestamps) {
                (_, true) => options.push(timestamp),
                (true, false) => options.extend([Noop, Noop]),
                (false, false) => {}
            }
            options.extend([Noop, WindowScale(self.window_scale)]);
            return;
        }
        if self.timestamps {
            options.extend([Noop, Noop, timestamp]);
        }
        let mut blocks = segment.sack_ranges().map(|(start, end)| ((1 + start) as u32, (1 + end) as u32));
        if let Some(first) = blocks.next() {
            let more = [blocks.next(), blocks.next(), blocks.next()];
            options.extend([Noop, Noop, SelectiveAcknowledgement(first, more)]);
        }
    }
}

/// Timestamps count microseconds, as Linux' `tcp_usec_ts` does: round trips here are shorter than the usual millisecond.
fn ticks(at: Instant) -> u32 {
    (at.0 / 1_000_000) as u32
}

/// Ethernet and IP headers of an IP packet of `total` bytes.
fn write_network(header: &Header, protocol: IpNumber, total: u16, frame: &mut Frame) {
    let ethernet = Ethernet2Header {
        source: mac(header.source),
        destination: mac(header.destination),
        ether_type: EtherType::IPV4,
    };
    let ip = Ipv4Header {
        dscp: IpDscp::try_new(header.class()).expect("a class is a DSCP"),
        ecn: match header.ecn() {
            Ecn::NotEct => IpEcn::NotEct,
            // RFC 3168 §5: senders that use one codepoint use ECT(0).
            Ecn::Ect => IpEcn::Ect0,
            Ecn::Ce => IpEcn::CongestionExperienced,
        },
        total_len: total,
        // RFC 6864 §4.1: what is never fragmented needs no identification.
        identification: 0,
        dont_fragment: true,
        time_to_live: TIME_TO_LIVE,
        protocol,
        source: address(header.source),
        destination: address(header.destination),
        ..Ipv4Header::default()
    };
    let mut bytes = ip.to_bytes();
    if header.incast() {
        bytes[6] |= IP_RESERVED;
    }
    put_checksum(&mut bytes, 10, Sum16BitWords::new());
    frame.bytes.extend_from_slice(&ethernet.to_bytes());
    frame.bytes.extend_from_slice(&bytes);
    frame.len = Ethernet2Header::LEN + usize::from(total);
}

/// `10.x.y.z`, counted from 10.0.0.1 for host 0.
fn address(host: HostId) -> [u8; 4] {
    let [_, x, y, z] = (host.0 + 1).to_be_bytes();
    [10, x, y, z]
}

/// A locally administered address (IEEE 802, second bit of the first byte) that ends in the host's IP address.
fn mac(host: HostId) -> [u8; 6] {
    let [a, b, c, d] = address(host);
    [0x02, 0x00, a, b, c, d]
}

/// The sum of the pseudo header of TCP and UDP (RFC 9293 §3.1) for `len` bytes of header and data.
fn pseudo_header(header: &Header, protocol: IpNumber, len: u16) -> Sum16BitWords {
    Sum16BitWords::new()
        .add_4bytes(address(header.source))
        .add_4bytes(address(header.destination))
        .add_2bytes([0, protocol.0])
        .add_2bytes(len.to_be_bytes())
}

/// Put the Internet checksum (RFC 1071) of `bytes`, whose field at `place` is zero, and of what `sum` has there. Data of
/// zeros adds nothing to it.
fn put_checksum(bytes: &mut [u8], place: usize, sum: Sum16BitWords) {
    let checksum = sum.add_slice(bytes).ones_complement();
    bytes[place..place + 2].copy_from_slice(&checksum.to_ne_bytes());
}

fn udp(header: &Header, len: u16) -> UdpHeader {
    let (source_port, destination_port) = header.ports();
    let mut udp = UdpHeader { source_port, destination_port, length: len, checksum: 0 };
    let sum = pseudo_header(header, IpNumber::UDP, len).add_slice(&udp.to_bytes());
    // RFC 768: zero would say that there is none.
    udp.checksum = sum.to_ones_complement_with_no_zero().to_be();
    udp
}

/// An echo and its answer (RFC 792). The pair that measures is the identifier, in the place of the asking side's port.
fn icmp(header: &Header, segment: &Segment) -> Icmpv4Header {
    let (source, destination) = header.ports();
    let seq = segment.seq as u16;
    Icmpv4Header::with_checksum(
        if segment.flags.contains(Flags::ACK) {
            Icmpv4Type::EchoReply(IcmpEchoHeader { id: destination, seq })
        } else {
            Icmpv4Type::EchoRequest(IcmpEchoHeader { id: source, seq })
        },
        &[],
    )
}

#[cfg(test)]
mod tests {
    use shallows_core::packet::SackBlock;

    use super::super::numbers::FIRST;
    use super::*;

    /// 1500-byte packets, two bytes of framing, every option.
    const WIRE: Wire =
        Wire { framing: 2, mss: 1_460, sack: true, timestamps: true, window_scale: 14, own_window: 1 << 30 };
    const MICROSECOND: u64 = 1_000_000;

    fn written(wire: &Wire, header: &Header, segment: Option<&Segment>, kept: u32) -> Frame {
        let mut frame = Frame::new(kept);
        wire.write(header, segment, FIRST, &mut frame);
        frame
    }

    /// From host 0 to host 1, as TCP connections here are: IP addresses 10.0.0.1 and 10.0.0.2, ports 1024 and 5001.
    fn forward(size: u16, kind: PacketKind) -> Header {
        Header::new(HostId(0), HostId(1)).with_ports(1_024, 5_001).with_size(size).with_kind(kind)
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The sum that RFC 1071 §1 has a receiver make: all ones if nothing has changed.
    fn sums_to_ones(parts: &[&[u8]]) -> bool {
        let words = parts.iter().flat_map(|part| part.chunks(2));
        let sum: u64 =
            words.map(|word| u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0))).sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        (folded & 0xffff) + (folded >> 16) == 0xffff
    }

    /// Whether the IP checksum holds, and that of what it carries, which `protocol` protects with a pseudo header.
    fn is_whole(bytes: &[u8], protocol: u8) -> bool {
        let (ip, rest) = bytes[14..].split_at(20);
        let len = (rest.len() as u16).to_be_bytes();
        let pseudo = [&ip[12..20], &[0, protocol], &len].concat();
        let pseudo = if protocol == 1 { Vec::new() } else { pseudo };
        sums_to_ones(&[ip]) && sums_to_ones(&[&pseudo, rest]) && ip[9] == protocol
    }

    #[test]
    fn a_syn_has_every_option_and_asks_for_ecn() {
        let flags = Flags::SYN.with(Flags::ECE).with(Flags::CWR);
        let syn = Segment { timestamp: Instant(3 * MICROSECOND), flags, ..Segment::default() };
        let header = forward(54, PacketKind::Data).with_ecn(Ecn::Ect);
        let frame = written(&WIRE, &header, Some(&syn), 200);
        // RFC 791 §3.1: 45, ECT(0) alone in the second byte, 60 bytes, no identification, DF, TTL 64, TCP. Its checksum by hand:
        // 4502 + 003c + 4000 + 4006 + 0a00 + 0001 + 0a00 + 0002 = d947, whose complement is 26b8.
        // RFC 9293 §3.1: ports, seq and ack 0, ten words, CWR ECE SYN = c2, the unscaled window; RFC 6691: MSS 1460 = 05b4;
        // RFC 2018 §2: 04 02; RFC 7323 §3.2: TSval 3, TSecr 0; §2.2: shift 14.
        assert_eq!(
            hex(&frame.bytes[..50]),
            "02000a000002\
             02000a000001\
             0800\
             4502003c00004000400626b80a0000010a000002\
             0400138900000000\
             00000000a0c2ffff"
        );
        assert_eq!(hex(&frame.bytes[54..]), "020405b40402080a00000003000000000103030e");
        assert_eq!((frame.len(), frame.kept().len()), (74, 74));
        assert!(is_whole(&frame.bytes, 6));
    }

    #[test]
    fn options_that_are_off_leave_a_shorter_syn() {
        let syn = Segment { flags: Flags::SYN, ..Segment::default() };
        let options = |sack, timestamps| {
            let wire = Wire { sack, timestamps, ..WIRE };
            hex(&written(&wire, &forward(42, PacketKind::Data), Some(&syn), 200).bytes[54..])
        };
        assert_eq!(options(true, false), "020405b4040201010103030e");
        assert_eq!(options(false, true), "020405b40101080a00000000000000000103030e");
        assert_eq!(options(false, false), "020405b40103030e");
    }

    #[test]
    fn data_counts_from_one_and_shows_what_switches_and_hosts_say() {
        let segment = Segment {
            seq: 1_448,
            timestamp: Instant(5 * MICROSECOND),
            len: 1_448,
            flags: Flags::ACK.with(Flags::PSH).with(Flags::CWR),
            ..Segment::default()
        }
        .with_echo(Instant(4 * MICROSECOND));
        let header = forward(1_502, PacketKind::Data).with_class(5).with_ecn(Ecn::Ce).with_incast(true);
        let frame = written(&WIRE, &header, Some(&segment), 2_000);
        // DSCP 5 and CE: 5 · 4 + 3 = 17. 1500 bytes = 05dc. Reserved flag and DF: c0.
        assert_eq!(hex(&frame.bytes[14..24]), "451705dc0000c0004006");
        // seq 1449 = 5a9, ack 1, eight words, CWR ACK PSH = 98, 2³⁰ in steps of 2¹⁴ is one more than the field holds.
        assert_eq!(hex(&frame.bytes[38..50]), "000005a9000000018098ffff");
        assert_eq!(hex(&frame.bytes[54..66]), "0101080a0000000500000004");
        assert!(frame.bytes[66..].iter().all(|&byte| byte == 0));
        assert_eq!((frame.len(), frame.bytes.len()), (1_514, 1_514));
        assert!(is_whole(&frame.bytes, 6));
        // Kept in part it is what it was, and says how long it was.
        let snapped = written(&WIRE, &header, Some(&segment), 96);
        assert_eq!((snapped.len(), snapped.kept()), (1_514, &frame.bytes[..96]));
    }

    #[test]
    fn an_acknowledgement_echoes_and_tells_what_it_has() {
        let mut ack = Segment {
            ack: 2_896,
            timestamp: Instant(5 * MICROSECOND),
            window: 40_000,
            flags: Flags::ACK.with(Flags::ECE).with(Flags::INCAST_ECHO),
            sack_count: 2,
            ..Segment::default()
        }
        .with_value(Instant(9 * MICROSECOND));
        ack.sack[0] = SackBlock { start: 2_896, end: 4_344 };
        ack.sack[1] = SackBlock { start: 5_792, end: 5_800 };
        let header = Header::new(HostId(1), HostId(0)).with_ports(5_001, 1_024).with_size(74);
        let frame = written(&WIRE, &header.with_kind(PacketKind::PureAck), Some(&ack), 200);
        // seq 1, ack 2897 = b51, 13 words and the last reserved bit: d2, ECE ACK = 50, 40000 in steps of 16384 rounded up: 3.
        assert_eq!(hex(&frame.bytes[38..50]), "0000000100000b51d2500003");
        // TSval 9, TSecr 5; two blocks in 18 bytes: 5793 = 16a1 to 7241 = 1c49, 8689 = 21f1 to 8697 = 21f9.
        assert_eq!(
            hex(&frame.bytes[54..]),
            "0101080a0000000900000005\
             01010512000016a100001c49000021f1000021f9"
        );
        assert!(is_whole(&frame.bytes, 6));
    }

    #[test]
    fn sequence_numbers_wrap() {
        // RFC 9293 §3.4: modulo 2³².
        let at = |seq| {
            let segment = Segment { seq, len: 0, flags: Flags::ACK, ..Segment::default() };
            hex(&written(&WIRE, &forward(54, PacketKind::Data), Some(&segment), 200).bytes[38..42])
        };
        assert_eq!((at((1 << 32) - 2), at((1 << 32) - 1)), ("ffffffff".to_owned(), "00000000".to_owned()));
        let ack = Segment { ack: (1 << 32) - 1, flags: Flags::ACK, ..Segment::default() };
        let frame = written(&WIRE, &forward(54, PacketKind::PureAck), Some(&ack), 200);
        assert_eq!(hex(&frame.bytes[42..46]), "00000000");
    }

    #[test]
    fn datagrams_and_echoes_have_their_own_headers() {
        // 28 bytes of headers and 100 of data; length 108 = 6c.
        let datagram = written(&WIRE, &forward(130, PacketKind::Datagram), None, 200);
        assert_eq!(hex(&datagram.bytes[34..40]), "04001389006c");
        assert!(is_whole(&datagram.bytes, 17) && datagram.len() == 142);
        // RFC 792: type 8 asks, 0 answers; identifier 7, sequence number 65,537 modulo 2¹⁶.
        let asked = Segment { seq: 65_537, ..Segment::default() };
        let request = Header::new(HostId(0), HostId(1)).with_ports(7, 0).with_size(86);
        let request = written(&WIRE, &request.with_kind(PacketKind::Probe), Some(&asked), 200);
        assert_eq!(hex(&request.bytes[34..36]) + &hex(&request.bytes[38..42]), "080000070001");
        let answered = Segment { flags: Flags::ACK, ..asked };
        let reply = Header::new(HostId(1), HostId(0)).with_ports(0, 7).with_size(86);
        let reply = written(&WIRE, &reply.with_kind(PacketKind::Probe), Some(&answered), 200);
        assert_eq!(hex(&reply.bytes[34..36]) + &hex(&reply.bytes[38..42]), "000000070001");
        assert!(is_whole(&request.bytes, 1) && is_whole(&reply.bytes, 1));
    }

    #[test]
    fn hosts_have_addresses_of_their_own() {
        assert_eq!((address(HostId(0)), address(HostId(255))), ([10, 0, 0, 1], [10, 0, 1, 0]));
        assert_eq!(mac(HostId(70_000)), [2, 0, 10, 1, 17, 113]); // 70,001 = 1 · 65,536 + 17 · 256 + 113
    }
}
