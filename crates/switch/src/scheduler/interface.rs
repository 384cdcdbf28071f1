//! Interface between a port with several queues and its scheduler.

use shallows_core::{Bytes, Instant, Rate};

use crate::queue::{QueueState, Reading};

/// A set of queues of a port that may send.
pub trait May: Copy {
    /// Bits of the first 64 queues; bit *q* is set if queue *q* may send.
    fn bits(self) -> u64;

    /// Returns whether `queue` may send.
    #[inline]
    fn has(self, queue: usize) -> bool {
        queue >= 64 || self.bits() >> queue & 1 != 0
    }

    /// Returns the set for a scheduler that serves the queues from `queue` on, renumbered from 0.
    #[must_use]
    fn from(self, queue: usize) -> Self;
}

/// The set of all queues, for ports without paused queues. It lets the compiler remove the checks.
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

/// The paused queues among the first 64.
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
    /// Records that a packet of `size` has joined `queue`. The queue was empty before if it now holds one packet.
    fn on_enqueue(&mut self, _now: Instant, _queue: usize, _size: Bytes, _queues: &[QueueState]) {}

    /// Selects the queue whose head leaves next, among the queues that may send; `None` if all of these are empty. Repeated
    /// calls return the same queue unless packets arrive or the set `may` changes in between. A queue that has the turn
    /// and may not send loses the turn; markers are not notified of that end.
    fn select(&mut self, now: Instant, queues: &[QueueState], may: impl May) -> Option<usize>;

    /// Records that a packet of `size` has left the selected `queue`; `queues` is the state afterwards. Returns whether
    /// the queue's turn ends.
    fn on_dequeue(&mut self, _now: Instant, _queue: usize, _size: Bytes, _queues: &[QueueState]) -> bool {
        false
    }

    /// Records that a packet of `size` joins and at once leaves `queue` while all queues are empty. Returns whether a turn
    /// ends; `None` if the caller must call [`Self::on_enqueue`] and [`Self::on_dequeue`] instead.
    fn pass(&mut self, now: Instant, queue: usize, size: Bytes) -> Option<bool>;

    /// Changes the rate of the link from now on.
    fn set_rate(&mut self, _now: Instant, _rate: Rate) {}

    /// Passes the scheduler's state to `tell` for traces.
    fn observe(&self, _tell: &mut dyn FnMut(Reading)) {}
}
