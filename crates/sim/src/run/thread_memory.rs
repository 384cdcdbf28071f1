//! Memory that the partitions of a thread share. It stays in the cache while the thread runs one partition after the other.

use crate::hosts::packet::{PacketRef, Packets};
use crate::network::scratch::Scratch;
use crate::run::crossing::Crossings;

/// Memory that the partitions of a thread share. Each thread of the division has one, even if a run uses fewer threads.
#[derive(Debug, Default)]
pub(crate) struct ThreadMemory {
    /// Bodies of packets in queues or in flight.
    pub(crate) packets: Packets,
    pub(crate) scratch: Scratch<PacketRef>,
    /// Empty lists of packets, for packets to other partitions of the thread.
    pub(crate) lists: Vec<Crossings>,
}
