//! What a port of several queues asks of its scheduler.

use shallows_core::{Bytes, Instant};

use crate::queue::{QueueState, Reading};

/// Chooses among the queues of a port.
pub trait Scheduler {
    /// A packet of `size` has joined `queue`; it is alone there if that now holds one packet.
    fn on_enqueue(&mut self, _now: Instant, _queue: usize, _size: Bytes, _queues: &[QueueState]) {}

    /// The queue whose head goes next; nothing if all are empty. Asked again before anything left, it answers the same
    /// unless packets have arrived in between.
    fn select(&mut self, now: Instant, queues: &[QueueState]) -> Option<usize>;

    /// A packet of `size` has left the `queue` that was selected; `queues` is what remains. Says whether the turn of that
    /// queue ends with it.
    fn on_dequeue(&mut self, _now: Instant, _queue: usize, _size: Bytes, _queues: &[QueueState]) -> bool {
        false
    }

    /// A packet of `size` passes `queue` while all queues are empty: the state is as if it had joined and left at once. Says whether a
    /// turn ends with it; nothing if the packet must join and leave indeed.
    fn pass(&mut self, now: Instant, queue: usize, size: Bytes) -> Option<bool>;

    /// Tell what traces should show.
    fn observe(&self, _tell: &mut dyn FnMut(Reading)) {}
}
