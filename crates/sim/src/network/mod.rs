//! A network at work: nodes, the links between them, and what is under way.
//!
//! It is the same for simulated and for real hosts. Whoever drives it ([`Driver`]) has the clock and the hosts: it puts what they send
//! into the network ([`Network::send`]), calls back when something is due there, and gets what reaches a host
//! ([`Network::deliver`]).

mod build;
mod calendar;
mod changes;
pub(crate) mod division;
pub(crate) mod event;
pub(crate) mod link;
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
use shallows_switch::port::{Arrival, Counters, Departure};
use shallows_switch::{Ingress, Node};

pub(crate) use crate::network::calendar::Arriving;
use crate::network::calendar::Calendar;
use crate::network::event::LinkRank;
use crate::network::link::{FarEnd, Flying, InFlight, Leaves, Link, NONE, Target, Way};
use crate::network::places::Places;
use crate::network::sorter::Sorter;
use crate::network::waiting::{Waiting, Way as WayOut};

/// A network, or a partition of one. Its packets are a header, which it reads, and whatever finds the rest: a `T`.
#[derive(Debug)]
pub struct Network<T> {
    /// Near ends of links, each the port of a node: those of a node side by side.
    links: Vec<Link<T>>,
    places: Places,
    /// Far ends: of the same links at the same places, then of those that come from other partitions.
    wires: Vec<FarEnd>,
    in_flight: InFlight<T>,
    /// Whether switches run one by one, window by window; else by events.
    by_window: bool,
    /// Whether NICs then send without events too, because nobody acts on what departs there.
    nics_by_window: bool,
    /// Packets on their way to switches that run window by window; others are in flight.
    calendar: Calendar<T>,
    /// By switch; then of all hosts.
    waiting: Vec<Waiting>,
    /// Switches, or all hosts, at whose ports packets wait.
    busy: Vec<u32>,
    /// When the first of these sends next.
    next_departure: Instant,
    /// Up to when switches have run.
    visited: Instant,
    /// When something last happened at these.
    last: Instant,
    /// Arrivals at nodes that run window by window, and departures from them.
    events: u64,
    /// How often a switch has lived through a window, or all hosts together.
    visits: u64,
    /// Kept to spare an allocation.
    sorter: Sorter,
    ways: Vec<WayOut>,
    /// Hosts first, then switches.
    nodes: Vec<Owned>,
    node_numbers: Places,
    /// Those of now.
    routing: Arc<Routing>,
    /// How the network changes.
    epochs: Arc<[Epoch]>,
    /// How many of these are over.
    epochs_over: usize,
    /// Numbers of the links that come from other partitions, in order.
    entrances: Box<[u32]>,
    /// What has been lost in flight here, by number of the link.
    lost: BTreeMap<u32, Lost>,
    /// How many hosts the whole network has.
    hosts: u32,
    /// Payloads that a port has just dropped, until the driver takes them back; kept to spare an allocation.
    dropped: Vec<T>,
    /// Counts, of which the driver keeps those of its hosts.
    pub tally: Tally,
}

/// The ports and the memory of one node.
#[derive(Debug)]
struct Owned {
    ports: Range<u32>,
    memory: SharedBuffer,
}

/// A link to which something happens: where it is kept, and its place in the order of events at equal times.
#[derive(Clone, Copy, Debug)]
pub struct LinkAt {
    /// Where its near end is kept, or its far end.
    pub place: u32,
    pub(crate) rank: LinkRank,
}

/// Who drives a network.
pub trait Driver<T> {
    /// The time.
    fn now(&self) -> Instant;

    /// [`Network::transmit`] is to be called then.
    fn transmit_at(&mut self, at: Instant, link: LinkAt);

    /// [`Network::deliver`] is to be called then.
    fn deliver_at(&mut self, at: Instant, link: LinkAt);

    /// [`Network::change`] is to be called then for this epoch, after all else that happens at that time.
    fn change_at(&mut self, at: Instant, epoch: u32);

    /// [`Network::transmit`] is not to be called then: the link has gone down.
    fn cancel_transmit(&mut self, at: Instant, link: LinkAt);

    /// [`Network::deliver`] is not to be called then.
    fn cancel_deliver(&mut self, at: Instant, link: LinkAt);

    /// The port of a link that is watched has changed at this time.
    fn observe(&mut self, now: Instant, change: Change<'_, T>);

    /// A packet leaves for another partition of the network, by this of its exits.
    fn leave(&mut self, exit: u32, arrival: Instant, header: Header, payload: T);

    /// The link of this exit has gone down. What has left by it, and the other partition has not been given yet, is lost.
    fn lose(&mut self, exit: u32) -> Lost;

    /// The next packet on its way to this target: it arrives soon.
    fn expect(&self, target: Target, payload: T);

    /// A port, that of this host if it is a host's, has dropped a packet, or a link has lost it; says whether that was a segment with
    /// data.
    fn discard(&mut self, host: Option<HostId>, payload: T) -> bool;
}

/// The port of a link that is watched has changed.
#[derive(Debug)]
pub struct Change<'a, T> {
    link: &'a mut Link<T>,
    memory: &'a SharedBuffer,
    leaves: Option<(Header, T)>,
}

impl<T: Copy + Default> Change<'_, T> {
    /// Let a trace read the port, if it reads that at every change.
    pub fn trace(&mut self, now: Instant, tracer: &mut PortTracer) {
        if self.link.watch.traced {
            tracer.record(now, self.link.number, &mut self.link.port, self.memory);
        }
    }

    /// What starts to leave the port of a link that is captured: the number of the link, and the packet.
    pub fn captured(&self) -> Option<(u32, Header, T)> {
        let (header, payload) = self.leaves.filter(|_| self.link.watch.captured)?;
        Some((self.link.number, header, payload))
    }
}

