//! Stochastic Fairness Queueing: flows are hashed to buckets, which take turns to send one packet each.
//!
//! Source: SFQ (McKenney, INFOCOM '90), and ns-2.35's sfq.cc for its drop rule. `circle` implements the circle of
//! buckets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant};

use super::circle::{self, Circle};
use super::flow_hash::FlowHash;
use super::interface::Discipline;
use super::periodic::Periodic;
use crate::queue::{DropReason, Item, Left, QueueState, Reading};

/// Parameters of SFQ. The default sizes are ns-2's; all other defaults are McKenney's.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Number of buckets.
    pub buckets: u32,
    /// Limit on all buckets together, in packets.
    pub max_packets: u32,
    /// Fields from which the hash of a packet is computed; ns-2 uses [`FlowHash::AddressSum`].
    pub hash: FlowHash,
    /// Time between changes of the hash; `None` if it never changes. Waiting packets stay in their buckets, so a change may
    /// reorder a flow.
    pub perturbation: Option<Duration>,
    /// Rule for an arrival at a full port.
    pub drop: DropRule,
}

impl Default for Config {
    fn default() -> Self {
        // ns-2.35 ns-default.tcl: Queue/SFQ; the hash of SFQ (INFOCOM '90): source-destination address pair.
        Self {
            buckets: 16,
            max_packets: 40,
            hash: FlowHash::AddressPair,
            perturbation: None,
            drop: DropRule::StealTail,
        }
    }
}

/// Rule for an arrival at a full port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "SfqDrop")]
pub enum DropRule {
    /// Buffer stealing: the longest bucket, counting the arriving packet, loses its last packet. In a tie the arriving
    /// packet is refused.
    #[default]
    StealTail,
    /// Buffer stealing from the head: the longest bucket loses its first packet.
    StealHead,
    /// The rule of ns-2's sfq.cc: the arriving packet is refused if its bucket holds at least half as many packets as the port still has
    /// room for. It is also refused if its bucket holds more than a fair share of the port's limit and the port has room for fewer
    /// packets than there are buckets.
    AsNs2,
}

/// Buckets that take turns to send one packet each. The port treats all buckets as one queue.
#[derive(Clone, Debug)]
pub struct Sfq<T> {
    circle: Circle<T>,
    max_packets: u32,
    drop: DropRule,
    hash: FlowHash,
    seed: u64,
    perturbation: Option<Periodic>,
    stream: Stream,
    /// Bucket that the last call of `place` chose.
    placed: usize,
}

/// Returns the bytes that a port's empty buckets occupy in the simulator's memory.
pub(super) fn footprint<T>(config: &Config) -> u64 {
    circle::footprint::<T>(config.buckets)
}

impl<T: Copy + Default> Sfq<T> {
    /// Creates empty buckets with hashes drawn from `stream`.
    ///
    /// # Panics
    ///
    /// Panics if `buckets` is zero, if `max_packets` is too small to admit any packet, or if `perturbation` is set for a hash without a
    /// seed.
    pub fn new(config: &Config, mut stream: Stream) -> Self {
        let Config { buckets, max_packets, hash, perturbation, drop } = *config;
        assert!(buckets > 0, "sfq: flows are hashed to at least one bucket");
        let least = if drop == DropRule::AsNs2 { 2 } else { 1 };
        assert!(max_packets >= least, "sfq: with {max_packets} packets at most none is ever admitted");
        assert!(perturbation.is_none() || hash.is_seeded(), "sfq: a hash without a seed cannot be perturbed");
        Self {
            circle: Circle::new(buckets as usize),
            max_packets,
            drop,
            hash,
            seed: stream.next_u64(),
            perturbation: perturbation.map(Periodic::new),
            stream,
            placed: 0,
        }
    }

