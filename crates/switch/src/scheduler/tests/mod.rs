//! Tests of the schedulers, called directly and inside a port's queues, against hand-worked traces and against GPS.

mod bounds;
mod gps;
mod pauses;
mod traces;

use std::collections::VecDeque;

use proptest::prelude::*;
use shallows_core::packet::Header;
use shallows_core::{Bytes, Duration, Instant, Rate};

use self::gps::Arrival;
use super::*;
use crate::discipline::{Composed, ComposedConfig, Discipline, Item, Limits};

/// A byte takes 80 ps at this rate.
const RATE: Rate = Rate::from_gbps(100);
/// Largest packet that the generators create.
const MTU: u64 = 9_000;

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sent {
    packet: usize,
    queue: usize,
    size: u64,
    finish: Instant,
    ends_turn: bool,
}

/// A link, its queues, and the scheduler that selects among them.
struct Link {
    scheduler: AnyScheduler,
    queues: Vec<QueueState>,
    waiting: Vec<VecDeque<(usize, Bytes)>>,
    paused: Paused,
    now: Instant,
    arrived: usize,
}

impl Link {
    fn new(config: &Config) -> Self {
        let queues = vec![QueueState::default(); config.shares().len()];
        Self {
            scheduler: config.build(RATE),
            waiting: vec![VecDeque::new(); queues.len()],
            queues,
            paused: Paused::default(),
            now: Instant::ZERO,
            arrived: 0,
        }
    }

    /// Adds a packet that arrives at `at`, possibly while another is on the wire.
    fn arrive_at(&mut self, at: Instant, queue: usize, size: u64) {
        let size = Bytes(size);
        self.waiting[queue].push_back((self.arrived, size));
        self.arrived += 1;
        self.queues[queue].packets += 1;
        self.queues[queue].backlog += size;
        self.queues[queue].head = self.waiting[queue][0].1;
        self.scheduler.on_enqueue(at, queue, size, &self.queues);
    }

    fn arrive(&mut self, queue: usize, size: u64) {
        self.arrive_at(self.now, queue, size);
    }

    /// Sends the next packet up to its last bit; returns `None` if no queue may send.
    fn serve(&mut self) -> Option<Sent> {
        let queue = self.scheduler.select(self.now, &self.queues, self.paused)?;
        let (packet, size) = self.waiting[queue].pop_front().expect("the queue is not empty");
        let state = &mut self.queues[queue];
        state.packets -= 1;
        state.backlog -= size;
        state.head = self.waiting[queue].front().map_or(Bytes(0), |next| next.1);
        let ends_turn = self.scheduler.on_dequeue(self.now, queue, size, &self.queues);
        self.now = self.now + RATE.transmission_time(size);
        Some(Sent { packet, queue, size: size.0, finish: self.now, ends_turn })
    }

    /// Sends up to `packets` packets and returns the queue of each.
    fn order(&mut self, packets: usize) -> Vec<usize> {
        (0..packets).map_while(|_| self.serve()).map(|sent| sent.queue).collect()
    }

    /// Sends up to `packets` packets and returns the queue of each, and whether the queue's turn ends with it.
    fn turns(&mut self, packets: usize) -> Vec<(usize, bool)> {
        (0..packets).map_while(|_| self.serve()).map(|sent| (sent.queue, sent.ends_turn)).collect()
    }

    /// Returns how often DWRR has visited a queue.
    fn visits(&self) -> u64 {
        let AnyScheduler::Dwrr(dwrr) = &self.scheduler else { panic!("only DWRR counts") };
        dwrr.visits
    }
}

