//! State of the lossless classes of a network: ingress books of its switches, and pauses of its ports.

use shallows_core::{Duration, Instant};
use shallows_switch::ingress::IngressBook;
use shallows_switch::pfc::{Change, PRIORITIES, PauseTimers, Pauser};

/// State of the lossless classes of a network or of one partition of it.
#[derive(Debug)]
pub(super) struct Lossless {
    pub(super) classes: Vec<u8>,
    /// Priority group of each class, indexed by class.
    pub(super) group_of_class: Box<[u8; 256]>,
    /// Ingress accounting by place of the node; hosts have none.
    pub(super) books: Vec<Option<IngressBook>>,
    pub(super) ports: Vec<PausePort>,
    /// Number of PFC frames sent; `received` is the number of PFC frames received.
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Scratch space, kept to avoid allocations.
    pub(super) changes: Vec<Change>,
}

/// Pauses at one port, in both directions.
#[derive(Debug)]
pub(super) struct PausePort {
    /// State of the pauses that this port imposes on the sender at the other end.
    pub(super) pauser: Pauser,
    /// Pauses that the other end has imposed on this port.
    pub(super) timers: PauseTimers,
    /// Queue for each lossless priority; `None` for other priorities.
    pub(super) queues: [Option<u8>; PRIORITIES],
    /// Time of the next scheduled event.
    pub(super) event: Instant,
    pub(super) counts: [PriorityCounts; PRIORITIES],
}

/// Counts of one priority at a port.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PriorityCounts {
    pub(super) frames: u64,
    pub(super) received: u64,
    pub(super) paused: Duration,
    /// Start of the current pause.
    pub(super) since: Option<Instant>,
}

impl Lossless {
    /// Checks the ingress books. Returns the number of PFC frames in flight. If the network has several partitions, the number is modulo
    /// 2^64.
    pub(super) fn audit(&self) -> u64 {
        self.books.iter().flatten().for_each(IngressBook::audit);
        self.sent.wrapping_sub(self.received)
    }
}
