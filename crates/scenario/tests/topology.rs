//! Tests of networks: their links, pools and routes, and the marking curves derived from them.

use std::collections::BTreeSet;

use crate::common::{BCC_F2, DUMBBELL, LEAF_SPINE, parse};
use shallows_core::packet::{Header, HostId, PacketKind};
use shallows_core::{Bytes, Duration, Rate};
use shallows_scenario::{Network, PortKind};

/// Returns the number of links of each path from one host to another, and the number of paths. All paths must have the same length.
fn hops(network: &Network, from: u32, to: u32) -> (usize, usize) {
    let mut frontier = vec![from];
    for length in 1..10 {
        let nodes: Vec<u32> = frontier.iter().map(|&link| network.links[link as usize].to.0).collect();
        if nodes.iter().all(|&node| node == to) {
            return (length, frontier.len());
        }
        let next = |&node: &u32| {
            assert!(node >= network.hosts, "hosts do not forward");
            network.routing.next_hops(node - network.hosts, HostId(to)).to_vec()
        };
        frontier = nodes.iter().flat_map(next).collect();
        assert!(frontier.iter().zip(1..).all(|(&link, _)| (link as usize) < network.links.len()));
    }
    panic!("host {to} is not reached from {from}");
}

#[test]
fn every_route_of_a_leaf_spine_is_shortest_and_all_spines_share() {
    let network = parse(LEAF_SPINE, &[]).unwrap().network.clone();
    assert_eq!((network.hosts, network.switches), (128, 16));
    assert_eq!(network.links.len(), 2 * (128 + 64));
    for (from, to) in [(0, 1), (0, 15), (127, 112)] {
        assert_eq!(hops(&network, from, to), (2, 1), "same leaf");
    }
    for (from, to) in [(0, 16), (0, 127), (127, 0), (40, 80)] {
        assert_eq!(hops(&network, from, to), (4, 8), "over any of eight spines");
    }
}

/// Returns the nodes on the path of a packet, from the sending host to the receiving one.
fn way(network: &Network, header: &Header) -> Vec<u32> {
    let path = network.path(header);
    std::iter::once(header.source().0).chain(path.iter().map(|link| link.to.0)).collect()
}

#[test]
fn acknowledgements_take_the_way_of_their_data_where_paths_are_symmetric() {
    // A fat tree of sixteen hosts: four pods of two edge and two aggregation switches, and four cores.
    let pods = (0..4).flat_map(|pod| {
        let edges = (0..2).flat_map(move |edge| {
            let hosts = (0..2)
                .map(move |host| (format!("h{}", pod * 4 + edge * 2 + host), format!("e{}", pod * 2 + edge)));
            hosts.chain((0..2).map(move |up| (format!("e{}", pod * 2 + edge), format!("a{}", pod * 2 + up))))
        });
        edges.chain((0..4).map(move |core| (format!("a{}", pod * 2 + core / 2), format!("c{core}"))))
    });
    let links: Vec<String> = pods.map(|(a, b)| format!("{{ between = ['{a}', '{b}'] }}")).collect();
    let fat_tree = format!(
        "topology = {{ kind = 'graph', rate = '1Gbps', hosts = ['h{{0..16}}'], switches = ['e{{0..8}}', 'a{{0..8}}', \
         'c{{0..4}}'], links = [{}] }}\nswitch.buffer = {{ kind = 'static-partition', per_port = '9p' }}\n\
         workload = [{{ kind = 'incast', senders = 0, receivers = 1, size = '1KB' }}]",
        links.join(", ")
    );
    for (text, paths) in [(LEAF_SPINE, 8), (&fat_tree, 4)] {
        let network = parse(text, &[("switch.ecmp", "symmetric")]).unwrap().network.clone();
        let (from, to) = (HostId(0), HostId(network.hosts - 1));
        let mut found = BTreeSet::new();
        for port in 1_024..1_124 {
            let data = Header::new(from, to).with_ports(port, 5_001);
            let ack = Header::new(to, from).with_ports(5_001, port).with_kind(PacketKind::PureAck);
            let there = way(&network, &data);
            let back: Vec<u32> = way(&network, &ack).into_iter().rev().collect();
            assert_eq!(there, back);
            found.insert(there);
        }
        // 100 connections miss one of eight paths in one of 80,000 networks.
        assert_eq!(found.len(), paths);
    }
}

