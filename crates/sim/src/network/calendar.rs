//! Packets in flight, grouped by the time window of their arrival and by group of ports. Packets to hosts share one bucket per window.
//!
//! Usually, a window is at most as long as the shortest delay of a link, so no switch affects another switch within one window. A switch can
//! therefore process in one visit all packets that arrive in a window ([`crate::network::visit`]). Windows can be longer if ports have
//! different turns ([`crate::network::turns`]).

use shallows_core::packet::Header;
use shallows_core::{Duration, Instant};

use crate::network::group::Turn;
use crate::network::sorter::Sorter;

/// Minimum and maximum number of slots, both powers of two. `Calendar::occupied` has one bit for each slot.
const FEWEST_SLOTS: u64 = 16;
const MOST_SLOTS: u64 = 128;

/// Maximum length of a time window. Its square times the number of slots is below 2^64, which [`Calendar::ahead`] requires.
pub(crate) const LONGEST: Duration = Duration(1 << 28);

const _: () =
    assert!(LONGEST.0 <= Sorter::LONGEST.0 && (LONGEST.0 * LONGEST.0).checked_mul(MOST_SLOTS).is_some());

/// Packet in flight to a switch or a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving<T> {
    pub(crate) at: Instant,
    pub(crate) header: Header,
    pub(crate) payload: T,
    /// Index of the far end of the packet's link in `Network::wires`.
    pub(crate) wire: u32,
}

/// Packets in flight by the time window of their arrival, and the open window, which is being processed.
#[derive(Debug)]
pub(crate) struct Calendar<T> {
    window: Duration,
    /// Longest time for which a packet is in flight.
    longest: Duration,
    /// 2^64 divided by the length of a time window, rounded up. A multiplication by this number replaces a division by the length.
    reciprocal: u64,
    /// Number of the open time window. Window 0 starts at time zero.
    number: u64,
    start: Instant,
    /// Number of time windows that each have their own slot: the open window and the windows after it. A power of two. Packets that arrive
    /// after these windows wait in the last slot, and are placed again when the window of that slot is open.
    slots: u64,
    /// Picoseconds from `start` to the beginning of the last time window with a slot.
    reach: u64,
    /// Turn of each bucket of a slot. A slot has one bucket for each group of ports ([`crate::network::group::Group`]).
    turns: Vec<Turn>,
    /// Packets of each bucket, at index slot × number of buckets + bucket number.
    buckets: Vec<Vec<Arriving<T>>>,
    /// Numbers of the buckets of each slot and turn that have memory, at index turn × number of slots + slot. They hold packets, unless a link
    /// has gone down.
    due: Vec<Vec<u32>>,
    /// For each turn, bit *s*: whether `due` lists buckets of slot *s*.
    occupied: Vec<u128>,
    /// Empty vectors with allocated memory, for reuse as buckets. The vector that was freed last is used next, because it is still in the
    /// cache. While one of several partitions does not run, these vectors are in [`crate::network::scratch::Scratch`].
    spare: Vec<Vec<Arriving<T>>>,
    /// Empty vector with allocated memory, for reuse as a list of due buckets.
    spare_due: Vec<u32>,
}

impl<T: Copy> Calendar<T> {
    /// Returns an empty calendar with one bucket per time window for each element of `turns`, which are among the first `count` turns. Windows
    /// have the length `window`, but at most 268 us. A packet keeps its place until it is taken, if it is in flight for at most `longest` and
    /// for at most 126 windows.
    ///
    /// # Panics
    ///
    /// If `window` is zero.
    pub(crate) fn new(window: Duration, longest: Duration, turns: Vec<Turn>, count: usize) -> Self {
        let window = window.min(LONGEST);
        assert!(window > Duration::ZERO, "a window has a length");
        // A packet that leaves at the end of the open window arrives up to one window later than one that leaves at its start.
        let slots = (longest.0 / window.0 + 2).next_power_of_two().clamp(FEWEST_SLOTS, MOST_SLOTS);
        Self {
            window,
            longest,
            reciprocal: u64::try_from((1_u128 << 64).div_ceil(u128::from(window.0))).unwrap_or(u64::MAX),
            number: 0,
            start: Instant::ZERO,
            slots,
            reach: (slots - 1) * window.0,
            buckets: (0..slots as usize * turns.len()).map(|_| Vec::new()).collect(),
            turns,
            due: vec![Vec::new(); slots as usize * count],
            occupied: vec![0; count],
            spare: Vec::new(),
            spare_due: Vec::new(),
        }
    }

