//! The TCP header (RFC 9293 §3.1), except for its urgent pointer, because simulated hosts never send urgent data.

use shallows_core::packet::Flags;

use crate::checksum::Sum;
use crate::tcp_options::{self, Options};

/// Length in bytes of a header without options.
pub const LEN: usize = 20;

/// Maximum length in bytes of a header with options.
pub const MAX_LEN: usize = LEN + tcp_options::MAX_LEN;

/// TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// Sequence number, modulo 2³².
    pub sequence: u32,
    /// Acknowledgement number, modulo 2³². Valid only with [`Flags::ACK`].
    pub acknowledgement: u32,
    /// Flags of the header. [`Flags::INCAST_ECHO`] is its lowest reserved bit. URG is not read.
    pub flags: Flags,
    /// Window field as it is in the header: the window, shifted by the connection's window scale.
    pub window: u16,
    /// Options of the header.
    pub options: Options,
}

/// Bit for the echo of an incast notification, in the byte with the data offset. Pulser requires a new bit. This bit is the last of the
/// three reserved bits, next to the bit that Accurate ECN uses (RFC 9768).
const RESERVED: u8 = 0x02;

impl Repr {
    /// Parses a segment. Returns its header and its data, or `None` if the header is longer than the segment or the data offset is below
    /// [`LEN`].
    pub fn parse(segment: &[u8]) -> Option<(Self, &[u8])> {
        let header = segment.first_chunk::<LEN>()?;
        let header_len = usize::from(header[12] >> 4) * 4;
        let options = Options::parse(segment.get(LEN..header_len)?);
        let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
        let echo = if header[12] & RESERVED == 0 { 0 } else { Flags::INCAST_ECHO.0 };
        let repr = Self {
            source_port: half(0),
            destination_port: half(2),
            sequence: word(4),
            acknowledgement: word(8),
            flags: Flags(header[13] & !Flags::INCAST_ECHO.0 | echo),
            window: half(14),
            options,
        };
        Some((repr, &segment[header_len..]))
    }

    /// Returns the length of the header in bytes.
    pub fn header_len(&self) -> usize {
        LEN + self.options.buffer_len()
    }

    /// Writes the header to the first [`Self::header_len`] bytes. `sum` is the [`Sum`] over the pseudo header and the data.
    ///
    /// # Panics
    ///
    /// If `bytes` is shorter than [`Self::header_len`].
    pub fn emit(&self, sum: Sum, bytes: &mut [u8]) {
        let header_len = self.header_len();
        let header = &mut bytes[..header_len];
        header[0..2].copy_from_slice(&self.source_port.to_be_bytes());
        header[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        header[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        header[8..12].copy_from_slice(&self.acknowledgement.to_be_bytes());
        let echo = if self.flags.contains(Flags::INCAST_ECHO) { RESERVED } else { 0 };
        header[12] = (header_len as u8 / 4) << 4 | echo;
        header[13] = self.flags.0 & !Flags::INCAST_ECHO.0;
        header[14..16].copy_from_slice(&self.window.to_be_bytes());
        header[16..20].fill(0);
        self.options.emit(&mut header[LEN..]);
        let checksum = sum.with(header).checksum();
        header[16..18].copy_from_slice(&checksum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tcp_options::Timestamps;

    #[test]
    fn the_echo_of_an_incast_notification_is_a_reserved_bit_and_urg_is_none() {
        // Five words and the last reserved bit: 52; ECE and ACK: 50. The checksum by hand:
        // 0400 + 1389 + 0001 + 0b51 + 5250 + 0003 = 752e, whose complement is 8ad1.
        let repr = Repr {
            source_port: 1_024,
            destination_port: 5_001,
            sequence: 1,
            acknowledgement: 0xb51,
            flags: Flags::ACK.with(Flags::ECE).with(Flags::INCAST_ECHO),
            window: 3,
            options: Options::default(),
        };
        let mut bytes = [0xee; LEN];
        repr.emit(Sum::default(), &mut bytes);
        let expected = [4, 0, 0x13, 0x89, 0, 0, 0, 1, 0, 0, 0x0b, 0x51, 0x52, 0x50, 0, 3, 0x8a, 0xd1, 0, 0];
        assert_eq!(bytes, expected);
        let flags = |high: u8, low: u8| {
            let mut bytes = bytes;
            bytes[12..14].copy_from_slice(&[high, low]);
            Repr::parse(&bytes).map(|(repr, _)| repr.flags)
        };
        assert_eq!(flags(0x50, 0x30), Some(Flags::ACK), "URG");
        assert_eq!(flags(0x5d, 0x10), Some(Flags::ACK), "Accurate ECN, and the other reserved bits");
        assert_eq!(flags(0x52, 0x10), Some(Flags::ACK.with(Flags::INCAST_ECHO)));
    }

    #[test]
    fn a_header_ends_within_its_segment_and_not_within_itself() {
        let parsed = |offset: u8, len: usize| {
            let mut bytes = [0; 64];
            bytes[12] = offset << 4;
            Repr::parse(&bytes[..len]).map(|(_, data)| data.len())
        };
        assert_eq!([parsed(5, 20), parsed(5, 21), parsed(15, 60)], [Some(0), Some(1), Some(0)]);
        assert_eq!([parsed(5, 19), parsed(4, 20), parsed(0, 20), parsed(6, 23), parsed(15, 59)], [None; 5]);
    }

    proptest! {
        #[test]
        fn a_header_that_was_emitted_is_parsed_as_it_was(
            ports: (u16, u16), numbers: (u32, u32), flags: u8, window: u16, scale: Option<u8>, stamps: Option<(u32, u32)>,
            sack in prop::collection::vec(any::<(u32, u32)>(), 0..3),
        ) {
            let options = Options {
                window_scale: scale,
                timestamps: stamps.map(|(value, echo)| Timestamps { value, echo }),
                sack: sack.into_iter().collect(),
                ..Options::default()
            };
            let (source_port, destination_port) = ports;
            let (sequence, acknowledgement) = numbers;
            let repr =
                Repr { source_port, destination_port, sequence, acknowledgement, flags: Flags(flags), window, options };
            let mut bytes = [0xee; MAX_LEN + 2];
            let whole = repr.header_len() + 2;
            repr.emit(Sum::default().with(&[0xee; 2]), &mut bytes[..whole]);
            prop_assert_eq!(Sum::default().with(&bytes[..whole]).checksum(), 0);
            prop_assert_eq!(Repr::parse(&bytes[..whole]), Some((repr, &[0xee; 2][..])));
        }
    }
}
