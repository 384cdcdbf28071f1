//! Tests of reports and tables with runs that are so small that every number can be computed by hand.
//!
//! Links have 10 Gb/s, a delay of 1 us, and no framing. A full segment has 1,460 bytes, and 1,500 on the wire. It takes 1.2 us on each
//! link, and 4.4 us from host to host.

use std::collections::BTreeMap;

use crate::common::rows::{double, long, rows};
use crate::common::run;
use parquet::record::Field;
use serde_json::{Value, json};
use shallows_core::Duration;
use shallows_scenario::FIRST_PORT;
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

fn star(workloads: &str, sets: &[(&str, &str)]) -> Report {
    run(&[STAR, workloads].concat(), sets)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
}

/// A flow of one segment, and a flow that is unfinished at the end of the run.
const CUT: &str = r#"
[stop]
at = "100us"
[measure]
warm_up = "10us"
[[workload]]
kind = "incast"
senders = 0
receivers = 1
size = "1460B"
start = "10us"
[[workload]]
kind = "incast"
senders = 2
receivers = 3
size = "100MB"
start = "20us"
"#;

#[test]
fn a_flow_that_is_not_complete_has_no_time_and_is_in_no_mean() {
    let report = star(CUT, &[]);
    let summary = report.summary();
    assert_eq!(summary["flows"], json!({"started": 2, "completed": 1, "unbounded": 0}));
    let fct = &summary["fct_us"];
    assert_eq!((&fct["all"]["count"], &fct["large"]["count"]), (&json!(1), &json!(0)));
    for what in ["mean", "p50", "p95", "p99", "max"] {
        near(number(&fct["all"][what]), 4.4);
        near(number(&summary["slowdown"]["all"][what]), 1.0);
        assert_eq!(fct["large"][what], Value::Null, "{what}");
    }
    assert!(report.warnings().iter().any(|text| text.starts_with("1 flows were unfinished")));
    let flows = rows(&report, "flows");
    for column in ["fct_us", "fct_receiver_us", "fct_sender_us", "ideal_us", "slowdown"] {
        assert_eq!(flows[1][column], Field::Null, "{column}");
        assert_ne!(flows[0][column], Field::Null, "{column}");
    }
}

#[test]
fn a_row_of_a_flow_has_its_ends_its_ports_and_its_times() {
    let report = star(CUT, &[]);
    let flow = &rows(&report, "flows")[0];
    let float = |column: &str| match flow[column] {
        Field::Double(value) => value,
        ref other => panic!("{column} is {other}"),
    };
    let long = |column: &str| match flow[column] {
        Field::Long(value) => value,
        ref other => panic!("{column} is {other}"),
    };
    assert_eq!(["flow", "source", "destination", "size_bytes"].map(long), [0, 0, 1, 1_460]);
    // The source port is that of a host's first connection. All receivers listen on the destination port.
    assert_eq!((long("source_port"), long("destination_port")), (FIRST_PORT.into(), 5_001));
    near(float("arrival_us"), 10.0);
    near(float("fct_us"), 4.4);
    near(float("fct_receiver_us"), 4.4);
    // An acknowledgement of 40 bytes takes 32 ns on each of two links.
    near(float("fct_sender_us"), 4.4 + 2.0 * 1.032);
    near(float("ideal_us"), 4.4);
    // A flow that begins at the end of the warm-up counts.
    assert_eq!(long("counted"), 1);
    let counted = |warm_up| rows(&star(CUT, &[("measure.warm_up", warm_up)]), "flows")[0]["counted"].clone();
    assert_eq!([counted("10us"), counted("10001ns")], [Field::Long(1), Field::Long(0)]);
    let summary = star(CUT, &[("measure.warm_up", "10001ns")]).summary();
    assert_eq!(summary["flows"], json!({"started": 1, "completed": 0, "unbounded": 0}));
}