    /// Returns the number of turns, including the turn of hosts.
    pub(crate) fn turns(&self) -> usize {
        self.occupied.len()
    }

    /// Returns the length of a time window.
    pub(crate) fn window(&self) -> Duration {
        self.window
    }

    /// Changes the length of time windows, and opens the window that contains `now`. No packet arrives before this window.
    pub(crate) fn set_window(&mut self, window: Duration, now: Instant) {
        let turns = std::mem::take(&mut self.turns);
        let before = std::mem::replace(self, Self::new(window, self.longest, turns, self.turns()));
        self.open(now);
        let numbers = (0..self.turns.len() as u32).cycle();
        for (number, bucket) in numbers.zip(before.buckets) {
            bucket.into_iter().for_each(|packet| self.place(number, packet));
        }
    }

    /// Returns the start of the open time window.
    #[inline]
    pub(crate) fn start(&self) -> Instant {
        self.start
    }

    /// Returns the time from the start of the open time window up to and including `until`.
    pub(crate) fn span_until(&self, until: Instant) -> Duration {
        Instant(until.0 + 1).saturating_since(self.start)
    }

    /// Opens the time window that contains `now`, unless a later window is open. Returns the last instant of the open window. After the
    /// call, callers must not add packets that arrive before this window.
    #[inline]
    pub(crate) fn open(&mut self, now: Instant) -> Instant {
        let next = self.start + self.window;
        if now >= next {
            self.number = now.0 / self.window.0;
            self.start = Instant(self.number * self.window.0);
        }
        Instant(self.start.0 + self.window.0 - 1)
    }

    /// Returns the number of time windows from the open window to the window that contains `at`, but at most the number of
    /// slots − 1.
    #[inline(always)]
    fn ahead(&self, at: Instant) -> u64 {
        let distance = at.0 - self.start.0;
        if distance >= self.reach {
            return self.slots - 1;
        }
        // Exact: the error of the reciprocal is below the length of a window, and the distance times this error is below 2^64.
        ((u128::from(distance) * u128::from(self.reciprocal)) >> 64) as u64
    }

    /// Adds a packet to the bucket with this number. The packet must not arrive before the open time window.
    #[inline(always)]
    pub(crate) fn place(&mut self, number: u32, packet: Arriving<T>) {
        let slot = (self.number + self.ahead(packet.at)) & (self.slots - 1);
        let bucket = &mut self.buckets[slot as usize * self.turns.len() + number as usize];
        // A bucket has memory if and only if `due` lists it.
        if bucket.capacity() == 0 {
            *bucket = self.spare.pop().unwrap_or_default();
            let turn = self.turns[number as usize].index();
            self.due[turn * self.slots as usize + slot as usize].push(number);
            self.occupied[turn] |= 1 << slot;
        }
        bucket.push(packet);
    }

    fn slot(&self) -> usize {
        (self.number & (self.slots - 1)) as usize
    }

    /// Removes and returns the numbers of the buckets with this turn that may hold packets of the open time window. The caller must pass each
    /// number to [`Self::take`].
    #[inline]
    pub(crate) fn take_due(&mut self, turn: Turn) -> Vec<u32> {
        let slot = self.slot();
        let occupied = &mut self.occupied[turn.index()];
        if *occupied & 1 << slot == 0 {
            return Vec::new();
        }
        *occupied &= !(1 << slot);
        let due = &mut self.due[turn.index() * self.slots as usize + slot];
        std::mem::replace(due, std::mem::take(&mut self.spare_due))
    }

