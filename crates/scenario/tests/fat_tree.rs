//! Tests of fat trees (Al-Fares, Loukissas and Vahdat, SIGCOMM '08, §3): counts, paths, links by tier, and rejected trees.

use std::collections::BTreeSet;

use crate::common::parse;
use shallows_core::packet::{Header, HostId, PacketKind};
use shallows_core::{Duration, Rate};
use shallows_scenario::{Experiment, Network, PortKind, ScenarioError};

const TREE: &str = "topology = { kind = 'fat-tree', k = 4, rate = '10Gbps' }\n\
                    switch.buffer = { kind = 'static-partition', per_port = '9p' }\n\
                    workload = [{ kind = 'incast', senders = 0, receivers = 1, size = '1KB' }]";

fn tree(sets: &[(&str, &str)]) -> Result<Experiment, ScenarioError> {
    parse(TREE, sets)
}

fn network(sets: &[(&str, &str)]) -> Network {
    tree(sets).unwrap_or_else(|error| panic!("{error}")).network.clone()
}

fn ports(network: &Network, kind: PortKind) -> usize {
    network.links.iter().filter(|link| link.kind == kind).count()
}

#[test]
fn hosts_switches_and_links_are_as_many_as_the_paper_says() {
    // k³/4 hosts, k²/2 edge switches, k²/2 aggregation switches, k²/4 core switches; each tier has k³/4 cables.
    for k in [2, 4, 6, 8] {
        let network = network(&[("topology.k", &k.to_string())]);
        let tier = (k * k * k / 4) as usize;
        assert_eq!((network.hosts, network.switches), (k * k * k / 4, k * k / 2 * 2 + k * k / 4));
        use PortKind::{CoreDown, CoreUp, Down, Nic, ToHost, Up};
        for kind in [Nic, ToHost, Up, Down, CoreUp, CoreDown] {
            assert_eq!(ports(&network, kind), tier, "k = {k}: {}", kind.name());
        }
        // Every switch has k ports.
        let mut of_switch = vec![0; network.switches as usize];
        for link in &network.links[network.hosts as usize..] {
            of_switch[(link.from.0 - network.hosts) as usize] += 1;
        }
        assert!(of_switch.iter().all(|&ports| ports == k), "{of_switch:?}");
    }
    // Each edge switch of k = 32 has 20 hosts for its 16 uplinks.
    let network = network(&[("topology.k", "32"), ("topology.oversubscription", "1.25")]);
    assert_eq!((network.hosts, network.switches), (10_240, 512 + 512 + 256));
    assert_eq!(ports(&network, PortKind::Up), 32 * 16 * 16);
}

/// Returns the nodes on the path of a packet, from the sending host to the receiving one.
fn way(network: &Network, header: &Header) -> Vec<u32> {
    let path = network.path(header);
    std::iter::once(header.source().0).chain(path.iter().map(|link| link.to.0)).collect()
}

/// Returns the number of paths that connections take from one host to another, and their length in links.
fn ways(network: &Network, from: u32, to: u32) -> (usize, usize) {
    let header = |port| Header::new(HostId(from), HostId(to)).with_ports(port, 5_001);
    // Each connection takes one of at most 16 paths; 1,000 connections miss one of them in one of 10²⁶ networks.
    let ways: BTreeSet<Vec<u32>> = (1_024..2_024).map(|port| way(network, &header(port))).collect();
    let links = ways.iter().map(|way| way.len() - 1).collect::<BTreeSet<_>>();
    assert_eq!(links.len(), 1, "all are shortest");
    (ways.len(), *links.first().expect("there is a way"))
}

#[test]
fn between_pods_are_as_many_shortest_paths_as_core_switches() {
    for (k, half) in [(4u32, 2u32), (8, 4)] {
        for ecmp in ["five-tuple", "symmetric"] {
            let network = network(&[("topology.k", &k.to_string()), ("switch.ecmp", ecmp)]);
            let pod = half * half;
            assert_eq!(ways(&network, 0, half - 1), (1, 2), "below one edge switch");
            assert_eq!(ways(&network, 0, half), (half as usize, 4), "within a pod, {ecmp}");
            assert_eq!(ways(&network, 0, pod), (pod as usize, 6), "to the next pod, {ecmp}");
            assert_eq!(ways(&network, network.hosts - 1, 0), (pod as usize, 6), "from the last, {ecmp}");
        }
    }
}

