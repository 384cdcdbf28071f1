//! Tests of incast control: Pulser's brake at senders (Fig. 6 of its paper), and ICTCP's windows at receivers.

use crate::common;

const MSS: f64 = 1_448.0;

/// Pulser (ANCS '19) Fig. 6: a long flow at 10 Gb/s with an RTT of 80 us, and 24 senders that begin at 120 us and take
/// until about 300 us: 24 · 8 KB = 192 KB, 160 us of the link. As in the paper all links are alike; the long flow's
/// own NIC marks, so that its window is that of DCTCP and not limited only by the NIC's queue.
const FIG_6: &str = r#"
stop.at = "7ms"

[topology]
kind = "star"
hosts = 26
rate = "10Gbps"
link_delay = "20us"

[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }
markers = [{ kind = "threshold", k = "65p" }, { kind = "ein", high_water = "65p" }]

[host]
nic.markers = [{ kind = "threshold", k = "65p" }]

[tcp]
congestion = { kind = "pulser", dctcp = { initial_alpha = 0.0 } }
delayed_ack = { segments = 1 }
initial_window = 10

[measure]
flow_traces = [{ workload = 0 }]
traces = [{ ports = ["switch0->host25"] }]

[[workload]]
kind = "long-lived"
senders = "0"
receivers = 25

[[workload]]
kind = "incast"
senders = "1..25"
receivers = 25
size = "8KB"
start = "5120us"
"#;

/// Start of the incast, in microseconds.
const BEGINS: f64 = 5_120.0;

/// Measurements of the long flow. Times are in microseconds, windows in segments.
#[derive(Debug)]
struct Reaction {
    before: f64,
    /// Time when cwnd was first at most four segments, and its value; `restored` is when the brake was released.
    braked: Option<(f64, f64)>,
    restored: Option<(f64, f64)>,
    /// SRTT when the incast began.
    srtt: f64,
    /// Smallest window after the incast began; `last` is the window at the end of the run.
    least: f64,
    last: f64,
    /// Time of the last notification from the switch.
    ends: f64,
}

fn reaction(congestion: &str) -> Reaction {
    let report = common::run(FIG_6, &[("tcp.congestion", congestion)]);
    let long = report.flows().position(|flow| flow.size.is_none()).expect("there is a long flow") as u32;
    let rows = |quantity: &'static str| -> Vec<(f64, f64)> {
        report.flow_trace(long, quantity).map(|(at, value)| (at.as_secs_f64() * 1e6, value)).collect()
    };
    let cwnd: Vec<_> = rows("cwnd_bytes").into_iter().map(|(at, value)| (at, value / MSS)).collect();
    let state = rows("state");
    let before =
        |rows: &[(f64, f64)]| rows.iter().rfind(|row| row.0 <= BEGINS).expect("it was read before").1;
    let after: Vec<_> = cwnd.iter().copied().filter(|row| row.0 > BEGINS).collect();
    let notified = report.port_trace("switch0->host25", "incast", None);
    let braking = state.iter().find(|row| row.0 > BEGINS && row.1 == 3.0).map(|row| row.0);
    let found = Reaction {
        before: before(&cwnd),
        braked: after.iter().find(|row| row.1 <= 4.0).copied(),
        restored: braking.and_then(|begin| after.iter().find(|row| row.0 > begin && row.1 > 4.0).copied()),
        srtt: before(&rows("srtt_us")),
        least: after.iter().map(|row| row.1).fold(f64::MAX, f64::min),
        last: after.last().expect("it goes on").1,
        ends: notified.filter(|row| row.1 == 0.0).last().expect("it is over").0.as_secs_f64() * 1e6,
    };
    println!("{congestion}: {found:.1?}");
    found
}

#[test]
fn pulser_brakes_within_a_round_trip_of_an_incast_and_returns_when_it_ends() {
    let found = reaction("{ kind = 'pulser', dctcp = { initial_alpha = 0.0 } }");
    let braked = found.braked.expect("it brakes");
    assert!(found.before > 100.0 && braked.1 == 4.0, "{found:?}");
    assert!(braked.0 - BEGINS <= found.srtt, "{found:?}");
    // Marks continue to reduce it.
    assert!(found.least > 3.0, "{found:?}");
    // An acknowledgement takes 40 us back, and one without the notification follows directly after the last one with it.
    let restored = found.restored.expect("it lets go");
    assert!((0.0..found.srtt).contains(&(restored.0 - found.ends)), "{found:?}");
    assert_eq!(restored.1, found.before, "{found:?}");
    assert!(found.last > found.before, "and it grows again: {found:?}");
}

