//! Generators of ports of every kind.

use proptest::prelude::*;
use shallows_core::{Bytes, Duration, Rate};
use shallows_switch::aqm::{
    self, Action, Averaging, CodelConfig, EinAverage, EinConfig, EinReleasedConfig, FloydJacobsonConfig,
    Gauge, Level, MqEcnConfig, Placed, Point, Sampled, Scope, Spacing, Split, Thresholds, Unit,
};
use shallows_switch::buffer::{
    self, AbmConfig, Cell, DtCounts, DynamicThreshold, Limit, Policy, ReservedRule,
};
use shallows_switch::discipline::{
    self, ComposedConfig, FlowHash, Limits, SchedulerConfig, hashed_drr, hcf, sfq,
};
use shallows_switch::scheduler::{Order as Turns, VirtualTime};
use shallows_switch::{EgressDrop, port, shaper};

/// Sets of packets that must not overtake one another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Order {
    /// Packets of a queue, which is the class modulo the number of queues.
    ByQueue,
    /// Packets of a flow.
    ByFlow,
}

/// A port, its memory, and the order that must hold.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) port: port::Config,
    pub(crate) buffer: buffer::Config,
    pub(crate) reserved: u64,
    pub(crate) order: Order,
    pub(crate) queue_limits: Vec<Limit>,
    pub(crate) port_limit: Option<Limit>,
}

fn composed(scheduler: SchedulerConfig, limits: Limits) -> discipline::Config {
    let queues = scheduler.shares().len() as u8;
    let queue_of_class = (0..4).map(|class| class % queues).collect();
    discipline::Config::Composed(ComposedConfig { scheduler, queue_of_class, limits })
}

/// Returns a port with two queues that share by deficit round-robin behind a token bucket.
pub(crate) fn shaped_dwrr(rate: Rate, burst: Bytes, quanta: &[u64]) -> Case {
    let quanta = quanta.iter().copied().map(Bytes).collect();
    Case {
        port: port::Config {
            discipline: composed(SchedulerConfig::Dwrr { quanta }, Limits::default()),
            shaper: Some(shaper::Config { rate, burst }),
            ..port::Config::default()
        },
        buffer: buffer::Config {
            policy: Policy::CompleteSharing,
            pools: vec![Bytes(64 << 20)],
            reserved_rule: ReservedRule::Exact,
            cell: None,
        },
        reserved: 0,
        order: Order::ByQueue,
        queue_limits: vec![],
        port_limit: None,
    }
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    let shaper = prop::option::weighted(0.3, (1u64..9, 1_600u64..6_000)).prop_map(|shaper| {
        shaper.map(|(gbps, burst)| shaper::Config { rate: Rate::from_gbps(gbps), burst: Bytes(burst) })
    });
    let egress_drop = prop_oneof![Just(EgressDrop::Slot), Just(EgressDrop::Free)];
    let memory = (buffer(), prop_oneof![Just(0u64), 1_000..5_000u64]);
    let markers = prop::collection::vec(marker(), 0..4);
    (discipline(), memory, markers, shaper, egress_drop).prop_map(
        |((discipline, order), (buffer, reserved), markers, shaper, egress_drop)| {
            let limits = match &discipline {
                discipline::Config::Composed(composed) => composed.limits.clone(),
                discipline::Config::Fifo => Limits::default(),
                discipline::Config::Hcf(config) => Limits { port: Some(config.limit), queues: vec![] },
                discipline::Config::HashedDrr(config) => Limits { port: Some(config.limit), queues: vec![] },
                discipline::Config::Sfq(config) => {
                    Limits { port: Some(Limit::Packets(config.max_packets)), queues: vec![] }
                }
            };
            let markers = markers.into_iter().map(Placed::everywhere).collect();
            // Reserved bytes would add to a partition's limit.
            let reserved = if matches!(buffer.policy, Policy::StaticPartition { .. }) { 0 } else { reserved };
            Case {
                port: port::Config { discipline, markers, shaper, egress_drop },
                buffer,
                reserved,
                order,
                queue_limits: limits.queues,
                port_limit: limits.port,
            }
        },
    )
}

