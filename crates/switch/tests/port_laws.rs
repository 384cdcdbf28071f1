//! Tests of laws for every port, with any discipline, markers, buffer and shaper: counters balance, the link never idles while a
//! packet may leave, order within a queue is kept, and no queue exceeds its memory.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::common::{self, Case, Order, case};
use proptest::prelude::*;
use shallows_core::packet::{Ecn, Header, HostId, PacketKind};
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};
use shallows_switch::Port;
use shallows_switch::buffer::{DtCounts, Limit, Policy, SharedBuffer};
use shallows_switch::discipline;
use shallows_switch::port::{Arrival, Departure, DropReason, EgressDrop, Ingress};

/// Packet that arrives `wait` picoseconds after the previous packet.
#[derive(Clone, Copy, Debug)]
struct Step {
    wait: u64,
    flow: u32,
    class: u8,
    size: u16,
    ecn: Ecn,
    kind: PacketKind,
}

const RATE: Rate = Rate::from_gbps(10);
/// Size of the largest packet in this test. Its transmission takes 1,230 ns.
const LARGEST: u64 = 1_538;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let wait = prop_oneof![4 => Just(0u64), 5 => 0..1_300_000u64, 1 => 0..30_000_000u64];
    let size = prop_oneof![Just(LARGEST as u16), 64..=LARGEST as u16];
    let ecn = prop_oneof![4 => Just(Ecn::Ect), 1 => Just(Ecn::NotEct), 1 => Just(Ecn::Ce)];
    let kind = prop_oneof![4 => Just(PacketKind::Data), 1 => Just(PacketKind::PureAck)];
    let step = (wait, 0u32..6, 0u8..4, size, ecn, kind)
        .prop_map(|(wait, flow, class, size, ecn, kind)| Step { wait, flow, class, size, ecn, kind });
    prop::collection::vec(step, 1..150)
}

/// Token bucket in floating-point numbers, for comparison with the port's bucket.
struct Tokens {
    rate: f64,
    burst: f64,
    held: f64,
    since: u64,
}

impl Tokens {
    fn at(&mut self, now: Instant) -> f64 {
        let seconds = (now.0 - self.since) as f64 * 1e-12;
        (self.held, self.since) = ((self.held + self.rate / 8.0 * seconds).min(self.burst), now.0);
        self.held
    }
}

/// Port under test, with separate counts that the test computes.
struct Bench<'a> {
    case: &'a Case,
    port: Port<usize>,
    buffer: SharedBuffer,
    steps: &'a [Step],
    /// Packets that wait at the port, in order of arrival.
    waits: BTreeMap<usize, Step>,
    departed: Vec<Departure<usize>>,
    dropped: Vec<usize>,
    tokens: Option<Tokens>,
    /// Last packet that left, for each queue or flow.
    last: BTreeMap<u32, usize>,
    /// Number of packets dropped at departure so far.
    at_dequeue: u64,
}

impl<'a> Bench<'a> {
    fn new(case: &'a Case, steps: &'a [Step]) -> Self {
        let mut buffer = SharedBuffer::new(&case.buffer);
        let account = buffer.add_queue(0, Bytes(case.reserved));
        for _ in 1..case.port.discipline.queues() {
            buffer.add_sibling(0, Bytes(case.reserved));
        }
        let stream = |purpose, place| Stream::new(1, purpose, place as u64);
        let tokens = case.port.shaper.map(|shaper| Tokens {
            rate: shaper.rate.0 as f64,
            burst: shaper.burst.0 as f64,
            held: shaper.burst.0 as f64,
            since: 0,
        });
        Self {
            case,
            port: Port::new(RATE, account, &case.port, stream),
            buffer,
            steps,
            waits: BTreeMap::new(),
            departed: vec![],
            dropped: vec![],
            tokens,
            last: BTreeMap::new(),
            at_dequeue: 0,
        }
    }

    fn run(mut self) {
        self.run_through(Instant::ZERO, 0..self.steps.len());
        self.transmit_until(Instant::MAX);
        self.settle();
    }

    /// Receives these packets from `now` on. Returns the time of the last arrival.
    fn run_through(&mut self, mut now: Instant, ids: Range<usize>) -> Instant {
        for id in ids {
            now = now + Duration(self.steps[id].wait);
            self.transmit_until(now);
            self.arrive(now, id);
            self.audit();
        }
        now
    }

