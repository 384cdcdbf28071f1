//! Invalid input: each mistake is rejected with its place, the value found and the allowed values.

mod common;

use common::{BCC_F2, DUMBBELL, LEAF_SPINE, parse, read};

/// Returns the whole message for `text` changed by `sets`.
fn message(text: &str, sets: &[(&str, &str)]) -> String {
    parse(text, sets).err().unwrap_or_else(|| panic!("accepted: {sets:?}")).to_string()
}

/// Returns the message for BCC-F2 with one line replaced by others.
fn replaced(from: &str, to: &str) -> String {
    assert!(BCC_F2.contains(from), "{from}");
    message(&BCC_F2.replacen(from, to, 1), &[])
}

#[test]
fn an_unknown_key_is_shown_in_its_line_with_the_nearest_one() {
    assert_eq!(
        replaced("alpha = 4\n", "alfa = 4\n"),
        "s.toml:19:1: switch.buffer.alfa: unknown key (did you mean \"alpha\"?); known here: alpha, pool, \
         ports_per_pool, reserved, reserved_rule, counts, cell\n   |\n19 | alfa = 4\n   | ^"
    );
    let unknown = message(&format!("colour = 'red'\n{BCC_F2}"), &[]);
    assert!(
        unknown.starts_with("s.toml:1:1: colour: unknown key; known here: name, seed, stop,"),
        "{unknown}"
    );
}

#[test]
fn a_wrong_unit_inside_a_list_of_tagged_tables_is_shown_at_its_key() {
    let found = replaced(
        "markers = [{ kind = \"threshold\", k = \"720KB\"",
        "markers = [{ kind = \"threshold\", k = \"720kb\"",
    );
    assert_eq!(
        found,
        "s.toml:15:34: switch.markers[0].k: \"720kb\" is not a size such as \"720KB\": the unit is missing or unknown; did you mean \"720KB\"? \
         (units: B, KB, MB, GB, TB, KiB, MiB, GiB), or packets: \"80p\", or a time on the link: \"20us\"\n   |\n\
         15 | markers = [{ kind = \"threshold\", k = \"720kb\", at = \"dequeue\", counts_packet = true }]\n   \
         |                                  ^"
    );
}

#[test]
fn an_unknown_kind_is_refused_with_the_known_ones() {
    for (from, to, expected) in [
        (
            "kind = \"star\"",
            "kind = \"leafspine\"",
            "s.toml:6:1: topology.kind: unknown topology \"leafspine\" (did you mean \"leaf-spine\"?); expected one of \
             \"star\", \"dumbbell\", \"leaf-spine\", \"fat-tree\", \"graph\"",
        ),
        (
            "kind = \"threshold\", k = \"720KB\", at = \"dequeue\"",
            "k = \"720KB\", at = \"dequeue\"",
            "s.toml:15:12: switch.markers[0]: the key \"kind\" is missing; expected one of \"drop-tail\", \"threshold\", \"red\", \"mq-ecn\", \
             \"red-classic\", \"ein\", \"ein-as-released\", \"tcn\", \"codel\", \"bcc\"",
        ),
        (
            "egress_drop = \"slot\"",
            "egress_drop = \"slots\"",
            "s.toml:14:1: switch.egress_drop: \"slots\" is unknown (did you mean \"slot\"?); expected one of \"slot\", \"free\"",
        ),
    ] {
        let found = replaced(from, to);
        assert_eq!(found.lines().next(), Some(expected));
    }
}

