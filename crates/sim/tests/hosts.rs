//! The two sides of a connection know of each other only what packets tell.

mod common;

use serde_json::json;

const STAR: &str = r#"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
link_delay = "1us"

[switch]
buffer = { kind = "static-partition", per_port = "20KB" }
"#;

/// A connection for each of 200 flows, one every 150 us from each of two hosts, each of which acknowledges late.
const SHORT: &str = r#"
[tcp]
delayed_ack = { segments = 3, timeout = "100us" }
rto = { initial = "2ms", min = "2ms" }
timestamps = false

[[workload]]
kind = "incast"
senders = "0..2"
receivers = 3
size = "1KB"
repeats = 100
period = "150us"
"#;

#[test]
fn a_receiver_lasts_until_it_has_acknowledged_and_its_slot_serves_again() {
    let report = common::run(&[STAR, SHORT].concat(), &[]);
    let summary = report.summary();
    assert_eq!(summary["flows"], json!({"started": 200, "completed": 200, "endless": 0}));
    // A segment and a delayed acknowledgement each: one that was not sent would be a timeout.
    assert_eq!(summary["packets"]["sent"], json!(400));
    assert_eq!((&summary["timeouts"], &summary["packets"]["stale"]), (&json!(0), &json!(0)));
}

#[test]
fn a_receiver_that_has_forgotten_a_connection_acknowledges_again_what_it_had_of_it() {
    // Datagrams at twice the rate of its link fill the port to host 0, so that some of its acknowledgements are lost. They are
    // the last packets of connections that their receiver has left.
    let flood = "[[workload]]\nkind = 'udp'\nsenders = '1..3'\nreceivers = 0\noverload = true\npayload = '60B'\npattern = { kind = 'poisson', rate = '10Gbps' }\n";
    let sets = [
        ("workload.0.senders", "0"),
        ("tcp.delayed_ack.segments", "1"),
        ("workload.1.stop", "20ms"),
        ("stop.at", "200ms"),
    ];
    let report = common::run(&[STAR, SHORT, flood].concat(), &sets);
    let summary = report.summary();
    assert_eq!(summary["flows"], json!({"started": 100, "completed": 100, "endless": 0}));
    assert!(summary["timeouts"].as_u64() > Some(20), "{}", summary["timeouts"]);
    // What comes again is delivered once.
    assert!(report.flows().all(|flow| flow.delivered.0 == 1_000));
    // Nothing was lost on the way there: each flow arrived with its first segment.
    let received = report.port("switch0->host3").unwrap();
    assert_eq!(received.dropped.iter().sum::<u64>(), 0);
    assert!(report.flows().all(|flow| flow.completion_time.is_some_and(|time| time.as_micros_f64() < 100.0)));
}
