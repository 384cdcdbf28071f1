//! Tests of measurements of flows: traces of their senders, and starvation times.

use crate::common;
use crate::common::rows::{double, long, rows};
use parquet::record::Field;
use shallows_core::Duration;
use shallows_sim::Report;

/// Two hosts, 10 Gb/s, 10 us on each link: a round trip of 40 us, and 1.2 us for each full packet on each of two links.
const SCENARIO: &str = r#"
[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
link_delay = "10us"

[switch]
buffer = { kind = "static-partition", per_port = "100p" }

[host]
jitter = "off"

[tcp]
congestion = "reno"
initial_window = 2
rto = { min = "5ms", initial = "5ms" }
delayed_ack = { segments = 1 }
timestamps = false

[[workload]]
kind = "incast"
senders = "0"
receivers = 2
size = "14600B"
"#;

/// Further workload: a single flow, number 1, from the second sender of the network.
const SECOND: &str = "[[workload]]\nkind = 'incast'\nsenders = '1'\nreceivers = 2\nsize = '14600B'\n";

fn trace(report: &Report, flow: u32, quantity: &str) -> Vec<(u64, f64)> {
    report.flow_trace(flow, quantity).map(|(at, value)| (at.0 / 1_000, value)).collect()
}

/// Round-trip time in nanoseconds: four delays, and on each of two links 1,200 ns for a packet of 1,500 bytes and 32 ns for an
/// acknowledgement of 40 bytes.
const RTT_NS: u64 = 40_000 + 2 * (1_200 + 32);

#[test]
fn an_event_trace_shows_slow_start_acknowledgement_by_acknowledgement() {
    let report = common::run(SCENARIO, &[("measure.flow_traces", "[{ flows = [0] }]")]);
    let mss = 1_460.0;
    // Two segments leave at once; each acknowledgement, 1,200 ns apart, adds one (RFC 5681 Eq. 2), and two more go.
    let cwnd = trace(&report, 0, "cwnd_bytes");
    let first = [(0, 2.0), (RTT_NS, 3.0), (RTT_NS + 1_200, 4.0)].map(|(at, segments)| (at, segments * mss));
    assert_eq!(cwnd[..3], first);
    let pipe = trace(&report, 0, "pipe_bytes");
    assert_eq!(pipe[..3], first);
    assert_eq!(trace(&report, 0, "srtt_us")[0], (RTT_NS, RTT_NS as f64 / 1e3));
    assert_eq!(trace(&report, 0, "state"), [(0, 0.0)]);
    // Reno has no alpha, and without a loss ssthresh is still arbitrarily high.
    assert!(trace(&report, 0, "alpha").is_empty() && trace(&report, 0, "ssthresh_bytes").is_empty());
    assert!(trace(&report, 0, "cwnd").is_empty(), "an unknown quantity");
}

#[test]
fn a_sampled_trace_is_a_part_of_the_event_trace() {
    let whole = common::run(SCENARIO, &[("measure.flow_traces", "[{ flows = [0] }]")]);
    let sampled = common::run(SCENARIO, &[("measure.flow_traces", "[{ flows = [0], every = '50us' }]")]);
    let events = trace(&whole, 0, "cwnd_bytes");
    let samples = trace(&sampled, 0, "cwnd_bytes");
    assert_eq!(samples.len(), 3, "{samples:?}");
    for (at, value) in samples {
        assert_eq!(at % 50_000, 0);
        let last = events.iter().rfind(|(before, _)| *before <= at).expect("the first is at zero");
        assert_eq!(value, last.1, "at {at} ns");
    }
}

#[test]
fn flows_are_chosen_by_number_by_workload_or_at_random() {
    let text = format!("{SCENARIO}{SECOND}");
    let traced = |choice: &str| -> Vec<u32> {
        let report = common::run(&text, &[("measure.flow_traces", choice)]);
        (0..3).filter(|&flow| report.flow_trace(flow, "cwnd_bytes").next().is_some()).collect()
    };
    assert_eq!(traced("[{ flows = [1] }]"), [1]);
    assert_eq!(traced("[{ flows = [0] }, { flows = [1, 0] }]"), [0, 1]);
    assert_eq!(traced("[{ sample = 1 }]").len(), 1);
    assert_eq!(traced("[{ sample = 5 }]"), [0, 1]);
    // The seed determines which of two simultaneous flows comes first, so the flow is found by its source.
    let report = common::run(&text, &[("measure.flow_traces", "[{ workload = 1 }]")]);
    let second = report.flows().position(|flow| flow.source.0 == 1).expect("there are two") as u32;
    assert!(report.flow_trace(second, "cwnd_bytes").next().is_some());
    assert!(report.flow_trace(1 - second, "cwnd_bytes").next().is_none());
    let sampled = traced("[{ workload = 1, sample = 4 }]");
    assert_eq!(sampled, [second]);
}

#[test]
fn a_timeout_shows_in_the_trace_and_as_starvation() {
    // Four segments at once to a port that sends one and holds one: the last two are lost, and no later segment
    // reveals it. Both ends starve for the timer's 5 ms.
    let sets = [
        ("measure.flow_traces", "[{ flows = [0] }]"),
        ("switch.buffer", "{ kind = 'static-partition', per_port = '1p' }"),
        ("topology.links", "[{ between = ['host2', 'switch0'], rate = '1Gbps' }]"),
        ("tcp.initial_window", "4"),
        ("workload.0.size", "5840B"),
    ];
    let report = common::run(SCENARIO, &sets);
    let flow = report.flows().next().expect("there is one");
    assert!(flow.timeouts >= 1);
    let state = trace(&report, 0, "state");
    assert!(state.iter().any(|(_, state)| *state == 2.0), "{state:?}");
    assert!(trace(&report, 0, "ssthresh_bytes").iter().any(|(_, ssthresh)| *ssthresh == 2.0 * 1_460.0));
    for gap in [flow.longest_ack_gap, flow.longest_arrival_gap].map(|gap| gap.expect("it was sent")) {
        assert!(gap >= Duration::from_millis(5), "{gap}");
        assert!(gap < flow.completion_time.expect("it ends"));
    }
}

#[test]
fn starvation_counts_from_the_start_of_a_flow_and_to_the_end_of_the_run() {
    // One segment: its acknowledgement arrives after a round trip, its data after half of one.
    let report = common::run(SCENARIO, &[("workload.0.size", "1460B")]);
    let flow = report.flows().next().expect("there is one");
    assert_eq!(flow.longest_ack_gap, Some(Duration::from_nanos(RTT_NS)));
    assert_eq!(flow.longest_arrival_gap, Some(Duration::from_nanos(20_000 + 2 * 1_200)));
    // The run stops 1 ms after the flow began, with everything in flight lost: it has starved since the last arrival.
    let cut = [
        ("stop.at", "1ms"),
        ("switch.buffer", "{ kind = 'static-partition', per_port = '1p' }"),
        ("topology.links", "[{ between = ['host2', 'switch0'], rate = '1Gbps' }]"),
        ("tcp.initial_window", "10"),
    ];
    let report = common::run(SCENARIO, &cut);
    let flow = report.flows().next().expect("there is one");
    assert_eq!(flow.completion_time, None);
    // The first two of ten segments pass: data arrives at 21.2 + 22 us and 12 us later.
    let last_arrival = Duration::from_nanos(1_200 + 20_000 + 2 * 12_000);
    assert_eq!(flow.longest_arrival_gap, Some(Duration::from_millis(1) - last_arrival));
}

#[test]
fn the_table_of_flow_traces_is_there_when_asked_for_and_the_same_each_time() {
    assert!(!common::run(SCENARIO, &[]).tables().contains(&"flow_traces"));
    let text = format!("{SCENARIO}{SECOND}");
    let table = || {
        let report = common::run(&text, &[("measure.flow_traces", "[{ sample = 1, every = '10us' }]")]);
        assert!(report.tables().contains(&"flow_traces"));
        let mut bytes = Vec::new();
        report.write_table("flow_traces", &mut bytes).expect("memory takes it");
        bytes
    };
    let bytes = table();
    assert!(bytes.starts_with(b"PAR1") && bytes == table());
}

#[test]
fn flows_of_one_connection_are_traced_each_from_its_own_start() {
    let text = SCENARIO.replace(
        "size = \"14600B\"",
        "size = \"14600B\"\nrepeats = 3\nperiod = \"1ms\"\nconnections = \"persistent\"",
    );
    let report = common::run(&text, &[("measure.flow_traces", "[{ workload = 0 }]")]);
    assert_eq!(report.flows().count(), 3);
    for flow in 0..3 {
        let acked = trace(&report, flow, "acked_bytes");
        assert_eq!(acked[0], (u64::from(flow) * 1_000_000, 0.0));
        // Ten segments; the last acknowledgement ends the flow and gives no reading.
        assert_eq!(acked.last().expect("it was sent").1, 9.0 * 1_460.0);
    }
}

#[test]
fn rows_have_their_times_in_microseconds() {
    let report = common::run(SCENARIO, &[("measure.flow_traces", "[{ flows = [0] }]")]);
    let rows = rows(&report, "flow_traces");
    let cwnd = rows.iter().filter(|row| row["quantity"] == Field::Str("cwnd_bytes".to_owned()));
    let found: Vec<_> = cwnd
        .map(|row| {
            let [at, value] = ["time_us", "value"].map(|column| double(&row[column]).expect("a number"));
            assert_eq!(long(&row["flow"]), Some(0));
            ((at * 1e3).round() as u64, value)
        })
        .collect();
    assert!(found.len() > 3);
    assert_eq!(found, trace(&report, 0, "cwnd_bytes"));
}

#[test]
fn only_what_acknowledges_new_data_ends_a_gap() {
    // Nine segments at once to a port that sends one and holds three: the fifth to the ninth are lost. Retransmissions after the timer
    // are acknowledged one after the other; duplicate acknowledgements before that end no gap.
    let sets = [
        ("measure.flow_traces", "[{ flows = [0] }]"),
        ("switch.buffer.per_port", "3p"),
        ("topology.links", "[{ between = ['host2', 'switch0'], rate = '1Gbps' }]"),
        ("tcp.initial_window", "9"),
    ];
    let report = common::run(SCENARIO, &sets);
    let flow = report.flows().next().expect("there is one");
    let acked: Vec<u64> = report.flow_trace(0, "acked_bytes").map(|(at, _)| at.0).collect();
    let longest = acked.windows(2).map(|pair| pair[1] - pair[0]).max();
    assert_eq!(flow.longest_ack_gap.map(|gap| gap.0), longest);
}
