//! Packets that pass from one partition of the network to another.

use shallows_core::Instant;
use shallows_core::packet::Header;
use shallows_measure::Lost;

use crate::hosts::packet::{Packet, PacketRef, Packets};
use crate::network::Arriving;

/// A packet on a link whose two ends are in partitions with packet stores of their own, so that its body goes with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    /// Place of the far end in its partition.
    pub(crate) wire: u32,
    pub(crate) arrival: Instant,
    pub(crate) header: Header,
    /// None of a packet without a body.
    pub(crate) packet: Option<Packet>,
}

/// Packets on their way from one partition to another, in the order in which they left.
#[derive(Debug, Default)]
pub(crate) struct Crossings {
    /// Between partitions that share a packet store.
    pub(crate) near: Vec<Arriving<PacketRef>>,
    /// Between others.
    pub(crate) far: Vec<Crossing>,
}

impl Crossings {
    fn is_empty(&self) -> bool {
        self.near.is_empty() && self.far.is_empty()
    }

    /// When the first of them arrives; there is one.
    pub(crate) fn first(&self) -> Instant {
        let near = self.near.iter().map(|packet| packet.at);
        let far = self.far.iter().map(|crossing| crossing.arrival);
        near.chain(far).min().expect("there is a packet")
    }
}

/// The links by which packets leave a partition, and what has left since that was last collected.
#[derive(Debug, Default)]
pub(crate) struct Exits {
    /// Neighbour of each exit, and the place of its far end there.
    ends: Vec<(u32, u32)>,
    neighbours: Vec<Neighbour>,
    /// Exits by which something has left.
    addressed: Vec<u32>,
}

/// Another partition of the network, to which links lead.
#[derive(Debug)]
struct Neighbour {
    partition: u32,
    /// Whether it has the same packet store.
    is_near: bool,
    left: Crossings,
}

impl Exits {
    /// A link has its far end in this partition, at this place; returns what its near end is to call it.
    pub(crate) fn add(&mut self, partition: u32, is_near: bool, wire: u32) -> u32 {
        let known = self.neighbours.iter().position(|neighbour| neighbour.partition == partition);
        let neighbour = known.unwrap_or_else(|| {
            self.neighbours.push(Neighbour { partition, is_near, left: Crossings::default() });
            self.neighbours.len() - 1
        });
        self.ends.push((neighbour as u32, wire));
        u32::try_from(self.ends.len() - 1).expect("fewer than 2^32 links")
    }

    /// Whether there are any.
    #[inline]
    pub(crate) fn are_there(&self) -> bool {
        !self.ends.is_empty()
    }

    /// A packet leaves by an exit, out of this store unless the far end shares it.
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

    /// Take back what has left by this exit since that was last collected: the link has gone down.
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

    /// Hand over what has left: to `take`, for each partition what goes there, which is something.
    pub(crate) fn collect(&mut self, mut take: impl FnMut(u32, &mut Crossings)) {
        for neighbour in self.addressed.drain(..) {
            let Neighbour { partition, left, .. } = &mut self.neighbours[neighbour as usize];
            take(*partition, left);
        }
    }
}
