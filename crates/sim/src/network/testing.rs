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

const STAR: &str = r#"
    [topology]
    kind = "star"
    hosts = 3
    rate = "10Gbps"

    [switch]
    buffer = { kind = "complete-sharing", pool = "1MB" }
"#;
