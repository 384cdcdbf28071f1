//! A port by plain calls: order of decisions, service order, drops.

use shallows_core::Duration;
use shallows_core::random::Stream;

use super::*;
use crate::aqm::{Config, Gauge, Point, Scope};
use crate::buffer::{Config as BufferConfig, Limit, Policy, PrivateRule};

const GBPS_100: Rate = Rate::from_gbps(100);

fn buffer(limit: Limit) -> SharedBuffer {
    let policy = Policy::StaticPartition { limit };
    let mut buffer = SharedBuffer::new(&BufferConfig {
        policy,
        pools: vec![Bytes(1 << 20)],
        private_rule: PrivateRule::Exact,
    });
    buffer.add_queue(0, Bytes(0));
    buffer
}

fn port(markers: Vec<Config>, egress_drop: EgressDrop) -> Port<u32> {
    let markers = markers.iter().map(|config| config.build(Stream::new(1, "marker", 0))).collect();
    Port::new(GBPS_100, 0, markers, egress_drop)
}

fn threshold(point: Point, threshold: u64) -> Config {
    Config::Threshold { gauge: Gauge { point, ..Gauge::default() }, threshold: Bytes(threshold) }
}

fn packet(ecn: Ecn) -> Header {
    Header::default().with_size(1_000).with_ecn(ecn)
}

/// 1,000 bytes at 100 Gbit/s: 80 ns.
const SLOT: Duration = Duration::from_nanos(80);

#[test]
fn an_idle_port_sends_at_once_and_a_busy_one_in_order() {
    let (mut port, mut buffer) = (port(vec![], EgressDrop::Slot), buffer(Limit::Bytes(Bytes(10_000))));
    let Arrival::Sent(first) = port.receive(Instant::ZERO, packet(Ecn::Ect), 1, &mut buffer) else {
        panic!("idle")
    };
    assert_eq!((first.payload, first.finish), (1, Instant::ZERO + SLOT));
    for payload in [2, 3] {
        assert!(matches!(
            port.receive(Instant::ZERO, packet(Ecn::Ect), payload, &mut buffer),
            Arrival::Queued
        ));
    }
    assert_eq!(port.backlog(), Bytes(2_000), "the packet on the wire is not in the backlog");
    port.audit(&buffer);
    let mut now = first.finish;
    for payload in [2, 3] {
        let next = port.transmit_next(now, &mut buffer, &mut vec![]).unwrap();
        assert_eq!((next.payload, next.finish), (payload, now + SLOT));
        now = next.finish;
    }
    assert!(!port.has_backlog());
    port.audit(&buffer);
    buffer.audit();
}

#[test]
fn a_full_queue_drops_and_says_why() {
    let (mut port, mut buffer) = (port(vec![], EgressDrop::Slot), buffer(Limit::Packets(1)));
    port.receive(Instant::ZERO, packet(Ecn::Ect), 1, &mut buffer);
    port.receive(Instant::ZERO, packet(Ecn::Ect), 2, &mut buffer);
    let Arrival::Dropped { payload: 3 } = port.receive(Instant::ZERO, packet(Ecn::Ect), 3, &mut buffer)
    else {
        panic!("one packet is on the wire, one waits, and that is the limit")
    };
    assert_eq!(port.counters().dropped, [1, 0, 0, 0]);
    port.audit(&buffer);
}

#[test]
fn an_enqueue_marker_sees_the_backlog_without_the_arriving_packet() {
    let (mut port, mut buffer) =
        (port(vec![threshold(Point::Enqueue, 999)], EgressDrop::Slot), buffer(Limit::Bytes(Bytes(10_000))));
    for payload in 0..4 {
        port.receive(Instant::ZERO, packet(Ecn::Ect), payload, &mut buffer);
    }
    // On the wire; then found 0, 1,000 and 2,000 bytes waiting: the last two are above 999.
    assert_eq!(port.counters().marked, 2);
    let marks: Vec<_> = (1..4)
        .map(|slot| {
            let now = Instant::ZERO + SLOT * slot;
            port.transmit_next(now, &mut buffer, &mut vec![]).unwrap().header.ecn()
        })
        .collect();
    assert_eq!(marks, [Ecn::Ect, Ecn::Ce, Ecn::Ce]);
}

