//! Tests of graphs: names, routes, delays and loads of irregular networks, and rejected graphs.

use crate::common::{QUERIES, parse};
use shallows_core::packet::HostId;
use shallows_core::{Duration, Rate};
use shallows_scenario::{Network, PortKind};

const REST: &str = "switch.buffer = { kind = 'static-partition', per_port = '9p' }\nworkload = [{ kind = 'incast', senders = 0, \
                    receivers = 1, size = '1KB' }]";

fn graph(hosts: &str, switches: &str, links: &str) -> Result<Network, String> {
    let text = format!(
        "topology = {{ kind = 'graph', rate = '1Gbps', hosts = {hosts}, switches = {switches}, links = [{links}] }}\n{REST}"
    );
    parse(&text, &[]).map(|experiment| experiment.network.clone()).map_err(|error| {
        let problem = &error.problems[0];
        format!("{}: {}", problem.key, problem.message)
    })
}

fn number(network: &Network, name: &str) -> u32 {
    network.links.iter().position(|link| link.name == name).unwrap_or_else(|| panic!("no {name}")) as u32
}

fn names(network: &Network, node: u32, host: u32) -> Vec<&str> {
    let links = network.routing.next_hops(node - network.hosts, HostId(host));
    links.iter().map(|&link| network.links[link as usize].name.as_str()).collect()
}

#[test]
fn hosts_are_numbered_as_named_and_every_cable_has_two_named_links() {
    let network = parse(QUERIES, &[]).unwrap().network.clone();
    assert_eq!((network.hosts, network.switches, network.links.len()), (8, 3, 2 * (8 + 3)));
    for (host, name) in ["s1-0", "s1-1", "s1-2", "s2-0", "s2-1", "s2-2", "r1", "r2"].iter().enumerate() {
        assert!(
            network.links[host].name.starts_with(&format!("{name}->"))
                && network.links[host].from.0 == host as u32
        );
    }
    let link = |name: &str| &network.links[number(&network, name) as usize];
    for name in ["t1->t2", "t1->t2#2", "t2->t1", "t2->t1#2"] {
        assert_eq!((link(name).rate, link(name).kind), (Rate::from_gbps(10), PortKind::Trunk));
    }
    assert_eq!(link("t2->t3").delay, Duration::from_micros(2), "both directions alike");
    assert_eq!((link("t3->r1").kind, link("r1->t3").kind), (PortKind::ToHost, PortKind::Nic));
}

#[test]
fn each_link_knows_the_other_direction_of_its_cable() {
    let network = parse(QUERIES, &[]).unwrap().network.clone();
    for (number, link) in network.links.iter().enumerate() {
        let back = &network.links[link.reverse as usize];
        assert_eq!((back.from, back.to, back.reverse), (link.to, link.from, number as u32), "{}", link.name);
    }
    // Each of several parallel cables has its own pair of links.
    let reverse = |name| network.links[number(&network, name) as usize].reverse;
    assert_eq!(
        [reverse("t1->t2"), reverse("t1->t2#2")],
        ["t2->t1", "t2->t1#2"].map(|name| number(&network, name))
    );
}

#[test]
fn a_range_of_names_is_linked_as_a_whole_or_not_at_all() {
    let links = |range: &str| format!("{{ between = ['{range}', 's0'] }}, {{ between = ['h4', 's0'] }}");
    let network = graph("['h{0..5}']", "['s0']", &links("h{0..4}")).unwrap();
    // Hosts are the nodes 0 to 4; the switch is node 5.
    let ends: Vec<[u32; 2]> = network.links[..5].iter().map(|link| [link.from.0, link.to.0]).collect();
    assert_eq!(ends, [[0, 5], [1, 5], [2, 5], [3, 5], [4, 5]]);
    let refused = graph("['h{0..5}']", "['s0']", &links("h{0..6}")).unwrap_err();
    assert_eq!(
        refused,
        "topology.links[0].between[0]: no node is named \"h{0..6}\"; use the name of a node, such as \"s0\""
    );
}

