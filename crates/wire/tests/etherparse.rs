//! The independent crate `etherparse` parses the emitted headers and finds every field and checksum right.

use etherparse::{
    Ethernet2Header, Icmpv4Header, Icmpv4Type, IpEcn, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader,
};
use proptest::prelude::*;
use shallows_core::packet::{Ecn, Flags};
use shallows_wire::ipv4::Protocol;
use shallows_wire::tcp_options::{Options, Timestamps};
use shallows_wire::{ethernet, icmp, ipv4, tcp, udp};

/// Returns the IPv4 header of a packet with `payload` bytes of payload.
fn packet(protocol: Protocol, payload: usize) -> ipv4::Repr {
    ipv4::Repr {
        source: [10, 0, 0, 1],
        destination: [10, 1, 2, 3],
        protocol,
        dscp: 46,
        ecn: Ecn::Ect,
        incast: false,
        time_to_live: 64,
        total_len: (ipv4::LEN + payload) as u16,
    }
}

proptest! {
    #[test]
    fn ethernet_and_ip_are_read_alike(
        source: [u8; 6], destination: [u8; 6], dscp in 0..64u8, codepoint in 0..3usize, protocol: u8, ttl: u8,
        total_len in 20..=u16::MAX,
    ) {
        let mut bytes = [0; ethernet::LEN + ipv4::LEN];
        ethernet::Repr { destination, source, ether_type: ethernet::IPV4 }.emit(&mut bytes);
        let (ecn, theirs) = [
            (Ecn::NotEct, IpEcn::NotEct), (Ecn::Ect, IpEcn::Ect0), (Ecn::Ce, IpEcn::CongestionExperienced),
        ][codepoint];
        let repr = packet(protocol.into(), 0);
        ipv4::Repr { dscp, ecn, time_to_live: ttl, total_len, ..repr }.emit(&mut bytes[ethernet::LEN..]);
        let (frame, rest) = Ethernet2Header::from_slice(&bytes).expect("it is a frame");
        prop_assert_eq!((frame.source, frame.destination, frame.ether_type.0), (source, destination, 0x0800));
        let (ip, _) = Ipv4Header::from_slice(rest).expect("it is a packet");
        prop_assert_eq!((ip.dscp.value(), ip.ecn, ip.protocol.0, ip.time_to_live), (dscp, theirs, protocol, ttl));
        prop_assert_eq!((ip.source, ip.destination, ip.total_len), (repr.source, repr.destination, total_len));
        prop_assert!(ip.dont_fragment && !ip.more_fragments && ip.options.is_empty());
        prop_assert_eq!(ip.header_checksum, ip.calc_header_checksum());
    }

    #[test]
    fn tcp_is_read_alike(
        ports: (u16, u16), numbers: (u32, u32), flags: u8, window: u16, mss: Option<u16>, stamps: Option<(u32, u32)>,
        sack in prop::collection::vec(any::<(u32, u32)>(), 0..=2), scale: Option<u8>, data in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let options = Options {
            max_segment_size: mss,
            window_scale: scale.map(|shift| shift % 15),
            sack_permitted: false,
            timestamps: stamps.map(|(value, echo)| Timestamps { value, echo }),
            sack: if mss.is_none() { sack.into_iter().collect() } else { [].into_iter().collect() },
        };
        let flags = Flags(flags & !Flags::INCAST_ECHO.0);
        let repr = tcp::Repr {
            source_port: ports.0, destination_port: ports.1, sequence: numbers.0, acknowledgement: numbers.1, flags, window,
            options,
        };
        let ip = packet(Protocol::Tcp, repr.header_len() + data.len());
        let mut bytes = vec![0; repr.header_len()];
        repr.emit(ip.pseudo_header().with(&data), &mut bytes);
        let (theirs, rest) = TcpHeader::from_slice(&bytes).expect("it is a segment");
        prop_assert!(rest.is_empty());
        prop_assert_eq!((theirs.source_port, theirs.destination_port), ports);
        prop_assert_eq!((theirs.sequence_number, theirs.acknowledgment_number, theirs.window_size), (numbers.0, numbers.1, window));
        let bits = [theirs.fin, theirs.syn, theirs.rst, theirs.psh, theirs.ack, theirs.urg, theirs.ece, theirs.cwr];
        prop_assert_eq!(bits.iter().rev().fold(0, |all, &bit| all << 1 | u8::from(bit)), flags.0);
        let sum = theirs.calc_checksum_ipv4_raw(ip.source, ip.destination, &data).expect("it is short");
        prop_assert_eq!(theirs.checksum, sum);
        let mut read = Options::default();
        for element in theirs.options_iterator() {
            match element.expect("it is sound") {
                TcpOptionElement::Noop => {}
                TcpOptionElement::MaximumSegmentSize(size) => read.max_segment_size = Some(size),
                TcpOptionElement::WindowScale(shift) => read.window_scale = Some(shift),
                TcpOptionElement::SelectiveAcknowledgementPermitted => read.sack_permitted = true,
                TcpOptionElement::Timestamp(value, echo) => read.timestamps = Some(Timestamps { value, echo }),
                TcpOptionElement::SelectiveAcknowledgement(first, more) => {
                    read.sack = std::iter::once(first).chain(more.into_iter().flatten()).collect();
                }
            }
        }
        prop_assert_eq!(read, options);
    }

    #[test]
    fn udp_and_icmp_are_read_alike(ports: (u16, u16), data in prop::collection::vec(any::<u8>(), 0..9)) {
        let length = udp::LEN + data.len();
        let ip = packet(Protocol::Udp, length);
        let mut bytes = [0; udp::LEN];
        let repr = udp::Repr { source_port: ports.0, destination_port: ports.1, length: length as u16 };
        repr.emit(ip.pseudo_header().with(&data), &mut bytes);
        let (theirs, _) = UdpHeader::from_slice(&bytes).expect("it is a datagram");
        prop_assert_eq!((theirs.source_port, theirs.destination_port, usize::from(theirs.length)), (ports.0, ports.1, length));
        let sum = theirs.calc_checksum_ipv4_raw(ip.source, ip.destination, &data).expect("it is short");
        prop_assert_eq!(theirs.checksum, sum);

        for kind in [icmp::Kind::Request, icmp::Kind::Reply] {
            let sum = shallows_wire::checksum::Sum::default().with(&data);
            icmp::Repr { kind, identifier: ports.0, sequence: ports.1 }.emit(sum, &mut bytes);
            let (theirs, _) = Icmpv4Header::from_slice(&bytes).expect("it is a message");
            let echo = match (kind, &theirs.icmp_type) {
                (icmp::Kind::Request, Icmpv4Type::EchoRequest(echo)) | (icmp::Kind::Reply, Icmpv4Type::EchoReply(echo)) => echo,
                other => panic!("{other:?}"),
            };
            prop_assert_eq!((echo.id, echo.seq), ports);
            prop_assert_eq!(theirs.checksum, theirs.icmp_type.calc_checksum(&data));
        }
    }
}
