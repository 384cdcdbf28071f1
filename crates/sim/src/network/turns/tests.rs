//! Tests of the turns of ports in time windows.

use shallows_core::Instant;
use shallows_scenario::{Epoch, Experiment, Link, PortKind};

use super::*;
use crate::network::division::window;
use crate::network::testing::parse;

/// Memory that all ports of a switch share.
const SHARED: &str = "kind = 'complete-sharing', pool = '1MB'";

/// Memory that is divided among the ports of a switch.
const APART: &str = "kind = 'static-partition', per_port = '100KB'";

/// Parses a scenario with this buffer and this topology.
fn network(buffer: &str, topology: &str) -> Experiment {
    let rest = "[tcp]\n[[workload]]\nkind = 'incast'\nsenders = [0]\nreceivers = 1\nsize = '1KB'\n";
    let switch = format!("[switch]\nbuffer = {{ {buffer} }}\n");
    parse(&format!("[topology]\nrate = '10Gbps'\n{topology}\n{switch}{rest}"), &[])
}

/// Returns the turns of the ports of a network.
fn turns(experiment: &Experiment) -> Turns {
    Turns::of(experiment, window(experiment).expect("each link has a delay"))
}

/// Returns a leaf-spine with three leaves, two spines and six hosts.
fn leaf_spine(buffer: &str, delays: &str) -> Experiment {
    network(buffer, &format!("kind = 'leaf-spine'\nleaves = 3\nspines = 2\nhosts_per_leaf = 2\n{delays}"))
}

/// Returns the length of a window and that of its first part, in microseconds. The length of the first part is 0 if there is no such part.
fn micros(turns: &Turns) -> (u64, u64) {
    let part = turns.steps[0].part.map_or(0, |part| part.0);
    (turns.window.0 / 1_000_000, part / 1_000_000)
}

/// Returns the numbers of the turns of the links with these names, such as `leaf0->spine1`. `turns` contains the turn of each link's port.
fn numbers(network: &Network, turns: &[Turn], names: &[&str]) -> Vec<u8> {
    let number = |name: &&str| {
        let link = network.links.iter().position(|link| link.name == *name);
        turns[link.unwrap_or_else(|| panic!("no link {name}"))].0
    };
    names.iter().map(number).collect()
}

#[test]
fn a_window_is_at_most_twice_as_long_as_the_shortest_delay_between_switches() {
    let of = |delays| micros(&turns(&leaf_spine(SHARED, delays)));
    assert_eq!(of("link_delay = '2us'\nhost_delay = '1us'"), (3, 2), "delays of hosts are 3 us");
    assert_eq!(of("link_delay = '2us'\nhost_delay = '2us'"), (4, 2));
    assert_eq!(of("link_delay = '2us'\nhost_delay = '9us'"), (4, 2));
    assert_eq!(of("link_delay = '9us'\nuplink_delay = '2us'"), (4, 2));
    let longest = turns(&leaf_spine(SHARED, "link_delay = '200us'\nhost_delay = '1ms'"));
    assert_eq!((longest.window, longest.steps[0].part), (LONGEST, Some(Duration::from_micros(200))));
}

#[test]
fn in_other_networks_all_switches_run_at_once() {
    let of = |delays| turns(&leaf_spine(SHARED, delays));
    for (turns, window) in [
        (of("link_delay = '2us'"), 2), // The delays of hosts are not longer.
        (of("link_delay = '1us'\nuplink_delay = '2us'"), 1),
        (of("link_delay = '500us'\nhost_delay = '1ms'"), 500),
        (turns(&network(SHARED, "kind = 'star'\nhosts = 2\nlink_delay = '2us'")), 2),
    ] {
        assert_eq!(micros(&turns), (window, 0));
        assert_eq!(turns.steps, [Step::whole(Turn::FIRST)]);
        assert_eq!(turns.of_links.iter().max(), Some(&Turn::FIRST));
    }
}

#[test]
fn spines_have_two_turns_because_they_have_fewer_ports() {
    let fabric = leaf_spine(SHARED, "link_delay = '2us'\nhost_delay = '9us'");
    let turns = turns(&fabric);
    let links = ["host0->leaf0", "leaf0->host0", "leaf2->spine1", "spine1->leaf2"];
    assert_eq!(numbers(&fabric.network, &turns.of_links, &links), [0, 2, 2, 1]);
    let first = Step { turn: Turn(1), part: Some(Duration::from_micros(2)) };
    assert_eq!(turns.steps, [first, Step::whole(Turn(2)), Step::whole(Turn(1))]);
}

