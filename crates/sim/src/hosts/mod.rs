//! What hosts do with their connections: each decides from what it knows and from the packets that it is handed. The world
//! carries what they say.

pub(crate) mod connection;
pub(crate) mod duplex;
pub(crate) mod flow;
pub(crate) mod gap;
pub(crate) mod host;
pub(crate) mod names;
pub(crate) mod nic;
pub(crate) mod packet;
pub(crate) mod pool;

mod answers;
mod endpoint;
mod settling;
mod timer;
mod transports;

use shallows_core::packet::{AckSegment, Flags, Header, HostId};
use shallows_core::{Address, Bytes, Instant, prefetch_all};
use shallows_measure::{Received, Sent};
use shallows_scenario::{Connections as Policy, Flow, SERVICE_PORT, WhenBusy};
use shallows_transport::{Acks, Marks, Receiver};

use crate::hosts::connection::{NO_TWIN, Place, ReceiverSide, SenderSide};
use crate::hosts::endpoint::TcpSender;
use crate::hosts::flow::Flows;
use crate::hosts::gap::Gap;
use crate::hosts::host::{Found, Host};
use crate::hosts::names::Name;
#[cfg(test)]
use crate::hosts::nic::Nic;
use crate::hosts::packet::{AckPacket, DataPacket, FlowFraming, Framing};
use crate::hosts::pool::Pool;
use crate::hosts::timer::arm;
use crate::hosts::transports::Transport;
use crate::network::places::Places;

pub(crate) use crate::hosts::transports::Transports;

/// All hosts, and how their connections behave.
#[derive(Debug)]
pub(crate) struct Hosts {
    hosts: Vec<Host>,
    places: Places,
    transports: Transports,
    /// Whether the NIC of any of them does something with what arrives.
    nics_act_on_arrivals: bool,
    /// Whether the NIC of any of them does something when a packet departs.
    nics_act_on_departures: bool,
}

/// What became of data that arrived.
pub(crate) enum Reception {
    /// It belongs to a connection that has closed.
    Stale,
    /// Its receiver has forgotten the connection, all of which it had, and says so.
    Again(Acks),
    /// It is at its receiver.
    At {
        /// The receiver's.
        slot: u32,
        acks: Acks,
        /// The flow that is complete with it.
        complete: Option<u32>,
    },
}

/// What became of an acknowledgement.
pub(crate) enum Hearing {
    /// It belongs to a connection that has closed.
    Stale,
    /// Its sender may send more.
    Open,
    /// The flow is complete.
    Complete(u32),
}

/// What follows when the timer of a sender fires.
pub(crate) enum Waking {
    /// More may be sent.
    Sends,
    /// It is to fire again then.
    Later(Instant),
    Nothing,
}

/// What a connection does after its flow.
pub(crate) enum Next {
    /// It takes the flow that has waited for it.
    Flow(u32),
    Idle,
    Closed,
}

impl Hosts {
    /// Hosts that are kept at these places.
    pub(crate) fn new(hosts: Vec<Host>, places: Places, transports: Transports) -> Self {
        let nics_act_on_arrivals = hosts.iter().any(|host| host.nic.acts_on_arrivals());
        let nics_act_on_departures = hosts.iter().any(|host| host.nic.has_backpressure());
        Self { hosts, places, transports, nics_act_on_arrivals, nics_act_on_departures }
    }

    /// Have the processor load them, without their connections.
    pub(crate) fn prefetch(&self) {
        prefetch_all(&self.hosts);
    }

    /// Give a host another NIC, before anything has happened.
    #[cfg(test)]
    pub(crate) fn install(&mut self, host: HostId, nic: Nic) {
        self.nics_act_on_arrivals |= nic.acts_on_arrivals();
        self.nics_act_on_departures |= nic.has_backpressure();
        self.host(host).nic = nic;
    }

    /// Whether the NIC of any host has packets that arrive wait for each other, or looks at them. Where none does, this is all
    /// that is asked of NICs then.
    #[inline]
    pub(crate) fn nics_act_on_arrivals(&self) -> bool {
        self.nics_act_on_arrivals
    }

