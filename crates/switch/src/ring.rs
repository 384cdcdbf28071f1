//! A first-in first-out ring buffer that stops allocating once it has reached its working size.

use shallows_core::prefetch;

/// A growable ring buffer of copyable items.
///
/// Omits the parts of `VecDeque` that a packet queue does not need, so that push and pop take few instructions.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Box<[T]>,
    head: usize,
    len: usize,
}

impl<T> Ring<T> {
    /// Number of slots of a new ring.
    pub const SMALLEST: usize = 4;
}

impl<T: Copy + Default> Ring<T> {
    /// Creates an empty ring.
    pub fn new() -> Self {
        Self { slots: vec![T::default(); Self::SMALLEST].into_boxed_slice(), head: 0, len: 0 }
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the ring is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Prefetches the slot of the first item into the cache.
    pub fn prefetch(&self) {
        prefetch(&self.slots[self.head & (self.slots.len() - 1)]);
    }

    /// Appends `item` at the tail.
    #[inline(always)]
    pub fn push(&mut self, item: T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        // The capacity is a power of two, so the mask keeps the index within the slots.
        let Some(mask) = self.slots.len().checked_sub(1) else { return };
        self.slots[(self.head + self.len) & mask] = item;
        self.len += 1;
    }

    /// Removes and returns the item at the head.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        // There is at least one slot. With this check the compiler omits the bounds check at each use of the mask.
        let mask = self.slots.len().checked_sub(1)?;
        let item = self.slots[self.head & mask];
        // The next item usually lies on the same cache line, or was prefetched together with the previous item.
        prefetch(&self.slots[(self.head + 2) & mask]);
        self.len -= 1;
        // A ring that becomes empty restarts at slot 0, so a queue that empties often keeps using the same few cache lines.
        self.head = if self.len == 0 { 0 } else { (self.head + 1) & mask };
        Some(item)
    }

    /// Removes and returns the item at the tail, for push-out.
    #[inline]
    pub fn pop_back(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        Some(self.slots[(self.head + self.len) & (self.slots.len() - 1)])
    }

    /// Returns the item at the head without removing it.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        (self.len > 0).then(|| &self.slots[self.head & (self.slots.len() - 1)])
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots = vec![T::default(); self.slots.len() * 2].into_boxed_slice();
        let (tail, wrapped) = (&self.slots[self.head..], &self.slots[..self.head]);
        slots[..tail.len()].copy_from_slice(tail);
        slots[tail.len()..self.len].copy_from_slice(wrapped);
        self.slots = slots;
        self.head = 0;
    }
}

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_ring_agrees_with_a_deque(steps in prop::collection::vec((0u8..5, any::<u32>()), 0..200)) {
            let (mut ring, mut model) = (Ring::new(), std::collections::VecDeque::new());
            for (step, item) in steps {
                match step {
                    0 => prop_assert_eq!(ring.pop(), model.pop_front()),
                    1 => prop_assert_eq!(ring.pop_back(), model.pop_back()),
                    _ => {
                        ring.push(item);
                        model.push_back(item);
                    }
                }
                prop_assert_eq!(ring.len(), model.len());
                prop_assert_eq!(ring.is_empty(), model.is_empty());
                prop_assert_eq!(ring.front(), model.front());
            }
        }
    }
}
