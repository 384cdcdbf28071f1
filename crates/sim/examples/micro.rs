//! Runs one hot operation a given number of times, so that `benches/micro.py` can count its instructions.
//!
//! Usage: `micro event-queue|port|ecn-port|sender|connections COUNT`. Prints a checksum, so that nothing is optimised away.

use shallows_core::event::{Event, EventQueue, World, run};
use shallows_core::packet::{Ecn, Header};
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};
use shallows_sim::Simulation;
use shallows_switch::Port;
use shallows_switch::aqm::{Config, Gauge, Placed, Split};
use shallows_switch::buffer::{self, DtCounts, DynamicThreshold, Policy, ReservedRule, SharedBuffer};
use shallows_switch::port::{self, Arrival, Ingress};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (name, count) = (arguments.next(), arguments.next().and_then(|count| count.parse().ok()));
    let (Some(name), Some(count)) = (name, count) else {
        eprintln!("usage: micro event-queue|port|ecn-port|sender COUNT");
        std::process::exit(2);
    };
    let checksum = match name.as_str() {
        "event-queue" => event_queue(count),
        "port" => port(count, &[]),
        "ecn-port" => port(
            count,
            &[Config::Threshold {
                gauge: Gauge::default(),
                threshold: Bytes(4_000).into(),
                split: Split::Standard,
            }],
        ),
        "sender" => sender(count),
        "connections" => connections(count),
        _ => {
            eprintln!("no micro-benchmark \"{name}\"");
            std::process::exit(2);
        }
    };
    println!("{checksum}");
}

#[derive(Clone, Copy)]
struct Tick(u64);

impl Event for Tick {
    fn key(self) -> u64 {
        self.0
    }
    fn from_key(key: u64) -> Self {
        Self(key)
    }
}

/// A thousand pending events. Each event that fires is scheduled again after a random delay: the hold model of Jones (CACM '86).
struct Hold {
    stream: Stream,
    sum: u64,
}

impl World for Hold {
    type Event = Tick;
    fn handle(&mut self, event: Tick, queue: &mut EventQueue<Tick>) {
        self.sum = self.sum.wrapping_add(event.0 ^ queue.now().0);
        queue.schedule(queue.now() + Duration(self.stream.next_u64() % 20_000_000), event);
    }
}

fn event_queue(count: u64) -> u64 {
    let mut world = Hold { stream: Stream::new(1, "micro", 0), sum: 0 };
    let mut queue = EventQueue::new(Duration::from_micros(20));
    for entity in 0..1_000 {
        queue.schedule(Instant(entity * 19_997), Tick(entity));
    }
    run(&mut world, &mut queue, Instant::MAX, count);
    world.sum
}

/// Sends packets through a port with a Dynamic Threshold buffer, while four packets wait in the port.
fn port(count: u64, markers: &[Config]) -> u64 {
    let config = buffer::Config {
        policy: Policy::DynamicThreshold(DynamicThreshold { alpha: 1.0, counts: DtCounts::Shared }),
        pools: vec![Bytes(1 << 20)],
        reserved_rule: ReservedRule::Exact,
        cell: None,
    };
    let mut buffer = SharedBuffer::new(&config);
    let queue = buffer.add_queue(0, Bytes(2_000));
    let markers = markers.iter().cloned().map(Placed::everywhere).collect();
    let config = port::Config { markers, ..port::Config::default() };
    let stream = |purpose, place| Stream::new(1, purpose, place as u64);
    let mut port: Port<u32> = Port::new(Rate::from_gbps(100), queue, &config, stream);
    let header = Header::default().with_size(1_500).with_ecn(Ecn::Ect);
    let (mut now, mut dropped, mut sum) = (Instant::ZERO, Vec::new(), 0u64);
    for payload in 0..count {
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
        }
    }
    sum
}

/// Runs a sender and its receiver over a wire without loss: segments are sent, received and acknowledged.
fn sender(count: u64) -> u64 {
    let dctcp = shallows_transport::congestion::Config::Dctcp(Default::default());
    let config = shallows_transport::Config::new(Bytes(1_448), dctcp);
    let mut sender = shallows_transport::Sender::new(&config);
    let mut receiver = shallows_transport::Receiver::new(&config);
    let mut wire = std::collections::VecDeque::new();
    let mut now = Instant::ZERO;
    sender.write(&config, now, 1 << 50);
    let mut acknowledged = 0;
    while acknowledged < count {
        while wire.len() < 100 {
            let Some(transmit) = sender.poll_transmit(&config, now) else { break };
            wire.push_back(transmit.segment);
        }
        now = now + Duration::from_nanos(120);
        let Some(segment) = wire.pop_front() else { break };
        let marks = shallows_transport::Marks { ce: acknowledged % 50 == 0, incast: false };
        for ack in receiver.on_data(&config, now, &segment, marks, 1) {
            sender.on_ack(&config, now, &ack);
        }
        acknowledged += 1;
    }
    sender.acked()
}

/// Four hosts that start flows of one byte, at three times the rate that their links can carry. Almost every flow opens a new persistent
/// connection, because the connections of earlier flows still wait for delayed acknowledgements.
const OVERLOAD: &str = r#"
    [topology]
    kind = "star"
    hosts = 4
    rate = "10Gbps"
    link_delay = "1us"

    [switch]
    buffer = { kind = "static-partition", per_port = "100KB" }

    [tcp]

    [[workload]]
    kind = "poisson"
    load = 3.0
    overload = true
    sizes = { kind = "fixed", size = "1B" }
    connections = "persistent"

    [stop]
    at = "1s"
"#;

/// Runs the scenario [`OVERLOAD`] for `count` packet-hops. Returns the number of flows that have started.
fn connections(count: u64) -> u64 {
    let no_files = |_: &str| unreachable!("it names no file");
    let experiment = shallows_scenario::parse(OVERLOAD, "overload.toml", &no_files, &[], None);
    let mut simulation = Simulation::new(experiment.unwrap_or_else(|error| panic!("{error}")));
    while simulation.progress().packet_hops < count {
        simulation.advance(100);
    }
    simulation.progress().flows_started
}
