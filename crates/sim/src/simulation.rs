//! The driver: builds the world of an experiment, fires its events, and closes the books.

use std::io;

use shallows_core::event::{EventQueue, run};
use shallows_core::random::Stream;
use shallows_core::{Duration, Instant};
use shallows_scenario::{Experiment, PortKind};
use shallows_transport::header_bytes;
use shallows_transport::receive_window::{Control, ictcp::Ictcp};

use crate::capture::{Captures, Sink};
use crate::datagram::Datagrams;
use crate::event::{Class, Event, Ranks};
use crate::flow_tracer::FlowTracer;
use crate::generators::Generators;
use crate::host::Host;
use crate::hosts::{Hosts, Transport};
use crate::link::{InFlight, Link, Target};
use crate::observers::Observers;
use crate::packet::Packets;
use crate::ports::ports;
use crate::probe::Probes;
use crate::report::{Report, counted};
use crate::sampler::Sampler;
use crate::tally::Tally;
use crate::tracer::Tracer;
use crate::traffic::Traffic;
use crate::world::{Switch, World};

/// A run of one experiment.
#[derive(Debug)]
pub struct Simulation {
    experiment: Experiment,
    world: World,
    queue: EventQueue<Event>,
    done: bool,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Whether it has ended.
    pub done: bool,
    /// Simulated time.
    pub now: Instant,
    /// Share of the run that is done: of its flows, or of its time if it ends at a time.
    pub fraction: f64,
    /// Flows that have arrived.
    pub flows_started: u64,
    /// Flows that are complete.
    pub flows_completed: u64,
    /// Packets put on links.
    pub packet_hops: u64,
    /// Events fired.
    pub events: u64,
}

/// A run that does not end by then never will: some flow finds no way through, and its timer only backs off. A hundred
/// days, half of what the clock holds, so that no deadline overflows.
const END_OF_TIME: Instant = Instant(100 * 24 * 3_600 * 1_000_000_000_000);

impl Simulation {
    /// Build the network and schedule the first events. What the experiment wants captured goes nowhere.
    pub fn new(experiment: Experiment) -> Self {
        Self::capturing(experiment, |_| Ok(Box::new(io::sink()))).expect("nowhere takes everything")
    }

    /// Likewise, and write each capture to what `open` gives for its name.
    ///
    /// # Errors
    ///
    /// If one cannot be opened or written to.
    pub fn capturing(experiment: Experiment, open: impl FnMut(&str) -> io::Result<Sink>) -> io::Result<Self> {
        let mut queue = EventQueue::new(horizon(&experiment));
        let mut world = build(&experiment, open)?;
        world.generators.start(&experiment, &mut world.hosts, world.ranks, &mut queue);
        for number in world.observers.ports.at_intervals() {
            world.schedule(Instant::ZERO, Class::Trace, number.into(), &mut queue);
        }
        for number in world.observers.flows.at_intervals() {
            world.schedule(Instant::ZERO, Class::FlowTrace, number.into(), &mut queue);
        }
        if experiment.sample_queues.is_some() {
            world.schedule(Instant::ZERO, Class::Sample, 0, &mut queue);
        }
        Ok(Self { experiment, world, queue, done: false })
    }

    /// Fire up to `events` more events, fewer if the run ends.
    pub fn advance(&mut self, events: u64) -> Progress {
        let until = self.experiment.stop.at.unwrap_or(END_OF_TIME);
        if !self.done {
            self.done = !run(&mut self.world, &mut self.queue, until, events);
        }
        self.progress()
    }

    /// How far the run has come.
    pub fn progress(&self) -> Progress {
        let traffic = &self.world.generators.traffic;
        Progress {
            done: self.done,
            now: self.queue.now(),
            fraction: self.fraction(),
            flows_started: traffic.flows.records.len() as u64,
            flows_completed: traffic.completed,
            packet_hops: self.world.tally.packet_hops,
            events: self.queue.handled(),
        }
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    /// Hand over what captures hold back: now and then, so that what goes wrong is heard of in time, and before
    /// [`Self::finish`].
    ///
    /// # Errors
    ///
    /// The first one since the run began; nothing was captured after it.
    pub fn flush_captures(&mut self) -> io::Result<()> {
        self.world.observers.captures.flush()
    }

    fn fraction(&self) -> f64 {
        if self.done {
            return 1.0;
        }
        let of = |part: f64, whole: f64| if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 };
        let by_time = self.experiment.stop.at.map(|at| of(self.queue.now().as_secs_f64(), at.as_secs_f64()));
        let by_flows = self
            .experiment
            .expected_flows()
            .map(|flows| of(self.world.generators.traffic.completed as f64, flows as f64));
        by_time.unwrap_or(0.0).max(by_flows.unwrap_or(0.0))
    }

