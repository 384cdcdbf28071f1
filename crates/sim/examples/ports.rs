//! Packets through a busy port of each kind, to measure the cost of a discipline, marker or buffer policy (`benches/micro.py --ports`).
//!
//! Usage: `ports NAME COUNT`. Prints a checksum, so that nothing is optimised away. This is a program of its own, since a second
//! loop over the same port in `micro` would change the code that the compiler generates for the first.

use shallows_core::packet::{Ecn, Header, HostId};
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};
use shallows_switch::aqm::{
    self, Averaging, CodelConfig, EinConfig, EinReleasedConfig, FloydJacobsonConfig, Gauge, Level,
    MqEcnConfig, Placed, Spacing, Split, Thresholds,
};
use shallows_switch::buffer::{self, AbmConfig, DtCounts, DynamicThreshold, Limit, Policy, ReservedRule};
use shallows_switch::discipline::{
    self, ComposedConfig, FlowHash, Limits, SchedulerConfig, hashed_drr, hcf, sfq,
};
use shallows_switch::port::{self, Arrival, Ingress};
use shallows_switch::scheduler::{Order, VirtualTime};
use shallows_switch::{Port, shaper};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (name, count) = (arguments.next(), arguments.next().and_then(|count| count.parse().ok()));
    let (Some(name), Some(count)) = (name, count) else {
        eprintln!("usage: ports NAME COUNT");
        std::process::exit(2);
    };
    let Some(checksum) = run(&name, count) else {
        eprintln!("no discipline, marker or buffer policy \"{name}\"");
        std::process::exit(2);
    };
    println!("{checksum}");
}

/// Number of queues in a port with several classes, and number of flows through each port.
const QUEUES: usize = 8;

/// Returns the configuration of the port `name`, and its buffer policy. By default, a port has one queue and Dynamic Threshold.
fn setup(name: &str) -> Option<(port::Config, Policy)> {
    let mut config = port::Config::default();
    let mut policy = dynamic_threshold();
    if let Some(discipline) = discipline(name) {
        config.discipline = discipline;
    } else if let Some(marker) = marker(name) {
        config.markers = vec![Placed::everywhere(marker)];
        if name == "mq-ecn" {
            config.discipline = discipline::Config::Composed(dwrr());
        }
    } else {
        match name {
            "fifo" => {}
            "shaper" => {
                config.shaper = Some(shaper::Config { rate: Rate::from_gbps(99), burst: Bytes(1 << 30) });
            }
            _ => policy = buffer_policy(name)?,
        }
    }
    Some((config, policy))
}

fn dynamic_threshold() -> Policy {
    Policy::DynamicThreshold(DynamicThreshold { alpha: 1.0, counts: DtCounts::Shared })
}

fn buffer_policy(name: &str) -> Option<Policy> {
    Some(match name {
        "static-partition" => Policy::StaticPartition { limit: Limit::Bytes(Bytes(1 << 20)) },
        "complete-sharing" => Policy::CompleteSharing,
        "abm" => Policy::Abm(AbmConfig::default()),
        _ => return None,
    })
}

fn composed(scheduler: SchedulerConfig) -> ComposedConfig {
    let queue_of_class = (0..QUEUES as u8).collect();
    ComposedConfig { scheduler, queue_of_class, limits: Limits::default() }
}

fn dwrr() -> ComposedConfig {
    composed(SchedulerConfig::Dwrr { quanta: vec![Bytes(1_500); QUEUES] })
}

