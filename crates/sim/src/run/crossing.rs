//! Packets that move from one partition of the network to another.

use shallows_core::Instant;
use shallows_core::packet::Header;
use shallows_measure::Lost;

use crate::hosts::packet::bodies::Bodies;
use crate::hosts::packet::{PacketRef, Packets};
use crate::network::Arriving;

/// Packets in flight from one partition to another, in the order in which they were sent.
#[derive(Debug, Default)]
pub(crate) struct Crossings {
    pub(crate) packets: Vec<Arriving<PacketRef>>,
    /// Whether the other partition uses a different packet store. If so, the packets' bodies must be moved to that store.
    pub(crate) is_far: bool,
    pub(crate) bodies: Bodies,
}

impl Crossings {
    /// Returns the earliest arrival time; at least one packet must be present.
    pub(crate) fn first(&self) -> Instant {
        self.packets.iter().map(|packet| packet.at).min().expect("there is a packet")
    }
}

/// Links to other partitions, and the packets sent on these links since the last call of [`Self::collect`].
#[derive(Debug, Default)]
pub(crate) struct Exits {
    /// For each exit (link to another partition): index of that partition in `neighbours`, and index of the link's far end there.
    ends: Vec<(u32, u32)>,
    neighbours: Vec<Neighbour>,
    /// Indices of the neighbours (other partitions) with packets to collect.
    addressed: Vec<u32>,
    /// Empty lists of packets, for reuse by the partitions of this thread. The list that was emptied last is used next, because it is still in
    /// the cache. While the partition does not run, these lists are in the memory of the thread.
    spare: Vec<Crossings>,
}

/// Partition at the far end of links from this partition, and the packets sent to that partition.
#[derive(Debug)]
struct Neighbour {
    partition: u32,
    /// Whether the neighbour shares this partition's packet store.
    is_near: bool,
    left: Crossings,
}

impl Exits {
    /// Adds a link to another partition, and returns the link's index among the exits. The link's far end is in `partition`, at the index
    /// `wire`.
    pub(crate) fn add(&mut self, partition: u32, is_near: bool, wire: u32) -> u32 {
        let known = self.neighbours.iter().position(|neighbour| neighbour.partition == partition);
        let neighbour = known.unwrap_or_else(|| {
            self.neighbours.push(Neighbour { partition, is_near, left: Crossings::default() });
            self.neighbours.len() - 1
        });
        self.ends.push((neighbour as u32, wire));
        u32::try_from(self.ends.len() - 1).expect("fewer than 2^32 links")
    }

