//! Queue pairs at their hosts: the NIC sends their packets in turns, and processes data and replies when they arrive. The host's processor
//! takes no part, so neither interrupts nor segmentation offload affect queue pairs.

use shallows_core::packet::{Ecn, Header, HostId, PacketKind};
use shallows_core::rdma::{RdmaReply, RdmaReplyKind};
use shallows_core::{Address, Bytes, Instant};
use shallows_measure::FlowRecord;
use shallows_rdma::{AETH, CNP_PAYLOAD, Responder};
use shallows_scenario::Flow;

use crate::hosts::connection::Place;
use crate::hosts::host::Found;
use crate::hosts::names::Name;
use crate::hosts::nic::limits::Limits;
use crate::hosts::packet::{Hops, PacketRef, RdmaPacket, ReplyPacket};
use crate::hosts::receiving::end_of_forgotten;
use crate::hosts::sending::{Hearing, hear};
use crate::hosts::timer::arm;
use crate::hosts::transports::Transport;
use crate::hosts::{Driver, HostEvent, Hosts, Timer};

impl Hosts {
    /// Sends the packets that a queue pair may send now, and schedules its timer. At most one packet of a queue pair waits in the NIC's
    /// queue. A NIC therefore serves its queue pairs in turns.
    #[inline(never)]
    pub(super) fn pump_queue_pair(&mut self, place: Place, driver: &mut impl Driver) {
        if self.sender(place).endpoint.read_requester().is_some() {
            return self.pump_requests(place, driver);
        }
        while self.sender(place).account.queued == Bytes(0) && self.admits(place, driver.now()) {
            let Some((header, packet)) = self.poll_queue_pair(place, driver.now()) else { break };
            driver.tally().data_sent += 1;
            let (_, transport) = self.sender_mut(place);
            let packet = if transport.queue_pair().congestion.uses_telemetry() {
                driver.packets().insert_told_data(packet)
            } else {
                driver.packets().insert_rdma_data(packet)
            };
            if self.queue(header, packet, driver) {
                // The loop polls the queue pair again, so the departure has no other effect.
                self.sender_mut(place).0.account.on_departure(header.size());
            }
        }
        self.rest_requester(place, driver);
        self.rest_limits(place.host, driver);
    }

    /// Schedules the timer of a requester that has sent its packets, and reports the requester's change if changes are recorded.
    pub(super) fn rest_requester(&mut self, place: Place, driver: &mut impl Driver) {
        let (side, _) = self.sender_mut(place);
        let deadline = side.endpoint.deadline();
        let deadline = arm(deadline, &mut side.timer_at);
        let traced = side.traced || side.endpoint.send_queue().is_some_and(|queue| queue.traced > 0);
        if let Some(deadline) = deadline {
            driver.timer_at(deadline, Timer::Sender(place));
        }
        if traced {
            self.tell_change(place, driver);
        }
    }

    /// Returns whether the limits of the NIC allow a packet of a queue pair now. Otherwise the queue pair waits for its turn.
    fn admits(&mut self, place: Place, now: Instant) -> bool {
        let limits = &mut self.host(place.host).nic.limits;
        limits.as_mut().is_none_or(|limits| limits.admits(now, place.slot))
    }

    /// Returns whether the NIC delays the message of a flow, so that the flow begins later.
    pub(super) fn delays(&mut self, place: Place, flow: u32, driver: &mut impl Driver) -> bool {
        let Some(limits) = &mut self.host(place.host).nic.limits else { return false };
        let is_delayed = limits.delays(driver.now(), place.slot, flow);
        self.rest_limits(place.host, driver);
        is_delayed
    }

    /// Schedules the next event of the limits of a NIC.
    fn rest_limits(&mut self, host: HostId, driver: &mut impl Driver) {
        let Some(limits) = &mut self.host(host).nic.limits else { return };
        if let Some(at) = limits.rest() {
            driver.timer_at(at, Timer::Turn(host));
        }
    }

    /// Handles an event of the limits of a NIC: begins messages whose delay is over, and lets queue pairs send in turns.
    #[inline(never)]
    pub(super) fn on_turn(&mut self, host: HostId, driver: &mut impl Driver) {
        let now = driver.now();
        if !self.limits(host).on_timer(now) {
            return;
        }
        while let Some((slot, flow)) = self.limits(host).take_posted(now) {
            self.post(Place { host, slot }, flow, driver);
        }
        while let Some(slot) = self.limits(host).begin_turn(now) {
            self.pump(Place { host, slot }, driver);
        }
        self.rest_limits(host, driver);
    }

    fn limits(&mut self, host: HostId) -> &mut Limits {
        self.host(host).nic.limits.as_mut().expect("events of limits belong to NICs with limits")
    }

