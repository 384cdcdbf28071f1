//! The network between the hosts: the ports, links and switches of an experiment, through which frames pass.
//!
//! It has a clock of its own, that of its events. Whoever drives it tells which frames have come, and when, and lets it catch
//! up with the time ([`Fabric::advance`]): everything inside then happens at the very moment at which it was due, however late
//! it is asked. A port that is busy until some time sends its next packet at that time and takes no harm from a driver that
//! wakes up after it. Only what leaves for a host is late, and by how much is known: each frame says when it was due.

use std::collections::VecDeque;
use std::io;

use shallows_core::event::{self, EventQueue};
use shallows_core::packet::Header;
use shallows_core::{Bytes, Duration, Instant};
use shallows_scenario::{Experiment, Link, Network};
use shallows_sim::{Captures, Measured, PortTracer, Report, Sampler, Tally, ports};
use shallows_switch::Port;
use shallows_switch::buffer::SharedBuffer;
use shallows_switch::port::{Arrival, Departure};

use crate::background::{self, Background, Made};
use crate::frame;
use crate::frames::{Frames, Slot};

/// Ports, links and switches, and the frames among them.
#[derive(Debug)]
pub struct Fabric {
    queue: EventQueue<Event>,
    state: State,
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
    /// What waits.
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
struct State {
    network: Network,
    framing: u16,
    ports: Vec<Port<Slot>>,
    buffers: Vec<SharedBuffer>,
    wires: Vec<Wire>,
    frames: Frames,
    background: Background,
    /// What hosts have sent, by time.
    entering: VecDeque<Flying>,
    leaving: Vec<Delivery>,
    /// Links that lead to hosts, the shortest delay of those, and of those that leave hosts.
    to_hosts: Vec<u32>,
    last_delay: Duration,
    first_delay: Duration,
    sampler: Sampler,
    tracer: PortTracer,
    captures: Option<Captures>,
    tally: Tally,
    data_dropped: Vec<u64>,
    /// Kept to spare an allocation.
    dropped: Vec<Slot>,
}

/// A link: what is in flight, in order, of which only the first has an event.
#[derive(Debug, Default)]
struct Wire {
    in_flight: VecDeque<Flying>,
    /// Whether an event is pending that lets its port send the next packet.
    waking: bool,
    /// Whether its port is read at every change.
    traced: bool,
}

#[derive(Clone, Copy, Debug)]
struct Flying {
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
            _ => Self::Trace(index),
        }
    }
}

impl Fabric {
    /// The network of `experiment`, empty, at time zero. It captures nothing.
    pub fn new(experiment: &Experiment) -> Self {
        Self::build(experiment, None)
    }

    /// Likewise, and what passes the ports that are captured is told.
    pub fn capturing(experiment: &Experiment, captures: Captures) -> Self {
        Self::build(experiment, Some(captures))
    }

    fn build(experiment: &Experiment, captures: Option<Captures>) -> Self {
        let network = &experiment.network;
        let (buffers, ports) = ports(experiment);
        let mut wires: Vec<Wire> = network.links.iter().map(|_| Wire::default()).collect();
        let tracer = PortTracer::new(experiment);
        for link in tracer.at_every_change() {
            wires[link as usize].traced = true;
        }
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
        let sampler = Sampler::new(experiment.sample_queues, (0..buffers.len() as u32).collect());
        let state = State {
            to_hosts: to_hosts().map(|(index, _)| *index as u32).collect(),
            last_delay: to_hosts().map(|(_, link)| link.delay).min().unwrap_or_default(),
            first_delay: from_hosts.iter().map(|link| link.delay).min().unwrap_or_default(),
            framing: u16::try_from(network.framing.0).expect("framing is small"),
            data_dropped: vec![0; ports.len()],
            network: network.clone(),
            ports,
            buffers,
            wires,
            frames: Frames::default(),
            background,
            entering: VecDeque::new(),
            leaving: Vec::new(),
            sampler,
            tracer,
            captures,
            tally: Tally::default(),
            dropped: Vec::new(),
        };
        Self { queue, state }
    }

