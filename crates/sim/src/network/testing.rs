//! Scenarios for unit tests of this crate.

use shallows_scenario::Experiment;

/// Parses a scenario, and sets each key in `sets` to the given value. The scenario must not name other files.
pub(crate) fn parse(text: &str, sets: &[(&str, &str)]) -> Experiment {
    let no_files = |_: &str| unreachable!("it names no file");
    let sets: Vec<(String, String)> =
        sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    shallows_scenario::parse(text, "test.toml", &no_files, &sets, None)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Returns an experiment with three hosts that have 10 Gb/s links to one switch. `rest` contains further tables of the scenario.
pub(crate) fn star(rest: &str) -> Experiment {
    parse(&[STAR, rest].concat(), &[])
}

/// Returns an experiment on a leaf-spine with six hosts, whose uplinks have a delay of 50 us, and 300 flows of 20 KB. Each key in `sets` has
/// the given value; one of them must be the load.
pub(crate) fn fabric(sets: &[(&str, &str)]) -> Experiment {
    parse(FABRIC, sets)
}

const STAR: &str = r#"
    [topology]
    kind = "star"
    hosts = 3
    rate = "10Gbps"

    [switch]
    buffer = { kind = "complete-sharing", pool = "1MB" }
"#;

const FABRIC: &str = r#"
    [topology]
    kind = "leaf-spine"
    leaves = 2
    spines = 2
    hosts_per_leaf = 3
    rate = "10Gbps"
    uplink_delay = "50us"

    [switch]
    buffer = { kind = "static-partition", per_port = "100KB" }

    [tcp]

    [[workload]]
    kind = "poisson"
    sizes = { kind = "fixed", size = "20KB" }
    flows = 300
"#;
