//! Tests that traffic after the end of the run, or before the end of the warm-up, is rejected or causes a warning before the run.

use crate::common;
use shallows_scenario::Experiment;

/// Three hosts, without the workloads that a test adds.
const STAR: &str = r#"
[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
[switch]
buffer = { kind = "complete-sharing", pool = "1MB" }
"#;

/// Three flows of a list, at 0, 2 and 5 ms.
const LIST: &str = "[[workload]]\nkind = 'trace'\npath = 'late.csv'\n";
/// Three rounds of two flows, at 1, 2 and 3 ms.
const INCAST: &str = "[[workload]]\nkind = 'incast'\nsenders = '1..3'\nreceivers = 0\nsize = '1KB'\nstart = '1ms'\n\
                      repeats = 3\nperiod = '1ms'\n";
const UDP: &str = "[[workload]]\nkind = 'udp'\nsenders = 1\nreceivers = 0\nstart = '4ms'\n\
                   pattern = { kind = 'constant', rate = '1Gbps' }\n";

fn parse(workloads: &[&str], sets: &[(&str, &str)]) -> Result<Experiment, String> {
    common::parse(&format!("{STAR}{}", workloads.concat()), sets).map_err(|error| error.to_string())
}

fn warnings(workloads: &[&str], sets: &[(&str, &str)]) -> Vec<String> {
    let about = |warning: &String| warning.contains("workload[");
    parse(workloads, sets).expect("it can run").warnings().into_iter().filter(about).collect()
}

#[test]
fn a_run_that_ends_before_anything_is_sent_is_refused() {
    let late = [("workload.0.start", "2ms"), ("stop.at", "2ms")];
    let error = parse(&[INCAST], &late).unwrap_err();
    let expected = "stop.at: must be after the start of the first workload, 2ms, got 2ms; use a later end of the \
                    run, or an earlier start";
    assert!(error.contains(expected), "{error}");
    // All workloads count, and one that begins in time suffices.
    assert!(parse(&[INCAST, UDP], &[("stop.at", "1ms")]).is_err());
    assert!(parse(&[INCAST, UDP], &[("stop.at", "2ms")]).is_ok());
    assert!(parse(&[UDP], &[("stop.at", "3ms")]).unwrap_err().contains("first workload, 4ms"));
}

#[test]
fn flows_that_begin_when_the_run_has_ended_are_warned_of() {
    assert_eq!(
        warnings(&[LIST], &[("stop.at", "2ms")]),
        ["2 of 3 flows of workload[0] are not sent, because they begin at or after the end of the run, 2ms"]
    );
    assert_eq!(
        warnings(&[LIST, INCAST], &[("stop.at", "1ms"), ("workload.1.start", "1ms")]),
        [
            "2 of 3 flows of workload[0] are not sent, because they begin at or after the end of the run, 1ms",
            "workload[1] sends nothing: the workload begins at 1ms, but the run ends at 1ms"
        ]
    );
    assert!(warnings(&[LIST, INCAST], &[("stop.at", "6ms")]).is_empty());
}

#[test]
fn a_workload_that_begins_when_the_run_has_ended_is_warned_of_whoever_draws_it() {
    for draws in ["own", "ns-2"] {
        let poisson = format!(
            "[[workload]]\nkind = 'poisson'\nload = 0.5\nof = 'receivers'\nsizes = {{ kind = 'fixed', size = '1KB' }}\n\
             draws = '{draws}'\nstart = '3ms'\n"
        );
        let expected = "workload[1] sends nothing: the workload begins at 3ms, but the run ends at 3ms";
        assert_eq!(warnings(&[LIST, &poisson], &[("stop.at", "3ms")])[1..], [expected]);
        assert_eq!(warnings(&[LIST, &poisson], &[("stop.at", "3001us")]).len(), 1);
    }
}

#[test]
fn flows_that_all_begin_during_the_warm_up_are_warned_of() {
    // Workloads of datagrams are not numbered among those with flows, but they have a number in the scenario.
    assert_eq!(
        warnings(&[UDP, LIST, INCAST], &[("measure.warm_up", "5001us"), ("stop.at", "10ms")]),
        [
            "no flow of workload[1] is measured: the last flow begins at 5ms, before the warm-up ends at \
             measure.warm_up = 5.001ms",
            "no flow of workload[2] is measured: the last flow begins at 3ms, before the warm-up ends at \
             measure.warm_up = 5.001ms",
        ]
    );
    assert!(warnings(&[LIST, INCAST], &[("measure.warm_up", "3ms")]).is_empty());
    // Unbounded flows are measured by goodput, which has no warm-up.
    let long = "[[workload]]\nkind = 'long-lived'\nsenders = 1\nreceivers = 0\n";
    assert!(warnings(&[long], &[("measure.warm_up", "3ms"), ("stop.at", "4ms")]).is_empty());
}

#[test]
fn flows_that_will_never_be_cannot_be_traced() {
    let error = parse(&[LIST, INCAST], &[("measure.flow_traces", "[{ flows = [0, 9] }]")]).unwrap_err();
    assert!(
        error.contains(
            "measure.flow_traces[0].flows: flow numbers must be less than 9, the number of flows, got 9"
        ),
        "{error}"
    );
    assert!(parse(&[LIST, INCAST], &[("measure.flow_traces", "[{ flows = [0, 8] }]")]).is_ok());
    let error =
        parse(&[UDP], &[("stop.at", "9ms"), ("measure.flow_traces", "[{ flows = [0] }]")]).unwrap_err();
    assert!(error.contains("flow 0 does not exist, because no workload sends flows"), "{error}");
}
