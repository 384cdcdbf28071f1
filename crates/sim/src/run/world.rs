//! The simulated world: a network and its hosts, and how events change them.
//!
//! A packet walks through this file and [`crate::network`] top-down: a connection sends it ([`World::pump`]), its host puts it into the
//! network ([`World::put_out`]), where nodes pass it on and links carry it, and a host gets it ([`World::arrive`]). What hosts do with
//! it is in [`crate::hosts`].

use shallows_core::Instant;
use shallows_core::event::EventQueue;
use shallows_core::packet::{Header, HostId, PacketKind, Segment};

use crate::hosts::connection::Place;
use crate::hosts::flow::Flows;
use crate::hosts::inbox::{Arrived, Inbox, InboxAt, Taking};
use crate::hosts::packet::{Packet, PacketRef, Packets};
use crate::hosts::{Hearing, Hosts, Next, Reception, Waking};
use crate::network::event::{Class, Event, Ranks};
use crate::network::link::Target;
use crate::network::tally::Lost;
use crate::network::{Change, Driver, LinkAt, Network};
use crate::report::observers::Observers;
use crate::run::crossing::{Crossing, Exits};
use crate::traffic::Newcomer;
use crate::traffic::generators::{Arrivals, Generators};
use crate::traffic::warm_up::WarmUp;

/// Everything that changes state when an event fires: the whole network and its hosts, or a part of it.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) network: Network<PacketRef>,
    pub(crate) ends: Ends,
    pub(crate) flows: Flows,
    pub(crate) generators: Generators,
    pub(crate) ranks: Ranks,
    /// Whether every flow is complete and the run may end with that.
    pub(crate) finished: bool,
    pub(crate) ends_on_completion: bool,
}

/// What is at the ends of a network, and around it.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) packets: Packets,
    pub(crate) hosts: Hosts,
    pub(crate) observers: Observers,
    /// Where links lead that end in other parts, and what has left by them.
    pub(crate) exits: Exits,
}

/// What a network calls back.
struct Around<'a> {
    ends: &'a mut Ends,
    queue: &'a mut EventQueue<Event>,
}

impl Driver<PacketRef> for Around<'_> {
    #[inline(always)]
    fn now(&self) -> Instant {
        self.queue.now()
    }

    #[inline(always)]
    fn transmit_at(&mut self, at: Instant, link: LinkAt) {
        self.queue.schedule(at, Event::of_link(Class::Transmit, link.rank, link.place));
    }

    #[inline(always)]
    fn deliver_at(&mut self, at: Instant, link: LinkAt) {
        self.queue.schedule(at, Event::of_link(Class::Deliver, link.rank, link.place));
    }

    fn change_at(&mut self, at: Instant, epoch: u32) {
        self.queue.schedule(at, Event::of_epoch(epoch));
    }

    fn cancel_transmit(&mut self, at: Instant, link: LinkAt) {
        let found = self.queue.cancel(at, Event::of_link(Class::Transmit, link.rank, link.place));
        assert!(found, "a port that is to send has an event");
    }

    fn cancel_deliver(&mut self, at: Instant, link: LinkAt) {
        let found = self.queue.cancel(at, Event::of_link(Class::Deliver, link.rank, link.place));
        assert!(found, "the first packet in flight has an event");
    }

    #[inline(never)]
    fn observe(&mut self, change: Change<'_, PacketRef>) {
        self.ends.observers.port_changed(self.queue.now(), change, &self.ends.packets);
    }

    #[inline(always)]
    fn leave(&mut self, exit: u32, arrival: Instant, header: Header, payload: PacketRef) {
        let packet = (payload != PacketRef::NONE).then(|| self.ends.packets.remove(payload));
        self.ends.exits.leave(exit, arrival, header, packet);
    }

    fn lose(&mut self, exit: u32) -> Lost {
        self.ends.exits.lose(exit)
    }

    #[inline(always)]
    fn expect(&self, target: Target, payload: PacketRef) {
        // Who takes it from the store: a host, or a link to another part.
        if matches!(target, Target::Host) || self.ends.exits.are_there() {
            self.ends.packets.prefetch(payload);
        }
    }

    fn discard(&mut self, host: Option<HostId>, payload: PacketRef) -> bool {
        if let Some(host) = host
            && self.ends.hosts.host(host).holds_back
            && let Some(body) = self.ends.packets.get(payload)
        {
            // Its connection is not woken: its acknowledgements and its timer find what it has lost.
            World::leave_card(&mut self.ends.hosts, host, body);
        }
        self.ends.packets.discard(payload)
    }
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
            Class::Epoch => self.change(event.epoch(), queue),
        }
    }

    fn is_finished(&self) -> bool {
        self.finished
    }
}

