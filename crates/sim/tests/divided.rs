//! Tests with networks that are so small that the effects of a division can be computed by hand: sums over partitions, shares of threads,
//! and windows on several threads. `partitions.rs` compares results in networks with much traffic.

use crate::common::{parse, rows, run};
use serde_json::{Value, json};
use shallows_core::Duration;
use shallows_scenario::Experiment;
use shallows_sim::{Division, Simulation, Undivided, nowhere, partition_window};

/// Three hosts at one switch and one host at another. The link between the switches has a delay of 100 us.
const DUMBBELL: &str = r#"
stop.at = "1ms"
host.jitter = "off"

[topology]
kind = "dumbbell"
left = 3
right = 1
rate = "10Gbps"
framing = "0B"
bottleneck_delay = "100us"

[switch]
buffer = { kind = "static-partition", per_port = "2p" }

[tcp]
congestion = "reno"
timestamps = false
delayed_ack = { segments = 1 }
rto = { initial = "150us", min = "150us" }
"#;

/// One segment from host 0 to host 3, two segments that meet it at a port with room for two, and datagrams.
const WORKLOADS: &str = r#"
[[workload]]
kind = "incast"
senders = 0
receivers = 3
size = "1460B"

[[workload]]
kind = "udp"
senders = "1..3"
receivers = 3
overload = true
start = "400us"
stop = "412us"
pattern = { kind = "constant", rate = "10Gbps" }
"#;

fn experiment(workloads: &str, sets: &[(&str, &str)]) -> Experiment {
    parse(&[DUMBBELL, workloads].concat(), sets)
}

/// Builds a simulation with one partition per switch, on this number of threads.
fn divided(experiment: &Experiment, threads: u32) -> Simulation {
    let division = Division::in_pieces(experiment, threads, 0).expect("it has two switches");
    Simulation::of_partitions(experiment.clone(), division, nowhere).expect("nothing is captured")
}

fn summary(mut simulation: Simulation) -> Value {
    simulation.advance(u64::MAX);
    simulation.finish().summary()
}

#[test]
fn what_partitions_count_is_added_up() {
    let experiment = experiment(WORKLOADS, &[]);
    assert_eq!(Simulation::new(experiment.clone()).partitions(), 1);
    let whole = run(&[DUMBBELL, WORKLOADS].concat(), &[]).summary();
    // The round trip takes 206.5 us and the timer 150: the segment is sent twice, and the second acknowledgement is stale.
    // Twenty datagrams arrive in pairs: one of each pair leaves the port and two more wait, so that seven or eight are lost.
    let packets = &whole["packets"];
    assert_eq!((&packets["data"], &packets["stale"], &packets["sent"]), (&json!(2), &json!(1), &json!(24)));
    assert_eq!(packets["dropped"], packets["dropped_in_switches"]);
    assert!(packets["dropped"].as_u64() >= Some(7), "{packets}");
    for threads in [1, 2] {
        let partitions = divided(&experiment, threads);
        assert_eq!(partitions.partitions(), 2);
        assert_eq!(summary(partitions), whole, "{threads} threads");
    }
}

#[test]
fn a_division_is_as_even_as_the_links_of_its_threads() {
    // The left partition has three links of hosts and four of their switch, the right one has one and two: 10 of 2 · 7.
    let experiment = experiment(WORKLOADS, &[]);
    assert_eq!(partition_window(&experiment), Ok(Duration::from_micros(100)));
    let evenness = |threads| Division::new(&experiment, threads).expect("two switches").evenness();
    assert!((evenness(2) - 10.0 / 14.0).abs() < 1e-12, "{}", evenness(2));
    assert!((evenness(1) - 1.0).abs() < 1e-12, "{}", evenness(1));
    let partitions = |links| Division::in_pieces(&experiment, 1, links).expect("two switches").partitions();
    // Both switches have hosts; with them they have seven and three links, together ten.
    assert_eq!([0, 9, 10].map(partitions), [2, 2, 1]);
}