/// A key of BCC-F2, an impossible value for it, and the end of its message.
const IMPOSSIBLE: &[(&str, &str, &str)] = &[
    ("topology.hosts", "0", "topology.hosts: 0 is too few; at least 2"),
    (
        "topology.hosts",
        "-1",
        "topology.hosts: invalid value: integer `-1`, expected a whole number from 0 to 4294967295",
    ),
    ("topology.hosts", "4000000000", "topology.hosts: 4000000000 hosts are too many; at most 131072"),
    (
        "topology.mtu",
        "50",
        "topology.mtu: 50B is too small; at least 69B: 40B of headers, 28B of SACK blocks, one of data",
    ),
    (
        "topology.mtu",
        "70000",
        "topology.mtu: invalid value: integer `70000`, expected a whole number of bytes from 0 to 65535, or a size such as \"9KB\"",
    ),
    ("topology.mtu", "70KB", "topology.mtu: 70KB is above 65535, the largest packet"),
    ("topology.framing", "60000", "topology.mtu: 9KB and 60KB of framing are more than 65535 bytes"),
    ("topology.rate", "0bps", "topology.rate: \"0bps\" is not between 1Mbps and 100Tbps"),
    (
        "switch.buffer.reserved",
        "4MiB",
        "switch.buffer.reserved: 4MiB for each port is more than the whole pool, 3MiB",
    ),
    ("switch.buffer.alpha", "0", "switch.buffer.alpha: 0 is not above 0 and at most 1024"),
    ("switch.buffer.alpha", "nan", "switch.buffer.alpha: NaN is not above 0 and at most 1024"),
    ("switch.buffer.pool", "8KB", "switch.buffer.pool: 8KB does not hold one packet of 9KB"),
    ("switch.buffer.ports_per_pool", "0", "switch.buffer.ports_per_pool: 0 ports; at least 1"),
    ("host.nic.limit", "0p", "host.nic.limit: 0p does not hold one packet of 9KB"),
    ("tcp.congestion.g", "0", "tcp.congestion.g: 0 is not above 0 and at most 1"),
    (
        "tcp.congestion",
        "{ kind = 'dctcp', g = 0.06, arithmetic = 'fixed' }",
        "tcp.congestion.g: 0.06 is not 1, 1/2, 1/4, … or 1/1024, as arithmetic = \"fixed\" demands",
    ),
    ("tcp.congestion", "{ kind = 'cubic', beta = 1.0 }", "tcp.congestion.beta: 1 is not between 0 and 1"),
    (
        "tcp.congestion",
        "{ kind = 'cubic', tick = '4ms' }",
        "tcp.congestion.tick: only counting = \"segments\" has a clock: set that, or leave this out",
    ),
    (
        "tcp.congestion",
        "{ kind = 'cubic', hystart = 'hystart++', hystart_delay = '1ms' }",
        "tcp.congestion.hystart_delay: only hystart = \"linux\" has it: set that, or leave this out",
    ),
    (
        "tcp.congestion",
        "{ kind = 'cubic', hystart = 'linux', hystart_delay = '0s' }",
        "tcp.congestion.hystart_delay: it is 0; above 0, or leave it out",
    ),
    ("tcp.congestion", "{ kind = 'cubic', c = 0.0 }", "tcp.congestion.c: 0 is not above 0"),
    (
        "tcp.congestion",
        "{ kind = 'pulser', safe_window = 0 }",
        "tcp.congestion.safe_window: 0B is less than one segment, 8.96KB",
    ),
    (
        "tcp.congestion",
        "{ kind = 'pulser', dctcp = { g = 2.0 } }",
        "tcp.congestion.dctcp.g: 2 is not above 0 and at most 1",
    ),
    (
        "tcp.congestion",
        "{ kind = 'pulser', g = 0.5 }",
        "tcp.congestion.g: unknown key; known here: safe_window, restore, as_released, dctcp",
    ),
    (
        "tcp.congestion",
        "'ecn*'",
        "tcp.congestion: unknown congestion control \"ecn*\"; expected one of \"reno\", \"ecn-star\", \"dctcp\", \"cubic\", \"pulser\"",
    ),
    (
        "tcp.recovery",
        "'new-reno'",
        "tcp.recovery: \"new-reno\" is unknown (did you mean \"newreno\"?); expected one of \"sack\", \"rack\", \"fulltcp\", \"sack1\", \"newreno\", \"reno\"",
    ),
    (
        "tcp.preset",
        "linux",
        "tcp.preset: unknown preset \"linux\" (did you mean \"linux-6\"?); expected one of \"linux-6\", \"ns-2\", \"rfc\", \"windows-2022\"",
    ),
    ("tcp.initial_window", "0", "tcp.initial_window: 0B is less than one segment, 8.96KB"),
    ("tcp.initial_window", "126", "tcp.initial_window: 1128.96KB is above max_window = 1.12MB"),
    ("tcp.rto.max", "1ms", "tcp.rto.min: 5ms is above max = 1ms"),
    ("tcp.delayed_ack.segments", "0", "tcp.delayed_ack.segments: 0 is too few; at least 1"),
    ("measure.bins", "['2KB', '1KB']", "measure.bins: the edges must ascend, such as [\"100KB\", \"10MB\"]"),
    ("measure.sample_queues", "0s", "measure.sample_queues: the interval is too short; at least 1ns"),
    (
        "workload",
        "[]",
        "workload: nothing is sent; add a [[workload]] of kind \"poisson\", \"long-lived\", \"incast\", \
         \"partition-aggregate\", \"block-transfer\", \"trace\", \"udp\" or \"ping\"",
    ),
    (
        "workload.0.load",
        "1.2",
        "workload[0].load: 1.2 is not in (0, 1); a load of 1 or more needs overload = true",
    ),
    (
        "workload.0.load",
        "nan",
        "workload[0].load: NaN is not in (0, 1); a load of 1 or more needs overload = true",
    ),
    (
        "workload.0.load",
        "-0.5",
        "workload[0].load: -0.5 is not in (0, 1); a load of 1 or more needs overload = true",
    ),
    // 1,711,250.5 B · 9000/8960 · 8 at 800 bit/s: 17,189 s for each flow.
    ("workload.0.load", "1e-9", "workload[0].load: at 0.000000001 100000 flows take 19895 days; at most 100"),
    ("workload.0.flows", "0", "workload[0].flows: 0 flows; a number from 1 to 4294967295"),
    ("workload.0.senders", "", "workload[0].senders: no host at all; name at least one"),
    (
        "workload.0.receivers",
        "0..40",
        "workload[0].receivers: hosts 0..40 not in the network, whose hosts are 0..32",
    ),
    (
        "workload.0.of",
        "uplinks",
        "workload[0].of: no flow crosses any of the uplinks (a load of the receivers has of = \"receivers\")",
    ),
    (
        "workload.0.sizes",
        "{ kind = 'uniform', from = '2KB', to = '1KB' }",
        "workload[0].sizes: no size lies from 2KB to 1KB; from must be above 0B and at most to",
    ),
    (
        "workload.0.connections.per_pair",
        "30000",
        "workload[0].connections.per_pair: 30000 for each of 192 pairs are 5760000 connections; at most 4194304",
    ),
];

