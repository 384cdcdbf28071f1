//! Builds nodes, links and routes of the network from the scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration};

use super::network::{Link, Network, NodeId, PortKind};
use super::plan::{MAX_CABLES, MAX_HOSTS, MAX_PORTS, MAX_ROUTES, NetworkPlan, Planned};
use super::routing::Graph;
use super::{graph, paths};
use crate::check::Checker;
use crate::class_maps::Classes;
use crate::groups::{self, Racked};
use crate::headroom;
use crate::lossless;
use crate::lossless_preset;
use crate::membership::Groups;
use crate::memory::{self, Memory};
use crate::nic_pauses;
use crate::ports;
use crate::resolved::Resolved;
use crate::spec::{self, Common, FatTree, Topology};

/// Builds the network of `spec`. Returns `None` and records a problem if the network is invalid.
pub(crate) fn build(spec: &Resolved, seed: u64, checker: &mut Checker<'_>) -> Option<Network> {
    let sound = memory::check(spec, checker);
    let plan = planned(&spec.topology, checker).filter(|_| sound)?;
    let common = spec.topology.common();
    let switches = plan.switch_names.len() as u32;
    let groups = groups(&spec.host.group, &plan, checker)?;
    let mut links = links(&plan, |host| {
        let group = groups.of(HostId(host)).checked_sub(1).map(|index| &spec.host.group[index]);
        group.and_then(|group| group.delay).map_or(common.host_delay, |delay| delay.0)
    });
    let memory = Memory::build(spec, &mut links, plan.hosts, switches);
    let graph = Graph::new(plan.hosts, switches, &links);
    let ecmp = paths::ecmp(spec, seed, plan.hosts, &graph, checker)?;
    let routing = Arc::new(graph.all_shortest().choosing(&ecmp));
    let mut network = Network {
        hosts: plan.hosts,
        switches,
        links,
        buffers: memory.of_nodes(&groups, plan.hosts),
        routing,
        epochs: Arc::default(),
        ports: Vec::new(),
        notes: Vec::new(),
        lossless: None,
        mtu: common.mtu,
        framing: common.framing,
        groups,
    };
    ports::build(spec, &mut network, checker);
    if let Some(lossless) = &spec.switch.lossless {
        lossless::add_loops(lossless, &mut network, checker);
        let classes = Classes::build(lossless, checker);
        network.lossless = lossless::build(lossless, spec, (&network, classes), checker);
        lossless_preset::overbook(lossless, &mut network);
        network.notes.extend(lossless_preset::note(lossless, &network));
        network.notes.extend(headroom::sonic_notes(&network));
        network.notes.extend(headroom::pool_notes(&network));
    } else {
        nic_pauses::require_lossless(spec, checker);
    }
    Some(network)
}

/// Returns the groups of hosts, or `None` if one of them is invalid.
fn groups(groups: &[spec::Group], plan: &NetworkPlan, checker: &mut Checker<'_>) -> Option<Groups> {
    let mut racks: Vec<u32> =
        plan.cables.iter().take(plan.hosts as usize).map(|cable| cable.ends[1].0).collect();
    racks.sort_unstable();
    racks.dedup();
    let network = Racked {
        hosts: plan.hosts,
        racks: racks.len() as u32,
        host_name: &|host| plan.name(NodeId(host)),
        rack_name: &|rack| &plan.switch_names[(racks[rack as usize] - plan.hosts) as usize],
        rack_of: &|host| {
            let switch = plan.cables[host as usize].ends[1].0;
            racks.partition_point(|&rack| rack < switch) as u32
        },
    };
    groups::members_of(groups, &network, checker)
}

/// Returns the nodes and cables of a topology, or `None` if the topology is invalid.
pub(super) fn planned(topology: &Topology, checker: &mut Checker<'_>) -> Option<NetworkPlan> {
    if !check_size(topology, checker) {
        return None;
    }
    let common = topology.common();
    let mut plan = match topology {
        Topology::Graph(graph) => graph::plan(graph, checker)?,
        regular => plan(regular, &common),
    };
    apply_overrides(&mut plan, common.links, checker);
    Some(plan)
}