#[test]
fn what_a_sender_waits_for_is_in_its_ideal_time_and_framing_is_too() {
    // Two segments and framing of 100 bytes: 1.28 us each, and 140 bytes back, 112 ns.
    let sets = [("topology.framing", "100B"), ("workload.0.size", "2920B"), ("measure.fct", "sender")];
    let flow = &rows(&star(CUT, &sets), "flows")[0];
    let expected = 3.0 * 1.28 + 2.0 + 2.0 * 1.112;
    for column in ["fct_us", "ideal_us", "fct_sender_us"] {
        let Field::Double(found) = flow[column] else { panic!("{column} is {}", flow[column]) };
        near(found, expected);
    }
    assert_eq!(flow["slowdown"], Field::Double(1.0));
}

#[test]
fn a_run_lasts_until_its_end_and_goodput_is_over_all_of_it() {
    // 1,460 bytes in 100 us, including 10 us of warm-up; the other workload begins too late.
    let summary = star(CUT, &[("workload.1.start", "99999ns")]).summary();
    near(number(&summary["simulated_s"]), 100e-6);
    near(number(&summary["goodput_gbps"]), 1_460.0 * 8.0 / 100e3);
}

#[test]
fn markers_of_a_port_and_those_of_other_ports_draw_independently() {
    // No packet waits, so that a packet that counts itself finds a backlog of one packet, halfway from 0 to 2. Each marker
    // chooses half of the packets, and at least one of two markers chooses 3/4 if their draws are independent.
    let red =
        "{ kind = 'red', kmin = '0p', kmax = '2p', pmax = 1.0, unit = 'packets', counts_packet = true }";
    let workload = "[[workload]]\nkind = 'udp'\nsenders = 0\nreceivers = '1..3'\necn = true\nstop = '120ms'\n\
                    pattern = { kind = 'constant', rate = '1Gbps' }\n";
    let report =
        star(workload, &[("switch.markers", format!("[{red}, {red}]").as_str()), ("stop.at", "121ms")]);
    let ports = ["switch0->host1", "switch0->host2"].map(|name| report.port(name).expect("a port"));
    for port in ports {
        assert_eq!(port.received, 10_000);
        // Four standard deviations, √(n · 3/4 · 1/4) each.
        assert!(port.marked.abs_diff(7_500) < 174, "{} of 10,000 marked", port.marked);
    }
    assert_ne!(ports[0].marked, ports[1].marked, "the same packets are chosen at both");
    // The sum of four markers, √(n/4) each.
    let chosen = report.summary()["markers"]["red"]["marked"].as_u64().expect("a count");
    assert!(chosen.abs_diff(20_000) < 400, "{chosen} choices");
}

/// Runs a flow of twelve segments through a port with a tenth of the rate at which the segments arrive. The port sends one of the first ten
/// and holds three more, so six are lost. The acknowledgements of these four release the last two segments, which arrive after the gap.
/// Only the retransmission timer repairs the gap.
fn six_lost() -> Report {
    six_lost_with(&[])
}

fn six_lost_with(more: &[(&str, &str)]) -> Report {
    let workload = "[[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '17520B'\n";
    star(workload, &[&SLOW, more].concat())
}

const SLOW: [(&str, &str); 3] = [
    ("topology.links", "[{ between = ['host1', 'switch0'], rate = '1Gbps', delay = '100us' }]"),
    ("switch.buffer.per_port", "3p"),
    ("tcp.initial_window", "10"),
];

#[test]
fn acknowledgements_carry_their_sack_blocks() {
    let report = six_lost();
    let flow = report.flows().next().expect("one");
    assert_eq!((flow.retransmits, flow.timeouts), (6, 1));
    let acks = report.port("switch0->host0").expect("a port");
    assert_eq!(acks.sent, 12, "each segment arrives once");
    // One block, padded to twelve bytes (RFC 2018 §3), until the last gap is closed: with both segments beyond it, and
    // with all but the last of the retransmitted ones.
    assert_eq!(acks.sent_bytes.0, 12 * 40 + (2 + 5) * 12);
}

