//! A directed link: the egress port that feeds it and the packets in flight on it.
//!
//! Packets in flight are linked lists through one store that all links share, whose slots are used again at once: a
//! ring for each link would touch all its slots in turn, and those of all links together are more than a cache holds.

use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Duration, Instant};
use shallows_switch::Port;
use shallows_switch::port::Departure;

use crate::packet::PacketRef;

/// What a link leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// A host; packets say which.
    Host,
    /// A switch, by its number among switches.
    Switch(u32),
}

/// A link with its port. Of the packets in flight only the first has an event.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) port: Port<PacketRef>,
    /// Node whose buffer the port uses.
    pub(crate) node: u32,
    pub(crate) target: Target,
    /// Whether an event is pending that lets the port send its next packet.
    pub(crate) waking: bool,
    /// Who wants to hear what its port does.
    pub(crate) watch: Watch,
    delay: Duration,
    /// First and last packet in flight, or `NONE`.
    first: u32,
    last: u32,
    jitter: Option<Box<Jitter>>,
}

/// Who wants to hear what a port does, and is told at once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    /// A trace, of every change.
    pub(crate) traced: bool,
    /// A capture, of every packet that it sends.
    pub(crate) captured: bool,
    /// The connections whose data it sends, which it holds back.
    pub(crate) holds_back: bool,
}

impl Watch {
    #[inline]
    pub(crate) fn is_on(self) -> bool {
        self.traced | self.captured | self.holds_back
    }
}

/// All packets in flight.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    slots: Vec<Flying>,
    /// The slot that was freed last.
    free: Option<u32>,
    count: usize,
}

#[derive(Clone, Copy, Debug)]
struct Flying {
    arrival: Instant,
    header: Header,
    packet: PacketRef,
    /// The next on the same link, or the next free slot, or `NONE`.
    next: u32,
}

const NONE: u32 = u32::MAX;

impl InFlight {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    #[inline]
    fn insert(&mut self, flying: Flying) -> u32 {
        self.count += 1;
        let Some(slot) = self.free else {
            self.slots.push(flying);
            return u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets in flight");
        };
        let next = std::mem::replace(&mut self.slots[slot as usize], flying).next;
        self.free = (next != NONE).then_some(next);
        slot
    }

    #[inline]
    fn remove(&mut self, slot: u32) -> Flying {
        self.count -= 1;
        let flying = self.slots[slot as usize];
        self.slots[slot as usize].next = self.free.unwrap_or(NONE);
        self.free = Some(slot);
        flying
    }
}

/// Small random delays that keep order and rate, against lock-step of simulated flows.
#[derive(Debug)]
struct Jitter {
    spread: Duration,
    stream: Stream,
    last_arrival: Instant,
}

impl Link {
    pub(crate) fn new(port: Port<PacketRef>, node: u32, target: Target, delay: Duration) -> Self {
        Self {
            port,
            node,
            target,
            waking: false,
            watch: Watch::default(),
            delay,
            first: NONE,
            last: NONE,
            jitter: None,
        }
    }

    /// Delay every packet by a random part of `spread`, without overtaking.
    pub(crate) fn with_jitter(mut self, spread: Duration, stream: Stream) -> Self {
        if spread > Duration::ZERO {
            self.jitter = Some(Box::new(Jitter { spread, stream, last_arrival: Instant::ZERO }));
        }
        self
    }

    /// Put a packet on the wire; returns its arrival if it is the first in flight, to be scheduled.
    #[inline]
    pub(crate) fn launch(
        &mut self,
        departure: Departure<PacketRef>,
        in_flight: &mut InFlight,
    ) -> Option<Instant> {
        let Departure { header, payload: packet, finish } = departure;
        let mut arrival = finish + self.delay;
        if let Some(jitter) = &mut self.jitter {
            arrival = jitter.delay(arrival, self.port.rate().transmission_time(header.size()));
        }
        let slot = in_flight.insert(Flying { arrival, header, packet, next: NONE });
        let before = std::mem::replace(&mut self.last, slot);
        if before == NONE {
            self.first = slot;
            return Some(arrival);
        }
        in_flight.slots[before as usize].next = slot;
        None
    }

    /// Take the packet that arrives now; also returns the arrival of the next in flight, to be scheduled.
    #[inline]
    pub(crate) fn land(&mut self, in_flight: &mut InFlight) -> (Header, PacketRef, Option<Instant>) {
        debug_assert!(self.first != NONE, "a delivery is scheduled only while something flies");
        let landed = in_flight.remove(self.first);
        self.first = landed.next;
        if landed.next == NONE {
            self.last = NONE;
            return (landed.header, landed.packet, None);
        }
        (landed.header, landed.packet, Some(in_flight.slots[landed.next as usize].arrival))
    }
}

impl Jitter {
    /// Uniform over the spread, but never closer to the previous arrival than the link's rate allows.
    fn delay(&mut self, arrival: Instant, transmission: Duration) -> Instant {
        let random = arrival + Duration(self.stream.below(self.spread.0 + 1));
        let earliest = self.last_arrival + transmission;
        self.last_arrival = random.max(earliest);
        self.last_arrival
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::{Bytes, Rate};

    use super::*;

    fn link(spread: Duration) -> Link {
        let config = shallows_switch::port::Config::default();
        let stream = |purpose, place| Stream::new(1, purpose, place as u64);
        let port = Port::new(Rate::from_gbps(100), 0, &config, stream);
        Link::new(port, 0, Target::Host, Duration::from_micros(1))
            .with_jitter(spread, Stream::new(1, "jitter", 0))
    }

    fn departure(finish: Instant) -> Departure<PacketRef> {
        Departure { header: Header::default().with_size(1_500), payload: PacketRef::NONE, finish }
    }

    #[test]
    fn a_packet_arrives_after_serialisation_and_propagation_and_only_the_first_is_announced() {
        let (mut link, mut wire) = (link(Duration::ZERO), InFlight::default());
        let [first, second] = [100, 300].map(|ns| Instant::ZERO + Duration::from_nanos(ns));
        assert_eq!(link.launch(departure(first), &mut wire), Some(first + Duration::from_micros(1)));
        assert_eq!(link.launch(departure(second), &mut wire), None);
        assert_eq!(link.land(&mut wire).2, Some(second + Duration::from_micros(1)));
        assert_eq!(link.land(&mut wire).2, None);
        assert_eq!(wire.len(), 0);
    }

    #[test]
    fn jitter_keeps_order_and_rate_and_adds_at_most_its_spread_when_there_is_room() {
        let spread = Duration::from_nanos(120);
        let (mut link, mut wire) = (link(spread), InFlight::default());
        let transmission = Rate::from_gbps(100).transmission_time(Bytes(1_500));
        let mut last = Instant::ZERO;
        for sent in 0..1_000u64 {
            // Back to back for a hundred packets, then sparse.
            let gap = if sent < 100 { transmission } else { transmission * 3 };
            let finish = Instant::ZERO + gap * sent + transmission;
            let arrival = link.launch(departure(finish), &mut wire).unwrap();
            link.land(&mut wire);
            assert!(arrival >= last + transmission, "packets do not overlap");
            let delay = arrival - (finish + Duration::from_micros(1));
            assert!(delay <= spread, "{delay} is more than {spread}");
            last = arrival;
        }
    }
}
