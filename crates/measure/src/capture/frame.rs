//! Writes frames of simulated packets: Ethernet and IPv4 headers, a TCP, UDP, RoCEv2 or ICMP header, and zeros as data. Also writes PFC
//! frames.
//!
//! A simulated packet's 16-byte [`Header`] and its [`Body`] hold every field that differs between packets; the other fields follow from the
//! run's configuration. docs/captures.md lists all fields. The crate `shallows_wire` writes the headers.

use shallows_core::Instant;
use shallows_core::packet::{AckSegment, Body, DataSegment, EchoMessage, Flags, Header, HostId};
use shallows_core::rdma::{RdmaData, RdmaOperation, RdmaReadRequest, RdmaReply, RdmaReplyKind};
use shallows_scenario::Experiment;
use shallows_switch::pfc::Frame as PfcFrame;
use shallows_wire::address::{address, mac};
use shallows_wire::bth::{self, Opcode, Syndrome};
use shallows_wire::checksum::Sum;
use shallows_wire::ipv4::Protocol;
use shallows_wire::tcp_options::{Options, Timestamps};
use shallows_wire::{ethernet, icmp, ipv4, pfc, tcp, udp};

use super::numbers::Numbers;

/// Header fields that are equal in all packets from hosts of one group to hosts of another group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stack {
    /// Number of framing bytes: the size of a packet minus the length of its IP packet.
    framing: u16,
    /// Value of the MSS option: the MTU minus the IP and TCP headers without options (RFC 6691 §2).
    mss: u16,
    sack: bool,
    timestamps: bool,
    window_scale: u8,
    /// Receive window in bytes that a sender advertises in its own segments.
    own_window: u32,
}

/// First bytes of a packet's frame, up to a limit, and the length of the whole frame.
#[derive(Debug, Default)]
pub(super) struct Frame {
    bytes: Vec<u8>,
    len: usize,
    kept: usize,
}

impl Frame {
    /// Creates an empty frame that keeps at most `kept` bytes of each packet.
    pub(super) fn new(kept: u32) -> Self {
        Self { bytes: Vec::new(), len: 0, kept: kept as usize }
    }

    /// Returns the length in bytes from the Ethernet header to the end of the IP packet, without frame check sequence.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the kept bytes, from the start of the frame.
    pub(super) fn kept(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes the PFC frame that node number `node` sends with this header.
    pub(super) fn write_pfc(&mut self, header: &Header, node: u32) {
        self.bytes.clear();
        // The node numbers of switches follow those of hosts, so all addresses differ.
        let ethernet = ethernet::Repr {
            destination: pfc::DESTINATION,
            source: mac(HostId(node)),
            ether_type: pfc::MAC_CONTROL,
        };
        ethernet.emit(self.room(ethernet::LEN));
        pfc::Repr { quanta: PfcFrame::of(header).quanta }.emit(self.room(pfc::LEN));
        self.len = ethernet::LEN + pfc::LEN;
    }

    /// Appends zeros as data, and then the ICRC, to a packet of a queue pair.
    fn close_rdma(&mut self) {
        let zeros = self.len - self.bytes.len() - bth::ICRC_LEN;
        let icrc = bth::icrc(&self.bytes[ethernet::LEN..], zeros);
        self.bytes.resize(self.len - bth::ICRC_LEN, 0);
        self.bytes.extend(icrc);
    }

    /// Appends `len` zero bytes and returns them, so that the next header can be written into them.
    fn room(&mut self, len: usize) -> &mut [u8] {
        let start = self.bytes.len();
        self.bytes.resize(start + len, 0);
        &mut self.bytes[start..]
    }
}

/// Largest window scale (RFC 7323 §2.3).
const MAX_WINDOW_SCALE: u8 = 14;
/// TTL that hosts send (RFC 1122 §3.2.1.7 requires a default; Linux uses 64). Simulated switches do not decrement it.
const TIME_TO_LIVE: u8 = 64;
/// Bytes of IP and TCP headers without options.
const HEADERS: u64 = (ipv4::LEN + tcp::LEN) as u64;

impl Stack {
    /// Creates the header fields of packets from group `from` to group `to`.
    pub(super) fn new(experiment: &Experiment, from: usize, to: usize) -> Self {
        let hosts = &experiment.hosts;
        // A host advertises the same window as a sender and as a receiver. All other fields are equal in both directions.
        let offered = |to| hosts.agreement(to, from).receiver.receive_window.0.max(1);
        let largest = (0..hosts.groups.len()).map(offered).max().unwrap_or(1);
        let fits = |scale: &u8| largest.div_ceil(1 << scale) <= u64::from(u16::MAX);
        let tcp = &hosts.agreement(to, from).receiver;
        let mtu = hosts.groups[from].mtu;
        Self {
            framing: u16::try_from(experiment.network.framing.0).expect("framing is small"),
            mss: u16::try_from(mtu.0 - HEADERS).expect("an IP packet has at most 65,535 bytes"),
            sack: tcp.recovery.uses_sack(),
            timestamps: tcp.timestamps,
            window_scale: (0..MAX_WINDOW_SCALE).find(fits).unwrap_or(MAX_WINDOW_SCALE),
            own_window: offered(to) as u32,
        }
    }

