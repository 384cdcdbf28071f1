//! Functions that run a scenario in the tests of this folder.

pub(crate) mod kept;
pub(crate) mod left;
pub(crate) mod rows;

use shallows_scenario::Experiment;
use shallows_sim::{Execution, Report, Simulation, nowhere};

/// Parses `text` with the keys in `sets` changed.
pub(crate) fn parse(text: &str, sets: &[(&str, &str)]) -> Experiment {
    let sets: Vec<(String, String)> =
        sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    shallows_scenario::parse(text, "test.toml", &no_files, &sets, None)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Reader of files for scenarios that name none.
pub(crate) fn no_files(path: &str) -> Result<String, String> {
    Err(format!("nobody expects the file {path}"))
}

/// Returns the bytes of all tables of a report, and of its summary.
pub(crate) fn results(report: &Report) -> Vec<Vec<u8>> {
    let table = |name| {
        let mut table = Vec::new();
        report.write_table(name, &mut table).expect("memory can be written to");
        table
    };
    report.tables().into_iter().map(table).chain([report.summary().to_string().into_bytes()]).collect()
}

/// Runs `text` with the keys in `sets` changed and returns the report; the end of the run checks the conservation laws.
pub(crate) fn run(text: &str, sets: &[(&str, &str)]) -> Report {
    let mut simulation = Simulation::new(parse(text, sets));
    simulation.advance(u64::MAX);
    simulation.finish()
}

/// Runs the experiment to its end with this execution and returns the report.
pub(crate) fn run_by(execution: Execution, experiment: &Experiment) -> Report {
    let simulation = Simulation::executed(experiment.clone(), None, execution, nowhere);
    let mut simulation = simulation.expect("nowhere takes everything");
    simulation.advance(u64::MAX);
    simulation.finish()
}

/// Checks how many packets a port has received and sent when the run ends, by events and by windows.
pub(crate) fn assert_forwarded(experiment: &Experiment, port: &str, received: u64, sent: u64, case: &str) {
    for execution in [Execution::Events, Execution::Windows] {
        let report = run_by(execution, experiment);
        let port = report.port(port).expect("it is there");
        assert_eq!((port.received, port.sent), (received, sent), "{execution:?} {case}");
    }
}
