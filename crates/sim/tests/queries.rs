//! Tests of queries and blocks: completion times, quality and goodput in closed form.
//!
//! Unless a test states otherwise, every request and answer is one full segment of 1,460 bytes, 1,500 on the wire: 1.2 us on
//! each link at 10 Gb/s, and 1 us of propagation. On idle links it takes 2 · 2.2 = 4.4 us from host to host.

use crate::common::run;
use shallows_core::Duration;
use shallows_measure::QueryOutcome;
use shallows_sim::Report;

const STAR: &str = r#"
host.jitter = "off"

[topology]
kind = "star"
hosts = 8
rate = "10Gbps"

[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }

[tcp]
timestamps = false
congestion = "reno"
initial_window = 200
"#;

fn star(workload: &str, sets: &[(&str, &str)]) -> Report {
    run(&format!("{STAR}\n[[workload]]\n{workload}"), sets)
}

fn ask(more: &str, sets: &[(&str, &str)]) -> Report {
    let workload = "kind = 'partition-aggregate'\nclients = 0\nrequest = '1460B'\nsize = '1460B'";
    let once = if more.contains("arrivals") { "" } else { "queries = 1\narrivals = 'closed-loop'\n" };
    star(&format!("{workload}\n{once}{more}"), sets)
}

fn outcomes(report: &Report) -> Vec<QueryOutcome> {
    report.query_outcomes().collect()
}

fn time(report: &Report) -> f64 {
    outcomes(report)[0].completion_time.expect("complete").as_micros_f64()
}

#[test]
fn outcomes_have_the_numbers_that_their_workloads_have_in_the_scenario() {
    // Workload 0 sends datagrams and has no flow.
    let report = star(
        "kind = 'udp'\nsenders = 6\nreceivers = 7\npattern = { kind = 'constant', rate = '1Gbps' }\n\
         [[workload]]\nkind = 'partition-aggregate'\nclients = 0\nworkers = '1..3'\nrequest = '1460B'\nsize = '1460B'\n\
         queries = 1\narrivals = 'closed-loop'\n\
         [[workload]]\nkind = 'poisson'\nload = 0.1\nsizes = { kind = 'fixed', size = '1KB' }\nflows = 1\n[stop]\nat = '1s'",
        &[],
    );
    let numbers = outcomes(&report).iter().map(|query| query.workload).collect::<Vec<_>>();
    assert_eq!(numbers, [1]);
    let mut flows: Vec<u16> = report.flows().map(|flow| flow.workload).collect();
    flows.sort_unstable();
    // Two requests, two answers, and the single flow.
    assert_eq!(flows, [1, 1, 1, 1, 2]);
}

#[test]
fn a_query_over_idle_links_takes_its_requests_and_the_last_answer() {
    // A round trip takes 8.8 us; each further request leaves the client 1.2 us later, and its answer arrives as much later.
    for (workers, expected) in [("1", 8.8), ("1..4", 11.2), ("all", 16.0)] {
        let report = ask(&format!("workers = '{workers}'"), &[]);
        assert_eq!(time(&report), expected, "{workers}");
    }
    // Three times in a row.
    assert!((time(&ask("workers = 1\niterations = 3", &[])) - 26.4).abs() < 1e-9);
    // Two iterations of two workers: the second begins with the last answer of the first, after 10 us.
    assert!((time(&ask("workers = '1..3'\niterations = 2", &[])) - 20.0).abs() < 1e-9);
}

#[test]
fn without_requests_all_answers_meet_at_the_clients_port() {
    // All start at once; the port sends them one after the other: 2.2 + 7 · 1.2 + 1 us.
    assert!((time(&ask("", &[("workload.0.request", "0B")])) - 11.6).abs() < 1e-9);
}

#[test]
fn two_levels_take_two_round_trips() {
    // Requests reach the aggregators after 4.4 and 5.6 us, and their two workers each 4.4 and 5.6 us later. Aggregators have
    // their second answer 10 us after their request, and then answer. The last answer reaches the client after 5.6 + 10 + 4.4 us.
    let level = "workers = '3..7'\naggregators = { count = 2, hosts = '1..3', size = '1460B' }";
    let report = ask(level, &[]);
    assert!((time(&report) - 20.0).abs() < 1e-9, "{}", time(&report));
    let outcome = outcomes(&report)[0];
    assert_eq!((outcome.responses, outcome.in_time, outcome.bytes.0), (4, 4, 2 * 1_460));
    assert_eq!(report.flows().count(), 2 * (2 + 4));
    assert!(report.flows().all(|flow| flow.query == Some(0)));
}

