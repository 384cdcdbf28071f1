//! Queue pairs of RoCEv2 in a simulated network.

use shallows_core::{Bytes, Duration};
use shallows_sim::Report;

use crate::common::{parse, run};
use crate::lossless::on_any_number_of_threads;

/// Two hosts at a switch. A packet has 1,000 bytes of data and 1,044 + 38 on the wire, the first of a message 1,098.
pub(crate) const PAIR: &str = r#"
    host.jitter = "off"

    [topology]
    kind = "star"
    hosts = 2
    rate = "100Gbps"
    link_delay = "1us"
    framing = "38B"

    [switch]
    buffer = { kind = "static-partition", per_port = "1MB" }

    [roce]
    mtu = "1000B"

    [[workload]]
    kind = "incast"
    transport = "roce"
    senders = 0
    receivers = 1
    size = "10KB"
"#;

pub(crate) fn completion_times(report: &Report) -> Vec<Option<Duration>> {
    report.flows().map(|flow| flow.completion_time).collect()
}

#[test]
fn a_message_takes_the_time_of_its_packets_on_both_links() {
    let report = run(PAIR, &[]);
    // At 100 Gb/s, 1,098 bytes take 87.84 ns and 1,082 bytes 86.56 ns. The first packet crosses both links, and the other nine follow it on
    // the second link without a gap.
    let expected = Duration::from_nanos(2_000) + Duration(2 * 87_840 + 9 * 86_560);
    assert_eq!(completion_times(&report), [Some(expected)]);
    let ideal = report.summary()["slowdown"]["all"]["max"].as_f64().unwrap();
    assert!((ideal - 1.0).abs() < 1e-9, "{ideal}");
}

#[test]
fn the_acknowledgement_completes_a_flow_at_its_sender() {
    let report = run(PAIR, &[("measure.fct", "sender")]);
    // The acknowledgement has 44 + 4 + 38 bytes, 6.88 ns on each of two links.
    let expected = Duration::from_nanos(4_000) + Duration(2 * 87_840 + 9 * 86_560 + 2 * 6_880);
    assert_eq!(completion_times(&report), [Some(expected)]);
}

#[test]
fn a_duplicate_that_arrives_after_its_queue_pair_was_removed_is_acknowledged_again() {
    // A packet and its acknowledgement take 4.19 µs, so that the timeout of each of the two messages sends a duplicate after 3 µs. The duplicate
    // of the first message arrives after its queue pair was removed, and its acknowledgement after its queue pair was closed.
    let text = PAIR.replace("size = \"10KB\"", "size = \"1KB\"\nrepeats = 2\nperiod = \"20us\"");
    let sets = [("roce.timeout", "3us"), ("roce.congestion", "dcqcn"), ("measure.fct", "sender")];
    let report = run(&text, &sets);
    let round_trip = Duration::from_nanos(4_000) + Duration(2 * 87_840 + 2 * 6_880);
    assert_eq!(completion_times(&report), [Some(round_trip); 2]);
    let packets = &report.summary()["packets"];
    // No packet is marked, so that the duplicate causes no CNP. The run ends before the second duplicate arrives.
    assert_eq!((&packets["data"], &packets["stale"]), (&4.into(), &1.into()), "{packets}");
    assert_eq!(counts(&report, "timeouts"), 2);
}

/// Eight hosts behind one switch send to a host behind another one, in a lossless class.
pub(crate) const INCAST: &str = r#"
    [topology]
    kind = "dumbbell"
    left = 8
    right = 2
    rate = "100Gbps"
    bottleneck_rate = "100Gbps"
    link_delay = "1us"
    framing = "38B"

    [switch]
    buffer = { kind = "dynamic-threshold", alpha = 1.0, pool = "4MB" }
    lossless = { classes = [0], alpha = 0.125 }
    markers = [{ kind = "red", kmin = "40KB", kmax = "160KB", pmax = 0.2 }]

    [roce]
    mtu = "1000B"

    [[workload]]
    kind = "incast"
    transport = "roce"
    senders = "0..8"
    receivers = 8
    size = "1MB"
"#;

fn counts(report: &Report, name: &str) -> u64 {
    report.summary()["queue_pairs"][name].as_u64().expect("a count")
}

pub(crate) const CONTROLS: [&str; 11] = [
    "none",
    "dcqcn",
    "dcqcn-connectx",
    "timely",
    "timely-patched",
    "swift",
    "hpcc",
    "hpcc-pint",
    "powertcp",
    "theta-powertcp",
    "dctcp",
];

