//! Sorts the packets of a window by time, and at equal times by rank of their link.

use shallows_core::Duration;

use crate::network::event::LinkRank;

/// Keys to sort, and scratch space.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    keys: Vec<Key>,
    sorted: Vec<Key>,
    counts: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Key {
    /// Picoseconds since the window began, in the high bits, then the rank.
    order: u64,
    /// Index of the packet.
    place: u32,
}

const RANK_BITS: u32 = 28;

/// Number of keys up to which insertion sort alone is used.
const SHORT: usize = 16;

/// Base-2 logarithm of the maximum number of buckets. Below this maximum there are one to two buckets per key.
const MOST_BITS: u32 = 12;

impl Sorter {
    /// Upper bound on the length of a window.
    pub(crate) const LONGEST: Duration = Duration(1 << (64 - RANK_BITS - 1));

    /// Adds the packet with this index, which arrives `since` after the window began.
    #[inline(always)]
    pub(crate) fn add(&mut self, since: Duration, rank: LinkRank, place: usize) {
        debug_assert!(since < Self::LONGEST);
        self.keys.push(Key { order: since.0 << RANK_BITS | rank.number(), place: place as u32 });
    }

    /// Empties the sorter and returns the indices of all packets in order.
    pub(crate) fn sorted(&mut self) -> impl Iterator<Item = usize> + '_ {
        if self.keys.len() > SHORT {
            self.spread();
        }
        let keys = &mut self.keys[..];
        for end in 1..keys.len() {
            let key = keys[end];
            let mut place = end;
            while place > 0 && keys[place - 1].order > key.order {
                keys[place] = keys[place - 1];
                place -= 1;
            }
            keys[place] = key;
        }
        self.keys.drain(..).map(|key| key.place as usize)
    }

    /// Distributes keys over buckets by time, so that few remain out of order.
    fn spread(&mut self) {
        let count = self.keys.len();
        let bits = (count.ilog2() + 1).min(MOST_BITS);
        let (mut first, mut last) = (u64::MAX, 0);
        for key in &self.keys {
            (first, last) = (first.min(key.order), last.max(key.order));
        }
        let shift = (64 - (last - first).leading_zeros()).saturating_sub(bits);
        let bucket = |key: &Key| ((key.order - first) >> shift) as usize;
        self.counts.clear();
        self.counts.resize((1 << bits) + 1, 0);
        for key in &self.keys {
            self.counts[bucket(key) + 1] += 1;
        }
        let mut sum = 0;
        for count in &mut self.counts {
            sum += *count;
            *count = sum;
        }
        self.sorted.resize(count, Key::default());
        for key in &self.keys {
            let place = &mut self.counts[bucket(key)];
            self.sorted[*place as usize] = *key;
            *place += 1;
        }
        std::mem::swap(&mut self.keys, &mut self.sorted);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::network::event::Ranks;

    proptest! {
        #[test]
        fn packets_come_by_time_and_then_by_rank(
            packets in prop::collection::vec((prop_oneof![0u64..40, 0u64..3_000_000], 0u32..8), 0..300),
            seed in 0u64..9,
        ) {
            let mut sorter = Sorter::default();
            let key = |place: usize| {
                let (at, link): (u64, u32) = packets[place];
                (at, Ranks::new(seed).of_link(link))
            };
            for (place, &(since, link)) in packets.iter().enumerate() {
                sorter.add(Duration(since), Ranks::new(seed).of_link(link), place);
            }
            let sorted: Vec<usize> = sorter.sorted().collect();
            prop_assert!(sorted.is_sorted_by_key(|&place| key(place)));
            let mut places = sorted;
            places.sort_unstable();
            prop_assert!(places.into_iter().eq(0..packets.len()));
            prop_assert_eq!(sorter.sorted().count(), 0);
        }
    }
}
