//! Scenarios for tests of this crate's modules.

use shallows_scenario::Experiment;

/// The experiment that `text` describes, changed by `sets`. It names no file.
pub(crate) fn parse(text: &str, sets: &[(&str, &str)]) -> Experiment {
    let no_files = |_: &str| unreachable!("it names no file");
    let sets: Vec<(String, String)> =
        sets.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    shallows_scenario::parse(text, "test.toml", &no_files, &sets, None)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Three hosts with links of 10 Gb/s at one switch, and the tables of `rest`.
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
