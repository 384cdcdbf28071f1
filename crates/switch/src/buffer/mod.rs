//! The packet memory of a switch: bytes reserved for each queue, and pools that queues share.
//!
//! `SharedBuffer` counts the bytes; a [`Policy`] only decides how far each queue may grow, so no policy can
//! corrupt the accounting. Nothing is ever pushed out. A policy with a state is told what joins and leaves.

mod abm;
mod dynamic_threshold;
mod pool;

pub use abm::Config as AbmConfig;
use abm::{Abm, Place};
pub use dynamic_threshold::{DtCounts, DynamicThreshold};
pub use pool::{Pool, Queue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, prefetch_all};

/// Which part of a switch's memory holds a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// The bytes reserved for its queue.
    Private,
    /// The pool that its queue shares with others.
    #[default]
    Shared,
}

/// A bound on a backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// In bytes.
    Bytes(Bytes),
    /// In packets of any size.
    Packets(u32),
}

impl Limit {
    /// The bound in bytes, if every packet has this size.
    pub fn in_bytes(self, packet: Bytes) -> Bytes {
        match self {
            Self::Bytes(limit) => limit,
            Self::Packets(count) => packet * u64::from(count),
        }
    }
}

/// How a buffer is divided.
#[derive(Clone, Debug)]
pub struct Config {
    /// What decides how far a queue may grow.
    pub policy: Policy,
    /// Size of each pool, which its queues share.
    pub pools: Vec<Bytes>,
    /// How the reserved bytes are counted.
    pub private_rule: PrivateRule,
}

/// How long each queue may grow into its pool.
#[derive(Clone, Debug)]
pub enum Policy {
    /// In proportion to what the pool has free.
    DynamicThreshold(DynamicThreshold),
    /// As long as its pool holds no more than a fixed limit: every port has a pool of its own, in which its queues share.
    StaticPartition {
        /// The limit of each pool.
        limit: Limit,
    },
    /// As long as the pool has room.
    CompleteSharing,
    /// In proportion to what the pool has free, to the rate at which it drains, and to one over the congested queues.
    Abm(AbmConfig),
}

impl Config {
    /// The most that each of `busy` ports can hold for long in a pool of this size, if each has one queue with `private` bytes of its
    /// own, and packets have the size `packet`.
    pub fn limit(&self, pool: Bytes, private: Bytes, busy: usize, packet: Bytes) -> Bytes {
        let private = self.private_rule.usable(private, packet);
        self.policy.limit(pool, private, busy, packet) + private
    }

    /// The most that the pool itself can hold for long, likewise.
    pub fn pool_limit(&self, pool: Bytes, private: Bytes, busy: usize, packet: Bytes) -> Bytes {
        // Where queues take what is free they have all of it, which does not divide evenly.
        if matches!(self.policy, Policy::CompleteSharing) {
            return pool;
        }
        let each = self.policy.limit(pool, self.private_rule.usable(private, packet), busy, packet);
        pool.min(Bytes(each.0.saturating_mul(busy as u64)))
    }
}

impl Policy {
    /// The most that each of `busy` ports can hold for long in a pool of this size, beside its `private` bytes.
    fn limit(&self, pool: Bytes, private: Bytes, busy: usize, packet: Bytes) -> Bytes {
        match self {
            Self::DynamicThreshold(threshold) => threshold.limit(pool, private, busy),
            Self::StaticPartition { limit } => limit.in_bytes(packet),
            Self::CompleteSharing => Bytes(pool.0 / busy as u64),
            Self::Abm(abm) => abm.limit(pool, busy),
        }
    }
}

/// How the private bytes, those reserved for a queue, are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrivateRule {
    /// A packet takes its size from the reserve and gives it back when it leaves.
    #[default]
    Exact,
    /// As in BCC's released simulator (myred.cc, 2017): the test and the counter use packet size *plus backlog*,
    /// the release only the packet size, so that the counter leaks upward until about one packet fits.
    AsReleased,
}

impl PrivateRule {
    /// What a packet that finds this `backlog` in its queue adds to the counter.
    #[inline(always)]
    fn charge(self, backlog: Bytes, size: Bytes) -> Bytes {
        match self {
            Self::Exact => size,
            Self::AsReleased => size + backlog,
        }
    }

    /// How many of so many reserved bytes a busy queue can use, if packets have the size `packet`.
    fn usable(self, reserved: Bytes, packet: Bytes) -> Bytes {
        match self {
            Self::Exact => reserved,
            // The counter leaks until only a packet that meets an empty queue is admitted.
            Self::AsReleased => reserved.min(packet),
        }
    }
}