    /// Returns whether any link leads to another partition.
    #[inline]
    pub(crate) fn are_there(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Sends a packet through an exit (link to another partition). The packet's body stays in the packet store until [`Self::collect`].
    #[inline(always)]
    pub(crate) fn leave(&mut self, exit: u32, at: Instant, header: Header, payload: PacketRef) {
        let (neighbour, wire) = self.ends[exit as usize];
        if self.neighbours[neighbour as usize].left.packets.is_empty() {
            self.address(neighbour);
        }
        self.neighbours[neighbour as usize].left.packets.push(Arriving { at, header, payload, wire });
    }

    /// Prepares the list of packets to a neighbour for the first packet.
    #[inline(never)]
    fn address(&mut self, neighbour: u32) {
        self.addressed.push(neighbour);
        let Neighbour { is_near, left, .. } = &mut self.neighbours[neighbour as usize];
        // A list may still have memory, if a link has lost all its packets.
        if *is_near && left.packets.capacity() == 0 {
            *left = self.spare.pop().unwrap_or_default();
        }
    }

    /// Keeps an emptied list for packets to other partitions of this thread, or returns the list if it is from another thread. (A thread can
    /// receive more lists from another thread than it sends to it.)
    pub(crate) fn recycle(&mut self, emptied: Crossings) -> Option<Crossings> {
        if emptied.is_far {
            return Some(emptied);
        }
        self.spare.push(emptied);
        None
    }

    /// Swaps the lists kept for reuse with `spare`.
    pub(crate) fn exchange_spare(&mut self, spare: &mut Vec<Crossings>) {
        std::mem::swap(&mut self.spare, spare);
    }

    /// Discards the packets sent on a link to another partition since the last call of [`Self::collect`], after the link has gone down.
    /// Returns their counts.
    pub(crate) fn lose(&mut self, exit: u32, packets: &mut Packets) -> Lost {
        let (neighbour, wire) = self.ends[exit as usize];
        let left = &mut self.neighbours[neighbour as usize].left.packets;
        let mut lost = Lost::default();
        left.retain(|packet| {
            let is_lost = packet.wire == wire;
            if is_lost {
                lost += Lost::one(packets.discard(packet.payload));
            }
            !is_lost
        });
        if left.is_empty() {
            self.addressed.retain(|&addressed| addressed != neighbour);
        }
        lost
    }

    /// Passes to `take` the packets sent to each partition since the last call of this function, and the partition's number. If the
    /// partition uses a different packet store, the packets' bodies are moved out of `packets`.
    pub(crate) fn collect(&mut self, packets: &mut Packets, mut take: impl FnMut(u32, &mut Crossings)) {
        for neighbour in self.addressed.drain(..) {
            let Neighbour { partition, is_near, left } = &mut self.neighbours[neighbour as usize];
            left.is_far = !*is_near;
            if left.is_far {
                packets.load(&left.packets, &mut left.bodies);
            }
            take(*partition, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::packet::HostId;

    use super::*;

    #[test]
    fn lists_to_partitions_of_the_same_thread_are_used_again() {
        let header = Header::new(HostId(0), HostId(1));
        let (mut exits, mut packets) = (Exits::default(), Packets::default());
        let [near, far] = [true, false].map(|is_near| exits.add(u32::from(is_near), is_near, 7));
        // Sends a packet, and returns its list and the list's address.
        let mut send = |exits: &mut Exits, exit| {
            exits.leave(exit, Instant(5), header, PacketRef::NONE);
            let mut sent = None;
            exits.collect(&mut packets, |partition, left| {
                assert_eq!(
                    (partition, left.first(), left.packets[0].wire),
                    (u32::from(exit == near), Instant(5), 7)
                );
                sent = Some(std::mem::take(left));
            });
            let mut sent = sent.expect("a packet was sent");
            sent.packets.clear();
            let place = sent.packets.as_ptr();
            (sent, place)
        };
        let (first, place) = send(&mut exits, near);
        assert!(exits.recycle(first).is_none());
        let (to_other_thread, other) = send(&mut exits, far);
        assert_ne!(other, place);
        assert!(exits.recycle(to_other_thread).is_some_and(|returned| returned.packets.as_ptr() == other));
        assert_eq!(send(&mut exits, near).1, place);
        let mut spare = vec![Crossings::default()];
        exits.exchange_spare(&mut spare);
        assert_eq!((exits.spare.len(), spare.len()), (1, 0));
    }

    #[test]
    fn a_list_that_a_link_has_emptied_is_used_again() {
        let header = Header::new(HostId(0), HostId(1));
        let (mut exits, mut packets) = (Exits::default(), Packets::default());
        let [one, other] = [7, 8].map(|wire| exits.add(3, true, wire));
        exits.leave(one, Instant(5), header, PacketRef::NONE);
        let place = exits.neighbours[0].left.packets.as_ptr();
        exits.lose(one, &mut packets);
        exits.spare.push(Crossings::default());
        exits.leave(other, Instant(6), header, PacketRef::NONE);
        let mut wires = Vec::new();
        exits.collect(&mut packets, |_, left| {
            assert_eq!(left.packets.as_ptr(), place);
            wires.extend(left.packets.drain(..).map(|packet| packet.wire));
        });
        assert_eq!((wires, exits.spare.len()), (vec![8], 1));
    }

    #[test]
    fn the_first_arrival_is_the_earliest_whatever_the_order_of_sending() {
        let header = Header::new(HostId(0), HostId(1));
        let arriving = |at| Arriving { at: Instant(at), header, payload: PacketRef::NONE, wire: 0 };
        let crossings = Crossings { packets: [7, 5, 9].map(arriving).into(), ..Crossings::default() };
        assert_eq!(crossings.first(), Instant(5));
    }
}
