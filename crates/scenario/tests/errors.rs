//! Invalid input: each mistake is rejected with its place, the value found and the allowed values.

use crate::common::{BCC_F2, DUMBBELL, LEAF_SPINE, parse, read};

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
        "s.toml:19:1: switch.buffer.alfa: unknown key (did you mean \"alpha\"?); allowed keys: alpha, pool, \
         ports_per_pool, reserved, reserved_rule, counts, cell\n   |\n19 | alfa = 4\n   | ^"
    );
    let unknown = message(&format!("colour = 'red'\n{BCC_F2}"), &[]);
    assert!(
        unknown.starts_with("s.toml:1:1: colour: unknown key; allowed keys: name, seed, stop,"),
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
        "s.toml:15:34: switch.markers[0].k: must be a size such as \"720KB\", got \"720kb\": the unit is missing or unknown; did you mean \"720KB\"? \
         (units: B, KB, MB, GB, TB, KiB, MiB, GiB); a number of packets such as \"80p\" is also allowed; a transmission time on the link such as \"20us\" is also allowed\n   |\n\
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
            "s.toml:15:12: switch.markers[0]: the key \"kind\" is missing; it must be one of \"drop-tail\", \"threshold\", \"red\", \"mq-ecn\", \
             \"red-classic\", \"ein\", \"ein-as-released\", \"tcn\", \"codel\", \"bcc\"",
        ),
        (
            "egress_drop = \"slot\"",
            "egress_drop = \"slots\"",
            "s.toml:14:1: switch.egress_drop: \"slots\" is unknown (did you mean \"slot\"?); expected one of \
             \"slot\", \"free\"",
        ),
    ] {
        let found = replaced(from, to);
        assert_eq!(found.lines().next(), Some(expected));
    }
}