    /// A frame came from a host at this time. Returns whether it is one of ours: others go no further.
    ///
    /// What is said to have come before something that has already happened, or that came before it, comes then.
    pub fn enter(&mut self, at: Instant, frame: &[u8]) -> bool {
        let state = &mut self.state;
        let Some(parsed) = frame::parse(frame, state.network.hosts, state.framing) else { return false };
        let after = state.entering.back().map_or(self.queue.now(), |last| last.at);
        let flying = Flying { at: at.max(after), header: parsed.header, slot: state.frames.keep(frame) };
        state.tally.packets_sent += 1;
        state.tally.data_sent += u64::from(parsed.data > 0);
        if state.entering.is_empty() {
            self.queue.schedule(flying.at, Event::Enter);
        }
        state.entering.push_back(flying);
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
        let arrives = state.to_hosts.iter().filter_map(|&link| state.wires[link as usize].in_flight.front());
        let known = arrives.map(|flying| flying.at).min();
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
            frame::rewrite(self.state.frames.get_mut(delivery.slot), &delivery.header);
        }
        &self.state.leaving
    }

    /// What is in a frame that leaves.
    pub fn frame(&self, delivery: &Delivery) -> &[u8] {
        self.state.frames.get(delivery.slot)
    }

    /// The frames that left are on their way.
    pub fn let_go(&mut self) {
        for delivery in self.state.leaving.drain(..) {
            self.state.frames.free(delivery.slot);
        }
    }

    /// The ports that have carried anything, in the order of the links.
    pub fn ports(&self) -> impl Iterator<Item = PortState<'_>> {
        self.state.network.links.iter().zip(&self.state.ports).filter_map(|(link, port)| {
            let counters = port.counters();
            (counters.received > 0).then(|| PortState {
                name: &link.name,
                backlog: port.backlog(),
                most: counters.max_backlog,
                sent: counters.sent,
                marked: counters.marked,
                dropped: counters.dropped_total(),
            })
        })
    }

    /// Hand over what captures hold back.
    ///
    /// # Errors
    ///
    /// The first thing that has gone wrong with one; nothing was captured after it.
    pub fn flush_captures(&mut self) -> io::Result<()> {
        self.state.captures.as_mut().map_or(Ok(()), Captures::flush)
    }

    /// Packets of the whole network.
    pub fn tally(&self) -> Tally {
        self.state.tally
    }

    /// What has happened, and what hosts have measured beside it.
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
            samples: state.sampler.rows,
            trace: state.tracer.rows,
            tally: state.tally,
            captured: state.captures.map(|captures| captures.packets()).unwrap_or_default(),
            data_dropped: state.data_dropped,
            datagram_bytes,
            echoes,
            ..measured
        };
        Report::measured(experiment, &state.ports, measured)
    }
}

impl event::World for State {
    type Event = Event;

    fn handle(&mut self, event: Event, queue: &mut EventQueue<Event>) {
        match event {
            Event::Transmit(link) => self.transmit(link, queue),
            Event::Deliver(link) => self.deliver(link, queue),
            Event::Enter => {
                let Flying { header, slot, .. } = self.entering.pop_front().expect("it has the event");
                if let Some(next) = self.entering.front() {
                    queue.schedule(next.at, Event::Enter);
                }
                // Link h is the one that leaves host h.
                self.enqueue(header.source.0, header, slot, queue);
            }
            Event::Make(number) => {
                if let Some((made, next)) = self.background.send(number, queue.now()) {
                    self.make(made, queue);
                    queue.schedule(next, Event::Make(number));
                }
            }
            Event::Sample => {
                let backlogs = (0..).zip(self.ports.iter().map(Port::backlog));
                let next = self.sampler.sample(queue.now(), backlogs, &self.buffers);
                queue.schedule(next, Event::Sample);
            }
            Event::Trace(number) => {
                let (links, next) = self.tracer.due(number, queue.now());
                for link in links {
                    self.read(link, queue.now());
                }
                queue.schedule(next, Event::Trace(number));
            }
        }
    }
}

impl State {
    /// A packet of ours leaves its host.
    fn make(&mut self, (header, body): Made, queue: &mut EventQueue<Event>) {
        let slot = self.frames.keep(&body);
        self.tally.packets_sent += 1;
        self.enqueue(header.source.0, header, slot, queue);
    }

    fn enqueue(&mut self, link: u32, header: Header, slot: Slot, queue: &mut EventQueue<Event>) {
        let at = link as usize;
        let buffer = &mut self.buffers[self.network.links[at].from.0 as usize];
        match self.ports[at].receive(queue.now(), header, slot, buffer, &mut self.dropped) {
            Arrival::Sent(departure) => self.launch(link, departure, queue),
            Arrival::Queued if !self.wires[at].waking => {
                self.wires[at].waking = true;
                queue.schedule(self.ports[at].busy_until(), Event::Transmit(link));
            }
            Arrival::Queued | Arrival::Dropped => {}
        }
        self.changed(link, queue.now());
    }

