//! The packet memory of a switch: a reserved buffer for each queue, and pools that several queues share.
//!
//! [`SharedBuffer`] counts the bytes. A [`Policy`] only limits each queue, so no policy can corrupt the accounting. The buffer never
//! pushes packets out. A policy with state is notified when a packet joins or leaves a queue. A chip that divides its memory into
//! [cells](Cell) stores each packet in whole cells, so all amounts in its buffer are multiples of a cell.

mod abm;
mod cell;
mod dynamic_threshold;
mod pool;

pub use abm::Config as AbmConfig;
use abm::{Abm, Place};
pub use cell::Cell;
pub use dynamic_threshold::{DtCounts, DynamicThreshold};
pub use pool::{Account, Memory, Pool, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, prefetch_all};

/// Upper limit on a backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Limit in bytes.
    Bytes(Bytes),
    /// Limit in packets of any size.
    Packets(u32),
}

impl Limit {
    /// Returns the limit in bytes if every packet has the size `packet`.
    pub fn in_bytes(self, packet: Bytes) -> Bytes {
        match self {
            Self::Bytes(limit) => limit,
            Self::Packets(count) => packet * u64::from(count),
        }
    }

    /// Returns whether a backlog of `bytes` in `packets` packets may grow by a packet of `size`.
    #[inline(always)]
    pub(crate) fn admits(self, bytes: Bytes, packets: u32, size: Bytes) -> bool {
        match self {
            Self::Bytes(limit) => bytes + size <= limit,
            Self::Packets(limit) => packets < limit,
        }
    }
}

/// Configuration of a switch's packet memory.
#[derive(Clone, Debug)]
pub struct Config {
    /// Rule that limits each queue.
    pub policy: Policy,
    /// Size of each pool.
    pub pools: Vec<Bytes>,
    /// Accounting of the reserved buffers.
    pub reserved_rule: ReservedRule,
    /// Cell of the memory; `None` if packets occupy their size on the wire.
    pub cell: Option<Cell>,
}

/// Rule that limits each queue's use of its pool.
#[derive(Clone, Debug)]
pub enum Policy {
    /// Limits each queue to a multiple of the free part of the pool.
    DynamicThreshold(DynamicThreshold),
    /// A fixed limit on each pool. Every port has a pool of its own, which the port's queues share.
    StaticPartition {
        /// The limit of each pool.
        limit: Limit,
    },
    /// No limit except the size of the pool.
    CompleteSharing,
    /// Limits each queue to a multiple of the free part of the pool, scaled by the queue's drain rate and divided by the number of
    /// congested queues.
    Abm(AbmConfig),
}

impl Config {
    /// Returns the maximum memory that each of `busy` ports occupies in steady state. The ports share a pool of size `pool`. Each port has
    /// one queue with `reserved` reserved bytes, and every packet has the size `packet`.
    pub fn limit(&self, pool: Bytes, reserved: Bytes, busy: usize, packet: Bytes) -> Bytes {
        let (pool, reserved, packet) = (self.whole(pool), self.whole(reserved), self.occupied(packet));
        let reserved = self.reserved_rule.usable(reserved, packet);
        self.policy.limit(pool, reserved, busy, packet) + reserved
    }

    /// Returns the bytes of memory that a packet of `size` occupies.
    pub fn occupied(&self, size: Bytes) -> Bytes {
        self.cell.map_or(size, |cell| cell.occupied(size))
    }

    /// Returns how many bytes packets can use in a memory of `size` bytes: `size` rounded down to whole cells.
    pub fn whole(&self, size: Bytes) -> Bytes {
        self.cell.map_or(size, |cell| cell.whole(size))
    }

    /// Returns the maximum number of bytes that `busy` ports together occupy in the pool in steady state. Each port has one queue with
    /// `reserved` reserved bytes, and every packet has the size `packet`.
    pub fn pool_limit(&self, pool: Bytes, reserved: Bytes, busy: usize, packet: Bytes) -> Bytes {
        let (pool, reserved, packet) = (self.whole(pool), self.whole(reserved), self.occupied(packet));
        // Queues that may take all free memory use the whole pool, even if it does not divide evenly among them.
        if matches!(self.policy, Policy::CompleteSharing) {
            return pool;
        }
        let each = self.policy.limit(pool, self.reserved_rule.usable(reserved, packet), busy, packet);
        pool.min(Bytes(each.0.saturating_mul(busy as u64)))
    }
}

impl Policy {
    /// Returns the largest backlog of each of `busy` ports in steady state, excluding the port's `reserved` bytes. The ports share a pool
    /// of size `pool`.
    fn limit(&self, pool: Bytes, reserved: Bytes, busy: usize, packet: Bytes) -> Bytes {
        match self {
            Self::DynamicThreshold(threshold) => threshold.limit(pool, reserved, busy),
            Self::StaticPartition { limit } => limit.in_bytes(packet),
            Self::CompleteSharing => Bytes(pool.0 / busy as u64),
            Self::Abm(abm) => abm.limit(pool, busy),
        }
    }
}

