//! Outstanding messages of queue pairs. A sender's current flow is its oldest message that is not complete; later messages wait behind it
//! in the send queue, although the requester may already send their packets. The receiver delivers messages in the order in which they were
//! posted.

use std::cmp::Ordering;

use shallows_core::Instant;
use shallows_measure::Sent;

use crate::hosts::connection::{Place, ReceiverSide, SenderSide};
use crate::hosts::flow::Flows;
use crate::hosts::gap::Gap;
use crate::hosts::message::{Arriving, Posted};
use crate::hosts::names::FlowNumber;
use crate::hosts::packet::{FlowFraming, Framing};
use crate::hosts::{Driver, HostEvent, Hosts};

impl Hosts {
    /// Starts a message on a queue pair, unless the NIC delays it.
    pub(super) fn start_message(&mut self, place: Place, flow: u32, driver: &mut impl Driver) {
        if !self.delays(place, flow, driver) {
            self.post(place, flow, driver);
        } else if self.sender(place).flow.is_some() {
            self.pump_queue_pair(place, driver);
        }
    }

    /// Posts a message, which becomes the current flow if the queue pair has no other message.
    pub(super) fn post(&mut self, place: Place, flow: u32, driver: &mut impl Driver) {
        if self.sender(place).flow.is_none() {
            return self.begin_flow(place, flow, driver);
        }
        let now = driver.now();
        let side = &mut self.hosts[self.places.at(place.host.0)].senders[place.slot as usize];
        let record = self.flows.at_mut(flow);
        record.sent = Some(Sent::on(side.address));
        let size = record.size.expect("flows without end have connections of their own");
        let start = side.endpoint.written();
        side.endpoint.write(&self.transports.at(side.transport).config, now, size.0);
        let traced = driver.traces(flow, place, start..start + size.0);
        let posted = Posted { flow, start, end: start + size.0, started: now, retransmits: 0, traced };
        let queue = side.endpoint.send_queue_mut().expect("only queue pairs have several flows");
        queue.later.push_back(posted);
        queue.traced += u32::from(traced);
        if queue.is_flushed {
            return fail_flow(flow, driver);
        }
        self.pump_queue_pair(place, driver);
    }

    /// Completes the current flow of a queue pair, and the later messages that are also acknowledged. A READ counts as acknowledged when
    /// its data has arrived.
    pub(super) fn complete_messages(&mut self, place: Place, flow: u32, driver: &mut impl Driver) {
        let mut complete = Some(flow);
        while let Some(flow) = complete {
            if self.sender(place).endpoint.read_requester().is_some() {
                self.complete_read(place, flow, driver);
            }
            self.flow_acked(place, flow, driver);
            complete = self.sender(place).complete_flow();
        }
    }

    /// Completes the messages whose last bytes have reached their receiver.
    pub(super) fn deliver_messages(&mut self, place: Place, driver: &mut impl Driver) {
        loop {
            let side = &mut self.hosts[self.places.at(place.host.0)].receivers[place.slot as usize];
            let received = side.receiver.received();
            let Some(flow) = side.flow.filter(|_| received >= side.flow_end) else { return };
            side.complete(flow, &mut self.flows, driver.now());
            side.advance(&self.flows);
            self.flow_received(place, flow, driver);
        }
    }

    /// Flushes a queue pair that has ended with an error: its flows will never complete, and its pool assigns no other flows to it.
    #[cold]
    pub(super) fn flush(&mut self, place: Place, driver: &mut impl Driver) {
        let (side, _) = self.sender_mut(place);
        let current = side.flow;
        let queue = side.endpoint.send_queue_mut().expect("only queue pairs end with an error");
        if std::mem::replace(&mut queue.is_flushed, true) {
            return;
        }
        for flow in current.into_iter().chain(queue.later.iter().map(|message| message.flow)) {
            fail_flow(flow, driver);
        }
        self.abandon_waiting(place, driver);
    }
}

/// Records that a flow will never complete, because its queue pair has ended with an error.
pub(super) fn fail_flow(flow: u32, driver: &mut impl Driver) {
    driver.tally().flows_failed += 1;
    driver.on_event(HostEvent::Failed { flow });
}

impl SenderSide {
    /// Returns the messages that were posted after the current flow, oldest first.
    pub(super) fn later(&self) -> impl Iterator<Item = &Posted> {
        self.endpoint.send_queue().into_iter().flat_map(|queue| &queue.later)
    }