    #[inline(always)]
    fn bucket_of(&mut self, now: Instant, header: &Header) -> usize {
        // SFQ (INFOCOM '90): the hash changes periodically, so that no two flows share a bucket forever.
        if self.perturbation.as_mut().and_then(|periodic| periodic.due(now)).is_some() {
            self.seed = self.stream.next_u64();
        }
        self.hash.bucket(header, self.seed, self.circle.len())
    }

    /// Returns the bucket with the most packets, including an arriving packet in bucket `own`; in a tie, `own`. The search takes one step
    /// per bucket with packets.
    fn longest(&self, own: usize) -> usize {
        let arriving = (own, self.circle.packets(own) + 1);
        let longer = |longest: (usize, u32), bucket| {
            let packets = self.circle.packets(bucket);
            if packets > longest.1 { (bucket, packets) } else { longest }
        };
        self.circle.round().fold(arriving, longer).0
    }

    /// Applies the admission rule of ns-2.35 sfq.cc, enque().
    fn admit_as_ns2(&self) -> Result<usize, DropReason> {
        let used = self.circle.packets(self.placed);
        let left = self.max_packets - self.circle.total()[0].packets;
        let buckets = self.circle.len() as u32;
        if left / 2 == 0 {
            return Err(DropReason::PortLimit);
        }
        if used >= left / 2 || (left < buckets && used > self.max_packets / buckets) {
            return Err(DropReason::QueueLimit);
        }
        Ok(0)
    }
}

impl<T: Copy + Default> Discipline<T> for Sfq<T> {
    #[inline(always)]
    fn push_out(&mut self, now: Instant, arriving: &Header) -> Option<Left<T>> {
        if self.drop == DropRule::AsNs2 || self.circle.total()[0].packets < self.max_packets {
            return None;
        }
        let own = self.bucket_of(now, arriving);
        let longest = self.longest(own);
        let item = match self.drop {
            DropRule::StealHead => self.circle.pop(longest)?,
            // The last packet is the arriving one; `place` refuses it.
            _ if longest == own => return None,
            _ => self.circle.pop_back(longest)?,
        };
        Some(Left { item, queue: 0, ends_turn: false })
    }

    #[inline(always)]
    fn place(&mut self, now: Instant, header: &Header) -> Result<usize, DropReason> {
        self.placed = self.bucket_of(now, header);
        match self.drop {
            DropRule::AsNs2 => self.admit_as_ns2(),
            _ if self.circle.total()[0].packets < self.max_packets => Ok(0),
            _ => Err(DropReason::PortLimit),
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, _queue: usize, item: Item<T>) {
        self.circle.push(self.placed, item);
    }

    #[inline(always)]
    fn dequeue(&mut self, _now: Instant) -> Option<Left<T>> {
        let bucket = self.circle.current()?;
        let item = self.circle.pop(bucket)?;
        // SFQ (INFOCOM '90): strict round-robin, one packet at each visit.
        if self.circle.packets(bucket) == 0 {
            self.circle.unlink(bucket);
        } else {
            self.circle.advance();
        }
        Some(Left { item, queue: 0, ends_turn: false })
    }

    #[inline(always)]
    fn pass(&mut self, _now: Instant, _queue: usize, _size: Bytes) -> Option<bool> {
        if self.circle.is_empty() { Some(false) } else { None }
    }

    fn peek(&mut self, _now: Instant) -> Option<Bytes> {
        self.circle.current().and_then(|bucket| self.circle.head(bucket))
    }

    #[inline(always)]
    fn queues(&self) -> &[QueueState] {
        self.circle.total()
    }

    fn observe(&self, tell: &mut dyn FnMut(Reading)) {
        let held = || self.circle.round().map(|bucket| self.circle.packets(bucket)).filter(|&held| held > 0);
        let longest = held().max().unwrap_or_default();
        tell(Reading { quantity: "busy_buckets", queue: None, value: held().count() as f64 });
        tell(Reading { quantity: "longest_bucket_packets", queue: None, value: f64::from(longest) });
    }
}

#[cfg(test)]
mod tests;