/// Rejects a topology that is empty or too large for memory. Returns whether the topology is valid.
fn check_size(topology: &Topology, checker: &mut Checker<'_>) -> bool {
    let before = checker.problems.len();
    let mut positive = |key: &str, count: u32, least: u32| {
        checker.require(count >= least, &format!("topology.{key}"), || {
            format!("must be at least {least}, got {count}")
        })
    };
    let (key, hosts, trunks, leaves) = match topology {
        Topology::Star(t) => {
            positive("hosts", t.hosts, 2);
            ("hosts", u64::from(t.hosts), 0, 1)
        }
        Topology::Dumbbell(t) => {
            positive("left", t.left, 1);
            positive("right", t.right, 1);
            ("left", u64::from(t.left) + u64::from(t.right), 1, 2)
        }
        Topology::LeafSpine(t) => {
            positive("leaves", t.leaves, 1);
            positive("spines", t.spines, 1);
            positive("hosts_per_leaf", t.hosts_per_leaf, if t.leaves == 1 { 2 } else { 1 });
            let leaves = u64::from(t.leaves);
            let hosts = leaves * u64::from(t.hosts_per_leaf);
            ("hosts_per_leaf", hosts, leaves * u64::from(t.spines), leaves)
        }
        Topology::FatTree(t) => {
            // A larger `k` exceeds the limits on hosts and links anyway, and could overflow the calculations below.
            let whole = t.k >= 2 && t.k % 2 == 0 && t.k <= MAX_PORTS;
            let message = || format!("must be an even number from 2 to {MAX_PORTS}, got {}", t.k);
            if !checker.require(whole, "topology.k", message) {
                return false;
            }
            let Some(each) = t.hosts_per_edge() else {
                let message = format!(
                    "the number of hosts on each edge switch, oversubscription times k/2, must be a whole number \
                     above 0, got {} times {}",
                    t.oversubscription,
                    t.k / 2
                );
                checker.refuse("topology.oversubscription", message);
                return false;
            };
            let edges = u64::from(t.k) * u64::from(t.k) / 2;
            ("k", edges * u64::from(each), edges * u64::from(t.k), edges)
        }
        // A graph is checked later, when its plan is made.
        Topology::Graph(_) => return true,
    };
    checker.require(hosts <= MAX_HOSTS, &format!("topology.{key}"), || {
        format!("the network must have at most {MAX_HOSTS} hosts, got {hosts}")
    });
    checker.require(
        trunks <= MAX_CABLES && trunks.saturating_mul(leaves) <= MAX_ROUTES,
        if matches!(topology, Topology::FatTree(_)) { "topology.k" } else { "topology.leaves" },
        || match topology {
            Topology::FatTree(_) => {
                format!(
                    "the number of links between switches times the number of edge switches must be at most \
                     {MAX_ROUTES}, got {trunks} times {leaves}; use a smaller k"
                )
            }
            _ => format!(
                "the number of links between switches must be at most {MAX_CABLES}, and this number times the number of leaves \
                 at most {MAX_ROUTES}, got {trunks} links and {leaves} leaves"
            ),
        },
    );
    checker.problems.len() == before
}

