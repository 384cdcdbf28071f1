//! The network: nodes, the links between them, and packets in queues and in flight.
//!
//! The same network serves simulated and real hosts. A [`Driver`] owns the clock and the hosts. The driver passes packets from hosts to
//! [`Network::send`]. It calls [`Network::transmit`], [`Network::deliver`] and [`Network::change`] at the times that the network requests.
//! [`Network::deliver`] returns the packets that reach hosts.

mod build;
mod calendar;
mod changeover;
mod changes;
pub(crate) mod deadlock;
pub(crate) mod division;
pub(crate) mod event;
mod fair_order;
mod group;
mod host_pauses;
pub(crate) mod link;
mod lossless;
mod paths;
mod pauses;
pub(crate) mod places;
pub(crate) mod ports;
pub(crate) mod scratch;
pub(crate) mod site;
pub(crate) mod slots;
mod sorter;
pub(crate) mod stages;
#[cfg(test)]
pub(crate) mod testing;
mod turns;
mod visit;
mod watchdog;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use shallows_core::packet::{Header, HostId};
use shallows_core::{Bytes, Instant, Rate, prefetch_all};
use shallows_measure::{Captures, Lost, PortCounts, PortTracer, Sampler, Tally};
use shallows_rdma::congestion::Telemetry;
use shallows_scenario::{Epoch, Routing};
use shallows_switch::buffer::SharedBuffer;
use shallows_switch::port::{Arrival, Counters, Departure, Entry};
use shallows_switch::{Ingress, Node};

pub(crate) use crate::network::calendar::Arriving;
use crate::network::calendar::Calendar;
use crate::network::event::LinkRank;
use crate::network::group::{Busy, Group};
use crate::network::link::{FarEnd, Flying, InFlight, Leaves, Link, NONE, Target, Watch, Way};
use crate::network::pauses::Lossless;
use crate::network::places::Places;
use crate::network::sorter::Sorter;
use crate::network::turns::Step;

/// A network, or one partition of it. A packet consists of a header, which the network reads, and a payload `T`, which identifies the
/// packet's body for the driver.
#[derive(Debug)]
pub struct Network<T> {
    /// Near ends of links, each with its port. The links of one node are adjacent.
    links: Vec<Link<T>>,
    places: Places,
    /// Far ends of links. The far ends of `links` come first, at the same indices, and the far ends of links from other partitions follow.
    wires: Vec<FarEnd>,
    in_flight: InFlight<T>,
    /// Whether switches run window by window: in each time window, one group of ports after the other processes its packets. Otherwise
    /// switches run event by event.
    by_window: bool,
    /// Whether NICs also send without events while switches run in time windows. True only if no host reacts to departures.
    nics_by_window: bool,
    /// Packets in flight while switches run in time windows. Otherwise packets in flight are in `in_flight`.
    calendar: Calendar<T>,
    /// Turns of ports of switches in each time window, in the order in which they run.
    steps: Vec<Step>,
    /// Groups of ports that run together: one or several for each switch, and a last group for all hosts.
    groups: Vec<Group>,
    /// For each link, the index in `groups` of the group of its port.
    group_of: Vec<u32>,
    /// For each [`group::Turn`], the groups that may have waiting packets.
    busy: Vec<Busy>,
    /// Time up to which switches have run in complete time windows.
    visited: Instant,
    /// Time of the last event at nodes that run in time windows.
    last: Instant,
    /// Total number of packet arrivals and departures at nodes that run in time windows.
    events: u64,
    /// Number of visits to nodes that run in time windows. Each turn of a group with arriving packets counts once; all hosts together count
    /// once per window.
    visits: u64,
    /// Whether the network's state is probably not in the cache when a time window begins, because a thread of the division
    /// has several partitions.
    is_cold: bool,
    /// Scratch space, kept to avoid allocations. While one of several partitions does not run, the sorter in use is in
    /// [`scratch::Scratch`].
    sorter: Sorter,
    /// Egress port of each packet of a visit, by index. Scratch space like `sorter`.
    egress: Vec<u32>,
    /// Nodes of this partition: hosts, then switches.
    nodes: Vec<Owned>,
    node_numbers: Places,
    /// Current routes.
    routing: Arc<Routing>,
    /// Changes of the network, in order of time.
    epochs: Arc<[Epoch]>,
    /// Number of epochs that have begun, and index in `epochs` of the next change.
    epochs_over: usize,
    /// Numbers of the links from other partitions to this one, ascending.
    entrances: Box<[u32]>,
    /// Counts of packets that links of this partition lost ([`Lost`]), indexed by link number.
    lost: BTreeMap<u32, Lost>,
    /// Ingress accounting and pauses, if the network has lossless classes.
    lossless: Option<Box<Lossless<T>>>,
    /// Number of hosts in the whole network.
    hosts: u32,
    /// Payloads that a port has just dropped, until they are passed to [`Driver::discard`]. The vector is kept to avoid allocations.
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

/// Fate of a packet at the port of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The packet's transmission starts at once.
    Leaves,
    /// The packet waits in a queue.
    Waits,
    Dropped,
}