/// Host 2 is 100 us away from the switch instead of 1 us: its answer comes 198 us later.
const FAR: (&str, &str) = ("topology.links", "[{ between = ['host2', 'switch0'], delay = '100us' }]");

#[test]
fn answers_after_the_deadline_lower_the_quality() {
    let quality = |more: &str| {
        let report = ask(&format!("workers = '1..3'\n{more}"), &[FAR]);
        let outcome = outcomes(&report)[0];
        let late = report.flows().filter(|flow| flow.completion_time.is_none()).count();
        assert_eq!(late, 0, "late answers arrive all the same");
        (outcome.quality(), outcome.in_time, outcome.bytes.0, time(&report))
    };
    // Answers arrive after 8.8 us and, with a request 1.2 us later, after 8.8 + 1.2 + 198 = 208 us.
    assert_eq!(quality("deadline = '8700ns'"), (0.0, 0, 0, 8.7));
    assert_eq!(quality("deadline = '8800ns'"), (0.5, 1, 1_460, 8.8), "exactly in time");
    assert_eq!(quality("deadline = '207us'"), (0.5, 1, 1_460, 207.0));
    assert_eq!(quality("deadline = '208us'"), (1.0, 2, 2_920, 208.0));
    assert_eq!(quality("deadline = '1ms'"), (1.0, 2, 2_920, 208.0), "nobody waits longer than needed");
    // The late answer of one iteration arrives in the third, and counts in none.
    assert_eq!(quality("deadline = '100us'\niterations = 5"), (0.5, 5, 5 * 1_460, 500.0));
}

#[test]
fn an_aggregator_answers_at_its_deadline_with_what_it_has() {
    let level = |deadline: &str| {
        let report = ask(
            &format!(
                "workers = '2..6'\naggregators = {{ count = 2, hosts = '6..8', size = '1460B', deadline = '{deadline}' }}"
            ),
            &[FAR],
        );
        (outcomes(&report)[0].quality(), time(&report))
    };
    // The request reaches the aggregator of hosts 2 and 3 after 4.4 or 5.6 us, as the first or second. It waits 50 us, and its answer takes
    // 4.4 us. The other aggregator is done long before.
    let (quality, time) = level("50us");
    assert_eq!(quality, 0.75);
    assert!((time - 58.8).abs() < 1e-9 || (time - 60.0).abs() < 1e-9, "{time}");
    assert_eq!(level("300us").0, 1.0);
    // The client's deadline is earlier, so the answer of that aggregator is lost, with the answer of host 3 in it.
    let report = ask(
        "workers = '2..6'\naggregators = { count = 2, hosts = '6..8', size = '1460B', deadline = '50us' }\ndeadline \
         = '40us'",
        &[FAR],
    );
    assert_eq!((outcomes(&report)[0].quality(), self::time(&report)), (0.5, 40.0));
}

#[test]
fn a_closed_loop_asks_again_after_its_pause() {
    // 8.8 us each and 91.2 us to think: ten thousand per second.
    let report =
        ask("workers = 1\nqueries = 50\narrivals = { kind = 'closed-loop', think_time = '91200ns' }", &[]);
    let starts: Vec<u64> = outcomes(&report).iter().map(|query| query.start.0).collect();
    assert!(starts.iter().copied().eq((0..50).map(|k| k * 100_000_000)), "{starts:?}");
    let summary = report.summary();
    let all = &summary["queries"]["all"];
    assert_eq!((&all["count"], &all["p50"], &all["p999"]), (&50.into(), &8.8.into(), &8.8.into()));
    assert_eq!((&all["with_timeout"], &all["quality"]), (&0.0.into(), &1.0.into()));
    // One answer of 1,460 bytes in 8.8 us.
    assert!((all["goodput_gbps"].as_f64().unwrap() - 1_460.0 * 8.0 / 8_800.0).abs() < 1e-9);
}

#[test]
fn periodic_queries_do_not_wait_for_each_other() {
    // The far worker answers after 206.8 us; meanwhile two more queries start.
    let more = "workers = 2\nqueries = 5\narrivals = { kind = 'periodic', period = '100us' }";
    let report = ask(more, &[FAR]);
    let found: Vec<(u64, Option<Duration>)> =
        outcomes(&report).iter().map(|query| (query.start.0, query.completion_time)).collect();
    assert!(found.into_iter().eq((0..5).map(|k| (k * 100_000_000, Some(Duration::from_nanos(206_800))))));
}