#[test]
fn each_impossible_value_is_refused_with_what_is_allowed() {
    for &(key, value, expected) in IMPOSSIBLE {
        let found = message(BCC_F2, &[(key, value)]);
        // If another key makes the value impossible, the message is at that key in the file.
        let told = found.strip_prefix(&format!("--set {key}={value}: ")).unwrap_or(&found);
        assert!(told.lines().next().is_some_and(|line| line.ends_with(expected)), "{key} = {value}: {found}");
    }
}

#[test]
fn markers_that_make_no_curve_are_refused() {
    let red = |kmin: &str, kmax: &str, pmax: &str| {
        let marker = format!("[{{ kind = 'red', kmin = '{kmin}', kmax = '{kmax}', pmax = {pmax} }}]");
        let found = message(BCC_F2, &[("switch.markers", &marker)]);
        found.split_once(": ").map(|(_, rest)| rest.to_owned()).unwrap_or_default()
    };
    assert_eq!(red("2KB", "1KB", "0.1"), "switch.markers[0].kmin: 2KB is above kmax = 1KB");
    assert_eq!(
        red("1KB", "2KB", "0"),
        "switch.markers[0].pmax: 0 is not a probability above 0 and at most 1"
    );
    assert_eq!(
        red("1KB", "2KB", "1.5"),
        "switch.markers[0].pmax: 1.5 is not a probability above 0 and at most 1"
    );
}

#[test]
fn a_host_that_only_sends_to_itself_is_refused() {
    let sets = [("workload.0.senders", "3"), ("workload.0.receivers", "3")];
    assert_eq!(
        message(BCC_F2, &sets),
        "--set workload.0.receivers=3: workload[0].receivers: host 3 would only send to itself"
    );
}

