//! Turns of ports in time windows that are longer than the shortest delay of a link.
//!
//! In each window, hosts run first; packets that leave a switch in this window must not reach a host in the same window. The ports of switches
//! then run in one of three ways. The way with the longest window is used.
//!
//! - *At once*: each switch runs through the whole window. A window is as long as the shortest delay of a link.
//! - *By kind of switch*: switches form two kinds, such as leaves and spines, so that no link connects two switches of one kind. Spines run
//!   through the first part of the window, and leaves run through the whole window: all packets that they receive in this window left spines
//!   in its first part or before. Finally, spines run through the second part. A window is up to twice as long as the shortest delay between
//!   switches.
//! - *Along paths* ([`crate::network::paths`]): ports run in the order in which packets pass through them, such as the ports of leaves to
//!   spines, the ports of spines, and the ports of leaves to hosts. Delays between switches then do not limit the length of a window.

use shallows_core::Duration;
use shallows_scenario::{Experiment, Network};

use crate::network::calendar::LONGEST;
use crate::network::division::{LARGE, shortest_between_switches};
use crate::network::group::Turn;
use crate::network::paths::turns_along_paths;

/// Turns of a network's ports, and the length of its time windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turns {
    /// Length of a time window.
    pub(crate) window: Duration,
    /// Turns of ports of switches in each time window, in the order in which they run.
    pub(crate) steps: Vec<Step>,
    /// For each link, the turn of its port.
    pub(crate) of_links: Vec<Turn>,
}

/// Interval in which the ports of switches with one turn run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) turn: Turn,
    /// Length of the first part of the window, if the ports run only through this part.
    pub(crate) part: Option<Duration>,
}

impl Step {
    /// Returns a step in which the ports with this turn run through the rest of the window.
    fn whole(turn: Turn) -> Self {
        Self { turn, part: None }
    }
}

impl Turns {
    /// Returns the turns of the ports of a network, or of one of several partitions of it. All switches have the same turn. `window` is the
    /// length of a time window.
    pub(crate) fn at_once(network: &Network, window: Duration) -> Self {
        let turn = |node: u32| if node < network.hosts { Turn::HOSTS } else { Turn::FIRST };
        let of_links = network.links.iter().map(|link| turn(link.from.0)).collect();
        Self { window, steps: vec![Step::whole(Turn::FIRST)], of_links }
    }

    /// Returns the turns of the ports of a whole network. `shortest` is the shortest delay of its links.
    pub(crate) fn of(experiment: &Experiment, shortest: Duration) -> Self {
        let network = &experiment.network;
        let ways = [Self::by_kind(network), Self::along_paths(experiment)];
        let longest = ways.into_iter().flatten().max_by_key(|turns| turns.window);
        longest.filter(|turns| turns.window > shortest).unwrap_or_else(|| Self::at_once(network, shortest))
    }

    /// Returns the turns by kind of switch. `None` in each of these cases:
    ///
    /// - There are no links between switches.
    /// - Links to hosts have no longer delays than links between switches.
    /// - The shortest delay between switches is at least the longest window of the calendar.
    /// - There are not two kinds of switches.
    fn by_kind(network: &Network) -> Option<Self> {
        let first_part = shortest_between_switches(network)?;
        let window = (first_part * 2).min(longest(network));
        (window > first_part).then_some(())?;
        let (once, kinds) = (Turn(Turn::FIRST.0 + 1), kinds(network)?);
        let mut turns = Self::at_once(network, window);
        let first_step = Step { turn: Turn::FIRST, part: Some(first_part) };
        turns.steps = vec![first_step, Step::whole(once), Step::whole(Turn::FIRST)];
        for (turn, link) in turns.of_links.iter_mut().zip(&network.links).skip(network.hosts as usize) {
            let is_twice = kinds[(link.from.0 - network.hosts) as usize];
            *turn = if is_twice { Turn::FIRST } else { once };
        }
        Some(turns)
    }

    /// Returns the turns along the paths of packets. `None` if packets can pass through units of ports in a circle, and for large networks,
    /// whose search for the order would take long. A window is at most as long as the shortest interval of samples and traces,
    /// because each of these splits a window.
    pub(crate) fn along_paths(experiment: &Experiment) -> Option<Self> {
        let network = &experiment.network;
        let window = longest(network).min(intervals(experiment).min().unwrap_or(Duration::MAX));
        let is_longer = shortest_between_switches(network).is_some_and(|shortest| window > shortest);
        (is_longer && network.links.len() <= LARGE && network.lossless.is_none()).then_some(())?;
        let of_links = turns_along_paths(network)?;
        let last = of_links.iter().max().map_or(0, |turn| turn.0);
        let steps = (Turn::FIRST.0..=last).map(|turn| Step::whole(Turn(turn))).collect();
        Some(Self { window, steps, of_links })
    }
}

/// Returns the length of the longest time window in which no packet leaves a switch and reaches a host.
fn longest(network: &Network) -> Duration {
    let to_hosts = network.links.iter().filter(|link| link.to.0 < network.hosts);
    to_hosts.map(|link| link.delay).min().unwrap_or(Duration::MAX).min(LONGEST)
}

/// Returns the intervals at which samples and traces of ports are taken.
pub(crate) fn intervals(experiment: &Experiment) -> impl Iterator<Item = Duration> {
    let traces = experiment.port_traces.iter().filter_map(|trace| trace.every);
    traces.chain(experiment.sample_queues)
}

/// Divides switches into two kinds, so that no link connects two switches of one kind. Returns, for each switch, whether it is of the kind
/// with two turns; `None` if there are no such kinds. In each connected part of the network, this is the kind with fewer ports. If both have
/// as many, it is the kind without the first switch.
fn kinds(network: &Network) -> Option<Vec<bool>> {
    let switches = network.buffers.len() - network.hosts as usize;
    let (mut neighbours, mut ports) = (vec![Vec::new(); switches], vec![0_u32; switches]);
    for link in &network.links {
        let [from, to] = [link.from, link.to].map(|node| node.0.checked_sub(network.hosts));
        let Some(from) = from else { continue };
        ports[from as usize] += 1;
        neighbours[from as usize].extend(to.map(|to| to as usize));
    }
    let mut kind: Vec<Option<bool>> = vec![None; switches];
    for start in 0..switches {
        if kind[start].is_some() {
            continue;
        }
        kind[start] = Some(false);
        let (mut found, mut next) = (vec![start], 0);
        while let Some(&switch) = found.get(next) {
            next += 1;
            let other = kind[switch].map(|kind| !kind);
            for &neighbour in &neighbours[switch] {
                if kind[neighbour].is_none() {
                    kind[neighbour] = other;
                    found.push(neighbour);
                } else if kind[neighbour] != other {
                    return None;
                }
            }
        }
        let ports_of = |which: bool| -> u32 {
            found.iter().filter(|&&switch| kind[switch] == Some(which)).map(|&switch| ports[switch]).sum()
        };
        if ports_of(true) > ports_of(false) {
            for &switch in &found {
                kind[switch] = kind[switch].map(|kind| !kind);
            }
        }
    }
    kind.into_iter().collect()
}

#[cfg(test)]
mod tests;
