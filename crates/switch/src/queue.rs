//! What ports, disciplines, schedulers and markers tell each other of the queues of a port.

use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant};

use crate::buffer::Memory;

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DropReason {
    /// Its queue may grow no further.
    QueueLimit,
    /// The queues of its port together may grow no further.
    PortLimit,
    /// The pool had no room.
    PoolFull,
    /// It made room for another packet.
    PushedOut,
    /// A marker dropped it, ECN-capable or not.
    Early,
    /// A marker chose it, and it was not ECN-capable.
    NotEct,
    /// Likewise, and it was a pure acknowledgement.
    NotEctAck,
    /// The link of its port was down, or went down while it waited.
    LinkDown,
}

impl DropReason {
    /// Every reason, in the order of [`Counters::dropped`].
    pub const ALL: [Self; 8] = [
        Self::QueueLimit,
        Self::PortLimit,
        Self::PoolFull,
        Self::PushedOut,
        Self::Early,
        Self::NotEct,
        Self::NotEctAck,
        Self::LinkDown,
    ];

    /// The name under which results list it.
    pub fn name(self) -> &'static str {
        match self {
            Self::QueueLimit => "queue_limit",
            Self::PortLimit => "port_limit",
            Self::PoolFull => "pool_full",
            Self::PushedOut => "pushed_out",
            Self::Early => "early",
            Self::NotEct => "not_ect",
            Self::NotEctAck => "not_ect_ack",
            Self::LinkDown => "link_down",
        }
    }
}

/// By which link a packet has come to a node: the number of the port beside it, among those of the node; fewer than 2^22.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ingress(pub u32);

impl Ingress {
    /// Of what the node sends itself, as a host does.
    pub const NONE: Self = Self((1 << 22) - 1);
}

/// The link by which a packet came, the queue that it joined, and the memory that holds its bytes, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held(u32);

impl Held {
    /// Queues of a port.
    pub const MOST_QUEUES: usize = 256;

    /// Of a packet that came by `ingress` and joined `queue`, with its bytes in `memory`.
    #[inline]
    pub fn new(ingress: Ingress, queue: usize, memory: Memory) -> Self {
        debug_assert!(ingress <= Ingress::NONE && queue < Self::MOST_QUEUES);
        Self(ingress.0 << 10 | (queue as u32) << 2 | memory as u32)
    }

    /// The link by which the packet came.
    #[inline]
    pub fn ingress(self) -> Ingress {
        Ingress(self.0 >> 10)
    }

    /// The queue that it joined.
    #[inline]
    pub fn queue(self) -> usize {
        (self.0 >> 2) as usize % Self::MOST_QUEUES
    }

    /// The memory that holds its bytes.
    #[inline]
    pub fn memory(self) -> Memory {
        if self.0 & 1 == 0 { Memory::Private } else { Memory::Shared }
    }
}

/// A packet that waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Item<T> {
    /// Its header.
    pub header: Header,
    /// What the driver gave with it.
    pub payload: T,
    /// When it joined its queue.
    pub enqueued_at: Instant,
    /// Its link, queue and memory.
    pub held: Held,
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
