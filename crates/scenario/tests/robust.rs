//! Tests that no text causes a panic, and that accepted scenarios can be written and read back.

use crate::common::{BCC_F2, DUMBBELL, LEAF_SPINE, QUERIES, parse};
use proptest::prelude::*;
use shallows_core::Instant;
use shallows_scenario::Next;

const SEEDS: [&str; 4] = [BCC_F2, LEAF_SPINE, DUMBBELL, QUERIES];

/// Values of every type that have broken parsers before.
const VALUES: [&str; 37] = [
    "0",
    "-1",
    "1",
    "3",
    "9223372036854775807",
    "4294967296",
    "0.0",
    "-0.0",
    "1e308",
    "1e-308",
    "nan",
    "inf",
    "-inf",
    "true",
    "''",
    "'0B'",
    "'1B'",
    "'1125899906842624B'",
    "'86400s'",
    "'1ps'",
    "'100Tbps'",
    "'1Mbps'",
    "'4294967295p'",
    "'0..131072'",
    "'s*'",
    "'a{0..131073}'",
    "'periodic'",
    "'closed-loop'",
    "'reno'",
    "'cubic'",
    "'pulser'",
    "'fixed'",
    "'ssrb'",
    "[]",
    "{}",
    "[[]]",
    "'\\u001f\\u001fik'",
];

/// Returns every key of the scenarios in the notation of overrides.
fn keys() -> Vec<String> {
    fn walk(value: &toml::Value, path: &str, keys: &mut Vec<String>) {
        let below: Vec<(String, &toml::Value)> = match value {
            toml::Value::Table(table) => table.iter().map(|(key, value)| (key.clone(), value)).collect(),
            toml::Value::Array(items) => {
                items.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect()
            }
            _ => Vec::new(),
        };
        for (key, value) in below {
            let path = if path.is_empty() { key } else { format!("{path}.{key}") };
            walk(value, &path, keys);
            keys.push(path);
        }
    }
    let mut keys = Vec::new();
    for seed in SEEDS {
        // The resolved form has every key.
        let resolved = parse(seed, &[]).expect("these are sound").resolved();
        walk(&toml::Value::try_from(resolved).expect("it holds no null"), "", &mut keys);
    }
    keys.sort();
    keys.dedup();
    keys
}

/// Parses the text and, if it is valid, uses every part of the experiment.
fn exercise(text: &str, sets: &[(&str, &str)]) {
    let Ok(experiment) = parse(text, sets).map_err(|error| error.to_string()) else { return };
    assert!(experiment.marking_curves().iter().all(|curve| curve.can_fire == curve.reason.is_none()));
    experiment.warnings();
    for mut workload in experiment.workloads() {
        let mut now = Instant::ZERO;
        for _ in 0..50 {
            match workload.next(now) {
                Next::Flow(flow) => {
                    assert!(flow.at >= now && flow.source != flow.destination);
                    now = flow.at;
                    // As in a network without delays.
                    flow.leg.into_iter().for_each(|leg| workload.on_complete(leg, now));
                }
                Next::Until(at) => {
                    assert!(at > now);
                    now = at;
                }
                Next::Wait | Next::Done => break,
            }
        }
    }
    round_trip(&experiment);
}

/// Asserts that a scenario stays the same when it is written and read back.
fn round_trip(experiment: &shallows_scenario::Experiment) {
    let resolved = experiment.resolved();
    let text = toml::to_string(&resolved).expect("it holds no null");
    let again = parse(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(again.resolved(), resolved);
    assert_eq!(format!("{:?}", again.network), format!("{:?}", experiment.network));
    assert_eq!(again.tcp(), experiment.tcp());
}

#[test]
fn a_resolved_scenario_is_a_scenario() {
    for seed in SEEDS {
        round_trip(&parse(seed, &[]).unwrap());
    }
}

#[test]
fn every_value_at_every_key_is_accepted_or_refused() {
    for key in keys() {
        for value in VALUES {
            for seed in SEEDS {
                exercise(seed, &[(&key, value)]);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_combination_of_values_makes_a_panic(
        seed in 0..SEEDS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..VALUES.len()), 1..5),
    ) {
        let keys = keys();
        let sets: Vec<(&str, &str)> =
            changes.iter().map(|(key, value)| (key.get(&keys).as_str(), VALUES[*value])).collect();
        exercise(SEEDS[seed], &sets);
    }

    #[test]
    fn no_damage_to_the_text_makes_a_panic(
        seed in 0..SEEDS.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<char>(), 0usize..3), 1..6),
    ) {
        let mut text: Vec<char> = SEEDS[seed].chars().collect();
        for (at, character, how) in damage {
            let at = at.index(text.len());
            match how {
                0 => text[at] = character,
                1 => text.insert(at, character),
                _ => drop(text.drain(at..(at + 5).min(text.len()))),
            }
        }
        let text: String = text.into_iter().collect();
        exercise(&text, &[]);
    }
}