#[test]
fn every_switch_leads_its_packets_out_of_its_own_ports() {
    for text in [LEAF_SPINE, DUMBBELL, BCC_F2] {
        let network = parse(text, &[]).unwrap().network.clone();
        for switch in 0..network.switches {
            for host in 0..network.hosts {
                let links = network.routing.next_hops(switch, HostId(host));
                assert!(
                    links.iter().all(|&link| network.links[link as usize].from.0 == network.hosts + switch)
                );
            }
        }
        for host in 0..network.hosts {
            assert_eq!(network.links[host as usize].from.0, host, "link h leaves host h");
        }
    }
}

#[test]
fn pools_of_a_leaf_hold_its_ports_to_hosts_first() {
    // The leaf-spine of BCC (INFOCOM '20): 24 ports form three pools of eight, and the eight uplinks are in one of them.
    let network = parse(LEAF_SPINE, &[]).unwrap().network.clone();
    let leaf0: Vec<_> = network.links.iter().filter(|link| link.name.starts_with("leaf0->")).collect();
    assert_eq!(leaf0.len(), 24);
    assert!(leaf0.iter().all(|link| (link.pool == 2) == (link.kind == PortKind::Up)));
    assert_eq!(network.buffers[128].pools.len(), 3);
    assert_eq!(network.buffers[136].pools.len(), 1, "a spine has eight ports");
}

#[test]
fn links_and_delays_are_as_the_scenario_says() {
    let network = parse(LEAF_SPINE, &[]).unwrap().network.clone();
    let link = |name: &str| network.links.iter().find(|link| link.name == name).unwrap();
    for name in ["leaf0->spine3", "spine3->leaf0"] {
        assert_eq!(link(name).rate, Rate::from_gbps(40), "overridden in both directions");
    }
    assert_eq!(link("leaf0->spine4").rate, Rate::from_gbps(100));
    assert_eq!(link("host5->leaf0").delay, Duration::from_micros(19));
    assert_eq!(link("leaf0->host5").delay, Duration::from_micros(19));
    assert_eq!(link("leaf0->spine4").delay, Duration::from_micros(1));
    // 19 + 1 + 1 + 19 us, in both directions.
    assert_eq!(network.base_rtt(), Duration::from_micros(80));
    let network = parse(DUMBBELL, &[]).unwrap().network.clone();
    let names: Vec<&str> = network.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "host0->left",
            "host1->left",
            "host2->right",
            "host3->right",
            "left->host0",
            "left->host1",
            "left->right",
            "right->host2",
            "right->host3",
            "right->left"
        ]
    );
    assert_eq!(network.links[6].rate, Rate::from_gbps(10));
    assert_eq!(network.links[6].delay, Duration::from_micros(20));
    assert_eq!(hops(&network, 0, 3), (3, 1));
}

#[test]
fn a_fabric_of_ten_thousand_hosts_is_built() {
    let sets = [
        ("topology.leaves", "320"),
        ("topology.spines", "32"),
        ("topology.hosts_per_leaf", "32"),
        ("workload.0.load", "0.1"),
        ("topology.links", "[]"),
    ];
    let network = parse(LEAF_SPINE, &sets).unwrap().network.clone();
    assert_eq!(network.links.len(), 2 * (10_240 + 10_240));
    assert_eq!(hops(&network, 0, 10_239), (4, 32));
    assert_eq!(hops(&network, 10_239, 10_208), (2, 1));
}

#[test]
fn the_marking_curve_of_bcc_f2_is_the_papers() {
    let curves =
        parse(BCC_F2, &[("switch.buffer.reserved_rule", "exact"), ("switch.buffer.counts", "shared")])
            .unwrap()
            .marking_curves();
    let curve = curves.iter().find(|curve| curve.port == PortKind::ToHost).unwrap();
    assert_eq!((curve.ports, curve.rate_bps, curve.base_rtt_us), (32, 100_000_000_000, 80.0));
    // 720,000 B are 80 packets of 9000, 57.6 us at 100 Gb/s, 0.72 of the 1 MB that 80 us hold.
    assert_eq!((curve.kmin.bytes, curve.kmin.packets), (720_000, 80.0));
    assert!((curve.kmin.us - 57.6).abs() < 1e-9 && (curve.kmin.bdp - 0.72).abs() < 1e-9);
    // αB/(1 + αM) of 3 MiB at α = 4, plus 128 KiB: 2,516,582; 740,171; 381,300 and 131,072 more.
    let limits: Vec<(usize, u64, bool)> =
        curve.limits.iter().map(|limit| (limit.busy_ports, limit.limit_bytes, limit.can_fire)).collect();
    assert_eq!(
        limits,
        [(1, 2_516_582 + 131_072, true), (4, 740_171 + 131_072, true), (8, 381_300 + 131_072, false)]
    );
    assert!(curve.can_fire && curve.reason.is_none());
    let nic = curves.iter().find(|curve| curve.port == PortKind::Nic).unwrap();
    assert_eq!(nic.limits.len(), 1);
    assert_eq!(nic.limits[0].limit_bytes, 1_111 * 9_000);
}

