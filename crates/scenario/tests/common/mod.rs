//! Scenarios of these tests, and functions to load them.

use shallows_scenario::{Experiment, ScenarioError};

pub(crate) const BCC_F2: &str = include_str!("../bcc-f2.toml");
pub(crate) const LEAF_SPINE: &str = include_str!("../leaf-spine.toml");
pub(crate) const DUMBBELL: &str = include_str!("../dumbbell.toml");
pub(crate) const QUERIES: &str = include_str!("../queries.toml");

/// Loads `text` as `s.toml`, changed by `sets`.
pub(crate) fn parse(text: &str, sets: &[(&str, &str)]) -> Result<Experiment, ScenarioError> {
    let sets: Vec<(String, String)> =
        sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    shallows_scenario::parse(text, "s.toml", &read, &sets, None)
}

/// Returns the key and the message of the only problem of `text`, changed by `sets`.
pub(crate) fn refusal(text: &str, sets: &[(&str, &str)]) -> (String, String) {
    let error = parse(text, sets).expect_err("refused");
    assert_eq!(error.problems.len(), 1, "{error}");
    (error.problems[0].key.clone(), error.problems[0].message.clone())
}

/// Returns the whole error message for `text` changed by `sets`.
pub(crate) fn message(text: &str, sets: &[(&str, &str)]) -> String {
    parse(text, sets).err().unwrap_or_else(|| panic!("accepted: {sets:?}")).to_string()
}

/// Returns the files that these scenarios name.
pub(crate) fn read(path: &str) -> Result<String, String> {
    let text = match path {
        "flows.csv" => include_str!("../flows.csv"),
        "late.csv" => include_str!("../late.csv"),
        "chain.csv" => "start_ns,source,destination,bytes,on_received,after\n0,0,1,9,go,\n0,1,0,9,,go\n",
        "classes.csv" => "start_ns,source,destination,bytes,class\n0,0,1,9,3\n0,0,1,9,4\n",
        "sizes.cdf" => include_str!("../sizes.cdf"),
        // With a byte-order mark, as spreadsheets write it.
        "marked.csv" => "\u{feff}start_ns,source,destination,bytes\n0,0,1,9\n",
        _ => return Err("there is none".to_owned()),
    };
    Ok(text.to_owned())
}
