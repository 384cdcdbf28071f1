//! Maps from words to what they number. They are never iterated over, and hash alike everywhere.

use std::hash::{BuildHasherDefault, Hasher};

/// By word.
#[expect(clippy::disallowed_types, reason = "see there")]
pub type Numbered<T> = std::collections::HashMap<u64, T, BuildHasherDefault<Mixed>>;

/// Hashes one word.
#[derive(Debug, Default)]
pub struct Mixed(u64);

impl Hasher for Mixed {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("keys are words");
    }

    /// Both halves of a product with an odd number (2⁶⁴ over the golden ratio; Knuth, TAOCP 3, §6.4), folded.
    #[inline]
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}
