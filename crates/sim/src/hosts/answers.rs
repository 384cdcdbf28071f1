//! Answers that use the connections of their requests: choice of the connection, piggybacked acknowledgements, and release of the
//! connection.
//!
//! The requesting host opens the connection; the answering host opens its own direction with its first answer. A connection carries one
//! request at a time; the next request starts after the answer has arrived.

use shallows_core::Instant;
use shallows_core::packet::{DataSegment, Header};
use shallows_scenario::Flow;

use crate::hosts::Hosts;
use crate::hosts::connection::{NO_TWIN, Place};
use crate::hosts::packet::DataPacket;
use crate::hosts::sending::{Hearing, Next, hear};

impl Hosts {
    /// Prepares the connection on which a request is sent, so that the answer can use the same connection.
    pub(super) fn share(&mut self, place: Place) {
        let host = self.host(place.host);
        let side = &mut host.senders[place.slot as usize];
        side.persistent = true;
        host.duplex.open(&side.address, place.slot);
    }

    /// Returns the sender for an answer, on the connection on which the request arrived. Opens the answer's direction of the connection if
    /// necessary. `persistent` states whether the connection outlives the answer.
    pub(super) fn answer(&mut self, flow: &Flow, persistent: bool) -> Place {
        let host = &mut self.hosts[self.places.at(flow.source.0)];
        let leg = flow.leg.expect("answers are parts of queries");
        let receiver = host.duplex.answer(flow.workload, leg);
        let side = &host.receivers[receiver as usize];
        if side.twin == NO_TWIN {
            let [transport, _] = self.transports.answering(flow.workload, flow.source, flow.destination);
            let address = side.address.reversed();
            let slot = host.open(self.transports.at(transport), transport, address, persistent);
            host.duplex.open(&address, slot);
            host.join(slot, receiver);
        }
        Place { host: flow.source, slot: host.receivers[receiver as usize].twin }
    }

    /// Adds a pending acknowledgement to a data segment from the sender in `place`. The acknowledgement comes from the sender's twin, which
    /// receives the data of the other direction.
    #[cold]
    pub(super) fn carry(&mut self, place: Place, now: Instant, segment: DataSegment) -> DataSegment {
        let host = &mut self.hosts[self.places.at(place.host.0)];
        let twin = host.senders[place.slot as usize].twin;
        let side = &mut host.receivers[twin as usize];
        side.receiver.tcp().carry(&self.transports.at(side.transport).config, now, segment)
    }

    /// Processes the acknowledgement that arriving data carries. Returns the place of the sender whose data is acknowledged, and the effect
    /// on that sender. Returns `None` if the connection is closed.
    pub(super) fn on_carried(
        &mut self,
        now: Instant,
        header: &Header,
        packet: &DataPacket,
    ) -> Option<(Place, Hearing)> {
        let slot = self.host(header.destination()).duplex.sender(header)?;
        let place = Place { host: header.destination(), slot };
        let (side, transport) = self.sender_mut(place);
        let sender = side.endpoint.tcp_mut();
        let before = sender.acked();
        sender.on_carried(&transport.config, now, &packet.segment);
        let acked = sender.acked();
        Some((place, hear(side, before, acked, now)))
    }

    /// Handles a flow that its receiver has received completely. If the flow is an answer, returns the sender of its request and the next
    /// action of the connection. Returns `None` for other flows, and while the request is unacknowledged.
    pub(super) fn on_answered(&mut self, place: Place, flow: u32) -> Option<(Place, Next)> {
        if !self.flows.is_answer(flow) {
            return None;
        }
        let host = self.host(place.host);
        let slot = host.receivers[place.slot as usize].twin;
        let asking = &mut host.senders[slot as usize];
        asking.asks = false;
        let place = Place { host: place.host, slot };
        // The request has arrived, because its answer has arrived. The acknowledgement of the request may still be in flight.
        asking.flow.is_none().then(|| (place, self.free(place, self.flows.at(flow).workload)))
    }

    /// Returns the next action of a connection after every byte of `flow` has been acknowledged. Called only for workloads whose answers
    /// use the connections of their requests.
    pub(super) fn end_of_direction(&mut self, place: Place, flow: u32) -> Next {
        if self.flows.is_answer(flow) {
            return if self.flows.is_persistent(flow) { Next::Idle } else { self.close_answered(place) };
        }
        let waits = self.sender(place).asks;
        if waits { Next::Idle } else { self.free(place, self.flows.at(flow).workload) }
    }

    /// Releases a connection at the requesting host after the answer has arrived; returns the connection's next action.
    fn free(&mut self, place: Place, workload: u16) -> Next {
        if self.flows.is_pooled(workload) {
            return self.next_of_pool(place, workload);
        }
        self.close_direction(place);
        Next::Closed
    }

    /// Closes the direction in which the answering host sends, because the host sends nothing more on this connection.
    fn close_answered(&mut self, place: Place) -> Next {
        let receiver = self.close_direction(place);
        let host = self.host(place.host);
        if let Some(side) = host.receivers.get_mut(receiver as usize) {
            side.is_done = true;
            if side.receiver.deadline().is_none() {
                host.dismiss(receiver);
            }
        }
        Next::Closed
    }

    /// Closes a sender; returns the slot of its twin, the receiver of the other direction.
    fn close_direction(&mut self, place: Place) -> u32 {
        let host = self.host(place.host);
        let side = &host.senders[place.slot as usize];
        let (address, twin) = (side.address, side.twin);
        host.duplex.close(&address);
        host.detach(place.slot);
        host.close(place.slot);
        twin
    }
}
