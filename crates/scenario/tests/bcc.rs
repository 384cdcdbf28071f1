//! Compares the thresholds for BCC that are computed from a scenario with the thresholds that its authors used.

use crate::common::{BCC_F2, parse};
use shallows_switch::aqm::{Point, Scope};

fn note(sets: &[(&str, &str)]) -> String {
    let experiment = parse(BCC_F2, sets).expect("the scenario is sound");
    assert_eq!(experiment.notes.len(), 1, "said once for all ports that are alike: {:?}", experiment.notes);
    experiment.notes[0].clone()
}

#[test]
fn the_thresholds_of_the_papers_evaluation_are_computed_and_shown() {
    // BCC §IV-C: C = 100 Gbit/s, RTT = 80 us, lambda = 0.72, S_min = 128 KiB, B = 3 MiB, alpha = 4, N = 8, h = 8 us.
    // B_R = 1,000,000 · 1.72 − 131,072 = 1,588,928; Kmax = 3,145,728 − 397,232 = 2,748,496; Kmin = Kmax − 800,000.
    // The authors' script has 2,727,608 and 1,908,408, because it uses 1.72 · 2^20 and 800 · 2^10.
    let markers = ("switch.markers", "[\"bcc\"]");
    let experiment = parse(BCC_F2, &[markers]).unwrap();
    let curve = experiment.marking_curves().into_iter().find(|curve| curve.kind == "bcc").unwrap();
    assert_eq!((curve.kmin.bytes, curve.kmax.bytes), (1_948_496, 2_748_496));
    assert_eq!((curve.scope, curve.at, curve.pmax), (Scope::Pool, Point::Dequeue, 0.1));
    let note = note(&[markers]);
    for part in ["Kmax = B − B_R/α = 3MiB − 1588.928KB/4 = 2748.496KB", "S_min", "100Gbps·8·8us = 1948.496KB"]
    {
        assert!(note.contains(part), "{part}: {note}");
    }
}

#[test]
fn values_of_the_authors_script_can_be_given() {
    let released = "[{ kind = 'bcc', kmax = '2727608B', kmin = '1908408B', spacing = 'count' }]";
    let experiment = parse(BCC_F2, &[("switch.markers", released)]).unwrap();
    assert!(experiment.notes.is_empty(), "nothing was computed: {:?}", experiment.notes);
    let curve = experiment.marking_curves().into_iter().find(|curve| curve.kind == "bcc").unwrap();
    assert_eq!((curve.kmin.bytes, curve.kmax.bytes), (1_908_408, 2_727_608));
}

#[test]
fn the_cut_off_variant_is_one_threshold() {
    let cut_off = "[{ kind = 'bcc', kmax = '2727608B', kmin = '2727608B' }]";
    let experiment = parse(BCC_F2, &[("switch.markers", cut_off)]).unwrap();
    let curve = experiment.marking_curves().into_iter().find(|curve| curve.kind == "bcc").unwrap();
    assert_eq!(curve.kmin.bytes, curve.kmax.bytes);
}

#[test]
fn a_pool_that_cannot_hold_the_reserve_is_refused_with_the_inputs() {
    let small = [("switch.markers", "[\"bcc\"]"), ("switch.buffer.alpha", "0.5")];
    let message = parse(BCC_F2, &small).unwrap_err().to_string();
    for part in ["switch.markers[0]", "must be less than the pool of 3MiB", "RTT = 80us", "S_min = 128KiB"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let early = [("switch.markers", "[{ kind = 'bcc', h = '40us' }]")];
    let message = parse(BCC_F2, &early).unwrap_err().to_string();
    assert!(message.contains("C·N·h must be at most kmax"), "{message}");
    let alone = [
        ("switch.markers", "[\"bcc\"]"),
        ("switch.buffer", "{ kind = 'static-partition', per_port = '1MB' }"),
    ];
    let message = parse(BCC_F2, &alone).unwrap_err().to_string();
    assert!(message.contains("needs switch.buffer of kind \"dynamic-threshold\""), "{message}");
}

#[test]
fn a_reserve_of_less_than_nothing_is_refused() {
    let told = |lambda: &str| {
        let marker = format!("[{{ kind = 'bcc', lambda = {lambda} }}]");
        parse(BCC_F2, &[("switch.markers", &marker)]).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(told("0.0"), "");
    assert!(
        told("-0.001")
            .contains("lambda, a share of C·RTT, must be a finite number of at least 0, got -0.001"),
        "{}",
        told("-0.001")
    );
}
