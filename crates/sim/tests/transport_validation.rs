//! Tests of transports against closed forms and published curves: sawtooths, throughput with little buffer, fairness, and the
//! validation of ns-3.

use crate::common;
use shallows_sim::Report;

/// One 10 Gb/s port behind faster access links, as in `throughput.rs`; an acknowledgement for each packet.
const SCENARIO: &str = r#"
stop.at = "400ms"

[topology]
kind = "star"
hosts = 3
rate = "100Gbps"
link_delay = "29.67us"
links = [{ between = ["host2", "switch0"], rate = "10Gbps" }]

[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }

[host]
jitter = "off"

[tcp]
avoidance = "per-ack"
timestamps = false
delayed_ack = { segments = 1 }
rto = { min = "10ms" }

[measure]
flow_traces = [{ flows = [0] }]

[[workload]]
kind = "long-lived"
senders = "0"
receivers = 2
"#;

const MSS: f64 = 1_460.0;
/// 10 Gb/s in packets of 1,500 bytes.
const PACKETS_PER_SECOND: f64 = 10e9 / 12_000.0;

/// Returns pairs of a time, in seconds, and the value of a quantity at this time.
fn trace(report: &Report, flow: u32, quantity: &str) -> Vec<(f64, f64)> {
    report.flow_trace(flow, quantity).map(|(at, value)| (at.as_secs_f64(), value)).collect()
}

/// Returns the value at time `at`, which is the value of the last row that is not later.
fn value_at(trace: &[(f64, f64)], at: f64) -> f64 {
    trace[..trace.partition_point(|row| row.0 <= at)].last().map_or(0.0, |row| row.1)
}

/// Returns the acknowledged bits per second of `flow` between two times.
fn throughput(report: &Report, flow: u32, from: f64, to: f64) -> f64 {
    let acked = trace(report, flow, "acked_bytes");
    (value_at(&acked, to) - value_at(&acked, from)) * 8.0 / (to - from)
}

/// Returns the time, the value before and the value after, for each time that a value falls by more than a tenth.
fn falls(trace: &[(f64, f64)]) -> Vec<(f64, f64, f64)> {
    let pairs = trace.windows(2).filter(|pair| pair[1].1 < 0.9 * pair[0].1);
    pairs.map(|pair| (pair[1].0, pair[0].1, pair[1].1)).collect()
}

#[test]
fn renos_window_swings_between_what_fits_and_half_of_it() {
    // The path holds 100 packets and the buffer 100: the window is W = 100 + 100 + the one on the wire when the next is
    // lost, and half of it remains. RTT(w) = w/C while w exceeds the BDP, and each adds a packet (byte counting does so
    // exactly), so that growth takes Σ w/C from W/2 to W = 3W²/8C. Two round trips of W/C each precede it: the
    // one in which the loss is detected and the one in which it is repaired.
    let buffer = "{ kind = 'static-partition', per_port = '100p' }";
    let report = common::run(
        SCENARIO,
        &[("tcp.congestion", "reno"), ("tcp.avoidance", "byte-counting"), ("switch.buffer", buffer)],
    );
    let falls: Vec<_> =
        falls(&trace(&report, 0, "cwnd_bytes")).into_iter().filter(|fall| fall.0 > 0.1).collect();
    assert!(falls.len() > 10, "{falls:?}");
    for (_, before, after) in &falls {
        assert!((before / MSS - 201.0).abs() <= 2.0, "{} packets", before / MSS);
        assert!((after / before - 0.5).abs() <= 0.01, "{after} of {before}");
    }
    let period = (falls[falls.len() - 1].0 - falls[0].0) / (falls.len() - 1) as f64;
    let expected = (3.0 * 201.0 * 201.0 / 8.0 + 2.0 * 201.0) / PACKETS_PER_SECOND;
    println!("period {period:.5} s, expected {expected:.5}");
    assert!((period / expected - 1.0).abs() < 0.05, "{period} s, expected {expected}");
}

/// Returns the share of the link that one flow uses with this switch. The path holds 500 packets: its RTT is 4 · 149.67 + 1.32 = 600 us.
fn almost_unbuffered(congestion: &str, switch: (&str, &str)) -> f64 {
    let report = common::run(
        SCENARIO,
        &[("tcp.congestion", congestion), switch, ("topology.link_delay", "149.67us"), ("stop.at", "2s")],
    );
    let found = throughput(&report, 0, 1.0, 2.0) / (10e9 * MSS / 1_500.0);
    println!("{congestion}: {found:.4}");
    found
}

/// Marker that marks a packet if more than one packet waits when it arrives.
const MARKED: (&str, &str) = ("switch.markers", "[{ kind = 'threshold', k = '1p' }]");

