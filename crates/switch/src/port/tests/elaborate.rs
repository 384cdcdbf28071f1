//! Ports with several queues or a shaper, and their counters and traces.

use super::*;
use crate::discipline::{self, ComposedConfig, Limits, SchedulerConfig};
use crate::shaper;

/// Returns a port with two queues by class, the first with priority. Its queues have the accounts 1 and 2; account 0 belongs to a
/// neighbour's queue.
///
/// The neighbour and queue 0 share pool 0; queue 1 has pool 1.
pub(super) fn two_queues(markers: Vec<Config>, policy: Policy) -> (Port<u32>, SharedBuffer) {
    let mut buffer = SharedBuffer::new(&BufferConfig {
        policy,
        pools: vec![Bytes(1 << 20); 2],
        reserved_rule: ReservedRule::Exact,
        cell: None,
    });
    for pool in [0, 0, 1] {
        buffer.add_queue(pool, Bytes(0));
    }
    let config = crate::port::Config {
        discipline: discipline::Config::Composed(ComposedConfig {
            scheduler: SchedulerConfig::StrictPriority { queues: 2 },
            queue_of_class: [0, 1].into(),
            limits: Limits::default(),
        }),
        markers: markers.into_iter().map(Placed::everywhere).collect(),
        ..crate::port::Config::default()
    };
    (Port::new(GBPS_100, 1, &config, |purpose, place| Stream::new(1, purpose, place as u64)), buffer)
}

/// Returns a port with one queue behind a token bucket of 1,000 B, which fills at 10 Gbit/s: 1,000 B in 800 ns.
pub(super) fn shaped(markers: Vec<Config>, egress_drop: EgressDrop) -> Port<u32> {
    let config = crate::port::Config {
        markers: markers.into_iter().map(Placed::everywhere).collect(),
        shaper: Some(shaper::Config { rate: Rate::from_gbps(10), burst: Bytes(1_000) }),
        egress_drop,
        ..crate::port::Config::default()
    };
    Port::new(GBPS_100, 0, &config, |purpose, place| Stream::new(1, purpose, place as u64))
}

pub(super) const REFILL: Duration = Duration::from_nanos(800);

/// Offers packets of these classes at time zero. Returns the classes of those that the port drops.
fn receive(port: &mut Port<u32>, buffer: &mut SharedBuffer, classes: &[u8]) -> Vec<u32> {
    let mut dropped = vec![];
    for &class in classes {
        port.receive(
            Instant::ZERO,
            Ingress::NONE,
            packet(Ecn::Ect).with_class(class),
            u32::from(class),
            buffer,
            &mut dropped,
        );
    }
    port.audit(buffer);
    buffer.audit();
    dropped
}

/// Returns the readings of `quantity` at the port, each with the queue to which it belongs.
fn told(port: &mut Port<u32>, buffer: &SharedBuffer, quantity: &str) -> Vec<(Option<usize>, f64)> {
    let mut told = vec![];
    port.observe(buffer, |reading| {
        if reading.quantity == quantity {
            told.push((reading.queue, reading.value));
        }
    });
    told
}

#[test]
fn queues_have_accounts_and_counters_of_their_own() {
    // One packet of class 0 is on the wire and one waits, the limit. One packet of class 1 waits; the next finds no room.
    let (mut port, mut buffer) = two_queues(vec![], Policy::StaticPartition { limit: Limit::Packets(1) });
    assert_eq!(port.rate(), GBPS_100);
    assert_eq!(receive(&mut port, &mut buffer, &[0, 0, 1, 1]), [1]);
    assert_eq!([0, 1, 2].map(|account| buffer.queue(account).packets), [0, 1, 1]);
    let [first, second] = port.queue_counters()[..] else { panic!("two queues") };
    assert_eq!((first.received, first.sent, first.dropped_total()), (2, 1, 0));
    assert_eq!((second.received, second.sent, second.dropped_total()), (2, 0, 1));
    assert_eq!((first.max_backlog, second.max_backlog), (Bytes(1_000), Bytes(1_000)));
    let total = port.counters();
    assert_eq!((total.received, total.sent, total.dropped_total()), (4, 1, 1));
    assert_eq!((total.enqueued(), total.dequeued(), total.max_backlog), (3, 1, Bytes(2_000)));
    // Each departure frees memory of its own queue.
    for left in [[0, 0, 1], [0, 0, 0]] {
        port.transmit_next(port.busy_until(), &mut buffer, &mut vec![]);
        assert_eq!([0, 1, 2].map(|account| buffer.queue(account).packets), left);
    }
    port.audit(&buffer);
}

