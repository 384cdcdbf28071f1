//! The network: nodes, the links between them, and packets under way.
//!
//! The same network serves simulated and real hosts. Its [`Driver`] has the clock and the hosts. It passes packets from hosts to
//! [`Network::send`], calls [`Network::transmit`], [`Network::deliver`] and [`Network::change`] at the requested times, and takes packets
//! that reach hosts from [`Network::deliver`].

mod build;
mod calendar;
mod changes;
pub(crate) mod division;
pub(crate) mod event;
pub(crate) mod link;
mod lossless;
mod pauses;
pub(crate) mod places;
pub(crate) mod ports;
pub(crate) mod site;
pub(crate) mod slots;
mod sorter;
#[cfg(test)]
pub(crate) mod testing;
mod visit;
mod waiting;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use shallows_core::packet::{Header, HostId};
use shallows_core::{Bytes, Instant, Rate, prefetch_all};
use shallows_measure::{Captures, Lost, PortCounts, PortTracer, Sampler, Tally};
use shallows_scenario::{Epoch, Routing};
use shallows_switch::buffer::SharedBuffer;
use shallows_switch::port::{Arrival, Counters, Departure, Entry};
use shallows_switch::{Ingress, Node};

pub(crate) use crate::network::calendar::Arriving;
use crate::network::calendar::Calendar;
use crate::network::event::LinkRank;
use crate::network::link::{FarEnd, Flying, InFlight, Leaves, Link, NONE, Target, Way};
use crate::network::pauses::Lossless;
use crate::network::places::Places;
use crate::network::sorter::Sorter;
use crate::network::waiting::Waiting;

/// A network, or one partition of it. A packet consists of a header, which the network reads, and a payload `T`, with which the driver
/// finds the body.
#[derive(Debug)]
pub struct Network<T> {
    /// Near ends of links. Each contains its node's port; links of a node are adjacent.
    links: Vec<Link<T>>,
    places: Places,
    /// Far ends of links: of `links` at the same places, then of links from other partitions.
    wires: Vec<FarEnd>,
    in_flight: InFlight<T>,
    /// Whether switches run one by one, window by window; otherwise by events.
    by_window: bool,
    /// Whether NICs also send without events while switches run by window; allowed if no host reacts to departures.
    nics_by_window: bool,
    /// Packets in flight while switches run by window; otherwise they are in `in_flight`.
    calendar: Calendar<T>,
    /// Ports with waiting packets, by switch; the last entry is for all hosts.
    waiting: Vec<Waiting>,
    /// Entries of `waiting` that have waiting packets.
    busy: Vec<u32>,
    /// Time of the earliest departure at the `busy` entries.
    next_departure: Instant,
    /// Time up to which switches have run by window.
    visited: Instant,
    /// Time of the last event at nodes that run by window.
    last: Instant,
    /// Number of arrivals at nodes that run by window, and of departures from them.
    events: u64,
    /// Number of visits: one per switch and window, and one per window for all hosts together.
    visits: u64,
    /// Scratch space, kept to avoid allocations.
    sorter: Sorter,
    /// Hosts first, then switches.
    nodes: Vec<Owned>,
    node_numbers: Places,
    /// Current routes.
    routing: Arc<Routing>,
    /// Changes of the network, in order of time.
    epochs: Arc<[Epoch]>,
    /// Number of epochs that have begun.
    epochs_over: usize,
    /// Numbers of the links from other partitions, ascending.
    entrances: Box<[u32]>,
    /// Packets lost in flight in this partition, by number of the link.
    lost: BTreeMap<u32, Lost>,
    /// Ingress accounting and pauses, if the network has lossless classes.
    lossless: Option<Box<Lossless>>,
    /// Number of hosts in the whole network.
    hosts: u32,
    /// Payloads that a port has just dropped, until the driver takes them back. The vector is kept to avoid allocations.
    dropped: Vec<T>,
    /// Counts of packets. The driver adds the counts of its hosts.
    pub tally: Tally,
}

/// Ports and memory of one node.
#[derive(Debug)]
struct Owned {
    ports: Range<u32>,
    memory: SharedBuffer,
}

/// Link at which an event occurs: the link's place in storage, and its rank among simultaneous events.
#[derive(Clone, Copy, Debug)]
pub struct LinkAt {
    /// Place of the link's near end for departures, and of its far end for arrivals.
    pub place: u32,
    pub(crate) rank: LinkRank,
}

/// Clock, event queue and hosts of a network.
pub trait Driver<T> {
    /// Returns the current time.
    fn now(&self) -> Instant;