    /// Takes the link down and receives these packets. Returns the time of the last arrival.
    fn run_without_link(&mut self, mut now: Instant, ids: Range<usize>) -> Instant {
        let (waited, before) = (self.waits.len(), self.port.counters());
        let mut dropped = vec![];
        self.port.link_down(now, &mut self.buffer, &mut dropped);
        self.note_drops(&dropped);
        self.check_nothing_waits();
        for id in ids.clone() {
            now = now + Duration(self.steps[id].wait);
            self.arrive(now, id);
            self.check_nothing_waits();
        }
        let (after, link_down) = (self.port.counters(), DropReason::LinkDown as usize);
        assert_eq!(after.sent, before.sent);
        assert_eq!(after.dropped[link_down] as usize, waited + ids.len());
        assert_eq!((after.dropped_at_dequeue - before.dropped_at_dequeue) as usize, waited);
        self.at_dequeue = after.dropped_at_dequeue;
        now
    }

    fn check_nothing_waits(&self) {
        self.audit();
        assert!(self.waits.is_empty() && !self.port.has_backlog() && self.port.wake_at().is_none());
        self.check_memory_is_empty();
    }

    fn check_memory_is_empty(&self) {
        let is_empty = self.buffer.queue(0).reserved == Bytes(0) && self.buffer.pools()[0].used == Bytes(0);
        assert!(is_empty, "the memory is empty");
    }

    fn transmit_until(&mut self, end: Instant) {
        while self.port.has_backlog() && self.port.busy_until() <= end {
            let now = self.port.busy_until();
            let mut dropped = vec![];
            let departure = self.port.transmit_next(now, &mut self.buffer, &mut dropped);
            self.served(now, departure, &dropped);
            self.audit();
        }
    }

    fn arrive(&mut self, now: Instant, id: usize) {
        let step = self.steps[id];
        let header = Header::new(HostId(step.flow), HostId(99))
            .with_ports(step.flow as u16, 80)
            .with_size(step.size)
            .with_class(step.class)
            .with_ecn(step.ecn)
            .with_kind(step.kind);
        let idle = !self.port.has_backlog() && self.port.busy_until() <= now;
        let thresholds: Vec<_> = (0..self.queues()).map(|queue| self.buffer.threshold(queue)).collect();
        let before: Vec<_> = (0..self.queues()).map(|queue| self.buffer.queue(queue).shared).collect();
        self.waits.insert(id, step);
        let mut dropped = vec![];
        match self.port.receive(now, Ingress::NONE, header, id, &mut self.buffer, &mut dropped) {
            Arrival::Sent(departure) => {
                assert!(idle, "it overtakes nobody");
                assert_eq!(departure.payload, id);
                self.served(now, Some(departure), &dropped);
            }
            Arrival::Queued => {
                self.note_drops(&dropped);
                assert!(self.waits.contains_key(&id));
                let held = self.case.port.shaper.is_some() && self.port.busy_until() > now;
                assert!(!idle || held, "it waits at an idle port");
                if dropped.is_empty() {
                    self.check_thresholds(&thresholds, &before);
                }
            }
            Arrival::Dropped => {
                assert!(dropped.contains(&id));
                if idle && !self.port.is_down() {
                    // A marker may have dropped the packet at departure.
                    self.served(now, None, &dropped);
                } else {
                    self.note_drops(&dropped);
                }
            }
        }
    }

    /// Checks the result of `transmit_next`, or of an arrival that was sent at once.
    fn served(&mut self, now: Instant, departure: Option<Departure<usize>>, dropped: &[usize]) {
        let left_empty = self.port.counters().dropped_at_dequeue - self.at_dequeue;
        self.at_dequeue += left_empty;
        self.note_drops(dropped);
        if left_empty > 0 && self.case.port.egress_drop == EgressDrop::Slot {
            // The last dropped packet takes its transmission time, and its tokens.
            let size = Bytes(u64::from(self.steps[dropped[dropped.len() - 1]].size));
            assert_eq!((left_empty, departure.is_none()), (1, true));
            assert_eq!(self.port.busy_until(), now + RATE.transmission_time(size));
            return self.spend(now, size);
        }
        let Some(departure) = departure else {
            // The shaper rounds the refill time of each packet up to a picosecond.
            let taken = (self.departed.len() + self.dropped.len() + 1) as f64;
            let holds = self
                .tokens
                .as_mut()
                .is_some_and(|tokens| tokens.at(now) < LARGEST as f64 + taken * tokens.rate / 8.0 * 1e-12);
            assert!(self.waits.is_empty() || holds, "something waits, and no shaper holds it back");
            assert!(self.waits.is_empty() || self.port.busy_until() > now, "it would be asked for ever");
            return;
        };
        let (id, size) = (departure.payload, departure.header.size());
        let step = self.waits.remove(&id).expect("what leaves has arrived, and only once");
        assert_eq!(size, Bytes(u64::from(step.size)));
        assert_eq!(departure.finish, now + RATE.transmission_time(size), "the link has its rate");
        assert_eq!(self.port.busy_until(), departure.finish);
        self.spend(now, size);
        let lane = match self.case.order {
            Order::ByQueue => u32::from(step.class) % self.queues() as u32,
            Order::ByFlow => step.flow,
        };
        let before = self.last.insert(lane, id);
        assert!(before.is_none_or(|before| before < id), "{before:?} left before {id} of the same queue");
        self.departed.push(departure);
    }

