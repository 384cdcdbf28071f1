//! Test of a NIC that pulls from a source of constant rate instead of a connection. No code outside this file depends on the source.

use shallows_core::event::{EventQueue, World, run};
use shallows_core::packet::{DataSegment, Header, HostId, PacketKind};
use shallows_core::{Bytes, Duration, Instant, Rate};
use shallows_measure::Lost;
use shallows_scenario::Offloads;
use shallows_transport::{SmallQueue, Tso};

use super::account::Account;
use super::handover::{Handover, PacketSource};
use crate::hosts::names::Name;
use crate::hosts::packet::{DataPacket, Framing};
use crate::hosts::timer::arm;
use crate::network::event::{Class, Event, Ranks};
use crate::network::link::Target;
use crate::network::testing::star;
use crate::network::{Change, Driver, LinkAt, Network};

const PACKET: Bytes = Bytes(1_500);
const SOURCE: HostId = HostId(1);

/// Source that sends packets of the size [`PACKET`] to host 0 at fixed intervals.
struct ConstantRate {
    gap: Duration,
    next: Instant,
    /// Whether too many bytes of the source are queued; the source then has no deadline.
    held: bool,
    account: Account,
}

impl PacketSource for ConstantRate {
    fn poll_transmit(&mut self, now: Instant) -> Option<(Header, DataPacket)> {
        if now < self.next {
            return None;
        }
        self.next = self.next + self.gap;
        let header = Header::new(SOURCE, HostId(0)).with_size(PACKET.0 as u16).with_kind(PacketKind::Data);
        let segment = DataSegment { len: PACKET.0 as u16, ..DataSegment::default() };
        let (framing, name) = (Framing::BeforeFlows { workload: 0 }, Name { slot: 0, generation: 0 });
        Some((header, DataPacket { segment, framing, name }))
    }

    fn account(&mut self) -> &mut Account {
        &mut self.account
    }

    fn is_full(&self, rule: &SmallQueue, _tso: Option<&Tso>, queued: Bytes) -> bool {
        queued >= rule.packet * 2
    }

    fn deadline(&self) -> Option<Instant> {
        (!self.held).then_some(self.next)
    }

    fn hold(&mut self, held: bool) {
        self.held = held;
    }
}

/// Star of hosts with links of 10 Gb/s; the source is at one of the hosts.
struct Bench {
    network: Network<u32>,
    around: Around,
    handover: Handover,
    backpressure: bool,
    source: ConstantRate,
    timer_at: Instant,
    arrivals: Vec<Instant>,
}

#[derive(Default)]
struct Around {
    dropped: u64,
}

struct Driving<'a>(&'a mut Around, &'a mut EventQueue<Event>);

impl Driver<u32> for Driving<'_> {
    fn now(&self) -> Instant {
        self.1.now()
    }

    fn transmit_at(&mut self, at: Instant, link: LinkAt) {
        self.1.schedule(at, Event::of_link(Class::Transmit, link.rank, link.place));
    }

    fn deliver_at(&mut self, at: Instant, link: LinkAt) {
        self.1.schedule(at, Event::of_link(Class::Deliver, link.rank, link.place));
    }

    fn change_at(&mut self, _: Instant, _: u32) {
        unreachable!("the network does not change");
    }

    fn cancel_transmit(&mut self, _: Instant, _: LinkAt) {
        unreachable!("the network does not change");
    }

    fn cancel_deliver(&mut self, _: Instant, _: LinkAt) {
        unreachable!("the network does not change");
    }

    fn lose(&mut self, _: u32) -> Lost {
        unreachable!("the network does not change");
    }

    fn observe(&mut self, _: Instant, _: Change<'_, u32>) {}

    fn leave(&mut self, _: u32, _: Instant, _: Header, _: u32) {
        unreachable!("the network is not divided");
    }

    fn expect(&self, _: Target, _: u32) {}

    fn discard(&mut self, _: Option<HostId>, _: u32) -> bool {
        self.0.dropped += 1;
        true
    }
}

impl World for Bench {
    type Event = Event;

