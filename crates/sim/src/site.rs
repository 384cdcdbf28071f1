//! What of a network is in which part of it.

use shallows_scenario::Experiment;

use crate::division::Division;
use crate::places::Places;

/// What of the network a part has.
#[derive(Debug)]
pub(crate) struct Site {
    /// Hosts, then switches.
    pub(crate) nodes: Places,
    /// Those that leave its nodes.
    pub(crate) links: Places,
    /// Numbers of the links that come from other parts.
    pub(crate) entrances: Vec<u32>,
    /// Of the links that end in other parts: number, part of the far end, and its place there.
    pub(crate) exits: Vec<(u32, u32, u32)>,
}

impl Site {
    /// Those of all parts, or the only one of a network that is not divided.
    pub(crate) fn all(experiment: &Experiment, division: Option<&Division>) -> Vec<Self> {
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
