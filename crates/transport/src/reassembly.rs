//! What a receiver holds above a gap, in the order in which SACK blocks report it (RFC 2018 §4).

use shallows_core::packet::{MAX_SACK_BLOCKS, SackBlock};

use crate::scoreboard::Range;

/// Blocks of data that arrived out of order; apart from each other, the most recently changed first.
///
/// Holds no memory until something is missing.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    blocks: Vec<Range>,
    /// What of the last arrival was there before, and was not reported yet.
    duplicate: Option<Range>,
}

impl Reassembly {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether an acknowledgement has something to report beside its number.
    #[inline]
    pub(crate) fn reports(&self) -> bool {
        !self.blocks.is_empty() || self.duplicate.is_some()
    }

    /// Note what of an arriving `range` is there, as is everything below `next`: the first contiguous piece, for an
    /// acknowledgement reports one (RFC 2883 §4).
    pub(crate) fn note_duplicate(&mut self, range: Range, next: u64) {
        let received = [Range { start: 0, end: next }];
        let common = |held: &Range| held.common(range);
        self.duplicate = received.iter().chain(&self.blocks).filter_map(common).min_by_key(|part| part.start);
    }

    /// Keep `range`, which lies above a gap.
    pub(crate) fn insert(&mut self, range: Range) {
        let mut joined = range;
        self.blocks.retain(|&block| {
            let apart = !block.touches(range);
            if !apart {
                joined = joined.join(block);
            }
            apart
        });
        self.blocks.insert(0, joined);
    }

    /// Everything below `next` has arrived. Gives out the blocks that continue it; returns how far they reach.
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

    /// The blocks to report beside the acknowledgement `ack`, and how many: what came again is the first, once, and what holds
    /// it, if that is above `ack`, the second (RFC 2883 §4).
    pub(crate) fn sack(&mut self, ack: u64) -> ([SackBlock; MAX_SACK_BLOCKS], u8) {
        let mut sack = [SackBlock::default(); MAX_SACK_BLOCKS];
        let mut count = 0;
        let blocks = self.duplicate.take().into_iter().chain(self.blocks.iter().copied());
        // What is held lies within the window, but what came again may be of long ago.
        let blocks = blocks.filter_map(|block| SackBlock::new(ack, block.start, block.end));
        for (slot, block) in sack.iter_mut().zip(blocks) {
            *slot = block;
            count += 1;
        }
        (sack, count)
    }
}
