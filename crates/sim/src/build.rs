//! Builds the world of an experiment, or of a part of its network.

use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::random::Stream;
use shallows_scenario::{Experiment, PortKind};
use shallows_switch::buffer::SharedBuffer;
use shallows_transport::receive_window::{Control, ictcp::Ictcp};

use crate::announced::Announced;
use crate::capture::{Captures, Tap};
use crate::crossing::Exits;
use crate::datagram::Datagrams;
use crate::division::Division;
use crate::event::{Event, LinkRank, Ranks};
use crate::flow::Flows;
use crate::flow_tracer::FlowTracer;
use crate::generators::{Arrivals, Generators};
use crate::host::Host;
use crate::hosts::{Hosts, Transports};
use crate::inbox::Inboxes;
use crate::link::{InFlight, Link, Target, Wire};
use crate::observers::Observers;
use crate::packet::Packets;
use crate::places::Places;
use crate::port_tracer::PortTracer;
use crate::ports::port;
use crate::probe::Probes;
use crate::sampler::Sampler;
use crate::tally::Tally;
use crate::traffic::Traffic;
use crate::warm_up::WarmUps;
use crate::world::World;

/// What of the network a part has.
#[derive(Debug)]
pub(crate) struct Site {
    /// Hosts, then switches.
    nodes: Places,
    /// Those that leave its nodes.
    links: Places,
    /// Numbers of the links that come from other parts.
    entrances: Vec<u32>,
    /// Of the links that end in other parts: number, part of the far end, and its place there.
    exits: Vec<(u32, u32, u32)>,
}

/// The sites of all parts, or the only one of a network that is not divided.
pub(crate) fn sites(experiment: &Experiment, division: Option<&Division>) -> Vec<Site> {
    let network = &experiment.network;
    let (nodes, links) = (network.buffers.len() as u32, network.links.len() as u32);
    let parts = division.map_or(1, Division::parts);
    let part_of = |node: u32| division.map_or(0, |division| division.part_of(node));
    let ends = |link: u32| {
        let link = &network.links[link as usize];
        (part_of(link.from.0), part_of(link.to.0))
    };
    let nodes = Places::of(nodes, parts, part_of);
    let places = Places::of(links, parts, |link| ends(link).0);
    let site = |(nodes, links)| Site { nodes, links, entrances: Vec::new(), exits: Vec::new() };
    let mut sites: Vec<Site> = nodes.into_iter().zip(places).map(site).collect();
    for link in 0..links {
        let (from, to) = ends(link);
        if from != to {
            let far = &mut sites[to as usize];
            let wire = far.links.count() + far.entrances.len() as u32;
            far.entrances.push(link);
            sites[from as usize].exits.push((link, to, wire));
        }
    }
    sites
}

/// The world of one site, which catches what the captures want.
pub(crate) fn world(
    experiment: &Experiment,
    division: Option<&Division>,
    site: Site,
    captures: &Captures,
) -> World {
    let network = &experiment.network;
    let seed = experiment.seed;
    assert!(network.hosts <= Event::MAX_HOSTS, "at most 2^24 hosts");
    assert!(network.links.len() < Event::MAX_LINKS as usize, "at most 2^28 links");
    let ranks = Ranks::new(seed);
    let Site { nodes, links: places, entrances, exits: far_ends } = site;
    let mut buffers: Vec<SharedBuffer> =
        nodes.numbers().map(|node| SharedBuffer::new(&network.buffers[node as usize])).collect();
    let wire = |number: u32| {
        let to = network.links[number as usize].to.0;
        let target = to.checked_sub(network.hosts).map_or(Target::Host, Target::Switch);
        Wire::new(target, ranks.of_link(number))
    };
    let wires = places.numbers().chain(entrances).map(wire).collect();
    let mut links: Vec<Link> = places
        .numbers()
        .map(|number| link(experiment, number, ranks.of_link(number), &nodes, &mut buffers))
        .collect();
    let mut exits = Exits::default();
    for (number, part, wire) in far_ends {
        links[places.at(number)].exit = exits.add(part, wire);
    }
    let udp_overhead = u16::try_from(28 + network.framing.0).expect("headers are small");
    let tracer = PortTracer::new(experiment);
    for number in tracer.at_every_change().filter(|&number| places.has(number)) {
        links[places.at(number)].watch.traced = true;
    }
    for link in &mut links {
        link.watch.captured = captures.want(link.number);
    }
    let observers = Observers {
        ports: tracer,
        flows: FlowTracer::new(experiment),
        queues: Sampler::new(experiment.sample_queues, nodes.numbers().collect()),
        tap: Tap::default(),
    };
    let is_whole = division.is_none_or(|division| division.parts() == 1);
    let arrivals = if is_whole {
        Arrivals::Drawn(Traffic::new(experiment, ranks))
    } else {
        Arrivals::Announced(Announced::new(experiment.connections.len(), ranks))
    };
    World {
        data_dropped: vec![0; links.len()],
        wires,
        in_flight: InFlight::default(),
        routing: Arc::clone(&network.routing),
        buffers,
        packets: Packets::default(),
        hosts: self::hosts(experiment, &nodes, &places, &links),
        flows: Flows::new(experiment, !is_whole),
        generators: Generators {
            arrivals,
            warm_ups: WarmUps::new(ranks),
            datagrams: Datagrams::new(&experiment.datagram_sources, udp_overhead, seed),
            probes: Probes::new(&experiment.probes, udp_overhead),
        },
        observers,
        ranks,
        tally: Tally::default(),
        exits,
        finished: false,
        ends_on_completion: experiment.stop.on_completion,
        dropped: Vec::new(),
        links,
        places_of_links: places,
    }
}

/// The near end of the link with this number, whose queues join the buffer of its node.
fn link(
    experiment: &Experiment,
    number: u32,
    rank: LinkRank,
    nodes: &Places,
    buffers: &mut [SharedBuffer],
) -> Link {
    let (network, seed) = (&experiment.network, experiment.seed);
    let link = &network.links[number as usize];
    let place = nodes.at(link.from.0);
    let port = port(experiment, number, &mut buffers[place]);
    let mut built = Link::new(port, number, rank, place as u32, link.delay);
    if link.kind == PortKind::Nic {
        let group = experiment.group(HostId(link.from.0));
        built.watch.holds_back = group.backpressure.is_some();
        built = built.with_jitter(group.jitter, Stream::new(seed, "jitter", u64::from(link.from.0)));
    }
    built
}

/// The hosts among the `nodes`, by the links of their ports.
fn hosts(experiment: &Experiment, nodes: &Places, places: &Places, links: &[Link]) -> Hosts {
    let host = |number: u32| {
        // The link that leaves a host has its number.
        let nic = places.at(number);
        let config = &experiment.agreement(HostId(number), HostId(number)).receiver;
        let ictcp = match &config.receive_control {
            Control::Fixed => None,
            Control::Ictcp(ictcp) => Some(Ictcp::new(ictcp, config.mss, links[nic].port.rate())),
        };
        let inboxes = Inboxes::new(experiment.group(HostId(number)).offloads.coalescing, experiment.seed);
        Host::new(nic as u32, ictcp, inboxes)
    };
    // Hosts are the first nodes, here as in the whole network.
    let network = &experiment.network;
    let hosts = nodes.numbers().take_while(|&node| node < network.hosts).map(host).collect();
    Hosts::new(hosts, nodes.clone(), Transports::new(experiment))
}
