//! Packets that pass from one part of the network to another.

use shallows_core::Instant;
use shallows_core::packet::Header;

use crate::packet::Packet;

/// A packet on a link whose two ends are in different parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    /// Place of the far end in its part.
    pub(crate) wire: u32,
    pub(crate) arrival: Instant,
    pub(crate) header: Header,
    /// None of a packet without a body.
    pub(crate) packet: Option<Packet>,
}

/// The links by which packets leave a part, and what has left since that was last collected.
#[derive(Debug, Default)]
pub(crate) struct Exits {
    /// Part and place of the far end of each.
    ends: Vec<(u32, u32)>,
    /// By part, in the order in which they left.
    pub(crate) left: Vec<Vec<Crossing>>,
}

impl Exits {
    /// To so many parts, by no links yet.
    pub(crate) fn new(parts: usize) -> Self {
        Self { ends: Vec::new(), left: vec![Vec::new(); parts] }
    }

    /// A link has its far end there; returns what its near end is to call it.
    pub(crate) fn add(&mut self, part: u32, wire: u32) -> u32 {
        self.ends.push((part, wire));
        u32::try_from(self.ends.len() - 1).expect("fewer than 2^32 links")
    }

    #[cold]
    pub(crate) fn leave(&mut self, exit: u32, arrival: Instant, header: Header, packet: Option<Packet>) {
        let (part, wire) = self.ends[exit as usize];
        self.left[part as usize].push(Crossing { wire, arrival, header, packet });
    }
}
