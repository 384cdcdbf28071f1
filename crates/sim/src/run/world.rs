//! The simulated world: a network, its hosts, and the handling of events.
//!
//! Hosts handle some events, and exchange packets with the network ([`crate::hosts`]). The network, the packet generators and the observers
//! handle all other events ([`outside`]).

#[cfg(test)]
mod agents;
mod build;
mod ends;
mod execution;
pub(crate) mod measured;
mod outside;
pub(crate) mod pace;

use shallows_core::Instant;
use shallows_core::event::{self, EventQueue};
use shallows_core::packet::{Header, HostId};
use shallows_scenario::Experiment;

use crate::hosts::connection::Place;
use crate::hosts::nic::inbox::InboxAt;
use crate::hosts::packet::PacketRef;
use crate::hosts::{Hosts, Timer};
use crate::network::event::{Class, Event};
use crate::network::{Arriving, Network};
use crate::run::crossing::Crossings;
use crate::run::thread_memory::ThreadMemory;
use crate::run::world::ends::Around;
use crate::run::world::outside::{Outside, Surroundings};
use crate::run::world::pace::Pace;
use crate::traffic::Newcomer;
use crate::traffic::warm_up::WarmUp;

/// The network with its hosts, or one partition of both: the state that events change.
#[derive(Debug)]
pub(crate) struct World {
    hosts: Hosts,
    outside: Outside,
    pace: Pace,
}

impl event::World for World {
    type Event = Event;

    #[inline(always)]
    fn handle(&mut self, event: Event, queue: &mut EventQueue<Event>) {
        let index = || event.index(self.outside.ranks);
        match event.class() {
            Class::Pause => self.pause(event.link(), queue),
            Class::Transmit => self.transmit(event.link(), queue),
            Class::Deliver => self.deliver(event.link(), queue),
            Class::Interrupt => self.host_timer(Timer::Interrupt(InboxAt::from_index(index())), queue),
            Class::SenderTimer => self.host_timer(Timer::Sender(Place::from_index(index())), queue),
            Class::ReceiverTimer => self.host_timer(Timer::Receiver(Place::from_index(index())), queue),
            Class::WarmUp => self.warm_up(queue),
            Class::Arrival => self.flow_arrival(index() as usize, queue),
            Class::Datagram => self.send_datagram(index() as u32, queue),
            Class::Probe => self.send_probe(index() as u32, queue),
            Class::Sample => self.sample_queues(queue),
            Class::PortTrace => self.trace_ports(index() as u32, queue),
            Class::FlowTrace => self.trace_flows(index() as u32, queue),
            Class::Agent => self.host_timer(Timer::Agent(HostId(index() as u32)), queue),
            Class::Turn => self.host_timer(Timer::Turn(HostId(index() as u32)), queue),
            Class::Epoch => self.change(event.epoch(), queue),
        }
    }

    fn prefetch_for(&self, event: Event) {
        let place = || Place::from_index(event.index(self.outside.ranks));
        match event.class() {
            Class::SenderTimer => self.hosts.prefetch_sender(place()),
            Class::ReceiverTimer => {
                self.hosts.prefetch_receiver(place());
                // The receiver probably sends an acknowledgement.
                self.outside.network.prefetch_nic(place().host);
            }
            _ => {}
        }
    }

    fn is_finished(&self) -> bool {
        self.outside.finished
    }
}

impl World {
    /// Prefetches the state of the network and the hosts that most packets need. Packet bodies are not prefetched, because few of them are
    /// read.
    pub(crate) fn prefetch(&self) {
        self.outside.network.prefetch();
        self.hosts.prefetch();
    }