/// Why a buffer refused a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The policy lets the queue grow no further.
    QueueLimit,
    /// The pool has no room left.
    PoolFull,
}

/// Occupancy of a switch's packet memory.
///
/// Invariants: a pool's `used` is the sum of its queues' shared bytes and never exceeds its size; a queue's
/// backlog is its private and shared bytes together.
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    policy: Policy,
    private_rule: PrivateRule,
    pools: Vec<Pool>,
    queues: Vec<Queue>,
    /// The state of [`Policy::Abm`].
    abm: Option<Box<Abm>>,
}

impl SharedBuffer {
    /// An empty buffer without queues.
    ///
    /// # Panics
    ///
    /// If there is no pool.
    pub fn new(config: &Config) -> Self {
        assert!(!config.pools.is_empty(), "a buffer has at least one pool");
        Self {
            policy: config.policy.clone(),
            private_rule: config.private_rule,
            pools: config.pools.iter().map(|&size| Pool { size, used: Bytes(0), packets: 0 }).collect(),
            queues: Vec::new(),
            abm: match &config.policy {
                Policy::Abm(abm) => Some(Box::new(Abm::new(abm))),
                _ => None,
            },
        }
    }

    /// Have the processor load its accounts.
    pub fn prefetch(&self) {
        prefetch_all(&self.queues);
        prefetch_all(&self.pools);
    }

    /// Add a queue that shares `pool` and has `private` bytes of its own, the first of a port; returns its number.
    ///
    /// # Panics
    ///
    /// If there is no such pool.
    pub fn add_queue(&mut self, pool: usize, private: Bytes) -> usize {
        self.add(pool, private, Place::NewPort)
    }

    /// Likewise, but the next queue of the same port as the one added last. Only [`Policy::Abm`] tells the difference.
    ///
    /// # Panics
    ///
    /// If there is no such pool.
    pub fn add_sibling(&mut self, pool: usize, private: Bytes) -> usize {
        self.add(pool, private, Place::SamePort)
    }

    fn add(&mut self, pool: usize, private: Bytes, place: Place) -> usize {
        assert!(pool < self.pools.len(), "no pool {pool}");
        if let Some(abm) = &mut self.abm {
            abm.add_queue(pool, place);
        }
        self.queues.push(Queue {
            pool,
            private_size: private,
            private_counter: Bytes(0),
            private: Bytes(0),
            shared: Bytes(0),
            packets: 0,
        });
        self.queues.len() - 1
    }

    /// Where a packet of `size` would be held that joins `queue`, or why there is no room for it.
    #[inline(always)]
    pub fn room(&self, queue: usize, size: Bytes) -> Result<Memory, Refusal> {
        let account = &self.queues[queue];
        if account.private_size.0 > 0
            && account.private_counter + self.private_rule.charge(account.backlog(), size)
                <= account.private_size
        {
            return Ok(Memory::Private);
        }
        let pool = &self.pools[account.pool];
        if !self.within_limit(queue, account, pool, size) {
            return Err(Refusal::QueueLimit);
        }
        if pool.used + size > pool.size {
            return Err(Refusal::PoolFull);
        }
        Ok(Memory::Shared)
    }

    /// Whether a packet of `size` surely finds room in any queue that holds at most `backlog` and shares the pool of `queue`, and does so
    /// too when the pool holds less.
    #[inline(always)]
    pub fn surely_has_room(&self, queue: usize, backlog: Bytes, size: Bytes) -> bool {
        let pool = &self.pools[self.queues[queue].pool];
        pool.used + size <= pool.size
            && match &self.policy {
                Policy::DynamicThreshold(threshold) => threshold.allows(backlog + size, pool),
                Policy::StaticPartition { limit: Limit::Bytes(limit) } => pool.used + size <= *limit,
                Policy::StaticPartition { limit: Limit::Packets(limit) } => pool.packets < *limit,
                Policy::CompleteSharing => true,
                Policy::Abm(_) => false,
            }
    }

    /// Hold a packet of `size` in `queue`, where [`Self::room`] has found that it fits.
    #[inline(always)]
    pub fn take(&mut self, queue: usize, size: Bytes, memory: Memory) {
        let account = &mut self.queues[queue];
        account.packets += 1;
        match memory {
            Memory::Private => {
                account.private_counter += self.private_rule.charge(account.backlog(), size);
                account.private += size;
            }
            Memory::Shared => {
                account.shared += size;
                let pool = &mut self.pools[account.pool];
                pool.used += size;
                pool.packets += 1;
            }
        }
        if self.abm.is_some() {
            self.abm_takes(queue);
        }
    }

