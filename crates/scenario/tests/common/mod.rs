//! The scenarios of these tests, and how they are loaded.
#![allow(dead_code)] // No test uses all of it.

use std::path::Path;

use shallows_scenario::{Experiment, ScenarioError};

pub(crate) const BCC_F2: &str = include_str!("../bcc-f2.toml");
#[allow(dead_code, reason = "each test file takes what it needs")]
pub(crate) const LEAF_SPINE: &str = include_str!("../leaf-spine.toml");
#[allow(dead_code, reason = "each test file takes what it needs")]
pub(crate) const DUMBBELL: &str = include_str!("../dumbbell.toml");
pub(crate) const QUERIES: &str = include_str!("../queries.toml");

/// Load `text` as `s.toml`, changed by `sets`.
pub(crate) fn load(text: &str, sets: &[(&str, &str)]) -> Result<Experiment, ScenarioError> {
    let sets: Vec<(String, String)> =
        sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let base = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"));
    shallows_scenario::load(text, "s.toml", base, &sets, None)
}
