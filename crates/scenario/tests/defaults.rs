//! Tests that defaults agree with `docs/scenario.md` and with the sources of the models.

use crate::common::parse;
use serde_json::{Value, json};

const STAR: &str = r#"
stop.at = "1ms"

[topology]
kind = "star"
hosts = 4
rate = "10Gbps"

[switch]
buffer = { kind = "static-partition", per_port = "100p" }
"#;

/// Returns the value at `place` in the resolved form of a star with this workload, changed by `sets`.
fn resolved(workload: &str, sets: &[(&str, &str)], place: &str) -> Value {
    let text = format!("workload = [{workload}]\n{STAR}");
    let experiment = parse(&text, sets).unwrap_or_else(|error| panic!("{error}"));
    experiment.resolved().pointer(place).unwrap_or_else(|| panic!("nothing at {place}")).clone()
}

const INCAST: &str = "{ kind = 'incast', senders = '1..3', receivers = '0', size = '64KB' }";

/// Asserts that `found` has every entry of `expected`. Null in `expected` means that the key is absent.
fn assert_has(found: &Value, expected: &Value) {
    for (key, value) in expected.as_object().expect("a table is expected") {
        assert_eq!(found.get(key).unwrap_or(&Value::Null), value, "{key} of {found}");
    }
}

#[test]
fn disciplines_have_the_numbers_of_their_papers_and_of_ns_2() {
    for (port, expected) in [
        ("{ kind = 'wfq', queues = 2 }", json!({"weight": 1, "virtual_time": "gps", "strict": 0})),
        ("{ kind = 'wrr', queues = 2, quantum = '1500B' }", json!({"order": "cyclic", "strict": 0})),
        ("{ kind = 'dwrr', queues = 2, quantum = '1500B' }", json!({"strict": 0})),
        // HCF: 20 bins, one credit, one hash; the alternatives of §4 are not the default.
        (
            "{ kind = 'hcf', limit = '100p' }",
            json!({"bins": 20, "credits": "1p", "hashes": 1, "period": "auto", "rekey": "drawn",
                "footnote": "applied", "swap": "when-empty"}),
        ),
        // ns-2's tcl/lib/ns-default.tcl: Queue/DRR buckets_ 10, blimit_ 25000, quantum_ 250.
        ("'hashed-drr'", json!({"buckets": 10, "quantum": "250B", "limit": "25KB", "hash": "five-tuple"})),
        // Queue/SFQ maxqueue_ 40, buckets_ 16.
        (
            "'sfq'",
            json!({"buckets": 16, "max_packets": 40, "hash": "address-pair", "drop": "steal-tail",
                "perturbation": null}),
        ),
    ] {
        assert_has(&resolved(INCAST, &[("switch.port", port)], "/switch/port"), &expected);
    }
}

#[test]
fn markers_have_the_numbers_of_their_papers() {
    let at_a_queue =
        json!({"scope": "queue", "at": "enqueue", "counts_packet": false, "unit": "bytes", "weight": null});
    for (marker, expected) in [
        ("{ kind = 'threshold', k = '65p' }", at_a_queue.clone()),
        ("{ kind = 'threshold', k = '65p' }", json!({"split": "standard", "queues": null})),
        ("{ kind = 'red', kmin = '5p', kmax = '9p', pmax = 0.1 }", at_a_queue),
        ("{ kind = 'red', kmin = '5p', kmax = '9p', pmax = 0.1 }", json!({"spacing": "independent"})),
        // MQ-ECN (NSDI '16) §4.1: β = 0.75, and the packet itself counts, as in its kernel module.
        (
            "{ kind = 'mq-ecn', k = '65p' }",
            json!({"beta": 0.75, "idle_time": "auto", "idle_since": "link-free", "at": "enqueue",
                "counts_packet": true}),
        ),
        // ns-2: targetdelay_ 0.005, mean_pktsize_ 500; RED (ToN '93) max_p up to 0.1.
        (
            "'red-classic'",
            json!({"variant": "paper", "kmin": "auto", "kmax": "auto", "target_delay": "5ms", "pmax": 0.1,
                "typical_packet": "500B", "scope": "queue"}),
        ),
        (
            "{ kind = 'ein', high_water = '20p' }",
            json!({"samples": 50, "threshold": 0.25, "average": "mean-of-ratios", "sampled": "after"}),
        ),
        ("'ein-as-released'", json!({"samples": 70, "limit": 15, "packet_time": "auto"})),
        // RFC 8289 §4.2 and §4.3: a target of 5 ms, an interval of 100 ms; CoDel drops.
        ("'codel'", json!({"target": "5ms", "interval": "100ms", "action": "drop", "ce_threshold": null})),
    ] {
        let several = "{ kind = 'dwrr', queues = 2, quantum = '1500B' }";
        let port = if marker.contains("mq-ecn") { several } else { "'fifo'" };
        let sets = [("switch.port", port), ("switch.markers", &format!("[{marker}]"))];
        assert_has(&resolved(INCAST, &sets, "/switch/markers/0"), &expected);
    }
    let shared = "{ kind = 'dynamic-threshold', pool = '1MB' }";
    let sets = [("switch.buffer", shared), ("switch.markers", "['bcc']")];
    // BCC (INFOCOM '20): λ = 0.72, h = 8 us, pmax = 0.1, at dequeue.
    assert_has(
        &resolved(INCAST, &sets, "/switch/markers/0"),
        &json!({"pmax": 0.1, "lambda": 0.72, "h": "8us", "at": "dequeue", "rtt": "auto", "kmin": "auto",
            "kmax": "auto", "spacing": "independent"}),
    );
}

