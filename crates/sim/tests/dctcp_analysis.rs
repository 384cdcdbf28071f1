//! Tests of the sawtooth of DCTCP's queue against the fluid analysis of Alizadeh et al. (SIGCOMM '10) §3.3, as in their Fig. 12.
//!
//! *N* flows start together; with W* = (C·RTT + K)/N the queue swings between K + N and K + N − A, where A = ½·√(2N(C·RTT + K)), with a
//! period of ½·√(2(C·RTT + K)/N) round trips, and α is about √(2/W*). C counts packets on the wire per second. Each window grows by one
//! packet per round trip, so in these tests a round trip is the base RTT plus the mean queueing delay.
//!
//! Two simplifications of the analysis make the actual swing smaller than A. It assumes a constant alpha; with g = 1/16, alpha decays
//! between two cuts and is smallest at a cut ([`Analysis::in_step`] accounts for this). It also cuts all windows at the same time. In the
//! simulation, windows are cut one after the other within a round trip, and those that are cut later grow meanwhile, by at most a packet
//! each. A gain of 1/256 avoids the first effect, and a single flow avoids the second.
//!
//! As in the paper's ns-2 runs an acknowledgement is sent for each packet and grows the window by 1/cwnd. RFC 5681's byte
//! counting, the default of Shallows, adds whole segments and restarts its count after each cut; the last test shows the effect.

use crate::common;
use shallows_sim::Report;

/// 10 Gb/s behind faster access links, so that packets wait at one port only. An RTT of 100 us: four times 24.65 us, and
/// 0.12 us and 1.2 us to send 1,500 bytes. K = 40 packets.
const SCENARIO: &str = r#"
stop.at = "100ms"

[topology]
kind = "star"
hosts = 41
rate = "100Gbps"
link_delay = "24.65us"
links = [{ between = ["host40", "switch0"], rate = "10Gbps" }]

[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }
markers = [{ kind = "threshold", k = "40p" }]

[host]
jitter = "off"

[tcp]
congestion = { kind = "dctcp", g = 0.0625 }
avoidance = "per-ack"
timestamps = false
delayed_ack = { segments = 1 }

[measure]
sample_queues = "2us"

[[workload]]
kind = "long-lived"
senders = "0..2"
receivers = 40
"#;

const K: f64 = 40.0;
/// 10 Gb/s in packets of 1,500 bytes.
const C: f64 = 10e9 / 12_000.0;
const RTT: f64 = 100e-6;

/// Predictions of the analysis for *N* flows.
#[derive(Clone, Copy, Debug)]
struct Analysis {
    flows: f64,
    window: f64,
    amplitude: f64,
    period: f64,
}

impl Analysis {
    fn of(flows: u32) -> Self {
        let n = f64::from(flows);
        let capacity = C * RTT + K;
        Self {
            flows: n,
            window: capacity / n,
            amplitude: 0.5 * (2.0 * n * capacity).sqrt(),
            period: 0.5 * (2.0 * capacity / n).sqrt(),
        }
    }

    /// Returns the mean cut of a window, in packets. It takes the changes of alpha into account, and assumes that all windows change in
    /// step and are not rounded to packets. The unit of time is a round trip. A window is cut when it has grown to W* + 1. For one round
    /// trip afterwards, all acknowledgements carry ECE. Alpha changes once per round trip, at other times than the cuts (RFC 8257 §3.3).
    fn in_step(&self, gain: f64) -> f64 {
        let top = self.window + 1.0;
        let (mut alpha, mut update, mut cut) = (0.2, 0.37_f64, 0.0);
        let mut marked = [-10.0_f64, -10.0];
        let (mut sum, mut count) = (0.0, 0.0);
        for cycle in 0..4_000 {
            while update <= cut {
                let overlap = |from: f64| (update.min(from + 1.0) - (update - 1.0).max(from)).max(0.0);
                alpha += gain * (overlap(marked[0]) + overlap(marked[1]) - alpha);
                update += 1.0;
            }
            let depth = top * alpha / 2.0;
            if cycle >= 2_000 {
                (sum, count) = (sum + depth, count + 1.0);
            }
            marked = [marked[1], cut];
            cut += depth;
        }
        sum / count
    }