#[test]
fn losses_are_counted_where_they_happen_and_over_what_came_there() {
    // 18 segments are sent and 6 lost, all at one of the two ports that packets pass.
    let summary = six_lost().summary();
    let packets = &summary["packets"];
    let counts = ["sent", "data", "dropped", "dropped_in_nics", "dropped_in_switches", "dropped_data"];
    assert_eq!(counts.map(|name| packets[name].as_u64().expect("a count")), [30, 18, 6, 0, 6, 6]);
    near(number(&summary["loss_rate"]), 6.0 / 30.0);
    near(number(&summary["loss_rate_in_switches"]), 6.0 / 30.0);
    assert_eq!(summary["loss_rate_in_nics"], 0.0);
    near(number(&summary["loss_rate_data"]), 6.0 / 18.0);
    // A third of the arrivals is lost at one port, none at that of the acknowledgements; two ports have no arrivals.
    near(number(&summary["loss_rate_mean_over_ports"]), (6.0 / 18.0) / 2.0);
    near(number(&summary["ports"]["to-host"]["loss_rate"]), 6.0 / 30.0);
}

#[test]
fn what_is_no_data_is_lost_too_and_is_no_data() {
    // Each of two hosts sends ten datagrams at the rate of its link, so they arrive in pairs at the port to their receiver. The port sends
    // one datagram of each pair and has room for three more, so it drops one of each pair from the fourth pair on.
    let workload = "[[workload]]\nkind = 'udp'\nsenders = '0..2'\nreceivers = 2\noverload = true\nstop = '12us'\n\
                    pattern = { kind = 'constant', rate = '10Gbps' }\n";
    let sets = [("switch.buffer.per_port", "3p"), ("stop.at", "40us")];
    let summary = star(workload, &sets).summary();
    let packets = &summary["packets"];
    let counts = ["sent", "data", "dropped", "dropped_in_switches", "dropped_data"];
    assert_eq!(counts.map(|name| packets[name].as_u64().expect("a count")), [20, 0, 7, 7, 0]);
    near(number(&summary["loss_rate_in_switches"]), 7.0 / 20.0);
    near(number(&summary["loss_rate"]), 7.0 / 20.0);
}

#[test]
fn what_opens_a_connection_is_no_data() {
    let workload = "[[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '2920B'\n";
    let summary = star(workload, &[("tcp.handshake", "true")]).summary();
    assert_eq!(summary["packets"]["data"], 2, "two segments, and what opens their connection before");
    assert!(
        number(&summary["packets"]["sent"]) >= 2.0 + 2.0 + 2.0,
        "two to open it, and an acknowledgement each"
    );
}

#[test]
fn what_a_persistent_connection_did_for_earlier_flows_is_not_counted_again() {
    // Three flows on one connection, 2 s apart. After the first flow's timeout, the window has grown to no more than the port holds. The
    // second flow begins with this window and loses nothing. The first segment of the last flow arrives 1.2 + 1 + 12 + 100 us after its
    // start, the others follow every 12 us, and acknowledgements take 100 us back. When the run ends, after 140 us, three segments have
    // arrived.
    let sets = [
        ("workload.0.repeats", "3"),
        ("workload.0.period", "2s"),
        ("workload.0.connections", "{ kind = 'persistent' }"),
        ("stop.at", "4000140us"),
    ];
    let flows: Vec<_> = six_lost_with(&sets).flows().collect();
    let counts: Vec<_> =
        flows.iter().map(|flow| (flow.timeouts, flow.retransmits, flow.delivered.0)).collect();
    assert_eq!(counts, [(1, 6, 17_520), (0, 0, 17_520), (0, 0, 3 * 1_460)]);
    // The sender has waited for an acknowledgement since the start of the flow; the longest gap at the receiver is the one before the first
    // segment.
    assert_eq!(flows[2].longest_ack_gap, Some(Duration::from_micros(140)));
    assert_eq!(flows[2].longest_arrival_gap, Some(Duration::from_nanos(114_200)));
}

