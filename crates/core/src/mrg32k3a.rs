//! Random number generator MRG32k3a (L'Ecuyer, Operations Research '99). ns-2 uses this generator, and Shallows needs it to reproduce the
//! flows of published runs.
//!
//! The seed fills all six words of the state, as in ns-2's `seed`. This seeding is poor: the first draw of a stream is *0.000334 · seed*
//! modulo 1, so streams with close seeds begin with close numbers. Some published results depend on this.

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;
/// Factor that scales words to numbers between 0 and 1: 1 / (M1 + 1), as in L'Ecuyer's code.
const NORM: f64 = 2.328_306_549_295_728e-10;

/// Stream of random numbers.
#[derive(Clone, Debug)]
pub struct Mrg32k3a {
    first: [u64; 3],
    second: [u64; 3],
}

impl Mrg32k3a {
    /// Creates the stream of numbers that ns-2's generator draws after ns-2's command `seed` has set this `seed`.
    ///
    /// # Panics
    ///
    /// If the seed is zero, because ns-2 then seeds itself from the clock.
    pub fn new(seed: u32) -> Self {
        assert!(seed > 0, "ns-2 draws a seed of its own for zero");
        Self { first: [u64::from(seed) % M1; 3], second: [u64::from(seed) % M2; 3] }
    }

    /// Draws a number uniform in `(0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        let [a, b, c] = self.first;
        let [d, e, f] = self.second;
        // Multipliers are below 2²¹ and words below 2³², so no product overflows.
        let p = (1_403_580 * b + (M1 - a) * 810_728) % M1;
        let q = (527_612 * f + (M2 - d) * 1_370_589) % M2;
        self.first = [b, c, p];
        self.second = [e, f, q];
        let difference = if p > q { p - q } else { p + M1 - q };
        difference as f64 * NORM
    }

    /// Draws an exponentially distributed number with mean 1, by inversion.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_draws_what_its_author_published() {
        // RngStreams (L'Ecuyer, Simard, Chen, Kelton '02): the first stream, whose seeds are all 12345.
        let mut stream = Mrg32k3a::new(12_345);
        let drawn: Vec<String> = (0..5).map(|_| format!("{:.9}", stream.uniform())).collect();
        assert_eq!(drawn, ["0.127011122", "0.318527565", "0.309186016", "0.825846863", "0.221629916"]);
    }

    #[test]
    fn streams_with_near_seeds_begin_alike() {
        // The first draw is ((1403580 − 810728) + (1370589 − 527612)) · seed / 2³², modulo 1.
        for seed in [1, 17, 1_244, 100_000] {
            let expected = (1_435_829.0 * f64::from(seed) / 4_294_967_296.0).fract();
            let drawn = Mrg32k3a::new(seed).uniform();
            assert!((drawn - expected).abs() < 1e-3, "seed {seed}: {drawn}, not {expected}");
        }
    }
}