#[test]
fn dctcp_gives_way_to_an_incast_little_by_little() {
    // Only a small part of so large a window is marked: one cut by α/2, shortly before the end of the incast.
    let found = reaction("{ kind = 'dctcp', initial_alpha = 0.0 }");
    assert!(found.braked.is_none() && found.restored.is_none(), "{found:?}");
    assert!(found.least > 0.8 * found.before, "{found:?}");
}

/// 8 senders of 256 KB each at once, 20 times, to one port of 1 Gb/s that holds 30 packets; an RTT of 100 us.
const INCAST: &str = r#"
[topology]
kind = "star"
hosts = 9
rate = "1Gbps"
link_delay = "22us"

[switch]
buffer = { kind = "static-partition", per_port = "30p" }

[tcp]
congestion = "reno"
rto = { min = "10ms", initial = "10ms" }
delayed_ack = { segments = 2, timeout = "1ms" }

[[workload]]
kind = "incast"
senders = "0..8"
receivers = 8
size = "256KB"
repeats = 20
period = "100ms"
"#;

/// Returns the number of timeouts, the number of dropped packets, and the duration of the slowest round in milliseconds.
fn incast(receiver: &str) -> (u32, u64, f64) {
    let report = common::run(INCAST, &[("tcp.receiver", receiver)]);
    let timeouts = report.flows().map(|flow| flow.timeouts).sum();
    let dropped = report.port("switch0->host8").expect("the receiver's").dropped_total();
    let longest =
        report.flows().map(|flow| flow.completion_time.expect("each ends")).max().expect("there are flows");
    println!("{receiver}: {timeouts} timeouts, {dropped} dropped, {:.2} ms", longest.as_micros_f64() / 1e3);
    (timeouts, dropped, longest.as_micros_f64() / 1e3)
}

#[test]
fn ictcp_spares_an_incast_of_eight_the_timeouts_of_fixed_windows() {
    let (timeouts, dropped, longest) = incast("fixed");
    assert!(timeouts > 20 && dropped > 0 && longest > 25.0);
    // 8 · 256 KB in segments of 1,448 bytes take 17.0 ms at 1 Gb/s; windows of two segments fill the link from the first round trip on.
    let (timeouts, dropped, longest) = incast("ictcp");
    assert_eq!((timeouts, dropped), (0, 0));
    assert!((17.0..17.5).contains(&longest), "{longest}");
}

#[test]
fn one_connection_under_ictcp_grows_to_what_its_link_carries() {
    // 90 % of the link may be used, and a window grows as long as a segment more fits: at C·RTT = 8.3 packets it ends between
    // 90 % less one segment, 78 %, and the whole. Ten megabytes make its growth in the first milliseconds small.
    let sets = [
        ("tcp.receiver", "ictcp"),
        ("workload.0.senders", "0"),
        ("workload.0.repeats", "1"),
        ("workload.0.size", "10MB"),
    ];
    let report = common::run(INCAST, &sets);
    let time = report.flows().next().expect("there is one").completion_time.expect("it ends").as_secs_f64();
    let share = 10e6 * 8.0 / time / (1e9 * MSS / 1_500.0);
    println!("share {share:.3}");
    assert!((0.78..1.0).contains(&share), "{share}");
}

#[test]
fn ictcp_counts_every_packet_of_those_that_were_merged() {
    // The control behaves as above if the NIC merges up to eight packets: it leaves a tenth of the link free. If it counted one packet
    // of each eight, it would miss 7/8 of the traffic, grow its windows without limit and lose packets at the port of 30.
    let sets = [
        ("tcp.receiver", "ictcp"),
        ("host.nic.coalescing", "{ time = '100us', packets = 8, gro = true }"),
        ("workload.0.senders", "'0..4'"),
        ("workload.0.repeats", "1"),
        ("workload.0.size", "10MB"),
    ];
    let report = common::run(INCAST, &sets);
    let last =
        report.flows().map(|flow| flow.completion_time.expect("it ends")).max().expect("there are four");
    let share = 4.0 * 10e6 * 8.0 / last.as_secs_f64() / (1e9 * MSS / 1_500.0);
    let dropped = report.port("switch0->host8").expect("the receiver's").dropped_total();
    println!("share {share:.3}, {dropped} dropped");
    assert_eq!(dropped, 0);
    assert!((0.78..1.0).contains(&share), "{share}");
}

#[test]
fn ictcp_controls_persistent_connections_and_those_that_open_with_a_handshake() {
    // Between the rounds are 100 ms, over which a window is kept, and then doubles again.
    for sets in [[("workload.0.connections", "'persistent'")], [("tcp.handshake", "true")]] {
        let report = common::run(INCAST, &[&sets[..], &[("tcp.receiver", "ictcp")]].concat());
        assert_eq!(report.flows().filter(|flow| flow.completion_time.is_some()).count(), 160);
        assert_eq!(report.flows().map(|flow| flow.timeouts).sum::<u32>(), 0, "{sets:?}");
    }
}
