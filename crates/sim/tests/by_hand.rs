//! What reports and tables say of runs so small that every number can be worked out.
//!
//! Links of 10 Gb/s and 1 us without framing: a full segment of 1,460 bytes, 1,500 on the wire, takes 1.2 us on each, and
//! 4.4 us from host to host.

mod common;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::sync::atomic::{AtomicU32, Ordering};

use common::run;
use parquet::file::reader::{FileReader, SerializedFileReader};
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

/// The rows of a table, by column.
fn rows(report: &Report, table: &str) -> Vec<BTreeMap<String, Field>> {
    // Tests run side by side.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("shallows-by-hand-{}-{number}", std::process::id()));
    report.write_table(table, File::create(&path).expect("a temporary file")).expect("it can be written");
    let reader = SerializedFileReader::new(File::open(&path).expect("it is there")).expect("a table");
    let row = |row: parquet::errors::Result<parquet::record::Row>| {
        row.expect("a row").get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect()
    };
    let rows = reader.get_row_iter(None).expect("rows").map(row).collect();
    fs::remove_file(&path).expect("nobody else removes it");
    rows
}

/// One segment, and a flow that the end of the run cuts off.
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
    assert_eq!(summary["flows"], json!({"started": 2, "completed": 1, "endless": 0}));
    let fct = &summary["fct_us"];
    assert_eq!((&fct["all"]["count"], &fct["large"]["count"]), (&json!(1), &json!(0)));
    for what in ["mean", "p50", "p95", "p99", "max"] {
        near(number(&fct["all"][what]), 4.4);
        near(number(&summary["slowdown"]["all"][what]), 1.0);
        assert_eq!(fct["large"][what], Value::Null, "{what}");
    }
    assert!(report.warnings().iter().any(|text| text.starts_with("1 flows were not complete")));
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
    // Of a host's first connection, to the port on which all receivers listen.
    assert_eq!((long("source_port"), long("destination_port")), (FIRST_PORT.into(), 5_001));
    near(float("arrival_us"), 10.0);
    near(float("fct_us"), 4.4);
    near(float("fct_receiver_us"), 4.4);
    // An acknowledgement of 40 bytes takes 32 ns on each of two links.
    near(float("fct_sender_us"), 4.4 + 2.0 * 1.032);
    near(float("ideal_us"), 4.4);
    // It begins with the end of the warm-up, and counts.
    assert_eq!(long("counted"), 1);
    let counted = |warm_up| rows(&star(CUT, &[("measure.warm_up", warm_up)]), "flows")[0]["counted"].clone();
    assert_eq!([counted("10us"), counted("10001ns")], [Field::Long(1), Field::Long(0)]);
    let summary = star(CUT, &[("measure.warm_up", "10001ns")]).summary();
    assert_eq!(summary["flows"], json!({"started": 1, "completed": 0, "endless": 0}));
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
    // 1,460 bytes in 100 us, of which 10 are warm-up; the other workload begins too late.
    let summary = star(CUT, &[("workload.1.start", "99999ns")]).summary();
    near(number(&summary["simulated_s"]), 100e-6);
    near(number(&summary["goodput_gbps"]), 1_460.0 * 8.0 / 100e3);
}

#[test]
fn markers_of_a_port_and_those_of_other_ports_draw_independently() {
    // Nothing waits, so that a packet that counts itself sees a backlog of one packet, halfway from 0 to 2: each marker
    // chooses half of the packets, and one of two 3/4, if neither knows what the other draws.
    let red =
        "{ kind = 'red', kmin = '0p', kmax = '2p', pmax = 1.0, unit = 'packets', counts_packet = true }";
    let workload = "[[workload]]\nkind = 'udp'\nsenders = 0\nreceivers = '1..3'\necn = true\nstop = '120ms'\n\
                    pattern = { kind = 'constant', rate = '1Gbps' }\n";
    let report =
        star(workload, &[("switch.markers", format!("[{red}, {red}]").as_str()), ("stop.at", "121ms")]);
    let ports = ["switch0->host1", "switch0->host2"].map(|name| report.port(name).expect("a port"));
    for port in ports {
        assert_eq!(port.received, 10_000);
        // Within four deviations, √(n · 3/4 · 1/4) each.
        assert!(port.marked.abs_diff(7_500) < 174, "{} of 10,000 marked", port.marked);
    }
    assert_ne!(ports[0].marked, ports[1].marked, "the same packets are chosen at both");
    // Four markers, √(n/4) each.
    let chosen = report.summary()["markers"]["red"]["marked"].as_u64().expect("a count");
    assert!(chosen.abs_diff(20_000) < 400, "{chosen} choices");
}

