//! Invalid topologies: networks with too many routes, and link overrides without a link or an effect, are rejected.

use crate::common::{LEAF_SPINE, message};

#[test]
fn a_link_override_names_two_neighbours() {
    let found = message(LEAF_SPINE, &[("topology.links.0.between", "['leaf0', 'leaf1']")]);
    assert_eq!(
        found,
        "--set topology.links.0.between=['leaf0', 'leaf1']: topology.links[0].between: must name two nodes that a \
         link connects, such as [\"leaf7\", \"spine7\"]"
    );
}

#[test]
fn a_link_override_changes_something_once() {
    let links = |list: &str| message(LEAF_SPINE, &[("topology.links", list)]);
    assert!(
        links("[{ between = ['leaf0', 'spine1'] }]")
            .ends_with("topology.links[0]: must have a rate, a delay or both")
    );
    // With its ends exchanged it is the same link.
    let twice = "[{ between = ['leaf0', 'spine1'], rate = '90Gbps' }, { between = ['spine1', 'leaf0'], delay = '1us' }]";
    assert!(links(twice).ends_with(
        "topology.links[1].between: topology.links[0] already changes this link; use one entry for each link"
    ));
}

#[test]
fn a_fabric_with_more_routes_than_memory_holds_is_refused() {
    // The search for routes starts at each leaf and follows every cable between switches: 1,000 · 1,000,000 steps.
    let found = message(
        LEAF_SPINE,
        &[("topology.leaves", "1000"), ("topology.spines", "1000"), ("topology.hosts_per_leaf", "2")],
    );
    assert!(
        found.contains(
            "this number times the number of leaves at most 134217728, got 1000000 links and 1000 leaves"
        ),
        "{found}"
    );
}