    /// Close the books and report.
    ///
    /// # Panics
    ///
    /// If a conservation law does not hold, which is a defect of this program.
    pub fn finish(mut self) -> Report {
        self.world.audit();
        // A run that stops at a time has lasted until then, also if nothing happened at its end.
        let end = match self.experiment.stop.at {
            Some(at) if !self.world.finished => at,
            _ => self.queue.now(),
        };
        let World { hosts, generators, observers, links, tally, data_dropped, .. } = &mut self.world;
        hosts.settle(&mut generators.traffic.flows, end);
        let sources = &generators.traffic.sources;
        let queries = sources.iter().map(|source| source.workload.queries().to_vec()).collect();
        let (ports, queues, markers) = counted(links.iter().map(|link| &link.port));
        Report {
            flows: std::mem::take(&mut generators.traffic.flows.records),
            queries,
            ports,
            queues,
            markers,
            echoes: std::mem::take(&mut generators.probes.echoes),
            trace: std::mem::take(&mut observers.ports.rows),
            flow_traces: std::mem::take(&mut observers.flows.flows),
            samples: std::mem::take(&mut observers.queues.rows),
            captured: observers.captures.packets(),
            tally: *tally,
            data_dropped: std::mem::take(data_dropped),
            datagram_bytes: generators.datagrams.received_bytes,
            end,
            events: self.queue.handled(),
            experiment: self.experiment,
        }
    }
}

/// How far ahead most events lie: serialisation and propagation of the slowest link.
fn horizon(experiment: &Experiment) -> Duration {
    let network = &experiment.network;
    let packet = network.mtu + network.framing;
    let reach = |link: &shallows_scenario::Link| link.delay + link.rate.transmission_time(packet);
    network.links.iter().map(reach).max().unwrap_or_default() + experiment.jitter
}

fn build(experiment: &Experiment, open: impl FnMut(&str) -> io::Result<Sink>) -> io::Result<World> {
    let network = &experiment.network;
    let seed = experiment.seed;
    assert!(network.hosts <= Event::MAX_HOSTS, "at most 2^24 hosts");
    let ranks = Ranks::new(seed);
    let (buffers, ports) = ports(experiment);
    let mut nics = vec![0; network.hosts as usize];
    let mut links = Vec::with_capacity(network.links.len());
    for (index, (link, port)) in network.links.iter().zip(ports).enumerate() {
        let target = if link.to.0 < network.hosts { Target::Host } else { Target::Switch(link.to.0) };
        let mut built = Link::new(port, link.from.0, target, link.delay);
        if link.kind == PortKind::Nic {
            nics[link.from.0 as usize] = index as u32;
            built.watch.holds_back = experiment.backpressure.is_some();
            built = built.with_jitter(experiment.jitter, Stream::new(seed, "jitter", u64::from(link.from.0)));
        }
        links.push(built);
    }
    let switches = network.nodes[network.hosts as usize..]
        .iter()
        .map(|node| Switch { routes: node.routes.clone(), ecmp: node.ecmp.clone() })
        .collect();
    let udp_overhead = u16::try_from(28 + network.framing.0).expect("headers are small");
    let tracer = Tracer::new(experiment);
    for link in tracer.at_every_change() {
        links[link as usize].watch.traced = true;
    }
    let observers = Observers {
        ports: tracer,
        flows: FlowTracer::new(experiment),
        queues: Sampler::new(experiment.sample_queues),
        captures: Captures::new(experiment, &mut links, open)?,
    };
    Ok(World {
        data_dropped: vec![0; links.len()],
        links,
        in_flight: InFlight::default(),
        buffers,
        switches,
        packets: Packets::default(),
        hosts: hosts(experiment, &nics),
        generators: Generators {
            traffic: Traffic::new(experiment, ranks),
            datagrams: Datagrams::new(&experiment.datagram_sources, udp_overhead, seed),
            probes: Probes::new(&experiment.probes, udp_overhead),
        },
        observers,
        ranks,
        tally: Tally::default(),
        finished: false,
        ends_on_completion: experiment.stop.on_completion,
        dropped: Vec::new(),
    })
}

/// The hosts, by the links of their ports.
fn hosts(experiment: &Experiment, nics: &[u32]) -> Hosts {
    let network = &experiment.network;
    let config = &experiment.tcp;
    let header_bytes = u16::try_from((header_bytes(config.timestamps) + network.framing).0);
    let transport = Transport {
        config: config.clone(),
        ack_class: experiment.ack_class,
        header_bytes: header_bytes.expect("headers are small"),
    };
    let host = |&nic: &u32| {
        let ictcp = match &config.receive_control {
            Control::Fixed => None,
            Control::Ictcp(ictcp) => Some(Ictcp::new(ictcp, config.mss, network.links[nic as usize].rate)),
        };
        Host::new(nic, 0, ictcp)
    };
    Hosts {
        hosts: nics.iter().map(host).collect(),
        transports: vec![transport],
        backpressure: experiment.backpressure,
    }
}
