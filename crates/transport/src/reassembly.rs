//! Data above a gap at a receiver, in the order in which SACK blocks report it (RFC 2018 §4).

use shallows_core::packet::{MAX_SACK_BLOCKS, SackBlock};

use crate::scoreboard::Range;

/// Disjoint blocks of out-of-order data, the most recently changed first.
///
/// Allocates no memory until a segment is missing.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    blocks: Vec<Range>,
    /// Duplicate part of the last arrival that has not been reported yet.
    duplicate: Option<Range>,
}

impl Reassembly {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns whether an acknowledgement must carry SACK blocks.
    #[inline]
    pub(crate) fn reports(&self) -> bool {
        !self.blocks.is_empty() || self.duplicate.is_some()
    }

    /// Records the part of an arriving `range` that was received before, given that all data below `next` has arrived. Keeps only the first
    /// contiguous part, because an acknowledgement reports only one duplicate (RFC 2883 §4).
    pub(crate) fn note_duplicate(&mut self, range: Range, next: u64) {
        let received = [Range { start: 0, end: next }];
        let common = |held: &Range| held.common(range);
        self.duplicate = received.iter().chain(&self.blocks).filter_map(common).min_by_key(|part| part.start);
    }

    /// Stores `range`, which lies above a gap.
    pub(crate) fn insert(&mut self, range: Range) {
        let mut joined = range;
        while let Some(place) = self.blocks.iter().position(|block| block.touches(range)) {
            joined = joined.join(self.blocks.remove(place));
        }
        self.blocks.insert(0, joined);
    }

    /// Removes the blocks that continue the data below `next`, and returns the end of that data.
    pub(crate) fn advance(&mut self, next: u64) -> u64 {
        let mut reached = next;
        self.blocks.retain(|block| {
            let continues = block.start <= next;
            if continues {
                reached = reached.max(block.end);
            }
            !continues
        });
        reached
    }

    /// Returns the blocks to report with the acknowledgement `ack`, and their number. A duplicate comes first and is reported only once;
    /// the block that contains the duplicate comes second if that block is above `ack` (RFC 2883 §4).
    pub(crate) fn sack(&mut self, ack: u64) -> ([SackBlock; MAX_SACK_BLOCKS], u8) {
        let mut sack = [SackBlock::default(); MAX_SACK_BLOCKS];
        let mut count = 0;
        let blocks = self.duplicate.take().into_iter().chain(self.blocks.iter().copied());
        // Stored data lies within the window, but a duplicate may be much older.
        let blocks = blocks.filter_map(|block| SackBlock::new(ack, block.start, block.end));
        for (slot, block) in sack.iter_mut().zip(blocks) {
            *slot = block;
            count += 1;
        }
        (sack, count)
    }
}