/// Returns the counters of one queue of a port, in the order of these columns.
fn counters<const N: usize>(report: &Report, port: &str, queue: i64, columns: [&str; N]) -> [i64; N] {
    let rows = rows(report, "counters");
    let is_it = |row: &&BTreeMap<String, Field>| {
        row["port"] == Field::Str(port.to_owned()) && row["queue"] == Field::Long(queue)
    };
    let row = rows.iter().find(is_it).unwrap_or_else(|| panic!("no queue {queue} at {port}"));
    columns.map(|column| long(&row[column]).expect("a count"))
}

#[test]
fn each_echo_has_its_row_and_its_round_trip() {
    // 100 and 1,000 bytes with 28 of headers and 16 of framing: 80 and 800 ns on each of four links of 1 us.
    let pings = "[[workload]]\nkind = 'ping'\nsenders = 0\nreceivers = 1\ninterval = '10us'\npayload = '56B'\nstop = '40us'\n\
                 [[workload]]\nkind = 'ping'\nsenders = 2\nreceivers = 3\nclass = 5\nstart = '5us'\ninterval = '20us'\n\
                 payload = '956B'\n";
    let sets = [
        ("topology.framing", "16B"),
        ("switch.port", "{ kind = 'strict-priority', queues = 6 }"),
        // The last request, at 85 us, has no reply yet.
        ("stop.at", "90us"),
    ];
    let report = star(pings, &sets);
    let found: Vec<_> = rows(&report, "pings")
        .iter()
        .map(|row| {
            let ends = ["source", "destination", "class"].map(|column| long(&row[column]).expect("a number"));
            let times = ["sent_us", "rtt_us"].map(|column| double(&row[column]).map(|us| (us * 1e3).round()));
            (ends, times)
        })
        .collect();
    let first = |at: f64| ([0, 1, 0], [Some(at), Some(4_320.0)]);
    let second = |at: f64| ([2, 3, 5], [Some(at), Some(7_200.0)]);
    let expected = [
        first(0.0),
        second(5_000.0),
        first(10_000.0),
        first(20_000.0),
        second(25_000.0),
        first(30_000.0),
        second(45_000.0),
        second(65_000.0),
        ([2, 3, 5], [Some(85_000.0), None]),
    ];
    assert_eq!(found, expected);
    let lost = |of: &str| report.summary()["ping_rtt_us"][of]["lost"].clone();
    assert_eq!(["all", "class0", "class5"].map(lost), [json!(1), json!(0), json!(1)]);
    // Replies have the class of their requests.
    let replies = |queue| counters(&report, "switch0->host2", queue, ["received"]);
    assert_eq!([replies(0), replies(5)], [[0], [4]]);
}

#[test]
fn datagrams_come_in_bursts_from_their_start_to_their_stop() {
    // 1,000 bytes on the wire take 8 us at 1 Gb/s: two in each burst of 16 us, at 5, 13, 37, 45, 69 and 77 us; at 101 us the
    // source has stopped.
    let udp = "[[workload]]\nkind = 'udp'\nsenders = 0\nreceivers = 1\npayload = '952B'\nstart = '5us'\nstop = '101us'\n\
               pattern = { kind = 'on-off', rate = '1Gbps', on = '16us', off = '16us' }\n";
    let summary = star(udp, &[("topology.framing", "20B"), ("stop.at", "200us")]).summary();
    assert_eq!((&summary["packets"]["sent"], &summary["packets"]["data"]), (&json!(6), &json!(0)));
    near(number(&summary["datagram_gbps"]), 6.0 * 8_000.0 / 200e3);
    assert_eq!(summary["goodput_gbps"], 0.0);
}

