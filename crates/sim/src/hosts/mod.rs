//! Hosts and their connections. A host's behaviour depends only on its own state and on the packets that reach it.
//!
//! A [`Driver`] has the clock and the network. The driver calls a method when something happens at a host ([`Hosts::start`],
//! [`Hosts::prime`], [`Hosts::send`], [`Hosts::receive`], [`Hosts::on_timer`], [`Hosts::on_departure`], [`Hosts::on_drops`]),
//! takes the packets that the host sends, and receives the progress of flows as [`HostEvent`]s.

pub(crate) mod connection;
pub(crate) mod duplex;
pub(crate) mod endpoint;
pub(crate) mod flow;
pub(crate) mod gap;
pub(crate) mod host;
pub(crate) mod message;
pub(crate) mod names;
pub(crate) mod nic;
pub(crate) mod packet;
pub(crate) mod pool;

mod answers;
mod arrivals;
mod opening;
mod outstanding;
#[cfg(test)]
mod pair;
mod pulling;
mod queue_pair;
mod reads;
mod receiving;
mod sending;
mod settling;
mod timer;
mod transports;

use std::ops::Range;

use shallows_core::packet::{Header, HostId};
use shallows_core::{Bytes, Instant, Rate, prefetch_all, prefetch_lines};
use shallows_measure::{FlowRecord, QueuePairCounts, QueuePairs, Senders, Tally};
use shallows_scenario::{Experiment, Flow};

use crate::hosts::connection::{Place, ReceiverSide, SenderSide};
use crate::hosts::endpoint::{ControlState, Endpoint};
use crate::hosts::flow::Flows;
use crate::hosts::host::{Found, Host};
use crate::hosts::nic::Nic;
use crate::hosts::nic::inbox::{Arrived, InboxAt};
use crate::hosts::packet::{PacketRef, Packets, Queued};
use crate::hosts::transports::Transports;
use crate::network::places::Places;

/// Hosts of the network or of one partition, and the flows from and to them.
#[derive(Debug)]
pub(crate) struct Hosts {
    hosts: Vec<Host>,
    places: Places,
    transports: Transports,
    flows: Flows,
    /// Counts of queue pairs that are closed.
    closed_queue_pairs: QueuePairs,
    /// Whether any NIC coalesces arriving packets or has an agent. If not, arriving packets bypass the NICs.
    nics_act_on_arrivals: bool,
    /// Whether any NIC has backpressure and therefore acts on departures.
    nics_act_on_departures: bool,
}

/// Clock, network and observers of hosts.
pub(crate) trait Driver {
    /// Returns the current time.
    fn now(&self) -> Instant;

    /// Returns the bodies of the packets under way.
    fn packets(&mut self) -> &mut Packets;

    /// Returns the counts of the run, to which hosts add.
    fn tally(&mut self) -> &mut Tally;

    /// Puts a packet into the NIC queue of its source. Returns whether the packet leaves at once.
    fn send(&mut self, header: Header, packet: PacketRef) -> bool;

    /// Returns the next data packet that a NIC has dropped, and the host of that NIC. Called only if at least one NIC has backpressure.
    fn dropped(&mut self) -> Option<(HostId, Queued)>;

    /// Schedules a call of [`Hosts::on_timer`] at this time.
    fn timer_at(&mut self, at: Instant, timer: Timer);

    /// Processes a packet that belongs to no connection; returns the reply, if there is one.
    fn answer(&mut self, header: &Header, packet: PacketRef) -> Option<(Header, PacketRef)>;

    /// Announces a flow that begins at the sender in `place`; `bytes` are the sequence numbers of the flow's bytes. Returns whether every
    /// change of the sender must be reported.
    fn traces(&mut self, flow: u32, place: Place, bytes: Range<u64>) -> bool;

    /// Announces that a request of the READ of `flow` has reached the responder in `place`. Returns whether every change of the responder
    /// must be reported.
    fn traces_responder(&mut self, flow: u32, place: Place) -> bool;