/// Ten segments reach a port ten times slower than they come, which holds one and three more: six are lost. The
/// acknowledgements of four let the other two out, which arrive beyond the gap. Only the timer repairs it.
fn six_lost() -> Report {
    six_lost_with(&[])
}

fn six_lost_with(more: &[(&str, &str)]) -> Report {
    let workload = "[[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '17520B'\n";
    let sets = [
        ("topology.links", "[{ between = ['host1', 'switch0'], rate = '1Gbps', delay = '100us' }]"),
        ("switch.buffer.per_port", "3p"),
        ("tcp.initial_window", "10"),
    ];
    star(workload, &[&sets, more].concat())
}

#[test]
fn acknowledgements_carry_their_sack_blocks() {
    let report = six_lost();
    let flow = report.flows().next().expect("one");
    assert_eq!((flow.retransmits, flow.timeouts), (6, 1));
    let acks = report.port("switch0->host0").expect("a port");
    assert_eq!(acks.sent, 12, "each segment arrives once");
    // One block, padded to twelve bytes (RFC 2018 §3), until the last gap is closed: with both segments beyond it, and
    // with all but the last of those that come again.
    assert_eq!(acks.sent_bytes.0, 12 * 40 + (2 + 5) * 12);
}

#[test]
fn losses_are_counted_where_they_happen_and_over_what_came_there() {
    // 18 segments are sent and 6 lost, all at one of two ports that packets pass.
    let summary = six_lost().summary();
    let packets = &summary["packets"];
    let counts = ["sent", "data", "dropped", "dropped_in_cards", "dropped_in_switches", "dropped_data"];
    assert_eq!(counts.map(|name| packets[name].as_u64().expect("a count")), [30, 18, 6, 0, 6, 6]);
    near(number(&summary["loss_rate"]), 6.0 / 30.0);
    near(number(&summary["loss_rate_in_switches"]), 6.0 / 30.0);
    assert_eq!(summary["loss_rate_in_cards"], 0.0);
    near(number(&summary["loss_rate_data"]), 6.0 / 18.0);
    // A third of what came to one port, nothing at that of the acknowledgements; two ports saw nothing.
    near(number(&summary["loss_rate_mean_over_ports"]), (6.0 / 18.0) / 2.0);
    near(number(&summary["ports"]["to-host"]["loss_rate"]), 6.0 / 30.0);
}

#[test]
fn what_is_no_data_is_lost_too_and_is_no_data() {
    // Ten datagrams of each of two hosts at the rate of a link, in pairs: of each pair one leaves the port of their
    // receiver, which has room for three more, so that from the fourth on one is lost.
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
    // Three flows on one connection, 2 s apart. After its timeout the window has grown to no more than the port holds, which
    // the second flow begins with: it loses nothing. Of the last, segments arrive 1.2 + 1 + 12 + 100 us after it began and
    // each 12 us later, and acknowledgements 100 us after them: when the run ends after 140 us there were three.
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
    // The sender has waited until then; its receiver longest for the first.
    assert_eq!(flows[2].longest_ack_gap, Some(Duration::from_micros(140)));
    assert_eq!(flows[2].longest_arrival_gap, Some(Duration::from_nanos(114_200)));
}