    /// Returns the current flow of a queue pair if all its bytes are acknowledged.
    fn complete_flow(&self) -> Option<u32> {
        self.flow.filter(|_| self.endpoint.completed() >= self.flow_end)
    }

    /// Makes the next message the current flow, after the previous one is complete. A TCP connection has no next message.
    pub(super) fn advance(&mut self, now: Instant) {
        self.traced = false;
        let Some(queue) = self.endpoint.send_queue_mut() else { return };
        let Some(next) = queue.later.pop_front() else { return };
        queue.traced -= u32::from(next.traced);
        (self.flow, self.flow_start, self.flow_end) = (Some(next.flow), next.start, next.end);
        (self.started, self.gap, self.traced) = (next.started, Gap::from(next.started), next.traced);
        let repairs = self.endpoint.repairs();
        self.before = (repairs.timeouts, repairs.retransmits - next.retransmits);
        if self.endpoint.completed() > next.start {
            self.gap.end(now);
        }
    }

    /// Returns the framing of the queue pair's packet whose first byte has the sequence number `offset`. Adds `retransmits` (1 for a
    /// retransmission, otherwise 0) to the count of the packet's message.
    pub(super) fn frame(&mut self, offset: u64, retransmits: u32) -> Framing {
        let queue = self.endpoint.send_queue_mut().expect("called for queue pairs");
        if queue.later.front().is_none_or(|first| offset < first.start) {
            return self.framing(self.endpoint.repairs().timeouts);
        }
        let place = queue.later.partition_point(|message| message.start <= offset) - 1;
        let message = &mut queue.later[place];
        message.retransmits += retransmits;
        self.before.1 += retransmits;
        let Posted { flow, start, started, .. } = *message;
        // A timeout counts only for the oldest message.
        Framing::Flow(FlowFraming { flow: FlowNumber::new(flow), timeouts: 0, start, started })
    }
}

impl ReceiverSide {
    /// Records the arrival of data of a queue pair: updates the current flow and the later messages.
    pub(super) fn listen_to_messages(&mut self, framing: &Framing, flows: &Flows, now: Instant) {
        if let Framing::Flow(framing) = framing
            && self.flow.is_some()
        {
            match framing.start.cmp(&self.flow_start) {
                Ordering::Greater => return self.note_later(framing, now),
                Ordering::Less if self.awaits(framing, flows) => self.put_before(framing, flows),
                Ordering::Less => return, // a duplicate of a complete message
                Ordering::Equal => {}
            }
        }
        self.listen(framing, flows);
        self.gap.end(now);
    }

    /// Returns the messages that follow the current flow, in order of sequence numbers. Only messages of which a packet has arrived are listed.
    pub(super) fn later(&self) -> impl Iterator<Item = &Arriving> {
        self.receiver.messages().into_iter().flat_map(|messages| &messages.later)
    }

    /// Makes the next message the current flow, after the previous one is complete.
    fn advance(&mut self, flows: &Flows) {
        let next = self.receiver.messages_mut().and_then(|messages| messages.later.pop_front());
        if let Some(next) = next {
            self.make_current(next, flows);
        }
    }

    /// Returns whether data of this message is missing.
    fn awaits(&self, framing: &FlowFraming, flows: &Flows) -> bool {
        let size = flows.at(framing.flow.get()).size;
        size.is_some_and(|size| framing.start + size.0 > self.receiver.received())
    }

    /// Records arriving data of a message that follows the current flow.
    fn note_later(&mut self, framing: &FlowFraming, now: Instant) {
        let Some(messages) = self.receiver.messages_mut() else { return };
        let later = &mut messages.later;
        let found = later.binary_search_by_key(&framing.start, |message| message.start);
        let place = found.unwrap_or_else(|place| {
            later.insert(place, Arriving::of(framing));
            place
        });
        let message = &mut later[place];
        message.timeouts = message.timeouts.max(framing.timeouts);
        message.gap.end(now);
    }

    /// Makes this message the current flow in place of a later message. The later message became current because the first packets of this
    /// message were lost or late.
    #[cold]
    fn put_before(&mut self, framing: &FlowFraming, flows: &Flows) {
        let Some(flow) = self.newest else { return };
        let later = Arriving { flow, start: self.flow_start, timeouts: self.timeouts, gap: self.gap };
        if let Some(messages) = self.receiver.messages_mut() {
            messages.later.push_front(later);
        }
        self.make_current(Arriving::of(framing), flows);
    }
}
