//! What pools and queues hold.

use shallows_core::Bytes;

/// A part of the memory that several queues share.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    /// Its size.
    pub size: Bytes,
    /// How much of it holds packets.
    pub used: Bytes,
    /// How many packets.
    pub packets: u32,
}

/// What one queue holds.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    pub(super) pool: usize,
    pub(super) private_size: Bytes,
    /// What counts against the reserve; differs from the private backlog only under [`super::PrivateRule::AsReleased`].
    pub(super) private_counter: Bytes,
    /// Bytes held in the reserve.
    pub private: Bytes,
    /// Bytes held in the pool.
    pub shared: Bytes,
    /// Packets held.
    pub packets: u32,
}

impl Queue {
    /// Bytes held.
    pub fn backlog(&self) -> Bytes {
        self.private + self.shared
    }
}
