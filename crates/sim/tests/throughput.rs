//! Buffer sizes and thresholds that keep a link busy (K > C·RTT/7 for DCTCP, one BDP for Reno), and the cost of
//! smaller ones.

use crate::common;

/// One 10 Gb/s port behind faster access links; a base RTT of 100 us (four times 24.65 us, and 0.12 us and 1.2 us to send
/// 1,500 bytes): C·RTT = 83.3 packets. An acknowledgement for each packet grows the window by 1/cwnd, as the analyses
/// assume.
const SCENARIO: &str = r#"
stop.at = "400ms"

[topology]
kind = "star"
hosts = 120
rate = "100Gbps"
link_delay = "24.65us"
links = [{ between = ["host119", "switch0"], rate = "10Gbps" }]

[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }

[host]
jitter = "off"

[tcp]
avoidance = "per-ack"
timestamps = false
delayed_ack = { segments = 1 }
rto = { min = "10ms" }

[[workload]]
kind = "long-lived"
senders = "0..1"
receivers = 119
"#;

/// Returns the goodput in the second half of the run, divided by the largest goodput that the link can carry.
fn goodput(sets: &[(&str, &str)]) -> f64 {
    let delivered = |stop: &str| {
        let report = common::run(SCENARIO, &[sets, &[("stop.at", stop)]].concat());
        report.flows().map(|flow| flow.delivered.0).sum::<u64>() as f64
    };
    let bytes = delivered("400ms") - delivered("200ms");
    // 1,460 of every 1,500 bytes are data.
    bytes * 8.0 / 0.2 / (10e9 * 1_460.0 / 1_500.0)
}

/// Returns the goodput of `flows` flows of DCTCP with a threshold of `k` packets, over links of this delay.
fn dctcp(flows: u32, k: u32, link_delay: &str) -> f64 {
    let senders = format!("0..{flows}");
    let markers = format!("[{{ kind = 'threshold', k = '{k}p' }}]");
    let found = goodput(&[
        ("workload.0.senders", &senders),
        ("switch.markers", &markers),
        ("topology.link_delay", link_delay),
    ]);
    println!("DCTCP, {flows} flows, K = {k}: {found:.4}");
    found
}

/// Returns the goodput of one flow through a drop-tail queue of `buffer` packets, over a path that holds 100 packets.
fn drop_tail(congestion: &str, buffer: u32) -> f64 {
    let buffer_spec = format!("{{ kind = 'static-partition', per_port = '{buffer}p' }}");
    // 4 · 29.67 us + 1.32 us = 120 us.
    let avoidance = if congestion == "cubic" { "byte-counting" } else { "per-ack" };
    let found = goodput(&[
        ("switch.buffer", &buffer_spec),
        ("tcp.congestion", congestion),
        ("tcp.avoidance", avoidance),
        ("topology.link_delay", "29.67us"),
    ]);
    println!("{congestion}, a buffer of {buffer}: {found:.4}");
    found
}

fn reno(buffer: u32) -> f64 {
    drop_tail("reno", buffer)
}

/// Returns the goodput of CUBIC, which has its own congestion avoidance.
fn cubic(buffer: u32) -> f64 {
    drop_tail("cubic", buffer)
}

/// Returns the predicted goodput, as a share of the link. By DCTCP (SIGCOMM '10) §3.3, the queue would rise evenly from K + N − A to K + N,
/// with A = ½·√(2N(C·RTT + K)). Where this is below zero, the link idles instead. The loss is the mean of the part below zero, divided by
/// C·RTT.
fn predicted(flows: u32, k: u32, capacity: f64) -> f64 {
    let (n, k) = (f64::from(flows), f64::from(k));
    let amplitude = 0.5 * (2.0 * n * (capacity + k)).sqrt();
    let missing = (amplitude - k - n).max(0.0);
    1.0 - missing * missing / (2.0 * amplitude) / capacity
}

#[test]
fn a_threshold_above_a_seventh_of_the_bdp_keeps_the_link_busy() {
    // C·RTT/7 = 11.9 packets.
    for flows in [1, 2] {
        for k in [12, 20, 40] {
            assert!(dctcp(flows, k, "24.65us") >= 0.99);
        }
    }
}

#[test]
fn a_seventh_suffices_for_the_number_of_flows_that_needs_most() {
    // K + N ≥ A for every N if K ≥ C·RTT/7; this is tightest at N = (C·RTT + K)/8, windows of 8 packets. With an RTT of 1 ms,
    // C·RTT = 833 packets: 119 flows, and K = 119 just suffices.
    assert!(predicted(119, 120, 833.3) >= 1.0 && predicted(119, 118, 833.3) < 1.0);
    assert!(dctcp(119, 120, "249.65us") >= 0.99);
}

#[test]
fn a_threshold_far_below_costs_what_the_analysis_says() {
    // The loss is largest for N = C·RTT/18 = 46 flows: 3.6 % of the link for K = 1, 2.9 % for C·RTT/70 = 12 packets.
    let expected = predicted(46, 1, 833.3);
    assert!((0.963..0.965).contains(&expected), "{expected}");
    let found = dctcp(46, 1, "249.65us");
    assert!(found < 0.97 && (found - expected).abs() < 0.01, "{found}, expected {expected}");
    let (found, expected) = (dctcp(46, 12, "249.65us"), predicted(46, 12, 833.3));
    assert!(found < 0.98 && (found - expected).abs() < 0.01, "{found}, expected {expected}");
    // One flow on a short path loses 1.9 %.
    let (found, expected) = (dctcp(1, 1, "24.65us"), predicted(1, 1, 83.3));
    assert!(found < 0.99 && (found - expected).abs() < 0.01, "{found}, expected {expected}");
}

#[test]
fn reno_fills_the_link_with_a_buffer_of_one_bdp() {
    // Half of a window of two BDPs is one BDP (Villamizar and Song, CCR '94).
    assert!(reno(100) >= 0.99);
    // With a slightly smaller buffer slow start loses a retransmission, and the timer must fire once. The window after that must
    // fit the path, or the same repeats forever.
    assert!(reno(90) >= 0.99);
}

#[test]
fn reno_fills_three_quarters_of_the_link_almost_without_a_buffer() {
    // The window swings between half a BDP and one, evenly: three quarters on average.
    for buffer in [1, 2] {
        let found = reno(buffer);
        assert!((found - 0.75).abs() <= 0.05, "{found}");
    }
}

#[test]
fn cubic_fills_the_link_with_less_than_half_the_buffer_of_reno() {
    // 0.7 of a window of 1.43 BDPs is one BDP (RFC 9438 §4.6). Round trips are so short that growth is Reno's (§4.3).
    assert!(cubic(45) >= 0.99);
    // Reno's window swings from 72.5 to 145; the part of that swing below 100 is missing: 27.5² / 2 / 72.5 / 100.
    let found = reno(45);
    assert!((found - 0.948).abs() < 0.02, "{found}");
}

#[test]
fn cubic_fills_seventeen_twentieths_of_the_link_almost_without_a_buffer() {
    // The window swings between 0.7 of a BDP and one, evenly.
    for buffer in [1, 2] {
        let found = cubic(buffer);
        assert!((found - 0.85).abs() <= 0.05, "{found}");
    }
}
