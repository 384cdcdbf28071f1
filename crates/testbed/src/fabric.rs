//! The network between the hosts: the ports, links and switches of an experiment, through which frames pass.
//!
//! The fabric has its own clock, which shows the time of the current event. A driver passes frames with their send times, and advances the
//! fabric to the current time ([`Fabric::advance`]). All events in the fabric then have their exact times, however late the call is: a port
//! that is busy until some time sends its next packet at that time. Only deliveries to hosts are late, by a known amount: each delivery
//! contains its due time.

use std::collections::VecDeque;
use std::io;

use shallows_core::event::{self, EventQueue};
use shallows_core::packet::{Header, HostId};
use shallows_core::{Bytes, Duration, Instant};
use shallows_measure::{Captures, Lost, Measured, PortTracer, Report, Sampler, Tally};
use shallows_scenario::{Experiment, Link};
use shallows_sim::{Change, Driver, LinkAt, Network, Target};

use crate::background::{self, Background, Made};
use crate::frame;
use crate::frames::{Frames, Slot};

/// Ports, links and switches, and the frames in them.
#[derive(Debug)]
pub struct Fabric {
    queue: EventQueue<Event>,
    state: FabricState,
}

/// A frame that has reached its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Header with the marks of the switches.
    pub header: Header,
    /// Time at which the frame was due at the host.
    pub due: Instant,
    slot: Slot,
}

/// State of a port.
#[derive(Clone, Copy, Debug)]
pub struct PortState<'a> {
    /// Name of the port, such as `switch0->host2`.
    pub name: &'a str,
    /// Bytes of waiting frames.
    pub backlog: Bytes,
    /// Largest backlog so far.
    pub most: Bytes,
    /// Packets put on the link so far.
    pub sent: u64,
    /// Packets marked CE at this port.
    pub marked: u64,
    /// Packets dropped, for any reason.
    pub dropped: u64,
}

#[derive(Debug)]
struct FabricState {
    network: Network<Slot>,
    hosts: u32,
    framing: u16,
    /// Name of each link, indexed by the link's number.
    names: Vec<String>,
    contents: Contents,
    background: Background,
    /// Frames that hosts have sent, in order of time.
    entering: VecDeque<Entering>,
    leaving: Vec<Delivery>,
    /// Numbers of the links to hosts. `last_delay` is the shortest delay of these links, `first_delay` the shortest delay of the links from
    /// hosts.
    to_hosts: Vec<u32>,
    last_delay: Duration,
    first_delay: Duration,
    sampler: Sampler,
}

/// Frames under way, and the observers of frames and ports.
#[derive(Debug)]
struct Contents {
    frames: Frames,
    tracer: PortTracer,
    captures: Option<Captures>,
    hosts: u32,
    framing: u16,
}

/// Driver of the network in the testbed: contents of the fabric, and the event queue.
struct Around<'a> {
    contents: &'a mut Contents,
    queue: &'a mut EventQueue<Event>,
}

/// Frame that a host has sent.
#[derive(Clone, Copy, Debug)]
struct Entering {
    at: Instant,
    header: Header,
    slot: Slot,
}

/// Event of the fabric. Events at equal times fire in the same order as in a simulation: departures, arrivals, observers.
#[derive(Clone, Copy, Debug)]
enum Event {
    Transmit(u32),
    Deliver(u32),
    Enter,
    Make(u32),
    Sample,
    Trace(u32),
    Change(u32),
}

impl event::Event for Event {
    fn key(self) -> u64 {
        let (class, index) = match self {
            Self::Transmit(link) => (0, link),
            Self::Deliver(link) => (1, link),
            Self::Enter => (2, 0),
            Self::Make(number) => (3, number),
            Self::Sample => (4, 0),
            Self::Trace(number) => (5, number),
            Self::Change(number) => (6, number),
        };
        class << 32 | u64::from(index)
    }

    fn from_key(key: u64) -> Self {
        let index = key as u32;
        match key >> 32 {
            0 => Self::Transmit(index),
            1 => Self::Deliver(index),
            2 => Self::Enter,
            3 => Self::Make(index),
            4 => Self::Sample,
            5 => Self::Trace(index),
            _ => Self::Change(index),
        }
    }
}

