//! Where frames are while they are under way.

/// Where a frame is kept.
pub type Slot = u32;

/// Frames on their way, each in a slot that is used again.
#[derive(Debug, Default)]
pub struct Frames {
    slots: Vec<Vec<u8>>,
    free: Vec<Slot>,
}

impl Frames {
    /// Keep a copy of one.
    ///
    /// # Panics
    ///
    /// If there are 2^32 of them, for which no machine has room.
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

    /// Contents of the frame in this slot.
    pub fn get(&self, slot: Slot) -> &[u8] {
        &self.slots[slot as usize]
    }

    /// Mutable contents of the frame in this slot.
    pub fn get_mut(&mut self, slot: Slot) -> &mut [u8] {
        &mut self.slots[slot as usize]
    }

    /// It is gone, and its slot may be used again.
    pub fn free(&mut self, slot: Slot) {
        self.free.push(slot);
    }

    /// How many there are.
    pub fn kept(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
