//! Timing wheel for the events of the near future.

use crate::prefetch_all;
use crate::time::{Duration, Instant};

/// Pending event as one number, with the time in the high half and the key in the low half, so that one comparison orders two events.
pub(super) type Entry = u128;

#[inline]
pub(super) fn entry(at: Instant, key: u64) -> Entry {
    u128::from(at.0) << 64 | u128::from(key)
}

#[inline]
pub(super) fn time_of(entry: Entry) -> Instant {
    Instant((entry >> 64) as u64)
}

const BUCKETS: usize = 4096;
const NONE: u32 = u32::MAX;

/// Timing wheel. A bucket is sorted only when time reaches it.
///
/// Bucket `b` holds the entries with `time >> shift == b (mod BUCKETS)`. All entries lie within one turn of the wheel from `cursor`. The
/// bucket under the cursor is open: its earliest entry is in `next`, and its others are in `rest`, latest first.
#[derive(Debug)]
pub(super) struct Wheel {
    shift: u32,
    cursor: u64,
    /// Earliest entry of the open bucket, or `Entry::MAX` if it has no more entries.
    next: Entry,
    rest: Vec<Entry>,
    heads: Box<[u32; BUCKETS]>,
    /// One bit for each bucket, set if the bucket holds an entry. `occupied_words` has one bit for each word of this array, set if the word
    /// is not zero.
    occupied: [u64; BUCKETS / 64],
    occupied_words: u64,
    nodes: Vec<Node>,
    free: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    entry: Entry,
    next: u32,
}

impl Wheel {
    /// Creates an empty wheel that covers the time `horizon`.
    pub(super) fn new(horizon: Duration) -> Self {
        let width = (horizon.0 / (BUCKETS as u64 - 1)).max(1);
        Self {
            shift: width.next_power_of_two().trailing_zeros(),
            cursor: 0,
            next: Entry::MAX,
            rest: Vec::new(),
            heads: Box::new([NONE; BUCKETS]),
            occupied: [0; BUCKETS / 64],
            occupied_words: 0,
            nodes: Vec::new(),
            free: NONE,
        }
    }

    /// Prefetches the buckets and nodes into the processor's cache.
    pub(super) fn prefetch(&self) {
        prefetch_all(&self.heads[..]);
        prefetch_all(&self.nodes);
    }

    /// Inserts `entry` into a bucket after the open bucket. Returns `false` if the entry does not belong in such a bucket or if no node is
    /// free.
    #[inline(always)]
    pub(super) fn insert_ahead(&mut self, entry: Entry) -> bool {
        let slot = time_of(entry).0 >> self.shift;
        if slot.wrapping_sub(self.cursor + 1) >= BUCKETS as u64 - 1 {
            return false;
        }
        let Some(node) = self.nodes.get_mut(self.free as usize) else { return false };
        let place = std::mem::replace(&mut self.free, node.next);
        let bucket = slot as usize % BUCKETS;
        *node = Node { entry, next: std::mem::replace(&mut self.heads[bucket], place) };
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
        self.occupied_words |= 1 << (bucket / 64);
        true
    }

    /// Inserts `entry`. Returns `false` if it lies more than one turn of the wheel ahead.
    pub(super) fn insert(&mut self, entry: Entry) -> bool {
        let slot = time_of(entry).0 >> self.shift;
        if slot <= self.cursor {
            self.insert_open(entry);
            return true;
        }
        if self.free == NONE {
            self.free = u32::try_from(self.nodes.len()).expect("fewer than 2^32 pending events");
            self.nodes.push(Node { entry, next: NONE });
        }
        self.insert_ahead(entry)
    }

    /// Returns whether the open bucket has no more entries: `next` is then `Entry::MAX`. The check compares only the time of `next`,
    /// because no event fires at `Instant::MAX`.
    #[inline(always)]
    fn is_used_up(&self) -> bool {
        time_of(self.next) == Instant::MAX
    }

    /// Returns the earliest entry of the wheel without removing it. Returns `Entry::MAX` if the wheel is empty or if the bucket of that
    /// entry begins after `until`.
    #[inline(always)]
    pub(super) fn peek(&mut self, until: Instant) -> Entry {
        if self.is_used_up() {
            self.open_next(until);
        }
        self.next
    }

