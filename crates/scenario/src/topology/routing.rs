//! All shortest paths, by the number of links: the routes of an equal-cost multipath fabric.

use shallows_core::Duration;

use super::network::{Link, Network, PortKind};
use super::routes::{Home, Routing, Table};

impl Network {
    /// Round-trip time of the longest path without any queue: propagation and host delays, there and back.
    pub fn base_rtt(&self) -> Duration {
        // Both directions of a cable have one delay.
        longest_delay(self) * 2
    }

    /// As [`Self::routing_without`].
    pub(super) fn shortest_without(&self, down: &[u32]) -> Routing {
        let mut graph = Graph::of(self);
        let is_down = |link: u32| down.contains(&link) || down.contains(&self.links[link as usize].reverse);
        graph.trunks.iter_mut().for_each(|trunks| trunks.retain(|&(_, link)| !is_down(link)));
        graph.shortest_or(|switch, edge| self.routing.to_edge(switch, edge)).like(&self.routing)
    }
}

/// Propagation and host delays of the path that has most of them, one way, between two hosts.
fn longest_delay(network: &Network) -> Duration {
    let graph = Graph::of(network);
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
    let graph = Graph::of(network);
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
pub(super) struct Graph {
    hosts: Vec<Vec<(u32, u32)>>,
    trunks: Vec<Vec<(usize, u32)>>,
}

impl Graph {
    fn of(network: &Network) -> Self {
        Self::new(network.hosts, network.switches, &network.links)
    }

    pub(super) fn new(hosts: u32, switches: u32, links: &[Link]) -> Self {
        let switches = switches as usize;
        let mut graph = Self { hosts: vec![Vec::new(); switches], trunks: vec![Vec::new(); switches] };
        for (number, link) in links.iter().enumerate().filter(|(_, link)| link.kind != PortKind::Nic) {
            let from = (link.from.0 - hosts) as usize;
            match link.to.0.checked_sub(hosts) {
                Some(switch) => graph.trunks[from].push((switch as usize, number as u32)),
                None => graph.hosts[from].push((link.to.0, number as u32)),
            }
        }
        graph
    }

    pub(super) fn switches(&self) -> u32 {
        self.trunks.len() as u32
    }

    /// The switches that have hosts.
    fn edges(&self) -> impl Iterator<Item = usize> {
        (0..self.hosts.len()).filter(|&switch| !self.hosts[switch].is_empty())
    }

    /// Routes of every switch, over each link that lies on a shortest path to the destination.
    ///
    /// Every switch reaches every other.
    pub(super) fn all_shortest(&self) -> Table {
        self.shortest_or(|_, _| unreachable!("every switch reaches every other"))
    }

    /// Shortest paths; a switch that does not reach an edge takes the links of `otherwise` instead, given both numbers.
    fn shortest_or<'a>(&self, otherwise: impl Fn(usize, usize) -> &'a [u32]) -> Table {
        let mut homes = vec![Home::default(); self.hosts.iter().map(Vec::len).sum()];
        for (switch, edge) in self.edges().zip(0..) {
            for &(host, link) in &self.hosts[switch] {
                homes[host as usize] = Home { edge, link };
            }
        }
        let mut table = Table::new(homes, self.trunks.len());
        let mut links = Vec::new();
        for (edge, switch) in self.edges().enumerate() {
            let (distance, _) = self.search(switch);
            for from in (0..self.trunks.len()).filter(|&from| from != switch) {
                let closer = self.trunks[from].iter().filter(|&&(next, _)| distance[next] < distance[from]);
                links.clear();
                links.extend(closer.map(|trunk| trunk.1));
                if distance[from] == u32::MAX {
                    links.extend(otherwise(from, edge));
                }
                table.add(from, edge, &links);
            }
        }
        table
    }

    /// How many switches are between each switch and the nearest host: zero at one that has hosts.
    pub(super) fn tiers(&self) -> Vec<u32> {
        self.search_all(self.edges().collect()).0
    }

    /// Links from each switch to `target`, and the switches in order of that number; every cable leads both ways, so that
    /// a search from the target finds them.
    fn search(&self, target: usize) -> (Vec<u32>, Vec<usize>) {
        self.search_all(vec![target])
    }

    /// Shortest paths to the nearest of several targets.
    fn search_all(&self, targets: Vec<usize>) -> (Vec<u32>, Vec<usize>) {
        let mut distance = vec![u32::MAX; self.trunks.len()];
        targets.iter().for_each(|&target| distance[target] = 0);
        let mut order = targets;
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

    /// Delay of the slowest shortest path from each switch to `target`.
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
