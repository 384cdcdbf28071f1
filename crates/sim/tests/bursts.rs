//! Tests of NIC offloads: bursts (`host.nic.tso`), pacing, and interrupt coalescing.

use crate::common::{self, rows};
use shallows_core::Duration;
use shallows_sim::Report;

/// One flow with a window of 30 segments and a round trip of about 100 us. Its bottleneck has a quarter of the rate of its host's link.
const WINDOW: &str = r#"
[stop]
at = "4ms"

[topology]
kind = "dumbbell"
left = 1
right = 1
rate = "40Gbps"
bottleneck_rate = "10Gbps"
link_delay = "0s"
bottleneck_delay = "50us"

[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }

[host]
jitter = "off"

[tcp]
congestion = "reno"
delayed_ack = { segments = 1 }
timestamps = false
initial_window = 2
max_window = 30

[measure]
traces = [{ ports = ["*"] }]

[[workload]]
kind = "long-lived"
senders = "0"
receivers = "1"
"#;

/// Returns the longest backlog of a port after slow start, in packets.
fn peak(report: &Report, port: &str) -> f64 {
    let late = |(at, _): &(shallows_core::Instant, f64)| at.0 > Duration::from_millis(2).0;
    report
        .port_trace(port, "backlog_bytes", None)
        .filter(late)
        .map(|(_, bytes)| bytes / 1_500.0)
        .fold(0.0, f64::max)
}

fn ports() -> [&'static str; 2] {
    ["host0->left", "left->right"]
}

#[test]
fn a_burst_is_a_third_of_the_window_and_queues_where_the_link_is_slower() {
    // Each acknowledgement releases a segment, at the rate of the slow link: no packet waits.
    let single = common::run(WINDOW, &[]);
    assert_eq!(ports().map(|port| peak(&single, port)), [0.0, 0.0]);
    // Every tenth acknowledgement releases ten segments: one leaves the NIC at once, and nine wait there. They arrive at the slow link at
    // four times its rate. It sends the first at once, and one more for every four arrivals: when the tenth arrives, 9 - 2 wait.
    let bursts = common::run(WINDOW, &[("host.nic.tso", "linux")]);
    assert_eq!(ports().map(|port| peak(&bursts, port)), [9.0, 7.0]);
    // Bursts of four segments: 3 wait, and 3 - 0.
    let small = common::run(WINDOW, &[("host.nic.tso", "5840B")]);
    assert_eq!(ports().map(|port| peak(&small, port)), [3.0, 3.0]);
    // RACK keeps the times of all segments, but only a loss ends the bursts.
    let rack = common::run(
        WINDOW,
        &[("host.nic.tso", "linux"), ("tcp.recovery", "rack"), ("tcp.timestamps", "false")],
    );
    assert_eq!(ports().map(|port| peak(&rack, port)), [9.0, 7.0]);
    // Bursts change the send times of segments, but not their number.
    let delivered =
        [&single, &bursts, &small].map(|report| report.flows().next().expect("a flow").delivered.0 as f64);
    assert!(delivered.iter().all(|bytes| (bytes / delivered[0] - 1.0).abs() < 0.15), "{delivered:?}");
}

#[test]
fn a_connection_of_which_two_bursts_wait_hands_over_no_third() {
    // Before the first acknowledgement there is no pacing rate, so the limit is two bursts of ten segments, or two single segments. The
    // queue is full only above this limit: one more burst joins 20 waiting segments, and one more segment joins two. The rest of the window
    // of 200 segments stays in the host.
    let waits = |tso: &str| {
        let sets = [
            ("host.nic.tso", tso),
            ("host.nic.backpressure", "3000B"),
            ("tcp.initial_window", "200"),
            ("tcp.max_window", "200"),
            ("stop.at", "90us"),
        ];
        let report = common::run(WINDOW, &sets);
        let trace = report.port_trace("host0->left", "backlog_bytes", None);
        trace.map(|(_, bytes)| bytes / 1_500.0).fold(0.0, f64::max)
    };
    assert_eq!(["14600B", "off"].map(waits), [30.0, 3.0]);
}

/// One flow of eighty segments that fit its initial window.
const ONCE: &str = r#"
[topology]
kind = "star"
hosts = 2
rate = "10Gbps"
link_delay = "10us"

[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }

[host]
jitter = "off"

[tcp]
congestion = "dctcp"
delayed_ack = { segments = 1 }
timestamps = false
initial_window = 80

[[workload]]
kind = "incast"
senders = "0"
receivers = 1
size = "116800B"
"#;

