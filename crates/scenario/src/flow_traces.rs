//! Checks the tables `[[measure.flow_traces]]`: which flows are recorded.

use crate::check::Checker;
use crate::experiment::{FlowChoice, FlowTrace};
use crate::ports::SHORTEST_INTERVAL;
use crate::quantity::Every;
use crate::resolved::Resolved;
use crate::spec::{self, Workload};

/// Checks and returns the flow traces that the scenario requests. `flows` is the total number of flows, or `None` if it is unknown.
pub(crate) fn build(spec: &Resolved, flows: Option<u64>, checker: &mut Checker<'_>) -> Vec<FlowTrace> {
    // The total is only meaningful if no workload was rejected.
    let flows = flows.filter(|_| checker.problems.is_empty());
    let mut made = Vec::new();
    for (entry, trace) in spec.measure.flow_traces.iter().enumerate() {
        let key = format!("measure.flow_traces[{entry}]");
        let every = match trace.every {
            Every::Event => None,
            Every::Interval(time) => Some(time),
        };
        checker.require(
            every.is_none_or(|every| every >= SHORTEST_INTERVAL),
            &format!("{key}.every"),
            || format!("must be at least 1ns or \"event\", got {}", trace.every),
        );
        check_numbers(&trace.flows, &format!("{key}.flows"), flows, checker);
        made.extend(choice(trace, &key, &spec.workload, checker).map(|choice| FlowTrace { choice, every }));
    }
    made
}

/// Rejects flow numbers that are not below the total number of flows.
fn check_numbers(chosen: &[u32], key: &str, flows: Option<u64>, checker: &mut Checker<'_>) {
    let Some((number, flows)) = chosen.iter().max().zip(flows) else { return };
    checker.require(u64::from(*number) < flows, key, || match flows {
        0 => format!("flow {number} does not exist, because no workload sends flows"),
        _ => format!("flow numbers must be less than {flows}, the number of flows, got {number}"),
    });
}

fn choice(
    trace: &spec::FlowTrace,
    key: &str,
    workloads: &[Workload],
    checker: &mut Checker<'_>,
) -> Option<FlowChoice> {
    let chosen = trace.workload.map(|index| number(index, &format!("{key}.workload"), workloads, checker));
    let by_number = !trace.flows.is_empty();
    let otherwise = trace.workload.is_some() || trace.sample.is_some();
    checker.require(by_number || otherwise, key, || "must have flows, a workload or a sample".to_owned());
    checker.require(!(by_number && otherwise), &format!("{key}.flows"), || {
        "cannot be combined with workload or sample; remove flows, or remove workload and sample".to_owned()
    });
    checker.require(trace.sample != Some(0), &format!("{key}.sample"), || {
        "must be at least 1, got 0".to_owned()
    });
    if by_number {
        let mut flows = trace.flows.clone();
        flows.sort_unstable();
        flows.dedup();
        return Some(FlowChoice::Numbers(flows));
    }
    match (trace.sample, chosen) {
        (Some(count), None) => Some(FlowChoice::Sample { count, workload: None }),
        (Some(count), Some(workload)) => Some(FlowChoice::Sample { count, workload: Some(workload?) }),
        (None, Some(workload)) => Some(FlowChoice::Workload(workload?)),
        (None, None) => None,
    }
}

/// Converts `index`, which counts all workloads of the scenario, to an index among the workloads that send flows.
fn number(index: u32, key: &str, workloads: &[Workload], checker: &mut Checker<'_>) -> Option<u16> {
    let count = workloads.len();
    let Some(chosen) = workloads.get(index as usize) else {
        checker.refuse(key, format!("must be less than {count}, the number of workloads, got {index}"));
        return None;
    };
    checker
        .require(chosen.sends_flows(), key, || {
            format!("must be the number of a workload that sends flows, got {index}")
        })
        .then(|| workloads[..index as usize].iter().filter(|workload| workload.sends_flows()).count() as u16)
}
