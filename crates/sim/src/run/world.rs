//! The simulated world: a network and its hosts, and how events change them.
//!
//! A packet walks through this file and [`crate::network`] top-down: a connection sends it ([`World::pump`]), its host puts it into the
//! network ([`World::put_out`]), where nodes pass it on and links carry it, and a host gets it ([`World::arrive`]). What hosts do with
//! it is in [`crate::hosts`].

#[cfg(test)]
mod agents;
mod build;
mod ends;
pub(crate) mod execution;
pub(crate) mod measured;

use shallows_core::Instant;
use shallows_core::event::{self, EventQueue};
use shallows_core::packet::{AckSegment, Header, HostId, PacketKind};
use shallows_scenario::Experiment;

use crate::hosts::connection::Place;
use crate::hosts::flow::Flows;
use crate::hosts::nic::inbox::{Arrived, InboxAt, Taking};
use crate::hosts::nic::{Incoming, Nic};
use crate::hosts::packet::{AckPacket, DataPacket, PacketRef, Packets, ProbePacket};
use crate::hosts::{Hearing, Next, Reception, Waking};
use crate::network::event::{Class, Event, Ranks};
use crate::network::{Arriving, Network};
use crate::run::crossing::{Crossing, Crossings};
use crate::run::world::ends::{Around, Ends};
use crate::run::world::execution::Pace;
use crate::traffic::Newcomer;
use crate::traffic::generators::Generators;
use crate::traffic::warm_up::WarmUp;

/// Everything that changes state when an event fires: the whole network and its hosts, or a part of it.
#[derive(Debug)]
pub(crate) struct World {
    network: Network<PacketRef>,
    ends: Ends,
    flows: Flows,
    generators: Generators,
    ranks: Ranks,
    pace: Pace,
    /// Kept to spare an allocation.
    order: Vec<usize>,
    /// Whether every flow is complete and the run may end with that.
    finished: bool,
    ends_on_completion: bool,
    /// Whether this is the whole network, which knows when it is complete.
    is_whole: bool,
}

impl event::World for World {
    type Event = Event;

    #[inline(always)]
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
            Class::Agent => self.agent_timer(HostId(index() as u32), queue),
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

    /// Schedule the first of everything that happens here by itself.
    pub(crate) fn start(&mut self, experiment: &Experiment, queue: &mut EventQueue<Event>) {
        self.generators.start(experiment, &mut self.ends.hosts, self.ranks, queue);
        for number in self.ends.observers.ports.at_intervals() {
            self.schedule(Instant::ZERO, Class::PortTrace, number.into(), queue);
        }
        for number in self.ends.observers.flows.at_intervals() {
            self.schedule(Instant::ZERO, Class::FlowTrace, number.into(), queue);
        }
        self.start_network(queue);
        if experiment.sample_queues.is_some() {
            self.schedule(Instant::ZERO, Class::Sample, 0, queue);
        }
    }

    #[inline]
    fn schedule(&self, at: Instant, class: Class, index: u64, queue: &mut EventQueue<Event>) {
        queue.schedule(at, Event::new(class, index, self.ranks));
    }

    /// The port of a link is free.
    #[inline]
    fn transmit(&mut self, place: u32, queue: &mut EventQueue<Event>) {
        let (network, mut around) = self.driving(queue);
        let departure = network.transmit(place, &mut around);
        if self.ends.hosts.nics_act_on_departures()
            && let Some((header, packet)) = departure
            && self.network.host_at(place).is_some()
        {
            self.release(header, packet, queue);
        }
    }