#[test]
fn each_way_to_choose_takes_acknowledgements_back_as_it_says() {
    let warm = "[{ kind = 'poisson', load = 0.1, sizes = { kind = 'fixed', size = '1KB' }, flows = 9, connections = { kind = \
                'persistent', per_pair = 2 } }]";
    for (ecmp, symmetric) in [("five-tuple", false), ("symmetric", true), ("ns-2", false), ("ns-2-bcc", true)]
    {
        let network = network(&[("switch.ecmp", ecmp), ("workload", warm)]);
        let mut same = 0;
        let mut found = BTreeSet::new();
        for (from, to) in (0..4).flat_map(|from| (4..16).map(move |to| (from, to))) {
            for port in 1_024..1_064 {
                let data = Header::new(HostId(from), HostId(to)).with_ports(port, 5_001);
                let ack = Header::new(HostId(to), HostId(from)).with_ports(5_001, port);
                let there = way(&network, &data);
                let mut back = way(&network, &ack.with_kind(PacketKind::PureAck));
                back.reverse();
                same += usize::from(there == back);
                found.insert(there[3]);
            }
        }
        let all = 4 * 12 * 40;
        assert_eq!(same == all, symmetric, "{ecmp}: {same} of {all} go back as they came");
        assert_eq!(found.len(), 4, "{ecmp} leaves no core switch out: {found:?}");
    }
}

#[test]
fn each_tier_has_its_rate_and_its_delay() {
    let sets = [
        ("topology.aggregation_rate", "40Gbps"),
        ("topology.core_rate", "100Gbps"),
        ("topology.link_delay", "1us"),
        ("topology.aggregation_delay", "2us"),
        ("topology.core_delay", "3us"),
        ("topology.host_delay", "10us"),
        ("topology.links", "[{ between = ['agg3', 'core2'], rate = '50Gbps' }]"),
    ];
    let built = network(&sets);
    let link = |name: &str| {
        let link = built.links.iter().find(|link| link.name == name).unwrap_or_else(|| panic!("no {name}"));
        (link.rate, link.delay)
    };
    let (gbps, us) = (Rate::from_gbps, Duration::from_micros);
    // Host 6 is the first of the fourth edge switch, which is the second of the second pod. The second aggregation switches of all pods
    // share cores 2 and 3.
    assert_eq!(link("host6->edge3"), (gbps(10), us(11)));
    assert_eq!(link("edge3->agg2"), (gbps(40), us(2)));
    assert_eq!(link("agg3->core3"), (gbps(100), us(3)));
    assert_eq!(link("core2->agg3"), (gbps(50), us(3)), "overridden in both directions");
    // 11 + 2 + 3 + 3 + 2 + 11 us, in both directions.
    assert_eq!(built.base_rtt(), us(64));
    // Rates that are not given are those of the tier below.
    let built = network(&sets[..1]);
    let rate = |name: &str| built.links.iter().find(|link| link.name == name).unwrap().rate;
    assert_eq!([rate("agg0->core0"), rate("host0->edge0")], [gbps(40), gbps(10)]);
    let resolved = tree(&sets[..1]).unwrap().resolved();
    assert_eq!(
        (&resolved["topology"]["core_rate"], &resolved["topology"]["core_delay"]),
        (&"40Gbps".into(), &"1us".into())
    );
}

#[test]
fn trees_that_cannot_be_are_refused() {
    let refused = |sets: &[(&str, &str)]| tree(sets).unwrap_err().problems[0].message.clone();
    assert_eq!(refused(&[("topology.k", "5")]), "must be an even number from 2 to 128, got 5");
    assert_eq!(refused(&[("topology.k", "0")]), "must be an even number from 2 to 128, got 0");
    let found = refused(&[("topology.oversubscription", "1.25")]);
    assert_eq!(
        found,
        "the number of hosts on each edge switch, oversubscription times k/2, must be a whole number above 0, got \
         1.25 times 2"
    );
    assert!(refused(&[("topology.oversubscription", "-1.0")]).ends_with("got -1 times 2"));
    let found = refused(&[("topology.k", "32"), ("topology.oversubscription", "100.0")]);
    assert_eq!(found, "the network must have at most 131072 hosts, got 819200");
    let found = refused(&[("topology.k", "64")]);
    assert_eq!(
        found,
        "the number of links between switches times the number of edge switches must be at most 134217728, got \
         131072 times 2048; use a smaller k"
    );
}

#[test]
fn a_load_of_the_uplinks_is_that_of_the_edge_switches() {
    // Every host sends to every other: 12 of 15 flows leave the pod of four hosts, 14 of 15 the edge switch of two. At a load of 0.6 of the
    // uplinks (as many as hosts), hosts send 0.6 · 15/14 of their rate, and links to the core carry 12/14 of 0.6, so no link is overloaded.
    // With half the rate to the core that would be 1.0286.
    let poisson = "[{ kind = 'poisson', load = 0.6, of = 'uplinks', counted = 'wire', sizes = { kind = 'fixed', size \
                   = '1MB' }, flows = 9 }]";
    assert!(tree(&[("workload", poisson)]).is_ok());
    let error = tree(&[("workload", poisson), ("topology.core_rate", "5Gbps")]).unwrap_err().to_string();
    assert!(error.contains("core") && error.contains("1.0286 times"), "{error}");
}
