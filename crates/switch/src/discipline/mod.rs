//! Queueing disciplines: the queues of an egress port, and the order in which their packets are sent.
//!
//! The buffer and the markers are outside the discipline, so ECN works with every discipline. A new discipline needs a file in this
//! folder, a variant of [`Config`] and of [`AnyDiscipline`], and a row in `docs/models.md` and in `evidence/models.md`.

mod circle;
mod composed;
mod fifo;
mod flow_hash;
pub mod hashed_drr;
pub mod hcf;
mod interface;
mod periodic;
pub mod sfq;
#[cfg(test)]
pub(crate) mod testing;

pub use composed::{Composed, Limits};
pub use fifo::Fifo;
pub use flow_hash::FlowHash;
pub use hashed_drr::HashedDrr;
pub use hcf::Hcf;
pub use interface::Discipline;
pub use sfq::Sfq;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Rate};

pub use crate::queue::{Item, Left, QueueState, Reading, Share};
use crate::scheduler::{self, AnyScheduler, with_schedulers};

/// Configuration of a port's discipline.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Config {
    /// One first-in first-out queue.
    #[default]
    Fifo,
    /// One queue per class of service, served by a scheduler.
    Composed(composed::Config),
    /// Hashed Credits Fair: a high-priority and a low-priority queue that swap roles, and credits for hashed bins.
    Hcf(hcf::Config),
    /// Deficit round-robin over hashed buckets, with drops from the head of the longest bucket.
    HashedDrr(hashed_drr::Config),
    /// Stochastic Fairness Queueing.
    Sfq(sfq::Config),
}

impl Config {
    /// Returns the number of queues of a port with this discipline. The buffer keeps an account of each queue.
    pub fn queues(&self) -> usize {
        match self {
            Self::Composed(config) => config.scheduler.shares().len(),
            Self::Fifo | Self::Hcf(_) | Self::HashedDrr(_) | Self::Sfq(_) => 1,
        }
    }

    /// Returns whether the discipline's queues can be paused separately, as a lossless class requires. Disciplines that choose packets by
    /// hash or credit have no separate queues for classes.
    pub fn can_pause(&self) -> bool {
        match self {
            Self::Fifo | Self::Composed(_) => true,
            Self::Hcf(_) | Self::HashedDrr(_) | Self::Sfq(_) => false,
        }
    }

    /// Returns the queue that packets of this class join; 0 if the discipline does not queue packets by class.
    pub fn queue_of(&self, class: u8) -> usize {
        match self {
            Self::Composed(config) => {
                config.queue_of_class.get(usize::from(class)).map_or(0, |&queue| queue.into())
            }
            Self::Fifo | Self::Hcf(_) | Self::HashedDrr(_) | Self::Sfq(_) => 0,
        }
    }

    /// Returns the discipline with `change` applied to its table, which gives the queue of each class. Disciplines that do not queue
    /// packets by class stay the same.
    #[must_use]
    pub fn with_queues(&self, change: impl FnOnce(&[u8]) -> Vec<u8>) -> Self {
        match self {
            Self::Composed(config) => {
                let queue_of_class = change(&config.queue_of_class).into();
                Self::Composed(ComposedConfig { queue_of_class, ..config.clone() })
            }
            Self::Fifo | Self::Hcf(_) | Self::HashedDrr(_) | Self::Sfq(_) => self.clone(),
        }
    }

    /// Returns the limit of a queue in bytes if every packet has the size `packet`; `None` if only the buffer limits the queue.
    pub fn queue_limit(&self, packet: Bytes) -> Option<Bytes> {
        match self {
            Self::Composed(config) => config.limits.of_a_queue(packet),
            _ => self.port_limit(packet),
        }
    }

