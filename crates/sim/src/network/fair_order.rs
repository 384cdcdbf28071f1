//! Order of packets that arrive at a switch at the same time, in networks with lossless classes.
//!
//! Two equal senders can stay in step for a whole run. If the same sender always came first, the other sender would suffer all losses, or
//! use all the headroom. The order of the senders' links is therefore random at every arrival.

use shallows_core::Instant;
use shallows_core::packet::mix;

use crate::network::event::{LINK_BITS, LinkRank};

/// Generator of the ranks that order simultaneous arrivals. A rank depends only on the seed, the link and the time of the link's last
/// arrival, so the order is the same in any division of the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct FairOrder {
    seed: u64,
    /// Number of different values of a rank's low bits: the number of links, rounded up to a power of two. The low bits identify the link,
    /// and order links whose random bits are equal.
    links: u64,
}

impl FairOrder {
    /// Creates the order of a network with `links` links.
    pub(super) fn new(seed: u64, links: usize) -> Self {
        Self { seed: mix(seed), links: links.next_power_of_two() as u64 }
    }

    /// Returns the rank of the next arrival on a link. `rank` is the rank of the arrival at `now`.
    #[inline]
    pub(super) fn next(self, rank: LinkRank, now: Instant) -> LinkRank {
        let own = rank.number() & (self.links - 1);
        let random = mix(mix(now.0 ^ self.seed) ^ own);
        LinkRank::of((random.wrapping_mul(self.links) | own) & ((1 << LINK_BITS) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::event::Ranks;

    #[test]
    fn each_of_three_links_comes_first_in_a_third_of_the_arrivals() {
        let order = FairOrder::new(7, 300);
        let mut ranks = [5, 6, 77].map(|link| Ranks::new(7).of_link(link));
        let mut first = [0_u32; 3];
        for time in 0..30_000 {
            ranks = ranks.map(|rank| order.next(rank, Instant(time * 123_040)));
            first[(0..3).min_by_key(|&link| ranks[link]).unwrap()] += 1;
        }
        // Binomial with a standard deviation of 82; five standard deviations are 410.
        assert!(first.iter().all(|count| count.abs_diff(10_000) < 410), "{first:?}");
    }

    #[test]
    fn two_links_whose_numbers_differ_in_one_bit_come_first_equally_often() {
        let order = FairOrder::new(7, 300);
        for bit in 0..9 {
            let links = [0, 1 << bit].map(LinkRank::of);
            let first = (0..10_000).filter(|&time| {
                let [one, other] = links.map(|link| order.next(link, Instant(time * 123_040)));
                one < other
            });
            // Binomial with a standard deviation of 50; five standard deviations are 250.
            assert!(first.count().abs_diff(5_000) < 250, "bit {bit}");
        }
    }

    #[test]
    fn a_link_has_another_rank_at_every_arrival_and_with_every_seed() {
        let rank =
            |seed, time| FairOrder::new(seed, 2).next(Ranks::new(1).of_link(1), Instant(time)).number();
        // Among 1,000 of 2^27 values, 0.004 equal pairs are expected.
        let distinct =
            |ranks: &mut dyn Iterator<Item = u64>| ranks.collect::<std::collections::BTreeSet<u64>>().len();
        assert!(distinct(&mut (0..1_000).map(|time| rank(5, time))) >= 998);
        assert!(distinct(&mut (0..1_000).map(|seed| rank(seed, 5))) >= 998);
    }

    #[test]
    fn no_two_links_have_the_same_rank() {
        for links in [1, 2, 3, 1_000, 1_024] {
            let (order, base) = (FairOrder::new(3, links), Ranks::new(3));
            // Links with arrivals at different times, and at the same time.
            let of = |link: usize, time: u64| order.next(base.of_link(link as u32), Instant(time)).number();
            let mut ranks: Vec<u64> = (0..links).map(|link| of(link, link as u64 % 3)).collect();
            ranks.sort_unstable();
            ranks.dedup();
            assert_eq!(ranks.len(), links);
            assert!(ranks.iter().all(|&rank| rank < 1 << LINK_BITS));
        }
    }
}