    /// Returns the network and its driver.
    #[inline(always)]
    fn driving<'a>(
        &'a mut self,
        queue: &'a mut EventQueue<Event>,
    ) -> (&'a mut Network<PacketRef>, Around<'a>) {
        let Outside { network, ends, .. } = &mut self.outside;
        (network, Around { ends, queue })
    }

    /// Returns the hosts and their driver.
    #[inline(always)]
    fn hosts<'a>(&'a mut self, queue: &'a mut EventQueue<Event>) -> (&'a mut Hosts, Surroundings<'a>) {
        let Self { hosts, outside, .. } = self;
        (hosts, Surroundings { outside, queue })
    }

    /// Schedules the first arrivals, traces, samples and changes.
    pub(crate) fn start(&mut self, experiment: &Experiment, queue: &mut EventQueue<Event>) {
        let Self { hosts, outside, .. } = self;
        outside.generators.start(experiment, hosts, outside.ranks, queue);
        for number in self.outside.ends.observers.ports.at_intervals() {
            self.schedule(Instant::ZERO, Class::PortTrace, number.into(), queue);
        }
        for number in self.outside.ends.observers.flows.at_intervals() {
            self.schedule(Instant::ZERO, Class::FlowTrace, number.into(), queue);
        }
        self.start_network(queue);
        if experiment.sample_queues.is_some() {
            self.schedule(Instant::ZERO, Class::Sample, 0, queue);
        }
    }

    #[inline]
    fn schedule(&self, at: Instant, class: Class, index: u64, queue: &mut EventQueue<Event>) {
        queue.schedule(at, Event::new(class, index, self.outside.ranks));
    }

    /// Transmits the next packet of a port when the port's link becomes free.
    #[inline]
    fn transmit(&mut self, place: u32, queue: &mut EventQueue<Event>) {
        let (network, mut around) = self.driving(queue);
        let departure = network.transmit(place, &mut around);
        if self.hosts.nics_act_on_departures() && self.outside.network.host_at(place).is_some() {
            let (hosts, mut driver) = self.hosts(queue);
            hosts.on_drops(&mut driver);
            if let Some((header, packet)) = departure {
                hosts.on_departure(header, packet, &mut driver);
            }
        }
    }

    /// Removes and returns the flows to hosts of other partitions that have started since the last call, each with the partition of its
    /// receiver.
    pub(crate) fn collect_newcomers(&mut self) -> impl Iterator<Item = (u32, Newcomer)> + '_ {
        self.outside.generators.arrivals.leaving.collect()
    }

    /// Passes to `take` the packets sent to each other partition since the last call of this function, and the partition's number.
    pub(crate) fn collect_crossings(&mut self, take: impl FnMut(u32, &mut Crossings)) {
        let ends = &mut self.outside.ends;
        ends.exits.collect(&mut ends.packets, take);
    }

    /// Puts packets from another partition on their links to nodes of this partition. Keeps the empty list for reuse, or returns it if it is
    /// from another thread.
    pub(crate) fn enter(
        &mut self,
        mut crossings: Crossings,
        queue: &mut EventQueue<Event>,
    ) -> Option<Crossings> {
        let Crossings { packets, is_far, bodies } = &mut crossings;
        if *is_far {
            self.outside.ends.packets.unload(packets, bodies);
        }
        for Arriving { wire, at, header, payload } in packets.drain(..) {
            let (network, mut around) = self.driving(queue);
            network.fly(wire, at, header, payload, &mut around);
        }
        self.outside.ends.exits.recycle(crossings)
    }

    /// Returns the number of packet bodies stored in this world.
    pub(crate) fn packets(&self) -> usize {
        self.outside.ends.packets.len()
    }

    /// Swaps the memory that this world shares with other worlds of its thread (packet store, scratch space and empty lists) with that of the
    /// thread. Called before and after the world runs.
    pub(crate) fn exchange(&mut self, memory: &mut ThreadMemory) {
        let ThreadMemory { packets, scratch, lists } = memory;
        let Outside { network, ends, .. } = &mut self.outside;
        std::mem::swap(&mut ends.packets, packets);
        ends.exits.exchange_spare(lists);
        network.exchange_scratch(scratch);
    }

    /// Delivers the next packet in flight on a link.
    #[inline]
    fn deliver(&mut self, place: u32, queue: &mut EventQueue<Event>) {
        let (network, mut around) = self.driving(queue);
        if let Some((header, packet)) = network.deliver(place, &mut around) {
            let (hosts, mut driver) = self.hosts(queue);
            hosts.receive(header, packet, &mut driver);
        }
    }

    /// Passes on the packet that a slow host has read, applies pauses at a port, and sends the port's PFC frame.
    #[inline(never)]
    fn pause(&mut self, place: u32, queue: &mut EventQueue<Event>) {
        if let Some((header, packet)) = self.outside.network.take_received(place, queue.now()) {
            let (hosts, mut driver) = self.hosts(queue);
            hosts.receive(header, packet, &mut driver);
        }
        let (network, mut around) = self.driving(queue);
        network.pause(place, &mut around);
    }

    /// Handles a timer of a host.
    #[inline(always)]
    fn host_timer(&mut self, timer: Timer, queue: &mut EventQueue<Event>) {
        let (hosts, mut driver) = self.hosts(queue);
        hosts.on_timer(timer, &mut driver);
    }

    /// Announces a flow whose sender or receiver is a host of this partition.
    pub(crate) fn announce(&mut self, newcomer: Newcomer, queue: &mut EventQueue<Event>) {
        self.hosts.expect(newcomer.number, &newcomer.flow);
        if let Some(trace) = newcomer.trace.filter(|_| !self.hosts.has(newcomer.flow.source)) {
            self.outside.ends.observers.expect_responder(newcomer.number, trace);
        }
        let arrivals = &mut self.outside.generators.arrivals;
        // A flow of a workload that reacts to flows has already arrived at its sender.
        if self.hosts.has(newcomer.flow.source) && !arrivals.traffic.has(newcomer.flow.workload.into()) {
            arrivals.announced.announce(newcomer, queue);
        }
    }

    /// Handles an arrival event of a workload: starts the flow that arrives now, if there is one.
    #[inline(never)]
    fn flow_arrival(&mut self, workload: usize, queue: &mut EventQueue<Event>) {
        let Outside { generators, ends, .. } = &mut self.outside;
        let Some(newcomer) = generators.arrivals.next(workload, queue) else { return };
        let Newcomer { flow, number, trace } = newcomer;
        if !self.hosts.has(flow.destination) && generators.arrivals.traffic.has(workload) {
            generators.arrivals.leaving.add(newcomer);
        }
        if let Some(trace) = trace {
            ends.observers.flows.expect(number, trace);
        }
        let (hosts, mut driver) = self.hosts(queue);
        hosts.start(number, &flow, &mut driver);
    }

    /// Returns whether the run may end because all flows of this world are complete and no workload has further flows. If so, no event is
    /// handled until [`Self::go_on_after_completion`] is called.
    pub(crate) fn stop_if_complete(&mut self) -> bool {
        self.outside.finished = self.outside.is_complete();
        self.outside.finished
    }

    /// Lets the run continue although all flows are complete.
    pub(crate) fn go_on_after_completion(&mut self) {
        self.outside.finished = false;
        self.outside.ends_on_completion = false;
    }

    #[inline(never)]
    fn warm_up(&mut self, queue: &mut EventQueue<Event>) {
        self.outside.network.tally.events_of_no_node += 1;
        while let Some(WarmUp { place, bytes, .. }) = self.outside.generators.warm_ups.next(queue) {
            let (hosts, mut driver) = self.hosts(queue);
            hosts.prime(place, bytes, &mut driver);
        }
    }

    /// Sends a packet that belongs to no connection, such as a datagram, from its source host.
    fn send(&mut self, header: Header, packet: PacketRef, queue: &mut EventQueue<Event>) {
        let (hosts, mut driver) = self.hosts(queue);
        hosts.send(header, packet, &mut driver);
    }

    #[inline(never)]
    fn send_datagram(&mut self, source: u32, queue: &mut EventQueue<Event>) {
        let (header, next) = self.outside.generators.datagrams.send(source, queue.now());
        if let Some(header) = header {
            self.send(header, PacketRef::NONE, queue);
        }
        if let Some(next) = next {
            self.schedule(next, Class::Datagram, source.into(), queue);
        }
    }

    #[inline(never)]
    fn send_probe(&mut self, index: u32, queue: &mut EventQueue<Event>) {
        let Some((header, packet, next)) = self.outside.generators.probes.ask(index, queue.now()) else {
            return;
        };
        let packet = self.outside.ends.packets.insert_probe(packet);
        self.send(header, packet, queue);
        self.schedule(next, Class::Probe, index.into(), queue);
    }

    #[inline(never)]
    fn sample_queues(&mut self, queue: &mut EventQueue<Event>) {
        self.outside.network.tally.events_of_no_node += 1;
        self.visit_switches(queue.now(), queue);
        let Outside { network, ends, .. } = &mut self.outside;
        let next = network.sample(queue.now(), &mut ends.observers.queues);
        self.schedule(next, Class::Sample, 0, queue);
    }

    /// Records the ports of a trace that records at intervals, and schedules the trace's next record.
    #[inline(never)]
    fn trace_ports(&mut self, index: u32, queue: &mut EventQueue<Event>) {
        self.outside.network.tally.events_of_no_node += 1;
        self.visit_switches(queue.now(), queue);
        let Outside { network, ends, .. } = &mut self.outside;
        let (links, next) = ends.observers.ports.due(index, queue.now());
        network.trace(queue.now(), &links, &mut ends.observers.ports);
        self.schedule(next, Class::PortTrace, index.into(), queue);
    }

    /// Records the senders of a flow trace that records at intervals, and schedules the trace's next record.
    #[inline(never)]
    fn trace_flows(&mut self, number: u32, queue: &mut EventQueue<Event>) {
        self.outside.network.tally.events_of_no_node += 1;
        let next = self.outside.ends.observers.sample_flows(number, queue.now(), &self.hosts);
        self.schedule(next, Class::FlowTrace, number.into(), queue);
    }

    /// Schedules the changes of the network and applies those of time zero.
    fn start_network(&mut self, queue: &mut EventQueue<Event>) {
        let (network, mut around) = self.driving(queue);
        network.start(&mut around);
    }

    #[inline(never)]
    fn change(&mut self, epoch: u32, queue: &mut EventQueue<Event>) {
        self.outside.network.tally.events_of_no_node += 1;
        self.visit_switches(queue.now(), queue);
        let (network, mut around) = self.driving(queue);
        network.change(epoch, &mut around);
        let (hosts, mut driver) = self.hosts(queue);
        hosts.on_drops(&mut driver);
    }

    /// Checks the conservation laws, which hold between any two events. Returns the number of packets in queues and in flight in this
    /// world.
    ///
    /// # Panics
    ///
    /// If a law is violated, which is a defect of this program.
    pub(crate) fn audit(&self) -> u64 {
        self.outside.network.audit().wrapping_add(self.hosts.waiting() as u64)
    }
}