    /// Takes the tokens of a packet that was sent, or of a slot that a drop left empty.
    fn spend(&mut self, now: Instant, size: Bytes) {
        if let Some(tokens) = &mut self.tokens {
            let held = tokens.at(now);
            assert!(held + 1e-3 >= size.0 as f64, "{size} leave with {held} tokens");
            tokens.held -= size.0 as f64;
        }
    }

    fn note_drops(&mut self, dropped: &[usize]) {
        for &id in dropped {
            self.waits.remove(&id).expect("what is dropped has arrived, and only once");
            self.dropped.push(id);
        }
    }

    /// Checks that each queue that has grown is within the `thresholds`, if the policy is Dynamic Threshold.
    fn check_thresholds(&self, thresholds: &[Option<Bytes>], before: &[Bytes]) {
        for queue in 0..self.queues() {
            let now = self.buffer.queue(queue);
            if let Policy::DynamicThreshold(policy) = &self.case.buffer.policy
                && now.shared > before[queue]
            {
                let bounded = match policy.counts {
                    DtCounts::Shared => now.shared,
                    DtCounts::Total => now.backlog(),
                };
                let threshold = thresholds[queue].expect("the policy has a threshold");
                assert!(bounded <= threshold, "queue {queue} holds {bounded}, and might hold {threshold}");
            }
        }
    }

    fn audit(&self) {
        self.port.audit(&self.buffer);
        self.buffer.audit();
        let bytes =
            |waits: &mut dyn Iterator<Item = &Step>| waits.map(|step| u64::from(step.size)).sum::<u64>();
        assert_eq!(self.port.backlog().0, bytes(&mut self.waits.values()), "what waits");
        let within = |limit: &Limit, of: &dyn Fn(&Step) -> bool| {
            let held = || self.waits.values().filter(|step| of(step));
            match *limit {
                Limit::Bytes(limit) => bytes(&mut held()) <= limit.0,
                Limit::Packets(limit) => held().count() <= limit as usize,
            }
        };
        if let Policy::StaticPartition { limit } = &self.case.buffer.policy {
            assert!(within(limit, &|_| true), "the partition");
        }
        assert!(self.case.port_limit.as_ref().is_none_or(|limit| within(limit, &|_| true)), "the port");
        for (queue, limit) in self.case.queue_limits.iter().enumerate() {
            let own = |step: &Step| usize::from(step.class) % self.queues() == queue;
            assert!(within(limit, &own), "queue {queue} is within its limit");
        }
    }

