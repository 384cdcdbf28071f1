//! Classes of service of queue pairs: notification packets before data, and TCP in a class of its own.

use shallows_core::{Bytes, Instant};
use shallows_sim::Division;

use crate::common::left::{assert_alike, finished, in_partitions};
use crate::common::{parse, run};
use crate::roce::completion_times;

/// Host 0 sends to host 2 over a bottleneck that marks packets. Two queue pairs without congestion control send from host 2 to host 0, at
/// twice the rate of the bottleneck. NICs and switches send class 4 before the others.
const BOTH_WAYS: &str = r#"
    host.jitter = "off"

    [topology]
    kind = "dumbbell"
    left = 1
    right = 2
    rate = "100Gbps"
    bottleneck_rate = "50Gbps"
    link_delay = "1us"
    framing = "38B"

    [switch]
    buffer = { kind = "complete-sharing", pool = "10MB" }
    port = { kind = "strict-priority", queues = 2, classes = [1, 1, 1, 1, 0, 1, 1, 1] }
    markers = [{ kind = "threshold", k = "1000B" }]

    [host.nic]
    port = { kind = "strict-priority", queues = 2, classes = [1, 1, 1, 1, 0, 1, 1, 1] }

    [roce]
    mtu = "1000B"
    ack_every = 1000

    [measure]
    flow_traces = [{ workload = 0 }]

    [[workload]]
    kind = "incast"
    transport = "roce"
    senders = 0
    receivers = 1
    size = "100KB"
    roce = { congestion = "dcqcn" }

    [[workload]]
    kind = "incast"
    transport = "roce"
    senders = 1
    receivers = 0
    size = "100KB"
    repeats = 2
    period = "1ps"
"#;

/// Returns the time at which the first notification packet cuts the rate of the queue pair of host 0.
fn first_cut(sets: &[(&str, &str)]) -> Instant {
    let report = run(BOTH_WAYS, sets);
    let flow = report.flows().position(|flow| flow.workload == 0).expect("one flow") as u32;
    let cut = report.flow_trace(flow, "rate_gbps").find(|(_, rate)| *rate < 100.0);
    cut.expect("a notification packet arrives").0
}

#[test]
fn a_notification_packet_with_a_class_of_its_own_passes_data_in_nic_and_switch() {
    // In picoseconds. Full packets have 1,082 bytes on the wire, the first of a message 1,098, and a CNP has 44 + 16 + 38: 86.56, 87.84 and
    // 7.84 ns at 100 Gb/s, and twice these times at the bottleneck. Each of the three links delays by 1 µs.
    let (full, first, cnp, delay) = (86_560, 87_840, 7_840, 1_000_000);
    // The first packet that finds another one in the queue is packet 2, which finds packet 1 and is marked. Packets 0 to 2 leave the
    // bottleneck one after the other.
    let marked = 3 * delay + first + 2 * (first + 2 * full) + full;
    // Time until host 1 has sent this number of packets, which it sends without a gap: the first packets of two messages, and full packets.
    let sent = |packets: u64| 2 * first + (packets - 2) * full;
    // When the CNP is due, 42 packets have left and the next one is on the wire. Each of the two queue pairs has a packet in the queue.
    assert!(sent(42) < marked && marked < sent(43));
    // Time until this number of packets has left the bottleneck, which begins when the first one arrives.
    let forwarded = |packets: u64| delay + first + 2 * sent(packets);
    // Behind this number of packets, the CNP is done 15.68 ns later. On the link to host 0, it waits for the packet before it, which came
    // 15.68 ns earlier.
    let arrival = |packets: u64| Instant(forwarded(packets) + delay + full + cnp + delay);
    // In the class of the data, the CNP waits for the packets in the NIC's queue and for all packets in the queue of the bottleneck.
    assert_eq!(first_cut(&[]), arrival(43 + 2));
    // With a class of its own, it leaves the NIC as the next packet, and waits at the bottleneck for the packet that it finds on the wire.
    let at_bottleneck = sent(43) + cnp + delay;
    assert!(forwarded(21) < at_bottleneck && at_bottleneck < forwarded(22));
    assert_eq!(first_cut(&[("workload.0.roce.cnp.class", "4")]), arrival(22));
}

/// TCP in class 0 and queue pairs in the lossless class 3, from eight hosts over the same port to another host.
const SHARED: &str = r#"
    [topology]
    kind = "dumbbell"
    left = 8
    right = 2
    rate = "100Gbps"
    bottleneck_rate = "100Gbps"
    link_delay = "1us"
    framing = "38B"

    [switch]
    buffer = { kind = "dynamic-threshold", alpha = 1.0, pool = "2MB" }
    port = { kind = "dwrr", queues = 2, quantum = "1p", classes = [0, 0, 0, 1, 0, 0, 0, 0] }
    lossless = { classes = [3], alpha = 0.0625 }
    markers = [
        { kind = "threshold", k = "100KB", queues = [0] },
        { kind = "red", kmin = "100KB", kmax = "400KB", pmax = 0.2, queues = [1] },
    ]

    [host.nic]
    port = { kind = "dwrr", queues = 2, quantum = "1p", classes = [0, 0, 0, 1, 0, 0, 0, 0] }

    [tcp]
    congestion = "dctcp"

    [roce]
    mtu = "1024B"

    [[workload]]
    kind = "incast"
    senders = "0..8"
    receivers = 8
    size = "500KB"

    [[workload]]
    kind = "incast"
    transport = "roce"
    class = 3
    senders = "0..8"
    receivers = 9
    size = "500KB"
"#;

#[test]
fn tcp_and_queue_pairs_share_a_switch_in_two_classes() {
    for congestion in ["dcqcn", "hpcc"] {
        let sets = [("roce.congestion", congestion)];
        let report = run(SHARED, &sets);
        let times = completion_times(&report);
        assert!(times.len() == 16 && times.iter().all(Option::is_some), "{congestion}: {times:?}");
        assert!(report.flows().all(|flow| flow.delivered == Bytes(500_000)), "{congestion}");
        // Only the lossless class pauses, and it loses nothing.
        let pauses = report.pauses();
        assert!(pauses.iter().all(|row| row.class == 3), "{congestion}: {pauses:?}");
        assert!(pauses.iter().any(|row| row.sent > 0), "{congestion}: {pauses:?}");
        assert_eq!(report.summary()["queue_pairs"]["retransmits"], 0, "{congestion}");
        let experiment = parse(SHARED, &sets);
        let alone = finished(experiment.clone(), 1, u64::MAX);
        for threads in 1..=3 {
            let division = Division::in_pieces(&experiment, threads, 0).expect("it has two switches");
            assert_alike(congestion, &alone, &in_partitions(&experiment, division, u64::MAX));
        }
    }
}