fn discipline(name: &str) -> Option<discipline::Config> {
    let scheduler = match name {
        "strict-priority" => SchedulerConfig::StrictPriority { queues: QUEUES },
        "wrr" => SchedulerConfig::Wrr { quanta: vec![Bytes(1_500); QUEUES], order: Order::Cyclic },
        "dwrr" => return Some(discipline::Config::Composed(dwrr())),
        "wfq" => SchedulerConfig::Wfq { weights: vec![1; QUEUES], virtual_time: VirtualTime::Gps },
        "wfq-self-clocked" => {
            SchedulerConfig::Wfq { weights: vec![1; QUEUES], virtual_time: VirtualTime::SelfClocked }
        }
        "hcf" => return Some(discipline::Config::Hcf(hcf::Config::default())),
        "hashed-drr" => {
            return Some(discipline::Config::HashedDrr(hashed_drr::Config {
                buckets: 16,
                quantum: Bytes(1_500),
                limit: Limit::Bytes(Bytes(30_000)),
                hash: FlowHash::FiveTuple,
            }));
        }
        "sfq" => {
            return Some(discipline::Config::Sfq(sfq::Config {
                buckets: 16,
                max_packets: 40,
                hash: FlowHash::AddressPair,
                perturbation: None,
                drop: sfq::DropRule::StealTail,
            }));
        }
        _ => return None,
    };
    Some(discipline::Config::Composed(composed(scheduler)))
}

/// Returns the marker `name`. Its thresholds are at four waiting packets, so that some packets are marked.
fn marker(name: &str) -> Option<aqm::Config> {
    let red = |gauge| aqm::Config::Red {
        gauge,
        kmin: Level(3_000),
        kmax: Level(12_000),
        pmax: 0.5,
        spacing: Spacing::Independent,
    };
    Some(match name {
        "threshold" => aqm::Config::Threshold {
            gauge: Gauge::default(),
            threshold: Level(4_000),
            split: Split::Standard,
        },
        "red" => red(Gauge::default()),
        "red-averaged" => red(Gauge { averaging: Averaging::Ewma { weight: 0.002 }, ..Gauge::default() }),
        "red-classic" => aqm::Config::FloydJacobson(FloydJacobsonConfig {
            thresholds: Thresholds::Explicit { min: Level(2), max: Level(10), weight: 0.002 },
            ..FloydJacobsonConfig::default()
        }),
        "mq-ecn" => aqm::Config::MqEcn(MqEcnConfig::paper(Bytes(4_000)).into()),
        "ein" => aqm::Config::Ein(EinConfig::paper(Bytes(4_000))),
        "ein-as-released" => aqm::Config::EinReleased(EinReleasedConfig::default()),
        "tcn" => aqm::Config::Tcn { threshold: Duration::from_nanos(400) },
        "codel" => aqm::Config::Codel(CodelConfig::default()),
        _ => return None,
    })
}

/// Sends `count` packets through the port `name`, while four packets wait in it. Flows and classes take turns. Returns `None` if there is
/// no such port.
fn run(name: &str, count: u64) -> Option<u64> {
    let (config, policy) = setup(name)?;
    let memory = buffer::Config {
        policy,
        pools: vec![Bytes(1 << 20)],
        reserved_rule: ReservedRule::Exact,
        cell: None,
    };
    let mut buffer = buffer::SharedBuffer::new(&memory);
    let account = buffer.add_queue(0, Bytes(2_000));
    for _ in 1..config.discipline.queues() {
        buffer.add_sibling(0, Bytes(2_000));
    }
    let stream = |purpose, place| Stream::new(1, purpose, place as u64);
    let mut port: Port<u32> = Port::new(Rate::from_gbps(100), account, &config, stream);
    let header = |flow: usize| {
        Header::new(HostId(flow as u32), HostId(99))
            .with_class(flow as u8)
            .with_size(1_500)
            .with_ecn(Ecn::Ect)
    };
    let headers: [Header; QUEUES] = std::array::from_fn(header);
    let (mut now, mut dropped, mut sum) = (Instant::ZERO, Vec::new(), 0u64);
    for payload in 0..count {
        let header = headers[payload as usize % QUEUES];
        if let Arrival::Sent(departure) =
            port.receive(now, Ingress::NONE, header, payload as u32, &mut buffer, &mut dropped)
        {
            sum = sum.wrapping_add(departure.finish.0);
        }
        if payload >= 4 {
            now = port.busy_until();
            if let Some(departure) = port.transmit_next(now, &mut buffer, &mut dropped) {
                sum = sum.wrapping_add(departure.finish.0 ^ u64::from(departure.payload));
            }
            dropped.clear();
        }
    }
    Some(sum)
}
