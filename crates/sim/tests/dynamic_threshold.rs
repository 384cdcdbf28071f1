//! Division of a pool among saturated ports in the whole simulator: Dynamic Threshold's fixed point, fixed parts, free
//! sharing. (`crates/switch/src/buffer/tests.rs` tests the same by plain calls.)

use crate::common;
use shallows_sim::Report;

/// Hosts 8 to 15 send to hosts 0 to 7. Each sends at four times the rate of its receiver's link.
const SATURATED: &str = r#"
stop.at = "10ms"

[topology]
kind = "star"
hosts = 16
rate = "100Gbps"
links = [
    { between = ["host0", "switch0"], rate = "25Gbps" },
    { between = ["host1", "switch0"], rate = "25Gbps" },
    { between = ["host2", "switch0"], rate = "25Gbps" },
    { between = ["host3", "switch0"], rate = "25Gbps" },
    { between = ["host4", "switch0"], rate = "25Gbps" },
    { between = ["host5", "switch0"], rate = "25Gbps" },
    { between = ["host6", "switch0"], rate = "25Gbps" },
    { between = ["host7", "switch0"], rate = "25Gbps" },
]

[switch]
buffer = { kind = "dynamic-threshold", pool = "1500KB" }

[measure]
sample_queues = "130us"
"#;

const PACKET: f64 = 1_500.0;
const POOL: f64 = 1_500_000.0;

/// Runs the network so that `ports` of its ports are saturated.
fn saturate(ports: u32, sets: &[(&str, &str)]) -> Report {
    let workload = |port: u32| {
        let source = "kind = 'udp'\noverload = true\npattern = { kind = 'constant', rate = '100Gbps' }";
        format!("[[workload]]\n{source}\nsenders = {}\nreceivers = {port}\n", 8 + port)
    };
    let workloads: String = (0..ports).map(workload).collect();
    common::run(&format!("{SATURATED}{workloads}"), sets)
}

/// Returns the backlogs of a port after 5 ms, when each queue, which grows by 75 Gb/s, has long reached its limit.
fn settled(report: &Report, port: u32) -> Vec<u64> {
    let samples: Vec<u64> = report
        .backlog(&format!("switch0->host{port}"))
        .filter(|(at, _)| at.as_secs_f64() > 0.005)
        .map(|(_, bytes)| bytes.0)
        .collect();
    assert_eq!(samples.len(), 38, "every 130 us from 5.07 to 9.88 ms");
    samples
}

/// Checks that the full queue is within one packet of `expected`, and that every sample is full or one packet less: a packet has
/// just left, and the next, which arrives within half a transmission time, has not taken its place.
fn exact_to_a_packet(report: &Report, ports: u32, expected: f64) {
    for port in 0..ports {
        let distances: Vec<f64> =
            settled(report, port).iter().map(|&backlog| (backlog as f64 - expected) / PACKET).collect();
        let full = distances.iter().copied().fold(f64::MIN, f64::max);
        assert!(full.abs() <= 1.0, "port {port} of {ports}: {full} packets from {expected:.0}");
        let short = distances.iter().copied().fold(f64::MAX, f64::min);
        assert!(short >= -2.0, "port {port} of {ports}: {short} packets from {expected:.0}");
    }
}

#[test]
fn up_to_eight_saturated_ports_settle_at_the_fixed_point() {
    // Choudhury and Hahne (ToN '98): T = α(B − M·T), so that T = αB/(1 + αM), with a tolerance of one packet.
    for alpha in [0.5, 1.0, 4.0] {
        for ports in 1..=8 {
            let report = saturate(ports, &[("switch.buffer.alpha", &alpha.to_string())]);
            exact_to_a_packet(&report, ports, alpha * POOL / (1.0 + alpha * f64::from(ports)));
        }
    }
}

#[test]
fn reserved_bytes_come_on_top_of_the_fixed_point() {
    // Each port has ten reserved packets; the threshold limits its bytes in the pool.
    let sets = [("switch.buffer.reserved", "15KB"), ("switch.buffer.alpha", "2")];
    for ports in [1, 3, 8] {
        let fixed = 2.0 * POOL / (1.0 + 2.0 * f64::from(ports));
        exact_to_a_packet(&saturate(ports, &sets), ports, 15_000.0 + fixed);
    }
}

#[test]
fn a_threshold_on_all_bytes_settles_where_reserved_ones_count_too() {
    // Q = α(B − M(Q − P)), so that Q = α(B + MP)/(1 + αM); P is 100 packets. This
    // is neither the fixed point nor that plus P.
    let reserved = 150_000.0;
    let sets = [
        ("switch.buffer.reserved", "150KB"),
        ("switch.buffer.alpha", "2"),
        ("switch.buffer.counts", "total"),
    ];
    for ports in [1, 3, 8] {
        let m = f64::from(ports);
        let expected = 2.0 * (POOL + m * reserved) / (1.0 + 2.0 * m);
        exact_to_a_packet(&saturate(ports, &sets), ports, expected);
    }
}

#[test]
fn a_fixed_part_is_filled_whatever_the_others_do() {
    let sets = [("switch.buffer", "{ kind = 'static-partition', per_port = '200p' }")];
    for ports in [1, 8] {
        let report = saturate(ports, &sets);
        exact_to_a_packet(&report, ports, 200.0 * PACKET);
        for port in 0..ports {
            let counters = report.port(&format!("switch0->host{port}")).unwrap();
            assert_eq!(counters.max_backlog.0 as f64, 200.0 * PACKET, "never more than its part");
        }
    }
}

#[test]
fn free_sharing_fills_the_pool_and_one_port_may_have_all_of_it() {
    let sets = [("switch.buffer", "{ kind = 'complete-sharing', pool = '1500KB' }")];
    exact_to_a_packet(&saturate(1, &sets), 1, POOL);
    let report = saturate(8, &sets);
    let by_port: Vec<Vec<u64>> = (0..8).map(|port| settled(&report, port)).collect();
    for sample in 0..by_port[0].len() {
        let held: u64 = by_port.iter().map(|port| port[sample]).sum();
        // Each port lacks its next packet for less than one transmission time.
        assert!((POOL - 8.0 * PACKET..=POOL).contains(&(held as f64)), "{held}");
    }
}
