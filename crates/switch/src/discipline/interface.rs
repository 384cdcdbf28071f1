//! Interface between a port and its discipline.

use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant, Rate};

use crate::queue::{DropReason, Item, Left, QueueState, Reading};

/// Queues of a port and their order of service. Work-conserving while no queue is paused.
///
/// For each arrival the port calls [`Self::push_out`] until it returns `None`, then [`Self::place`], then
/// [`Self::enqueue`] unless the buffer or a marker refuses the packet in between.
pub trait Discipline<T> {
    /// Removes a packet to make room for the arriving one, in disciplines that push out.
    fn push_out(&mut self, _now: Instant, _arriving: &Header) -> Option<Left<T>> {
        None
    }

    /// Returns the queue that an arriving packet would join, or the reason for refusing it. The call adds no packet,
    /// because the buffer or a marker may still refuse the packet.
    fn place(&mut self, now: Instant, header: &Header) -> Result<usize, DropReason>;

    /// Adds the packet to `queue`, the result of the preceding call of [`Self::place`].
    fn enqueue(&mut self, queue: usize, item: Item<T>);

    /// Removes the next packet for the link. Returns `None` if all waiting packets are in paused queues.
    fn dequeue(&mut self, now: Instant) -> Option<Left<T>>;

    /// Returns the size of the packet that [`Self::dequeue`] would return now. Only a shaped port calls this.
    fn peek(&mut self, now: Instant) -> Option<Bytes>;

    /// Records that a packet of `size` joins and at once leaves `queue`, the result of the preceding call of [`Self::place`],
    /// while the port is empty. Returns whether a turn ends; `None` if the port must call [`Self::enqueue`] and
    /// [`Self::dequeue`] instead.
    fn pass(&mut self, _now: Instant, _queue: usize, _size: Bytes) -> Option<bool> {
        None
    }

    /// Pauses or resumes `queue`. The port calls this only for disciplines with several queues and
    /// [`Config::can_pause`](super::Config::can_pause).
    fn pause(&mut self, _queue: usize, _paused: bool) {
        unreachable!("it has no queues that can be paused")
    }

    /// Resumes every queue.
    fn resume_all(&mut self) {}

    /// Returns whether the port may send from `queue` while other queues are paused.
    fn may_send(&self, _queue: usize) -> bool {
        false
    }

    /// Changes the rate of the link from now on.
    fn set_rate(&mut self, _now: Instant, _rate: Rate) {}

    /// Returns the state of each queue. Each queue has its own account in the buffer.
    fn queues(&self) -> &[QueueState];

    /// Passes state to `tell` for traces, in addition to the backlog of each queue.
    fn observe(&self, _tell: &mut dyn FnMut(Reading)) {}
}
