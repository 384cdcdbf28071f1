//! Queue pairs with READs at their hosts. The host that opens the connection requests data, and the other host, the receiving side of the
//! connection, sends it.
//!
//! Requests and CNPs leave at once. At most one response of a queue pair waits in the NIC's queue. The same limit applies to the packets of
//! WRITEs and SENDs.

use shallows_core::Bytes;
use shallows_core::Instant;
use shallows_core::packet::{Ecn, Header, PacketKind};
use shallows_measure::Received;
use shallows_rdma::{CNP_PAYLOAD, RETH};

use crate::hosts::connection::Place;
use crate::hosts::endpoint::ControlState;
use crate::hosts::host::Found;
use crate::hosts::names::Name;
use crate::hosts::packet::{FlowFraming, Framing, PacketRef, RdmaPacket, ReadRequestPacket, ReplyPacket};
use crate::hosts::sending::{Hearing, hear};
use crate::hosts::{Driver, HostEvent, Hosts};

impl Hosts {
    /// Sends the requests and CNPs that a requester may send now, and schedules its timer.
    #[inline(never)]
    pub(super) fn pump_requests(&mut self, place: Place, driver: &mut impl Driver) {
        while let Some((header, packet)) = self.poll_read_cnp(place, driver.now()) {
            let packet = driver.packets().insert_rdma_reply(packet);
            self.send(header, packet, driver);
        }
        while let Some((header, packet)) = self.poll_request(place, driver.now()) {
            let packet = driver.packets().insert_read_request(packet);
            self.send(header, packet, driver);
        }
        self.rest_requester(place, driver);
    }

    fn poll_read_cnp(&mut self, place: Place, now: Instant) -> Option<(Header, ReplyPacket)> {
        let (side, transport) = self.sender_mut(place);
        let reply = side.endpoint.read_requester_mut()?.poll_cnp(now)?;
        let name = Name { slot: place.slot, generation: side.generation };
        let size = transport.header_bytes + CNP_PAYLOAD.0 as u16;
        let class = transport.cnp_class.unwrap_or(side.address.class);
        let header = side.address.forward(size, Ecn::Ect, PacketKind::Datagram).with_class(class);
        Some((header, ReplyPacket { reply, name }))
    }

    fn poll_request(&mut self, place: Place, now: Instant) -> Option<(Header, ReadRequestPacket)> {
        let (side, transport) = self.sender_mut(place);
        let before = side.endpoint.repairs().retransmits;
        let request = side.endpoint.read_requester_mut()?.poll_transmit(now)?;
        let name = Name { slot: place.slot, generation: side.generation };
        let framing = side.frame(request.offset, side.endpoint.repairs().retransmits - before);
        let size = transport.header_bytes + RETH.0 as u16;
        let header = side.address.forward(size, Ecn::Ect, PacketKind::Datagram);
        self.flows.on_transmit(&framing, request.offset, now);
        Some((header, ReadRequestPacket { request, framing, name }))
    }

    /// Processes a request at the responder. The first request creates the responder. The responder stays until another connection uses the
    /// requester's slot, because only the requester detects that all responses have arrived, and sends no notice.
    pub(super) fn receive_read_request(
        &mut self,
        header: &Header,
        packet: &ReadRequestPacket,
        driver: &mut impl Driver,
    ) {
        let slot = match self.host(header.destination()).find(header, packet.name) {
            Found::Slot(slot) => slot,
            Found::Stale => {
                driver.tally().packets_stale += 1;
                return;
            }
            Found::Nothing => self.admit_read_responder(header, packet),
        };
        let place = Place { host: header.destination(), slot };
        let asked = match packet.framing {
            Framing::Flow(FlowFraming { flow, start, .. }) => {
                let size = self.flows.at(flow.get()).size;
                Some((flow.get(), start..size.map_or(u64::MAX, |size| start + size.0)))
            }
            Framing::BeforeFlows { .. } => None,
        };
        let (side, transport) = self.receiver_mut(place);
        side.address.class = header.class();
        let reads = side.receiver.reads_mut();
        reads.framing = packet.framing;
        let nak = reads.responder.on_request(transport.queue_pair(), driver.now(), &packet.request);
        if let Some((flow, bytes)) = asked {
            reads.ask(flow, bytes, || driver.traces_responder(flow, place));
        }
        if let Some(nak) = nak {
            self.send_rdma_reply(place, nak, None, driver);
        }
        self.pump_responses(place, driver);
    }

    /// Creates the responder of a new queue pair; returns its slot.
    fn admit_read_responder(&mut self, header: &Header, packet: &ReadRequestPacket) -> u32 {
        let workload = packet.framing.workload(&self.flows);
        let [_, transport] = self.transports.between(workload, header.source(), header.destination());
        let host = self.places.at(header.destination().0);
        let predecessor = self.hosts[host].predecessor(header, packet.name);
        self.keep_counts(predecessor.and_then(|side| self.counts_of_responder(side)));
        self.hosts[host].admit(self.transports.at(transport), transport, header, packet.name)
    }