/// Returns the number of acknowledgements and the completion time of the flow.
fn acknowledged(sets: &[(&str, &str)]) -> (u64, Duration) {
    let report = common::run(ONCE, sets);
    let packets = &report.summary()["packets"];
    let [sent, data] = ["sent", "data"].map(|key| packets[key].as_u64().expect("a count"));
    assert_eq!(data, 80);
    (sent - data, report.flows().next().and_then(|flow| flow.completion_time).expect("complete"))
}

#[test]
fn packets_that_are_taken_up_together_share_an_acknowledgement() {
    let nic = |rule: &'static str| [("host.nic.coalescing", rule)];
    let (each, soonest) = acknowledged(&[]);
    assert_eq!(each, 80);
    // By count: eighty are ten times eight.
    let (merged, time) = acknowledged(&nic("{ time = '1ms', packets = 8 }"));
    assert_eq!((merged, time), (10, soonest));
    // Without merging, each segment is acknowledged; with RFC 5681's rule, every second one.
    assert_eq!(acknowledged(&nic("{ time = '1ms', packets = 8, gro = false }")), (80, soonest));
    let second = [
        ("tcp.delayed_ack.segments", "2"),
        ("host.nic.coalescing", "{ time = '1ms', packets = 8, gro = false }"),
    ];
    assert_eq!(acknowledged(&second).0, 40);
    // At most 64 KB are merged, 44 segments: eighty that are coalesced become two.
    assert_eq!(acknowledged(&nic("{ time = '1ms', packets = 80 }")), (2, soonest));
    // By time: segments arrive every 1.2 us, so six arrive within a wait of 6 us, both ends included. The next segment starts a new wait.
    // Thirteen waits cover 78 segments; the last wait ends 6 us after the 79th segment, which arrived 1.2 us before the last one.
    let (timed, time) = acknowledged(&nic("{ time = '6us' }"));
    assert_eq!((timed, time), (14, soonest + Duration::from_nanos(4_800)));
}

/// Runs a flow of forty segments in its initial window, at 100 Gb/s. The handshake has measured the round trip. Returns the completion
/// time and the largest backlog of the NIC in packets.
fn first_window(sets: &[(&str, &str)]) -> (Duration, f64) {
    let own = [
        ("topology.rate", "100Gbps"),
        ("tcp.handshake", "true"),
        ("tcp.initial_window", "40"),
        ("workload.0.size", "58400B"),
    ];
    let sets: Vec<(&str, &str)> = own.iter().chain(sets).copied().collect();
    let report = common::run(ONCE, &sets);
    let time = report.flows().next().and_then(|flow| flow.completion_time).expect("complete");
    (time, report.port("host0->switch0").expect("a port").max_backlog.0 as f64 / 1_500.0)
}

#[test]
fn pacing_spreads_a_window_over_half_of_the_round_trip() {
    let (at_once, backlog) = first_window(&[]);
    assert_eq!(backlog, 39.0);
    // SYN and SYN-ACK take 4 · 10 us, and 4 · 3.2 ns for their 40 bytes. In slow start, pacing allows twice forty segments in that time,
    // one every 500.16 ns. The first ten are free, the eleventh does not wait, and 29 follow. Without pacing, 39 packets of
    // 120 ns precede the last.
    let (spread, backlog) = first_window(&[("host.nic.pacing", "fq")]);
    assert_eq!(backlog, 10.0);
    assert_eq!(spread - at_once, Duration(29 * 500_160 - 39 * 120_000));
}

#[test]
fn segments_are_paced_from_the_acknowledgement_that_releases_them() {
    // Ten free segments fill the window. The first acknowledgement releases the last two segments, 40.2464 us after the first was sent:
    // 4 · 10 us, 2 · 120 ns and 2 · 3.2 ns. At 2 · 11 segments in that time, a segment takes 1,829.4 ns. The eleventh is late, so the
    // twelfth waits for half of this. Without pacing, it waits for 120 ns.
    let completion = |pacing| {
        let sets = [
            ("topology.rate", "100Gbps"),
            ("tcp.initial_window", "10"),
            ("workload.0.size", "17520B"),
            ("host.nic.pacing", pacing),
        ];
        common::run(ONCE, &sets).flows().next().and_then(|flow| flow.completion_time).expect("complete")
    };
    let later = completion("fq") - completion("off");
    assert!((Duration(794_000)..Duration(796_000)).contains(&later), "{later}");
}

#[test]
fn bursts_are_paced_as_a_whole() {
    // Half of the window leaves at once, and the other half after the time of the ten segments that were not free: half
    // of it, since they begin a round trip after the SYN. 19 packets then precede the last one.
    let (at_once, _) = first_window(&[]);
    let (spread, backlog) = first_window(&[("host.nic.pacing", "fq"), ("host.nic.tso", "linux")]);
    assert_eq!(backlog, 19.0);
    assert_eq!(spread - at_once, Duration(10 * 250_080 + 19 * 120_000 - 39 * 120_000));
}

