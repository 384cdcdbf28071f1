//! Packets on their way: the part that no switch reads, kept in one place while headers travel.

use shallows_core::packet::{SackBlock, Segment};
use shallows_core::{Instant, prefetch};

use crate::hosts::connection::Name;
use crate::network::slots::Slots;

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
    pub(crate) name: Name,
}

/// What data tells the application of the far end: to which flow it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Framing {
    /// Number of the flow; `NO_FLOW` of bytes that belong to none.
    pub(crate) flow: u32,
    /// Sequence number of its first byte; where the connection has had none, the number of its workload.
    pub(crate) start: u64,
    /// When it was handed to its connection.
    pub(crate) started: Instant,
    /// Timeouts of its sender since then.
    pub(crate) timeouts: u32,
}

/// No flow has this number.
pub(crate) const NO_FLOW: u32 = u32::MAX;

impl Packet {
    /// Data, or what opens or ends a connection. It has no SACK blocks: what it tells the application is in their place.
    #[inline]
    pub(crate) fn data(segment: Segment, framing: Framing, name: Name) -> Self {
        debug_assert!(segment.sack_count == 0);
        let high = |word: u64| (word >> 32) as u32;
        let sack = [
            SackBlock { start: framing.flow, end: framing.timeouts },
            SackBlock { start: framing.start as u32, end: high(framing.start) },
            SackBlock { start: framing.started.0 as u32, end: high(framing.started.0) },
        ];
        Self { segment: Segment { sack, ..segment }, name }
    }

    /// What [`Self::data`] was given.
    #[inline]
    pub(crate) fn framing(&self) -> Framing {
        let [first, start, started] = self.segment.sack;
        let word = |block: SackBlock| u64::from(block.end) << 32 | u64::from(block.start);
        Framing {
            flow: first.start,
            start: word(start),
            started: Instant(word(started)),
            timeouts: first.end,
        }
    }
}

/// All packets under way.
#[derive(Debug, Default)]
pub(crate) struct Packets(Slots<Line>);

/// A packet on a cache line of its own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line(Packet);

impl Packets {
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketRef {
        PacketRef(self.0.insert(Line(packet)))
    }

    /// The body of a packet that is under way; none of one without.
    #[inline]
    pub(crate) fn get(&self, packet: PacketRef) -> Option<&Packet> {
        self.0.get(packet.0).map(|line| &line.0)
    }

    /// The body of a packet that is under way and has one.
    pub(crate) fn get_mut(&mut self, packet: PacketRef) -> &mut Packet {
        &mut self.0.get_mut(packet.0).0
    }

    #[inline]
    pub(crate) fn remove(&mut self, packet: PacketRef) -> Packet {
        self.0.remove(packet.0).0
    }

    /// This packet will be taken soon.
    #[inline]
    pub(crate) fn prefetch(&self, packet: PacketRef) {
        self.get(packet).map(prefetch);
    }

    /// Forget a packet that was dropped. Says whether it carried data of a connection.
    pub(crate) fn discard(&mut self, packet: PacketRef) -> bool {
        packet != PacketRef::NONE && self.remove(packet).segment.len > 0
    }

    /// How many packets are under way.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_one_cache_line() {
        assert_eq!(std::mem::size_of::<Line>(), 64);
    }

    #[test]
    fn data_keeps_what_it_tells_the_application() {
        let far = Instant(0xfedc_ba98_7654_3210);
        for framing in [
            Framing { flow: NO_FLOW, start: 0, started: Instant::ZERO, timeouts: 0 },
            Framing { flow: 7, start: (1 << 60) + 5, started: far, timeouts: u32::MAX },
        ] {
            let segment = Segment { seq: 3, len: 1_460, ..Segment::default() };
            let packet = Packet::data(segment, framing, Name { slot: 1, generation: 2 });
            assert_eq!(packet.framing(), framing);
            assert_eq!(packet.segment.sack_ranges().count(), 0, "no SACK block is seen");
            assert_eq!((packet.segment.seq, packet.segment.len), (3, 1_460));
        }
    }
}
