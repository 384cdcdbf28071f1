//! The simulated network: links, switches, hosts, connections, and how events change them.
//!
//! A packet walks through this file top-down: a connection sends it ([`World::pump`]), its host's port and each
//! switch's take it ([`World::enqueue`]), each link delivers it ([`World::deliver`]) to the next switch
//! ([`World::forward`]) or to a host ([`World::arrive`]).

use shallows_core::event::EventQueue;
use shallows_core::packet::{Flags, Header, PacketKind, Segment};
use shallows_core::{Bytes, Instant};
use shallows_scenario::Routes;
use shallows_switch::buffer::SharedBuffer;
use shallows_switch::port::{Arrival, Departure};
use shallows_switch::routing::Ecmp;
use shallows_transport::receive_window::ictcp::Ictcp;
use shallows_transport::{Config, Marks, SmallQueue, Transmit};

use crate::capture::Captures;
use crate::connection::Connections;
use crate::datagram::Datagrams;
use crate::event::{Class, Event, Ranks};
use crate::flow_tracer::FlowTracer;
use crate::link::{InFlight, Link, Target};
use crate::packet::{Packet, PacketRef, Packets};
use crate::probe::Probes;
use crate::sampler::Sampler;
use crate::tracer::Tracer;
use crate::traffic::Traffic;

/// Everything that changes state when an event fires.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) links: Vec<Link>,
    pub(crate) in_flight: InFlight,
    /// By node: hosts first, then switches.
    pub(crate) buffers: Vec<SharedBuffer>,
    pub(crate) switches: Vec<Switch>,
    /// By host: the link of its port.
    pub(crate) nics: Vec<u32>,
    pub(crate) packets: Packets,
    pub(crate) connections: Connections,
    pub(crate) traffic: Traffic,
    pub(crate) datagrams: Datagrams,
    pub(crate) probes: Probes,
    pub(crate) tracer: Tracer,
    pub(crate) flow_tracer: FlowTracer,
    pub(crate) captures: Captures,
    pub(crate) sampler: Sampler,
    pub(crate) tcp: Config,
    /// The class of service of acknowledgements, if it is not that of their data.
    pub(crate) ack_class: Option<u8>,
    /// What holds connections back whose data waits in their host, if something does.
    pub(crate) backpressure: Option<SmallQueue>,
    /// By host, where something controls the windows of receivers; else none at all.
    pub(crate) ictcp: Vec<Ictcp>,
    /// Bytes of IP and TCP headers without SACK blocks, and of framing, on every TCP packet.
    pub(crate) header_bytes: u16,
    pub(crate) ranks: Ranks,
    pub(crate) tally: Tally,
    /// By link: segments with data that its port dropped.
    pub(crate) data_dropped: Vec<u64>,
    /// Whether every flow is complete and the run may end with that.
    pub(crate) finished: bool,
    pub(crate) ends_on_completion: bool,
    /// Payloads that a port dropped, awaiting reclaim; kept to spare an allocation.
    pub(crate) dropped: Vec<PacketRef>,
}

/// What a switch needs to choose a next hop.
#[derive(Debug)]
pub(crate) struct Switch {
    pub(crate) routes: Routes,
    pub(crate) ecmp: Ecmp,
}

/// Counts of the whole network.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Packets put on links.
    pub(crate) packet_hops: u64,
    /// Packets created at hosts.
    pub(crate) packets_sent: u64,
    /// Packets that reached their host.
    pub(crate) packets_arrived: u64,
    /// Packets dropped anywhere.
    pub(crate) packets_dropped: u64,
    /// Packets that arrived for a connection that had closed.
    pub(crate) packets_stale: u64,
    /// TCP segments with data among those sent.
    pub(crate) data_sent: u64,
}

impl shallows_core::event::World for World {
    type Event = Event;

    #[inline]
    fn handle(&mut self, event: Event, queue: &mut EventQueue<Event>) {
        let (class, index) = event.parts(self.ranks);
        match class {
            Class::Transmit => self.transmit(index, queue),
            Class::Deliver => self.deliver(index, queue),
            Class::SenderTimer => self.sender_timer(index, queue),
            Class::ReceiverTimer => self.receiver_timer(index, queue),
            Class::WarmUp => self.warm_up(queue),
            Class::Arrival => self.flow_arrival(index, queue),
            Class::Datagram => self.send_datagram(index, queue),
            Class::Probe => self.send_probe(index, queue),
            Class::Sample => self.sample(queue),
            Class::Trace => self.trace(index, queue),
            Class::FlowTrace => self.trace_flows(index, queue),
        }
    }

    fn is_finished(&self) -> bool {
        self.finished
    }
}

