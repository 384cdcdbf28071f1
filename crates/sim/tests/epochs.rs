//! Tests of networks that change during a run.

use std::sync::Arc;

use crate::common::{assert_forwarded, parse};
use serde_json::{Value, json};
use shallows_core::{Duration, Instant, Rate};
use shallows_scenario::{Epoch, Experiment, LinkState};
use shallows_sim::{Division, Report, Simulation, nowhere};

/// One host at each of two switches. A packet of 1,250 B takes 1 us to send on a link between a host and its switch, and arrives 1 us
/// later. On the link between the switches, it takes 2 us to send and arrives 10 us later.
const DUMBBELL: &str = r#"
host.jitter = "off"
stop.at = "200us"

[topology]
kind = "dumbbell"
left = 1
right = 1
rate = "10Gbps"
framing = "0B"
host_delay = "0us"
link_delay = "1us"
bottleneck_rate = "5Gbps"
bottleneck_delay = "10us"

[switch]
buffer = { kind = "static-partition", per_port = "100KB" }
"#;

/// Returns a workload that sends a packet each microsecond in this interval.
fn burst(from: &str, to: &str) -> String {
    format!(
        "[[workload]]\nkind = \"udp\"\nsenders = 0\nreceivers = 1\noverload = true\npayload = \"1222B\"\n\
         start = \"{from}\"\nstop = \"{to}\"\npattern = {{ kind = \"constant\", rate = \"10Gbps\" }}\n"
    )
}

fn ns(ns: u64) -> Instant {
    Instant::ZERO + Duration::from_nanos(ns)
}

/// Returns the link from the first switch of a dumbbell to the second.
fn bottleneck(experiment: &Experiment) -> u32 {
    let number = experiment.network.links.iter().position(|link| link.name == "left->right");
    number.unwrap_or_else(|| {
        let names = experiment.network.links.iter().map(|link| &link.name);
        panic!("it is one of {:?}", names.collect::<Vec<_>>())
    }) as u32
}

fn change(experiment: &mut Experiment, changes: &[(Instant, u32, LinkState)]) {
    let epoch = |&(at, link, state): &(Instant, u32, LinkState)| {
        experiment.network.links_change(at, vec![(link, state)])
    };
    let epochs = changes.iter().map(epoch).collect();
    *experiment = experiment.clone().with_epochs(epochs).expect("it is as a link can be");
}

/// Runs an experiment with this number of partitions. Several partitions run on this number of threads.
fn run(experiment: &Experiment, partitions: u32, threads: u32) -> Report {
    let experiment = experiment.clone();
    let mut simulation = if partitions == 1 {
        Simulation::new(experiment)
    } else {
        let division = Division::in_pieces(&experiment, threads, 0).expect("it has two switches");
        assert_eq!(division.partitions(), partitions);
        Simulation::of_partitions(experiment, division, nowhere).expect("nothing is captured")
    };
    simulation.advance(u64::MAX);
    simulation.finish()
}

