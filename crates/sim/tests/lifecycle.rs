//! Tests of the start, end and counts of runs that end at a time, with the last flow, or without flows.

use crate::common;
use serde_json::Value;
use shallows_sim::Simulation;

const STAR: &str = r#"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
link_delay = "1us"

[switch]
buffer = { kind = "complete-sharing", pool = "1MB" }
"#;

const UDP: &str = r#"
[[workload]]
kind = "udp"
senders = 0
receivers = 1
pattern = { kind = "constant", rate = "4Gbps" }
"#;

const INCAST: &str = r#"
[[workload]]
kind = "incast"
senders = "0..3"
receivers = 3
size = "14600B"
repeats = 5
period = "1ms"
"#;

fn summary(parts: &[&str], sets: &[(&str, &str)]) -> Value {
    common::run(&[&[STAR], parts].concat().concat(), sets).summary()
}

#[test]
fn a_run_without_flows_ends_at_its_time_and_reports() {
    let report = common::run(&format!("{STAR}{UDP}"), &[("stop.at", "3001us")]);
    let summary = report.summary();
    assert_eq!(summary["simulated_s"].as_f64(), Some(0.003_001));
    assert_eq!(summary["flows"], serde_json::json!({"started": 0, "completed": 0, "unbounded": 0}));
    // 1,500 bytes at 4 Gb/s: one each 3 us, at 0, 3, … 3,000 us. Each takes 4.4 us and up to 1.2 us of jitter, so
    // that the last two are under way when the run ends.
    assert_eq!(report.port("host0->switch0").unwrap().sent, 1_001);
    let received = summary["datagram_gbps"].as_f64().unwrap() * 1e9 / 8.0 * 0.003_001;
    assert!((received - 999.0 * 1_500.0).abs() < 1.0, "{received}");
    let mut table = vec![];
    report.write_table("flows", &mut table).unwrap();
    assert!(table.starts_with(b"PAR1"), "a table without rows is a table");
}

#[test]
fn a_source_of_datagrams_stops_when_told() {
    let report = common::run(&format!("{STAR}{UDP}"), &[("stop.at", "3ms"), ("workload.0.stop", "1500us")]);
    // One each 3 us, at 0, 3, … 1,497 us.
    assert_eq!(report.port("host0->switch0").unwrap().sent, 500);
    assert_eq!(report.port("switch0->host1").unwrap().sent, 500);
}

#[test]
fn a_run_ends_on_the_step_of_the_shortest_delay_after_its_last_flow_however_far_it_advances_at_once() {
    let experiment = common::parse(&[STAR, INCAST].concat(), &[("topology.link_delay", "'7us'")]);
    let mut in_steps = Simulation::new(experiment);
    let mut completed = None;
    while !in_steps.progress().done {
        let progress = in_steps.advance(1);
        completed = completed.or_else(|| (progress.flows_completed == 15).then_some(progress.now.0));
    }
    let report = in_steps.finish();
    let (end, step) = (report.summary()["simulated_s"].as_f64().unwrap() * 1e12, 7_000_000);
    let (end, completed) = (end.round() as u64, completed.expect("all flows complete"));
    assert_eq!(end % step, 0, "{end}");
    assert!(completed < end && end - completed <= step, "{completed} {end}");
    let at_once = common::run(&[STAR, INCAST].concat(), &[("topology.link_delay", "'7us'")]);
    assert_eq!(report.summary(), at_once.summary());
}

#[test]
fn a_run_ends_with_the_last_acknowledgement_of_its_last_flow() {
    let summary = summary(&[INCAST], &[("stop.at", "1s")]);
    assert_eq!(summary["flows"], serde_json::json!({"started": 15, "completed": 15, "unbounded": 0}));
    // The fifth round starts at 4 ms. 3 · 14,600 bytes need 36 us on the link and some for headers, and their acknowledgements a
    // few more; the last comes at the latest after the 40 ms of a delayed one.
    let end = summary["simulated_s"].as_f64().unwrap();
    assert!((0.004_036..0.0441).contains(&end), "{end}");
}