/// Returns the wait of a packet in an adaptive NIC, in microseconds, for each round of 64 echoes. A round has more bytes than
/// the previous one (`+`), fewer (`-`) or as many (`=`). Each echo waits alone, in both NICs, whose levels are always the same.
fn waits(rounds: &str) -> Vec<u64> {
    let network = ONCE.split("[[workload]]").next().expect("it comes first");
    let (mut pings, mut sizes) = (String::new(), vec![200]);
    for (number, change) in rounds.chars().enumerate() {
        let before = sizes[number];
        let size = match change {
            '+' => before * 5 / 4,
            '-' => before * 3 / 5,
            _ => before,
        };
        sizes.push(size);
        // Twenty bytes of IP and eight of ICMP.
        pings.push_str(&format!(
            "[[workload]]\nkind = 'ping'\nsenders = 0\nreceivers = 1\ninterval = '200us'\npayload = '{}B'\nstart = '{}us'\n\
             stop = '{}us'\n",
            size - 28,
            number * 12_800,
            (number + 1) * 12_800
        ));
    }
    let end = format!("{}us", rounds.len() * 12_800 + 200);
    let sets = [("host.nic.coalescing", "{ time = 'auto' }"), ("stop.at", end.as_str())];
    let rows = rows::rows(&common::run(&[network, &pings].concat(), &sets), "pings");
    assert_eq!(rows.len(), 64 * rounds.len());
    let wait = |(number, row): (usize, &std::collections::BTreeMap<_, _>)| {
        // Without waiting, four links of 10 us at 10 Gb/s.
        let alone = 4.0 * (10.0 + sizes[number / 64 + 1] as f64 * 8e-4);
        ((rows::double(&row["rtt_us"]).expect("nothing is lost") - alone) / 2.0).round() as u64
    };
    let all: Vec<u64> = rows.iter().enumerate().map(wait).collect();
    assert!(all.chunks(64).all(|round| round.iter().all(|&wait| wait == round[0])), "{all:?}");
    all.into_iter().step_by(64).collect()
}

#[test]
fn a_nic_that_adapts_looks_for_the_level_that_brings_most() {
    // The levels are 2, 8, 16, 32 and 64 us, and the second is the initial one. More bytes are better: the NIC goes up to the last level
    // and stays there until the rates change. Then it goes down as long as the rates improve, and turns when they get worse. It stays at
    // the level to which it has returned until the rates change again.
    assert_eq!(waits("++++==++-+=-="), [8, 16, 32, 64, 64, 64, 64, 32, 16, 32, 32, 32, 16]);
}

#[test]
fn a_nic_that_finds_nothing_better_wavers_and_rests_after_ten_steps() {
    // Equal rates do not count as better, so the NIC turns each time. After ten steps it rests for ten rounds, and then goes down.
    let expected = [[8, 16].repeat(5), vec![8; 11], vec![2, 8, 2]].concat();
    assert_eq!(waits(&"=".repeat(24)), expected);
}

#[test]
fn more_packets_are_better_where_the_bytes_are_the_same() {
    // One packet of 1,000 bytes each 100 us, 64 times, and then two of 500, which arrive within a microsecond and are coalesced:
    // the NIC goes from 16 us to 32, and back when the rates no longer change.
    let ping = |start: &str, stop: &str, payload: &str| {
        format!(
            "[[workload]]\nkind = 'ping'\nsenders = 0\nreceivers = 1\ninterval = '100us'\nstart = '{start}'\nstop = '{stop}'\n\
             payload = '{payload}'\n"
        )
    };
    let network = ONCE.split("[[workload]]").next().expect("it comes first");
    let pings =
        [ping("0us", "6400us", "972B"), ping("6400us", "25600us", "472B"), ping("6401us", "25600us", "472B")];
    let sets = [("host.nic.coalescing", "{ time = 'auto' }"), ("stop.at", "26ms")];
    let report = common::run(&[network, &pings.concat()].concat(), &sets);
    // Time of the first packets on four links: 0.8 us for a packet of 1,000 bytes and 0.4 us for one of 500.
    let found: Vec<u64> = rows::rows(&report, "pings")
        .iter()
        .map(|row| ["sent_us", "rtt_us"].map(|column| rows::double(&row[column]).expect("nothing is lost")))
        .filter(|[sent, _]| (sent.round() as u64).is_multiple_of(100))
        .map(|[sent, rtt]| (rtt - 4.0 * (10.0 + if sent < 6_400.0 { 0.8 } else { 0.4 })) / 2.0)
        .map(|wait| wait.round() as u64)
        .collect();
    let expected: Vec<u64> = [8, 16, 32, 16].iter().flat_map(|&level| [level; 64]).collect();
    assert_eq!(found, expected);
}
