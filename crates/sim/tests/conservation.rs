//! Tests with small random scenarios: for any network and any losses, every flow completes, every byte arrives once, and
//! the conservation laws hold.
//!
//! At the end of each run, `Simulation::finish` checks the laws for every port, for every pool and for the whole network. This file
//! checks the results. A failure prints its scenario.

mod groups;
pub(crate) mod ports;

use std::fmt;

use crate::common::kept::Files;
use crate::common::results;
use groups::{Mixed, groups, mixed};
use ports::{Allows, one_of, port};
use proptest::prelude::*;
use serde_json::Value;
use shallows_measure::FlowOutcome;
use shallows_scenario::{Experiment, ScenarioError};
use shallows_sim::{Division, Execution, Report, Simulation};

/// Number of events after which a run counts as endless. It is far larger than any of these scenarios needs.
const EVENTS: u64 = 5_000_000;

fn topology() -> impl Strategy<Value = String> {
    let shape = prop_oneof![
        (2u32..8).prop_map(|hosts| format!("kind = 'star'\nhosts = {hosts}")),
        (1u32..4, 1u32..4, one_of(&["1Gbps", "10Gbps", "25Gbps"])).prop_map(|(left, right, rate)| format!(
            "kind = 'dumbbell'\nleft = {left}\nright = {right}\nbottleneck_rate = '{rate}'"
        )),
        (1u32..4, 1u32..4, 2u32..4).prop_map(|(leaves, spines, hosts)| format!(
            "kind = 'leaf-spine'\nleaves = {leaves}\nspines = {spines}\nhosts_per_leaf = {hosts}"
        )),
        // A row of switches with parallel links, and one more switch on a branch.
        (1u32..4, 1u32..4, one_of(&["1Gbps", "10Gbps", "25Gbps"])).prop_map(|(left, right, rate)| format!(
            "kind = 'graph'\nhosts = ['l{{0..{left}}}', 'r{{0..{right}}}']\nswitches = ['x', 'y', 'z', 'beside']\n\
             links = [{{ between = ['l*', 'x'] }}, {{ between = ['r*', 'z'] }}, {{ between = ['x', 'y'], rate = '{rate}' }}, \
             {{ between = ['x', 'y'] }}, {{ between = ['y', 'z'] }}, {{ between = ['x', 'beside'] }}, \
             {{ between = ['z', 'beside'], delay = '3us' }}]"
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
    // Alpha times the pool holds a packet of any size; otherwise no packet would ever pass.
    let pool = || one_of(&["30KB", "200KB", "5MB"]);
    let reserved = || one_of(&["0B", "1500B", "9500B"]);
    // The released rule counts bytes, not cells.
    let rule = || one_of(&["reserved_rule = 'exact'", "reserved_rule = 'as-released'", "cell = '254B'"]);
    // Ports that share no pool can have different turns in a time window.
    let ports = || one_of(&["", ", ports_per_pool = 1", ", ports_per_pool = 2"]);
    prop_oneof![
        2 => (one_of(&["0.5", "1", "8"]), pool(), reserved(), rule(), one_of(&["shared", "total"]), ports()).prop_map(
            |(alpha, pool, reserved, rule, counts, ports)| format!(
                "{{ kind = 'dynamic-threshold', alpha = {alpha}, pool = '{pool}', reserved = '{reserved}', \
                 {rule}, counts = '{counts}'{ports} }}"
            )
        ),
        1 => (1u32..30, one_of(&["", ", cell = '208B'"])).prop_map(
            |(limit, cell)| format!("{{ kind = 'static-partition', per_port = '{limit}p'{cell} }}")
        ),
        1 => (pool(), 1u32..4, reserved(), rule()).prop_map(|(pool, ports, reserved, rule)| format!(
            "{{ kind = 'complete-sharing', pool = '{pool}', ports_per_pool = {ports}, reserved = '{reserved}', {rule} }}"
        )),
        1 => (one_of(&["0.5", "2"]), pool(), reserved(), rule(), one_of(&["20KB", "75KB"]), ports()).prop_map(
            |(alpha, pool, reserved, rule, window, ports)| format!(
                "{{ kind = 'abm', alpha = {alpha}, pool = '{pool}', reserved = '{reserved}', {rule}, \
                 window = '{window}'{ports} }}"
            )
        ),
    ]
}

fn switch() -> impl Strategy<Value = String> {
    let drop = || one_of(&["slot", "free"]);
    (buffer(), drop()).prop_flat_map(move |(buffer, egress_drop)| {
        let allows = Allows { bcc: buffer.contains("dynamic-threshold") };
        let ports = one_of(&["to-host", "*"]);
        let differs = prop::option::weighted(0.3, (ports, port(allows), drop(), any::<[bool; 2]>()));
        (Just(buffer), Just(egress_drop), port(allows), differs)
    })
    .prop_map(|(buffer, egress_drop, port, differs)| {
        let shaper = port.shaper.map_or(String::new(), |shaper| format!("shaper = {shaper}\n"));
        let mut text = format!(
            "[switch]\nbuffer = {buffer}\nport = {}\nmarkers = {}\negress_drop = '{egress_drop}'\n{shaper}",
            port.port, port.markers
        );
        if let Some((ports, port, drop, [shaped, drops])) = differs {
            text += &format!(
                "[[switch.overrides]]\nports = ['{ports}']\nport = {}\nmarkers = {}\n",
                port.port, port.markers
            );
            if let Some(shaper) = port.shaper.filter(|_| shaped) {
                text += &format!("shaper = {shaper}\n");
            }
            if drops {
                text += &format!("egress_drop = '{drop}'\n");
            }
        }
        text
    })
}

fn host() -> impl Strategy<Value = String> {
    let nic = prop::option::weighted(0.2, port(Allows { bcc: false }));
    let backpressure = one_of(&["off", "20KB", "1MiB"]);
    let limit = one_of(&["2p", "100p", "1000p"]);
    (limit, backpressure, one_of(&["off", "auto", "3us"]), nic, offloads()).prop_map(
        |(limit, backpressure, jitter, nic, offloads)| {
            // The limit of a NIC must hold a burst.
            let limit = if offloads.contains("tso") { "1000p" } else { limit };
            let nic = nic.map_or(String::new(), |nic| {
                let shaper = nic.shaper.map_or(String::new(), |shaper| format!(", shaper = {shaper}"));
                format!(", port = {}, markers = {}{shaper}", nic.port, nic.markers)
            });
            format!("[host]\nnic = {{ limit = '{limit}', backpressure = '{backpressure}'{nic}{offloads} }}\njitter = '{jitter}'\n")
        },
    )
}

/// Strategy for the offloads of NICs. Some scenarios have none.
fn offloads() -> impl Strategy<Value = String> {
    let tso = one_of(&["", ", tso = 'linux'", ", tso = '20KB'"]);
    let pacing = one_of(&["off", "fq"]);
    let packets = one_of(&["", ", packets = 1", ", packets = 5", ", packets = 128"]);
    let coalescing = prop::option::of((one_of(&["1us", "8us", "50us"]), packets, any::<bool>(), 1u32..4));
    let adaptive = any::<bool>();
    let some = (tso, pacing, coalescing, adaptive).prop_map(|(tso, pacing, coalescing, adaptive)| {
        let coalescing = coalescing.map_or(String::new(), |(time, packets, gro, queues)| {
            let (time, packets) = if adaptive { ("auto", "") } else { (time, packets) };
            format!(", coalescing = {{ time = '{time}'{packets}, gro = {gro}, queues = {queues} }}")
        });
        format!("{tso}, pacing = '{pacing}'{coalescing}")
    });
    prop::option::of(some).prop_map(Option::unwrap_or_default)
}

/// Flow traces, and captures of all ports.
const EVERYTHING: &str =
    "flow_traces = [{ flows = [0] }, { sample = 2, every = '5us' }]\ncaptures = [{ ports = ['*'] }]";

/// Traces, samples and captures. They do not affect results; the tests check that they work for every port.
fn measure() -> impl Strategy<Value = String> {
    let trace = one_of(&[
        "",
        "traces = [{ ports = ['*'] }]",
        "traces = [{ ports = ['to-host', 'nic'], every = '7us' }]\nsample_queues = '20us'",
    ]);
    let flows = one_of(&["", "flow_traces = [{ sample = 3 }, { workload = 0, every = '30us' }]", EVERYTHING]);
    (trace, flows, one_of(&["receiver", "sender"]))
        .prop_map(|(trace, flows, fct)| format!("[measure]\nfct = '{fct}'\n{trace}\n{flows}\n"))
}

fn tcp() -> impl Strategy<Value = String> {
    let congestion = one_of(&[
        "{ kind = 'reno' }",
        "{ kind = 'reno', ecn = true }",
        "{ kind = 'dctcp' }",
        "{ kind = 'dctcp', initial_alpha = 0.0, duplicate_acks = 'one-segment', ece_growth = 'not-first' }",
        "{ kind = 'cubic' }",
        "{ kind = 'cubic', ecn = true, fast_convergence = false }",
        "{ kind = 'cubic', hystart = 'hystart++' }",
        "{ kind = 'cubic', hystart = 'linux' }",
        "{ kind = 'ecn-star' }",
        "{ kind = 'pulser' }",
        "{ kind = 'pulser', restore = 'clean-window', dctcp = { initial_alpha = 0.0 } }",
        "{ kind = 'pulser', as_released = true }",
    ]);
    let loss = (
        one_of(&["flight-size", "cwnd"]),
        one_of(&[
            "recovery = 'sack'",
            "recovery = 'sack'\nprr = 'ssrb'",
            "recovery = 'sack'\nprr = 'crb'\nsack_after_timeout = 'forgotten'",
            "recovery = 'sack'\nfrto = true\napp_limited = 'linux'",
            "recovery = 'rack'",
            "recovery = 'rack'\nprr = 'safe-ack'\nfrto = true",
            "recovery = 'rack'\nfrto = true\ndsack = true",
            "recovery = 'sack'\ndsack = true",
            "recovery = 'fulltcp'",
            "recovery = 'sack1'",
            "recovery = 'newreno'",
            "recovery = 'newreno'\nfull_ack = 'ssthresh'",
            "recovery = 'reno'",
        ]),
        one_of(&["off", "reduce", "reset"]),
        one_of(&["all", "rfc3168"]),
        one_of(&["at-once", "prr"]),
    );
    let avoidance =
        one_of(&["avoidance = 'byte-counting'", "avoidance = 'per-ack'", "avoidance = 'counted'"]);
    let window = (1u32..30, avoidance, (1u32..4, one_of(&["arrivals", "bytes"])));
    (congestion, loss, window, any::<[bool; 3]>()).prop_map(
        |(
            congestion,
            (loss_base, recovery, restart, ect, reaction),
            (window, avoidance, (delayed, counts)),
            [handshake, timestamps, limited],
        )| {
            // Cubic has its own congestion avoidance.
            let avoidance = if congestion.contains("cubic") { "" } else { avoidance };
            // These do not react to ECE, so that no time of reaction applies.
            let deaf = ["{ kind = 'reno' }", "{ kind = 'cubic' }"].contains(&congestion)
                || congestion.contains("hystart");
            // HyStart needs the round trip of every acknowledgement.
            let timestamps = timestamps || congestion.contains("hystart");
            let reaction = if deaf || congestion.contains("as_released") { "at-once" } else { reaction };
            format!(
                "[tcp]\nece_reaction = '{reaction}'\ncongestion = {congestion}\ninitial_window = {window}\n{avoidance}\n\
                 loss_base = '{loss_base}'\n{recovery}\nrestart_after_idle = '{restart}'\n\
                 ect = '{ect}'\nhandshake = {handshake}\ntimestamps = {timestamps}\nlimited_transmit = {limited}\n\
                 delayed_ack = {{ segments = {delayed}, counts = '{counts}', timeout = '100us' }}\n\
                 rto = {{ initial = '2ms', min = '500us', max = '20ms', granularity = '10us' }}\n"
            )
        },
    )
}

/// Queries with a number of flows that is known before the run.
fn queries() -> impl Strategy<Value = String> {
    let arrivals = one_of(&[
        "{ kind = 'poisson', mean = '50us' }",
        "{ kind = 'periodic', period = '20us' }",
        "{ kind = 'closed-loop', think_time = '7us' }",
        "'closed-loop'",
    ]);
    let clients = one_of(&["clients = 0", "clients = 'all'", "clients = 'all'\nasking = 'drawn'"]);
    let times = one_of(&["", "deadline = '30us'", "jitter = '9us'", "deadline = '30us'\njitter = '9us'"]);
    // One aggregator above the workers is possible from three hosts on; smaller networks are rejected.
    let level = one_of(&["", "aggregators = { count = 1, size = '3KB', deadline = '20us' }\nfan_out = 1"]);
    let request = one_of(&["'0B'", "'1600B'", "'1600B'\nanswers = 'same-connection'"]);
    (arrivals, clients, times, level, 1u32..4, request, one_of(&["100B", "9KB"])).prop_map(
        |(arrivals, clients, times, level, iterations, request, size)| {
            format!(
                "kind = 'partition-aggregate'\n{clients}\n{times}\n{level}\niterations = {iterations}\n\
                 request = {request}\nsize = '{size}'\nqueries = 4\narrivals = {arrivals}\n"
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
        queries(),
        (
            1u32..100,
            one_of(&["'0B'", "'100B'", "'100B'\nanswers = 'same-connection'"]),
            one_of(&["0s", "30us"])
        ).prop_map(|(kilobytes, request, pause)| format!(
            "kind = 'block-transfer'\nclients = '0..2'\nblock = '{kilobytes}KB'\nrequest = {request}\nrepeats = 3\n\
             think_time = '{pause}'\n"
        )),
    ];
    let class = one_of(&[
        "0",
        "5",
        "{ kind = 'by-sender', classes = 3 }",
        "{ kind = 'random', weights = [1.0, 2.0, 0.5, 1.0] }",
    ]);
    (traffic, connections, class).prop_map(|(traffic, connections, class)| {
        format!("[[workload]]\n{traffic}connections = {connections}\nclass = {class}\n")
    })
}

/// Probes in addition to flows.
fn ping() -> impl Strategy<Value = String> {
    let probe = (one_of(&["50us", "300us"]), one_of(&["0B", "56B", "500B"]), any::<bool>(), 0u32..6);
    let probe = probe.prop_map(|(interval, payload, ecn, class)| {
        format!(
            "[[workload]]\nkind = 'ping'\nsenders = 'all'\nreceivers = 0\ninterval = '{interval}'\n\
             payload = '{payload}'\necn = {ecn}\nstop = '1ms'\nclass = {class}\n"
        )
    });
    prop::option::weighted(0.2, probe).prop_map(Option::unwrap_or_default)
}

/// Text of a scenario. A failure prints it as the content of a file.
struct Text(String);

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}", self.0)
    }
}

fn scenario() -> impl Strategy<Value = Text> {
    let workloads = (prop::collection::vec(workload(), 1..3), ping());
    let host = (host(), groups()).prop_map(|(host, groups)| host + &groups);
    (any::<u16>(), topology(), switch(), host, tcp(), measure(), workloads).prop_map(
        |(seed, topology, switch, host, tcp, measure, (workloads, ping))| {
            let workloads = workloads.concat();
            // Probes have no end of their own.
            let stop = if ping.is_empty() { "" } else { "stop.at = '2s'\n" };
            Text(format!("seed = {seed}\n{stop}{topology}{switch}{host}{tcp}{measure}{workloads}{ping}"))
        },
    )
}

/// Returns whether packets of one connection may be reordered: in some disciplines, or if flows of several classes share a connection.
fn may_reorder(text: &str) -> bool {
    let hcf = ["period = '20us'", "footnote = 'absent'", "swap = 'never'"];
    let classes = text.contains("kind = 'random'") && text.contains("kind = 'persistent'");
    classes || text.contains("perturbation") || hcf.iter().any(|alternative| text.contains(alternative))
}

fn count(summary: &Value, keys: [&str; 2]) -> u64 {
    summary[keys[0]][keys[1]].as_u64().unwrap_or_else(|| panic!("no {keys:?} in {summary}"))
}

/// Checks that a flow is complete, and took at least as long as its bytes take on the fastest link of these scenarios.
fn check_flow(flow: &FlowOutcome) {
    let size = flow.size.expect("these workloads send flows that end");
    assert_eq!(flow.delivered, size, "{flow:?}");
    let time = flow.completion_time.unwrap_or_else(|| panic!("not complete: {flow:?}"));
    // 80 ps for a byte at 100 Gb/s.
    assert!(time.0 >= 80 * size.0, "{flow:?} was faster than light");
}

/// Checks that every query is complete, counts no answer twice, and consists of flows that fit in its time.
fn check_queries(report: &Report, flows: &[FlowOutcome], text: &str) {
    // With fct = "receiver" a flow's time ends when its last byte arrives, otherwise later.
    let at_sender = text.contains("fct = 'sender'");
    let mut outcomes = report.query_outcomes().peekable();
    let any = outcomes.peek().is_some();
    assert_eq!(any, report.summary()["queries"] != Value::Null);
    for query in outcomes {
        let time = query.completion_time.unwrap_or_else(|| panic!("not complete: {query:?}"));
        assert!(query.in_time <= query.responses && query.responses > 0, "{query:?}");
        let own =
            flows.iter().filter(|flow| flow.query == Some(query.number) && flow.workload == query.workload);
        let end = query.start + time;
        let received = |flow: &&FlowOutcome| {
            flow.destination == query.client
                && (at_sender || flow.completion_time.is_some_and(|time| flow.arrival + time <= end))
        };
        let in_time: u64 = own.clone().filter(received).filter_map(|flow| Some(flow.size?.0)).sum();
        assert!(query.bytes.0 <= in_time, "{query:?} counts more than the {in_time} that came");
        assert!(own.clone().all(|flow| flow.arrival >= query.start), "{query:?}");
        assert!(query.timeouts <= own.map(|flow| flow.timeouts).sum::<u32>());
    }
}

fn check(report: &Report, expected: u64, text: &str) {
    let primed = text.contains("warm_up");
    let summary = report.summary();
    let flows: Vec<FlowOutcome> = report.flows().collect();
    flows.iter().for_each(check_flow);
    check_queries(report, &flows, text);
    assert_eq!(flows.len() as u64, expected, "every flow has arrived");
    assert_eq!(count(&summary, ["flows", "completed"]), expected);
    let [sent, data, dropped, dropped_data] =
        ["sent", "data", "dropped", "dropped_data"].map(|key| count(&summary, ["packets", key]));
    assert!(dropped_data <= dropped && dropped <= sent && dropped_data <= data && data <= sent);
    let places = ["dropped_in_nics", "dropped_in_switches"].map(|key| count(&summary, ["packets", key]));
    assert_eq!(places.iter().sum::<u64>(), dropped, "every packet was lost at one place");
    assert!(count(&summary, ["engine", "packet_hops"]) <= 4 * sent, "no path is longer than four links");
    let retransmits = summary["retransmits"].as_u64().expect("a count");
    let timeouts = summary["timeouts"].as_u64().expect("a count");
    // Dropped data was sent a second time: as a retransmission, or as another SYN after a timeout. (Bytes that prime a connection
    // belong to no flow.)
    assert!(
        primed || dropped_data <= retransmits + timeouts,
        "{dropped_data} dropped, {retransmits} retransmitted"
    );
    // No reordering: the packets of a connection take one path, so that without loss only a timer, possibly that of a probe,
    // retransmits.
    let needless = dropped == 0 && timeouts == 0 && retransmits > 0;
    let probes = text.contains("'rack'") || text.contains("preset");
    assert!(!needless || probes || may_reorder(text), "{retransmits} retransmitted for nothing");
}

/// Returns whether markers alone can explain that flows of this scenario are incomplete: without markers, all flows complete. If markers
/// drop packets that are not ECN-capable, retransmissions whose timers are synchronised may arrive at the same queue and be dropped forever.
fn starved(text: &str) -> bool {
    let deaf = ["ect = 'rfc3168'", "{ kind = 'reno' }", "{ kind = 'cubic' }", "hystart", "[[host.group]]"];
    if !deaf.iter().any(|setting| text.contains(setting)) {
        return false;
    }
    let mut places = vec!["switch.markers", "host.nic.markers"];
    if text.contains("[[switch.overrides]]") {
        places.push("switch.overrides.0.markers");
    }
    let no_markers: Vec<_> = places.into_iter().map(|place| (place.to_owned(), "[]".to_owned())).collect();
    let without = parse(text, &no_markers).expect("a scenario needs no markers");
    let expected = without.expected_flows();
    let mut simulation = Simulation::new(without);
    simulation.advance(EVENTS);
    Some(count(&simulation.finish().summary(), ["flows", "completed"])) == expected
}

/// Parses a scenario whose workloads name no file, with overrides of its keys.
fn parse(text: &str, overrides: &[(String, String)]) -> Result<Experiment, ScenarioError> {
    shallows_scenario::parse(
        text,
        "test.toml",
        &|_| unreachable!("no workload names a file"),
        overrides,
        None,
    )
}

/// Parses a random scenario. Rejects impossible scenarios, so that the test skips them. Examples are a pool below one packet of 9,000 bytes,
/// or too few hosts for a query of two levels.
fn parse_random(text: &str) -> Result<Experiment, TestCaseError> {
    parse(text, &[]).map_err(|error| {
        let error = error.to_string();
        let is_impossible =
            ["at least one packet", "must include a host "].iter().any(|it| error.contains(it));
        if is_impossible { TestCaseError::reject("not a scenario") } else { TestCaseError::fail(error) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_scenario_every_flow_completes_and_the_books_balance(text in scenario()) {
        let experiment = parse_random(&text.0)?;
        let expected = experiment.expected_flows().expect("these workloads end");
        let mut simulation = Simulation::new(experiment);
        let progress = simulation.advance(EVENTS);
        let report = simulation.finish();
        // A run with probes ends at a time, whether its flows are complete or not.
        let complete = count(&report.summary(), ["flows", "completed"]) == expected;
        if progress.done && (complete || !text.0.contains("stop.at")) {
            check(&report, expected, &text.0);
        } else {
            prop_assert!(starved(&text.0), "not done: {progress:?}, {}", report.summary());
        }
    }
}

/// Runs a scenario on this number of threads for at most [`EVENTS`] events. Returns whether the run has ended, and all its results.
fn threaded(experiment: &Experiment, threads: u32) -> (bool, Vec<Vec<u8>>) {
    let mut files = Files::default();
    let simulation = Simulation::capturing(experiment.clone(), threads, |name| files.open(name));
    everything_of(simulation.expect("memory takes it"), &files)
}

/// Runs a scenario with this division and execution for at most [`EVENTS`] events. Returns whether the run has ended, and all its results.
fn executed(
    experiment: &Experiment,
    division: Option<Division>,
    execution: Execution,
) -> (bool, Vec<Vec<u8>>) {
    let mut files = Files::default();
    let simulation = Simulation::executed(experiment.clone(), division, execution, |name| files.open(name));
    everything_of(simulation.expect("memory takes it"), &files)
}

fn everything_of(mut simulation: Simulation, files: &Files) -> (bool, Vec<Vec<u8>>) {
    let done = simulation.advance(EVENTS).done;
    let tables = results(&simulation.finish());
    let captured = files.contents().into_iter().map(|(_, bytes)| bytes);
    (done, tables.into_iter().chain(captured).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 50, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_scenario_windows_are_as_events(text in prop_oneof![scenario(), scenario_of_groups()]) {
        let Ok(experiment) = parse(&text.0, &[]) else {
            return Err(TestCaseError::reject("not a scenario"));
        };
        let [events, windows] = [Execution::Events, Execution::Windows].map(|way| executed(&experiment, None, way));
        // Runs that the budget of events ends do not end at the same time.
        prop_assume!(events.0 && windows.0);
        prop_assert!(events.1 == windows.1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 50, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_scenario_three_partitions_are_as_one(text in scenario()) {
        let Ok(experiment) = parse(&text.0, &[]) else {
            return Err(TestCaseError::reject("not a scenario"));
        };
        prop_assume!(shallows_sim::partition_window(&experiment).is_ok());
        let [one, three] = [1, 3].map(|threads| threaded(&experiment, threads));
        // Runs that the budget of events ends do not end at the same time.
        prop_assume!(one.0 && three.0);
        prop_assert!(one.1 == three.1);
        // These windows are long if the network allows it.
        let division = Division::new(&experiment, 3).expect("it can be divided");
        let windows = executed(&experiment, Some(division), Execution::Windows);
        prop_assume!(windows.0);
        prop_assert!(one.1 == windows.1, "in windows");
    }
}

/// Traffic that does not react to other traffic, so that partitions can run in parallel.
fn unasked() -> impl Strategy<Value = String> {
    let connections = one_of(&["'new'", "{ kind = 'persistent', when_busy = 'queue' }"]);
    (1u32..60, 5u32..=95, one_of(&["100B", "20KB"]), connections).prop_map(
        |(flows, load, from, connections)| {
            format!(
                "[[workload]]\nkind = 'poisson'\nload = {}\noverload = true\nflows = {flows}\n\
             sizes = {{ kind = 'uniform', from = '{from}', to = '200KB' }}\nconnections = {connections}\n",
                f64::from(load) / 100.0
            )
        },
    )
}

/// Networks in which most hosts belong to two or three groups, each with random settings.
fn scenario_of_groups() -> impl Strategy<Value = Text> {
    (any::<u16>(), mixed(), switch(), tcp(), measure(), unasked()).prop_map(
        |(seed, Mixed { topology, groups }, switch, tcp, measure, workload)| {
            Text(format!("seed = {seed}\n{topology}{switch}{groups}{tcp}{measure}{workload}"))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 50, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn groups_that_have_nothing_in_common_lose_no_byte_on_any_number_of_threads(
        text in scenario_of_groups(),
        threads in 2u32..5,
    ) {
        let experiment = parse_random(&text.0)?;
        let expected = experiment.expected_flows().expect("it ends");
        let mut simulation = Simulation::new(experiment.clone());
        let progress = simulation.advance(EVENTS);
        let report = simulation.finish();
        if progress.done {
            check(&report, expected, &text.0);
        } else {
            prop_assert!(starved(&text.0), "not done: {progress:?}, {}", report.summary());
        }
        let [one, several] = [1, threads].map(|threads| threaded(&experiment, threads));
        prop_assume!(one.0 && several.0);
        prop_assert!(one.1 == several.1);
    }
}