    /// Schedules a call of [`Network::transmit`] at this time.
    fn transmit_at(&mut self, at: Instant, link: LinkAt);

    /// Schedules a call of [`Network::deliver`] at this time.
    fn deliver_at(&mut self, at: Instant, link: LinkAt);

    /// Schedules a call of [`Network::pause`] at this time.
    fn pause_at(&mut self, _at: Instant, _link: LinkAt) {
        unreachable!("this driver has no networks with lossless classes")
    }

    /// Returns the payload of a packet without a body.
    fn nothing(&self) -> T {
        unreachable!("this driver has no networks with lossless classes")
    }

    /// Schedules a call of [`Network::change`] for this epoch, after all other events of that time.
    fn change_at(&mut self, at: Instant, epoch: u32);

    /// Cancels the call of [`Network::transmit`] at this time, because the link has gone down.
    fn cancel_transmit(&mut self, at: Instant, link: LinkAt);

    /// Cancels the call of [`Network::deliver`] at this time.
    fn cancel_deliver(&mut self, at: Instant, link: LinkAt);

    /// Records a change at the port of a watched link ([`Network::watch`]).
    fn observe(&mut self, now: Instant, change: Change<'_, T>);

    /// Takes a packet that leaves for another partition through this exit.
    fn leave(&mut self, exit: u32, arrival: Instant, header: Header, payload: T);

    /// Discards the packets that left through this exit and that the other partition has not received; returns their counts.
    fn lose(&mut self, exit: u32) -> Lost;

    /// Announces the next packet to arrive at this target, so that the driver can load it into the cache.
    fn expect(&self, target: Target, payload: T);

    /// Releases the payload of a packet that a port dropped or a link lost. `host` is set if the port is a host's. Returns whether the
    /// packet was a segment with data.
    fn discard(&mut self, host: Option<HostId>, payload: T) -> bool;
}

/// Change at the port of a watched link.
#[derive(Debug)]
pub struct Change<'a, T> {
    link: &'a mut Link<T>,
    memory: &'a SharedBuffer,
    leaves: Option<(Header, T)>,
}

impl<T: Copy + Default> Change<'_, T> {
    /// Records the port in a trace that follows every change.
    pub fn trace(&mut self, now: Instant, tracer: &mut PortTracer) {
        if self.link.watch.traced {
            tracer.record(now, self.link.number, &mut self.link.port, self.memory);
        }
    }

    /// Returns the number of the link and the packet that starts to leave, if the link is captured.
    pub fn captured(&self) -> Option<(u32, Header, T)> {
        let (header, payload) = self.leaves.filter(|_| self.link.watch.captured)?;
        Some((self.link.number, header, payload))
    }
}

impl<T: Copy + Default> Network<T> {
    /// Prefetches the data that most packets need on their way.
    pub(crate) fn prefetch(&self) {
        prefetch_all(&self.links);
        prefetch_all(&self.wires);
        self.in_flight.prefetch();
        self.nodes.iter().for_each(|node| node.memory.prefetch());
        self.links.iter().for_each(|link| link.port.prefetch());
    }

    /// Sends a packet from a host. Returns whether it starts to leave at once.
    #[inline]
    pub fn send(&mut self, host: HostId, header: Header, payload: T, driver: &mut impl Driver<T>) -> bool {
        // The link that leaves a host has its number.
        let place = self.places.at(host.0) as u32;
        if self.by_window && self.nics_by_window {
            return self.send_by_window(place, header, payload, driver);
        }
        self.enqueue(driver.now(), place, Ingress::NONE, header, payload, driver)
    }

    /// Adds a packet to the port of a link. Returns whether it starts to leave at once.
    fn enqueue(
        &mut self,
        now: Instant,
        place: u32,
        entry: impl Into<Entry>,
        header: Header,
        payload: T,
        driver: &mut impl Driver<T>,
    ) -> bool {
        let Self { links, nodes, dropped, .. } = self;
        let Owned { ports, memory } = &mut nodes[links[place as usize].node as usize];
        let mut node = Node { all: links, ports: ports.clone(), memory };
        let mut leaves = false;
        match node.receive(now, place, entry, header, payload, dropped) {
            Arrival::Sent(departure) => {
                let Departure { header, payload, .. } = departure;
                let way = self.links[place as usize].leaves(&departure);
                self.depart(now, place, way, header, payload, driver);
                leaves = true;
            }
            Arrival::Queued => {
                let link = &mut self.links[place as usize];
                if let Some(at) = link.schedule() {
                    driver.transmit_at(at, LinkAt { place, rank: link.rank });
                }
                if link.watch.is_on() {
                    self.observe(now, place, None, driver);
                }
            }
            Arrival::Dropped => {
                self.observe_change(now, place, driver);
            }
        }
        if !self.dropped.is_empty() {
            self.reclaim(place, driver);
        }
        leaves
    }