    /// Whether the NIC of any host holds endpoints back until something departs. Likewise.
    #[inline]
    pub(crate) fn nics_act_on_departures(&self) -> bool {
        self.nics_act_on_departures
    }

    /// How many packets wait at NICs for their hosts.
    pub(crate) fn waiting(&self) -> usize {
        self.hosts.iter().map(|host| host.nic.waiting()).sum()
    }

    /// Whether this host is one of them.
    pub(crate) fn has(&self, host: HostId) -> bool {
        self.places.has(host.0)
    }

    #[inline]
    pub(crate) fn host(&mut self, host: HostId) -> &mut Host {
        &mut self.hosts[self.places.at(host.0)]
    }

    #[inline]
    pub(crate) fn sender(&self, place: Place) -> &SenderSide {
        &self.hosts[self.places.at(place.host.0)].senders[place.slot as usize]
    }

    #[inline]
    fn sender_mut(&mut self, place: Place) -> (&mut SenderSide, &Transport) {
        let TcpSender { side, transport, .. } = self.endpoint(place);
        (side, transport)
    }

    /// A sender, apart from all else that there is: its transport can be read meanwhile.
    #[inline(always)]
    fn endpoint(&mut self, place: Place) -> TcpSender<'_> {
        let side = &mut self.hosts[self.places.at(place.host.0)].senders[place.slot as usize];
        let transport = self.transports.at(side.transport);
        TcpSender { side, transport, slot: place.slot }
    }

    #[inline]
    fn receiver_mut(&mut self, place: Place) -> (&mut ReceiverSide, &Transport) {
        let side = &mut self.hosts[self.places.at(place.host.0)].receivers[place.slot as usize];
        let transport = self.transports.at(side.transport);
        (side, transport)
    }

    /// The connection that a flow takes as it arrives; none if it waits until one is idle.
    pub(crate) fn connect(&mut self, flow: &Flow, number: u32, flows: &Flows) -> Option<Place> {
        if flows.is_answer(number) {
            return Some(self.answer(flow, flows.is_persistent(number)));
        }
        let shares = flows.is_request(number);
        let Policy::Persistent { per_pair, when_busy, .. } = flows.policy(flow.workload) else {
            let port = flow.port.unwrap_or(SERVICE_PORT);
            let place = self.open(flow.workload, flow.source, flow.destination, port, flow.class, false);
            if shares {
                self.share(place);
            }
            return Some(place);
        };
        let pool = self.host(flow.source).pools.entry((flow.workload, flow.destination)).or_default();
        if let Some(slot) = pool.take() {
            return Some(Place { host: flow.source, slot });
        }
        if pool.size() >= per_pair as usize && when_busy == WhenBusy::Queue {
            pool.queue(number);
            return None;
        }
        let place = self.open_persistent(flow.workload, flow.source, flow.destination, flow.class);
        if shares {
            self.share(place);
        }
        // No other is idle, so this takes the one that was opened just now.
        let pool = self.host(flow.source).pools.get_mut(&(flow.workload, flow.destination));
        let taken = pool.and_then(Pool::take);
        debug_assert_eq!(taken, Some(place.slot));
        Some(place)
    }

    /// Open one more persistent connection of a workload and a pair, which is idle.
    pub(crate) fn open_persistent(
        &mut self,
        workload: u16,
        source: HostId,
        destination: HostId,
        class: u8,
    ) -> Place {
        let place = self.open(workload, source, destination, SERVICE_PORT, class, true);
        let host = self.host(source);
        let side = &mut host.senders[place.slot as usize];
        side.workload_of_pool = workload;
        side.place_in_pool = host.pools.entry((workload, destination)).or_default().add(place.slot);
        place
    }

    fn open(
        &mut self,
        workload: u16,
        source: HostId,
        destination: HostId,
        service: u16,
        class: u8,
        persistent: bool,
    ) -> Place {
        let host = &mut self.hosts[self.places.at(source.0)];
        let [transport, _] = self.transports.between(workload, source, destination);
        let config = &self.transports.at(transport).config;
        let (source_port, destination_port) = host.take_ports(destination, service);
        let address = Address { source, destination, source_port, destination_port, class };
        Place { host: source, slot: host.open(config, transport, address, persistent) }
    }

    /// Hand a flow to an idle connection.
    pub(crate) fn start(
        &mut self,
        place: Place,
        flow: u32,
        flows: &mut Flows,
        now: Instant,
    ) -> &mut SenderSide {
        let asks = flows.is_request(flow);
        let (side, transport) = self.sender_mut(place);
        let record = flows.at_mut(flow);
        // A persistent connection takes the class of each flow that it carries.
        side.address.class = record.class;
        side.asks = asks;
        let stats = side.sender.stats();
        (side.flow, side.before, side.started) = (Some(flow), (stats.timeouts, stats.retransmits), now);
        side.gap = Gap::from(now);
        side.flow_start = side.sender.written();
        side.sender.write(&transport.config, now, record.size.map_or(FOREVER, |size| size.0));
        side.flow_end = if record.size.is_some() { side.sender.written() } else { u64::MAX };
        if !side.persistent {
            side.sender.close(&transport.config);
        }
        record.sent = Some(Sent {
            address: side.address,
            acked_at: None,
            timeouts: 0,
            retransmits: 0,
            longest_gap: None,
        });
        side
    }

    /// Bytes that belong to no flow.
    pub(crate) fn prime(&mut self, place: Place, bytes: Bytes, now: Instant) {
        let (side, transport) = self.sender_mut(place);
        side.sender.write(&transport.config, now, bytes.0);
    }

    /// The packet that a connection sends now, if it sends one.
    #[inline(always)]
    pub(crate) fn poll(&mut self, place: Place, now: Instant) -> Option<(Header, DataPacket)> {
        let mut endpoint = self.endpoint(place);
        let (header, mut packet) = endpoint.transport.handover.pull(&mut endpoint, now)?;
        if endpoint.side.twin != NO_TWIN {
            packet.segment = self.carry(place, now, packet.segment);
        }
        Some((header, packet))
    }

    /// A connection has sent what it may. Returns when its timer is to fire, if nothing will before, and whether its
    /// changes are recorded.
    #[inline(always)]
    pub(crate) fn rest(&mut self, place: Place) -> (Option<Instant>, bool) {
        let mut endpoint = self.endpoint(place);
        let deadline = endpoint.transport.handover.rest(&mut endpoint);
        (arm(deadline, &mut endpoint.side.timer_at), endpoint.side.traced)
    }

    /// The timer of a sender fires.
    pub(crate) fn on_sender_timer(&mut self, place: Place, now: Instant) -> Waking {
        let (side, transport) = self.sender_mut(place);
        if side.timer_at != now {
            return Waking::Nothing; // overtaken by an earlier one
        }
        side.timer_at = Instant::MAX;
        if side.is_closed {
            return Waking::Nothing;
        }
        let deadline = side.sender.deadline();
        let is_due = deadline.is_some_and(|deadline| deadline <= now);
        if is_due {
            side.sender.on_timer(&transport.config, now);
        }
        if is_due || transport.handover.paces() {
            return Waking::Sends;
        }
        arm(deadline, &mut side.timer_at).map_or(Waking::Nothing, Waking::Later)
    }

    /// An acknowledgement arrives at a host.
    #[inline(always)]
    pub(crate) fn on_ack(&mut self, now: Instant, place: Place, packet: &AckPacket) -> Hearing {
        let (side, transport) = self.sender_mut(place);
        if side.generation != packet.name.generation {
            return Hearing::Stale;
        }
        let before = side.sender.acked();
        side.sender.on_ack(&transport.config, now, &packet.segment);
        hear(side, before, now)
    }

    /// Every byte of the flow of a connection is acknowledged.
    pub(crate) fn end(&mut self, place: Place, flows: &mut Flows, now: Instant) -> Next {
        let (side, _) = self.sender_mut(place);
        let flow = side.flow.take().expect("called while a flow is being sent");
        side.traced = false;
        flows.book(flow, side, side.gap.longest(), Some(now));
        let persistent = side.persistent;
        let workload = flows.at(flow).workload;
        if flows.shares(workload) {
            return self.end_of_direction(place, flow, flows);
        }
        if !persistent {
            self.host(place.host).close(place.slot);
            return Next::Closed;
        }
        self.next_of_pool(place, workload)
    }

    /// What a persistent connection does that is free.
    fn next_of_pool(&mut self, place: Place, workload: u16) -> Next {
        let side = self.sender(place);
        let (destination, place_in_pool) = (side.address.destination, side.place_in_pool);
        let host = self.host(place.host);
        let pool =
            host.pools.get_mut(&(workload, destination)).expect("persistent connections are in a pool");
        pool.free(place_in_pool).map_or(Next::Idle, Next::Flow)
    }

    /// A packet of this host no longer waits in its NIC. Returns the connection if the NIC held that back.
    #[inline]
    pub(crate) fn on_departure(&mut self, host: HostId, packet: &DataPacket) -> Option<Place> {
        if packet.segment.len == 0 || !self.host(host).nic.has_backpressure() {
            return None;
        }
        let place = Place { host, slot: packet.name.slot };
        let (side, transport) = self.sender_mut(place);
        if side.generation != packet.name.generation {
            return None;
        }
        side.account.on_departure(Bytes(u64::from(transport.header_bytes + packet.segment.len)));
        side.sender.is_held().then_some(place)
    }

    /// Data, or what opens or ends a connection, arrives at a host, which may have merged so many segments into one.
    #[inline(always)]
    pub(crate) fn on_data(
        &mut self,
        now: Instant,
        header: &Header,
        packet: &DataPacket,
        segments: u32,
        flows: &mut Flows,
    ) -> Reception {
        let framing = packet.framing;
        let host = &mut self.hosts[self.places.at(header.destination.0)];
        let slot = match host.find(header, packet.name) {
            Found::Slot(slot) => slot,
            Found::Stale => return Reception::Stale,
            Found::Nothing => {
                let twin = host.duplex.sender(header);
                let (source, destination) = (header.source, header.destination);
                let workload = framing.workload(flows);
                let [_, transport] = match twin {
                    Some(_) => self.transports.answering(workload, source, destination),
                    None => self.transports.between(workload, source, destination),
                };
                let config = &self.transports.at(transport).config;
                if let Some(end) = end_of_forgotten(&framing, flows) {
                    let mut receiver = Receiver::resuming(config, end);
                    return Reception::Again(receiver.on_data(
                        config,
                        now,
                        &packet.segment,
                        Marks::of(header),
                    ));
                }
                let slot = host.admit(config, transport, header, packet.name);
                if let Some(sender) = twin {
                    host.join(sender, slot);
                }
                slot
            }
        };
        let side = &mut host.receivers[slot as usize];
        let config = &self.transports.at(side.transport).config;
        side.listen(&framing, flows);
        side.address.class = header.class();
        if packet.segment.len > 0 {
            side.gap.end(now);
            let (data, echo) = (Bytes(u64::from(packet.segment.len)), packet.segment.tsecr);
            if let Some(window) = host.nic.on_data(now, slot, data, echo) {
                side.receiver.resize_window(window);
            }
        }
        let (segment, marks) = (&packet.segment, Marks::of(header));
        let acks = match segments {
            1 => side.receiver.on_data(config, now, segment, marks),
            _ => side.receiver.on_merged(config, now, segment, marks, segments),
        };
        let complete = side.flow.filter(|_| side.receiver.received() >= side.flow_end);
        if let Some(flow) = complete {
            side.complete(flow, flows, now);
            if flows.is_request(flow) {
                let record = flows.at(flow);
                host.duplex.ask(record.workload, record.leg.expect("requests are parts of queries"), slot);
            }
        }
        Reception::At { slot, acks, complete }
    }

    /// An acknowledgement of the receiver at this place, as it leaves.
    #[inline]
    pub(crate) fn acknowledge(&mut self, place: Place, segment: AckSegment) -> (Header, AckPacket) {
        let (side, transport) = self.receiver_mut(place);
        acknowledgement(side.address, side.name, transport, segment)
    }

    /// Likewise of one that the host has forgotten, in answer to data with this header.
    pub(crate) fn acknowledge_again(
        &self,
        header: &Header,
        data: &DataPacket,
        segment: AckSegment,
        flows: &Flows,
    ) -> (Header, AckPacket) {
        let workload = data.framing.workload(flows);
        let [_, transport] = self.transports.between(workload, header.source, header.destination);
        acknowledgement(Address::of_data(header), data.name, self.transports.at(transport), segment)
    }

    /// A receiver has sent what it must. Returns when its timer is to fire, if nothing will before; one that is done and
    /// waits for nothing is forgotten.
    #[inline]
    pub(crate) fn rest_receiver(&mut self, place: Place) -> Option<Instant> {
        let (side, _) = self.receiver_mut(place);
        let deadline = side.receiver.deadline();
        if side.is_done && deadline.is_none() {
            self.host(place.host).dismiss(place.slot);
            return None;
        }
        arm(deadline, &mut side.timer_at)
    }

    /// The timer of a receiver fires. Returns what it sends.
    pub(crate) fn on_receiver_timer(&mut self, place: Place, now: Instant) -> Option<(Header, AckPacket)> {
        let (side, transport) = self.receiver_mut(place);
        if side.timer_at != now {
            return None; // overtaken by an earlier one
        }
        side.timer_at = Instant::MAX;
        let is_due = side.receiver.deadline().is_some_and(|deadline| deadline <= now);
        let ack = if is_due { side.receiver.on_timer(&transport.config, now) } else { None };
        ack.map(|ack| acknowledgement(side.address, side.name, transport, ack))
    }
}

