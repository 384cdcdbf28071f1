//! Turns of ports in the order in which packets pass through them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_scenario::{Link, Network};

use crate::network::group::Turn;

/// Returns, for each link, the turn of its port. Ports that share a pool of memory are a *unit* with one turn. The turn of a host's port is 0.
/// The turn of another unit is 1 more than the last turn of the units from which packets come to any of its ports. `None` if packets can
/// pass through units in a circle, if there are more than 255 turns, or if an epoch has a routing of its own.
pub(crate) fn turns_along_paths(network: &Network) -> Option<Vec<Turn>> {
    let keeps_routes = network.epochs().iter().all(|epoch| Arc::ptr_eq(&epoch.routing, &network.routing));
    keeps_routes.then_some(())?;
    // A unit has the number of its first link.
    let mut first = BTreeMap::new();
    let unit =
        |(number, link): (usize, &Link)| *first.entry((link.from.0, link.pool)).or_insert(number as u32);
    let units: Vec<u32> = network.links.iter().enumerate().map(unit).collect();
    let followers = followers(network, &units);
    // For each unit, the number of preceding units whose turn is not known yet.
    let mut before = vec![0_u32; units.len()];
    followers.iter().flatten().for_each(|&follower| before[follower as usize] += 1);
    let mut turns = vec![Turn::FIRST; units.len()];
    turns[..network.hosts as usize].fill(Turn::HOSTS);
    let mut known: Vec<u32> = (0..units.len() as u32).filter(|&unit| before[unit as usize] == 0).collect();
    let mut at = 0;
    while let Some(&unit) = known.get(at) {
        at += 1;
        for &follower in &followers[unit as usize] {
            before[follower as usize] -= 1;
            if before[follower as usize] == 0 {
                // Turns become known in ascending order, so no other unit before this follower has a later turn.
                turns[follower as usize] = Turn(turns[unit as usize].0.checked_add(1)?);
                known.push(follower);
            }
        }
    }
    let is_acyclic = known.len() == units.len();
    is_acyclic.then(|| units.iter().map(|&unit| turns[unit as usize]).collect())
}

/// Returns, for each unit of ports of switches, the units to which packets can go from there. `units` contains the unit of each link's port.
fn followers(network: &Network, units: &[u32]) -> Vec<BTreeSet<u32>> {
    let mut hosts_of: BTreeMap<u32, Vec<HostId>> = BTreeMap::new();
    for (host, link) in network.links[..network.hosts as usize].iter().enumerate() {
        hosts_of.entry(link.to.0).or_default().push(HostId(host as u32));
    }
    let mut followers = vec![BTreeSet::new(); units.len()];
    for (&edge, hosts) in &hosts_of {
        let next_hops = |node: u32| {
            // Other switches have the same routes to all hosts of this switch, so one host stands for all.
            let hosts = if node == edge { &hosts[..] } else { &hosts[..1] };
            hosts.iter().flat_map(move |&host| network.routing.next_hops(node - network.hosts, host))
        };
        let mut seen = vec![false; network.buffers.len()];
        let mut open: Vec<u32> = hosts_of.keys().copied().collect();
        while let Some(switch) = open.pop() {
            if std::mem::replace(&mut seen[switch as usize], true) {
                continue;
            }
            for &link in next_hops(switch) {
                let to = network.links[link as usize].to.0;
                if to >= network.hosts {
                    followers[units[link as usize] as usize]
                        .extend(next_hops(to).map(|&next| units[next as usize]));
                    open.push(to);
                }
            }
        }
    }
    followers
}