    /// Returns the number of bits by which the window field is shifted (RFC 7323 §2).
    pub(super) fn window_scale(&self) -> u8 {
        self.window_scale
    }

    /// Writes a packet with this header and body into `frame`; datagrams have no body. `numbers` are the last sequence and acknowledgement
    /// numbers that the packet's sender sent on the connection.
    pub(super) fn write(&self, header: &Header, body: Option<&Body>, numbers: Numbers, frame: &mut Frame) {
        frame.bytes.clear();
        let ip_len = usize::from(header.size().0 as u16 - self.framing);
        // Data is zeros, which do not change a checksum.
        match body {
            Some(Body::Data(data)) => {
                write_tcp(header, &self.data(header, data, numbers), data.len, ip_len, frame);
            }
            Some(Body::Ack(ack)) => write_tcp(header, &self.ack(header, ack, numbers), 0, ip_len, frame),
            Some(Body::Echo(message)) => {
                write_network(header, Protocol::Icmp, ip_len, frame);
                icmp(header, message).emit(Sum::default(), frame.room(icmp::LEN));
            }
            Some(Body::RdmaData(data)) => write_rdma_data(header, data, ip_len, frame),
            Some(Body::RdmaReadRequest(request)) => write_read_request(header, request, ip_len, frame),
            Some(Body::RdmaReply(reply)) => write_rdma_reply(header, reply, ip_len, frame),
            None => {
                let sum = write_network(header, Protocol::Udp, ip_len, frame);
                let (source_port, destination_port) = header.ports();
                let length = (ip_len - ipv4::LEN) as u16;
                udp::Repr { source_port, destination_port, length }.emit(sum, frame.room(udp::LEN));
            }
        }
        if let Some(Body::RdmaData(_) | Body::RdmaReadRequest(_) | Body::RdmaReply(_)) = body {
            frame.close_rdma();
        }
        frame.bytes.resize(frame.len.min(frame.kept), 0);
    }

    /// Returns the TCP header of a data segment. On both sides, the SYN has number 0, and data begins with number 1 (RFC 9293 §3.4).
    fn data(&self, header: &Header, data: &DataSegment, numbers: Numbers) -> tcp::Repr {
        let syn = data.flags.contains(Flags::SYN);
        // RFC 7323 §3.2: the TSecr of a SYN is zero.
        let (value, echo) = (data.tsval, if syn { Instant::ZERO } else { data.tsecr });
        let (source_port, destination_port) = header.ports();
        tcp::Repr {
            source_port,
            destination_port,
            sequence: if syn { 0 } else { (1 + data.seq) as u32 },
            acknowledgement: if data.flags.contains(Flags::ACK) { numbers.expected } else { 0 },
            flags: data.flags,
            window: self.window(syn, self.own_window),
            options: self.options(syn, value, echo),
        }
    }

    /// Returns the TCP header of an acknowledgement.
    fn ack(&self, header: &Header, ack: &AckSegment, numbers: Numbers) -> tcp::Repr {
        let syn = ack.flags.contains(Flags::SYN);
        let (source_port, destination_port) = header.ports();
        let mut options = self.options(syn, ack.tsval, ack.tsecr);
        if !syn {
            let blocks = ack.sack_ranges().map(|(start, end)| ((1 + start) as u32, (1 + end) as u32));
            options.sack = blocks.collect();
        }
        tcp::Repr {
            source_port,
            destination_port,
            sequence: if syn { 0 } else { numbers.next },
            acknowledgement: if ack.flags.contains(Flags::ACK) { (1 + ack.ack) as u32 } else { 0 },
            flags: ack.flags,
            window: self.window(syn, ack.window),
            options,
        }
    }