impl Fabric {
    /// Builds the network of `experiment`, empty, at time zero, without captures.
    pub fn new(experiment: &Experiment) -> Self {
        Self::build(experiment, None)
    }

    /// Builds the network of `experiment` with captures of packets at the selected ports.
    pub fn capturing(experiment: &Experiment, captures: Captures) -> Self {
        Self::build(experiment, Some(captures))
    }

    fn build(experiment: &Experiment, captures: Option<Captures>) -> Self {
        let network = &experiment.network;
        let tracer = PortTracer::new(experiment);
        let mut ports = Network::new(experiment);
        ports.watch(&tracer, captures.as_ref());
        let packet = network.mtu + network.framing;
        let reach = |link: &Link| link.delay + link.rate.transmission_time(packet);
        let mut queue = EventQueue::new(network.links.iter().map(reach).max().unwrap_or_default());
        for number in tracer.at_intervals() {
            queue.schedule(Instant::ZERO, Event::Trace(number));
        }
        if experiment.sample_queues.is_some() {
            queue.schedule(Instant::ZERO, Event::Sample);
        }
        let mut background = Background::new(experiment);
        for (number, start) in (0..).zip(background.starts()) {
            queue.schedule(start, Event::Make(number));
        }
        let leads_to_host = |link: &&(usize, &Link)| link.1.to.0 < network.hosts;
        let links: Vec<(usize, &Link)> = network.links.iter().enumerate().collect();
        let to_hosts = || links.iter().filter(leads_to_host);
        let from_hosts = &network.links[..network.hosts as usize];
        let framing = u16::try_from(network.framing.0).expect("framing is small");
        let mut state = FabricState {
            to_hosts: to_hosts().map(|(index, _)| *index as u32).collect(),
            last_delay: to_hosts().map(|(_, link)| link.delay).min().unwrap_or_default(),
            first_delay: from_hosts.iter().map(|link| link.delay).min().unwrap_or_default(),
            names: network.links.iter().map(|link| link.name.clone()).collect(),
            network: ports,
            hosts: network.hosts,
            framing,
            contents: Contents { frames: Frames::default(), tracer, captures, hosts: network.hosts, framing },
            background,
            entering: VecDeque::new(),
            leaving: Vec::new(),
            sampler: Sampler::new(experiment.sample_queues),
        };
        let FabricState { network, contents, .. } = &mut state;
        network.start(&mut Around { contents, queue: &mut queue });
        Self { queue, state }
    }

    /// Adds a frame that a host sent at the time `at`. Returns false for a frame that is not between hosts of the network; such a frame is
    /// discarded.
    ///
    /// If `at` is before the current time of the fabric, or before the time of a previous frame, that later time replaces `at`.
    pub fn enter(&mut self, at: Instant, frame: &[u8]) -> bool {
        let state = &mut self.state;
        let Some(parsed) = frame::parse(frame, state.hosts, state.framing) else { return false };
        let after = state.entering.back().map_or(self.queue.now(), |last| last.at);
        let entering =
            Entering { at: at.max(after), header: parsed.header, slot: state.contents.frames.keep(frame) };
        state.network.tally.packets_sent += 1;
        state.network.tally.data_sent += u64::from(parsed.data > 0);
        if state.entering.is_empty() {
            self.queue.schedule(entering.at, Event::Enter);
        }
        state.entering.push_back(entering);
        true
    }

    /// Executes all events up to `now`.
    pub fn advance(&mut self, now: Instant) {
        event::run(&mut self.state, &mut self.queue, now, u64::MAX);
    }

    /// Returns the time by which [`Self::advance`] must be called so that no frame leaves late; `None` if the network is empty.
    ///
    /// This is the time at which the next frame reaches its host. Earlier events may wait, because their effects must still cross a link
    /// to a host.
    pub fn wake_at(&mut self) -> Option<Instant> {
        let state = &self.state;
        let known = state.to_hosts.iter().filter_map(|&link| state.network.next_arrival(link)).min();
        let later = self.queue.next_at().map(|next| next + self.state.last_delay);
        known.into_iter().chain(later).min()
    }