#[test]
fn a_time_to_stop_cuts_flows_off_and_says_so() {
    let report = common::run(&format!("{STAR}{INCAST}"), &[("stop.at", "2020us")]);
    let summary = report.summary();
    // Two rounds are complete; the third has 20 of its 36 us.
    assert_eq!(summary["simulated_s"].as_f64(), Some(0.002_02));
    assert_eq!(summary["flows"], serde_json::json!({"started": 9, "completed": 6, "unbounded": 0}));
    let delivered: u64 = report.flows().skip(6).map(|flow| flow.delivered.0).sum();
    assert!(delivered > 0 && delivered < 3 * 14_600, "what has arrived counts: {delivered}");
    // Flows are complete by the definition of the scenario, in this case at the receiver; some of the last ACKs of the six are still
    // delayed.
    let warnings = report.warnings();
    assert!(warnings.iter().any(|warning| warning.starts_with("3 flows were unfinished")), "{warnings:?}");
}

#[test]
fn flows_before_the_warm_up_ends_run_and_do_not_count() {
    let summary = summary(&[INCAST], &[("measure.warm_up", "1500us")]);
    // Rounds at 0 and 1 ms are warm-up; those at 2, 3 and 4 ms count.
    assert_eq!(summary["flows"], serde_json::json!({"started": 9, "completed": 9, "unbounded": 0}));
    assert_eq!(summary["fct_us"]["all"]["count"].as_u64(), Some(9));
    assert_eq!(summary["slowdown"]["all"]["count"].as_u64(), Some(9));
}

#[test]
fn a_run_that_stops_while_a_connection_is_being_primed_has_delivered_nothing() {
    // The priming bytes are in flight when the flow is written behind them, and when the run stops.
    let flow = "[[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '1KB'\nstart = '500ns'\n\
                connections = { kind = 'persistent', warm_up = { bytes = '1KB', from = '0s', to = '1ps' } }\n";
    let summary = summary(&[flow], &[("stop.at", "1us")]);
    assert_eq!(
        (summary["flows"]["started"].as_u64(), summary["goodput_gbps"].as_f64()),
        (Some(1), Some(0.0))
    );
}

#[test]
fn a_flow_that_finds_no_way_through_ends_with_the_clock_and_is_said() {
    // A marker that drops every packet of Reno, which is not ECN-capable; the timer backs off to its maximum.
    let sets = [
        ("tcp.congestion", "reno"),
        ("tcp.rto.max", "86400s"),
        ("switch.markers", "[{ kind = 'threshold', k = '0B', counts_packet = true }]"),
    ];
    let report = common::run(&format!("{STAR}{INCAST}"), &sets);
    assert_eq!(report.summary()["flows"]["completed"].as_u64(), Some(0));
    assert!(report.warnings().iter().any(|warning| warning.starts_with("15 flows were unfinished")));
}

#[test]
fn the_packets_of_a_handshake_are_not_data() {
    let flow = "[[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '1KB'\n";
    let summary = summary(&[flow], &[("tcp.handshake", "true"), ("tcp.delayed_ack.segments", "1")]);
    // SYN, SYN-ACK, one segment, its acknowledgement.
    assert_eq!(
        (summary["packets"]["sent"].as_u64(), summary["packets"]["data"].as_u64()),
        (Some(4), Some(1))
    );
}

#[test]
fn datagrams_go_on_beside_flows_until_the_time_to_stop() {
    let summary = summary(&[INCAST, UDP], &[("stop.at", "60ms")]);
    assert_eq!(summary["flows"]["completed"].as_u64(), Some(15));
    assert_eq!(summary["simulated_s"].as_f64(), Some(0.06));
    assert!((summary["datagram_gbps"].as_f64().unwrap() - 4.0).abs() < 0.01);
}

#[test]
fn what_never_happened_is_said() {
    let markers = [("switch.markers", "[{ kind = 'threshold', k = '500p' }]")];
    let report = common::run(&format!("{STAR}{INCAST}"), &markers);
    let warned = |text| report.warnings().iter().any(|warning| warning.contains(text));
    assert!(warned("no \"threshold\" marker had an effect"));
    // A run without drops is no reason for a warning.
    assert!(!warned("no packet was dropped"));
    assert!(report.observations()[0].contains("no packet was dropped"));
}

