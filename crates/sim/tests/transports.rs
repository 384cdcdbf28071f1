//! Every transport runs in the simulator, and no two give the same results.

use crate::common;
use std::collections::BTreeSet;

/// An incast through a shallow buffer: eight senders of 50 KB each, five times, over 10 Gb/s.
const SCENARIO: &str = r#"
[topology]
kind = "star"
hosts = 9
rate = "10Gbps"
link_delay = "10us"

[switch]
buffer = { kind = "complete-sharing", pool = "60KB" }

[tcp]
rto = { min = "5ms", initial = "5ms" }
delayed_ack = { segments = 1 }

[[workload]]
kind = "incast"
senders = "0..8"
receivers = 8
size = "50KB"
repeats = 5
period = "30ms"
"#;

const MARKERS: &str = "[{ kind = 'threshold', k = '15p' }]";

/// Returns the completion times of all flows in picoseconds, and the numbers of timeouts and retransmissions.
fn outcome(sets: &[(&str, &str)]) -> (Vec<u64>, u32, u32) {
    let report = common::run(SCENARIO, sets);
    let times = report.flows().map(|flow| flow.completion_time.expect("every flow ends").0).collect();
    let count = |of: fn(&shallows_measure::FlowOutcome) -> u32| report.flows().map(|flow| of(&flow)).sum();
    (times, count(|flow| flow.timeouts), count(|flow| flow.retransmits))
}

#[test]
fn no_two_congestion_controls_give_the_same_results() {
    let mut seen = BTreeSet::new();
    for congestion in [
        "'ecn-star'",
        "{ kind = 'reno', ecn = true }",
        "'dctcp'",
        "{ kind = 'dctcp', arithmetic = 'fixed', g = 0.25 }",
        "{ kind = 'cubic', ecn = true }",
        "{ kind = 'pulser', as_released = true }",
    ] {
        let (times, ..) = outcome(&[("tcp.congestion", congestion), ("switch.markers", MARKERS)]);
        assert_eq!(times.len(), 40);
        assert!(seen.insert(times), "{congestion} is as another");
    }
}

#[test]
fn every_congestion_control_that_answers_ece_may_take_its_time() {
    for congestion in [
        "'ecn-star'",
        "{ kind = 'reno', ecn = true }",
        "'dctcp'",
        "{ kind = 'cubic', ecn = true }",
        "'pulser'",
    ] {
        let of = |reaction| {
            let sets =
                [("tcp.congestion", congestion), ("switch.markers", MARKERS), ("tcp.ece_reaction", reaction)];
            outcome(&sets).0
        };
        let gradual = of("prr");
        assert_eq!(gradual.len(), 40);
        assert_ne!(gradual, of("at-once"), "{congestion}");
    }
}

#[test]
fn no_two_ways_to_repair_losses_give_the_same_results() {
    let mut seen = BTreeSet::new();
    for (recovery, prr) in [
        ("sack", "off"),
        ("sack", "ssrb"),
        ("sack", "crb"),
        ("fulltcp", "off"),
        ("sack1", "off"),
        ("newreno", "off"),
        ("reno", "off"),
    ] {
        let sets = [("tcp.congestion", "reno"), ("tcp.recovery", recovery), ("tcp.prr", prr)];
        let (times, _, retransmits) = outcome(&sets);
        assert!(retransmits > 0, "nothing was lost");
        assert!(seen.insert(times), "{recovery} with prr {prr} is as another");
    }
}

#[test]
fn without_an_incast_notification_pulser_is_dctcp() {
    // No switch of this scenario sets the notification; in all else Pulser equals DCTCP (Pulser §III-B).
    let of = |congestion| outcome(&[("tcp.congestion", congestion), ("switch.markers", MARKERS)]);
    assert_eq!(of("'pulser'"), of("'dctcp'"));
}

#[test]
fn a_fin_spares_an_odd_last_segment_the_delay_of_its_acknowledgement() {
    // One segment. Without a FIN the receiver waits 4 ms for a second one.
    let single = [
        ("workload.0.senders", "0"),
        ("workload.0.size", "1000B"),
        ("tcp.delayed_ack", "{ segments = 2, timeout = '4ms' }"),
        ("measure.fct", "sender"),
    ];
    let longest = |fin| {
        let (times, timeouts, _) = outcome(&[&single[..], &[("tcp.fin", fin)]].concat());
        assert_eq!(timeouts, 0);
        times.into_iter().max().expect("there are flows") / 1_000_000
    };
    assert!((4_000..4_100).contains(&longest("false")), "{} us", longest("false"));
    // Four links of 10 us, a packet of 1,052 bytes and an acknowledgement twice each: 42 us, and up to 2.4 us of jitter.
    assert!((40..46).contains(&longest("true")), "{} us", longest("true"));
}

#[test]
fn a_handshake_agrees_on_ecn() {
    // Only packets of connections that agreed are marked; the others would be dropped.
    let sets = [("tcp.handshake", "true"), ("switch.markers", MARKERS), ("switch.buffer.pool", "1MB")];
    let report = common::run(SCENARIO, &sets);
    let port = report.port("switch0->host8").expect("the receiver's");
    assert!(port.marked > 0);
    assert_eq!(report.flows().map(|flow| flow.retransmits).sum::<u32>(), 0);
}
