//! Assignment of a network's nodes and links to partitions.

use shallows_scenario::Experiment;

use crate::network::division::Division;
use crate::network::places::Places;

/// Nodes and links of one partition.
#[derive(Debug)]
pub(crate) struct Site {
    /// Nodes of this partition: hosts, then switches.
    pub(crate) nodes: Places,
    /// Links that leave the nodes of this partition.
    pub(crate) links: Places,
    /// Numbers of the links from other partitions to this one, ascending.
    pub(crate) entrances: Vec<u32>,
    /// Links from this partition to other partitions: number of the link, partition of its far end, and index of the far end in that
    /// partition.
    pub(crate) exits: Vec<(u32, u32, u32)>,
}

impl Site {
    /// Returns the site of each partition. Without a division, the only site contains the whole network.
    pub(crate) fn all(experiment: &Experiment, division: Option<&Division>) -> Vec<Self> {
        let network = &experiment.network;
        let (nodes, links) = (network.buffers.len() as u32, network.links.len() as u32);
        let partitions = division.map_or(1, Division::partitions);
        let partition_of = |node: u32| division.map_or(0, |division| division.partition_of(node));
        let ends = |link: u32| {
            let link = &network.links[link as usize];
            (partition_of(link.from.0), partition_of(link.to.0))
        };
        let nodes = Places::of(nodes, partitions, partition_of);
        let places = Places::of(links, partitions, |link| ends(link).0);
        let site = |(nodes, links)| Self { nodes, links, entrances: Vec::new(), exits: Vec::new() };
        let mut sites: Vec<Self> = nodes.into_iter().zip(places).map(site).collect();
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
}