#[test]
fn reno_keeps_three_quarters_of_the_link_without_a_buffer() {
    // The same sawtooth, with drops: the two packets that a growing window sends at once fit, but no more.
    let buffer = ("switch.buffer", "{ kind = 'static-partition', per_port = '2p' }");
    let found = almost_unbuffered("'reno'", buffer);
    assert!((found - 0.75).abs() <= 0.03, "{found}");
}

#[test]
fn ecn_star_keeps_three_quarters_of_the_link_with_almost_no_buffer() {
    // The window swings evenly between half a BDP and one.
    let found = almost_unbuffered("'ecn-star'", MARKED);
    assert!((found - 0.75).abs() <= 0.03, "{found}");
}

#[test]
fn dctcp_keeps_more_than_the_bound_with_almost_no_buffer() {
    // 94 % (SIGMETRICS '11) is the minimum over all numbers of flows in the fluid model. For one flow over 500 packets the
    // sawtooth of SIGCOMM '10 §3.3 has A = ½·√(2(500 + 1)) = 15.8 packets, of which 15.8 − 2 are missing at the bottom:
    // 13.8²/(2·15.8)/500 = 1.2 %.
    let found = almost_unbuffered("'dctcp'", MARKED);
    assert!((found - 0.988).abs() <= 0.01, "{found}");
}

/// BCC (INFOCOM '20) Fig. 1: 16 flows from two senders at 100 Gb/s, an RTT of 30 us: a BDP of 375 KB.
const BCC_F1: &str = r#"
stop.at = "20ms"

[topology]
kind = "star"
hosts = 3
rate = "100Gbps"
link_delay = "7.5us"

[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }

[tcp]
rto = { min = "10ms" }

[[workload]]
kind = "long-lived"
senders = "0..2"
receivers = 2
per_pair = 8
"#;

/// Returns the gigabits per second that arrive between 10 and 20 ms with a threshold of `k` KB.
fn bcc_f1(congestion: &str, k: u32) -> f64 {
    let marker = format!("[{{ kind = 'threshold', k = '{k}KB' }}]");
    let delivered = |stop: &str| {
        let sets = [("tcp.congestion", congestion), ("switch.markers", &marker), ("stop.at", stop)];
        common::run(BCC_F1, &sets).flows().map(|flow| flow.delivered.0).sum::<u64>() as f64
    };
    (delivered("20ms") - delivered("10ms")) * 8.0 / 10e-3 / 1e9
}

#[test]
fn sixteen_dctcp_flows_need_a_lower_threshold_than_sixteen_of_ecn_star() {
    let mut table = Vec::new();
    for k in [10, 25, 50, 100, 150, 200, 250, 325] {
        let row = (k, bcc_f1("'ecn-star'", k), bcc_f1("'dctcp'", k));
        println!("K = {k} KB: ECN* {:.2}, DCTCP {:.2}", row.1, row.2);
        table.push(row);
    }
    // 1,448 of each 1,500 bytes are data.
    let most = 100.0 * 1_448.0 / 1_500.0;
    assert!(table.iter().all(|row| row.2 > row.1 && row.2 <= 1.001 * most), "{table:?}");
    let needed = |of: fn(&(u32, f64, f64)) -> f64| {
        table
            .iter()
            .find(|row| of(row) >= 0.99 * most)
            .map(|row| row.0)
            .expect("the largest threshold suffices")
    };
    // Theory: K = 1 BDP = 375 KB for one flow of ECN* or for flows in step, and at most 1/7 of it, 54 KB, for DCTCP. The authors
    // measured 300 KB (0.8 BDP) and, with bursts of segmentation offload, which this test does not have, 250 KB.
    assert_eq!((needed(|row| row.1), needed(|row| row.2)), (325, 50));
}

/// DCTCP (SIGCOMM '10) Fig. 16: hosts at 1 Gb/s, an RTT of 100 us, K = 20. No window is below two segments, as in Linux: the
/// acknowledgement of a single segment would wait for 40 ms.
const FAIRNESS: &str = r#"
[topology]
kind = "star"
hosts = 91
rate = "1Gbps"
link_delay = "22us"

[switch]
buffer = { kind = "complete-sharing", pool = "4MB" }
markers = [{ kind = "threshold", k = "20p" }]

[tcp]
rto = { min = "10ms" }
minimum_window = 2

[[workload]]
kind = "long-lived"
senders = "0..5"
receivers = 90
"#;

#[test]
fn dctcp_flows_share_fairly_up_to_ninety() {
    for flows in [2, 5, 20, 50, 90] {
        let senders = format!("0..{flows}");
        let delivered = |stop: &str| -> Vec<f64> {
            let report = common::run(FAIRNESS, &[("workload.0.senders", &senders), ("stop.at", stop)]);
            report.flows().map(|flow| flow.delivered.0 as f64).collect()
        };
        let shares: Vec<f64> =
            delivered("2.5s").iter().zip(delivered("500ms")).map(|(late, early)| late - early).collect();
        let (sum, squares) = shares.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
        let jain = sum * sum / squares / f64::from(flows);
        println!("{flows} flows: Jain {jain:.4}, {:.3} Gb/s", sum * 8.0 / 2.0 / 1e9);
        assert!(jain >= 0.99, "{flows} flows: {jain}");
    }
}