#[test]
fn a_link_that_goes_down_loses_what_is_in_flight_what_waits_and_what_comes() {
    let bursts = [burst("0us", "20us"), burst("25us", "28us"), burst("38.5us", "42.5us")].concat();
    // Packet k of the first burst is at the first switch at k + 2 us, starts to leave it at 2 + 2k and is at the second at 14 + 2k. At
    // 21.5 us four have arrived there, six are in flight, ten wait. The three of the second burst find the link down. The third burst
    // finds it at half its rate and twice its delay: its packets leave from 40.5 us on, each in 4 us, and arrive 22 us later.
    for (stop, arrived) in [("78.4us", 4 + 3), ("78.6us", 4 + 4)] {
        let mut experiment = parse(&[DUMBBELL, &bursts].concat(), &[("stop.at", stop)]);
        let link = bottleneck(&experiment);
        let slow = LinkState::Up { rate: Rate(2_500_000_000), delay: Duration::from_micros(20) };
        change(&mut experiment, &[(ns(21_500), link, LinkState::Down), (ns(40_000), link, slow)]);
        for (partitions, threads) in [(1, 1), (2, 1), (2, 2)] {
            let report = run(&experiment, partitions, threads);
            let packets = report.summary()["packets"].clone();
            assert_eq!((&packets["sent"], &packets["dropped"]), (&json!(27), &json!(6 + 10 + 3)));
            assert_eq!((&packets["lost_in_flight"], &packets["lost_data_in_flight"]), (&json!(6), &json!(0)));
            let port = report.port("left->right").expect("it is there");
            assert_eq!((port.received, port.sent), (27, 10 + 4));
            assert_eq!((port.dropped_total(), port.dropped_at_dequeue), (10 + 3, 10));
            assert_eq!(report.lost_in_flight("left->right").packets, 6);
            let bytes = 1_250.0 * f64::from(arrived);
            let gbps = report.summary()["datagram_gbps"].as_f64().expect("a number");
            let seconds = report.summary()["simulated_s"].as_f64().expect("a number");
            assert!((gbps * seconds / 8e-9 - bytes).abs() < 1e-3, "{} B", gbps * seconds / 8e-9);
        }
    }
}

#[test]
fn a_link_that_changes_its_rate_loses_nothing() {
    let mut experiment = parse(&[DUMBBELL, &burst("0us", "20us")].concat(), &[]);
    let link = bottleneck(&experiment);
    let rate = |gbps| LinkState::Up { rate: Rate::from_gbps(gbps), delay: Duration::from_micros(10) };
    change(&mut experiment, &[(ns(9_000), link, rate(1)), (ns(21_000), link, rate(10))]);
    for partitions in [1, 2] {
        let report = run(&experiment, partitions, 1);
        assert_eq!(report.summary()["packets"]["dropped"], json!(0));
        // Packet 3 is on the wire until 10 us at the old rate. Then packets 4 and 5 take 10 us each, the second of them although the rate
        // changes while it leaves. Packets 6 to 19, the last of which arrives at 21 us, wait for it.
        let waits = report.port("left->right").expect("it is there");
        assert_eq!((waits.sent, waits.max_backlog.0), (20, 14 * 1_250));
    }
}

#[test]
fn a_link_that_comes_back_before_its_packet_would_have_left_sends_at_once() {
    // Packet 0 is on the wire at 1 Gb/s from 2 us to 12 us, and packets 1 and 2 wait. The link is down from 4.5 us to 5 us. Packet 4, which
    // arrives at 6 us, is then sent at 5 Gb/s until 8 us. Packet 5, which arrives at 7 us, waits for it, not until 12 us.
    // If the port is traced, all ports of its switch send in order of time.
    let (untraced, traced) = ("[]", "[{ ports = ['left->right'] }]");
    let cases = [("7.9us", 2, untraced), ("8.1us", 3, untraced), ("7.9us", 2, traced), ("8.1us", 3, traced)];
    for (stop, sent, traces) in cases {
        let sets = [("topology.bottleneck_rate", "1Gbps"), ("stop.at", stop), ("measure.traces", traces)];
        let mut experiment = parse(&[DUMBBELL, &burst("0us", "6us")].concat(), &sets);
        let link = bottleneck(&experiment);
        let fast = LinkState::Up { rate: Rate::from_gbps(5), delay: Duration::from_micros(10) };
        change(&mut experiment, &[(ns(4_500), link, LinkState::Down), (ns(5_000), link, fast)]);
        assert_forwarded(&experiment, "left->right", 6, sent, &format!("until {stop}, {traces}"));
    }
}

