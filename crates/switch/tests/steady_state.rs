//! Properties of markers, buffers and disciplines before any packet arrives: thresholds, verdicts, and limits of queues.

use shallows_core::{Bytes, Duration, Rate};
use shallows_switch::aqm::{
    Action, CodelConfig, Config, EinAverage, EinConfig, FloydJacobsonConfig, Forced, Gauge, Level,
    MqEcnConfig, Point, Sampled, Split, Verdict,
};
use shallows_switch::buffer::{self, DtCounts, DynamicThreshold, Limit, Policy, ReservedRule};
use shallows_switch::discipline::{self, ComposedConfig, Limits, SchedulerConfig};
use shallows_switch::queue::Share;

const RATE: Rate = Rate::from_gbps(10);

/// Two queues of a round-robin; the second may send three times as much.
const SHARES: [Share; 2] = [Share::Round { quantum: Bytes(1_500) }, Share::Round { quantum: Bytes(4_500) }];

fn threshold(split: Split) -> Config {
    Config::Threshold { gauge: Gauge::default(), threshold: Level(40_000), split }
}

#[test]
fn a_marker_acts_between_the_least_and_the_largest_threshold_of_its_queues() {
    let between = |config: &Config| {
        let range = config.thresholds(&SHARES, RATE).expect("it compares a backlog");
        (range.kmin.0, range.kmax.0)
    };
    assert_eq!(between(&threshold(Split::Standard)), (40_000, 40_000));
    // MQ-ECN (NSDI '16) §2: one quarter and three quarters.
    assert_eq!(between(&threshold(Split::Minimum)), (10_000, 30_000));
    // MQ-ECN's thresholds are the shares while all queues are busy, and the whole for a queue alone (Eq. 5).
    let mq_ecn = Config::MqEcn(MqEcnConfig::paper(Bytes(40_000)).into());
    assert_eq!(between(&mq_ecn), (10_000, 40_000));
    // 10 Gb/s send 25,000 bytes in 20 us.
    let tcn = Config::Tcn { threshold: Duration::from_micros(20) };
    assert_eq!(between(&tcn), (25_000, 25_000));
    let found = tcn.thresholds(&SHARES, RATE).expect("as above");
    assert_eq!((found.gauge.point, found.pmax), (Point::Dequeue, 1.0));
    // CoDel compares no backlog, and automatic thresholds are known only at the port.
    assert_eq!(Config::Codel(CodelConfig::default()).thresholds(&SHARES, RATE), None);
    assert_eq!(Config::FloydJacobson(FloydJacobsonConfig::default()).thresholds(&SHARES, RATE), None);
}

#[test]
fn a_single_threshold_is_told_with_how_queues_divide_it() {
    let of = |config: &Config| config.single_threshold().map(|(_, k, split)| (k.0, split));
    assert_eq!(of(&threshold(Split::Minimum)), Some((40_000, Split::Minimum)));
    let mq_ecn = Config::MqEcn(MqEcnConfig::paper(Bytes(30_000)).into());
    assert_eq!(of(&mq_ecn), Some((30_000, Split::Standard)));
    assert_eq!(of(&Config::Tcn { threshold: Duration::ZERO }), None);
}

#[test]
fn a_marker_says_all_that_it_can_do_to_a_packet() {
    let codel =
        |action, ce_threshold| Config::Codel(CodelConfig { action, ce_threshold, ..CodelConfig::default() });
    let some = Some(Duration::from_micros(50));
    let red = |action, forced| {
        Config::FloydJacobson(FloydJacobsonConfig { action, forced, ..FloydJacobsonConfig::default() })
    };
    let ein = EinConfig {
        samples: 50,
        threshold: 0.25,
        high_water: Bytes(0),
        average: EinAverage::default(),
        sampled: Sampled::default(),
    };
    for (config, expected) in [
        (threshold(Split::Standard), Verdict::MARK),
        (Config::Ein(ein), Verdict::INCAST),
        (codel(Action::Drop, None), Verdict::DROP),
        (codel(Action::Mark, None), Verdict::MARK),
        // Linux marks above ce_threshold, regardless of CoDel's state.
        (codel(Action::Drop, some), Verdict::DROP.and(Verdict::MARK)),
        (red(Action::Mark, Forced::AsBelow), Verdict::MARK),
        // RFC 3168 §7: packets are dropped while the average is above the maximum threshold.
        (red(Action::Mark, Forced::Drop), Verdict::MARK.and(Verdict::DROP)),
    ] {
        assert_eq!(config.verdicts(), expected, "{config:?}");
    }
}

fn limits(policy: Policy, reserved_rule: ReservedRule, busy: usize) -> (u64, u64) {
    let config = buffer::Config { policy, pools: vec![Bytes(1_000_001)], reserved_rule, cell: None };
    let (pool, reserved, packet) = (Bytes(1_000_001), Bytes(6_000), Bytes(1_500));
    (config.limit(pool, reserved, busy, packet).0, config.pool_limit(pool, reserved, busy, packet).0)
}

#[test]
fn a_policy_says_how_far_busy_ports_and_their_pool_fill_for_long() {
    let dt = |counts| Policy::DynamicThreshold(DynamicThreshold { alpha: 1.0, counts });
    // Choudhury and Hahne (ToN '98): αB/(1 + αM) of the pool for each of M = 4, and the reserved bytes beside it.
    assert_eq!(limits(dt(DtCounts::Shared), ReservedRule::Exact, 4), (200_000 + 6_000, 800_000));
    // The threshold also bounds the reserved bytes: (αB − p)/(1 + αM) = 994,001/5.
    assert_eq!(limits(dt(DtCounts::Total), ReservedRule::Exact, 4), (198_800 + 6_000, 795_200));
    // The leaking counter leaves room for one packet in the reserved buffer.
    assert_eq!(limits(dt(DtCounts::Shared), ReservedRule::AsReleased, 4), (200_000 + 1_500, 800_000));
    // A third each, and together the whole pool, to the last byte.
    assert_eq!(limits(Policy::CompleteSharing, ReservedRule::Exact, 3), (333_333 + 6_000, 1_000_001));
    let partition = Policy::StaticPartition { limit: Limit::Packets(10) };
    assert_eq!(limits(partition, ReservedRule::Exact, 2), (15_000 + 6_000, 30_000));
}

#[test]
fn a_discipline_says_how_much_it_lets_queues_and_ports_hold() {
    let of = |config: discipline::Config| [config.queue_limit(Bytes(1_500)), config.port_limit(Bytes(1_500))];
    assert_eq!(of(discipline::Config::Fifo), [None, None]);
    let composed = |queues: &[u32], port: Option<u32>| {
        discipline::Config::Composed(ComposedConfig {
            scheduler: SchedulerConfig::StrictPriority { queues: 2 },
            queue_of_class: [0, 1].into(),
            limits: Limits {
                queues: queues.iter().map(|&count| Limit::Packets(count)).collect(),
                port: port.map(Limit::Packets),
            },
        })
    };
    assert_eq!(of(composed(&[], None)), [None, None]);
    // The longest queue, and both queues together.
    assert_eq!(of(composed(&[10, 20], None)), [Some(Bytes(30_000)), Some(Bytes(45_000))]);
    assert_eq!(of(composed(&[10, 20], Some(12))), [Some(Bytes(18_000)); 2]);
    // All buckets together are one queue of the port.
    let sfq = discipline::sfq::Config { max_packets: 40, ..Default::default() };
    assert_eq!(of(discipline::Config::Sfq(sfq)), [Some(Bytes(60_000)); 2]);
}
