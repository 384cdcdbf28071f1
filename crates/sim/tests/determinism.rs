//! Tests that runs with the same scenario and seed have identical results, and that the offered flows depend only on the seed, not on the
//! network.

use crate::common;
use shallows_sim::{Report, Simulation};

/// Scenario with all kinds of random draws: Poisson flows, incast, datagrams, ECMP, jitter and RED.
const SCENARIO: &str = r#"
seed = 5
stop.at = "3ms"

[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 4
rate = "25Gbps"

[switch]
buffer = { kind = "dynamic-threshold", alpha = 1, pool = "200KB" }
markers = [{ kind = "red", kmin = "10KB", kmax = "60KB", pmax = 0.5 }]

[tcp]
rto = { min = "200us", granularity = "10us" }

[measure]
sample_queues = "10us"

[[workload]]
kind = "poisson"
load = 0.6
sizes = { kind = "uniform", from = "1KB", to = "200KB" }

[[workload]]
kind = "incast"
senders = "0..8"
receivers = 11
size = "20KB"
start = "1ms"
spread = "5us"
connections = { kind = "persistent", per_pair = 2 }

[[workload]]
kind = "udp"
senders = "1..3"
receivers = 10
pattern = { kind = "poisson", rate = "2Gbps" }
"#;

/// Returns all tables and the summary of a report.
fn bytes(report: &Report) -> [Vec<u8>; 4] {
    let (mut flows, mut counters, mut queues) = (vec![], vec![], vec![]);
    report.write_table("flows", &mut flows).expect("memory can be written to");
    report.write_table("counters", &mut counters).expect("memory can be written to");
    report.write_table("queues", &mut queues).expect("memory can be written to");
    [flows, counters, queues, report.summary().to_string().into_bytes()]
}

/// Returns the offered traffic, which must not depend on the scheme.
fn offered(report: &Report) -> Vec<(u64, u32, u32, Option<u64>)> {
    let flow = |flow: shallows_measure::FlowOutcome| {
        (flow.arrival.0, flow.source.0, flow.destination.0, flow.size.map(|size| size.0))
    };
    report.flows().map(flow).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_gives_others() {
    let first = common::run(SCENARIO, &[]);
    // The comparison needs marks, drops, timeouts, and rows in every table.
    let summary = first.summary();
    assert!(summary["packets"]["marked"].as_u64() > Some(100), "{summary}");
    assert!(summary["packets"]["dropped"].as_u64() > Some(100), "{summary}");
    assert!(summary["timeouts"].as_u64() > Some(0), "{summary}");
    assert_eq!(bytes(&first), bytes(&common::run(SCENARIO, &[])));
    let other = bytes(&common::run(SCENARIO, &[("seed", "6")]));
    for (table, (a, b)) in bytes(&first).iter().zip(&other).enumerate() {
        assert_ne!(a, b, "table {table}");
    }
}

#[test]
fn the_size_of_steps_changes_nothing() {
    // A link without delay prevents a division of the network.
    let whole: &[(&str, &str)] = &[("topology.uplink_delay", "0s")];
    for (sets, step) in [(whole, 1), (whole, 1_000), (&[][..], 1), (&[][..], 1_000)] {
        let all = bytes(&common::run(SCENARIO, sets));
        let mut simulation = Simulation::new(common::parse(SCENARIO, sets));
        let (mut last, mut steps) = (simulation.progress(), 0);
        while !last.done {
            let progress = simulation.advance(step);
            let fired = progress.events - last.events;
            // A step of the whole network fires no more events than requested, and fewer if it also takes samples of queues.
            assert!(sets.is_empty() || fired <= step, "{fired} events instead of {step}");
            steps += 1;
            assert!(
                progress.now >= last.now && progress.fraction >= last.fraction && progress.fraction <= 1.0
            );
            last = progress;
        }
        // A step of a divided network ends with a window. Few steps are taken by samples alone.
        let least = last.events / step;
        let is_near =
            if sets.is_empty() { steps <= least + 1 } else { (least..=least * 11 / 10 + 1).contains(&steps) };
        assert!(is_near, "{steps} steps of {step} for {} events", last.events);
        assert_eq!(bytes(&simulation.finish()), all, "in steps of {step}");
    }
}

#[test]
fn every_scheme_meets_the_same_flows() {
    let base = offered(&common::run(SCENARIO, &[]));
    assert!(base.len() > 200);
    let schemes: [&[(&str, &str)]; 4] = [
        &[("switch.markers", "[]"), ("tcp.congestion", "reno")],
        &[("switch.buffer", "{ kind = 'static-partition', per_port = '5p' }")],
        &[("host.jitter", "off"), ("tcp.delayed_ack.segments", "1")],
        &[("workload.0.connections", "{ kind = 'persistent', when_busy = 'queue' }")],
    ];
    for sets in schemes {
        assert_eq!(offered(&common::run(SCENARIO, sets)), base, "{sets:?}");
    }
}

#[test]
fn every_load_meets_the_same_flows_at_another_pace() {
    // The Poisson workload alone: pairs and sizes in order, and times in proportion.
    let (poisson, _) = SCENARIO.split_once("[[workload]]\nkind = \"incast\"").unwrap();
    let flows = |load: &str| {
        let sets = [("workload.0.load", load), ("workload.0.flows", "200"), ("stop.at", "1s")];
        offered(&common::run(poisson, &sets))
    };
    let (light, heavy) = (flows("0.15"), flows("0.6"));
    assert_eq!((light.len(), heavy.len()), (200, 200));
    for (a, b) in light.iter().zip(&heavy) {
        assert_eq!((a.1, a.2, a.3), (b.1, b.2, b.3));
        // Gaps are whole picoseconds.
        assert!(a.0.abs_diff(4 * b.0) <= 4 * 200, "{} is not four times {}", a.0, b.0);
    }
}
