//! Builds the network of an experiment, or one partition of it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use shallows_core::{Duration, Instant};
use shallows_measure::{PortTracer, Tally};
use shallows_scenario::{Experiment, Network as NetworkConfig};
use shallows_switch::buffer::SharedBuffer;
use shallows_switch::port::Ingress;

use crate::network::calendar::Calendar;
use crate::network::division::longest_flight;
use crate::network::event::{Event, Ranks};
use crate::network::link::{FarEnd, InFlight, Link, NONE, Target};
use crate::network::ports::port;
use crate::network::site::Site;
use crate::network::sorter::Sorter;
use crate::network::turns::Turns;
use crate::network::waiting::{Busy, Order, Turn, Waiting};
use crate::network::{Network, Owned};

impl<T: Copy + Default> Network<T> {
    /// Builds the network of `experiment` in its state at time zero, without packets.
    ///
    /// # Panics
    ///
    /// If the network has more than 2^24 hosts, has 2^28 or more links, or contains a node with 2^31 or more links.
    pub fn new(experiment: &Experiment) -> Self {
        let site = Site::all(experiment, None).remove(0);
        Self::of(experiment, &site, Ranks::new(experiment.seed), None)
    }

    /// Builds the partition with the nodes and links of `site`. `window` is the shortest delay of all links of the network. It is the
    /// length of a time window, unless windows can be longer ([`Turns`]). `window` is `None` if this delay is zero.
    pub(crate) fn of(experiment: &Experiment, site: &Site, ranks: Ranks, window: Option<Duration>) -> Self {
        let network = &experiment.network;
        assert!(network.hosts <= Event::MAX_HOSTS, "at most 2^24 hosts");
        assert!(network.links.len() < Event::MAX_LINKS as usize, "at most 2^28 links");
        let (nodes, mut links) = near_ends(experiment, site, ranks);
        let hosts = site.nodes.numbers().take_while(|&node| node < network.hosts).count();
        let first = first_links(network);
        let tracer = PortTracer::new(experiment);
        let order = |node: u32| Order::of(experiment, &tracer, node, first[node as usize]);
        let here = site.links.numbers().chain(site.entrances.iter().copied());
        let longest = longest_flight(experiment, here.map(|number| &network.links[number as usize]));
        let is_whole = site.nodes.count() as usize == network.buffers.len();
        let Turns { window, steps, of_links } = match window {
            Some(shortest) if is_whole => Turns::of(network, shortest),
            _ => Turns::at_once(network, window.unwrap_or(longest)),
        };
        let groups = Groups::new(network, site, hosts as u32, &of_links);
        let wires = far_ends(network, site, ranks, hosts as u32, &first, &groups, &of_links);
        let nodes_here: Vec<u32> = site.nodes.numbers().collect();
        let group = |&(place, turn): &(u32, Turn)| {
            let (node, is_part) = (place + hosts as u32, groups.of_switch(place).len() > 1);
            let number = nodes_here[node as usize];
            Waiting::new(order(number), number - network.hosts, node, turn, is_part)
        };
        let waiting = groups.all.iter().map(group).chain([Waiting::of_hosts()]).collect();
        let turns = groups.all.iter().map(|&(_, turn)| turn).chain([Turn::HOSTS]).collect();
        let calendar = Calendar::new(window, longest, turns);
        links.iter_mut().zip(&wires).for_each(|(link, wire)| link.bucket = wire.bucket);
        let mut built = Self {
            links,
            places: site.links.clone(),
            wires,
            in_flight: InFlight::default(),
            by_window: false,
            nics_by_window: false,
            sorter: Sorter::new(calendar.window()),
            busy: (0..calendar.turns()).map(|_| Busy::default()).collect(),
            calendar,
            steps,
            waiting,
            group_of: groups.of_links,
            visited: Instant::ZERO,
            last: Instant::ZERO,
            events: 0,
            visits: 0,
            nodes,
            node_numbers: site.nodes.clone(),
            routing: Arc::clone(&network.routing),
            epochs: Arc::clone(network.epochs()),
            epochs_over: 0,
            entrances: site.entrances.as_slice().into(),
            lost: BTreeMap::new(),
            lossless: None,
            hosts: network.hosts,
            dropped: Vec::new(),
            tally: Tally::default(),
        };
        built.build_lossless(network, experiment.seed);
        built
    }
}