#[test]
fn limits_and_thresholds_in_cells_are_stated_as_full_packets_on_the_wire() {
    // Packets of 9,000 bytes take 36 cells of 256, 9,216 bytes. 80 packets are 737,280 bytes of cells, and 720,000 on the wire.
    let buffer = "{ kind = 'dynamic-threshold', alpha = 4.0, pool = '3MiB', reserved = '128KiB', cell = '256B', \
                  ports_per_pool = 8 }";
    for (marker, kmin) in [
        ("[{ kind = 'threshold', k = '80p', unit = 'cells' }]", 720_000),
        ("[{ kind = 'threshold', k = '737280B', unit = 'cells' }]", 720_000),
        ("[{ kind = 'threshold', k = '737280B', scope = 'pool' }]", 720_000),
        ("[{ kind = 'threshold', k = '80p' }]", 720_000),
    ] {
        let experiment = parse(BCC_F2, &[("switch.buffer", buffer), ("switch.markers", marker)]).unwrap();
        let curves = experiment.marking_curves();
        let curve = curves.iter().find(|curve| curve.port == PortKind::ToHost).unwrap();
        assert_eq!(curve.kmin.bytes, kmin, "{marker}");
        if !marker.contains("pool") {
            // α/(1 + α) of 3 MiB at α = 4, and 128 KiB: 2,516,582 + 131,072 bytes of cells, of which 9,000/9,216 are packets.
            assert_eq!(curve.limits[0].limit_bytes, (2_516_582 + 131_072) * 9_000 / 9_216);
        }
        let note = "switch memory is counted in cells of 256B: a full packet of 9KB takes 36 cells (9KiB), and a pool \
                    has 12288 cells";
        assert!(experiment.notes.iter().any(|said| said == note), "{:?}", experiment.notes);
    }
    assert!(!parse(BCC_F2, &[]).unwrap().notes.iter().any(|note| note.contains("cells")));
}

#[test]
fn a_threshold_that_counts_reserved_bytes_is_bounded_by_its_fixed_point() {
    // Four ports: q = α(B − M(q − p)); with q − p = (αB − p)/(1 + αM) both sides agree to a few bytes of rounding.
    let curves = parse(BCC_F2, &[("switch.buffer.reserved_rule", "exact")]).unwrap().marking_curves();
    let limit =
        curves.iter().find(|curve| curve.port == PortKind::ToHost).unwrap().limits[1].limit_bytes as f64;
    let right = 4.0 * (3_145_728.0 - 4.0 * (limit - 131_072.0));
    assert!((limit - right).abs() < 20.0, "{limit} against {right}");
}

#[test]
fn a_marker_that_cannot_fire_is_named_with_the_reason() {
    let e = parse(BCC_F2, &[("switch.markers.0.k", "4MB")]).unwrap();
    let warnings = e.warnings();
    assert_eq!(
        warnings,
        [
            "the threshold marker of to-host ports (switch0->host0) cannot fire: the threshold of 4MB is not below \
             the maximum backlog of 2523.782KB"
        ]
    );
    let pool = parse(BCC_F2, &[("switch.markers.0.scope", "pool"), ("switch.markers.0.k", "3MB")]).unwrap();
    // Eight busy ports fill the pool up to 8 · 4/(1 + 32) of 3 MiB, minus the part of their reserved bytes: just above 3 MB.
    assert!(pool.warnings().is_empty(), "{:?}", pool.warnings());
}

#[test]
fn a_pool_marker_fires_when_enough_ports_are_busy() {
    let star = |hosts: &str, k: &str| {
        let marker = format!("[{{ kind = 'threshold', k = '{k}', scope = 'pool' }}]");
        let sets = [
            ("topology.hosts", hosts),
            ("switch.buffer", "{ kind = 'dynamic-threshold', alpha = 0.0625, pool = '1MB' }"),
            ("switch.markers", marker.as_str()),
            ("host.nic.markers", "[]"),
        ];
        parse(BCC_F2, &sets).unwrap().marking_curves().remove(0)
    };
    // M ports hold αM/(1 + αM) of the pool: 1/17, 1/5, 1/3, and 4/5 for all 64 of them.
    let curve = star("64", "400KB");
    let limits: Vec<_> = curve.limits.iter().map(|at| (at.busy_ports, at.limit_bytes, at.can_fire)).collect();
    let expected = [(1, 58_823, false), (4, 200_000, false), (8, 333_328, false), (64, 800_000, true)];
    assert_eq!(limits, expected);
    assert!(curve.can_fire, "{:?}", curve.reason);
    assert_eq!(
        star("64", "800KB").reason.as_deref(),
        Some("the threshold of 800KB is not below the maximum backlog of 800KB")
    );
}

