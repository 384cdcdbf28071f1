//! Storage for frames under way.

/// Index of a stored frame.
pub type Slot = u32;

/// Stored frames, in slots that are reused.
#[derive(Debug, Default)]
pub struct Frames {
    slots: Vec<Vec<u8>>,
    free: Vec<Slot>,
}

impl Frames {
    /// Stores a copy of a frame; returns its slot.
    ///
    /// # Panics
    ///
    /// If there are 2^32 frames, for which no machine has memory.
    pub fn keep(&mut self, frame: &[u8]) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Vec::new());
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 frames under way")
        });
        let kept = &mut self.slots[slot as usize];
        kept.clear();
        kept.extend_from_slice(frame);
        slot
    }

    /// Returns the bytes of the frame in this slot.
    pub fn get(&self, slot: Slot) -> &[u8] {
        &self.slots[slot as usize]
    }

    /// Returns the bytes of the frame in this slot for modification.
    pub fn get_mut(&mut self, slot: Slot) -> &mut [u8] {
        &mut self.slots[slot as usize]
    }

    /// Frees a slot for reuse.
    pub fn free(&mut self, slot: Slot) {
        self.free.push(slot);
    }

    /// Returns the number of stored frames.
    pub fn kept(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
