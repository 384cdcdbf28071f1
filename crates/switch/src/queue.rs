//! Types that ports, disciplines, schedulers and markers share: drop reasons, waiting packets, queue states, readings.

use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant};

use crate::buffer::Memory;
use crate::counters::Books;
pub use crate::counters::DropReason;

/// Link by which a packet came to a node: the number of the link's port among the node's ports, below 2^31.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ingress(pub u32);

impl Ingress {
    /// Ingress of packets that the node itself sends, as a host does.
    pub const NONE: Self = Self((1 << 31) - 1);
}

/// Ingress link and memory of a packet, packed in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held(u32);

impl Held {
    /// Packs `ingress` and the `memory` that holds the packet's bytes.
    #[inline]
    pub fn new(ingress: Ingress, memory: Memory) -> Self {
        debug_assert!(ingress <= Ingress::NONE);
        Self(ingress.0 << 1 | memory as u32)
    }

    /// Returns the ingress link of the packet.
    #[inline]
    pub fn ingress(self) -> Ingress {
        Ingress(self.0 >> 1)
    }

    /// Returns the memory that holds the packet's bytes.
    #[inline]
    pub fn memory(self) -> Memory {
        if self.0 & 1 == 0 { Memory::Reserved } else { Memory::Shared }
    }
}

/// A packet at a port: one that arrives, or one that waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Item<T> {
    /// Header of the packet.
    pub header: Header,
    /// The driver's reference to the rest of the packet.
    pub payload: T,
    /// Time at which the packet arrived at the port.
    pub enqueued_at: Instant,
    /// Ingress link of the packet, and the memory that holds its bytes.
    pub held: Held,
}

/// A packet that leaves its queue.
#[derive(Clone, Copy, Debug)]
pub struct Left<T> {
    /// The packet.
    pub item: Item<T>,
    /// Queue that held the packet.
    pub queue: usize,
    /// Whether the queue's service ends with this packet, because its turn in a round is over or the queue is empty.
    pub ends_turn: bool,
}

/// Share of the link that a queue may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// All bandwidth that queues of higher priority do not use.
    Strict,
    /// A quantum in each round of a round-robin scheduler.
    Round {
        /// Bytes that the queue may send per round.
        quantum: Bytes,
    },
    /// A share of the link: this weight divided by the sum of the weights of all busy queues.
    Weight(u32),
}

/// State of one queue of a port, for schedulers and markers, with the counters of the queue. Together they have the size of a cache line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// Bytes waiting.
    pub backlog: Bytes,
    /// Packets waiting.
    pub packets: u32,
    /// Size of the first packet, for schedulers that need it; zero if the queue is empty.
    pub head: Bytes,
    /// Counters; see [`Discipline::counting_queues`](crate::discipline::Discipline::counting_queues).
    pub(crate) books: Books,
}

const _: () = assert!(size_of::<QueueState>() == 64);

/// One measured value of a port's state, for traces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Name of the quantity with its unit, such as `backlog_bytes` or `round_time_us`.
    pub quantity: &'static str,
    /// Queue to which the value belongs; `None` if it belongs to the whole port.
    pub queue: Option<usize>,
    /// Measured value, in the unit that `quantity` names.
    pub value: f64,
}
