//! Turns of switches in time windows that are longer than the shortest delay between switches.
//!
//! A window can be up to twice as long as the shortest delay between switches under two conditions. Switches must form two kinds, such as
//! leaves and spines, so that no link connects two switches of one kind. Links to hosts must have longer delays. In each window, hosts run
//! first. Spines then run through the first part of the window, and leaves run through the whole window: all packets that they receive in
//! this window left spines in its first part or before. Finally, spines run through the second part.

use shallows_core::Duration;
use shallows_scenario::Network;

use crate::network::calendar::LONGEST;
use crate::network::division::shortest_between_switches;

/// Time windows in which some switches have two turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turns {
    /// Length of a time window.
    pub(crate) window: Duration,
    /// Length of the first part of a time window: the shortest delay of a link between switches.
    pub(crate) first_part: Duration,
    /// For each switch, whether it has two turns in each window.
    pub(crate) twice: Vec<bool>,
}

impl Turns {
    /// Returns the turns of a network's switches. `None` if no window can be longer than the shortest delay between switches: there are no
    /// links between switches, this delay is at least the longest window of the calendar, links to hosts have no longer delays, or there are
    /// not two kinds of switches.
    pub(crate) fn of(network: &Network) -> Option<Self> {
        let first_part = shortest_between_switches(network)?;
        let to_hosts = network.links.iter().filter(|link| link.to.0 < network.hosts);
        let to_hosts = to_hosts.map(|link| link.delay).min().unwrap_or(Duration::MAX);
        let window = (first_part * 2).min(to_hosts).min(LONGEST);
        (window > first_part).then_some(())?;
        Some(Self { window, first_part, twice: kinds(network)? })
    }
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
mod tests {
    use super::*;
    use crate::network::testing::parse;

    fn turns(topology: &str) -> Option<Turns> {
        let switch = "[switch]\nbuffer = { kind = 'complete-sharing', pool = '1MB' }\n";
        let rest = "[tcp]\n[[workload]]\nkind = 'incast'\nsenders = [0]\nreceivers = 1\nsize = '1KB'\n";
        Turns::of(&parse(&format!("[topology]\nrate = '10Gbps'\n{topology}\n{switch}{rest}"), &[]).network)
    }

    fn leaf_spine(delays: &str) -> Option<Turns> {
        turns(&format!("kind = 'leaf-spine'\nleaves = 3\nspines = 2\nhosts_per_leaf = 2\n{delays}"))
    }

    fn micros(turns: Option<Turns>) -> Option<(u64, u64)> {
        turns.map(|turns| (turns.window.0 / 1_000_000, turns.first_part.0 / 1_000_000))
    }

    #[test]
    fn a_window_is_at_most_twice_as_long_as_the_shortest_delay_between_switches() {
        let of = |delays| micros(leaf_spine(delays));
        assert_eq!(of("link_delay = '2us'\nhost_delay = '1us'"), Some((3, 2)), "delays of hosts are 3 us");
        assert_eq!(of("link_delay = '2us'\nhost_delay = '2us'"), Some((4, 2)));
        assert_eq!(of("link_delay = '2us'\nhost_delay = '9us'"), Some((4, 2)));
        assert_eq!(of("link_delay = '9us'\nuplink_delay = '2us'"), Some((4, 2)));
        let longest = leaf_spine("link_delay = '200us'\nhost_delay = '1ms'").unwrap();
        assert_eq!((longest.window, longest.first_part), (Duration(1 << 28), Duration::from_micros(200)));
    }

    #[test]
    fn without_longer_windows_there_are_no_turns() {
        assert_eq!(leaf_spine("link_delay = '2us'"), None, "the delays of hosts are not longer");
        assert_eq!(leaf_spine("link_delay = '1us'\nuplink_delay = '2us'"), None);
        assert_eq!(
            leaf_spine("link_delay = '500us'\nhost_delay = '1ms'"),
            None,
            "a window is at most 268 us"
        );
        assert_eq!(turns("kind = 'star'\nhosts = 2\nlink_delay = '2us'\nhost_delay = '9us'"), None);
    }

    #[test]
    fn spines_have_two_turns_because_they_have_fewer_ports() {
        let twice = |turns: Option<Turns>| turns.unwrap().twice;
        let delays = "link_delay = '2us'\nhost_delay = '9us'";
        assert_eq!(twice(leaf_spine(delays)), [false, false, false, true, true]);
    }

    /// Returns the turns of switches named `a` to `d`, with two hosts at `b`, if they are connected by these cables.
    fn graph(cables: &[[&str; 2]]) -> Option<Turns> {
        let cables: String =
            cables.iter().map(|[a, b]| format!(", {{ between = ['{a}', '{b}'] }}")).collect();
        turns(&format!(
            "kind = 'graph'\nhosts = ['h0', 'h1']\nswitches = ['a', 'b', 'c', 'd']\nlink_delay = '2us'\nhost_delay = '9us'\n\
             links = [{{ between = ['h*', 'b'] }}{cables}]"
        ))
    }

    #[test]
    fn a_ring_has_turns_if_its_number_of_switches_is_even() {
        let [ab, bc, cd, da, ca] = [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"], ["c", "a"]];
        let ring = graph(&[ab, bc, cd, da]).unwrap();
        assert_eq!(ring.twice, [true, false, true, false], "b has hosts");
        let row = graph(&[ab, bc, cd]).unwrap();
        assert_eq!(row.twice, [true, false, true, false]);
        assert_eq!(graph(&[ab, bc, ca, da]), None, "the ring has three switches");
    }
}
