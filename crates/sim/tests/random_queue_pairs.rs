//! Queue pairs in small random networks, with losses in lossy classes and pauses in lossless ones: every run ends, and each flow completes or
//! belongs to a queue pair that ended with an error.

use proptest::prelude::*;
use shallows_scenario::Experiment;
use shallows_sim::{Division, Report, Simulation, nowhere};

use crate::common::{no_files, results};
use crate::conservation::ports::one_of;
use crate::roce::CONTROLS;

/// Number of events after which a run counts as endless. It is far larger than any of these scenarios needs.
const EVENTS: u64 = 20_000_000;

fn topology() -> impl Strategy<Value = String> {
    let shape = one_of(&[
        "kind = 'star'\nhosts = 5",
        "kind = 'dumbbell'\nleft = 3\nright = 2\nbottleneck_rate = '25Gbps'",
        "kind = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 3",
        "kind = 'leaf-spine'\nleaves = 3\nspines = 1\nhosts_per_leaf = 2",
    ]);
    let (rate, delay) = (one_of(&["25Gbps", "100Gbps"]), one_of(&["50ns", "1us", "3us"]));
    (shape, rate, delay, one_of(&["0B", "38B"])).prop_map(|(shape, rate, delay, framing)| {
        format!("[topology]\n{shape}\nrate = '{rate}'\nlink_delay = '{delay}'\nframing = '{framing}'\n")
    })
}

/// Switches with a lossless class whose limits are so small that pauses spread, or lossy switches with small pools.
fn switch() -> impl Strategy<Value = String> {
    let lossless = one_of(&["alpha = 0.0078125", "limit = '20KB'"]).prop_map(|limit| {
        format!("buffer = {{ kind = 'dynamic-threshold', alpha = 1, pool = '6MB' }}\nlossless = {{ classes = [0], {limit} }}\n")
    });
    let lossy = one_of(&["20KB", "60KB", "300KB"])
        .prop_map(|pool| format!("buffer = {{ kind = 'dynamic-threshold', alpha = 1, pool = '{pool}' }}\n"));
    let markers = one_of(&[
        "[]",
        "[{ kind = 'threshold', k = '10KB' }]",
        "[{ kind = 'red', kmin = '5KB', kmax = '40KB', pmax = 0.5 }]",
    ]);
    (prop_oneof![lossless, lossy], markers)
        .prop_map(|(memory, markers)| format!("[switch]\n{memory}markers = {markers}\n"))
}

/// Settings of WRITEs and SENDs with any loss recovery and congestion control.
fn sends() -> impl Strategy<Value = String> {
    let recovery = one_of(&[
        "recovery = 'go-back-n'",
        "recovery = { kind = 'go-back-n', reordering = 3 }",
        "recovery = 'go-back-n'\nadaptive_timeout = { first = '20us', decrease = 'half' }",
        "recovery = 'go-back-n'\noperation = { kind = 'send', receive_depth = 2, refill = '5us', rnr_timer = '20us' }",
        "recovery = 'go-back-n'\noperation = { kind = 'send', receive_depth = 1, refill = '50us', rnr_timer = '10us', rnr_retry = 2 }",
        "recovery = 'selective-repeat'",
        "recovery = 'selective-repeat'\noperation = 'send'",
        "recovery = { kind = 'irn', window = 8 }",
    ]);
    let congestion = one_of(&CONTROLS);
    let burst = one_of(&["", "burst = '9KB'\n"]);
    let nic = one_of(&[
        "",
        "host.nic.send = { packet_rate = '5Mpps', dma_rate = '60Gbps', message_delay = '1us' }\n",
    ]);
    (recovery, congestion, one_of(&["1", "4"]), burst, nic).prop_map(
        |(recovery, congestion, every, burst, nic)| {
            // Without a congestion control, queue pairs send at line rate.
            let burst = if congestion == "none" { "" } else { burst };
            format!("{nic}\n[roce]\n{recovery}\ncongestion = '{congestion}'\nack_every = {every}\n{burst}")
        },
    )
}