/// Returns the nodes of a site (partition), and the near ends of the links that leave these nodes.
fn near_ends<T: Copy + Default>(
    experiment: &Experiment,
    site: &Site,
    ranks: Ranks,
) -> (Vec<Owned>, Vec<Link<T>>) {
    let network = &experiment.network;
    let node =
        |number: u32| Owned { ports: 0..0, memory: SharedBuffer::new(&network.buffers[number as usize]) };
    let mut nodes: Vec<Owned> = site.nodes.numbers().map(node).collect();
    let mut links: Vec<Link<T>> = Vec::with_capacity(site.links.count() as usize);
    for number in site.links.numbers() {
        let link = &network.links[number as usize];
        let node = site.nodes.at(link.from.0);
        let Owned { ports, memory } = &mut nodes[node];
        let place = links.len() as u32;
        let first = if ports.end == 0 { place } else { ports.start };
        debug_assert!(ports.end == 0 || ports.end == place, "links of a node are side by side");
        *ports = first..place + 1;
        let port = port(experiment, number, memory);
        links.push(Link::new(port, number, ranks.of_link(number), node as u32, link.delay));
    }
    (nodes, links)
}

/// Returns, for each node, the number of the first link that leaves it. The links of a node have consecutive numbers.
fn first_links(network: &NetworkConfig) -> Vec<u32> {
    let mut first = vec![0; network.buffers.len()];
    for (number, link) in network.links.iter().enumerate().rev() {
        first[link.from.0 as usize] = number as u32;
    }
    first
}

/// Groups of ports that run together: the ports of each switch that have the same turn.
struct Groups {
    /// Index of each group's switch among the switches of the site, and the turn of the group. Ascending.
    all: Vec<(u32, Turn)>,
    /// For each link that leaves a node of the site, the index of the group of its port. The group of all hosts comes after `all`.
    of_links: Vec<u32>,
}

impl Groups {
    /// Returns the groups of a site (partition). `hosts` is the number of hosts in this site; `turns` contains the turn of each link's port.
    fn new(network: &NetworkConfig, site: &Site, hosts: u32, turns: &[Turn]) -> Self {
        let group = |number: u32| {
            let node = site.nodes.at(network.links[number as usize].from.0) as u32;
            Some((node.checked_sub(hosts)?, turns[number as usize]))
        };
        let groups: Vec<Option<(u32, Turn)>> = site.links.numbers().map(group).collect();
        let mut all: Vec<(u32, Turn)> = groups.iter().copied().flatten().collect();
        all.sort_unstable();
        all.dedup();
        let index = |group: Option<(u32, Turn)>| {
            group.map_or(all.len(), |group| all.partition_point(|&other| other < group))
        };
        let of_links = groups.into_iter().map(|group| index(group) as u32).collect();
        Self { all, of_links }
    }

    /// Returns the indices of the groups of a switch. `switch` is its index among the switches of the site.
    fn of_switch(&self, switch: u32) -> Range<usize> {
        self.all.partition_point(|&(other, _)| other < switch)
            ..self.all.partition_point(|&(other, _)| other <= switch)
    }

    /// Returns the index of the group that takes the packets which a switch receives from a port with the turn `from`: the switch's first group
    /// after that turn. If no group has a later turn, it is the first group.
    fn entry(&self, switch: u32, from: Turn) -> u32 {
        let mut groups = self.of_switch(switch);
        let first = groups.start;
        groups.find(|&group| self.all[group].1 > from).unwrap_or(first) as u32
    }
}

/// Returns the far ends of links. The far ends of links that leave nodes of this site (partition) come first, and the far ends of links
/// from other partitions follow. `hosts` is the number of hosts in this site; `first` is the result of [`first_links`].
fn far_ends(
    network: &NetworkConfig,
    site: &Site,
    ranks: Ranks,
    hosts: u32,
    first: &[u32],
    groups: &Groups,
    turns: &[Turn],
) -> Vec<FarEnd> {
    let hosts_bucket = groups.all.len() as u32;
    let wire = |number: u32| {
        let link = &network.links[number as usize];
        let ingress = Ingress(link.reverse - first[link.to.0 as usize]);
        assert!(ingress < Ingress::NONE, "fewer than 2^31 links at a node");
        let rank = ranks.of_link(number);
        match link.to.0.checked_sub(network.hosts) {
            None if network.lossless.is_some() => {
                FarEnd::new(Target::LosslessHost(link.to.0), NONE, rank, ingress)
            }
            Some(switch) if network.lossless.is_some() => {
                let is_here = site.nodes.has(link.to.0);
                let node = if is_here { site.nodes.at(link.to.0) as u32 } else { NONE };
                FarEnd::new(Target::LosslessSwitch { switch, node }, NONE, rank, ingress)
            }
            None => FarEnd::new(Target::Host, hosts_bucket, rank, ingress),
            Some(switch) => {
                let is_here = site.nodes.has(link.to.0);
                let from = turns[number as usize];
                let bucket =
                    if is_here { groups.entry(site.nodes.at(link.to.0) as u32 - hosts, from) } else { NONE };
                FarEnd::new(Target::Switch(switch), bucket, rank, ingress)
            }
        }
    };
    site.links.numbers().chain(site.entrances.iter().copied()).map(wire).collect()
}