#[test]
fn results_are_the_same_on_any_number_of_threads() {
    let mut digests = Vec::new();
    for congestion in CONTROLS {
        let experiment = parse(INCAST, &[("roce.congestion", congestion)]);
        let (times, pairs, _) = on_any_number_of_threads(&experiment, |report| {
            (completion_times(report), report.summary()["queue_pairs"].clone(), report.pauses().to_vec())
        });
        assert!(times.iter().all(Option::is_some), "{congestion}: {times:?}");
        assert!(pairs["cuts"].as_u64() > Some(0) || congestion == "none", "{congestion}: {pairs}");
        digests.push((times, pairs));
    }
    // Each control has results of its own.
    assert!((1..digests.len()).all(|place| !digests[..place].contains(&digests[place])), "{digests:?}");
}

#[test]
fn queue_pairs_without_congestion_control_share_a_lossless_link_without_loss() {
    let report = run(INCAST, &[("roce.congestion", "none")]);
    let summary = report.summary();
    assert_eq!(summary["packets"]["dropped"], 0);
    assert_eq!((counts(&report, "queue_pairs"), counts(&report, "naks")), (8, 0));
    // 8 MB in 8,000 packets of 1,082 bytes at 100 Gb/s: 692.5 µs; round trips and first packets add less than 2 %.
    let last = completion_times(&report).into_iter().flatten().max().unwrap();
    assert!((692.0..706.0).contains(&last.as_micros_f64()), "{last}");
    // The NIC serves flows alike: all end within the last tenth.
    let first = completion_times(&report).into_iter().flatten().min().unwrap();
    assert!(first.as_micros_f64() > 0.9 * last.as_micros_f64(), "{first}");
}

#[test]
fn dcqcn_reduces_rates_and_pauses() {
    let pauses = |report: &Report| report.pauses().iter().map(|row| row.sent).sum::<u64>();
    let without = run(INCAST, &[("roce.congestion", "none")]);
    let with = run(INCAST, &[("roce.congestion", "dcqcn")]);
    assert!(counts(&with, "cnps") > 0 && counts(&with, "cuts") == counts(&with, "cnps"));
    assert!(pauses(&with) < pauses(&without), "{} {}", pauses(&with), pauses(&without));
}

#[test]
fn losses_of_a_lossy_class_are_repaired() {
    let sets = [
        ("switch.lossless.classes", "[1]"),
        ("switch.buffer.pool", "2MB"),
        ("switch.buffer.alpha", "0.125"),
        ("switch.markers", "[]"),
        ("roce.timeout", "1ms"),
    ];
    for recovery in ["go-back-n", "selective-repeat", "{ kind = \"irn\", window = 50 }"] {
        let mut sets = sets.to_vec();
        sets.push(("roce.recovery", recovery));
        let report = run(INCAST, &sets);
        assert!(report.summary()["packets"]["dropped_data"].as_u64().unwrap() > 0, "{recovery}");
        assert!(counts(&report, "retransmits") > 0, "{recovery}");
        assert!(completion_times(&report).iter().all(Option::is_some), "{recovery}");
        assert!(report.flows().all(|flow| flow.delivered == Bytes(1_000_000)), "{recovery}");
    }
}

#[test]
fn a_nic_serves_its_queue_pairs_in_turns() {
    // Two messages of the same host, 1 MB and 100 KB: while both are active, each gets half of the link.
    let text = PAIR.replace("hosts = 2", "hosts = 3");
    let second = r#"
    [[workload]]
    kind = "incast"
    transport = "roce"
    senders = 0
    receivers = 2
    size = "100KB"
    "#;
    let report = run(&(text + second), &[("workload.0.size", "1MB")]);
    let short = report.flows().find(|flow| flow.size == Some(Bytes(100_000))).unwrap();
    // 100 packets of 1,082 bytes at 50 Gb/s: 17.3 µs, and 2.1 µs for the path.
    let time = short.completion_time.unwrap().as_micros_f64();
    assert!((19.0..19.8).contains(&time), "{time}");
}

/// Two hosts whose messages are lost, because the switch holds only a few packets; queue pairs end at the first timeout.
const FAILING: [(&str, &str); 5] = [
    ("measure.sample_queues", "10us"),
    ("switch.buffer", "{ kind = 'static-partition', per_port = '4KB' }"),
    ("switch.markers", "[]"),
    ("roce.timeout", "10us"),
    ("roce.retry_count", "0"),
];

/// Returns [`INCAST`] without lossless classes.
fn lossy() -> String {
    INCAST.replace("lossless = { classes = [0], alpha = 0.125 }", "")
}

#[test]
fn a_run_ends_when_all_flows_are_complete_or_have_failed() {
    // Samples alone must not keep a run alive.
    let experiment = parse(&lossy(), &FAILING);
    let failed = on_any_number_of_threads(&experiment, |report| {
        (
            counts(report, "retries_exhausted"),
            completion_times(report).iter().filter(|time| time.is_none()).count(),
        )
    });
    assert!(failed.0 > 0 && failed.0 == failed.1 as u64, "{failed:?}");
}

