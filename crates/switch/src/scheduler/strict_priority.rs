//! Strict priority: the first queue that is not empty always sends.

use shallows_core::{Bytes, Instant};

use super::interface::{May, Scheduler};
use crate::queue::QueueState;

/// Scheduler that serves queue 0 before queue 1, queue 1 before queue 2, and so on.
#[derive(Clone, Copy, Debug, Default)]
pub struct StrictPriority;

impl Scheduler for StrictPriority {
    #[inline(always)]
    fn select(&mut self, _now: Instant, queues: &[QueueState], may: impl May) -> Option<usize> {
        (0..queues.len()).find(|&queue| queues[queue].packets > 0 && may.has(queue))
    }

    #[inline(always)]
    fn pass(&mut self, _now: Instant, _queue: usize, _size: Bytes) -> Option<bool> {
        Some(false)
    }
}