impl<T: Copy + Default> Network<T> {
    /// Have the processor load what most packets meet on their way.
    pub(crate) fn prefetch(&self) {
        prefetch_all(&self.links);
        prefetch_all(&self.wires);
        self.in_flight.prefetch();
        self.nodes.iter().for_each(|node| node.memory.prefetch());
        self.links.iter().for_each(|link| link.port.prefetch());
    }

    /// A host sends a packet. Says whether it starts to leave at once.
    #[inline]
    pub fn send(&mut self, host: HostId, header: Header, payload: T, driver: &mut impl Driver<T>) -> bool {
        // The link that leaves a host has its number.
        let place = self.places.at(host.0) as u32;
        if self.by_window && self.nics_by_window {
            return self.send_by_window(place, header, payload, driver);
        }
        self.enqueue(driver.now(), place, Ingress::NONE, header, payload, driver)
    }

    /// A packet joins the port of a link. Says whether it starts to leave at once.
    fn enqueue(
        &mut self,
        now: Instant,
        place: u32,
        ingress: Ingress,
        header: Header,
        payload: T,
        driver: &mut impl Driver<T>,
    ) -> bool {
        let Self { links, nodes, dropped, .. } = self;
        let Owned { ports, memory } = &mut nodes[links[place as usize].node as usize];
        let mut node = Node { all: links, ports: ports.clone(), memory };
        let mut leaves = false;
        match node.receive(now, place, ingress, header, payload, dropped) {
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

    /// The port of a link is to send what waits there. Returns what starts to leave.
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

    /// A packet starts to leave the port of a link.
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
            // Before the packet may leave this partition.
            self.observe(now, place, Some((header, payload)), driver);
        }
        self.launch(place, way, header, payload, driver);
    }

    /// The port of a link has changed, and nothing leaves it.
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
        let memory = &self.nodes[link.node as usize].memory;
        driver.observe(now, Change { link, memory, leaves });
    }

    /// It goes this way.
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

    /// A packet is on its way to the far end of a link, whose near end may be in another partition.
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

    /// The first packet in flight on a link arrives. Returns it if that is at a host.
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
        }
    }

    /// Give back to the driver what the port of a link has dropped.
    #[cold]
    fn reclaim(&mut self, place: u32, driver: &mut impl Driver<T>) {
        self.tally.packets_dropped += self.dropped.len() as u64;
        let host = self.host_at(place);
        let link = &mut self.links[place as usize];
        for payload in self.dropped.drain(..) {
            link.data_dropped += u64::from(driver.discard(host, payload));
        }
    }

    /// The host that a link leaves, if it leaves one.
    pub(crate) fn host_at(&self, place: u32) -> Option<HostId> {
        // The link that leaves a host has its number.
        let number = self.links[place as usize].number;
        (number < self.hosts).then_some(HostId(number))
    }

    /// When the next packet in flight on the link with this number arrives.
    pub fn next_arrival(&self, number: u32) -> Option<Instant> {
        self.wires[self.places.at(number)].first(&self.in_flight).map(|flying| flying.arrival)
    }

    /// What has passed the port of each link, and what waits there, by number of the link.
    pub fn counters(&self) -> impl Iterator<Item = (u32, Counters, Bytes)> + '_ {
        self.links.iter().map(|link| (link.number, link.port.counters(), link.port.backlog()))
    }

    /// The links that leave nodes which are here, in the order of their numbers.
    pub(crate) fn links(&self) -> &[Link<T>] {
        &self.links
    }

    /// Let a trace read the ports of those of these links that leave nodes which are here.
    pub fn trace(&mut self, now: Instant, links: &[u32], tracer: &mut PortTracer) {
        for &number in links.iter().filter(|&&number| self.places.has(number)) {
            let link = &mut self.links[self.places.at(number)];
            tracer.record(now, number, &mut link.port, &self.nodes[link.node as usize].memory);
        }
    }

    /// The link with this number, which leaves a node that is here.
    pub(crate) fn at(&mut self, number: u32) -> &mut Link<T> {
        &mut self.links[self.places.at(number)]
    }

    /// The rate of the link with this number, which leaves a node that is here.
    pub fn rate(&self, link: u32) -> Rate {
        self.links[self.places.at(link)].port.rate()
    }

    /// Have the driver told of what these look at ([`Driver::observe`]).
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

    /// Let a sampler see what waits here; returns when to come again.
    pub fn sample(&self, now: Instant, sampler: &mut Sampler) -> Instant {
        let ports = self.links.iter().map(|link| (link.number, link.port.backlog()));
        sampler.sample(now, ports, self.memories())
    }

    /// What each port has counted, in the order of their links.
    pub fn port_counts(&self) -> impl Iterator<Item = PortCounts> + '_ {
        self.links.iter().map(|link| PortCounts::of(link.number, &link.port, link.data_dropped))
    }

    /// The memory of each node, by the number of that.
    pub fn memories(&self) -> impl Iterator<Item = (u32, &SharedBuffer)> + '_ {
        self.node_numbers.numbers().zip(self.nodes.iter().map(|node| &node.memory))
    }

    /// Check the laws that hold at any moment between two events; returns how many packets are under way here.
    ///
    /// # Panics
    ///
    /// If the books do not balance, which is a defect of this program.
    pub fn audit(&self) -> u64 {
        self.nodes.iter().for_each(|node| node.memory.audit());
        let mut under_way = (self.in_flight.len() + self.calendar.len()) as u64;
        for link in &self.links {
            link.port.audit(&self.nodes[link.node as usize].memory);
            let counters = link.port.counters();
            under_way += counters.enqueued() - counters.dequeued();
        }
        under_way
    }
}
