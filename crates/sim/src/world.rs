//! The simulated network: links, switches, hosts, and how events change them.
//!
//! A packet walks through this file top-down: a connection sends it ([`World::pump`]), its host's port and each
//! switch's take it ([`World::enqueue`]), each link delivers it ([`World::deliver`]) to the next switch
//! ([`World::forward`]) or to a host ([`World::arrive`]). What hosts do with it is in [`crate::hosts`].

use std::sync::Arc;

use shallows_core::event::EventQueue;
use shallows_core::packet::{Header, HostId, PacketKind, Segment};
use shallows_core::{Instant, prefetch_all};
use shallows_scenario::Routing;
use shallows_switch::buffer::SharedBuffer;
use shallows_switch::port::{Arrival, Departure};

use crate::connection::Place;
use crate::crossing::{Crossing, Exits};
use crate::event::{Class, Event, Ranks};
use crate::flow::Flows;
use crate::generators::{Arrivals, Generators};
use crate::hosts::{Hearing, Hosts, Next, Reception, Waking};
use crate::inbox::{Arrived, Inbox, InboxAt, Taking};
use crate::link::{Flying, InFlight, Link, NONE, Target, Way, Wire};
use crate::observers::Observers;
use crate::packet::{Packet, PacketRef, Packets};
use crate::places::Places;
use crate::tally::Tally;
use crate::traffic::Newcomer;
use crate::warm_up::WarmUp;

/// Everything that changes state when an event fires: the whole network, or a part of it.
#[derive(Debug)]
pub(crate) struct World {
    /// Near ends of links: those that leave its nodes, by number.
    pub(crate) links: Vec<Link>,
    pub(crate) places_of_links: Places,
    /// Far ends: of the same links at the same places, then of those that come from other parts.
    pub(crate) wires: Vec<Wire>,
    pub(crate) in_flight: InFlight,
    /// By node: hosts first, then switches.
    pub(crate) buffers: Vec<SharedBuffer>,
    pub(crate) routing: Arc<Routing>,
    pub(crate) packets: Packets,
    pub(crate) hosts: Hosts,
    pub(crate) flows: Flows,
    pub(crate) generators: Generators,
    pub(crate) observers: Observers,
    pub(crate) ranks: Ranks,
    pub(crate) tally: Tally,
    /// By link: segments with data that its port dropped.
    pub(crate) data_dropped: Vec<u64>,
    /// Where links lead that end in other parts, and what has left by them.
    pub(crate) exits: Exits,
    /// Whether every flow is complete and the run may end with that.
    pub(crate) finished: bool,
    pub(crate) ends_on_completion: bool,
    /// Payloads that a port dropped, awaiting reclaim; kept to spare an allocation.
    pub(crate) dropped: Vec<PacketRef>,
}

impl shallows_core::event::World for World {
    type Event = Event;

    #[inline]
    fn handle(&mut self, event: Event, queue: &mut EventQueue<Event>) {
        let index = || event.index(self.ranks);
        match event.class() {
            Class::Transmit => self.transmit(event.link(), queue),
            Class::Deliver => self.deliver(event.link(), queue),
            Class::Interrupt => self.interrupt(InboxAt::from_index(index()), queue),
            Class::SenderTimer => self.sender_timer(Place::from_index(index()), queue),
            Class::ReceiverTimer => self.receiver_timer(Place::from_index(index()), queue),
            Class::WarmUp => self.warm_up(queue),
            Class::Arrival => self.flow_arrival(index() as usize, queue),
            Class::Datagram => self.send_datagram(index() as u32, queue),
            Class::Probe => self.send_probe(index() as u32, queue),
            Class::Sample => self.sample_queues(queue),
            Class::PortTrace => self.trace_ports(index() as u32, queue),
            Class::FlowTrace => self.trace_flows(index() as u32, queue),
        }
    }

    fn is_finished(&self) -> bool {
        self.finished
    }
}

impl World {
    /// Have the processor load what most packets meet on their way: but not packets, of which few are read.
    pub(crate) fn prefetch(&self) {
        prefetch_all(&self.links);
        prefetch_all(&self.wires);
        self.in_flight.prefetch();
        self.hosts.prefetch();
        self.buffers.iter().for_each(SharedBuffer::prefetch);
        self.links.iter().for_each(|link| link.port.prefetch());
    }

