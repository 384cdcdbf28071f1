//! Frames as switches see them: Ethernet, IPv4 and TCP, UDP or ICMP headers become a [`Header`], and what a switch decides is
//! written back. Nothing here trusts a frame.

use shallows_core::packet::{Ecn, Header, HostId, PacketKind};

/// What a frame is to a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// As much of it as switches look at.
    pub header: Header,
    /// Bytes of application data.
    pub data: u16,
}

/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;
const IPV4: usize = 20;
const TCP: usize = 20;
const UDP: usize = 8;

/// Read a frame between two of the first `hosts` hosts; its size counts `framing` bytes beyond the IP packet.
///
/// `None` if it is none of ours: no IPv4, a fragment, another address or protocol, or shorter than it says.
pub fn parse(frame: &[u8], hosts: u32, framing: u16) -> Option<Parsed> {
    let ip = frame.get(ETHERNET..)?;
    if frame[12..14] != [0x08, 0x00] || ip.len() < IPV4 || ip[0] >> 4 != 4 {
        return None;
    }
    let total = word(ip, 2);
    let ip = ip.get(..usize::from(total))?;
    let header_len = usize::from(ip.first()? & 0xf) * 4;
    // RFC 791 §3.1: more fragments, or an offset. The bit before these is the one of the incast notification.
    if header_len < IPV4 || ip.len() < header_len || word(ip, 6) & 0x3fff != 0 {
        return None;
    }
    let payload = ip.get(header_len..)?;
    let header = Header::new(host(&ip[12..16], hosts)?, host(&ip[16..20], hosts)?)
        .with_size(total.checked_add(framing)?)
        .with_class(ip[1] >> 2)
        .with_ecn(match ip[1] & 3 {
            0 => Ecn::NotEct,
            3 => Ecn::Ce,
            _ => Ecn::Ect,
        })
        .with_incast(ip[6] & IP_RESERVED != 0);
    match ip[9] {
        6 => tcp(header, payload),
        17 if payload.len() >= UDP => {
            let header = header.with_ports(word(payload, 0), word(payload, 2));
            Some(Parsed { header: header.with_kind(PacketKind::Datagram), data: payload.len() as u16 - 8 })
        }
        1 => Some(Parsed { header: header.with_kind(PacketKind::Probe), data: 0 }),
        _ => None,
    }
}

fn tcp(header: Header, segment: &[u8]) -> Option<Parsed> {
    if segment.len() < TCP {
        return None;
    }
    let offset = usize::from(segment[12] >> 4) * 4;
    let data = segment.len().checked_sub(offset).filter(|_| offset >= TCP)?;
    let flags = segment[13];
    let has = |flag: u8| flags & flag != 0;
    // What opens or closes a connection goes as data does, as in the simulation; the answer to a SYN, as acknowledgements do.
    let opens = has(SYN) && !has(ACK);
    let kind = if data == 0 && !opens && !has(FIN) { PacketKind::PureAck } else { PacketKind::Data };
    let header = header.with_ports(word(segment, 0), word(segment, 2)).with_kind(kind);
    Some(Parsed { header, data: data as u16 })
}

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// The bit of the IPv4 header that no standard uses: the first of the three flags (RFC 791 §3.1).
const IP_RESERVED: u8 = 0x80;

/// Write what switches have decided into a frame that [`parse`] has read: congestion experienced, incast, and its receiver.
pub fn rewrite(frame: &mut [u8], header: &Header) {
    frame[..6].copy_from_slice(&mac(header.destination));
    frame[6..12].copy_from_slice(&mac(header.source));
    let ip = &mut frame[ETHERNET..];
    if header.ecn() == Ecn::Ce {
        let tos = ip[1] | 3;
        set(ip, 1, tos);
    }
    if header.incast() {
        let flags = ip[6] | IP_RESERVED;
        set(ip, 6, flags);
    }
}

/// Change one byte of an IPv4 header and its checksum with it: HC' = ~(~HC + ~m + m') (RFC 1624, Eq. 3).
fn set(ip: &mut [u8], place: usize, value: u8) {
    let even = place & !1;
    let old = word(ip, even);
    ip[place] = value;
    let sum = u32::from(!word(ip, 10)) + u32::from(!old) + u32::from(word(ip, even));
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    ip[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Host *h* has the *h*+1st address of 10.0.0.0/8, as in captures of simulations.
pub fn address(host: HostId) -> [u8; 4] {
    let [_, x, y, z] = (host.0 + 1).to_be_bytes();
    [10, x, y, z]
}

/// Which of the first `hosts` hosts has an address.
fn host(address: &[u8], hosts: u32) -> Option<HostId> {
    let number = u32::from_be_bytes([0, address[1], address[2], address[3]]).checked_sub(1)?;
    (address[0] == 10 && number < hosts).then_some(HostId(number))
}

/// A locally administered address with the IPv4 address in its last bytes.
pub fn mac(host: HostId) -> [u8; 6] {
    let [a, b, c, d] = address(host);
    [2, 0, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shallows_core::Bytes;

    use super::*;

    /// A segment of one byte from host 0, port 1024, to host 1, port 5001: ECT(0), DSCP 10, ACK. Its IPv4 checksum was worked
    /// by hand: 4500 + 0029 ... see [`the_checksum_is_that_of_rfc_1071`].
    fn frame() -> Vec<u8> {
        let mut frame = vec![0xff; 12];
        frame.extend([0x08, 0x00]);
        frame.extend([0x45, 0x2a, 0x00, 0x29, 0x12, 0x34, 0x40, 0x00, 0x40, 0x06, 0x00, 0x00]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x04, 0x00, 0x13, 0x89, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
        frame.push(b'x');
        // 452a + 0029 + 1234 + 4000 + 4006 + 0a00 + 0001 + 0a00 + 0002 = eb90; its complement.
        frame[24..26].copy_from_slice(&[0x14, 0x6f]);
        frame
    }

    /// RFC 1071: over a header with its checksum the sum is all ones.
    fn checksum_holds(frame: &[u8]) -> bool {
        let ip = &frame[ETHERNET..];
        let sum: u32 = (0..usize::from(ip[0] & 0xf) * 2).map(|at| u32::from(word(ip, 2 * at))).sum();
        (sum & 0xffff) + (sum >> 16) == 0xffff
    }

    #[test]
    fn a_segment_is_read_as_it_was_written() {
        let Parsed { header, data } = parse(&frame(), 2, 38).unwrap();
        assert_eq!((header.source, header.destination), (HostId(0), HostId(1)));
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
        assert_eq!([0x02, 0x11, 0xc2].map(kind), [PacketKind::Data; 3]); // SYN, FIN, SYN that asks for ECN
    }

    #[test]
    fn a_mark_is_written_with_a_checksum_that_holds() {
        let mut frame = frame();
        assert!(checksum_holds(&frame));
        let header = parse(&frame, 2, 38).unwrap().header;
        rewrite(&mut frame, &header.with_ecn(Ecn::Ce));
        // 452b now: the complement of eb91.
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
        /// Whatever comes, nothing panics; and what is read can be written back, with a checksum that holds if it did.
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