impl Framing {
    /// The workload whose connection it is.
    #[cold]
    fn workload(&self, flows: &Flows) -> u16 {
        match self {
            Self::Flow(framing) => flows.at(framing.flow.get()).workload,
            Self::BeforeFlows { workload } => *workload,
        }
    }
}

impl ReceiverSide {
    /// Hear of the flow to which data belongs.
    #[inline]
    fn listen(&mut self, framing: &Framing, flows: &Flows) {
        let Framing::Flow(framing) = framing else { return };
        if self.newest == Some(framing.flow) {
            self.timeouts = self.timeouts.max(framing.timeouts);
        } else if self.newest.is_none() || framing.start > self.flow_start {
            self.begin(framing, flows);
        }
    }

    #[cold]
    fn begin(&mut self, framing: &FlowFraming, flows: &Flows) {
        let flow = framing.flow.get();
        let size = flows.at(flow).size;
        (self.newest, self.flow) = (Some(framing.flow), Some(flow));
        self.flow_start = framing.start;
        self.flow_end = size.map_or(u64::MAX, |size| framing.start + size.0);
        self.timeouts = framing.timeouts;
        self.gap = Gap::from(framing.started);
    }

    /// The last byte of a flow has come.
    #[cold]
    fn complete(&mut self, flow: u32, flows: &mut Flows, now: Instant) {
        self.flow = None;
        // A request is not the last that comes before its answer has been acknowledged.
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

/// What an acknowledgement has done, before which so many bytes were acknowledged.
#[inline]
fn hear(side: &mut SenderSide, before: u64, now: Instant) -> Hearing {
    if side.sender.acked() > before {
        side.gap.end(now);
    }
    match side.flow {
        Some(flow) if side.sender.acked() >= side.flow_end => Hearing::Complete(flow),
        _ => Hearing::Open,
    }
}

/// Sequence number after the last byte of a flow that its receiver has had, and forgotten with its connection.
fn end_of_forgotten(framing: &Framing, flows: &Flows) -> Option<u64> {
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

/// Bytes that SACK blocks add to a TCP header (RFC 2018 §3: two plus eight for each, padded to words).
fn sack_option_bytes(blocks: u8) -> u16 {
    if blocks == 0 { 0 } else { 4 + 8 * u16::from(blocks) }
}

/// What a long-lived flow writes: more than any run sends, and far from overflow.
const FOREVER: u64 = 1 << 60;