    fn window(&self, syn: bool, window: u32) -> u16 {
        // RFC 7323 §2.2: the window of a SYN is never scaled. Other windows are rounded up, as in Linux, so a small window does not become
        // zero.
        let field = if syn { window } else { window.div_ceil(1 << self.window_scale) };
        field.min(u32::from(u16::MAX)) as u16
    }

    /// Returns the TCP options, except SACK blocks.
    fn options(&self, syn: bool, value: Instant, echo: Instant) -> Options {
        let stamps = Timestamps { value: ticks(value), echo: ticks(echo) };
        let timestamps = self.timestamps.then_some(stamps);
        if !syn {
            return Options { timestamps, ..Options::default() };
        }
        Options {
            max_segment_size: Some(self.mss),
            window_scale: Some(self.window_scale),
            sack_permitted: self.sack,
            timestamps,
            ..Options::default()
        }
    }
}

/// Writes the headers of a segment with `len` bytes of data.
fn write_tcp(header: &Header, tcp: &tcp::Repr, len: u16, ip_len: usize, frame: &mut Frame) {
    let total = ipv4::LEN + tcp.header_len() + usize::from(len);
    // The simulation does not count the options of a SYN, so the frame of a SYN may have a different length.
    debug_assert!(tcp.flags.contains(Flags::SYN) || total == ip_len);
    let sum = write_network(header, Protocol::Tcp, total, frame);
    tcp.emit(sum, frame.room(tcp.header_len()));
}

/// Writes the headers of a queue pair's data packet. Both ends of a queue pair use the queue pair number as UDP source port. The RETH
/// contains the length of the packet, because a simulated packet does not contain the length of its message.
fn write_rdma_data(header: &Header, data: &RdmaData, ip_len: usize, frame: &mut Frame) {
    let (requester, responder) = header.ports();
    let (queue_pair, [only, first, middle, last]) = match data.operation {
        RdmaOperation::Write => {
            (requester, [Opcode::WriteOnly, Opcode::WriteFirst, Opcode::WriteMiddle, Opcode::WriteLast])
        }
        RdmaOperation::Send => {
            (requester, [Opcode::SendOnly, Opcode::SendFirst, Opcode::SendMiddle, Opcode::SendLast])
        }
        // A response travels from the responder to the requester.
        RdmaOperation::ReadResponse => (
            responder,
            [
                Opcode::ReadResponseOnly,
                Opcode::ReadResponseFirst,
                Opcode::ReadResponseMiddle,
                Opcode::ReadResponseLast,
            ],
        ),
    };
    let opcode = match (data.first, data.last) {
        (true, true) => only,
        (true, false) => first,
        (false, false) => middle,
        (false, true) => last,
    };
    write_bth(header, queue_pair, opcode, (data.psn, data.ack_request), ip_len, frame);
    if data.first && data.operation == RdmaOperation::Write {
        bth::emit_reth(data.offset, data.len.into(), frame.room(bth::RETH_LEN));
    }
    if data.operation == RdmaOperation::ReadResponse && (data.first || data.last) {
        bth::emit_aeth(Syndrome::Ack, frame.room(bth::AETH_LEN));
    }
}

/// Writes the headers of a request of an RDMA READ.
fn write_read_request(header: &Header, request: &RdmaReadRequest, ip_len: usize, frame: &mut Frame) {
    write_bth(header, header.ports().0, Opcode::ReadRequest, (request.psn, false), ip_len, frame);
    // InfiniBand messages have less than 2³² bytes; messages of scenarios may have more.
    let bytes = u32::try_from(request.bytes).unwrap_or(u32::MAX);
    bth::emit_reth(request.offset, bytes, frame.room(bth::RETH_LEN));
}

/// Writes the headers of a reply of a queue pair. A NACK of selective repeat or IRN appears as a NAK, because InfiniBand has no other
/// negative acknowledgement.
fn write_rdma_reply(header: &Header, reply: &RdmaReply, ip_len: usize, frame: &mut Frame) {
    let queue_pair = header.ports().1;
    let syndrome = match reply.kind {
        RdmaReplyKind::Cnp => return write_bth(header, queue_pair, Opcode::Cnp, (0, false), ip_len, frame),
        // The requester of READs sends this CNP, from its own port.
        RdmaReplyKind::ReadCnp => {
            return write_bth(header, header.ports().0, Opcode::Cnp, (0, false), ip_len, frame);
        }
        RdmaReplyKind::Ack => Syndrome::Ack,
        RdmaReplyKind::RnrNak(timer) => Syndrome::RnrNak(timer.code()),
        RdmaReplyKind::Nak | RdmaReplyKind::SelectiveNack { .. } => Syndrome::SequenceError,
    };
    // An acknowledgement has the PSN of the last packet that it covers, and a NAK has the PSN of the packet to retransmit (InfiniBand,
    // section 9.7.5).
    let psn = if syndrome == Syndrome::Ack { reply.psn.wrapping_sub(1) } else { reply.psn };
    write_bth(header, queue_pair, Opcode::Acknowledge, (psn, false), ip_len, frame);
    bth::emit_aeth(syndrome, frame.room(bth::AETH_LEN));
}

/// Writes the headers of a packet of a queue pair up to the BTH, which has a PSN and optionally requests an acknowledgement. RoCEv2 packets
/// have no UDP checksum, because the ICRC covers them.
fn write_bth(
    header: &Header,
    queue_pair: u16,
    opcode: Opcode,
    (psn, ack_request): (u64, bool),
    ip_len: usize,
    frame: &mut Frame,
) {
    write_network(header, Protocol::Udp, ip_len, frame);
    let length = (ip_len - ipv4::LEN) as u16;
    let room = frame.room(udp::LEN);
    udp::Repr { source_port: queue_pair, destination_port: bth::PORT, length }.emit(Sum::default(), room);
    room[udp::LEN - 2..].fill(0);
    bth::Repr { opcode, ack_request, queue_pair: queue_pair.into(), psn: psn as u32 & 0xff_ffff }
        .emit(frame.room(bth::LEN));
}

/// Returns `at` in microseconds (the unit of TSval and TSecr; Linux: `tcp_usec_ts`), modulo 2³². Milliseconds, the default unit in Linux,
/// are longer than round trips in datacenters.
fn ticks(at: Instant) -> u32 {
    (at.0 / 1_000_000) as u32
}

/// Writes the Ethernet and IP headers of an IP packet of `total` bytes. Returns the sum over the pseudo header, which is part of the
/// payload's checksum.
fn write_network(header: &Header, protocol: Protocol, total: usize, frame: &mut Frame) -> Sum {
    let ip = ipv4::Repr {
        source: address(header.source()),
        destination: address(header.destination()),
        protocol,
        dscp: header.class(),
        ecn: header.ecn(),
        incast: header.incast(),
        time_to_live: TIME_TO_LIVE,
        total_len: total as u16,
    };
    let ethernet = ethernet::Repr {
        destination: mac(header.destination()),
        source: mac(header.source()),
        ether_type: ethernet::IPV4,
    };
    ethernet.emit(frame.room(ethernet::LEN));
    ip.emit(frame.room(ipv4::LEN));
    frame.len = ethernet::LEN + total;
    ip.pseudo_header()
}

/// Returns the ICMP header. The identifier is the number of the probe, which `header` stores as the source port of a request and as the
/// destination port of a reply.
fn icmp(header: &Header, message: &EchoMessage) -> icmp::Repr {
    let (source, destination) = header.ports();
    let (kind, identifier) =
        if message.is_reply { (icmp::Kind::Reply, destination) } else { (icmp::Kind::Request, source) };
    icmp::Repr { kind, identifier, sequence: message.sequence as u16 }
}

#[cfg(test)]
mod tests {
    use shallows_core::packet::{Ecn, HostId, PacketKind, SackBlock};

