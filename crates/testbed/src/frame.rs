//! Conversion between frames and the headers that switches read: Ethernet, IPv4 and TCP, UDP or ICMP headers become a [`Header`], and
//! marks of switches are written back. Frames are untrusted input.

use shallows_core::packet::{Ecn, Flags, Header, PacketKind};
use shallows_wire::address::host;
pub use shallows_wire::address::{address, mac};
pub use shallows_wire::ethernet::LEN as ETHERNET;
use shallows_wire::ipv4::Protocol;
use shallows_wire::{ethernet, ipv4, tcp, udp};

/// Fields of a frame that the switches need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// Fields that switches read.
    pub header: Header,
    /// Bytes of application data.
    pub data: u16,
}

/// Parses a frame between two of the first `hosts` hosts. The size in the header includes `framing` bytes beyond the IP packet.
///
/// Returns `None` for a frame that is not IPv4, is a fragment, has an unknown address or protocol, or is shorter than its header states.
pub fn parse(frame: &[u8], hosts: u32, framing: u16) -> Option<Parsed> {
    let (ethernet, packet) = ethernet::Repr::parse(frame)?;
    if ethernet.ether_type != ethernet::IPV4 {
        return None;
    }
    let (ip, payload) = ipv4::Repr::parse(packet)?;
    let header = Header::new(host(ip.source, hosts)?, host(ip.destination, hosts)?)
        .with_size(ip.total_len.checked_add(framing)?)
        .with_class(ip.dscp)
        .with_ecn(ip.ecn)
        .with_incast(ip.incast);
    let (header, data) = match ip.protocol {
        Protocol::Tcp => {
            let (tcp, data) = tcp::Repr::parse(payload)?;
            let ports = header.with_ports(tcp.source_port, tcp.destination_port);
            (ports.with_kind(kind(tcp.flags, data)), data.len())
        }
        Protocol::Udp => {
            let (udp, data) = udp::Repr::parse(payload)?;
            let ports = header.with_ports(udp.source_port, udp.destination_port);
            (ports.with_kind(PacketKind::Datagram), data.len())
        }
        Protocol::Icmp => (header.with_kind(PacketKind::Probe), 0),
        Protocol::Other(_) => return None,
    };
    Some(Parsed { header, data: data as u16 })
}

/// Returns the kind of a TCP segment. SYN and FIN count as data, as in the simulation; a SYN-ACK counts as an acknowledgement.
fn kind(flags: Flags, data: &[u8]) -> PacketKind {
    let opens = flags.contains(Flags::SYN) && !flags.contains(Flags::ACK);
    if data.is_empty() && !opens && !flags.contains(Flags::FIN) {
        PacketKind::PureAck
    } else {
        PacketKind::Data
    }
}