    /// Returns the root of α²(1 − α/4) = (2W* + 1)/(W* + 1)², which the paper approximates by √(2/W*) for small α.
    fn alpha(&self) -> f64 {
        let right = (2.0 * self.window + 1.0) / ((self.window + 1.0) * (self.window + 1.0));
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..50 {
            let alpha: f64 = (low + high) / 2.0;
            if alpha * alpha * (1.0 - alpha / 4.0) < right { low = alpha } else { high = alpha }
        }
        low
    }
}

/// Shape of the backlog after 50 ms, in packets. By then alpha has settled, because it averages over about 16 windows of 0.15 ms.
#[derive(Clone, Copy, Debug)]
struct Sawtooth {
    max: f64,
    min: f64,
    /// Maximum minus minimum of the backlog in a cycle, as a mean over all cycles.
    amplitude: f64,
    /// Length of a cycle in round trips.
    period: f64,
    /// Share of marked packets, which is the mean of alpha.
    marked: f64,
}

fn simulate(flows: u32, sets: &[(&str, &str)]) -> Sawtooth {
    let senders = format!("0..{flows}");
    let sets = [&[("workload.0.senders", senders.as_str())], sets].concat();
    let whole = common::run(SCENARIO, &sets);
    let half = common::run(SCENARIO, &[sets.as_slice(), &[("stop.at", "50ms")]].concat());
    let counts = |report: &Report| {
        let port = report.port("switch0->host40").expect("the star has this port");
        assert_eq!(port.dropped_total(), 0);
        (port.marked as f64, port.sent as f64)
    };
    let ((marked, sent), (marked_before, sent_before)) = (counts(&whole), counts(&half));
    let mut seen = measure(&whole, &Analysis::of(flows));
    seen.marked = (marked - marked_before) / (sent - sent_before);
    println!("{flows} flows: {seen:.2?}, {:.2?}", Analysis::of(flows));
    seen
}

/// Measures the sawtooth. A cycle begins when the queue rises into the upper quarter of the predicted swing, after it has been in the lower
/// quarter.
fn measure(report: &Report, analysis: &Analysis) -> Sawtooth {
    let samples: Vec<(f64, f64)> = report
        .backlog("switch0->host40")
        .map(|(at, bytes)| (at.as_secs_f64(), bytes.0 as f64 / 1_500.0))
        .filter(|(at, _)| *at >= 0.05)
        .collect();
    let top = K + analysis.flows;
    let (upper, lower) = (top - 0.25 * analysis.amplitude, top - 0.75 * analysis.amplitude);
    let (mut starts, mut armed) = (vec![], false);
    for (place, &(_, queue)) in samples.iter().enumerate() {
        if queue <= lower {
            armed = true;
        } else if queue >= upper && armed {
            armed = false;
            starts.push(place);
        }
    }
    let extremes = |part: &[(f64, f64)]| {
        part.iter()
            .fold((f64::MAX, 0.0), |(min, max): (f64, f64), (_, queue)| (min.min(*queue), max.max(*queue)))
    };
    let cycles = starts.len().saturating_sub(1);
    assert!(cycles >= 20, "the queue swings over the middle half of the prediction: {cycles} cycles");
    let swings: Vec<f64> = starts
        .windows(2)
        .map(|pair| extremes(&samples[pair[0]..pair[1]]))
        .map(|(min, max)| max - min)
        .collect();
    let (min, max) = extremes(&samples);
    let mean = samples.iter().map(|(_, queue)| queue).sum::<f64>() / samples.len() as f64;
    let span = samples[starts[cycles]].0 - samples[starts[0]].0;
    Sawtooth {
        max,
        min,
        amplitude: swings.iter().sum::<f64>() / cycles as f64,
        period: span / cycles as f64 / (RTT + mean / C),
        marked: 0.0,
    }
}

fn within(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{what}: {found:.3}, expected {expected:.3}");
}

