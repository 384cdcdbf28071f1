//! What a port of several queues asks of its scheduler.

use shallows_core::{Bytes, Instant, Rate};

use crate::queue::{QueueState, Reading};

/// Which queues of a port may send.
pub trait May: Copy {
    /// Bit *q*: whether queue *q* may, of the first 64.
    fn bits(self) -> u64;

    /// Whether this one may.
    #[inline]
    fn has(self, queue: usize) -> bool {
        queue >= 64 || self.bits() >> queue & 1 != 0
    }

    /// For a scheduler that has the queues from this one on.
    #[must_use]
    fn from(self, queue: usize) -> Self;
}

/// Every queue may: so it is at a port at which none is paused, and the compiler leaves out what asks.
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

/// Some of the first 64 queues are paused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paused(u64);

impl Paused {
    /// Whether none is.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Pause this one, or let it send again.
    ///
    /// # Panics
    ///
    /// If it is none of the first 64.
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

/// Chooses among the queues of a port.
pub trait Scheduler {
    /// A packet of `size` has joined `queue`; it is alone there if that now holds one packet.
    fn on_enqueue(&mut self, _now: Instant, _queue: usize, _size: Bytes, _queues: &[QueueState]) {}

    /// The queue whose head goes next, of those that may send; nothing if all of those are empty. Asked again before anything left, it
    /// answers the same unless packets have arrived or others may send in between. A queue that has the turn and may not send loses
    /// it, and nobody is told that it ended.
    fn select(&mut self, now: Instant, queues: &[QueueState], may: impl May) -> Option<usize>;

    /// A packet of `size` has left the `queue` that was selected; `queues` is what remains. Says whether the turn of that
    /// queue ends with it.
    fn on_dequeue(&mut self, _now: Instant, _queue: usize, _size: Bytes, _queues: &[QueueState]) -> bool {
        false
    }

    /// A packet of `size` passes `queue` while all queues are empty: the state is as if it had joined and left at once. Says whether a
    /// turn ends with it; nothing if the packet must join and leave indeed.
    fn pass(&mut self, now: Instant, queue: usize, size: Bytes) -> Option<bool>;

    /// The link has another rate from now on.
    fn set_rate(&mut self, _now: Instant, _rate: Rate) {}

    /// Tell what traces should show.
    fn observe(&self, _tell: &mut dyn FnMut(Reading)) {}
}