#[test]
fn what_is_alike_draws_apart() {
    let udp = "[[workload]]\nkind = 'udp'\nsenders = '0..2'\nreceivers = 2\nstop = '9ms'\n\
               pattern = { kind = 'poisson', rate = '1Gbps' }\n";
    let report = star(udp, &[("stop.at", "10ms")]);
    let sent = ["host0->switch0", "host1->switch0"].map(|name| report.port(name).expect("a port").sent);
    assert_ne!(sent[0], sent[1], "two sources");

    let ping = |from: u32| {
        format!(
            "[[workload]]\nkind = 'ping'\nsenders = {from}\nreceivers = {}\ninterval = '10us'\n",
            from + 2
        )
    };
    let report = star(&[ping(0), ping(1)].concat(), &[("host.jitter", "1us"), ("stop.at", "200us")]);
    let times = |source| -> Vec<f64> {
        let rows = rows(&report, "pings");
        let own = rows.iter().filter(|row| row["source"] == Field::Long(source));
        own.filter_map(|row| double(&row["rtt_us"])).collect()
    };
    assert_ne!(times(0), times(1), "two hosts that wait a little");
}

/// Runs one persistent connection from each of hosts 0 and 1. Each sends its warm-up bytes within 50 us, and a flow at 100 us.
fn primed(more: &[(&str, &str)]) -> Report {
    let workload = |from: u32| {
        format!(
            "[[workload]]\nkind = 'incast'\nsenders = {from}\nreceivers = {}\nsize = '1460B'\nstart = '100us'\n\
             class = {{ kind = 'random', weights = [0, 0, 1] }}\n\
             connections = {{ kind = 'persistent', warm_up = {{ bytes = '1460B', from = '10us', to = '50us' }} }}\n",
            from + 2
        )
    };
    let sets = [
        ("switch.port", "{ kind = 'strict-priority', queues = 3 }"),
        ("measure.traces", "[{ ports = ['nic'] }]"),
    ];
    star(&[workload(0), workload(1)].concat(), &[&sets, more].concat())
}

#[test]
fn connections_are_primed_each_at_its_time() {
    let report = primed(&[]);
    let rows = rows(&report, "traces");
    let first = |port: &str| {
        let own = rows.iter().filter(|row| row["port"] == Field::Str(port.to_owned()));
        own.filter_map(|row| double(&row["time_us"])).find(|&us| us > 0.0).expect("it sends")
    };
    let found = ["host0->switch0", "host1->switch0"].map(first);
    assert!(found.iter().all(|us| (10.0..=50.0).contains(us)), "{found:?}");
    assert!(found[0] != found[1] && !found.contains(&10.0), "{found:?}");
}

#[test]
fn a_flow_on_an_open_connection_has_its_own_class_and_its_acknowledgements_too() {
    // Before any flow, a connection whose flows draw their class is in class 0; the flow is in class 2.
    let report = primed(&[]);
    for port in ["switch0->host2", "switch0->host0"] {
        let received = |queue| counters(&report, port, queue, ["received"]);
        assert_eq!([0, 1, 2].map(received), [[1], [0], [1]], "{port}");
    }
    // A class that does not depend on flows applies from the start.
    let report = primed(&[("workload.0.class", "1")]);
    let received = |queue| counters(&report, "switch0->host2", queue, ["received"]);
    assert_eq!([0, 1, 2].map(received), [[0], [2], [0]]);
}

#[test]
fn flows_wait_for_their_connection_in_order_and_others_have_ports_in_turn() {
    let three = "[[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '14600B'\nrepeats = 3\nperiod = '1us'\n";
    let queue = "{ kind = 'persistent', when_busy = 'queue' }";
    let done = |sets: &[(&str, &str)], column: &str| -> Vec<f64> {
        rows(&star(three, sets), "flows")
            .iter()
            .map(|flow| match &flow[column] {
                Field::Double(us) => *us,
                other => long(other).expect("a number") as f64,
            })
            .collect()
    };
    let times = done(&[("workload.0.connections", queue)], "fct_us");
    assert!(times.is_sorted_by(|a, b| a + 5.0 < *b), "{times:?}");
    let ports = done(&[], "source_port");
    let first = f64::from(FIRST_PORT);
    assert_eq!(ports, [first, first + 1.0, first + 2.0]);
}

