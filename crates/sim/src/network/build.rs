//! Builds the network of an experiment, or one partition of it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use shallows_core::{Duration, Instant};
use shallows_measure::Tally;
use shallows_scenario::{Experiment, Link as LinkConfig, Network as NetworkConfig};
use shallows_switch::buffer::SharedBuffer;
use shallows_switch::port::Ingress;

use crate::network::calendar::Calendar;
use crate::network::division::longest_flight;
use crate::network::event::{Event, Ranks};
use crate::network::group::{Busy, Group, Order, Turn};
use crate::network::link::{FarEnd, InFlight, Link, NONE, Target};
use crate::network::ports::port;
use crate::network::site::Site;
use crate::network::sorter::Sorter;
use crate::network::stages::Stages;
use crate::network::turns::Turns;
use crate::network::{Network, Owned};

impl<T: Copy + Default> Network<T> {
    /// Builds the network of `experiment` in its state at time zero, without packets.
    ///
    /// # Panics
    ///
    /// If the network has more than 2^24 hosts, has 2^28 or more links, or contains a node with 2^31 or more links.
    pub fn new(experiment: &Experiment) -> Self {
        let site = Site::all(experiment, None).remove(0);
        Self::of(experiment, &site, Ranks::new(experiment.seed), None, None)
    }

    /// Builds the partition with the nodes and links of `site`. `window` is the shortest delay of all links of the network. It is the
    /// length of a time window, unless windows can be longer ([`Turns`]). `window` is `None` if this delay is zero. `stages` are the stages
    /// of the long windows of partitions, if such windows are possible.
    pub(crate) fn of(
        experiment: &Experiment,
        site: &Site,
        ranks: Ranks,
        window: Option<Duration>,
        stages: Option<&Stages>,
    ) -> Self {
        let network = &experiment.network;
        assert!(network.hosts <= Event::MAX_HOSTS, "at most 2^24 hosts");
        assert!(network.links.len() < Event::MAX_LINKS as usize, "at most 2^28 links");
        let (nodes, mut links) = near_ends(experiment, site, ranks);
        let first = first_links(network);
        let here = site.links.numbers().chain(site.entrances.iter().copied());
        let longest = longest_flight(experiment, here.map(|number| &network.links[number as usize]));
        let is_whole = site.nodes.count() as usize == network.buffers.len();
        let Turns { window, steps, of_links } = match (window, stages) {
            (Some(shortest), Some(stages)) => Turns { window: shortest, ..stages.turns.clone() },
            (Some(shortest), None) if is_whole => Turns::of(experiment, shortest),
            _ => Turns::at_once(network, window.unwrap_or(longest)),
        };
        let groups = Groups::new(network, site, of_links);
        let wires = far_ends(network, site, ranks, &first, &groups);
        let group = |&(node, turn): &(u32, Turn)| {
            let order = Order::of(experiment, node, first[node as usize]);
            let is_part = groups.of_switch(node).len() > 1;
            Group::new(order, node - network.hosts, site.nodes.at(node) as u32, turn, is_part)
        };
        let turns = groups.all.iter().map(|&(_, turn)| turn).chain([Turn::HOSTS]).collect();
        let count = steps.iter().map(|step| step.turn.index() + 1).max().unwrap_or_default();
        let calendar = Calendar::new(window, longest, turns, count);
        links.iter_mut().zip(&wires).for_each(|(link, wire)| link.bucket = wire.bucket);
        let mut built = Self {
            links,
            places: site.links.clone(),
            wires,
            in_flight: InFlight::default(),
            by_window: false,
            nics_by_window: false,
            is_cold: false,
            sorter: Sorter::default(),
            egress: Vec::new(),
            busy: (0..calendar.turns()).map(|_| Busy::default()).collect(),
            calendar,
            steps,
            groups: groups.all.iter().map(group).chain([Group::of_hosts()]).collect(),
            group_of: site.links.numbers().map(|number| groups.of_port(network, number)).collect(),
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
    /// Switch (node number) and turn of each group. Ascending.
    all: Vec<(u32, Turn)>,
    /// For each link of the network, the turn of its port.
    turns: Vec<Turn>,
}

impl Groups {
    /// Returns the groups of a site (partition). `turns` contains the turn of each link's port.
    fn new(network: &NetworkConfig, site: &Site, turns: Vec<Turn>) -> Self {
        let group = |number: u32| (network.links[number as usize].from.0, turns[number as usize]);
        let groups = site.links.numbers().map(group);
        let mut all: Vec<(u32, Turn)> = groups.filter(|&(node, _)| node >= network.hosts).collect();
        all.sort_unstable();
        all.dedup();
        Self { all, turns }
    }

    /// Returns the index of the group of all hosts.
    fn hosts(&self) -> u32 {
        self.all.len() as u32
    }

    /// Returns the index of the group of a link's port. `number` is the link's number.
    fn of_port(&self, network: &NetworkConfig, number: u32) -> u32 {
        let LinkConfig { from, .. } = network.links[number as usize];
        if from.0 < network.hosts {
            return self.hosts();
        }
        let group = (from.0, self.turns[number as usize]);
        self.all.partition_point(|&other| other < group) as u32
    }

    /// Returns the indices of the groups of a switch.
    fn of_switch(&self, node: u32) -> Range<usize> {
        let before = |node: u32| self.all.partition_point(|&(other, _)| other < node);
        before(node)..before(node + 1)
    }

    /// Returns the index of the group that receives the packets of a link to a switch. This is the switch's first group with a later turn
    /// than the link's port. If there is none, it is the first group: packets then arrive in a later window or step, or the link carries no
    /// packets. `number` is the link's number.
    fn at_far_end(&self, network: &NetworkConfig, number: u32) -> u32 {
        let mut groups = self.of_switch(network.links[number as usize].to.0);
        let first = groups.start;
        let is_later = |&group: &usize| self.all[group].1 > self.turns[number as usize];
        groups.find(is_later).unwrap_or(first) as u32
    }
}

/// Returns the far ends of links. The far ends of links that leave nodes of this site (partition) come first, and the far ends of links
/// from other partitions follow. `first` is the result of [`first_links`].
fn far_ends(
    network: &NetworkConfig,
    site: &Site,
    ranks: Ranks,
    first: &[u32],
    groups: &Groups,
) -> Vec<FarEnd> {
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
            None => FarEnd::new(Target::Host, groups.hosts(), rank, ingress),
            Some(switch) => {
                let is_here = site.nodes.has(link.to.0);
                let bucket = if is_here { groups.at_far_end(network, number) } else { NONE };
                FarEnd::new(Target::Switch(switch), bucket, rank, ingress)
            }
        }
    };
    site.links.numbers().chain(site.entrances.iter().copied()).map(wire).collect()
}