#[test]
fn it_is_the_same_for_partitions_whenever_a_link_goes_down_and_whatever_waits_at_its_port() {
    let cases = [
        vec![],
        vec![("switch.port", "{ kind = 'wfq', queues = 2, weight = [1, 3] }")],
        vec![
            ("switch.port", "{ kind = 'dwrr', queues = 2, quantum = '1p' }"),
            ("switch.shaper", "{ rate = '3Gbps', burst = '2500B' }"),
        ],
    ];
    for sets in cases {
        for step in 0..60 {
            // The steps begin before any packet, and often coincide with events.
            let down = ns(step * 750);
            let mut experiment =
                parse(&[DUMBBELL, &burst("0us", "20us"), &burst("0us", "31us")].concat(), &sets);
            let link = bottleneck(&experiment);
            let up = LinkState::Up { rate: Rate::from_gbps(7), delay: Duration::from_micros(10) };
            change(
                &mut experiment,
                &[(down, link, LinkState::Down), (down + Duration::from_nanos(1_300), link, up)],
            );
            let summary: Vec<Value> =
                [1, 2].map(|partitions| run(&experiment, partitions, partitions).summary()).into();
            assert_eq!(summary[0], summary[1], "{down} {sets:?}");
        }
    }
}

#[test]
fn a_flow_goes_on_after_the_link_of_its_host_was_down() {
    // The link goes down while segments wait at the NIC. They must no longer count as queued there, or else backpressure holds the flow
    // back for good. Its timeout, of 1 ms at first, resumes it after the link is up again.
    let flow = "[tcp]\nrto = { min = \"1ms\", initial = \"1ms\" }\n[[workload]]\nkind = \"incast\"\n\
                senders = 0\nreceivers = 1\nsize = \"100KB\"\n";
    let sets = [("stop.at", "1s"), ("host.nic.backpressure", "3000B")];
    let mut experiment = parse(&[DUMBBELL, flow].concat(), &sets);
    let link =
        experiment.network.links.iter().position(|link| link.name == "host0->left").expect("a link") as u32;
    let up = LinkState::Up { rate: Rate::from_gbps(10), delay: Duration::from_micros(1) };
    change(&mut experiment, &[(ns(2_500), link, LinkState::Down), (ns(100_000), link, up)]);
    for partitions in [1, 2] {
        let report = run(&experiment, partitions, 1);
        assert!(report.port("host0->left").expect("a port").dropped_at_dequeue > 0, "segments waited");
        let times: Vec<_> = report.flows().map(|flow| flow.completion_time).collect();
        let [Some(time)] = times[..] else { panic!("{times:?}") };
        assert!(time > Duration::from_millis(1) && time < Duration::from_millis(10), "{time}");
    }
}

#[test]
fn a_change_that_no_link_can_make_is_refused() {
    let experiment = parse(&[DUMBBELL, &burst("0us", "20us")].concat(), &[]);
    let link = bottleneck(&experiment);
    let up = |gbps, us| LinkState::Up { rate: Rate::from_gbps(gbps), delay: Duration::from_micros(us) };
    let routing = Arc::clone(&experiment.network.routing);
    let epoch = |us: u64, link, state| Epoch {
        at: ns(us * 1_000),
        routing: Arc::clone(&routing),
        links: vec![(link, state)],
    };
    let refused =
        |epochs: &[Epoch]| experiment.clone().with_epochs(epochs.to_vec()).expect_err("it cannot be");
    let down = |us| epoch(us, link, LinkState::Down);
    assert_eq!(refused(&[down(2), down(2)]), "epochs must ascend in time, got 2us before 2us");
    assert_eq!(
        refused(&[epoch(2, 99, LinkState::Down)]),
        "link 99 does not exist; the largest link number is 5"
    );
    assert_eq!(
        refused(&[epoch(3, link, up(0, 10))]),
        "link left->right at 3us: the rate must be above 0, got 0; use LinkState::Down for a failed link"
    );
    assert_eq!(
        refused(&[down(2), epoch(3, link, up(5, 9))]),
        "link left->right at 3us: the delay must be at least 10us, got 9us"
    );
    assert_eq!(
        refused(&[epoch(3, link, up(5, 11))]),
        "link left->right at 3us: the delay can change only while the link is down, got 11us"
    );
    assert!(experiment.clone().with_epochs(vec![down(2), epoch(3, link, up(5, 11))]).is_ok());
}
