//! Builds the world of an experiment, or of a part of its network.

use shallows_core::packet::HostId;
use shallows_core::random::Stream;
use shallows_scenario::Experiment;
use shallows_transport::receive_window::{Control, ictcp::Ictcp};

use crate::announced::Announced;
use crate::capture::{Captures, Tap};
use crate::crossing::Exits;
use crate::datagram::Datagrams;
use crate::division::Division;
use crate::event::Ranks;
use crate::flow::Flows;
use crate::flow_tracer::FlowTracer;
use crate::generators::{Arrivals, Generators};
use crate::host::Host;
use crate::hosts::{Hosts, Transports};
use crate::inbox::Inboxes;
use crate::network::Network;
use crate::observers::Observers;
use crate::packet::{PacketRef, Packets};
use crate::places::Places;
use crate::port_tracer::PortTracer;
use crate::probe::Probes;
use crate::sampler::Sampler;
use crate::site::Site;
use crate::traffic::Traffic;
use crate::warm_up::WarmUps;
use crate::world::World;

/// The world of one site, which catches what the captures want.
pub(crate) fn world(
    experiment: &Experiment,
    division: Option<&Division>,
    site: Site,
    captures: &Captures,
) -> World {
    let seed = experiment.seed;
    let ranks = Ranks::new(seed);
    let mut network = Network::of(experiment, &site, ranks);
    let mut exits = Exits::default();
    for &(number, part, wire) in &site.exits {
        network.at(number).exit = exits.add(part, wire);
    }
    for host in site.nodes.numbers().take_while(|&node| node < experiment.network.hosts) {
        let group = experiment.group(HostId(host));
        // The link that leaves a host has its number.
        let link = network.at(host);
        link.watch.holds_back = group.backpressure.is_some();
        link.set_jitter(group.jitter, Stream::new(seed, "jitter", u64::from(host)));
    }
    let udp_overhead = u16::try_from(28 + experiment.network.framing.0).expect("headers are small");
    let tracer = PortTracer::new(experiment);
    network.watch(&tracer, Some(captures));
    let observers = Observers {
        ports: tracer,
        flows: FlowTracer::new(experiment),
        queues: Sampler::new(experiment.sample_queues),
        tap: Tap::default(),
    };
    let is_whole = division.is_none_or(|division| division.parts() == 1);
    let arrivals = if is_whole {
        Arrivals::Drawn(Traffic::new(experiment, ranks))
    } else {
        Arrivals::Announced(Announced::new(experiment.connections.len(), ranks))
    };
    World {
        hosts: self::hosts(experiment, &site.nodes, &network),
        network,
        packets: Packets::default(),
        flows: Flows::new(experiment, !is_whole),
        generators: Generators {
            arrivals,
            warm_ups: WarmUps::new(ranks),
            datagrams: Datagrams::new(&experiment.datagram_sources, udp_overhead, seed),
            probes: Probes::new(&experiment.probes, udp_overhead),
        },
        observers,
        ranks,
        exits,
        finished: false,
        ends_on_completion: experiment.stop.on_completion,
    }
}

/// The hosts among the `nodes`.
fn hosts(experiment: &Experiment, nodes: &Places, network: &Network<PacketRef>) -> Hosts {
    let host = |number: u32| {
        let config = &experiment.agreement(HostId(number), HostId(number)).receiver;
        let ictcp = match &config.receive_control {
            Control::Fixed => None,
            Control::Ictcp(ictcp) => Some(Ictcp::new(ictcp, config.mss, network.rate(number))),
        };
        let group = experiment.group(HostId(number));
        let inboxes = Inboxes::new(group.offloads.coalescing, experiment.seed);
        Host::new(group.backpressure.is_some(), ictcp, inboxes)
    };
    // Hosts are the first nodes, here as in the whole network.
    let hosts = nodes.numbers().take_while(|&node| node < experiment.network.hosts).map(host).collect();
    Hosts::new(hosts, nodes.clone(), Transports::new(experiment))
}
