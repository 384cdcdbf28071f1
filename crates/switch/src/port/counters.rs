//! Counters of a port and of its queues.

use shallows_core::Bytes;

use crate::queue::DropReason;

/// Packets by what became of them. Law: received = sent + dropped + queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Arrived at the port.
    pub received: u64,
    /// Given CE here.
    pub marked: u64,
    /// Given the explicit incast notification here.
    pub incast: u64,
    /// Put on the link.
    pub sent: u64,
    /// Bytes put on the link.
    pub sent_bytes: Bytes,
    /// Dropped, by [`DropReason`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// The part of those that had waited: a marker dropped them on the way out, or the link went down.
    pub dropped_at_dequeue: u64,
    /// Most bytes that ever waited.
    pub max_backlog: Bytes,
}

impl Counters {
    /// Dropped for any reason.
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Joined the queue, if only in passing.
    pub fn enqueued(&self) -> u64 {
        self.received + self.dropped_from_queue() - self.dropped_total()
    }

    /// Left the queue.
    pub fn dequeued(&self) -> u64 {
        self.sent + self.dropped_from_queue()
    }

    /// Dropped after they had joined the queue.
    fn dropped_from_queue(&self) -> u64 {
        self.dropped_at_dequeue + self.dropped[DropReason::PushedOut as usize]
    }
}

/// The books of a port or of one of its queues: beside what happens to every packet only a place for the rest, which is kept
/// elsewhere once there is any.
#[derive(Clone, Debug, Default)]
pub(super) struct Books {
    pub(super) received: u64,
    pub(super) sent: u64,
    pub(super) sent_bytes: Bytes,
    pub(super) max_backlog: Bytes,
    rare: Option<Box<Rare>>,
}

/// Counters of rare outcomes; units as in [`Counters`].
#[derive(Clone, Debug, Default)]
pub(super) struct Rare {
    pub(super) marked: u64,
    pub(super) incast: u64,
    pub(super) dropped: [u64; DropReason::ALL.len()],
    pub(super) dropped_at_dequeue: u64,
}

impl Books {
    /// Where to count what happens to few packets.
    pub(super) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    pub(super) fn counters(&self) -> Counters {
        let none = Rare::default();
        let Rare { marked, incast, dropped, dropped_at_dequeue } = *self.rare.as_deref().unwrap_or(&none);
        let &Self { received, sent, sent_bytes, max_backlog, .. } = self;
        Counters { received, marked, incast, sent, sent_bytes, dropped, dropped_at_dequeue, max_backlog }
    }

    /// Add what another queue of the port has seen. The most that waited at the port is not the sum over its queues.
    pub(super) fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        let Some(other) = &other.rare else { return };
        let rare = self.rare();
        rare.marked += other.marked;
        rare.incast += other.incast;
        rare.dropped_at_dequeue += other.dropped_at_dequeue;
        for (sum, more) in rare.dropped.iter_mut().zip(other.dropped) {
            *sum += more;
        }
    }
}
