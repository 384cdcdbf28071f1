//! Receiving side of hosts: receivers process data, acknowledge it, and detect complete flows.

use shallows_core::packet::{AckSegment, Flags, Header};
use shallows_core::{Address, Bytes, Instant};
use shallows_measure::Received;
use shallows_transport::{Marks, Receiver};

use crate::hosts::connection::{Place, ReceiverSide};
use crate::hosts::endpoint::Sink;
use crate::hosts::flow::Flows;
use crate::hosts::host::Found;
use crate::hosts::message::Arriving;
use crate::hosts::names::Name;
use crate::hosts::nic::inbox::Arrived;
use crate::hosts::packet::{AckPacket, DataPacket, FlowFraming, Framing};
use crate::hosts::timer::arm;
use crate::hosts::transports::Transport;
use crate::hosts::{Driver, HostEvent, Hosts, Timer};

/// Result of the arrival of data.
enum Reception {
    /// The data belongs to a closed connection.
    Stale,
    /// The receiver was removed after all data of the connection had arrived. The new data is therefore a duplicate, and is acknowledged
    /// again.
    Again,
    /// The data has reached its receiver.
    At {
        /// Slot of the receiver.
        slot: u32,
        /// First acknowledgement to send now, if any.
        first: Option<(Header, AckPacket)>,
        /// Second acknowledgement, sent after `first`.
        second: Option<(Header, AckPacket)>,
        /// Flow that this data completes.
        complete: Option<u32>,
        /// Whether [`Hosts::rest_receiver`] must be called.
        needs_rest: bool,
    },
}

impl Hosts {
    /// Processes a segment with data, or one that opens or closes a connection.
    #[inline(always)]
    pub(super) fn receive_data(&mut self, arrived: Arrived, driver: &mut impl Driver) {
        let Arrived { header, packet, packets, .. } = arrived;
        let now = driver.now();
        let mut packet = driver.packets().remove_data(packet);
        let copy;
        if packet.segment.carried_ack.is_some() {
            // `receive_carried` may insert packets, which reuse the slot.
            copy = *packet;
            self.receive_carried(&header, &copy, driver);
            packet = &copy;
        }
        match self.on_data(now, &header, packet, packets) {
            Reception::Stale => driver.tally().packets_stale += u64::from(packets),
            Reception::Again => {
                let packet = *packet;
                self.receive_again(&header, &packet, driver);
            }
            Reception::At { slot, first, second, complete, needs_rest } => {
                let place = Place { host: header.destination(), slot };
                if let Some(flow) = complete {
                    self.flow_received(place, flow, driver);
                }
                if let Some((header, packet)) = first {
                    self.send_ack(header, packet, driver);
                }
                if let Some((header, packet)) = second {
                    self.send_ack(header, packet, driver);
                }
                if needs_rest {
                    self.rest_receiver(place, driver);
                }
            }
        }
    }

    /// Processes the acknowledgement that a data segment of the other direction carries.
    #[cold]
    fn receive_carried(&mut self, header: &Header, packet: &DataPacket, driver: &mut impl Driver) {
        if let Some((place, hearing)) = self.on_carried(driver.now(), header, packet) {
            self.heed(place, hearing, driver);
        }
    }

