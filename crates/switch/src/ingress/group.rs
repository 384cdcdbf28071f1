//! Account of one priority group, and the transitions between sending and paused.

use shallows_core::Bytes;

use super::config::{Compares, GroupConfig, GroupLimit};
use super::pool::{GroupId, Place, Pool, Signal};
use crate::buffer::Cell;

/// Account of a priority group, in cells.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) pool: usize,
    pub(super) reserved_size: u64,
    pub(super) limit: Limit,
    pub(super) lossless: Option<Thresholds>,
    pub(super) reserved: u64,
    pub(super) shared: u64,
    pub(super) headroom: u64,
    pub(super) is_paused: bool,
    pub(super) counters: GroupCounters,
}

/// Thresholds of a lossless group, in cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds {
    pub(super) headroom: u64,
    xon: u64,
    xon_offset: u64,
}

/// Counters of a group since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupCounters {
    /// Packets admitted.
    pub admitted: u64,
    /// Packets refused for lack of room.
    pub dropped: u64,
    /// Number of changes from sending to paused.
    pub pauses: u64,
    /// Number of changes from paused to sending.
    pub resumes: u64,
    /// Largest number of headroom cells that were occupied at the same time.
    pub max_headroom_cells: u64,
}

/// Limit on a group's use of its pool, in cells.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    /// *α* = 2ⁿ. Comparisons multiply or divide by a power of two, so they are exact.
    Dynamic {
        exponent: i8,
    },
    Static(u64),
}

impl Limit {
    /// Returns whether a group with `shared` cells may take `more` cells while the pool has `free` cells.
    pub(super) fn admits(self, shared: u64, more: u64, free: u64, compares: Compares) -> bool {
        more <= free
            && match (self, compares) {
                (Self::Dynamic { exponent }, Compares::Before) => is_below(shared, exponent, free),
                // The condition c + k <= α · (free − k) is the negation of free − k < (c + k)/α.
                (Self::Dynamic { exponent }, Compares::With | Compares::Ns3Datacenter) => {
                    !is_below(free - more, -exponent, shared + more)
                }
                // GetPfcThreshold: c + k <= α · free
                (Self::Dynamic { exponent }, Compares::HpccRepo) => !is_below(free, -exponent, shared + more),
                (Self::Static(limit), Compares::Before) => shared < limit,
                (Self::Static(limit), _) => shared + more <= limit,
            }
    }

    /// Returns the largest number of free cells in the pool for which a group with `shared` cells can take no further cell.
    fn fires_at(self, shared: u64, compares: Compares) -> u64 {
        match (self, compares) {
            // c >= α · free
            (Self::Dynamic { exponent }, Compares::Before) => divided(shared, exponent).0,
            // c + 1 > α · (free − 1)
            (Self::Dynamic { exponent }, Compares::With | Compares::Ns3Datacenter) => {
                divided(shared + 1, exponent).1
            }
            // CheckShouldPause: c >= α · free rounded down, so free < (c + 1)/α
            (Self::Dynamic { exponent }, Compares::HpccRepo) => {
                divided(shared + 1, exponent).1.saturating_sub(1)
            }
            (Self::Static(limit), _) if shared >= limit => u64::MAX,
            (Self::Static(_), _) => 0,
        }
    }

    /// Returns the smallest number of free cells in the pool for which a group with `shared` cells is within the limit.
    fn allows_from(self, shared: u64) -> u64 {
        match self {
            Self::Dynamic { exponent } => divided(shared, exponent).1,
            Self::Static(limit) if shared <= limit => 0,
            Self::Static(_) => u64::MAX,
        }
    }
}

/// Returns whether `cells` < 2ⁿ · `other`, for n from -32 to 32.
fn is_below(cells: u64, exponent: i8, other: u64) -> bool {
    if (cells | other) >> 31 == 0 {
        return if exponent < 0 { cells << -exponent < other } else { cells < other << exponent };
    }
    let (cells, other) = (u128::from(cells), u128::from(other));
    if exponent < 0 { cells << -exponent < other } else { cells < other << exponent }
}

/// Returns two values: `cells` / 2ⁿ rounded down, and `cells` / 2ⁿ rounded up.
fn divided(cells: u64, exponent: i8) -> (u64, u64) {
    if exponent < 0 {
        let product = cells.saturating_mul(1 << -exponent);
        return (product, product);
    }
    let below = cells >> exponent;
    (below, below + u64::from(below << exponent < cells))
}