    /// Receives an event of a flow.
    fn on_event(&mut self, event: HostEvent<'_>);
}

/// Event of a flow.
#[derive(Debug)]
pub(crate) enum HostEvent<'a> {
    /// The receiver has all data.
    Received(&'a FlowRecord),
    /// The sender has all acknowledgements.
    Acked { flow: u32, record: &'a FlowRecord },
    /// The queue pair of the flow has ended with an error, so the flow will never complete.
    Failed { flow: u32 },
    /// The sender may have changed. This event occurs only for flows whose changes are all reported.
    Changed { flow: u32, endpoint: &'a Endpoint },
    /// The responder of a flow's READ may have changed. This event occurs only for flows whose changes are all reported.
    ResponderChanged { flow: u32, control: ControlState },
}

/// Maximum number of hosts that fit a core's second-level cache together with the network. `FEW_CONNECTIONS` is the maximum number of
/// senders and receivers at these hosts.
const FEW_HOSTS: usize = 32;
const FEW_CONNECTIONS: usize = 256;

/// Timer of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The next interrupt of a receive queue.
    Interrupt(InboxAt),
    Sender(Place),
    Receiver(Place),
    /// Deadline of the agent of this host's NIC.
    Agent(HostId),
    /// Turn of a queue pair, or end of the delay of a message, at this host's NIC.
    Turn(HostId),
}

impl Hosts {
    /// Builds the hosts of `experiment` that are among `nodes`. `rate` returns the rate of a host's link; `flows` are the flows known so
    /// far.
    pub(crate) fn new(
        experiment: &Experiment,
        nodes: &Places,
        rate: impl Fn(HostId) -> Rate,
        flows: Flows,
    ) -> Self {
        let host = |number| {
            let host = HostId(number);
            Host::new(Nic::of(experiment, host, rate(host)), rate(host))
        };
        // Hosts are the first nodes of a partition, as in the whole network.
        let hosts: Vec<_> =
            nodes.numbers().take_while(|&node| node < experiment.network.hosts).map(host).collect();
        Self {
            nics_act_on_arrivals: hosts.iter().any(|host| host.nic.acts_on_arrivals()),
            nics_act_on_departures: hosts.iter().any(|host| host.nic.has_backpressure()),
            hosts,
            places: nodes.clone(),
            transports: Transports::new(experiment),
            flows,
            closed_queue_pairs: QueuePairs::new(),
        }
    }

    /// Registers a flow that one of the hosts will receive.
    pub(crate) fn expect(&mut self, number: u32, flow: &Flow) {
        self.flows.know(number, flow);
    }

    /// Starts a flow at its sender, on a connection; if no connection is free, the flow waits for one.
    pub(crate) fn start(&mut self, number: u32, flow: &Flow, driver: &mut impl Driver) {
        self.flows.know(number, flow);
        match self.connect(flow, number) {
            Some(place) => self.start_flow(place, number, driver),
            None => self.wait(flow, number, driver),
        }
    }

    /// Sends bytes that belong to no flow, to prime a connection.
    pub(crate) fn prime(&mut self, place: Place, bytes: Bytes, driver: &mut impl Driver) {
        let now = driver.now();
        let (side, transport) = self.sender_mut(place);
        side.endpoint.write(&transport.config, now, bytes.0);
        self.pump(place, driver);
    }

    /// Sends a packet from its source.
    #[inline]
    pub(crate) fn send(&mut self, header: Header, packet: PacketRef, driver: &mut impl Driver) {
        if self.queue(header, packet, driver) {
            self.on_departure(header, packet, driver);
        }
    }

    /// Puts a packet into the NIC queue of its source. Returns whether the packet leaves at once and its departure must be handled.
    #[inline(always)]
    fn queue(&mut self, header: Header, packet: PacketRef, driver: &mut impl Driver) -> bool {
        driver.tally().packets_sent += 1;
        let leaves = driver.send(header, packet);
        if self.nics_act_on_departures {
            self.on_drops(driver);
        }
        leaves && self.nics_act_on_departures
    }

    /// Receives a packet at the NIC of its destination.
    #[inline]
    pub(crate) fn receive(&mut self, header: Header, packet: PacketRef, driver: &mut impl Driver) {
        if self.nics_act_on_arrivals {
            return self.meet_nic(header, packet, driver);
        }
        self.hand_up(Arrived::one(header, packet), driver);
    }

    /// Handles a timer.
    #[inline]
    pub(crate) fn on_timer(&mut self, timer: Timer, driver: &mut impl Driver) {
        match timer {
            Timer::Interrupt(at) => self.on_interrupt(at, driver),
            Timer::Sender(place) => self.on_sender_timer(place, driver),
            Timer::Receiver(place) => self.on_receiver_timer(place, driver),
            Timer::Agent(host) => self.on_agent_timer(host, driver),
            Timer::Turn(host) => self.on_turn(host, driver),
        }
    }

    /// Returns whether [`Self::on_departure`] and [`Self::on_drops`] must be called, because a NIC holds back endpoints until packets
    /// depart.
    #[inline]
    pub(crate) fn nics_act_on_departures(&self) -> bool {
        self.nics_act_on_departures
    }

    /// Handles the departure of a packet from the NIC of its host; a connection that the NIC has held back may continue.
    #[inline(never)]
    pub(crate) fn on_departure(&mut self, header: Header, packet: PacketRef, driver: &mut impl Driver) {
        // The link of a host never leads to another partition, so the body is in this store.
        let Some(queued) = driver.packets().queued(packet) else {
            if packet.is_of_queue_pair() {
                self.on_departure_of_response(header, packet, driver);
            }
            return;
        };
        if let Some(place) = self.depart(header.source(), queued) {
            self.pump(place, driver);
        }
    }

    /// Processes packets that NICs have dropped. A TCP connection that the NIC has held back continues in an event of its own, because a
    /// drop can occur while [`Self::pump`] runs. A queue pair continues after a reply or a timeout.
    #[inline]
    pub(crate) fn on_drops(&mut self, driver: &mut impl Driver) {
        while let Some((host, packet)) = driver.dropped() {
            if let Some(place) = self.depart(host, packet)
                && !self.sender(place).endpoint.is_queue_pair()
            {
                self.schedule_resumption(place, driver);
            }
        }
    }

    /// Prefetches the hosts, without their connections.
    pub(crate) fn prefetch(&self) {
        prefetch_all(&self.hosts);
    }

    /// Prefetches a host, without its connections.
    #[inline(always)]
    pub(crate) fn prefetch_host(&self, host: HostId) {
        prefetch_lines(&self.hosts[self.places.at(host.0)]);
    }

    /// Prefetches the sender in `place`.
    #[inline(always)]
    pub(crate) fn prefetch_sender(&self, place: Place) {
        self.hosts[self.places.at(place.host.0)].senders.get(place.slot as usize).map(prefetch_lines);
    }

    /// Prefetches the receiver in `place`.
    pub(crate) fn prefetch_receiver(&self, place: Place) {
        self.hosts[self.places.at(place.host.0)].receivers.get(place.slot as usize).map(prefetch_lines);
    }

    /// Prefetches what [`Self::prefetch_second`] reads. For an acknowledgement, this is the sender. For a data packet, these are the table
    /// entries of the receiver and of a flow that the packet begins or completes.
    #[inline(always)]
    pub(crate) fn prefetch_first(&self, header: &Header, packet: PacketRef, packets: &Packets) {
        if let Some(body) = packets.ack(packet) {
            self.prefetch_sender(Place { host: header.destination(), slot: body.name.slot });
        } else if let Some(body) = packets.data(packet) {
            self.hosts[self.places.at(header.destination().0)].prefetch_name(header, body.name);
            if let Some(flow) = body.begun_or_ended() {
                self.flows.prefetch_place(flow);
            }
        }
    }

    /// Prefetches the receiver of a data packet, and the record of a flow that the packet begins or completes. An acknowledgement can only
    /// complete a flow.
    #[inline(always)]
    pub(crate) fn prefetch_second(&self, header: &Header, packet: PacketRef, packets: &Packets) {
        let host = &self.hosts[self.places.at(header.destination().0)];
        if let Some(body) = packets.ack(packet) {
            let sender = host.senders.get(body.name.slot as usize);
            if let Some(flow) =
                sender.filter(|side| body.segment.ack >= side.flow_end).and_then(|side| side.flow)
            {
                self.flows.prefetch(flow);
            }
        } else if let Some(body) = packets.data(packet) {
            if let Found::Slot(slot) = host.find(header, body.name) {
                prefetch_lines(&host.receivers[slot as usize]);
            }
            if let Some(flow) = body.begun_or_ended() {
                self.flows.prefetch(flow);
            }
        }
    }

    /// Returns whether the hosts and their connections are so few that the cache holds them.
    pub(crate) fn stay_in_cache(&self) -> bool {
        let connections = self.hosts.iter().map(|host| host.senders.len() + host.receivers.len());
        self.hosts.len() <= FEW_HOSTS && connections.sum::<usize>() <= FEW_CONNECTIONS
    }

    /// Returns the number of packets that wait in NICs.
    pub(crate) fn waiting(&self) -> usize {
        self.hosts.iter().map(|host| host.nic.waiting()).sum()
    }

    /// Returns whether this host is in this partition.
    pub(crate) fn has(&self, host: HostId) -> bool {
        self.places.has(host.0)
    }

    /// Returns the counts of all queue pairs so far.
    pub(crate) fn queue_pairs(&self) -> QueuePairs {
        let mut all = self.closed_queue_pairs.clone();
        let opened = self.hosts.iter().flat_map(|host| &host.senders).filter(|side| !side.is_closed);
        let responders = self.hosts.iter().flat_map(Host::receiving);
        let counts = opened.filter_map(|side| self.counts(side));
        for (senders, counts) in counts.chain(responders.filter_map(|side| self.counts_of_responder(side))) {
            *all.entry(senders).or_default() += counts;
        }
        all
    }

    /// Returns the counts of the queue pair that a host has opened, and the senders of the queue pair's data; `None` for TCP.
    fn counts(&self, side: &SenderSide) -> Option<(Senders, QueuePairCounts)> {
        let counts = side.endpoint.counts()?;
        Some((self.transports.senders(side.workload, side.address.source, side.address.destination), counts))
    }

    /// Returns the counts of a responder of READs, and the senders of the queue pair's data; `None` for other receiving sides.
    fn counts_of_responder(&self, side: &ReceiverSide) -> Option<(Senders, QueuePairCounts)> {
        let reads = side.receiver.reads()?;
        let workload = reads.framing.workload(&self.flows);
        let senders = self.transports.senders(workload, side.address.source, side.address.destination);
        Some((senders, reads.counts()))
    }

    /// Adds the counts of a removed queue pair to the counts of closed queue pairs. Does nothing for `None`.
    fn keep_counts(&mut self, counts: Option<(Senders, QueuePairCounts)>) {
        if let Some((senders, counts)) = counts {
            *self.closed_queue_pairs.entry(senders).or_default() += counts;
        }
    }

    /// Returns the registered flows.
    pub(crate) fn flows(&self) -> &Flows {
        &self.flows
    }

    #[inline]
    pub(crate) fn sender(&self, place: Place) -> &SenderSide {
        &self.hosts[self.places.at(place.host.0)].senders[place.slot as usize]
    }

    /// Replaces the NIC of a host, before the first event.
    #[cfg(test)]
    pub(crate) fn install(&mut self, host: HostId, nic: Nic) {
        self.nics_act_on_arrivals |= nic.acts_on_arrivals();
        self.nics_act_on_departures |= nic.has_backpressure();
        self.host(host).nic = nic;
    }

    #[inline]
    fn host(&mut self, host: HostId) -> &mut Host {
        &mut self.hosts[self.places.at(host.0)]
    }
}