/// Writes the Ethernet addresses and the marks of `header` (congestion experienced, incast) into a frame that [`parse`] accepts.
pub fn rewrite(frame: &mut [u8], header: &Header) {
    let (destination, source) = (mac(header.destination()), mac(header.source()));
    ethernet::Repr { destination, source, ether_type: ethernet::IPV4 }.emit(frame);
    let packet = &mut frame[ethernet::LEN..];
    if header.ecn() == Ecn::Ce {
        ipv4::mark(packet);
    }
    if header.incast() {
        ipv4::notify_of_incast(packet);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shallows_core::Bytes;
    use shallows_core::packet::HostId;
    use shallows_wire::checksum::Sum;

    use super::*;

    /// Returns a segment of one byte from host 0, port 1024, to host 1, port 5001: ECT(0), DSCP 10, ACK. Its IPv4 checksum is computed
    /// by hand below.
    fn frame() -> Vec<u8> {
        let mut frame = vec![0xff; 12];
        frame.extend([0x08, 0x00]);
        frame.extend([0x45, 0x2a, 0x00, 0x29, 0x12, 0x34, 0x40, 0x00, 0x40, 0x06, 0x00, 0x00]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x04, 0x00, 0x13, 0x89, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
        frame.push(b'x');
        // 452a + 0029 + 1234 + 4000 + 4006 + 0a00 + 0001 + 0a00 + 0002 = eb90, whose complement is 146f.
        frame[24..26].copy_from_slice(&[0x14, 0x6f]);
        frame
    }

    /// Returns whether the header checksum is correct: the sum over a header, including its checksum, is all ones (RFC 1071).
    fn checksum_holds(frame: &[u8]) -> bool {
        let ip = &frame[ETHERNET..];
        Sum::default().with(&ip[..usize::from(ip[0] & 0xf) * 4]).checksum() == 0
    }

    #[test]
    fn a_segment_is_read_as_it_was_written() {
        let Parsed { header, data } = parse(&frame(), 2, 38).unwrap();
        assert_eq!((header.source(), header.destination()), (HostId(0), HostId(1)));
        assert_eq!((header.ports(), header.size(), data), ((1_024, 5_001), Bytes(41 + 38), 1));
        assert_eq!((header.class(), header.ecn(), header.kind()), (10, Ecn::Ect, PacketKind::Data));
        assert!(!header.incast());
    }

    #[test]
    fn what_carries_no_data_is_an_acknowledgement_unless_it_opens_or_closes() {
        let kind = |flags: u8| {
            let mut frame = frame();
            frame.pop();
            frame[17] = 0x28;
            frame[47] = flags;
            parse(&frame, 2, 0).unwrap().header.kind()
        };
        assert_eq!([0x10, 0x12, 0x04, 0x50].map(kind), [PacketKind::PureAck; 4]); // ACK, SYN-ACK, RST, ACK with ECE
        assert_eq!([0x02, 0x11, 0xc2].map(kind), [PacketKind::Data; 3]); // SYN, FIN, SYN that requests ECN
    }

    #[test]
    fn a_mark_is_written_with_a_checksum_that_holds() {
        let mut frame = frame();
        assert!(checksum_holds(&frame));
        let header = parse(&frame, 2, 38).unwrap().header;
        rewrite(&mut frame, &header.with_ecn(Ecn::Ce));
        // The first word is 452b now; the checksum is the complement of eb91.
        assert_eq!((frame[15], &frame[24..26]), (0x2b, &[0x14, 0x6e][..]));
        assert_eq!(&frame[..12], [2, 0, 10, 0, 0, 2, 2, 0, 10, 0, 0, 1]);
        rewrite(&mut frame, &header.with_incast(true));
        assert!(checksum_holds(&frame) && parse(&frame, 2, 0).unwrap().header.incast());
        assert_eq!(parse(&frame, 2, 0).unwrap().header.ecn(), Ecn::Ce, "a mark stays");
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        let refused = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = frame();
            change(&mut frame);
            parse(&frame, 2, 38).is_none()
        };
        assert!(refused(&|frame| frame[12] = 0x86), "IPv6");
        assert!(refused(&|frame| frame[14] = 0x65), "version 6 in a frame that says 4");
        assert!(refused(&|frame| frame[14] = 0x44), "a header of 16 bytes");
        assert!(refused(&|frame| frame[17] = 0x2a), "one byte more than there is");
        assert!(refused(&|frame| frame[17] = 0x01), "less than its header");
        assert!(refused(&|frame| frame[20] = 0x20), "a fragment, more follow");
        assert!(refused(&|frame| frame[21] = 0x01), "a fragment, the second");
        assert!(refused(&|frame| frame[33] = 3), "a third host");
        assert!(refused(&|frame| frame[29] = 0), "host -1");
        assert!(refused(&|frame| frame[30] = 11), "another network");
        assert!(refused(&|frame| frame[23] = 132), "SCTP");
        assert!(refused(&|frame| frame[46] = 0x40), "a TCP header of 16 bytes");
        assert!(refused(&|frame| frame[46] = 0x60), "a TCP header longer than its segment");
        assert!(refused(&|frame| frame.truncate(40)));
        assert!(!refused(&|frame| frame.resize(60, 0)), "padding to the least that Ethernet carries");
    }

    proptest! {
        /// Parsing never panics, whatever the bytes are.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(parse(&bytes, 1 << 24, 38).is_none_or(|parsed| parsed.header.size().0 >= 20));
        }

        #[test]
        fn damaged_frames_are_read_or_refused_and_keep_their_checksum(
            damage in prop::collection::vec((14usize..55, any::<u8>()), 0..6), len in 0usize..70, marked: bool,
        ) {
            let mut frame = frame();
            damage.iter().for_each(|(at, value)| frame[*at] = *value);
            frame.resize(len, 0);
            if let Some(Parsed { header, data }) = parse(&frame, 1 << 24, 0) {
                prop_assert!(u64::from(data) < header.size().0);
                let held = checksum_holds(&frame);
                rewrite(&mut frame, &if marked { header.with_ecn(Ecn::Ce) } else { header.with_incast(true) });
                prop_assert_eq!(held, checksum_holds(&frame));
            }
        }
    }
}
