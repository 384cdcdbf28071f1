//! What stands between arrival and link of one egress port: its queues, and which of them sends next.
//!
//! Buffer and markers surround every discipline, so ECN works with each of them. To add one: a file here, a variant
//! of [`Config`] and of [`AnyDiscipline`], a row in `docs/models.md`.

mod circle;
mod composed;
mod fifo;
mod flow_hash;
pub mod hashed_drr;
pub mod hcf;
mod periodic;
pub mod sfq;
#[cfg(test)]
pub(crate) mod testing;

pub use composed::{Composed, Limits};
pub use fifo::Fifo;
pub use flow_hash::FlowHash;
pub use hashed_drr::HashedDrr;
pub use hcf::Hcf;
pub use sfq::Sfq;
use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Instant, Rate};

use crate::port::DropReason;
use crate::scheduler;

/// A packet that waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Item<T> {
    /// Its header.
    pub header: Header,
    /// What the driver gave with it.
    pub payload: T,
    /// When it joined its queue.
    pub enqueued_at: Instant,
}

/// A packet that leaves its queue.
#[derive(Clone, Copy, Debug)]
pub struct Left<T> {
    /// The packet.
    pub item: Item<T>,
    /// The queue that held it.
    pub queue: usize,
    /// Whether the service of this queue ends with it: its turn in a round is over, or it is empty.
    pub ends_turn: bool,
}

/// What a queue may claim of its link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Share {
    /// All that queues of higher priority leave.
    #[default]
    Strict,
    /// So many bytes in each round of a round-robin.
    Round {
        /// The bytes.
        quantum: Bytes,
    },
    /// In proportion to its weight among the busy queues.
    Weight(u32),
}

/// One queue of a port as schedulers and markers see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// Bytes that wait.
    pub backlog: Bytes,
    /// Packets that wait.
    pub packets: u32,
    /// Size of the packet at the head, where a scheduler chooses by it; nothing if none waits.
    pub head: Bytes,
    /// What it may claim of the link.
    pub share: Share,
}

/// One number that describes the state of a port, for traces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// What it is, with its unit: `backlog_bytes`, `round_time_us`.
    pub quantity: &'static str,
    /// The queue that it is about, if one.
    pub queue: Option<usize>,
    /// Its value.
    pub value: f64,
}

/// The queues of a port and the order in which they are served. Work-conserving.
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

    /// The next packet for the link.
    fn dequeue(&mut self, now: Instant) -> Option<Left<T>>;

    /// Size of the packet that [`Self::dequeue`] would return now. Only a shaped port asks.
    fn peek(&mut self, now: Instant) -> Option<Bytes>;

    /// A packet of `size` passes `queue`, where [`Self::place`] has just put it, while the port is empty: the state is as if it had
    /// joined and left at once. Says whether a turn ends with it; nothing if the packet must join and leave indeed.
    fn pass(&mut self, _now: Instant, _queue: usize, _size: Bytes) -> Option<bool> {
        None
    }

    /// The queues, each with an account of its own in the buffer.
    fn queues(&self) -> &[QueueState];

    /// Tell what traces should show beside the backlog of each queue.
    fn observe(&self, _tell: &mut dyn FnMut(Reading)) {}
}

/// A discipline before it is placed at a port.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Config {
    /// One queue, first in, first out.
    #[default]
    Fifo,
    /// A queue for each class of service, and a scheduler among them.
    Composed(composed::Config),
    /// Two queues that swap, and credits by bin: Hashed Credits Fair.
    Hcf(hcf::Config),
    /// Deficit round-robin over hashed buckets, which drops from the head of the longest.
    HashedDrr(hashed_drr::Config),
    /// Stochastic Fairness Queueing.
    Sfq(sfq::Config),
}

impl Config {
    /// Queues that a port of this discipline accounts for in its buffer.
    pub fn queues(&self) -> usize {
        match self {
            Self::Composed(config) => config.scheduler.shares().len(),
            Self::Fifo | Self::Hcf(_) | Self::HashedDrr(_) | Self::Sfq(_) => 1,
        }
    }