#[test]
fn a_link_that_is_offered_too_much_is_named_with_the_numbers() {
    // 90 % in payload is 90 % · 9000/8960 of full packets on the wire, still below 1; 99.8 % is above.
    assert!(parse(BCC_F2, &[("workload.0.counted", "payload")]).is_ok());
    let sets = [("workload.0.counted", "payload"), ("workload.0.load", "0.998")];
    assert_eq!(
        message(BCC_F2, &sets),
        "--set workload.0.load=0.998: workload[0].load: a load of 0.998 offers the link switch0->host0 1.0025 times its \
         100Gbps, headers included; less than 1, or overload = true"
    );
    let overload = [("workload.0.load", "1.2"), ("workload.0.overload", "true")];
    assert!(parse(BCC_F2, &overload).is_ok());
}

/// Parses a star of 10 Gb/s with sources of datagrams.
fn flood(workloads: &str) -> Result<(), String> {
    let text = format!(
        "stop.at = '1ms'\ntopology = {{ kind = 'star', hosts = 4, rate = '10Gbps' }}\n\
         switch.buffer = {{ kind = 'static-partition', per_port = '9p' }}\nworkload = [{workloads}]"
    );
    parse(&text, &[]).map(|_| ()).map_err(|error| error.problems[0].to_string().replace('\n', " "))
}

#[test]
fn datagrams_beyond_the_rate_of_a_link_need_overload() {
    let udp = |senders: &str, pattern: &str| {
        format!("{{ kind = 'udp', senders = '{senders}', receivers = 3, pattern = {{ {pattern} }} }},")
    };
    let constant = |senders, rate| udp(senders, &format!("kind = 'constant', rate = '{rate}'"));
    let error = flood(&constant("0", "40Gbps")).unwrap_err();
    let expected = "workload[0].pattern.rate: 40Gbps offers the link host0->switch0 4.0000 times its 10Gbps, with \
                    what came before; at most 1, or overload = true";
    assert!(error.contains(expected), "{error}");
    assert_eq!(flood(&constant("0", "40Gbps").replace("'udp'", "'udp', overload = true")), Ok(()));
    assert_eq!(flood(&constant("0", "10Gbps")), Ok(()), "line rate");
    assert_eq!(flood(&udp("0", "kind = 'poisson', rate = '10Gbps'")), Ok(()));
    // Bursts at 20 Gb/s for half of the time fill a link; for three fifths of the time they do not fit.
    let bursts = |on| udp("0", &format!("kind = 'on-off', rate = '20Gbps', on = '{on}', off = '2us'"));
    assert_eq!(flood(&bursts("2us")), Ok(()));
    assert!(flood(&bursts("3us")).unwrap_err().contains("1.2000 times"));
    // Three sources of 4 Gb/s into one receiver, in one workload or in two.
    let error = flood(&constant("0..3", "4Gbps")).unwrap_err();
    assert!(error.contains("from each of 3 sources offers the link switch0->host3 1.2000 times"), "{error}");
    let error = flood(&(constant("0..2", "4Gbps") + &constant("2", "4Gbps"))).unwrap_err();
    assert!(error.contains("workload[1].pattern.rate") && error.contains("1.2000 times"), "{error}");
}

#[test]
fn runs_without_an_end_are_refused() {
    let no_flows = BCC_F2.replacen("flows = 100_000\n", "", 1);
    assert_eq!(
        message(&no_flows, &[]).lines().next(),
        Some("s.toml:44:1: workload[0]: it never ends; give it a number of flows, or the run a stop.at")
    );
    let no_stop = DUMBBELL.replacen("stop.at = \"10ms\"", "", 1);
    let found = message(&no_stop, &[]);
    assert!(found.contains("workload[0]: it never ends; give the run a time: stop.at"), "{found}");
    assert!(found.contains("workload[2]: it never ends; give it a number of flows"), "all at once: {found}");
    let sources = "[[workload]]\nkind = 'ping'\nsenders = 0\nreceivers = 2\ninterval = '1ms'\n\
                   [[workload]]\nkind = 'udp'\nsenders = 0\nreceivers = 2\npattern = { kind = 'constant', rate = '1Mbps' }\n";
    let star = "topology = { kind = 'star', hosts = 3, rate = '1Gbps' }\n[switch]\n\
                buffer = { kind = 'static-partition', per_port = '100KB' }\n[tcp]\n";
    let found = message(&format!("{star}{sources}"), &[]);
    for workload in 0..2 {
        let said = format!("workload[{workload}]: it never ends; give it a stop, or the run a time: stop.at");
        assert!(found.contains(&said), "{found}");
    }
    let stops = [("workload.0.stop", "10ms"), ("workload.1.stop", "20ms")];
    assert!(parse(&format!("{star}{sources}"), &stops).is_ok());
}

