//! Graphs: expands names and patterns to hosts, switches and cables, and checks that every host is reachable.

use std::collections::BTreeMap;

use super::network::{NodeId, PortKind};
use super::plan::{MAX_CABLES, MAX_HOSTS, MAX_ROUTES, NetworkPlan, Planned};
use super::routing;
use crate::check::Checker;
use crate::pattern;
use crate::spec::Graph;

/// Returns the nodes and cables of a graph, or `None` if it has a problem.
pub(super) fn plan(graph: &Graph, checker: &mut Checker<'_>) -> Option<NetworkPlan> {
    let before = checker.problems.len();
    let hosts = names(&graph.hosts, "topology.hosts", checker);
    let switches = names(&graph.switches, "topology.switches", checker);
    checker.require(hosts.len() >= 2, "topology.hosts", || {
        format!("must name at least 2 hosts, got {}", hosts.len())
    });
    checker.require(!switches.is_empty(), "topology.switches", || {
        "must name at least 1 switch, got an empty list".to_owned()
    });
    let mut nodes = BTreeMap::new();
    for (number, name) in hosts.iter().chain(&switches).enumerate() {
        if nodes.insert(name.as_str(), NodeId(number as u32)).is_some() {
            let key = if number < hosts.len() { "topology.hosts" } else { "topology.switches" };
            checker.refuse(key, format!("each node must have a unique name, got \"{name}\" twice"));
        }
    }
    let routes = (hosts.len() as u64).saturating_mul(switches.len() as u64);
    checker.require(hosts.len() as u64 <= MAX_HOSTS && routes <= MAX_ROUTES, "topology.hosts", || {
        format!("hosts must be at most {MAX_HOSTS}, and hosts times switches at most {MAX_ROUTES}, got {} hosts and \
                 {} switches", hosts.len(), switches.len())
    });
    if checker.problems.len() > before {
        return None;
    }
    let count = hosts.len() as u32;
    let mut cables = cables(graph, &nodes, count, checker)?;
    check_hosts(&hosts, &cables, checker);
    check_switches(&switches, &cables, count, checker);
    // The sort is stable: cables of hosts come first, in the order of hosts, and then cables between switches, in the order of the
    // scenario.
    cables.sort_by_key(|cable| cable.ends[0].0.min(count));
    let plan = NetworkPlan { hosts: count, host_names: Some(hosts), switch_names: switches, cables };
    (checker.problems.len() == before).then_some(plan)
}

/// Returns the names that a list stands for, with ranges expanded.
fn names(list: &[String], key: &str, checker: &mut Checker<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for (index, text) in list.iter().enumerate() {
        names.extend(checker.accept(&format!("{key}[{index}]"), pattern::expand(text)).unwrap_or_default());
        if names.len() > pattern::MAX_NAMES {
            checker.refuse(key, format!("must have at most {} names", pattern::MAX_NAMES));
            return Vec::new();
        }
    }
    names
}

/// Returns the cables of all entries in `links`. If one end of a cable is a host, the host is the first end.
fn cables(
    graph: &Graph,
    nodes: &BTreeMap<&str, NodeId>,
    hosts: u32,
    checker: &mut Checker<'_>,
) -> Option<Vec<Planned>> {
    let before = checker.problems.len();
    let mut cables = Vec::new();
    for (index, entry) in graph.links.iter().enumerate() {
        let key = format!("topology.links[{index}]");
        let [from, to] = [0, 1].map(|end| {
            let wanted = &entry.between[end];
            let mut found = matching(wanted, nodes);
            checker.require(!found.is_empty(), &format!("{key}.between[{end}]"), || {
                let (example, _) = nodes.iter().find(|(_, node)| node.0 == hosts).expect("there is a switch");
                format!("no node is named \"{wanted}\"; use the name of a node, such as \"{example}\"")
            });
            // Nodes are sorted by number, because names such as s10 and s9 would sort differently.
            found.sort_unstable();
            found
        });
        let more = (from.len() as u64).saturating_mul(to.len() as u64);
        let all = more.saturating_add(cables.len() as u64);
        // Every switch has routes to every other switch that has hosts, so time and memory grow with links times switches.
        let switches = nodes.len() as u64 - u64::from(hosts);
        if all > MAX_CABLES || all.saturating_mul(switches) > MAX_ROUTES {
            checker.refuse(
                &key,
                format!(
                    "links must be at most {MAX_CABLES}, and links times switches at most {MAX_ROUTES}, got {all} \
                     links and {switches} switches"
                ),
            );
            return None;
        }
        for (&a, &b) in from.iter().flat_map(|a| to.iter().map(move |b| (a, b))) {
            let ends = if b.0 < hosts { [b, a] } else { [a, b] };
            if ends[1].0 < hosts || a == b {
                let message = if a == b {
                    "a link must connect two different nodes, got the same node twice"
                } else {
                    "a link must not connect two hosts; link each host to a switch"
                };
                checker.refuse(&format!("{key}.between"), message);
                break;
            }
            let at_host = ends[0].0 < hosts;
            cables.push(Planned {
                ends,
                rate: entry.rate.unwrap_or(graph.rate).0,
                delay: entry.delay.unwrap_or(graph.link_delay).0,
                kinds: if at_host { [PortKind::Nic, PortKind::ToHost] } else { [PortKind::Trunk; 2] },
            });
        }
    }
    (checker.problems.len() == before).then_some(cables)
}

/// Returns the nodes whose names match one end of a link's entry: a name, a pattern with `*`, or a range such as `h{0..10}`.
fn matching(wanted: &str, nodes: &BTreeMap<&str, NodeId>) -> Vec<NodeId> {
    if wanted.contains('*') {
        let known = nodes.iter().filter(|(name, _)| pattern::matches(wanted, name));
        return known.map(|(_, node)| *node).collect();
    }
    // A range matches only if all of its names exist, so that a wrong bound is reported.
    let names = pattern::expand(wanted).unwrap_or_default();
    names.iter().map(|name| nodes.get(name.as_str()).copied()).collect::<Option<_>>().unwrap_or_default()
}

/// Rejects hosts that do not have exactly one link, because a host has one NIC.
fn check_hosts(names: &[String], cables: &[Planned], checker: &mut Checker<'_>) {
    let mut links = vec![0u32; names.len()];
    for cable in cables {
        if let Some(count) = links.get_mut(cable.ends[0].0 as usize) {
            *count += 1;
        }
    }
    if let Some(host) = links.iter().position(|&count| count != 1) {
        let message = match links[host] {
            0 => format!(
                "the host \"{}\" must have exactly one link, got 0; link the host to a switch",
                names[host]
            ),
            count => format!("the host \"{}\" must have exactly one link, got {count}", names[host]),
        };
        checker.refuse("topology.links", message);
    }
}

/// Rejects a graph in which some switch cannot reach some other switch.
fn check_switches(names: &[String], cables: &[Planned], hosts: u32, checker: &mut Checker<'_>) {
    let trunks = cables.iter().filter(|cable| cable.ends[0].0 >= hosts);
    let ends = trunks.map(|cable| ((cable.ends[0].0 - hosts) as usize, (cable.ends[1].0 - hosts) as usize));
    if let Some((from, to)) = routing::unconnected(names.len(), ends) {
        let message = format!(
            "no path connects the switches \"{}\" and \"{}\"; add a link between these parts of the network",
            names[from], names[to]
        );
        checker.refuse("topology.links", message);
    }
}