/// One queue pair with one outstanding message: messages wait until the previous one is acknowledged.
fn one_at_a_time(messages: u32, size: &str) -> String {
    let keys = format!(
        "repeats = {messages}\nperiod = \"1ns\"\nconnections = {{ kind = \"persistent\", when_busy = \"queue\" }}"
    );
    PAIR.replace("size = \"10KB\"", &format!("size = \"{size}\"\n{keys}"))
}

#[test]
fn a_nic_sends_at_most_its_packets_per_second() {
    // A packet every 200 ns; the first of the message crosses both links, and the last one has 1,082 bytes on the wire.
    let report = run(PAIR, &[("host.nic.send.packet_rate", "5Mpps")]);
    let expected = Duration::from_nanos(2_000 + 9 * 200) + Duration(2 * 86_560);
    assert_eq!(completion_times(&report), [Some(expected)]);
    // More packets per second than the link has: no effect.
    let report = run(PAIR, &[("host.nic.send.packet_rate", "100Mpps")]);
    assert_eq!(completion_times(&report), completion_times(&run(PAIR, &[])));
}

#[test]
fn a_nic_reads_data_at_most_at_its_dma_rate() {
    // 1,000 bytes take 200 ns at 40 Gb/s, as with 5 million packets per second; packets with 500 bytes take half as long.
    let sets = [("host.nic.send.dma_rate", "40Gbps")];
    let expected = run(PAIR, &[("host.nic.send.packet_rate", "5Mpps")]);
    assert_eq!(completion_times(&run(PAIR, &sets)), completion_times(&expected));
    let report = run(PAIR, &[sets[0], ("roce.mtu", "500B")]);
    let expected = Duration::from_nanos(2_000 + 19 * 100) + Duration(2 * 46_560);
    assert_eq!(completion_times(&report), [Some(expected)]);
}

#[test]
fn the_first_negative_acknowledgement_comes_when_the_packet_after_the_loss_arrives() {
    // Packets arrive every 86.56 ns at a link that needs twice as long for each. Packet 18 finds ten packets of 1,044 bytes, with the one
    // that leaves, and is dropped. Packet 19 finds nine. A message of 20 packets thus loses packet 18 alone, and sends 18 and 19 again.
    let text = PAIR.replace(
        "\"star\"\n    hosts = 2",
        "\"dumbbell\"\n    left = 1\n    right = 1\n    bottleneck_rate = \"50Gbps\"",
    );
    let report = run(&text, &[("switch.buffer.per_port", "10440B"), ("workload.0.size", "20KB")]);
    assert_eq!(["naks", "retransmits", "timeouts"].map(|name| counts(&report, name)), [1, 2, 0]);
    // Packets 0 to 17 and 19 have their time on the slow link, and packet 19 on the last link. The NAK crosses three links.
    let arrival = 3_000_000 + 87_840 + 175_680 + 18 * 173_120 + 86_560;
    let nak = arrival + 3_000_000 + 2 * 6_880 + 13_760;
    let expected = Duration(nak + 3_000_000 + 2 * 86_560 + 2 * 173_120);
    assert_eq!(completion_times(&report), [Some(expected)]);
}

#[test]
fn packets_of_a_burst_leave_back_to_back() {
    // TIMELY starts at 10 Gb/s and changes its rate after 64 KB. Without bursts, the ninth packet leaves when the first, of 1,098 bytes, and
    // seven of 1,082 bytes have had their time at 10 Gb/s. It then takes both links.
    let timely = ("roce.congestion", "{ kind = 'timely', first_rate = '10Gbps' }");
    let time = |paced: u64, back_to_back: u64| {
        Some(Duration::from_nanos(2_000) + Duration(paced * 800 + (back_to_back + 2) * 86_560))
    };
    let sets = [timely, ("workload.0.size", "9KB")];
    assert_eq!(completion_times(&run(PAIR, &sets)), [time(1_098 + 7 * 1_082, 0)]);
    // Three packets fit 4 KB: the ninth leaves as the third of a burst, which begins after the time of the six packets before it.
    let bursts = [&sets[..], &[("roce.burst", "4KB")]].concat();
    assert_eq!(completion_times(&run(PAIR, &bursts)), [time(1_098 + 5 * 1_082, 2)]);
}

#[test]
fn one_outstanding_message_has_the_goodput_of_its_size_and_delay() {
    // S/(t0 + S/B): t0 is the delay of the message and the round trip, and B the rate of the data on the link.
    for (size, packets) in [("1KB", 1), ("10KB", 10), ("100KB", 100)] {
        let report = run(&one_at_a_time(5, size), &[("host.nic.send.message_delay", "3us")]);
        let last = report.flows().map(|flow| flow.arrival + flow.completion_time.expect("complete")).max();
        let trip = Duration::from_nanos(2_000) + Duration(2 * 87_840 + (packets - 1) * 86_560);
        let answer = Duration::from_nanos(2_000) + Duration(2 * 6_880);
        let each = Duration::from_nanos(3_000) + trip + answer;
        let expected = shallows_core::Instant::ZERO + each * 4 + Duration::from_nanos(3_000) + trip;
        assert_eq!(last, Some(expected), "{size}");
    }
}

