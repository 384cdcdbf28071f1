//! Sending side of hosts: assigns connections to flows, and lets NICs pull the packets that a connection may send.

use shallows_core::packet::{Header, HostId};
use shallows_core::{Bytes, Instant};
use shallows_measure::Sent;

use crate::hosts::connection::{NO_TWIN, Place, SenderSide};
use crate::hosts::gap::Gap;
use crate::hosts::outstanding::fail_flow;
use crate::hosts::packet::{AckPacket, DataPacket, PacketRef, Queued};
use crate::hosts::pulling::Pulling;
use crate::hosts::timer::arm;
use crate::hosts::transports::Transport;
use crate::hosts::{Driver, HostEvent, Hosts, Timer};

/// Result of an acknowledgement.
pub(super) enum Hearing {
    /// The acknowledgement belongs to a closed connection.
    Stale,
    /// The sender may send more.
    Open,
    /// The flow is complete.
    Complete(u32),
}

/// Next action of a connection after its flow.
pub(super) enum Next {
    /// The connection takes a waiting flow.
    Flow(u32),
    Idle,
    Closed,
}

impl Hosts {
    /// Starts a flow on its connection. If the connection is a queue pair, the NIC may delay the message.
    pub(super) fn start_flow(&mut self, place: Place, flow: u32, driver: &mut impl Driver) {
        if self.sender(place).endpoint.is_queue_pair() {
            return self.start_message(place, flow, driver);
        }
        self.begin_flow(place, flow, driver);
    }

    /// Passes a flow to its connection, which has no other flow.
    pub(super) fn begin_flow(&mut self, place: Place, flow: u32, driver: &mut impl Driver) {
        let now = driver.now();
        let asks = self.flows.is_request(flow);
        let side = &mut self.hosts[self.places.at(place.host.0)].senders[place.slot as usize];
        let config = &self.transports.at(side.transport).config;
        let record = self.flows.at_mut(flow);
        // A persistent connection takes the class of each flow that it carries.
        side.address.class = record.class;
        side.asks = asks;
        let repairs = side.endpoint.repairs();
        (side.flow, side.before, side.started) = (Some(flow), (repairs.timeouts, repairs.retransmits), now);
        side.gap = Gap::from(now);
        side.flow_start = side.endpoint.written();
        side.endpoint.write(config, now, record.size.map_or(FOREVER, |size| size.0));
        side.flow_end = if record.size.is_some() { side.endpoint.written() } else { u64::MAX };
        if !side.persistent {
            side.endpoint.close(config);
        }
        record.sent = Some(Sent::on(side.address));
        side.traced = driver.traces(flow, place, side.flow_start..side.flow_end);
        if side.endpoint.is_flushed() {
            return fail_flow(flow, driver);
        }
        self.pump(place, driver);
    }

    /// Sends the packets that a connection may send now, and schedules its timer.
    pub(super) fn pump(&mut self, place: Place, driver: &mut impl Driver) {
        if self.sender(place).endpoint.is_queue_pair() {
            self.pump_queue_pair(place, driver);
        } else {
            self.pump_tcp(place, driver);
        }
    }

    /// Sends the segments that a TCP connection may send now, and schedules its timer.
    #[inline]
    fn pump_tcp(&mut self, place: Place, driver: &mut impl Driver) {
        let (timer_at, traced) = loop {
            match self.poll(place, driver.now()) {
                Polled::Packet(header, packet) => self.send_data(header, packet, driver),
                Polled::Nothing { timer_at, traced } => break (timer_at, traced),
            }
        };
        if let Some(at) = timer_at {
            driver.timer_at(at, Timer::Sender(place));
        }
        if traced {
            self.tell_change(place, driver);
        }
    }

    #[cold]
    pub(super) fn tell_change(&self, place: Place, driver: &mut impl Driver) {
        let side = self.sender(place);
        let current = side.flow.filter(|_| side.traced);
        let later = side.later().filter(|message| message.traced).map(|message| message.flow);
        for flow in current.into_iter().chain(later) {
            driver.on_event(HostEvent::Changed { flow, endpoint: &side.endpoint });
        }
    }