/// Accounting of a queue's reserved buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReservedRule {
    /// A packet adds its size to the counter of the reserved buffer when it joins, and subtracts it when it leaves.
    #[default]
    Exact,
    /// As in BCC's released simulator (myred.cc, 2017): an arriving packet is checked and counted with its size *plus the backlog*, but a
    /// departing packet subtracts only its size. The counter grows until only about one packet fits.
    AsReleased,
}

impl ReservedRule {
    /// Returns the amount that a packet of `size` adds to the counter of a queue's reserved buffer, if the queue holds `backlog` bytes.
    #[inline(always)]
    fn charge(self, backlog: Bytes, size: Bytes) -> Bytes {
        match self {
            Self::Exact => size,
            Self::AsReleased => size + backlog,
        }
    }

    /// Returns the part of `reserved` that a busy queue can use if every packet has the size `packet`.
    fn usable(self, reserved: Bytes, packet: Bytes) -> Bytes {
        match self {
            Self::Exact => reserved,
            // The counter grows until only a packet that arrives at an empty queue is admitted.
            Self::AsReleased => reserved.min(packet),
        }
    }
}

/// Accounts of a switch's packet memory.
///
/// Invariants: `used` of a pool is the sum of its queues' shared bytes and never exceeds the pool's size. The backlog
/// of a queue is the sum of its reserved and shared bytes.
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    rule: Rule,
    reserved_rule: ReservedRule,
    pools: Vec<Pool>,
    queues: Vec<Account>,
}

/// Rule of a buffer, with its state. Rules that count bytes and have no state are separate variants, and `repr(u8)` stores the variant in
/// a separate byte. These rules therefore check a packet with one comparison.
#[derive(Clone, Debug)]
#[repr(u8)]
enum Rule {
    DynamicThreshold(DynamicThreshold),
    StaticPartition { limit: Limit },
    CompleteSharing,
    Rare(Box<Rare>),
}

/// Rule that counts cells or has state.
#[derive(Clone, Debug)]
struct Rare {
    policy: Policy,
    cell: Cell,
    /// The state of [`Policy::Abm`].
    abm: Option<Abm>,
}

impl Rule {
    fn new(config: &Config) -> Self {
        match (&config.policy, config.cell) {
            (Policy::DynamicThreshold(threshold), None) => Self::DynamicThreshold(threshold.clone()),
            (&Policy::StaticPartition { limit }, None) => Self::StaticPartition { limit },
            (Policy::CompleteSharing, None) => Self::CompleteSharing,
            (policy, cell) => {
                let abm = if let Policy::Abm(abm) = policy { Some(Abm::new(abm)) } else { None };
                Self::Rare(Box::new(Rare { policy: policy.clone(), cell: cell.unwrap_or_default(), abm }))
            }
        }
    }

    /// Returns whether the rule's limit permits a packet of `size` from the queue of `account` in the pool.
    #[inline(always)]
    fn allows(&self, account: &Account, pool: &Pool, size: Bytes) -> bool {
        // The most common policy comes first, so that it costs one comparison.
        if let Self::DynamicThreshold(threshold) = self {
            return threshold.admits(account, pool, size);
        }
        match *self {
            Self::StaticPartition { limit } => limit.admits(pool.used, pool.packets, size),
            Self::CompleteSharing => true,
            Self::DynamicThreshold(_) | Self::Rare(_) => unreachable!("other branches decide"),
        }
    }

    fn abm(&self) -> Option<&Abm> {
        if let Self::Rare(rare) = self { rare.abm.as_ref() } else { None }
    }
}

impl Rare {
    /// Implements [`SharedBuffer::surely_has_room`] for this rule.
    fn surely_has_room(&self, backlog: Bytes, packets: u32, pool: &Pool, size: Bytes) -> bool {
        let size = self.cell.occupied(size);
        pool.used + size <= pool.size
            && match &self.policy {
                Policy::DynamicThreshold(threshold) => {
                    threshold.allows_cells(self.cell.most(backlog, packets), pool, size)
                }
                Policy::StaticPartition { limit } => limit.admits(pool.used, pool.packets, size),
                Policy::CompleteSharing => true,
                Policy::Abm(_) => false,
            }
    }
}

impl SharedBuffer {
    /// Creates an empty buffer without queues.
    ///
    /// # Panics
    ///
    /// Panics if there is no pool.
    pub fn new(config: &Config) -> Self {
        assert!(!config.pools.is_empty(), "a buffer has at least one pool");
        let pool = |&size: &Bytes| Pool { size: config.whole(size), used: Bytes(0), packets: 0 };
        Self {
            rule: Rule::new(config),
            reserved_rule: config.reserved_rule,
            pools: config.pools.iter().map(pool).collect(),
            queues: Vec::new(),
        }
    }

