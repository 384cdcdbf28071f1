//! Tests of the backpressure of NICs on connections: `host.nic.backpressure`.

use crate::common;
use shallows_sim::Report;

/// One flow whose only bottleneck is its own NIC: 10 Gb/s on every link, and a round trip of 45 us.
const SCENARIO: &str = r#"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
link_delay = "11us"

[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }

[tcp]
congestion = "reno"
rto = { min = "5ms" }
delayed_ack = { segments = 1 }

[measure]
traces = [{ ports = ["nic"] }]

[[workload]]
kind = "incast"
senders = "1"
receivers = 0
size = "50MB"
"#;

fn dropped(report: &Report) -> [u64; 2] {
    ["dropped_in_nics", "dropped_in_switches"]
        .map(|place| report.summary()["packets"][place].as_u64().expect("a count"))
}

fn largest_backlog(report: &Report) -> u64 {
    report.port("host1->switch0").expect("a port").max_backlog.0
}

#[test]
fn a_sender_loses_nothing_in_its_own_nic_and_keeps_its_link_busy() {
    let held = common::run(SCENARIO, &[]);
    assert_eq!(dropped(&held), [0, 0]);
    assert_eq!(held.summary()["retransmits"], 0);
    // The queue contains 1 MiB, which is the limit, and one packet that exceeds the limit.
    let largest = largest_backlog(&held);
    assert!(((1 << 20)..=(1 << 20) + 1_500).contains(&largest), "{largest}");
    // 50 MB in segments of 1,448 bytes that take 1,500 are 41.4 ms at 10 Gb/s; slow start takes some round trips more.
    let time = held.flows().next().and_then(|flow| flow.completion_time).expect("complete").as_secs_f64();
    assert!((0.0414..0.0420).contains(&time), "{time}");
}

#[test]
fn without_backpressure_slow_start_overruns_the_nic() {
    let free = common::run(SCENARIO, &[("host.nic.backpressure", "off")]);
    let [nics, switches] = dropped(&free);
    assert!(nics > 100 && switches == 0, "{nics} {switches}");
    let ports = &free.summary()["ports"];
    assert_eq!(ports["nic"]["dropped"], nics);
    assert_eq!((&ports["to-host"]["dropped"], &ports["to-host"]["ports"]), (&0.into(), &4.into()));
    let warned = free
        .warnings()
        .iter()
        .any(|warning| warning.contains("NICs of senders dropped more packets than the switches"));
    assert!(warned, "{:?}", free.warnings());
    // Length of Linux's transmit queue, as used by simulators.
    assert_eq!(largest_backlog(&free), 1_000 * 1_500);
}

#[test]
fn a_smaller_limit_holds_less_and_costs_nothing_while_two_packets_wait() {
    let held = common::run(SCENARIO, &[("host.nic.backpressure", "3000B")]);
    assert!((3_001..=4_500).contains(&largest_backlog(&held)), "{}", largest_backlog(&held));
    let time = held.flows().next().and_then(|flow| flow.completion_time).expect("complete").as_secs_f64();
    assert!((0.0414..0.0420).contains(&time), "{time}");
    // The packets of the handshake have left the queue before data enters it.
    let opened = common::run(SCENARIO, &[("host.nic.backpressure", "3000B"), ("tcp.handshake", "true")]);
    assert_eq!(largest_backlog(&opened), largest_backlog(&held));
    // A window that backpressure holds back does not grow beyond twice the bytes in flight; without
    // backpressure it would.
    let traced = common::run(
        SCENARIO,
        &[
            ("host.nic.backpressure", "3000B"),
            ("measure.flow_traces", "[{ flows = [0] }]"),
            // At its end, a finite flow has no data that backpressure could hold back.
            ("workload.0", "{ kind = 'long-lived', senders = '1', receivers = 0 }"),
            ("stop.at", "5ms"),
        ],
    );
    let largest = |quantity| traced.flow_trace(0, quantity).map(|(_, value)| value).fold(0.0, f64::max);
    let (cwnd, outstanding) = (largest("cwnd_bytes"), largest("pipe_bytes"));
    assert!(cwnd > 1.5 * outstanding && cwnd < 2.0 * outstanding + 1_448.0, "{cwnd} {outstanding}");
    assert!(outstanding < 100_000.0, "{outstanding}");
}

#[test]
fn buffers_that_are_larger_than_packets_leave_room_for_fewer_of_them() {
    let waiting = |overhead: &str| {
        let limit = ("host.nic.backpressure", "22800B");
        largest_backlog(&common::run(SCENARIO, &[limit, ("host.nic.buffer_overhead", overhead)]))
    };
    // Ten buffers of 1,448 bytes and 832 are 22,800: these wait, and the one that exceeds the limit. One byte more in each buffer leaves
    // room for one packet less.
    assert_eq!(waiting("832B"), 11 * 1_500);
    assert_eq!(waiting("833B"), 10 * 1_500);
    // Without overhead, packets count as their size: fifteen, and the one that exceeds the limit.
    assert_eq!(waiting("52B"), 16 * 1_500);
}

#[test]
fn connections_that_share_a_nic_share_it_evenly() {
    let report = common::run(
        SCENARIO,
        &[("workload.0", "{ kind = 'long-lived', senders = '1', receivers = '2..4' }"), ("stop.at", "40ms")],
    );
    assert_eq!(dropped(&report), [0, 0]);
    let delivered: Vec<f64> = report.flows().map(|flow| flow.delivered.0 as f64).collect();
    let [a, b] = delivered[..] else { panic!("{delivered:?}") };
    assert!((a / b - 1.0).abs() < 0.05, "{delivered:?}");
    // The limit of bytes in the queue applies to each connection separately.
    assert!(largest_backlog(&report) > 2 << 20);
}

#[test]
fn losses_in_switches_are_counted_as_theirs() {
    let report = common::run(
        SCENARIO,
        &[("workload.0.senders", "1..4"), ("switch.buffer.pool", "100KB"), ("workload.0.size", "5MB")],
    );
    let [nics, switches] = dropped(&report);
    assert!(nics == 0 && switches > 0);
    let summary = report.summary();
    assert_eq!(summary["ports"]["to-host"]["dropped"], switches);
    assert_eq!(summary["loss_rate"], summary["loss_rate_in_switches"]);
    assert_eq!(summary["packets"]["dropped_data_in_switches"], summary["packets"]["dropped_data"]);
    assert!(!report.warnings().iter().any(|warning| warning.contains("NICs of senders")));
}

#[test]
fn a_connection_continues_after_the_nic_has_dropped_its_waiting_packets() {
    // Ten packets may be sent before an acknowledgement arrives. Packet 1 leaves at once; packets 2 to 4 exceed the limit of two waiting
    // packets. The NIC drops each packet behind which others wait. Each drop lets the next packet in, so only packet 10 has no packet behind
    // it. If connections continued only after departures, packets 4 and 7 would leave too.
    let dropping = [
        ("host.nic.backpressure", "3000B"),
        ("host.nic.markers", "[{ kind = 'threshold', k = '0B', at = 'dequeue' }]"),
        ("host.jitter", "off"),
        ("stop.at", "40us"),
    ];
    let report = common::run(SCENARIO, &dropping);
    let nic = report.port("host1->switch0").expect("a port");
    assert_eq!((nic.sent, nic.dropped_total()), (2, 8));
}