/// Link at which an event occurs: index of the link, and rank that orders events of the same time.
#[derive(Clone, Copy, Debug)]
pub struct LinkAt {
    /// Index of the link's near end for a departure, and of its far end for an arrival.
    pub place: u32,
    pub(crate) rank: LinkRank,
}

/// Interface through which a network uses its clock, its event queue and its hosts.
pub trait Driver<T> {
    /// Returns the current time.
    fn now(&self) -> Instant;

    /// Schedules a call of [`Network::transmit`] for this link at the time `at`.
    fn transmit_at(&mut self, at: Instant, link: LinkAt);

    /// Schedules a call of [`Network::deliver`] for this link at the time `at`.
    fn deliver_at(&mut self, at: Instant, link: LinkAt);

    /// Schedules a call of `Network::pause` for this link at the time `at`.
    fn pause_at(&mut self, _at: Instant, _link: LinkAt) {
        unreachable!("this driver has no networks with lossless classes")
    }

    /// Returns the payload of a packet without a body.
    fn nothing(&self) -> T {
        unreachable!("this driver has no networks with lossless classes")
    }

    /// Schedules a call of [`Network::change`] for this epoch at the time `at`, after all events of that time that are scheduled before it.
    fn change_at(&mut self, at: Instant, epoch: u32);

    /// Cancels a call that [`Self::transmit_at`] has scheduled with the same arguments.
    fn cancel_transmit(&mut self, at: Instant, link: LinkAt);

    /// Cancels a call that [`Self::deliver_at`] has scheduled with the same arguments.
    fn cancel_deliver(&mut self, at: Instant, link: LinkAt);

    /// Records a change at the port of a watched link ([`Network::watch`]).
    fn observe(&mut self, now: Instant, change: Change<'_, T>);

    /// Accepts a packet that leaves this partition over a link. `exit` is the index of the link among the exits; `arrival` is the time at
    /// which the packet reaches the far end.
    fn leave(&mut self, exit: u32, arrival: Instant, header: Header, payload: T);

    /// Discards the packets that [`Self::leave`] accepted for this exit and that have not reached the other partition. Returns their
    /// counts.
    fn lose(&mut self, exit: u32) -> Lost;

    /// Announces the packet that arrives next on a link to `target`, so that the driver can prefetch the packet's data.
    fn expect(&self, target: Target, payload: T);

    /// Releases the payload of a packet that a port has dropped or a link has lost. `host` is the host whose NIC has dropped the packet, or
    /// `None` if no NIC has dropped it. Returns whether the packet was a segment with data.
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
    /// Records the state of the port in `tracer`, if the trace records every change of this port.
    pub fn trace(&mut self, now: Instant, tracer: &mut PortTracer) {
        if self.link.watch.has(Watch::TRACED) {
            tracer.record(now, self.link.number, &mut self.link.port, self.memory);
        }
    }

    /// Returns the number of the link.
    pub fn link(&self) -> u32 {
        self.link.number
    }

    /// Returns the packet that starts to leave, and the telemetry that the port adds to it. Returns `None` if no packet leaves or the port
    /// adds no telemetry.
    pub fn telemetry(&self, now: Instant) -> Option<(T, Telemetry)> {
        let (_, payload) = self.leaves.filter(|_| self.link.watch.has(Watch::TELEMETRY))?;
        let port = &self.link.port;
        Some((
            payload,
            Telemetry { at: now, sent: port.sent_bytes().0, backlog: port.backlog(), rate: port.rate() },
        ))
    }

    /// Returns the link's number, and the header and payload of the packet that starts to leave. Returns `None` if no packet leaves or the
    /// link is not captured.
    pub fn captured(&self) -> Option<(u32, Header, T)> {
        let (header, payload) = self.leaves.filter(|_| self.link.watch.has(Watch::CAPTURED))?;
        Some((self.link.number, header, payload))
    }
}

impl<T: Copy + Default> Network<T> {
    /// Prefetches the data needed to process a packet: the links, the shared buffers of switches and the store of packets.
    pub(crate) fn prefetch(&self) {
        prefetch_all(&self.links);
        prefetch_all(&self.wires);
        self.in_flight.prefetch();
        self.nodes.iter().for_each(|node| node.memory.prefetch());
        self.links.iter().for_each(|link| link.port.prefetch());
    }

