//! Tests of workloads with requests and responses: their flows, and rejected workloads.

use std::collections::BTreeSet;

use crate::common::{QUERIES, parse};
use shallows_core::{Bytes, Duration, Instant};
use shallows_scenario::{Experiment, Flow, LegKind, Next, Workload};

/// Returns a star of eight hosts with one workload.
fn star(workload: &str) -> String {
    format!(
        "topology = {{ kind = 'star', hosts = 8, rate = '10Gbps' }}\n\
         switch.buffer = {{ kind = 'static-partition', per_port = '9p' }}\n[[workload]]\n{workload}"
    )
}

const PLAIN: &str =
    "kind = 'partition-aggregate'\nclients = 0\nsize = '2KB'\nqueries = 1\narrivals = 'closed-loop'";
const BLOCKS: &str = "kind = 'block-transfer'\nclients = 0\nblock = '1MB'";

fn error(workload: &str, more: &str) -> String {
    let text = star(&format!("{workload}\n{more}"));
    let error = parse(&text, &[]).err().unwrap_or_else(|| panic!("accepted: {more}"));
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.split_once(": ").map_or(line, |(_, rest)| rest).to_owned()
}

#[test]
fn each_impossible_query_is_refused_with_what_is_allowed() {
    for (more, expected) in [
        (
            "workers = 0",
            "workload[0].workers: must include a host that is neither host 0 nor one of its aggregators",
        ),
        ("workers = ''", "workload[0].workers: must name at least one host"),
        (
            "workers = 'host9'",
            "workload[0].workers: no host is named \"host9\"; use a name such as \"host0\"",
        ),
        (
            "fan_out = 8",
            "workload[0].fan_out: must be from 1 to 7, the number of workers available to host 0, got 8",
        ),
        (
            "fan_out = 0",
            "workload[0].fan_out: must be from 1 to 7, the number of workers available to host 0, got 0",
        ),
        ("iterations = 0", "workload[0].iterations: must be from 1 to 1000, got 0"),
        ("deadline = '0s'", "workload[0].deadline: must be above 0s, got 0s"),
        (
            "deadline = '1ms'\njitter = '1ms'",
            "workload[0].deadline: must be longer than jitter = 1ms, the maximum delay of a request, got 1ms",
        ),
        ("total = '1KB'", "workload[0]: must have only one of size, total and sizes"),
        (
            "request = '0B'\nanswers = 'same-connection'",
            "workload[0].answers: must be left out without requests, because each request opens the connection of \
             its response; or set request, for example \"1.6KB\"",
        ),
        (
            "aggregators = { count = 0, size = '1KB' }",
            "workload[0].aggregators.count: must be at least 1, got 0; for queries without aggregators, remove the \
             table aggregators",
        ),
        (
            "aggregators = { count = 1, size = '0B' }",
            "workload[0].aggregators.size: must be above 0B, got 0B",
        ),
        (
            "aggregators = { count = 3, hosts = '0..3', size = '1KB' }",
            "workload[0].aggregators.count: must be at most 2, the number of aggregators available to host 0, got 3; \
             add hosts to aggregators.hosts",
        ),
        (
            "aggregators = { count = 2, hosts = '1..3', size = '1KB' }\nworkers = '1..4'",
            "workload[0].aggregators.count: must be at most 1, the number of workers, got 2",
        ),
        (
            "aggregators = { count = 2, hosts = '1..3', size = '1KB' }\nworkers = '1..3'",
            "workload[0].workers: must include a host that is neither host 0 nor one of its aggregators",
        ),
        (
            "aggregators = { count = 1, size = '1KB', deadline = '1us' }\njitter = '2us'",
            "workload[0].aggregators.deadline: must be longer than jitter = 2us, the maximum delay of a request, got 1us",
        ),
    ] {
        assert_eq!(error(PLAIN, more), expected);
    }
}

