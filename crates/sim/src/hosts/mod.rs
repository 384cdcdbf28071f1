//! What hosts do with their connections: each decides from what it knows and from the packets that it is handed.
//!
//! Whoever runs hosts is their [`Driver`]: it has the clock and the network. It calls one of a handful of verbs when something
//! happens at a host ([`Hosts::start`], [`Hosts::prime`], [`Hosts::send`], [`Hosts::receive`], [`Hosts::on_timer`],
//! [`Hosts::on_departure`]), gets what the host sends, and hears what has become of flows as a [`HostEvent`].

pub(crate) mod connection;
pub(crate) mod duplex;
pub(crate) mod endpoint;
pub(crate) mod flow;
pub(crate) mod gap;
pub(crate) mod host;
pub(crate) mod names;
pub(crate) mod nic;
pub(crate) mod packet;
pub(crate) mod pool;

mod answers;
mod arrivals;
mod opening;
#[cfg(test)]
mod pair;
mod pulling;
mod receiving;
mod sending;
mod settling;
mod timer;
mod transports;

use shallows_core::packet::{Header, HostId};
use shallows_core::{Bytes, Instant, Rate, prefetch_all, prefetch_lines};
use shallows_measure::{FlowRecord, Tally};
use shallows_scenario::{Experiment, Flow};

use crate::hosts::connection::{Place, SenderSide};
use crate::hosts::endpoint::Endpoint;
use crate::hosts::flow::Flows;
use crate::hosts::host::{Found, Host};
use crate::hosts::nic::Nic;
use crate::hosts::nic::inbox::{Arrived, InboxAt};
use crate::hosts::packet::{DataPacket, PacketRef, Packets};
use crate::hosts::transports::Transports;
use crate::network::places::Places;

/// All hosts, and the flows that concern them.
#[derive(Debug)]
pub(crate) struct Hosts {
    hosts: Vec<Host>,
    places: Places,
    transports: Transports,
    flows: Flows,
    /// Whether the NIC of any of them has packets that arrive wait for each other, or looks at them. Where none does, this is all
    /// that is asked of NICs then.
    nics_act_on_arrivals: bool,
    /// Whether the NIC of any of them does something when a packet departs.
    nics_act_on_departures: bool,
}

/// What hosts need from outside.
pub(crate) trait Driver {
    /// The time.
    fn now(&self) -> Instant;

    /// Bodies of the packets under way.
    fn packets(&mut self) -> &mut Packets;

    /// Counts, of which hosts keep theirs.
    fn tally(&mut self) -> &mut Tally;

    /// A packet joins the queue of the NIC of the host that sends it. Says whether it leaves at once.
    fn send(&mut self, header: Header, packet: PacketRef) -> bool;

    /// The next packet with data that the NIC of this host has dropped since the last time, if any NIC acts on departures.
    fn dropped(&mut self) -> Option<(HostId, DataPacket)>;

    /// [`Hosts::on_timer`] is to be called then.
    fn timer_at(&mut self, at: Instant, timer: Timer);

    /// A packet of no connection has reached its host: what that answers.
    fn answer(&mut self, header: &Header, packet: PacketRef) -> Option<(Header, PacketRef)>;

    /// A flow begins at this place, after `before` bytes of its connection: whether every change of its sender is to be told.
    fn traces(&mut self, flow: u32, place: Place, before: u64) -> bool;