#[test]
fn missing_files_and_bad_ones_are_refused_with_their_line() {
    let found = message(DUMBBELL, &[("workload.1.path", "nowhere.csv")]);
    assert!(
        found.starts_with(
            "--set workload.1.path=nowhere.csv: workload[1].path: cannot read \"nowhere.csv\": there is none"
        ),
        "{found}"
    );
    let found = message(DUMBBELL, &[("workload.2.sizes", "nowhere.cdf")]);
    assert!(found.contains("workload[2].sizes: cannot read \"nowhere.cdf\": there is none"), "{found}");
    // A flow list instead of a distribution, and a distribution instead of a flow list.
    assert_eq!(
        message(DUMBBELL, &[("workload.2.sizes", "flows.csv")]),
        "--set workload.2.sizes=flows.csv: workload[2].sizes: flows.csv, line 1: \
         \"start_ns,source,destination,bytes\" is not a value and a share"
    );
    assert_eq!(
        message(DUMBBELL, &[("workload.1.path", "sizes.cdf")]),
        "--set workload.1.path=sizes.cdf: workload[1].path: sizes.cdf, line 1: the header is \
         \"start_ns,source,destination,bytes\", then any of \"class\", \"port\", \"after\", \"count\", \
         \"on_received\", \"on_acked\"; found \"# bytes, percent\""
    );
}

#[test]
fn a_threshold_that_lets_nothing_pass_is_refused() {
    // 0.002 of 3 MiB are 6,291 bytes.
    let sets = [("switch.buffer.alpha", "0.002"), ("switch.buffer.reserved", "0B")];
    let error = parse(BCC_F2, &sets).unwrap_err().to_string();
    let expected =
        "switch.buffer.alpha: 0.002 of a pool of 3MiB does not hold one packet of 9KB, nor do reserved bytes";
    assert!(error.contains(expected), "{error}");
    assert!(parse(BCC_F2, &sets[..1]).is_ok(), "reserved bytes hold a packet");
}

#[test]
fn several_mistakes_are_reported_at_once() {
    let sets = [("topology.hosts", "0"), ("switch.buffer.alpha", "0"), ("tcp.congestion.g", "2")];
    let problems = parse(BCC_F2, &sets).unwrap_err().problems;
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["tcp.congestion.g", "switch.buffer.alpha", "topology.hosts"]);
    assert!(problems.iter().all(|problem| problem.set.is_some() && problem.line == 0));
}

#[test]
fn a_star_in_a_key_is_every_entry_of_a_list() {
    let two = "[{ kind = 'threshold', k = '1KB' }, { kind = 'threshold', k = '2KB', at = 'dequeue' }]";
    let sets = [("switch.markers", two), ("switch.markers.*.k", "30KB")];
    let resolved = parse(BCC_F2, &sets).unwrap().resolved();
    let markers = resolved["switch"]["markers"].as_array().unwrap();
    let found: Vec<_> = markers.iter().map(|marker| (&marker["k"], &marker["at"])).collect();
    assert_eq!(found, [(&"30KB".into(), &"enqueue".into()), (&"30KB".into(), &"dequeue".into())]);
}

#[test]
fn what_an_option_gets_wrong_is_said_of_the_option() {
    for (key, value, expected) in [
        (
            "switch.bufer.alpha",
            "1",
            "switch.bufer: unknown key (did you mean \"buffer\"?); known here: buffer, port, markers, shaper, egress_drop, \
             ecmp, overrides",
        ),
        ("workload.3.load", "1", "workload[3] does not exist; workload has 1 entries"),
        ("topology.rate.x", "1", "rate has no keys; it is \"100Gbps\""),
        ("a..b", "1", "the key is not of the form section.key or section[0].key"),
        ("seed.x", "1", "seed has no keys; it is 1"),
        ("topology.*.rate", "1", "\"topology\" is no list, of which * would be every entry"),
        (
            "workload.*.senders",
            "77",
            "workload[0].senders: host 77 not in the network, whose hosts are 0..32",
        ),
    ] {
        let found = message(BCC_F2, &[(key, value)]);
        assert_eq!(found, format!("--set {key}={value}: {expected}"));
    }
}