#[test]
fn a_connection_whose_last_data_is_acknowledged_without_its_fin_is_over_and_sends_nothing() {
    let text = r#"
[topology]
kind = "star"
hosts = 4
rate = "1Gbps"
link_delay = "1us"

[switch]
buffer = { kind = "static-partition", per_port = "5p" }

[tcp]
congestion = "reno"
recovery = "newreno"
fin = true
handshake = true
rto = { initial = "2ms", min = "500us", max = "20ms", granularity = "10us" }

[[workload]]
kind = "poisson"
load = 0.5
flows = 60
sizes = { kind = "uniform", from = "100B", to = "200KB" }
connections = "new"
"#;
    // The pending timer of the SYN must not start that of the FIN, whose deadline has passed. One run in fifteen has this case.
    for seed in 1..=60 {
        let summary = common::run(text, &[("seed", &seed.to_string())]).summary();
        assert_eq!(summary["flows"]["completed"].as_u64(), Some(60), "seed {seed}");
    }
}

/// Echo requests of 56 bytes, one each millisecond. The last is sent at 9 ms.
const PING: &str = r#"
[[workload]]
kind = "ping"
senders = 0
receivers = 1
interval = "1ms"
stop = "10ms"
"#;

/// Returns the number of answered requests and the number of unanswered requests.
fn answered(summary: &Value) -> [Option<u64>; 2] {
    ["count", "lost"].map(|key| summary["ping_rtt_us"]["all"][key].as_u64())
}

#[test]
fn a_run_of_sources_that_stop_ends_when_they_have_and_everything_has_arrived() {
    // Steps are 1 us long, the delay of each link: the last request leaves at 9 ms, and its source stops at 10 ms.
    let pings = summary(&[PING], &[]);
    assert_eq!((pings["simulated_s"].as_f64(), answered(&pings)), (Some(0.01), [Some(10), Some(0)]));
    // A request at 9,999 us is answered after its source has stopped: after four delays of 1 us and four transmissions of at most 0.1 us.
    let late = summary(&[PING], &[("host.jitter", "off"), ("workload.0.start", "999us")]);
    assert_eq!((late["simulated_s"].as_f64(), answered(&late)), (Some(0.010_004), [Some(10), Some(0)]));
    // Neither samples at intervals nor a request that would follow changes the end.
    let once = [("measure.sample_queues", "300ns"), ("workload.0.interval", "1s")];
    let once = summary(&[PING], &once);
    assert_eq!((once["simulated_s"].as_f64(), answered(&once)), (Some(0.01), [Some(1), Some(0)]));
    // 1,500 bytes each 3 us, at 0 to 1,497 us.
    let datagrams = common::run(&format!("{STAR}{UDP}"), &[("workload.0.stop", "1500us")]);
    assert_eq!(datagrams.port("switch0->host1").unwrap().sent, 500);
}

#[test]
fn a_run_waits_for_flows_and_for_sources_that_stop_whichever_end_later() {
    // The flows take 44 ms, mostly for a delayed acknowledgement.
    let alone = summary(&[INCAST], &[])["simulated_s"].as_f64();
    for (stop, end) in [("10ms", alone), ("60ms", Some(0.06))] {
        let both = summary(&[INCAST, PING], &[("workload.1.stop", stop), ("workload.1.senders", "3")]);
        assert_eq!(
            (both["simulated_s"].as_f64(), both["flows"]["completed"].as_u64()),
            (end, Some(15)),
            "{stop}"
        );
        assert_eq!(answered(&both)[1], Some(0), "{stop}");
    }
}

#[test]
fn a_run_with_sources_that_stop_ends_alike_however_far_it_advances_at_once() {
    let sets = [("workload.1.stop", "60ms"), ("measure.sample_queues", "1ms")];
    let whole = common::run(&[STAR, INCAST, PING].concat(), &sets).summary();
    let mut simulation = Simulation::new(common::parse(&[STAR, INCAST, PING].concat(), &sets));
    while !simulation.advance(7).done {}
    assert_eq!(simulation.finish().summary(), whole);
}