#[test]
fn the_largest_backlogs_stay_when_fewer_bytes_wait() {
    let (mut port, mut buffer) = two_queues(vec![], Policy::CompleteSharing);
    // One packet is on the wire, and two wait. Then one waits.
    receive(&mut port, &mut buffer, &[0, 0, 0]);
    for _ in 0..2 {
        port.transmit_next(port.busy_until(), &mut buffer, &mut vec![]);
    }
    receive(&mut port, &mut buffer, &[0]);
    assert_eq!((port.backlog(), port.sent_bytes()), (Bytes(1_000), Bytes(3_000)));
    assert_eq!(port.counters().max_backlog, Bytes(2_000));
    assert_eq!(port.queue_counters()[0].max_backlog, Bytes(2_000));
}

#[test]
fn the_one_queue_of_a_port_has_the_counters_of_the_port() {
    // The port may also be shaped, or have a discipline with one account.
    for mut port in [port(vec![], EgressDrop::Slot), shaped(vec![], EgressDrop::Slot)] {
        let mut buffer = buffer(Limit::Packets(1));
        receive(&mut port, &mut buffer, &[0, 0, 0]);
        assert_eq!(port.queue_counters(), [port.counters()]);
        assert_eq!((port.counters().received, port.counters().dropped_total()), (3, 1));
        assert_eq!(
            (port.counters().enqueued(), port.counters().dequeued()),
            (2, 1),
            "nothing left the queue but sent"
        );
    }
}

#[test]
fn a_trace_shows_each_queue_where_there_are_several() {
    // α = 1: the threshold is the free part of each pool of 2²⁰ B. Queue 0 of the port and the neighbour share pool 0, with
    // 4,000 B used; queue 1 has pool 1, with 1,000 B used.
    let dynamic = || Policy::DynamicThreshold(DynamicThreshold { alpha: 1.0, counts: DtCounts::Shared });
    let (mut port, mut buffer) = two_queues(vec![], dynamic());
    buffer.admit(0, Bytes(2_000)).unwrap();
    receive(&mut port, &mut buffer, &[0, 0, 0, 1]);
    let backlogs = [(None, 3_000.0), (Some(0), 2_000.0), (Some(1), 1_000.0)];
    assert_eq!(told(&mut port, &buffer, "backlog_bytes"), backlogs);
    let free = |used: u32| f64::from((1 << 20) - used);
    let thresholds = [(Some(0), free(4_000)), (Some(1), free(1_000))];
    assert_eq!(told(&mut port, &buffer, "buffer_threshold_bytes"), thresholds);
    // A port with one queue reports its backlog once, with and without a discipline.
    let buffer = super::buffer(Limit::Packets(9));
    for mut port in [super::port(vec![], EgressDrop::Slot), shaped(vec![], EgressDrop::Slot)] {
        assert_eq!(told(&mut port, &buffer, "backlog_bytes"), [(None, 0.0)]);
        assert_eq!(told(&mut port, &buffer, "buffer_threshold_bytes"), [], "the policy has none");
    }
}

#[test]
fn a_pool_marker_looks_at_the_pool_of_the_queue() {
    // The neighbour fills pool 0, which queue 0 shares. Queue 1 shares the empty pool 1, so its packets are not marked.
    let gauge = Gauge { scope: Scope::Pool, ..Gauge::default() };
    let marker = Config::Threshold { gauge, threshold: Level(4_000), split: Split::Standard };
    let (mut port, mut buffer) = two_queues(vec![marker], Policy::CompleteSharing);
    buffer.admit(0, Bytes(5_000)).unwrap();
    receive(&mut port, &mut buffer, &[0, 1, 0, 1]);
    let marked = port.queue_counters().into_iter().map(|counters| counters.marked);
    assert_eq!(marked.collect::<Vec<_>>(), [2, 0]);
}