    /// Prefetches the accounts of the queues and pools into the cache.
    pub fn prefetch(&self) {
        prefetch_all(&self.queues);
        prefetch_all(&self.pools);
    }

    /// Adds the first queue of a port, and returns its number. The queue shares `pool` and has `reserved` bytes of its own.
    ///
    /// # Panics
    ///
    /// Panics if the pool does not exist.
    pub fn add_queue(&mut self, pool: usize, reserved: Bytes) -> usize {
        self.add(pool, reserved, Place::NewPort)
    }

    /// Adds another queue to the port of the last added queue. Only [`Policy::Abm`] distinguishes this from
    /// [`Self::add_queue`].
    ///
    /// # Panics
    ///
    /// Panics if the pool does not exist.
    pub fn add_sibling(&mut self, pool: usize, reserved: Bytes) -> usize {
        self.add(pool, reserved, Place::SamePort)
    }

    fn add(&mut self, pool: usize, reserved: Bytes, place: Place) -> usize {
        assert!(pool < self.pools.len(), "no pool {pool}");
        let mut reserved_size = reserved;
        if let Rule::Rare(rare) = &mut self.rule {
            reserved_size = rare.cell.whole(reserved);
            if let Some(abm) = &mut rare.abm {
                abm.add_queue(pool, place);
            }
        }
        self.queues.push(Account {
            pool,
            reserved_size,
            reserved_counter: Bytes(0),
            reserved: Bytes(0),
            shared: Bytes(0),
            packets: 0,
        });
        self.queues.len() - 1
    }

    /// Returns the memory for a packet of `size` that joins `queue`, or the reason for refusing the packet.
    #[inline(always)]
    pub fn room(&self, queue: usize, size: Bytes) -> Result<Memory, Refusal> {
        if let Rule::Rare(rare) = &self.rule {
            return self.rare_room(rare, queue, size);
        }
        let account = &self.queues[queue];
        if self.fits_reserved(account, size) {
            return Ok(Memory::Reserved);
        }
        let pool = &self.pools[account.pool];
        pool.room(self.rule.allows(account, pool, size), size)
    }

    /// Returns whether a packet that occupies `size` fits in the queue's reserved buffer.
    #[inline(always)]
    fn fits_reserved(&self, account: &Account, size: Bytes) -> bool {
        account.reserved_size.0 > 0
            && account.reserved_counter + self.reserved_rule.charge(account.backlog(), size)
                <= account.reserved_size
    }

    #[cold]
    #[inline(never)]
    fn rare_room(&self, rare: &Rare, queue: usize, size: Bytes) -> Result<Memory, Refusal> {
        let size = rare.cell.occupied(size);
        let account = &self.queues[queue];
        if self.fits_reserved(account, size) {
            return Ok(Memory::Reserved);
        }
        let pool = &self.pools[account.pool];
        let allowed = match &rare.policy {
            Policy::DynamicThreshold(threshold) => threshold.admits_cells(account, pool, size),
            Policy::StaticPartition { limit } => limit.admits(pool.used, pool.packets, size),
            Policy::CompleteSharing => true,
            Policy::Abm(_) => {
                let abm = rare.abm.as_ref().expect("the policy has its state");
                abm.admits(queue, account, pool, size)
            }
        };
        pool.room(allowed, size)
    }

    /// Returns whether a packet of `size` is certain to find room, both now and after packets of other ports leave the pool. The result
    /// applies to every queue that shares the pool of `queue` and holds at most `backlog` bytes and `packets` packets. If the result is
    /// `false`, there may still be room.
    #[inline(always)]
    pub fn surely_has_room(&self, queue: usize, (backlog, packets): (Bytes, u32), size: Bytes) -> bool {
        let pool = &self.pools[self.queues[queue].pool];
        pool.used + size <= pool.size
            && match &self.rule {
                Rule::DynamicThreshold(threshold) => threshold.allows(backlog + size, pool),
                Rule::StaticPartition { limit } => limit.admits(pool.used, pool.packets, size),
                Rule::CompleteSharing => true,
                Rule::Rare(rare) => rare.surely_has_room(backlog, packets, pool, size),
            }
    }

    /// Stores a packet of `size` in `queue` and `memory`, after [`Self::room`] has returned that memory.
    #[inline(always)]
    pub fn take(&mut self, queue: usize, size: Bytes, memory: Memory) {
        if matches!(self.rule, Rule::Rare(_)) {
            return self.rare_take(queue, size, memory);
        }
        self.count_in(queue, size, memory);
    }

