//! What a port asks of its discipline.

use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant, Rate};

use crate::queue::{DropReason, Item, Left, QueueState, Reading};

/// The queues of a port and the order in which they are served. Work-conserving while no queue is paused.
///
/// An arrival is [`Self::push_out`] until that returns nothing, [`Self::place`], then [`Self::enqueue`] unless the
/// buffer or a marker refuses the packet in between.
pub trait Discipline<T> {
    /// A packet that has to go so that the arriving one finds room, for disciplines that push out.
    fn push_out(&mut self, _now: Instant, _arriving: &Header) -> Option<Left<T>> {
        None
    }

    /// The queue that an arriving packet would join, or why it may not. Nothing is decided yet: the packet may still be
    /// refused, and then the state is as if it had never come.
    fn place(&mut self, now: Instant, header: &Header) -> Result<usize, DropReason>;

    /// The packet joins `queue`, where [`Self::place`] has just put it.
    fn enqueue(&mut self, queue: usize, item: Item<T>);

    /// The next packet for the link; none if all that wait are in paused queues.
    fn dequeue(&mut self, now: Instant) -> Option<Left<T>>;

    /// Size of the packet that [`Self::dequeue`] would return now. Only a shaped port asks.
    fn peek(&mut self, now: Instant) -> Option<Bytes>;

    /// A packet of `size` passes `queue`, where [`Self::place`] has just put it, while the port is empty: the state is as if it had
    /// joined and left at once. Says whether a turn ends with it; nothing if the packet must join and leave indeed.
    fn pass(&mut self, _now: Instant, _queue: usize, _size: Bytes) -> Option<bool> {
        None
    }

    /// Pause one of several queues, or let it send again. Only disciplines with [`Config::can_pause`](super::Config::can_pause) are asked.
    fn pause(&mut self, _queue: usize, _paused: bool) {
        unreachable!("it has no queues that can be paused")
    }

    /// Let every queue send again.
    fn resume_all(&mut self) {}

    /// Whether `queue`, one of several, may send while others may not.
    fn may_send(&self, _queue: usize) -> bool {
        false
    }

    /// The link has another rate from now on.
    fn set_rate(&mut self, _now: Instant, _rate: Rate) {}

    /// The queues, each with an account of its own in the buffer.
    fn queues(&self) -> &[QueueState];

    /// Tell what traces should show beside the backlog of each queue.
    fn observe(&self, _tell: &mut dyn FnMut(Reading)) {}
}