    /// Checks that the port's counts equal the test's counts after all packets have left.
    fn settle(self) {
        assert!(self.waits.is_empty() && !self.port.has_backlog());
        let counters = self.port.counters();
        let bytes = self.departed.iter().map(|departure| departure.header.size().0).sum::<u64>();
        assert_eq!(counters.received as usize, self.steps.len());
        assert_eq!((counters.sent as usize, counters.sent_bytes.0), (self.departed.len(), bytes));
        assert_eq!(counters.dropped_total() as usize, self.dropped.len(), "every drop has one reason");
        let dropped = |of: &dyn Fn(&Step) -> bool| {
            self.dropped.iter().filter(|&&id| of(&self.steps[id])).count() as u64
        };
        let reason = |reason: DropReason| counters.dropped[reason as usize];
        let (not_ect, acks) = (reason(DropReason::NotEct), reason(DropReason::NotEctAck));
        assert!(not_ect <= dropped(&|step| step.ecn == Ecn::NotEct && step.kind == PacketKind::Data));
        assert!(acks <= dropped(&|step| step.ecn == Ecn::NotEct && step.kind == PacketKind::PureAck));
        // Marks that were counted left with their packets, or were dropped with them.
        let new_ce = |departure: &&Departure<usize>| {
            let came = self.steps[departure.payload].ecn;
            assert!(came == departure.header.ecn() || (came, departure.header.ecn()) == (Ecn::Ect, Ecn::Ce));
            came != departure.header.ecn()
        };
        let marked = self.departed.iter().filter(new_ce).count() as u64;
        assert!((marked..=marked + dropped(&|step| step.ecn == Ecn::Ect)).contains(&counters.marked));
        let notified = self.departed.iter().filter(|departure| departure.header.incast()).count() as u64;
        assert!(notified <= counters.incast);
        // Every marker returns a verdict: together they requested at least the marks and drops that were made.
        let wanted = self.port.markers().iter().map(|marker| marker.counts());
        let (marks, drops) = wanted.fold((0, 0), |(m, d), counts| (m + counts.marked, d + counts.dropped));
        assert!(counters.marked + not_ect + acks <= marks, "{counters:?}");
        assert!(reason(DropReason::Early) <= drops);
        self.check_memory_is_empty();
    }

