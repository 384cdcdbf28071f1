//! What a receiver holds above a gap, in the order in which SACK blocks report it (RFC 2018 §4).

use shallows_core::packet::{MAX_SACK_BLOCKS, SackBlock};

use crate::scoreboard::Range;

/// Blocks of data that arrived out of order; apart from each other, the most recently changed first.
///
/// Holds no memory until something is missing.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    blocks: Vec<Range>,
}

impl Reassembly {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
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

    /// The blocks to report beside the acknowledgement `ack`, and how many.
    pub(crate) fn sack(&self, ack: u64) -> ([SackBlock; MAX_SACK_BLOCKS], u8) {
        let mut sack = [SackBlock::default(); MAX_SACK_BLOCKS];
        let offset = |at: u64| u32::try_from(at - ack).expect("what is held lies within the window");
        for (slot, block) in sack.iter_mut().zip(&self.blocks) {
            *slot = SackBlock { start: offset(block.start), end: offset(block.end) };
        }
        (sack, self.blocks.len().min(MAX_SACK_BLOCKS) as u8)
    }
}
