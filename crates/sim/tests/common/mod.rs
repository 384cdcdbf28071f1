//! How the tests of this folder run a scenario.

use shallows_scenario::Experiment;
use shallows_sim::{Report, Simulation};

/// The experiment that `text` describes, changed by `sets`.
pub(crate) fn parse(text: &str, sets: &[(&str, &str)]) -> Experiment {
    let sets: Vec<(String, String)> =
        sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    shallows_scenario::parse(text, "test.toml", &no_files, &sets, None)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// For scenarios that name no file.
pub(crate) fn no_files(path: &str) -> Result<String, String> {
    Err(format!("nobody expects the file {path}"))
}

/// Report of the run of `text`, changed by `sets`; conservation laws are checked at its end.
#[allow(dead_code, reason = "some tests only parse")]
pub(crate) fn run(text: &str, sets: &[(&str, &str)]) -> Report {
    let mut simulation = Simulation::new(parse(text, sets));
    simulation.advance(u64::MAX);
    simulation.finish()
}
