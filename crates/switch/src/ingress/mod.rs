//! Ingress accounting of a switch with lossless classes.
//!
//! Such a switch counts each packet twice, as SAI's objects do: at ingress (port → priority group → pool) in an [`IngressBook`], and at
//! egress (port → queue → pool) in a [`SharedBuffer`](crate::buffer::SharedBuffer). The ingress book bounds the memory of lossless
//! groups and decides when to pause their senders; the egress book bounds lossy queues. [`TwoBooks`] drives a node with both.
//!
//! A group is charged first in its reserved cells, then in the shared part of its pool up to its limit, then, if it is lossless, in
//! headroom. A group that can take no further cell without headroom is paused. Departures return headroom first, then shared cells, then
//! reserved ones. Each change of a pool's free part tests all of its groups again. The order of charges and the point of the pause are those
//! of Broadcom's chips, whose counts of packets `tests/ingress.rs` reproduces.

mod class_maps;
mod config;
mod group;
mod two_books;

use std::collections::{BTreeSet, VecDeque};

use shallows_core::Bytes;

pub use self::class_maps::ClassMaps;
pub use self::config::{Compares, Config, GroupConfig, GroupLimit, Lossless, PoolConfig};
use self::group::Account;
pub use self::group::GroupCounters;
pub use self::two_books::{Counted, TwoBooks};
use crate::buffer::Cell;
use crate::queue::Ingress;

/// Number of a priority group in its book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// Change of a priority group's state, which the driver carries to the sender at the other end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The sender must stop sending the priorities of this group.
    Pause(GroupId),
    /// The sender may go on.
    Resume(GroupId),
}

/// Reason for refusing a packet at ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IngressRefusal {
    /// The group is lossy and at its limit.
    GroupLimit,
    /// The headroom of the lossless group, or its headroom pool, is full.
    HeadroomFull,
}

/// Memory that takes the part of a packet for which no reserved cells are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Shared,
    Headroom,
}

/// Accounts of a chip's priority groups and their pools, in cells.
///
/// Invariants: the shared cells of a pool's groups add up to its `used` and never exceed its size; so do their headroom cells.
#[derive(Clone, Debug)]
pub struct IngressBook {
    cell: Cell,
    compares: Compares,
    pools: Vec<Pool>,
    groups: Vec<Account>,
    /// First group of each port.
    ports: Vec<u32>,
    signals: VecDeque<Signal>,
}

/// A pool, in cells.
#[derive(Clone, Debug)]
struct Pool {
    size: u64,
    used: u64,
    /// Size of the pool of headroom; `None` if every group owns its headroom.
    headroom: Option<u64>,
    headroom_used: u64,
    /// Sending groups, by the largest free part at which each is paused.
    armed: BTreeSet<(u64, GroupId)>,
    /// Paused groups that may go on without freeing headroom, by the least free part at which each is resumed.
    paused: BTreeSet<(u64, GroupId)>,
}

impl Pool {
    fn free(&self) -> u64 {
        self.size - self.used
    }
}

impl IngressBook {
    /// Creates a book without ports.
    ///
    /// # Panics
    ///
    /// Panics if there is no pool.
    pub fn new(config: &Config) -> Self {
        assert!(!config.pools.is_empty(), "a book has at least one pool");
        let cells = |size: Bytes| size.0 / config.cell.size().0;
        let pool = |pool: &PoolConfig| Pool {
            size: cells(pool.size),
            used: 0,
            headroom: pool.headroom.map(cells),
            headroom_used: 0,
            armed: BTreeSet::new(),
            paused: BTreeSet::new(),
        };
        Self {
            cell: config.cell,
            compares: config.compares,
            pools: config.pools.iter().map(pool).collect(),
            groups: Vec::new(),
            ports: Vec::new(),
            signals: VecDeque::new(),
        }
    }

    /// Adds a port with these groups, numbered from zero at the port. Returns its ingress.
    ///
    /// # Panics
    ///
    /// Panics if a pool does not exist.
    pub fn add_port(&mut self, groups: &[GroupConfig]) -> Ingress {
        self.ports.push(self.groups.len() as u32);
        for group in groups {
            assert!(group.pool < self.pools.len(), "no pool {}", group.pool);
            self.groups.push(Account::new(group, self.cell));
        }
        Ingress(self.ports.len() as u32 - 1)
    }

    /// Returns the group with this number at a port.
    pub fn group(&self, ingress: Ingress, number: u8) -> GroupId {
        GroupId(self.ports[ingress.0 as usize] + u32::from(number))
    }

    /// Returns whether a packet of `size` may join `group`, or the reason for refusing it.
    pub fn room(&self, group: GroupId, size: Bytes) -> Result<(), IngressRefusal> {
        self.place(group, size).map(|_| ())
    }

