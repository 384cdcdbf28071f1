//! The Internet checksum (RFC 1071).

/// Sum of 16-bit words. The complement of the sum is the checksum. Parts of a packet may be added in any order, because addition is
/// commutative. Each part except the last must have an even number of bytes (RFC 1071 §2).
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Adds bytes in network order. If their number is odd, the last byte is the high half of a word, and the low half is zero (RFC 1071
    /// §4.1).
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        let (pairs, last) = bytes.as_chunks::<2>();
        let whole = pairs.iter().fold(self, |sum, &pair| sum.with_word(u16::from_be_bytes(pair)));
        last.iter().fold(whole, |sum, &byte| sum.with_word(u16::from(byte) << 8))
    }

    /// Adds one 16-bit word.
    #[must_use]
    pub fn with_word(self, word: u16) -> Self {
        Self(self.0 + u64::from(word))
    }

    /// Returns the checksum: the ones' complement of the ones' complement sum of all words.
    pub fn checksum(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_rfc_and_holds_over_itself() {
        // RFC 1071 §3: 0001 + f203 + f4f5 + f6f7 = 2ddf0, which folds to ddf2. The checksum is its complement.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        let checksum = Sum::default().with(&bytes).checksum();
        assert_eq!(checksum, !0xddf2);
        // RFC 1071 §1: the sum of the bytes and their checksum is all ones, so the checksum of both is zero.
        assert_eq!(Sum::default().with(&bytes).with_word(checksum).checksum(), 0);
    }

    #[test]
    fn an_odd_byte_is_the_high_half_of_a_word() {
        assert_eq!(Sum::default().with(&[0x12, 0x34, 0x56]).checksum(), !(0x1234 + 0x5600));
    }

    #[test]
    fn a_sum_of_many_words_folds_more_than_once() {
        // 65,537 · ffff = ffff_ffff. Folding once gives 1_fffe, and folding again gives ffff.
        let sum = (0..0x1_0001).fold(Sum::default(), |sum, _| sum.with_word(0xffff));
        assert_eq!(sum.checksum(), 0);
    }
}
