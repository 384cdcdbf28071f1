//! The IPv4 header (RFC 791 §3.1). `parse` skips options and rejects fragments; `emit` writes no options.

use shallows_core::packet::Ecn;

use crate::checksum::Sum;

/// Length in bytes of a header without options.
pub const LEN: usize = 20;

/// Protocol of an IP payload, by its assigned number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// ICMP: number 1 (RFC 792).
    Icmp,
    /// TCP: number 6 (RFC 9293).
    Tcp,
    /// UDP: number 17 (RFC 768).
    Udp,
    /// Any other protocol, with its number.
    Other(u8),
}

impl From<u8> for Protocol {
    fn from(number: u8) -> Self {
        match number {
            1 => Self::Icmp,
            6 => Self::Tcp,
            17 => Self::Udp,
            other => Self::Other(other),
        }
    }
}

impl From<Protocol> for u8 {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Icmp => 1,
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
            Protocol::Other(number) => number,
        }
    }
}

/// IPv4 header. It has no identification and no fragment fields, because neither the simulation nor the testbed fragments packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Address of the sender.
    pub source: [u8; 4],
    /// Address of the receiver.
    pub destination: [u8; 4],
    /// Protocol of the payload.
    pub protocol: Protocol,
    /// Class of service (DSCP), below 64 (RFC 2474 §3).
    pub dscp: u8,
    /// ECN codepoint. ECT(1) is read as [`Ecn::Ect`], and [`Ecn::Ect`] is written as ECT(0) (RFC 3168 §5).
    pub ecn: Ecn,
    /// Explicit incast notification, in the reserved flag. Pulser requires a new bit, and this flag is the only bit that no standard uses.
    pub incast: bool,
    /// Time to live: the number of remaining hops.
    pub time_to_live: u8,
    /// Length of the packet in bytes, including its header.
    pub total_len: u16,
}

/// Bit of the incast notification in byte [`FLAGS`]: the reserved one of the three flags (RFC 791 §3.1).
const RESERVED: u8 = 0x80;
const DONT_FRAGMENT: u8 = 0x40;

// Offsets of fields from the start of a header, in bytes.
const TRAFFIC_CLASS: usize = 1;
const FLAGS: usize = 6;
const CHECKSUM: usize = 10;

impl Repr {
    /// Parses a packet. Returns its header and its payload, up to the packet's total length. Returns `None` if `bytes` does not begin with
    /// an IPv4 header, is a fragment, or is shorter than the header or than the total length.
    pub fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let header = bytes.first_chunk::<LEN>()?;
        let header_len = usize::from(header[0] & 0xf) * 4;
        let total_len = u16::from_be_bytes([header[2], header[3]]);
        let fragment = u16::from_be_bytes([header[FLAGS], header[FLAGS + 1]]);
        // RFC 791 §3.1: the flag "more fragments" or an offset means that the payload continues or begins in another packet.
        if header[0] >> 4 != 4 || header_len < LEN || fragment & 0x3fff != 0 {
            return None;
        }
        let payload = bytes.get(header_len..usize::from(total_len))?;
        let repr = Self {
            source: [header[12], header[13], header[14], header[15]],
            destination: [header[16], header[17], header[18], header[19]],
            protocol: header[9].into(),
            dscp: header[TRAFFIC_CLASS] >> 2,
            ecn: match header[TRAFFIC_CLASS] & 3 {
                0 => Ecn::NotEct,
                3 => Ecn::Ce,
                _ => Ecn::Ect,
            },
            incast: header[FLAGS] & RESERVED != 0,
            time_to_live: header[8],
            total_len,
        };
        Some((repr, payload))
    }

    /// Writes the header to the first [`LEN`] bytes.
    ///
    /// # Panics
    ///
    /// If `bytes` is shorter than [`LEN`].
    pub fn emit(&self, bytes: &mut [u8]) {
        debug_assert!(self.dscp < 64, "a DSCP has six bits");
        let header = &mut bytes[..LEN];
        let ecn = match self.ecn {
            Ecn::NotEct => 0,
            // RFC 3168 §5: a sender that uses only one ECT codepoint should use ECT(0).
            Ecn::Ect => 2,
            Ecn::Ce => 3,
        };
        header[0] = 0x45;
        header[TRAFFIC_CLASS] = self.dscp << 2 | ecn;
        header[2..4].copy_from_slice(&self.total_len.to_be_bytes());
        // RFC 6864 §4.1: a packet that is never fragmented needs no identification.
        header[4..6].fill(0);
        header[FLAGS] = DONT_FRAGMENT | if self.incast { RESERVED } else { 0 };
        header[FLAGS + 1] = 0;
        header[8] = self.time_to_live;
        header[9] = self.protocol.into();
        header[CHECKSUM..CHECKSUM + 2].fill(0);
        header[12..16].copy_from_slice(&self.source);
        header[16..20].copy_from_slice(&self.destination);
        let checksum = Sum::default().with(header).checksum();
        header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
    }

    /// Returns the [`Sum`] over the pseudo header of TCP and UDP (RFC 9293 §3.1), for a packet without IP options.
    pub fn pseudo_header(&self) -> Sum {
        let payload = self.total_len.saturating_sub(LEN as u16);
        Sum::default()
            .with(&self.source)
            .with(&self.destination)
            .with_word(u8::from(self.protocol).into())
            .with_word(payload)
    }
}

/// Sets the ECN field to "congestion experienced" (RFC 3168 §5) in a header that [`Repr::parse`] accepts.
pub fn mark(header: &mut [u8]) {
    let traffic_class = header[TRAFFIC_CLASS] | 3;
    set(header, TRAFFIC_CLASS, traffic_class);
}