/// Returns a network of switches named `a` to `d`. Cables connect hosts, named `h0` and so on, and switches.
fn graph(buffer: &str, hosts: u32, cables: &[[&str; 2]]) -> Experiment {
    let cables: Vec<String> = cables.iter().map(|[a, b]| format!("{{ between = ['{a}', '{b}'] }}")).collect();
    let topology = format!(
        "kind = 'graph'\nhosts = ['h{{0..{hosts}}}']\nswitches = ['a', 'b', 'c', 'd']\nlink_delay = '2us'\nhost_delay = '9us'\n\
         links = [{}]",
        cables.join(", ")
    );
    network(buffer, &topology)
}

#[test]
fn a_ring_has_two_kinds_of_switches_if_their_number_is_even() {
    let [ab, bc, cd, da, ca] = [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"], ["c", "a"]];
    let graph = |cables: &[[&str; 2]]| graph(SHARED, 2, &[&[["h*", "b"]], cables].concat());
    let ring = graph(&[ab, bc, cd, da]);
    let by_kind = |graph: &Experiment| Turns::by_kind(&graph.network);
    let turns = by_kind(&ring).expect("its number is even");
    let links = ["a->b", "b->c", "c->d", "d->a", "b->h0"];
    assert_eq!(numbers(&ring.network, &turns.of_links, &links), [1, 2, 1, 2, 2], "b has hosts");
    let row = graph(&[ab, bc, cd]);
    assert_eq!(
        numbers(&row.network, &by_kind(&row).expect("a row has two kinds").of_links, &links[..3]),
        [1, 2, 1]
    );
    assert_eq!(by_kind(&graph(&[ab, bc, ca, da])), None, "the ring has three switches");
}

#[test]
fn ports_that_share_no_memory_run_in_the_order_in_which_packets_pass_them() {
    let delays = "link_delay = '200ns'\nhost_delay = '20us'";
    let links = ["host0->leaf0", "leaf0->spine1", "spine1->leaf0", "leaf0->host0"];
    // Ports to hosts and ports to spines have pools of their own in the second network.
    for buffer in [APART, "kind = 'dynamic-threshold', alpha = 1, pool = '1MB', ports_per_pool = 2"] {
        let fabric = leaf_spine(buffer, delays);
        let along_paths = turns(&fabric);
        assert_eq!(along_paths.window, Duration::from_nanos(20_200));
        assert_eq!(along_paths.steps, [1, 2, 3].map(|turn| Step::whole(Turn(turn))));
        assert_eq!(numbers(&fabric.network, &along_paths.of_links, &links), [0, 1, 2, 3]);
    }
    let three = leaf_spine("kind = 'dynamic-threshold', alpha = 1, pool = '1MB', ports_per_pool = 3", delays);
    assert_eq!(
        turns(&three).window,
        Duration::from_nanos(400),
        "a port to a host shares memory with one to a spine"
    );
}

#[test]
fn a_window_is_at_most_as_long_as_the_shortest_delay_to_a_host_and_the_shortest_interval_of_samples() {
    let text = |rest: &str| {
        format!(
            "{rest}\n[topology]\nkind = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = '10Gbps'\n\
             link_delay = '1us'\nhost_delay = '9us'\n[switch]\nbuffer = {{ {APART} }}\n[tcp]\n[[host.group]]\n\
             name = 'near'\nmembers = '3'\ndelay = '5us'\n[[workload]]\nkind = 'incast'\nsenders = [0]\nreceivers = 1\nsize = '1KB'\n"
        )
    };
    let window = |rest: &str| micros(&turns(&parse(&text(rest), &[]))).0;
    assert_eq!(window(""), 6, "host 3 has the shortest delay");
    assert_eq!(window("stop.at = '1ms'\nmeasure = { sample_queues = '4us' }"), 4);
    let traces = "traces = [{ ports = ['leaf0->*'], every = '3us' }, { ports = ['spine0->*'] }]";
    assert_eq!(window(&format!("stop.at = '1ms'\nmeasure = {{ sample_queues = '4us', {traces} }}")), 3);
    assert_eq!(window("stop.at = '1ms'\nmeasure = { sample_queues = '1us' }"), 2, "two kinds of switches");
}

#[test]
fn a_single_switch_whose_ports_share_memory_is_between_its_neighbours() {
    // Only the ports of leaf 0 share memory: it has turn 3, after spines have sent to it, and before they send its packets to other leaves.
    let mut network = leaf_spine(APART, "").network.clone();
    let share = |network: &mut Network, leaf: &str| {
        network.links.iter_mut().filter(|link| link.from_name() == leaf).for_each(|link| link.pool = 0);
        turns_along_paths(network)
    };
    let links =
        ["leaf0->spine1", "leaf0->host0", "leaf1->spine0", "spine0->leaf0", "spine0->leaf1", "leaf1->host2"];
    let turns = share(&mut network, "leaf0").expect("packets pass each leaf once");
    assert_eq!(numbers(&network, &turns, &links), [3, 3, 1, 2, 4, 5]);
    assert_eq!(share(&mut network, "leaf1"), None, "leaves 0 and 1 send to each other");
}

#[test]
fn there_are_at_most_255_turns() {
    // A packet that passes a row of switches has a turn at each of them.
    let row = |switches: usize| {
        let cables: String =
            (1..switches).map(|next| format!(", {{ between = ['s{}', 's{next}'] }}", next - 1)).collect();
        let last = switches - 1;
        let topology = format!(
            "kind = 'graph'\nhosts = ['h0', 'h1']\nswitches = ['s{{0..{switches}}}']\nlink_delay = '2us'\nhost_delay = '9us'\n\
             links = [{{ between = ['h0', 's0'] }}, {{ between = ['h1', 's{last}'] }}{cables}]"
        );
        turns(&network(APART, &topology)).steps.len()
    };
    assert_eq!([254, 255, 256].map(row), [254, 255, 3], "the last row has two kinds of switches");
}

#[test]
fn ports_of_a_fat_tree_have_five_turns() {
    let tree = network(APART, "kind = 'fat-tree'\nk = 4\nlink_delay = '1us'\nhost_delay = '9us'");
    let along_paths = turns(&tree);
    let kind = |link: &Link| match link.kind {
        PortKind::Nic => 0,
        PortKind::Up => 1,
        PortKind::CoreUp => 2,
        PortKind::CoreDown => 3,
        PortKind::Down => 4,
        PortKind::ToHost => 5,
        other => panic!("{other:?}"),
    };
    let expected: Vec<Turn> = tree.network.links.iter().map(kind).map(Turn).collect();
    assert_eq!((along_paths.of_links, along_paths.window), (expected, Duration::from_micros(10)));
}

#[test]
fn ports_in_a_circle_have_no_turns_along_paths() {
    let cables = [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"]];
    let circle = |hosts: &[[&str; 2]]| graph(APART, 4, &[hosts, &cables].concat());
    // Some packets pass a->b and b->c, others b->c and c->d, and so on.
    let each = circle(&[["h0", "a"], ["h1", "b"], ["h2", "c"], ["h3", "d"]]);
    assert_eq!(micros(&turns(&each)), (4, 2), "two kinds of switches");
    let one = circle(&[["h*", "a"]]);
    assert_eq!(micros(&turns(&one)), (11, 0), "all packets pass only a");
    assert_eq!(numbers(&one.network, &turns(&one).of_links, &["h3->a", "a->h3"]), [0, 1]);
}

#[test]
fn turns_along_paths_require_routes_that_do_not_change() {
    let fabric = leaf_spine(APART, "link_delay = '200ns'\nhost_delay = '20us'");
    let keeps = fabric.network.links_change(Instant(1), Vec::new());
    let changes = Epoch { at: Instant(2), routing: fabric.network.routing_without(&[]), ..keeps.clone() };
    for (epochs, window) in [(vec![], 20_200), (vec![keeps.clone()], 20_200), (vec![keeps, changes], 400)] {
        let fabric = fabric.clone().with_epochs(epochs).expect("no link changes");
        assert_eq!(turns(&fabric).window, Duration::from_nanos(window));
    }
}
