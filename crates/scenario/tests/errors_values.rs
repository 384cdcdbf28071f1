//! Impossible values, and values that contradict each other: each is rejected with the allowed values.

use crate::common::{BCC_F2, DUMBBELL, message, parse, read};

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