    /// Returns the shortest time in which a frame crosses the network: the shortest delay of a link from a host, plus the shortest
    /// delay of a link to a host.
    pub fn crossing(&self) -> Duration {
        self.state.first_delay + self.state.last_delay
    }

    /// Returns the frames that have reached their hosts since the last call of [`Self::let_go`], in order. [`Self::frame`] returns their
    /// bytes.
    pub fn leaving(&mut self) -> &[Delivery] {
        for delivery in &self.state.leaving {
            frame::rewrite(self.state.contents.frames.get_mut(delivery.slot), &delivery.header);
        }
        &self.state.leaving
    }

    /// Returns the bytes of a frame from [`Self::leaving`].
    pub fn frame(&self, delivery: &Delivery) -> &[u8] {
        self.state.contents.frames.get(delivery.slot)
    }

    /// Frees the frames from [`Self::leaving`]. Called after the driver has sent them.
    pub fn let_go(&mut self) {
        for delivery in self.state.leaving.drain(..) {
            self.state.contents.frames.free(delivery.slot);
        }
    }

    /// Returns the ports that have received packets, in the order of the links.
    pub fn ports(&self) -> impl Iterator<Item = PortState<'_>> {
        let names = &self.state.names;
        let carried = self.state.network.counters().filter(|(_, counters, _)| counters.received > 0);
        carried.map(|(link, counters, backlog)| PortState {
            name: &names[link as usize],
            backlog,
            most: counters.max_backlog,
            sent: counters.sent,
            marked: counters.marked,
            dropped: counters.dropped_total(),
        })
    }

    /// Flushes the captures.
    ///
    /// # Errors
    ///
    /// The first error of a capture; nothing was captured after it.
    pub fn flush_captures(&mut self) -> io::Result<()> {
        self.state.contents.captures.as_mut().map_or(Ok(()), Captures::flush)
    }

    /// Returns the counts of packets in the whole network.
    pub fn tally(&self) -> Tally {
        self.state.network.tally
    }

    /// Returns the report of the run, from the measurements of the network and those of the hosts (`measured`).
    ///
    /// # Panics
    ///
    /// If a conservation law is violated, which is a defect of this program.
    pub fn report(self, experiment: Experiment, measured: Measured) -> Report {
        self.state.audit();
        let Self { state, .. } = self;
        let (datagram_bytes, mut echoes) = state.background.measured();
        // Hosts may send echo requests after the end, because the driver checks for the end only periodically.
        echoes.retain(|echo| echo.sent_at < measured.end);
        let measured = Measured {
            ports: state.network.port_counts().collect(),
            samples: state.sampler.rows,
            trace: state.contents.tracer.rows,
            lost: state.network.lost().clone(),
            tally: state.network.tally,
            captured: state.contents.captures.map(|captures| captures.packets()).unwrap_or_default(),
            datagram_bytes,
            echoes,
            ..measured
        };
        Report::new(experiment, measured, 1)
    }
}

impl event::World for FabricState {
    type Event = Event;

    fn handle(&mut self, event: Event, queue: &mut EventQueue<Event>) {
        match event {
            Event::Transmit(link) => {
                self.network.transmit(link, &mut Around { contents: &mut self.contents, queue });
            }
            Event::Deliver(link) => self.deliver(link, queue),
            Event::Enter => {
                let Entering { header, slot, .. } = self.entering.pop_front().expect("it has the event");
                if let Some(next) = self.entering.front() {
                    queue.schedule(next.at, Event::Enter);
                }
                self.send(header, slot, queue);
            }
            Event::Make(number) => {
                if let Some((made, next)) = self.background.send(number, queue.now()) {
                    self.make(made, queue);
                    queue.schedule(next, Event::Make(number));
                }
            }
            Event::Sample => {
                let next = self.network.sample(queue.now(), &mut self.sampler);
                queue.schedule(next, Event::Sample);
            }
            Event::Trace(number) => {
                let tracer = &mut self.contents.tracer;
                let (links, next) = tracer.due(number, queue.now());
                self.network.trace(queue.now(), &links, tracer);
                queue.schedule(next, Event::Trace(number));
            }
            Event::Change(number) => {
                let Self { network, contents, .. } = self;
                network.change(number, &mut Around { contents, queue });
            }
        }
    }
}