    fn transmit(&mut self, link: u32, queue: &mut EventQueue<Event>) {
        let at = link as usize;
        let buffer = &mut self.buffers[self.network.links[at].from.0 as usize];
        let departure = self.ports[at].transmit_next(queue.now(), buffer, &mut self.dropped);
        self.wires[at].waking = self.ports[at].has_backlog();
        if self.wires[at].waking {
            queue.schedule(self.ports[at].busy_until(), Event::Transmit(link));
        }
        if let Some(departure) = departure {
            self.launch(link, departure, queue);
        }
        self.changed(link, queue.now());
    }

    fn launch(&mut self, link: u32, departure: Departure<Slot>, queue: &mut EventQueue<Event>) {
        let Departure { header, payload: slot, finish } = departure;
        self.tally.packet_hops += 1;
        self.capture(queue.now(), link, &header, slot);
        let at = finish + self.network.links[link as usize].delay;
        let in_flight = &mut self.wires[link as usize].in_flight;
        if in_flight.is_empty() {
            queue.schedule(at, Event::Deliver(link));
        }
        in_flight.push_back(Flying { at, header, slot });
    }

    /// A packet starts to leave the port of a link, with what that wrote on it.
    fn capture(&mut self, now: Instant, link: u32, header: &Header, slot: Slot) {
        let Some(captures) = self.captures.as_mut().filter(|captures| captures.want(link)) else { return };
        let bytes = self.frames.get_mut(slot);
        if bytes.len() < frame::ETHERNET {
            captures.record(now, link, header, background::segment(bytes).as_ref());
        } else {
            frame::rewrite(bytes, header);
            captures.copy(now, link, bytes);
        }
    }

    fn deliver(&mut self, link: u32, queue: &mut EventQueue<Event>) {
        let in_flight = &mut self.wires[link as usize].in_flight;
        let Flying { at, header, slot } = in_flight.pop_front().expect("it has the event");
        if let Some(next) = in_flight.front() {
            queue.schedule(next.at, Event::Deliver(link));
        }
        let node = self.network.links[link as usize].to.0;
        if node < self.network.hosts {
            self.tally.packets_arrived += 1;
            if self.frames.get(slot).len() < frame::ETHERNET {
                let answer = self.background.arrive(at, &header, self.frames.get(slot));
                self.frames.free(slot);
                if let Some(made) = answer {
                    self.make(made, queue);
                }
                return;
            }
            self.leaving.push(Delivery { header, due: at, slot });
            return;
        }
        let next = self.network.routing.next_hop(node - self.network.hosts, &header);
        self.enqueue(next, header, slot, queue);
    }

    /// The port of a link has changed: it is read if it is traced, and what it has dropped goes.
    fn changed(&mut self, link: u32, now: Instant) {
        if self.wires[link as usize].traced {
            self.read(link, now);
        }
        for slot in self.dropped.drain(..) {
            self.tally.packets_dropped += 1;
            let data = frame::parse(self.frames.get(slot), self.network.hosts, self.framing);
            self.data_dropped[link as usize] += u64::from(data.is_some_and(|parsed| parsed.data > 0));
            self.frames.free(slot);
        }
    }

    /// Check the laws that hold at any moment between two events.
    fn audit(&self) {
        self.buffers.iter().for_each(SharedBuffer::audit);
        let mut under_way = self.entering.len() as u64;
        for ((link, port), wire) in self.network.links.iter().zip(&self.ports).zip(&self.wires) {
            port.audit(&self.buffers[link.from.0 as usize]);
            let counters = port.counters();
            under_way += counters.enqueued() - counters.dequeued() + wire.in_flight.len() as u64;
        }
        let tally = &self.tally;
        assert_eq!(
            tally.packets_sent,
            tally.packets_arrived + tally.packets_dropped + under_way,
            "sent = arrived + dropped + under way"
        );
        assert_eq!(self.frames.kept() as u64, under_way + self.leaving.len() as u64, "no frame is forgotten");
    }

    fn read(&mut self, link: u32, now: Instant) {
        let buffer = &self.buffers[self.network.links[link as usize].from.0 as usize];
        self.tracer.record(now, link, &mut self.ports[link as usize], buffer);
    }
}

#[cfg(test)]
mod tests;
