//! Fair queueing by tags alone: SCFQ (Golestani, INFOCOM '94) and the WFQ of MQ-ECN's development code.
//!
//! Both algorithms compute virtual time from tags that they have assigned, so they need not simulate GPS.

use shallows_core::{Bytes, Instant};

use super::interface::{May, Scheduler};
use super::wfq::{NO_TAG, earliest, span};
use crate::queue::QueueState;

/// Tag that defines virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// Tag of the packet on the wire (Golestani, §III).
    InService,
    /// Largest tag assigned so far (MQ-ECN's development code).
    Latest,
}

/// Fair queueing scheduler that computes virtual time from tags. Each queue has a weight, and the packet at its head has a finish tag.
#[derive(Clone, Debug)]
pub struct SelfClocked {
    weights: Box<[u32]>,
    /// Finish tag of the packet at the head of each queue.
    heads: Box<[u128]>,
    virtual_time: u128,
    reference: Reference,
}

impl SelfClocked {
    /// Creates a scheduler with one empty queue per weight.
    ///
    /// # Panics
    ///
    /// Panics if a weight is zero.
    pub fn new(weights: &[u32], reference: Reference) -> Self {
        assert!(weights.iter().all(|&weight| weight > 0), "a queue without weight would never send");
        Self {
            weights: weights.into(),
            heads: vec![NO_TAG; weights.len()].into(),
            virtual_time: 0,
            reference,
        }
    }

    /// Assigns a finish tag to the head of `queue`, whose service starts at the virtual time `start`.
    #[inline(always)]
    fn tag_head(&mut self, queue: usize, start: u128, size: Bytes) {
        let tag = start + span(size, self.weights[queue]);
        self.heads[queue] = tag;
        if self.reference == Reference::Latest {
            self.virtual_time = self.virtual_time.max(tag);
        }
    }
}

impl Scheduler for SelfClocked {
    #[inline(always)]
    fn on_enqueue(&mut self, _now: Instant, queue: usize, size: Bytes, queues: &[QueueState]) {
        if queues[queue].packets == 1 {
            self.tag_head(queue, self.virtual_time, size);
        }
    }

    #[inline(always)]
    fn select(&mut self, _now: Instant, _queues: &[QueueState], may: impl May) -> Option<usize> {
        earliest(&self.heads, (0..self.heads.len()).filter(|&queue| may.has(queue)))
    }

    #[inline(always)]
    fn on_dequeue(&mut self, _now: Instant, queue: usize, _size: Bytes, queues: &[QueueState]) -> bool {
        let sent = std::mem::replace(&mut self.heads[queue], NO_TAG);
        if self.reference == Reference::InService {
            self.virtual_time = sent;
        }
        if queues[queue].packets > 0 {
            // Golestani Eq. 4 takes max(v, F of the predecessor). The latter is larger or equal, because no waiting tag is below v.
            self.tag_head(queue, sent, queues[queue].head);
        }
        false
    }

    #[inline(always)]
    fn pass(&mut self, _now: Instant, queue: usize, size: Bytes) -> Option<bool> {
        // The new tag is the largest tag and also the tag of the packet on the wire, so both definitions of virtual time agree.
        self.virtual_time += span(size, self.weights[queue]);
        Some(false)
    }
}
