//! Test of a fat tree: the completion time of a flow without competitors is computed by hand, and equals its ideal time.

use crate::common::run;
use shallows_core::Duration;

/// One flow of ten full segments of 1,448 bytes, to a host of another pod.
const ALONE: &str = r#"
host.jitter = "off"

[topology]
kind = "fat-tree"
k = 4
rate = "10Gbps"
aggregation_rate = "5Gbps"
core_rate = "20Gbps"
aggregation_delay = "2us"
core_delay = "3us"

[switch]
buffer = { kind = "static-partition", per_port = "100p" }

[tcp]
initial_window = 10
handshake = false

[[workload]]
kind = "incast"
senders = 0
receivers = 15
size = "14480B"
"#;

#[test]
fn a_flow_across_the_core_takes_six_links_and_the_slowest_of_them_for_each_segment() {
    let report = run(ALONE, &[]);
    let flow = report.flows().next().expect("there is one");
    // 1,500 bytes take 1.2 us at 10 Gb/s, 2.4 us at 5 and 0.6 us at 20; propagation is 2 · (1 + 2 + 3) us. The first segment arrives
    // after 2 · (1.2 + 2.4 + 0.6) + 12 us, and the nine others follow at the rate of the first link of 5 Gb/s.
    let expected = Duration::from_nanos(8_400 + 12_000 + 9 * 2_400);
    assert_eq!(flow.completion_time, Some(expected));
    let summary = report.summary();
    assert_eq!(summary["fct_us"]["all"]["mean"], 42.0, "{}", summary["fct_us"]);
    assert_eq!(summary["slowdown"]["all"]["mean"], 1.0, "its ideal is what it took: {}", summary["slowdown"]);
}