fn discipline() -> impl Strategy<Value = (discipline::Config, Order)> {
    prop_oneof![
        1 => Just((discipline::Config::Fifo, Order::ByQueue)),
        4 => (scheduler(), limits()).prop_map(|(scheduler, mut limits)| {
            limits.queues = limits.queues.repeat(scheduler.shares().len());
            (composed(scheduler, limits), Order::ByQueue)
        }),
        2 => hcf().prop_map(|config| (discipline::Config::Hcf(config), Order::ByFlow)),
        1 => (1u32..8, 100u64..4_000, limit()).prop_map(|(buckets, quantum, limit)| {
            let config =
                hashed_drr::Config { buckets, quantum: Bytes(quantum), limit, hash: FlowHash::FiveTuple };
            (discipline::Config::HashedDrr(config), Order::ByFlow)
        }),
        1 => (1u32..8, 2u32..20, 0usize..3).prop_map(|(buckets, max_packets, drop)| {
            let drop = [sfq::DropRule::StealTail, sfq::DropRule::StealHead, sfq::DropRule::AsNs2][drop];
            let hash = FlowHash::AddressPair;
            let config = sfq::Config { buckets, max_packets, hash, perturbation: None, drop };
            (discipline::Config::Sfq(config), Order::ByFlow)
        }),
    ]
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (2u32..15).prop_map(Limit::Packets),
        (3_100u64..20_000).prop_map(|bytes| Limit::Bytes(Bytes(bytes)))
    ]
}

fn limits() -> impl Strategy<Value = Limits> {
    let port = prop::option::weighted(0.3, limit());
    (prop::option::weighted(0.3, limit()), port)
        .prop_map(|(queue, port)| Limits { queues: queue.into_iter().collect(), port })
}

fn scheduler() -> impl Strategy<Value = SchedulerConfig> {
    let quanta = || prop::collection::vec((300u64..6_000).prop_map(Bytes), 1..4);
    let shared = prop_oneof![
        (quanta(), any::<bool>()).prop_map(|(quanta, cyclic)| {
            let order = if cyclic { Turns::Cyclic } else { Turns::Activation };
            SchedulerConfig::Wrr { quanta, order }
        }),
        quanta().prop_map(|quanta| SchedulerConfig::Dwrr { quanta }),
        (prop::collection::vec(1u32..9, 1..4), 0usize..3).prop_map(|(weights, time)| {
            let times = [VirtualTime::Gps, VirtualTime::SelfClocked, VirtualTime::AsReleased];
            SchedulerConfig::Wfq { weights, virtual_time: times[time] }
        }),
    ];
    (shared, 0usize..3).prop_map(|(below, strict)| match strict {
        0 => below,
        1 => SchedulerConfig::StrictAbove { queues: 1, below: Box::new(below) },
        _ => SchedulerConfig::StrictPriority { queues: below.shares().len() },
    })
}

/// Generates HCF configurations that keep packets in order.
fn hcf() -> impl Strategy<Value = hcf::Config> {
    let division = prop_oneof![
        Just(hcf::Division::Equal),
        Just(hcf::Division::Dynamic),
        Just(hcf::Division::Thirds),
        Just(hcf::Division::Unequal { high: 0.3, sizes: hcf::Sizes::Swap }),
        Just(hcf::Division::Unequal { high: 0.6, sizes: hcf::Sizes::Stay }),
    ];
    let limit = prop_oneof![
        (4u32..20).prop_map(Limit::Packets),
        (8_000u64..30_000).prop_map(|bytes| Limit::Bytes(Bytes(bytes)))
    ];
    (division, limit, 1u32..8, 1u32..4, 1u32..4).prop_map(|(division, limit, bins, credits, hashes)| {
        hcf::Config {
            limit,
            division,
            bins,
            credits: hcf::InitialCredits::Packets(credits),
            hashes,
            ..hcf::Config::default()
        }
    })
}

