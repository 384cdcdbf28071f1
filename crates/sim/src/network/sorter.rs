//! Sorts the packets of a time window by arrival time. Packets with equal times are sorted by the rank of their link.
//!
//! The order of packets is random, and a processor cannot predict random branches. Sorting therefore usually has no branches on the order:
//! packets are distributed over buckets by time, and then moved by a few places.

use shallows_core::Duration;

use crate::network::event::LinkRank;

/// Packets of one time window that are to be sorted, and scratch space.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    packets: Vec<Timed>,
    scratch: Vec<Timed>,
    /// For each bucket, the number of its packets or the index of its next packet.
    buckets: Vec<u32>,
}

/// Arrival time and index of a packet. The high bits are the picoseconds since the start of the time window, the low 32 bits are the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timed(u64);

/// Difference of two packets with equal indices that arrive one picosecond apart.
const PICOSECOND: u64 = 1 << 32;

/// Number of places by which packets move backwards at most after they have been distributed over buckets.
const MOST_PLACES: usize = 4;

/// Maximum number of packets that are sorted without buckets.
const FEW: usize = MOST_PLACES + 1;

/// Number of buckets per packet, before rounding down to a power of two. Few buckets then have more than [`FEW`] packets.
const BUCKETS_PER_PACKET: usize = 4;

impl Timed {
    /// Returns the index of the packet, as passed to [`Sorter::add`].
    #[inline(always)]
    pub(crate) fn place(self) -> usize {
        self.0 as u32 as usize
    }

    /// Returns the picoseconds since the start of the time window.
    #[inline(always)]
    fn since(self) -> u64 {
        self.0 >> 32
    }
}

impl Sorter {
    /// Maximum length of a time window. It must be at most 2³⁰, because `settle` uses the highest bit of differences.
    pub(crate) const LONGEST: Duration = Duration(1 << 28);

    /// Adds the packet with the index `place`, which arrives `since` after the time window began.
    #[inline(always)]
    pub(crate) fn add(&mut self, since: Duration, place: usize) {
        debug_assert!(since < Self::LONGEST);
        self.packets.push(Timed(since.0 << 32 | place as u64));
    }

    /// Removes all packets and returns them in order. The packets arrive in the first `span` of the time window. Packets with equal times are
    /// sorted by `rank`, which returns the rank of a packet's link, and then by index. The caller passes the list to [`Self::recycle`] after
    /// use.
    #[inline]
    pub(crate) fn take_sorted(&mut self, span: Duration, rank: impl Fn(usize) -> LinkRank) -> Vec<Timed> {
        let mut packets = std::mem::take(&mut self.packets);
        if packets.len() > FEW {
            self.distribute(&mut packets, span);
        }
        if !settle(&mut packets) {
            repair(&mut packets, rank);
        }
        packets
    }

    /// Distributes packets over buckets by time, and returns them in the order of the buckets. The packets arrive in the first `span` of the time
    /// window.
    #[inline(never)]
    fn distribute(&mut self, packets: &mut Vec<Timed>, span: Duration) {
        let bits = (BUCKETS_PER_PACKET * packets.len()).ilog2();
        let per_picosecond = (1 << (32 + bits)) / span.0;
        let bucket = |packet: &Timed| ((packet.since() * per_picosecond) >> 32) as usize;
        self.buckets.clear();
        self.buckets.resize(1 << bits, 0);
        for packet in packets.iter() {
            self.buckets[bucket(packet)] += 1;
        }
        let mut before = 0;
        for count in &mut self.buckets {
            before += std::mem::replace(count, before);
        }
        self.scratch.resize(packets.len(), Timed::default());
        for packet in packets.iter() {
            let place = &mut self.buckets[bucket(packet)];
            self.scratch[*place as usize] = *packet;
            *place += 1;
        }
        std::mem::swap(packets, &mut self.scratch);
    }

    /// Keeps the list from [`Self::take_sorted`] for reuse. Drops a list without allocated memory.
    pub(crate) fn recycle(&mut self, mut sorted: Vec<Timed>) {
        sorted.clear();
        if sorted.capacity() > 0 {
            self.packets = sorted;
        }
    }
}

#[cfg(test)]
impl Sorter {
    /// Returns whether the sorter has memory for packets.
    pub(crate) fn has_memory(&self) -> bool {
        self.packets.capacity() > 0
    }
}

/// Sorts packets of which some are far from their places or arrive at equal times.
#[inline(never)]
fn repair(packets: &mut [Timed], rank: impl Fn(usize) -> LinkRank) {
    if !packets.is_sorted() {
        packets.sort_unstable();
    }
    for equal in packets.chunk_by_mut(|one, next| one.since() == next.since()) {
        equal.sort_by_key(|packet| rank(packet.place()));
    }
}

