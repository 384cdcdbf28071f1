//! Random small scenarios: whatever the network and however it loses, every flow completes, every byte arrives once, and
//! the books balance.
//!
//! The end of each run checks the laws of every port, pool and of the whole network (`Simulation::finish`); here are those
//! that a user sees. The scenario of a failure is printed.

use std::fmt;
use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;
use shallows_sim::{FlowOutcome, Report, Simulation};

/// More events than any of these runs needs, by far: a run that is not done by then never ends.
const EVENTS: u64 = 5_000_000;

fn one_of(choices: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(choices)
}

fn topology() -> impl Strategy<Value = String> {
    let shape = prop_oneof![
        (2u32..8).prop_map(|hosts| format!("kind = 'star'\nhosts = {hosts}")),
        (1u32..4, 1u32..4, one_of(&["1Gbps", "10Gbps", "25Gbps"])).prop_map(|(left, right, rate)| format!(
            "kind = 'dumbbell'\nleft = {left}\nright = {right}\nbottleneck_rate = '{rate}'"
        )),
        (1u32..4, 1u32..4, 2u32..4).prop_map(|(leaves, spines, hosts)| format!(
            "kind = 'leaf-spine'\nleaves = {leaves}\nspines = {spines}\nhosts_per_leaf = {hosts}"
        )),
    ];
    let rate = one_of(&["1Gbps", "10Gbps", "100Gbps"]);
    let delay = || one_of(&["0s", "50ns", "1us", "20us"]);
    let mtu = one_of(&["600", "1500", "9000"]);
    let framing = one_of(&["0", "38"]);
    (shape, rate, delay(), delay(), mtu, framing).prop_map(|(shape, rate, link, host, mtu, framing)| {
        format!(
            "[topology]\n{shape}\nrate = '{rate}'\nlink_delay = '{link}'\nhost_delay = '{host}'\n\
             mtu = {mtu}\nframing = {framing}\n"
        )
    })
}

fn buffer() -> impl Strategy<Value = String> {
    // Alpha times the pool holds a packet of any size; otherwise nothing would ever pass.
    let pool = || one_of(&["30KB", "200KB", "5MB"]);
    let private = || one_of(&["0B", "1500B", "9500B"]);
    let rule = one_of(&["exact", "as-released"]);
    prop_oneof![
        (one_of(&["0.5", "1", "8"]), pool(), private(), rule, one_of(&["shared", "total"])).prop_map(
            |(alpha, pool, private, rule, counts)| format!(
                "{{ kind = 'dynamic-threshold', alpha = {alpha}, pool = '{pool}', private = '{private}', \
                 private_rule = '{rule}', counts = '{counts}' }}"
            )
        ),
        (1u32..30).prop_map(|limit| format!("{{ kind = 'static-partition', per_port = '{limit}p' }}")),
        (pool(), 1u32..4, private()).prop_map(|(pool, ports, private)| format!(
            "{{ kind = 'complete-sharing', pool = '{pool}', ports_per_pool = {ports}, private = '{private}' }}"
        )),
    ]
}

/// Markers that let a packet pass an idle port: none below two packets.
fn marker() -> impl Strategy<Value = String> {
    let scope = one_of(&["queue", "port", "pool"]);
    let place = (scope, one_of(&["enqueue", "dequeue"]), any::<bool>());
    let kind = prop_oneof![
        (2u32..40).prop_map(|k| format!("kind = 'threshold', k = '{k}p'")),
        (2u32..10, 0u32..20, 1u32..=10).prop_map(|(kmin, more, tenths)| format!(
            "kind = 'red', kmin = '{kmin}p', kmax = '{}p', pmax = {}",
            kmin + more,
            f64::from(tenths) / 10.0
        )),
    ];
    (kind, place).prop_map(|(kind, (scope, at, counts))| {
        format!("{{ {kind}, scope = '{scope}', at = '{at}', counts_packet = {counts} }}")
    })
}

fn switch() -> impl Strategy<Value = String> {
    (buffer(), prop::collection::vec(marker(), 0..3), one_of(&["slot", "free"])).prop_map(
        |(buffer, markers, drop)| {
            format!(
                "[switch]\nbuffer = {buffer}\nmarkers = [{}]\negress_drop = '{drop}'\n",
                markers.join(", ")
            )
        },
    )
}

fn host() -> impl Strategy<Value = String> {
    (one_of(&["2p", "100p", "1000p"]), one_of(&["off", "auto", "3us"]))
        .prop_map(|(limit, jitter)| format!("[host]\nnic = {{ limit = '{limit}' }}\njitter = '{jitter}'\n"))
}