    /// Sends a packet from a host. Returns whether its transmission starts at once.
    #[inline(always)]
    pub fn send(&mut self, host: HostId, header: Header, payload: T, driver: &mut impl Driver<T>) -> bool {
        // The link that leaves a host has the host's number.
        let place = self.places.at(host.0) as u32;
        if self.by_window && self.nics_by_window {
            return self.send_by_window(place, header, payload, driver);
        }
        self.enqueue(driver.now(), place, Ingress::NONE, header, payload, driver) == Fate::Leaves
    }

    /// Passes a packet to the port of a link.
    fn enqueue(
        &mut self,
        now: Instant,
        place: u32,
        entry: impl Into<Entry>,
        header: Header,
        payload: T,
        driver: &mut impl Driver<T>,
    ) -> Fate {
        let Self { links, nodes, dropped, .. } = self;
        let Owned { ports, memory } = &mut nodes[links[place as usize].node as usize];
        let mut node = Node { all: links, ports: ports.clone(), memory };
        let fate = match node.receive(now, place, entry, header, payload, dropped) {
            Arrival::Sent(departure) => {
                let Departure { header, payload, .. } = departure;
                let way = self.links[place as usize].leaves(&departure);
                self.depart(now, place, way, header, payload, driver);
                Fate::Leaves
            }
            Arrival::Queued => {
                let link = &mut self.links[place as usize];
                if let Some(at) = link.schedule() {
                    driver.transmit_at(at, LinkAt { place, rank: link.rank });
                }
                if link.watch.is_observed() {
                    self.observe(now, place, None, driver);
                }
                Fate::Waits
            }
            Arrival::Dropped => {
                self.observe_change(now, place, driver);
                Fate::Dropped
            }
        };
        if !self.dropped.is_empty() {
            self.reclaim(place, driver);
        }
        fate
    }