impl World {
    pub(crate) fn schedule(&self, at: Instant, class: Class, index: u32, queue: &mut EventQueue<Event>) {
        queue.schedule(at, Event::new(class, index, self.ranks));
    }

    /// The port of `link` is free: send what waits there.
    #[inline]
    fn transmit(&mut self, index: u32, queue: &mut EventQueue<Event>) {
        let link = &mut self.links[index as usize];
        let buffer = &mut self.buffers[link.node as usize];
        let departure = link.port.transmit_next(queue.now(), buffer, &mut self.dropped);
        link.waking = link.port.has_backlog();
        if link.waking {
            queue.schedule(link.port.busy_until(), Event::new(Class::Transmit, index, self.ranks));
        }
        if let Some(departure) = departure {
            self.tally.packet_hops += 1;
            if let Some(arrival) = link.launch(departure, &mut self.in_flight) {
                queue.schedule(arrival, Event::new(Class::Deliver, index, self.ranks));
            }
        }
        if link.watch.is_on() {
            self.tell(index, departure, queue);
        }
        if !self.dropped.is_empty() {
            self.reclaim(index);
        }
    }

    /// The first packet in flight on `link` arrives.
    #[inline]
    fn deliver(&mut self, index: u32, queue: &mut EventQueue<Event>) {
        let link = &mut self.links[index as usize];
        let (header, packet, next) = link.land(&mut self.in_flight);
        if let Some(next) = next {
            queue.schedule(next, Event::new(Class::Deliver, index, self.ranks));
        }
        match link.target {
            Target::Switch(node) => self.forward(node, header, packet, queue),
            Target::Host => self.arrive(header, packet, queue),
        }
    }

    /// A switch passes a packet on to one of its ports.
    #[inline]
    fn forward(&mut self, node: u32, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let switch = &self.switches[node as usize - self.nics.len()];
        let link = switch.ecmp.select(&header, switch.routes.next_hops(header.destination));
        self.enqueue(link, header, packet, queue);
    }