    /// Removes and returns the packets of a bucket in the slot of the open time window. Some of these packets may arrive in a later window.
    #[inline]
    pub(crate) fn take(&mut self, number: u32) -> Vec<Arriving<T>> {
        let slot = self.slot();
        std::mem::take(&mut self.buckets[slot * self.turns.len() + number as usize])
    }

    /// Keeps the vector from [`Self::take`] for reuse, after its packets have been processed. Drops a vector without allocated memory: the
    /// bucket was empty.
    #[inline]
    pub(crate) fn recycle(&mut self, mut packets: Vec<Arriving<T>>) {
        packets.clear();
        if packets.capacity() > 0 {
            self.spare.push(packets);
        }
    }

    /// Swaps the vectors kept for reuse with `spare`.
    pub(crate) fn exchange_spare(&mut self, spare: &mut Vec<Vec<Arriving<T>>>) {
        std::mem::swap(&mut self.spare, spare);
    }

    /// Keeps the list from [`Self::take_due`] for reuse, after its buckets have been taken.
    #[inline]
    pub(crate) fn recycle_due(&mut self, mut due: Vec<u32>) {
        if due.capacity() > 0 {
            due.clear();
            self.spare_due = due;
        }
    }

    /// Returns a time before which no packet arrives: the start of the first time window with packets, or `Instant::MAX` if no window has
    /// packets.
    pub(crate) fn not_before(&self) -> Instant {
        let occupied = self.occupied.iter().fold(0, |all, turn| all | turn);
        if occupied == 0 {
            return Instant::MAX;
        }
        let slot = self.slot();
        let later = occupied >> slot;
        let ahead = if later != 0 {
            later.trailing_zeros().into()
        } else {
            self.slots - slot as u64 + u64::from(occupied.trailing_zeros())
        };
        Instant(self.start.0 + ahead * self.window.0)
    }

    /// Removes and returns the packets in flight on one link, after the link has gone down.
    pub(crate) fn take_of_wire(&mut self, wire: u32) -> Vec<Arriving<T>> {
        let mut lost = Vec::new();
        for bucket in &mut self.buckets {
            lost.extend(bucket.iter().filter(|packet| packet.wire == wire));
            bucket.retain(|packet| packet.wire != wire);
        }
        lost
    }

    /// Removes and returns all packets, in order of arrival.
    pub(crate) fn take_all(&mut self) -> Vec<Arriving<T>> {
        let mut packets: Vec<Arriving<T>> = self.buckets.iter_mut().flat_map(std::mem::take).collect();
        self.due.iter_mut().for_each(Vec::clear);
        self.occupied.fill(0);
        packets.sort_by_key(|packet| packet.at);
        packets
    }