/// Impossible values: a key of BCC-F2, its value, and the end of the error message.
const IMPOSSIBLE: &[(&str, &str, &str)] = &[
    ("topology.hosts", "0", "topology.hosts: must be at least 2, got 0"),
    (
        "topology.hosts",
        "-1",
        "topology.hosts: invalid value: integer `-1`, expected a whole number from 0 to 4294967295",
    ),
    (
        "topology.hosts",
        "4000000000",
        "topology.hosts: the network must have at most 131072 hosts, got 4000000000",
    ),
    (
        "topology.mtu",
        "50",
        "topology.mtu: must be at least 69B (40B of headers, 28B of SACK blocks and 1B of data), got 50B",
    ),
    (
        "topology.mtu",
        "70000",
        "topology.mtu: invalid value: integer `70000`, expected a whole number of bytes from 0 to 65535, or a size \
         such as \"9KB\"",
    ),
    ("topology.mtu", "70KB", "topology.mtu: must be at most 65535B, got 70KB"),
    ("topology.framing", "60000", "topology.mtu: mtu plus framing must be at most 65535B, got 9KB plus 60KB"),
    ("topology.rate", "0bps", "topology.rate: must be from 1Mbps to 100Tbps, got \"0bps\""),
    (
        "switch.buffer.reserved",
        "4MiB",
        "switch.buffer.reserved: must be at most the size of the pool, 3MiB, got 4MiB for each port",
    ),
    ("switch.buffer.alpha", "0", "switch.buffer.alpha: must be above 0 and at most 1024, got 0"),
    ("switch.buffer.alpha", "nan", "switch.buffer.alpha: must be above 0 and at most 1024, got NaN"),
    ("switch.buffer.pool", "8KB", "switch.buffer.pool: must be at least one packet of 9KB, got 8KB"),
    ("switch.buffer.ports_per_pool", "0", "switch.buffer.ports_per_pool: must be at least 1, got 0"),
    ("host.nic.limit", "0p", "host.nic.limit: must be at least one packet of 9KB, got 0p"),
    ("tcp.congestion.g", "0", "tcp.congestion.g: must be above 0 and at most 1, got 0"),
    (
        "tcp.congestion",
        "{ kind = 'dctcp', g = 0.06, arithmetic = 'fixed' }",
        "tcp.congestion.g: must be a power of two from 1/1024 to 1 with arithmetic = \"fixed\", got 0.06",
    ),
    (
        "tcp.congestion",
        "{ kind = 'cubic', beta = 1.0 }",
        "tcp.congestion.beta: must be above 0 and below 1, got 1",
    ),
    (
        "tcp.congestion",
        "{ kind = 'cubic', tick = '4ms' }",
        "tcp.congestion.tick: has an effect only with counting = \"segments\"; set counting = \"segments\", or leave \
         the key out",
    ),
    (
        "tcp.congestion",
        "{ kind = 'cubic', hystart = 'hystart++', hystart_delay = '1ms' }",
        "tcp.congestion.hystart_delay: has an effect only with hystart = \"linux\"; set hystart = \"linux\", or \
         leave hystart_delay out",
    ),
    (
        "tcp.congestion",
        "{ kind = 'cubic', hystart = 'linux', hystart_delay = '0s' }",
        "tcp.congestion.hystart_delay: must be above 0s, got 0s",
    ),
    (
        "tcp.congestion",
        "{ kind = 'cubic', c = 0.0 }",
        "tcp.congestion.c: must be a finite number above 0, got 0",
    ),
    (
        "tcp.congestion",
        "{ kind = 'pulser', safe_window = 0 }",
        "tcp.congestion.safe_window: must be at least one segment of 8.96KB, got 0B",
    ),
    (
        "tcp.congestion",
        "{ kind = 'pulser', dctcp = { g = 2.0 } }",
        "tcp.congestion.dctcp.g: must be above 0 and at most 1, got 2",
    ),
    (
        "tcp.congestion",
        "{ kind = 'pulser', g = 0.5 }",
        "tcp.congestion.g: unknown key; allowed keys: safe_window, restore, as_released, dctcp",
    ),
    (
        "tcp.congestion",
        "'ecn*'",
        "tcp.congestion: unknown congestion control \"ecn*\"; expected one of \"reno\", \"ecn-star\", \"dctcp\", \
         \"cubic\", \"pulser\"",
    ),
    (
        "tcp.recovery",
        "'new-reno'",
        "tcp.recovery: \"new-reno\" is unknown (did you mean \"newreno\"?); expected one of \"sack\", \"rack\", \
         \"fulltcp\", \"sack1\", \"newreno\", \"reno\"",
    ),
    (
        "tcp.preset",
        "linux",
        "tcp.preset: unknown preset \"linux\" (did you mean \"linux-6\"?); expected one of \"linux-6\", \"ns-2\", \
         \"rfc\", \"windows-2022\"",
    ),
    ("tcp.initial_window", "0", "tcp.initial_window: must be at least one segment of 8.96KB, got 0B"),
    ("tcp.initial_window", "126", "tcp.initial_window: must be at most max_window = 1.12MB, got 1128.96KB"),
    ("tcp.rto.max", "1ms", "tcp.rto.min: must be at most max = 1ms, got 5ms"),
    ("tcp.delayed_ack.segments", "0", "tcp.delayed_ack.segments: must be at least 1, got 0"),
    (
        "measure.bins",
        "['2KB', '1KB']",
        "measure.bins: the edges must be in ascending order, such as [\"100KB\", \"10MB\"]",
    ),
    ("measure.sample_queues", "0s", "measure.sample_queues: must be at least 1ns"),
    (
        "workload",
        "[]",
        "workload: must have at least one workload; add a [[workload]] of kind \"poisson\", \"long-lived\", \"incast\", \
         \"partition-aggregate\", \"block-transfer\", \"trace\", \"udp\" or \"ping\"",
    ),
    (
        "workload.0.load",
        "1.2",
        "workload[0].load: must be above 0 and below 1, got 1.2; for a load of 1 or more, set overload = true",
    ),
    (
        "workload.0.load",
        "nan",
        "workload[0].load: must be above 0 and below 1, got NaN; for a load of 1 or more, set overload = true",
    ),
    (
        "workload.0.load",
        "-0.5",
        "workload[0].load: must be above 0 and below 1, got -0.5; for a load of 1 or more, set overload = true",
    ),
    // 1,711,250.5 B · 9000/8960 · 8 at 800 bit/s: 17,189 s for each flow.
    (
        "workload.0.load",
        "1e-9",
        "workload[0].load: a load of 0.000000001 is too low: 100000 flows take 19895 days, and the maximum is 100; \
         increase the load or use fewer flows",
    ),
    ("workload.0.flows", "0", "workload[0].flows: must be from 1 to 4294967295, got 0"),
    ("workload.0.senders", "", "workload[0].senders: must name at least one host"),
    ("workload.0.receivers", "0..40", "workload[0].receivers: must name hosts from 0 to 31, got hosts 0..40"),
    (
        "workload.0.of",
        "uplinks",
        "workload[0].of: at least one flow must cross the uplinks; set of = \"receivers\" for a load of the links to \
         the receivers",
    ),
    (
        "workload.0.sizes",
        "{ kind = 'uniform', from = '2KB', to = '1KB' }",
        "workload[0].sizes: `from` must be above 0B and not larger than `to`, got from = 2KB and to = 1KB",
    ),
    (
        "workload.0.connections.per_pair",
        "30000",
        "workload[0].connections.per_pair: the number of connections must be at most 4194304, got 30000 for each of \
         192 pairs, 5760000 in total",
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
    assert_eq!(red("2KB", "1KB", "0.1"), "switch.markers[0].kmin: must be at most kmax = 1KB, got 2KB");
    assert_eq!(red("1KB", "2KB", "0"), "switch.markers[0].pmax: must be above 0 and at most 1, got 0");
    assert_eq!(red("1KB", "2KB", "1.5"), "switch.markers[0].pmax: must be above 0 and at most 1, got 1.5");
}

#[test]
fn a_host_that_only_sends_to_itself_is_refused() {
    let sets = [("workload.0.senders", "3"), ("workload.0.receivers", "3")];
    assert_eq!(
        message(BCC_F2, &sets),
        "--set workload.0.receivers=3: workload[0].receivers: must include a host other than host 3, the only sender"
    );
}

#[test]
fn a_link_that_is_offered_too_much_is_named_with_the_numbers() {
    // 90 % in payload is 90 % · 9000/8960 of full packets on the wire, still below 1; 99.8 % is above.
    assert!(parse(BCC_F2, &[("workload.0.counted", "payload")]).is_ok());
    let sets = [("workload.0.counted", "payload"), ("workload.0.load", "0.998")];
    assert_eq!(
        message(BCC_F2, &sets),
        "--set workload.0.load=0.998: workload[0].load: with a load of 0.998, the link switch0->host0 would carry \
         1.0025 times its rate of 100Gbps, headers included; use a lower load, or set overload = true"
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
    let expected = "workload[0].pattern.rate: the link host0->switch0 would carry 4.0000 times its rate of 10Gbps, \
                    including earlier workloads; this workload sends 40Gbps: use a lower rate, or set overload = \
                    true";
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
    assert!(
        error.contains("the link switch0->host3 would carry 1.2000 times its rate")
            && error.contains("sends 4Gbps from each of 3 sources: use"),
        "{error}"
    );
    let error = flood(&(constant("0..2", "4Gbps") + &constant("2", "4Gbps"))).unwrap_err();
    assert!(error.contains("workload[1].pattern.rate") && error.contains("1.2000 times"), "{error}");
}

#[test]
fn runs_without_an_end_are_refused() {
    let no_flows = BCC_F2.replacen("flows = 100_000\n", "", 1);
    assert_eq!(
        message(&no_flows, &[]).lines().next(),
        Some(
            "s.toml:44:1: workload[0]: the workload must have an end: set flows, or set stop.at for the run"
        )
    );
    let no_stop = DUMBBELL.replacen("stop.at = \"10ms\"", "", 1);
    let found = message(&no_stop, &[]);
    assert!(found.contains("workload[0]: the workload must have an end: set stop.at for the run"), "{found}");
    assert!(found.contains("workload[2]: the workload must have an end: set flows"), "all at once: {found}");
    let sources = "[[workload]]\nkind = 'ping'\nsenders = 0\nreceivers = 2\ninterval = '1ms'\n\
                   [[workload]]\nkind = 'udp'\nsenders = 0\nreceivers = 2\npattern = { kind = 'constant', rate = '1Mbps' }\n";
    let star = "topology = { kind = 'star', hosts = 3, rate = '1Gbps' }\n[switch]\n\
                buffer = { kind = 'static-partition', per_port = '100KB' }\n[tcp]\n";
    let found = message(&format!("{star}{sources}"), &[]);
    for workload in 0..2 {
        let said = format!(
            "workload[{workload}]: the workload must have an end: set stop, or set stop.at for the run"
        );
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
        "--set workload.2.sizes=flows.csv: workload[2].sizes: flows.csv, line 1: must have a value and a share, got \
         \"start_ns,source,destination,bytes\""
    );
    assert_eq!(
        message(DUMBBELL, &[("workload.1.path", "sizes.cdf")]),
        "--set workload.1.path=sizes.cdf: workload[1].path: sizes.cdf, line 1: the header must be \
         \"start_ns,source,destination,bytes\", followed by any of \"class\", \"port\", \"after\", \"count\", \
         \"on_received\", \"on_acked\", got \"# bytes, percent\""
    );
}

#[test]
fn a_threshold_that_lets_nothing_pass_is_refused() {
    // 0.002 of 3 MiB are 6,291 bytes.
    let sets = [("switch.buffer.alpha", "0.002"), ("switch.buffer.reserved", "0B")];
    let error = parse(BCC_F2, &sets).unwrap_err().to_string();
    let expected = "switch.buffer.alpha: alpha times the pool of 3MiB must be at least one packet of 9KB, got alpha \
                    = 0.002";
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
            "switch.bufer: unknown key (did you mean \"buffer\"?); allowed keys: buffer, port, markers, shaper, egress_drop, \
             ecmp, lossless, overrides",
        ),
        ("workload.3.load", "1", "workload[3] does not exist; workload has 1 entries"),
        ("topology.rate.x", "1", "cannot set a key in rate: rate must be a table, got \"100Gbps\""),
        ("a..b", "1", "the key must have the form section.key or section[0].key"),
        ("seed.x", "1", "cannot set a key in seed: seed must be a table, got 1"),
        (
            "topology.*.rate",
            "1",
            "\"topology\" must be a list with at least one entry, because * stands for every entry",
        ),
        ("workload.*.senders", "77", "workload[0].senders: must name hosts from 0 to 31, got host 77"),
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
        "--set topology.links.0.between=['leaf0', 'leaf1']: topology.links[0].between: must name two nodes that a \
         link connects, such as [\"leaf7\", \"spine7\"]"
    );
}

