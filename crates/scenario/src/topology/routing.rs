//! All paths with the fewest links: the routes of a network with equal-cost multipath.

use shallows_core::{Bytes, Duration};

use super::network::{Link, Network, PortKind};
use super::routes::{Home, Routing, Table};

impl Network {
    /// Returns the round-trip time on the longest path while all queues are empty: propagation and host delays in both directions.
    pub fn base_rtt(&self) -> Duration {
        // Both directions of a cable have the same delay.
        longest(self, |link| link.delay) * 2
    }

    /// Returns the longest round-trip time while all queues are empty. In addition to [`Self::base_rtt`], it includes the times in which
    /// each link of the path sends `data` bytes and, in the opposite direction, `ack` bytes.
    pub(crate) fn base_rtt_with(&self, data: Bytes, ack: Bytes) -> Duration {
        // Both directions of a cable have the same rate.
        let sends = |link: &Link| link.rate.transmission_time(data) + link.rate.transmission_time(ack);
        longest(self, |link| link.delay * 2 + sends(link))
    }

    /// Returns the largest number of switches on a shortest path between two hosts.
    pub(crate) fn most_switches(&self) -> u32 {
        let graph = Graph::of(self);
        let farthest = |edge| {
            let (distance, _) = graph.search(edge);
            graph.edges().map(|other| distance[other]).max().unwrap_or(0)
        };
        1 + graph.edges().map(farthest).max().unwrap_or(0)
    }

    /// Computes the routes that [`Self::routing_without`] returns.
    pub(super) fn shortest_without(&self, down: &[u32]) -> Routing {
        let mut graph = Graph::of(self);
        let is_down = |link: u32| down.contains(&link) || down.contains(&self.links[link as usize].reverse);
        graph.trunks.iter_mut().for_each(|trunks| trunks.retain(|&(_, link)| !is_down(link)));
        graph.shortest_or(|switch, edge| self.routing.to_edge(switch, edge)).like(&self.routing)
    }
}

/// Returns the largest sum of `time` over the links of a path between two hosts. `time` must be the same for both directions of a cable.
fn longest(network: &Network, time: impl Fn(&Link) -> Duration) -> Duration {
    let graph = Graph::of(network);
    let delay = |link: u32| time(&network.links[link as usize]);
    // Delays from each switch to its hosts, longest first. The delays from the hosts to the switch are the same.
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

/// Returns the traffic on each link between switches, in the unit of `demand`, if paths of equal cost share traffic evenly.
///
/// `demand(switch, target)` is the traffic from the hosts of `switch` to the hosts of `target`.
pub(crate) fn spread(network: &Network, demand: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let graph = Graph::of(network);
    let mut shares = vec![0.0; network.links.len()];
    for target in (0..graph.hosts.len()).filter(|&target| !graph.hosts[target].is_empty()) {
        let (distance, order) = graph.search(target);
        let mut passing: Vec<f64> = (0..graph.trunks.len()).map(|from| demand(from, target)).collect();
        // Farthest switch first, so that all traffic that passes through a switch is known before it is divided.
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

/// Returns two switches between which there is no path, or `None` if all switches are connected.
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

/// Links that leave each switch. A link is a pair: the node that it reaches, and its number.
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

    /// Returns the numbers of the switches that have hosts.
    fn edges(&self) -> impl Iterator<Item = usize> {
        (0..self.hosts.len()).filter(|&switch| !self.hosts[switch].is_empty())
    }

    /// Returns the routes of every switch to every edge over all shortest paths.
    ///
    /// Every switch must reach every other switch.
    pub(super) fn all_shortest(&self) -> Table {
        self.shortest_or(|_, _| unreachable!("every switch reaches every other"))
    }

    /// Returns the routes of every switch to every edge over all shortest paths. If a switch cannot reach an edge, the route has the links
    /// that `otherwise(switch, edge)` returns.
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

    /// Returns the number of switches between each switch and the nearest host: zero for a switch with hosts.
    pub(super) fn tiers(&self) -> Vec<u32> {
        self.search_all(self.edges().collect()).0
    }

    /// Returns the distance of each switch to `target` as a number of links, and all switches in ascending order of this distance. The
    /// search starts at the target: every cable has both directions, so distances to the target and from the target are equal.
    fn search(&self, target: usize) -> (Vec<u32>, Vec<usize>) {
        self.search_all(vec![target])
    }

    /// Returns the distance of each switch from the nearest of `targets` as a number of links, and all switches in ascending order of this
    /// distance.
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

    /// Returns the switches that can reach `target`, each with the largest delay among the shortest paths from that switch.
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