fn tcp() -> impl Strategy<Value = String> {
    let congestion = one_of(&[
        "{ kind = 'reno' }",
        "{ kind = 'reno', ecn = true }",
        "{ kind = 'dctcp' }",
        "{ kind = 'dctcp', initial_alpha = 0.0, duplicate_acks = 'one-segment', ece_growth = 'not-first' }",
    ]);
    let loss = (
        one_of(&["flight-size", "cwnd"]),
        one_of(&["kept", "forgotten"]),
        one_of(&["off", "reduce", "reset"]),
        one_of(&["all", "rfc3168"]),
    );
    let window = (1u32..30, one_of(&["byte-counting", "per-ack"]), 1u32..4);
    (congestion, loss, window, any::<[bool; 3]>()).prop_map(
        |(
            congestion,
            (loss_base, sack, restart, ect),
            (window, avoidance, delayed),
            [handshake, timestamps, limited],
        )| {
            format!(
                "[tcp]\ncongestion = {congestion}\ninitial_window = {window}\navoidance = '{avoidance}'\n\
                 loss_base = '{loss_base}'\nsack_after_timeout = '{sack}'\nrestart_after_idle = '{restart}'\n\
                 ect = '{ect}'\nhandshake = {handshake}\ntimestamps = {timestamps}\nlimited_transmit = {limited}\n\
                 delayed_ack = {{ segments = {delayed}, timeout = '100us' }}\n\
                 rto = {{ initial = '2ms', min = '500us', max = '20ms', granularity = '10us' }}\n"
            )
        },
    )
}

fn workload() -> impl Strategy<Value = String> {
    let connections = one_of(&[
        "{ kind = 'new' }",
        "{ kind = 'persistent', per_pair = 2 }",
        "{ kind = 'persistent', when_busy = 'queue' }",
        "{ kind = 'persistent', warm_up = { bytes = '1KB', from = '0s', to = '50us' } }",
    ]);
    let traffic = prop_oneof![
        (1u32..40, 5u32..=95, one_of(&["1B", "1460B", "20KB"]), one_of(&["30KB", "300KB"])).prop_map(
            |(flows, load, from, to)| format!(
                "kind = 'poisson'\nload = {}\noverload = true\nflows = {flows}\n\
                 sizes = {{ kind = 'uniform', from = '{from}', to = '{to}' }}\n",
                f64::from(load) / 100.0
            )
        ),
        (1u32..50, 1u32..3, one_of(&["0s", "3us"])).prop_map(|(kilobytes, repeats, spread)| format!(
            "kind = 'incast'\nsenders = 'all'\nreceivers = 0\nsize = '{kilobytes}KB'\nrepeats = {repeats}\n\
             period = '200us'\nspread = '{spread}'\n"
        )),
    ];
    (traffic, connections)
        .prop_map(|(traffic, connections)| format!("[[workload]]\n{traffic}connections = {connections}\n"))
}

/// A scenario that a failure prints as it would stand in a file.
struct Text(String);

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}", self.0)
    }
}

fn scenario() -> impl Strategy<Value = Text> {
    let workloads = prop::collection::vec(workload(), 1..3);
    (any::<u16>(), topology(), switch(), host(), tcp(), workloads).prop_map(
        |(seed, topology, switch, host, tcp, workloads)| {
            Text(format!("seed = {seed}\n{topology}{switch}{host}{tcp}{}", workloads.concat()))
        },
    )
}

fn count(summary: &Value, keys: [&str; 2]) -> u64 {
    summary[keys[0]][keys[1]].as_u64().unwrap_or_else(|| panic!("no {keys:?} in {summary}"))
}

/// Every flow is complete, and took at least as long as its bytes take on the fastest link of these scenarios.
fn check_flow(flow: &FlowOutcome) {
    let size = flow.size.expect("these workloads send flows that end");
    assert_eq!(flow.delivered, size, "{flow:?}");
    let time = flow.completion_time.unwrap_or_else(|| panic!("not complete: {flow:?}"));
    // 80 ps for a byte at 100 Gb/s.
    assert!(time.0 >= 80 * size.0, "{flow:?} was faster than light");
}

fn check(report: &Report, expected: u64, primed: bool) {
    let summary = report.summary();
    let flows: Vec<FlowOutcome> = report.flows().collect();
    flows.iter().for_each(check_flow);
    assert_eq!(flows.len() as u64, expected, "every flow has arrived");
    assert_eq!(count(&summary, ["flows", "completed"]), expected);
    let [sent, data, dropped, dropped_data] =
        ["sent", "data", "dropped", "dropped_data"].map(|key| count(&summary, ["packets", key]));
    assert!(dropped_data <= dropped && dropped <= sent && dropped_data <= data && data <= sent);
    assert!(count(&summary, ["engine", "packet_hops"]) <= 4 * sent, "no path is longer than four links");
    let retransmits = summary["retransmits"].as_u64().expect("a count");
    let timeouts = summary["timeouts"].as_u64().expect("a count");
    // What was dropped was sent again: as a retransmission, or as another SYN after a timeout. (What primes a connection
    // is no part of a flow.)
    assert!(
        primed || dropped_data <= retransmits + timeouts,
        "{dropped_data} dropped, {retransmits} sent again"
    );
    // Nothing overtakes: the packets of a connection take one path, so that without loss only a timer sends again.
    assert!(dropped > 0 || timeouts > 0 || retransmits == 0, "{retransmits} sent again for nothing");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_scenario_every_flow_completes_and_the_books_balance(text in scenario()) {
        let Ok(experiment) = shallows_scenario::load(&text.0, "test.toml", Path::new("."), &[], None) else {
            // Such as a pool below one packet of 9,000 bytes.
            return Err(TestCaseError::reject("not a scenario"));
        };
        let expected = experiment.expected_flows().expect("these workloads end");
        let mut simulation = Simulation::new(experiment);
        let progress = simulation.advance(EVENTS);
        prop_assert!(progress.done, "not done: {progress:?}");
        check(&simulation.finish(), expected, text.0.contains("warm_up"));
    }
}
