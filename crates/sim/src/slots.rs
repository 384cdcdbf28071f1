//! Things that come and go, each kept in one place meanwhile.

use shallows_core::prefetch_all;

/// Things in slots, of which the one that was freed last is used next, while it is warm.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<T>,
    /// Apart from them: one that is taken up does not have to be read to know which is next.
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Slots<T> {
    /// Keep one more; returns its slot.
    #[inline]
    pub(crate) fn insert(&mut self, thing: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = thing;
            return slot;
        }
        self.slots.push(thing);
        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 at once")
    }

    /// Take out what is in a slot.
    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) -> T {
        self.free.push(slot);
        self.slots[slot as usize]
    }

    /// What is in a slot, if there is such a slot.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        self.slots.get(slot as usize)
    }

    /// What is in a slot that there is.
    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize]
    }

    /// How many are kept.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Have the processor load all of them.
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
        assert_eq!((slots.remove(0), slots.remove(2), slots.len()), ("a", "c", 1));
        assert_eq!((slots.insert("d"), slots.insert("e"), slots.insert("f")), (2, 0, 3));
        *slots.get_mut(0) = "g";
        assert_eq!([0, 1, 2, 3].map(|slot| slots.get(slot).copied()), ["g", "b", "d", "f"].map(Some));
        assert_eq!((slots.get(4), slots.len()), (None, 4));
    }
}