#[test]
fn a_block_is_as_fast_as_its_slowest_part() {
    // 1 MB from four servers: 171 full segments and 340 bytes each, 4 · (171 · 1,500 + 380) B = 822.016 us on the client's
    // link, which is busy from 2.2 us on; and 1 us of propagation.
    let text = "kind = 'block-transfer'\nclients = 0\nservers = '1..5'\nblock = '1MB'\nrepeats = 3\nthink_time = '100us'";
    let report = star(text, &[]);
    let blocks = outcomes(&report);
    let flows: Vec<_> = report.flows().collect();
    for (round, block) in blocks.iter().enumerate() {
        let time = block.completion_time.unwrap();
        assert_eq!(time, Duration::from_nanos(825_216));
        let own = flows.iter().filter(|flow| flow.query == Some(round as u32));
        let slowest = own.map(|flow| flow.arrival + flow.completion_time.unwrap()).max().unwrap();
        assert_eq!(block.start + time, slowest);
        assert_eq!(block.goodput_gbps(), Some(1_000_000.0 * 8e-9 / 825.216e-6));
        // The next begins 100 us after the end of the last.
        assert_eq!(block.start.0, round as u64 * 925_216_000);
    }
    assert_eq!((blocks.len(), flows.len()), (3, 12));
    // A server that is 100 us away instead of 1 us delays the whole block by 99 us.
    let report = star(text, &[FAR, ("workload.0.repeats", "1")]);
    let late = outcomes(&report)[0].completion_time.unwrap();
    let slowest = report.flows().map(|flow| flow.completion_time.unwrap()).max().unwrap();
    assert_eq!(late, slowest);
}

#[test]
fn rounds_of_an_incast_wait_for_each_other() {
    let text =
        "kind = 'incast'\nsenders = '1..4'\nreceivers = 0\nsize = '1460B'\nrepeats = 4\nthink_time = '10us'";
    let report = star(text, &[]);
    // A round takes 2.2 + 3 · 1.2 + 1 us, and the next round starts 10 us later.
    let starts: Vec<u64> = report.flows().map(|flow| flow.arrival.0).collect();
    assert!(starts.iter().copied().eq((0..12).map(|flow| flow / 3 * 16_800_000)), "{starts:?}");
    assert_eq!(report.summary()["queries"]["all"]["max"], 6.8);
}

#[test]
fn timeouts_are_counted_for_their_query() {
    // Seven answers of four segments meet at a port with room for three packets: some lose their last segments, which only the timer
    // repairs.
    let sets = [
        ("switch.buffer", "{ kind = 'static-partition', per_port = '3p' }"),
        ("tcp.rto", "{ initial = '1ms', min = '1ms' }"),
        ("tcp.delayed_ack.segments", "1"),
        ("workload.0.size", "5840B"),
    ];
    let report = ask("queries = 20\narrivals = { kind = 'periodic', period = '50ms' }", &sets);
    let blamed: u32 = outcomes(&report).iter().map(|query| query.timeouts).sum();
    let of_flows: u32 = report.flows().map(|flow| flow.timeouts).sum();
    assert!(blamed > 0 && blamed <= of_flows, "{blamed} and {of_flows}");
    for query in outcomes(&report) {
        let slow = query.completion_time.unwrap() >= Duration::from_micros(1_000);
        assert_eq!(slow, query.timeouts > 0, "a query is slow for its timeouts: {query:?}");
    }
    let summary = report.summary();
    let hit = outcomes(&report).iter().filter(|query| query.timeouts > 0).count();
    assert_eq!(summary["queries"]["all"]["with_timeout"], hit as f64 / 20.0);
    assert_eq!(summary["queries"]["all"]["timeouts"], blamed);
}

#[test]
fn a_timeout_after_the_answer_is_there_counts_for_no_query() {
    // Single segments are acknowledged after 40 ms, and the timer fires after 1 ms: 991 us after the end of the query.
    let sets = [("tcp.rto", "{ initial = '1ms', min = '1ms' }"), ("workload.0.workers", "1")];
    let report = ask("", &sets);
    assert!(report.flows().all(|flow| flow.timeouts > 0), "request and answer are retransmitted");
    assert_eq!((outcomes(&report)[0].timeouts, time(&report)), (0, 8.8));
    assert_eq!(report.summary()["queries"]["all"]["with_timeout"], 0.0);
}

