//! One queue per class of service, served by a scheduler.

use std::sync::Arc;

use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant, Rate};

use super::interface::Discipline;
use crate::buffer::Limit;
use crate::queue::{DropReason, Item, Left, QueueState, Reading};
use crate::ring::Ring;
use crate::scheduler::{self, AnyScheduler, Every, May, Paused, Scheduler};

/// Configuration of a port whose packets are queued by class.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Scheduler, which also defines the number of queues.
    pub scheduler: scheduler::Config,
    /// Queue of each class (DSCP). Classes beyond the end of the table join queue 0, as in MQ-ECN's qdisc. Ports with the same
    /// configuration share this table.
    pub queue_of_class: Arc<[u8]>,
    /// Limits on the queues, in addition to those of the buffer.
    pub limits: Limits,
}

/// Limits on a port's queues, in addition to those of the buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Limit of each queue; an empty list means no limit.
    pub queues: Vec<Limit>,
    /// Limit on all queues together. Packets get room in the order in which they arrive, whichever queue they join.
    pub port: Option<Limit>,
}

impl Limits {
    /// Checks whether the limits permit a packet of `size` in `queue`.
    #[inline(never)]
    fn check(&self, queues: &[QueueState], queue: usize, size: Bytes) -> Result<(), DropReason> {
        let bytes = || Bytes(queues.iter().map(|queue| queue.backlog.0).sum());
        let packets = || queues.iter().map(|queue| queue.packets).sum();
        if self.port.is_some_and(|limit| !limit.admits(bytes(), packets(), size)) {
            return Err(DropReason::PortLimit);
        }
        let &QueueState { backlog, packets, .. } = &queues[queue];
        if self.queues.get(queue).is_some_and(|limit| !limit.admits(backlog, packets, size)) {
            return Err(DropReason::QueueLimit);
        }
        Ok(())
    }

    /// Returns the limit of a queue in bytes if every packet has the size `packet`; `None` if there is no limit.
    pub(super) fn of_a_queue(&self, packet: Bytes) -> Option<Bytes> {
        let longest = self.queues.iter().map(|limit| limit.in_bytes(packet)).max();
        longest.into_iter().chain(self.port.map(|limit| limit.in_bytes(packet))).min()
    }

    /// Returns the limit on all queues together, in bytes, if every packet has the size `packet`; `None` if there is no limit.
    pub(super) fn of_the_port(&self, packet: Bytes) -> Option<Bytes> {
        // Either all queues have a limit or none has.
        let queues = self.queues.iter().map(|limit| limit.in_bytes(packet));
        let all = queues.reduce(|sum, limit| Bytes(sum.0.saturating_add(limit.0)));
        all.into_iter().chain(self.port.map(|limit| limit.in_bytes(packet))).min()
    }
}

/// One queue per class of service, served by a [`Scheduler`]. The fields that each arriving packet needs come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Composed<T, S = AnyScheduler> {
    queue_of_class: Arc<[u8]>,
    queues: Box<[QueueState]>,
    /// Limits of the queues; `None` if only the buffer limits them.
    limits: Option<Box<Limits>>,
    paused: Paused,
    rings: Box<[Ring<Item<T>>]>,
    scheduler: S,
}

impl<T: Copy + Default, S: Scheduler> Composed<T, S> {
    /// Creates empty queues that `scheduler` serves, which [`Config::scheduler`] must have built.
    ///
    /// # Panics
    ///
    /// Panics if a class is assigned to a queue that does not exist.
    pub fn new(config: &Config, scheduler: S) -> Self {
        let queues = vec![QueueState::default(); config.scheduler.shares().len()];
        let known = |&queue: &u8| usize::from(queue) < queues.len();
        assert!(config.queue_of_class.iter().all(known), "every class has a queue");
        Self {
            rings: queues.iter().map(|_| Ring::new()).collect(),
            queues: queues.into_boxed_slice(),
            queue_of_class: Arc::clone(&config.queue_of_class),
            limits: (config.limits != Limits::default()).then(|| Box::new(config.limits.clone())),
            scheduler,
            paused: Paused::default(),
        }
    }

    /// Returns the queue that sends next.
    #[inline(always)]
    fn select(&mut self, now: Instant) -> Option<usize> {
        if self.paused.is_none() {
            self.scheduler.select(now, &self.queues, Every)
        } else {
            self.select_among(now)
        }
    }

    #[cold]
    fn select_among(&mut self, now: Instant) -> Option<usize> {
        self.scheduler.select(now, &self.queues, self.paused)
    }
}

impl<T: Copy + Default, S: Scheduler> Discipline<T> for Composed<T, S> {
    #[inline(always)]
    fn place(&mut self, _now: Instant, header: &Header) -> Result<usize, DropReason> {
        let queue = usize::from(self.queue_of_class.get(usize::from(header.class())).copied().unwrap_or(0));
        if let Some(limits) = &self.limits {
            limits.check(&self.queues, queue, header.size())?;
        }
        Ok(queue)
    }

    #[inline(always)]
    fn enqueue(&mut self, queue: usize, item: Item<T>) {
        let size = item.header.size();
        let state = &mut self.queues[queue];
        if state.packets == 0 {
            state.head = size;
        }
        state.packets += 1;
        state.backlog += size;
        let now = item.enqueued_at;
        self.rings[queue].push(item);
        self.scheduler.on_enqueue(now, queue, size, &self.queues);
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Instant) -> Option<Left<T>> {
        let queue = self.select(now)?;
        let item = self.rings[queue].pop().expect("a scheduler selects a queue that is not empty");
        let size = item.header.size();
        let state = &mut self.queues[queue];
        state.packets -= 1;
        state.backlog -= size;
        state.head = self.rings[queue].front().map_or(Bytes(0), |next| next.header.size());
        let ends_turn = self.scheduler.on_dequeue(now, queue, size, &self.queues);
        Some(Left { item, queue, ends_turn })
    }

    fn peek(&mut self, now: Instant) -> Option<Bytes> {
        self.select(now).map(|queue| self.queues[queue].head)
    }

    #[inline(always)]
    fn pass(&mut self, now: Instant, queue: usize, size: Bytes) -> Option<bool> {
        if self.paused.has(queue) { self.scheduler.pass(now, queue, size) } else { None }
    }

    fn pause(&mut self, queue: usize, paused: bool) {
        self.paused.set(queue, paused);
    }

    fn resume_all(&mut self) {
        self.paused = Paused::default();
    }

    fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.scheduler.set_rate(now, rate);
    }

    #[inline(always)]
    fn may_send(&self, queue: usize) -> bool {
        self.paused.has(queue)
    }

    #[inline(always)]
    fn queues(&self) -> &[QueueState] {
        &self.queues
    }

    #[inline(always)]
    fn counting_queues(&mut self) -> &mut [QueueState] {
        &mut self.queues
    }

    fn observe(&self, tell: &mut dyn FnMut(Reading)) {
        self.scheduler.observe(tell);
    }
}

#[cfg(test)]
mod tests;
