//! Tests of the progress that a run reports.

use crate::common;
use shallows_sim::{Progress, Simulation};

const STAR: &str = r#"
host.jitter = "off"

[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
framing = "0B"

[switch]
buffer = { kind = "static-partition", per_port = "100p" }

[tcp]
congestion = "reno"
delayed_ack = { segments = 1 }
"#;

const UDP: &str = "[[workload]]\nkind = 'udp'\nsenders = 0\nreceivers = 1\n\
                   pattern = { kind = 'constant', rate = '5Gbps' }\n";

/// Four flows of one segment each, which start one millisecond apart.
const FLOWS: &str =
    "[[workload]]\nkind = 'incast'\nsenders = 2\nreceivers = 3\nsize = '1KB'\nrepeats = 4\nperiod = '1ms'\n";

/// Returns the progress of a run after each event.
fn steps(workloads: &str, sets: &[(&str, &str)]) -> Vec<Progress> {
    let mut simulation = Simulation::new(common::parse(&[STAR, workloads].concat(), sets));
    let mut told = vec![simulation.progress()];
    while !told[told.len() - 1].done {
        told.push(simulation.advance(1));
    }
    let (summary, last) = (simulation.finish().summary(), told[told.len() - 1]);
    assert_eq!(summary, common::run(&[STAR, workloads].concat(), sets).summary(), "as if nobody had asked");
    assert_eq!(summary["engine"]["packet_hops"], last.packet_hops);
    told
}

#[test]
fn without_flows_it_is_the_share_of_time_that_has_passed() {
    let told = steps(UDP, &[("stop.at", "100us")]);
    assert!(told.len() > 100, "{} steps", told.len());
    let (last, before) = told.split_last().expect("there are steps");
    for progress in before {
        assert!((progress.fraction - progress.now.0 as f64 / 100e6).abs() < 1e-12, "{progress:?}");
        assert_eq!((progress.flows_started, progress.flows_completed), (0, 0));
    }
    assert!(before[0].fraction == 0.0 && before[before.len() - 1].fraction > 0.98);
    assert!(last.done && last.fraction == 1.0);
}

#[test]
fn without_a_time_it_is_the_share_of_flows_that_are_complete() {
    let told = steps(FLOWS, &[]);
    let (last, before) = told.split_last().expect("there are steps");
    for progress in before {
        assert_eq!(progress.fraction, progress.flows_completed as f64 / 4.0, "{progress:?}");
        // A flow is complete before the next one begins.
        assert!((0..=1).contains(&(progress.flows_started - progress.flows_completed)), "{progress:?}");
    }
    assert_eq!((last.flows_started, last.flows_completed, last.fraction), (4, 4, 1.0));
    // Each segment and its acknowledgement take two links.
    assert_eq!(last.packet_hops, 4 * (2 + 2));
}

#[test]
fn with_both_it_is_the_larger_of_the_two() {
    let of = |stop: &str| -> Vec<f64> {
        let told = steps(FLOWS, &[("stop.at", stop)]);
        // Progress before the second flow, and before the fourth.
        let at =
            |started: u64| told.iter().rfind(|progress| progress.flows_started == started).expect("a step");
        vec![at(1).fraction, at(3).fraction]
    };
    // After 5 us one of four flows is complete, and a negligible part of ten seconds has passed.
    assert_eq!(of("10s"), [0.25, 0.75]);
    // With an end at 3.003 ms, two thirds have passed after 2 ms.
    let told = steps(FLOWS, &[("stop.at", "3003us")]);
    let third = told.iter().find(|progress| progress.flows_started == 3).expect("the third begins");
    assert!((third.fraction - 2.0 / 3.003).abs() < 1e-9, "{third:?}");
}