    #[inline(always)]
    fn count_in(&mut self, queue: usize, size: Bytes, memory: Memory) {
        let account = &mut self.queues[queue];
        account.packets += 1;
        match memory {
            Memory::Reserved => {
                account.reserved_counter += self.reserved_rule.charge(account.backlog(), size);
                account.reserved += size;
            }
            Memory::Shared => {
                account.shared += size;
                let pool = &mut self.pools[account.pool];
                pool.used += size;
                pool.packets += 1;
            }
        }
    }

    /// Stores a packet of `size` in `queue`. Returns the memory that holds the packet, or the reason for refusing it.
    #[inline]
    pub fn admit(&mut self, queue: usize, size: Bytes) -> Result<Memory, Refusal> {
        let memory = self.room(queue, size)?;
        self.take(queue, size, memory);
        Ok(memory)
    }

    /// Frees the bytes that a packet of this `size` in `queue` occupied in `memory`.
    #[inline(always)]
    pub fn release(&mut self, queue: usize, size: Bytes, memory: Memory) {
        if matches!(self.rule, Rule::Rare(_)) {
            return self.rare_release(queue, size, memory);
        }
        self.count_out(queue, size, memory);
    }

    #[inline(always)]
    fn count_out(&mut self, queue: usize, size: Bytes, memory: Memory) {
        let account = &mut self.queues[queue];
        account.packets -= 1;
        match memory {
            Memory::Reserved => {
                account.reserved -= size;
                account.reserved_counter -= size;
            }
            Memory::Shared => {
                account.shared -= size;
                let pool = &mut self.pools[account.pool];
                pool.used -= size;
                pool.packets -= 1;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn rare_take(&mut self, queue: usize, size: Bytes, memory: Memory) {
        self.count_in(queue, self.occupied(size), memory);
        if let Rule::Rare(rare) = &mut self.rule
            && let Some(abm) = &mut rare.abm
        {
            let account = &self.queues[queue];
            abm.on_take(queue, account, &self.pools[account.pool]);
        }
    }

    #[cold]
    #[inline(never)]
    fn rare_release(&mut self, queue: usize, size: Bytes, memory: Memory) {
        self.count_out(queue, self.occupied(size), memory);
        if let Rule::Rare(rare) = &mut self.rule
            && let Some(abm) = &mut rare.abm
        {
            let account = &self.queues[queue];
            abm.on_release(queue, account, &self.pools[account.pool], size);
        }
    }

    /// Returns the bytes that a packet of `size` occupies: whole cells, or its size if the memory has no cells.
    pub fn occupied(&self, size: Bytes) -> Bytes {
        if let Rule::Rare(rare) = &self.rule { rare.cell.occupied(size) } else { size }
    }

    /// Returns an upper bound on the memory that `packets` packets with a total of `size` bytes occupy.
    pub fn most_occupied(&self, size: Bytes, packets: u32) -> Bytes {
        if let Rule::Rare(rare) = &self.rule { rare.cell.most(size, packets) } else { size }
    }

    /// Returns the pool that `queue` shares.
    pub fn pool_of(&self, queue: usize) -> &Pool {
        &self.pools[self.queues[queue].pool]
    }

    /// Returns all pools, in order of their numbers.
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }

    /// Returns the account of `queue`.
    pub fn queue(&self, queue: usize) -> &Account {
        &self.queues[queue]
    }

    /// Returns the current limit of `queue` in its pool, if the policy has one.
    pub fn threshold(&self, queue: usize) -> Option<Bytes> {
        let (account, pool) = (&self.queues[queue], self.pool_of(queue));
        match &self.rule {
            Rule::DynamicThreshold(threshold) => Some(threshold.threshold(pool)),
            Rule::Rare(rare) => match &rare.policy {
                Policy::DynamicThreshold(threshold) => Some(threshold.threshold(pool)),
                _ => Some(self.rule.abm()?.threshold(queue, account, pool)),
            },
            Rule::StaticPartition { .. } | Rule::CompleteSharing => None,
        }
    }

    /// Checks the invariants of the accounting.
    ///
    /// # Panics
    ///
    /// Panics if an invariant is violated, which is a defect of this program.
    pub fn audit(&self) {
        for (number, pool) in self.pools.iter().enumerate() {
            let held: u64 =
                self.queues.iter().filter(|queue| queue.pool == number).map(|queue| queue.shared.0).sum();
            assert_eq!(held, pool.used.0, "pool {number} counts what its queues hold");
            assert_eq!(pool.packets == 0, pool.used.0 == 0, "pool {number} counts packets and bytes alike");
            assert!(pool.used <= pool.size, "pool {number} holds {} of {}", pool.used, pool.size);
            assert_eq!(pool.used, self.occupied(pool.used), "pool {number} counts whole cells");
        }
        for (number, queue) in self.queues.iter().enumerate() {
            assert!(queue.reserved <= queue.reserved_size, "queue {number} overran its reserve");
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