    /// Sends the responses that a responder may send now, and schedules its timer.
    fn pump_responses(&mut self, place: Place, driver: &mut impl Driver) {
        while let Some((header, packet)) = self.poll_response(place, driver.now()) {
            driver.tally().data_sent += 1;
            let packet = driver.packets().insert_rdma_data(packet);
            self.send(header, packet, driver);
        }
        self.tell_responder(place, driver);
        self.rest_receiver(place, driver);
    }

    /// Reports the state of a responder for each traced READ, and forgets READs to which all responses have been sent.
    fn tell_responder(&mut self, place: Place, driver: &mut impl Driver) {
        let (side, transport) = self.receiver_mut(place);
        let reads = side.receiver.reads_mut();
        for asked in reads.asked.iter().filter(|asked| asked.traced) {
            let control = reads.control(transport.queue_pair());
            driver.on_event(HostEvent::ResponderChanged { flow: asked.flow, control });
        }
        reads.forget_answered();
    }

    /// Returns the state of the congestion control at the responder of a flow's READ; `None` if the receiving side in this place has no
    /// more responses to send to this READ.
    pub(crate) fn responding(&self, place: Place, flow: u32) -> Option<ControlState> {
        let side = &self.hosts[self.places.at(place.host.0)].receivers[place.slot as usize];
        let reads = side.receiver.reads()?;
        let is_asked =
            reads.asked.iter().any(|asked| asked.flow == flow && reads.responder.owes(&asked.bytes));
        is_asked.then(|| reads.control(self.transports.at(side.transport).queue_pair()))
    }

    fn poll_response(&mut self, place: Place, now: Instant) -> Option<(Header, RdmaPacket)> {
        let (side, transport) = self.receiver_mut(place);
        let reads = side.receiver.reads_mut();
        if reads.is_queued {
            return None;
        }
        let data = reads.responder.poll_transmit(transport.queue_pair(), now)?;
        reads.is_queued = true;
        let packet = RdmaPacket { data, framing: reads.framing, name: side.name };
        let size = transport.header_bytes + packet.len();
        let header = side.address.backward(size, Ecn::Ect).with_kind(PacketKind::Datagram);
        Some((header, packet))
    }

    /// Lets a responder continue after its response has left the NIC. Does nothing if the packet is not a response.
    #[cold]
    pub(super) fn on_departure_of_response(
        &mut self,
        header: Header,
        packet: PacketRef,
        driver: &mut impl Driver,
    ) {
        let Some(packet) = driver.packets().rdma_data(packet).filter(|packet| packet.is_response()) else {
            return;
        };
        // The requester, to which the response travels, has opened the connection.
        let found = self.host(header.source()).find_of(header.destination(), packet.name);
        let Found::Slot(slot) = found else { return };
        let place = Place { host: header.source(), slot };
        self.receiver_mut(place).0.receiver.reads_mut().is_queued = false;
        self.pump_responses(place, driver);
    }

    /// Processes a CNP at the responder.
    pub(super) fn receive_read_cnp(
        &mut self,
        header: &Header,
        packet: &ReplyPacket,
        driver: &mut impl Driver,
    ) {
        let Found::Slot(slot) = self.host(header.destination()).find(header, packet.name) else {
            driver.tally().packets_stale += 1;
            return;
        };
        let place = Place { host: header.destination(), slot };
        let (side, transport) = self.receiver_mut(place);
        side.receiver.reads_mut().responder.on_cnp(transport.queue_pair(), driver.now());
        self.pump_responses(place, driver);
    }

    /// Handles the timer of a responder.
    pub(super) fn on_read_timer(&mut self, place: Place, driver: &mut impl Driver) {
        let (side, transport) = self.receiver_mut(place);
        if side.take_timer(driver.now()) {
            side.receiver.reads_mut().responder.on_timer(transport.queue_pair(), driver.now());
            self.pump_responses(place, driver);
        }
    }

    /// Processes a response at the requester.
    pub(super) fn receive_response(
        &mut self,
        header: &Header,
        packet: &RdmaPacket,
        driver: &mut impl Driver,
    ) {
        let now = driver.now();
        let place = Place { host: header.destination(), slot: packet.name.slot };
        let (side, _) = self.sender_mut(place);
        if side.generation != packet.name.generation {
            driver.tally().packets_stale += 1;
            return;
        }
        let requester = side.endpoint.read_requester_mut().expect("responses reach queue pairs with READs");
        let before = requester.received();
        requester.on_response(now, &packet.data, header.ecn() == Ecn::Ce);
        let received = requester.received();
        let hearing = hear(side, before, received, now);
        self.pump_requests(place, driver);
        if let Hearing::Complete(flow) = hearing {
            self.complete_messages(place, flow, driver);
        }
    }

    /// Records a flow whose last byte has arrived at its requester.
    pub(super) fn complete_read(&mut self, place: Place, flow: u32, driver: &mut impl Driver) {
        let side = self.sender(place);
        let received = Received {
            at: Some(driver.now()),
            delivered: Bytes(side.flow_end - side.flow_start),
            timeouts_felt: side.repairs().timeouts,
            longest_gap: Some(side.gap.longest()),
        };
        self.flows.at_mut(flow).received = Some(received);
        driver.on_event(HostEvent::Received(self.flows.at(flow)));
    }
}