#[test]
fn five_dctcp_flows_converge_as_they_come_and_go() {
    // One more flow each second, where the paper has 30 s; measured over the last half of each second. NICs mark as the switch does: a
    // flow alone would otherwise have a queue only in its own NIC, and its window would grow as long as it is alone.
    let workloads: String = (1..5)
        .map(|flow| {
            format!(
                "[[workload]]\nkind = 'long-lived'\nsenders = '{flow}'\nreceivers = 90\nstart = '{}ms'\n",
                1_000 * flow
            )
        })
        .collect();
    let text = format!("{FAIRNESS}{workloads}");
    let sets = [
        ("workload.0.senders", "0"),
        ("stop.at", "5s"),
        ("host.nic.markers", "[{ kind = 'threshold', k = '20p' }]"),
        ("measure.flow_traces", "[{ flows = [0, 1, 2, 3, 4] }]"),
    ];
    let report = common::run(&text, &sets);
    // DCTCP's authors: 20 to 30 ms. Here the second flow must have three quarters of its half 30 to 40 ms after its start.
    let second: Vec<f64> = (0..10)
        .map(|step| 1.0 + 0.01 * f64::from(step))
        .map(|at| throughput(&report, 1, at, at + 0.01) / 1e9)
        .collect();
    println!("the second flow, each 10 ms: {second:.3?} Gb/s");
    assert!(second[3] >= 0.75 * 0.483, "{second:?}");
    for active in 1..=5_u32 {
        let end = f64::from(active);
        let shares: Vec<f64> = (0..active).map(|flow| throughput(&report, flow, end - 0.5, end)).collect();
        let (sum, squares) = shares.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
        let jain = sum * sum / squares / f64::from(active);
        println!("{active} flows: Jain {jain:.4}, {:.3} Gb/s", sum / 1e9);
        assert!(jain >= 0.99 && sum > 0.96e9, "{active} flows: {jain}, {sum}");
    }
}

/// ns-3's `tcp-validation`: 1 Gb/s to a bottleneck of 50 Mb/s behind CoDel, segments with 1,448 bytes of data in 1,502 bytes on the wire,
/// one acknowledgement for two segments, and a flow that starts at 5 s.
const NS3: &str = r#"
stop.at = "15s"

[topology]
kind = "dumbbell"
left = 1
right = 1
rate = "1Gbps"
bottleneck_rate = "50Mbps"
link_delay = "1us"
bottleneck_delay = "5ms"
framing = 2

[switch]
buffer = { kind = "complete-sharing", pool = "1502000B" }
markers = [{ kind = "codel", action = "mark", ce_threshold = "1ms" }]

[tcp]
congestion = "dctcp"
initial_window = 10
delayed_ack = { segments = 2, timeout = "200ms" }

[host]
jitter = "off"

[measure]
flow_traces = [{ flows = [0] }]

[[workload]]
kind = "long-lived"
senders = "0"
receivers = 1
start = "5s"
"#;

/// Returns the smallest and largest value of alpha between two times.
fn alpha_between(report: &Report, from: f64, to: f64) -> (f64, f64) {
    let alpha = trace(report, 0, "alpha");
    let within = alpha.iter().filter(|row| (from..to).contains(&row.0)).map(|row| row.1);
    within.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)))
}

fn throughputs(report: &Report, from: f64, to: f64) -> (f64, f64) {
    let count = ((to - from) / 0.2).round() as u32;
    let starts = (0..count).map(|step| from + 0.2 * f64::from(step));
    let rates = starts.map(|start| throughput(report, 0, start, start + 0.2) / 1e6);
    rates.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)))
}

/// Returns the mean of alpha in theory. A cycle has αW*/2 rounds in which the window grows back after a cut, and `pause` further rounds.
/// One round of a cycle is marked, so that α(αW*/2 + pause) = 1. The fluid model of SIGCOMM '10 §3.3 has no pause: α = √(2/W*).
fn alpha_in_theory(window: f64, pause: f64) -> f64 {
    ((pause * pause + 2.0 * window).sqrt() - pause) / window
}

fn mean_alpha(report: &Report, from: f64, to: f64) -> f64 {
    let alpha = trace(report, 0, "alpha");
    let samples = (0..10_000).map(|step| value_at(&alpha, from + (to - from) * f64::from(step) / 10_000.0));
    samples.sum::<f64>() / 10_000.0
}

