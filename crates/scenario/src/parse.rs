//! Turns the text of a scenario into an experiment: parses it, applies `--set`, fills in every default, and checks it once.

use shallows_core::{Duration, Instant};
use toml::Value;

use crate::check::{Checker, Reader};
use crate::document::Document;
use crate::error::ScenarioError;
use crate::experiment::{Experiment, HostConfigs, Setup, Stop};
use crate::own_roce::OwnRoces;
use crate::own_tcp::OwnTcps;
use crate::resolve::resolve;
use crate::resolved::Resolved;
use crate::spec::{self, Roce, Spec};
use crate::workload::Generator;
use crate::{
    agreement, captures, flow_traces, groups, memory, ports, roce, roce_groups, tagged, tcp, timing,
    topology, workload,
};

/// Maximum number of workloads, which are numbered with 16 bits.
const MAX_WORKLOADS: usize = 1_000;

/// Parses a scenario and checks it.
///
/// `file` is the name of the scenario in messages, and `reader` reads the files that the scenario names. Each override is a pair of a key,
/// such as `workload.0.load`, and a value in TOML, in which a bare word is a string. `seed` replaces the scenario's own seed.
///
/// # Errors
///
/// Returns every problem of the scenario with its location, the value found and the allowed values.
pub fn parse(
    text: &str,
    file: &str,
    reader: &Reader<'_>,
    overrides: &[(String, String)],
    seed: Option<u64>,
) -> Result<Experiment, ScenarioError> {
    let document = Document::parse(text, file, overrides).map_err(|problems| ScenarioError { problems })?;
    let spec: Spec = tagged::read(Value::Table(document.table.clone()))
        .map_err(|(path, message)| ScenarioError { problems: vec![document.problem(&path, message)] })?;
    let resolved = resolve(&spec, &document.table, file, seed)
        .map_err(|(path, message)| ScenarioError { problems: vec![document.problem(&path, message)] })?;
    if let Some(seed) = seed.filter(|&seed| seed > spec::MAX_SEED) {
        let message = format!("the seed must be at most {}, got {seed}", spec::MAX_SEED);
        return Err(ScenarioError { problems: vec![document.overall(message)] });
    }
    let own = OwnTcps::read(&resolved, &document.table)
        .map_err(|(path, message)| ScenarioError { problems: vec![document.problem(&path, message)] })?;
    let spelled_out = |given: &Roce| roce::spelled_out(given, roce::smallest_mtu(&resolved));
    let own_roce = OwnRoces::read(&resolved, &document.table, spelled_out)
        .map_err(|(path, message)| ScenarioError { problems: vec![document.problem(&path, message)] })?;
    let mut checker = Checker::new(&document, reader);
    check_name(resolved.name.as_deref().unwrap_or_default(), &mut checker);
    let experiment = check(resolved, &own, own_roce, &mut checker);
    let problems = checker.problems;
    match experiment {
        Some(mut experiment) if problems.is_empty() => {
            experiment.setup.notes.extend(document.notes);
            Ok(experiment)
        }
        _ => Err(ScenarioError { problems }),
    }
}

/// Returns the JSON Schema of a scenario file.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Spec).to_value()
}

