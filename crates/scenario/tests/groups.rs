//! Tests of groups of hosts: their members, inherited settings, agreements between two groups, and rejected groups.

use crate::common::parse;
use shallows_core::packet::{Ecn, HostId};
use shallows_core::{Bytes, Duration};
use shallows_scenario::{Agreement, Experiment};
use shallows_transport::congestion::{Config as Congestion, EcnMode};
use shallows_transport::{Method, congestion::reno};

/// Twelve hosts in three racks.
const SCENARIO: &str = r#"
[stop]
at = "1s"

[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 4
rate = "10Gbps"
mtu = 9000

[switch]
buffer = { kind = "complete-sharing", pool = "1MB" }
markers = [{ kind = "threshold", k = "60KB" }]

[tcp]
congestion = { kind = "dctcp", g = 0.125 }
rto = { min = "10ms", initial = "20ms" }

[[workload]]
kind = "long-lived"
senders = "1"
receivers = 0
"#;

fn experiment(groups: &str) -> Experiment {
    parse(&format!("{SCENARIO}{groups}"), &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(groups: &str) -> String {
    parse(&format!("{SCENARIO}{groups}"), &[])
        .err()
        .unwrap_or_else(|| panic!("accepted: {groups}"))
        .to_string()
}

fn of_hosts(experiment: &Experiment) -> Vec<usize> {
    (0..12).map(|host| experiment.network.groups.of(HostId(host))).collect()
}

fn agreement(experiment: &Experiment, from: u32, to: u32) -> &Agreement {
    experiment.agreement(HostId(from), HostId(to))
}

#[test]
fn hosts_are_in_groups_by_number_name_and_rack() {
    let found = experiment(
        "[[host.group]]\nname = 'even'\nmembers = '4..12 step 4, host6'\n[[host.group]]\nname = 'rack'\nracks = \
         'leaf0'\nmembers = 11\n",
    );
    // Hosts 4, 8 and 6 are in the first group; those of the first rack, 0 to 3, and 11 are in the second.
    assert_eq!(of_hosts(&found), [2, 2, 2, 2, 1, 0, 1, 0, 1, 0, 0, 2]);
    assert_eq!(found.network.groups.names(), ["default", "even", "rack"]);
    let racks = experiment("[[host.group]]\nname = 'far'\nracks = '1..3'\n");
    assert_eq!(of_hosts(&racks), [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn workloads_name_groups() {
    let groups =
        "[[host.group]]\nname = 'old'\nmembers = '2..5'\n[[host.group]]\nname = 'older'\nmembers = 9\n";
    let found = |senders: &str| {
        let set = [("workload.0.senders", senders), ("workload.0.receivers", "group:default")];
        let experiment = parse(&format!("{SCENARIO}{groups}"), &set)?;
        let mut senders: Vec<u32> = experiment.pairs[0].iter().map(|(sender, _)| sender.0).collect();
        senders.dedup();
        Ok(senders)
    };
    assert_eq!(found("group:old"), Ok(vec![2, 3, 4]));
    assert_eq!(found("group:old*"), Ok(vec![2, 3, 4, 9]));
    assert_eq!(found("0, group:older"), Ok(vec![0, 9]));
    let unknown = found("group:new")
        .map_err(|error: shallows_scenario::ScenarioError| error.problems[0].message.clone());
    assert_eq!(
        unknown,
        Err("no group with hosts is named \"new\"; expected one of \"default\", \"old\", \"older\""
            .to_owned())
    );
}

#[test]
fn a_group_inherits_what_it_leaves_out_and_models_are_taken_whole() {
    let found = experiment(
        "[host.nic]\nlimit = '2MB'\nbackpressure = '64KiB'\n[[host.group]]\nname = 'new'\nmembers = '0..4'\nmtu = 1500\ndelay = '7us'\n\
         tcp = { rto = { min = '5ms' } }\nnic = { backpressure = 'off' }\n\
         [[host.group]]\nname = 'model'\nmembers = '4..8'\njitter = 'off'\ntcp = { congestion = { kind = 'dctcp', initial_alpha = 0.0 } }\n",
    );
    let [new, model, rest] = [0, 4, 8].map(|host| &agreement(&found, host, host).sender);
    assert_eq!((new.rto.minimum, new.rto.initial), (Duration::from_millis(5), Duration::from_millis(20)));
    assert_eq!(new.congestion, rest.congestion);
    // The gain is the default again, because a model is replaced as a whole.
    let Congestion::Dctcp(dctcp) = model.congestion else { panic!("{:?}", model.congestion) };
    assert_eq!((dctcp.gain, dctcp.initial_alpha), (1.0 / 16.0, 0.0));
    let groups = &found.hosts.groups;
    assert_eq!(groups[1].backpressure, None);
    assert_eq!(groups[2].backpressure, Some(Bytes(65_536)));
    // "auto" is one MTU on the link: 1,500 and 9,000 bytes at 10 Gb/s.
    let jitters = [0, 1, 2].map(|group: usize| groups[group].jitter);
    assert_eq!(jitters, [Duration::from_nanos(7_200), Duration::from_nanos(1_200), Duration::ZERO]);
    let delays = [0, 4, 8].map(|host: usize| found.network.links[host].delay);
    assert_eq!(delays, [8, 1, 1].map(Duration::from_micros));
    assert_eq!(found.network.buffers[0].pools, [Bytes(2_000_000)]);
}

#[test]
fn a_resolved_scenario_with_groups_is_the_same_experiment() {
    let first = experiment(
        "[[host.group]]\nname = 'small'\nmembers = '0..4'\nmtu = 1500\ntcp = { congestion = 'cubic', initial_window = 4 }\n\
         [[host.group]]\nname = 'rest'\nracks = '1..2'\ntcp = { timestamps = false, ack_class = 0 }\nnic = { backpressure = 'off' }\n",
    );
    let text = toml::to_string(&first.resolved()).expect("it has no nulls");
    let again = parse(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(again.resolved(), first.resolved());
    assert_eq!(of_hosts(&again), of_hosts(&first));
    for (from, to) in (0..12).flat_map(|from| (0..12).map(move |to| (from, to))) {
        assert_eq!(agreement(&again, from, to), agreement(&first, from, to), "{from} {to}");
    }
}

#[test]
fn the_smaller_mtu_and_fewer_options_make_the_segments_of_a_pair() {
    let found = experiment(
        "[[host.group]]\nname = 'small'\nmembers = '0..4'\nmtu = 1500\n\
         [[host.group]]\nname = 'plain'\nmembers = '4..8'\ntcp = { timestamps = false, initial_window = 4 }\n",
    );
    let mss = |from, to| {
        let agreement = agreement(&found, from, to);
        assert_eq!(agreement.sender.mss, agreement.receiver.mss);
        (agreement.sender.mss.0, agreement.header_bytes.0, agreement.sender.initial_window.0)
    };
    // 40 bytes of headers, plus 12 of timestamps if both hosts have them. The initial window is ten segments (RFC 6928 §2: at most 14,600
    // bytes, but at least two segments), or the four of the group, counted in segments of the connection.
    assert_eq!(mss(8, 9), (8_948, 52, 17_896));
    assert_eq!(mss(0, 8), (1_448, 52, 14_480));
    assert_eq!(mss(8, 0), (1_448, 52, 14_480));
    assert_eq!(mss(8, 4), (8_960, 40, 17_920));
    assert_eq!(mss(4, 8), (8_960, 40, 4 * 8_960));
    assert_eq!(mss(4, 0), (1_460, 40, 4 * 1_460));
    assert_eq!(mss(0, 4), (1_460, 40, 14_600));
    // Backpressure counts the connection's full packets.
    let packet = |from, to| agreement(&found, from, to).backpressure.map(|queue| queue.packet);
    assert_eq!([packet(8, 9), packet(8, 0)], [Some(Bytes(9_000)), Some(Bytes(1_500))]);
}

#[test]
fn ecn_needs_both_and_what_lives_on_it_is_reno_without() {
    for handshake in [false, true] {
        let found = experiment(&format!(
            "[[host.group]]\nname = 'deaf'\nmembers = '0..4'\ntcp = {{ congestion = 'cubic', ect = 'all', handshake = {handshake} }}\n\
             [[host.group]]\nname = 'classic'\nmembers = '4..8'\ntcp = {{ congestion = 'ecn-star', handshake = {handshake} }}\n\
             [[host.group]]\nname = 'hears'\nmembers = '8..12'\ntcp = {{ handshake = {handshake} }}\n",
        ));
        let modes = |from, to| {
            let agreement = agreement(&found, from, to);
            let [sender, receiver] =
                [&agreement.sender, &agreement.receiver].map(|side| side.congestion.ecn_mode());
            (sender, receiver, agreement.receiver.ack_ecn())
        };
        use EcnMode::{Accurate, Classic, Off};
        // RFC 3168 §6.1.1: a sender with a handshake requests ECN and learns from it that the receiver does not use ECN; without a
        // handshake this is known from the start.
        let asks = |mode| if handshake { mode } else { Off };
        assert_eq!(modes(8, 0), (asks(Accurate), Off, Ecn::NotEct));
        assert_eq!(modes(4, 0), (asks(Classic), Off, Ecn::NotEct));
        // A receiver whose sender does not request ECN echoes nothing, and its acknowledgements are not ECN-capable.
        assert_eq!(modes(0, 8), (Off, Off, Ecn::NotEct));
        // If both use ECN, each does so in its own way.
        assert_eq!(modes(8, 9), (Accurate, Accurate, Ecn::Ect));
        assert_eq!(modes(8, 4), (Accurate, Classic, Ecn::Ect));
        assert_eq!(modes(4, 8), (Classic, Accurate, Ecn::Ect));
        let without = Congestion::Reno(reno::Config { ecn: false });
        assert_eq!(agreement(&found, 8, 0).sender.congestion == without, !handshake);
        assert!(matches!(agreement(&found, 0, 8).sender.congestion, Congestion::Cubic(_)));
    }
}

#[test]
fn the_sender_decides_how_a_connection_opens_and_the_receiver_what_it_takes() {
    let found = experiment(
        "[[host.group]]\nname = 'polite'\nmembers = '0..4'\ntcp = { handshake = true, receive_window = '30KB', \
         recovery = 'newreno' }\n",
    );
    for (from, to, handshake, window) in
        [(0, 8, true, 1 << 30), (8, 0, false, 30_000), (0, 1, true, 30_000), (8, 9, false, 1 << 30)]
    {
        let Agreement { sender, receiver, .. } = agreement(&found, from, to);
        assert_eq!((sender.handshake, receiver.handshake), (handshake, handshake), "{from} {to}");
        assert_eq!(
            (sender.receive_window, receiver.receive_window),
            (Bytes(window), Bytes(window)),
            "{from} {to}"
        );
        // RFC 2018 §2: SACK only if both sides permit it.
        let sack = if (from, to) == (8, 9) { Method::Sack(None) } else { Method::NewReno };
        assert_eq!((sender.recovery, receiver.recovery), (sack, sack), "{from} {to}");
    }
}

#[test]
fn a_load_counts_the_headers_of_each_pairs_own_segments() {
    // From one host with an MTU of 1,500 and one with 9,000 bytes to one with 9,000: flows of 89,480 bytes are 62 segments with 52 bytes of
    // headers each (1,448 · 61 = 88,328), or ten. On average that is 89,480 + 36 · 52 = 91,352 bytes; half of 10 Gb/s carries 6,841.7 flows
    // a second.
    let sets = [(
        "workload.0",
        "{ kind = 'poisson', load = 0.5, senders = '0, 8', receivers = 4, sizes = { kind = 'fixed', size = '89480B' } }",
    )];
    let groups = "[[host.group]]\nname = 'small'\nmembers = '0..4'\nmtu = 1500\n";
    let mixed = parse(&format!("{SCENARIO}{groups}"), &sets).unwrap_or_else(|error| panic!("{error}"));
    let flows = mixed.arrivals()[0].flows;
    assert!((flows / (5e9 / 8.0 / 91_352.0) - 1.0).abs() < 1e-3, "{flows}");
}

fn group(rest: &str) -> String {
    format!("[[host.group]]\nname = 'a'\n{rest}\n")
}

/// Asserts that the scenario with each of these groups is rejected with the message beside it.
fn refused(cases: &[(String, &str)]) {
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let found = refusal(text);
        let message = found.lines().next().unwrap_or_default();
        if !message.ends_with(expected) {
            wrong.push(format!("{text}\n{message}\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn hosts_that_are_nobody_or_in_two_groups_are_refused_at_their_place() {
    let two = |rest: &str| group("members = '0..4'") + rest;
    refused(&[
        (group(""), "host.group[0]: must have members, such as \"0..8\", or racks, such as \"0..2\""),
        (group("members = '8..14'"), "host.group[0].members: must name hosts from 0 to 11, got hosts 8..14"),
        (group("members = '3..3'"), "host.group[0].members: must name at least one host"),
        (group("racks = '1..4'"), "host.group[0].racks: must name racks from 0 to 2, got racks 1..4"),
        (
            group("racks = 'spine0'"),
            "host.group[0].racks: no rack is named \"spine0\"; use a name such as \"leaf0\"",
        ),
        (
            group("members = 'group:b'"),
            "host.group[0].members: the members of a group must be hosts, not groups",
        ),
        (
            two("[[host.group]]\nname = 'b'\nmembers = '3..6'\n"),
            "host.group[1].members: host 3 is already in the group \"a\"; a host must be in at most one group",
        ),
        (
            two("[[host.group]]\nname = 'b'\nracks = '0..2'\n"),
            "host.group[1].racks: host 0 is already in the group \"a\"; a host must be in at most one group",
        ),
        (
            two("[[host.group]]\nname = 'a'\nmembers = '5..6'\n"),
            "host.group[1].name: each group must have a unique name, got \"a\" twice",
        ),
        (
            "[[host.group]]\nname = 'default'\nmembers = 0\n".to_owned(),
            "host.group[0].name: must not be \"default\", the name of the group of all remaining hosts; use another name",
        ),
        (
            "[[host.group]]\nname = 'a b'\nmembers = 0\n".to_owned(),
            "host.group[0].name: must be a name of letters, digits, \"-\", \"_\" and \".\" with at least one \
             character that is not a digit, got \"a b\"",
        ),
    ]);
    let set = [("workload.0.senders", "group:old")];
    let none = parse(SCENARIO, &set).expect_err("there is no group").to_string();
    let expected = "workload[0].senders: no group is named \"old\"; add a [[host.group]] with this name";
    assert!(none.contains(expected), "{none}");
}

#[test]
fn keys_of_a_group_are_refused_at_their_place() {
    refused(&[
        (
            group("members = 0\nmtu = 9001"),
            "host.group[0].mtu: must be at most topology.mtu = 9KB, the maximum packet size of links, got 9.001KB; \
             use a smaller MTU for the group, or a larger topology.mtu",
        ),
        (
            group("members = 0\nmtu = 80"),
            "host.group[0].mtu: must be at least 81B (52B of headers, 28B of SACK blocks and 1B of data), got 80B",
        ),
        (
            group("members = 0\nframing = 38"),
            "host.group[0].framing: unknown key; allowed keys: name, members, racks, tcp, roce, nic, mtu, delay, jitter",
        ),
        (
            group("members = 0\ntcp = { rto = { mim = '1ms' } }"),
            "host.group[0].tcp.rto.mim: unknown key (did you mean \"min\"?); allowed keys: initial, min, max, granularity",
        ),
        (
            group("members = 0\ntcp = { rto = { min = '90s' } }"),
            "host.group[0].tcp.rto.min: must be at most max = 60s, got 90s",
        ),
        (
            group("members = 0\ntcp = { ack_class = 64 }"),
            "host.group[0].tcp.ack_class: must be a class from 0 to 63, got 64",
        ),
        (
            group("members = 0\nnic = { limit = '1KB' }"),
            "host.group[0].nic.limit: must be at least one packet of 9KB, got 1KB",
        ),
        (
            group("members = 0\nnic = { shaper = { rate = '1Gbps', burst = '1KB' } }"),
            "host.group[0].nic.shaper.burst: must be at least one packet of 9KB, got 1KB",
        ),
        (
            group("members = 0\ntcp = { initial_window = '1448B' }"),
            "host.group[0].tcp.initial_window: must be at least one segment of 8.948KB, got 1.448KB",
        ),
        (
            group(
                "members = 0\ntcp = { timestamps = false }\n[[host.group]]\nname = 'b'\nmembers = 1\ntcp = { \
                 receiver = 'ictcp' }",
            ),
            "host.group[0].tcp.timestamps: must be true or left out, because hosts with receiver = \"ictcp\" measure \
             round-trip times with timestamps",
        ),
    ]);
}

#[test]
fn hosts_that_do_not_speak_ecn_are_warned_of() {
    let warnings =
        experiment("[[host.group]]\nname = 'deaf'\nmembers = '0..4'\ntcp = { congestion = 'cubic' }\n")
            .warnings();
    let expected = "connections between some groups of hosts do not use ECN: markers drop their packets instead of \
                    marking them";
    assert!(warnings.iter().any(|warning| warning == expected), "{warnings:?}");
    // A group without hosts has no connections, so here no connection uses ECN.
    let deaf = experiment("[[host.group]]\nname = 'deaf'\nmembers = 'all'\ntcp = { congestion = 'cubic' }\n")
        .warnings();
    assert!(deaf.iter().any(|warning| warning.starts_with("connections do not use ECN")), "{deaf:?}");
}

#[test]
fn a_group_with_a_preset_inherits_nothing_beside_it() {
    let old =
        "[[host.group]]\nname = 'linux'\nmembers = 1\ntcp = { preset = 'linux-6', rto = { min = '5ms' } }\n";
    let experiment = experiment(old);
    let of = |host| &agreement(&experiment, host, host).sender;
    assert!(matches!(of(1).congestion, Congestion::Cubic(_)), "{:?}", of(1).congestion);
    assert!(matches!(of(1).recovery, Method::Rack(_)), "{:?}", of(1).recovery);
    assert_eq!(of(1).rto.minimum, Duration::from_millis(5));
    // Linux has one tcp_rto_min, so both values follow the group's minimum.
    assert_eq!([of(1).rto.granularity, of(1).rack.max_ack_delay], [Duration::from_millis(5); 2]);
    // tcp_delack_max: one tick of 4 ms less than the two ticks that 5 ms need.
    assert_eq!(of(1).delayed_ack.timeout, Duration::from_millis(4));
    // The first timeout of the other hosts is 20 ms, Linux' one second.
    assert_eq!((of(0).rto.initial, of(1).rto.initial), (Duration::from_millis(20), Duration::from_secs(1)));
    let notes: Vec<&String> = experiment.notes.iter().filter(|note| note.contains("preset")).collect();
    assert!(
        matches!(notes.as_slice(), [note] if note.starts_with("group linux: tcp.preset \"linux-6\" sets ")),
        "{notes:?}"
    );
    let error = refusal("[[host.group]]\nname = 'linux'\nmembers = 1\ntcp = { preset = 'linux-5' }\n");
    assert!(error.contains("linux-5") && error.contains("linux-6"), "{error}");
}

#[test]
fn a_reaction_to_ece_is_kept_by_a_group_that_meets_one_without_ecn() {
    // linux-6 sets ece_reaction = "prr". Between the groups there is no ECN, which is valid for both.
    let groups = r#"
[[host.group]]
name = "linux"
members = "0..6"
tcp = { preset = "linux-6", congestion = "dctcp" }

[[host.group]]
name = "plain"
members = "6..12"
tcp = { congestion = { kind = "reno", ecn = false } }
"#;
    let found = experiment(groups);
    assert_eq!(agreement(&found, 0, 1).sender.congestion.ecn_mode(), EcnMode::Accurate);
    assert_eq!(agreement(&found, 7, 0).sender.congestion.ecn_mode(), EcnMode::Off);
}