#[test]
fn queries_of_several_workloads_are_told_apart() {
    let one = "kind = 'block-transfer'\nclients = 0\nservers = 1\nblock = '1460B'\nrepeats = 2";
    let text = format!(
        "{STAR}\n[[workload]]\n{one}\n[[workload]]\nkind = 'incast'\nsenders = 3\nreceivers = 2\nsize = \
         '1KB'\n[[workload]]\n{}",
        one.replace("repeats = 2", "repeats = 3\nstart = '1ms'")
    );
    let report = run(&text, &[("measure.warm_up", "1us")]);
    let summary = report.summary();
    // The first block was requested before the end of the warm-up.
    let counts = ["all", "workload0", "workload2"].map(|name| summary["queries"][name]["count"].as_u64());
    assert_eq!(counts, [Some(4), Some(1), Some(3)]);
    assert_eq!(report.flows().filter(|flow| flow.query.is_none()).count(), 1, "the incast is no query");
    assert!(report.tables().contains(&"queries"));
    assert!(
        !star("kind = 'incast'\nsenders = 3\nreceivers = 2\nsize = '1KB'", &[]).tables().contains(&"queries")
    );
}

#[test]
fn queries_that_the_end_of_the_run_cuts_off_are_told_of() {
    let report = ask(
        "workers = 2\nqueries = 5\narrivals = { kind = 'periodic', period = '100us' }",
        &[FAR, ("stop.at", "450us")],
    );
    let all = &report.summary()["queries"]["all"];
    assert_eq!((&all["started"], &all["count"]), (&5.into(), &3.into()));
    let warned = "2 queries were unfinished at the end of the run; means exclude these queries";
    assert!(report.warnings().iter().any(|warning| warning == warned), "{:?}", report.warnings());
}

/// Open-loop queries with all kinds of random draws.
const DRAWN: &str = "kind = 'partition-aggregate'\nclients = 'all'\nasking = 'drawn'\nfan_out = 4\niterations = 2\n\
                     jitter = '20us'\nsizes = { kind = 'uniform', from = '1KB', to = '60KB' }\naggregators = { count = 2, size = '3KB' }\nqueries = 60\n\
                     class = { kind = 'random', weights = [1, 1] }\narrivals = { kind = 'poisson', mean = '500us' }";

const TWO_QUEUES: &str = "{ kind = 'strict-priority', queues = 2 }";

#[test]
fn under_one_seed_every_scheme_meets_the_same_queries() {
    let queues = [("switch.port", TWO_QUEUES), ("host.nic.port", TWO_QUEUES)];
    let offered = |sets: &[(&str, &str)]| {
        let report = star(DRAWN, &[&queues[..], sets].concat());
        let mut flows: Vec<_> =
            report.flows().map(|flow| (flow.query, flow.source, flow.destination, flow.size)).collect();
        flows.sort_unstable();
        let queries: Vec<_> = outcomes(&report).iter().map(|query| (query.start, query.client)).collect();
        (flows, queries, outcomes(&report).iter().map(|query| query.completion_time).collect::<Vec<_>>())
    };
    let reno = offered(&[("switch.buffer.pool", "200KB")]);
    let dctcp =
        offered(&[("tcp.congestion", "dctcp"), ("switch.markers", "[{ kind = 'threshold', k = '20p' }]")]);
    assert_eq!((&reno.0, &reno.1), (&dctcp.0, &dctcp.1));
    assert_ne!(reno.2, dctcp.2, "and fares otherwise");
    assert_eq!(reno.0.len(), 60 * 24);
    assert_ne!(offered(&[("seed", "2")]).1, reno.1, "another seed, other queries");
    assert_eq!(offered(&[("switch.buffer.pool", "200KB")]), reno, "once more, the same");
}

#[test]
fn all_flows_of_a_query_are_of_one_class() {
    let report = star(DRAWN, &[("switch.port", TWO_QUEUES), ("host.nic.port", TWO_QUEUES)]);
    let mut classes = [None; 60];
    for flow in report.flows() {
        let class = &mut classes[flow.query.unwrap() as usize];
        assert_eq!(*class.get_or_insert(flow.class), flow.class);
    }
    // 60 fair draws give 30, with a standard deviation of 3.9.
    let ones = classes.iter().filter(|class| **class == Some(1)).count();
    assert!((15..=45).contains(&ones), "{ones}");
}

#[test]
fn a_query_that_takes_no_time_has_no_goodput() {
    let outcome = outcomes(&ask("workers = 1", &[]))[0];
    // 1,460 bytes in 8.8 us.
    let goodput = outcome.goodput_gbps().expect("it takes some");
    assert!((goodput - 1_460.0 * 8.0 / 8_800.0).abs() < 1e-9, "{goodput}");
    for none in [Some(Duration::ZERO), None] {
        assert_eq!(QueryOutcome { completion_time: none, ..outcome }.goodput_gbps(), None);
    }
}
