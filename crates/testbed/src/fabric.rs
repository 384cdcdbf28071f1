//! The network between the hosts: the ports, links and switches of an experiment, through which frames pass.
//!
//! It has a clock of its own, that of its events. Whoever drives it tells which frames have come, and when, and lets it catch
//! up with the time ([`Fabric::advance`]): everything inside then happens at the very moment at which it was due, however late
//! it is asked. A port that is busy until some time sends its next packet at that time and takes no harm from a driver that
//! wakes up after it. Only what leaves for a host is late, and by how much is known: each frame says when it was due.

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

/// Ports, links and switches, and the frames among them.
#[derive(Debug)]
pub struct Fabric {
    queue: EventQueue<Event>,
    state: FabricState,
}

/// A frame that has reached its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its header, as switches left it.
    pub header: Header,
    /// When it was due there.
    pub due: Instant,
    slot: Slot,
}

/// How a port is.
#[derive(Clone, Copy, Debug)]
pub struct PortState<'a> {
    /// Such as `switch0->host2`.
    pub name: &'a str,
    /// Waiting frames.
    pub backlog: Bytes,
    /// The most that ever waited.
    pub most: Bytes,
    /// Packets put on the link so far.
    pub sent: u64,
    /// Packets given CE here.
    pub marked: u64,
    /// Packets dropped, for any reason.
    pub dropped: u64,
}

#[derive(Debug)]
struct FabricState {
    network: Network<Slot>,
    hosts: u32,
    framing: u16,
    /// By link.
    names: Vec<String>,
    contents: Contents,
    background: Background,
    /// Frames that hosts have sent, by time.
    entering: VecDeque<Entering>,
    leaving: Vec<Delivery>,
    /// Links that lead to hosts, the shortest delay of those, and of those that leave hosts.
    to_hosts: Vec<u32>,
    last_delay: Duration,
    first_delay: Duration,
    sampler: Sampler,
}

/// The frames that are under way, and who looks at them and at the ports that they pass.
#[derive(Debug)]
struct Contents {
    frames: Frames,
    tracer: PortTracer,
    captures: Option<Captures>,
    hosts: u32,
    framing: u16,
}

/// Parts of a fabric that its network calls back.
struct Around<'a> {
    contents: &'a mut Contents,
    queue: &'a mut EventQueue<Event>,
}

/// A frame that a host has sent.
#[derive(Clone, Copy, Debug)]
struct Entering {
    at: Instant,
    header: Header,
    slot: Slot,
}

/// Something that happens, in the order of the simulation at equal times: what leaves, what arrives, what watches.
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
    /// The network of `experiment`, empty, at time zero. It captures nothing.
    pub fn new(experiment: &Experiment) -> Self {
        Self::build(experiment, None)
    }

    /// Creates a fabric that captures packets at the chosen ports.
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

    /// A frame came from a host at this time. Returns whether it is one of ours: others go no further.
    ///
    /// What is said to have come before something that has already happened, or that came before it, comes then.
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

    /// Let everything happen that is due until `now`.
    pub fn advance(&mut self, now: Instant) {
        event::run(&mut self.state, &mut self.queue, now, u64::MAX);
    }

    /// By when [`Self::advance`] must be called so that no frame leaves late; nothing if it is empty.
    ///
    /// That is when the next frame reaches its host. What else happens before may wait: whatever comes of it has a link to a host
    /// before it.
    pub fn wake_at(&mut self) -> Option<Instant> {
        let state = &self.state;
        let known = state.to_hosts.iter().filter_map(|&link| state.network.next_arrival(link)).min();
        let later = self.queue.next_at().map(|next| next + self.state.last_delay);
        known.into_iter().chain(later).min()
    }

    /// How long after a frame has come no frame can leave because of it: the shortest delay of a host's link there, and of one
    /// back.
    pub fn crossing(&self) -> Duration {
        self.state.first_delay + self.state.last_delay
    }

    /// Frames that have reached their hosts since the last time, in order. [`Self::frame`] has what is in them, until they are
    /// let go.
    pub fn leaving(&mut self) -> &[Delivery] {
        for delivery in &self.state.leaving {
            frame::rewrite(self.state.contents.frames.get_mut(delivery.slot), &delivery.header);
        }
        &self.state.leaving
    }

    /// Contents of a leaving frame.
    pub fn frame(&self, delivery: &Delivery) -> &[u8] {
        self.state.contents.frames.get(delivery.slot)
    }

    /// The frames that left are on their way.
    pub fn let_go(&mut self) {
        for delivery in self.state.leaving.drain(..) {
            self.state.contents.frames.free(delivery.slot);
        }
    }

    /// The ports that have carried anything, in the order of the links.
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

    /// Hand over what captures hold back.
    ///
    /// # Errors
    ///
    /// The first thing that has gone wrong with one; nothing was captured after it.
    pub fn flush_captures(&mut self) -> io::Result<()> {
        self.state.contents.captures.as_mut().map_or(Ok(()), Captures::flush)
    }

    /// Packets of the whole network.
    pub fn tally(&self) -> Tally {
        self.state.network.tally
    }

    /// Measurements of the network, with those of the hosts.
    ///
    /// # Panics
    ///
    /// If the books do not balance, which is a defect of this program.
    pub fn report(self, experiment: Experiment, measured: Measured) -> Report {
        self.state.audit();
        let Self { state, .. } = self;
        let (datagram_bytes, mut echoes) = state.background.measured();
        // The driver looks at whether it is the end now and then.
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
        Report::new(experiment, measured)
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
    /// A packet of ours leaves its host.
    fn make(&mut self, (header, body): Made, queue: &mut EventQueue<Event>) {
        let slot = self.contents.frames.keep(&body);
        self.network.tally.packets_sent += 1;
        self.send(header, slot, queue);
    }

    fn send(&mut self, header: Header, slot: Slot, queue: &mut EventQueue<Event>) {
        let Self { network, contents, .. } = self;
        network.send(header.source, header, slot, &mut Around { contents, queue });
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

    /// Check the laws that hold at any moment between two events.
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
            // With what switches wrote on it.
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
