//! Tests of tables, bins and warnings with runs that are so small that every number can be computed by hand.
//!
//! As in `by_hand.rs`, links have 10 Gb/s, a delay of 1 us, and no framing. A full segment has 1,460 bytes, and 1,500 on the wire. It takes
//! 1.2 us on each link, and 4.4 us from host to host.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::rows::{double, long, rows};
use crate::common::run;
use parquet::record::Field;
use serde_json::json;
use shallows_sim::Report;

const STAR: &str = r#"
host.jitter = "off"

[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
framing = "0B"

[switch]
buffer = { kind = "static-partition", per_port = "100p" }

[tcp]
congestion = "reno"
timestamps = false
delayed_ack = { segments = 1 }
"#;

/// Flow of one segment from host 0 to host 1.
const ONE: &str = "[[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '1460B'\n";

fn star(workloads: &str, sets: &[(&str, &str)]) -> Report {
    run(&[STAR, workloads].concat(), sets)
}

#[test]
fn a_run_in_which_all_is_well_has_two_tables_and_no_warning() {
    let report = star(ONE, &[]);
    assert_eq!(report.tables(), ["flows", "counters"]);
    assert_eq!(report.warnings(), [""; 0]);
    // One row for the queue of each port, and no row for packets without a queue.
    let counters = rows(&report, "counters");
    assert_eq!(counters.len(), 4 + 4);
    assert!(counters.iter().all(|row| row["queue"] == Field::Long(0)));
    let ports = &report.summary()["ports"];
    assert_eq!((&ports["nic"]["ports"], &ports["to-host"]["ports"]), (&json!(4), &json!(4)));
    let marked = star(ONE, &[("switch.markers", "[{ kind = 'threshold', k = '9p' }]")]);
    assert_eq!(marked.tables(), ["flows", "counters", "markers"]);
}

#[test]
fn each_queue_of_a_port_is_known_by_the_name_of_the_port() {
    let udp = "[[workload]]\nkind = 'udp'\nsenders = 0\nreceivers = 1\nclass = 1\nstop = '12us'\n\
               pattern = { kind = 'constant', rate = '10Gbps' }\n";
    let report =
        star(udp, &[("switch.port", "{ kind = 'strict-priority', queues = 2 }"), ("stop.at", "40us")]);
    let queues = report.queues("switch0->host1").iter().map(|queue| (queue.received, queue.sent));
    assert_eq!(queues.collect::<Vec<_>>(), [(0, 0), (10, 10)]);
    assert!(report.queues("switch0->host9").is_empty());
}

#[test]
fn samples_of_memory_are_named_by_their_switch() {
    // Two segments at once, one of which waits 1.2 us.
    let both = "[[workload]]\nkind = 'incast'\nsenders = '0..2'\nreceivers = 2\nsize = '1460B'\n";
    let sets =
        [("switch.buffer", "{ kind = 'complete-sharing', pool = '1MB' }"), ("measure.sample_queues", "1us")];
    let report = star(both, &sets);
    let found: Vec<_> = rows(&report, "queues")
        .iter()
        .map(|row| {
            (
                double(&row["time_us"]).map(f64::round),
                row["kind"].to_string(),
                row["name"].to_string(),
                long(&row["bytes"]),
            )
        })
        .filter(|(.., name, _)| name.contains("switch0"))
        .collect();
    let row = |us: f64, kind: &str, name: &str, bytes| {
        (Some(us), format!("{kind:?}"), format!("{name:?}"), Some(bytes))
    };
    let (port, pool) = ("switch0->host2", "switch0.pool0");
    // The packet waits from 2.2 to 3.4 us: samples contain it at 3 us and not at 4 us.
    assert_eq!(
        found,
        [
            row(3.0, "port", port, 1_500),
            row(3.0, "pool", pool, 1_500),
            row(4.0, "port", port, 0),
            row(4.0, "pool", pool, 0)
        ]
    );
}

#[test]
fn bins_are_named_by_their_edges_unless_they_are_three() {
    let named = |bins: &str| {
        let summary = star(ONE, &[("measure.bins", bins)]).summary();
        let bins = summary["fct_us"].as_object().expect("bins").clone();
        bins.into_iter()
            .map(|(name, bin)| (name, bin["count"].as_u64().expect("a count")))
            .collect::<Vec<_>>()
    };
    let of = |counts: &[(&str, u64)]| {
        counts.iter().map(|&(name, count)| (name.to_owned(), count)).collect::<Vec<_>>()
    };
    // The flow has 1,460 bytes.
    assert_eq!(named("['1000B', '2000B']"), of(&[("all", 1), ("large", 0), ("medium", 1), ("small", 0)]));
    assert_eq!(named("['1460B']"), of(&[("0_to_1460", 1), ("above_1460", 0), ("all", 1)]));
    assert_eq!(
        named("['1000B', '2000B', '3000B']"),
        of(&[("0_to_1000", 0), ("1000_to_2000", 1), ("2000_to_3000", 0), ("above_3000", 0), ("all", 1)])
    );
}

#[test]
fn a_query_has_its_times_in_microseconds() {
    // Every 20 us host 0 requests one segment from each of hosts 1 and 2, which take 5.6 us one after the other.
    let query = "[[workload]]\nkind = 'partition-aggregate'\nclients = 0\nworkers = '1..3'\nsize = '1460B'\nrequest = '0B'\n\
                 arrivals = { kind = 'periodic', period = '20us' }\nqueries = 3\n";
    let rows = rows(&star(query, &[]), "queries");
    let column = |name: &str| {
        rows.iter().map(|row| double(&row[name]).map(|us| (us * 1e6).round())).collect::<Vec<_>>()
    };
    assert_eq!(column("start_us"), [Some(0.0), Some(20e6), Some(40e6)]);
    assert_eq!(column("completion_us"), [Some(5.6e6); 3]);
    let goodput = 2.0 * 1_460.0 * 8.0 / 5.6e3;
    assert!(
        rows.iter().all(|row| (double(&row["goodput_gbps"]).expect("complete") / goodput - 1.0).abs() < 1e-9)
    );
}

#[test]
fn tables_number_workloads_as_the_scenario_does() {
    // Datagrams are entry 0 and echoes entry 2: they have no flows, but count in the numbering.
    let udp = "[[workload]]\nkind = 'udp'\nsenders = 3\nreceivers = 1\nstop = '1us'\n\
               pattern = { kind = 'constant', rate = '1Gbps' }\n";
    let ping = "[[workload]]\nkind = 'ping'\nsenders = 3\nreceivers = 1\ninterval = '100us'\n";
    let query = "[[workload]]\nkind = 'partition-aggregate'\nclients = 0\nworkers = 2\nsize = '1460B'\nqueries = 1\n\
                 arrivals = { kind = 'periodic', period = '20us' }\n";
    let report = star(&[udp, query, ping, query, ONE].concat(), &[("stop.at", "1ms")]);
    let numbers = |table: &str| {
        rows(&report, table).iter().filter_map(|row| long(&row["workload"])).collect::<BTreeSet<_>>()
    };
    assert_eq!(numbers("flows"), BTreeSet::from([1, 3, 4]));
    assert_eq!(numbers("queries"), BTreeSet::from([1, 3]));
    let queries = report.summary()["queries"].as_object().expect("two workloads ask").clone();
    assert_eq!(queries.keys().collect::<Vec<_>>(), ["all", "workload1", "workload3"]);
}

#[test]
fn jitter_takes_its_spread_and_nothing_too() {
    // Up to 1 ps in each of two hosts: a round trip of 40 bytes takes 4 · 1.032 us and 0, 1 or 2 ps more.
    let ping =
        "[[workload]]\nkind = 'ping'\nsenders = 0\nreceivers = 1\ninterval = '10us'\npayload = '12B'\n";
    let report = star(ping, &[("host.jitter", "1ps"), ("stop.at", "1ms")]);
    let mut more: Vec<u64> = rows(&report, "pings")
        .iter()
        .filter_map(|row| double(&row["rtt_us"]))
        .map(|us| (us * 1e6).round() as u64 - 4 * 1_032_000)
        .collect();
    more.sort_unstable();
    more.dedup();
    assert_eq!(more, [0, 1, 2]);
}

#[test]
fn a_port_with_two_queues_tells_each_backlog_when_it_changes() {
    let udp = |from: u32, class: u32| {
        format!(
            "[[workload]]\nkind = 'udp'\nsenders = {from}\nreceivers = 3\nclass = {class}\nstop = '1us'\n\
             pattern = {{ kind = 'constant', rate = '1Gbps' }}\nstart = '{from}ns'\n"
        )
    };
    let sets = [
        ("switch.port", "{ kind = 'strict-priority', queues = 2 }"),
        ("measure.traces", "[{ ports = ['switch0->host3'] }]"),
        ("stop.at", "40us"),
    ];
    let sampled = ("measure.traces", "[{ ports = ['switch0->host3'], every = '1us' }]");
    let report = star(&[udp(0, 0), udp(1, 1), udp(2, 1)].concat(), &sets);
    let told = |queue| -> Vec<(u64, f64)> {
        report
            .port_trace("switch0->host3", "backlog_bytes", queue)
            .map(|(at, bytes)| (at.0 / 1_000, bytes))
            .collect()
    };
    // Three packets arrive from 2.2 us on, a nanosecond apart. The first is sent at once; each other waits 1.2 us for the one before it.
    let backlog = [(2_200, 0.0), (2_201, 1_500.0), (2_202, 3_000.0), (3_400, 1_500.0), (4_600, 0.0)];
    assert_eq!(told(None), backlog);
    assert_eq!((told(Some(0)), told(Some(1))), (vec![(2_200, 0.0)], backlog.to_vec()));
    // With an interval, the trace contains the current value, for a port that is not the first of the network.
    let report = star(&[udp(0, 0), udp(1, 1), udp(2, 1)].concat(), &[sets[0], sampled, sets[2]]);
    let told: Vec<_> = report
        .port_trace("switch0->host3", "backlog_bytes", None)
        .map(|(at, bytes)| (at.0 / 1_000_000, bytes))
        .collect();
    assert_eq!(told, [(0, 0.0), (3, 3_000.0), (4, 1_500.0), (5, 0.0)]);
}

#[test]
fn what_was_refused_before_it_had_a_queue_has_a_row_of_its_own_with_its_own_reasons() {
    // Two sources send in class 0, whose queue holds one packet, and two in class 1; the port holds eight packets of both.
    let source = |senders: &str, class: u32| {
        format!(
            "[[workload]]\nkind = 'udp'\nsenders = '{senders}'\nreceivers = 4\noverload = true\nstop = '60us'\nclass = {class}\n\
             pattern = {{ kind = 'constant', rate = '10Gbps' }}\n"
        )
    };
    let sets = [
        ("topology.hosts", "5"),
        ("stop.at", "1ms"),
        ("switch.buffer.per_port", "8p"),
        ("switch.port", "{ kind = 'strict-priority', queues = 2, queue_limit = ['1p', '100p'] }"),
        ("host.nic.port", "{ kind = 'strict-priority', queues = 2 }"),
    ];
    let report = star(&[source("0..2", 0), source("2..4", 1)].concat(), &sets);
    let is_it = |row: &BTreeMap<String, Field>| row["port"] == Field::Str("switch0->host4".to_owned());
    let port: Vec<_> = rows(&report, "counters").into_iter().filter(is_it).collect();
    let count = |queue: Option<i64>, column: &str| -> i64 {
        let row = port.iter().find(|row| long(&row["queue"]) == queue).unwrap_or_else(|| panic!("{queue:?}"));
        long(&row[column]).expect("a count")
    };
    let limit = |queue| count(queue, "dropped_queue_limit");
    // All packets without a queue are dropped because their queue was full; packets that exceed the port's buffer have a queue.
    let refused = count(None, "received");
    assert!(refused > 0 && count(None, "enqueued") == 0 && count(None, "sent") == 0);
    assert_eq!((count(None, "dropped"), limit(None)), (refused, refused));
    assert!(limit(Some(1)) > 0, "{}", limit(Some(1)));
    // Each of four sources sends 50 packets of 1.2 us.
    let received: i64 = [None, Some(0), Some(1)].into_iter().map(|queue| count(queue, "received")).sum();
    assert_eq!(received, 4 * 50);
}

#[test]
fn acknowledgements_that_markers_drop_are_warned_of() {
    // Every packet is marked, or dropped if it is not ECN-capable: data passes, its acknowledgement does not.
    let warned = |ect: &str| -> Vec<String> {
        let sets = [
            ("tcp.congestion", "dctcp"),
            ("tcp.ect", ect),
            ("switch.markers", "[{ kind = 'threshold', k = '0p', counts_packet = true }]"),
            ("stop.at", "100us"),
        ];
        let warnings = star(ONE, &sets).warnings();
        warnings.into_iter().filter(|text| text.contains("pure ACKs")).collect()
    };
    let told = warned("rfc3168");
    assert!(told.len() == 1 && told[0].starts_with("markers dropped 1 pure ACKs"), "{told:?}");
    assert_eq!(warned("all"), [""; 0]);
}
