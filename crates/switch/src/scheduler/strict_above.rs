//! Strict priority above another scheduler: the first queues are served by priority, and the rest share the remaining rate.
//!
//! MQ-ECN (NSDI '16) §3.4: operators reserve a few queues of strict higher priority for control messages; the others
//! are scheduled by DWRR or WRR "in the lowest priority".

use shallows_core::{Bytes, Instant, Rate};

use super::interface::{May, Scheduler};
use super::strict_priority::StrictPriority;
use crate::queue::{QueueState, Reading};

/// Scheduler that serves queues 0, 1, … by strict priority before the queues of the scheduler `below`. Queue `above` of the port is queue
/// 0 of `below`.
#[derive(Clone, Debug)]
pub struct StrictAbove<S> {
    above: usize,
    below: Box<S>,
}

impl<S> StrictAbove<S> {
    /// Creates a scheduler with `above` queues of strict priority above the queues of the scheduler `below`.
    pub fn new(above: usize, below: S) -> Self {
        Self { above, below: Box::new(below) }
    }
}

impl<S: Scheduler> Scheduler for StrictAbove<S> {
    #[inline]
    fn on_enqueue(&mut self, now: Instant, queue: usize, size: Bytes, queues: &[QueueState]) {
        if let Some(queue) = queue.checked_sub(self.above) {
            self.below.on_enqueue(now, queue, size, &queues[self.above..]);
        }
    }

    #[inline]
    fn select(&mut self, now: Instant, queues: &[QueueState], may: impl May) -> Option<usize> {
        let (above, below) = queues.split_at(self.above);
        StrictPriority
            .select(now, above, may)
            .or_else(|| self.below.select(now, below, may.from(self.above)).map(|queue| queue + self.above))
    }

    #[inline]
    fn on_dequeue(&mut self, now: Instant, queue: usize, size: Bytes, queues: &[QueueState]) -> bool {
        // Strict priority has no rounds (MQ-ECN §3.4). A packet of higher priority interrupts a turn below but does not end it.
        queue
            .checked_sub(self.above)
            .is_some_and(|queue| self.below.on_dequeue(now, queue, size, &queues[self.above..]))
    }

    #[inline]
    fn pass(&mut self, now: Instant, queue: usize, size: Bytes) -> Option<bool> {
        queue.checked_sub(self.above).map_or(Some(false), |queue| self.below.pass(now, queue, size))
    }

    fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.below.set_rate(now, rate);
    }

    fn observe(&self, tell: &mut dyn FnMut(Reading)) {
        self.below.observe(&mut |reading| {
            tell(Reading { queue: reading.queue.map(|queue| queue + self.above), ..reading });
        });
    }
}