#[test]
fn routes_are_shortest_and_parallel_links_share() {
    let network = parse(QUERIES, &[]).unwrap().network.clone();
    // Node 8 is t1, the first switch; host 6 is r1 at t3.
    assert_eq!(names(&network, 8, 6), ["t1->t2", "t1->t2#2"]);
    assert_eq!(names(&network, 9, 6), ["t2->t3"]);
    assert_eq!(names(&network, 10, 0), ["t3->t2"]);
    // A ring of four switches: the shorter way round, and both ways if they have the same length.
    let ring = "{ between = ['a', 's0'] }, { between = ['b', 's2'] }, { between = ['c', 's3'] }, \
                { between = ['s0', 's1'] }, { between = ['s1', 's2'] }, { between = ['s2', 's3'] }, { between = ['s3', 's0'] }";
    let network = graph("['a', 'b', 'c']", "['s{0..4}']", ring).unwrap();
    assert_eq!(names(&network, 3, 1), ["s0->s1", "s0->s3"], "two links either way");
    assert_eq!(names(&network, 3, 2), ["s0->s3"], "one link against three");
}

#[test]
fn the_base_round_trip_is_that_of_the_longest_path() {
    // From s1 over 10, 10, 2 and 5 us to r: 27 us one way.
    assert_eq!(parse(QUERIES, &[]).unwrap().network.base_rtt(), Duration::from_micros(60));
    // Three trunks in a row, which no regular topology has: 1 + 3 · 1 + 1 us.
    let line = "{ between = ['a', 's0'] }, { between = ['b', 's3'] }, { between = ['s0', 's1'] }, \
                { between = ['s1', 's2'] }, { between = ['s2', 's3'] }";
    let network = graph("['a', 'b']", "['s{0..4}']", line).unwrap();
    assert_eq!(network.base_rtt(), Duration::from_micros(10));
    // Two hosts of one switch are farther from each other than from the third host.
    let fork =
        "{ between = ['a*', 's0'], delay = '50us' }, { between = ['b', 's1'] }, { between = ['s0', 's1'] }";
    let network = graph("['a{0..2}', 'b']", "['s{0..2}']", fork).unwrap();
    assert_eq!(network.base_rtt(), Duration::from_micros(200));
    // In a triangle each side is a shortest path, and no path over two sides is: 1 + 100 + 1 us, not 1 + 100 + 1 + 1.
    let triangle = "{ between = ['a', 's0'] }, { between = ['b', 's1'] }, { between = ['c', 's2'] }, \
                    { between = ['s0', 's1'], delay = '100us' }, { between = ['s1', 's2'] }, { between = ['s2', 's0'] }";
    let network = graph("['a', 'b', 'c']", "['s{0..3}']", triangle).unwrap();
    assert_eq!(network.base_rtt(), Duration::from_micros(204));
}

#[test]
fn a_load_is_spread_over_all_shortest_paths() {
    // Datagrams from each s1 to each r: 6 pairs. t1->t2 carries half of all on each cable, t2->t3 all of it.
    let text = QUERIES.split("[[workload]]").next().unwrap();
    let udp = |rate: &str| {
        format!(
            "{text}[[workload]]\nkind = 'udp'\nsenders = 's1-*'\nreceivers = 'r*'\n\
             pattern = {{ kind = 'constant', rate = '{rate}' }}"
        )
    };
    let rates = [("topology.links.3.rate", "100Mbps"), ("topology.links.4.rate", "100Mbps")];
    // 6 · 50 Mb/s over two cables of 100 Mb/s: each is offered 1.5 times its rate.
    let error = parse(&udp("50Mbps"), &rates).unwrap_err().to_string();
    assert!(error.contains("the link t1->t2 would carry 1.5000 times its rate of 100Mbps"), "{error}");
    assert!(parse(&udp("33Mbps"), &rates).is_ok());
    // 6 · 50 Mb/s over 200 Mb/s.
    let error = parse(&udp("50Mbps"), &[("topology.links.5.rate", "200Mbps")]).unwrap_err().to_string();
    assert!(error.contains("the link t2->t3 would carry 1.5000 times its rate of 200Mbps"), "{error}");
}

#[test]
fn more_routes_than_any_network_has_are_refused_before_anything_is_looked_for() {
    // 2¹⁷ hosts and 2¹⁰ switches are the maximum; there is only one cable.
    let told = |switches: u32| {
        let switches = format!("['s{{0..{switches}}}']");
        graph("['h{0..131072}']", &switches, "{ between = ['h0', 's0'] }").err().unwrap_or_default()
    };
    assert!(!told(1_024).contains("hosts times switches"), "{}", told(1_024));
    assert_eq!(
        told(1_025),
        "topology.hosts: hosts must be at most 131072, and hosts times switches at most 134217728, got 131072 hosts \
         and 1025 switches"
    );
}

