//! The parts of a world other than its hosts, and the driver of the hosts.

use std::ops::Range;

use shallows_core::Instant;
use shallows_core::event::EventQueue;
use shallows_core::packet::{Header, HostId, PacketKind};
use shallows_measure::Tally;

use crate::hosts::connection::Place;
use crate::hosts::packet::{PacketRef, Packets, Queued};
use crate::hosts::{Driver, HostEvent, Timer};
use crate::network::Network;
use crate::network::event::{Class, Event, Ranks};
use crate::run::world::ends::{Around, Ends};
use crate::traffic::generators::Generators;

/// All parts of a world other than its hosts.
#[derive(Debug)]
pub(super) struct Outside {
    pub(super) network: Network<PacketRef>,
    pub(super) ends: Ends,
    pub(super) generators: Generators,
    pub(super) ranks: Ranks,
    /// Whether every flow is complete and completion ends the run.
    pub(super) finished: bool,
    pub(super) ends_on_completion: bool,
    /// Whether this world contains the whole network. Only such a world can detect that all flows are complete.
    pub(super) is_whole: bool,
}

impl Outside {
    pub(super) fn is_complete(&self) -> bool {
        let traffic = &self.generators.arrivals.traffic;
        self.ends_on_completion && traffic.finite == self.network.tally.flows_ended() && traffic.busy() == 0
    }
}

/// Driver of the hosts in a simulation: the parts of the world other than its hosts, and the event queue.
pub(super) struct Surroundings<'a> {
    pub(super) outside: &'a mut Outside,
    pub(super) queue: &'a mut EventQueue<Event>,
}

impl Driver for Surroundings<'_> {
    #[inline(always)]
    fn now(&self) -> Instant {
        self.queue.now()
    }

    #[inline(always)]
    fn packets(&mut self) -> &mut Packets {
        &mut self.outside.ends.packets
    }

    #[inline(always)]
    fn tally(&mut self) -> &mut Tally {
        &mut self.outside.network.tally
    }

    #[inline(always)]
    fn send(&mut self, header: Header, packet: PacketRef) -> bool {
        let Self { outside: Outside { network, ends, .. }, queue } = self;
        network.send(header.source(), header, packet, &mut Around { ends, queue })
    }

    #[inline(always)]
    fn dropped(&mut self) -> Option<(HostId, Queued)> {
        self.outside.ends.dropped.pop()
    }

    #[inline(always)]
    fn timer_at(&mut self, at: Instant, timer: Timer) {
        let (class, index) = match timer {
            Timer::Interrupt(at) => (Class::Interrupt, at.index()),
            Timer::Sender(place) => (Class::SenderTimer, place.index()),
            Timer::Receiver(place) => (Class::ReceiverTimer, place.index()),
            Timer::Agent(host) => (Class::Agent, host.0.into()),
            Timer::Turn(host) => (Class::Turn, host.0.into()),
        };
        self.queue.schedule(at, Event::new(class, index, self.outside.ranks));
    }

    fn answer(&mut self, header: &Header, packet: PacketRef) -> Option<(Header, PacketRef)> {
        let Outside { generators, ends, .. } = &mut *self.outside;
        if header.kind() == PacketKind::Datagram {
            generators.datagrams.receive(header);
            return None;
        }
        let packet = ends.packets.remove_probe(packet);
        let (header, packet) = generators.probes.answer(self.queue.now(), header, &packet)?;
        Some((header, ends.packets.insert_probe(packet)))
    }

    fn traces(&mut self, flow: u32, place: Place, bytes: Range<u64>) -> bool {
        self.outside.ends.observers.flow_begins(flow, place, bytes)
    }

    fn traces_responder(&mut self, flow: u32, place: Place) -> bool {
        self.outside.ends.observers.responder_begins(flow, place)
    }

    #[inline]
    fn on_event(&mut self, event: HostEvent<'_>) {
        let Self { outside, queue } = self;
        match event {
            HostEvent::Received(flow) => outside.generators.arrivals.traffic.on_received(flow, queue),
            HostEvent::Acked { flow, record } => {
                outside.generators.arrivals.traffic.on_acked(record, queue);
                outside.finished = outside.is_whole && outside.is_complete();
                outside.ends.observers.flows.on_end(flow);
            }
            HostEvent::Failed { flow } => {
                outside.finished = outside.is_whole && outside.is_complete();
                outside.ends.observers.flows.on_end(flow);
            }
            HostEvent::Changed { flow, endpoint } => {
                outside.ends.observers.sender_changed(queue.now(), flow, endpoint);
            }
            HostEvent::ResponderChanged { flow, control } => {
                outside.ends.observers.responder_changed(queue.now(), flow, control);
            }
        }
    }
}