/// Returns how many packets of 1,502 bytes fit in a round trip of `rtt_ms` at 50 Mb/s, plus those that fit in 1 ms, the threshold of the
/// marker.
fn ns3_window(rtt_ms: f64) -> f64 {
    50e6 / 8.0 / 1_502.0 * (rtt_ms + 1.0) / 1e3
}

#[test]
fn dctcp_over_10_ms_has_the_throughput_of_ns3_and_the_alpha_of_the_analysis() {
    let report = common::run(NS3, &[]);
    // ns-3: 48 to 49 Mb/s after 5.6 s. 50 · 1,448/1,502 = 48.2.
    let (least, most) = throughputs(&report, 5.6, 15.0);
    assert!(least >= 48.0 && most <= 49.0, "{least} to {most}");
    // ns-3's alpha is between 0.06 and 0.085 with byte queue limits below its marker, and 0.128 on average without them, which
    // corresponds to a switch port (evidence/fidelity.md). W* = 45.8 packets: the
    // fluid gives 0.21. Three rounds do not restore any window: the marks are one round under way, byte counting first counts one
    // whole window, and of 3.5 packets the last half takes a round.
    let (found, expected) = (mean_alpha(&report, 7.0, 15.0), alpha_in_theory(ns3_window(10.0), 3.0));
    println!("alpha {found:.3}, expected {expected:.3}");
    assert!((found - expected).abs() < 0.01, "{found}, expected {expected}");
    assert!(expected < alpha_in_theory(ns3_window(10.0), 0.0));
}

#[test]
fn dctcp_over_80_ms_climbs_as_in_ns3() {
    let report = common::run(NS3, &[("topology.bottleneck_delay", "40ms"), ("stop.at", "45s")]);
    // ns-3: below 20 Mb/s until 14 s, since the first mark finds alpha = 1, and below 48 until 30 s.
    assert!(throughputs(&report, 5.0, 14.0).1 < 20.0);
    assert!(throughputs(&report, 5.0, 30.0).1 < 48.0);
    // ns-3 has 47.5 to 48.5 after 32 s. Shallows has that on average, and at worst 46.9 in 200 ms, since alpha is larger.
    let mean = throughput(&report, 0, 32.0, 45.0) / 1e6;
    println!("{mean:.2} Mb/s, {:?}", throughputs(&report, 32.0, 45.0));
    assert!((47.5..=48.5).contains(&mean), "{mean}");
    // Alpha above 0.1 until 7.5 s, and below 0.01 from 11 to 30 s.
    assert!(alpha_between(&report, 5.1, 7.5).0 > 0.1);
    assert!(alpha_between(&report, 11.0, 30.0).1 < 0.01);
    // Later between 0.015 and 0.025 in ns-3 with byte queue limits, and 0.057 on average without them. The fluid gives
    // √(2/337) = 0.077, which pauses reduce.
    let (found, fluid) = (mean_alpha(&report, 34.0, 45.0), alpha_in_theory(ns3_window(80.0), 0.0));
    println!("alpha {found:.3}, fluid {fluid:.3}");
    assert!((found / 0.057 - 1.0).abs() < 0.05, "{found}, ns-3 0.057");
    assert!(found < fluid, "{found}, fluid {fluid}");
}

#[test]
fn cubic_over_50_ms_has_the_maxima_of_ns3() {
    for (ecn, marker) in
        [("false", "[{ kind = 'codel' }]"), ("true", "[{ kind = 'codel', action = 'mark' }]")]
    {
        let congestion = format!("{{ kind = 'cubic', ecn = {ecn} }}");
        let sets = [
            ("tcp.congestion", congestion.as_str()),
            ("tcp.prr", "'ssrb'"),
            ("switch.markers", marker),
            ("switch.egress_drop", "free"),
            ("topology.bottleneck_delay", "25ms"),
            ("stop.at", "20s"),
        ];
        let report = common::run(NS3, &sets);
        let falls = falls(&trace(&report, 0, "cwnd_bytes"));
        let maxima: Vec<f64> = falls.iter().map(|fall| fall.1 / 1_448.0).collect();
        println!("ECN {ecn}: maxima {maxima:.1?}");
        // ns-3: 511 at first, with HyStart, which this test does not use; after slow start and the repair of its losses 236
        // and 234, within 5 %.
        let later: Vec<f64> =
            falls.iter().filter(|fall| fall.0 > 10.0).map(|fall| fall.1 / 1_448.0).collect();
        assert_eq!(later.len(), 2, "{falls:?}");
        for (found, expected) in later.iter().zip([236.0, 234.0]) {
            assert!((found / expected - 1.0).abs() <= 0.05, "{found}, expected {expected}");
        }
        // RFC 9438 §4.6: 0.7 of the window remains.
        assert!(falls.iter().all(|fall| (fall.2 / fall.1 - 0.7).abs() < 0.01 || fall.0 < 10.0), "{falls:?}");
    }
}
