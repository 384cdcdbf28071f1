//! Deficit round-robin over hashed buckets. If the limit is exceeded, the longest bucket drops its first packet. This is ns-2's
//! `Queue/DRR`, with which the HCF paper compares HCF.
//!
//! Source: DRR (Shreedhar and Varghese, SIGCOMM '95) as in ns-2.35's drr.cc. `circle` implements the circle of buckets.

use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Instant};

use super::circle::{self, Circle};
use super::flow_hash::FlowHash;
use super::interface::Discipline;
use crate::buffer::Limit;
use crate::queue::{DropReason, Item, Left, QueueState, Reading};

/// Parameters of hashed DRR; the defaults are ns-2's, except for the hash.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Number of buckets (`buckets_`).
    pub buckets: u32,
    /// Bytes that each visit adds to a bucket's deficit (`quantum_`).
    pub quantum: Bytes,
    /// Limit on all buckets together (`blimit_`, which ns-2 states in bytes).
    pub limit: Limit,
    /// Fields from which the hash of a packet is computed. HCF §5.1.1 says "in the same way as HCF"; ns-2 uses [`FlowHash::SourceOnly`].
    pub hash: FlowHash,
}

impl Default for Config {
    fn default() -> Self {
        // ns-2.35 ns-default.tcl: Queue/DRR.
        Self {
            buckets: 10,
            quantum: Bytes(250),
            limit: Limit::Bytes(Bytes(25_000)),
            hash: FlowHash::FiveTuple,
        }
    }
}

/// Buckets served by deficit round-robin. The port treats them as one queue.
#[derive(Clone, Debug)]
pub struct HashedDrr<T> {
    circle: Circle<T>,
    turns: Box<[Turn]>,
    quantum: Bytes,
    limit: Limit,
    hash: FlowHash,
    seed: u64,
    /// Bucket that the last call of `place` chose.
    placed: usize,
}

/// State of a bucket's turn.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    deficit: Bytes,
    /// Whether the bucket has received its quantum for the current visit.
    begun: bool,
}

/// Returns the bytes that a port's empty buckets occupy in the simulator's memory.
pub(super) fn footprint<T>(config: &Config) -> u64 {
    circle::footprint::<T>(config.buckets) + u64::from(config.buckets) * size_of::<Turn>() as u64
}

impl<T: Copy + Default> HashedDrr<T> {
    /// Creates empty buckets with a hash drawn from `stream`.
    ///
    /// # Panics
    ///
    /// Panics if there is no bucket or the quantum is zero.
    pub fn new(config: &Config, mut stream: Stream) -> Self {
        assert!(config.buckets > 0, "hashed-drr: flows are hashed to at least one bucket");
        assert!(config.quantum > Bytes(0), "hashed-drr: a quantum of zero serves nothing");
        let buckets = config.buckets as usize;
        Self {
            circle: Circle::new(buckets),
            turns: vec![Turn::default(); buckets].into(),
            quantum: config.quantum,
            limit: config.limit,
            hash: config.hash,
            seed: stream.next_u64(),
            placed: 0,
        }
    }

    #[inline(always)]
    fn bucket_of(&self, header: &Header) -> usize {
        self.hash.bucket(header, self.seed, self.circle.len())
    }

    #[inline(always)]
    fn has_room(&self, size: Bytes) -> bool {
        let [total] = self.circle.total();
        self.limit.admits(total.backlog, total.packets, size)
    }

    /// Returns the bucket with the most bytes, including an arriving packet of `size` in bucket `own`. In a tie, the bucket that comes
    /// first in the round is returned; a new bucket comes last (drr.cc, getMaxflow). The search takes one step per bucket with packets,
    /// as in ns-2.
    fn longest(&self, own: usize, size: Bytes) -> usize {
        let held = |bucket| self.circle.backlog(bucket) + if bucket == own { size } else { Bytes(0) };
        let longer = |longest, bucket| if held(bucket) > held(longest) { bucket } else { longest };
        self.circle.round().chain([own]).reduce(longer).expect("there is at least the own bucket")
    }

    /// Passes the turn to the bucket that sends next, and returns that bucket.
    #[inline(always)]
    fn select(&mut self) -> Option<usize> {
        loop {
            let bucket = self.circle.current()?;
            let head = self.circle.head(bucket)?;
            let turn = &mut self.turns[bucket];
            // DRR §3: each visit adds a quantum, and the unused rest is kept for the next visit.
            if !turn.begun {
                turn.deficit += self.quantum;
                turn.begun = true;
            }
            if turn.deficit >= head {
                return Some(bucket);
            }
            turn.begun = false;
            self.circle.advance();
        }
    }
}

impl<T: Copy + Default> Discipline<T> for HashedDrr<T> {
    fn push_out(&mut self, _now: Instant, arriving: &Header) -> Option<Left<T>> {
        if self.has_room(arriving.size()) {
            return None;
        }
        // drr.cc adds the packet, then drops the head of the longest bucket while the limit is exceeded. If that bucket holds only the
        // arriving packet, `place` refuses the packet.
        let own = self.bucket_of(arriving);
        let longest = self.longest(own, arriving.size());
        let Some(item) = self.circle.pop(longest) else {
            // The longest bucket holds only the arriving packet, so it leaves the circle.
            self.circle.unlink(longest);
            return None;
        };
        // The bucket of the arriving packet is about to hold a packet again, so it keeps its turn and its deficit.
        if longest != own && self.circle.packets(longest) == 0 {
            self.circle.unlink(longest);
        }
        Some(Left { item, queue: 0, ends_turn: false })
    }

    #[inline(always)]
    fn place(&mut self, _now: Instant, header: &Header) -> Result<usize, DropReason> {
        self.placed = self.bucket_of(header);
        if self.has_room(header.size()) { Ok(0) } else { Err(DropReason::PortLimit) }
    }

    #[inline(always)]
    fn enqueue(&mut self, _queue: usize, item: Item<T>) {
        if self.circle.push(self.placed, item) {
            self.turns[self.placed].deficit = Bytes(0);
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, _now: Instant) -> Option<Left<T>> {
        let bucket = self.select()?;
        let item = self.circle.pop(bucket)?;
        self.turns[bucket].deficit -= item.header.size();
        if self.circle.packets(bucket) == 0 {
            // DRR §3: an empty bucket keeps no deficit.
            self.turns[bucket] = Turn::default();
            self.circle.unlink(bucket);
        }
        Some(Left { item, queue: 0, ends_turn: false })
    }

    #[inline(always)]
    fn pass(&mut self, _now: Instant, _queue: usize, _size: Bytes) -> Option<bool> {
        if !self.circle.is_empty() {
            return None;
        }
        // DRR §3: an empty bucket keeps no deficit.
        self.turns[self.placed] = Turn::default();
        Some(false)
    }

    fn peek(&mut self, _now: Instant) -> Option<Bytes> {
        self.select().and_then(|bucket| self.circle.head(bucket))
    }

    #[inline(always)]
    fn queues(&self) -> &[QueueState] {
        self.circle.total()
    }

    fn observe(&self, tell: &mut dyn FnMut(Reading)) {
        let held = || self.circle.round().map(|bucket| self.circle.backlog(bucket)).filter(|held| held.0 > 0);
        let longest = held().max().unwrap_or_default();
        tell(Reading { quantity: "busy_buckets", queue: None, value: held().count() as f64 });
        tell(Reading { quantity: "longest_bucket_bytes", queue: None, value: longest.0 as f64 });
    }
}

#[cfg(test)]
mod tests;
