//! Packets on their way: the part that no switch reads, kept in one place while headers travel.

use shallows_core::packet::Segment;

/// Where the body of a packet is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PacketRef(u32);

impl PacketRef {
    /// A packet without a body, such as a datagram.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

/// What the far end reads: a segment, and the connection it belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) segment: Segment,
    pub(crate) connection: u32,
    /// Tells a packet of a closed connection from one of its successor in the same slot.
    pub(crate) generation: u32,
}

/// All packets under way, in slots that are used again at once while they are warm.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    slots: Vec<Packet>,
    free: Vec<u32>,
}

impl Packets {
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketRef {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = packet;
            return PacketRef(slot);
        }
        self.slots.push(packet);
        PacketRef(u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets under way"))
    }

    /// The body of a packet that is under way; none of one without.
    pub(crate) fn get(&self, packet: PacketRef) -> Option<&Packet> {
        self.slots.get(packet.0 as usize)
    }

    #[inline]
    pub(crate) fn remove(&mut self, packet: PacketRef) -> Packet {
        self.free.push(packet.0);
        self.slots[packet.0 as usize]
    }

    /// Forget a packet that was dropped. Says whether it carried data of a connection.
    pub(crate) fn discard(&mut self, packet: PacketRef) -> bool {
        packet != PacketRef::NONE && self.remove(packet).segment.len > 0
    }

    /// How many packets are under way.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_one_cache_line() {
        assert_eq!(std::mem::size_of::<Packet>(), 64);
    }
}
