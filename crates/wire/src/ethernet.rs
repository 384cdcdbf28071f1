//! The Ethernet II header, without VLAN tags.

/// Length of the header in bytes.
pub const LEN: usize = 14;

/// EtherType of IPv4 (RFC 894).
pub const IPV4: u16 = 0x0800;

/// Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Address of the receiver.
    pub destination: [u8; 6],
    /// Address of the sender.
    pub source: [u8; 6],
    /// EtherType of the payload, such as [`IPV4`].
    pub ether_type: u16,
}

impl Repr {
    /// Parses a frame. Returns its header and its payload, or `None` if the frame is shorter than a header.
    pub fn parse(frame: &[u8]) -> Option<(Self, &[u8])> {
        let (&[a, b, c, d, e, f, g, h, i, j, k, l, m, n], rest) = frame.split_first_chunk::<LEN>()?;
        let repr = Self {
            destination: [a, b, c, d, e, f],
            source: [g, h, i, j, k, l],
            ether_type: u16::from_be_bytes([m, n]),
        };
        Some((repr, rest))
    }

    /// Writes the header to the first [`LEN`] bytes.
    ///
    /// # Panics
    ///
    /// If `bytes` is shorter than [`LEN`].
    pub fn emit(&self, bytes: &mut [u8]) {
        bytes[0..6].copy_from_slice(&self.destination);
        bytes[6..12].copy_from_slice(&self.source);
        bytes[12..14].copy_from_slice(&self.ether_type.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_header_that_was_emitted_is_parsed_as_it_was(destination: [u8; 6], source: [u8; 6], ether_type: u16) {
            let repr = Repr { destination, source, ether_type };
            let mut bytes = [0; LEN + 1];
            repr.emit(&mut bytes);
            prop_assert_eq!(Repr::parse(&bytes), Some((repr, &[0][..])));
            prop_assert_eq!(Repr::parse(&bytes[..LEN - 1]), None);
        }
    }
}
