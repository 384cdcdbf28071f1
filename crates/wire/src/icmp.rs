//! The ICMP header of an echo request or reply (RFC 792).

use crate::checksum::Sum;

/// Length of the header in bytes.
pub const LEN: usize = 8;

/// Kind of an echo message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Echo request (ICMP type 8).
    Request,
    /// Echo reply (ICMP type 0).
    Reply,
}

/// Header of an echo message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Request or reply.
    pub kind: Kind,
    /// Number of the probe to which the message belongs. A probe is a pair of hosts that exchange echo messages.
    pub identifier: u16,
    /// Number of the request, modulo 2¹⁶. A reply has the number of its request.
    pub sequence: u16,
}

const REPLY: u8 = 0;
const REQUEST: u8 = 8;

impl Repr {
    /// Parses a message. Returns its header and its data, or `None` if the message is not an echo request or reply.
    pub fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&[kind, code, _, _, a, b, c, d], data) = bytes.split_first_chunk::<LEN>()?;
        let kind = match (kind, code) {
            (REPLY, 0) => Kind::Reply,
            (REQUEST, 0) => Kind::Request,
            _ => return None,
        };
        let (identifier, sequence) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        Some((Self { kind, identifier, sequence }, data))
    }

    /// Writes the header to the first [`LEN`] bytes. `sum` is the [`Sum`] over the data.
    ///
    /// # Panics
    ///
    /// If `bytes` is shorter than [`LEN`].
    pub fn emit(&self, sum: Sum, bytes: &mut [u8]) {
        let header = &mut bytes[..LEN];
        header[0] = match self.kind {
            Kind::Request => REQUEST,
            Kind::Reply => REPLY,
        };
        header[1..4].fill(0);
        header[4..6].copy_from_slice(&self.identifier.to_be_bytes());
        header[6..8].copy_from_slice(&self.sequence.to_be_bytes());
        let checksum = sum.with(header).checksum();
        header[2..4].copy_from_slice(&checksum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn other_messages_are_refused() {
        // The first message reports an unreachable destination, the second is an echo request with a code.
        assert_eq!(Repr::parse(&[3, 3, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(Repr::parse(&[8, 1, 0, 0, 0, 0, 0, 0]), None);
    }

    proptest! {
        #[test]
        fn a_header_that_was_emitted_is_parsed_as_it_was(is_reply: bool, identifier: u16, sequence: u16) {
            let kind = if is_reply { Kind::Reply } else { Kind::Request };
            let repr = Repr { kind, identifier, sequence };
            let mut bytes = [0xee; LEN + 2];
            repr.emit(Sum::default().with(&[0xee; 2]), &mut bytes);
            prop_assert_eq!(Sum::default().with(&bytes).checksum(), 0);
            prop_assert_eq!(Repr::parse(&bytes), Some((repr, &[0xee; 2][..])));
            prop_assert_eq!(Repr::parse(&bytes[..LEN - 1]), None);
        }
    }
}