    #[inline]
    pub(crate) fn schedule(&self, at: Instant, class: Class, index: u64, queue: &mut EventQueue<Event>) {
        queue.schedule(at, Event::new(class, index, self.ranks));
    }

    /// The port of a link is free: send what waits there.
    #[inline]
    fn transmit(&mut self, place: u32, queue: &mut EventQueue<Event>) {
        let link = &mut self.links[place as usize];
        let buffer = &mut self.buffers[link.buffer as usize];
        let departure = link.port.transmit_next(queue.now(), buffer, &mut self.dropped);
        link.waking = link.port.has_backlog();
        if link.waking {
            queue.schedule(link.port.busy_until(), Event::of_link(Class::Transmit, link.rank, place));
        }
        let watched = link.watch.is_on();
        let way = departure.map(|departure| link.way_of(&departure));
        if watched {
            self.observe(place, departure.as_ref(), queue.now());
        }
        if let (Some(departure), Some(way)) = (departure, way) {
            self.launch(place, way, departure, queue);
            if watched {
                self.release(place, &departure, queue);
            }
        }
        if !self.dropped.is_empty() {
            self.reclaim(place);
        }
    }

    /// A packet starts to leave the port of a link.
    #[inline(always)]
    fn launch(
        &mut self,
        place: u32,
        Way { arrival, exit }: Way,
        departure: Departure<PacketRef>,
        queue: &mut EventQueue<Event>,
    ) {
        self.tally.packet_hops += 1;
        let Departure { header, payload: packet, .. } = departure;
        if exit != NONE {
            let packet = (packet != PacketRef::NONE).then(|| self.packets.remove(packet));
            return self.exits.leave(exit, arrival, header, packet);
        }
        self.fly(place, arrival, header, packet, queue);
    }

    /// A packet that has left another part is in flight to a node of this one.
    pub(crate) fn enter(&mut self, crossing: Crossing, queue: &mut EventQueue<Event>) {
        let Crossing { wire, arrival, header, packet } = crossing;
        let packet = packet.map_or(PacketRef::NONE, |packet| self.packets.insert(packet));
        self.fly(wire, arrival, header, packet, queue);
    }

    /// A packet is on its way to the far end of a link.
    #[inline(always)]
    fn fly(
        &mut self,
        place: u32,
        arrival: Instant,
        header: Header,
        packet: PacketRef,
        queue: &mut EventQueue<Event>,
    ) {
        let wire = &mut self.wires[place as usize];
        if wire.launch(arrival, header, packet, &mut self.in_flight) {
            queue.schedule(arrival, Event::of_link(Class::Deliver, wire.rank, place));
        }
    }

    /// The first packet in flight on a link arrives.
    #[inline]
    fn deliver(&mut self, place: u32, queue: &mut EventQueue<Event>) {
        let wire = &mut self.wires[place as usize];
        let (Flying { header, packet, .. }, next) = wire.land(&mut self.in_flight);
        if let Some(next) = next {
            queue.schedule(next.arrival, Event::of_link(Class::Deliver, wire.rank, place));
            // Who takes it from the store: a host, or a link to another part.
            if matches!(wire.target, Target::Host) || self.exits.are_there() {
                self.packets.prefetch(next.packet);
            }
        }
        match wire.target {
            Target::Switch(switch) => self.forward(switch, header, packet, queue),
            Target::Host => self.arrive(header, packet, queue),
        }
    }

    /// A switch passes a packet on to one of its ports.
    #[inline]
    fn forward(&mut self, switch: u32, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let link = self.routing.next_hop(switch, &header);
        self.enqueue(self.places_of_links.at(link) as u32, header, packet, queue);
    }