    /// Returns the packet that a connection sends now. Without a packet, ends the series of packets and arms the timer.
    #[inline(always)]
    fn poll(&mut self, place: Place, now: Instant) -> Polled {
        let mut pulling = self.pulling(place);
        let Some((header, mut packet)) = pulling.transport.handover.pull(&mut pulling, now) else {
            let deadline = pulling.transport.handover.rest(&mut pulling);
            let Pulling { side, .. } = pulling;
            return Polled::Nothing { timer_at: arm(deadline, &mut side.timer_at), traced: side.traced };
        };
        if pulling.side.twin != NO_TWIN {
            packet.segment = self.carry(place, now, packet.segment);
        }
        Polled::Packet(header, packet)
    }

    #[inline]
    pub(super) fn sender_mut(&mut self, place: Place) -> (&mut SenderSide, &Transport) {
        let Pulling { side, transport, .. } = self.pulling(place);
        (side, transport)
    }

    /// Returns a sender with its transport and slot.
    #[inline(always)]
    fn pulling(&mut self, place: Place) -> Pulling<'_> {
        let side = &mut self.hosts[self.places.at(place.host.0)].senders[place.slot as usize];
        let transport = self.transports.at(side.transport);
        Pulling { side, transport, slot: place.slot }
    }

    /// Sends a segment with data, or one that opens or closes a connection, from its host.
    #[inline]
    fn send_data(&mut self, header: Header, packet: DataPacket, driver: &mut impl Driver) {
        driver.tally().data_sent += u64::from(packet.segment.len > 0);
        let packet = driver.packets().insert_data(packet);
        self.send(header, packet, driver);
    }

    /// Records that a packet has left the NIC queue of this host, or was dropped there. Returns the packet's connection if backpressure has
    /// held that connection back.
    #[inline]
    pub(super) fn depart(&mut self, host: HostId, packet: Queued) -> Option<Place> {
        let place = Place { host, slot: packet.name.slot };
        let (side, transport) = self.sender_mut(place);
        if side.generation != packet.name.generation || !transport.has_backpressure() {
            return None;
        }
        side.account.on_departure(Bytes(u64::from(transport.header_bytes + packet.len)));
        side.endpoint.is_held().then_some(place)
    }

    /// Schedules an event at the current time in which a connection that backpressure has held back continues.
    #[cold]
    pub(super) fn schedule_resumption(&mut self, place: Place, driver: &mut impl Driver) {
        let now = driver.now();
        if !std::mem::replace(&mut self.sender_mut(place).0.account.resumes, true) {
            driver.timer_at(now, Timer::Sender(place));
        }
    }

    /// Handles the timer of a sender, and lets the sender continue if this is scheduled for the current time.
    #[inline(never)]
    pub(super) fn on_sender_timer(&mut self, place: Place, driver: &mut impl Driver) {
        let now = driver.now();
        let (side, transport) = self.sender_mut(place);
        let resumes = std::mem::take(&mut side.account.resumes);
        if side.timer_at == now {
            side.timer_at = Instant::MAX;
        } else if !resumes {
            return; // an earlier event has replaced this event
        }
        if side.is_closed {
            return;
        }
        let deadline = side.endpoint.deadline();
        let is_due = deadline.is_some_and(|deadline| deadline <= now);
        if is_due {
            side.endpoint.on_timer(&transport.config, now);
            if side.endpoint.has_failed() {
                return self.flush(place, driver);
            }
        }
        if is_due || resumes || transport.handover.paces() {
            self.pump(place, driver);
        } else if let Some(later) = arm(deadline, &mut side.timer_at) {
            driver.timer_at(later, Timer::Sender(place));
        }
    }

    /// Processes an acknowledgement at the host that receives it.
    #[inline(always)]
    pub(super) fn receive_ack(&mut self, header: &Header, packet: PacketRef, driver: &mut impl Driver) {
        let now = driver.now();
        let packet = driver.packets().remove_ack(packet);
        let place = Place { host: header.destination(), slot: packet.name.slot };
        let hearing = self.on_ack(now, place, packet);
        self.heed(place, hearing, driver);
    }

    #[inline(always)]
    fn on_ack(&mut self, now: Instant, place: Place, packet: &AckPacket) -> Hearing {
        let (side, transport) = self.sender_mut(place);
        if side.generation != packet.name.generation {
            return Hearing::Stale;
        }
        let sender = side.endpoint.tcp_mut();
        let before = sender.acked();
        sender.on_ack(&transport.config, now, &packet.segment);
        let acked = sender.acked();
        hear(side, before, acked, now)
    }

    /// Acts on the result of an acknowledgement.
    #[inline(always)]
    pub(super) fn heed(&mut self, place: Place, hearing: Hearing, driver: &mut impl Driver) {
        match hearing {
            Hearing::Stale => driver.tally().packets_stale += 1,
            Hearing::Open => self.pump_tcp(place, driver),
            Hearing::Complete(flow) => self.flow_acked(place, flow, driver),
        }
    }

    /// Ends a flow whose sender has all acknowledgements: its connection takes another flow, becomes idle, or closes.
    #[inline(never)]
    pub(super) fn flow_acked(&mut self, place: Place, flow: u32, driver: &mut impl Driver) {
        let next = self.end(place, driver.now());
        driver.tally().flows_completed += 1;
        driver.on_event(HostEvent::Acked { flow, record: self.flows.at(flow) });
        self.go_on(place, next, driver);
    }

    /// Executes the next action of a connection that is free.
    pub(super) fn go_on(&mut self, place: Place, next: Next, driver: &mut impl Driver) {
        match next {
            Next::Flow(waiting) => self.start_flow(place, waiting, driver),
            Next::Idle => self.pump(place, driver),
            Next::Closed => {}
        }
    }

    /// Records the end of a connection's flow, whose bytes are all acknowledged; returns the next action.
    fn end(&mut self, place: Place, now: Instant) -> Next {
        let side = &mut self.hosts[self.places.at(place.host.0)].senders[place.slot as usize];
        let flow = side.flow.take().expect("called while a flow is being sent");
        self.flows.book(flow, side.repairs(), side.gap.longest(), Some(now));
        let persistent = side.persistent;
        side.advance(now);
        let workload = self.flows.at(flow).workload;
        if self.flows.shares(workload) {
            return self.end_of_direction(place, flow);
        }
        if !persistent {
            self.keep_counts(self.counts(self.sender(place)));
            self.host(place.host).close(place.slot);
            return Next::Closed;
        }
        self.next_of_pool(place, workload)
    }

    /// Returns the next action of a free persistent connection.
    pub(super) fn next_of_pool(&mut self, place: Place, workload: u16) -> Next {
        let side = self.sender(place);
        if side.endpoint.has_failed() {
            return Next::Closed; // the pool counts the queue pair's flows until the queue pair is flushed
        }
        let (destination, place_in_pool) = (side.address.destination, side.place_in_pool);
        let host = self.host(place.host);
        let pool =
            host.pools.get_mut(&(workload, destination)).expect("persistent connections are in a pool");
        pool.free(place_in_pool).map_or(Next::Idle, Next::Flow)
    }
}

/// Returns the result of an acknowledgement that raised the number of acknowledged bytes from `before` to `acked`.
#[inline]
pub(super) fn hear(side: &mut SenderSide, before: u64, acked: u64, now: Instant) -> Hearing {
    if acked > before {
        side.gap.end(now);
    }
    match side.flow {
        Some(flow) if acked >= side.flow_end => Hearing::Complete(flow),
        _ => Hearing::Open,
    }
}

/// Result of [`Hosts::poll`].
enum Polled {
    /// A packet to send now.
    Packet(Header, DataPacket),
    /// No packet. The series of packets has ended.
    Nothing {
        /// Time at which to schedule a timer event, if a new one is needed.
        timer_at: Option<Instant>,
        /// Whether changes of the connection are recorded.
        traced: bool,
    },
}

/// Size of an unbounded flow in the sender: more bytes than any run sends, and far from overflow.
const FOREVER: u64 = 1 << 60;
