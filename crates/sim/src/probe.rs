//! Echo requests between hosts, and the round-trip times that they measure.

use shallows_core::event::EventQueue;
use shallows_core::packet::{Ecn, Flags, Header, PacketKind, Segment};
use shallows_core::{Duration, Instant};
use shallows_scenario::Probe;

use crate::event::{Class, Event};
use crate::packet::{Packet, PacketRef};
use crate::world::World;

/// All pairs that measure, and what they have measured.
#[derive(Debug)]
pub(crate) struct Probes {
    sources: Vec<Probe>,
    /// Bytes of IP and ICMP headers and of framing.
    overhead: u16,
    /// Requests in the order in which they left.
    pub(crate) echoes: Vec<Echo>,
}

/// One request, and how long its reply took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo {
    pub(crate) probe: u32,
    pub(crate) sent_at: Instant,
    /// None if request or reply was lost, or was still under way when the run stopped.
    pub(crate) rtt: Option<Duration>,
}

impl Probes {
    pub(crate) fn new(sources: &[Probe], overhead: u16) -> Self {
        Self { sources: sources.to_vec(), overhead, echoes: Vec::new() }
    }

    /// When each pair asks first.
    pub(crate) fn starts(&self) -> impl Iterator<Item = Instant> + '_ {
        self.sources.iter().map(|probe| probe.start)
    }

    /// Header and body of the request that pair `index` sends now, and when it asks again; nothing once it has stopped.
    fn ask(&mut self, index: u32, now: Instant) -> Option<(Header, Packet, Instant)> {
        let probe = &self.sources[index as usize];
        if probe.stop.is_some_and(|stop| now >= stop) {
            return None;
        }
        let size = u16::try_from(probe.payload.0).expect("checked by the scenario") + self.overhead;
        // ICMP has no ports; as with ping's identifier, hashes tell pairs of the same hosts apart.
        let header = Header::new(probe.source, probe.destination)
            .with_ports(index as u16, 0)
            .with_size(size)
            .with_ecn(if probe.ecn { Ecn::Ect } else { Ecn::NotEct })
            .with_class(probe.class)
            .with_kind(PacketKind::Probe);
        let segment = Segment { seq: self.echoes.len() as u64, timestamp: now, ..Segment::default() };
        self.echoes.push(Echo { probe: index, sent_at: now, rtt: None });
        Some((header, Packet { segment, connection: index, generation: 0 }, now + probe.interval))
    }
}

impl World {
    #[inline(never)]
    pub(crate) fn send_probe(&mut self, index: u32, queue: &mut EventQueue<Event>) {
        let Some((header, packet, next)) = self.probes.ask(index, queue.now()) else { return };
        self.send(header, packet, queue);
        self.schedule(next, Class::Probe, index, queue);
    }

    /// A request or a reply reaches its host.
    #[inline(never)]
    pub(crate) fn receive_probe(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let packet = self.packets.remove(packet);
        if packet.segment.flags.contains(Flags::ACK) {
            let echo = &mut self.probes.echoes[packet.segment.seq as usize];
            echo.rtt = Some(queue.now() - packet.segment.timestamp);
            return;
        }
        let probe = &self.probes.sources[packet.connection as usize];
        let reply = Header::new(header.destination, header.source)
            .with_ports(0, packet.connection as u16)
            .with_size(header.size().0 as u16)
            .with_ecn(if probe.ecn { Ecn::Ect } else { Ecn::NotEct })
            .with_class(header.class())
            .with_kind(PacketKind::Probe);
        let segment = Segment { flags: Flags::ACK, ..packet.segment };
        self.send(reply, Packet { segment, ..packet }, queue);
    }
}