/// Returns the nodes and cables of a topology that is not a graph.
fn plan(topology: &Topology, common: &Common<'_>) -> NetworkPlan {
    let mut plan = NetworkPlan::default();
    match topology {
        Topology::Graph(_) => unreachable!("planned() plans a graph in graph::plan"),
        Topology::Star(t) => {
            plan.hosts = t.hosts;
            plan.switch_names = vec!["switch0".to_owned()];
            plan.attach_hosts(common, |_| 0);
        }
        Topology::Dumbbell(t) => {
            plan.hosts = t.left + t.right;
            plan.switch_names = vec!["left".to_owned(), "right".to_owned()];
            plan.attach_hosts(common, |host| u32::from(host >= t.left));
            plan.cables.push(Planned {
                ends: [plan.switch(0), plan.switch(1)],
                rate: t.bottleneck_rate.unwrap_or(t.rate).0,
                delay: t.bottleneck_delay.unwrap_or(t.link_delay).0,
                kinds: [PortKind::Bottleneck; 2],
            });
        }
        Topology::LeafSpine(t) => {
            plan.hosts = t.leaves * t.hosts_per_leaf;
            let leaves = (0..t.leaves).map(|leaf| format!("leaf{leaf}"));
            plan.switch_names = leaves.chain((0..t.spines).map(|spine| format!("spine{spine}"))).collect();
            plan.attach_hosts(common, |host| host / t.hosts_per_leaf);
            for (leaf, spine) in (0..t.leaves).flat_map(|leaf| (0..t.spines).map(move |spine| (leaf, spine)))
            {
                plan.cables.push(Planned {
                    ends: [plan.switch(leaf), plan.switch(t.leaves + spine)],
                    rate: t.uplink_rate.unwrap_or(t.rate).0,
                    delay: t.uplink_delay.unwrap_or(t.link_delay).0,
                    kinds: [PortKind::Up, PortKind::Down],
                });
            }
        }
        Topology::FatTree(t) => plan_fat_tree(t, &mut plan, common),
    }
    plan
}

/// Plans a fat tree. Switches are numbered by kind and then by pod: edge switches, aggregation switches, core switches. In each pod, the
/// *n*-th aggregation switch has links to the *n*-th group of k/2 core switches.
fn plan_fat_tree(t: &FatTree, plan: &mut NetworkPlan, common: &Common<'_>) {
    let (half, each) = (
        t.k / 2,
        t.hosts_per_edge().expect("check_size rejects a fractional number of hosts for each edge switch"),
    );
    let tier = t.k * half;
    plan.hosts = tier * each;
    let names = |name: &'static str, count| (0..count).map(move |number| format!("{name}{number}"));
    plan.switch_names =
        names("edge", tier).chain(names("agg", tier)).chain(names("core", half * half)).collect();
    plan.attach_hosts(common, |host| host / each);
    let rate = t.aggregation_rate.unwrap_or(t.rate);
    let delay = t.aggregation_delay.unwrap_or(t.link_delay);
    for (edge, up) in (0..tier).flat_map(|edge| (0..half).map(move |up| (edge, up))) {
        plan.cables.push(Planned {
            ends: [plan.switch(edge), plan.switch(tier + edge / half * half + up)],
            rate: rate.0,
            delay: delay.0,
            kinds: [PortKind::Up, PortKind::Down],
        });
    }
    for (aggregation, up) in (0..tier).flat_map(|number| (0..half).map(move |up| (number, up))) {
        plan.cables.push(Planned {
            ends: [plan.switch(tier + aggregation), plan.switch(2 * tier + aggregation % half * half + up)],
            rate: t.core_rate.unwrap_or(rate).0,
            delay: t.core_delay.unwrap_or(delay).0,
            kinds: [PortKind::CoreUp, PortKind::CoreDown],
        });
    }
}

impl NetworkPlan {
    fn switch(&self, number: u32) -> NodeId {
        NodeId(self.hosts + number)
    }

    fn attach_hosts(&mut self, common: &Common<'_>, switch_of: impl Fn(u32) -> u32) {
        let cables = (0..self.hosts).map(|host| Planned {
            ends: [NodeId(host), NodeId(self.hosts + switch_of(host))],
            rate: common.rate,
            delay: common.link_delay,
            kinds: [PortKind::Nic, PortKind::ToHost],
        });
        self.cables = cables.collect();
    }

    /// Returns the name of a node.
    pub(super) fn name(&self, node: NodeId) -> String {
        match node.0.checked_sub(self.hosts) {
            Some(switch) => self.switch_names[switch as usize].clone(),
            None => match &self.host_names {
                Some(names) => names[node.0 as usize].clone(),
                None => format!("host{}", node.0),
            },
        }
    }

