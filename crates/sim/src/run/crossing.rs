//! Packets that move from one partition of the network to another.

use shallows_core::Instant;
use shallows_core::packet::Header;
use shallows_measure::Lost;

use crate::hosts::packet::{Packet, PacketRef, Packets};
use crate::network::Arriving;

/// Packet on a link between partitions with different packet stores. The packet's body therefore moves with its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    /// Index of the link's far end in the partition of the far end.
    pub(crate) wire: u32,
    pub(crate) arrival: Instant,
    pub(crate) header: Header,
    /// Body of the packet; `None` for a packet without a body, such as a datagram.
    pub(crate) packet: Option<Packet>,
}

/// Packets in flight from one partition to another, in the order in which they were sent.
#[derive(Debug, Default)]
pub(crate) struct Crossings {
    /// Packets between partitions that share a packet store.
    pub(crate) near: Vec<Arriving<PacketRef>>,
    /// Packets between partitions with different packet stores.
    pub(crate) far: Vec<Crossing>,
}

impl Crossings {
    fn is_empty(&self) -> bool {
        self.near.is_empty() && self.far.is_empty()
    }

    /// Returns the earliest arrival time; at least one packet must be present.
    pub(crate) fn first(&self) -> Instant {
        let near = self.near.iter().map(|packet| packet.at);
        let far = self.far.iter().map(|crossing| crossing.arrival);
        near.chain(far).min().expect("there is a packet")
    }
}

/// Links to other partitions, and the packets that left through them since the last collection.
#[derive(Debug, Default)]
pub(crate) struct Exits {
    /// For each exit: index of the other partition in `neighbours`, and index of the far end in that partition.
    ends: Vec<(u32, u32)>,
    neighbours: Vec<Neighbour>,
    /// Indices of the neighbours with packets to collect.
    addressed: Vec<u32>,
}

/// Partition to which links from this partition lead, with the packets to it.
#[derive(Debug)]
struct Neighbour {
    partition: u32,
    /// Whether the neighbour shares this partition's packet store.
    is_near: bool,
    left: Crossings,
}

impl Exits {
    /// Adds a link to another partition, and returns the index of the exit. `partition` is the partition of the link's far end, and `wire`
    /// the index of the far end there.
    pub(crate) fn add(&mut self, partition: u32, is_near: bool, wire: u32) -> u32 {
        let known = self.neighbours.iter().position(|neighbour| neighbour.partition == partition);
        let neighbour = known.unwrap_or_else(|| {
            self.neighbours.push(Neighbour { partition, is_near, left: Crossings::default() });
            self.neighbours.len() - 1
        });
        self.ends.push((neighbour as u32, wire));
        u32::try_from(self.ends.len() - 1).expect("fewer than 2^32 links")
    }

    /// Returns whether there are exits.
    #[inline]
    pub(crate) fn are_there(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Sends a packet through an exit. Removes the packet's body from `packets` unless the other partition shares this store.
    #[inline(never)]
    pub(crate) fn leave(
        &mut self,
        exit: u32,
        at: Instant,
        header: Header,
        payload: PacketRef,
        packets: &mut Packets,
    ) {
        let (neighbour, wire) = self.ends[exit as usize];
        let Neighbour { is_near, left, .. } = &mut self.neighbours[neighbour as usize];
        if left.is_empty() {
            self.addressed.push(neighbour);
        }
        if *is_near {
            left.near.push(Arriving { at, header, payload, wire });
        } else {
            left.far.push(Crossing { wire, arrival: at, header, packet: packets.remove(payload) });
        }
    }

    /// Discards the packets that were sent through this exit since the last collection, because the link is down. Returns their counts.
    pub(crate) fn lose(&mut self, exit: u32, packets: &mut Packets) -> Lost {
        let (neighbour, wire) = self.ends[exit as usize];
        let left = &mut self.neighbours[neighbour as usize].left;
        let mut lost = Lost::default();
        left.near.retain(|packet| {
            let is_lost = packet.wire == wire;
            if is_lost {
                lost += Lost { packets: 1, data: u64::from(packets.discard(packet.payload)) };
            }
            !is_lost
        });
        left.far.retain(|crossing| {
            let is_lost = crossing.wire == wire;
            if is_lost {
                let has_data = matches!(crossing.packet, Some(Packet::Data(data)) if data.segment.len > 0);
                lost += Lost { packets: 1, data: u64::from(has_data) };
            }
            !is_lost
        });
        if left.is_empty() {
            self.addressed.retain(|&addressed| addressed != neighbour);
        }
        lost
    }

    /// Calls `take` for each partition to which packets were sent since the last call, with the number of that partition and the packets.
    pub(crate) fn collect(&mut self, mut take: impl FnMut(u32, &mut Crossings)) {
        for neighbour in self.addressed.drain(..) {
            let Neighbour { partition, left, .. } = &mut self.neighbours[neighbour as usize];
            take(*partition, left);
        }
    }
}