    /// Lets a flow wait for a connection. If all queue pairs for which it waits have ended with an error, the flow will never start.
    #[cold]
    pub(super) fn wait(&mut self, flow: &Flow, number: u32, driver: &mut impl Driver) {
        let pool = self.host(flow.source).pools.get_mut(&(flow.workload, flow.destination));
        let pool = pool.expect("the flow has found its pool busy");
        if pool.is_dead() {
            self.abandon(number, driver);
        } else {
            pool.queue(number);
        }
    }

    /// Records that a flow will never start, because the queue pairs for which it waits have ended with an error.
    fn abandon(&mut self, flow: u32, driver: &mut impl Driver) {
        let FlowRecord { workload, source, destination, .. } = *self.flows.at(flow);
        let senders = self.transports.senders(workload, source, destination);
        self.closed_queue_pairs.entry(senders).or_default().abandoned += 1;
        driver.tally().flows_failed += 1;
        driver.on_event(HostEvent::Failed { flow });
    }

    /// Ends the flows that wait for the queue pairs of a pool if all these queue pairs have ended with an error.
    pub(super) fn abandon_waiting(&mut self, place: Place, driver: &mut impl Driver) {
        let side = self.sender(place);
        if !side.persistent {
            return;
        }
        let (key, place_in_pool) = ((side.workload, side.address.destination), side.place_in_pool);
        let pool = self.host(place.host).pools.get_mut(&key).expect("persistent connections are in a pool");
        for flow in pool.end(place_in_pool) {
            self.abandon(flow, driver);
        }
    }

    /// Returns the packet that a queue pair sends now, if any.
    fn poll_queue_pair(&mut self, place: Place, now: Instant) -> Option<(Header, RdmaPacket)> {
        let (side, transport) = self.sender_mut(place);
        let requester = side.endpoint.requester();
        let before = requester.stats().retransmits;
        let data = requester.poll_transmit(now)?;
        let retransmits = requester.stats().retransmits - before;
        let name = Name { slot: place.slot, generation: side.generation };
        let framing = side.frame(data.offset, retransmits);
        let packet = RdmaPacket { data, framing, name };
        let size = transport.header_bytes + packet.len();
        side.account.queued += Bytes(size.into());
        let header = side.address.forward(size, Ecn::Ect, PacketKind::Datagram);
        self.flows.on_transmit(&framing, data.offset, now);
        if let Some(limits) = &mut self.host(place.host).nic.limits {
            limits.on_send(now, Bytes(data.len.into()));
        }
        Some((header, packet))
    }

    /// Processes a packet of a queue pair at the NIC of its destination.
    #[inline(never)]
    pub(super) fn receive_of_queue_pair(
        &mut self,
        header: Header,
        packet: PacketRef,
        driver: &mut impl Driver,
    ) {
        let packets = driver.packets();
        if packets.rdma_data(packet).is_some() {
            let (packet, hops) = packets.remove_rdma_data(packet);
            if packet.is_response() {
                self.receive_response(&header, &packet, driver);
            } else {
                self.receive_rdma_data(&header, &packet, hops, driver);
            }
        } else if let Some(packet) = packets.remove_read_request(packet) {
            self.receive_read_request(&header, &packet, driver);
        } else {
            let (packet, hops) = packets.remove_rdma_reply(packet);
            if packet.reply.kind == RdmaReplyKind::ReadCnp {
                self.receive_read_cnp(&header, &packet, driver);
            } else {
                self.receive_rdma_reply(&header, &packet, &hops, driver);
            }
        }
    }

    /// Processes data of a queue pair. `hops` is the telemetry of the data packet, if switches add any.
    fn receive_rdma_data(
        &mut self,
        header: &Header,
        packet: &RdmaPacket,
        hops: Option<Hops>,
        driver: &mut impl Driver,
    ) {
        let now = driver.now();
        let slot = match self.host(header.destination()).find(header, packet.name) {
            Found::Slot(slot) => slot,
            Found::Stale => {
                driver.tally().packets_stale += 1;
                return;
            }
            Found::Nothing => match end_of_forgotten(&packet.framing, &self.flows) {
                Some(end) => return self.acknowledge_forgotten(header, packet, end, driver),
                None => self.admit_queue_pair(header, packet),
            },
        };
        let place = Place { host: header.destination(), slot };
        let host = &mut self.hosts[self.places.at(header.destination().0)];
        let side = &mut host.receivers[slot as usize];
        side.listen_to_messages(&packet.framing, &self.flows, now);
        side.address.class = header.class();
        let responder = side.receiver.responder();
        let config = self.transports.at(side.transport).queue_pair();
        let replies = responder.on_data(config, now, &packet.data, header.ecn() == Ecn::Ce);
        self.deliver_messages(place, driver);
        for reply in replies.into_iter().flatten() {
            self.send_rdma_reply(place, reply, hops, driver);
        }
        self.rest_receiver(place, driver);
    }

    /// Returns the number of the transport of the queue pair to which arriving data belongs.
    fn transport_of(&self, header: &Header, packet: &RdmaPacket) -> u16 {
        let workload = packet.framing.workload(&self.flows);
        let [_, transport] = self.transports.between(workload, header.source(), header.destination());
        transport
    }

