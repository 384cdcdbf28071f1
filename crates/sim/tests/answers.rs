//! Tests of answers that use the connection of their request. Packets and acknowledgements are counted by hand.
//!
//! As in `queries.rs`, a segment of 1,460 bytes takes 4.4 us from host to host on idle links. Receivers acknowledge every second segment at
//! once. An acknowledgement of a single segment is sent after 40 ms.

use crate::common::{rows, run};
use shallows_core::Duration;
use shallows_scenario::FIRST_PORT;
use shallows_sim::Report;

const ASK: &str = r#"
host.jitter = "off"

[topology]
kind = "star"
hosts = 3
rate = "10Gbps"

[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }

[tcp]
timestamps = false
congestion = "reno"
initial_window = 200

[measure]
fct = "sender"

[[workload]]
kind = "partition-aggregate"
clients = 0
workers = 1
request = "1460B"
size = "1460B"
queries = 1
arrivals = "closed-loop"
answers = "same-connection"
"#;

const OWN: (&str, &str) = ("workload.0.answers", "own-connection");
const PERSISTENT: (&str, &str) = ("workload.0.connections", "persistent");

fn sent(report: &Report) -> u64 {
    report.summary()["packets"]["sent"].as_u64().expect("a count")
}

/// Returns, for each flow, the time from its start to the last acknowledgement at its sender.
fn times(report: &Report) -> Vec<Duration> {
    report.flows().map(|flow| flow.completion_time.expect("complete")).collect()
}

fn micros(tenths: u64) -> Duration {
    Duration::from_nanos(tenths * 100)
}

#[test]
fn an_answer_carries_the_acknowledgement_of_its_request() {
    // Request, answer, and the acknowledgement of the answer 40 ms after its arrival; a pure acknowledgement has 40 bytes, 32 ns on
    // each of two links, and 2 us of propagation.
    let alone = Duration::from_millis(40) + Duration::from_nanos(2_064);
    let same = run(ASK, &[]);
    assert_eq!((sent(&same), times(&same)), (3, vec![micros(88), micros(44) + alone]));
    // On separate connections, the acknowledgements of request and answer are delayed separately.
    let own = run(ASK, &[OWN]);
    assert_eq!((sent(&own), times(&own)), (4, vec![micros(44) + alone, micros(44) + alone]));
}

#[test]
fn the_next_request_carries_the_acknowledgement_of_the_last_answer() {
    let times = times(&run(ASK, &[PERSISTENT, ("workload.0.iterations", "3")]));
    // An answer is acknowledged when the next request arrives, which leaves when the answer arrives.
    assert_eq!(times[..5], [micros(88); 5]);
    assert!(times[5] > Duration::from_millis(40), "nothing follows the last");
    for iterations in ["1", "3", "20"] {
        let report = run(ASK, &[PERSISTENT, ("workload.0.iterations", iterations)]);
        assert_eq!(sent(&report), 2 * iterations.parse::<u64>().expect("a number") + 1);
    }
}

#[test]
fn every_second_segment_of_an_answer_is_acknowledged_and_the_odd_one_by_the_next_request() {
    // Eleven segments cause five acknowledgements at once, and one that waits.
    let odd = [PERSISTENT, ("workload.0.size", "16060B")];
    assert_eq!(sent(&run(ASK, &odd)), 1 + 11 + 5 + 1);
    let twice = [odd[0], odd[1], ("workload.0.iterations", "2")];
    assert_eq!(sent(&run(ASK, &twice)), 2 * (1 + 11 + 5) + 1);
}

#[test]
fn a_request_that_is_acknowledged_already_changes_nothing() {
    // Two segments are acknowledged at once, so the acknowledgement in their answer is redundant.
    let report = run(ASK, &[("workload.0.request", "2920B")]);
    assert_eq!(sent(&report), 2 + 1 + 1 + 1);
    assert_eq!(report.summary()["retransmits"], 0);
}

#[test]
fn answers_need_no_handshake_and_close_the_connection() {
    // A SYN and its answer once, and a FIN on the last segment of the answer, which is acknowledged at once.
    let report = run(ASK, &[("tcp.handshake", "true"), ("tcp.fin", "true")]);
    assert_eq!(sent(&report), 2 + 3);
    assert!(times(&report)[1] < micros(100), "no delayed acknowledgement");
    let own = run(ASK, &[("tcp.handshake", "true"), ("tcp.fin", "true"), OWN]);
    assert_eq!(sent(&own), 2 * (2 + 2));
}

#[test]
fn a_connection_that_answers_acknowledges_no_longer_at_once() {
    let quick = ("tcp.delayed_ack.quick", "16");
    // The first request is acknowledged at once, and so is its answer; later segments carry the acknowledgements of the other direction.
    let report = run(ASK, &[PERSISTENT, quick, ("workload.0.iterations", "4")]);
    assert_eq!(sent(&report), 2 * 4 + 2 + 1);
}

#[test]
fn connections_are_taken_again_when_their_answer_is_there() {
    // Queries every 2 us take 8.8 us each: five connections suffice.
    let often = ("workload.0.arrivals", "{ kind = 'periodic', period = '2us' }");
    let report = run(ASK, &[PERSISTENT, often, ("workload.0.queries", "50")]);
    let summary = report.summary();
    assert_eq!(summary["flows"]["completed"], 100);
    assert_eq!(summary["retransmits"], 0);
    let queued = run(
        ASK,
        &[
            ("workload.0.connections", "{ kind = 'persistent', when_busy = 'queue' }"),
            often,
            ("workload.0.queries", "50"),
        ],
    );
    // On one connection, requests follow one another, a round trip each.
    let last = queued.query_outcomes().last().and_then(|query| query.completion_time);
    assert_eq!(last, Some(micros(88 * 50) - micros(20 * 49)));
    assert_eq!(sent(&queued), 2 * 50 + 1);
}

