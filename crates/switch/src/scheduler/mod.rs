//! Schedulers, which choose the queue of a port that sends next. They are work-conserving while no queue is paused, and the round-robin
//! schedulers take O(1) steps per packet.
//!
//! A scheduler reports when a queue's turn ends; it does not read the thresholds of markers. A new scheduler needs a file in this folder,
//! a variant of [`Config`] and of [`AnyScheduler`], and a row in `docs/models.md` and in `evidence/models.md`.

mod dwrr;
mod interface;
mod self_clocked;
mod strict_above;
mod strict_priority;
mod wfq;
mod wrr;

pub use dwrr::Dwrr;
pub use interface::{Every, May, Paused, Scheduler};
pub use self_clocked::{Reference, SelfClocked};
use shallows_core::{Bytes, Instant, Rate};
pub use strict_priority::StrictPriority;
pub use wfq::{VirtualTime, Wfq};
pub use wrr::{Order, Wrr};

use crate::queue::{QueueState, Reading, Share};

/// Configuration of a port's scheduler. Each list has one entry per queue.
#[derive(Clone, Debug, PartialEq)]
pub enum Config {
    /// The first queue that is not empty always sends.
    StrictPriority {
        /// Number of queues.
        queues: usize,
    },
    /// Strict priority above another scheduler.
    StrictAbove {
        /// Number of queues with strict priority: the first queues of the port.
        queues: usize,
        /// Scheduler of the remaining queues.
        below: Box<Self>,
    },
    /// Weighted round-robin by bytes; the unused rest of a turn is lost.
    Wrr {
        /// Bytes that each queue may send per round.
        quanta: Vec<Bytes>,
        /// Order of the turns.
        order: Order,
    },
    /// Deficit weighted round-robin by bytes; the unused rest of a turn is added to the queue's next turn.
    Dwrr {
        /// Average number of bytes that each queue may send per round.
        quanta: Vec<Bytes>,
    },
    /// Weighted fair queueing.
    Wfq {
        /// Weight of each queue. The busy queues share the link in proportion to their weights.
        weights: Vec<u32>,
        /// Definition of virtual time.
        virtual_time: VirtualTime,
    },
}

impl Config {
    /// Returns each queue's share of the link.
    pub fn shares(&self) -> Vec<Share> {
        match self {
            Self::StrictPriority { queues } => vec![Share::Strict; *queues],
            Self::StrictAbove { queues, below } => {
                let mut shares = vec![Share::Strict; *queues];
                shares.extend(below.shares());
                shares
            }
            Self::Wrr { quanta, .. } | Self::Dwrr { quanta } => {
                quanta.iter().map(|&quantum| Share::Round { quantum }).collect()
            }
            Self::Wfq { weights, .. } => weights.iter().map(|&weight| Share::Weight(weight)).collect(),
        }
    }

    /// Builds the scheduler of a port whose link has the given rate.
    pub fn build(&self, rate: Rate) -> AnyScheduler {
        match self {
            Self::StrictPriority { .. } => AnyScheduler::StrictPriority(StrictPriority),
            Self::StrictAbove { queues, below } => {
                AnyScheduler::StrictAbove(StrictAbove::new(*queues, below.build(rate)))
            }
            Self::Wrr { quanta, order } => AnyScheduler::Wrr(Wrr::new(quanta, *order)),
            Self::Dwrr { quanta } => AnyScheduler::Dwrr(Dwrr::new(quanta)),
            Self::Wfq { weights, virtual_time } => match virtual_time {
                VirtualTime::Gps => AnyScheduler::Wfq(Wfq::new(weights, rate)),
                VirtualTime::SelfClocked => {
                    AnyScheduler::SelfClocked(SelfClocked::new(weights, Reference::InService))
                }
                VirtualTime::AsReleased => {
                    AnyScheduler::SelfClocked(SelfClocked::new(weights, Reference::Latest))
                }
            },
        }
    }
}

/// Strict priority above any other scheduler.
pub type StrictAbove = strict_above::StrictAbove<AnyScheduler>;

/// Defines [`AnyScheduler`] and dispatches each call to the current variant. Also defines a macro for code that needs the list of all
/// schedulers.
macro_rules! schedulers {
    ($($name:ident),*; $d:tt) => {
        /// Any scheduler, dispatched without function pointers.
        #[derive(Clone, Debug)]
        pub enum AnyScheduler {
            $(
                #[doc = concat!("See [`", stringify!($name), "`].")]
                $name($name),
            )*
        }

        impl Scheduler for AnyScheduler {
            #[inline]
            fn on_enqueue(&mut self, now: Instant, queue: usize, size: Bytes, queues: &[QueueState]) {
                match self { $(Self::$name(scheduler) => scheduler.on_enqueue(now, queue, size, queues),)* }
            }

            #[inline]
            fn select(&mut self, now: Instant, queues: &[QueueState], may: impl May) -> Option<usize> {
                match self { $(Self::$name(scheduler) => scheduler.select(now, queues, may),)* }
            }

            #[inline]
            fn on_dequeue(&mut self, now: Instant, queue: usize, size: Bytes, queues: &[QueueState]) -> bool {
                match self { $(Self::$name(scheduler) => scheduler.on_dequeue(now, queue, size, queues),)* }
            }

            #[inline]
            fn pass(&mut self, now: Instant, queue: usize, size: Bytes) -> Option<bool> {
                match self { $(Self::$name(scheduler) => scheduler.pass(now, queue, size),)* }
            }

            fn set_rate(&mut self, now: Instant, rate: Rate) {
                match self { $(Self::$name(scheduler) => scheduler.set_rate(now, rate),)* }
            }

            fn observe(&self, tell: &mut dyn FnMut(Reading)) {
                match self { $(Self::$name(scheduler) => scheduler.observe(tell),)* }
            }
        }

        /// Calls the macro `called` with these `arguments` and the names of all schedulers. Each name is both a variant of
        /// [`AnyScheduler`] and the type in that variant.
        macro_rules! with_schedulers {
            ($d called:ident; $d($d arguments:tt)*) => { $d called! { $d($d arguments)*; $($name),* } };
        }
    };
}

schedulers!(StrictPriority, StrictAbove, Wrr, Dwrr, Wfq, SelfClocked; $);
pub(crate) use with_schedulers;

#[cfg(test)]
mod tests;