/// Moves each packet backwards by at most [`MOST_PLACES`] places to its place in the order. Returns `false` if the packets are then not sorted,
/// or if some of them may arrive at the same time.
///
/// `held` contains [`MOST_PLACES`] packets in order. Each step reads one more packet and writes the first of these [`FEW`] packets. The loops have
/// no branches on the order of packets.
#[inline(always)]
fn settle(packets: &mut [Timed]) -> bool {
    let mut held = [0; MOST_PLACES];
    let mut insert = |mut packet: u64| {
        let first = packet.min(held[0]);
        packet = packet.max(held[0]);
        for place in 1..MOST_PLACES {
            held[place - 1] = packet.min(held[place]);
            packet = packet.max(held[place]);
        }
        held[MOST_PLACES - 1] = packet;
        first
    };
    let begin = packets.len().min(MOST_PLACES);
    packets[..begin].iter().for_each(|packet| _ = insert(packet.0));
    // The highest bit of `checks` is set if a packet is before the previous one or less than `PICOSECOND` after it. The first packet passes,
    // because `previous` starts two picoseconds before the window.
    let (mut previous, mut checks) = (0u64.wrapping_sub(2 * PICOSECOND), 0);
    let mut check = |packet: u64| {
        checks |= packet.wrapping_sub(previous).wrapping_sub(PICOSECOND);
        previous = packet;
    };
    for read in begin..packets.len() {
        let first = insert(packets[read].0);
        check(first);
        packets[read - MOST_PLACES] = Timed(first);
    }
    let rest = packets.len() - begin;
    for (packet, held) in packets[rest..].iter_mut().zip(&held[MOST_PLACES - begin..]) {
        check(*held);
        *packet = Timed(*held);
    }
    checks >> 63 == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use shallows_core::random::Stream;

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
            // One sorter sorts all windows, so its memory is reused.
            for window in windows {
                let packets = packets.iter().map(|&(since, link): &(u64, u32)| (since * window / 3_000_000, link));
                let packets: Vec<_> = packets.collect();
                let key = |place: usize| (packets[place].0, Ranks::new(seed).of_link(packets[place].1), place);
                for (place, &(since, _)) in packets.iter().enumerate() {
                    sorter.add(Duration(since), place);
                }
                let sorted = sorter.take_sorted(Duration(window), |place| Ranks::new(seed).of_link(packets[place].1));
                prop_assert!(sorted.is_sorted_by_key(|packet| key(packet.place())));
                let mut places: Vec<usize> = sorted.iter().map(|packet| packet.place()).collect();
                places.sort_unstable();
                prop_assert!(places.into_iter().eq(0..packets.len()));
                sorter.recycle(sorted);
            }
            prop_assert_eq!(sorter.take_sorted(Duration(windows[0]), |_| unreachable!()).len(), 0);
        }
    }

    /// Adds packets that arrive at these times, and returns the indices of all packets in order. All links have the same rank.
    fn sort(sorter: &mut Sorter, times: &[u64]) -> Vec<usize> {
        for (place, &since) in times.iter().enumerate() {
            sorter.add(Duration(since), place);
        }
        let sorted = sorter.take_sorted(Sorter::LONGEST, |_| Ranks::new(1).of_link(0));
        let places = sorted.iter().map(|packet| packet.place()).collect();
        sorter.recycle(sorted);
        places
    }

    #[test]
    fn buckets_suffice_if_packets_are_spread_at_random() {
        for count in [FEW + 1, 33, 1_000, 100_000] {
            let mut stream = Stream::new(1, "sorter", count as u64);
            let mut sorter = Sorter::default();
            // The times are distinct, because each packet has its own thousand picoseconds.
            let mut times: Vec<u64> =
                (0..count as u64).map(|place| 1_000 * place + stream.below(1_000)).collect();
            for place in (1..count).rev() {
                times.swap(place, stream.below(place as u64 + 1) as usize);
            }
            (0..).zip(times).for_each(|(place, time)| sorter.add(Duration(time), place));
            let mut packets = std::mem::take(&mut sorter.packets);
            sorter.distribute(&mut packets, Duration(1_000 * count as u64));
            assert!(settle(&mut packets), "{count} packets");
            assert!(packets.is_sorted());
        }
    }

    #[test]
    fn an_empty_list_does_not_replace_the_memory() {
        let mut sorter = Sorter::default();
        sort(&mut sorter, &[1, 2]);
        sorter.recycle(Vec::new());
        assert!(sorter.has_memory());
    }

    #[test]
    fn crowded_packets_are_sorted() {
        let mut sorter = Sorter::default();
        // All packets but one arrive in one bucket, in reverse order.
        let times: Vec<u64> = (0..99).rev().chain([1 << 27]).collect();
        assert!(sort(&mut sorter, &times).into_iter().eq((0..99).rev().chain([99])));
    }

    #[test]
    fn packets_move_backwards_by_a_few_places() {
        let mut packets: Vec<Timed> =
            (1..=FEW as u64).rev().map(|since| Timed(since * 2 * PICOSECOND)).collect();
        assert!(settle(&mut packets) && packets.is_sorted());
        packets.push(Timed(0));
        assert!(!settle(&mut packets), "the last packet is {FEW} places from its place");
        let mut equal = [Timed(5 * PICOSECOND), Timed(5 * PICOSECOND + 1)];
        assert!(!settle(&mut equal), "equal times");
        assert!(settle(&mut []));
    }
}
