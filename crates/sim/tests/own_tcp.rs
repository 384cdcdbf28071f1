//! Workloads with their own `tcp` table: hosts run both transports, and each flow uses the transport of its workload.

use crate::common;
use shallows_measure::FlowOutcome;
use shallows_sim::{Report, Simulation};

/// Queries on persistent, primed connections with data both ways, and flows on new connections, through a port
/// that marks and overflows.
const SCENARIO: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
rate = "10Gbps"

[switch]
buffer = { kind = "dynamic-threshold", alpha = 1, pool = "200KB" }
markers = [{ kind = "threshold", k = "40KB" }]

[tcp]
rto = { min = "1ms" }

[[workload]]
kind = "poisson"
load = 0.6
sizes = { kind = "uniform", from = "1KB", to = "200KB" }
flows = 150

[[workload]]
kind = "incast"
senders = "0..6"
receivers = 7
size = "60KB"
start = "200us"
repeats = 3
period = "700us"
connections = { kind = "persistent", per_pair = 2, warm_up = { bytes = "3KB", from = "0us", to = "500us" } }

[[workload]]
kind = "partition-aggregate"
clients = 0
fan_out = 6
size = "20KB"
answers = "same-connection"
arrivals = { kind = "periodic", period = "600us" }
queries = 4
connections = { kind = "persistent" }
"#;

/// Transport that differs from the hosts' default in many keys, on both sides of a connection.
const OTHER: &str = "{ congestion = 'cubic', initial_window = 4, delayed_ack = { segments = 3, timeout = '200us' }, ect = 'rfc3168' }";

/// Returns all results of a run on this number of threads, except names of the scenario.
fn everything(sets: &[(&str, &str)], threads: u32) -> Vec<(String, Vec<u8>)> {
    let mut simulation = Simulation::divided(common::parse(SCENARIO, sets), threads);
    simulation.advance(u64::MAX);
    let report = simulation.finish();
    let table = |name: &str| {
        let mut table = Vec::new();
        report.write_table(name, &mut table).expect("memory can be written to");
        (name.to_owned(), table)
    };
    report.tables().into_iter().map(table).collect()
}

#[test]
fn what_all_workloads_say_is_as_if_their_hosts_did() {
    for handshake in ["true", "false"] {
        let handshake = ("tcp.handshake", handshake);
        let own =
            [handshake, ("workload.0.tcp", OTHER), ("workload.1.tcp", OTHER), ("workload.2.tcp", OTHER)];
        let of_hosts = [
            handshake,
            ("tcp.congestion", "cubic"),
            ("tcp.initial_window", "4"),
            ("tcp.delayed_ack", "{ segments = 3, timeout = '200us' }"),
            ("tcp.ect", "rfc3168"),
        ];
        let wanted = everything(&of_hosts, 1);
        assert!(everything(&own, 1) == wanted, "{handshake:?}");
        assert!(everything(&[handshake], 1) != wanted, "it makes a difference");
    }
}

#[test]
fn what_some_say_is_the_same_bytes_on_any_number_of_threads() {
    for workload in ["workload.0.tcp", "workload.1.tcp", "workload.2.tcp"] {
        let sets = [(workload, OTHER), ("tcp.congestion", "dctcp")];
        let alone = everything(&sets, 1);
        assert!(everything(&sets, 3) == alone, "{workload}");
        assert!(everything(&sets[1..], 1) != alone, "{workload} makes a difference");
    }
}

/// Two hosts, each with a flow of DCTCP and one of CUBIC to the same third host.
const BESIDE: &str = r#"
[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
link_delay = "10us"

[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }
markers = [{ kind = "threshold", k = "80KB" }]

[host]
jitter = "off"

[tcp]
congestion = "dctcp"
handshake = false
rto = { min = "5ms" }

[[workload]]
kind = "incast"
senders = "0..2"
receivers = 2
size = "4MB"

[[workload]]
kind = "incast"
senders = "0..2"
receivers = 2
size = "4MB"
tcp = { congestion = "cubic" }
"#;

fn of(report: &Report, workload: u16) -> Vec<FlowOutcome> {
    report.flows().filter(|flow| flow.workload == workload).collect()
}

#[test]
fn cubic_loses_where_dctcp_beside_it_from_the_same_host_is_marked() {
    // Packets above the threshold are marked if they are ECN-capable, and dropped otherwise; the memory holds all of them.
    let report = common::run(BESIDE, &[]);
    let retransmitted = |workload| of(&report, workload).iter().map(|flow| flow.retransmits).sum::<u32>();
    assert!(report.summary()["packets"]["marked"].as_u64() > Some(0));
    assert_eq!(retransmitted(0), 0);
    assert!(retransmitted(1) > 0);
}

#[test]
fn a_flow_that_is_alone_in_time_is_as_if_the_other_kind_were_not_there() {
    let later = ("workload.1.start", "50ms");
    let both = common::run(BESIDE, &[later]);
    let hosts = common::run(BESIDE, &[later, ("workload.1.tcp", "{}")]);
    let cubic = common::run(BESIDE, &[later, ("tcp.congestion", "cubic"), ("workload.1.tcp", "{}")]);
    let times = |report: &Report, workload| {
        of(report, workload).iter().map(|flow| (flow.completion_time, flow.retransmits)).collect::<Vec<_>>()
    };
    assert_eq!(times(&both, 0), times(&hosts, 0));
    assert_eq!(times(&both, 1), times(&cubic, 1));
    assert_ne!(times(&both, 1), times(&hosts, 1));
}

#[test]
fn hosts_of_every_group_have_what_the_workload_says_and_what_their_group_says() {
    // Two segments: a window of two sends them at once, a window of one waits for an acknowledgement. At 10 Gb/s and 1 us a
    // segment of 1,500 bytes takes 4.4 us and its acknowledgement of 40 bytes 2.064 us; the second segment arrives 1.2 us after the
    // first, or 4.4 us after the acknowledgement.
    const STAR: &str = r#"
        host.jitter = "off"
        host.group = [{ name = "g", members = "2..4", tcp = { initial_window = 1 } }]
        topology = { kind = "star", hosts = 4, rate = "10Gbps" }
        switch.buffer = { kind = "static-partition", per_port = "100p" }
        tcp = { congestion = "reno", timestamps = false, delayed_ack = { segments = 1 }, initial_window = 2 }
    "#;
    let (at_once, waits) = (4.4 + 1.2, 4.4 + 2.064 + 4.4);
    for (own, senders) in
        [("", [at_once, waits]), ("initial_window = 1", [waits; 2]), ("initial_window = 2", [at_once; 2])]
    {
        for (from, expected) in [0, 2].into_iter().zip(senders) {
            let flow = |from: u32, more: &str| {
                format!(
                    "[[workload]]\nkind = 'incast'\nsenders = {from}\nreceivers = {}\nsize = '2920B'\n{more}\n",
                    from + 1
                )
            };
            // A first workload, with the hosts' own transport, ends a millisecond before.
            let own = format!("start = '1ms'\ntcp = {{ {own} }}");
            let report = common::run(&[STAR, &flow(1 - from / 2, ""), &flow(from, &own)].concat(), &[]);
            let time = report
                .flows()
                .nth(1)
                .and_then(|flow| flow.completion_time)
                .expect("complete")
                .as_micros_f64();
            assert!((time - expected).abs() < 1e-6, "{own} from {from}: {time}, not {expected}");
        }
    }
}
