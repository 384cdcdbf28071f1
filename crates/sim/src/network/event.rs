//! Events, packed into one ordered word.

use shallows_core::event::Event as Ordered;
use shallows_core::packet::mix;

/// Event at one entity, such as a link or a host. If a timer moves to an earlier time, its old event stays pending. If the timer then moves
/// back, two equal events can be pending; the second event has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event(u64);

/// Classes of events, in the order in which events of the same time fire. Each variant states the meaning of the event's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Class {
    /// Pauses of a port take effect or end, or a port sends a PFC frame. The event holds the rank of the port's link and the index of the
    /// link's near end.
    Pause,
    /// A port sends its next waiting packet. The event holds the rank of the port's link and the index of the link's near end.
    Transmit,
    /// A packet reaches the far end of a link. The event holds the rank of the link and the index of its far end.
    Deliver,
    /// A host takes the packets of a receive queue of its NIC. The index identifies the queue (`InboxAt::index`).
    Interrupt,
    /// A sender's timer expires. The index is the place of the sender (`Place::index`).
    SenderTimer,
    /// A receiver's timer expires. The index is the place of the receiver (`Place::index`).
    ReceiverTimer,
    /// Persistent connections send warm-up bytes before their first flow. The index is 0.
    WarmUp,
    /// A flow arrives. The index identifies its workload.
    Arrival,
    /// A datagram is sent. The index identifies its source.
    Datagram,
    /// An echo request is sent. The index identifies the pair of hosts.
    Probe,
    /// Queues are sampled. The index is 0.
    Sample,
    /// Ports are traced at intervals. The index identifies the port trace.
    PortTrace,
    /// Flows are traced at intervals. The index identifies the flow trace.
    FlowTrace,
    /// The agent of a NIC has a deadline. The index is the number of the NIC's host.
    Agent,
    /// The NIC of a host lets a queue pair send. The index is the number of the host.
    Turn,
    /// The network changes. This event comes after all events of the same time that are scheduled before it. The index is the number of the epoch.
    Epoch,
}

/// Classes of events, indexed by the four bits that encode the class.
const CLASSES: [Class; 16] = [
    Class::Pause,
    Class::Transmit,
    Class::Deliver,
    Class::Interrupt,
    Class::SenderTimer,
    Class::ReceiverTimer,
    Class::WarmUp,
    Class::Arrival,
    Class::Datagram,
    Class::Probe,
    Class::Sample,
    Class::PortTrace,
    Class::FlowTrace,
    Class::Agent,
    Class::Turn,
    Class::Epoch,
];

/// Number of bits of an index. The place of a connection uses all these bits: 24 for the host, and 32 for the slot at the host.
const INDEX_BITS: u32 = 56;
const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;

/// Number of bits of a link's rank, and of a link's place, in the index of an event. The upper half of the index is the rank, which orders
/// events. The lower half is the place: the index of the link's near or far end.
pub(crate) const LINK_BITS: u32 = INDEX_BITS / 2;

impl Event {
    /// Maximum number of hosts, so that the place of a connection fits in an index.
    pub(crate) const MAX_HOSTS: u32 = 1 << 24;
    /// Maximum number of links.
    pub(crate) const MAX_LINKS: u32 = 1 << LINK_BITS;

    /// Returns the event of this class at the entity with this index.
    ///
    /// Events of one class at one time fire in the order of `Ranks::of(index)`, a permutation that depends on the seed.
    #[inline]
    pub(crate) fn new(class: Class, index: u64, ranks: Ranks) -> Self {
        debug_assert!(index <= INDEX_MASK);
        Self((class as u64) << INDEX_BITS | (index ^ ranks.0))
    }

    /// Returns the event of this class at the link with this rank and place.
    #[inline]
    pub(crate) fn of_link(class: Class, rank: LinkRank, place: u32) -> Self {
        debug_assert!(place < Self::MAX_LINKS);
        Self((class as u64) << INDEX_BITS | u64::from(rank.0) << LINK_BITS | u64::from(place))
    }

    /// Returns the event that begins an epoch. Epochs begin at distinct times, so the event needs no rank.
    pub(crate) fn of_epoch(number: u32) -> Self {
        Self((Class::Epoch as u64) << INDEX_BITS | u64::from(number))
    }

    /// Returns the number of the epoch of a `Class::Epoch` event.
    pub(crate) fn epoch(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub(crate) fn class(self) -> Class {
        CLASSES[(self.0 >> INDEX_BITS) as usize & 15]
    }

    /// Returns the index of the event's entity. Events of links and epochs have no index; see [`Self::link`] and [`Self::epoch`].
    #[inline]
    pub(crate) fn index(self, ranks: Ranks) -> u64 {
        (self.0 & INDEX_MASK) ^ ranks.0
    }

    /// Returns the index of the link's near or far end, for a `Pause`, `Transmit` or `Deliver` event.
    #[inline]
    pub(crate) fn link(self) -> u32 {
        self.0 as u32 & (Self::MAX_LINKS - 1)
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

/// Order in which events of one class and time fire: a permutation of entity indices that depends on the seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranks(u64);

/// Position of a link in the order in which events of the same time fire at links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkRank(u32);

impl LinkRank {
    /// Returns the rank with this number, which must be below [`Event::MAX_LINKS`].
    #[inline]
    pub(crate) fn of(number: u64) -> Self {
        debug_assert!(number < Event::MAX_LINKS.into());
        Self(number as u32)
    }

    /// Returns the rank, which is below [`Event::MAX_LINKS`].
    #[inline]
    pub(crate) fn number(self) -> u64 {
        self.0.into()
    }
}

impl Ranks {
    pub(crate) fn new(seed: u64) -> Self {
        Self(mix(seed) & INDEX_MASK)
    }

    /// Returns the rank of the link with this number in the network.
    pub(crate) fn of_link(self, number: u32) -> LinkRank {
        LinkRank((number ^ self.0 as u32) & (Event::MAX_LINKS - 1))
    }

    /// Returns the rank of the entity with this index, which must not be a link. Entities of one class fire in the order of their ranks.
    pub(crate) fn of(self, index: u64) -> u64 {
        index ^ self.0
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
                    let event = Event::new(class, index, ranks);
                    assert_eq!((event.class(), event.index(ranks)), (class, index));
                }
            }
            for (number, place) in [(0, 5), (77_777, 0), (Event::MAX_LINKS - 1, Event::MAX_LINKS - 1)] {
                let event = Event::of_link(Class::Deliver, ranks.of_link(number), place);
                assert_eq!((event.class(), event.link()), (Class::Deliver, place));
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

    #[test]
    fn links_fire_in_the_order_of_their_numbers_wherever_they_are_kept() {
        for seed in 0..20 {
            let ranks = Ranks::new(seed);
            let mut numbers: Vec<u32> = (0..200).collect();
            let mut same = numbers.clone();
            numbers.sort_by_key(|&number| {
                Event::of_link(Class::Transmit, ranks.of_link(number), 999 - number).key()
            });
            same.sort_by_key(|&number| Event::new(Class::Transmit, number.into(), ranks).key());
            assert_eq!(numbers, same);
        }
    }
}
