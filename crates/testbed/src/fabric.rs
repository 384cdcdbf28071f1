//! The network between the hosts: the ports, links and switches of an experiment, through which frames pass.
//!
//! It has a clock of its own, that of its events. Whoever drives it tells which frames have come, and when, and lets it catch
//! up with the time ([`Fabric::advance`]): everything inside then happens at the very moment at which it was due, however late
//! it is asked. A port that is busy until some time sends its next packet at that time and takes no harm from a driver that
//! wakes up after it. Only what leaves for a host is late, and by how much is known: each frame says when it was due.

use std::collections::VecDeque;

use shallows_core::event::{self, EventQueue};
use shallows_core::packet::Header;
use shallows_core::{Duration, Instant};
use shallows_scenario::{Experiment, Link, Network};
use shallows_sim::{Measured, PortTracer, Report, Sampler, Tally, ports};
use shallows_switch::Port;
use shallows_switch::buffer::SharedBuffer;
use shallows_switch::port::{Arrival, Departure};

use crate::frame;

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

/// Where a frame is kept.
type Slot = u32;

#[derive(Debug)]
struct State {
    network: Network,
    framing: u16,
    ports: Vec<Port<Slot>>,
    buffers: Vec<SharedBuffer>,
    wires: Vec<Wire>,
    frames: Frames,
    /// What hosts have sent, by time.
    entering: VecDeque<Flying>,
    leaving: Vec<Delivery>,
    /// Links that lead to hosts, the shortest delay of those, and of those that leave hosts.
    to_hosts: Vec<u32>,
    last_delay: Duration,
    first_delay: Duration,
    sampler: Sampler,
    tracer: PortTracer,
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
    Sample,
    Trace(u32),
}

impl event::Event for Event {
    fn key(self) -> u64 {
        let (class, index) = match self {
            Self::Transmit(link) => (0, link),
            Self::Deliver(link) => (1, link),
            Self::Enter => (2, 0),
            Self::Sample => (3, 0),
            Self::Trace(number) => (4, number),
        };
        class << 32 | u64::from(index)
    }

    fn from_key(key: u64) -> Self {
        let index = key as u32;
        match key >> 32 {
            0 => Self::Transmit(index),
            1 => Self::Deliver(index),
            2 => Self::Enter,
            3 => Self::Sample,
            _ => Self::Trace(index),
        }
    }
}

