//! Credits of HCF's bins, which are all reset in one step.

/// Credits of each bin. Each new period renews all of them.
#[derive(Clone, Debug)]
pub(super) struct Credits {
    bins: Box<[Bin]>,
    initial: u64,
    period: u64,
    /// Number of bins read or changed so far.
    #[cfg(test)]
    pub(super) touched: std::cell::Cell<u64>,
}

/// Credits left in a bin when it was last changed, and the period of that change.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    credits: u64,
    period: u64,
}

/// Returns the bytes that this many bins occupy in the simulator's memory.
pub(super) fn footprint(bins: u32) -> u64 {
    u64::from(bins) * size_of::<Bin>() as u64
}

impl Credits {
    /// Creates this many bins with `initial` credits each.
    pub(super) fn new(bins: usize, initial: u64) -> Self {
        Self {
            bins: vec![Bin::default(); bins].into(),
            initial,
            period: 1,
            #[cfg(test)]
            touched: std::cell::Cell::default(),
        }
    }

    /// Returns the number of bins.
    pub(super) fn len(&self) -> usize {
        self.bins.len()
    }

    /// Returns the number of the current period; the first period has number 1.
    pub(super) fn period(&self) -> u64 {
        self.period
    }

    /// Renews the credits of every bin (HCF §3.2, init()) in O(1): a bin whose last change was in an earlier period has all its
    /// credits. A hardware implementation needs registers that are cleared together (HCF §3.3).
    pub(super) fn renew(&mut self) {
        self.period += 1;
    }

    #[inline]
    fn left(&self, bin: usize) -> u64 {
        #[cfg(test)]
        self.touched.set(self.touched.get() + 1);
        let Bin { credits, period } = self.bins[bin];
        if period == self.period { credits } else { self.initial }
    }

    #[inline]
    fn set(&mut self, bin: usize, credits: u64) {
        self.bins[bin] = Bin { credits, period: self.period };
    }

    /// Returns whether one of these bins has credits (HCF §4.1; with one hash, §3.2 step 2).
    #[inline]
    pub(super) fn any(&self, bins: &[usize]) -> bool {
        bins.iter().any(|&bin| self.left(bin) > 0)
    }

    /// Takes `cost` from each of these bins, down to zero (HCF §4.1; with one hash, §3.2 step 3).
    #[inline]
    pub(super) fn spend(&mut self, bins: &[usize], cost: u64) {
        for &bin in bins {
            self.set(bin, self.left(bin).saturating_sub(cost));
        }
    }

    /// Takes all credits from these bins (HCF §3.2 step 4, footnote 1).
    #[inline]
    pub(super) fn forfeit(&mut self, bins: &[usize]) {
        for &bin in bins {
            self.set(bin, 0);
        }
    }

    /// Returns the sum of the credits of all bins. Takes one step per bin, so only traces use it.
    pub(super) fn total(&self) -> u64 {
        (0..self.bins.len()).map(|bin| self.left(bin)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns three bins with these credits.
    fn bins(values: [u64; 3]) -> Credits {
        let mut credits = Credits::new(3, 3);
        for (bin, value) in values.into_iter().enumerate() {
            credits.set(bin, value);
        }
        credits
    }

    fn values(credits: &Credits) -> [u64; 3] {
        [0, 1, 2].map(|bin| credits.left(bin))
    }

    #[test]
    fn the_bloom_counter_behaves_as_in_the_example_of_section_4_1() {
        // "{0, 2, 3}, they are updated to {0, 1, 2}". Since one bin has credits, the packet is of high priority; the
        // text says "stored in LP", which contradicts its own rule.
        for (before, high, after) in
            [([0, 2, 3], true, [0, 1, 2]), ([0, 1, 1], true, [0, 0, 0]), ([0, 0, 0], false, [0, 0, 0])]
        {
            let mut credits = bins(before);
            assert_eq!(credits.any(&[0, 1, 2]), high, "{before:?}");
            credits.spend(&[0, 1, 2], 1);
            assert_eq!(values(&credits), after, "{before:?}");
        }
    }

    #[test]
    fn only_the_bins_of_the_packet_are_touched() {
        let mut credits = bins([3, 2, 1]);
        credits.spend(&[0, 2], 2);
        assert_eq!(values(&credits), [1, 2, 0], "a bin gives no more than it has");
        credits.forfeit(&[1]);
        assert_eq!(values(&credits), [1, 0, 0]);
        assert!(credits.any(&[1, 0]) && !credits.any(&[1, 2]));
        assert_eq!(credits.total(), 1);
    }

    #[test]
    fn a_new_period_renews_every_bin_without_touching_one() {
        let mut credits = bins([0, 1, 2]);
        credits.touched.set(0);
        credits.renew();
        assert_eq!(credits.touched.get(), 0);
        assert_eq!((values(&credits), credits.total(), credits.period()), ([3, 3, 3], 9, 2));
        credits.spend(&[1], 1);
        assert_eq!(values(&credits), [3, 2, 3]);
    }
}
