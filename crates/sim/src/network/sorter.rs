//! Sorts the packets of a time window by arrival time. Packets with equal times are sorted by the rank of their link.
//!
//! Packets are added roughly in order if hosts or a single switch sent them; an insertion sort then moves few of them. Otherwise, packets
//! are distributed over buckets by time. Each bucket contains few packets, so sorting it is fast.

use shallows_core::Duration;

use crate::network::event::LinkRank;
use crate::network::group::Way;

/// Packets of one time window that are to be sorted, and scratch space.
#[derive(Debug)]
pub(crate) struct Sorter {
    packets: Vec<Sorted>,
    sorted: Vec<Sorted>,
    /// For each bucket, the index in `packets` of the packet added last. Valid only if the bucket's bit in `occupied` is set.
    last: Box<[u32; BUCKETS]>,
    /// Bit *b* of word *w*: whether bucket 64 *w* + *b* holds packets.
    occupied: [u64; WORDS],
    /// Bit *w*: whether any bucket of word *w* holds packets.
    words: u64,
    /// Base-2 logarithm of the picoseconds per bucket, for the packets of the current window.
    shift: u32,
    /// Whether the packets are sorted without buckets.
    by_insertion: bool,
    /// Number of times that packets are sorted with buckets before an insertion sort is tried again.
    until_insertion: u32,
}

/// Reference to a packet, in a list that is sorted by time of arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sorted {
    /// Sort key. The high bits are the picoseconds since the start of the time window, the low bits the link's rank.
    order: u64,
    /// Index of the packet, as passed to [`Sorter::add`].
    pub(crate) place: u32,
    /// Index in `packets` of the previous packet of the same bucket, or `NONE`.
    before: u32,
    /// Egress port of the packet at its switch, and the link by which the packet came.
    pub(crate) way: Way,
}

const RANK_BITS: u32 = 28;
const BUCKET_BITS: u32 = 12;
const BUCKETS: usize = 1 << BUCKET_BITS;
const WORDS: usize = BUCKETS / 64;
const NONE: u32 = u32::MAX;

/// Number of packets up to which an insertion sort is always used.
const FEW: usize = 8;

/// Number of moves per packet up to which an insertion sort is faster than buckets. `FEW` packets never need more.
const MOVES: usize = 4;

const _: () = assert!((FEW - 1) / 2 < MOVES);

/// Number of times that packets are sorted with buckets after an insertion sort had too many moves.
const PATIENCE: u32 = 63;

impl Default for Sorter {
    fn default() -> Self {
        Self {
            packets: Vec::new(),
            sorted: Vec::new(),
            last: Box::new([NONE; BUCKETS]),
            occupied: [0; WORDS],
            words: 0,
            shift: 0,
            by_insertion: false,
            until_insertion: 0,
        }
    }
}

impl Sorter {
    /// Maximum length of a time window.
    pub(crate) const LONGEST: Duration = Duration(1 << (64 - RANK_BITS - 1));

    /// Announces that at most `count` packets of a time window of this length will be added. Called when the sorter is empty.
    #[inline(always)]
    pub(crate) fn begin(&mut self, window: Duration, count: usize) {
        debug_assert!(window <= Self::LONGEST && self.packets.is_empty());
        let bits = 64 - window.0.leading_zeros();
        self.shift = bits.saturating_sub(BUCKET_BITS);
        self.by_insertion = count <= FEW || self.until_insertion == 0;
    }

    /// Adds the packet with the index `place`. The packet arrives `since` after the time window began, on a link of this `rank`.
    #[inline(always)]
    pub(crate) fn add(&mut self, since: Duration, rank: LinkRank, place: usize, way: Way) {
        let order = since.0 << RANK_BITS | rank.number();
        let before = if self.by_insertion { NONE } else { self.add_to_bucket(since) };
        self.packets.push(Sorted { order, place: place as u32, before, way });
    }

    /// Adds the next packet to the bucket of its time. Returns the index of the previous packet of the bucket, or `NONE`.
    #[inline(always)]
    fn add_to_bucket(&mut self, since: Duration) -> u32 {
        let bucket = (since.0 >> self.shift) as usize % BUCKETS;
        let (word, bit) = (bucket / 64, 1 << (bucket % 64));
        let last = std::mem::replace(&mut self.last[bucket], self.packets.len() as u32);
        let before = if self.occupied[word] & bit == 0 { NONE } else { last };
        self.occupied[word] |= bit;
        self.words |= 1 << word;
        before
    }

    /// Removes all packets and returns them in order. Packets with equal time and rank are sorted by index. The caller passes the list to
    /// [`Self::recycle`] after use.
    #[inline]
    pub(crate) fn take_sorted(&mut self) -> Vec<Sorted> {
        let sorted = std::mem::take(&mut self.sorted);
        if !self.by_insertion {
            self.until_insertion -= 1;
            return self.take_buckets(sorted);
        }
        let mut packets = std::mem::replace(&mut self.packets, sorted);
        if !sort_by_insertion(&mut packets) {
            self.until_insertion = PATIENCE;
            sort(&mut packets);
        }
        packets
    }

