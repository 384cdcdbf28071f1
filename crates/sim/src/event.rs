//! What can happen, packed into one ordered word.

use shallows_core::event::Event as Ordered;
use shallows_core::packet::mix;

/// Something that happens at one entity. Each has at most one pending event of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event(u64);

/// Causes, in the order in which they fire at equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Class {
    /// A link has sent a packet and others wait: index of a link.
    Transmit,
    /// A packet reaches the far end: index of a link.
    Deliver,
    /// A sender's timer: its place.
    SenderTimer,
    /// A receiver's timer: its place.
    ReceiverTimer,
    /// A connection says its first word: index in the list of warm-ups.
    WarmUp,
    /// A flow arrives: index of a workload.
    Arrival,
    /// A datagram is sent: index of a source.
    Datagram,
    /// An echo request is sent: index of a pair.
    Probe,
    /// Queues are sampled.
    Sample,
    /// Ports are traced at intervals: index of a trace.
    Trace,
    /// Flows are traced at intervals: index of a trace.
    FlowTrace,
}

/// As many as four bits count; the last ones do not occur.
const CLASSES: [Class; 16] = [
    Class::Transmit,
    Class::Deliver,
    Class::SenderTimer,
    Class::ReceiverTimer,
    Class::WarmUp,
    Class::Arrival,
    Class::Datagram,
    Class::Probe,
    Class::Sample,
    Class::Trace,
    Class::FlowTrace,
    Class::FlowTrace,
    Class::FlowTrace,
    Class::FlowTrace,
    Class::FlowTrace,
    Class::FlowTrace,
];

/// A place of a connection takes all of them: 24 for a host, 32 for a slot there.
const INDEX_BITS: u32 = 56;
const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;

impl Event {
    /// The most hosts whose connections have places among the indices.
    pub(crate) const MAX_HOSTS: u32 = 1 << 24;

    /// What the class concerns, at the entity with this index.
    ///
    /// Entities of a class fire in the order of their index under a permutation that `Ranks` draws from the seed.
    #[inline]
    pub(crate) fn new(class: Class, index: u64, ranks: Ranks) -> Self {
        debug_assert!(index <= INDEX_MASK);
        Self((class as u64) << INDEX_BITS | (index ^ ranks.0))
    }

    /// Its class and the index of its entity.
    #[inline]
    pub(crate) fn parts(self, ranks: Ranks) -> (Class, u64) {
        (CLASSES[(self.0 >> INDEX_BITS) as usize & 15], (self.0 & INDEX_MASK) ^ ranks.0)
    }
}

impl Ordered for Event {
    #[inline]
    fn key(self) -> u64 {
        self.0
    }

    #[inline]
    fn from_key(key: u64) -> Self {
        Self(key)
    }
}

/// The order among entities at equal times: a permutation of indices, another for each seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranks(u64);

impl Ranks {
    pub(crate) fn new(seed: u64) -> Self {
        Self(mix(seed) & INDEX_MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_keeps_its_class_and_entity() {
        for seed in 0..20 {
            let ranks = Ranks::new(seed);
            for class in CLASSES {
                for index in [0, 1, 77_777, INDEX_MASK] {
                    assert_eq!(Event::new(class, index, ranks).parts(ranks), (class, index));
                }
            }
        }
    }

    #[test]
    fn classes_come_before_entities_and_seeds_permute_entities() {
        let event = |class, index, seed| Event::new(class, index, Ranks::new(seed)).key();
        assert!(event(Class::Transmit, INDEX_MASK, 1) < event(Class::Deliver, 0, 1));
        let first_of = |seed| (0..64).min_by_key(|&index| event(Class::Deliver, index, seed)).unwrap();
        let firsts: std::collections::BTreeSet<u64> = (0..50).map(first_of).collect();
        assert!(firsts.len() > 20, "another seed, another first: {firsts:?}");
    }
}