#[test]
fn buffers_keep_nothing_apart_and_share_by_one_or_by_a_half() {
    let nothing_apart = json!({"reserved": "0B", "reserved_rule": "exact", "ports_per_pool": null});
    for (buffer, expected) in [
        ("{ kind = 'dynamic-threshold', pool = '1MB' }", json!({"alpha": 1.0, "counts": "shared"})),
        ("{ kind = 'dynamic-threshold', pool = '1MB' }", nothing_apart.clone()),
        ("{ kind = 'complete-sharing', pool = '1MB' }", nothing_apart.clone()),
        ("{ kind = 'abm', pool = '1MB' }", json!({"alpha": 0.5, "congested": 0.9, "window": "75KB"})),
        ("{ kind = 'abm', pool = '1MB' }", nothing_apart),
    ] {
        assert_has(&resolved(INCAST, &[("switch.buffer", buffer)], "/switch/buffer"), &expected);
    }
    assert_has(
        &resolved(INCAST, &[], "/switch"),
        &json!({"port": {"kind": "fifo"}, "markers": [], "shaper": null, "egress_drop": "slot",
            "ecmp": "five-tuple", "overrides": []}),
    );
}

#[test]
fn transport_has_the_numbers_of_its_rfcs() {
    for (congestion, expected) in [
        // RFC 8257 §4.2: g = 1/16; §3.3: alpha starts at 1.
        (
            "dctcp",
            json!({"g": 0.0625, "initial_alpha": 1.0, "window_end": "passed", "duplicate_acks": "ignored",
                "ece_growth": "all", "arithmetic": "float"}),
        ),
        ("reno", json!({"ecn": false})),
        // RFC 9438 §4.6 and §5: β = 0.7, C = 0.4; §4.7: fast convergence.
        ("cubic", json!({"ecn": false, "c": 0.4, "beta": 0.7, "fast_convergence": true})),
        ("pulser", json!({"safe_window": 4, "restore": "first-clean-ack", "as_released": false})),
    ] {
        assert_has(&resolved(INCAST, &[("tcp.congestion", congestion)], "/tcp/congestion"), &expected);
    }
    let pulser = resolved(INCAST, &[("tcp.congestion", "pulser")], "/tcp/congestion/dctcp");
    assert_has(&pulser, &json!({"g": 0.0625, "initial_alpha": 1.0}));
    // ICTCP (CoNEXT '10) §4 and §5.
    assert_has(
        &resolved(INCAST, &[("tcp.receiver", "ictcp")], "/tcp/receiver"),
        &json!({"share": 0.9, "gamma1": 0.1, "gamma2": 0.5, "beta": 0.2, "decrease_after": 3, "fairness": 0.2,
            "rtt_limit": "2ms", "minimum": 2}),
    );
    assert_has(
        &resolved(INCAST, &[], "/tcp"),
        &json!({
            // RFC 6298 (2.1), (2.4) and (2.5).
            "rto": {"initial": "1s", "min": "1s", "max": "60s", "granularity": "1ms"},
            "delayed_ack": {"segments": 2, "counts": "arrivals", "timeout": "40ms"},
            "slow_start_limit": 1, "duplicate_threshold": 3, "limited_transmit": true,
            "limited_transmit_repairs": false, "avoidance": "byte-counting", "ece_reaction": "at-once",
            "loss_base": "flight-size", "recovery": "sack", "full_ack": "limited", "prr": "off",
            "sack_after_timeout": "kept", "restart_after_idle": "reduce", "handshake": false, "fin": false,
            "timestamps": true
        }),
    );
    let rack = resolved(INCAST, &[("tcp.recovery", "rack"), ("tcp.rack", "{}")], "/tcp/rack");
    assert_eq!(rack["timer_slack"], "0ps");
}

