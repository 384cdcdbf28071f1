//! Tests that the two sides of a connection exchange information only in packets.

use crate::common;
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

/// A connection for each of 200 flows, one every 150 us from each of two hosts, with delayed acknowledgements.
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
    assert_eq!(summary["flows"], json!({"started": 200, "completed": 200, "unbounded": 0}));
    // Each flow has a segment and a delayed acknowledgement; a missing one would cause a timeout.
    assert_eq!(summary["packets"]["sent"], json!(400));
    assert_eq!((&summary["timeouts"], &summary["packets"]["stale"]), (&json!(0), &json!(0)));
}

#[test]
fn a_receiver_that_has_forgotten_a_connection_acknowledges_again_what_it_had_of_it() {
    // Datagrams at twice the rate of its link fill the port to host 0, so that some of its acknowledgements are lost. They are
    // the last packets of connections whose receivers have been removed.
    let flood = "[[workload]]\nkind = 'udp'\nsenders = '1..3'\nreceivers = 0\noverload = true\npayload = '60B'\npattern = { kind = 'poisson', rate = '10Gbps' }\n";
    let sets = [
        ("workload.0.senders", "0"),
        ("tcp.delayed_ack.segments", "1"),
        ("workload.1.stop", "20ms"),
        ("stop.at", "200ms"),
    ];
    let report = common::run(&[STAR, SHORT, flood].concat(), &sets);
    let summary = report.summary();
    assert_eq!(summary["flows"], json!({"started": 100, "completed": 100, "unbounded": 0}));
    assert!(summary["timeouts"].as_u64() > Some(20), "{}", summary["timeouts"]);
    // Retransmitted data is delivered once.
    assert!(report.flows().all(|flow| flow.delivered.0 == 1_000));
    // No data was lost on the way: each flow arrived with its first segment.
    let received = report.port("switch0->host3").unwrap();
    assert_eq!(received.dropped.iter().sum::<u64>(), 0);
    assert!(report.flows().all(|flow| flow.completion_time.is_some_and(|time| time.as_micros_f64() < 100.0)));
}

/// Links of 100 us: a round trip of 404 us, but the timer fires after 150 us, and again 300 us later.
const EARLY: &str = r#"
stop.at = "3ms"
host.jitter = "off"

[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
link_delay = "100us"

[switch]
buffer = { kind = "static-partition", per_port = "2MB" }
port = { kind = "strict-priority", queues = 2 }

[tcp]
timestamps = false
delayed_ack = { segments = 1 }
rto = { initial = "150us", min = "150us" }

[[workload]]
kind = "incast"
senders = 0
receivers = 1
size = "1KB"
class = 1
"#;

#[test]
fn what_arrives_for_a_connection_whose_place_another_has_is_stale() {
    let packets = |workloads: &str| {
        let report = common::run(&[EARLY, workloads].concat(), &[]);
        let sent = |port: &str| report.port(port).expect("a port").sent;
        let stale = report.summary()["packets"]["stale"].as_u64().expect("a count");
        [sent("host0->switch0"), sent("host1->switch0"), stale]
    };
    let flood = |start: &str, stop: &str| {
        format!(
            "[[workload]]\nkind = 'udp'\nsenders = '2..4'\nreceivers = 1\noverload = true\nstart = '{start}'\nstop = '{stop}'\n\
             pattern = {{ kind = 'constant', rate = '5.5Gbps' }}\n"
        )
    };
    // The segment is sent twice, since it is acknowledged after 404 us; the second acknowledgement finds its sender closed.
    assert_eq!(packets(&flood("2ms", "2.1ms")), [2, 2, 1]);
    // The second copy of the segment reaches the switch at 251 us. Datagrams of the first class from two hosts delay it there until 790 us.
    // Meanwhile the sender has begun another flow of the first class, with two windows of ten segments. Its connection has the slot of the
    // previous one. The delayed copy arrives before the second window. It is stale, so it is not acknowledged.
    let second = "[[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '29200B'\nstart = '450us'\n\
                  tcp = { initial_window = 10, rto = { initial = '5ms', min = '5ms' } }\n";
    assert_eq!(packets(&[&flood("140us", "640us"), second].concat()), [2 + 20, 1 + 20, 1]);
}
