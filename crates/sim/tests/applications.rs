//! Tests that workloads that react to flows (queries, blocks, lists with dependencies) have the same results for any number of partitions
//! and threads.

use crate::common::left::{self, Left, assert_alike};
use proptest::prelude::*;
use shallows_core::Duration;
use shallows_scenario::Experiment;
use shallows_sim::{Division, Simulation, Undivided, partition_window};

/// Three leaves of four hosts and two spines. Buffers are so small that incasts lose packets.
const NETWORK: &str = r#"
seed = 5
measure = { sample_queues = "20us", flow_traces = [{ workload = 0 }] }
tcp.rto = { min = "200us", granularity = "10us" }

[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 4
rate = "25Gbps"
uplink_delay = "3us"

[switch]
buffer = { kind = "dynamic-threshold", alpha = 1, pool = "60KB" }
port = { kind = "dwrr", queues = 3, quantum = ["1p", "1p", "1p"] }
"#;

const QUERIES: &str = r#"
[[workload]]
kind = "partition-aggregate"
clients = "all"
fan_out = 6
size = "9KB"
queries = 4
arrivals = { kind = "poisson", mean = "80us" }
"#;

const BLOCKS: &str = r#"
[[workload]]
kind = "block-transfer"
clients = "0..7"
fan_out = 5
block = "100KB"
request = "100B"
repeats = 4
think_time = "3us"
"#;

/// Waves of flows: a host starts a flow after it has received one, and another flow after its own is complete.
const LIST: &str = "start_ns,source,destination,bytes,on_received,on_acked,after,count
0,0,4,30000,got,,,
0,1,4,20000,got,,,
1000,8,4,90000,,,,
500,4,9,5000,,sent,got,2
0,4,10,40000,back,,sent,
0,10,0,7000,,,back,
";

/// Flow of the first host that starts at the time at which the second host has received a flow.
const CROSSING: &str =
    "start_ns,source,destination,bytes,on_received,after\n0,0,4,3000,got,\n0,0,8,3000,,got\n";

const WAITING: &str = "[[workload]]\nkind = 'trace'\npath = 'list.csv'\n";

fn listed(text: &str, list: &str) -> Experiment {
    let read = |_: &str| Ok(list.to_owned());
    shallows_scenario::parse(text, "test.toml", &read, &[], None)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the results of a run with five partitions on this number of threads.
fn in_five_partitions(experiment: &Experiment, threads: u32) -> Left {
    let division = Division::in_pieces(experiment, threads, 0).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(division.partitions(), 5);
    left::in_partitions(experiment, division, 10_000)
}

fn assert_divisible(name: &str, experiment: &Experiment, threads: &[u32]) {
    assert_eq!(partition_window(experiment), Ok(Duration::from_micros(3)), "{name}");
    let whole = left::finished(experiment.clone(), 1, u64::MAX);
    for &threads in threads {
        assert_alike(
            &format!("{name} on {threads} threads"),
            &whole,
            &in_five_partitions(experiment, threads),
        );
    }
}

#[test]
fn each_kind_of_application_gives_the_same_bytes_on_any_number_of_threads() {
    let threads = [1, 2, 3, 7];
    let poisson = "[[workload]]\nkind = 'poisson'\nload = 0.3\nsizes = { kind = 'uniform', from = '1KB', to = '90KB' }\nflows = 80\n";
    let two_levels = "iterations = 3\njitter = '4us'\ndeadline = '250us'\n\
                      aggregators = { count = 2, size = '30KB', deadline = '60us' }\n";
    let random = "class = { kind = 'random', weights = [1, 2, 1] }\n";
    for (name, workloads) in [
        ("queries", QUERIES.to_owned()),
        ("queries of two levels", format!("{QUERIES}{two_levels}{random}")),
        ("queries that are answered unasked", format!("{QUERIES}request = '0B'\njitter = '2us'\n")),
        ("queries of drawn clients", format!("{QUERIES}asking = 'drawn'\n")),
        (
            "queries on shared connections",
            format!("{QUERIES}answers = 'same-connection'\nconnections = 'persistent'\n"),
        ),
        ("blocks", format!("{BLOCKS}{random}")),
        ("a mixture", format!("{BLOCKS}{poisson}{QUERIES}{WAITING}")),
        ("a list", WAITING.to_owned()),
    ] {
        assert_divisible(name, &listed(&[NETWORK, &workloads].concat(), LIST), &threads);
    }
    let cut_off = listed(&[NETWORK, BLOCKS, QUERIES, "[stop]\nat = '333us'\n"].concat(), LIST);
    assert_divisible("until a time", &cut_off, &threads);
}

#[test]
fn a_network_of_queries_is_divided_among_threads() {
    let experiment = listed(&[NETWORK, QUERIES].concat(), LIST);
    assert_eq!(Simulation::divided(experiment, 3).partitions(), 3);
}

#[test]
fn what_starts_flows_at_another_host_at_once_runs_as_one_partition_and_says_why() {
    let crossing = listed(&[NETWORK, WAITING].concat(), CROSSING);
    assert_eq!(partition_window(&crossing), Err(Undivided::CrossesHosts));
    let reason = Undivided::CrossesHosts.to_string();
    assert!(reason.contains("lists that wait for other hosts"), "{reason}");
    let mut simulation = Simulation::divided(crossing, 3);
    assert_eq!(simulation.partitions(), 1);
    assert!(simulation.advance(u64::MAX).done);
    assert_eq!(simulation.finish().flows().filter(|flow| flow.completion_time.is_some()).count(), 2);
    // Servers without requests start flows when a block ends at its client.
    let unasked = BLOCKS.replace("request = \"100B\"", "");
    assert_eq!(partition_window(&listed(&[NETWORK, &unasked].concat(), LIST)), Err(Undivided::CrossesHosts));
    let once = unasked.replace("repeats = 4", "repeats = 1");
    assert_divisible("one block", &listed(&[NETWORK, &once].concat(), LIST), &[2]);
    let drawn = QUERIES.replace("{ kind = \"poisson\", mean = \"80us\" }", "\"closed-loop\"");
    assert!(partition_window(&listed(&[NETWORK, &drawn].concat(), LIST)).is_ok());
    let drawn = format!("{drawn}asking = 'drawn'\n");
    assert_eq!(partition_window(&listed(&[NETWORK, &drawn].concat(), LIST)), Err(Undivided::CrossesHosts));
}

#[test]
fn a_trace_of_flows_by_their_order_of_arrival_keeps_applications_in_one_partition() {
    let traced = |choice: &str| {
        let text = [NETWORK, QUERIES].concat().replace("{ workload = 0 }", choice);
        partition_window(&listed(&text, LIST))
    };
    assert_eq!(traced("{ flows = [3] }"), Err(Undivided::CountsFlows));
    assert_eq!(traced("{ sample = 3 }"), Err(Undivided::CountsFlows));
    assert!(traced("{ workload = 0, every = '9us' }").is_ok());
}

/// Strategy that generates one of these texts.
fn one_of(texts: &[&str]) -> impl Strategy<Value = String> + use<> {
    let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    prop::sample::select(texts)
}

/// Workloads that react to flows, with many flows that start at equal times.
fn workloads() -> impl Strategy<Value = String> {
    let arrivals = one_of(&[
        "{ kind = 'poisson', mean = '40us' }",
        "{ kind = 'periodic', period = '20us' }",
        "'closed-loop'",
    ]);
    let clients = one_of(&["0", "'all'", "'0..8 step 4'"]);
    let times = one_of(&["", "deadline = '60us'", "jitter = '5us'", "deadline = '60us'\njitter = '5us'"]);
    let level = one_of(&["", "aggregators = { count = 2, size = '3KB', deadline = '40us' }"]);
    let way = one_of(&["", "answers = 'same-connection'"]);
    let connections = one_of(&["'new'", "'persistent'"]);
    let blocks =
        one_of(&["", &format!("{BLOCKS}connections = {{ kind = 'persistent', when_busy = 'queue' }}\n")]);
    (arrivals, clients, times, level, 1u32..3, (way, connections, blocks)).prop_map(
        |(arrivals, clients, times, level, iterations, (way, connections, blocks))| {
            format!(
                "[[workload]]\nkind = 'partition-aggregate'\nclients = {clients}\nfan_out = 5\nsize = '9KB'\nqueries = 3\n\
                 arrivals = {arrivals}\niterations = {iterations}\nconnections = {connections}\n{times}\n{level}\n{way}\n{blocks}"
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn applications_of_any_kind_give_the_same_bytes(workloads in workloads(), seed in 1u32..100, threads in 1u32..8) {
        let experiment = listed(&format!("{NETWORK}{workloads}").replace("seed = 5", &format!("seed = {seed}")), LIST);
        assert_divisible(&workloads, &experiment, &[threads]);
    }
}