    /// Returns the number of packets in flight.
    pub(crate) fn len(&self) -> usize {
        self.buckets.iter().map(Vec::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shallows_core::packet::HostId;

    use super::*;

    const WINDOW: Duration = Duration(1_000);

    const SECOND: Turn = Turn(2);

    /// Turns of three buckets.
    const TURNS_OF_TEST: [Turn; 3] = [Turn::FIRST, SECOND, Turn::HOSTS];

    /// Returns a calendar with three buckets per time window.
    fn empty(longest: Duration) -> Calendar<u32> {
        Calendar::new(WINDOW, longest, TURNS_OF_TEST.into(), 3)
    }

    fn arriving(at: u64, wire: u32) -> Arriving<u32> {
        Arriving { at: Instant(at), header: Header::new(HostId(0), HostId(1)), payload: wire, wire }
    }

    fn times(packets: &[Arriving<u32>]) -> Vec<u64> {
        packets.iter().map(|packet| packet.at.0).collect()
    }

    /// Returns the packets that arrive in the open time window, each with its bucket. Puts later packets back into the calendar.
    fn visit(calendar: &mut Calendar<u32>) -> Vec<(u32, u64)> {
        let end = calendar.start() + calendar.window();
        let mut found = Vec::new();
        for turn in TURNS_OF_TEST {
            let due = calendar.take_due(turn);
            for &bucket in &due {
                let packets = calendar.take(bucket);
                for packet in &packets {
                    if packet.at < end {
                        found.push((bucket, packet.at.0))
                    } else {
                        calendar.place(bucket, *packet)
                    }
                }
                calendar.recycle(packets);
            }
            calendar.recycle_due(due);
        }
        found.sort_unstable();
        found
    }

    proptest! {
        #[test]
        fn each_packet_is_found_in_the_window_of_its_arrival(
            packets in prop::collection::vec((0_u32..3, prop_oneof![0_u64..5_000, 0_u64..60_000]), 1..60),
            begin in 0_u64..300_000,
            longest in prop_oneof![Just(WINDOW), Just(WINDOW * 40), Just(WINDOW * 1_000)],
        ) {
            let mut calendar = empty(longest);
            calendar.open(Instant(begin));
            let first = begin / WINDOW.0;
            let mut expected: Vec<Vec<(u32, u64)>> = vec![Vec::new(); 400];
            for &(bucket, after) in &packets {
                let at = first * WINDOW.0 + after;
                calendar.place(bucket, arriving(at, bucket));
                expected[(at / WINDOW.0) as usize].push((bucket, at));
            }
            prop_assert_eq!(calendar.len(), packets.len());
            for (window, mut expected) in expected.into_iter().enumerate().skip(first as usize) {
                let (start, earliest) = (window as u64 * WINDOW.0, calendar.not_before());
                prop_assert_eq!(calendar.open(Instant(start + 7)), Instant(start + WINDOW.0 - 1));
                expected.sort_unstable();
                if !expected.is_empty() {
                    prop_assert_eq!(earliest, Instant(start), "the first window that has packets");
                }
                prop_assert_eq!(visit(&mut calendar), expected);
            }
            prop_assert_eq!((calendar.len(), calendar.not_before()), (0, Instant::MAX));
        }
    }

    #[test]
    fn packets_beyond_the_last_slot_wait_in_it() {
        let mut calendar = empty(WINDOW);
        calendar.open(Instant(3_000));
        calendar.place(0, arriving(40_000, 0));
        assert_eq!(calendar.not_before(), Instant(18_000), "slot 15 after the open window");
        calendar.place(0, arriving(17_999, 0));
        assert_eq!(calendar.not_before(), Instant(17_000));
    }

    #[test]
    fn slots_suffice_for_the_longest_time_in_flight_up_to_127_windows() {
        // A packet that leaves in the last instant of the open window, and the slot in which it must wait.
        for (longest, slot) in [(1, 1), (14, 14), (20, 20), (126, 126), (127, 127), (1_000, 127)] {
            let mut calendar = empty(WINDOW * longest);
            calendar.open(Instant(3_000));
            calendar.place(0, arriving(3_999 + longest * WINDOW.0, 0));
            assert_eq!(
                calendar.not_before(),
                Instant(3_000 + slot * WINDOW.0),
                "in flight for {longest} windows"
            );
            calendar.place(0, arriving(3_999 + WINDOW.0, 0));
            assert_eq!(calendar.not_before(), Instant(4_000));
        }
    }

    #[test]
    fn slots_take_no_more_memory_than_needed() {
        let slots = |longest| empty(WINDOW * longest).buckets.len() / 3;
        assert_eq!([1, 14, 15, 30, 31, 62, 63, 1_000].map(slots), [16, 16, 32, 32, 64, 64, 128, 128]);
    }

    #[test]
    fn each_turn_has_its_own_due_buckets() {
        // The buckets are in the first slot, then in the fourth slot.
        for start in [0, 3_000] {
            let mut calendar = empty(WINDOW);
            calendar.open(Instant(start));
            calendar.place(1, arriving(start + 5, 0));
            calendar.place(2, arriving(start + 6, 0));
            assert_eq!(calendar.take_due(Turn::FIRST).len(), 0);
            assert_eq!(calendar.take_due(Turn::HOSTS), [2]);
            assert_eq!(calendar.not_before(), Instant(start), "bucket 1 is due");
            assert_eq!(calendar.take_due(SECOND), [1]);
            assert_eq!((calendar.take_due(SECOND), calendar.not_before()), (vec![], Instant::MAX));
            assert_eq!(times(&calendar.take(1)), [start + 5]);
        }
    }

    #[test]
    fn empty_buckets_leave_nothing_to_reuse() {
        let mut calendar = empty(WINDOW);
        calendar.place(0, arriving(5, 0));
        for bucket in [0, 1] {
            let packets = calendar.take(bucket);
            calendar.recycle(packets);
        }
        assert_eq!(calendar.spare.len(), 1, "bucket 1 had no memory");
        let due = calendar.take_due(Turn::FIRST);
        calendar.recycle_due(due);
        let none = calendar.take_due(SECOND);
        calendar.recycle_due(none);
        assert!(calendar.spare_due.capacity() > 0, "the list of `Turn::FIRST`");
    }

    #[test]
    fn a_bucket_that_a_link_has_emptied_is_listed_once() {
        let mut calendar = empty(WINDOW);
        calendar.place(0, arriving(5, 1));
        assert_eq!(times(&calendar.take_of_wire(1)), [5]);
        calendar.place(0, arriving(6, 2));
        assert_eq!(calendar.take_due(Turn::FIRST), [0]);
        assert_eq!(times(&calendar.take(0)), [6]);
    }

    #[test]
    fn all_packets_or_those_of_one_link_are_removed() {
        let mut calendar = empty(WINDOW);
        for (at, wire) in [(9_000, 1), (500, 2), (70_000, 1), (501, 1)] {
            calendar.place(wire % 2, arriving(at, wire));
        }
        assert_eq!(times(&calendar.take_of_wire(2)), [500]);
        assert_eq!(calendar.len(), 3);
        assert_eq!(times(&calendar.take_all()), [501, 9_000, 70_000]);
        assert_eq!((calendar.len(), calendar.not_before()), (0, Instant::MAX));
        assert!(calendar.due.iter().all(Vec::is_empty));
    }

    #[test]
    fn packets_stay_in_their_buckets_if_the_length_of_windows_changes() {
        let mut calendar = empty(Duration(10_000));
        calendar.open(Instant(2_000));
        for (number, at) in [(0, 3_100), (2, 4_900), (1, 5_000), (0, 7_499), (0, 7_500), (1, 200_000)] {
            calendar.place(number, arriving(at, 0));
        }
        calendar.set_window(Duration(2_500), Instant(3_000));
        assert_eq!((calendar.window(), calendar.start()), (Duration(2_500), Instant(2_500)));
        let mut windows = Vec::new();
        while calendar.len() > 0 {
            let first = calendar.not_before();
            calendar.open(first);
            windows.extend(Some(visit(&mut calendar)).filter(|found| !found.is_empty()));
        }
        assert_eq!(
            windows,
            [
                vec![(0, 3_100), (2, 4_900)],
                vec![(0, 7_499), (1, 5_000)],
                vec![(0, 7_500)],
                vec![(1, 200_000)]
            ]
        );
    }

    #[test]
    fn a_window_is_at_most_268_us() {
        let window = |shortest| Calendar::<u32>::new(shortest, shortest, TURNS_OF_TEST.into(), 3).window();
        assert_eq!(window(Duration(1 << 40)), Duration(1 << 28));
        assert_eq!(window(Duration(7)), Duration(7));
    }
}
