//! Random streams: one for each purpose and entity. The generator is part of this crate, so that its output never changes.
//!
//! A stream is derived from seed, purpose and entity. An additional draw in one model therefore does not change the numbers of another
//! model, and two schemes that are compared under one seed have the same flows.

use crate::packet::mix;

/// Stream of random numbers: xoshiro256++ 1.0 (Blackman and Vigna, TOMS '21), seeded by SplitMix64.
#[derive(Clone, Debug)]
pub struct Stream {
    state: [u64; 4],
}

impl Stream {
    /// Creates the stream for one `purpose` at one `entity` (the number of a link, host or source) in the run with this `seed`.
    pub fn new(seed: u64, purpose: &str, entity: u64) -> Self {
        // FNV-1a, 64 bit, over the name of the purpose.
        let name = purpose.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let root = mix(mix(seed ^ name) ^ entity);
        Self { state: [1, 2, 3, 4].map(|word| mix(root ^ mix(word))) }
    }

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Draws a number uniform in `[0, 1)`, a multiple of 2⁻⁵³.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Draws an integer uniform in `0..bound`, without bias (Lemire, TOMACS '19).
    ///
    /// # Panics
    ///
    /// If `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "nothing lies below zero");
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            // Results are biased only if `low` is below 2^64 mod `bound`. `low >= bound` excludes this without a division in most draws.
            let low = product as u64;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    /// Draws an exponentially distributed number with mean 1, by inversion.
    pub fn exponential(&mut self) -> f64 {
        // 1 - u lies in (0, 1], so the logarithm is finite.
        -libm::log(1.0 - self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        // From the state (1, 2, 3, 4), the first two outputs worked by hand from the definition:
        // rotl(1+4, 23) + 1 = 5·2^23 + 1 = 41943041; the next state is (7, 0, 262146, 6·2^45),
        // and rotl(7 + 6·2^45, 23) + 7 = 7·2^23 + 6·2^68 mod 2^64 rotated = 58720256 + 96 + 7 = 58720359.
        let mut stream = Stream { state: [1, 2, 3, 4] };
        assert_eq!([stream.next_u64(), stream.next_u64()], [41_943_041, 58_720_359]);
        // The next outputs of the authors' code (xoshiro256plusplus.c), in which every word of the state takes part.
        let next: Vec<u64> = (0..8).map(|_| stream.next_u64()).collect();
        assert_eq!(
            next,
            [
                3_588_806_011_781_223,
                3_591_011_842_654_386,
                9_228_616_714_210_784_205,
                9_973_669_472_204_895_162,
                14_011_001_112_246_962_877,
                12_406_186_145_184_390_807,
                15_849_039_046_786_891_736,
                10_450_023_813_501_588_000
            ]
        );
    }

    #[test]
    fn streams_are_frozen() {
        // Never change these: results of published runs depend on them.
        let mut stream = Stream::new(1, "sizes", 0);
        let first: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(first, FROZEN);
    }

    const FROZEN: [u64; 3] =
        [16_875_986_826_275_596_958, 8_494_533_145_475_439_464, 11_388_166_456_364_869_509];

    #[test]
    fn streams_differ_by_seed_purpose_and_entity() {
        let first = |seed, purpose, entity| Stream::new(seed, purpose, entity).next_u64();
        let base = first(1, "sizes", 0);
        assert!(
            [first(2, "sizes", 0), first(1, "pairs", 0), first(1, "sizes", 1)]
                .iter()
                .all(|&other| other != base)
        );
    }

    #[test]
    fn uniform_and_exponential_have_the_right_mean() {
        let mut stream = Stream::new(1, "test", 0);
        let n = 100_000;
        let uniform: f64 = (0..n).map(|_| stream.uniform()).sum::<f64>() / f64::from(n);
        let exponential: f64 = (0..n).map(|_| stream.exponential()).sum::<f64>() / f64::from(n);
        // The tolerances are four standard errors, which are 0.0009 and 0.0032.
        assert!((uniform - 0.5).abs() < 0.0037, "{uniform}");
        assert!((exponential - 1.0).abs() < 0.0127, "{exponential}");
    }

    #[test]
    fn below_is_even_over_a_range_that_divides_nothing() {
        let mut stream = Stream::new(1, "test", 0);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[stream.below(7) as usize] += 1;
        }
        // Binomial: mean 10,000, standard deviation 93; the bound is five standard deviations.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 463), "{counts:?}");
    }
}
