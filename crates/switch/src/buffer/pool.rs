//! Accounts of pools and queues.

use shallows_core::Bytes;

/// Part of the memory that several queues share.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    /// Size of the pool.
    pub size: Bytes,
    /// Occupied bytes.
    pub used: Bytes,
    /// Packets in the pool.
    pub packets: u32,
}

/// Account of one queue.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    pub(super) pool: usize,
    pub(super) reserved_size: Bytes,
    /// Counter of the reserved buffer. It differs from the reserved bytes in use only under
    /// [`super::ReservedRule::AsReleased`].
    pub(super) reserved_counter: Bytes,
    /// Bytes in the reserved buffer.
    pub reserved: Bytes,
    /// Bytes in the pool.
    pub shared: Bytes,
    /// Number of the queue's packets, in the reserved buffer and in the pool.
    pub packets: u32,
}

impl Account {
    /// Returns the bytes that the queue occupies in the reserved buffer and in the pool.
    pub fn backlog(&self) -> Bytes {
        self.reserved + self.shared
    }
}