#[test]
fn text_that_is_not_toml_is_refused_at_its_place() {
    assert_eq!(
        replaced("load = 0.9", "load = 0.9\nload = 0.8"),
        "s.toml:47:1: duplicate key\n   |\n47 | load = 0.8\n   | ^"
    );
    assert_eq!(
        message("seed = ", &[]).lines().next(),
        Some("s.toml:1:8: string values must be quoted, expected literal string")
    );
    assert_eq!(message("", &[]), "s.toml: the key \"topology\" is missing");
}

#[test]
fn a_link_override_names_two_neighbours() {
    let found = message(LEAF_SPINE, &[("topology.links.0.between", "['leaf0', 'leaf1']")]);
    assert_eq!(
        found,
        "--set topology.links.0.between=['leaf0', 'leaf1']: topology.links[0].between: there is no link between these \
         two; one is [\"leaf7\", \"spine7\"]"
    );
}

#[test]
fn a_link_override_changes_something_once() {
    let links = |list: &str| message(LEAF_SPINE, &[("topology.links", list)]);
    assert!(
        links("[{ between = ['leaf0', 'spine1'] }]")
            .ends_with("topology.links[0]: it changes nothing; give it a rate, a delay or both")
    );
    // With its ends exchanged it is the same link.
    let twice = "[{ between = ['leaf0', 'spine1'], rate = '90Gbps' }, { between = ['spine1', 'leaf0'], delay = '1us' }]";
    assert!(links(twice).ends_with(
        "topology.links[1].between: topology.links[0] is about this link too; one entry for each link"
    ));
}

#[test]
fn a_bound_that_contradicts_a_default_is_shown_where_it_was_given() {
    // A segment is 1,500 bytes minus 40 of headers and 12 of timestamps; the initial window is ten segments (RFC 6928).
    for (key, value, expected) in [
        ("tcp.rto.max", "1us", "tcp.rto.max: 1us is below min = 1s, its default"),
        ("tcp.max_window", "5", "tcp.max_window: 7.24KB is below initial_window = 14.48KB, its default"),
        (
            "topology.framing",
            "65000",
            "topology.framing: 1.5KB and 65KB of framing are more than 65535 bytes",
        ),
    ] {
        let found = message(DUMBBELL, &[(key, value)]);
        let first = found.lines().next().unwrap_or_default();
        assert_eq!(first, format!("--set {key}={value}: {expected}"));
    }
}

#[test]
fn a_seed_beyond_the_integers_of_toml_is_refused_everywhere() {
    assert_eq!(
        message(BCC_F2, &[("seed", "9223372036854775808")]),
        "--set seed=9223372036854775808: seed: invalid type: string \"9223372036854775808\", expected a whole number \
         from 0 to 9223372036854775807"
    );
    let with = |seed| shallows_scenario::parse(BCC_F2, "s.toml", &read, &[], Some(seed));
    assert_eq!(
        with(1 << 63).unwrap_err().to_string(),
        "s.toml: seed 9223372036854775808 is above 9223372036854775807, the largest"
    );
    assert_eq!(with((1 << 63) - 1).unwrap().seed, (1 << 63) - 1);
    assert!(parse(BCC_F2, &[("seed", "9223372036854775807")]).is_ok());
}

#[test]
fn a_name_that_files_nothing_is_refused() {
    for name in ["''", "'  '", "'..'"] {
        assert!(message(BCC_F2, &[("name", name)]).contains("at least one letter or digit"), "{name}");
    }
    for name in ["'a/b'", "'a\\b'", "\"a\\nb\""] {
        assert!(
            message(BCC_F2, &[("name", name)]).contains("a path separator; neither is allowed"),
            "{name}"
        );
    }
}

