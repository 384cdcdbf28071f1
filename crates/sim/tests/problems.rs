//! Tests that a run reports the configured measurements that it could not make.

use crate::common;
use serde_json::json;
use shallows_measure::Problem;

/// A flow of 1 MB from host 1 to host 0 takes 0.8 ms at 10 Gbit/s.
const STAR: &str = r#"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }
[host]
jitter = "off"
"#;
const INCAST: &str = "[[workload]]\nkind = 'incast'\nsenders = 1\nreceivers = 0\nsize = '1MB'\n";
const LONG: &str = "[[workload]]\nkind = 'long-lived'\nsenders = 2\nreceivers = 0\n";
const POISSON: &str = "[[workload]]\nkind = 'poisson'\nload = 0.001\nof = 'receivers'\nsizes = { kind = 'fixed', \
                       size = '1MB' }\nsenders = 1\nreceivers = 0\n";
const QUERY: &str = "[[workload]]\nkind = 'block-transfer'\nclients = 0\nservers = '1..3'\nblock = '1MB'\n";
const UDP: &str = "[[workload]]\nkind = 'udp'\nsenders = 1\nreceivers = 0\n\
                   pattern = { kind = 'constant', rate = '1Gbps' }\n";
const PING: &str = "[[workload]]\nkind = 'ping'\nsenders = 1\nreceivers = 0\ninterval = '1ms'\n";

/// Returns the code and text of each problem that a run with these workloads reports.
fn problems(workloads: &[&str], sets: &[(&str, &str)]) -> Vec<(&'static str, String)> {
    let report = common::run(&format!("{STAR}{}", workloads.concat()), sets);
    let found: Vec<Problem> = report.problems();
    let described: Vec<_> =
        found.iter().map(|problem| json!({"code": problem.code, "text": problem.text})).collect();
    assert_eq!(report.summary()["problems"], json!(described));
    found.into_iter().map(|problem| (problem.code, problem.text)).collect()
}

fn codes(workloads: &[&str], sets: &[(&str, &str)]) -> Vec<&'static str> {
    problems(workloads, sets).into_iter().map(|(code, _)| code).collect()
}

#[test]
fn a_run_that_measures_has_no_problem() {
    for workloads in [&[INCAST][..], &[QUERY], &[INCAST, LONG, UDP, PING]] {
        assert!(problems(workloads, &[("stop.at", "20ms")]).is_empty(), "{workloads:?}");
    }
}

#[test]
fn flows_of_which_none_ends_measure_nothing() {
    let found = problems(&[INCAST], &[("stop.at", "500us")]);
    assert_eq!(found[0].0, "nothing-measured");
    let text = "workload[0] completed no flows: the counted flows (1) were unfinished at the end of the run at 500us";
    assert_eq!(found[1..], [("nothing-complete", text.to_owned())]);
    let queries = problems(&[QUERY], &[("stop.at", "500us")]);
    assert!(
        queries[1].1.starts_with("workload[0] completed no queries: the counted queries (1)"),
        "{queries:?}"
    );
    // Queue samples, or another workload, give the run a measurement.
    let sampled = [("stop.at", "500us"), ("measure.sample_queues", "'10us'")];
    assert_eq!(codes(&[INCAST, INCAST], &sampled), ["nothing-complete"; 2]);
    assert_eq!(codes(&[INCAST, LONG], &[("stop.at", "500us")]), ["nothing-complete"]);
    assert_eq!(
        codes(&[INCAST], &[("stop.at", "500us"), ("measure.flow_traces", "[{ flows = [0] }]")]),
        ["nothing-complete"]
    );
}

#[test]
fn flows_that_all_belong_to_the_warm_up_measure_nothing() {
    let found = problems(&[INCAST], &[("measure.warm_up", "1s")]);
    let text = "workload[0] has no counted flows: all flows (1) began before the end of the warm-up, measure.warm_up = 1s";
    assert_eq!(found[1..], [("nothing-counted", text.to_owned())]);
    assert_eq!(found[0].0, "nothing-measured");
    assert_eq!(codes(&[QUERY], &[("measure.warm_up", "1s")]), ["nothing-measured", "nothing-counted"]);
    // Unbounded flows have no warm-up.
    assert!(problems(&[LONG], &[("measure.warm_up", "1ms"), ("stop.at", "2ms")]).is_empty());
}

#[test]
fn a_workload_that_sends_nothing_is_named() {
    // There is one flow in 0.8 s on average, and the run ends after 1 us.
    let found = problems(&[POISSON, LONG], &[("stop.at", "1us"), ("workload.1.start", "0s")]);
    assert_eq!(found[0].0, "nothing-measured");
    assert_eq!(
        found[1],
        ("nothing-sent", "workload[0] sent nothing before the end of the run at 1us".to_owned())
    );
    assert_eq!(codes(&[LONG, POISSON], &[("stop.at", "1ms")]), ["nothing-sent"]);
    for measured in [INCAST, UDP, PING] {
        assert_eq!(codes(&[measured, POISSON], &[("stop.at", "2ms")]), ["nothing-sent"], "{measured}");
    }
}

#[test]
fn datagrams_and_echoes_that_do_not_arrive_are_none() {
    // The link's delay of 10 us exceeds the run.
    let found = problems(&[UDP, PING], &[("stop.at", "5us"), ("topology.link_delay", "10us")]);
    assert_eq!(
        found[1..],
        [
            (
                "nothing-received",
                "no datagram reached its destination before the end of the run at 5us".to_owned()
            ),
            ("nothing-received", "no echo reply arrived before the end of the run at 5us".to_owned()),
        ]
    );
    assert_eq!(found[0].0, "nothing-measured");
}

#[test]
fn traces_of_what_never_was_are_named() {
    let sets = [
        ("stop.at", "2ms"),
        ("measure.traces", "[{ ports = ['switch0->host0'] }, { ports = ['switch0->host3'] }]"),
        ("measure.flow_traces", "[{ flows = [0, 3] }, { workload = 1 }]"),
    ];
    let found = problems(&[INCAST, POISSON], &sets);
    assert_eq!(
        found,
        [
            ("nothing-sent", "workload[1] sent nothing before the end of the run at 2ms".to_owned()),
            (
                "empty-flow-trace",
                "measure.flow_traces[0]: flow 3 never began: the last flow that began is flow 0".to_owned()
            ),
            ("empty-flow-trace", "measure.flow_traces[1]: no flow of the trace began".to_owned()),
            ("empty-trace", "measure.traces[1]: no packet reached the ports of the trace".to_owned()),
        ]
    );
}

#[test]
fn a_trace_of_any_flow_that_began_is_none() {
    for choice in ["{ workload = 0 }", "{ sample = 1 }", "{ sample = 1, workload = 0 }", "{ flows = [0] }"] {
        let sets = [("stop.at", "2ms"), ("measure.flow_traces", &format!("[{choice}]"))];
        assert_eq!(problems(&[INCAST], &sets), [], "{choice}");
    }
    // A workload that has not begun has no flow to trace.
    let late = [("stop.at", "2ms"), ("measure.flow_traces", "[{ sample = 1, workload = 1 }]")];
    let found = problems(&[INCAST, POISSON], &late);
    let text = "measure.flow_traces[0]: no flow of the trace began".to_owned();
    assert!(found.contains(&("empty-flow-trace", text)), "{found:?}");
}