#[test]
fn a_dequeue_marker_sees_what_stays_behind() {
    let (mut port, mut buffer) =
        (port(vec![threshold(Point::Dequeue, 999)], EgressDrop::Slot), buffer(Limit::Bytes(Bytes(10_000))));
    for payload in 0..4 {
        port.receive(Instant::ZERO, packet(Ecn::Ect), payload, &mut buffer);
    }
    // They leave 2,000, 1,000 and 0 bytes behind.
    let marks: Vec<_> = (1..4)
        .map(|slot| {
            port.transmit_next(Instant::ZERO + SLOT * slot, &mut buffer, &mut vec![]).unwrap().header.ecn()
        })
        .collect();
    assert_eq!(marks, [Ecn::Ce, Ecn::Ce, Ecn::Ect]);
}

#[test]
fn a_pool_marker_marks_even_at_an_idle_port() {
    let gauge = Gauge { scope: Scope::Pool, point: Point::Dequeue, counts_packet: false };
    let mut port = port(vec![Config::Threshold { gauge, threshold: Bytes(4_000) }], EgressDrop::Slot);
    let mut buffer = buffer(Limit::Bytes(Bytes(100_000)));
    let neighbour = buffer.add_queue(0, Bytes(0));
    buffer.admit(neighbour, Bytes(5_000)).unwrap();
    let Arrival::Sent(departure) = port.receive(Instant::ZERO, packet(Ecn::Ect), 1, &mut buffer) else {
        panic!()
    };
    assert_eq!(departure.header.ecn(), Ecn::Ce, "its neighbour holds 5,000 bytes of the pool");
}

#[test]
fn above_the_threshold_what_is_not_ecn_capable_is_dropped() {
    let (mut port, mut buffer) =
        (port(vec![threshold(Point::Enqueue, 0)], EgressDrop::Slot), buffer(Limit::Bytes(Bytes(10_000))));
    port.receive(Instant::ZERO, packet(Ecn::Ect), 1, &mut buffer);
    port.receive(Instant::ZERO, packet(Ecn::Ect), 2, &mut buffer);
    let ack = packet(Ecn::NotEct).with_kind(PacketKind::PureAck);
    assert!(matches!(
        port.receive(Instant::ZERO, packet(Ecn::NotEct), 3, &mut buffer),
        Arrival::Dropped { .. }
    ));
    assert!(matches!(port.receive(Instant::ZERO, ack, 4, &mut buffer), Arrival::Dropped { .. }));
    assert_eq!(port.counters().dropped, [0, 0, 1, 1], "a lost pure ACK is counted apart");
    assert!(matches!(port.receive(Instant::ZERO, packet(Ecn::Ce), 5, &mut buffer), Arrival::Queued));
    assert_eq!(port.counters().marked, 0, "what is marked already is not marked here");
    port.audit(&buffer);
}

#[test]
fn a_drop_at_dequeue_costs_its_slot_or_nothing() {
    for (egress_drop, sent_at_once) in [(EgressDrop::Slot, None), (EgressDrop::Free, Some(3))] {
        let mut port = port(vec![threshold(Point::Dequeue, 999)], egress_drop);
        let mut buffer = buffer(Limit::Bytes(Bytes(10_000)));
        port.receive(Instant::ZERO, packet(Ecn::Ect), 1, &mut buffer);
        port.receive(Instant::ZERO, packet(Ecn::NotEct), 2, &mut buffer);
        port.receive(Instant::ZERO, packet(Ecn::Ect), 3, &mut buffer);
        let (now, mut dropped) = (Instant::ZERO + SLOT, vec![]);
        let next = port.transmit_next(now, &mut buffer, &mut dropped);
        assert_eq!(dropped, [2]);
        assert_eq!(next.map(|departure| departure.payload), sent_at_once, "{egress_drop:?}");
        assert_eq!(port.busy_until(), now + SLOT, "the slot is lost, or used by the next packet");
        port.audit(&buffer);
        buffer.audit();
    }
}