#[test]
fn each_impossible_size_or_time_of_queries_is_refused() {
    let with = |from: &str, to: &str| {
        assert!(PLAIN.contains(from));
        error(&PLAIN.replacen(from, to, 1), "")
    };
    assert_eq!(with("size = '2KB'", "size = '0B'"), "workload[0]: size or total must be above 0B, got 0B");
    assert_eq!(
        with("size = '2KB'\n", ""),
        "workload[0]: must have one of these keys: size (of each response), total (size of all responses together) or \
         sizes (distribution of the size of a response)"
    );
    assert_eq!(
        with("queries = 1", "queries = 0"),
        "workload[0].queries: must be from 1 to 4294967295, got 0"
    );
    assert_eq!(
        with("queries = 1\n", ""),
        "workload[0]: the workload must have an end: set queries, or set stop.at for the run"
    );
    assert_eq!(
        with("'closed-loop'", "{ kind = 'poisson', mean = '0s' }"),
        "workload[0].arrivals.mean: must be above 0s, got 0s"
    );
    assert_eq!(
        with("'closed-loop'", "{ kind = 'periodic', period = '0s' }"),
        "workload[0].arrivals.period: must be above 0s, got 0s"
    );
    assert_eq!(
        with(
            "queries = 1\narrivals = 'closed-loop'",
            "queries = 10_000\narrivals = { kind = 'periodic', period = '1000s' }"
        ),
        "workload[0].arrivals.period: all intervals together must take at most 100 days, got 116"
    );
    assert_eq!(
        with("'closed-loop'", "'open-loop'"),
        "workload[0].arrivals: unknown arrivals \"open-loop\"; expected one of \
         \"poisson\", \"periodic\", \"closed-loop\""
    );
}

#[test]
fn each_impossible_block_or_round_is_refused() {
    assert_eq!(error(BLOCKS, "repeats = 0"), "workload[0].repeats: must be at least 1, got 0");
    assert_eq!(
        error(BLOCKS, "servers = 0"),
        "workload[0].servers: must include a host that is neither host 0 nor one of its aggregators"
    );
    assert_eq!(
        error(BLOCKS, "fan_out = 9"),
        "workload[0].fan_out: must be from 1 to 7, the number of servers available to host 0, got 9"
    );
    assert_eq!(error(&BLOCKS.replace("1MB", "0B"), ""), "workload[0].block: must be above 0B, got 0B");
    let incast = "kind = 'incast'\nsenders = 'all'\nreceivers = 0\nsize = '1KB'\nrepeats = 2";
    assert_eq!(
        error(incast, "think_time = '1ms'\nperiod = '1ms'"),
        "workload[0]: must have either period or think_time, got both"
    );
    assert_eq!(
        error(incast, ""),
        "workload[0].period: must be longer than spread = 0ps with repeats = 2; set period, or set think_time instead"
    );
}

/// Returns all flows of a workload in a network without delays, with the times at which they start.
fn flows(workload: &mut dyn Workload) -> Vec<Flow> {
    let (mut now, mut flows) = (Instant::ZERO, Vec::new());
    loop {
        match workload.next(now) {
            Next::Flow(flow) => {
                now = flow.at;
                flow.leg.into_iter().for_each(|leg| workload.on_complete(leg, now));
                flows.push(flow);
            }
            Next::Until(at) => now = at,
            Next::Wait => panic!("every flow is complete"),
            Next::Done => return flows,
        }
    }
}