    /// Take room for a packet of `size` in `queue`, or say why there is none.
    #[inline]
    pub fn admit(&mut self, queue: usize, size: Bytes) -> Result<Memory, Refusal> {
        let memory = self.room(queue, size)?;
        self.take(queue, size, memory);
        Ok(memory)
    }

    /// Give back the `size` bytes that a packet of `queue` held in `memory`.
    #[inline(always)]
    pub fn release(&mut self, queue: usize, size: Bytes, memory: Memory) {
        let account = &mut self.queues[queue];
        account.packets -= 1;
        match memory {
            Memory::Private => {
                account.private -= size;
                account.private_counter -= size;
            }
            Memory::Shared => {
                account.shared -= size;
                let pool = &mut self.pools[account.pool];
                pool.used -= size;
                pool.packets -= 1;
            }
        }
        if self.abm.is_some() {
            self.abm_releases(queue, size);
        }
    }

    /// Whether the policy lets a queue grow by `size` in its pool.
    #[inline(always)]
    fn within_limit(&self, index: usize, queue: &Queue, pool: &Pool, size: Bytes) -> bool {
        // The usual one comes alone, so that it costs one comparison.
        if let Policy::DynamicThreshold(threshold) = &self.policy {
            return threshold.admits(queue, pool, size);
        }
        match &self.policy {
            Policy::DynamicThreshold(_) => unreachable!("it has its answer"),
            Policy::StaticPartition { limit: Limit::Bytes(limit) } => pool.used + size <= *limit,
            Policy::StaticPartition { limit: Limit::Packets(limit) } => pool.packets < *limit,
            Policy::CompleteSharing => true,
            Policy::Abm(_) => self.abm_admits(index, size),
        }
    }

    #[cold]
    fn abm_admits(&self, queue: usize, size: Bytes) -> bool {
        let (account, pool) = (&self.queues[queue], self.pool_of(queue));
        self.abm.as_ref().expect("the policy has its state").admits(queue, account, pool, size)
    }

    #[cold]
    fn abm_takes(&mut self, queue: usize) {
        let account = &self.queues[queue];
        let abm = self.abm.as_mut().expect("the policy has its state");
        abm.on_take(queue, account, &self.pools[account.pool]);
    }

    #[cold]
    fn abm_releases(&mut self, queue: usize, size: Bytes) {
        let account = &self.queues[queue];
        let abm = self.abm.as_mut().expect("the policy has its state");
        abm.on_release(queue, account, &self.pools[account.pool], size);
    }

    /// The pool that `queue` shares.
    pub fn pool_of(&self, queue: usize) -> &Pool {
        &self.pools[self.queues[queue].pool]
    }

    /// The pools, by number.
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }

    /// What `queue` holds.
    pub fn queue(&self, queue: usize) -> &Queue {
        &self.queues[queue]
    }

    /// How far `queue` may grow into its pool now, where the policy has such a threshold.
    pub fn threshold(&self, queue: usize) -> Option<Bytes> {
        let (account, pool) = (&self.queues[queue], self.pool_of(queue));
        match (&self.policy, &self.abm) {
            (Policy::DynamicThreshold(threshold), _) => Some(threshold.threshold(pool)),
            (_, Some(abm)) => Some(abm.threshold(queue, account, pool)),
            _ => None,
        }
    }

    /// Check the invariants of the accounting.
    ///
    /// # Panics
    ///
    /// If the books do not balance, which is a defect of this program.
    pub fn audit(&self) {
        for (number, pool) in self.pools.iter().enumerate() {
            let held: u64 =
                self.queues.iter().filter(|queue| queue.pool == number).map(|queue| queue.shared.0).sum();
            assert_eq!(held, pool.used.0, "pool {number} counts what its queues hold");
            assert_eq!(pool.packets == 0, pool.used.0 == 0, "pool {number} counts packets and bytes alike");
            assert!(pool.used <= pool.size, "pool {number} holds {} of {}", pool.used, pool.size);
        }
        for (number, queue) in self.queues.iter().enumerate() {
            assert!(queue.private <= queue.private_size, "queue {number} overran its reserve");
            assert_eq!(
                queue.packets == 0,
                queue.backlog().0 == 0,
                "queue {number} counts packets and bytes alike"
            );
        }
    }
}

#[cfg(test)]
mod tests;