/// Two sources that each send ten datagrams, at the rate of a link and at the same times. Seven datagrams do not fit the buffer.
const PAIRS: &str = "[[workload]]\nkind = 'udp'\nreceivers = 2\noverload = true\nstop = '12us'\n\
                     pattern = { kind = 'constant', rate = '10Gbps' }\n";

#[test]
fn a_queue_tells_apart_what_left_it_and_what_was_sent() {
    // Every packet that leaves the queue is marked, or dropped because it is not ECN-capable. The time of a dropped packet on the link
    // stays idle.
    let sets = [
        ("workload.0.senders", "'0..2'"),
        ("switch.buffer.per_port", "3p"),
        ("switch.markers", "[{ kind = 'threshold', k = '0p', at = 'dequeue', counts_packet = true }]"),
        ("stop.at", "40us"),
    ];
    let report = star(PAIRS, &sets);
    let columns =
        ["received", "enqueued", "dequeued", "sent", "dropped", "dropped_at_dequeue", "max_backlog_bytes"];
    assert_eq!(counters(&report, "switch0->host2", 0, columns), [20, 13, 13, 0, 20, 13, 4_500]);
    let packets = &report.summary()["packets"];
    assert_eq!((&packets["dropped"], &packets["dropped_at_dequeue"]), (&json!(20), &json!(13)));
    // ECN-capable packets are sent, and no incast is notified.
    let report = star(PAIRS, &[&sets[..], &[("workload.0.ecn", "true")]].concat());
    let columns = ["sent", "marked", "incast", "dropped_at_dequeue"];
    assert_eq!(counters(&report, "switch0->host2", 0, columns), [13, 13, 0, 0]);
    let rows = rows(&report, "markers");
    let marker = rows.iter().find(|row| row["port"] == Field::Str("switch0->host2".to_owned())).expect("one");
    assert_eq!(
        ["marked", "incast", "dropped"].map(|column| long(&marker[column])),
        [Some(13), Some(0), Some(0)]
    );
}

#[test]
fn losses_of_nics_are_theirs_and_data_or_not() {
    let twice = [PAIRS, PAIRS].concat();
    let sets = [
        ("workload.0.senders", "0"),
        ("workload.1.senders", "0"),
        ("host.nic.limit", "3p"),
        ("stop.at", "40us"),
    ];
    let report = star(&twice, &sets);
    let summary = report.summary();
    let packets = &summary["packets"];
    let counts = ["sent", "dropped_in_nics", "dropped_in_switches", "dropped_data_in_nics"];
    assert_eq!(counts.map(|name| packets[name].as_u64().expect("a count")), [20, 7, 0, 0]);
    near(number(&summary["loss_rate_in_nics"]), 7.0 / 20.0);
    let warned =
        |report: &Report| report.warnings().iter().any(|text| text.starts_with("the NICs of senders"));
    assert!(warned(&report));
    assert!(!warned(&star(CUT, &[])), "none dropped any");
}

#[test]
fn a_flow_without_end_measures_from_its_begin_and_is_never_open() {
    let long = "[[workload]]\nkind = 'long-lived'\nsenders = 0\nreceivers = 1\n";
    let report = star(long, &[("stop.at", "200us"), ("measure.warm_up", "100us")]);
    assert!(report.problems().is_empty(), "{:?}", report.problems());
    assert!(!report.warnings().iter().any(|text| text.contains("not complete")), "{:?}", report.warnings());
}