impl World {
    /// Have the processor load what most packets meet on their way: but not packets, of which few are read.
    pub(crate) fn prefetch(&self) {
        self.network.prefetch();
        self.ends.hosts.prefetch();
    }

    /// The network, and what it calls back.
    #[inline(always)]
    fn driving<'a>(
        &'a mut self,
        queue: &'a mut EventQueue<Event>,
    ) -> (&'a mut Network<PacketRef>, Around<'a>) {
        let Self { network, ends, .. } = self;
        (network, Around { ends, queue })
    }

    #[inline]
    pub(crate) fn schedule(&self, at: Instant, class: Class, index: u64, queue: &mut EventQueue<Event>) {
        queue.schedule(at, Event::new(class, index, self.ranks));
    }

    /// The port of a link is free.
    #[inline]
    fn transmit(&mut self, place: u32, queue: &mut EventQueue<Event>) {
        let (network, mut around) = self.driving(queue);
        if let Some(departure) = network.transmit(place, &mut around) {
            self.release(departure, queue);
        }
    }

    /// A packet that has left another part is in flight to a node of this one.
    pub(crate) fn enter(&mut self, crossing: Crossing, queue: &mut EventQueue<Event>) {
        let Crossing { wire, arrival, header, packet } = crossing;
        let packet = packet.map_or(PacketRef::NONE, |packet| self.ends.packets.insert(packet));
        let (network, mut around) = self.driving(queue);
        network.fly(wire, arrival, header, packet, &mut around);
    }

    /// A packet reaches the far end of a link.
    #[inline]
    fn deliver(&mut self, place: u32, queue: &mut EventQueue<Event>) {
        let (network, mut around) = self.driving(queue);
        if let Some((header, packet)) = network.deliver(place, &mut around) {
            self.arrive(header, packet, queue);
        }
    }

    /// Let the connection send whose data leaves its host's card, if that held it back. The link of a host never leads to another
    /// part, so the body is still here.
    #[inline(never)]
    fn release(&mut self, (header, packet): (Header, PacketRef), queue: &mut EventQueue<Event>) {
        if header.kind() == PacketKind::Data
            && let Some(body) = self.ends.packets.get(packet)
            && let Some(place) = Self::leave_card(&mut self.ends.hosts, header.source, body)
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
        if self.ends.hosts.cards_act() {
            return self.meet_card(header, packet, queue);
        }
        self.hand_up(Arrived::one(header, packet), queue);
    }

    /// It waits there for others, if the card has it wait.
    #[inline(never)]
    fn meet_card(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let inboxes = &mut self.ends.hosts.host(header.destination).inboxes;
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
        self.ends.hosts.host(at.host).inboxes.queue(at.queue)
    }

    /// A host takes up all that waits in a queue of its card.
    #[inline(never)]
    fn empty_inbox(&mut self, at: InboxAt, queue: &mut EventQueue<Event>) {
        let inboxes = &mut self.ends.hosts.host(at.host).inboxes;
        let gro = inboxes.rule().is_some_and(|rule| rule.gro);
        let taken = inboxes.queue(at.queue).empty(queue.now(), gro, &mut self.ends.packets);
        for &arrived in &taken {
            self.pass_card(arrived, queue);
        }
        self.inbox(at).recycle(taken);
    }

    /// It has waited, and the card looks at it.
    fn pass_card(&mut self, arrived: Arrived, queue: &mut EventQueue<Event>) {
        if let Some(card) = &mut self.ends.hosts.host(arrived.header.destination).ictcp {
            card.on_packet(queue.now(), arrived.bytes);
        }
        self.hand_up(arrived, queue);
    }

    /// A host takes up a packet, or several that it has merged. Where none waits this is a part of every hop: hence a copy of
    /// its own.
    #[inline(always)]
    fn hand_up(&mut self, arrived: Arrived, queue: &mut EventQueue<Event>) {
        let Arrived { header, packet, packets, .. } = arrived;
        self.network.tally.packets_arrived += u64::from(packets);
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
        let packet = self.ends.packets.remove(packet);
        if packet.segment.carries() {
            self.receive_carried(&header, &packet, queue);
        }
        match self.ends.hosts.on_data(queue.now(), &header, &packet, packets, &mut self.flows) {
            Reception::Stale => self.network.tally.packets_stale += u64::from(packets),
            Reception::Again(acks) => {
                for ack in acks {
                    let (header, packet) =
                        self.ends.hosts.acknowledge_again(&header, &packet, ack, &self.flows);
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
        let packet = self.ends.packets.remove(packet);
        let place = Place { host: header.destination, slot: packet.name.slot };
        let hearing = self.ends.hosts.on_ack(queue.now(), place, &packet);
        self.hear(place, hearing, queue);
    }

    /// Data arrives that carries an acknowledgement of the other direction of its connection.
    #[cold]
    fn receive_carried(&mut self, header: &Header, packet: &Packet, queue: &mut EventQueue<Event>) {
        if let Some((place, hearing)) = self.ends.hosts.on_carried(queue.now(), header, packet) {
            self.hear(place, hearing, queue);
        }
    }

    /// A sender has heard of what it sent.
    #[inline(always)]
    fn hear(&mut self, place: Place, hearing: Hearing, queue: &mut EventQueue<Event>) {
        match hearing {
            Hearing::Stale => self.network.tally.packets_stale += 1,
            Hearing::Open => self.pump(place, queue),
            Hearing::Complete(flow) => self.flow_acked(place, flow, queue),
        }
    }

    /// Send whatever a connection may send now, and see to its timer.
    #[inline]
    fn pump(&mut self, place: Place, queue: &mut EventQueue<Event>) {
        while let Some((header, packet)) = self.ends.hosts.poll(place, queue.now()) {
            self.send(header, packet, queue);
        }
        let (deadline, traced) = self.ends.hosts.rest(place);
        if let Some(deadline) = deadline {
            self.schedule(deadline, Class::SenderTimer, place.index(), queue);
        }
        if traced {
            self.ends.observers.sender_changed(queue.now(), &self.ends.hosts, place);
        }
    }

    #[inline]
    fn send_ack(&mut self, place: Place, ack: Segment, queue: &mut EventQueue<Event>) {
        let (header, packet) = self.ends.hosts.acknowledge(place, ack);
        self.send(header, packet, queue);
    }

    /// A host sends a packet.
    #[inline]
    fn send(&mut self, header: Header, packet: Packet, queue: &mut EventQueue<Event>) {
        self.network.tally.packets_sent += 1;
        self.network.tally.data_sent += u64::from(packet.segment.len > 0);
        let packet = self.ends.packets.insert(packet);
        self.put_out(header, packet, queue);
    }

    /// A packet joins the port of its host.
    #[inline]
    fn put_out(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let (network, mut around) = self.driving(queue);
        if network.send(header.source, header, packet, &mut around) {
            self.release((header, packet), queue);
        }
    }

    #[inline]
    fn rest_receiver(&mut self, place: Place, queue: &mut EventQueue<Event>) {
        if let Some(deadline) = self.ends.hosts.rest_receiver(place) {
            self.schedule(deadline, Class::ReceiverTimer, place.index(), queue);
        }
    }

    #[inline(never)]
    fn sender_timer(&mut self, place: Place, queue: &mut EventQueue<Event>) {
        match self.ends.hosts.on_sender_timer(place, queue.now()) {
            Waking::Sends => self.pump(place, queue),
            Waking::Later(at) => self.schedule(at, Class::SenderTimer, place.index(), queue),
            Waking::Nothing => {}
        }
    }

    #[inline(never)]
    fn receiver_timer(&mut self, place: Place, queue: &mut EventQueue<Event>) {
        if let Some((header, packet)) = self.ends.hosts.on_receiver_timer(place, queue.now()) {
            self.send(header, packet, queue);
        }
        self.rest_receiver(place, queue);
    }

    /// This flow will arrive at one of the hosts, or come to one.
    pub(crate) fn announce(&mut self, newcomer: Newcomer, queue: &mut EventQueue<Event>) {
        self.flows.know(newcomer.number, &newcomer.flow);
        if self.ends.hosts.has(newcomer.flow.source)
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
            self.ends.observers.flows.expect(number, trace);
        }
        if let Some(place) = self.ends.hosts.connect(&flow, number, &self.flows) {
            self.start_flow(place, number, queue);
        }
    }

    fn start_flow(&mut self, place: Place, flow: u32, queue: &mut EventQueue<Event>) {
        let side = self.ends.hosts.start(place, flow, &mut self.flows, queue.now());
        side.traced = self.ends.observers.flows.on_start(flow, place, side.flow_start);
        self.pump(place, queue);
    }

    /// Whether the run may end because every flow that will ever arrive has arrived here and is complete.
    pub(crate) fn is_complete(&self) -> bool {
        let completed = self.network.tally.flows_completed;
        self.ends_on_completion && self.generators.arrivals.is_complete(completed)
    }

    /// The sender of a flow has every acknowledgement: the connection takes another one, or is free, or closes.
    #[inline(never)]
    fn flow_acked(&mut self, place: Place, flow: u32, queue: &mut EventQueue<Event>) {
        let next = self.ends.hosts.end(place, &mut self.flows, queue.now());
        self.network.tally.flows_completed += 1;
        self.generators.arrivals.on_acked(self.flows.at(flow), queue);
        self.finished = self.is_complete();
        self.ends.observers.flows.on_end(flow);
        self.go_on(place, next, queue);
    }

    /// The receiver of a flow has all of it.
    #[inline(never)]
    fn flow_received(&mut self, place: Place, flow: u32, queue: &mut EventQueue<Event>) {
        self.generators.arrivals.on_received(self.flows.at(flow), queue);
        if let Some((place, next)) = self.ends.hosts.on_answered(place, flow, &self.flows) {
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
        self.network.tally.events_of_no_node += 1;
        while let Some(WarmUp { place, bytes, .. }) = self.generators.warm_ups.next(queue) {
            self.ends.hosts.prime(place, bytes, queue.now());
            self.pump(place, queue);
        }
    }

    #[inline(never)]
    fn send_datagram(&mut self, source: u32, queue: &mut EventQueue<Event>) {
        let (header, next) = self.generators.datagrams.send(source, queue.now());
        if let Some(header) = header {
            self.network.tally.packets_sent += 1;
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
        let packet = self.ends.packets.remove(packet);
        if let Some((header, packet)) = self.generators.probes.answer(queue.now(), &header, &packet) {
            self.send(header, packet, queue);
        }
    }

    #[inline(never)]
    fn sample_queues(&mut self, queue: &mut EventQueue<Event>) {
        self.network.tally.events_of_no_node += 1;
        let next = self.ends.observers.queues.sample(queue.now(), &self.network);
        self.schedule(next, Class::Sample, 0, queue);
    }

    /// Read the ports of a trace that is taken at intervals.
    #[inline(never)]
    fn trace_ports(&mut self, index: u32, queue: &mut EventQueue<Event>) {
        self.network.tally.events_of_no_node += 1;
        let (links, next) = self.ends.observers.ports.due(index, queue.now());
        self.network.trace(queue.now(), &links, &mut self.ends.observers.ports);
        self.schedule(next, Class::PortTrace, index.into(), queue);
    }

    /// Read the senders of a trace that is taken at intervals.
    #[inline(never)]
    fn trace_flows(&mut self, number: u32, queue: &mut EventQueue<Event>) {
        self.network.tally.events_of_no_node += 1;
        let next = self.ends.observers.flows.sample(number, queue.now(), &self.ends.hosts);
        self.schedule(next, Class::FlowTrace, number.into(), queue);
    }

    /// Before anything happens.
    pub(crate) fn start_network(&mut self, queue: &mut EventQueue<Event>) {
        let (network, mut around) = self.driving(queue);
        network.start(&mut around);
    }

    #[inline(never)]
    fn change(&mut self, epoch: u32, queue: &mut EventQueue<Event>) {
        self.network.tally.events_of_no_node += 1;
        let (network, mut around) = self.driving(queue);
        network.change(epoch, &mut around);
    }

    /// Check the laws that hold at any moment between two events; returns how many packets are under way here.
    ///
    /// # Panics
    ///
    /// If the books do not balance, which is a defect of this program.
    pub(crate) fn audit(&self) -> u64 {
        let under_way = self.network.audit() + self.ends.hosts.waiting() as u64;
        assert!(self.ends.packets.len() as u64 <= under_way, "no packet is kept that is not under way");
        under_way
    }
}