    /// Removes the packets of all buckets, and returns them in order. They are added to `sorted`, which must be empty.
    #[inline(never)]
    fn take_buckets(&mut self, mut sorted: Vec<Sorted>) -> Vec<Sorted> {
        sorted.reserve(self.packets.len());
        let mut words = std::mem::take(&mut self.words);
        while words != 0 {
            let word = words.trailing_zeros() as usize % WORDS;
            words &= words - 1;
            let mut bits = std::mem::take(&mut self.occupied[word]);
            while bits != 0 {
                let bucket = word * 64 + bits.trailing_zeros() as usize % 64;
                bits &= bits - 1;
                let entry = self.packets[self.last[bucket] as usize];
                sorted.push(entry);
                if entry.before != NONE {
                    self.sort_bucket(entry.before, &mut sorted);
                }
            }
        }
        self.packets.clear();
        sorted
    }

    /// Completes a bucket whose first packet is already the last element of `sorted`: appends the other packets, and sorts the whole
    /// bucket. `next` is the index of the first packet to append.
    fn sort_bucket(&self, mut next: u32, sorted: &mut Vec<Sorted>) {
        let start = sorted.len() - 1;
        while next != NONE {
            let entry = self.packets[next as usize];
            sorted.push(entry);
            next = entry.before;
        }
        sort(&mut sorted[start..]);
    }

    /// Keeps the list from [`Self::take_sorted`] for reuse.
    pub(crate) fn recycle(&mut self, mut sorted: Vec<Sorted>) {
        sorted.clear();
        self.sorted = sorted;
    }
}

#[cfg(test)]
impl Sorter {
    /// Returns whether the sorter has memory for packets.
    pub(crate) fn has_memory(&self) -> bool {
        self.packets.capacity() + self.sorted.capacity() > 0
    }
}

/// Sorts packets that were added in order of their indices: by time, then by rank, then by index. Gives up and returns `false` if this takes
/// too many moves.
#[inline]
fn sort_by_insertion(packets: &mut [Sorted]) -> bool {
    let mut moves = MOVES * packets.len();
    for next in 1..packets.len() {
        let entry = packets[next];
        let mut place = next;
        while place > 0 && packets[place - 1].order > entry.order {
            packets[place] = packets[place - 1];
            place -= 1;
        }
        if place < next {
            packets[place] = entry;
            let Some(left) = moves.checked_sub(next - place) else { return false };
            moves = left;
        }
    }
    true
}

/// Sorts packets by time, then by rank, then by index.
#[inline(never)]
fn sort(packets: &mut [Sorted]) {
    packets.sort_unstable_by_key(|entry| (entry.order, entry.place));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::network::event::Ranks;

    proptest! {
        #[test]
        fn packets_come_by_time_then_by_rank_and_then_by_index(
            packets in prop_oneof![0..2 * FEW, 0..300_usize].prop_flat_map(|count| {
                prop::collection::vec((prop_oneof![0u64..40, 0u64..3_000_000], 0u32..8), count)
            }),
            windows in prop::array::uniform3(prop_oneof![Just(3_000_000u64), Just(1 << 28)]),
            seed in 0u64..9,
        ) {
            let mut sorter = Sorter::default();
            // Packets that an insertion sort moves too often are sorted with buckets the next time.
            for window in windows {
                let packets = packets.iter().map(|&(since, link): &(u64, u32)| (since * window / 3_000_000, link));
                let packets: Vec<_> = packets.collect();
                let key = |place: usize| (packets[place].0, Ranks::new(seed).of_link(packets[place].1), place);
                sorter.begin(Duration(window), packets.len());
                for (place, &(since, link)) in packets.iter().enumerate() {
                    let way = Way { port: place as u32 + 1, ..Way::default() };
                    sorter.add(Duration(since), Ranks::new(seed).of_link(link), place, way);
                }
                let sorted = sorter.take_sorted();
                prop_assert!(sorted.is_sorted_by_key(|entry| key(entry.place as usize)));
                prop_assert!(sorted.iter().all(|entry| entry.way.port == entry.place + 1));
                let mut places: Vec<u32> = sorted.iter().map(|entry| entry.place).collect();
                places.sort_unstable();
                prop_assert!(places.into_iter().eq(0..packets.len() as u32));
                sorter.recycle(sorted);
            }
            sorter.begin(Duration(windows[0]), 0);
            prop_assert_eq!(sorter.take_sorted().len(), 0);
        }
    }

    #[test]
    fn packets_that_are_moved_often_are_sorted_with_buckets_for_some_time() {
        let mut sorter = Sorter::default();
        let mut sorts_by_insertion = |packets: &mut dyn Iterator<Item = u64>| {
            sorter.begin(Duration(3_000_000), 100);
            let by_insertion = sorter.by_insertion;
            for (place, since) in packets.enumerate() {
                sorter.add(Duration(since), Ranks::new(1).of_link(0), place, Way::default());
            }
            let sorted = sorter.take_sorted();
            assert!(sorted.is_sorted_by_key(|entry| entry.order) && sorted.len() == 100);
            sorter.recycle(sorted);
            by_insertion
        };
        // Each second packet is moved by one place.
        assert!((0..9).all(|_| sorts_by_insertion(&mut (0..100).map(|place| place ^ 1))));
        assert!(sorts_by_insertion(&mut (0..100).rev()));
        assert!((0..PATIENCE).all(|_| !sorts_by_insertion(&mut (0..100).rev())));
        assert!(sorts_by_insertion(&mut (0..100)));
        assert!(sorts_by_insertion(&mut (0..100)));
    }
}
