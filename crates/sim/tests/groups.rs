//! Tests of host groups: packets of connections between hosts of different groups.

use crate::common;
use shallows_core::Duration;
use shallows_sim::{Report, Simulation};

/// Two hosts with an MTU of 1,500 bytes and two with 9,000 at one switch: 10 Gb/s, 1 us of propagation on each link. Windows are no limit.
const SIZES: &str = r#"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
mtu = 9000

[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }

[host]
jitter = "off"

[[host.group]]
name = "small"
members = "0..2"
mtu = 1500

[tcp]
congestion = "reno"
initial_window = "10MB"
max_window = "10MB"

[[workload]]
kind = "incast"
senders = 0
receivers = 1
size = "144800B"
"#;

fn time(report: &Report) -> Duration {
    report.flows().next().and_then(|flow| flow.completion_time).expect("one flow, which ends")
}

fn data(report: &Report) -> u64 {
    report.summary()["packets"]["data"].as_u64().expect("a count")
}

#[test]
fn a_flow_has_the_segments_that_both_ends_can_take() {
    // 144,800 bytes are 100 segments of 1,448, which take 1.2 us each on the wire, and the last of them another 1.2 us at the
    // switch: 100 · 1.2 + 1.2 + 2 · 1 us.
    for (sender, receiver) in [("0", "1"), ("0", "3"), ("3", "0")] {
        let report =
            common::run(SIZES, &[("workload.0.senders", sender), ("workload.0.receivers", receiver)]);
        assert_eq!(
            (data(&report), time(&report)),
            (100, Duration::from_nanos(123_200)),
            "{sender} {receiver}"
        );
        assert_eq!(report.port(&format!("host{sender}->switch0")).map(|port| port.sent), Some(100));
    }
    // With large packets there are 16 segments of 8,948, which take 7.2 us, and one of 1,632 bytes, 1,684 on the wire and 1.3472 us,
    // which waits at the switch for the one before it: 17 · 7.2 + 1.3472 + 2 · 1 us.
    let large = common::run(SIZES, &[("workload.0.senders", "2"), ("workload.0.receivers", "3")]);
    assert_eq!((data(&large), time(&large)), (17, Duration::from_nanos(125_747) + Duration(200)));
}

#[test]
fn every_flow_is_as_fast_as_its_ideal_if_it_is_alone() {
    for pair in [("0", "1"), ("0", "3"), ("3", "0"), ("2", "3")] {
        let sets = [("workload.0.senders", pair.0), ("workload.0.receivers", pair.1)];
        for fct in ["receiver", "sender"] {
            let report = common::run(
                SIZES,
                &[sets[0], sets[1], ("measure.fct", fct), ("tcp.delayed_ack.segments", "1")],
            );
            assert_eq!(report.summary()["slowdown"]["all"]["max"], 1.0, "{pair:?} {fct}");
        }
    }
}

#[test]
fn packets_wait_in_the_hosts_of_a_group_that_is_slow() {
    // 5 us in the sending host, and 5 us in the receiving host.
    let of = |sets: &[(&str, &str)]| time(&common::run(SIZES, sets));
    let slow = ("host.group.0.delay", "5us");
    assert_eq!(of(&[slow]) - of(&[]), Duration::from_micros(10));
    assert_eq!(
        of(&[slow, ("workload.0.receivers", "3")]) - of(&[("workload.0.receivers", "3")]),
        Duration::from_micros(5)
    );
    let far = [("workload.0.senders", "2"), ("workload.0.receivers", "3")];
    assert_eq!(of(&[far[0], far[1], slow]), of(&far));
}

#[test]
fn a_nic_is_that_of_its_group() {
    // 144,800 bytes into a NIC of 20 packets without backpressure: the excess is lost there, and nowhere else.
    let nic = ("host.group.0.nic", "{ backpressure = 'off', limit = '20p' }");
    let lost = |sender: &str| {
        let report = common::run(SIZES, &[nic, ("workload.0.senders", sender), ("tcp.rto.min", "5ms")]);
        report.summary()["packets"]["dropped_in_nics"].as_u64().expect("a count")
    };
    // One is sent, 20 wait, and 79 are lost; some retransmissions are lost again.
    assert!(lost("0") >= 79);
    assert_eq!(lost("3"), 0);
}