    /// Hand over the flows for other parts that have started since the last time, with those parts.
    pub(crate) fn collect_newcomers(&mut self) -> impl Iterator<Item = (u32, Newcomer)> + '_ {
        self.generators.arrivals.leaving.collect()
    }

    /// Hand over what has left for other parts since the last time: to `take`, for each of these what goes there, which is something.
    pub(crate) fn collect_crossings(&mut self, take: impl FnMut(u32, &mut Crossings)) {
        self.ends.exits.collect(take);
    }

    /// Packets that have left another part are in flight to nodes of this one.
    pub(crate) fn enter(&mut self, crossings: &mut Crossings, queue: &mut EventQueue<Event>) {
        for Crossing { wire, arrival, header, packet } in crossings.far.drain(..) {
            let packet = packet.map_or(PacketRef::NONE, |packet| self.ends.packets.insert(packet));
            let (network, mut around) = self.driving(queue);
            network.fly(wire, arrival, header, packet, &mut around);
        }
        let (network, mut around) = self.driving(queue);
        for Arriving { wire, at, header, payload } in crossings.near.drain(..) {
            network.fly(wire, at, header, payload, &mut around);
        }
    }

    /// How many bodies of packets are kept here.
    pub(crate) fn packets(&self) -> usize {
        self.ends.packets.len()
    }

    /// Exchange the packets that are kept here for others, as parts do that share a store.
    pub(crate) fn exchange_packets(&mut self, packets: &mut Packets) {
        std::mem::swap(&mut self.ends.packets, packets);
    }

    /// A packet reaches the far end of a link.
    #[inline]
    fn deliver(&mut self, place: u32, queue: &mut EventQueue<Event>) {
        let (network, mut around) = self.driving(queue);
        if let Some((header, packet)) = network.deliver(place, &mut around) {
            self.arrive(header, packet, queue);
        }
    }

    /// Let the connection send whose data leaves its host's NIC, if that held it back. The link of a host never leads to another
    /// part, so the body is still here.
    #[inline(never)]
    fn release(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        if let Some(body) = self.ends.packets.data(packet)
            && let Some(place) = self.ends.hosts.on_departure(header.source, body)
        {
            self.pump(place, queue);
        }
    }

    /// A packet reaches its host's NIC.
    #[inline]
    fn arrive(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        if self.ends.hosts.nics_act_on_arrivals() {
            return self.meet_nic(header, packet, queue);
        }
        self.hand_up(Arrived::one(header, packet), queue);
    }

    /// The NIC may have it wait for others.
    #[inline(never)]
    fn meet_nic(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let host = header.destination;
        match self.nic(host).receive(queue.now(), header, packet) {
            Incoming::Up(arrived) => self.pass_nic(arrived, queue),
            Incoming::Queued { queue: number, taking } => {
                self.take_up(InboxAt { host, queue: number }, taking, queue);
            }
        }
    }

    #[inline(never)]
    fn interrupt(&mut self, at: InboxAt, queue: &mut EventQueue<Event>) {
        let taking = self.nic(at.host).on_interrupt(queue.now(), at.queue);
        self.take_up(at, taking, queue);
    }

    fn take_up(&mut self, at: InboxAt, taking: Taking, queue: &mut EventQueue<Event>) {
        match taking {
            Taking::Waits => {}
            Taking::Until(due) => self.schedule(due, Class::Interrupt, at.index(), queue),
            Taking::Now => self.empty_inbox(at, queue),
        }
    }

    fn nic(&mut self, host: HostId) -> &mut Nic {
        &mut self.ends.hosts.host(host).nic
    }

    /// A host takes up all that waits in a receive queue of its NIC.
    #[inline(never)]
    fn empty_inbox(&mut self, at: InboxAt, queue: &mut EventQueue<Event>) {
        let nic = &mut self.ends.hosts.host(at.host).nic;
        let taken = nic.take_up(queue.now(), at.queue, &mut self.ends.packets);
        for &arrived in &taken {
            self.pass_nic(arrived, queue);
        }
        self.nic(at.host).recycle(at.queue, taken);
    }

    /// It has waited, and the agent of the NIC looks at it.
    fn pass_nic(&mut self, arrived: Arrived, queue: &mut EventQueue<Event>) {
        let host = arrived.header.destination;
        self.nic(host).on_packet(queue.now(), arrived.bytes);
        self.hand_up(arrived, queue);
        self.serve_agent(host, queue);
    }

    /// Send what the agent of a NIC sends now, and see to its timer.
    fn serve_agent(&mut self, host: HostId, queue: &mut EventQueue<Event>) {
        while let Some((header, packet)) = self.nic(host).poll_agent(queue.now()) {
            let packet = self.ends.packets.insert(packet);
            self.send(header, packet, queue);
        }
        if let Some(deadline) = self.nic(host).rest_agent() {
            self.schedule(deadline, Class::Agent, host.0.into(), queue);
        }
    }

    #[inline(never)]
    fn agent_timer(&mut self, host: HostId, queue: &mut EventQueue<Event>) {
        if self.nic(host).on_agent_timer(queue.now()) {
            self.serve_agent(host, queue);
        }
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
        let packet = self.ends.packets.remove_data(packet);
        if packet.segment.carried_ack.is_some() {
            self.receive_carried(&header, &packet, queue);
        }
        match self.ends.hosts.on_data(queue.now(), &header, &packet, packets, &mut self.flows) {
            Reception::Stale => self.network.tally.packets_stale += u64::from(packets),
            Reception::Again(acks) => {
                for ack in acks {
                    let (header, packet) =
                        self.ends.hosts.acknowledge_again(&header, &packet, ack, &self.flows);
                    self.send_ack(header, packet, queue);
                }
            }
            Reception::At { slot, acks, complete } => {
                let place = Place { host: header.destination, slot };
                if let Some(flow) = complete {
                    self.flow_received(place, flow, queue);
                }
                for ack in acks {
                    self.acknowledge(place, ack, queue);
                }
                self.rest_receiver(place, queue);
            }
        }
    }

    #[inline(always)]
    fn receive_ack(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let packet = self.ends.packets.remove_ack(packet);
        let place = Place { host: header.destination, slot: packet.name.slot };
        let hearing = self.ends.hosts.on_ack(queue.now(), place, &packet);
        self.hear(place, hearing, queue);
    }

    /// Data arrives that carries an acknowledgement of the other direction of its connection.
    #[cold]
    fn receive_carried(&mut self, header: &Header, packet: &DataPacket, queue: &mut EventQueue<Event>) {
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
            self.send_data(header, packet, queue);
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
    fn acknowledge(&mut self, place: Place, ack: AckSegment, queue: &mut EventQueue<Event>) {
        let (header, packet) = self.ends.hosts.acknowledge(place, ack);
        self.send_ack(header, packet, queue);
    }

    /// A host sends data, or what opens or ends a connection.
    #[inline]
    fn send_data(&mut self, header: Header, packet: DataPacket, queue: &mut EventQueue<Event>) {
        self.network.tally.data_sent += u64::from(packet.segment.len > 0);
        let packet = self.ends.packets.insert_data(packet);
        self.send(header, packet, queue);
    }

    /// A host sends an acknowledgement.
    #[inline]
    fn send_ack(&mut self, header: Header, packet: AckPacket, queue: &mut EventQueue<Event>) {
        let packet = self.ends.packets.insert_ack(packet);
        self.send(header, packet, queue);
    }

    /// A host sends an echo request or a reply.
    fn send_echo(&mut self, header: Header, packet: ProbePacket, queue: &mut EventQueue<Event>) {
        let packet = self.ends.packets.insert_probe(packet);
        self.send(header, packet, queue);
    }

    /// A host sends a packet.
    #[inline]
    fn send(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        self.network.tally.packets_sent += 1;
        self.put_out(header, packet, queue);
    }

    /// A packet joins the port of its host.
    #[inline]
    fn put_out(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let (network, mut around) = self.driving(queue);
        let leaves = network.send(header.source, header, packet, &mut around);
        if leaves && self.ends.hosts.nics_act_on_departures() {
            self.release(header, packet, queue);
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
            self.send_ack(header, packet, queue);
        }
        self.rest_receiver(place, queue);
    }

    /// This flow will arrive at one of the hosts, or come to one.
    pub(crate) fn announce(&mut self, newcomer: Newcomer, queue: &mut EventQueue<Event>) {
        self.flows.know(newcomer.number, &newcomer.flow);
        let arrivals = &mut self.generators.arrivals;
        // An application's flow has already arrived at its sender.
        if self.ends.hosts.has(newcomer.flow.source) && !arrivals.traffic.has(newcomer.flow.workload.into()) {
            arrivals.announced.announce(newcomer, queue);
        }
    }

    /// A workload is to be asked, or its next flow arrives: it gets a connection, or waits for one.
    #[inline(never)]
    fn flow_arrival(&mut self, workload: usize, queue: &mut EventQueue<Event>) {
        let Some(newcomer) = self.generators.arrivals.next(workload, queue) else { return };
        let Newcomer { flow, number, trace } = newcomer;
        self.flows.know(number, &flow);
        let arrivals = &mut self.generators.arrivals;
        if !self.ends.hosts.has(flow.destination) && arrivals.traffic.has(workload) {
            arrivals.leaving.add(newcomer);
        }
        if let Some(trace) = trace {
            self.ends.observers.flows.expect(number, trace);
        }
        if let Some(place) = self.ends.hosts.connect(&flow, number, &self.flows) {
            self.start_flow(place, number, queue);
        }
    }

    fn start_flow(&mut self, place: Place, flow: u32, queue: &mut EventQueue<Event>) {
        let side = self.ends.hosts.start(place, flow, &mut self.flows, queue.now());
        side.traced = self.ends.observers.flow_begins(flow, place, side.flow_start);
        self.pump(place, queue);
    }

    /// See whether the run may end because every flow that will ever arrive has arrived here and is complete; then nothing more
    /// happens until [`Self::go_on_after_completion`].
    pub(crate) fn stop_if_complete(&mut self) -> bool {
        self.finished = self.is_complete();
        self.finished
    }

    /// From now on the run may not end because flows are complete.
    pub(crate) fn go_on_after_completion(&mut self) {
        self.finished = false;
        self.ends_on_completion = false;
    }

    fn is_complete(&self) -> bool {
        let traffic = &self.generators.arrivals.traffic;
        self.ends_on_completion && traffic.finite == self.network.tally.flows_completed && traffic.busy() == 0
    }

    /// The sender of a flow has every acknowledgement: the connection takes another one, or is free, or closes.
    #[inline(never)]
    fn flow_acked(&mut self, place: Place, flow: u32, queue: &mut EventQueue<Event>) {
        let next = self.ends.hosts.end(place, &mut self.flows, queue.now());
        self.network.tally.flows_completed += 1;
        self.generators.arrivals.traffic.on_acked(self.flows.at(flow), queue);
        self.finished = self.is_whole && self.is_complete();
        self.ends.observers.flows.on_end(flow);
        self.go_on(place, next, queue);
    }

    /// The receiver of a flow has all of it.
    #[inline(never)]
    fn flow_received(&mut self, place: Place, flow: u32, queue: &mut EventQueue<Event>) {
        self.generators.arrivals.traffic.on_received(self.flows.at(flow), queue);
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
            self.send(header, PacketRef::NONE, queue);
        }
        if let Some(next) = next {
            self.schedule(next, Class::Datagram, source.into(), queue);
        }
    }

    #[inline(never)]
    fn send_probe(&mut self, index: u32, queue: &mut EventQueue<Event>) {
        let Some((header, packet, next)) = self.generators.probes.ask(index, queue.now()) else { return };
        self.send_echo(header, packet, queue);
        self.schedule(next, Class::Probe, index.into(), queue);
    }

    #[inline(never)]
    fn receive_probe(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let packet = self.ends.packets.remove_probe(packet);
        if let Some((header, packet)) = self.generators.probes.answer(queue.now(), &header, &packet) {
            self.send_echo(header, packet, queue);
        }
    }

    #[inline(never)]
    fn sample_queues(&mut self, queue: &mut EventQueue<Event>) {
        self.network.tally.events_of_no_node += 1;
        self.visit_switches(queue.now(), queue);
        let next = self.network.sample(queue.now(), &mut self.ends.observers.queues);
        self.schedule(next, Class::Sample, 0, queue);
    }

    /// Read the ports of a trace that is taken at intervals.
    #[inline(never)]
    fn trace_ports(&mut self, index: u32, queue: &mut EventQueue<Event>) {
        self.network.tally.events_of_no_node += 1;
        self.visit_switches(queue.now(), queue);
        let (links, next) = self.ends.observers.ports.due(index, queue.now());
        self.network.trace(queue.now(), &links, &mut self.ends.observers.ports);
        self.schedule(next, Class::PortTrace, index.into(), queue);
    }

    /// Read the senders of a trace that is taken at intervals.
    #[inline(never)]
    fn trace_flows(&mut self, number: u32, queue: &mut EventQueue<Event>) {
        self.network.tally.events_of_no_node += 1;
        let next = self.ends.observers.sample_flows(number, queue.now(), &self.ends.hosts);
        self.schedule(next, Class::FlowTrace, number.into(), queue);
    }

    /// Before anything happens.
    fn start_network(&mut self, queue: &mut EventQueue<Event>) {
        let (network, mut around) = self.driving(queue);
        network.start(&mut around);
    }

    #[inline(never)]
    fn change(&mut self, epoch: u32, queue: &mut EventQueue<Event>) {
        self.network.tally.events_of_no_node += 1;
        self.visit_switches(queue.now(), queue);
        let (network, mut around) = self.driving(queue);
        network.change(epoch, &mut around);
    }

    /// Check the laws that hold at any moment between two events; returns how many packets are under way here.
    ///
    /// # Panics
    ///
    /// If the books do not balance, which is a defect of this program.
    pub(crate) fn audit(&self) -> u64 {
        self.network.audit() + self.ends.hosts.waiting() as u64
    }
}