#[test]
fn columns_end_with_the_ports_of_the_pool() {
    // Leaves have pools of eight ports. With five ports to a pool, 24 ports form four pools of five and one of four.
    let busy = |sets: &[(&str, &str)]| -> Vec<(usize, Vec<usize>)> {
        let curves = parse(LEAF_SPINE, sets).unwrap().marking_curves();
        let columns =
            |limits: &[shallows_scenario::BusyLimit]| limits.iter().map(|at| at.busy_ports).collect();
        curves.iter().map(|curve| (curve.ports, columns(&curve.limits))).collect()
    };
    let uplinks_of_fast_leaves = busy(&[("topology.links", "[]")]);
    // 128 ports to hosts, 64 up, 64 down.
    assert_eq!(uplinks_of_fast_leaves, [(128, vec![1, 4, 8]), (64, vec![1, 4, 8]), (64, vec![1, 4, 8])]);
    // Ports 0 to 14 of a leaf lead to hosts and form three pools of five. The sixteenth shares a pool with four uplinks, and the last four
    // uplinks have their own. The eight ports of a spine form a pool of five and one of three.
    let sets = [("topology.links", "[]"), ("switch.buffer.ports_per_pool", "5")];
    assert_eq!(
        busy(&sets),
        [(128, vec![1, 4]), (32, vec![1, 4]), (32, vec![1, 4]), (40, vec![1, 4]), (24, vec![1])]
    );
}

#[test]
fn settings_that_defeat_each_other_are_warned_of() {
    for (sets, expected) in [
        (
            &[("switch.markers", "[]")][..],
            "connections use ECN, but no switch has a marker: only packet drops reduce the sending rate",
        ),
        (
            &[("tcp.congestion", "reno")],
            "connections do not use ECN: markers drop their packets instead of marking them",
        ),
        (
            &[("tcp.ect", "rfc3168")],
            "pure acknowledgements are not ECN-capable: markers drop them; set tcp.ect = \"all\" to prevent these drops",
        ),
        (
            &[("switch.markers.0.k", "0B")],
            "to-host ports (switch0->host0) mark every packet that arrives while another packet waits: K = 0B",
        ),
        (
            &[("switch.buffer.reserved", "0B")],
            "switch.buffer.reserved_rule = \"as-released\" has no effect: no port has a reserved buffer \
             (switch.buffer.reserved)",
        ),
        (
            &[("tcp.delayed_ack.segments", "2")],
            "acknowledgements can be delayed for 40ms, but the retransmission timer can expire after 5ms: a segment \
             whose acknowledgement is delayed can time out without a loss; use a shorter tcp.delayed_ack.timeout, or \
             tcp.delayed_ack.segments = 1",
        ),
    ] {
        assert_eq!(parse(BCC_F2, sets).unwrap().warnings(), [expected]);
    }
    assert!(parse(BCC_F2, &[]).unwrap().warnings().is_empty());
}

#[test]
fn limits_in_packets_count_full_ones_with_framing() {
    let e =
        parse(LEAF_SPINE, &[("switch.buffer", "{ kind = 'static-partition', per_port = '100p' }")]).unwrap();
    let curve = e.marking_curves().remove(0);
    assert_eq!(curve.kmin.bytes, 22 * 9_038);
    assert_eq!(curve.limits[0].limit_bytes, 100 * 9_038);
    assert_eq!(e.network.links[130].reserved, Bytes(0));
}

#[test]
fn every_switch_has_a_route_to_each_switch_with_hosts() {
    // Routes from eight leaves and eight spines to eight leaves.
    assert_eq!(parse(LEAF_SPINE, &[]).unwrap().network.routing.routes(), 16 * 8);
    // The count is that of hosts on both sides, not of pairs: 800, and at most 131,072 are allowed.
    let wide = [("topology.left", "400"), ("topology.right", "400")];
    assert_eq!(parse(DUMBBELL, &wide).unwrap().network.hosts, 800);
}
