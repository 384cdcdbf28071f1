//! All shortest paths, by the number of links: the routes of an equal-cost multipath fabric.

use std::collections::{BTreeMap, VecDeque};

use super::{Network, PortKind, Routes};

/// Routes of every switch, over each link that lies on a shortest path to the destination.
///
/// The network is one in which every switch reaches every host.
pub(super) fn all_shortest(network: &Network) -> Vec<Routes> {
    let graph = Graph::new(network);
    let mut tables: Vec<Table> = vec![Table::new(network.hosts); network.switches as usize];
    for (switch, hosts) in graph.hosts.iter().enumerate().filter(|(_, hosts)| !hosts.is_empty()) {
        let distance = graph.distances(switch);
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

    /// Links from each switch to `target`; every cable leads both ways, so that a search from the target finds them.
    fn distances(&self, target: usize) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.trunks.len()];
        distance[target] = 0;
        let mut frontier = VecDeque::from([target]);
        while let Some(switch) = frontier.pop_front() {
            for &(next, _) in &self.trunks[switch] {
                if distance[next] == u32::MAX {
                    distance[next] = distance[switch] + 1;
                    frontier.push_back(next);
                }
            }
        }
        distance
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