impl Account {
    pub(super) fn new(config: &GroupConfig, cell: Cell) -> Self {
        let cells = |size: Bytes| size.0 / cell.size().0;
        let limit = match config.limit {
            GroupLimit::Dynamic { exponent } => {
                assert!((-32..=32).contains(&exponent), "alpha is 2^n with n from -32 to 32, not {exponent}");
                Limit::Dynamic { exponent }
            }
            GroupLimit::Static(size) => Limit::Static(cells(size)),
        };
        let thresholds = config.lossless.map(|lossless| Thresholds {
            headroom: cells(lossless.headroom),
            xon: cells(lossless.xon),
            xon_offset: cells(lossless.xon_offset),
        });
        Self {
            pool: config.pool,
            reserved_size: cells(config.reserved),
            limit,
            lossless: thresholds,
            reserved: 0,
            shared: 0,
            headroom: 0,
            is_paused: false,
            counters: GroupCounters::default(),
        }
    }

    /// Returns the least number of cells at which the group can take no further cell, if this group alone uses a pool of `size` cells.
    pub(super) fn calm_below(&self, size: u64, compares: Compares) -> u64 {
        // More used cells leave fewer free cells and raise the number of free cells at which the group is paused.
        let can_pause = |used: u64| size - used <= self.limit.fires_at(used, compares);
        let (mut below, mut above) = (0, size);
        while below < above {
            let middle = below + (above - below) / 2;
            if can_pause(middle) { above = middle } else { below = middle + 1 }
        }
        below
    }

    /// Returns the total number of cells that the group occupies.
    pub(super) fn total(&self) -> u64 {
        self.reserved + self.shared + self.headroom
    }

    /// Charges a packet of this many `cells`: first to the reserved cells, the rest to `place`.
    pub(super) fn charge(&mut self, cells: u64, place: Place, pool: &mut Pool) {
        let own = cells.min(self.reserved_size - self.reserved);
        self.reserved += own;
        match place {
            Place::Shared => {
                self.shared += cells - own;
                pool.used += cells - own;
            }
            Place::Headroom => {
                self.headroom += cells - own;
                pool.headroom_used += cells - own;
                self.counters.max_headroom_cells = self.counters.max_headroom_cells.max(self.headroom);
            }
        }
        self.counters.admitted += 1;
    }

    /// Frees the cells of a packet: headroom first, then shared cells, then reserved ones.
    pub(super) fn free(&mut self, cells: u64, pool: &mut Pool) {
        let from_headroom = cells.min(self.headroom);
        self.headroom -= from_headroom;
        pool.headroom_used -= from_headroom;
        let from_shared = (cells - from_headroom).min(self.shared);
        self.shared -= from_shared;
        pool.used -= from_shared;
        self.reserved -= cells - from_headroom - from_shared;
    }

    /// Returns the largest number of free cells in the pool at which the group must be paused. Returns `None` if the group cannot be
    /// paused, because it is lossy, has reserved cells left, or holds nothing. A packet longer than the rest of the group's limit goes to
    /// headroom; the group must then be paused at any number of free cells. ns3-datacenter pauses only groups that use headroom.
    pub(super) fn pauses_at(&self, compares: Compares) -> Option<u64> {
        if self.headroom > 0 {
            return Some(u64::MAX);
        }
        let can_fire = self.lossless.is_some()
            && compares != Compares::Ns3Datacenter
            && self.reserved == self.reserved_size
            && self.total() > 0;
        can_fire.then(|| self.limit.fires_at(self.shared, compares))
    }

    /// Returns the smallest number of free cells in the pool at which the paused group is resumed; `None` while the group uses headroom.
    ///
    /// SAI: a group is resumed once its shared memory is at most max(xon, limit − xon_offset). The group must also have freed its headroom,
    /// so that all of it is available after the next pause. The group must also be below its limit, because otherwise it would be paused
    /// again at once.
    pub(super) fn resumes_at(&self, compares: Compares) -> Option<u64> {
        let thresholds = self.lossless.as_ref().filter(|_| self.headroom == 0)?;
        let below = if self.shared <= thresholds.xon {
            0
        } else {
            self.limit.allows_from(self.shared + thresholds.xon_offset)
        };
        let above = self.pauses_at(compares).map_or(0, |most| most.saturating_add(1));
        Some(below.max(above))
    }

    /// Widens `pauses_below` and `resumes_from` of the pool so that they cover the group.
    pub(super) fn widen(&self, pool: &mut Pool, compares: Compares) {
        if self.is_paused {
            pool.resumes_from = pool.resumes_from.min(self.resumes_at(compares).unwrap_or(u64::MAX));
        } else if let Some(most) = self.pauses_at(compares) {
            pool.pauses_below = pool.pauses_below.max(most.saturating_add(1));
        }
    }

    /// Returns whether the group must change its state, given the `free` cells of its pool.
    pub(super) fn is_due(&self, free: u64, compares: Compares) -> bool {
        if self.is_paused {
            self.resumes_at(compares).is_some_and(|least| free >= least)
        } else {
            self.pauses_at(compares).is_some_and(|most| free <= most)
        }
    }