    use super::super::numbers::FIRST;
    use super::*;

    /// Stack for 1500-byte packets, two bytes of framing, and every option.
    const STACK: Stack =
        Stack { framing: 2, mss: 1_460, sack: true, timestamps: true, window_scale: 14, own_window: 1 << 30 };
    const MICROSECOND: u64 = 1_000_000;

    fn written(stack: &Stack, header: &Header, body: Option<Body>, kept: u32) -> Frame {
        let mut frame = Frame::new(kept);
        stack.write(header, body.as_ref(), FIRST, &mut frame);
        frame
    }

    /// Returns the header of a packet from host 0 to host 1: IP addresses 10.0.0.1 and 10.0.0.2, ports 1024 and 5001.
    fn forward(size: u16, kind: PacketKind) -> Header {
        Header::new(HostId(0), HostId(1)).with_ports(1_024, 5_001).with_size(size).with_kind(kind)
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns whether the checksum verifies as RFC 1071 §1 describes: the sum of these bytes, which include the checksum, is all ones.
    fn sums_to_ones(parts: &[&[u8]]) -> bool {
        let words = parts.iter().flat_map(|part| part.chunks(2));
        let sum: u64 =
            words.map(|word| u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0))).sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        (folded & 0xffff) + (folded >> 16) == 0xffff
    }

