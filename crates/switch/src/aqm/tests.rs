//! Tests of every marker at a real port: the events that the marker handles, and the effect of its verdicts.

use shallows_core::packet::{Ecn, Header};
use shallows_core::{Bytes, Rate};

use super::*;
use crate::buffer::{Config as BufferConfig, Limit, Policy, ReservedRule, SharedBuffer};
use crate::port::{self, Arrival, DropReason, EgressDrop, Ingress, Port};

/// Transmission time of 1,000 bytes at 100 Gbit/s: 80 ns.
const SLOT: Duration = Duration::from_nanos(80);

struct Bench {
    port: Port<u32>,
    buffer: SharedBuffer,
}

impl Bench {
    fn new(marker: Config, egress_drop: EgressDrop, packets: u32) -> Self {
        let config = port::Config {
            markers: vec![Placed::everywhere(marker)],
            egress_drop,
            ..port::Config::default()
        };
        let mut buffer = SharedBuffer::new(&BufferConfig {
            policy: Policy::StaticPartition { limit: Limit::Packets(packets) },
            pools: vec![Bytes(1 << 24)],
            reserved_rule: ReservedRule::Exact,
            cell: None,
        });
        buffer.add_queue(0, Bytes(0));
        let stream = |purpose, place| Stream::new(1, purpose, place as u64);
        Self { port: Port::new(Rate::from_gbps(100), 0, &config, stream), buffer }
    }

    fn receive(&mut self, now: Instant, count: u32, ecn: Ecn) {
        let packet = Header::default().with_size(1_000).with_ecn(ecn);
        for payload in 0..count {
            let arrival =
                self.port.receive(now, Ingress::NONE, packet, payload, &mut self.buffer, &mut vec![]);
            assert!(!matches!(arrival, Arrival::Sent(_)) || payload == 0);
        }
    }

    /// Sends all waiting packets, one in each slot, and returns their headers.
    fn drain(&mut self) -> Vec<Header> {
        let mut sent = vec![];
        while self.port.has_backlog() {
            let now = self.port.busy_until();
            if let Some(departure) = self.port.transmit_next(now, &mut self.buffer, &mut vec![]) {
                sent.push(departure.header);
            }
        }
        self.port.audit(&self.buffer);
        self.buffer.audit();
        sent
    }

    fn told(&mut self, quantity: &str) -> f64 {
        let mut value = f64::NAN;
        self.port.observe(&self.buffer, |reading| {
            if reading.quantity == quantity {
                value = reading.value;
            }
        });
        value
    }
}

fn every_config() -> Vec<(&'static str, Config)> {
    let (gauge, threshold) = (Gauge::default(), Level(1));
    vec![
        ("threshold", Config::Threshold { gauge, threshold, split: Split::Standard }),
        (
            "red",
            Config::Red { gauge, kmin: threshold, kmax: threshold, pmax: 1.0, spacing: Spacing::Independent },
        ),
        ("mq-ecn", Config::MqEcn(MqEcnConfig::paper(Bytes(1)).into())),
        ("red-classic", Config::FloydJacobson(FloydJacobsonConfig::default())),
        ("ein", Config::Ein(EinConfig::paper(Bytes(1)))),
        ("ein-as-released", Config::EinReleased(EinReleasedConfig::default())),
        ("tcn", Config::Tcn { threshold: Duration(1) }),
        ("codel", Config::Codel(CodelConfig::default())),
    ]
}

#[test]
fn every_marker_has_its_name_and_few_hear_of_arrivals_or_turns() {
    for (name, config) in every_config() {
        assert_eq!(config.name(), name);
        let marker = config.build(&[Share::Strict], Stream::new(1, "marker", 0));
        assert_eq!(marker.hears().includes(Hears::ARRIVALS), name == "red-classic", "{name}");
        assert_eq!(marker.hears().includes(Hears::TURNS), name == "mq-ecn", "{name}");
        let installed = Installed::new(&Placed::everywhere(config), &[Share::Strict], Stream::new(1, "", 0));
        assert_eq!(installed.name(), name);
    }
}

#[test]
fn every_marker_hears_of_what_it_decides() {
    // A marker with a configured point decides only at that point. A port skips events that no marker needs.
    for (name, config) in every_config() {
        let hears = config.build(&[Share::Strict], Stream::new(1, "marker", 0)).hears();
        let enqueues = matches!(name, "threshold" | "red" | "red-classic" | "mq-ecn");
        let dequeues = matches!(name, "ein" | "ein-as-released" | "tcn" | "codel");
        assert_eq!(
            (hears.includes(Hears::ENQUEUES), hears.includes(Hears::DEQUEUES)),
            (enqueues, dequeues),
            "{name}"
        );
    }
}

