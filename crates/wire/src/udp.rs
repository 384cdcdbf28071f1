//! The UDP header (RFC 768).

use crate::checksum::Sum;

/// Length of the header in bytes.
pub const LEN: usize = 8;

/// UDP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// Length field: the number of bytes of the header and the data.
    pub length: u16,
}

impl Repr {
    /// Parses a datagram. Returns its header and the rest of `bytes`, or `None` if `bytes` is shorter than a header. Does not compare the
    /// length field with the length of `bytes`.
    pub fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&[a, b, c, d, e, f, _, _], data) = bytes.split_first_chunk::<LEN>()?;
        let repr = Self {
            source_port: u16::from_be_bytes([a, b]),
            destination_port: u16::from_be_bytes([c, d]),
            length: u16::from_be_bytes([e, f]),
        };
        Some((repr, data))
    }

    /// Writes the header to the first [`LEN`] bytes. `sum` is the [`Sum`] over the pseudo header and the data.
    ///
    /// # Panics
    ///
    /// If `bytes` is shorter than [`LEN`].
    pub fn emit(&self, sum: Sum, bytes: &mut [u8]) {
        let header = &mut bytes[..LEN];
        header[0..2].copy_from_slice(&self.source_port.to_be_bytes());
        header[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        header[4..6].copy_from_slice(&self.length.to_be_bytes());
        header[6..8].fill(0);
        // A zero in the checksum field would mean that there is no checksum.
        let checksum = match sum.with(header).checksum() {
            0 => 0xffff,
            other => other,
        };
        header[6..8].copy_from_slice(&checksum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_checksum_of_zero_is_written_as_all_ones() {
        // 0001 + fff6 + 0008 = ffff, whose complement is zero.
        let mut bytes = [0xee; LEN];
        Repr { source_port: 1, destination_port: 0xfff6, length: 8 }.emit(Sum::default(), &mut bytes);
        assert_eq!(bytes, [0, 1, 0xff, 0xf6, 0, 8, 0xff, 0xff]);
    }

    proptest! {
        #[test]
        fn a_header_that_was_emitted_is_parsed_as_it_was(source_port: u16, destination_port: u16, length: u16) {
            let repr = Repr { source_port, destination_port, length };
            let mut bytes = [0xee; LEN + 2];
            repr.emit(Sum::default().with(&[0xee; 2]), &mut bytes);
            prop_assert_eq!(Sum::default().with(&bytes).checksum(), 0);
            prop_assert_eq!(Repr::parse(&bytes), Some((repr, &[0xee; 2][..])));
            prop_assert_eq!(Repr::parse(&bytes[..LEN - 1]), None);
        }
    }
}