#[test]
fn a_shaper_holds_the_next_packet_until_its_bucket_has_filled() {
    let (mut port, mut buffer) = (shaped(vec![], EgressDrop::Slot), buffer(Limit::Packets(9)));
    let arrive = |port: &mut Port<u32>, buffer: &mut SharedBuffer, now, payload| {
        port.receive(now, Ingress::NONE, packet(Ecn::Ect), payload, buffer, &mut vec![])
    };
    assert!(matches!(arrive(&mut port, &mut buffer, Instant::ZERO, 1), Arrival::Sent(_)));
    // The link is free after 80 ns and the bucket full after 800 ns. Packets that arrive in between wait, and none is lost.
    let now = Instant::ZERO + SLOT;
    assert!(matches!(arrive(&mut port, &mut buffer, now, 2), Arrival::Queued));
    assert_eq!(port.busy_until(), Instant::ZERO + REFILL);
    let next = port.transmit_next(port.busy_until(), &mut buffer, &mut vec![]).expect("the bucket is full");
    assert_eq!((next.payload, next.finish), (2, Instant::ZERO + REFILL + SLOT));
    port.audit(&buffer);
}

#[test]
fn a_packet_that_a_dequeue_marker_drops_takes_tokens_only_where_it_takes_a_slot() {
    for (egress_drop, ready) in [(EgressDrop::Slot, REFILL), (EgressDrop::Free, Duration::ZERO)] {
        // The pool is above the threshold, so a packet without ECN is dropped at departure.
        let gauge = Gauge { scope: Scope::Pool, point: Point::Dequeue, ..Gauge::default() };
        let marker = Config::Threshold { gauge, threshold: Level(4_000), split: Split::Standard };
        let (mut port, mut buffer) =
            (shaped(vec![marker], egress_drop), super::buffer(Limit::Bytes(Bytes(100_000))));
        let neighbour = buffer.add_queue(0, Bytes(0));
        buffer.admit(neighbour, Bytes(5_000)).unwrap();
        let mut dropped = vec![];
        let arrival =
            port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::NotEct), 1, &mut buffer, &mut dropped);
        assert!(matches!(arrival, Arrival::Dropped), "{egress_drop:?}");
        assert_eq!((dropped, port.counters().dropped_at_dequeue), (vec![1], 1));
        // The next packet waits for the empty bucket to fill, unless the bucket is already full.
        let now = port.busy_until();
        let arrival = port.receive(now, Ingress::NONE, packet(Ecn::Ect), 2, &mut buffer, &mut vec![]);
        assert_eq!(matches!(arrival, Arrival::Queued), ready > Duration::ZERO, "{egress_drop:?}");
        assert_eq!(port.has_backlog(), ready > Duration::ZERO);
        if ready > Duration::ZERO {
            assert_eq!(port.busy_until(), Instant::ZERO + ready);
        }
        port.audit(&buffer);
    }
}

#[test]
fn drops_at_dequeue_are_counted_one_by_one() {
    // Three packets without ECN wait. All but the last leave 1,000 B or more behind, and are dropped.
    let mut port = port(vec![threshold(Point::Dequeue, 999)], EgressDrop::Free);
    let mut buffer = buffer(Limit::Packets(9));
    for payload in 0..4 {
        port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::NotEct), payload, &mut buffer, &mut vec![]);
    }
    let mut dropped = vec![];
    let next = port.transmit_next(Instant::ZERO + SLOT, &mut buffer, &mut dropped).unwrap();
    assert_eq!((dropped, next.payload), (vec![1, 2], 3));
    assert_eq!(port.counters().dropped_at_dequeue, 2);
    port.audit(&buffer);
}

#[test]
fn a_byte_may_take_a_broken_number_of_picoseconds() {
    // 1,000 B at 7 Gbit/s: 8,000/7 ns = 1,142,857.14 ps, rounded up once; not 1,000 times a rounded byte.
    let config = crate::port::Config::default();
    let mut port: Port<u32> =
        Port::new(Rate::from_gbps(7), 0, &config, |purpose, place| Stream::new(1, purpose, place as u64));
    let mut buffer = buffer(Limit::Packets(9));
    receive(&mut port, &mut buffer, &[0]);
    assert_eq!(port.busy_until(), Instant(1_142_858));
}

#[test]
#[should_panic(expected = "received = sent + dropped + queued")]
fn an_audit_finds_a_packet_that_never_came() {
    let mut port = port(vec![], EgressDrop::Slot);
    port.edge.total.books.sent = 1;
    port.audit(&buffer(Limit::Packets(1)));
}