    /// Returns the limit on all queues of the port together, in bytes, if every packet has the size `packet`; `None` if only the buffer
    /// limits them.
    pub fn port_limit(&self, packet: Bytes) -> Option<Bytes> {
        match self {
            Self::Fifo => None,
            Self::Composed(config) => config.limits.of_the_port(packet),
            Self::Hcf(config) => Some(config.limit.in_bytes(packet)),
            Self::HashedDrr(config) => Some(config.limit.in_bytes(packet)),
            Self::Sfq(config) => Some(packet * u64::from(config.max_packets)),
        }
    }

    /// Returns each queue's share of the link.
    pub fn shares(&self) -> Vec<Share> {
        match self {
            Self::Composed(config) => config.scheduler.shares(),
            Self::Fifo | Self::Hcf(_) | Self::HashedDrr(_) | Self::Sfq(_) => vec![Share::Strict],
        }
    }

    /// Returns the bytes that a port's bins or buckets occupy in the simulator's memory before any packet waits.
    pub fn footprint<T>(&self) -> u64 {
        match self {
            Self::Fifo | Self::Composed(_) => 0,
            Self::Hcf(config) => hcf::footprint(config),
            Self::HashedDrr(config) => hashed_drr::footprint::<T>(config),
            Self::Sfq(config) => sfq::footprint::<T>(config),
        }
    }

    /// Builds the discipline of a port whose link has the given rate. `stream` supplies the random numbers.
    pub fn build<T: Copy + Default>(&self, rate: Rate, stream: Stream) -> AnyDiscipline<T> {
        match self {
            Self::Fifo => AnyDiscipline::Fifo(Fifo::default()),
            Self::Composed(config) => AnyDiscipline::composed(config, rate),
            Self::Hcf(config) => AnyDiscipline::Hcf(Hcf::new(config, stream)),
            Self::HashedDrr(config) => AnyDiscipline::HashedDrr(HashedDrr::new(config, stream)),
            Self::Sfq(config) => AnyDiscipline::Sfq(Sfq::new(config, stream)),
        }
    }
}

pub use composed::Config as ComposedConfig;
pub use scheduler::Config as SchedulerConfig;

/// Defines [`AnyDiscipline`], and a macro that chooses code by its variant. [`Composed`] has a variant for each scheduler, so that
/// the scheduler's code becomes part of the path of a packet.
macro_rules! disciplines {
    ($d:tt $($name:ident),*; $($scheduler:ident),*) => {
        /// Any discipline, dispatched without function pointers.
        #[derive(Clone, Debug)]
        pub enum AnyDiscipline<T> {
            $(
                #[doc = concat!("See [`", stringify!($name), "`].")]
                $name($name<T>),
            )*
            $(
                #[doc = concat!("[`Composed`] with the scheduler [`", stringify!($scheduler), "`](scheduler::", stringify!($scheduler), ").")]
                $scheduler(Composed<T, scheduler::$scheduler>),
            )*
        }

        impl<T: Copy + Default> AnyDiscipline<T> {
            /// Creates empty queues by class at a link of this rate.
            fn composed(config: &composed::Config, rate: Rate) -> Self {
                match config.scheduler.build(rate) {
                    $(AnyScheduler::$scheduler(scheduler) => Self::$scheduler(Composed::new(config, scheduler)),)*
                }
            }
        }

        /// Evaluates the expression `body`, with the name `discipline` bound to the discipline inside `any`, an [`AnyDiscipline`]. `body`
        /// is compiled for each type of discipline, so that its calls need no further dispatch.
        macro_rules! with_discipline {
            ($d any:expr, $d discipline:ident => $d body:expr) => {
                match $d any {
                    $($d crate::discipline::AnyDiscipline::$name($d discipline) => $d body,)*
                    $($d crate::discipline::AnyDiscipline::$scheduler($d discipline) => $d body,)*
                }
            };
        }
    };
}

// These are the disciplines other than `Composed`. The macro adds the schedulers.
with_schedulers!(disciplines; $ Fifo, Hcf, HashedDrr, Sfq);
pub(crate) use with_discipline;

#[cfg(test)]
mod tests;