#[test]
fn a_connection_that_answered_closes_its_own_side_and_no_other() {
    // Two flows reach host 1 before the requests, and last longer: their receivers have the first slots there.
    let flows = "[[workload]]\nkind = 'incast'\nsenders = [2, 3]\nreceivers = 1\nsize = '1MB'\n";
    let sets = [
        ("topology.hosts", "4"),
        ("tcp.delayed_ack.segments", "1"),
        ("workload.0.start", "100us"),
        ("workload.0.queries", "5"),
    ];
    let report = run(&[ASK, flows].concat(), &sets);
    let summary = report.summary();
    assert_eq!(summary["flows"], serde_json::json!({"started": 12, "completed": 12, "unbounded": 0}));
    assert_eq!((&summary["retransmits"], &summary["packets"]["stale"]), (&0.into(), &0.into()));
}

#[test]
fn segments_that_echo_the_same_are_merged() {
    // Every packet is marked, so each of the 79 segments of the answer echoes the mark of the request. They and the acknowledgement of the
    // request, which is sent at once because the request is the first marked packet, are coalesced in groups of eight.
    let sets = [
        ("workload.0.size", "115340B"),
        ("tcp.congestion", "dctcp"),
        ("switch.markers", "[{ kind = 'threshold', k = '0p', counts_packet = true }]"),
        ("host.nic.coalescing", "{ time = '1ms', packets = 8 }"),
    ];
    let report = run(ASK, &sets);
    let passed = ["switch0->host0", "switch0->host1"].map(|name| report.port(name).expect("a port"));
    assert_eq!(passed.map(|port| (port.sent, port.marked)), [(1 + 79, 1 + 79), (1 + 10, 1 + 10)]);
}

#[test]
fn a_port_on_which_answers_come_is_not_taken_again_when_all_have_been() {
    // The connection of the request keeps the first of 64,512 ports. The flows, one every 10 us, take the other ports in order, and then
    // start again at the second port.
    let flows = "[[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '1460B'\nstart = '100us'\n\
                 repeats = 64513\nperiod = '10us'\n";
    let report = run(&[ASK, flows].concat(), &[PERSISTENT, ("tcp.delayed_ack.segments", "1")]);
    let ports: Vec<i64> = rows::rows(&report, "flows")
        .iter()
        .filter(|row| rows::long(&row["workload"]) == Some(1))
        .map(|row| rows::long(&row["source_port"]).expect("it was sent"))
        .collect();
    let first = i64::from(FIRST_PORT);
    assert_eq!(ports.len(), 64_513);
    assert!(ports[..64_511].iter().copied().eq(first + 1..=65_535));
    assert_eq!(ports[64_511..], [first + 1, first + 2]);
}

#[test]
fn more_connections_than_a_host_has_ports_reach_the_next_port_of_the_service() {
    // A request each nanosecond, and the first answer after more than 4 us: all 64,515 requests wait at once, each on its own connection.
    // The host has 64,512 ports, from 1,024 to 65,535. After the last one, ports are used again with the next port number of the answering
    // host.
    let sets = [
        ("workload.0.connections", "{ kind = 'persistent', per_pair = 65_000 }"),
        ("workload.0.arrivals", "{ kind = 'periodic', period = '1ns' }"),
        ("workload.0.queries", "64_515"),
        ("workload.0.request", "1B"),
        ("workload.0.size", "1B"),
        ("topology.link_delay", "1ms"),
    ];
    let report = run(ASK, &sets);
    assert_eq!(report.summary()["flows"]["completed"], 2 * 64_515);
    let mut ports: Vec<(i64, i64)> = rows::rows(&report, "flows")
        .iter()
        .filter(|row| rows::long(&row["source"]) == Some(0))
        .map(|row| {
            (
                rows::long(&row["source_port"]).expect("sent"),
                rows::long(&row["destination_port"]).expect("sent"),
            )
        })
        .collect();
    ports.sort_unstable_by_key(|&(here, there)| (there, here));
    let first = i64::from(FIRST_PORT);
    let expected =
        (first..=65_535).map(|here| (here, 5_001)).chain((first..first + 3).map(|here| (here, 5_002)));
    assert!(ports.iter().copied().eq(expected));
}

#[test]
fn an_aggregator_that_has_requests_of_several_queries_answers_each_on_its_own_connection() {
    // With a query each us, host 3 has all four requests before its workers' first answer, 8.8 us after the first request.
    let sets = [
        ("topology.hosts", "4"),
        ("workload.0.workers", "'1..3'"),
        ("workload.0.aggregators", "{ count = 1, hosts = '3', size = '1460B' }"),
        ("workload.0.arrivals", "{ kind = 'periodic', period = '1us' }"),
        ("workload.0.queries", "4"),
        ("tcp.delayed_ack.segments", "1"),
    ];
    let report = run(ASK, &sets);
    let complete = |query: shallows_measure::QueryOutcome| {
        (query.responses, query.in_time, query.completion_time.is_some())
    };
    assert_eq!(report.query_outcomes().map(complete).collect::<Vec<_>>(), [(2, 2, true); 4]);
    // A request and an answer for each of the three hosts of a query.
    assert_eq!(report.summary()["flows"]["completed"], 4 * 2 * 3);
}
