//! Tests of a separate class for acknowledgements: `tcp.ack_class`.

use crate::common;

/// One flow from host 0, whose acknowledgements reach host 0 through the port that 20 others fill: 10 Gb/s, a round trip of 45 us, and
/// windows of ten segments of 1,448 bytes. The 20 other hosts have 300 KB in flight. The path holds 56 KB of them, and the rest waits in
/// the queue for 195 us.
const SCENARIO: &str = r#"
[stop]
at = "40ms"

[topology]
kind = "star"
hosts = 24
rate = "10Gbps"
link_delay = "11us"

[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }
port = { kind = "strict-priority", queues = 2, classes = [1, 0] }

[tcp]
congestion = "reno"
max_window = 10
delayed_ack = { segments = 1 }

[[workload]]
kind = "incast"
senders = "0"
receivers = 1
size = "1MB"
start = "5ms"

[[workload]]
kind = "long-lived"
senders = "2..22"
receivers = 0
"#;

/// Returns the completion time of the flow in microseconds.
fn time(sets: &[(&str, &str)]) -> f64 {
    let report = common::run(SCENARIO, sets);
    let times: Vec<_> = report.flows().filter_map(|flow| flow.completion_time).collect();
    assert_eq!(times.len(), 1, "one flow has an end");
    times[0].as_secs_f64() * 1e6
}

#[test]
fn acknowledgements_wait_with_data_unless_they_have_a_class_that_goes_first() {
    let alone = time(&[("workload.1.start", "39ms")]);
    let behind = time(&[]);
    let first = time(&[("tcp.ack_class", "1")]);
    // A window takes a round trip of 46 us alone and of 241 us behind the queue.
    assert!((4.5..6.0).contains(&(behind / alone)), "{alone} {behind}");
    // With priority, an acknowledgement waits at most for the rest of one packet of 1.2 us.
    assert!((1.0..1.0 + 1.2 / 46.0 + 0.01).contains(&(first / alone)), "{alone} {first}");
}

#[test]
fn a_class_that_waits_behind_data_is_no_gain() {
    // The second queue is served only when the first is empty, but the first is never empty.
    let last = common::run(SCENARIO, &[("tcp.ack_class", "1"), ("switch.port.classes", "[0, 1]")]);
    assert!(last.flows().all(|flow| flow.completion_time.is_none()));
}