    /// Transmits the next packet of a port, at the time that [`Driver::transmit_at`] gave. Returns the packet.
    #[inline]
    pub fn transmit(&mut self, place: u32, driver: &mut impl Driver<T>) -> Option<(Header, T)> {
        let now = driver.now();
        let Self { links, nodes, dropped, .. } = self;
        let link = &mut links[place as usize];
        link.waking = false;
        let Owned { ports, memory } = &mut nodes[link.node as usize];
        let mut node = Node { all: links, ports: ports.clone(), memory };
        let departure = node.transmit(now, place, dropped);
        let link = &mut self.links[place as usize];
        if let Some(at) = link.schedule() {
            driver.transmit_at(at, LinkAt { place, rank: link.rank });
        }
        let mut sent = None;
        match departure {
            Some(departure) => {
                let Departure { header, payload, .. } = departure;
                let leaves = link.leaves(&departure);
                self.depart(now, place, leaves, header, payload, driver);
                if leaves.watched {
                    self.release(place, departure.held, header, driver);
                }
                sent = Some((header, payload));
            }
            None if link.watch.is_on() => self.observe(now, place, None, driver),
            None => {}
        }
        if !self.dropped.is_empty() {
            self.reclaim(place, driver);
        }
        sent
    }

    /// Launches a packet that starts to leave the port of a link, and reports it to the observers.
    #[inline(always)]
    fn depart(
        &mut self,
        now: Instant,
        place: u32,
        Leaves { way, watched }: Leaves,
        header: Header,
        payload: T,
        driver: &mut impl Driver<T>,
    ) {
        if watched {
            // Observers come first: the packet may leave this partition.
            self.observe(now, place, Some((header, payload)), driver);
        }
        self.launch(place, way, header, payload, driver);
    }

    /// Reports a change at the port of a link without a departure.
    #[inline(always)]
    fn observe_change(&mut self, now: Instant, place: u32, driver: &mut impl Driver<T>) {
        if self.links[place as usize].watch.is_on() {
            self.observe(now, place, None, driver);
        }
    }

    #[inline(never)]
    fn observe(
        &mut self,
        now: Instant,
        place: u32,
        leaves: Option<(Header, T)>,
        driver: &mut impl Driver<T>,
    ) {
        let link = &mut self.links[place as usize];
        if !link.watch.is_observed() {
            return;
        }
        let memory = &self.nodes[link.node as usize].memory;
        driver.observe(now, Change { link, memory, leaves });
    }

    /// Puts a packet on the link, or passes it to its exit to another partition.
    #[inline(always)]
    fn launch(
        &mut self,
        place: u32,
        Way { arrival, exit }: Way,
        header: Header,
        payload: T,
        driver: &mut impl Driver<T>,
    ) {
        self.tally.packet_hops += 1;
        if exit != NONE {
            return driver.leave(exit, arrival, header, payload);
        }
        self.fly(place, arrival, header, payload, driver);
    }

    /// Puts a packet in flight towards the far end of a link; the near end may be in another partition.
    #[inline(always)]
    pub(crate) fn fly(
        &mut self,
        place: u32,
        arrival: Instant,
        header: Header,
        payload: T,
        driver: &mut impl Driver<T>,
    ) {
        let wire = &mut self.wires[place as usize];
        if self.by_window {
            let packet = Arriving { at: arrival, header, payload, wire: place };
            return self.calendar.place(wire.bucket, packet);
        }
        if wire.launch(arrival, header, payload, &mut self.in_flight) {
            driver.deliver_at(arrival, LinkAt { place, rank: wire.rank });
        }
    }

    /// Takes the first packet in flight on a link when it arrives, and returns it if the link ends at a host.
    #[inline]
    pub fn deliver(&mut self, place: u32, driver: &mut impl Driver<T>) -> Option<(Header, T)> {
        let wire = &mut self.wires[place as usize];
        let (Flying { header, payload, .. }, next) = wire.land(&mut self.in_flight);
        if let Some(next) = next {
            driver.deliver_at(next.arrival, LinkAt { place, rank: wire.rank });
            driver.expect(wire.target, next.payload);
        }
        match wire.target {
            Target::Switch(switch) => {
                let ingress = wire.ingress;
                let port = self.places.at(self.routing.next_hop(switch, &header)) as u32;
                self.enqueue(driver.now(), port, ingress, header, payload, driver);
                None
            }
            Target::Host => Some((header, payload)),
            Target::Lossless(node) => self.deliver_lossless(place, node, header, payload, driver),
        }
    }

