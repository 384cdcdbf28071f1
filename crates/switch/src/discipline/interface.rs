//! Interface between a port and its discipline.

use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant, Rate};

use crate::queue::{DropReason, Item, Left, QueueState, Reading};

/// Queues of a port and the order in which they are served. Every discipline is work-conserving while no queue is paused.
///
/// For each arriving packet the port calls [`Self::push_out`] until it returns `None`, then [`Self::place`]. If neither the buffer nor a
/// marker refuses the packet, the port then calls [`Self::pass`] if the port is empty and its link is free. In all other cases, and if
/// `pass` returns `None`, it calls [`Self::enqueue`].
pub trait Discipline<T> {
    /// Removes and returns a waiting packet to make room for the arriving one; `None` if no packet needs to leave, or if the discipline
    /// never pushes packets out.
    fn push_out(&mut self, _now: Instant, _arriving: &Header) -> Option<Left<T>> {
        None
    }

    /// Returns the queue that an arriving packet would join, or the reason for refusing it. The packet is not added yet, because the
    /// buffer or a marker may still refuse it.
    fn place(&mut self, now: Instant, header: &Header) -> Result<usize, DropReason>;

    /// Adds the packet to `queue`, which the preceding call of [`Self::place`] returned.
    fn enqueue(&mut self, queue: usize, item: Item<T>);

    /// Removes and returns the next packet for the link; `None` if no packet waits, or all waiting packets are in paused queues.
    fn dequeue(&mut self, now: Instant) -> Option<Left<T>>;

    /// Returns the size of the packet that [`Self::dequeue`] would return now. Only a shaped port calls this.
    fn peek(&mut self, now: Instant) -> Option<Bytes>;

    /// Records that a packet of `size` passes through `queue` of an empty port without waiting. The preceding call of [`Self::place`] has
    /// returned `queue`. Returns whether a turn ends, or `None` if the port must call [`Self::enqueue`] and [`Self::dequeue`] instead.
    fn pass(&mut self, _now: Instant, _queue: usize, _size: Bytes) -> Option<bool> {
        None
    }

    /// Pauses or resumes `queue`. The port calls this only if the discipline has several queues and
    /// [`Config::can_pause`](super::Config::can_pause) returns `true`.
    fn pause(&mut self, _queue: usize, _paused: bool) {
        unreachable!("it has no queues that can be paused")
    }

    /// Resumes every queue.
    fn resume_all(&mut self) {}

    /// Returns whether the port may send from `queue` while some queues are paused.
    fn may_send(&self, _queue: usize) -> bool {
        false
    }

    /// Sets the rate of the link from `now` on.
    fn set_rate(&mut self, _now: Instant, _rate: Rate) {}

    /// Returns the state of each queue. Each queue has its own account in the buffer.
    fn queues(&self) -> &[QueueState];

    /// Returns the queues that contain their counters. A discipline with several queues must return all of them. If the slice is empty, the
    /// port counts the packets of its only queue itself. The port changes only the counters.
    #[inline(always)]
    fn counting_queues(&mut self) -> &mut [QueueState] {
        &mut []
    }

    /// Calls `tell` with each value that a trace records in addition to the backlog of each queue.
    fn observe(&self, _tell: &mut dyn FnMut(Reading)) {}
}