    /// Returns whether a frame carries `protocol`, with a correct IP checksum and a correct checksum of the payload. The payload's checksum
    /// covers the pseudo header, except for ICMP.
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
        let syn =
            Body::Data(DataSegment { tsval: Instant(3 * MICROSECOND), flags, ..DataSegment::default() });
        let header = forward(54, PacketKind::Data).with_ecn(Ecn::Ect);
        let frame = written(&STACK, &header, Some(syn), 200);
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
        let syn = Body::Data(DataSegment { flags: Flags::SYN, ..DataSegment::default() });
        let options = |sack, timestamps| {
            let stack = Stack { sack, timestamps, ..STACK };
            hex(&written(&stack, &forward(42, PacketKind::Data), Some(syn), 200).bytes[54..])
        };
        assert_eq!(options(true, false), "020405b4040201010103030e");
        assert_eq!(options(false, true), "020405b40101080a00000000000000000103030e");
        assert_eq!(options(false, false), "020405b40103030e");
    }

    #[test]
    fn data_counts_from_one_and_shows_what_switches_and_hosts_say() {
        let segment = Body::Data(DataSegment {
            seq: 1_448,
            tsval: Instant(5 * MICROSECOND),
            tsecr: Instant(4 * MICROSECOND),
            carried_ack: None,
            len: 1_448,
            flags: Flags::ACK.with(Flags::PSH).with(Flags::CWR),
        });
        let header = forward(1_502, PacketKind::Data).with_class(5).with_ecn(Ecn::Ce).with_incast(true);
        let frame = written(&STACK, &header, Some(segment), 2_000);
        // DSCP 5 and CE: 5 · 4 + 3 = 17. 1500 bytes = 05dc. Reserved flag and DF: c0.
        assert_eq!(hex(&frame.bytes[14..24]), "451705dc0000c0004006");
        // seq 1449 = 5a9, ack 1, eight words, CWR ACK PSH = 98; 2³⁰ in steps of 2¹⁴ is one more than the field's maximum.
        assert_eq!(hex(&frame.bytes[38..50]), "000005a9000000018098ffff");
        assert_eq!(hex(&frame.bytes[54..66]), "0101080a0000000500000004");
        assert!(frame.bytes[66..].iter().all(|&byte| byte == 0));
        assert_eq!((frame.len(), frame.bytes.len()), (1_514, 1_514));
        assert!(is_whole(&frame.bytes, 6));
        // A truncated frame has the same first bytes and reports the full length.
        let snapped = written(&STACK, &header, Some(segment), 96);
        assert_eq!((snapped.len(), snapped.kept()), (1_514, &frame.bytes[..96]));
    }

    #[test]
    fn an_acknowledgement_echoes_and_tells_what_it_has() {
        let mut ack = AckSegment {
            ack: 2_896,
            tsval: Instant(9 * MICROSECOND),
            tsecr: Instant(5 * MICROSECOND),
            window: 40_000,
            flags: Flags::ACK.with(Flags::ECE).with(Flags::INCAST_ECHO),
            sack_count: 2,
            ..AckSegment::default()
        };
        ack.sack[0] = SackBlock { start: 2_896, end: 4_344 };
        ack.sack[1] = SackBlock { start: 5_792, end: 5_800 };
        let header = Header::new(HostId(1), HostId(0)).with_ports(5_001, 1_024).with_size(74);
        let frame = written(&STACK, &header.with_kind(PacketKind::PureAck), Some(Body::Ack(ack)), 200);
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
            let segment = Body::Data(DataSegment { seq, flags: Flags::ACK, ..DataSegment::default() });
            hex(&written(&STACK, &forward(54, PacketKind::Data), Some(segment), 200).bytes[38..42])
        };
        assert_eq!((at((1 << 32) - 2), at((1 << 32) - 1)), ("ffffffff".to_owned(), "00000000".to_owned()));
        let ack = AckSegment { ack: (1 << 32) - 1, flags: Flags::ACK, ..AckSegment::default() };
        let frame = written(&STACK, &forward(54, PacketKind::PureAck), Some(Body::Ack(ack)), 200);
        assert_eq!(hex(&frame.bytes[42..46]), "00000000");
    }

    #[test]
    fn a_pfc_frame_is_a_mac_control_frame() {
        // The frame pauses class 3 for 65,535 quanta and resumes class 4. Node 6 has the address of a host with the number 6.
        let mut quanta = [None; 8];
        (quanta[3], quanta[4]) = (Some(0xffff), Some(0));
        let mut frame = Frame::new(96);
        frame.write_pfc(&PfcFrame { quanta }.header(), 6);
        assert_eq!(
            hex(&frame.bytes[..26]),
            "0180c200000102000a00000788080101001800000000 0000ffff".replace(' ', "")
        );
        assert_eq!((frame.len(), frame.bytes.len()), (60, 60));
        let (ethernet, contents) = ethernet::Repr::parse(&frame.bytes).expect("a header");
        let parsed = pfc::Repr::parse(contents).expect("a PFC frame");
        assert_eq!((ethernet.ether_type, parsed.quanta), (pfc::MAC_CONTROL, quanta));
    }

    #[test]
    fn the_first_packet_of_a_write_has_an_reth_and_no_other_packet_has_one() {
        // 1,000 bytes after the headers of Ethernet, IP, UDP and BTH (14 + 20 + 8 + 12 bytes), an RETH of 16, and the ICRC of 4.
        let written = |operation, first, last| {
            let reth = if first && operation == RdmaOperation::Write { 16 } else { 0 };
            let data = RdmaData { offset: 0x1122, len: 1_000, operation, first, last, ..RdmaData::default() };
            let header = forward(2 + 40 + reth + 1_000 + 4, PacketKind::Datagram);
            written(&STACK, &header, Some(Body::RdmaData(data)), 2_000)
        };
        // InfiniBand, volume 1, section 9.2: operations of a reliable connection. Section 9.3: an RETH has an address of 8 bytes, a key of
        // 4, here 0, and a length of 4, here 1,000 = 3e8.
        let reth = "000000000000112200000000000003e8";
        let (places, none) = ([(true, true), (true, false), (false, false), (false, true)], "0".repeat(32));
        for (operation, opcodes) in [
            (RdmaOperation::Write, [0x0a, 0x06, 0x07, 0x08]),
            (RdmaOperation::Send, [0x04, 0x00, 0x01, 0x02]),
        ] {
            for ((first, last), opcode) in places.into_iter().zip(opcodes) {
                let frame = written(operation, first, last);
                assert_eq!(frame.bytes[42], opcode, "{operation:?} {first} {last}");
                let expected = if matches!(opcode, 0x0a | 0x06) { reth } else { &none };
                assert_eq!(hex(&frame.bytes[54..70]), expected, "{operation:?} {first} {last}");
            }
        }
    }

    #[test]
    fn datagrams_and_echoes_have_their_own_headers() {
        // 28 bytes of headers and 100 of data; length 108 = 6c.
        let datagram = written(&STACK, &forward(130, PacketKind::Datagram), None, 200);
        assert_eq!(hex(&datagram.bytes[34..40]), "04001389006c");
        assert!(is_whole(&datagram.bytes, 17) && datagram.len() == 142);
        // RFC 792: type 8 is a request, 0 a reply; identifier 7, sequence number 65,537 modulo 2¹⁶.
        let message = |is_reply| Some(Body::Echo(EchoMessage { sequence: 65_537, is_reply }));
        let request = Header::new(HostId(0), HostId(1)).with_ports(7, 0).with_size(86);
        let request = written(&STACK, &request.with_kind(PacketKind::Probe), message(false), 200);
        assert_eq!(hex(&request.bytes[34..36]) + &hex(&request.bytes[38..42]), "080000070001");
        let reply = Header::new(HostId(1), HostId(0)).with_ports(0, 7).with_size(86);
        let reply = written(&STACK, &reply.with_kind(PacketKind::Probe), message(true), 200);
        assert_eq!(hex(&reply.bytes[34..36]) + &hex(&reply.bytes[38..42]), "000000070001");
        assert!(is_whole(&request.bytes, 1) && is_whole(&reply.bytes, 1));
    }
}