    /// What each of these queues may claim of the link.
    pub fn shares(&self) -> Vec<Share> {
        match self {
            Self::Composed(config) => config.scheduler.shares(),
            Self::Fifo | Self::Hcf(_) | Self::HashedDrr(_) | Self::Sfq(_) => vec![Share::Strict],
        }
    }

    /// Bytes that a port takes for what this counts (bins, buckets), before a packet waits.
    pub fn footprint<T>(&self) -> u64 {
        match self {
            Self::Fifo | Self::Composed(_) => 0,
            Self::Hcf(config) => hcf::footprint(config),
            Self::HashedDrr(config) => hashed_drr::footprint::<T>(config),
            Self::Sfq(config) => sfq::footprint::<T>(config),
        }
    }

    /// The discipline of one port, whose link has this rate; it draws from `stream`.
    pub fn build<T: Copy + Default>(&self, rate: Rate, stream: Stream) -> AnyDiscipline<T> {
        match self {
            Self::Fifo => AnyDiscipline::Fifo(Fifo::default()),
            Self::Composed(config) => AnyDiscipline::Composed(Box::new(Composed::new(config, rate))),
            Self::Hcf(config) => AnyDiscipline::Hcf(Box::new(Hcf::new(config, stream))),
            Self::HashedDrr(config) => AnyDiscipline::HashedDrr(Box::new(HashedDrr::new(config, stream))),
            Self::Sfq(config) => AnyDiscipline::Sfq(Box::new(Sfq::new(config, stream))),
        }
    }
}

pub use composed::Config as ComposedConfig;
pub use scheduler::Config as SchedulerConfig;

/// Defines [`AnyDiscipline`] and hands each call to the variant it holds.
macro_rules! disciplines {
    ($($name:ident($type:ty)),*) => {
        /// Any discipline, dispatched without a pointer to code. Those beside `Fifo` live in a box, so that the port with
        /// one queue stays small.
        #[derive(Clone, Debug)]
        pub enum AnyDiscipline<T> {
            $(
                #[doc = concat!("See [`", stringify!($name), "`].")]
                $name($type),
            )*
        }

        impl<T: Copy + Default> Discipline<T> for AnyDiscipline<T> {
            #[inline]
            fn push_out(&mut self, now: Instant, arriving: &Header) -> Option<Left<T>> {
                match self { $(Self::$name(discipline) => discipline.push_out(now, arriving),)* }
            }

            #[inline]
            fn place(&mut self, now: Instant, header: &Header) -> Result<usize, DropReason> {
                match self { $(Self::$name(discipline) => discipline.place(now, header),)* }
            }

            #[inline]
            fn enqueue(&mut self, queue: usize, item: Item<T>) {
                match self { $(Self::$name(discipline) => discipline.enqueue(queue, item),)* }
            }

            #[inline]
            fn dequeue(&mut self, now: Instant) -> Option<Left<T>> {
                match self { $(Self::$name(discipline) => discipline.dequeue(now),)* }
            }

            fn peek(&mut self, now: Instant) -> Option<Bytes> {
                match self { $(Self::$name(discipline) => discipline.peek(now),)* }
            }

            #[inline]
            fn pass(&mut self, now: Instant, queue: usize, size: Bytes) -> Option<bool> {
                match self { $(Self::$name(discipline) => discipline.pass(now, queue, size),)* }
            }

            #[inline]
            fn queues(&self) -> &[QueueState] {
                match self { $(Self::$name(discipline) => discipline.queues(),)* }
            }

            fn observe(&self, tell: &mut dyn FnMut(Reading)) {
                match self { $(Self::$name(discipline) => discipline.observe(tell),)* }
            }
        }
    };
}

disciplines!(
    Fifo(Fifo<T>),
    Composed(Box<Composed<T>>),
    Hcf(Box<Hcf<T>>),
    HashedDrr(Box<HashedDrr<T>>),
    Sfq(Box<Sfq<T>>)
);

#[cfg(test)]
mod tests;