    fn queues(&self) -> usize {
        self.case.port.discipline.queues()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_port_breaks_its_laws(case in case(), steps in steps()) {
        Bench::new(&case, &steps).run();
    }

    #[test]
    fn a_port_whose_link_is_down_holds_and_sends_nothing_and_afterwards_is_as_before(
        case in case(),
        steps in steps(),
        (down, up) in (0usize..150, 0usize..150),
    ) {
        let mut bench = Bench::new(&case, &steps);
        let [down, up] = [down.min(up), down.max(up)].map(|id| id.min(steps.len()));
        let now = bench.run_through(Instant::ZERO, 0..down);
        let now = bench.run_without_link(now, down..up);
        bench.port.link_up(now, RATE);
        bench.run_through(now, up..steps.len());
        bench.transmit_until(Instant::MAX);
        bench.settle();
    }
}

#[test]
fn a_shaped_port_divides_what_the_shaper_lets_pass() {
    // 10 Gbit/s behind a bucket of 1 Gbit/s and 3,000 B; two queues, always backlogged, with quanta of 1,500 and 3,000 B.
    let mut case = common::shaped_dwrr(Rate::from_gbps(1), Bytes(3_000), &[1_500, 3_000]);
    case.order = Order::ByQueue;
    let count = 3_000;
    let step = |id: usize| Step {
        wait: 0,
        flow: 0,
        class: (id % 2) as u8,
        size: 1_500,
        ecn: Ecn::Ect,
        kind: PacketKind::Data,
    };
    let steps: Vec<Step> = (0..2 * count).map(step).collect();
    let mut bench = Bench::new(&case, &steps);
    (0..steps.len()).for_each(|id| bench.arrive(Instant::ZERO, id));
    // In 12 ms the bucket admits its 3,000 B and 1,500,000 more: 1,002 packets, the last of which leaves at 12 ms.
    bench.transmit_until(Instant::ZERO + Duration::from_millis(12));
    let of = |class: u8| bench.departed.iter().filter(|d| d.header.class() == class).count();
    assert_eq!(of(0) + of(1), 1_002);
    // One packet per round for the first queue, two for the second. The first packet found the port idle and was a round alone.
    assert!(of(0).abs_diff(334) <= 1 && of(1).abs_diff(668) <= 1, "{} and {}", of(0), of(1));
}

#[test]
fn a_port_sends_at_the_rate_that_its_link_has_when_a_packet_starts() {
    // 1,250 B take 1 us at 10 Gbit/s, 4 us at 2.5 Gbit/s, and 3 us at 10/3, at which a byte takes a fractional number of picoseconds.
    for two in [false, true] {
        let (mut port, mut buffer) = late_port(two);
        let us = |us: u64| Instant::ZERO + Duration::from_micros(us);
        let mut dropped = vec![];
        for id in 0..4 {
            port.receive(us(0), Ingress::NONE, packet(id, 1_250), id, &mut buffer, &mut dropped);
        }
        // The first packet is on the wire and keeps its rate.
        port.set_rate(us(0), Rate(2_500_000_000));
        let mut finish = |port: &mut Port<usize>, at| {
            port.transmit_next(at, &mut buffer, &mut dropped).expect("it waits").finish
        };
        assert_eq!(port.wake_at(), Some(us(1)));
        assert_eq!(finish(&mut port, us(1)), us(5));
        port.set_rate(us(5), Rate(10_000_000_000 / 3));
        assert_eq!(finish(&mut port, us(5)), us(8) + Duration(1), "rounded up to a picosecond");
        port.set_rate(us(8), RATE);
        assert_eq!(finish(&mut port, us(9)), us(10));
    }
}

/// Returns a port with one queue, or with two queues by class behind a scheduler.
fn late_port(two: bool) -> (Port<usize>, SharedBuffer) {
    let mut case = common::shaped_dwrr(RATE, Bytes(LARGEST), &[1_500, 3_000]);
    case.port.shaper = None;
    if !two {
        case.port.discipline = discipline::Config::Fifo;
    }
    let mut buffer = SharedBuffer::new(&case.buffer);
    let account = buffer.add_queue(0, Bytes(0));
    (1..case.port.discipline.queues()).for_each(|_| _ = buffer.add_sibling(0, Bytes(0)));
    (Port::new(RATE, account, &case.port, |purpose, place| Stream::new(1, purpose, place as u64)), buffer)
}

fn packet(id: usize, size: u16) -> Header {
    Header::new(HostId(1), HostId(2)).with_size(size).with_class(id as u8 % 2)
}

/// Largest delay of a late call in picoseconds. It is less than the transmission time of two of the largest packets.
const LATE: u64 = 4_000_000;

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

/// If a port is served late, its link stays idle for as long as the delay.
    #[test]
    fn a_port_that_is_served_late_starts_then(
        packets in prop::collection::vec((64..=LARGEST as u16, 0..=LATE), 1..60),
        two in any::<bool>(),
    ) {
        let (mut port, mut buffer) = late_port(two);
        let mut dropped = vec![];
        for (id, &(size, _)) in packets.iter().enumerate() {
            port.receive(Instant::ZERO, Ingress::NONE, packet(id, size), id, &mut buffer, &mut dropped);
        }
        let mut finish = RATE.transmission_time(Bytes(packets[0].0.into())).0;
        for &(_, late) in &packets[1..] {
            let now = Instant(port.busy_until().0 + late);
            let departure = port.transmit_next(now, &mut buffer, &mut dropped).expect("it has a packet");
            let size = departure.header.size();
            finish += late + RATE.transmission_time(size).0;
            prop_assert_eq!(departure.finish, Instant(finish));
            prop_assert_eq!(port.busy_until(), departure.finish);
        }
        prop_assert!(!port.has_backlog() && dropped.is_empty());
    }

/// Between two calls a port sends at most the data that its link carries in that time, plus one packet. Idle time earns
/// no credit, because a packet that finds the port idle starts when it arrives.
    #[test]
    fn a_port_never_sends_more_than_its_rate_lets_pass(
        packets in prop::collection::vec((0..4_000_000u64, 64..=LARGEST as u16, 0..=LATE), 1..60),
        two in any::<bool>(),
    ) {
        let (mut port, mut buffer) = late_port(two);
        let (mut now, mut dropped, mut sent) = (Instant::ZERO, vec![], vec![]);
        for (id, &(wait, size, late)) in packets.iter().enumerate() {
            let arrives = now.max(port.busy_until()) + Duration(wait);
            // The waiting packets are served before the arrival, each `late` after it is due, if there is time.
            while port.has_backlog() && port.busy_until().0 + late <= arrives.0 {
                now = now.max(Instant(port.busy_until().0 + late));
                let departure = port.transmit_next(now, &mut buffer, &mut dropped).expect("it has a packet");
                sent.push((now, departure));
            }
            // Half of the packets arrive while the port is busy.
            now = if wait % 2 == 0 { now.max(arrives) } else { now };
            let arrival = port.receive(now, Ingress::NONE, packet(id, size), id, &mut buffer, &mut dropped);
            if let Arrival::Sent(departure) = arrival {
                prop_assert_eq!(departure.finish, now + RATE.transmission_time(Bytes(size.into())));
                sent.push((now, departure));
            }
        }
        for first in 0..sent.len() {
            let mut taken = 0;
            for (last, departure) in &sent[first..] {
                let open = last.0 - sent[first].0.0;
                prop_assert!(taken <= open, "{taken} ps of packets in {open}");
                taken += RATE.transmission_time(departure.header.size()).0;
            }
        }
    }
}