    /// Passes the payloads that the port of a link has dropped to the driver.
    #[cold]
    fn reclaim(&mut self, place: u32, driver: &mut impl Driver<T>) {
        self.tally.packets_dropped += self.dropped.len() as u64;
        let host = self.host_at(place);
        let link = &mut self.links[place as usize];
        for payload in self.dropped.drain(..) {
            link.data_dropped += u64::from(driver.discard(host, payload));
        }
    }

    /// Returns the host whose NIC sends on this link; `None` if a switch does.
    pub(crate) fn host_at(&self, place: u32) -> Option<HostId> {
        // The link from a host has the host's number.
        let number = self.links[place as usize].number;
        (number < self.hosts).then_some(HostId(number))
    }

    /// Returns the arrival time of the next packet in flight on the link with this number.
    pub fn next_arrival(&self, number: u32) -> Option<Instant> {
        self.wires[self.places.at(number)].first(&self.in_flight).map(|flying| flying.arrival)
    }

    /// Returns number, counters and backlog of the port of each link.
    pub fn counters(&self) -> impl Iterator<Item = (u32, Counters, Bytes)> + '_ {
        self.links.iter().map(|link| (link.number, link.port.counters(), link.port.backlog()))
    }

    /// Returns the links that leave nodes of this partition, in ascending order of their numbers.
    pub(crate) fn links(&self) -> &[Link<T>] {
        &self.links
    }

    /// Records in a trace the ports of those of the `links` that leave nodes of this partition.
    pub fn trace(&mut self, now: Instant, links: &[u32], tracer: &mut PortTracer) {
        for &number in links.iter().filter(|&&number| self.places.has(number)) {
            let link = &mut self.links[self.places.at(number)];
            tracer.record(now, number, &mut link.port, &self.nodes[link.node as usize].memory);
        }
    }

    /// Returns the link with this number, which must leave a node of this partition.
    pub(crate) fn at(&mut self, number: u32) -> &mut Link<T> {
        &mut self.links[self.places.at(number)]
    }

    /// Returns the rate of the link with this number, which must leave a node of this partition.
    pub fn rate(&self, link: u32) -> Rate {
        self.links[self.places.at(link)].port.rate()
    }

    /// Marks the links whose changes the trace or the captures record ([`Driver::observe`]).
    pub fn watch(&mut self, tracer: &PortTracer, captures: Option<&Captures>) {
        for number in tracer.at_every_change() {
            if self.places.has(number) {
                self.at(number).watch.traced = true;
                self.keep_order_of_time(self.places.at(number) as u32);
            }
        }
        for link in &mut self.links {
            link.watch.captured = captures.is_some_and(|captures| captures.want(link.number));
        }
    }

    /// Samples the backlogs and memories of this partition; returns the time of the next sample.
    pub fn sample(&self, now: Instant, sampler: &mut Sampler) -> Instant {
        let ports = self.links.iter().map(|link| (link.number, link.port.backlog()));
        sampler.sample(now, ports, self.memories())
    }

    /// Returns the counts of each port, in the order of the links.
    pub fn port_counts(&self) -> impl Iterator<Item = PortCounts> + '_ {
        self.links.iter().map(|link| PortCounts::of(link.number, &link.port, link.data_dropped))
    }

    /// Returns the number and memory of each node.
    pub fn memories(&self) -> impl Iterator<Item = (u32, &SharedBuffer)> + '_ {
        self.node_numbers.numbers().zip(self.nodes.iter().map(|node| &node.memory))
    }

    /// Checks the conservation laws that hold between two events; returns the number of packets under way in this partition, modulo 2^64
    /// if frames have crossed to other partitions.
    ///
    /// # Panics
    ///
    /// If a law is violated, which is a defect of this program.
    pub fn audit(&self) -> u64 {
        self.nodes.iter().for_each(|node| node.memory.audit());
        let mut under_way = (self.in_flight.len() + self.calendar.len()) as u64;
        for link in &self.links {
            link.port.audit(&self.nodes[link.node as usize].memory);
            let counters = link.port.counters();
            under_way += counters.enqueued() - counters.dequeued();
        }
        self.lossless.as_ref().map_or(under_way, |lossless| under_way.wrapping_sub(lossless.audit()))
    }
}
