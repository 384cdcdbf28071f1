//! Memory that all partitions of a thread use in turn. It stays in the cache while the thread runs one partition after the other.

use crate::hosts::packet::{PacketRef, Packets};
use crate::network::scratch::Scratch;
use crate::run::crossing::Crossings;

/// Memory that all partitions of a thread share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Bodies of packets in queues or in flight.
    pub(crate) packets: Packets,
    pub(crate) scratch: Scratch<PacketRef>,
    /// Empty lists of packets with allocated memory, for packets to other partitions.
    pub(crate) crossings: Vec<Crossings>,
}