#[test]
fn a_link_override_changes_something_once() {
    let links = |list: &str| message(LEAF_SPINE, &[("topology.links", list)]);
    assert!(
        links("[{ between = ['leaf0', 'spine1'] }]")
            .ends_with("topology.links[0]: must have a rate, a delay or both")
    );
    // With its ends exchanged it is the same link.
    let twice = "[{ between = ['leaf0', 'spine1'], rate = '90Gbps' }, { between = ['spine1', 'leaf0'], delay = '1us' }]";
    assert!(links(twice).ends_with(
        "topology.links[1].between: topology.links[0] already changes this link; use one entry for each link"
    ));
}

#[test]
fn a_bound_that_contradicts_a_default_is_shown_where_it_was_given() {
    // A segment is 1,500 bytes minus 40 of headers and 12 of timestamps; the initial window is ten segments (RFC 6928).
    for (key, value, expected) in [
        ("tcp.rto.max", "1us", "tcp.rto.max: must be at least min = 1s (the default), got 1us"),
        (
            "tcp.max_window",
            "5",
            "tcp.max_window: must be at least initial_window = 14.48KB (the default), got 7.24KB",
        ),
        (
            "topology.framing",
            "65000",
            "topology.framing: mtu plus framing must be at most 65535B, got 1.5KB plus 65KB",
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
        "s.toml: the seed must be at most 9223372036854775807, got 9223372036854775808"
    );
    assert_eq!(with((1 << 63) - 1).unwrap().seed, (1 << 63) - 1);
    assert!(parse(BCC_F2, &[("seed", "9223372036854775807")]).is_ok());
}

#[test]
fn a_name_that_files_nothing_is_refused() {
    for name in ["''", "'  '", "'..'"] {
        assert!(message(BCC_F2, &[("name", name)]).contains("must not be empty"), "{name}");
    }
    for name in ["'a/b'", "'a\\b'", "\"a\\nb\""] {
        assert!(
            message(BCC_F2, &[("name", name)])
                .contains("must not contain control characters or path separators"),
            "{name}"
        );
    }
}

/// Settings without an effect, each with the error that it causes.
const WITHOUT_EFFECT: &[(&[(&str, &str)], &str)] = &[
    (
        &[("tcp.recovery", "newreno"), ("tcp.prr", "ssrb")],
        "tcp.prr: has an effect only with tcp.recovery = \"sack\" or \"rack\"; set tcp.recovery, or set tcp.prr \
         = \"off\"",
    ),
    (
        &[("tcp.recovery", "fulltcp"), ("tcp.frto", "true")],
        "tcp.frto: has an effect only with tcp.recovery = \"sack\" or \"rack\"; set tcp.recovery, or leave the key out",
    ),
    (
        &[("tcp.recovery", "newreno"), ("tcp.dsack", "true")],
        "tcp.dsack: has an effect only with tcp.recovery = \"sack\" or \"rack\"; set tcp.recovery, or leave the \
         key out",
    ),
    (
        &[("tcp.congestion", "{ kind = 'cubic', hystart = 'linux' }"), ("tcp.timestamps", "false")],
        "tcp.congestion.hystart: needs a round-trip time from each acknowledgement; set tcp.timestamps = true, \
         or tcp.recovery = \"rack\"",
    ),
    (
        &[("tcp.delayed_ack", "{ segments = 1, quick = 16 }")],
        "tcp.delayed_ack.quick: has an effect only with delayed acknowledgements; set tcp.delayed_ack.segments = \
         2, or leave the key out",
    ),
    (
        &[("tcp.delayed_ack", "{ segments = 1, cwr_at_once = true }")],
        "tcp.delayed_ack.cwr_at_once: has an effect only with delayed acknowledgements; set \
         tcp.delayed_ack.segments = 2, or leave the key out",
    ),
    (
        &[("tcp.rack.timer_slack", "1ms")],
        "tcp.rack: has an effect only with tcp.recovery = \"rack\"; set tcp.recovery, or leave tcp.rack out",
    ),
    (
        &[("tcp.recovery", "reno"), ("tcp.sack_after_timeout", "forgotten")],
        "tcp.sack_after_timeout: has an effect only with tcp.recovery = \"sack\"; set tcp.recovery, or leave the \
         key out",
    ),
    (
        &[("tcp.lost_syn", "linux")],
        "tcp.lost_syn: has an effect only with tcp.handshake = true; set tcp.handshake, or leave the key out",
    ),
    (
        &[("tcp.congestion", "reno"), ("tcp.ece_reaction", "prr")],
        "tcp.ece_reaction: has an effect only with a congestion control that reduces the window on ECE; set ecn \
         = true in tcp.congestion, or leave the key out",
    ),
    (
        &[("tcp.congestion", "{ kind = 'pulser', as_released = true }"), ("tcp.ece_reaction", "prr")],
        "tcp.ece_reaction: has an effect only with a congestion control that reduces the window on ECE; set ecn \
         = true in tcp.congestion, or leave the key out",
    ),
    (
        &[("tcp.congestion", "cubic"), ("tcp.avoidance", "per-ack")],
        "tcp.avoidance: has no effect with cubic, which has its own congestion avoidance; leave the key out",
    ),
    (
        &[("tcp.limited_transmit_repairs", "true")],
        "tcp.limited_transmit_repairs: has an effect only with limited transmit and without selective \
         acknowledgements; set tcp.limited_transmit = true and tcp.recovery = \"newreno\", or leave the key out",
    ),
    (
        &[("tcp.full_ack", "ssthresh")],
        "tcp.full_ack: has an effect only with tcp.recovery = \"newreno\"; set tcp.recovery, or leave the key out",
    ),
    (
        &[("switch.ecmp", "ns-2-bcc")],
        "switch.ecmp: must not be \"ns-2-bcc\" without a poisson workload that has connections of kind \
         \"persistent\"; add one, or use \"symmetric\"",
    ),
];

#[test]
fn settings_that_would_change_nothing_are_refused_with_what_to_do() {
    for (sets, expected) in WITHOUT_EFFECT {
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
        ("[{}]", "measure.flow_traces[0]: must have flows, a workload or a sample"),
        (
            "[{ flows = [1], sample = 2 }]",
            "cannot be combined with workload or sample; remove flows, or remove workload and sample",
        ),
        ("[{ sample = 0 }]", "must be at least 1, got 0"),
        ("[{ workload = 7 }]", "must be less than 1, the number of workloads, got 7"),
        ("[{ sample = 1, every = '0s' }]", "must be at least 1ns or \"event\", got 0ps"),
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
        ("[{}]", "measure.captures[0]: must have ports, such as [\"to-host\"], or hosts"),
        ("[{ ports = ['nic', 'up'] }]", "measure.captures[0].ports[1]: no port matches \"up\"; use a name"),
        ("[{ hosts = 40 }]", "measure.captures[0].hosts: must name hosts from 0 to 31, got host 40"),
        // Ethernet 14, IPv4 20, TCP at most 60: 94.
        (
            "[{ hosts = 0, snap = '93B' }]",
            "measure.captures[0].snap: must be from 94B (all headers) to 262144B, got 93B",
        ),
        ("[{ hosts = 0, snap = '1MB' }]", "measure.captures[0].snap: must be from 94B"),
        ("[{ hosts = 0, name = '../x' }]", "measure.captures[0].name: must be a file name"),
        ("[{ hosts = 0, name = '.x' }]", "that does not start with \".\", got \".x\""),
        ("[{ hosts = 0, name = '' }]", "that does not start with \".\", got \"\""),
        (
            "[{ hosts = 0 }, { hosts = 1, name = 'Capture' }]",
            "measure.captures[1].name: each capture must have a unique name (letter case is ignored), got \
             \"Capture\" twice",
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
        ("{ kind = 'ictcp', share = 0.0 }", "tcp.receiver.share: must be above 0 and at most 1, got 0"),
        ("{ kind = 'ictcp', gamma1 = 0.6 }", "tcp.receiver.gamma2: must be from gamma1 to 1, got 0.5"),
        ("{ kind = 'ictcp', beta = 2.0 }", "tcp.receiver.beta: must be from 0 to 1, got 2"),
        ("{ kind = 'ictcp', fairness = -1.0 }", "tcp.receiver.fairness: must be from 0 to 1, got -1"),
        ("{ kind = 'ictcp', decrease_after = 0 }", "tcp.receiver.decrease_after: must be at least 1, got 0"),
        ("{ kind = 'ictcp', rtt_limit = '0s' }", "must be above 0s, got 0s"),
        ("{ kind = 'ictcp', minimum = '1B' }", "tcp.receiver.minimum: must be at least one segment"),
    ] {
        let found = found(&[("tcp.receiver", receiver), ("tcp.timestamps", "true")]);
        assert!(found.contains(expected), "{found}");
    }
    let without = found(&[("tcp.receiver", "ictcp"), ("tcp.timestamps", "false")]);
    assert!(
        without.contains("ictcp measures round-trip times with timestamps; set tcp.timestamps = true"),
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
        found.contains(
            "this number times the number of leaves at most 134217728, got 1000000 links and 1000 leaves"
        ),
        "{found}"
    );
}

#[test]
fn a_byte_order_mark_before_an_input_file_changes_nothing() {
    let loaded = parse(DUMBBELL, &[("workload", "[{ kind = 'trace', path = 'marked.csv' }]")]);
    loaded.unwrap_or_else(|error| panic!("{error}"));
}