#[test]
fn two_synchronised_flows_swing_as_predicted() {
    // W* = 61.7, A = 11.1 packets, 5.55 round trips, alpha = 0.18.
    let (analysis, seen) = (Analysis::of(2), simulate(2, &[]));
    assert!((seen.max - (K + 2.0)).abs() <= 3.0, "maximum {}", seen.max);
    within("amplitude", seen.amplitude, analysis.amplitude, 0.25);
    within("period", seen.period, analysis.period, 0.25);
    within("alpha", seen.marked, (2.0 / analysis.window).sqrt(), 0.1);
}

#[test]
fn ten_flows_swing_no_more_than_predicted() {
    // W* = 12.3, A = 24.8 packets, alpha = 0.40.
    let (analysis, seen) = (Analysis::of(10), simulate(10, &[]));
    assert!((seen.max - (K + 10.0)).abs() <= 3.0, "maximum {}", seen.max);
    within("amplitude", seen.amplitude, analysis.amplitude, 0.15);
    within("alpha", seen.marked, analysis.alpha(), 0.1);
}

#[test]
fn forty_flows_swing_at_most_a_little_more_than_predicted() {
    // W* = 3.1 packets, where a fluid is a rough approximation: √(2/W*) = 0.81, the exact root is 0.72. A = 49.7 packets, or 59 with the
    // exact root.
    let (analysis, seen) = (Analysis::of(40), simulate(40, &[]));
    assert!((seen.max - (K + 40.0)).abs() <= 3.0, "maximum {}", seen.max);
    assert!(seen.min > 0.0, "the port never idles: K + N − A = 30 packets");
    assert!(seen.amplitude <= 1.15 * analysis.amplitude, "amplitude {}", seen.amplitude);
    within("alpha", seen.marked, analysis.alpha(), 0.1);
}

#[test]
fn the_swing_is_that_of_windows_in_step_less_what_they_grow_while_they_are_cut() {
    let seen = |flows: u32, gain: f64| {
        // Alpha begins at its final value, which it would approach slowly with a small gain.
        let alpha = Analysis::of(flows).alpha();
        let kind = format!("{{ kind = 'dctcp', g = {gain}, initial_alpha = {alpha} }}");
        let swing = simulate(flows, &[("tcp.congestion", &kind)]).amplitude;
        (swing, f64::from(flows) * Analysis::of(flows).in_step(gain))
    };
    // With one flow, the swing agrees to within a packet, since a queue holds whole packets.
    let (swing, in_step) = seen(1, 1.0 / 16.0);
    assert!((swing - in_step).abs() <= 1.0, "{swing}, in step {in_step}");
    // Two windows are cut in immediate succession. A is 11.1 packets; the changes of alpha reduce the swing to 10.6. With a gain of 1/256,
    // alpha hardly changes.
    for gain in [1.0 / 16.0, 1.0 / 256.0] {
        let (swing, in_step) = seen(2, gain);
        within("amplitude", swing, in_step, 0.03);
    }
    // Four windows are cut within one round trip. In this time, each grows by at most one packet.
    for gain in [1.0 / 16.0, 1.0 / 256.0] {
        let (swing, in_step) = seen(4, gain);
        assert!((in_step - 4.0..=in_step).contains(&swing), "{swing}, in step {in_step}");
    }
}

#[test]
fn byte_counting_swings_by_whole_segments() {
    // The effect on large windows is small: growth begins a round trip later, with the first whole segment.
    let (analysis, seen) = (Analysis::of(2), simulate(2, &[("tcp.avoidance", "byte-counting")]));
    assert!((seen.max - (K + 2.0)).abs() <= 3.0, "maximum {}", seen.max);
    within("amplitude", seen.amplitude, analysis.amplitude, 0.25);
    within("period", seen.period, analysis.period, 0.25);
    let (analysis, seen) = (Analysis::of(10), simulate(10, &[("tcp.avoidance", "byte-counting")]));
    assert!(seen.amplitude <= 1.15 * analysis.amplitude, "amplitude {}", seen.amplitude);
    // With W* = 3.1 windows alternate between 2 and 4 segments, all at once: at most 2N = 80 packets, above the
    // prediction of 49.7 for fluid windows.
    let (analysis, seen) = (Analysis::of(40), simulate(40, &[("tcp.avoidance", "byte-counting")]));
    assert!(seen.amplitude <= 80.0 && seen.amplitude > analysis.amplitude, "amplitude {}", seen.amplitude);
}
