//! Tests of a port called directly: the order of its decisions, the order of service, and drops.

use shallows_core::Duration;
use shallows_core::packet::{Ecn, PacketKind};

use super::*;
use crate::aqm::{Config, Gauge, Level, Placed, Point, Scope, Split};
use crate::buffer::{Config as BufferConfig, DtCounts, DynamicThreshold, Limit, Policy, ReservedRule};

mod elaborate;
mod pauses;

const GBPS_100: Rate = Rate::from_gbps(100);

fn buffer(limit: Limit) -> SharedBuffer {
    let policy = Policy::StaticPartition { limit };
    let mut buffer = SharedBuffer::new(&BufferConfig {
        policy,
        pools: vec![Bytes(1 << 20)],
        reserved_rule: ReservedRule::Exact,
        cell: None,
    });
    buffer.add_queue(0, Bytes(0));
    buffer
}

fn port(markers: Vec<Config>, egress_drop: EgressDrop) -> Port<u32> {
    let markers = markers.into_iter().map(Placed::everywhere).collect();
    let config = super::Config { markers, egress_drop, ..super::Config::default() };
    Port::new(GBPS_100, 0, &config, |purpose, place| Stream::new(1, purpose, place as u64))
}

fn threshold(point: Point, threshold: u64) -> Config {
    Config::Threshold {
        gauge: Gauge { point, ..Gauge::default() },
        threshold: Level(threshold),
        split: Split::Standard,
    }
}

fn drops(port: &Port<u32>) -> Vec<(DropReason, u64)> {
    let counts = DropReason::ALL.map(|reason| (reason, port.counters().dropped[reason as usize]));
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

fn packet(ecn: Ecn) -> Header {
    Header::default().with_size(1_000).with_ecn(ecn)
}

/// Transmission time of 1,000 bytes at 100 Gbit/s: 80 ns.
const SLOT: Duration = Duration::from_nanos(80);

#[test]
fn an_idle_port_sends_at_once_and_a_busy_one_in_order() {
    let (mut port, mut buffer) = (port(vec![], EgressDrop::Slot), buffer(Limit::Bytes(Bytes(10_000))));
    let Arrival::Sent(first) =
        port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::Ect), 1, &mut buffer, &mut vec![])
    else {
        panic!("idle")
    };
    assert_eq!((first.payload, first.finish), (1, Instant::ZERO + SLOT));
    for payload in [2, 3] {
        assert!(matches!(
            port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::Ect), payload, &mut buffer, &mut vec![]),
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
    port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::Ect), 1, &mut buffer, &mut vec![]);
    port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::Ect), 2, &mut buffer, &mut vec![]);
    let mut dropped = vec![];
    let arrival = port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::Ect), 3, &mut buffer, &mut dropped);
    assert!(
        matches!(arrival, Arrival::Dropped),
        "one packet is on the wire, one waits, and that is the limit"
    );
    assert_eq!(dropped, [3]);
    assert_eq!(drops(&port), [(DropReason::QueueLimit, 1)]);
    port.audit(&buffer);
}

#[test]
fn an_enqueue_marker_sees_the_backlog_without_the_arriving_packet() {
    let (mut port, mut buffer) =
        (port(vec![threshold(Point::Enqueue, 999)], EgressDrop::Slot), buffer(Limit::Bytes(Bytes(10_000))));
    for payload in 0..4 {
        port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::Ect), payload, &mut buffer, &mut vec![]);
    }
    // The first packet is on the wire. The others find 0, 1,000 and 2,000 bytes waiting, and the last two of these are above 999.
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
        port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::Ect), payload, &mut buffer, &mut vec![]);
    }
    // The packets leave 2,000, 1,000 and 0 bytes behind.
    let marks: Vec<_> = (1..4)
        .map(|slot| {
            port.transmit_next(Instant::ZERO + SLOT * slot, &mut buffer, &mut vec![]).unwrap().header.ecn()
        })
        .collect();
    assert_eq!(marks, [Ecn::Ce, Ecn::Ce, Ecn::Ect]);
}

