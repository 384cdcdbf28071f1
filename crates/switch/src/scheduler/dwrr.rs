//! Deficit weighted round-robin: in each turn a queue may send its quantum plus the unused rest of its previous turn.
//!
//! Source: Shreedhar and Varghese (ToN '96) [S&V], as in MQ-ECN (NSDI '16) §3.3.2 and its released simulator.

use shallows_core::{Bytes, Instant};

use super::interface::{May, Scheduler};
use crate::queue::{QueueState, Reading};
use crate::ring::Ring;

/// Deficit weighted round-robin scheduler. It lists the queues that hold packets; the first queue in the list has the turn.
///
/// Each packet takes O(1) steps if no packet is larger than a quantum (S&V Theorem 4.7, MQ-ECN §3.3.2). With smaller quanta, one step
/// skips all rounds that send no packet, so [`Self::select`] visits each queue at most twice.
#[derive(Clone, Debug)]
pub struct Dwrr {
    quanta: Box<[Bytes]>,
    deficits: Box<[Bytes]>,
    active: Ring<u8>,
    /// Whether the first queue in the list has received its quantum for this round.
    serving: bool,
    #[cfg(test)]
    pub(super) visits: u64,
}

impl Dwrr {
    /// Creates a scheduler with one empty queue per quantum.
    ///
    /// # Panics
    ///
    /// Panics if a quantum is zero, or if there are more than 256 queues.
    pub fn new(quanta: &[Bytes]) -> Self {
        assert!(
            quanta.iter().all(|quantum| quantum.0 > 0),
            "a queue with a quantum of zero would never send"
        );
        assert!(quanta.len() <= 256, "a queue has a number of eight bits");
        Self {
            quanta: quanta.into(),
            deficits: vec![Bytes(0); quanta.len()].into(),
            active: Ring::new(),
            serving: false,
            #[cfg(test)]
            visits: 0,
        }
    }

    /// Adds to the deficits the quanta of all rounds in which no queue could send.
    #[cold]
    fn skip_idle_rounds(&mut self, queues: &[QueueState], may: impl May) {
        let busy = || (0..queues.len()).filter(|&queue| queues[queue].packets > 0 && may.has(queue));
        let rounds =
            |queue: usize| (queues[queue].head - self.deficits[queue]).0.div_ceil(self.quanta[queue].0);
        // Some queue can send in the last of these rounds, so that round is not skipped.
        let idle = busy().map(rounds).min().map_or(0, |rounds| rounds - 1);
        for queue in busy() {
            self.deficits[queue] += self.quanta[queue] * idle;
        }
    }
}

impl Scheduler for Dwrr {
    #[inline(always)]
    fn on_enqueue(&mut self, _now: Instant, queue: usize, _size: Bytes, queues: &[QueueState]) {
        if queues[queue].packets == 1 {
            // S&V Fig. 3: a queue that becomes active joins the end of the list. Its deficit has been zero since it became empty.
            self.active.push(queue as u8);
        }
    }

    #[inline(always)]
    fn select(&mut self, _now: Instant, queues: &[QueueState], may: impl May) -> Option<usize> {
        let (mut passed, mut waiting) = (0, false);
        loop {
            let queue = usize::from(*self.active.front()?);
            #[cfg(test)]
            {
                self.visits += 1;
            }
            if !may.has(queue) {
                // The queue keeps its deficit, but gets no quantum in a round in which it may not send.
            } else if !self.serving {
                // S&V Fig. 3: the quantum is added once per round, when the queue reaches the head of the list.
                self.deficits[queue] += self.quanta[queue];
                self.serving = true;
            }
            if may.has(queue) {
                if queues[queue].head <= self.deficits[queue] {
                    return Some(queue);
                }
                waiting = true;
            }
            // As in the released simulator, the queue moves to the end of the list when the link is free again: behind the queues that
            // became active while the queue's last packet was sent.
            self.active.pop();
            self.active.push(queue as u8);
            self.serving = false;
            passed += 1;
            if passed == self.active.len() {
                if !waiting {
                    return None;
                }
                let next = usize::from(*self.active.front()?);
                // No round is idle if the first queue can send in it.
                if !may.has(next) || queues[next].head > self.deficits[next] + self.quanta[next] {
                    self.skip_idle_rounds(queues, may);
                }
            }
        }
    }

    #[inline(always)]
    fn on_dequeue(&mut self, _now: Instant, queue: usize, size: Bytes, queues: &[QueueState]) -> bool {
        debug_assert_eq!(self.active.front().copied().map(usize::from), Some(queue), "its turn");
        self.deficits[queue] -= size;
        if queues[queue].packets > 0 {
            return queues[queue].head > self.deficits[queue];
        }
        // S&V Fig. 3, MQ-ECN §3.3.2: reset to 0 if the queue is empty.
        self.deficits[queue] = Bytes(0);
        self.active.pop();
        self.serving = false;
        true
    }

    #[inline(always)]
    fn pass(&mut self, _now: Instant, _queue: usize, _size: Bytes) -> Option<bool> {
        // A lone queue gets rounds until its packet is sent, and keeps no deficit.
        Some(true)
    }

    fn observe(&self, tell: &mut dyn FnMut(Reading)) {
        for (queue, deficit) in self.deficits.iter().enumerate() {
            tell(Reading { quantity: "deficit_bytes", queue: Some(queue), value: deficit.0 as f64 });
        }
    }
}
