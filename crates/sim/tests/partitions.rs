//! Tests that results are identical, byte for byte, for any number of partitions and threads.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common;
use crate::common::left::{assert_alike, executed, finished, in_partitions};
use shallows_core::{Duration, Instant, Rate};
use shallows_scenario::{Epoch, Experiment, LinkState, Routing};
use shallows_sim::{
    Division, Execution, Simulation, Undivided, nowhere, partition_window, time_between_exchanges,
};
use shallows_switch::port::DropReason;

/// Scenario with all kinds of random draws, observers and stop conditions, on three leaves and two spines.
const SCENARIO: &str = r#"
seed = 5

[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 4
rate = "25Gbps"
uplink_delay = "3us"

[switch]
buffer = { kind = "dynamic-threshold", alpha = 1, pool = "200KB" }
markers = [{ kind = "red", kmin = "10KB", kmax = "60KB", pmax = 0.5 }]

[tcp]
rto = { min = "200us", granularity = "10us" }

[measure]
sample_queues = "10us"
traces = [{ ports = ["leaf*->*"], every = "7us" }, { ports = ["spine0->leaf1"] }]
flow_traces = [{ flows = [3, 599] }, { sample = 4, workload = 0 }, { sample = 20, every = "9us" }, { workload = 1, every = "50us" }]
captures = [{ name = "all", ports = ["*"] }, { name = "some", hosts = "2..7", snap = "1500B" }]

[[workload]]
kind = "poisson"
load = 0.6
sizes = { kind = "uniform", from = "1KB", to = "200KB" }
flows = 600

[[workload]]
kind = "incast"
senders = "0..8"
receivers = 11
size = "20KB"
start = "1ms"
repeats = 3
period = "700us"
connections = { kind = "persistent", per_pair = 2, warm_up = { bytes = "3KB", from = "0us", to = "500us" } }
tcp = { congestion = "cubic", initial_window = 4 }
"#;

/// Workloads with unbounded flows, for runs that end at a time.
const UNBOUNDED: &str = r#"
[[workload]]
kind = "udp"
senders = "1..3"
receivers = 10
pattern = { kind = "poisson", rate = "2Gbps" }

[[workload]]
kind = "ping"
senders = "4..6"
receivers = 0
interval = "50us"
"#;

fn assert_same(name: &str, experiment: &Experiment, threads: &[u32], step: u64) {
    let alone = finished(experiment.clone(), 1, u64::MAX);
    for &threads in threads {
        let many = finished(experiment.clone(), threads, step);
        assert_alike(&format!("{name}, {threads} threads"), &alone, &many);
    }
}

#[test]
fn any_number_of_partitions_on_any_number_of_threads_gives_the_same_bytes() {
    // One partition per switch; two leaves, one leaf, and the spines; all leaves, and all spines.
    let divided: [(u32, u32, &[u32]); 3] = [(0, 5, &[1, 3, 8]), (20, 3, &[2]), (1_000, 2, &[1])];
    for sets in [[("seed", "5")], [("stop.at", "2.1ms")]] {
        let experiment = common::parse(SCENARIO, &sets);
        let alone = finished(experiment.clone(), 1, u64::MAX);
        for (links, partitions, threads) in divided {
            for &threads in threads {
                let division = Division::in_pieces(&experiment, threads, links).unwrap();
                assert_eq!(
                    (division.partitions(), division.threads()),
                    (partitions, threads.min(partitions))
                );
                let many = in_partitions(&experiment, division, 50_000);
                assert_alike(&format!("{partitions} partitions on {threads}"), &alone, &many);
            }
        }
    }
}

#[test]
fn a_large_network_is_divided_further_than_into_a_partition_for_each_thread() {
    // 32 leaves of 16 hosts and 16 spines have 2 × (512 + 512) links; one more leaf exceeds the limit.
    let leaves = |leaves: &str| {
        let sets =
            [("topology.leaves", leaves), ("topology.spines", "16"), ("topology.hosts_per_leaf", "16")];
        common::parse(SCENARIO, &sets)
    };
    let partitions = |experiment: &Experiment| {
        [1, 2].map(|threads| {
            let division = Division::new(experiment, threads).unwrap();
            (division.threads(), division.partitions())
        })
    };
    assert_eq!(partitions(&leaves("32")), [(1, 1), (2, 2)]);
    // A leaf has 48 links, so a partition of at most 1,024 has 21 leaves; a spine has 33, so one partition has all 16 spines.
    assert_eq!(partitions(&leaves("33")), [(1, 2 + 1), (2, 2 + 1)]);
}

#[test]
fn any_number_of_threads_and_any_steps_give_the_same_bytes() {
    let until_complete = common::parse(SCENARIO, &[]);
    let report = common::run(SCENARIO, &[]);
    let summary = report.summary();
    assert!(summary["timeouts"].as_u64() > Some(0), "the run is worth comparing: {summary}");
    assert_eq!(report.tables(), ["flows", "counters", "markers", "queues", "traces", "flow_traces"]);
    assert_eq!(report.problems(), []);
    // Two by number, 4 and 20 of the samples, and the 24 of the incast that are not in the second sample.
    let traced = (0..624).filter(|&flow| report.flow_trace(flow, "cwnd_bytes").next().is_some()).count();
    assert!((2 + 4 + 20..=2 + 4 + 20 + 24).contains(&traced), "{traced} flows are traced");
    let mut on_two = Simulation::divided(until_complete.clone(), 2);
    on_two.advance(u64::MAX);
    assert!(on_two.threaded_windows() > 100, "{} windows on threads", on_two.threaded_windows());
    assert_same("until all flows are complete", &until_complete, &[2, 3, 8, 16], u64::MAX);
    assert_same("in small steps", &until_complete, &[2], 5_000);
    assert_same("another seed", &common::parse(SCENARIO, &[("seed", "6")]), &[4], u64::MAX);
    let unbounded = common::parse(&format!("{SCENARIO}{UNBOUNDED}"), &[("stop.at", "2.1ms")]);
    assert_same("until a time", &unbounded, &[2, 4], 10_000);
}

/// Adds changes of the network. A cable between two switches fails, and routes avoid it only later, or never if `reroutes` is false. Another
/// cable becomes slow. Then the first cable comes up again with a longer delay, and a host is disconnected for some time.
fn changing(experiment: Experiment, reroutes: bool) -> Experiment {
    let network = &experiment.network;
    let cable = |name: &str| {
        let link = network.links.iter().position(|link| link.name == name);
        let link = link.expect("it has a name") as u32;
        [link, network.links[link as usize].reverse]
    };
    let (dies, slow, host) = (cable("leaf0->spine0"), cable("leaf1->spine1"), cable("leaf2->host11"));
    let whole = Arc::clone(&network.routing);
    let around = if reroutes { network.routing_without(&dies[..1]) } else { Arc::clone(&whole) };
    let up = |gbps, delay| LinkState::Up { rate: Rate::from_gbps(gbps), delay };
    let epoch = |ns, routing: &Arc<Routing>, links: &[u32], state| Epoch {
        at: Instant::ZERO + Duration::from_nanos(ns),
        routing: Arc::clone(routing),
        links: links.iter().map(|&link| (link, state)).collect(),
    };
    let us = Duration::from_micros;
    let [slow_delay, host_delay] = [slow, host].map(|cable| network.links[cable[0] as usize].delay);
    let epochs = vec![
        epoch(0, &whole, &slow, up(20, slow_delay)),
        epoch(500_700, &whole, &dies, LinkState::Down),
        epoch(800_000, &around, &[], LinkState::Down),
        epoch(901_000, &around, &slow, up(5, slow_delay)),
        epoch(1_200_300, &whole, &dies, up(25, us(4))),
        epoch(1_300_123, &whole, &host, LinkState::Down),
        epoch(1_600_000, &whole, &host, up(25, host_delay)),
    ];
    experiment.with_epochs(epochs).expect("links can be so")
}

#[test]
fn a_network_that_changes_gives_the_same_bytes_on_any_number_of_threads() {
    let until_complete = changing(common::parse(SCENARIO, &[]), true);
    let mut simulation = Simulation::new(until_complete.clone());
    simulation.advance(u64::MAX);
    let report = simulation.finish();
    // Packets must be lost in flight in both directions between partitions, in queues, and on arrival; otherwise the comparison is void.
    assert!(
        report.lost_in_flight("leaf0->spine0").data > 0 && report.lost_in_flight("spine0->leaf0").packets > 0
    );
    for port in
        ["leaf0->spine0", "spine0->leaf0", "leaf2->host11"].map(|name| report.port(name).expect("there"))
    {
        let down = port.dropped[DropReason::LinkDown as usize];
        assert!(down > port.dropped_at_dequeue, "{port:?}");
    }
    let waited = |name| report.port(name).expect("there").dropped_at_dequeue;
    assert!(waited("leaf0->spine0") + waited("spine0->leaf0") + waited("leaf2->host11") > 0);
    assert_same("until all flows are complete", &until_complete, &[2, 3, 7], u64::MAX);
    let unbounded = changing(common::parse(&format!("{SCENARIO}{UNBOUNDED}"), &[("stop.at", "2.1ms")]), true);
    assert_same("until a time", &unbounded, &[2, 3, 7], 10_000);
    let alone = finished(unbounded.clone(), 1, u64::MAX);
    for threads in [1, 3] {
        let division = Division::in_pieces(&unbounded, threads, 0).unwrap();
        let many = in_partitions(&unbounded, division, 50_000);
        assert_alike(&format!("a partition for each switch, {threads} threads"), &alone, &many);
    }
}

#[test]
fn a_run_that_waits_for_sources_gives_the_same_bytes() {
    // The flows end after some 4 ms.
    let sets = [("workload.2.stop", "300us"), ("workload.3.stop", "6ms"), ("measure.captures", "[]")];
    let sources = common::parse(&format!("{SCENARIO}{UNBOUNDED}"), &sets);
    assert_same("pings that end later", &sources, &[2], 10_000);
    let network = SCENARIO.split("[measure]").next().expect("it has a network");
    let sets = [("workload.0.stop", "333us"), ("workload.1.stop", "1ms")];
    let alone = common::parse(&format!("{network}{UNBOUNDED}"), &sets);
    assert_same("no flows", &alone, &[2, 3], 1_000);
    let report = common::run(&format!("{network}{UNBOUNDED}"), &sets);
    // Two pairs send a request each 50 us until 1 ms.
    let pings = &report.summary()["ping_rtt_us"]["all"];
    assert_eq!((pings["count"].as_u64(), pings["lost"].as_u64()), (Some(40), Some(0)));
    assert!(report.summary()["simulated_s"].as_f64() >= Some(0.001));
}

#[test]
fn a_run_whose_flows_complete_before_its_time_to_stop_ends_at_the_same_time() {
    // A flow whose first packets are all lost waits for the initial timeout of 1 s.
    let experiment = common::parse(SCENARIO, &[("stop.at", "100s")]);
    let end = |mut simulation: Simulation| {
        simulation.advance(u64::MAX);
        simulation.finish().summary()["simulated_s"].as_f64().expect("a number")
    };
    let alone = end(Simulation::new(experiment.clone()));
    assert!(alone < 50.0, "{alone}");
    let division = Division::in_pieces(&experiment, 1, 0).expect("it has five switches");
    assert_eq!(end(Simulation::of_partitions(experiment, division, nowhere).expect("nowhere")), alone);
}

/// Scenarios in `experiments` that can be divided. Each entry has the name of a scenario, the number of workloads that the test shortens,
/// and the number of flows left in each of these workloads.
const DIVIDED: [(&str, usize, &str); 6] = [
    ("models/graph", 0, ""),
    ("bcc/fig4", 1, "200"),
    ("acknowledgements/fabric", 1, "200"),
    ("mq-ecn/fig9-as-made", 4, "60"),
    ("mq-ecn/fig11-as-made", 4, "60"),
    ("mq-ecn/fig9", 4, "60"),
];

#[test]
fn experiments_give_the_same_bytes() {
    for (name, workloads, flows) in DIVIDED {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../experiments/{name}.toml"));
        let text = fs::read_to_string(&path).expect("it can be read");
        let sets: Vec<(String, String)> =
            (0..workloads).map(|workload| (format!("workload.{workload}.flows"), flows.to_owned())).collect();
        let folder = path.parent().expect("it is in a folder");
        let read = |file: &str| fs::read_to_string(folder.join(file)).map_err(|error| error.to_string());
        let experiment = shallows_scenario::parse(&text, name, &read, &sets, None)
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(partition_window(&experiment).is_ok(), "{name} can be divided");
        assert_same(name, &experiment, &[3], u64::MAX);
    }
}

#[test]
fn a_division_keeps_hosts_with_their_switch_and_is_as_even_as_switches_allow() {
    let experiment = common::parse(SCENARIO, &[]);
    assert_eq!(partition_window(&experiment), Ok(Duration::from_micros(3)));
    // A leaf with its hosts has 4 + 4 + 2 ports, a spine 3: 10 + 10 and 10 + 3 + 3, of 36 in total.
    let division = Division::new(&experiment, 2).unwrap();
    assert_eq!(division.partitions(), 2);
    assert!((division.evenness() - 36.0 / (2.0 * 20.0)).abs() < 1e-12, "{}", division.evenness());
    assert_eq!(Division::new(&experiment, 99).unwrap().partitions(), 5, "not more than switches");
}

#[test]
fn what_cannot_be_divided_says_why() {
    let refusals: [(&[(&str, &str)], Undivided); 2] = [
        (
            &[("topology", "{ kind = 'star', hosts = 12, rate = '25Gbps' }"), ("measure", "{}")],
            Undivided::OneSwitch,
        ),
        (&[("topology.uplink_delay", "0us")], Undivided::NoDelay),
    ];
    for (sets, reason) in refusals {
        assert_eq!(partition_window(&common::parse(SCENARIO, sets)), Err(reason), "{sets:?}");
    }
}

#[test]
fn no_number_of_cores_gains_more_than_there_are_cores_or_than_the_busiest_switch_allows() {
    let experiment = common::parse(SCENARIO, &[]);
    let division = Division::in_pieces(&experiment, 1, 0).unwrap();
    let mut simulation = Simulation::of_partitions(experiment, division, nowhere).unwrap();
    simulation.follow_critical_path(&[1, 2, 5, 64]);
    simulation.advance(u64::MAX);
    let faster: Vec<f64> = simulation.speed_ups().into_iter().map(|(_, faster)| faster).collect();
    let [one, two, five, many] = faster[..] else { panic!("{faster:?}") };
    assert!((one - 1.0).abs() < 1e-12, "{one}");
    assert!(1.3 < two && two < 2.0 && two < five, "{faster:?}");
    // There are five partitions, and leaf 2 with the receiver of the incast has more than a fifth of the events.
    assert!((five - many).abs() < 1e-12 && many < 4.5, "{faster:?}");
}

/// Keys of a scenario, and the values that a test sets.
type Sets<'a> = &'a [(&'a str, &'a str)];

#[test]
fn events_and_windows_give_the_same_bytes() {
    let unbounded = format!("{SCENARIO}{UNBOUNDED}");
    let plain = SCENARIO.split("[measure]").next().expect("it has a network");
    let workloads = &SCENARIO[SCENARIO.find("[[workload]]").expect("it has workloads")..];
    let pool =
        "[{ kind = 'red', kmin = '50KB', kmax = '150KB', pmax = 0.5, scope = 'pool', at = 'dequeue' }]";
    // CoDel drops packets when a port sends.
    let dropping = [
        ("switch.buffer.pool", "2MB"),
        ("switch.egress_drop", "free"),
        ("switch.markers", "[{ kind = 'codel', target = '2us', interval = '20us', action = 'drop' }]"),
    ];
    let unobserved = format!("{plain}{workloads}");
    let until = [("stop.at", "2.1ms")];
    let cases: [(&str, &str, Sets<'_>); 7] = [
        ("all that observes", SCENARIO, &[]),
        ("until a time", &unbounded, &until),
        ("changing", &unbounded, &until),
        ("changing with the same routes", &unbounded, &until),
        ("nobody watches", &unobserved, &[]),
        ("markers of the pool", &unobserved, &[("switch.markers", pool)]),
        ("drops when sending", &unobserved, &dropping),
    ];
    let tree = [
        ("topology", "{ kind = 'fat-tree', k = 4, rate = '25Gbps' }"),
        ("switch.buffer", "{ kind = 'static-partition', per_port = '100KB' }"),
    ];
    let fat_tree: (&str, &str, Sets<'_>) = ("fat tree", &unobserved, &tree);
    let [none, short, long] = ["0us", "3us", "6us"].map(|delay| ("topology.host_delay", delay));
    // Windows have 1 us. With a delay of hosts, they have 4 us, and spines have two turns in each: one of 3 us, and one of 1 us. If no ports
    // share memory, they have 7 us, and ports run in the order in which packets pass through them.
    let apart = [long, ("switch.buffer.ports_per_pool", "1"), ("topology.uplink_delay", "300ns")];
    let networks: [Sets<'_>; 3] = [&[none], &[short], &apart];
    let all = cases.iter().flat_map(|&case| networks.map(|network| (case, network)));
    for ((name, text, sets), network) in all.chain([(fat_tree, &[long] as Sets<'_>)]) {
        let parsed = common::parse(text, &[sets, network].concat());
        let experiment =
            if name.starts_with("changing") { changing(parsed, name == "changing") } else { parsed };
        let name = &format!("{name}, {network:?}");
        let events = executed(&experiment, None, Execution::Events, 50_000);
        let windows = executed(&experiment, None, Execution::Windows, 777);
        assert_alike(name, &events, &windows);
        let adaptive = executed(&experiment, None, Execution::Adaptive, 50_000);
        assert_alike(name, &events, &adaptive);
        for threads in [1, 3] {
            let division = Division::in_pieces(&experiment, threads, 0).expect("switches are connected");
            // There are three exchanges of packets in 7 us, and four more at each record or sample.
            let is_long =
                (network.len() > 1 || name.starts_with("fat tree")) && !name.starts_with("changing,");
            let exchanges = time_between_exchanges(&experiment, &division);
            assert_eq!(exchanges > division.window(), is_long, "{name}: {exchanges:?}");
            let windows = executed(&experiment, Some(division), Execution::Windows, 777);
            assert_alike(&format!("{name}, partitions on {threads} threads"), &events, &windows);
        }
    }
}

/// Three leaves with two hosts each, and one spine. A packet of 1,250 B takes 1 us to send on each link. It arrives 9 us later on a link of a
/// host, and 2 us later on a link between switches. If the ports of a switch share memory, windows are therefore 4 us long, and the spine has
/// two turns of 2 us in each window. Otherwise windows are 9 us long: ports of leaves to the spine run first, then those of the spine, and
/// then those of leaves to hosts. Without backpressure, NICs also run in windows.
const LONG_WINDOWS: &str = r#"
host = { jitter = "off", nic = { backpressure = "off" } }

[topology]
kind = "leaf-spine"
leaves = 3
spines = 1
hosts_per_leaf = 2
rate = "10Gbps"
framing = "0B"
link_delay = "2us"
host_delay = "7us"
"#;

/// Checks how many packets the port of the spine to the third leaf has received and sent until `stop`. Each entry of `packets` is a host,
/// and the time in nanoseconds at which the host sends a packet to the third leaf.
fn assert_forwarded(packets: &[(u32, u32)], stop: &str, received: u64, sent: u64) {
    let packet = |(host, ns): &(u32, u32)| {
        format!(
            "[[workload]]\nkind = 'udp'\nsenders = {host}\nreceivers = 4\noverload = true\npayload = '1222B'\n\
             start = '{ns}ns'\nstop = '{}ns'\npattern = {{ kind = 'constant', rate = '10Gbps' }}\n",
            ns + 1
        )
    };
    let workloads: String = packets.iter().map(packet).collect();
    for buffer in ["kind = 'complete-sharing', pool = '1MB'", "kind = 'static-partition', per_port = '100KB'"]
    {
        let text = format!("{LONG_WINDOWS}[switch]\nbuffer = {{ {buffer} }}\n{workloads}");
        let experiment = common::parse(&text, &[("stop.at", stop)]);
        common::assert_forwarded(
            &experiment,
            "spine0->leaf2",
            received,
            sent,
            &format!("until {stop}, {buffer}"),
        );
    }
}

#[test]
fn a_run_can_end_exactly_when_the_second_turn_of_a_spine_begins() {
    // In the window from 12 us to 16 us, the second turn of the spine begins at 14 us. A packet that a host sends at 1 us arrives at the
    // leaf at 11 us and at the spine at 14 us.
    assert_forwarded(&[(0, 1_000)], "13.999us", 0, 0);
    assert_forwarded(&[(0, 1_000)], "14us", 1, 1);
    // Two packets arrive at the spine at 13 us and 13.5 us. The second is sent at 14 us.
    assert_forwarded(&[(0, 0), (2, 500)], "13.999us", 2, 1);
    assert_forwarded(&[(0, 0), (2, 500)], "14us", 2, 2);
}

#[test]
fn a_packet_that_waits_at_a_nic_is_sent_even_if_no_later_packet_follows() {
    // A host sends two packets at once. They arrive at the spine at 13 us and 14 us.
    assert_forwarded(&[(0, 0), (0, 0)], "14us", 2, 2);
}

#[test]
fn packets_of_two_leaves_join_a_port_of_a_spine_in_order_of_time() {
    // The first packet arrives at its leaf at 12.75 us, in the window from 12 us to 16 us, and at the spine at 15.75 us. The other packets
    // both arrive at their leaf at 11.5 us, so one of them is sent at 12.5 us, although no packet arrives there in this window. They are
    // at the spine at 14.5 us and 15.5 us. The first packet waits behind them, and is sent last, at 16.5 us. If it joined the port before
    // one of them, the last packet would be sent at 16.75 us or later.
    let packets = [(0, 2_750), (2, 1_500), (3, 1_500)];
    assert_forwarded(&packets, "16.4us", 3, 2);
    assert_forwarded(&packets, "16.6us", 3, 3);
}

#[test]
fn a_packet_that_waits_at_a_nic_when_the_last_flow_completes_is_sent() {
    // In its last window, the run loses packets at the switch, and some packets that were sent twice still wait at a NIC.
    let experiment = common::parse(
        "[topology]\nkind = 'star'\nhosts = 5\nrate = '100Gbps'\nlink_delay = '20us'\n\
         [switch]\nbuffer = { kind = 'abm', alpha = 0.5, pool = '30KB', reserved = '9500B', cell = '254B', window = '75KB' }\n\
         [host]\nnic = { limit = '100p', backpressure = 'off' }\n\
         [tcp]\ninitial_window = 28\nloss_base = 'cwnd'\nrecovery = 'fulltcp'\n\
         [[workload]]\nkind = 'block-transfer'\nclients = '0..2'\nblock = '83KB'\nrepeats = 3\n\
         connections = { kind = 'persistent', when_busy = 'queue' }\n",
        &[],
    );
    let [events, windows] =
        [Execution::Events, Execution::Windows].map(|way| executed(&experiment, None, way, 50_000));
    assert_alike("waiting at a NIC", &events, &windows);
}

/// Two leaves with two hosts each, whose ports share no memory. Delays between switches are 1.1 us, and those of hosts 9 us.
const APART: &str = "host.jitter = 'off'\n[topology]\nkind = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = '10Gbps'\n\
                     link_delay = '9us'\nuplink_delay = '1100ns'\n\
                     [switch]\nbuffer = { kind = 'static-partition', per_port = '20KB' }\n[tcp]\n";

/// Checks that a network of this text has the same results event by event as in long windows of partitions, in steps of any length.
fn assert_alike_in_long_windows(name: &str, text: &str) {
    let experiment = common::parse(text, &[]);
    let events = executed(&experiment, None, Execution::Events, 50_000);
    for threads in [1, 2] {
        let division = Division::in_pieces(&experiment, threads, 0).expect("switches are connected");
        assert!(time_between_exchanges(&experiment, &division) > division.window(), "windows can be long");
        for step in [1, 50_000] {
            let windows = executed(&experiment, Some(division.clone()), Execution::Windows, step);
            assert_alike(&format!("{name}, {threads} threads, steps of {step}"), &events, &windows);
        }
    }
}

#[test]
fn workloads_that_react_to_flows_have_the_same_results_in_long_windows() {
    let queries = "[[workload]]\nkind = 'partition-aggregate'\nclients = 'all'\nfan_out = 3\nsize = '20KB'\nqueries = 9\n\
                   arrivals = { kind = 'poisson', mean = '60us' }\n";
    assert_alike_in_long_windows("queries", &[APART, queries].concat());
}

#[test]
fn a_run_of_datagrams_and_echo_requests_has_the_same_results_in_long_windows() {
    let sources = "[[workload]]\nkind = 'udp'\nsenders = '0..2'\nreceivers = 3\noverload = true\nstop = '1234567ns'\n\
                   pattern = { kind = 'poisson', rate = '6Gbps' }\n\
                   [[workload]]\nkind = 'ping'\nsenders = 2\nreceivers = 0\ninterval = '50us'\nstop = '1101us'\n";
    assert_alike_in_long_windows("sources", &[APART, sources].concat());
}

#[test]
fn a_partition_that_was_idle_for_many_long_windows_receives_packets_in_time() {
    // Hosts 2 and 3, at the second leaf, receive nothing for 3 ms.
    let incast = |receiver: u32, start: &str| {
        format!(
            "[[workload]]\nkind = 'incast'\nsenders = [0]\nreceivers = {receiver}\nsize = '90KB'\nstart = '{start}'\n"
        )
    };
    let text = [APART, &incast(1, "0s"), &incast(1, "2ms"), &incast(2, "3ms"), &incast(3, "9ms")].concat();
    assert_alike_in_long_windows("idle", &text);
}