fn buffer() -> impl Strategy<Value = buffer::Config> {
    let counts = prop_oneof![Just(DtCounts::Shared), Just(DtCounts::Total)];
    let policy = prop_oneof![
        (0.2f64..8.0, counts)
            .prop_map(|(alpha, counts)| { Policy::DynamicThreshold(DynamicThreshold { alpha, counts }) }),
        Just(Policy::CompleteSharing),
        Just(Policy::Abm(AbmConfig { alpha: vec![2.0, 0.5], window: Bytes(6_000), ..AbmConfig::default() })),
    ];
    let rule = prop_oneof![Just(ReservedRule::Exact), Just(ReservedRule::AsReleased)];
    let cell = prop::option::weighted(0.3, 1u64..400);
    let shared = (policy, 6_000u64..40_000, rule, cell).prop_map(|(policy, pool, reserved_rule, cell)| {
        buffer::Config {
            policy,
            pools: vec![Bytes(pool)],
            reserved_rule: if cell.is_some() { ReservedRule::Exact } else { reserved_rule },
            cell: cell.map(|size| Cell::new(Bytes(size))),
        }
    });
    let partition = limit().prop_map(|limit| buffer::Config {
        policy: Policy::StaticPartition { limit },
        pools: vec![Bytes(1 << 20)],
        reserved_rule: ReservedRule::Exact,
        cell: None,
    });
    prop_oneof![3 => shared, 1 => partition]
}

fn gauge() -> impl Strategy<Value = Gauge> {
    let scope = prop_oneof![Just(Scope::Queue), Just(Scope::Port), Just(Scope::Pool)];
    let unit = prop_oneof![Just(Unit::Bytes), Just(Unit::Cells)];
    let weight = prop::option::of(0.1f64..1.0);
    (scope, unit, point(), any::<bool>(), weight).prop_map(|(scope, unit, point, counts_packet, weight)| {
        Gauge {
            scope,
            unit,
            point,
            counts_packet,
            averaging: weight.map_or(Averaging::Instantaneous, |weight| Averaging::Ewma { weight }),
        }
    })
}

fn point() -> impl Strategy<Value = Point> {
    prop_oneof![Just(Point::Enqueue), Just(Point::Dequeue)]
}

fn marker() -> impl Strategy<Value = aqm::Config> {
    prop_oneof![
        (gauge(), 0u64..10_000, any::<bool>()).prop_map(|(gauge, k, minimum)| aqm::Config::Threshold {
            gauge,
            threshold: Level(k),
            split: if minimum { Split::Minimum } else { Split::Standard },
        }),
        (gauge(), 1u64..8, 0u64..8).prop_map(|(gauge, kmin, more)| aqm::Config::Red {
            gauge: Gauge { unit: Unit::Packets, ..gauge },
            kmin: Level(kmin),
            kmax: Level(kmin + more),
            pmax: 0.5,
            spacing: Spacing::Count { packet: Bytes(1_500) },
        }),
        (point(), 1_000u64..10_000).prop_map(|(point, k)| {
            let base = MqEcnConfig::paper(Bytes(k));
            aqm::Config::MqEcn(MqEcnConfig { point, ..base }.into())
        }),
        any::<bool>().prop_map(|released| {
            let base =
                if released { FloydJacobsonConfig::as_released() } else { FloydJacobsonConfig::default() };
            let (min, max) = if released { (1_500, 6_000) } else { (1, 4) };
            let thresholds = Thresholds::Explicit { min: Level(min), max: Level(max), weight: 0.3 };
            aqm::Config::FloydJacobson(FloydJacobsonConfig { thresholds, ..base })
        }),
        (1usize..20, any::<bool>()).prop_map(|(samples, sums)| aqm::Config::Ein(EinConfig {
            samples,
            average: if sums { EinAverage::RatioOfSums } else { EinAverage::MeanOfRatios },
            sampled: if sums { Sampled::Before } else { Sampled::After },
            ..EinConfig::paper(Bytes(3_000))
        })),
        (2usize..20).prop_map(|samples| {
            aqm::Config::EinReleased(EinReleasedConfig { samples, limit: 4, ..EinReleasedConfig::default() })
        }),
        (0u64..5_000).prop_map(|nanos| aqm::Config::Tcn { threshold: Duration::from_nanos(nanos) }),
        (1u64..4_000, any::<bool>()).prop_map(|(nanos, drops)| aqm::Config::Codel(CodelConfig {
            target: Duration::from_nanos(nanos),
            interval: Duration::from_micros(10),
            action: if drops { Action::Drop } else { Action::Mark },
            ce_threshold: drops.then_some(Duration::from_micros(3)),
            ..CodelConfig::default()
        })),
    ]
}