    /// Changes the state of the group, whose number is `id`: pauses it if it is sending, resumes it if it is paused. Returns the signal to
    /// its sender.
    pub(super) fn turn(&mut self, id: GroupId, pool: &mut Pool) -> Signal {
        self.is_paused = !self.is_paused;
        if self.is_paused {
            self.counters.pauses += 1;
            pool.paused += 1;
            Signal::Pause(id)
        } else {
            self.counters.resumes += 1;
            pool.paused -= 1;
            Signal::Resume(id)
        }
    }

    /// Checks the invariants of the account of group `number`, whose pool has `free` cells.
    ///
    /// # Panics
    ///
    /// Panics if an invariant is violated.
    pub(super) fn audit(&self, number: usize, free: u64, compares: Compares) {
        assert!(self.reserved <= self.reserved_size, "group {number} overran its reserve");
        let above = self.shared + self.headroom;
        assert!(above == 0 || self.reserved == self.reserved_size, "group {number} uses its reserve first");
        assert!(
            self.headroom <= self.lossless.as_ref().map_or(0, |own| own.headroom),
            "group {number}: headroom"
        );
        assert!(self.headroom == 0 || self.is_paused, "group {number} uses headroom while its sender sends");
        assert_eq!(
            self.counters.pauses,
            self.counters.resumes + u64::from(self.is_paused),
            "group {number}: pauses and resumes alternate"
        );
        if compares.tests_own_group() {
            return;
        }
        assert!(!self.is_due(free, compares), "group {number} has the state that its thresholds demand");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingress::config::Lossless;

    #[test]
    fn products_beyond_64_bits_compare_exactly() {
        // 2^33 and 2^32 times 2^33.
        assert!(!is_below(1 << 33, -32, 1 << 33) && !is_below(1 << 33, -32, 1 << 20));
        assert!(is_below(1 << 33, 32, 1 << 33) && is_below(1 << 20, 32, 1 << 33));
        // Equal products are not below each other.
        assert!(!is_below(1 << 40, -3, 1 << 43) && is_below(1 << 40, -3, (1 << 43) + 1));
        assert!(!is_below(1 << 43, 3, 1 << 40) && is_below((1 << 43) - 1, 3, 1 << 40));
    }

    #[test]
    fn cells_divided_by_alpha_are_rounded_down_and_up() {
        assert_eq!([divided(5, 1), divided(4, 1), divided(5, 0)], [(2, 3), (2, 2), (5, 5)]);
        assert_eq!([divided(5, -1), divided(1 << 40, -32)], [(10, 10), (u64::MAX, u64::MAX)]);
    }

    /// Returns the account of a lossless group that uses both of its 2 reserved cells and 1 shared cell. Its limit is 4 shared cells.
    fn account() -> Account {
        let config = GroupConfig {
            pool: 0,
            reserved: Bytes(2),
            limit: GroupLimit::Static(Bytes(4)),
            lossless: Some(Lossless { headroom: Bytes(3), xon: Bytes(0), xon_offset: Bytes(0) }),
        };
        Account { reserved: 2, shared: 1, ..Account::new(&config, Cell::default()) }
    }

    #[test]
    fn an_audit_accepts_a_sending_and_a_paused_group() {
        account().audit(7, 10, Compares::With);
        let counters = GroupCounters { pauses: 1, ..GroupCounters::default() };
        let paused = Account { shared: 4, headroom: 3, is_paused: true, counters, ..account() };
        paused.audit(7, 10, Compares::With);
    }

    #[test]
    fn an_audit_finds_each_invariant_that_does_not_hold() {
        let paused = GroupCounters { pauses: 1, ..GroupCounters::default() };
        for (broken, words) in [
            (Account { reserved: 3, ..account() }, "group 7 overran its reserve"),
            (Account { reserved: 1, ..account() }, "group 7 uses its reserve first"),
            (Account { shared: 4, headroom: 4, ..account() }, "group 7: headroom"),
            (Account { shared: 4, headroom: 1, ..account() }, "group 7 uses headroom while its sender sends"),
            (Account { counters: paused, ..account() }, "group 7: pauses and resumes alternate"),
            (Account { shared: 4, ..account() }, "group 7 has the state that its thresholds demand"),
            (
                Account { shared: 0, is_paused: true, counters: paused, ..account() },
                "group 7 has the state that its thresholds demand",
            ),
        ] {
            let panic = std::panic::catch_unwind(|| broken.audit(7, 10, Compares::With)).expect_err(words);
            let text = panic.downcast_ref::<String>().expect("a text");
            assert!(text.contains(words), "{text} instead of {words}");
        }
    }
}
