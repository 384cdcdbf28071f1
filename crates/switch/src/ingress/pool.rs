//! Pools of the ingress book, and the identifiers and signals of its groups.

/// Number of a priority group in its ingress book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// Change of a priority group's state. The driver carries it to the sender at the other end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The sender must stop sending the priorities of this group.
    Pause(GroupId),
    /// The sender may send the priorities of this group again.
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

/// Memory for the part of a packet that exceeds the group's reserved cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Shared,
    Headroom,
}

/// Room for a packet in its group: the number of cells, and the memory for those beyond the reserved cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub(super) cells: u64,
    pub(super) place: Place,
}

/// State of a pool, in cells.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) size: u64,
    pub(super) used: u64,
    /// Size of the headroom pool; `None` if every group owns its headroom.
    pub(super) headroom: Option<u64>,
    pub(super) headroom_used: u64,
    /// Number of free cells at or above which every sending group may continue to send.
    pub(super) pauses_below: u64,
    /// Number of free cells below which no paused group may be resumed.
    pub(super) resumes_from: u64,
    /// Number of paused groups.
    pub(super) paused: u32,
    /// Number of used cells below which no group can be paused and no packet is refused, whichever groups use the cells. Zero if the book
    /// tests each group at each packet of that group.
    pub(super) calm_below: u64,
    /// Equals `calm_below` while the pool is calm, and zero otherwise. A pool becomes calm when it uses less than half of `calm_below` and
    /// has no paused groups. It stays calm until it reaches `calm_below` or stores a packet in headroom. While the pool is calm,
    /// `pauses_below` and `resumes_from` are out of date.
    pub(super) calm_limit: u64,
}

impl Pool {
    pub(super) fn free(&self) -> u64 {
        self.size - self.used
    }

    /// Returns whether the state of a group may have to change.
    pub(super) fn is_due(&self) -> bool {
        let free = self.free();
        free < self.pauses_below || free >= self.resumes_from
    }

    /// Returns whether `pauses_below` and `resumes_from` are out of date.
    pub(super) fn is_calm(&self) -> bool {
        self.calm_limit > 0
    }

    /// Returns whether the pool is calm. In a calm pool, only a packet that goes to headroom can change the state of a group. When a pool
    /// stops being calm, all its groups must be tested, which takes long. The pool therefore becomes calm again only below half of
    /// `calm_below`.
    #[inline]
    pub(super) fn stays_calm(&mut self) -> bool {
        // Without paused groups, no headroom is used.
        if self.calm_limit == 0 && self.used < self.calm_below / 2 && self.paused == 0 {
            self.calm_limit = self.calm_below;
        }
        self.used < self.calm_limit
    }
}
