//! Buckets that are served in turn. Each bucket is a first-in first-out queue, and a circle links the buckets that hold packets.

use shallows_core::Bytes;

use crate::queue::{Item, QueueState};
use crate::ring::Ring;

/// Hashed buckets. A circle links the buckets that hold packets, in the order of service; a new bucket joins behind all others.
///
/// A bucket may stay in the circle after push-out has emptied it. It keeps its turn if the arriving packet that caused the push-out joins
/// it. Otherwise [`Self::current`] removes the bucket from the circle when its turn comes.
#[derive(Clone, Debug)]
pub(super) struct Circle<T> {
    buckets: Box<[Bucket<T>]>,
    current: Option<usize>,
    total: [QueueState; 1],
}

#[derive(Clone, Debug)]
struct Bucket<T> {
    ring: Ring<Item<T>>,
    backlog: Bytes,
    in_circle: bool,
    previous: usize,
    next: usize,
}

/// Returns the bytes that this many empty buckets occupy in the simulator's memory.
pub(super) fn footprint<T>(buckets: u32) -> u64 {
    let each = size_of::<Bucket<T>>() + Ring::<Item<T>>::SMALLEST * size_of::<Item<T>>();
    u64::from(buckets) * each as u64
}

impl<T: Copy + Default> Circle<T> {
    /// Creates this many empty buckets.
    pub(super) fn new(buckets: usize) -> Self {
        let bucket =
            || Bucket { ring: Ring::new(), backlog: Bytes(0), in_circle: false, previous: 0, next: 0 };
        Self {
            buckets: (0..buckets).map(|_| bucket()).collect(),
            current: None,
            total: [QueueState::default()],
        }
    }

    /// Returns the number of buckets.
    pub(super) fn len(&self) -> usize {
        self.buckets.len()
    }

    /// Returns the contents of all buckets together, because the port treats them as one queue.
    #[inline(always)]
    pub(super) fn total(&self) -> &[QueueState; 1] {
        &self.total
    }

    /// Returns the bytes in `bucket`.
    #[inline(always)]
    pub(super) fn backlog(&self, bucket: usize) -> Bytes {
        self.buckets[bucket].backlog
    }

    /// Returns the number of packets in `bucket`.
    #[inline(always)]
    pub(super) fn packets(&self, bucket: usize) -> u32 {
        self.buckets[bucket].ring.len() as u32
    }

    /// Returns the size of the packet at the head of `bucket`.
    #[inline(always)]
    pub(super) fn head(&self, bucket: usize) -> Option<Bytes> {
        self.buckets[bucket].ring.front().map(|item| item.header.size())
    }

    /// Appends a packet to `bucket`. Returns whether the bucket joined the circle.
    #[inline(always)]
    pub(super) fn push(&mut self, bucket: usize, item: Item<T>) -> bool {
        let size = item.header.size();
        self.total[0].packets += 1;
        self.total[0].backlog += size;
        let joins = !self.buckets[bucket].in_circle;
        if joins {
            self.link(bucket);
        }
        self.buckets[bucket].backlog += size;
        self.buckets[bucket].ring.push(item);
        joins
    }

    /// Removes the packet at the head of `bucket`, which stays in the circle.
    #[inline(always)]
    pub(super) fn pop(&mut self, bucket: usize) -> Option<Item<T>> {
        let item = self.buckets[bucket].ring.pop()?;
        Some(self.left(bucket, item))
    }

    /// Removes the packet at the tail of `bucket`, which stays in the circle.
    pub(super) fn pop_back(&mut self, bucket: usize) -> Option<Item<T>> {
        let item = self.buckets[bucket].ring.pop_back()?;
        Some(self.left(bucket, item))
    }

    #[inline(always)]
    fn left(&mut self, bucket: usize, item: Item<T>) -> Item<T> {
        let size = item.header.size();
        self.buckets[bucket].backlog -= size;
        self.total[0].packets -= 1;
        self.total[0].backlog -= size;
        item
    }

    /// Returns the bucket that has the turn; `None` if no bucket holds packets. First removes empty buckets whose turn has come.
    #[inline(always)]
    pub(super) fn current(&mut self) -> Option<usize> {
        loop {
            let bucket = self.current?;
            if !self.buckets[bucket].ring.is_empty() {
                return Some(bucket);
            }
            self.unlink(bucket);
        }
    }

