//! The ingress book: the accounts of all priority groups and pools of a chip.

use std::collections::VecDeque;

use shallows_core::Bytes;

use super::config::{Compares, Config, GroupConfig, PoolConfig};
use super::group::{Account, GroupCounters};
use super::pool::{GroupId, IngressRefusal, Place, Pool, Room, Signal};
use crate::buffer::Cell;
use crate::queue::Ingress;

/// Accounts of a chip's priority groups and pools, in cells.
///
/// Invariants: the shared cells of all groups of a pool add up to the pool's `used`, which never exceeds its size. The headroom cells of
/// these groups add up to `headroom_used`, which never exceeds the size of the headroom pool, if there is one.
#[derive(Clone, Debug)]
pub struct IngressBook {
    cell: Cell,
    compares: Compares,
    pools: Vec<Pool>,
    groups: Vec<Account>,
    /// Number of groups of each port; zero without ports.
    groups_of_port: u32,
    signals: VecDeque<Signal>,
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
            pauses_below: 0,
            resumes_from: u64::MAX,
            paused: 0,
            calm_below: if config.compares.tests_own_group() { 0 } else { cells(pool.size) },
            // `add_port` sets this limit.
            calm_limit: 0,
        };
        Self {
            cell: config.cell,
            compares: config.compares,
            pools: config.pools.iter().map(pool).collect(),
            groups: Vec::new(),
            groups_of_port: 0,
            signals: VecDeque::new(),
        }
    }

    /// Adds a port with these groups, which are numbered from zero at the port. Returns the ingress of the port.
    ///
    /// # Panics
    ///
    /// Panics if a pool does not exist, or if an earlier port has a different number of groups.
    pub fn add_port(&mut self, groups: &[GroupConfig]) -> Ingress {
        let (port, of_port) = (self.groups.len() / groups.len(), groups.len() as u32);
        assert!(port == 0 || self.groups_of_port == of_port, "all ports have {} groups", self.groups_of_port);
        self.groups_of_port = of_port;
        for group in groups {
            assert!(group.pool < self.pools.len(), "no pool {}", group.pool);
            let account = Account::new(group, self.cell);
            let pool = &mut self.pools[group.pool];
            pool.calm_below = pool.calm_below.min(account.calm_below(pool.size, self.compares));
            pool.calm_limit = pool.calm_below;
            self.groups.push(account);
        }
        Ingress(port as u32)
    }

    /// Returns the group that has this number at the port of `ingress`.
    pub fn group(&self, ingress: Ingress, number: u8) -> GroupId {
        GroupId(ingress.0 * self.groups_of_port + u32::from(number))
    }

    /// Returns the room for a packet of `size` in `group`, or the reason for refusing it.
    pub fn room(&self, group: GroupId, size: Bytes) -> Result<Room, IngressRefusal> {
        let cells = self.cells(size);
        self.place(group, cells).map(|place| Room { cells, place })
    }

    /// Stores a packet in the room that [`Self::room`] has returned for it; the book must not have changed since then. Returns whether
    /// groups have changed their state, so that [`Self::next_signal`] has signals.
    #[inline(always)]
    pub fn store(&mut self, group: GroupId, room: Room) -> bool {
        debug_assert_eq!(self.place(group, room.cells), Ok(room.place), "the room of group {group:?}");
        let account = &mut self.groups[group.0 as usize];
        let pool = &mut self.pools[account.pool];
        account.charge(room.cells, room.place, pool);
        (!pool.stays_calm() || room.place == Place::Headroom) && self.test(group, true)
    }

    /// Stores a packet of `size` in `group`. If there is no room, counts the packet as dropped and returns the reason.
    pub fn admit(&mut self, group: GroupId, size: Bytes) -> Result<(), IngressRefusal> {
        let room = self.room(group, size).inspect_err(|_| self.refuse(group))?;
        self.store(group, room);
        Ok(())
    }

    /// Counts a packet of `group` as dropped because there is no room for it.
    pub fn refuse(&mut self, group: GroupId) {
        self.groups[group.0 as usize].counters.dropped += 1;
    }

    /// Frees the cells of a packet of `size` that leaves `group`. Returns whether groups have changed their state, so that
    /// [`Self::next_signal`] has signals.
    #[inline(always)]
    pub fn release(&mut self, group: GroupId, size: Bytes) -> bool {
        let cells = self.cells(size);
        let account = &mut self.groups[group.0 as usize];
        let pool = &mut self.pools[account.pool];
        account.free(cells, pool);
        !pool.stays_calm() && self.test(group, false)
    }

    /// Returns whether the book must charge and free even a packet that leaves at once. The packet can then change the state of its group,
    /// because the book tests a group at each packet of the group.
    pub fn counts_passing(&self) -> bool {
        self.compares.tests_own_group()
    }

    /// Removes and returns the oldest signal; the driver must carry it to the sender of the group.
    pub fn next_signal(&mut self) -> Option<Signal> {
        self.signals.pop_front()
    }

    /// Returns whether the sender of `group` must be paused.
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

    /// Returns the size of the headroom of `group`; zero for a lossy group.
    pub fn headroom_size(&self, group: GroupId) -> Bytes {
        let lossless = self.groups[group.0 as usize].lossless;
        self.cell.size() * lossless.map_or(0, |lossless| lossless.headroom)
    }

    /// Returns the cell of the memory.
    pub fn cell(&self) -> Cell {
        self.cell
    }

    /// Returns the counters of `group` since the start.
    pub fn counters(&self, group: GroupId) -> GroupCounters {
        self.groups[group.0 as usize].counters
    }

    fn cells(&self, size: Bytes) -> u64 {
        // Most memories have no cells and need no division.
        if self.cell.size() == Bytes(1) { size.0 } else { size.0.div_ceil(self.cell.size().0) }
    }

    /// Chooses the memory for the part of a packet that does not fit in the reserved cells of `group`. `cells` is the size of the whole
    /// packet. Returns an error with the reason if there is no room for this part.
    fn place(&self, group: GroupId, cells: u64) -> Result<Place, IngressRefusal> {
        let account = &self.groups[group.0 as usize];
        let pool = &self.pools[account.pool];
        if pool.used + cells < pool.calm_limit {
            return Ok(Place::Shared);
        }
        let rest = cells.saturating_sub(account.reserved_size - account.reserved);
        let must_be_headroom = self.compares == Compares::Ns3Datacenter && account.headroom > 0;
        if rest == 0
            || !must_be_headroom && account.limit.admits(account.shared, rest, pool.free(), self.compares)
        {
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

    /// Pauses or resumes each group whose state must change after the arrival or departure of a packet of `group`. Returns whether there
    /// are signals.
    #[inline(never)]
    fn test(&mut self, group: GroupId, is_arrival: bool) -> bool {
        let account = &mut self.groups[group.0 as usize];
        let number = account.pool;
        let pool = &mut self.pools[number];
        if self.compares.tests_own_group() {
            // An arrival can only pause the group, and a departure can only resume it.
            if account.is_paused != is_arrival && account.is_due(pool.free(), self.compares) {
                self.signals.push_back(account.turn(group, pool));
            }
        } else {
            account.widen(pool, self.compares);
            if pool.is_calm() || pool.is_due() {
                self.test_groups(number);
            }
        }
        !self.signals.is_empty()
    }

    /// Tests the groups of pool `number`. Pauses each sending group that can take no further cell, beginning with the one that is farthest
    /// above its limit. Then resumes each paused group that has fallen below its limit. Makes `pauses_below` and `resumes_from` of the pool
    /// exact.
    #[inline(never)]
    fn test_groups(&mut self, number: usize) {
        let Self { pools, groups, signals, compares, .. } = self;
        let pool = &mut pools[number];
        let free = pool.free();
        let (mut pauses, mut resumes) = (Vec::new(), Vec::new());
        for (place, group) in groups.iter().enumerate().filter(|(_, group)| group.pool == number) {
            if group.is_paused {
                resumes.extend(
                    group.resumes_at(*compares).filter(|&least| free >= least).map(|least| (least, place)),
                );
            } else {
                pauses.extend(
                    group.pauses_at(*compares).filter(|&most| free <= most).map(|most| (most, place)),
                );
            }
        }
        pauses.sort_unstable_by(|one, other| other.cmp(one));
        resumes.sort_unstable();
        for (_, place) in pauses.into_iter().chain(resumes) {
            signals.push_back(groups[place].turn(GroupId(place as u32), pool));
        }
        (pool.pauses_below, pool.resumes_from, pool.calm_limit) = (0, u64::MAX, 0);
        for group in groups.iter().filter(|group| group.pool == number) {
            group.widen(pool, *compares);
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

#[cfg(test)]
mod tests {
    use super::super::config::{GroupLimit, Lossless};
    use super::*;

    /// Returns a book with two pools of 8 cells, which have 4 cells of headroom each, and a lossless group in each pool. The first group
    /// has 5 shared cells, which is its limit, and 2 cells of headroom.
    fn book() -> IngressBook {
        let pool = PoolConfig { size: Bytes(8), headroom: Some(Bytes(4)) };
        let config = Config { cell: Cell::default(), compares: Compares::With, pools: vec![pool; 2] };
        let group = |pool| GroupConfig {
            pool,
            reserved: Bytes(0),
            limit: GroupLimit::Static(Bytes(5)),
            lossless: Some(Lossless { headroom: Bytes(4), xon: Bytes(0), xon_offset: Bytes(0) }),
        };
        let mut book = IngressBook::new(&config);
        let ingress = book.add_port(&[group(0), group(1)]);
        for size in [5, 2] {
            book.admit(book.group(ingress, 0), Bytes(size)).expect("it has room");
        }
        book
    }

    #[test]
    fn an_audit_finds_books_of_groups_and_pools_that_differ() {
        book().audit();
        for (words, damage) in [
            ("pool 0: shared", (|book| book.pools[0].used -= 1) as fn(&mut IngressBook)),
            ("pool 1: headroom", |book| book.pools[1].headroom_used += 1),
            ("pool.used <= pool.size", |book| book.pools[0].size = 4),
            ("headroom <= size", |book| book.pools[0].headroom = Some(1)),
            ("group 1: pauses and resumes alternate", |book| book.groups[1].counters.pauses += 1),
        ] {
            let mut book = book();
            damage(&mut book);
            let panic = std::panic::catch_unwind(|| book.audit()).expect_err(words);
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).expect("a text");
            assert!(text.contains(words), "{text} instead of {words}");
        }
    }
}