fn reads() -> impl Strategy<Value = String> {
    let congestion = one_of(&["none", "dcqcn", "dcqcn-connectx"]);
    (congestion, one_of(&["1", "16"])).prop_map(|(congestion, most)| {
        format!(
            "[roce]\noperation = {{ kind = 'read', max_rd_atomic = {most} }}\ncongestion = '{congestion}'\n"
        )
    })
}

fn workloads() -> impl Strategy<Value = String> {
    let connections = || {
        one_of(&[
            "'new'",
            "{ kind = 'persistent', when_busy = 'queue' }",
            "{ kind = 'persistent', when_busy = 'queue', queue_depth = 4 }",
        ])
    };
    (connections(), connections(), one_of(&["1KB", "40KB", "200KB"]), 1u32..30).prop_map(
        |(incast, poisson, size, flows)| {
            format!(
                "[[workload]]\nkind = 'incast'\ntransport = 'roce'\nsenders = '0..3'\nreceivers = 4\nsize = '{size}'\nrepeats = 3\n\
                 period = '20us'\nconnections = {incast}\n\
                 [[workload]]\nkind = 'poisson'\ntransport = 'roce'\nload = 0.6\noverload = true\nflows = {flows}\n\
                 sizes = {{ kind = 'uniform', from = '100B', to = '60KB' }}\nconnections = {poisson}\n"
            )
        },
    )
}

prop_compose! {
    fn scenario()(
        seed in any::<u16>(),
        topology in topology(),
        switch in switch(),
        roce in prop_oneof![3 => sends().boxed(), 1 => reads().boxed()],
        [mtu, timeout, retries] in [one_of(&["256B", "1000B", "1380B"]), one_of(&["40us", "400us"]), one_of(&["2", "7"])],
        cnp in one_of(&["", "cnp.latency = '2us'\n"]),
        workloads in workloads(),
    ) -> String {
        // CNPs need a congestion control that uses them.
        let cnp = if roce.contains("dcqcn") { cnp } else { "" };
        format!(
            "seed = {seed}\n{roce}mtu = '{mtu}'\ntimeout = '{timeout}'\nretry_count = {retries}\n{cnp}{topology}{switch}{workloads}"
        )
    }
}

/// Runs a simulation to its end. Returns the report and all its results.
fn finished(mut simulation: Simulation) -> Result<(Report, Vec<Vec<u8>>), TestCaseError> {
    let progress = simulation.advance(EVENTS);
    prop_assert!(progress.done, "not done: {progress:?}");
    let report = simulation.finish();
    let results = results(&report);
    Ok((report, results))
}

fn check(report: &Report, expected: u64, text: &str) -> Result<(), TestCaseError> {
    let summary = report.summary();
    let count = |table: &str, key: &str| summary[table][key].as_u64().expect("a count");
    let closed = count("queue_pairs", "retries_exhausted") + count("queue_pairs", "rnr_retries_exhausted");
    let completed = count("flows", "completed");
    // A flow is missing only if its queue pair, or all queue pairs for which it waited, ended with an error.
    prop_assert!(completed <= expected && (closed > 0 || completed == expected), "{summary}");
    prop_assert!(count("queue_pairs", "queue_pairs") > 0, "{summary}");
    if text.contains("lossless") {
        prop_assert_eq!(count("packets", "dropped"), 0);
    }
    Ok(())
}

fn parsed(text: &str) -> Result<Experiment, TestCaseError> {
    shallows_scenario::parse(text, "test.toml", &no_files, &[], None)
        .map_err(|error| TestCaseError::fail(error.to_string()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runs_with_queue_pairs_end_with_a_reason_and_threads_change_no_byte(text in scenario()) {
        let experiment = parsed(&text)?;
        let expected = experiment.expected_flows().expect("these workloads end");
        let (report, alone) = finished(Simulation::new(experiment.clone()))?;
        check(&report, expected, &text)?;
        if let Ok(division) = Division::in_pieces(&experiment, 3, 0) {
            let divided = Simulation::of_partitions(experiment, division, nowhere).expect("nothing is captured");
            prop_assert!(finished(divided)?.1 == alone);
        }
    }
}
