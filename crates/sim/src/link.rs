//! A directed link: the egress port that feeds it and the packets in flight on it.

use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Duration, Instant};
use shallows_switch::Port;
use shallows_switch::port::Departure;
use shallows_switch::ring::Ring;

use crate::packet::PacketRef;

/// What a link leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// A host; packets say which.
    Host,
    /// A switch, by number among the nodes.
    Switch(u32),
}

/// A packet in flight, or at a port.
pub(crate) type InFlight = (Header, PacketRef);

/// A link with its port. Packets in flight wait in a ring, and only the first has an event.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) port: Port<PacketRef>,
    /// Node whose buffer the port uses.
    pub(crate) node: u32,
    pub(crate) target: Target,
    /// Whether an event is pending that lets the port send its next packet.
    pub(crate) waking: bool,
    delay: Duration,
    flying: Ring<Flying>,
    jitter: Option<Box<Jitter>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flying {
    arrival: Instant,
    header: Header,
    packet: PacketRef,
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
        Self { port, node, target, waking: false, delay, flying: Ring::new(), jitter: None }
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
    pub(crate) fn launch(&mut self, departure: Departure<PacketRef>) -> Option<Instant> {
        let Departure { header, payload: packet, finish } = departure;
        let mut arrival = finish + self.delay;
        if let Some(jitter) = &mut self.jitter {
            arrival = jitter.delay(arrival, self.port.rate().transmission_time(header.size()));
        }
        self.flying.push(Flying { arrival, header, packet });
        (self.flying.len() == 1).then_some(arrival)
    }

    /// Take the packet that arrives now; also returns the arrival of the next in flight, to be scheduled.
    #[inline]
    pub(crate) fn land(&mut self) -> (InFlight, Option<Instant>) {
        let landed = self.flying.pop().expect("a delivery is scheduled only while something flies");
        ((landed.header, landed.packet), self.flying.front().map(|next| next.arrival))
    }

    /// Packets in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.flying.len()
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
    use shallows_switch::EgressDrop;

    use super::*;

    fn link(spread: Duration) -> Link {
        let port = Port::new(Rate::from_gbps(100), 0, vec![], EgressDrop::Slot);
        Link::new(port, 0, Target::Host, Duration::from_micros(1))
            .with_jitter(spread, Stream::new(1, "jitter", 0))
    }

    fn departure(finish: Instant) -> Departure<PacketRef> {
        Departure { header: Header::default().with_size(1_500), payload: PacketRef::NONE, finish }
    }

    #[test]
    fn a_packet_arrives_after_serialisation_and_propagation_and_only_the_first_is_announced() {
        let mut link = link(Duration::ZERO);
        let [first, second] = [100, 300].map(|ns| Instant::ZERO + Duration::from_nanos(ns));
        assert_eq!(link.launch(departure(first)), Some(first + Duration::from_micros(1)));
        assert_eq!(link.launch(departure(second)), None);
        assert_eq!(link.land().1, Some(second + Duration::from_micros(1)));
        assert_eq!(link.land().1, None);
    }

    #[test]
    fn jitter_keeps_order_and_rate_and_adds_at_most_its_spread_when_there_is_room() {
        let spread = Duration::from_nanos(120);
        let mut link = link(spread);
        let transmission = Rate::from_gbps(100).transmission_time(Bytes(1_500));
        let mut last = Instant::ZERO;
        for sent in 0..1_000u64 {
            // Back to back for a hundred packets, then sparse.
            let gap = if sent < 100 { transmission } else { transmission * 3 };
            let finish = Instant::ZERO + gap * sent + transmission;
            link.launch(departure(finish));
            let arrival = link.flying.front().unwrap().arrival;
            link.land();
            assert!(arrival >= last + transmission, "packets do not overlap");
            let delay = arrival - (finish + Duration::from_micros(1));
            assert!(delay <= spread, "{delay} is more than {spread}");
            last = arrival;
        }
    }
}