/// Sets the incast notification in a header that [`Repr::parse`] accepts.
pub fn notify_of_incast(header: &mut [u8]) {
    let flags = header[FLAGS] | RESERVED;
    set(header, FLAGS, flags);
}

/// Changes the byte at index `place` and updates the checksum: HC' = ~(~HC + ~m + m') (RFC 1624, Eq. 3).
fn set(header: &mut [u8], place: usize, value: u8) {
    let word = |header: &[u8], at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let even = place & !1;
    let sum = Sum::default().with_word(!word(header, CHECKSUM)).with_word(!word(header, even));
    header[place] = value;
    let checksum = sum.with_word(word(header, even)).checksum();
    header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Header of a packet from 10.0.0.1 to 10.0.0.2 with ECT(0), DSCP 10, TCP, and one byte of payload.
    const REPR: Repr = Repr {
        source: [10, 0, 0, 1],
        destination: [10, 0, 0, 2],
        protocol: Protocol::Tcp,
        dscp: 10,
        ecn: Ecn::Ect,
        incast: false,
        time_to_live: 64,
        total_len: 21,
    };

    fn emitted(repr: Repr) -> Vec<u8> {
        let mut bytes = vec![0xee; usize::from(repr.total_len).max(LEN)];
        repr.emit(&mut bytes);
        bytes
    }

    fn checksum_holds(header: &[u8]) -> bool {
        Sum::default().with(&header[..LEN]).checksum() == 0
    }

    #[test]
    fn the_header_is_as_the_rfc_has_it() {
        // Checksum by hand: 452a + 0015 + 4000 + 4006 + 0a00 + 0001 + 0a00 + 0002 = d948, whose complement is 26b7.
        assert_eq!(
            emitted(REPR),
            [0x45, 0x2a, 0, 21, 0, 0, 0x40, 0, 64, 6, 0x26, 0xb7, 10, 0, 0, 1, 10, 0, 0, 2, 0xee]
        );
        // The reserved flag adds 8000 to the word that contains the flag DF.
        let notified = emitted(Repr { incast: true, ..REPR });
        assert_eq!((notified[6], &notified[10..12]), (0xc0, &[0xa6, 0xb6][..]));
    }

    #[test]
    fn a_change_in_place_keeps_the_checksum() {
        let mut bytes = emitted(REPR);
        mark(&mut bytes);
        assert_eq!(bytes, emitted(Repr { ecn: Ecn::Ce, ..REPR }));
        notify_of_incast(&mut bytes);
        assert_eq!(bytes, emitted(Repr { ecn: Ecn::Ce, incast: true, ..REPR }));
        mark(&mut bytes);
        notify_of_incast(&mut bytes);
        assert_eq!(bytes, emitted(Repr { ecn: Ecn::Ce, incast: true, ..REPR }), "twice changes nothing");
    }

    #[test]
    fn both_ect_codepoints_are_read_as_ect() {
        let ecn = |codepoint: u8| {
            let mut bytes = emitted(Repr { dscp: 0, ..REPR });
            bytes[1] = codepoint;
            Repr::parse(&bytes).map(|(repr, _)| repr.ecn)
        };
        assert_eq!([0, 1, 2, 3].map(ecn), [Ecn::NotEct, Ecn::Ect, Ecn::Ect, Ecn::Ce].map(Some));
    }

    #[test]
    fn options_and_padding_are_skipped() {
        let mut bytes = emitted(Repr { total_len: 28, ..REPR });
        bytes[0] = 0x46;
        bytes.extend([0; 18]);
        let (repr, payload) = Repr::parse(&bytes).unwrap();
        assert_eq!((repr.total_len, payload), (28, &[0xee; 4][..]));
    }

    #[test]
    fn what_is_no_whole_ipv4_packet_is_refused() {
        let refused = |place: usize, value: u8| {
            let mut bytes = emitted(REPR);
            bytes[place] = value;
            Repr::parse(&bytes).is_none()
        };
        assert!(refused(0, 0x65), "version 6");
        assert!(refused(0, 0x44), "a header of 16 bytes");
        assert!(refused(0, 0x46), "a header longer than its packet");
        assert!(refused(3, 22), "one byte more than there is");
        assert!(refused(3, 19), "less than its header");
        assert!(refused(6, 0x20), "a fragment, more follow");
        assert!(refused(7, 0x01), "a fragment, the second");
        assert!(!refused(6, 0x80), "the notification of incast is not one of a fragment");
        assert!(Repr::parse(&emitted(REPR)[..LEN - 1]).is_none());
    }

    fn repr() -> impl Strategy<Value = Repr> {
        let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect), Just(Ecn::Ce)];
        let rest = (any::<u8>(), 0..64u8, ecn, any::<bool>(), any::<u8>(), LEN as u16..2_000);
        (any::<[u8; 4]>(), any::<[u8; 4]>(), rest).prop_map(
            |(source, destination, (protocol, dscp, ecn, incast, time_to_live, total_len))| {
                let protocol = protocol.into();
                Repr { source, destination, protocol, dscp, ecn, incast, time_to_live, total_len }
            },
        )
    }

    proptest! {
        #[test]
        fn a_header_that_was_emitted_is_parsed_as_it_was(repr in repr()) {
            let bytes = emitted(repr);
            prop_assert!(checksum_holds(&bytes));
            prop_assert_eq!(Repr::parse(&bytes), Some((repr, &bytes[LEN..])));
        }

        /// RFC 1624 §3: the update of a correct checksum is a correct checksum for all values of the other fields.
        #[test]
        fn changes_in_place_are_those_of_a_new_header(repr in repr()) {
            let mut bytes = emitted(repr);
            mark(&mut bytes);
            notify_of_incast(&mut bytes);
            prop_assert_eq!(bytes, emitted(Repr { ecn: Ecn::Ce, incast: true, ..repr }));
        }
    }
}