    /// Stores a packet of `size` in `group`, or counts its drop and returns the reason.
    pub fn admit(&mut self, group: GroupId, size: Bytes) -> Result<(), IngressRefusal> {
        match self.place(group, size) {
            Ok(place) => {
                let cells = self.cells(size);
                self.change(group, |account, pool| account.charge(cells, place, pool));
                Ok(())
            }
            Err(refusal) => {
                self.refuse(group);
                Err(refusal)
            }
        }
    }

    /// Counts the drop of a packet of `group` for which there is no room.
    fn refuse(&mut self, group: GroupId) {
        self.groups[group.0 as usize].counters.dropped += 1;
    }

    /// Frees the cells of a packet of `size` that leaves `group`.
    pub fn release(&mut self, group: GroupId, size: Bytes) {
        let cells = self.cells(size);
        self.change(group, |account, pool| account.free(cells, pool));
    }

    /// Returns the next signal to carry to a sender, in the order in which they arose.
    pub fn next_signal(&mut self) -> Option<Signal> {
        self.signals.pop_front()
    }

    /// Returns whether the sender of `group` is to be paused.
    pub fn is_paused(&self, group: GroupId) -> bool {
        self.groups[group.0 as usize].is_paused
    }

    /// Returns the memory that `group` occupies.
    pub fn occupancy(&self, group: GroupId) -> Bytes {
        self.cell.size() * self.groups[group.0 as usize].total()
    }

    /// Returns the headroom that `group` occupies.
    pub fn headroom(&self, group: GroupId) -> Bytes {
        self.cell.size() * self.groups[group.0 as usize].headroom
    }

    /// Returns the counters of `group` since the start.
    pub fn counters(&self, group: GroupId) -> GroupCounters {
        self.groups[group.0 as usize].counters
    }

    fn cells(&self, size: Bytes) -> u64 {
        self.cell.occupied(size).0 / self.cell.size().0
    }

    /// Returns the memory for a packet of `size` beyond the reserved cells of `group`.
    fn place(&self, group: GroupId, size: Bytes) -> Result<Place, IngressRefusal> {
        let account = &self.groups[group.0 as usize];
        let pool = &self.pools[account.pool];
        let rest = self.cells(size).saturating_sub(account.reserved_size - account.reserved);
        if rest == 0 || account.limit.admits(account.shared, rest, pool.free(), self.compares) {
            return Ok(Place::Shared);
        }
        let Some(lossless) = &account.lossless else { return Err(IngressRefusal::GroupLimit) };
        let pool_has_room = pool.headroom.is_none_or(|size| pool.headroom_used + rest <= size);
        if account.headroom + rest <= lossless.headroom && pool_has_room {
            Ok(Place::Headroom)
        } else {
            Err(IngressRefusal::HeadroomFull)
        }
    }

    /// Changes an account and its pool, and pauses and resumes the groups of the pool that the change concerns.
    fn change(&mut self, group: GroupId, change: impl FnOnce(&mut Account, &mut Pool)) {
        let account = &mut self.groups[group.0 as usize];
        let number = account.pool;
        let pool = &mut self.pools[number];
        account.leave_lists(group, pool, self.compares);
        change(account, pool);
        account.join_lists(group, pool, self.compares);
        self.test_groups(number);
    }

    /// Pauses the sending groups that can take no further cell, and resumes the paused groups that fell below their limits.
    fn test_groups(&mut self, number: usize) {
        let Self { pools, groups, signals, compares, .. } = self;
        let pool = &mut pools[number];
        let free = pool.free();
        while let Some(&(most, group)) = pool.armed.last()
            && free <= most
        {
            groups[group.0 as usize].turn(group, pool, *compares);
            signals.push_back(Signal::Pause(group));
        }
        while let Some(&(least, group)) = pool.paused.first()
            && free >= least
        {
            groups[group.0 as usize].turn(group, pool, *compares);
            signals.push_back(Signal::Resume(group));
        }
    }

    /// Checks the invariants of the accounting.
    ///
    /// # Panics
    ///
    /// Panics if an invariant is violated, which is a defect of this program.
    pub fn audit(&self) {
        for (number, pool) in self.pools.iter().enumerate() {
            let of_pool = || self.groups.iter().filter(|group| group.pool == number);
            assert_eq!(of_pool().map(|group| group.shared).sum::<u64>(), pool.used, "pool {number}: shared");
            let headroom: u64 = of_pool().map(|group| group.headroom).sum();
            assert_eq!(headroom, pool.headroom_used, "pool {number}: headroom");
            assert!(pool.used <= pool.size && pool.headroom.is_none_or(|size| headroom <= size));
        }
        for (number, group) in self.groups.iter().enumerate() {
            group.audit(number, self.pools[group.pool].free(), self.compares);
        }
    }
}