    /// Passes data to its receiver. `packet` contains `segments` segments, which the host may have merged.
    #[inline(always)]
    fn on_data(&mut self, now: Instant, header: &Header, packet: &DataPacket, segments: u32) -> Reception {
        let framing = packet.framing;
        let flows = &mut self.flows;
        let host = &mut self.hosts[self.places.at(header.destination().0)];
        let slot = match host.find(header, packet.name) {
            Found::Slot(slot) => slot,
            Found::Stale => return Reception::Stale,
            Found::Nothing => {
                let twin = host.duplex.sender(header);
                if end_of_forgotten(&framing, flows).is_some() {
                    return Reception::Again;
                }
                let transport = self.transports.receiving(framing.workload(flows), header, twin.is_some());
                let slot = host.admit(self.transports.at(transport), transport, header, packet.name);
                if let Some(sender) = twin {
                    host.join(sender, slot);
                }
                slot
            }
        };
        let side = &mut host.receivers[slot as usize];
        let transport = self.transports.at(side.transport);
        side.listen(&framing, flows);
        side.address.class = header.class();
        if packet.segment.len > 0 {
            side.gap.end(now);
            let (data, echo) = (Bytes(u64::from(packet.segment.len)), packet.segment.tsecr);
            if let Some(window) = host.nic.on_data(now, slot, data, echo) {
                side.receiver.tcp().resize_window(window);
            }
        }
        let receiver = side.receiver.tcp();
        let acks = receiver.on_data(&transport.config, now, &packet.segment, Marks::of(header), segments);
        let received = receiver.received();
        let complete = side.flow.filter(|_| received >= side.flow_end);
        if let Some(flow) = complete {
            side.complete(flow, flows, now);
            if flows.is_request(flow) {
                let record = flows.at(flow);
                host.duplex.ask(record.workload, record.leg.expect("requests are parts of queries"), slot);
            }
        }
        let needs_rest = side.is_done || side.receiver.deadline().is_some();
        let (first, second) = acks.both();
        let answer = |ack| acknowledgement(side.address, side.name, transport, ack);
        Reception::At { slot, first: first.map(answer), second: second.map(answer), complete, needs_rest }
    }

    /// Reports a flow that the receiver has received completely, and continues the connection of an answered request.
    #[inline(never)]
    pub(super) fn flow_received(&mut self, place: Place, flow: u32, driver: &mut impl Driver) {
        driver.on_event(HostEvent::Received(self.flows.at(flow)));
        if let Some((place, next)) = self.on_answered(place, flow) {
            self.go_on(place, next, driver);
        }
    }

    /// Processes data for a receiver that was removed after all data of the connection had arrived.
    #[cold]
    fn receive_again(&mut self, header: &Header, data: &DataPacket, driver: &mut impl Driver) {
        let end = end_of_forgotten(&data.framing, &self.flows).expect("all data has arrived");
        let is_answer = self.host(header.destination()).duplex.sender(header).is_some();
        let workload = data.framing.workload(&self.flows);
        let config = &self.transports.at(self.transports.receiving(workload, header, is_answer)).config;
        let mut receiver = Receiver::resuming(config, end);
        let acks = receiver.on_data(config, driver.now(), &data.segment, Marks::of(header), 1);
        let transport = self.transports.receiving(workload, header, false);
        for ack in acks {
            let transport = self.transports.at(transport);
            let (header, packet) = acknowledgement(Address::of_data(header), data.name, transport, ack);
            self.send_ack(header, packet, driver);
        }
    }

    /// Sends an acknowledgement from the receiver's host.
    #[inline(always)]
    fn send_ack(&mut self, header: Header, packet: AckPacket, driver: &mut impl Driver) {
        let packet = driver.packets().insert_ack(packet);
        self.send(header, packet, driver);
    }

    /// Schedules the timer of a receiver that has sent its acknowledgements, or removes the receiver if it is done and has no deadline.
    #[inline(always)]
    pub(super) fn rest_receiver(&mut self, place: Place, driver: &mut impl Driver) {
        let (side, _) = self.receiver_mut(place);
        let deadline = side.receiver.deadline();
        if side.is_done && deadline.is_none() {
            self.host(place.host).dismiss(place.slot);
        } else if let Some(deadline) = arm(deadline, &mut side.timer_at) {
            driver.timer_at(deadline, Timer::Receiver(place));
        }
    }

    /// Handles the timer of a receiver.
    #[inline(never)]
    pub(super) fn on_receiver_timer(&mut self, place: Place, driver: &mut impl Driver) {
        if let Sink::QueuePair(_) = self.receiver_mut(place).0.receiver {
            self.on_responder_timer(place, driver);
        } else if let Some((header, packet)) = self.overdue_ack(place, driver.now()) {
            self.send_ack(header, packet, driver);
        }
        self.rest_receiver(place, driver);
    }

    /// Returns the acknowledgement that a receiver sends when its timer expires.
    fn overdue_ack(&mut self, place: Place, now: Instant) -> Option<(Header, AckPacket)> {
        let (side, transport) = self.receiver_mut(place);
        let ack =
            if side.take_timer(now) { side.receiver.tcp().on_timer(&transport.config, now) } else { None };
        ack.map(|ack| acknowledgement(side.address, side.name, transport, ack))
    }