#[test]
fn a_pool_marker_marks_even_at_an_idle_port() {
    let gauge = Gauge { scope: Scope::Pool, point: Point::Dequeue, ..Gauge::default() };
    let mut port = port(
        vec![Config::Threshold { gauge, threshold: Level(4_000), split: Split::Standard }],
        EgressDrop::Slot,
    );
    let mut buffer = buffer(Limit::Bytes(Bytes(100_000)));
    let neighbour = buffer.add_queue(0, Bytes(0));
    buffer.admit(neighbour, Bytes(5_000)).unwrap();
    let Arrival::Sent(departure) =
        port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::Ect), 1, &mut buffer, &mut vec![])
    else {
        panic!()
    };
    assert_eq!(departure.header.ecn(), Ecn::Ce, "its neighbour holds 5,000 bytes of the pool");
}

#[test]
fn above_the_threshold_what_is_not_ecn_capable_is_dropped() {
    let (mut port, mut buffer) =
        (port(vec![threshold(Point::Enqueue, 0)], EgressDrop::Slot), buffer(Limit::Bytes(Bytes(10_000))));
    port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::Ect), 1, &mut buffer, &mut vec![]);
    port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::Ect), 2, &mut buffer, &mut vec![]);
    let ack = packet(Ecn::NotEct).with_kind(PacketKind::PureAck);
    assert!(matches!(
        port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::NotEct), 3, &mut buffer, &mut vec![]),
        Arrival::Dropped
    ));
    for payload in [4, 5] {
        let arrival = port.receive(Instant::ZERO, Ingress::NONE, ack, payload, &mut buffer, &mut vec![]);
        assert!(matches!(arrival, Arrival::Dropped));
    }
    let both = [(DropReason::NotEct, 1), (DropReason::NotEctAck, 2)];
    assert_eq!(drops(&port), both, "a lost pure ACK is counted apart");
    assert!(matches!(
        port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::Ce), 6, &mut buffer, &mut vec![]),
        Arrival::Queued
    ));
    assert_eq!(port.counters().marked, 0, "what is marked already is not marked here");
    port.audit(&buffer);
}

#[test]
fn an_incast_notification_of_another_switch_is_not_counted_here() {
    // Any gradient is above -1, so every packet gets the notification.
    let ein =
        Config::Ein(crate::aqm::EinConfig { threshold: -1.0, ..crate::aqm::EinConfig::paper(Bytes(0)) });
    let (mut port, mut buffer) = (port(vec![ein], EgressDrop::Slot), buffer(Limit::Bytes(Bytes(10_000))));
    let notified = [false, true, true].map(|before| {
        let now = port.busy_until();
        let header = packet(Ecn::Ect).with_incast(before);
        let Arrival::Sent(departure) = port.receive(now, Ingress::NONE, header, 1, &mut buffer, &mut vec![])
        else {
            panic!("idle")
        };
        departure.header.incast()
    });
    assert_eq!(notified, [true; 3]);
    assert_eq!(port.counters().incast, 1, "two had the notification already");
    assert_eq!(port.markers()[0].counts().incast, 3, "the marker chose all of them");
}

#[test]
fn a_drop_at_dequeue_costs_its_slot_or_nothing() {
    for (egress_drop, sent_at_once) in [(EgressDrop::Slot, None), (EgressDrop::Free, Some(3))] {
        let mut port = port(vec![threshold(Point::Dequeue, 999)], egress_drop);
        let mut buffer = buffer(Limit::Bytes(Bytes(10_000)));
        port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::Ect), 1, &mut buffer, &mut vec![]);
        port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::NotEct), 2, &mut buffer, &mut vec![]);
        port.receive(Instant::ZERO, Ingress::NONE, packet(Ecn::Ect), 3, &mut buffer, &mut vec![]);
        let (now, mut dropped) = (Instant::ZERO + SLOT, vec![]);
        let next = port.transmit_next(now, &mut buffer, &mut dropped);
        assert_eq!(dropped, [2]);
        assert_eq!(next.map(|departure| departure.payload), sent_at_once, "{egress_drop:?}");
        assert_eq!(port.busy_until(), now + SLOT, "the slot is lost, or used by the next packet");
        port.audit(&buffer);
        buffer.audit();
    }
}