    /// Creates the responder of a new queue pair; returns its slot.
    fn admit_queue_pair(&mut self, header: &Header, packet: &RdmaPacket) -> u32 {
        let transport = self.transport_of(header, packet);
        let host = &mut self.hosts[self.places.at(header.destination().0)];
        host.admit(self.transports.at(transport), transport, header, packet.name)
    }

    /// Acknowledges data that arrives after the responder of its queue pair was removed. All data up to the sequence number `end` had
    /// arrived before.
    fn acknowledge_forgotten(
        &mut self,
        header: &Header,
        packet: &RdmaPacket,
        end: u64,
        driver: &mut impl Driver,
    ) {
        let transport = self.transports.at(self.transport_of(header, packet));
        let config = transport.queue_pair();
        // The queue pair carried one message.
        let mut responder = Responder::resuming(config, end.div_ceil(config.mtu.0), end);
        let replies = responder.on_data(config, driver.now(), &packet.data, header.ecn() == Ecn::Ce);
        let address = Address::of_data(header);
        let replies = replies.map(|reply| Some(reply_packet(address, packet.name, transport, reply?)));
        for (header, packet) in replies.into_iter().flatten() {
            self.put(header, packet, None, driver);
        }
    }

    /// Sends a reply from a responder.
    pub(super) fn send_rdma_reply(
        &mut self,
        place: Place,
        reply: RdmaReply,
        hops: Option<Hops>,
        driver: &mut impl Driver,
    ) {
        let (side, transport) = self.receiver_mut(place);
        let (header, packet) = reply_packet(side.address, side.name, transport, reply);
        self.put(header, packet, hops, driver);
    }

    fn put(&mut self, header: Header, packet: ReplyPacket, hops: Option<Hops>, driver: &mut impl Driver) {
        let packet = match hops {
            Some(hops) => driver.packets().insert_told_reply(packet, hops),
            None => driver.packets().insert_rdma_reply(packet),
        };
        self.send(header, packet, driver);
    }

    fn receive_rdma_reply(
        &mut self,
        header: &Header,
        packet: &ReplyPacket,
        hops: &Hops,
        driver: &mut impl Driver,
    ) {
        let now = driver.now();
        let place = Place { host: header.destination(), slot: packet.name.slot };
        let (side, _) = self.sender_mut(place);
        let (hearing, ends) = if side.generation == packet.name.generation {
            if let Some(requester) = side.endpoint.read_requester_mut() {
                requester.on_nak(packet.reply.psn);
                return self.pump_requests(place, driver);
            }
            let requester = side.endpoint.requester();
            let (before, had_ended) = (requester.acked(), requester.ended().is_some());
            requester.on_reply(now, &packet.reply, hops.entries());
            let (acked, ends) = (requester.acked(), requester.ended().is_some() && !had_ended);
            (hear(side, before, acked, now), ends)
        } else {
            (Hearing::Stale, false)
        };
        match hearing {
            Hearing::Stale => driver.tally().packets_stale += 1,
            Hearing::Open if ends => {}
            Hearing::Open => self.pump_queue_pair(place, driver),
            Hearing::Complete(flow) => self.complete_messages(place, flow, driver),
        }
        if ends {
            self.flush(place, driver);
        }
    }

    /// Handles the timer of a responder.
    pub(super) fn on_responder_timer(&mut self, place: Place, driver: &mut impl Driver) {
        if self.receiver_mut(place).0.receiver.reads().is_some() {
            return self.on_read_timer(place, driver);
        }
        if let Some(reply) = self.overdue_reply(place, driver.now()) {
            self.send_rdma_reply(place, reply, None, driver);
        }
    }

    /// Returns the reply that a responder sends when its timer expires.
    fn overdue_reply(&mut self, place: Place, now: Instant) -> Option<RdmaReply> {
        let (side, transport) = self.receiver_mut(place);
        if side.take_timer(now) {
            side.receiver.responder().on_timer(transport.queue_pair(), now)
        } else {
            None
        }
    }
}

/// Returns the header and the body of a reply.
fn reply_packet(
    address: Address,
    name: Name,
    transport: &Transport,
    reply: RdmaReply,
) -> (Header, ReplyPacket) {
    let (extended, class) = match reply.kind {
        RdmaReplyKind::Cnp | RdmaReplyKind::ReadCnp => (CNP_PAYLOAD, transport.cnp_class),
        _ => (AETH, transport.ack_class),
    };
    let size = transport.header_bytes + extended.0 as u16;
    // Replies are ECN-capable, because switches drop packets that they cannot mark.
    let header = address.backward(size, Ecn::Ect).with_kind(PacketKind::Datagram);
    let header = header.with_class(class.unwrap_or(address.class));
    (header, ReplyPacket { reply, name })
}
