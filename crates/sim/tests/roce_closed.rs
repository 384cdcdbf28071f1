//! Packets that arrive after their queue pair was closed.

use crate::common::run;
use crate::roce::completion_times;

/// A message between hosts at links of 100 µs with 10 Gb/s, which is posted at 0 and is complete after 402 µs. Packets of class 1 wait at the
/// switch while packets of class 0 are in the queue.
const DELAYED: &str = r#"
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

    [roce]
    mtu = "1000B"

    [[workload]]
    kind = "incast"
    transport = "roce"
    senders = 0
    receivers = 1
    size = "1KB"
"#;

/// Datagrams of class 0 that fill the port to host 1, and with it delay packets of class 1 there from 240 to 790 µs.
const FLOOD: &str = r#"
    [[workload]]
    kind = "udp"
    senders = "2..4"
    receivers = 1
    overload = true
    start = "140us"
    stop = "640us"
    pattern = { kind = "constant", rate = "5.5Gbps" }
"#;

/// Message of class 0 that is posted after the first one is complete, and whose queue pair has the slot of the first one.
const SECOND: &str = r#"
    [[workload]]
    kind = "incast"
    transport = "roce"
    senders = 0
    receivers = 1
    size = "100KB"
    start = "450us"
    roce = { timeout = "5ms" }
"#;

const READ: (&str, &str) = ("roce.operation", "read");

/// Returns the number of packets that arrived for closed queue pairs, and the number of packets with data.
fn stale_and_data(text: &str, sets: &[(&str, &str)]) -> [u64; 2] {
    let report = run(text, sets);
    assert!(completion_times(&report).iter().all(Option::is_some), "{}", report.summary());
    ["stale", "data"].map(|name| report.summary()["packets"][name].as_u64().expect("a count"))
}

#[test]
fn data_of_a_closed_queue_pair_is_stale() {
    // The packet is retransmitted after 250 µs, and the copy waits at the switch until 790 µs. Meanwhile, the second message begins with a window
    // of ten packets. The copy arrives before the second window. The responder neither accepts nor acknowledges it.
    let sets = [
        ("roce.timeout", "250us"),
        ("workload.0.class", "1"),
        ("workload.2.size", "20KB"),
        (
            "workload.2.roce.recovery",
            "{ kind = 'irn', window = 10, low_timeout = '5ms', high_timeout = '5ms' }",
        ),
    ];
    assert_eq!(stale_and_data(&[DELAYED, FLOOD, SECOND].concat(), &sets), [1, 2 + 20]);
}

#[test]
fn a_response_to_a_closed_queue_pair_is_stale() {
    // The request is retransmitted after 250 µs, and both copies are answered. The first response completes the READ.
    let sets = [READ, ("roce.timeout", "250us")];
    let later = SECOND.replace("450us", "600us");
    assert_eq!(stale_and_data(&[DELAYED, &later].concat(), &sets), [1, 2 + 100]);
}

#[test]
fn a_request_of_a_closed_queue_pair_is_stale() {
    // The second copy of the request waits at the switch until 790 µs. The request of the second READ overtakes it there, so that the responder
    // does not execute the copy.
    let sets = [READ, ("roce.timeout", "250us"), ("workload.0.class", "1")];
    assert_eq!(stale_and_data(&[DELAYED, FLOOD, SECOND].concat(), &sets), [1, 1 + 100]);
}

#[test]
fn a_cnp_of_a_closed_queue_pair_is_stale() {
    // Responses from two hosts meet at the switch, which marks some of them. The CNP to host 1 waits there until 790 µs, and the request of the
    // second READ overtakes it. The READ from host 2 is shorter, so that the slot of the READ from host 1 is the first to be used again.
    let first = &DELAYED[DELAYED.find("[[workload]]").expect("a workload")..];
    let other = first.replace("receivers = 1", "receivers = 2");
    let sets = [
        READ,
        ("roce.congestion", "dcqcn"),
        ("roce.cnp.class", "1"),
        (
            "switch.overrides",
            "[{ ports = ['switch0->host0'], markers = [{ kind = 'threshold', k = '1000B' }] }]",
        ),
        ("workload.0.size", "10KB"),
        ("workload.1.size", "5KB"),
    ];
    assert_eq!(stale_and_data(&[DELAYED, &other, FLOOD, SECOND].concat(), &sets), [1, 10 + 5 + 100]);
}