    /// A packet joins the port of a link.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        place: u32,
        header: Header,
        packet: PacketRef,
        queue: &mut EventQueue<Event>,
    ) {
        let link = &mut self.links[place as usize];
        let buffer = &mut self.buffers[link.buffer as usize];
        let watched = link.watch.is_on();
        match link.port.receive(queue.now(), header, packet, buffer, &mut self.dropped) {
            Arrival::Sent(departure) => {
                let way = link.way_of(&departure);
                if watched {
                    self.observe(place, Some(&departure), queue.now());
                }
                self.launch(place, way, departure, queue);
                if watched {
                    self.release(place, &departure, queue);
                }
            }
            Arrival::Queued => {
                if !link.waking {
                    link.waking = true;
                    let event = Event::of_link(Class::Transmit, link.rank, place);
                    queue.schedule(link.port.busy_until(), event);
                }
                if watched {
                    self.observe(place, None, queue.now());
                }
            }
            Arrival::Dropped if watched => self.observe(place, None, queue.now()),
            Arrival::Dropped => {}
        }
        if !self.dropped.is_empty() {
            self.reclaim(place);
        }
    }

    /// Show observers the changed port of a link, and the packet that starts to leave it: before [`Self::launch`] may pass its body to
    /// another part.
    #[inline(never)]
    fn observe(&mut self, place: u32, departure: Option<&Departure<PacketRef>>, now: Instant) {
        let link = &mut self.links[place as usize];
        self.observers.port_changed(now, link, &self.buffers[link.buffer as usize]);
        if let Some(Departure { header, payload, .. }) = departure {
            self.observers.port_sends(now, link, header, self.packets.get(*payload));
        }
    }

    /// Let the connection send whose data leaves its host's card, if that held it back. The link of a host never leads to another
    /// part, so the body is still here.
    #[inline(never)]
    fn release(&mut self, place: u32, departure: &Departure<PacketRef>, queue: &mut EventQueue<Event>) {
        let Departure { header, payload, .. } = departure;
        if self.links[place as usize].watch.holds_back
            && header.kind() == PacketKind::Data
            && let Some(packet) = self.packets.get(*payload)
            && let Some(place) = Self::leave_card(&mut self.hosts, header.source, packet)
        {
            self.pump(place, queue);
        }
    }

    /// A packet no longer waits in its host's card. Returns the connection that this held back.
    #[inline]
    fn leave_card(hosts: &mut Hosts, host: HostId, packet: &Packet) -> Option<Place> {
        // Without data what it names may be no connection but a probe.
        if packet.segment.len == 0 { None } else { hosts.leave_card(host, packet) }
    }

    /// A packet reaches its host's card.
    #[inline]
    fn arrive(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        if self.hosts.cards_act() {
            return self.meet_card(header, packet, queue);
        }
        self.hand_up(Arrived::one(header, packet), queue);
    }

    /// It waits there for others, if the card has it wait.
    #[inline(never)]
    fn meet_card(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let inboxes = &mut self.hosts.host(header.destination).inboxes;
        if inboxes.rule().is_none() {
            return self.pass_card(Arrived::one(header, packet), queue);
        }
        let at = InboxAt { host: header.destination, queue: inboxes.of(&header) };
        let taking = inboxes.queue(at.queue).take_in(queue.now(), header, packet);
        self.take_up(at, taking, queue);
    }

    #[inline(never)]
    fn interrupt(&mut self, at: InboxAt, queue: &mut EventQueue<Event>) {
        let taking = self.inbox(at).on_event(queue.now());
        self.take_up(at, taking, queue);
    }

    fn take_up(&mut self, at: InboxAt, taking: Taking, queue: &mut EventQueue<Event>) {
        match taking {
            Taking::Waits => {}
            Taking::Until(due) => self.schedule(due, Class::Interrupt, at.index(), queue),
            Taking::Now => self.empty_inbox(at, queue),
        }
    }

    fn inbox(&mut self, at: InboxAt) -> &mut Inbox {
        self.hosts.host(at.host).inboxes.queue(at.queue)
    }

    /// A host takes up all that waits in a queue of its card.
    #[inline(never)]
    fn empty_inbox(&mut self, at: InboxAt, queue: &mut EventQueue<Event>) {
        let inboxes = &mut self.hosts.host(at.host).inboxes;
        let gro = inboxes.rule().is_some_and(|rule| rule.gro);
        let taken = inboxes.queue(at.queue).empty(queue.now(), gro, &mut self.packets);
        for &arrived in &taken {
            self.pass_card(arrived, queue);
        }
        self.inbox(at).recycle(taken);
    }

    /// It has waited, and the card looks at it.
    fn pass_card(&mut self, arrived: Arrived, queue: &mut EventQueue<Event>) {
        if let Some(card) = &mut self.hosts.host(arrived.header.destination).ictcp {
            card.on_packet(queue.now(), arrived.bytes);
        }
        self.hand_up(arrived, queue);
    }

    /// A host takes up a packet, or several that it has merged. Where none waits this is a part of every hop: hence a copy of
    /// its own.
    #[inline(always)]
    fn hand_up(&mut self, arrived: Arrived, queue: &mut EventQueue<Event>) {
        let Arrived { header, packet, packets, .. } = arrived;
        self.tally.packets_arrived += u64::from(packets);
        match header.kind() {
            PacketKind::Data => self.receive_data(arrived, queue),
            PacketKind::PureAck => self.receive_ack(header, packet, queue),
            PacketKind::Datagram => self.generators.datagrams.receive(&header),
            PacketKind::Probe => self.receive_probe(header, packet, queue),
        }
    }

    #[inline(always)]
    fn receive_data(&mut self, arrived: Arrived, queue: &mut EventQueue<Event>) {
        let Arrived { header, packet, packets, .. } = arrived;
        let packet = self.packets.remove(packet);
        if packet.segment.carries() {
            self.receive_carried(&header, &packet, queue);
        }
        match self.hosts.on_data(queue.now(), &header, &packet, packets, &mut self.flows) {
            Reception::Stale => self.tally.packets_stale += u64::from(packets),
            Reception::Again(acks) => {
                for ack in acks {
                    let (header, packet) = self.hosts.acknowledge_again(&header, &packet, ack, &self.flows);
                    self.send(header, packet, queue);
                }
            }
            Reception::At { slot, acks, complete } => {
                let place = Place { host: header.destination, slot };
                if let Some(flow) = complete {
                    self.flow_received(place, flow, queue);
                }
                for ack in acks {
                    self.send_ack(place, ack, queue);
                }
                self.rest_receiver(place, queue);
            }
        }
    }

    #[inline(always)]
    fn receive_ack(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let packet = self.packets.remove(packet);
        let place = Place { host: header.destination, slot: packet.name.slot };
        let hearing = self.hosts.on_ack(queue.now(), place, &packet);
        self.hear(place, hearing, queue);
    }

    /// Data arrives that carries an acknowledgement of the other direction of its connection.
    #[cold]
    fn receive_carried(&mut self, header: &Header, packet: &Packet, queue: &mut EventQueue<Event>) {
        if let Some((place, hearing)) = self.hosts.on_carried(queue.now(), header, packet) {
            self.hear(place, hearing, queue);
        }
    }

    /// A sender has heard of what it sent.
    #[inline(always)]
    fn hear(&mut self, place: Place, hearing: Hearing, queue: &mut EventQueue<Event>) {
        match hearing {
            Hearing::Stale => self.tally.packets_stale += 1,
            Hearing::Open => self.pump(place, queue),
            Hearing::Complete(flow) => self.flow_acked(place, flow, queue),
        }
    }

    /// Send whatever a connection may send now, and see to its timer.
    #[inline]
    fn pump(&mut self, place: Place, queue: &mut EventQueue<Event>) {
        while let Some((header, packet)) = self.hosts.poll(place, queue.now()) {
            self.send(header, packet, queue);
        }
        let (deadline, traced) = self.hosts.rest(place);
        if let Some(deadline) = deadline {
            self.schedule(deadline, Class::SenderTimer, place.index(), queue);
        }
        if traced {
            self.observers.sender_changed(queue.now(), &self.hosts, place);
        }
    }

    #[inline]
    fn send_ack(&mut self, place: Place, ack: Segment, queue: &mut EventQueue<Event>) {
        let (header, packet) = self.hosts.acknowledge(place, ack);
        self.send(header, packet, queue);
    }

    /// A host sends a packet.
    #[inline]
    fn send(&mut self, header: Header, packet: Packet, queue: &mut EventQueue<Event>) {
        self.tally.packets_sent += 1;
        self.tally.data_sent += u64::from(packet.segment.len > 0);
        let packet = self.packets.insert(packet);
        self.put_out(header, packet, queue);
    }

    /// A packet joins the port of its host.
    #[inline]
    fn put_out(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let card = self.hosts.host(header.source).nic;
        self.enqueue(card, header, packet, queue);
    }

    #[inline]
    fn rest_receiver(&mut self, place: Place, queue: &mut EventQueue<Event>) {
        if let Some(deadline) = self.hosts.rest_receiver(place) {
            self.schedule(deadline, Class::ReceiverTimer, place.index(), queue);
        }
    }

    #[inline(never)]
    fn sender_timer(&mut self, place: Place, queue: &mut EventQueue<Event>) {
        match self.hosts.on_sender_timer(place, queue.now()) {
            Waking::Sends => self.pump(place, queue),
            Waking::Later(at) => self.schedule(at, Class::SenderTimer, place.index(), queue),
            Waking::Nothing => {}
        }
    }

    #[inline(never)]
    fn receiver_timer(&mut self, place: Place, queue: &mut EventQueue<Event>) {
        if let Some((header, packet)) = self.hosts.on_receiver_timer(place, queue.now()) {
            self.send(header, packet, queue);
        }
        self.rest_receiver(place, queue);
    }

    /// This flow will arrive at one of the hosts, or come to one.
    pub(crate) fn announce(&mut self, newcomer: Newcomer, queue: &mut EventQueue<Event>) {
        self.flows.know(newcomer.number, &newcomer.flow);
        if self.hosts.has(newcomer.flow.source)
            && let Arrivals::Announced(announced) = &mut self.generators.arrivals
        {
            announced.announce(newcomer, queue);
        }
    }

    /// A workload is to be asked, or its next flow arrives: it gets a connection, or waits for one.
    #[inline(never)]
    fn flow_arrival(&mut self, workload: usize, queue: &mut EventQueue<Event>) {
        let Some(newcomer) = self.generators.arrivals.next(workload, queue) else { return };
        let Newcomer { flow, number, trace } = newcomer;
        self.flows.know(number, &flow);
        if let Some(trace) = trace {
            self.observers.flows.expect(number, trace);
        }
        if let Some(place) = self.hosts.connect(&flow, number, &self.flows) {
            self.start_flow(place, number, queue);
        }
    }

    fn start_flow(&mut self, place: Place, flow: u32, queue: &mut EventQueue<Event>) {
        let side = self.hosts.start(place, flow, &mut self.flows, queue.now());
        side.traced = self.observers.flows.on_start(flow, place, side.flow_start);
        self.pump(place, queue);
    }

    /// Whether the run may end because every flow that will ever arrive has arrived here and is complete.
    pub(crate) fn is_complete(&self) -> bool {
        let completed = self.tally.flows_completed;
        self.ends_on_completion && self.generators.arrivals.is_complete(completed)
    }

    /// The sender of a flow has every acknowledgement: the connection takes another one, or is free, or closes.
    #[inline(never)]
    fn flow_acked(&mut self, place: Place, flow: u32, queue: &mut EventQueue<Event>) {
        let next = self.hosts.end(place, &mut self.flows, queue.now());
        self.tally.flows_completed += 1;
        self.generators.arrivals.on_acked(self.flows.at(flow), queue);
        self.finished = self.is_complete();
        self.observers.flows.on_end(flow);
        self.go_on(place, next, queue);
    }

    /// The receiver of a flow has all of it.
    #[inline(never)]
    fn flow_received(&mut self, place: Place, flow: u32, queue: &mut EventQueue<Event>) {
        self.generators.arrivals.on_received(self.flows.at(flow), queue);
        if let Some((place, next)) = self.hosts.on_answered(place, flow, &self.flows) {
            self.go_on(place, next, queue);
        }
    }

    /// A connection is free.
    fn go_on(&mut self, place: Place, next: Next, queue: &mut EventQueue<Event>) {
        match next {
            Next::Flow(waiting) => self.start_flow(place, waiting, queue),
            Next::Idle => self.pump(place, queue),
            Next::Closed => {}
        }
    }

    #[inline(never)]
    fn warm_up(&mut self, queue: &mut EventQueue<Event>) {
        self.tally.events_of_no_node += 1;
        while let Some(WarmUp { place, bytes, .. }) = self.generators.warm_ups.next(queue) {
            self.hosts.prime(place, bytes, queue.now());
            self.pump(place, queue);
        }
    }

    #[inline(never)]
    fn send_datagram(&mut self, source: u32, queue: &mut EventQueue<Event>) {
        let (header, next) = self.generators.datagrams.send(source, queue.now());
        if let Some(header) = header {
            self.tally.packets_sent += 1;
            self.put_out(header, PacketRef::NONE, queue);
        }
        if let Some(next) = next {
            self.schedule(next, Class::Datagram, source.into(), queue);
        }
    }

    #[inline(never)]
    fn send_probe(&mut self, index: u32, queue: &mut EventQueue<Event>) {
        let Some((header, packet, next)) = self.generators.probes.ask(index, queue.now()) else { return };
        self.send(header, packet, queue);
        self.schedule(next, Class::Probe, index.into(), queue);
    }

    #[inline(never)]
    fn receive_probe(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let packet = self.packets.remove(packet);
        if let Some((header, packet)) = self.generators.probes.answer(queue.now(), &header, &packet) {
            self.send(header, packet, queue);
        }
    }

    #[inline(never)]
    fn sample_queues(&mut self, queue: &mut EventQueue<Event>) {
        self.tally.events_of_no_node += 1;
        let backlogs = self.links.iter().map(|link| (link.number, link.port.backlog()));
        let next = self.observers.queues.sample(queue.now(), backlogs, &self.buffers);
        self.schedule(next, Class::Sample, 0, queue);
    }

    /// Read the ports of a trace that is taken at intervals.
    #[inline(never)]
    fn trace_ports(&mut self, index: u32, queue: &mut EventQueue<Event>) {
        self.tally.events_of_no_node += 1;
        let (links, next) = self.observers.ports.due(index, queue.now());
        for number in links.into_iter().filter(|&number| self.places_of_links.has(number)) {
            let link = &mut self.links[self.places_of_links.at(number)];
            let buffer = &self.buffers[link.buffer as usize];
            self.observers.ports.record(queue.now(), number, &mut link.port, buffer);
        }
        self.schedule(next, Class::PortTrace, index.into(), queue);
    }

    /// Read the senders of a trace that is taken at intervals.
    #[inline(never)]
    fn trace_flows(&mut self, number: u32, queue: &mut EventQueue<Event>) {
        self.tally.events_of_no_node += 1;
        let next = self.observers.flows.sample(number, queue.now(), &self.hosts);
        self.schedule(next, Class::FlowTrace, number.into(), queue);
    }

    /// Forget what the port of a link has dropped.
    #[cold]
    fn reclaim(&mut self, place: u32) {
        self.tally.packets_dropped += self.dropped.len() as u64;
        let link = &self.links[place as usize];
        // The link that leaves a host has its number.
        let card = link.watch.holds_back.then_some(HostId(link.number));
        let mut dropped = std::mem::take(&mut self.dropped);
        for packet in dropped.drain(..) {
            if let Some(host) = card
                && let Some(body) = self.packets.get(packet)
            {
                // Its connection is not woken: its acknowledgements and its timer find what it has lost.
                Self::leave_card(&mut self.hosts, host, body);
            }
            self.data_dropped[place as usize] += u64::from(self.packets.discard(packet));
        }
        self.dropped = dropped;
    }

    /// Check the laws that hold at any moment between two events; returns how many packets are under way here.
    ///
    /// # Panics
    ///
    /// If the books do not balance, which is a defect of this program.
    pub(crate) fn audit(&self) -> u64 {
        for buffer in &self.buffers {
            buffer.audit();
        }
        let mut under_way = (self.in_flight.len() + self.hosts.waiting()) as u64;
        for link in &self.links {
            link.port.audit(&self.buffers[link.buffer as usize]);
            let counters = link.port.counters();
            under_way += counters.enqueued() - counters.dequeued();
        }
        assert!(self.packets.len() as u64 <= under_way, "no packet is kept that is not under way");
        under_way
    }
}
