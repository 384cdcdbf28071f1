//! Accounts of pools and queues, and the results of looking for room.

use shallows_core::Bytes;

/// Part of a switch's memory that holds a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// The reserved buffer of the packet's queue.
    Reserved,
    /// The pool that the queue shares with other queues.
    #[default]
    Shared,
}

/// Reason for refusing a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The queue is at the policy's limit.
    QueueLimit,
    /// The pool is full.
    PoolFull,
}

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

impl Pool {
    /// Returns the memory for a packet that occupies `size`, or the reason for refusing the packet. `allowed` is whether the policy's limit
    /// permits the packet in the pool.
    #[inline(always)]
    pub(super) fn room(&self, allowed: bool, size: Bytes) -> Result<Memory, Refusal> {
        if !allowed {
            return Err(Refusal::QueueLimit);
        }
        if self.used + size > self.size {
            return Err(Refusal::PoolFull);
        }
        Ok(Memory::Shared)
    }
}

/// Account of one queue.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// Index of the pool that the queue shares.
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