impl Fabric {
    /// The network of `experiment`, empty, at time zero.
    pub fn new(experiment: &Experiment) -> Self {
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
            entering: VecDeque::new(),
            leaving: Vec::new(),
            sampler,
            tracer,
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
        let Self { state, queue } = self;
        let measured = Measured {
            samples: state.sampler.rows,
            trace: state.tracer.rows,
            tally: state.tally,
            data_dropped: state.data_dropped,
            events: queue.handled(),
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
        let at = finish + self.network.links[link as usize].delay;
        let in_flight = &mut self.wires[link as usize].in_flight;
        if in_flight.is_empty() {
            queue.schedule(at, Event::Deliver(link));
        }
        in_flight.push_back(Flying { at, header, slot });
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

/// Frames on their way, each in a slot that is used again.
#[derive(Debug, Default)]
struct Frames {
    slots: Vec<Vec<u8>>,
    free: Vec<Slot>,
}

impl Frames {
    fn keep(&mut self, frame: &[u8]) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Vec::new());
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 frames under way")
        });
        let kept = &mut self.slots[slot as usize];
        kept.clear();
        kept.extend_from_slice(frame);
        slot
    }

    fn get(&self, slot: Slot) -> &[u8] {
        &self.slots[slot as usize]
    }

    fn get_mut(&mut self, slot: Slot) -> &mut [u8] {
        &mut self.slots[slot as usize]
    }

    fn free(&mut self, slot: Slot) {
        self.free.push(slot);
    }

    /// How many there are.
    fn kept(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Three hosts at one switch, 100 Mb/s and 50 us each; the queues hold 15 packets of 1,500 bytes and mark above 6,000 bytes.
    fn experiment() -> Experiment {
        let text = r#"
            name = "star"
            [topology]
            kind = "star"
            hosts = 3
            rate = "100Mbps"
            link_delay = "50us"
            [switch]
            buffer = { kind = "static-partition", per_port = "22500B" }
            markers = [{ kind = "threshold", k = "6000B" }]
            [tcp]
            congestion = { kind = "reno", ecn = true }
            [[workload]]
            kind = "long-lived"
            senders = "0..2"
            receivers = "2..3"
            [stop]
            at = "1s"
        "#;
        let loaded =
            shallows_scenario::parse(text, "star.toml", &|_| unreachable!("it names no file"), &[], None);
        loaded.unwrap_or_else(|error| panic!("{error}"))
    }

    /// A segment of 1,460 bytes of data, ECT(0).
    fn segment(from: u8, to: u8) -> Vec<u8> {
        let mut frame = vec![0; 14 + 1_500];
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame[14..26].copy_from_slice(&[0x45, 0x02, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 6, 0, 0]);
        frame[26..34].copy_from_slice(&[10, 0, 0, from + 1, 10, 0, 0, to + 1]);
        frame[46..48].copy_from_slice(&[0x50, 0x10]);
        frame
    }

    fn us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// What has left by `now`: when each frame was due, and whether it is marked.
    fn leave(fabric: &mut Fabric, now: Instant) -> Vec<(Instant, bool)> {
        fabric.advance(now);
        fabric.state.audit();
        let leaving = fabric.leaving().to_vec();
        let told =
            leaving.iter().map(|delivery| (delivery.due, fabric.frame(delivery)[15] & 3 == 3)).collect();
        fabric.let_go();
        told
    }

    #[test]
    fn a_frame_takes_what_its_links_take_however_late_that_is_looked_at() {
        let mut fabric = Fabric::new(&experiment());
        assert!(fabric.enter(us(10), &segment(0, 2)));
        // 1,500 bytes take 120 us on each of two links, and 50 us each from end to end.
        assert_eq!(leave(&mut fabric, us(349)), []);
        assert_eq!(fabric.wake_at(), Some(us(350)));
        assert_eq!(leave(&mut fabric, us(9_000)), [(us(350), false)]);
        // What came before is over: it cannot change any more, and what is said to have come then comes now.
        assert!(fabric.enter(us(20), &segment(0, 2)));
        assert_eq!(leave(&mut fabric, us(9_000)), [(us(350 + 340), false)]);
    }

    #[test]
    fn a_queue_marks_above_its_threshold_and_drops_beyond_its_room() {
        let mut fabric = Fabric::new(&experiment());
        // Two senders at the rate of the link, 60 frames each: the queue grows by one packet in 120 us.
        for number in 0..60 {
            for from in [0, 1] {
                fabric.enter(us(number * 120), &segment(from, 2));
            }
        }
        let left = leave(&mut fabric, us(60 * 120 * 2 + 1_000));
        let tally = fabric.tally();
        assert_eq!((tally.packets_sent, tally.data_sent), (120, 120));
        assert_eq!(tally.packets_arrived, left.len() as u64);
        assert_eq!(tally.packets_arrived + tally.packets_dropped, 120);
        // Of the second of each pair, fifteen find room; then one of each pair.
        assert!((40..50).contains(&tally.packets_dropped), "{tally:?}");
        let first = left.iter().position(|(_, marked)| *marked).expect("some are marked");
        // A marked one is the first that finds 6,000 bytes, four packets, before it: of the fifth pair that waits.
        assert!((8..=11).contains(&first), "{first}");
        assert!(
            left[first..].iter().all(|(_, marked)| *marked),
            "the queue never shrinks before the senders end"
        );
        let spacing = Duration::from_micros(120);
        assert!(left.windows(2).all(|pair| pair[1].0 - pair[0].0 == spacing), "the link never idles");
    }

    #[test]
    fn what_is_none_of_ours_goes_no_further() {
        let mut fabric = Fabric::new(&experiment());
        assert!(!fabric.enter(us(1), &segment(0, 3)), "there is no host 3");
        assert!(!fabric.enter(us(1), &[0; 60]));
        assert_eq!(fabric.tally().packets_sent, 0);
        assert_eq!(fabric.wake_at(), None);
    }

    #[test]
    fn a_driver_that_wakes_when_it_is_told_to_is_never_late() {
        let mut fabric = Fabric::new(&experiment());
        assert_eq!(fabric.crossing(), Duration::from_micros(100));
        // A hundred frames at odd times, of which the driver hears 100 us later.
        let mut came: VecDeque<u64> = (0..100).map(|number| number * 131 + number % 7 * 20).collect();
        let (mut now, mut left, mut looks) = (0, 0, 0);
        while left < 100 {
            while let Some(at) = came.pop_front_if(|at| *at <= now) {
                fabric.enter(us(at), &segment(0, 2));
            }
            for (due, _) in leave(&mut fabric, us(now)) {
                assert_eq!(due, us(now));
                left += 1;
            }
            looks += 1;
            let wake = fabric.wake_at().map_or(u64::MAX, |at| (at.0 / 1_000_000).max(now + 1));
            now = wake.min(now + 100);
        }
        assert!(looks < 400, "{looks} looks at a hundred frames");
    }

    proptest! {
        /// Lateness changes nothing of what happens inside: a network that is looked at now and then lets the same frames leave,
        /// due at the same times and marked alike, as one that is looked at whenever something happens.
        #[test]
        fn a_driver_that_wakes_up_late_sees_what_one_that_does_not_sees(
            sent in prop::collection::vec((0u64..200, 0u8..2), 1..120),
            looks in prop::collection::vec(1u64..3_000, 1..40),
        ) {
            let (mut punctual, mut late) = (Fabric::new(&experiment()), Fabric::new(&experiment()));
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            let mut now = 0;
            for (gap, from) in &sent {
                now += gap;
                expected.extend(leave(&mut punctual, us(now)));
                punctual.enter(us(now), &segment(*from, 2));
            }
            expected.extend(leave(&mut punctual, us(now + 100_000)));
            // What has come by a look is told before it, as a ring of frames does.
            let (mut came, mut sent, mut looked) = (0, sent.iter().peekable(), 0);
            for gap in looks.iter().chain(std::iter::repeat_n(&1_000, 200)) {
                looked += gap;
                while let Some((gap, from)) = sent.next_if(|(gap, _)| came + gap <= looked) {
                    came += gap;
                    late.enter(us(came), &segment(*from, 2));
                }
                found.extend(leave(&mut late, us(looked)));
            }
            prop_assert_eq!(expected, found);
        }
    }
}