#[test]
fn mq_ecn_hears_of_departures_where_it_decides_or_measures_at_them() {
    let round = [Share::Round { quantum: Bytes(1_500) }];
    let paper = MqEcnConfig::paper(Bytes(1));
    let at_dequeue = MqEcnConfig { point: Point::Dequeue, ..paper.clone() };
    let as_released = MqEcnConfig { idle_since: mq_ecn::IdleSince::AsReleased, ..paper.clone() };
    for (config, shares, dequeues) in [
        (&paper, &round[..], false),
        (&at_dequeue, &round, true),
        (&as_released, &round, true),
        (&paper, &[Share::Weight(1), Share::Strict], true),
    ] {
        let hears = Config::MqEcn(config.clone().into()).build(shares, Stream::new(1, "marker", 0)).hears();
        assert!(hears.includes(Hears::ENQUEUES), "it counts idle time at arrivals");
        assert_eq!(hears.includes(Hears::DEQUEUES), dequeues, "{config:?} {shares:?}");
    }
}

#[test]
fn two_markers_that_listen_at_the_same_point_are_both_asked() {
    // The port calls every event that at least one of its markers handles.
    let marker = |k| {
        let (gauge, threshold) = (Gauge::default(), Level(k));
        Placed::everywhere(Config::Threshold { gauge, threshold, split: Split::Standard })
    };
    let mut bench = Bench::new(marker(0).marker, EgressDrop::Slot, 10);
    let config = port::Config { markers: vec![marker(0), marker(2_000)], ..port::Config::default() };
    bench.port =
        Port::new(Rate::from_gbps(100), 0, &config, |purpose, place| Stream::new(1, purpose, place as u64));
    bench.receive(Instant::ZERO, 5, Ecn::Ect);
    let marked = bench.port.markers().iter().map(|marker| marker.counts().marked);
    assert_eq!(marked.collect::<Vec<_>>(), [3, 1], "of packets that find 0, 0, 1,000, 2,000 and 3,000 B");
}

#[test]
fn markers_stay_small_enough_to_lie_side_by_side() {
    assert!(size_of::<Marker>() <= 192, "{}", size_of::<Marker>());
}

#[test]
fn verdicts_of_several_markers_add_up() {
    let both = Verdict::MARK.and(Verdict::INCAST);
    assert!(both.marks() && both.notifies_incast() && !both.drops());
    assert_eq!(both.and(Verdict::PASS), both);
    assert_eq!(both.and(both), both);
    assert!(Verdict::DROP.drops() && !Verdict::DROP.marks() && !Verdict::DROP.notifies_incast());
    assert!(!Verdict::PASS.drops() && !Verdict::PASS.marks());
}

#[test]
fn classic_red_averages_over_packets_that_the_buffer_refuses() {
    // Weight 1/2. One packet is on the wire and two wait, which is the limit. Successive arrivals find 0, 0, 1, 2, 2 packets waiting.
    let thresholds = Thresholds::Explicit { min: Level(100), max: Level(200), weight: 0.5 };
    let config = FloydJacobsonConfig { thresholds, ..FloydJacobsonConfig::default() };
    let mut bench = Bench::new(Config::FloydJacobson(config), EgressDrop::Slot, 2);
    bench.receive(Instant::ZERO, 5, Ecn::Ect);
    assert_eq!(bench.port.counters().dropped[DropReason::QueueLimit as usize], 2);
    assert_eq!(bench.told("average_packets"), 0.5 * 2.0 + 0.25 * 2.0 + 0.125 * 1.0);
}

#[test]
fn an_incast_is_notified_on_the_packets_that_leave() {
    // 24 packets arrive at once for each packet that leaves. The second dequeue measures a growth of 23 packets.
    let mut bench = Bench::new(Config::Ein(EinConfig::paper(Bytes(97_500))), EgressDrop::Slot, 10_000);
    bench.receive(Instant::ZERO, 24, Ecn::Ect);
    bench.receive(Instant::ZERO, 24, Ecn::NotEct);
    let sent = bench.drain();
    assert!(
        sent[0].incast(),
        "47 packets in one slot are far above a quarter of the line rate over 50 slots"
    );
    assert!(sent.iter().all(|header| header.ecn() != Ecn::Ce), "the notification is a bit of its own");
    assert_eq!(sent.len(), 47);
    assert_eq!(bench.port.markers()[0].counts().incast, bench.port.counters().incast);
    assert!(!sent[46].incast(), "it drains");
}