#[test]
fn what_cannot_be_divided_is_said_in_words() {
    let words = |sets: &[(&str, &str)], workload: &str| {
        partition_window(&experiment(workload, sets)).expect_err("it cannot be divided").to_string()
    };
    let star = ("topology", "{ kind = 'star', hosts = 4, rate = '10Gbps' }");
    assert_eq!(words(&[star], WORKLOADS), "no link joins two switches");
    let near = ("topology.bottleneck_delay", "0s");
    assert_eq!(words(&[near], WORKLOADS), "a link between switches has no delay");
    let query = "[[workload]]\nkind = 'partition-aggregate'\nclients = 0\nworkers = 3\nsize = '1KB'\nqueries = 2\n\
                 arrivals = { kind = 'closed-loop', think_time = '0s' }\n";
    // Clients and workers communicate by requests and answers; without requests, workers would start flows at once.
    assert_eq!(partition_window(&experiment(query, &[])), Ok(Duration::from_micros(100)));
    let unasked = format!("{query}request = '0B'\n");
    assert_eq!(
        words(&[], &unasked),
        "flows start at one host when something happens at another, without a packet (lists that wait for other hosts, \
         servers that nobody asks)"
    );
    assert_eq!(partition_window(&experiment(&unasked, &[])), Err(Undivided::CrossesHosts));
    assert_eq!(
        words(&[("measure.flow_traces", "[{ sample = 1 }]")], query),
        "a flow trace chooses by the order of arrival among flows that wait for others (choose a workload instead)"
    );
}

/// Returns a network with two hosts at each of two switches. The first host of each switch sends datagrams to the second, at the rate
/// `left` at one switch and `right` at the other.
fn pairs(left: &str, right: &str) -> Experiment {
    pairs_with(left, right, &[])
}

/// Returns the network of [`pairs`] with the keys in `more` set.
fn pairs_with(left: &str, right: &str, more: &[(&str, &str)]) -> Experiment {
    let udp = |from: u32, rate: &str| {
        format!(
            "[[workload]]\nkind = 'udp'\nsenders = {from}\nreceivers = {}\npattern = {{ kind = 'constant', rate = '{rate}' }}\n",
            from + 1
        )
    };
    let sets = [("topology.left", "2"), ("topology.right", "2"), ("stop.at", "20ms")];
    let sets: Vec<_> = sets.iter().chain(more).copied().collect();
    experiment(&[udp(0, left), udp(2, right)].concat(), &sets)
}

#[test]
fn two_cores_are_twice_as_fast_where_two_partitions_do_the_same_and_no_faster_where_one_does_all() {
    let faster = |experiment: &Experiment| {
        let mut simulation = divided(experiment, 1);
        simulation.follow_critical_path(&[1, 2, 9]);
        simulation.advance(u64::MAX);
        simulation.speed_ups()
    };
    assert_eq!(faster(&pairs("4Gbps", "4Gbps")), [(1, 1.0), (2, 2.0), (9, 2.0)]);
    let [(1, one), (2, two), (9, nine)] = faster(&pairs("4Gbps", "1Mbps"))[..] else { panic!() };
    // The slower pair sends two packets, the faster one some 6,600.
    assert!(one == 1.0 && two > 1.0 && two < 1.001 && nine == two, "{one} {two} {nine}");
    // No partition counts the samples that are taken of all ports each microsecond.
    let seen = faster(&pairs_with("4Gbps", "1Mbps", &[("measure.sample_queues", "1us")]));
    assert_eq!(seen, [(1, one), (2, two), (9, nine)]);
    let mut unfollowed = divided(&pairs("4Gbps", "4Gbps"), 1);
    unfollowed.advance(u64::MAX);
    assert_eq!(unfollowed.speed_ups(), []);
}

#[test]
fn threads_run_beside_each_other_only_where_much_happens() {
    let threaded = |experiment: &Experiment, threads| {
        let mut simulation = divided(experiment, threads);
        let progress = simulation.advance(u64::MAX);
        assert!(progress.events > 2 << 14, "two stretches of 16,384: {}", progress.events);
        simulation.threaded_windows()
    };
    // A window of 100 us has 33 packets in four directions, each with several events, or three events.
    let (dense, sparse) = (pairs("4Gbps", "4Gbps"), echoes());
    assert_eq!([1, 2].map(|threads| threaded(&sparse, threads)), [0, 0]);
    assert_eq!(threaded(&dense, 1), 0, "there is one thread");
    // Of two hundred windows, those after the first stretch run on two threads.
    let windows = threaded(&dense, 2);
    assert!((50..200).contains(&windows), "{windows}");
}

