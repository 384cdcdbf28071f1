//! All shortest paths, by the number of links: the routes of an equal-cost multipath fabric.

use std::collections::BTreeMap;

use shallows_core::Duration;

use super::network::{Network, PortKind, Routes};

/// Routes of every switch, over each link that lies on a shortest path to the destination.
///
/// The network is one in which every switch reaches every host.
pub(super) fn all_shortest(network: &Network) -> Vec<Routes> {
    let graph = Graph::new(network);
    let mut tables: Vec<Table> = vec![Table::new(network.hosts); network.switches as usize];
    for (switch, hosts) in graph.hosts.iter().enumerate().filter(|(_, hosts)| !hosts.is_empty()) {
        let (distance, _) = graph.search(switch);
        for (from, table) in tables.iter_mut().enumerate() {
            if from == switch {
                for &(host, link) in hosts {
                    table.add(&[host], vec![link]);
                }
                continue;
            }
            let closer = graph.trunks[from].iter().filter(|&&(next, _)| distance[next] < distance[from]);
            let members: Vec<u32> = hosts.iter().map(|host| host.0).collect();
            table.add(&members, closer.map(|trunk| trunk.1).collect());
        }
    }
    tables.into_iter().map(|table| Routes::new(table.group_of, table.groups)).collect()
}

/// How many switches are between each switch and the nearest host: zero at one that has hosts.
pub(super) fn tiers(network: &Network) -> Vec<u32> {
    let graph = Graph::new(network);
    let mut tiers = vec![u32::MAX; graph.trunks.len()];
    for edge in (0..tiers.len()).filter(|&switch| !graph.hosts[switch].is_empty()) {
        for (tier, distance) in tiers.iter_mut().zip(graph.search(edge).0) {
            *tier = distance.min(*tier);
        }
    }
    tiers
}

impl Network {
    /// Round-trip time of the longest path without any queue: propagation and host delays, there and back.
    pub fn base_rtt(&self) -> Duration {
        // Both directions of a cable have one delay.
        longest_delay(self) * 2
    }
}

/// Propagation and host delays of the path that has most of them, one way, between two hosts.
fn longest_delay(network: &Network) -> Duration {
    let graph = Graph::new(network);
    let delay = |link: u32| network.links[link as usize].delay;
    // Of each switch: the delays to its hosts, longest first. Those from them are the same.
    let edges: Vec<Vec<Duration>> = graph
        .hosts
        .iter()
        .map(|hosts| {
            let mut delays: Vec<Duration> = hosts.iter().map(|&(_, link)| delay(link)).collect();
            delays.sort_unstable_by(|a, b| b.cmp(a));
            delays
        })
        .collect();
    let mut longest = Duration::ZERO;
    for (target, edge) in edges.iter().enumerate().filter(|(_, edge)| !edge.is_empty()) {
        longest = longest.max(edge.iter().take(2).copied().sum());
        for (switch, between) in graph.longest_delays(target, delay) {
            if let Some(&first) = edges[switch].first()
                && switch != target
            {
                longest = longest.max(first + between + edge[0]);
            }
        }
    }
    longest
}

/// Share of the traffic between switches that each link carries on average, if equal-cost paths share evenly.
///
/// `demand[target]` is what leaves each switch for the hosts of the switch `target`.
pub(crate) fn spread(network: &Network, demand: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let graph = Graph::new(network);
    let mut shares = vec![0.0; network.links.len()];
    for target in (0..graph.hosts.len()).filter(|&target| !graph.hosts[target].is_empty()) {
        let (distance, order) = graph.search(target);
        let mut passing: Vec<f64> = (0..graph.trunks.len()).map(|from| demand(from, target)).collect();
        // The farthest first, so that all that passes a switch is known when it is shared out.
        for &switch in order.iter().rev().filter(|&&switch| switch != target) {
            let closer =
                || graph.trunks[switch].iter().filter(|&&(next, _)| distance[next] < distance[switch]);
            let part = passing[switch] / closer().count() as f64;
            for &(next, link) in closer() {
                shares[link as usize] += part;
                passing[next] += part;
            }
        }
    }
    shares
}

/// Whether every switch reaches every other; if not, two that do not.
pub(super) fn unconnected(
    switches: usize,
    trunks: impl Iterator<Item = (usize, usize)>,
) -> Option<(usize, usize)> {
    let mut graph = Graph { hosts: vec![Vec::new(); switches], trunks: vec![Vec::new(); switches] };
    for (a, b) in trunks {
        graph.trunks[a].push((b, 0));
        graph.trunks[b].push((a, 0));
    }
    let (distance, _) = graph.search(0);
    distance.iter().position(|&steps| steps == u32::MAX).map(|lost| (0, lost))
}

/// Links by the switch they leave from, as pairs of where they lead and their number.
struct Graph {
    hosts: Vec<Vec<(u32, u32)>>,
    trunks: Vec<Vec<(usize, u32)>>,
}

impl Graph {
    fn new(network: &Network) -> Self {
        let switches = network.switches as usize;
        let mut graph = Self { hosts: vec![Vec::new(); switches], trunks: vec![Vec::new(); switches] };
        for (number, link) in network.links.iter().enumerate().filter(|(_, link)| link.kind != PortKind::Nic)
        {
            let from = (link.from.0 - network.hosts) as usize;
            match link.to.0.checked_sub(network.hosts) {
                Some(switch) => graph.trunks[from].push((switch as usize, number as u32)),
                None => graph.hosts[from].push((link.to.0, number as u32)),
            }
        }
        graph
    }

    /// Links from each switch to `target`, and the switches in order of that number; every cable leads both ways, so that
    /// a search from the target finds them.
    fn search(&self, target: usize) -> (Vec<u32>, Vec<usize>) {
        let mut distance = vec![u32::MAX; self.trunks.len()];
        distance[target] = 0;
        let mut order = vec![target];
        let mut next_up = 0;
        while let Some(&switch) = order.get(next_up) {
            next_up += 1;
            for &(next, _) in &self.trunks[switch] {
                if distance[next] == u32::MAX {
                    distance[next] = distance[switch] + 1;
                    order.push(next);
                }
            }
        }
        (distance, order)
    }

    /// Of each switch the delay of the slowest of its shortest paths to `target`.
    fn longest_delays(&self, target: usize, delay: impl Fn(u32) -> Duration) -> Vec<(usize, Duration)> {
        let (distance, order) = self.search(target);
        let mut longest = vec![Duration::ZERO; self.trunks.len()];
        for &switch in &order {
            let closer = self.trunks[switch].iter().filter(|&&(next, _)| distance[next] < distance[switch]);
            let slowest = closer.map(|&(next, link)| delay(link) + longest[next]).max();
            longest[switch] = slowest.unwrap_or_default();
        }
        order.into_iter().map(|switch| (switch, longest[switch])).collect()
    }
}

/// The routes of one switch while they are gathered; equal sets of links are kept once.
#[derive(Clone)]
struct Table {
    group_of: Vec<u32>,
    groups: Vec<Box<[u32]>>,
    known: BTreeMap<Vec<u32>, u32>,
}

impl Table {
    fn new(hosts: u32) -> Self {
        Self { group_of: vec![0; hosts as usize], groups: Vec::new(), known: BTreeMap::new() }
    }

    fn add(&mut self, hosts: &[u32], links: Vec<u32>) {
        let Self { groups, known, .. } = self;
        let group = *known.entry(links).or_insert_with_key(|links| {
            groups.push(links.clone().into_boxed_slice());
            groups.len() as u32 - 1
        });
        for &host in hosts {
            self.group_of[host as usize] = group;
        }
    }
}