#[test]
fn delays_of_messages_on_several_queue_pairs_overlap() {
    let text = PAIR.replace("size = \"10KB\"", "size = \"1KB\"\nrepeats = 3\nperiod = \"1us\"");
    let report = run(&text, &[("host.nic.send.message_delay", "5us")]);
    let expected = Duration::from_nanos(7_000) + Duration(2 * 87_840);
    assert_eq!(completion_times(&report), [Some(expected); 3]);
}

#[test]
fn queue_pairs_share_the_limits_of_their_nic() {
    let limited = INCAST.replace("receivers = 8", "receivers = \"8..10\"").replace("0..8", "0..1");
    let report = run(&limited, &[("host.nic.send.packet_rate", "4Mpps"), ("roce.congestion", "none")]);
    // 2,000 packets of both queue pairs in turns, one every 250 ns; the path takes 6.3 us at most.
    for time in completion_times(&report).into_iter().flatten() {
        assert!((499.0..507.0).contains(&time.as_micros_f64()), "{time}");
    }
    let experiment = parse(&limited, &[("host.nic.send.packet_rate", "4Mpps")]);
    on_any_number_of_threads(&experiment, completion_times);
}

#[test]
fn flows_that_wait_for_a_failed_queue_pair_end_with_a_reason() {
    let text = one_at_a_time(3, "10KB") + "\n[stop]\nat = \"1s\"\n";
    // The timeout is shorter than the round trip.
    let sets =
        [("roce.timeout", "1us"), ("roce.retry_count", "0"), ("workload.0.connections.when_busy", "queue")];
    let report = run(&text, &sets);
    assert_eq!((counts(&report, "queue_pairs"), counts(&report, "retries_exhausted")), (1, 1));
    assert_eq!(completion_times(&report), [None; 3]);
    let summary = report.summary();
    assert!(summary["simulated_s"].as_f64().is_none_or(|end| end < 0.1), "{summary}");
    let ended =
        "queue pairs ended with an error (1), because their retransmissions were not acknowledged".to_owned();
    let expected = "flows that waited for these queue pairs never began (2)".to_owned();
    assert!(report.warnings().contains(&ended), "{:?}", report.warnings());
    assert!(report.warnings().contains(&expected), "{:?}", report.warnings());
    // A later flow finds the failed queue pair and ends at once.
    let report = run(&text.replace("\"1ns\"", "\"1ms\""), &sets);
    assert!(report.warnings().contains(&expected), "{:?}", report.warnings());
}

#[test]
fn traces_contain_the_rate_in_gigabits_per_second() {
    // A queue pair without congestion control sends at the rate of its link.
    let report = run(PAIR, &[("measure.flow_traces", "[{ flows = [0] }]"), ("roce.congestion", "none")]);
    assert_eq!(report.flow_trace(0, "rate_gbps").map(|(_, rate)| rate).collect::<Vec<_>>(), [100.0]);
}

#[test]
fn traces_contain_the_alpha_of_dcqcn() {
    // Two hosts send at line rate to a third one; the switch marks every packet that finds another one.
    let text = PAIR.replace("hosts = 2", "hosts = 3").replace("senders = 0", "senders = \"0, 1\"");
    let text = text.replace(
        "receivers = 1",
        "receivers = 2\nrepeats = 2\nperiod = \"180us\"\nconnections = { kind = \"persistent\" }",
    );
    let sets = [
        ("measure.flow_traces", "[{ workload = 0 }]"),
        ("switch.markers", "[{ kind = 'threshold', k = '1000B' }]"),
        ("roce.congestion", "dcqcn"),
    ];
    let report = run(&text, &sets);
    let alpha = |flow| {
        report.flow_trace(flow, "alpha").map(|(at, value)| (at.0 / 1_000_000, value)).collect::<Vec<_>>()
    };
    // DCQCN (SIGCOMM '15), equations 1 and 2, with g = 1/256. α is 1 at first. The first mark causes a CNP, which arrives after 4 µs, and the
    // next marks a CNP 50 µs later; both leave α at 1. Two periods of 55 µs without a CNP follow until the second messages begin.
    assert_eq!(alpha(0), [(0, 1.0)]);
    let [(at, value)] = alpha(2)[..] else { panic!("{:?}", alpha(2)) };
    assert_eq!(at, 180);
    assert!((value - 255.0 / 256.0 * 255.0 / 256.0).abs() < 1e-12, "{value}");
}