/// Checks the scenario and builds the experiment. Returns `None` if a problem prevents building it; all problems are recorded in `checker`.
fn check(spec: Resolved, own: &OwnTcps, own_roce: OwnRoces, checker: &mut Checker<'_>) -> Option<Experiment> {
    check_stop(&spec, checker);
    check_measure(&spec.measure, checker);
    let groups = groups::build(&spec, checker);
    let tcp = tcp::check_all(&spec, checker) && groups::check_mtu(&spec, checker);
    let agreements = tcp.then(|| agreement::agreements(&spec, &groups, own, checker));
    let count = spec.workload.len();
    let some = checker.require(count > 0, "workload", || {
        "must have at least one workload; add a [[workload]] of kind \"poisson\", \"long-lived\", \"incast\", \
         \"partition-aggregate\", \"block-transfer\", \"trace\", \"udp\" or \"ping\"".to_owned()
    });
    let few = checker.require(count <= MAX_WORKLOADS, "workload", || {
        format!("must have at most {MAX_WORKLOADS} workloads, got {count}")
    });
    let network = topology::build::build(&spec, spec.seed, checker);
    let (mut agreements, mut network) = agreements.zip(network).filter(|_| some && few)?;
    let (own_roce, roce_notes) = roce::in_network(&spec, own_roce, &network);
    let spec = own_roce.fill_in(spec);
    let queue_pairs = roce::build(&spec, &own_roce, &network, checker);
    agreement::add_queue_pairs(&mut agreements, groups.len(), queue_pairs);
    let hosts = HostConfigs { groups, agreements, kinds: own_roce.kinds(&spec, &own.of_workloads) };
    let traffic = workload::build::build(&spec, &own_roce, &network, &hosts, checker);
    if checker.problems.is_empty() {
        let pairs = traffic.generators.iter().zip(&traffic.pairs);
        roce_groups::check(&spec, &own_roce, &network.groups, pairs, checker);
    }
    let port_traces = ports::traces(&spec.measure.traces, &network, checker);
    timing::check(&spec, &traffic, checker);
    let flows = traffic.generators.iter().map(Generator::expected_flows).sum();
    let flow_traces = flow_traces::build(&spec, flows, checker);
    let captures = captures::build(&spec.measure.captures, &network, checker);
    let mut notes = std::mem::take(&mut network.notes);
    notes.extend(memory::cell_note(&spec));
    notes.extend(spec.tcp.preset_note.clone());
    notes.extend(groups::preset_notes(&spec.host.group));
    notes.extend(own.preset_notes());
    notes.extend(roce_notes);
    let setup = Setup {
        name: spec.name.clone().unwrap_or_default(),
        seed: spec.seed,
        network,
        hosts,
        connections: traffic.connections,
        classes: traffic.classes,
        pairs: traffic.pairs,
        datagram_sources: traffic.datagram_sources,
        probes: traffic.probes,
        stop: Stop { at: spec.stop.at.map(|at| Instant(at.0.0)), on_completion: !traffic.unbounded },
        fct: spec.measure.fct,
        bins: spec.measure.bins.iter().map(|edge| edge.0).collect(),
        warm_up: spec.measure.warm_up.0,
        port_traces,
        flow_traces,
        captures,
        notes,
        sample_queues: spec.measure.sample_queues.map(|interval| interval.0),
    };
    Some(Experiment {
        setup,
        inputs: std::mem::take(&mut checker.inputs),
        generators: traffic.generators,
        resolved: spec.with_payloads(&traffic.payloads),
    })
}

/// Checks the name of the scenario, which becomes the name of a results folder.
fn check_name(name: &str, checker: &mut Checker<'_>) {
    let empty = name.trim().is_empty() || name == "." || name == "..";
    checker.require(!empty, "name", || format!("must not be empty, \".\" or \"..\", got {name:?}"));
    let bad = name.chars().find(|&character| character.is_control() || matches!(character, '/' | '\\'));
    checker.require(bad.is_none(), "name", || {
        format!("must not contain control characters or path separators, got {name:?}")
    });
}

fn check_stop(spec: &Resolved, checker: &mut Checker<'_>) {
    let Some(at) = spec.stop.at else { return };
    checker.require(at.0 > Duration::ZERO, "stop.at", || "must be above 0s, got 0s".to_owned());
    checker.require(spec.measure.warm_up < at, "measure.warm_up", || {
        format!("must be before the end of the run, stop.at = {at}, got {}", spec.measure.warm_up)
    });
}

fn check_measure(measure: &spec::Measure, checker: &mut Checker<'_>) {
    checker.require(measure.bins.is_sorted_by(|a, b| a < b), "measure.bins", || {
        "the edges must be in ascending order, such as [\"100KB\", \"10MB\"]".to_owned()
    });
    checker.require(
        measure.sample_queues.is_none_or(|every| every.0 >= ports::SHORTEST_INTERVAL),
        "measure.sample_queues",
        || "must be at least 1ns".to_owned(),
    );
}