/// Two senders and one queue, which marks from 30 KB on: one sender uses ECN, the other does not.
const MARKS: &str = r#"
[stop]
at = "20ms"

[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
link_delay = "11us"

[switch]
buffer = { kind = "complete-sharing", pool = "1MB" }
markers = [{ kind = "threshold", k = "30KB" }]

[tcp]
congestion = "dctcp"
handshake = false
rto = { min = "5ms" }

[[host.group]]
name = "deaf"
members = "0..2"
tcp = { congestion = "cubic" }

[[workload]]
kind = "long-lived"
senders = "2..4"
receivers = 0
"#;

#[test]
fn marks_go_to_those_who_agreed_on_ecn() {
    for handshake in ["true", "false"] {
        let counts = |senders: &str, receiver: &str| {
            let sets = [
                ("workload.0.senders", senders),
                ("workload.0.receivers", receiver),
                ("tcp.handshake", handshake),
            ];
            let report = common::run(MARKS, &sets);
            let summary = report.summary();
            ["marked", "dropped"].map(|count| summary["packets"][count].as_u64().expect("a count"))
        };
        // DCTCP between two hosts that use ECN: marks, and no loss.
        let [marked, dropped] = counts("3", "2");
        assert_eq!((marked, dropped), (0, 0), "one sender alone has no queue");
        let both = "[1, 3]";
        let [marked, dropped] = counts(both, "2");
        assert!(marked > 0 && dropped > 0, "{handshake}: {marked} marked, {dropped} dropped");
        // To a receiver without ECN, nothing is marked: packets above the threshold are dropped.
        let [marked, dropped] = counts("2..4", "0");
        assert!(marked == 0 && dropped > 0, "{handshake}: {marked} marked, {dropped} dropped");
        let [marked, dropped] = counts("0, 3", "1");
        assert!(marked == 0 && dropped > 0, "{handshake}: {marked} marked, {dropped} dropped");
    }
}

#[test]
fn what_no_group_changes_changes_nothing() {
    let tables = |sets: &[(&str, &str)]| {
        let report = common::run(MARKS, sets);
        report.flows().map(|flow| (flow.source, flow.delivered)).collect::<Vec<_>>()
    };
    let same = ("host.group.0.tcp", "{ congestion = 'dctcp' }");
    let named = ("host.group.0.members", "0");
    assert_eq!(tables(&[same]), tables(&[same, named]));
    assert_ne!(tables(&[]), tables(&[same]));
}

/// Returns all tables and the summary of a run on this number of threads.
fn everything(text: &str, threads: u32) -> Vec<Vec<u8>> {
    let mut simulation = Simulation::divided(common::parse(text, &[]), threads);
    simulation.advance(u64::MAX);
    let report = simulation.finish();
    let table = |name| {
        let mut table = Vec::new();
        report.write_table(name, &mut table).expect("memory can be written to");
        table
    };
    report.tables().into_iter().map(table).chain([report.summary().to_string().into_bytes()]).collect()
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    // Every rack has hosts of each group, so that connections between all groups cross partitions.
    let text = r#"
[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 4
rate = "10Gbps"
mtu = 9000

[switch]
buffer = { kind = "dynamic-threshold", alpha = 1.0, pool = "300KB" }
markers = [{ kind = "threshold", k = "60KB" }]

[tcp]
congestion = "dctcp"
rto = { min = "2ms", initial = "5ms" }

[[host.group]]
name = "small"
members = "0..12 step 4"
mtu = 1500
tcp = { congestion = "cubic", handshake = true }
nic = { backpressure = "off", limit = "500KB" }

[[host.group]]
name = "classic"
members = "1..12 step 4"
delay = "7us"
tcp = { congestion = "ecn-star", timestamps = false, delayed_ack = { segments = 1 } }

[[workload]]
kind = "poisson"
load = 0.6
sizes = { kind = "uniform", from = "1KB", to = "300KB" }
flows = 400
"#;
    let alone = everything(text, 1);
    for threads in [2, 3] {
        assert!(everything(text, threads) == alone, "{threads} threads");
    }
}