#[test]
fn the_released_detector_marks_ce() {
    let config =
        EinReleasedConfig { packet_time: PacketTime::Mtu(Bytes(1_000)), ..EinReleasedConfig::default() };
    let mut bench = Bench::new(Config::EinReleased(config), EgressDrop::Slot, 10_000);
    bench.receive(Instant::ZERO, 100, Ecn::Ect);
    let sent = bench.drain();
    assert_eq!((sent[0].ecn(), sent[0].incast()), (Ecn::Ce, false));
    assert_eq!(bench.told("incast"), 1.0, "99 packets waited 70 dequeues ago");
}

#[test]
fn tcn_goes_by_the_wait_in_the_queue() {
    // The k-th packet of a burst waits k slots. Packets that wait more than five slots are marked.
    let mut bench = Bench::new(Config::Tcn { threshold: SLOT * 5 }, EgressDrop::Slot, 10_000);
    bench.receive(Instant::ZERO, 10, Ecn::Ect);
    let marks: Vec<_> = bench.drain().iter().map(|header| header.ecn() == Ecn::Ce).collect();
    assert_eq!(marks, [false, false, false, false, false, true, true, true, true]);
}

#[test]
fn codel_drops_at_no_cost_and_never_the_last_packets() {
    // The target is one slot, the interval ten. The wait exceeds the target from the first wait of one slot on. Drops take no time.
    let config =
        CodelConfig { target: SLOT, interval: SLOT * 10, mtu: Bytes(1_000), ..CodelConfig::default() };
    let mut bench = Bench::new(Config::Codel(config), EgressDrop::Free, 10_000);
    bench.receive(Instant::ZERO, 100, Ecn::Ect);
    let sent = bench.drain().len() as u64;
    let dropped = bench.port.counters().dropped[DropReason::Early as usize];
    assert_eq!(sent + dropped, 99);
    // The control law: the first drop is due at 11 slots, the others 10/√1, 10/√2 … later. With d drops, the last packet leaves at 99 − d
    // slots.
    let due = |d: u32| 11.0 + 10.0 * (1..d).map(|k| 1.0 / f64::from(k).sqrt()).sum::<f64>();
    let expected = (1..99).take_while(|&d| due(d) <= f64::from(99 - d)).count() as u64;
    assert!(dropped.abs_diff(expected) <= 1, "{dropped}, the law gives {expected}");
    assert_eq!(bench.port.busy_until(), Instant::ZERO + SLOT * (sent + 1), "the link never waited");
    assert_eq!(bench.told("codel_count"), 0.0, "with one packet left it is calm");
    assert_eq!(bench.port.markers()[0].counts(), MarkerCounts { dropped, ..MarkerCounts::default() });
}

#[test]
fn a_port_with_one_queue_keeps_the_standard_threshold_of_mq_ecn() {
    // A FIFO has no rounds, so K_std applies. The backlog includes the arriving packet: at the third waiting packet it is 3,000 B, which
    // is not above K_std.
    let mut bench =
        Bench::new(Config::MqEcn(MqEcnConfig::paper(Bytes(3_000)).into()), EgressDrop::Slot, 10_000);
    bench.receive(Instant::ZERO, 6, Ecn::Ect);
    let marks: Vec<_> = bench.drain().iter().map(|header| header.ecn() == Ecn::Ce).collect();
    assert_eq!(marks, [false, false, false, true, true]);
    assert_eq!(bench.told("threshold_bytes"), 3_000.0);
}

#[test]
fn a_marker_looks_only_at_its_queues() {
    let marker = Config::Threshold { gauge: Gauge::default(), threshold: Level(0), split: Split::Standard };
    let placed = Placed { queues: 0b10, ..Placed::everywhere(marker) };
    let mut installed = Installed::new(&placed, &[Share::Strict; 2], Stream::new(1, "marker", 0));
    let mut seen = testing::Seen::queue(1);
    seen.queues.push(seen.queues[0].clone());
    for (queue, expected) in [(0, Verdict::PASS), (1, Verdict::MARK)] {
        seen.queue = queue;
        let view = seen.view();
        let verdict = installed.on_enqueue(Instant::ZERO, &Header::default(), &view);
        assert_eq!(verdict, expected, "queue {queue}");
        let mut heard = false;
        installed.tell(&view, |_| heard = true);
        assert_eq!(heard, queue == 1);
    }
    assert_eq!(installed.counts(), MarkerCounts { marked: 1, ..MarkerCounts::default() });
}
