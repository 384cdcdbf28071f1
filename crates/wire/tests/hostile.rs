//! Random and damaged bytes: no parser panics, and parsed payloads lie within the given bytes.

use proptest::prelude::*;
use shallows_core::packet::Ecn;
use shallows_wire::checksum::Sum;
use shallows_wire::tcp_options::Options;
use shallows_wire::{ethernet, icmp, ipv4, pfc, tcp, udp};

/// Generates random bytes. The first byte often begins an IPv4 header, and the thirteenth often has a valid data offset.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let likely =
        prop_oneof![3 => (4..6u8, 5..16u8).prop_map(|(high, low)| high << 4 | low), 1 => any::<u8>()];
    let offset = prop_oneof![3 => 0x50..=0xffu8, 1 => any::<u8>()];
    let total = prop_oneof![1 => any::<u16>(), 3 => 0..130u16];
    let all = (prop::collection::vec(any::<u8>(), 0..120), likely, offset, total);
    all.prop_map(|(mut bytes, likely, offset, total)| {
        let [high, low] = total.to_be_bytes();
        for (at, value) in [(0, likely), (2, high), (3, low), (6, 0x40), (7, 0), (12, offset)] {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        bytes
    })
}

/// Generates options of known and unknown kinds, mostly with their correct lengths, truncated to 40 bytes.
fn options() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![4 => Just((1, 1)), 4 => Just((2, 4)), 4 => Just((3, 3)), 4 => Just((4, 2)), 4 => Just((8, 10)),
        4 => (1..=4u8).prop_map(|blocks| (5, 2 + 8 * blocks)), 1 => any::<(u8, u8)>()];
    let option = (kind, prop::collection::vec(any::<u8>(), 40)).prop_map(|((kind, len), body)| match kind {
        0 | 1 => vec![kind],
        _ => [&[kind, len][..], &body[..usize::from(len.clamp(2, 40)) - 2]].concat(),
    });
    prop::collection::vec(option, 0..6).prop_map(|options| {
        let mut bytes = options.concat();
        bytes.truncate(40);
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in bytes()) {
        let ends = |rest: Option<&[u8]>, header: usize| rest.is_none_or(|rest| rest.len() + header == bytes.len());
        prop_assert!(ends(ethernet::Repr::parse(&bytes).map(|(_, rest)| rest), ethernet::LEN));
        prop_assert!(ends(udp::Repr::parse(&bytes).map(|(_, rest)| rest), udp::LEN));
        prop_assert!(ends(icmp::Repr::parse(&bytes).map(|(_, rest)| rest), icmp::LEN));
        let offset = usize::from(bytes.get(12).copied().unwrap_or_default() >> 4) * 4;
        prop_assert!(ends(tcp::Repr::parse(&bytes).map(|(_, rest)| rest), offset));
        let inside = |(repr, rest): (ipv4::Repr, &[u8])| {
            usize::from(repr.total_len) <= bytes.len() && rest.len() + ipv4::LEN <= usize::from(repr.total_len)
        };
        prop_assert!(ipv4::Repr::parse(&bytes).is_none_or(inside));
        Options::parse(&bytes);
        pfc::Repr::parse(&bytes);
    }

    /// A header that a switch changes parses to the new values, and its checksum stays valid if it was valid.
    #[test]
    fn a_damaged_header_is_changed_as_a_sound_one(bytes in bytes()) {
        let Some((before, _)) = ipv4::Repr::parse(&bytes) else { return Ok(()) };
        let header_len = usize::from(bytes[0] & 0xf) * 4;
        let checksum = |bytes: &[u8]| Sum::default().with(&bytes[..header_len]).checksum();
        let mut changed = bytes.clone();
        ipv4::mark(&mut changed);
        ipv4::notify_of_incast(&mut changed);
        let (after, _) = ipv4::Repr::parse(&changed).expect("it was one before");
        prop_assert_eq!(after, ipv4::Repr { ecn: Ecn::Ce, incast: true, ..before });
        prop_assert_eq!(checksum(&changed), checksum(&bytes));
    }

    /// Options that are parsed, emitted and parsed again have the same values. Some SACK blocks may be missing, because padding takes their
    /// room.
    #[test]
    fn options_of_any_bytes_are_emitted_as_they_were_read(bytes in options()) {
        let read = Options::parse(&bytes);
        let mut written = vec![0; read.buffer_len()];
        read.emit(&mut written);
        let again = Options::parse(&written);
        prop_assert!(written.len() <= 40 && read.sack.as_slice().starts_with(again.sack.as_slice()));
        prop_assert_eq!(again, Options { sack: again.sack, ..read });
    }
}