impl FabricState {
    /// Sends a packet of the background traffic from its host.
    fn make(&mut self, (header, body): Made, queue: &mut EventQueue<Event>) {
        let slot = self.contents.frames.keep(&body);
        self.network.tally.packets_sent += 1;
        self.send(header, slot, queue);
    }

    fn send(&mut self, header: Header, slot: Slot, queue: &mut EventQueue<Event>) {
        let Self { network, contents, .. } = self;
        network.send(header.source(), header, slot, &mut Around { contents, queue });
    }

    fn deliver(&mut self, link: u32, queue: &mut EventQueue<Event>) {
        let Self { network, contents, .. } = self;
        let Some((header, slot)) = network.deliver(link, &mut Around { contents, queue }) else { return };
        let (at, frames) = (queue.now(), &mut self.contents.frames);
        self.network.tally.packets_arrived += 1;
        if frames.get(slot).len() >= frame::ETHERNET {
            self.leaving.push(Delivery { header, due: at, slot });
            return;
        }
        let answer = self.background.arrive(at, &header, frames.get(slot));
        frames.free(slot);
        if let Some(made) = answer {
            self.make(made, queue);
        }
    }

    /// Checks the conservation laws that hold between two events.
    fn audit(&self) {
        let under_way = self.network.audit() + self.entering.len() as u64;
        self.network.tally.audit(under_way);
        assert_eq!(
            self.contents.frames.kept() as u64,
            under_way + self.leaving.len() as u64,
            "no frame is forgotten"
        );
    }
}

impl Driver<Slot> for Around<'_> {
    fn now(&self) -> Instant {
        self.queue.now()
    }

    fn transmit_at(&mut self, at: Instant, link: LinkAt) {
        self.queue.schedule(at, Event::Transmit(link.place));
    }

    fn deliver_at(&mut self, at: Instant, link: LinkAt) {
        self.queue.schedule(at, Event::Deliver(link.place));
    }

    fn change_at(&mut self, at: Instant, epoch: u32) {
        self.queue.schedule(at, Event::Change(epoch));
    }

    fn cancel_transmit(&mut self, at: Instant, link: LinkAt) {
        assert!(self.queue.cancel(at, Event::Transmit(link.place)), "a port that is to send has an event");
    }

    fn cancel_deliver(&mut self, at: Instant, link: LinkAt) {
        assert!(self.queue.cancel(at, Event::Deliver(link.place)), "the first packet in flight has an event");
    }

    fn observe(&mut self, now: Instant, mut change: Change<'_, Slot>) {
        let Contents { frames, tracer, captures, .. } = &mut *self.contents;
        change.trace(now, tracer);
        let (Some((link, header, slot)), Some(captures)) = (change.captured(), captures) else { return };
        let bytes = frames.get_mut(slot);
        if bytes.len() < frame::ETHERNET {
            captures.record(now, link, &header, background::body(bytes).as_ref());
        } else {
            // The captured frame includes the marks of the switches.
            frame::rewrite(bytes, &header);
            captures.copy(now, link, bytes);
        }
    }

    fn leave(&mut self, _exit: u32, _arrival: Instant, _header: Header, _payload: Slot) {
        unreachable!("a network that is not divided has no exits")
    }

    fn lose(&mut self, _exit: u32) -> Lost {
        unreachable!("a network that is not divided has no exits")
    }

    fn expect(&self, _target: Target, _payload: Slot) {}

    fn discard(&mut self, _host: Option<HostId>, payload: Slot) -> bool {
        let Contents { frames, hosts, framing, .. } = self.contents;
        let parsed = frame::parse(frames.get(payload), *hosts, *framing);
        frames.free(payload);
        parsed.is_some_and(|parsed| parsed.data > 0)
    }
}

#[cfg(test)]
mod tests;