#[test]
fn settings_that_would_change_nothing_are_refused_with_what_to_do() {
    for (sets, expected) in [
        (
            &[("tcp.recovery", "newreno"), ("tcp.prr", "ssrb")][..],
            "tcp.prr: it is a part of recovery by \"sack\" or \"rack\": set tcp.prr = \"off\", or tcp.recovery = \"sack\"",
        ),
        (
            &[("tcp.recovery", "fulltcp"), ("tcp.frto", "true")],
            "tcp.frto: it needs selective acknowledgements: leave it out, or set tcp.recovery = \"rack\" or \"sack\"",
        ),
        (
            &[("tcp.recovery", "newreno"), ("tcp.dsack", "true")],
            "tcp.dsack: it needs selective acknowledgements: leave it out, or set tcp.recovery = \"rack\" or \"sack\"",
        ),
        (
            &[("tcp.congestion", "{ kind = 'cubic', hystart = 'linux' }"), ("tcp.timestamps", "false")],
            "tcp.congestion.hystart: it needs a round-trip time with each acknowledgement: set tcp.timestamps = true, or \
             tcp.recovery = \"rack\"",
        ),
        (
            &[("tcp.delayed_ack", "{ segments = 1, quick = 16 }")],
            "tcp.delayed_ack.quick: every segment is acknowledged at once: leave it out, or set tcp.delayed_ack.segments = 2",
        ),
        (
            &[("tcp.delayed_ack", "{ segments = 1, cwr_at_once = true }")],
            "tcp.delayed_ack.cwr_at_once: every segment is acknowledged at once: leave it out, or set tcp.delayed_ack.segments = 2",
        ),
        (
            &[("tcp.rack.timer_slack", "1ms")],
            "tcp.rack: only RACK-TLP asks: leave it out, or set tcp.recovery = \"rack\"",
        ),
        (
            &[("tcp.recovery", "reno"), ("tcp.sack_after_timeout", "forgotten")],
            "tcp.sack_after_timeout: only RFC 6675's recovery asks: leave it out, or set tcp.recovery = \"sack\"",
        ),
        (
            &[("tcp.lost_syn", "linux")],
            "tcp.lost_syn: without a handshake no SYN is lost: leave it out, or set tcp.handshake = true",
        ),
        (
            &[("tcp.congestion", "reno"), ("tcp.ece_reaction", "prr")],
            "tcp.ece_reaction: its congestion control answers no ECE by a smaller window: leave it out, or set ecn = true in \
             tcp.congestion",
        ),
        (
            &[("tcp.congestion", "{ kind = 'pulser', as_released = true }"), ("tcp.ece_reaction", "prr")],
            "tcp.ece_reaction: its congestion control answers no ECE by a smaller window: leave it out, or set ecn = true in \
             tcp.congestion",
        ),
        (
            &[("tcp.congestion", "cubic"), ("tcp.avoidance", "per-ack")],
            "tcp.avoidance: cubic has a congestion avoidance of its own: leave it out",
        ),
        (
            &[("tcp.limited_transmit_repairs", "true")],
            "tcp.limited_transmit_repairs: it needs limited transmit without selective acknowledgements: leave it out, or set \
             tcp.limited_transmit = true and tcp.recovery = \"newreno\"",
        ),
        (
            &[("tcp.full_ack", "ssthresh")],
            "tcp.full_ack: only NewReno asks: leave it out, or set tcp.recovery = \"newreno\"",
        ),
        (
            &[("switch.ecmp", "ns-2-bcc")],
            "switch.ecmp: \"ns-2-bcc\" numbers the connections that are open from the start: give a poisson workload \
             connections of kind \"persistent\", or take \"symmetric\"",
        ),
    ] {
        let found = message(DUMBBELL, sets);
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn a_trace_of_flows_says_which() {
    let found = |trace: &str| {
        let sets = [("measure.flow_traces", trace)];
        let whole = message(BCC_F2, &sets);
        whole.lines().next().unwrap_or_default().to_owned()
    };
    for (trace, expected) in [
        ("[{}]", "measure.flow_traces[0]: it chooses no flow; give it flows, a workload, or a sample"),
        (
            "[{ flows = [1], sample = 2 }]",
            "flows that are named need no workload and no sample: leave either out",
        ),
        ("[{ sample = 0 }]", "a sample of no flows; at least 1"),
        ("[{ workload = 7 }]", "there is no workload 7; they are 0..1"),
        ("[{ sample = 1, every = '0s' }]", "the interval is too short; at least 1ns, or \"event\""),
    ] {
        let found = found(trace);
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn a_capture_says_of_what_and_where() {
    let found = |captures: &str| {
        let whole = message(BCC_F2, &[("measure.captures", captures)]);
        whole.lines().next().unwrap_or_default().to_owned()
    };
    for (captures, expected) in [
        ("[{}]", "measure.captures[0]: it captures nothing; give it ports, such as [\"to-host\"], or hosts"),
        ("[{ ports = ['nic', 'up'] }]", "measure.captures[0].ports[1]: no such port is named \"up\"; one is"),
        ("[{ hosts = 40 }]", "measure.captures[0].hosts: host 40 not in the network, whose hosts are 0..32"),
        // Ethernet 14, IPv4 20, TCP at most 60: 94.
        (
            "[{ hosts = 0, snap = '93B' }]",
            "measure.captures[0].snap: 93B of each packet; 94B, all headers, to 262144B",
        ),
        ("[{ hosts = 0, snap = '1MB' }]", "measure.captures[0].snap: 1MB of each packet; 94B"),
        ("[{ hosts = 0, name = '../x' }]", "measure.captures[0].name: \"../x\" cannot name a file"),
        ("[{ hosts = 0, name = '.x' }]", "\".x\" cannot name a file"),
        ("[{ hosts = 0, name = '' }]", "\"\" cannot name a file"),
        (
            "[{ hosts = 0 }, { hosts = 1, name = 'Capture' }]",
            "measure.captures[1].name: another capture is called \"Capture\"; each needs a name of its own",
        ),
        ("[{ hosts = 0, port = 'nic' }]", "measure.captures[0].port: unknown key (did you mean \"ports\"?)"),
    ] {
        let found = found(captures);
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn the_control_of_receive_windows_is_refused_what_it_cannot_use() {
    let found = |sets: &[(&str, &str)]| message(BCC_F2, sets).lines().next().unwrap_or_default().to_owned();
    for (receiver, expected) in [
        (
            "'ictp'",
            "unknown receiver \"ictp\" (did you mean \"ictcp\"?); expected one of \"fixed\", \"ictcp\"",
        ),
        ("{ kind = 'ictcp', share = 0.0 }", "tcp.receiver.share: 0 is not above 0 and at most 1"),
        ("{ kind = 'ictcp', gamma1 = 0.6 }", "tcp.receiver.gamma2: 0.5 is not between gamma1 and 1"),
        ("{ kind = 'ictcp', beta = 2.0 }", "tcp.receiver.beta: 2 is not between 0 and 1"),
        ("{ kind = 'ictcp', fairness = -1.0 }", "tcp.receiver.fairness: -1 is not between 0 and 1"),
        ("{ kind = 'ictcp', decrease_after = 0 }", "tcp.receiver.decrease_after: 0 is too few; at least 1"),
        (
            "{ kind = 'ictcp', rtt_limit = '0s' }",
            "every round trip is longer, so that nothing would be controlled; above 0s",
        ),
        ("{ kind = 'ictcp', minimum = '1B' }", "tcp.receiver.minimum: 1B is less than one segment"),
    ] {
        let found = found(&[("tcp.receiver", receiver), ("tcp.timestamps", "true")]);
        assert!(found.contains(expected), "{found}");
    }
    let without = found(&[("tcp.receiver", "ictcp"), ("tcp.timestamps", "false")]);
    assert!(
        without.contains("ictcp measures round trips with timestamps: set tcp.timestamps = true"),
        "{without}"
    );
}

#[test]
fn a_fabric_with_more_routes_than_memory_holds_is_refused() {
    // The search for routes starts at each leaf and follows every cable between switches: 1,000 · 1,000,000 steps.
    let found = message(
        LEAF_SPINE,
        &[("topology.leaves", "1000"), ("topology.spines", "1000"), ("topology.hosts_per_leaf", "2")],
    );
    assert!(
        found.contains("1000000 links between 1000 leaves and their spines are too many to route"),
        "{found}"
    );
}

#[test]
fn a_byte_order_mark_before_an_input_file_changes_nothing() {
    let loaded = parse(DUMBBELL, &[("workload", "[{ kind = 'trace', path = 'marked.csv' }]")]);
    loaded.unwrap_or_else(|error| panic!("{error}"));
}
