//! Pools of the ingress book, and the identifiers and signals of its groups.

use std::collections::BTreeSet;

/// Number of a priority group in its book.
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

/// State of a pool, in cells.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) size: u64,
    pub(super) used: u64,
    /// Size of the headroom pool; `None` if every group owns its headroom.
    pub(super) headroom: Option<u64>,
    pub(super) headroom_used: u64,
    /// Sending groups, each with the largest number of free cells in the pool at which the group is paused.
    pub(super) armed: BTreeSet<(u64, GroupId)>,
    /// Paused groups that use no headroom, each with the smallest number of free cells in the pool at which the group is resumed.
    pub(super) paused: BTreeSet<(u64, GroupId)>,
}

impl Pool {
    pub(super) fn free(&self) -> u64 {
        self.size - self.used
    }
}