    /// Something has become of a flow.
    fn on_event(&mut self, event: HostEvent<'_>);
}

/// What has become of a flow.
#[derive(Debug)]
pub(crate) enum HostEvent<'a> {
    /// Its receiver has all of it.
    Received(&'a FlowRecord),
    /// Its sender has every acknowledgement.
    Acked { flow: u32, record: &'a FlowRecord },
    /// Its sender may have changed, and every change is to be told.
    Changed { flow: u32, endpoint: &'a Endpoint },
}

/// What a host waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The next interrupt of a receive queue.
    Interrupt(InboxAt),
    Sender(Place),
    Receiver(Place),
    /// The deadline of the agent of this host's NIC.
    Agent(HostId),
}

impl Hosts {
    /// The hosts of `experiment` among these nodes, of which `rate` tells how fast they send. So far they know these flows.
    pub(crate) fn new(
        experiment: &Experiment,
        nodes: &Places,
        rate: impl Fn(HostId) -> Rate,
        flows: Flows,
    ) -> Self {
        let host = |number| {
            let host = HostId(number);
            Host::new(Nic::of(experiment, host, rate(host)))
        };
        // Hosts are the first nodes, here as in the whole network.
        let hosts: Vec<_> =
            nodes.numbers().take_while(|&node| node < experiment.network.hosts).map(host).collect();
        Self {
            nics_act_on_arrivals: hosts.iter().any(|host| host.nic.acts_on_arrivals()),
            nics_act_on_departures: hosts.iter().any(|host| host.nic.has_backpressure()),
            hosts,
            places: nodes.clone(),
            transports: Transports::new(experiment),
            flows,
        }
    }

    /// A flow will come to one of the hosts.
    pub(crate) fn expect(&mut self, number: u32, flow: &Flow) {
        self.flows.know(number, flow);
    }

    /// A flow arrives at its sender: it gets a connection, or waits for one.
    pub(crate) fn start(&mut self, number: u32, flow: &Flow, driver: &mut impl Driver) {
        self.flows.know(number, flow);
        if let Some(place) = self.connect(flow, number) {
            self.start_flow(place, number, driver);
        }
    }

    /// A connection sends bytes that belong to no flow.
    pub(crate) fn prime(&mut self, place: Place, bytes: Bytes, driver: &mut impl Driver) {
        let now = driver.now();
        let (side, transport) = self.sender_mut(place);
        side.endpoint.write(&transport.config, now, bytes.0);
        self.pump(place, driver);
    }

    /// A host sends a packet, such as one of no connection.
    #[inline]
    pub(crate) fn send(&mut self, header: Header, packet: PacketRef, driver: &mut impl Driver) {
        driver.tally().packets_sent += 1;
        let leaves = driver.send(header, packet);
        if self.nics_act_on_departures {
            self.on_drops(driver);
            if leaves {
                self.on_departure(header, packet, driver);
            }
        }
    }

    /// A packet reaches its host's NIC.
    #[inline]
    pub(crate) fn receive(&mut self, header: Header, packet: PacketRef, driver: &mut impl Driver) {
        if self.nics_act_on_arrivals {
            return self.meet_nic(header, packet, driver);
        }
        self.hand_up(Arrived::one(header, packet), driver);
    }

    /// Something is due for which a host has waited.
    #[inline]
    pub(crate) fn on_timer(&mut self, timer: Timer, driver: &mut impl Driver) {
        match timer {
            Timer::Interrupt(at) => self.on_interrupt(at, driver),
            Timer::Sender(place) => self.on_sender_timer(place, driver),
            Timer::Receiver(place) => self.on_receiver_timer(place, driver),
            Timer::Agent(host) => self.on_agent_timer(host, driver),
        }
    }

    /// Whether [`Self::on_departure`] or [`Self::on_drops`] is to be called at all: whether the NIC of any host holds endpoints back
    /// until something departs.
    #[inline]
    pub(crate) fn nics_act_on_departures(&self) -> bool {
        self.nics_act_on_departures
    }

    /// A packet that has waited in the NIC of its host leaves it: the connection may go on that the NIC has held back.
    #[inline(never)]
    pub(crate) fn on_departure(&mut self, header: Header, packet: PacketRef, driver: &mut impl Driver) {
        // The link of a host never leads to another partition, so the body is still here.
        if let Some(body) = driver.packets().data(packet)
            && let Some(place) = self.depart(header.source, body)
        {
            self.pump(place, driver);
        }
    }

    /// NICs may have dropped packets. Their connections are not woken: acknowledgements and timers find what is lost.
    #[inline]
    pub(crate) fn on_drops(&mut self, driver: &mut impl Driver) {
        while let Some((host, packet)) = driver.dropped() {
            self.depart(host, &packet);
        }
    }

    /// Have the processor load them, without their connections.
    pub(crate) fn prefetch(&self) {
        prefetch_all(&self.hosts);
    }

    /// Have the processor load a host, without its connections.
    #[inline(always)]
    pub(crate) fn prefetch_host(&self, host: HostId) {
        prefetch_lines(&self.hosts[self.places.at(host.0)]);
    }

    /// Have the processor load what finds the receiver of this packet, if it carries data.
    #[inline(always)]
    pub(crate) fn prefetch_name(&self, header: &Header, packet: PacketRef, packets: &Packets) {
        if let Some(body) = packets.data(packet) {
            self.hosts[self.places.at(header.destination.0)].prefetch_name(header, body.name);
        }
    }

    /// Have the processor load the side of a connection that this packet reaches soon.
    #[inline(always)]
    pub(crate) fn prefetch_connection(&self, header: &Header, packet: PacketRef, packets: &Packets) {
        let host = &self.hosts[self.places.at(header.destination.0)];
        if let Some(body) = packets.ack(packet) {
            host.senders.get(body.name.slot as usize).map(prefetch_lines);
        } else if let Some(body) = packets.data(packet)
            && let Found::Slot(slot) = host.find(header, body.name)
        {
            prefetch_lines(&host.receivers[slot as usize]);
        }
    }

    /// How many packets wait at NICs for their hosts.
    pub(crate) fn waiting(&self) -> usize {
        self.hosts.iter().map(|host| host.nic.waiting()).sum()
    }

    /// Whether this host is one of them.
    pub(crate) fn has(&self, host: HostId) -> bool {
        self.places.has(host.0)
    }

    /// The flows that they know of.
    pub(crate) fn flows(&self) -> &Flows {
        &self.flows
    }

    #[inline]
    pub(crate) fn sender(&self, place: Place) -> &SenderSide {
        &self.hosts[self.places.at(place.host.0)].senders[place.slot as usize]
    }

    /// Give a host another NIC, before anything has happened.
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