    /// Returns whether the circle contains no bucket.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.current.is_none()
    }

    /// Passes the turn to the next bucket.
    #[inline(always)]
    pub(super) fn advance(&mut self) {
        self.current = self.current.map(|bucket| self.buckets[bucket].next);
    }

    /// Returns the buckets in the circle, starting with the one that has the turn.
    pub(super) fn round(&self) -> impl Iterator<Item = usize> + '_ {
        let next =
            |&bucket: &usize| Some(self.buckets[bucket].next).filter(|&next| Some(next) != self.current);
        std::iter::successors(self.current, next)
    }

    fn link(&mut self, bucket: usize) {
        let next = *self.current.get_or_insert(bucket);
        let previous = if next == bucket { bucket } else { self.buckets[next].previous };
        self.buckets[previous].next = bucket;
        self.buckets[next].previous = bucket;
        let joined = &mut self.buckets[bucket];
        (joined.in_circle, joined.previous, joined.next) = (true, previous, next);
    }

    /// Removes a bucket from the circle, if the circle contains it. If the bucket had the turn, the next bucket gets the turn.
    #[inline(always)]
    pub(super) fn unlink(&mut self, bucket: usize) {
        let Bucket { previous, next, in_circle, .. } = self.buckets[bucket];
        if !in_circle {
            return;
        }
        self.buckets[previous].next = next;
        self.buckets[next].previous = previous;
        self.buckets[bucket].in_circle = false;
        if self.current == Some(bucket) {
            self.current = Some(next).filter(|&next| next != bucket);
        }
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::packet::Header;

    use super::*;

    fn circle(buckets: &[usize]) -> Circle<u32> {
        let mut circle = Circle::new(5);
        for (payload, &bucket) in buckets.iter().enumerate() {
            let header = Header::default().with_size(100 + payload as u16);
            circle.push(bucket, Item { header, payload: payload as u32, ..Item::default() });
        }
        circle
    }

    fn round(circle: &Circle<u32>) -> Vec<usize> {
        circle.round().collect()
    }

    #[test]
    fn a_bucket_joins_behind_all_others_and_the_turn_passes_round() {
        let mut circle = circle(&[3, 1, 3, 4]);
        assert_eq!(round(&circle), [3, 1, 4]);
        circle.advance();
        assert_eq!(round(&circle), [1, 4, 3]);
        assert!(circle.push(0, Item::default()));
        assert!(!circle.push(0, Item::default()), "it is in the circle already");
        assert_eq!(round(&circle), [1, 4, 3, 0]);
        circle.unlink(3);
        assert_eq!(round(&circle), [1, 4, 0]);
        circle.unlink(1);
        assert_eq!(round(&circle), [4, 0], "its turn passes to the next");
        circle.unlink(1);
        assert_eq!(round(&circle), [4, 0], "it is not in the circle");
        circle.unlink(0);
        circle.advance();
        assert_eq!(round(&circle), [4]);
        circle.unlink(4);
        assert!(round(&circle).is_empty());
        assert_eq!(circle.current(), None);
        circle.advance();
        assert!(round(&circle).is_empty());
    }

    #[test]
    fn a_bucket_that_was_emptied_keeps_its_place_until_its_turn_comes() {
        let mut circle = circle(&[0, 1, 2]);
        circle.pop(1);
        circle.pop_back(0);
        assert_eq!(round(&circle), [0, 1, 2]);
        assert!(!circle.push(1, Item::default()), "it has kept its place");
        assert_eq!(circle.current(), Some(1), "0 is gone, 1 is not");
        assert_eq!(round(&circle), [1, 2]);
    }

    #[test]
    fn packets_and_bytes_are_counted_by_bucket_and_together() {
        let mut circle = circle(&[0, 1, 1]);
        assert_eq!((circle.packets(1), circle.backlog(1), circle.head(1)), (2, Bytes(203), Some(Bytes(101))));
        assert_eq!((circle.total()[0].packets, circle.total()[0].backlog), (3, Bytes(303)));
        assert_eq!(circle.pop_back(1).map(|item| item.payload), Some(2));
        assert_eq!(circle.pop(1).map(|item| item.payload), Some(1));
        assert_eq!(circle.pop(1).map(|item| item.payload), None);
        assert_eq!((circle.packets(1), circle.backlog(1), circle.head(1)), (0, Bytes(0), None));
        assert_eq!((circle.total()[0].packets, circle.total()[0].backlog), (1, Bytes(100)));
        assert_eq!(circle.len(), 5);
    }

    #[test]
    fn empty_buckets_take_their_bookkeeping_and_the_smallest_ring() {
        // Each bucket takes eight words (the flag takes a whole word) and four packets.
        let each = 8 * 8 + 4 * size_of::<Item<u64>>();
        assert_eq!(footprint::<u64>(3), 3 * each as u64);
    }
}
