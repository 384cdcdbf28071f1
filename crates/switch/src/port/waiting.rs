//! Waiting packets of a port, either in a single queue or in a discipline behind an optional shaper.

use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant};

use crate::counters::Books;
use crate::discipline::{AnyDiscipline, Discipline};
use crate::queue::{DropReason, Item, Left, QueueState};
use crate::ring::Ring;
use crate::shaper::TokenBucket;

/// Queues of a port, with the operations that the path of a packet needs. The default methods suit a port with one queue; the compiler
/// removes calls to them.
///
/// `T` is the driver's reference to the rest of a packet.
pub(super) trait Waiting<T: Copy> {
    /// Removes a packet to make room for the arriving one; see [`Discipline::push_out`].
    fn push_out(&mut self, _now: Instant, _arriving: &Header) -> Option<Left<T>> {
        None
    }

    /// Returns the queue that a packet would join; see [`Discipline::place`].
    fn place(&mut self, _now: Instant, _header: &Header) -> Result<usize, DropReason> {
        Ok(0)
    }

    /// Records that a packet passes through an empty port; see [`Discipline::pass`].
    fn pass(&mut self, _now: Instant, _queue: usize, _size: Bytes) -> Option<bool> {
        Some(false)
    }

    /// Adds a packet to `queue`; see [`Discipline::enqueue`].
    fn enqueue(&mut self, queue: usize, item: Item<T>);

    /// Removes the next packet; see [`Discipline::dequeue`].
    fn dequeue(&mut self, now: Instant) -> Option<Left<T>>;

    /// Returns whether the port may send from a queue while others are paused; see [`Discipline::may_send`].
    fn may_send(&self, _queue: usize) -> bool {
        false
    }

    /// Returns the time until which the shaper holds back the next packet; `None` if the packet may leave now.
    fn held_until(&mut self, _now: Instant) -> Option<Instant> {
        None
    }

    /// Records that `size` bytes go on the wire, or that the wire stays idle for their transmission time.
    fn spend(&mut self, _now: Instant, _size: Bytes) {}

    /// Returns the state of each queue; `None` for a port with one queue, whose state is that of the port.
    fn states(&self) -> Option<&[QueueState]> {
        None
    }

    /// Returns the counters of `queue`, or `whole`, the counters of the port, if the queue has none.
    fn books<'a>(&'a mut self, _queue: usize, whole: &'a mut Books) -> &'a mut Books {
        whole
    }
}

impl<T: Copy + Default> Waiting<T> for Ring<Item<T>> {
    #[inline(always)]
    fn enqueue(&mut self, _queue: usize, item: Item<T>) {
        self.push(item);
    }

    #[inline(always)]
    fn dequeue(&mut self, _now: Instant) -> Option<Left<T>> {
        self.pop().map(|item| Left { item, queue: 0, ends_turn: false })
    }
}

/// State of a port with several queues or a shaper. The fields that each packet needs come first.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Elaborate<T> {
    pub(super) shaper: Option<Box<TokenBucket>>,
    pub(super) discipline: AnyDiscipline<T>,
}

/// Waiting packets of a port with several queues or a shaper. `D` is the type of the port's discipline.
pub(super) struct Known<'a, D> {
    pub(super) shaper: &'a mut Option<Box<TokenBucket>>,
    pub(super) discipline: &'a mut D,
}

impl<T: Copy + Default, D: Discipline<T>> Waiting<T> for Known<'_, D> {
    #[inline(always)]
    fn push_out(&mut self, now: Instant, arriving: &Header) -> Option<Left<T>> {
        self.discipline.push_out(now, arriving)
    }

    #[inline(always)]
    fn place(&mut self, now: Instant, header: &Header) -> Result<usize, DropReason> {
        self.discipline.place(now, header)
    }

    #[inline(always)]
    fn pass(&mut self, now: Instant, queue: usize, size: Bytes) -> Option<bool> {
        // A packet that a shaper may delay must join its queue, even if the port is empty.
        if self.shaper.is_some() { None } else { self.discipline.pass(now, queue, size) }
    }

    #[inline(always)]
    fn enqueue(&mut self, queue: usize, item: Item<T>) {
        self.discipline.enqueue(queue, item);
        if let Some(QueueState { books, backlog, .. }) = self.discipline.counting_queues().get_mut(queue) {
            books.max_backlog = books.max_backlog.max(*backlog);
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Instant) -> Option<Left<T>> {
        self.discipline.dequeue(now)
    }

    #[inline(always)]
    fn may_send(&self, queue: usize) -> bool {
        self.discipline.may_send(queue)
    }

    #[inline(always)]
    fn held_until(&mut self, now: Instant) -> Option<Instant> {
        let shaper = self.shaper.as_ref()?;
        let size = self.discipline.peek(now)?;
        Some(shaper.ready_at(now, size)).filter(|&ready| ready > now)
    }

    #[inline(always)]
    fn spend(&mut self, now: Instant, size: Bytes) {
        if let Some(shaper) = &mut *self.shaper {
            shaper.take(now, size);
        }
    }

    #[inline(always)]
    fn states(&self) -> Option<&[QueueState]> {
        Some(self.discipline.queues())
    }

    #[inline(always)]
    fn books<'a>(&'a mut self, queue: usize, whole: &'a mut Books) -> &'a mut Books {
        let queues = self.discipline.counting_queues();
        debug_assert!(queues.is_empty() || queue < queues.len(), "no queue {queue}");
        queues.get_mut(queue).map_or(whole, |state| &mut state.books)
    }
}