#[test]
fn samples_and_traces_end_with_what_is_empty_and_repeat_nothing() {
    let report = six_lost_with(&[
        ("measure.sample_queues", "10us"),
        ("measure.traces", "[{ ports = ['to-host'] }]"),
        ("stop.at", "3s"),
    ]);
    let port = Field::Str("switch0->host1".to_owned());
    let samples: Vec<_> = rows(&report, "queues")
        .iter()
        .filter(|row| row["name"] == port)
        .map(|row| long(&row["bytes"]))
        .collect();
    // An empty queue is recorded once, until a packet waits again.
    assert!(samples.len() > 2 && samples.last() == Some(&Some(0)), "{samples:?}");
    assert!(!samples.windows(2).any(|pair| pair == [Some(0), Some(0)]), "{samples:?}");
    let mut last = BTreeMap::new();
    for row in rows(&report, "traces") {
        let what = (row["port"].to_string(), row["queue"].to_string(), row["quantity"].to_string());
        let value = double(&row["value"]).expect("a value");
        assert_ne!(last.insert(what.clone(), value), Some(value), "{what:?} is told twice");
    }
}

#[test]
fn queries_are_counted_after_the_warm_up_and_described_when_complete() {
    // Every 20 us host 0 requests one segment from each of hosts 1 and 2, which take 5.6 us, one after the other.
    let query = "[[workload]]\nkind = 'partition-aggregate'\nclients = 0\nworkers = '1..3'\nsize = '1460B'\nrequest = '0B'\n\
                 arrivals = { kind = 'periodic', period = '20us' }\n";
    // The last of the queries at 20, 40, 60, 80 and 100 us has no answer yet.
    let sets = [("stop.at", "102us"), ("measure.warm_up", "15us")];
    let queries = &star(query, &sets).summary()["queries"]["all"];
    assert_eq!((&queries["started"], &queries["count"]), (&json!(5), &json!(4)));
    near(number(&queries["mean"]), 5.6);
    near(number(&queries["quality"]), 1.0);
}

#[test]
fn one_query_of_a_hundred_and_fifty_is_beyond_the_99th_percentile() {
    // The rank of 99.9 % is the 150th, that of 99 % the 149th.
    let query = "[[workload]]\nkind = 'partition-aggregate'\nclients = 0\nworkers = 1\nqueries = 150\n\
                 sizes = { kind = 'uniform', from = '1KB', to = '100KB' }\narrivals = { kind = 'closed-loop', think_time = '0s' }\n";
    let queries = &star(query, &[]).summary()["queries"]["all"];
    assert_eq!(queries["count"], 150);
    assert_eq!(queries["p999"], queries["max"]);
    assert!(number(&queries["p99"]) < number(&queries["p999"]));
}

#[test]
fn a_query_is_blamed_for_its_own_timeouts_and_shares_are_of_complete_ones() {
    // As in `six_lost`: the first answer waits for the timer, the second loses nothing, the third is unfinished.
    let query = "[[workload]]\nkind = 'partition-aggregate'\nclients = 1\nworkers = 0\nsize = '17520B'\nrequest = '0B'\n\
                 queries = 3\narrivals = { kind = 'periodic', period = '2s' }\nconnections = { kind = 'persistent' }\n";
    let report = star(query, &[&SLOW[..], &[("stop.at", "4000140us")]].concat());
    let timeouts: Vec<u32> = report.query_outcomes().map(|query| query.timeouts).collect();
    assert_eq!(timeouts, [1, 0, 0]);
    let queries = &report.summary()["queries"]["all"];
    assert_eq!((&queries["started"], &queries["count"]), (&json!(3), &json!(2)));
    assert_eq!((&queries["with_timeout"], &queries["quality"]), (&json!(0.5), &json!(1.0)));
}

