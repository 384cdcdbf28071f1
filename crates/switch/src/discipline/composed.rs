//! A queue for each class of service, and a scheduler among them.

use std::sync::Arc;

use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant, Rate};

use super::{Discipline, Item, Left, QueueState, Reading};
use crate::buffer::Limit;
use crate::port::DropReason;
use crate::ring::Ring;
use crate::scheduler::{self, AnyScheduler, Scheduler};

/// What a composed port is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Who sends next, and with that how many queues there are.
    pub scheduler: scheduler::Config,
    /// By class (DSCP): the queue that its packets join. Classes beyond the end join queue 0, as in MQ-ECN's qdisc.
    pub queue_of_class: Arc<[u8]>,
    /// How far its queues may grow, whatever the buffer allows.
    pub limits: Limits,
}

/// Bounds of a port's own, inside those of its buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// By queue; no entry is no limit.
    pub queues: Vec<Limit>,
    /// Of all queues together, first come, first served.
    pub port: Option<Limit>,
}

/// Queues by class, with a [`Scheduler`].
#[derive(Clone, Debug)]
pub struct Composed<T> {
    rings: Box<[Ring<Item<T>>]>,
    queues: Box<[QueueState]>,
    /// The same table for all ports, so that it stays in the cache.
    queue_of_class: Arc<[u8]>,
    /// Nothing where there are none.
    limited: Option<Box<Limited>>,
    scheduler: AnyScheduler,
}

/// Limits, and what counts against them.
#[derive(Clone, Debug)]
struct Limited {
    limits: Limits,
    total: QueueState,
}

impl<T: Copy + Default> Composed<T> {
    /// Empty queues at a link of this rate.
    ///
    /// # Panics
    ///
    /// If a class is sent to a queue that does not exist.
    pub fn new(config: &Config, rate: Rate) -> Self {
        let queues: Vec<QueueState> = config
            .scheduler
            .shares()
            .into_iter()
            .map(|share| QueueState { share, ..QueueState::default() })
            .collect();
        let known = |&queue: &u8| usize::from(queue) < queues.len();
        assert!(config.queue_of_class.iter().all(known), "every class has a queue");
        Self {
            rings: queues.iter().map(|_| Ring::new()).collect(),
            queues: queues.into_boxed_slice(),
            queue_of_class: config.queue_of_class.clone(),
            limited: (config.limits != Limits::default())
                .then(|| Box::new(Limited { limits: config.limits.clone(), total: QueueState::default() })),
            scheduler: config.scheduler.build(rate),
        }
    }
}

impl Limited {
    /// Why a packet of `size` may not join `queue`, if it may not.
    fn refuses(&self, queue: usize, state: &QueueState, size: Bytes) -> Option<DropReason> {
        let exceeded = |state: &QueueState, limit: &Limit| match *limit {
            Limit::Bytes(limit) => state.backlog + size > limit,
            Limit::Packets(limit) => state.packets >= limit,
        };
        if self.limits.port.iter().any(|limit| exceeded(&self.total, limit)) {
            return Some(DropReason::PortLimit);
        }
        self.limits.queues.get(queue).filter(|limit| exceeded(state, limit)).map(|_| DropReason::QueueLimit)
    }
}

impl<T: Copy + Default> Discipline<T> for Composed<T> {
    #[inline]
    fn place(&mut self, _now: Instant, header: &Header) -> Result<usize, DropReason> {
        let queue = usize::from(self.queue_of_class.get(usize::from(header.class())).copied().unwrap_or(0));
        match self
            .limited
            .as_ref()
            .and_then(|limited| limited.refuses(queue, &self.queues[queue], header.size()))
        {
            None => Ok(queue),
            Some(reason) => Err(reason),
        }
    }

    #[inline]
    fn enqueue(&mut self, queue: usize, item: Item<T>) {
        let size = item.header.size();
        let state = &mut self.queues[queue];
        if state.packets == 0 {
            state.head = size;
        }
        state.packets += 1;
        state.backlog += size;
        if let Some(limited) = &mut self.limited {
            limited.total.packets += 1;
            limited.total.backlog += size;
        }
        let now = item.enqueued_at;
        self.rings[queue].push(item);
        self.scheduler.on_enqueue(now, queue, size, &self.queues);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant) -> Option<Left<T>> {
        let queue = self.scheduler.select(now, &self.queues)?;
        let item = self.rings[queue].pop().expect("a scheduler selects a queue that is not empty");
        let size = item.header.size();
        let state = &mut self.queues[queue];
        state.packets -= 1;
        state.backlog -= size;
        state.head = self.rings[queue].front().map_or(Bytes(0), |next| next.header.size());
        if let Some(limited) = &mut self.limited {
            limited.total.packets -= 1;
            limited.total.backlog -= size;
        }
        let ends_turn = self.scheduler.on_dequeue(now, queue, size, &self.queues);
        Some(Left { item, queue, ends_turn })
    }

    fn peek(&mut self, now: Instant) -> Option<Bytes> {
        self.scheduler.select(now, &self.queues).map(|queue| self.queues[queue].head)
    }

    #[inline]
    fn pass(&mut self, now: Instant, queue: usize, size: Bytes) -> Option<bool> {
        self.scheduler.pass(now, queue, size)
    }

    #[inline]
    fn queues(&self) -> &[QueueState] {
        &self.queues
    }

    fn observe(&self, tell: &mut dyn FnMut(Reading)) {
        self.scheduler.observe(tell);
    }
}

#[cfg(test)]
mod tests;
