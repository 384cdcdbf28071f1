//! All results of a run, for comparison with those of another run.

use shallows_scenario::Experiment;
use shallows_sim::{Division, Execution, Simulation};

use super::kept::Files;

/// All results of a run, by name: its captures, its tables and its summary.
pub(crate) type Left = Vec<(String, Vec<u8>)>;

pub(crate) fn finished(experiment: Experiment, threads: u32, step: u64) -> Left {
    let mut files = Files::default();
    let simulation = Simulation::capturing(experiment, threads, |name| files.open(name));
    left(simulation.expect("memory takes it"), step, &files)
}

/// Returns the results of a run with this execution.
pub(crate) fn executed(
    experiment: &Experiment,
    division: Option<Division>,
    execution: Execution,
    step: u64,
) -> Left {
    let mut files = Files::default();
    let open = |name: &str| files.open(name);
    let simulation = Simulation::executed(experiment.clone(), division, execution, open);
    left(simulation.expect("memory takes it"), step, &files)
}

/// Returns the results of a run in the partitions of this `division`.
pub(crate) fn in_partitions(experiment: &Experiment, division: Division, step: u64) -> Left {
    let mut files = Files::default();
    let simulation = Simulation::of_partitions(experiment.clone(), division, |name| files.open(name));
    left(simulation.expect("memory takes it"), step, &files)
}

fn left(mut simulation: Simulation, step: u64, files: &Files) -> Left {
    while !simulation.advance(step).done {}
    simulation.flush_captures().expect("memory takes it");
    let report = simulation.finish();
    let table = |name: &str| {
        let mut table = Vec::new();
        report.write_table(name, &mut table).expect("memory can be written to");
        (name.to_owned(), table)
    };
    let summary = ("summary".to_owned(), report.summary().to_string().into_bytes());
    let tables = report.tables().into_iter().map(table).chain([summary]);
    files.contents().into_iter().chain(tables).collect()
}

pub(crate) fn assert_alike(name: &str, alone: &Left, many: &Left) {
    assert_eq!(alone.len(), many.len());
    for (one, many) in alone.iter().zip(many) {
        assert_eq!(one.0, many.0);
        if one.0 == "summary" {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(text(&one.1), text(&many.1), "{name}");
        }
        assert!(one.1 == many.1, "{name}: {} differs", one.0);
    }
}