/// Sends `arrivals` through the queues of a port and returns the packets sent. Checks the properties of every scheduler: the link never
/// idles while a packet waits, `peek` changes nothing, and each queue is first in, first out. `look` receives the state of the queues
/// before each selection, and the selected queue.
fn run(config: &Config, arrivals: &[Arrival], mut look: impl FnMut(&[QueueState], usize)) -> Vec<Sent> {
    let classes = config.shares().len() as u8;
    let config = ComposedConfig {
        scheduler: config.clone(),
        queue_of_class: (0..classes).collect(),
        limits: Limits::default(),
    };
    let mut port: Composed<usize> = Composed::new(&config, config.scheduler.build(RATE));
    let mut latest = vec![None; usize::from(classes)];
    let mut pending = arrivals.iter().enumerate().peekable();
    let (mut now, mut sent) = (Instant::ZERO, vec![]);
    while sent.len() < arrivals.len() {
        // The link is free: add the packets that have arrived by now, in order, each at its time of arrival.
        if port.queues().iter().all(|queue| queue.packets == 0) {
            now = now.max(pending.peek().expect("some are left").1.at);
        }
        while let Some((payload, arrival)) = pending.next_if(|(_, arrival)| arrival.at <= now) {
            let header = Header::default().with_size(arrival.size.0 as u16).with_class(arrival.queue as u8);
            let queue = port.place(arrival.at, &header).expect("there are no limits");
            port.enqueue(queue, Item { header, payload, enqueued_at: arrival.at, ..Item::default() });
        }
        let size = port.peek(now).expect("the link does not idle while a packet waits");
        assert_eq!(port.peek(now), Some(size), "asking again changes nothing");
        let before = port.queues().to_vec();
        let left = port.dequeue(now).expect("nor does asking");
        look(&before, left.queue);
        assert_eq!(left.item.header.size(), size, "the packet that was announced goes");
        assert!(latest[left.queue] < Some(left.item.payload), "a queue is first in, first out");
        latest[left.queue] = Some(left.item.payload);
        now = now + RATE.transmission_time(size);
        let Item { payload: packet, .. } = left.item;
        sent.push(Sent { packet, queue: left.queue, size: size.0, finish: now, ends_turn: left.ends_turn });
    }
    assert_eq!(port.dequeue(now).map(|left| left.queue), None);
    sent
}

/// Generates packets of 64 to 9,000 B for `queues` queues, with bursts, trickles and pauses.
fn arrivals(queues: usize) -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![6 => Just(0), 3 => 0u64..300, 1 => 0u64..9_000];
    let burst = (gap, 0..queues, prop::collection::vec(64u64..=MTU, 1..6));
    prop::collection::vec(burst, 1..50).prop_map(|bursts| {
        let mut at = Instant::ZERO;
        let mut arrivals = vec![];
        for (gap, queue, sizes) in bursts {
            at = at + Duration::from_nanos(gap);
            arrivals.extend(sizes.into_iter().map(|size| Arrival { at, queue, size: Bytes(size) }));
        }
        arrivals
    })
}

fn weights() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(1u32..20, 1..9)
}

/// Generates any scheduler.
fn schedulers() -> impl Strategy<Value = Config> {
    let quanta = || prop::collection::vec((1u64..20_000).prop_map(Bytes), 1..9);
    let order = prop_oneof![Just(Order::Cyclic), Just(Order::Activation)];
    let virtual_time =
        prop_oneof![Just(VirtualTime::Gps), Just(VirtualTime::SelfClocked), Just(VirtualTime::AsReleased)];
    prop_oneof![
        (1usize..9).prop_map(|queues| Config::StrictPriority { queues }),
        (quanta(), order).prop_map(|(quanta, order)| Config::Wrr { quanta, order }),
        quanta().prop_map(|quanta| Config::Dwrr { quanta }),
        (weights(), virtual_time).prop_map(|(weights, virtual_time)| Config::Wfq { weights, virtual_time }),
    ]
}

/// Generates a scheduler below a few queues of strict priority, with arrivals for all queues.
fn nested() -> impl Strategy<Value = (usize, Config, Vec<Arrival>)> {
    (0usize..4, schedulers()).prop_flat_map(|(above, below)| {
        let queues = above + below.shares().len();
        (Just(above), Just(below), arrivals(queues))
    })
}

fn quanta(bytes: &[u64]) -> Vec<Bytes> {
    bytes.iter().copied().map(Bytes).collect()
}

fn dwrr(bytes: &[u64]) -> Config {
    Config::Dwrr { quanta: quanta(bytes) }
}

fn wrr(bytes: &[u64], order: Order) -> Config {
    Config::Wrr { quanta: quanta(bytes), order }
}

fn wfq(weights: &[u32], virtual_time: VirtualTime) -> Config {
    Config::Wfq { weights: weights.to_vec(), virtual_time }
}

fn strict_above(queues: usize, below: Config) -> Config {
    Config::StrictAbove { queues, below: Box::new(below) }
}
