//! Tests of the workloads' own `tcp`: inherited settings, resolved scenarios, and rejected tables.

use crate::common::parse;
use shallows_scenario::{Agreement, Experiment};
use shallows_transport::congestion::{Config as Congestion, EcnMode};

/// Two groups of hosts and two workloads.
const SCENARIO: &str = r#"
[stop]
at = "1ms"

[topology]
kind = "star"
hosts = 4
rate = "10Gbps"

[switch]
buffer = { kind = "complete-sharing", pool = "1MB" }
markers = [{ kind = "threshold", k = "60KB" }]

[tcp]
congestion = { kind = "dctcp", g = 0.125 }
rto = { min = "10ms", initial = "20ms" }

[[host.group]]
name = "new"
members = "2..4"
tcp = { initial_window = 20, rto = { min = "3ms" } }

[[workload]]
kind = "ping"
senders = 0
receivers = 1
interval = "1ms"

[[workload]]
kind = "long-lived"
senders = 0
receivers = 1

[[workload]]
kind = "long-lived"
senders = 0
receivers = 3
"#;

fn experiment(sets: &[(&str, &str)]) -> Experiment {
    parse(SCENARIO, sets).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the agreements by kind and pair of groups, four of each kind.
fn agreements(experiment: &Experiment) -> &[Agreement] {
    experiment.hosts.agreements()
}

fn refusal(own: &str) -> (String, String) {
    let error = parse(SCENARIO, &[("workload.1.tcp", own)]).err().unwrap_or_else(|| panic!("{own}"));
    (error.problems[0].key.clone(), error.problems[0].message.clone())
}

#[test]
fn it_differs_in_its_keys_from_what_the_group_of_each_host_says() {
    let found = experiment(&[("workload.1.tcp", "{ congestion = 'cubic', rto = { min = '7ms' } }")]);
    // Pings send no flows. The second of the two workloads with flows uses the hosts' settings.
    assert_eq!(found.hosts.kinds(), [1, 0]);
    let [hosts, own] = [0, 4].map(|kind| &agreements(&found)[kind..kind + 4]);
    for pair in 0..4 {
        let (all, mine) = (&hosts[pair].sender, &own[pair].sender);
        assert!(matches!(all.congestion, Congestion::Dctcp(_)));
        assert!(matches!(mine.congestion, Congestion::Cubic(_)));
        assert_eq!(mine.rto.minimum, shallows_core::Duration::from_millis(7));
        assert_eq!(mine.rto.initial, all.rto.initial);
        assert_eq!(mine.initial_window, all.initial_window);
        assert_eq!(own[pair].receiver.congestion.ecn_mode(), EcnMode::Off);
    }
    assert_ne!(own[0].sender.initial_window, own[2].sender.initial_window);
}

#[test]
fn workloads_that_say_the_same_are_one_kind_and_those_that_say_nothing_new_are_as_their_hosts() {
    let cubic = "{ congestion = 'cubic' }";
    let found = experiment(&[("workload.1.tcp", cubic), ("workload.2.tcp", cubic)]);
    assert_eq!((found.hosts.kinds(), agreements(&found).len()), (&[1, 1][..], 8));
    // No connection uses ECN here, although the hosts' settings would.
    assert!(
        found.warnings().iter().any(|warning| warning.contains("do not use ECN")),
        "{:?}",
        found.warnings()
    );
    let same = experiment(&[("workload.1.tcp", "{}")]);
    let (hosts, own) = agreements(&same).split_at(4);
    assert_eq!(hosts, own);
}

#[test]
fn a_resolved_scenario_has_it_as_it_was_and_is_the_same_experiment() {
    let first =
        experiment(&[("workload.1.tcp", "{ preset = 'linux-6', congestion = 'cubic', timestamps = true }")]);
    assert!(first.notes.iter().any(|note| note.starts_with("workload 1: tcp.preset")), "{:?}", first.notes);
    let resolved = first.resolved();
    assert_eq!(resolved["workload"][1]["tcp"]["preset"], "linux-6");
    let again = parse(&toml::to_string(&resolved).unwrap(), &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(agreements(&again), agreements(&first));
    assert_eq!(again.resolved(), resolved);
}

#[test]
fn what_a_host_has_once_no_workload_changes() {
    for (own, key) in [
        ("{ timestamps = false }", "timestamps"),
        ("{ receive_window = '64KB' }", "receive_window"),
        ("{ receiver = 'ictcp' }", "receiver"),
        ("{ ack_class = 1 }", "ack_class"),
        ("{ recovery = 'newreno' }", "recovery"),
    ] {
        let (at, message) = refusal(own);
        assert_eq!(at, format!("workload[1].tcp.{key}"));
        assert!(message.starts_with("must be the same for all connections of a host"), "{message}");
    }
}

#[test]
fn mistakes_in_it_have_their_place() {
    let (at, message) = refusal("{ congestoin = 'cubic' }");
    assert_eq!(at, "workload[1].tcp.congestoin");
    assert!(message.starts_with("unknown key"), "{message}");
    let (at, message) = refusal("{ congestion = { kind = 'cubic', beta = 2.0 } }");
    assert_eq!(
        (at.as_str(), message.as_str()),
        ("workload[1].tcp.congestion.beta", "must be above 0 and below 1, got 2")
    );
    let (at, _) = refusal("3");
    assert_eq!(at, "workload[1].tcp");
    let error = parse(SCENARIO, &[("workload.0.tcp", "{ congestion = 'cubic' }")]).unwrap_err();
    assert!(error.problems[0].message.starts_with("unknown key"), "{error}");
}

#[test]
fn a_preset_gives_a_congestion_control_the_same_however_it_is_named() {
    for kind in ["cubic", "reno", "dctcp"] {
        let of = |congestion: &str| {
            let tcp = format!("{{ preset = 'linux-6', congestion = {congestion} }}");
            agreements(&experiment(&[("workload.1.tcp", &tcp)]))[4].clone()
        };
        assert_eq!(of(&format!("'{kind}'")), of(&format!("{{ kind = '{kind}' }}")));
    }
}

#[test]
fn kinds_times_pairs_of_groups_are_no_more_than_anybody_writes() {
    // 64 groups and the hosts in no group: 65² pairs for each kind, so 16,384 agreements allow three kinds: the hosts' own and two more.
    let told = |own: usize| {
        let groups: Vec<_> =
            (0..64).map(|group| format!("{{ name = 'g{group}', members = {group} }}")).collect();
        let workload = |window: usize| {
            format!(
                "{{ kind = 'long-lived', senders = 0, receivers = 1, tcp = {{ initial_window = {window} }} }}"
            )
        };
        let workloads: Vec<_> = (1..=own).map(workload).collect();
        let text = format!(
            "stop.at = '1ms'\ntopology = {{ kind = 'star', hosts = 66, rate = '10Gbps' }}\n\
             switch.buffer = {{ kind = 'complete-sharing', pool = '1MB' }}\nhost.group = [{}]\nworkload = [{}]\n",
            groups.join(", "),
            workloads.join(", ")
        );
        parse(&text, &[]).err().map(|error| error.problems[0].message.clone()).unwrap_or_default()
    };
    assert_eq!(told(2), "");
    let expected = "3 workloads have different tcp tables of their own; with 65 groups of hosts, the maximum is 2: share tcp tables \
                    between workloads, or use fewer groups";
    assert_eq!(told(3), expected);
}