    /// Removes the earliest entry of the open bucket.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        self.next = self.rest.pop().unwrap_or(Entry::MAX);
    }

    /// Removes one entry that is equal to `entry`. Returns whether such an entry existed.
    pub(super) fn remove(&mut self, entry: Entry) -> bool {
        let slot = time_of(entry).0 >> self.shift;
        if slot <= self.cursor {
            if self.next == entry {
                self.pop();
                return true;
            }
            let place = self.rest.iter().position(|&other| other == entry);
            return place.map(|place| self.rest.remove(place)).is_some();
        }
        let bucket = slot as usize % BUCKETS;
        let (mut before, mut place) = (NONE, self.heads[bucket]);
        while place != NONE && self.nodes[place as usize].entry != entry {
            (before, place) = (place, self.nodes[place as usize].next);
        }
        if place == NONE {
            return false;
        }
        let next = std::mem::replace(&mut self.nodes[place as usize].next, self.free);
        self.free = place;
        if before == NONE {
            self.heads[bucket] = next;
        } else {
            self.nodes[before as usize].next = next;
        }
        if self.heads[bucket] == NONE {
            self.vacate(bucket);
        }
        true
    }

    /// Marks a bucket as empty.
    #[inline(always)]
    fn vacate(&mut self, bucket: usize) {
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        if self.occupied[bucket / 64] == 0 {
            self.occupied_words &= !(1 << (bucket / 64));
        }
    }

    /// Moves the cursor forward to `now` if the wheel is empty. The range of times that the wheel covers moves with the cursor.
    pub(super) fn advance(&mut self, now: Instant) {
        // The cursor must not pass pending entries.
        if self.is_used_up() && self.occupied_words == 0 {
            self.cursor = self.cursor.max(now.0 >> self.shift);
        }
    }

    /// Returns a lower bound for the time of the earliest entry, or `Instant::MAX` if the wheel is empty.
    pub(super) fn not_before(&self) -> Instant {
        if !self.is_used_up() {
            return time_of(self.next);
        }
        self.next_slot().map_or(Instant::MAX, |slot| Instant(slot << self.shift))
    }

    /// Returns the absolute slot (time shifted by `shift`) of the next occupied bucket after the cursor.
    fn next_slot(&self) -> Option<u64> {
        let bucket = self.next_occupied((self.cursor as usize + 1) % BUCKETS)?;
        let ahead = (bucket + BUCKETS - self.cursor as usize % BUCKETS) % BUCKETS;
        Some(self.cursor + ahead as u64)
    }

    /// Moves the cursor to the next occupied bucket and sorts that bucket, unless it begins after `until`.
    ///
    /// Buckets are opened as late as possible, because inserting into an open bucket, which must stay sorted, is slower.
    #[inline(always)]
    fn open_next(&mut self, until: Instant) {
        let Some(slot) = self.next_slot().filter(|slot| slot << self.shift <= until.0) else { return };
        self.cursor = slot;
        let bucket = slot as usize % BUCKETS;
        let mut place = std::mem::replace(&mut self.heads[bucket], NONE);
        self.vacate(bucket);
        self.next = self.take_from(&mut place);
        while place != NONE {
            let entry = self.take_from(&mut place);
            self.insert_open(entry);
        }
    }

    /// Removes the entry at `place`, frees its node, and sets `place` to the next node of the bucket.
    #[inline(always)]
    fn take_from(&mut self, place: &mut u32) -> Entry {
        let node = &mut self.nodes[*place as usize];
        let next = std::mem::replace(&mut node.next, self.free);
        self.free = std::mem::replace(place, next);
        node.entry
    }

    /// Inserts `entry` into the open bucket at its place in the order. The search is linear, because buckets are short and most new entries
    /// are the next to fire.
    #[inline]
    fn insert_open(&mut self, entry: Entry) {
        if self.is_used_up() {
            self.next = entry;
            return;
        }
        let later = self.next.max(entry);
        self.next = self.next.min(entry);
        let mut place = self.rest.len();
        self.rest.push(later);
        while place > 0 && self.rest[place - 1] < later {
            self.rest[place] = self.rest[place - 1];
            place -= 1;
        }
        self.rest[place] = later;
    }

    /// Returns the first occupied bucket at or after `from`, wrapping around.
    fn next_occupied(&self, from: usize) -> Option<usize> {
        let (word, bit) = (from / 64, from % 64);
        let here = self.occupied[word] >> bit;
        if here != 0 {
            return Some(from + here.trailing_zeros() as usize);
        }
        if self.occupied_words == 0 {
            return None;
        }
        // Search the later words first, then the earlier words and the low bits of the current word.
        let later = self.occupied_words & (u64::MAX << word) & !(1 << word);
        let word = if later != 0 { later } else { self.occupied_words }.trailing_zeros() as usize;
        Some(word * 64 + self.occupied[word].trailing_zeros() as usize)
    }
}
