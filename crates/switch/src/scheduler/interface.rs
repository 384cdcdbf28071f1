//! Interface between a port with several queues and its scheduler.

use shallows_core::{Bytes, Instant, Rate};

use crate::queue::{QueueState, Reading};

/// Set of the queues of a port that may send because they are not paused.
pub trait May: Copy {
    /// Returns one bit for each of the first 64 queues; bit *q* is set if queue *q* may send.
    fn bits(self) -> u64;

    /// Returns whether `queue` may send. Queues with number 64 or higher may always send.
    #[inline]
    fn has(self, queue: usize) -> bool {
        queue >= 64 || self.bits() >> queue & 1 != 0
    }

    /// Returns the set without the queues before `queue`, renumbered so that `queue` becomes 0. A scheduler below strict priority needs
    /// this set.
    #[must_use]
    fn from(self, queue: usize) -> Self;
}

/// The set of all queues, for ports without paused queues. With this type the compiler removes the checks for paused queues.
#[derive(Clone, Copy, Debug)]
pub struct Every;

impl May for Every {
    #[inline(always)]
    fn bits(self) -> u64 {
        u64::MAX
    }

    #[inline(always)]
    fn has(self, _queue: usize) -> bool {
        true
    }

    #[inline(always)]
    fn from(self, _queue: usize) -> Self {
        self
    }
}

/// Set of the paused queues among the first 64 queues of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paused(u64);

impl Paused {
    /// Returns whether no queue is paused.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Pauses or resumes `queue`.
    ///
    /// # Panics
    ///
    /// Panics if `queue` is not one of the first 64.
    pub fn set(&mut self, queue: usize, paused: bool) {
        assert!(queue < 64, "the paused queues are the bits of one word");
        self.0 = self.0 & !(1 << queue) | u64::from(paused) << queue;
    }
}

impl May for Paused {
    #[inline]
    fn bits(self) -> u64 {
        !self.0
    }

    #[inline]
    fn from(self, queue: usize) -> Self {
        Self(self.0 >> queue)
    }
}

/// Chooses the queue of a port that sends next.
pub trait Scheduler {
    /// Records that a packet of `size` has joined `queue`. `queues` is the state afterwards: if `queue` now holds one packet, it was empty
    /// before.
    fn on_enqueue(&mut self, _now: Instant, _queue: usize, _size: Bytes, _queues: &[QueueState]) {}

    /// Selects the queue whose first packet is sent next, among the queues in `may`; returns `None` if all of these are empty. Repeated
    /// calls return the same queue unless packets arrive or `may` changes in between. A queue that has the turn but is not in `may` loses
    /// the turn; markers are not notified of the end of this turn.
    fn select(&mut self, now: Instant, queues: &[QueueState], may: impl May) -> Option<usize>;

    /// Records that a packet of `size` has left `queue`, which [`Self::select`] returned; `queues` is the state afterwards. Returns
    /// whether the queue's turn ends.
    fn on_dequeue(&mut self, _now: Instant, _queue: usize, _size: Bytes, _queues: &[QueueState]) -> bool {
        false
    }

    /// Records that a packet of `size` passes through `queue` without waiting, because all queues are empty. Returns whether a turn ends,
    /// or `None` if the caller must call [`Self::on_enqueue`] and [`Self::on_dequeue`] instead.
    fn pass(&mut self, now: Instant, queue: usize, size: Bytes) -> Option<bool>;

    /// Sets the rate of the link from `now` on.
    fn set_rate(&mut self, _now: Instant, _rate: Rate) {}

    /// Calls `tell` with each value of the scheduler's state that a trace records.
    fn observe(&self, _tell: &mut dyn FnMut(Reading)) {}
}