    #[inline(always)]
    pub(super) fn receiver_mut(&mut self, place: Place) -> (&mut ReceiverSide, &Transport) {
        let side = &mut self.hosts[self.places.at(place.host.0)].receivers[place.slot as usize];
        let transport = self.transports.at(side.transport);
        (side, transport)
    }
}

impl Framing {
    /// Returns the workload of the connection.
    #[cold]
    pub(super) fn workload(&self, flows: &Flows) -> u16 {
        match self {
            Self::Flow(framing) => flows.at(framing.flow.get()).workload,
            Self::BeforeFlows { workload } => *workload,
        }
    }
}

impl ReceiverSide {
    /// Handles a timer event at the time `now`. Returns whether the receiver must act: this event is the earliest pending event of the
    /// receiver, and the deadline has come.
    pub(super) fn take_timer(&mut self, now: Instant) -> bool {
        if self.timer_at != now {
            return false;
        }
        self.timer_at = Instant::MAX;
        self.receiver.deadline().is_some_and(|deadline| deadline <= now)
    }

    /// Updates the current flow from the framing of arriving data.
    #[inline]
    pub(super) fn listen(&mut self, framing: &Framing, flows: &Flows) {
        let Framing::Flow(framing) = framing else { return };
        if self.newest == Some(framing.flow) {
            self.timeouts = self.timeouts.max(framing.timeouts);
        } else if self.newest.is_none() || framing.start > self.flow_start {
            self.begin(framing, flows);
        }
    }

    #[cold]
    fn begin(&mut self, framing: &FlowFraming, flows: &Flows) {
        self.make_current(Arriving::of(framing), flows);
    }

    /// Makes a flow the current flow.
    pub(super) fn make_current(&mut self, arriving: Arriving, flows: &Flows) {
        let flow = arriving.flow.get();
        let size = flows.at(flow).size;
        (self.newest, self.flow) = (Some(arriving.flow), Some(flow));
        self.flow_start = arriving.start;
        self.flow_end = size.map_or(u64::MAX, |size| arriving.start + size.0);
        self.timeouts = arriving.timeouts;
        self.gap = arriving.gap;
    }

    /// Records a flow whose last byte has arrived.
    #[cold]
    pub(super) fn complete(&mut self, flow: u32, flows: &mut Flows, now: Instant) {
        self.flow = None;
        // After a request, more data may follow, so the connection stays until the answer is acknowledged.
        self.is_done = !flows.is_persistent(flow) && !flows.is_request(flow);
        let record = flows.at_mut(flow);
        record.received = Some(Received {
            at: Some(now),
            delivered: record.size.expect("a flow without end is never complete"),
            timeouts_felt: self.timeouts,
            longest_gap: Some(self.gap.longest()),
        });
    }
}

/// Returns the sequence number after a flow's last byte, if the flow is complete and the receiver was removed together with the connection.
pub(super) fn end_of_forgotten(framing: &Framing, flows: &Flows) -> Option<u64> {
    let Framing::Flow(framing) = framing else { return None };
    let flow = framing.flow.get();
    let record = flows.at(flow);
    record.received_at()?;
    record.size.filter(|_| !flows.is_persistent(flow)).map(|size| framing.start + size.0)
}

#[inline]
fn acknowledgement(
    address: Address,
    name: Name,
    transport: &Transport,
    segment: AckSegment,
) -> (Header, AckPacket) {
    debug_assert!(segment.flags.contains(Flags::ACK));
    let size = transport.header_bytes + sack_option_bytes(segment.sack_count);
    let class = transport.ack_class.unwrap_or(address.class);
    (address.backward(size, transport.config.ack_ecn()).with_class(class), AckPacket { segment, name })
}

/// Bytes that SACK blocks add to a TCP header (RFC 2018 §3: two bytes plus eight for each block, padded to words).
fn sack_option_bytes(blocks: u8) -> u16 {
    if blocks == 0 { 0 } else { 4 + 8 * u16::from(blocks) }
}