    /// Transmits the next packet of a port and returns it; `None` if the port sends no packet now. Must be called at the time passed to
    /// [`Driver::transmit_at`].
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
                if leaves.watch.has(Watch::COUNTED) {
                    self.release(place, departure.held, header, driver);
                }
                sent = Some((header, payload));
            }
            None if link.watch.is_observed() => self.observe(now, place, None, driver),
            None => {}
        }
        if !self.dropped.is_empty() {
            self.reclaim(place, driver);
        }
        sent
    }

    /// Reports to the observers that a packet starts to leave a link's port, and puts the packet on the link.
    #[inline(always)]
    fn depart(
        &mut self,
        now: Instant,
        place: u32,
        Leaves { way, watch }: Leaves,
        header: Header,
        payload: T,
        driver: &mut impl Driver<T>,
    ) {
        if watch.sees_departures() {
            if watch.has(Watch::DROPS) && self.drop_stormed(place, &header, payload, driver) {
                return self.observe_change(now, place, driver);
            }
            // Observers are called first, because the packet may leave this partition.
            if watch.is_observed() {
                self.observe(now, place, Some((header, payload)), driver);
            }
        }
        self.launch(place, way, header, payload, driver);
    }

    /// Reports to the observers a change at a link's port, other than a departure.
    #[inline(always)]
    fn observe_change(&mut self, now: Instant, place: u32, driver: &mut impl Driver<T>) {
        if self.links[place as usize].watch.is_observed() {
            self.observe(now, place, None, driver);
        }
    }

    /// Reports a change at an observed link's port. `leaves` is the packet that starts to leave, if any.
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

    /// Puts a packet on a link, or passes it to [`Driver::leave`] if the link leads to another partition.
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

    /// Puts a packet in flight towards the far end of a link. The near end of the link may be in another partition.
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

    /// Handles the arrival of the first packet in flight on a link. Returns the packet if the link ends at a host. Passes the packet to a
    /// port if the link ends at a switch.
    #[inline]
    pub fn deliver(&mut self, place: u32, driver: &mut impl Driver<T>) -> Option<(Header, T)> {
        let wire = &mut self.wires[place as usize];
        match wire.target {
            Target::Switch(switch) => {
                let (Flying { header, payload, .. }, next) = wire.land(&mut self.in_flight);
                announce(place, wire, next, driver);
                let ingress = wire.ingress;
                let port = self.places.at(self.routing.next_hop(switch, &header)) as u32;
                self.enqueue(driver.now(), port, ingress, header, payload, driver);
                None
            }
            Target::Host => {
                let (Flying { header, payload, .. }, next) = wire.land(&mut self.in_flight);
                announce(place, wire, next, driver);
                Some((header, payload))
            }
            Target::LosslessSwitch { switch, node } => {
                self.receive_at_switch(place, switch, node as usize, driver);
                None
            }
            Target::LosslessHost(host) => {
                let (Flying { header, payload, .. }, next) = wire.land(&mut self.in_flight);
                announce(place, wire, next, driver);
                self.receive_at_host(place, host, header, payload, driver)
            }
        }
    }

    /// Passes to [`Driver::discard`] the payloads that the port of a link has dropped.
    #[cold]
    fn reclaim(&mut self, place: u32, driver: &mut impl Driver<T>) {
        self.tally.packets_dropped += self.dropped.len() as u64;
        let host = self.host_at(place);
        let link = &mut self.links[place as usize];
        for payload in self.dropped.drain(..) {
            link.data_dropped += u64::from(driver.discard(host, payload));
        }
    }

    /// Returns the host whose NIC sends on this link; `None` if a switch sends on it.
    pub(crate) fn host_at(&self, place: u32) -> Option<HostId> {
        // The link from a host has the host's number.
        let number = self.links[place as usize].number;
        (number < self.hosts).then_some(HostId(number))
    }

    /// Returns the arrival time of the next packet in flight on the link with this number; `None` if no packet is in flight.
    pub fn next_arrival(&self, number: u32) -> Option<Instant> {
        self.wires[self.places.at(number)].first(&self.in_flight).map(|flying| flying.arrival)
    }

    /// Returns, for each link, the number of the link, and the counters and the backlog of the link's port.
    pub fn counters(&self) -> impl Iterator<Item = (u32, Counters, Bytes)> + '_ {
        self.links.iter().map(|link| (link.number, link.port.counters(), link.port.backlog()))
    }

    /// Returns the links that leave nodes of this partition, ascending by number.
    pub(crate) fn links(&self) -> &[Link<T>] {
        &self.links
    }

    /// Records the state of the ports of `links` in `tracer`. Skips links that leave nodes of other partitions.
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

    /// Marks the links whose changes must be reported to [`Driver::observe`]: the links in the trace or in a capture.
    pub fn watch(&mut self, tracer: &PortTracer, captures: Option<&Captures>) {
        for number in tracer.at_every_change() {
            if self.places.has(number) {
                self.at(number).watch.set(Watch::TRACED, true);
            }
        }
        for link in &mut self.links {
            let is_captured = captures.is_some_and(|captures| captures.want(link.number));
            link.watch.set(Watch::CAPTURED, is_captured);
        }
    }

    /// Makes the ports of switches add telemetry to the packets that they send. `is_of_switch` returns whether the link with the given
    /// number leaves a switch.
    pub fn add_telemetry(&mut self, is_of_switch: impl Fn(u32) -> bool) {
        for link in &mut self.links {
            link.watch.set(Watch::TELEMETRY, is_of_switch(link.number));
        }
    }

    /// Adds a sample of all backlogs and memories of this partition to `sampler`. Returns the time of the next sample.
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

    /// Checks the conservation laws, which hold between any two events. Returns the number of packets in queues and in flight in this
    /// partition. If PFC frames have crossed to other partitions, only the sum over all partitions, modulo 2⁶⁴, is exact.
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

/// Schedules the arrival of the `next` packet in flight on a link.
#[inline(always)]
fn announce<T: Copy>(place: u32, wire: &FarEnd, next: Option<&Flying<T>>, driver: &mut impl Driver<T>) {
    if let Some(next) = next {
        driver.deliver_at(next.arrival, LinkAt { place, rank: wire.rank });
        driver.expect(wire.target, next.payload);
    }
}