#[test]
fn graphs_that_lead_nowhere_are_refused_with_the_remedy() {
    let two = "{ between = ['a', 's0'] }, { between = ['b', 's1'] }";
    for (hosts, switches, links, expected) in [
        ("['a']", "['s0']", two, "topology.hosts: must name at least 2 hosts, got 1"),
        ("['a', 'b']", "[]", two, "topology.switches: must name at least 1 switch, got an empty list"),
        ("['a', 'a']", "['s0']", two, "topology.hosts: each node must have a unique name, got \"a\" twice"),
        ("['a', 'b']", "['a']", two, "topology.switches: each node must have a unique name, got \"a\" twice"),
        (
            "['a', '3']",
            "['s0']",
            two,
            "topology.hosts[1]: must be a name of letters, digits, \"-\", \"_\" and \".\" with at least one \
             character that is not a digit, got \"3\"",
        ),
        (
            "['a', 'b']",
            "['s{0..2}']",
            two,
            "topology.links: no path connects the switches \"s0\" and \"s1\"; add a link between these parts of the \
             network",
        ),
        (
            "['a', 'b']",
            "['s0']",
            two,
            "topology.links[1].between[1]: no node is named \"s1\"; use the name of a node, such as \"s0\"",
        ),
        (
            "['a', 'b']",
            "['s0']",
            "{ between = ['a', 's0'] }",
            "topology.links: the host \"b\" must have exactly one link, got 0; link the host to a switch",
        ),
        (
            "['a', 'b']",
            "['s0']",
            "{ between = ['*', 's0'] }",
            "topology.links[0].between: a link must connect two different nodes, got the same node twice",
        ),
        (
            "['a', 'b']",
            "['s0']",
            "{ between = ['a', 's0'] }, { between = ['a', 's0'] }, { between = ['b', 's0'] }",
            "topology.links: the host \"a\" must have exactly one link, got 2",
        ),
        (
            "['a', 'b']",
            "['s0']",
            "{ between = ['a', 'b'] }",
            "topology.links[0].between: a link must not connect two hosts; link each host to a switch",
        ),
        ("['a{0..100000}', 'b{0..100000}']", "['s0']", two, "topology.hosts: must have at most 131072 names"),
        (
            "['a', 'b']",
            "['s{0..5000}']",
            "{ between = ['a', 's0'] }, { between = ['s0*', 's1*'] }, { between = ['s*', 's4999'] }, { between = \
             ['s*', 's*'] }",
            "topology.links[2].between: a link must connect two different nodes, got the same node twice",
        ),
    ] {
        assert_eq!(graph(hosts, switches, links).err().as_deref(), Some(expected), "{hosts} {switches}");
    }
}

#[test]
fn a_load_of_uplinks_has_no_meaning_in_a_graph() {
    let text = QUERIES.split("[[workload]]").next().unwrap();
    let text =
        format!("{text}[[workload]]\nkind = 'poisson'\nload = 0.1\nof = 'uplinks'\nsizes = 'web-search'");
    let error = parse(&text, &[]).unwrap_err().to_string();
    assert!(error.contains("workload[0].of: at least one flow must cross the uplinks"), "{error}");
}

#[test]
fn a_link_between_switches_that_are_as_far_carries_nothing() {
    // Three switches in a triangle. All of h1's 900 Mb/s go from s1 to s0, and nothing goes through s2.
    let told = |rate: &str| {
        let links = format!(
            "{{ between = ['h0', 's0'] }}, {{ between = ['h1', 's1'] }}, {{ between = ['h2', 's2'] }}, \
             {{ between = ['s0', 's1'], rate = '{rate}' }}, {{ between = ['s1', 's2'] }}, {{ between = ['s0', 's2'] }}"
        );
        let topology = format!(
            "{{ kind = 'graph', rate = '1Gbps', hosts = ['h0', 'h1', 'h2'], switches = ['s0', 's1', 's2'], links = \
             [{links}] }}"
        );
        let text = "stop.at = '1ms'\nswitch.buffer = { kind = 'static-partition', per_port = '9p' }\nworkload = [{ kind = 'udp', \
                    senders = 1, receivers = 0, pattern = { kind = 'constant', rate = '900Mbps' } }]";
        parse(&format!("topology = {topology}\n{text}"), &[])
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    assert_eq!(told("1Gbps"), "");
    assert!(
        told("600Mbps").contains("the link s1->s0 would carry 1.5000 times its rate of 600Mbps"),
        "{}",
        told("600Mbps")
    );
}