    /// A packet joins the port of `link`.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        index: u32,
        header: Header,
        packet: PacketRef,
        queue: &mut EventQueue<Event>,
    ) {
        let link = &mut self.links[index as usize];
        let buffer = &mut self.buffers[link.node as usize];
        let arrival = link.port.receive(queue.now(), header, packet, buffer, &mut self.dropped);
        match arrival {
            Arrival::Sent(departure) => {
                self.tally.packet_hops += 1;
                if let Some(arrival) = link.launch(departure, &mut self.in_flight) {
                    queue.schedule(arrival, Event::new(Class::Deliver, index, self.ranks));
                }
            }
            Arrival::Queued => {
                if !link.waking {
                    link.waking = true;
                    queue.schedule(link.port.busy_until(), Event::new(Class::Transmit, index, self.ranks));
                }
            }
            Arrival::Dropped => {}
        }
        if link.watch.is_on() {
            let departure = if let Arrival::Sent(departure) = arrival { Some(departure) } else { None };
            self.tell(index, departure, queue);
        }
        if !self.dropped.is_empty() {
            self.reclaim(index);
        }
    }

    /// Tell whoever watches the port of `link` that it has changed, and what it sends from now on.
    #[inline(never)]
    fn tell(&mut self, index: u32, departure: Option<Departure<PacketRef>>, queue: &mut EventQueue<Event>) {
        let now = queue.now();
        let link = &mut self.links[index as usize];
        let watch = link.watch;
        if watch.traced {
            self.tracer.record(now, index, link, &self.buffers[link.node as usize]);
        }
        let Some(Departure { header, payload, .. }) = departure else { return };
        if watch.captured {
            self.captures.record(now, index, &header, self.packets.get(payload));
        }
        if watch.holds_back && header.kind() == PacketKind::Data {
            self.leave_card(payload, queue);
        }
    }

    /// Data that waited in its host's card has left: its connection goes on if the card held it back.
    #[inline]
    fn leave_card(&mut self, packet: PacketRef, queue: &mut EventQueue<Event>) {
        if let Some(slot) = self.settle_with_card(packet)
            && self.connections.senders[slot as usize].sender.is_held()
        {
            self.pump(slot, queue);
        }
    }

    /// Data no longer waits in its host's card; returns its connection, if that is still open.
    #[inline]
    fn settle_with_card(&mut self, packet: PacketRef) -> Option<u32> {
        let &Packet { segment, connection, generation } = self.packets.get(packet)?;
        if segment.len == 0 {
            return None; // no data: what it names may be no connection but a probe
        }
        let side = &mut self.connections.senders[connection as usize];
        if side.generation != generation {
            return None;
        }
        side.queued -= Bytes(u64::from(self.header_bytes + segment.len));
        Some(connection)
    }

    /// A packet reaches its host.
    #[inline]
    fn arrive(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        self.tally.packets_arrived += 1;
        if !self.ictcp.is_empty() {
            self.ictcp[header.destination.0 as usize].on_packet(queue.now(), header.size());
        }
        match header.kind() {
            PacketKind::Data => self.receive_data(header, packet, queue),
            PacketKind::PureAck => self.receive_ack(packet, queue),
            PacketKind::Datagram => self.datagrams.receive(&header),
            PacketKind::Probe => self.receive_probe(header, packet, queue),
        }
    }

    #[inline]
    fn receive_data(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let packet = self.packets.remove(packet);
        let side = &mut self.connections.receivers[packet.connection as usize];
        if side.generation != packet.generation {
            self.tally.packets_stale += 1;
            return;
        }
        if packet.segment.len > 0 {
            side.gap.end(queue.now());
            if let Some(card) = self.ictcp.get_mut(header.destination.0 as usize) {
                let (bytes, echo) = (Bytes(u64::from(packet.segment.len)), packet.segment.echo());
                side.receiver.resize_window(card.on_data(queue.now(), packet.connection, bytes, echo));
            }
        }
        let acks = side.receiver.on_data(&self.tcp, queue.now(), &packet.segment, Marks::of(&header));
        if side.flow.is_some() && side.receiver.received() >= side.flow_end {
            self.flow_received(packet.connection, queue);
        }
        for ack in acks {
            self.send_ack(packet.connection, ack, queue);
        }
        self.arm_receiver(packet.connection, queue);
    }

    #[inline]
    fn receive_ack(&mut self, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let packet = self.packets.remove(packet);
        let slot = packet.connection;
        let side = &mut self.connections.senders[slot as usize];
        if side.generation != packet.generation {
            self.tally.packets_stale += 1;
            return;
        }
        let before = side.sender.acked();
        side.sender.on_ack(&self.tcp, queue.now(), &packet.segment);
        if side.sender.acked() > before {
            side.gap.end(queue.now());
        }
        if side.flow.is_some() && side.sender.acked() >= side.flow_end {
            return self.flow_acked(slot, queue);
        }
        self.pump(slot, queue);
    }

    /// Send whatever a connection may send now, and see to its timer.
    #[inline]
    pub(crate) fn pump(&mut self, slot: u32, queue: &mut EventQueue<Event>) {
        let mut held = self.is_held_back(slot);
        while !held
            && let Some(transmit) =
                self.connections.senders[slot as usize].sender.poll_transmit(&self.tcp, queue.now())
        {
            self.send_segment(slot, transmit, queue);
            held = self.is_held_back(slot);
        }
        if self.backpressure.is_some() {
            self.connections.senders[slot as usize].sender.hold(&self.tcp, held);
        }
        self.arm_sender(slot, queue);
        let side = &self.connections.senders[slot as usize];
        if side.traced
            && let Some(flow) = side.flow
        {
            self.flow_tracer.record(queue.now(), flow, &side.sender);
        }
    }

    /// Whether too much of a connection waits in its host's card.
    #[inline]
    fn is_held_back(&self, slot: u32) -> bool {
        let side = &self.connections.senders[slot as usize];
        self.backpressure.as_ref().is_some_and(|queue| queue.is_full(&side.sender, side.queued))
    }

    #[inline]
    fn send_segment(&mut self, slot: u32, transmit: Transmit, queue: &mut EventQueue<Event>) {
        let Transmit { segment, ecn, .. } = transmit;
        let side = &mut self.connections.senders[slot as usize];
        let header = side.address.forward(self.header_bytes + segment.len, ecn, PacketKind::Data);
        if self.backpressure.is_some() && segment.len > 0 {
            side.queued += header.size();
        }
        let packet = Packet { segment, connection: slot, generation: side.generation };
        self.send(header, packet, queue);
    }

    #[inline]
    fn send_ack(&mut self, slot: u32, segment: Segment, queue: &mut EventQueue<Event>) {
        debug_assert!(segment.flags.contains(Flags::ACK));
        let side = &self.connections.receivers[slot as usize];
        let packet = Packet { segment, connection: slot, generation: side.generation };
        let wire_size = self.header_bytes + sack_option_bytes(segment.sack_count);
        let address = &self.connections.senders[slot as usize].address;
        let header = address
            .backward(wire_size, self.tcp.ack_ecn())
            .with_class(self.ack_class.unwrap_or(address.class));
        self.send(header, packet, queue);
    }

    #[inline]
    pub(crate) fn send(&mut self, header: Header, packet: Packet, queue: &mut EventQueue<Event>) {
        self.tally.packets_sent += 1;
        self.tally.data_sent += u64::from(packet.segment.len > 0);
        let packet = self.packets.insert(packet);
        self.enqueue(self.nics[header.source.0 as usize], header, packet, queue);
    }

    /// See that an event is pending no later than the sender's deadline. A later deadline waits for the event.
    #[inline]
    fn arm_sender(&mut self, slot: u32, queue: &mut EventQueue<Event>) {
        let side = &mut self.connections.senders[slot as usize];
        if let Some(deadline) = side.sender.deadline()
            && deadline < side.timer_at
        {
            side.timer_at = deadline;
            queue.schedule(deadline, Event::new(Class::SenderTimer, slot, self.ranks));
        }
    }

    #[inline]
    fn arm_receiver(&mut self, slot: u32, queue: &mut EventQueue<Event>) {
        let side = &mut self.connections.receivers[slot as usize];
        if let Some(deadline) = side.receiver.deadline()
            && deadline < side.timer_at
        {
            side.timer_at = deadline;
            queue.schedule(deadline, Event::new(Class::ReceiverTimer, slot, self.ranks));
        }
    }

    #[inline(never)]
    fn sender_timer(&mut self, slot: u32, queue: &mut EventQueue<Event>) {
        let side = &mut self.connections.senders[slot as usize];
        if side.timer_at != queue.now() {
            return; // overtaken by an earlier one
        }
        side.timer_at = Instant::MAX;
        if side.sender.deadline().is_some_and(|deadline| deadline <= queue.now()) {
            side.sender.on_timer(&self.tcp, queue.now());
            self.pump(slot, queue);
        } else {
            self.arm_sender(slot, queue);
        }
    }

    #[inline(never)]
    fn receiver_timer(&mut self, slot: u32, queue: &mut EventQueue<Event>) {
        let side = &mut self.connections.receivers[slot as usize];
        if side.timer_at != queue.now() {
            return; // overtaken by an earlier one
        }
        side.timer_at = Instant::MAX;
        if side.receiver.deadline().is_some_and(|deadline| deadline <= queue.now())
            && let Some(ack) = side.receiver.on_timer(&self.tcp, queue.now())
        {
            self.send_ack(slot, ack, queue);
        }
        self.arm_receiver(slot, queue);
    }

    #[inline(never)]
    fn send_datagram(&mut self, source: u32, queue: &mut EventQueue<Event>) {
        let (header, next) = self.datagrams.send(source, queue.now());
        if let Some(header) = header {
            self.tally.packets_sent += 1;
            self.enqueue(self.nics[header.source.0 as usize], header, PacketRef::NONE, queue);
        }
        if let Some(next) = next {
            self.schedule(next, Class::Datagram, source, queue);
        }
    }

    #[inline(never)]
    fn sample(&mut self, queue: &mut EventQueue<Event>) {
        let next = self.sampler.sample(queue.now(), &self.links, &self.buffers);
        self.schedule(next, Class::Sample, 0, queue);
    }

    /// Read the ports of a trace that is taken at intervals.
    #[inline(never)]
    fn trace(&mut self, index: u32, queue: &mut EventQueue<Event>) {
        let next = self.tracer.sample(index, queue.now(), &mut self.links, &self.buffers);
        self.schedule(next, Class::Trace, index, queue);
    }

    /// Forget what the port of `link` has dropped.
    #[cold]
    fn reclaim(&mut self, index: u32) {
        self.tally.packets_dropped += self.dropped.len() as u64;
        let holds_back = self.links[index as usize].watch.holds_back;
        let mut dropped = std::mem::take(&mut self.dropped);
        for packet in dropped.drain(..) {
            if holds_back {
                // Its connection is not woken: what it has lost is for its acknowledgements and its timer.
                self.settle_with_card(packet);
            }
            self.data_dropped[index as usize] += u64::from(self.packets.discard(packet));
        }
        self.dropped = dropped;
    }

    /// Check the laws that hold at any moment between two events.
    ///
    /// # Panics
    ///
    /// If the books do not balance, which is a defect of this program.
    pub(crate) fn audit(&self) {
        for buffer in &self.buffers {
            buffer.audit();
        }
        let mut under_way = self.in_flight.len() as u64;
        for link in &self.links {
            link.port.audit(&self.buffers[link.node as usize]);
            let counters = link.port.counters();
            under_way += counters.enqueued() - counters.dequeued();
        }
        let tally = &self.tally;
        assert_eq!(
            tally.packets_sent,
            tally.packets_arrived + tally.packets_dropped + under_way,
            "sent = arrived + dropped + under way"
        );
        assert!(self.packets.len() as u64 <= under_way, "no packet is kept that is not under way");
    }
}

/// Bytes that SACK blocks add to a TCP header (RFC 2018 §3: two plus eight for each, padded to words).
fn sack_option_bytes(blocks: u8) -> u16 {
    if blocks == 0 { 0 } else { 4 + 8 * u16::from(blocks) }
}