/// Returns a network that sends an echo request in each window.
fn echoes() -> Experiment {
    let sets = [("topology.left", "2"), ("topology.right", "2"), ("stop.at", "1s")];
    let ping = "[[workload]]\nkind = 'ping'\nsenders = 0\nreceivers = 1\ninterval = '100us'\n";
    experiment(ping, &sets)
}

/// 33 leaves of 16 hosts and 16 spines: more than 2,048 directed links, which are divided into three partitions even for one thread
/// (`partitions.rs`). A few of its hosts send.
const LARGE: &str = r#"
stop.at = "1s"

[topology]
kind = "leaf-spine"
leaves = 33
spines = 16
hosts_per_leaf = 16
rate = "10Gbps"
uplink_delay = "3us"

[switch]
buffer = { kind = "static-partition", per_port = "100p" }

[[workload]]
kind = "udp"
senders = "0..512 step 64"
receivers = 527
pattern = { kind = "constant", rate = "1Gbps" }
"#;

#[test]
fn a_large_network_in_which_little_happens_becomes_one_partition_after_a_million_events_unless_it_is_captured()
 {
    let start = |sets: &[(&str, &str)]| {
        let simulation = Simulation::capturing(parse(LARGE, sets), 1, nowhere).expect("nowhere");
        assert_eq!(simulation.partitions(), 3);
        simulation
    };
    let mut plain = start(&[]);
    plain.advance(1 << 19);
    assert_eq!(plain.partitions(), 3, "not so soon");
    let (before, after) = (plain.progress(), plain.advance(1 << 19));
    assert_eq!(plain.partitions(), 1);
    assert!(after.events >= 1 << 20 && after.now > before.now, "it has come as far: {after:?}");
    // Captured packets cannot be written a second time.
    let mut captured = start(&[("measure.captures", "[{ ports = ['leaf0->host0'] }]")]);
    captured.advance((1 << 20) + 1);
    assert_eq!(captured.partitions(), 3);
}

#[test]
fn echoes_that_are_sent_at_once_have_the_same_order_in_every_division() {
    // Each host sends a request to the next, all at the same times; their order depends on the seed.
    let pings: String = (0..4)
        .map(|from| {
            let to = (from + 1) % 4;
            format!("[[workload]]\nkind = 'ping'\nsenders = {from}\nreceivers = {to}\ninterval = '300us'\n")
        })
        .collect();
    let mut orders = std::collections::BTreeSet::new();
    for seed in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        let experiment =
            experiment(&pings, &[("seed", seed), ("topology.left", "2"), ("topology.right", "2")]);
        let order = |mut simulation: Simulation| -> Vec<i64> {
            simulation.advance(u64::MAX);
            let of =
                |row: &std::collections::BTreeMap<String, parquet::record::Field>| rows::long(&row["source"]);
            rows::rows(&simulation.finish(), "pings").iter().filter_map(of).collect()
        };
        let whole = order(Simulation::new(experiment.clone()));
        assert_eq!(whole.len(), 4 * 4);
        assert_eq!(order(divided(&experiment, 2)), whole, "seed {seed}");
        orders.insert(whole);
    }
    assert!(orders.len() > 1);
}

#[test]
fn looking_is_no_event_of_the_network_in_whatever_division() {
    let events = |simulation: Simulation| {
        let mut simulation = simulation;
        simulation.advance(u64::MAX).events
    };
    let unseen = events(Simulation::new(experiment(WORKLOADS, &[])));
    for look in [
        ("measure.sample_queues", "'10us'"),
        ("measure.traces", "[{ ports = ['*'], every = '10us' }]"),
        ("measure.flow_traces", "[{ flows = [0], every = '10us' }]"),
    ] {
        let looking = experiment(WORKLOADS, &[look]);
        assert_eq!(events(Simulation::new(looking.clone())), unseen, "{look:?}");
        assert_eq!(events(divided(&looking, 2)), unseen, "{look:?}, in partitions");
    }
}