#[test]
fn the_gaps_of_both_ends_have_a_column_each() {
    let sets = [
        ("workload.0.repeats", "3"),
        ("workload.0.period", "2s"),
        ("workload.0.connections", "{ kind = 'persistent' }"),
        ("stop.at", "4000140us"),
    ];
    let flow = &rows(&six_lost_with(&sets), "flows")[2];
    near(double(&flow["longest_ack_gap_us"]).expect("it was sent"), 140.0);
    near(double(&flow["longest_arrival_gap_us"]).expect("it was received"), 114.2);
}

#[test]
fn jitter_takes_all_of_its_spread() {
    // Each of two hosts delays by up to 1 us. With half of that spread, no two round trips could differ by 1 us; of a
    // hundred echoes, some do.
    let ping = "[[workload]]\nkind = 'ping'\nsenders = 0\nreceivers = 1\ninterval = '10us'\n";
    let report = star(ping, &[("host.jitter", "1us"), ("stop.at", "1ms")]);
    let times: Vec<f64> = rows(&report, "pings").iter().filter_map(|row| double(&row["rtt_us"])).collect();
    let (least, most) = times.iter().fold((f64::MAX, 0.0_f64), |(a, b), &us| (a.min(us), b.max(us)));
    assert!((1.0..=2.0).contains(&(most - least)), "{least} to {most}");
}

#[test]
fn a_sample_is_drawn_evenly_from_its_own_workload() {
    let rounds = |from: u32, start: u32| {
        format!(
            "[[workload]]\nkind = 'incast'\nsenders = {from}\nreceivers = {}\nsize = '1460B'\nrepeats = 8\nperiod = '10us'\n\
             start = '{start}us'\n",
            from + 2
        )
    };
    let (mut first, mut same) = (0, 0);
    for seed in 0..64 {
        let sets = [
            ("seed", seed.to_string()),
            (
                "measure.flow_traces",
                "[{ workload = 0, sample = 1 }, { workload = 1, sample = 1 }]".to_owned(),
            ),
        ];
        let sets = sets.each_ref().map(|(key, value)| (*key, value.as_str()));
        let report = star(&[rounds(0, 0), rounds(1, 200)].concat(), &sets);
        let is_traced = |flow: &u32| report.flow_trace(*flow, "cwnd_bytes").next().is_some();
        let chosen: Vec<u32> = (0..16).filter(is_traced).collect();
        assert!(chosen.len() == 2 && chosen[0] < 8 && chosen[1] >= 8, "{chosen:?}");
        first += u32::from(chosen[1] == 8);
        same += u32::from(chosen[0] + 8 == chosen[1]);
    }
    // Each with a probability of 1/8: a mean of 8 and a deviation of 2.6; the bound is four of these.
    assert!(first < 19 && same < 19, "{first} and {same} of 64");
}

#[test]
fn a_marker_that_marked_dropped_or_told_of_incast_has_fired() {
    let incast = "[[workload]]\nkind = 'incast'\nsenders = [0, 1, 2]\nreceivers = 3\nsize = '64KB'\n";
    let said = |marker: &str| {
        let sets = [("switch.markers", marker), ("tcp.congestion", "dctcp")];
        star(incast, &sets).warnings().iter().any(|text| text.contains("had an effect on any packet"))
    };
    // Three windows of ten segments arrive at one port, whose buffer has room for 100.
    assert!(!said("[{ kind = 'threshold', k = '1p' }]"));
    assert!(!said(
        "[{ kind = 'red-classic', kmin = '1p', kmax = '2p', pmax = 1.0, weight = 1.0, action = 'drop' }]"
    ));
    assert!(said("[{ kind = 'threshold', k = '99p' }]"));
    // Three packets arrive while one leaves: the backlog grows at twice the line rate.
    let ein = "[{ kind = 'ein', high_water = '1p', samples = 2 }]";
    let counts = &star(incast, &[("switch.markers", ein)]).summary()["markers"]["ein"];
    assert_eq!((&counts["marked"], &counts["dropped"]), (&json!(0), &json!(0)));
    assert!(counts["incast"].as_u64() > Some(0) && !said(ein), "{counts}");
}
