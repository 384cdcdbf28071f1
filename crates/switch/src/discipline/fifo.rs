//! One first-in first-out queue.

use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant};

use super::interface::Discipline;
use crate::queue::{DropReason, Item, Left, QueueState};
use crate::ring::Ring;

/// One queue, limited only by the buffer.
#[derive(Clone, Debug)]
pub struct Fifo<T> {
    ring: Ring<Item<T>>,
    state: [QueueState; 1],
}

impl<T: Copy + Default> Default for Fifo<T> {
    fn default() -> Self {
        Self { ring: Ring::new(), state: [QueueState::default()] }
    }
}

impl<T: Copy + Default> Discipline<T> for Fifo<T> {
    #[inline]
    fn place(&mut self, _now: Instant, _header: &Header) -> Result<usize, DropReason> {
        Ok(0)
    }

    #[inline]
    fn enqueue(&mut self, _queue: usize, item: Item<T>) {
        let [state] = &mut self.state;
        state.backlog += item.header.size();
        state.packets += 1;
        self.ring.push(item);
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant) -> Option<Left<T>> {
        let item = self.ring.pop()?;
        let [state] = &mut self.state;
        state.backlog -= item.header.size();
        state.packets -= 1;
        Some(Left { item, queue: 0, ends_turn: false })
    }

    fn peek(&mut self, _now: Instant) -> Option<Bytes> {
        self.ring.front().map(|item| item.header.size())
    }

    #[inline]
    fn queues(&self) -> &[QueueState] {
        &self.state
    }
}