fn experiment(workload: &str) -> Experiment {
    parse(&star(workload), &[]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn as_many_flows_are_sent_as_are_expected() {
    for (more, expected) in [
        // Seven requests and seven responses.
        ("", 14),
        // Aggregators are drawn from the workers: 2 above, 5 below, in both directions; the number of flows is not known in advance.
        ("aggregators = { count = 2, size = '1KB' }", 14),
        ("aggregators = { count = 2, size = '1KB' }\nfan_out = 3\niterations = 4", 40),
        ("request = '0B'\nfan_out = 3", 3),
        ("request = '0B'\nfan_out = 3\naggregators = { count = 2, size = '1KB' }", 5),
    ] {
        let experiment = experiment(&format!("{PLAIN}\n{more}"));
        let sent = flows(&mut *experiment.workloads()[0]);
        assert_eq!(sent.len(), expected, "{more}");
        let told = experiment.expected_flows();
        assert!(
            told == Some(expected as u64) || told.is_none() && more.starts_with("aggregators"),
            "{told:?}"
        );
    }
    let of_all = parse(QUERIES, &[]).unwrap();
    let sent: usize = of_all.workloads().iter_mut().map(|workload| flows(&mut **workload).len()).sum();
    // 40 queries of (4 + 2) · 2 · 3 flows, 5 blocks of 3 · 2, and 3 rounds of 3.
    assert_eq!(sent, 40 * 36 + 30 + 9);
    assert_eq!(of_all.expected_flows(), Some(sent as u64));
}

#[test]
fn nobody_is_asked_twice_in_a_query_and_aggregators_do_not_work() {
    let e = experiment(
        "kind = 'partition-aggregate'\nclients = 'all'\nasking = 'drawn'\nfan_out = 4\ntotal = '10KB'\nqueries = 200\n\
         aggregators = { count = 2, size = '7KB' }\narrivals = { kind = 'poisson', mean = '1ms' }",
    );
    let mut workload = e.workloads().remove(0);
    let sent = flows(&mut *workload);
    let mut clients = [0; 8];
    for (number, query) in workload.queries().iter().enumerate() {
        clients[query.client.0 as usize] += 1;
        let of_query = sent.iter().filter(|flow| flow.leg.is_some_and(|leg| leg.query as usize == number));
        let (requests, answers): (Vec<&Flow>, Vec<&Flow>) =
            of_query.partition(|flow| flow.leg.is_some_and(|leg| leg.kind == LegKind::Request));
        let mut asked: Vec<u32> = requests.iter().map(|flow| flow.destination.0).collect();
        asked.push(query.client.0);
        asked.sort_unstable();
        assert_eq!(asked.len(), 7);
        asked.dedup();
        assert_eq!(asked.len(), 7, "client, two aggregators and four workers are seven hosts");
        // A quarter of 10,000 bytes from each worker, 7,000 from each aggregator.
        let sizes = |to_client: bool| -> Vec<u64> {
            let chosen = answers.iter().filter(|flow| (flow.destination == query.client) == to_client);
            chosen.map(|flow| flow.size.unwrap().0).collect()
        };
        assert_eq!((sizes(true), sizes(false)), (vec![7_000; 2], vec![2_500; 4]));
        assert_eq!((query.responses, query.in_time, query.bytes), (4, 4, Bytes(14_000)));
    }
    // 200 draws of one in eight: 25 each, standard deviation 4.7.
    assert!(clients.iter().all(|&count| (5..=45).contains(&count)), "{clients:?}");
}

#[test]
fn queries_come_at_the_mean_rate_at_equal_intervals_or_after_a_pause() {
    let starts = |arrivals: &str| -> Vec<Instant> {
        let e = experiment(&format!(
            "kind = 'partition-aggregate'\nclients = 0\nsize = '2KB'\nstart = '1ms'\nqueries = 10_000\narrivals = \
             {arrivals}"
        ));
        let mut workload = e.workloads().remove(0);
        flows(&mut *workload);
        workload.queries().iter().map(|query| query.start).collect()
    };
    for arrivals in ["{ kind = 'periodic', period = '2ms' }", "{ kind = 'closed-loop', think_time = '2ms' }"]
    {
        let expected = (0..10_000).map(|k| Instant::ZERO + Duration::from_micros(1_000 + 2_000 * k));
        assert!(starts(arrivals).into_iter().eq(expected), "{arrivals}");
    }
    let poisson = starts("{ kind = 'poisson', mean = '2ms' }");
    // The mean of 10,000 exponential gaps has a standard deviation of 1 %.
    let mean = (poisson[9_999] - Instant::ZERO).as_secs_f64() / 10_000.0;
    assert!((mean / 2e-3 - 1.0).abs() < 0.04, "{mean}");
}

#[test]
fn sizes_and_delays_are_drawn_within_their_bounds() {
    let e = experiment(
        "kind = 'partition-aggregate'\nclients = 0\nqueries = 300\njitter = '1ms'\n\
         sizes = { kind = 'uniform', from = '8KB', to = '32KB' }\narrivals = { kind = 'periodic', period = '10ms' }",
    );
    let sent = flows(&mut *e.workloads().remove(0));
    let answers = sent.iter().filter(|flow| flow.source.0 != 0);
    // Each of seven delays of a query is one of 10⁹ values: two are equal in one of 50 million queries.
    let first: BTreeSet<Instant> = answers.clone().take(7).map(|flow| flow.at).collect();
    assert_eq!(first.len(), 7, "each is drawn for itself");
    let sizes: Vec<u64> = answers.map(|flow| flow.size.unwrap().0).collect();
    assert!(sizes.iter().all(|size| (8_000..=32_000).contains(size)) && sizes.len() == 2_100);
    // Uniform: standard deviation 24,000/√12 = 6,928; that of the mean of 2,100 sizes is 151.
    let mean = sizes.iter().sum::<u64>() as f64 / 2_100.0;
    assert!((mean - 20_000.0).abs() < 600.0, "{mean}");
    let delays: Vec<u64> = sent.iter().map(|flow| flow.at.0 % 10_000_000_000).collect();
    assert!(delays.iter().all(|&delay| delay <= 1_000_000_000));
    let mean = delays.iter().sum::<u64>() as f64 / delays.len() as f64;
    // Uniform up to 10⁹ ps; 2,100 draws, each counted twice: standard deviation of the mean 6.3 · 10⁶.
    assert!((mean - 5e8).abs() < 3e7, "{mean}");
}

#[test]
fn blocks_may_be_answered_on_the_connections_of_their_requests() {
    let blocks =
        |more: &str| experiment(&format!("{BLOCKS}\nservers = '0..3'\nconnections = 'persistent'\n{more}"));
    let asked = "request = '2KB'";
    let pairs = |more: &str| -> Vec<(u32, u32)> {
        blocks(more).pairs[0].iter().map(|(from, to)| (from.0, to.0)).collect()
    };
    // Host 0 is also a server, but sends requests only to the other two.
    assert_eq!(pairs(asked), [(0, 1), (0, 2), (1, 0), (2, 0)]);
    let same = "request = '2KB'\nanswers = 'same-connection'";
    assert_eq!(pairs(same), [(0, 1), (0, 2)]);
    assert_eq!([asked, same].map(|more| blocks(more).shares()), [[false], [true]]);
    // Without requests, servers send by themselves.
    assert_eq!(pairs(""), [(1, 0), (2, 0)]);
}

#[test]
fn everybody_is_asked_at_times() {
    // One of three workers, 300 times: 100 each, standard deviation 8.2.
    let e = experiment(&format!("{PLAIN}\nworkers = '1..4'\nfan_out = 1\nqueries = 300").replacen(
        "queries = 1\n",
        "",
        1,
    ));
    let mut asked = [0; 4];
    for flow in flows(&mut *e.workloads().remove(0)) {
        asked[flow.source.0 as usize] += u32::from(flow.leg.is_some_and(|leg| leg.kind == LegKind::Answer));
    }
    assert!(asked[1..].iter().all(|&count| (60..=140).contains(&count)), "{asked:?}");
    assert_eq!(asked.iter().sum::<u32>(), 300);
}

#[test]
fn each_iteration_draws_its_own_sizes_and_delays() {
    let e = experiment(
        "kind = 'partition-aggregate'\nclients = 0\nqueries = 1\niterations = 2\njitter = '1ms'\nrequest = '0B'\n\
         sizes = { kind = 'uniform', from = '8KB', to = '32KB' }\narrivals = 'closed-loop'",
    );
    let sent = flows(&mut *e.workloads().remove(0));
    let sizes = |iteration: u16| -> Vec<(u32, Option<Bytes>)> {
        let of_it = sent.iter().filter_map(|flow| Some((flow.leg?, flow.size)));
        let mut sizes: Vec<_> = of_it
            .filter(|(leg, _)| leg.iteration == iteration)
            .map(|(leg, size)| (leg.member, size))
            .collect();
        sizes.sort_unstable();
        sizes
    };
    // Each of seven sizes is one of 24,000 values: both iterations are equal once in 10³⁰.
    assert_eq!((sizes(0).len(), sizes(1).len()), (7, 7));
    assert_ne!(sizes(0), sizes(1));
    // Delays of different iterations are independent within 10⁹ ps, so none of the seven occurs again.
    let begun = sent[7..].iter().map(|flow| flow.at).min().expect("seven") - Instant::ZERO;
    assert!(sent[7].at >= sent[6].at && begun > Duration::ZERO);
    let delays =
        |part: &[Flow], since: u64| -> BTreeSet<u64> { part.iter().map(|flow| flow.at.0 - since).collect() };
    let (first, second) = (delays(&sent[..7], 0), delays(&sent[7..], sent[6].at.0));
    assert!(first.is_disjoint(&second), "{first:?} {second:?}");
}

#[test]
fn a_block_is_divided_among_its_servers_which_answer_up_to_their_jitter_late() {
    let e = experiment(
        "kind = 'block-transfer'\nclients = 0\nservers = '1..4'\nblock = '100KB'\njitter = '10us'\nrepeats = 20\n\
         think_time = '1ms'\nstart = '5ms'",
    );
    let sent = flows(&mut *e.workloads().remove(0));
    // A third of 100,000 bytes, rounded up.
    assert!(sent.len() == 60 && sent.iter().all(|flow| flow.size == Some(Bytes(33_334))));
    // Within 10 us of the block's start; the first three all start at once with a probability of 10⁻²¹.
    let since = |flow: &Flow| (flow.at - Instant::ZERO).0 - 5_000_000_000;
    assert!(sent[..3].iter().all(|flow| since(flow) <= 10_000_000));
    assert!(sent[..3].iter().any(|flow| since(flow) > 0));
    // 1 ms after the last response of the previous block.
    assert!(since(&sent[3]) - since(&sent[2]) >= 1_000_000_000);
    assert!(since(&sent[5]) - since(&sent[2]) <= 1_010_000_000);
}