#[test]
fn workloads_begin_at_once_and_have_one_of_each() {
    let sizes = "sizes = { kind = 'fixed', size = '1KB' }";
    for (workload, expected) in [
        (INCAST, json!({"start": "0ps", "repeats": 1, "spread": "0ps", "class": 0})),
        (
            "{ kind = 'long-lived', senders = 1, receivers = 0 }",
            json!({"per_pair": 1, "start": "0ps", "spread": "0ps", "class": 0}),
        ),
        (
            &format!("{{ kind = 'poisson', load = 0.5, {sizes} }}"),
            json!({"of": "receivers", "counted": "wire", "overload": false, "draws": "own", "start": "0ps"}),
        ),
        (
            &format!("{{ kind = 'poisson', load = 0.5, {sizes}, connections = 'persistent' }}"),
            json!({"connections": {"kind": "persistent", "per_pair": 1, "when_busy": "open-another"}}),
        ),
        (
            "{ kind = 'udp', senders = 1, receivers = 0, pattern = { kind = 'constant', rate = '1Gbps' } }",
            json!({"overload": false, "start": "0ps", "ecn": false, "stop": null}),
        ),
        // ping(8) sends 56 bytes of data.
        (
            "{ kind = 'ping', senders = 1, receivers = 0, interval = '10us' }",
            json!({"payload": "56B", "ecn": true, "start": "0ps", "stop": null}),
        ),
        // DCTCP (SIGCOMM '10) §2.2: queries of 1.6 KB.
        (
            "{ kind = 'partition-aggregate', clients = 0, size = '20KB', arrivals = 'closed-loop' }",
            json!({"asking": "each", "request": "1.6KB", "iterations": 1, "jitter": "0ps", "start": "0ps",
                "arrivals": {"kind": "closed-loop", "think_time": "0ps"}}),
        ),
        (
            "{ kind = 'block-transfer', clients = 0, block = '1MB' }",
            json!({"request": "0B", "repeats": 1, "think_time": "0ps", "jitter": "0ps", "start": "0ps"}),
        ),
    ] {
        assert_has(&resolved(workload, &[], "/workload/0"), &expected);
    }
}

#[test]
fn networks_nics_and_measures_have_what_the_page_says() {
    assert_has(
        &resolved(INCAST, &[], "/topology"),
        &json!({"link_delay": "1us", "host_delay": "0ps", "mtu": 1_500, "framing": 0, "links": []}),
    );
    let tree = "{ kind = 'fat-tree', k = 4, rate = '10Gbps' }";
    assert_eq!(resolved(INCAST, &[("topology", tree)], "/topology/oversubscription"), 1.0);
    assert_has(
        &resolved(INCAST, &[("host.nic.coalescing", "{ time = '10us' }")], "/host/nic"),
        &json!({"backpressure": "1MiB", "limit": "64MB", "tso": "off", "pacing": "off",
            "coalescing": {"time": "10us", "gro": true, "queues": 1}}),
    );
    // The time of one MTU: 1,500 bytes at 10 Gb/s.
    assert_eq!(resolved(INCAST, &[], "/host/jitter"), "1.2us");
    // DCTCP (SIGCOMM '10) §4.3: small up to 100 KB, large above 10 MB.
    assert_has(
        &resolved(INCAST, &[("measure.captures", "[{ ports = ['switch0->host0'] }]")], "/measure"),
        &json!({"fct": "receiver", "bins": ["100KB", "10MB"], "warm_up": "0ps", "traces": [], "flow_traces": [],
            "sample_queues": null}),
    );
    let capture =
        resolved(INCAST, &[("measure.captures", "[{ ports = ['switch0->host0'] }]")], "/measure/captures/0");
    assert_has(&capture, &json!({"name": "capture", "snap": "96B"}));
}
