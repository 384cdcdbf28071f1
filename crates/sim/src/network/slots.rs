//! Storage for short-lived values. Each value keeps its slot until it is removed.

use shallows_core::prefetch_all;

/// Values in numbered slots. The slot that was freed last is used next, because it is still in the cache.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<T>,
    /// Free slots. They are in a separate vector, so that `insert` does not read the memory of a free slot.
    free: Vec<u32>,
    /// Whether each slot holds a value.
    #[cfg(debug_assertions)]
    taken: Vec<bool>,
}

/// Number of slots for which the first insertion reserves memory.
const FEWEST: usize = 64;

/// Factor by which the capacity grows. It is large, because growth copies all values, while reserved memory that is not used usually costs
/// nothing.
const GROWTH: usize = 16;

/// Maximum number of bytes by which the capacity grows at once, unless it only doubles.
const MOST_AT_ONCE: usize = 64 << 20;

/// Returns the number of slots by which the capacity grows. `len` slots of `size` bytes are in use.
fn growth(len: usize, size: usize) -> usize {
    let most = (MOST_AT_ONCE / size.max(1)).max(len);
    ((GROWTH - 1) * len).min(most).max(FEWEST)
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            #[cfg(debug_assertions)]
            taken: Vec::new(),
        }
    }
}

impl<T: Copy> Slots<T> {
    /// Stores a value and returns its slot.
    #[inline]
    pub(crate) fn insert(&mut self, thing: T) -> u32 {
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = thing;
            slot
        } else {
            if self.slots.len() == self.slots.capacity() {
                self.grow();
            }
            self.slots.push(thing);
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 at once")
        };
        self.note(slot, true);
        slot
    }

    /// Reserves memory for further slots.
    #[cold]
    fn grow(&mut self) {
        // If this fails, `push` asks for at most as much.
        _ = self.slots.try_reserve_exact(growth(self.slots.len(), size_of::<T>()));
    }

    /// Removes and returns the value of a slot. The value is not copied: it stays in the slot until the next insertion.
    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) -> &T {
        self.check(slot);
        self.note(slot, false);
        self.free.push(slot);
        &self.slots[slot as usize]
    }

    /// Returns the value of a slot; `None` if the slot has never been used.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        self.check(slot);
        self.slots.get(slot as usize)
    }

    /// Returns the value of a slot for modification. The slot must hold a value.
    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut T {
        self.check(slot);
        &mut self.slots[slot as usize]
    }

    /// Returns the number of stored values.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Records whether a slot holds a value. Does nothing without debug assertions.
    #[inline]
    fn note(&mut self, slot: u32, taken: bool) {
        #[cfg(debug_assertions)]
        {
            self.taken.resize(self.slots.len(), false);
            self.taken[slot as usize] = taken;
        }
        #[cfg(not(debug_assertions))]
        let _ = (slot, taken);
    }

    /// Asserts that a slot is not free. A free slot still contains its old value. Does nothing without debug assertions.
    #[inline]
    fn check(&self, slot: u32) {
        #[cfg(debug_assertions)]
        assert!(self.taken.get(slot as usize) != Some(&false), "slot {slot} is read after it was freed");
        #[cfg(not(debug_assertions))]
        let _ = slot;
    }

    /// Prefetches all slots.
    pub(crate) fn prefetch(&self) {
        prefetch_all(&self.slots);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slot_that_was_freed_last_is_used_next() {
        let mut slots = Slots::default();
        assert_eq!(["a", "b", "c"].map(|thing| slots.insert(thing)), [0, 1, 2]);
        assert_eq!((*slots.remove(0), *slots.remove(2), slots.len()), ("a", "c", 1));
        assert_eq!((slots.insert("d"), slots.insert("e"), slots.insert("f")), (2, 0, 3));
        *slots.get_mut(0) = "g";
        assert_eq!([0, 1, 2, 3].map(|slot| slots.get(slot).copied()), ["g", "b", "d", "f"].map(Some));
        assert_eq!((slots.get(4), slots.len()), (None, 4));
    }

    #[test]
    fn the_capacity_grows_sixteenfold_while_it_is_small_and_then_doubles() {
        let cases = [(0, 64, 64), (64, 64, 960), (1 << 18, 64, 1 << 20), (1 << 22, 64, 1 << 22), (4, 0, 64)];
        for (len, size, expected) in cases {
            assert_eq!(growth(len, size), expected, "{len} slots of {size} bytes");
        }
    }

    #[test]
    fn memory_grows_and_the_values_stay() {
        let mut slots = Slots::default();
        let mut capacities: Vec<usize> = Vec::new();
        for thing in 0..5_000_u32 {
            assert_eq!(slots.insert(thing), thing);
            capacities.push(slots.slots.capacity());
        }
        capacities.dedup();
        assert!(
            capacities.len() == 3 && capacities[0] >= FEWEST && capacities[2] >= 256 * FEWEST,
            "{capacities:?}"
        );
        assert!((0..5_000).all(|slot| slots.get(slot) == Some(&slot)));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "slot 0 is read after it was freed")]
    fn a_freed_slot_is_not_read() {
        let mut slots = Slots::default();
        let slot = slots.insert("a");
        slots.remove(slot);
        slots.get(slot);
    }
}
