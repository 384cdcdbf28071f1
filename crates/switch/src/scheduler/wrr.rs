//! Weighted round-robin with byte quanta: in each round a queue may send its quantum; the unused rest is lost.
//!
//! MQ-ECN (NSDI '16) §3.3.2: "in each round queue i can at most transmit Q_i", as in the switch chips of that time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Instant};

use super::interface::{Every, May, Scheduler};
use crate::queue::QueueState;
use crate::ring::Ring;

/// Order of the turns in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// In the order of queue numbers: MQ-ECN §3.3.1 ("move forward to next queue") and its released simulator.
    #[default]
    Cyclic,
    /// In the order in which the queues became busy: the list of MQ-ECN's qdisc for Linux (§4.1).
    Activation,
}

/// Weighted round-robin scheduler with byte quanta. The unused rest of a turn is lost.
///
/// A turn sends at least one packet, even if the packet exceeds the quantum. Both released implementations of MQ-ECN would loop forever on
/// such a packet.
#[derive(Clone, Debug)]
pub struct Wrr {
    quanta: Box<[Bytes]>,
    rotation: Rotation,
    /// Bytes that the current turn may still send; `None` before the turn's first packet.
    left: Option<Bytes>,
}

impl Wrr {
    /// Creates a scheduler with one empty queue per quantum.
    ///
    /// # Panics
    ///
    /// Panics if a quantum is zero, or if there are more than 64 queues.
    pub fn new(quanta: &[Bytes], order: Order) -> Self {
        assert!(quanta.iter().all(|quantum| quantum.0 > 0), "a quantum of zero is no share");
        assert!(quanta.len() <= 64, "the busy queues are the bits of one word");
        let rotation = match order {
            Order::Cyclic => Rotation::Cyclic { busy: 0, current: 0 },
            Order::Activation => Rotation::Activation(Ring::new()),
        };
        Self { quanta: quanta.into(), rotation, left: None }
    }
}

impl Scheduler for Wrr {
    #[inline(always)]
    fn on_enqueue(&mut self, _now: Instant, queue: usize, _size: Bytes, queues: &[QueueState]) {
        if queues[queue].packets == 1 {
            self.rotation.join(queue);
        }
    }

    #[inline(always)]
    fn select(&mut self, _now: Instant, queues: &[QueueState], may: impl May) -> Option<usize> {
        if self.rotation.turn().is_some_and(|queue| !may.has(queue)) {
            self.left = None;
        }
        let queue = self.rotation.current(may)?;
        match self.left {
            Some(left) if queues[queue].head > left => {
                self.left = None;
                self.rotation.advance();
                self.rotation.current(may)
            }
            _ => Some(queue),
        }
    }

    #[inline(always)]
    fn on_dequeue(&mut self, _now: Instant, queue: usize, size: Bytes, queues: &[QueueState]) -> bool {
        debug_assert_eq!(self.rotation.turn(), Some(queue), "its turn");
        // MQ-ECN's released simulator: a turn starts with exactly the quantum; the rest of the previous turn is not added.
        let left = self.left.unwrap_or(self.quanta[queue]).saturating_sub(size);
        if queues[queue].packets > 0 {
            self.left = Some(left);
            return queues[queue].head > left;
        }
        self.left = None;
        self.rotation.leave();
        true
    }

    #[inline(always)]
    fn pass(&mut self, _now: Instant, queue: usize, _size: Bytes) -> Option<bool> {
        self.rotation.join(queue);
        self.rotation.current(Every);
        self.rotation.leave();
        Some(true)
    }
}

/// The busy queues and their turns.
#[derive(Clone, Debug)]
enum Rotation {
    /// Bit *q* of `busy` is set if queue *q* is busy. Queue `current` has the turn. If this queue is empty or paused, the turn passes to
    /// the next busy queue that may send.
    Cyclic { busy: u64, current: u32 },
    /// A list of the busy queues; the first has the turn.
    Activation(Ring<u8>),
}

impl Rotation {
    #[inline(always)]
    fn join(&mut self, queue: usize) {
        match self {
            Self::Cyclic { busy, .. } => *busy |= 1 << queue,
            Self::Activation(list) => list.push(queue as u8),
        }
    }

    /// Returns the queue that has the turn, even if it is paused; `None` if that queue is empty.
    #[inline(always)]
    fn turn(&self) -> Option<usize> {
        match self {
            Self::Cyclic { busy, current } => (busy >> current & 1 != 0).then_some(*current as usize),
            Self::Activation(list) => list.front().copied().map(usize::from),
        }
    }

    /// Passes the turn over empty and paused queues, and returns the queue that gets the turn. While this queue may send, arriving packets
    /// do not change the result.
    #[inline(always)]
    fn current(&mut self, may: impl May) -> Option<usize> {
        match self {
            Self::Cyclic { busy, current } => {
                let able = *busy & may.bits();
                if able == 0 {
                    return None;
                }
                *current = (*current + able.rotate_right(*current).trailing_zeros()) % u64::BITS;
                Some(*current as usize)
            }
            Self::Activation(list) => {
                for _ in 0..list.len() {
                    let queue = usize::from(*list.front()?);
                    if may.has(queue) {
                        return Some(queue);
                    }
                    let paused = list.pop()?;
                    list.push(paused);
                }
                None
            }
        }
    }

    /// Ends the turn of the current queue, which still holds packets.
    #[inline(always)]
    fn advance(&mut self) {
        match self {
            Self::Cyclic { current, .. } => *current = (*current + 1) % u64::BITS,
            Self::Activation(list) => {
                let first = list.pop().expect("a queue has the turn");
                list.push(first);
            }
        }
    }

    /// Ends the turn of the current queue, which has become empty and is no longer busy.
    #[inline(always)]
    fn leave(&mut self) {
        match self {
            Self::Cyclic { busy, current } => {
                *busy &= !(1 << *current);
                *current = (*current + 1) % u64::BITS;
            }
            Self::Activation(list) => {
                list.pop();
            }
        }
    }
}