    fn handle(&mut self, event: Event, queue: &mut EventQueue<Event>) {
        let mut driving = Driving(&mut self.around, queue);
        match event.class() {
            Class::Transmit => {
                let place = event.link();
                let departed = self.network.transmit(place, &mut driving);
                if let Some((header, _)) = departed.filter(|_| self.network.host_at(place).is_some()) {
                    self.depart(&header);
                    self.pull(queue);
                }
            }
            Class::Deliver => {
                if self.network.deliver(event.link(), &mut driving).is_some() {
                    self.arrivals.push(queue.now());
                }
            }
            _ => {
                self.timer_at = Instant::MAX;
                self.pull(queue);
            }
        }
    }

    fn is_finished(&self) -> bool {
        false
    }
}

impl Bench {
    /// Runs a source of `gbps` Gb/s for 100 us and records the arrivals.
    fn run(gbps: u64, rule: Option<SmallQueue>) -> Self {
        let experiment = star(SCENARIO);
        let gap = Rate::from_gbps(gbps).transmission_time(PACKET);
        let mut bench = Self {
            network: Network::new(&experiment),
            around: Around::default(),
            handover: Handover::new(Offloads { tso: None, paced: false, coalescing: None }, rule, false),
            backpressure: rule.is_some(),
            source: ConstantRate { gap, next: Instant::ZERO, held: false, account: Account::default() },
            timer_at: Instant::MAX,
            arrivals: Vec::new(),
        };
        let mut queue = EventQueue::new(Duration::from_micros(10));
        bench.pull(&mut queue);
        run(&mut bench, &mut queue, Instant::ZERO + Duration::from_micros(100), u64::MAX);
        bench
    }

    fn pull(&mut self, queue: &mut EventQueue<Event>) {
        while let Some((header, _)) = self.handover.pull(&mut self.source, queue.now()) {
            let mut driving = Driving(&mut self.around, queue);
            if self.network.send(SOURCE, header, 0, &mut driving) {
                self.depart(&header);
            }
        }
        if let Some(deadline) = arm(self.handover.rest(&mut self.source), &mut self.timer_at) {
            queue.schedule(deadline, Event::new(Class::SenderTimer, 0, Ranks::new(0)));
        }
    }

    fn depart(&mut self, header: &Header) {
        if self.backpressure {
            self.source.account.on_departure(header.size());
        }
    }

    /// Returns the times between arrivals, in nanoseconds. Consecutive equal times appear once.
    fn gaps(&self) -> Vec<u64> {
        let mut gaps: Vec<u64> = self.arrivals.windows(2).map(|pair| (pair[1] - pair[0]).0 / 1_000).collect();
        gaps.dedup();
        gaps
    }

    /// Returns the largest backlog of the NIC, in bytes.
    fn max_backlog(&self) -> u64 {
        let counters = self.network.counters().find(|(link, ..)| *link == SOURCE.0).expect("a link");
        counters.1.max_backlog.0
    }
}

const SCENARIO: &str = r#"
    [host]
    nic = { limit = "30KB", backpressure = "off" }

    [[workload]]
    kind = "incast"
    senders = 0
    receivers = 1
    size = "1KB"
"#;

const RULE: SmallQueue = SmallQueue { limit_output: Bytes(1 << 20), packet: PACKET, beside: 0 };

#[test]
fn a_source_below_the_rate_of_its_link_is_polled_at_its_own_times() {
    // 1,500 bytes at 5 Gb/s take 2.4 us.
    for backpressure in [None, Some(RULE)] {
        let bench = Bench::run(5, backpressure);
        assert_eq!((bench.gaps(), bench.max_backlog(), bench.around.dropped), (vec![2_400], 0, 0));
    }
}

#[test]
fn with_backpressure_a_source_above_the_rate_of_its_link_is_pulled_from_as_packets_depart() {
    let bench = Bench::run(20, Some(RULE));
    // 1,500 bytes at 10 Gb/s take 1.2 us. Two packets wait, the limit of the source.
    assert_eq!((bench.gaps(), bench.max_backlog(), bench.around.dropped), (vec![1_200], 3_000, 0));
}

#[test]
fn without_backpressure_it_overruns_the_queue_of_its_nic() {
    let bench = Bench::run(20, None);
    // In 100 us, 250 KB are sent and 125 KB leave; 30 KB wait. The other 95 KB (63 packets, plus or minus the packet being sent) are lost.
    assert_eq!(bench.max_backlog(), 30_000);
    assert!((62..=65).contains(&bench.around.dropped), "{}", bench.around.dropped);
}