    fn find(&self, name: &str) -> Option<NodeId> {
        if let Some(number) = name.strip_prefix("host") {
            return number.parse().ok().filter(|&host| host < self.hosts).map(NodeId);
        }
        self.switch_names.iter().position(|known| known == name).map(|switch| self.switch(switch as u32))
    }
}

fn apply_overrides(
    plan: &mut NetworkPlan,
    overrides: &[crate::spec::LinkOverride],
    checker: &mut Checker<'_>,
) {
    let mut changed = BTreeMap::new();
    for (index, change) in overrides.iter().enumerate() {
        if change.rate.is_none() && change.delay.is_none() {
            let message = "must have a rate, a delay or both";
            checker.refuse(&format!("topology.links[{index}]"), message);
        }
        let [a, b] = change.between.each_ref().map(|name| plan.find(name));
        let found = plan.cables.iter().position(|cable| {
            let [from, to] = cable.ends.map(Some);
            (from, to) == (a, b) || (to, from) == (a, b)
        });
        let Some(number) = found else {
            let example = &plan.cables[plan.cables.len() - 1];
            let [from, to] = example.ends.map(|node| plan.name(node));
            let message = format!("must name two nodes that a link connects, such as [\"{from}\", \"{to}\"]");
            checker.refuse(&format!("topology.links[{index}].between"), message);
            continue;
        };
        if let Some(first) = changed.insert(number, index) {
            let message =
                format!("topology.links[{first}] already changes this link; use one entry for each link");
            checker.refuse(&format!("topology.links[{index}].between"), message);
        }
        let cable = &mut plan.cables[number];
        cable.rate = change.rate.map_or(cable.rate, |rate| rate.0);
        cable.delay = change.delay.map_or(cable.delay, |delay| delay.0);
    }
}

/// Returns two links for every cable, one for each direction: first the links that leave hosts, then the links that leave each switch in
/// turn. The delay of a link at a host includes `host_delay` of that host.
pub(super) fn links(plan: &NetworkPlan, host_delay: impl Fn(u32) -> Duration) -> Vec<Link> {
    let switches = plan.switch_names.len();
    // Parallel cables are numbered: the second is called `a->b#2`.
    let mut beside: BTreeMap<(NodeId, NodeId), u32> = BTreeMap::new();
    let mut by_switch: Vec<Vec<(usize, Link)>> = vec![Vec::new(); switches];
    let mut links = Vec::with_capacity(2 * plan.cables.len());
    for (number, cable) in plan.cables.iter().enumerate() {
        for (from, to, kind) in
            [(cable.ends[0], cable.ends[1], cable.kinds[0]), (cable.ends[1], cable.ends[0], cable.kinds[1])]
        {
            let side = beside.entry((from, to)).or_default();
            *side += 1;
            let mut name = format!("{}->{}", plan.name(from), plan.name(to));
            if *side > 1 {
                name.push_str(&format!("#{side}"));
            }
            let link = Link {
                from,
                to,
                rate: cable.rate,
                // If one end of a cable is a host, the host is the first end.
                delay: if cable.is_at_host() {
                    cable.delay + host_delay(cable.ends[0].0)
                } else {
                    cable.delay
                },
                kind,
                port: 0,
                pool: 0,
                reserved: Bytes(0),
                reverse: 0,
                name,
            };
            match from.0.checked_sub(plan.hosts) {
                Some(switch) => by_switch[switch as usize].push((number, link)),
                None => links.push((number, link)),
            }
        }
    }
    links.extend(by_switch.into_iter().flatten());
    let (cables, mut links): (Vec<usize>, Vec<Link>) = links.into_iter().unzip();
    let mut first_of = vec![None; plan.cables.len()];
    for (link, cable) in cables.into_iter().enumerate() {
        if let Some(first) = first_of[cable].replace(link) {
            links[link].reverse = first as u32;
            links[first].reverse = link as u32;
        }
    }
    links
}

impl Network {
    /// Returns the index of the switch to which a host is attached, counted from the first switch.
    pub(crate) fn switch_of(&self, host: HostId) -> usize {
        (self.links[host.0 as usize].to.0 - self.hosts) as usize
    }
}
