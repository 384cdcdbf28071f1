//! Stages of ports: their order on the paths of packets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_scenario::{Link, Network};

use crate::network::waiting::Turn;

/// Returns, for each link, the turn of its port: 0 for hosts, and otherwise 1 more than the last turn of the ports from which its packets
/// come. Ports that share a pool of memory have the same turn. `None` if packets can pass through ports in a circle, if there are more than
/// 255 turns, or if routes change.
pub(crate) fn stages(network: &Network) -> Option<Vec<Turn>> {
    let keeps_routes = network.epochs().iter().all(|epoch| Arc::ptr_eq(&epoch.routing, &network.routing));
    keeps_routes.then_some(())?;
    // Ports that share a pool are one unit, which has the number of its first link.
    let mut first = BTreeMap::new();
    let unit =
        |(number, link): (usize, &Link)| *first.entry((link.from.0, link.pool)).or_insert(number as u32);
    let units: Vec<u32> = network.links.iter().enumerate().map(unit).collect();
    let mut next: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); units.len()];
    for (from, to) in successions(network) {
        next[units[from as usize] as usize].insert(units[to as usize]);
    }
    let mut before = vec![0_u32; units.len()];
    next.iter().flatten().for_each(|&unit| before[unit as usize] += 1);
    let is_host = |unit: u32| unit < network.hosts;
    let mut turns: Vec<Turn> =
        (0..units.len() as u32).map(|unit| if is_host(unit) { Turn::HOSTS } else { Turn::FIRST }).collect();
    let mut ready: Vec<u32> = (0..units.len() as u32).filter(|&unit| before[unit as usize] == 0).collect();
    let mut done = 0;
    while let Some(unit) = ready.pop() {
        done += 1;
        let turn = Turn(turns[unit as usize].0.checked_add(1)?);
        for &next in &next[unit as usize] {
            turns[next as usize] = turns[next as usize].max(turn);
            before[next as usize] -= 1;
            if before[next as usize] == 0 {
                ready.push(next);
            }
        }
    }
    let is_acyclic = done == units.len();
    is_acyclic.then(|| units.iter().map(|&unit| turns[unit as usize]).collect())
}

/// Returns all pairs of links that a packet can pass one after the other, from any host to any other host.
fn successions(network: &Network) -> BTreeSet<(u32, u32)> {
    // All hosts of a switch have the same routes at other switches, so one of them stands for all.
    let mut hosts_of: Vec<Vec<u32>> = vec![Vec::new(); network.buffers.len()];
    for (host, link) in network.links[..network.hosts as usize].iter().enumerate() {
        hosts_of[link.to.0 as usize].push(host as u32);
    }
    let edges: Vec<&[u32]> =
        hosts_of.iter().filter(|hosts| !hosts.is_empty()).map(|hosts| &hosts[..]).collect();
    let mut pairs = BTreeSet::new();
    for hosts in edges {
        let edge = network.links[hosts[0] as usize].to.0;
        let mut seen = vec![false; network.links.len()];
        seen[..network.hosts as usize].fill(true);
        let mut open: Vec<u32> = (0..network.hosts).collect();
        while let Some(link) = open.pop() {
            let node = network.links[link as usize].to.0;
            let Some(switch) = node.checked_sub(network.hosts) else { continue };
            let destinations = if node == edge { hosts } else { &hosts[..1] };
            for &host in destinations {
                for &next in network.routing.next_hops(switch, HostId(host)) {
                    pairs.insert((link, next));
                    if !std::mem::replace(&mut seen[next as usize], true) {
                        open.push(next);
                    }
                }
            }
        }
    }
    pairs
}
