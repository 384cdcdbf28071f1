//! Tests that the example scenario of every switch mechanism runs and shows the mechanism's effect.

use std::fs;
use std::path::Path;

use crate::common::run_by;
use serde_json::Value;
use shallows_scenario::Experiment;
use shallows_sim::{Execution, Report, Simulation};

fn examples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/models");
    let files = fs::read_dir(folder).expect("the examples are there");
    let mut names: Vec<String> = files
        .map(|file| file.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .map(|path| path.file_stem().expect("a file has a name").to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn experiment(name: &str, sets: &[(&str, &str)]) -> Experiment {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../experiments/models/{name}.toml"));
    let text = fs::read_to_string(&path).expect("the example can be read");
    let sets: Vec<(String, String)> =
        sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let experiment =
        shallows_scenario::parse(&text, name, &|_| unreachable!("no example names a file"), &sets, None)
            .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(experiment.name, name, "an example is called after its file");
    experiment
}

fn run(name: &str, sets: &[(&str, &str)]) -> Report {
    let mut simulation = Simulation::new(experiment(name, sets));
    simulation.advance(u64::MAX);
    simulation.finish()
}

/// Returns the bytes that each queue of the receiver's port has sent.
fn sent(report: &Report) -> Vec<f64> {
    report.queues("switch0->host0").iter().map(|queue| queue.sent_bytes.0 as f64).collect()
}

fn mean_ping(report: &Report) -> f64 {
    report.summary()["ping_rtt_us"]["all"]["mean"].as_f64().expect("it pings")
}

#[test]
fn every_example_marks_or_drops_where_it_says_so() {
    for name in examples() {
        let summary = run(&name, &[]).summary();
        let markers: Vec<(&String, &Value)> = summary["markers"].as_object().unwrap().iter().collect();
        for (marker, counts) in &markers {
            let chosen: u64 = counts.as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
            assert!(chosen > 0, "{name}: {marker} never fires");
        }
        let dropped = summary["packets"]["dropped"].as_u64().unwrap();
        let pauses = summary["lossless"]["class0"]["pauses"].as_u64().unwrap_or(0);
        assert!(!markers.is_empty() || dropped + pauses > 0, "{name}: nothing is marked, dropped or paused");
    }
}

#[test]
fn strict_priority_spares_a_ping_the_queue_of_others() {
    // K is 65 packets, 78 us at 10 Gbit/s; the base round-trip time is 84 us, and one packet may be on the wire.
    let (fifo, strict) = (mean_ping(&run("fifo", &[])), mean_ping(&run("strict-priority", &[])));
    assert!(fifo > 84.0 + 0.7 * 78.0, "{fifo}");
    assert!((84.0..84.0 + 3.0 * 1.2).contains(&strict), "{strict}");
    let above_wfq = mean_ping(&run("wfq", &[]));
    assert!((84.0..84.0 + 3.0 * 1.2).contains(&above_wfq), "{above_wfq}");
}

#[test]
fn queues_share_the_link_as_their_quanta_and_weights_say() {
    for (name, queues, expected) in [("wrr", [0, 1], 1.0), ("dwrr", [0, 1], 4.0), ("wfq", [1, 2], 3.0)] {
        let sent = sent(&run(name, &[]));
        let ratio = sent[queues[1]] / sent[queues[0]];
        // The first round trips, before both queues have a backlog, are a few percent of the run.
        assert!((ratio / expected - 1.0).abs() < 0.08, "{name}: {ratio}, expected {expected}");
    }
}

#[test]
fn hashed_credits_starve_fewer_flows_than_a_fifo() {
    let silent = |sets: &[(&str, &str)]| {
        let report = run("hcf", sets);
        report.flows().filter(|flow| flow.delivered.0 < 20_000).count()
    };
    let (fifo, hcf) = (silent(&[("switch.overrides.0.port", "fifo")]), silent(&[]));
    assert!(hcf < fifo, "{hcf} of 60 flows got next to nothing with HCF, {fifo} with a FIFO");
}

#[test]
fn abm_keeps_room_for_a_burst_where_complete_sharing_has_none() {
    let burst = |name| {
        let report = run(name, &[]);
        let queue = report.queues("switch0->host1")[0];
        queue.dropped_total() as f64 / queue.received as f64
    };
    let (complete, abm) = (burst("complete-sharing"), burst("abm"));
    assert!(abm < 0.7 * complete, "ABM drops {abm} of the burst, complete sharing {complete}");
}

#[test]
fn the_threshold_of_mq_ecn_halves_when_a_second_queue_is_busy() {
    let report = run("mq-ecn", &[]);
    let thresholds: Vec<(f64, f64)> = report
        .port_trace("switch0->host0", "threshold_bytes", Some(1))
        .map(|(at, value)| (at.as_secs_f64() * 1e3, value))
        .collect();
    let at = |ms: f64| thresholds.iter().take_while(|(time, _)| *time <= ms).last().unwrap().1;
    assert_eq!(at(9.9), 97_500.0, "alone, queue 0 has all of K = 65 packets, and so would queue 1");
    // MQ-ECN Eq. 5: quantum / T_round = 1,500 B / 2.4 us is half the rate.
    assert!((at(11.0) - 48_750.0).abs() < 1.0, "{}", at(11.0));
}

#[test]
fn every_example_gives_the_same_bytes_by_events_and_by_window() {
    for name in examples() {
        let [events, windows] = [Execution::Events, Execution::Windows].map(|execution| {
            let report = run_by(execution, &experiment(&name, &[]));
            let table = |table: &str| {
                let mut bytes = Vec::new();
                report.write_table(table, &mut bytes).expect("memory can be written to");
                bytes
            };
            let tables: Vec<Vec<u8>> = report.tables().into_iter().map(table).collect();
            (report.summary(), tables)
        });
        assert_eq!(events.0, windows.0, "{name}");
        assert!(events.1 == windows.1, "{name}: a table differs");
    }
}
