//! Congestion controls of queue pairs in scenarios: defaults, presets, values computed from the network, and rejected keys.

use std::sync::Arc;

use shallows_core::{Bytes, Duration, Rate};
use shallows_rdma::congestion::{
    Config, Window, connectx, dcqcn, dctcp, hpcc, hpcc_pint, powertcp, swift, timely,
};
use shallows_scenario::Experiment;

use crate::common::{parse, refusal};

/// Hosts at two switches. A full packet has 1,082 bytes on the wire without telemetry.
pub(crate) const SCENARIO: &str = r#"
[topology]
kind = "dumbbell"
left = 2
right = 2
rate = "100Gbps"
bottleneck_rate = "50Gbps"
link_delay = "1us"
host_delay = "500ns"
framing = "38B"

[switch]
buffer = { kind = "complete-sharing", pool = "4MB" }
markers = [{ kind = "red", kmin = "40KB", kmax = "160KB", pmax = 0.2 }]

[roce]
mtu = "1000B"

[[workload]]
kind = "incast"
transport = "roce"
senders = 0
receivers = 2
size = "1MB"
"#;

const LINE: Rate = Rate::from_gbps(100);

pub(crate) fn experiment(sets: &[(&str, &str)]) -> Experiment {
    parse(SCENARIO, sets).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn settings(sets: &[(&str, &str)]) -> Arc<shallows_rdma::Config> {
    let experiment = experiment(sets);
    let pairs = experiment.hosts.agreements().iter().find_map(|agreement| agreement.queue_pairs.as_ref());
    pairs.expect("queue pairs").config.clone()
}

fn control(congestion: &str) -> Config {
    settings(&[("roce.congestion", congestion)]).congestion.clone()
}

/// Returns the longest round-trip time for packets of these sizes on the wire: four delays at hosts, six of links, and two links of
/// 100 Gb/s and one of 50 Gb/s in each direction.
fn longest(data: u64, ack: u64) -> Duration {
    let sent = |size: u64| Duration(2 * size * 80 + size * 160);
    Duration::from_nanos(4 * 500 + 6 * 1_000) + sent(data) + sent(ack)
}

#[test]
fn controls_have_the_parameters_of_their_sources() {
    let rtt = longest(1_082, 86);
    for given in ["dcqcn", "{ kind = 'dcqcn', preset = 'sigcomm15' }"] {
        assert_eq!(control(given), Config::Dcqcn(dcqcn::Config::sigcomm15()));
    }
    assert_eq!(control("timely"), Config::Timely(timely::Config::timely(LINE)));
    let repo = timely::Config::hpcc_repo(LINE);
    assert_eq!(control("{ kind = 'timely', preset = 'hpcc-repo' }"), Config::Timely(repo));
    assert_eq!(control("timely-patched"), Config::Timely(timely::Config::patched(LINE)));
    assert_eq!(control("swift"), Config::Swift(swift::Config::htsim(Bytes(1_000))));
    assert_eq!(control("dctcp"), Config::RdmaDctcp(dctcp::Config::hpcc_repo(Bytes(1_000), rtt)));
    let repo = connectx::Config::hpcc_repo(LINE);
    assert_eq!(control("{ kind = 'dcqcn-connectx', preset = 'hpcc-repo' }"), Config::ConnectX(repo));
    // Telemetry adds 42 bytes to data and acknowledgements.
    let told = longest(1_124, 128);
    assert_eq!(control("hpcc"), Config::Hpcc(hpcc::Config::sigcomm19(LINE, told)));
    // PINT adds a byte to both.
    let pint = hpcc::Config::sigcomm19(LINE, longest(1_083, 87));
    assert_eq!(control("hpcc-pint"), Config::HpccPint(hpcc_pint::Config::hpcc_repo(pint)));
    let power = |signal, rtt| Config::PowerTcp(powertcp::Config::nsdi22(signal, LINE, rtt, 10));
    assert_eq!(control("powertcp"), power(powertcp::Signal::Telemetry, told));
    assert_eq!(control("theta-powertcp"), power(powertcp::Signal::Delay, rtt));
    // The same parameters, but with a round-trip time of the scenario.
    let given = hpcc::Config::sigcomm19(LINE, Duration::from_micros(13));
    assert_eq!(control("{ kind = 'hpcc', base_rtt = '13us' }"), Config::Hpcc(given));
}

#[test]
fn the_line_rate_of_a_preset_is_that_of_hosts_even_if_other_links_are_faster() {
    let config = settings(&[("roce.congestion", "timely"), ("topology.bottleneck_rate", "400Gbps")]);
    assert_eq!(config.congestion, Config::Timely(timely::Config::timely(LINE)));
}

#[test]
fn keys_replace_the_parameters_of_a_preset() {
    let timely = "{ kind = 'timely', update = { kind = 'each-segment', size = '16KB' }, weight = 0.5, decrease = 0.25, low = '10us', \
                  high = '90us', min_rtt = '8us', increase = '40Mbps', hyperactive = 'all', min_rate = '20Mbps', \
                  first_rate = '5Gbps', window = { of = 'line' } }";
    let expected = timely::Config {
        rule: timely::Rule::Gradient,
        update: timely::Update::EachSegment(Bytes(16_000)),
        weight: 0.5,
        decrease: 0.25,
        low: Duration::from_micros(10),
        high: Duration::from_micros(90),
        min_rtt: Duration::from_micros(8),
        increase: Rate(40_000_000),
        counted: timely::Counted::All,
        min_rate: Rate(20_000_000),
        first_rate: Some(Rate::from_gbps(5)),
        window: Window::Fixed(longest(1_082, 86)),
    };
    assert_eq!(control(timely), Config::Timely(expected));
    let swift = "{ kind = 'swift', base_target = '15us', hop_target = '1us', hops = 2, scaling_range = '0s', scaling_min = 0.5, \
                 scaling_max = 50.0, additive_increase = 2.0, decrease = 0.5, max_decrease = 0.25, first_window = 4.0, \
                 min_window = 0.125, max_window = 64.0, reset_after = 3 }";
    let expected = swift::Config {
        mtu: Bytes(1_000),
        base_target: Duration::from_micros(15),
        hop_target: Duration::from_micros(1),
        hops: 2,
        scaling_range: Duration::ZERO,
        scaling_min: 0.5,
        scaling_max: 50.0,
        additive_increase: 2.0,
        decrease: 0.5,
        max_decrease: 0.25,
        first_window: 4.0,
        min_window: 0.125,
        max_window: 64.0,
        reset_after: 3,
    };
    assert_eq!(control(swift), Config::Swift(expected));
    let hpcc = "{ kind = 'hpcc', target = 0.9, max_stage = 5, additive_increase = '80B', base_rtt = '13us', min_rate = '1Gbps', per_hop = true, skip_empty = true }";
    let expected = hpcc::Config {
        target: 0.9,
        max_stage: 5,
        additive_increase: Bytes(80),
        base_rtt: Duration::from_micros(13),
        min_rate: Rate::from_gbps(1),
        per_hop: true,
        skip_empty: true,
    };
    assert_eq!(control(hpcc), Config::Hpcc(expected));
    let power = "{ kind = 'theta-powertcp', weight = 0.7, additive_increase = '1KB', base_rtt = '13us', min_rate = '1Gbps' }";
    let expected = powertcp::Config {
        signal: powertcp::Signal::Delay,
        weight: 0.7,
        additive_increase: Bytes(1_000),
        base_rtt: Duration::from_micros(13),
        min_rate: Rate::from_gbps(1),
    };
    assert_eq!(control(power), Config::PowerTcp(expected));
    let dctcp = "{ kind = 'dctcp', gain = 0.5, additive_increase = '100Mbps', min_rate = '10Mbps', \
                 window = { rtt = '13us', of = 'line' } }";
    let expected = dctcp::Config {
        gain: 0.5,
        additive_increase: Rate(100_000_000),
        min_rate: Rate(10_000_000),
        window: Window::Fixed(Duration::from_micros(13)),
    };
    assert_eq!(control(dctcp), Config::RdmaDctcp(expected));
}

#[test]
fn keys_replace_the_parameters_of_the_preset_of_dcqcn() {
    let dcqcn = "{ kind = 'dcqcn', gain = 0.5, alpha_period = '60us', increase_period = '1ms', increase_bytes = '1MB', fast_recovery = 2, \
                 additive_increase = '80Mbps', hyper_increase = '400Mbps', min_rate = '20Mbps', window = { rtt = '13us' } }";
    let expected = dcqcn::Config {
        gain: 0.5,
        alpha_period: Duration::from_micros(60),
        increase_period: Duration::from_millis(1),
        increase_bytes: Some(Bytes(1_000_000)),
        fast_recovery: 2,
        additive_increase: Rate(80_000_000),
        hyper_increase: Some(Rate(400_000_000)),
        min_rate: Rate(20_000_000),
        window: Window::Variable(Duration::from_micros(13)),
    };
    assert_eq!(control(dcqcn), Config::Dcqcn(expected));
}

#[test]
fn hpcc_with_pint_takes_all_its_parameters() {
    let given = "{ kind = 'hpcc-pint', target = 0.9, max_stage = 5, additive_increase = '80B', base_rtt = '13us', \
                 min_rate = '1Gbps', log_base = 1.01, sampled = 0.5 }";
    let hpcc = hpcc::Config {
        target: 0.9,
        max_stage: 5,
        additive_increase: Bytes(80),
        min_rate: Rate::from_gbps(1),
        ..hpcc::Config::sigcomm19(LINE, Duration::from_micros(13))
    };
    assert_eq!(control(given), Config::HpccPint(hpcc_pint::Config { hpcc, log_base: 1.01, sampled: 0.5 }));
}

const KINDS: [&str; 13] = [
    "none",
    "dcqcn",
    "{ kind = 'dcqcn', increase_bytes = '0B', window = {} }",
    "dcqcn-connectx",
    "timely",
    "{ kind = 'timely', preset = 'hpcc-repo', window = { rtt = '10us' } }",
    "timely-patched",
    "swift",
    "hpcc",
    "hpcc-pint",
    "powertcp",
    "theta-powertcp",
    "dctcp",
];

#[test]
fn controls_have_their_names_in_scenarios() {
    for name in KINDS.into_iter().filter(|kind| !kind.starts_with('{')) {
        assert_eq!(control(name).name(), name);
    }
}

#[test]
fn a_resolved_scenario_shows_all_values_and_describes_the_same_experiment() {
    for congestion in KINDS {
        for rate in ["100Mbps", "100Gbps"] {
            let first = experiment(&[("roce.congestion", congestion), ("topology.rate", rate)]);
            let resolved = first.resolved();
            let text = toml::to_string(&resolved).expect("TOML");
            let again = parse(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(again.resolved(), resolved, "{congestion}");
            assert_eq!(again.hosts.agreements(), first.hosts.agreements(), "{congestion}");
            assert!(!text.contains("auto"), "{text}");
        }
    }
}

#[test]
fn a_note_names_the_values_that_the_scenario_leaves_out() {
    let notes = |congestion| experiment(&[("roce.congestion", congestion)]).notes.clone();
    assert!(notes("none").is_empty());
    let dcqcn = "roce.congestion \"dcqcn\" sets additive_increase = \"40Mbps\", alpha_period = \"55us\", fast_recovery = 5, \
                 gain = 0.00390625, increase_bytes = \"10MB\", increase_period = \"55us\", min_rate = \"10Mbps\"";
    assert_eq!(notes("dcqcn"), [dcqcn]);
    assert_eq!(notes("{ kind = 'dcqcn', preset = 'sigcomm15' }"), [dcqcn]);
    assert_eq!(
        notes("hpcc"),
        [
            "roce.congestion \"hpcc\" sets additive_increase = \"52B\", base_rtt = \"8400.64ns\", max_stage = 0, \
          min_rate = \"100Mbps\", target = 0.95"
        ]
    );
    assert_eq!(
        notes("{ kind = 'dctcp', gain = 0.0625, min_rate = '1Gbps' }"),
        ["roce.congestion \"dctcp\" sets additive_increase = \"955365.331Kbps\", window.rtt = \"8373.76ns\""]
    );
    let window = format!("{dcqcn}, window.rtt = \"8373.76ns\"");
    assert_eq!(notes("{ kind = 'dcqcn', window = { rtt = 'auto' } }"), [window]);
}

#[test]
fn a_note_names_tables_and_presets_that_the_scenario_leaves_out() {
    let note = |congestion| experiment(&[("roce.congestion", congestion)]).notes[0].clone();
    let paper = "decrease = 0.8, high = \"500us\", hyperactive = \"gradient\", increase = \"100Mbps\", low = \"50us\", \
                 min_rate = \"10Mbps\", min_rtt = \"20us\", preset = \"sigcomm15\", update.kind = \"each-segment\", \
                 update.size = \"64KB\", weight = 0.875";
    assert_eq!(note("timely"), format!("roce.congestion \"timely\" sets {paper}"));
    let repo = "decrease = 0.8, high = \"500us\", hyperactive = \"all\", increase = \"100Mbps\", low = \"50us\", \
                min_rate = \"1Gbps\", min_rtt = \"20us\", update.kind = \"each-rtt\", weight = 0.875";
    let given = "{ kind = 'timely', preset = 'hpcc-repo' }";
    assert_eq!(note(given), format!("roce.congestion \"timely\" sets {repo}"));
    assert_eq!(
        note("swift"),
        "roce.congestion \"swift\" sets additive_increase = 1.0, base_target = \"20us\", decrease = 0.8, first_window = 10.0, \
         hop_target = \"3053.435ns\", hops = 0, max_decrease = 0.5, max_window = 1000.0, min_window = 0.01, reset_after = 5, \
         scaling_max = 100.0, scaling_min = 0.1, scaling_range = \"100us\""
    );
    assert_eq!(
        note("theta-powertcp"),
        "roce.congestion \"theta-powertcp\" sets additive_increase = \"10.467KB\", base_rtt = \"8373.76ns\", \
         min_rate = \"100Mbps\", weight = 0.9"
    );
}

#[test]
fn packets_have_framing_headers_and_telemetry_besides_their_data() {
    let header = |congestion| {
        let experiment = experiment(&[("roce.congestion", congestion)]);
        experiment.hosts.agreement_of(0, 0, 0).queue_pairs.as_ref().expect("queue pairs").header_bytes
    };
    // Framing has 38 bytes, and IP, UDP, BTH and ICRC have 20 + 8 + 12 + 4.
    let found = ["none", "hpcc", "powertcp", "theta-powertcp", "hpcc-pint"].map(header);
    assert_eq!(found, [82, 124, 124, 82, 83].map(Bytes));
}

#[test]
fn path_mtus_are_those_of_infiniband() {
    let jumbo = ("topology.mtu", "9000B");
    for (mtu, got) in [("255B", "255B"), ("4097B", "4.097KB")] {
        let found = refusal(SCENARIO, &[jumbo, ("roce.mtu", mtu)]);
        assert_eq!(found, ("roce.mtu".to_owned(), format!("must be from 256B to 4KiB, got {got}")));
    }
    for mtu in [256, 4_096] {
        assert_eq!(settings(&[jumbo, ("roce.mtu", &format!("{mtu}B"))]).mtu, Bytes(mtu));
    }
}

#[test]
fn the_mtu_leaves_room_for_telemetry() {
    let largest = |congestion| {
        let sets = [("roce.congestion", congestion), ("roce.mtu", "1441B")];
        let error = parse(SCENARIO, &sets).expect_err("too large");
        (error.problems[0].key.clone(), error.problems[0].message.clone())
    };
    let message = |headers, most| {
        format!(
            "must be at most {most}, got 1.441KB: the smallest MTU of the hosts is 1.5KB, and headers need up to {headers} of it"
        )
    };
    assert_eq!(largest("none"), ("roce.mtu".to_owned(), message("60B", "1.44KB")));
    assert_eq!(largest("hpcc"), ("roce.mtu".to_owned(), message("102B", "1.398KB")));
    assert_eq!(largest("hpcc-pint"), ("roce.mtu".to_owned(), message("61B", "1.439KB")));
    let fine = "{ kind = 'hpcc-pint', log_base = 1.01 }";
    assert_eq!(largest(fine), ("roce.mtu".to_owned(), message("62B", "1.438KB")));
    // 1,024 bytes of data and 60 of headers fit 1,100 bytes, but not with 42 bytes of telemetry.
    let mtu = |congestion| {
        let sets = [("roce.congestion", congestion), ("roce.mtu", "auto"), ("topology.mtu", "1100B")];
        experiment(&sets).resolved()["roce"]["mtu"].as_str().map(str::to_owned)
    };
    assert_eq!((mtu("swift").as_deref(), mtu("hpcc").as_deref()), (Some("1KiB"), Some("512B")));
}

#[test]
fn all_queue_pairs_with_pint_have_the_same_base_and_round_trip_time() {
    let with = |own: &str| {
        let second = "\n[[workload]]\nkind = \"incast\"\ntransport = \"roce\"\nsenders = 0\nreceivers = 2\nsize = \"1MB\"\n";
        let text = format!("{SCENARIO}{second}roce = {{ congestion = {own} }}\n");
        parse(&text, &[("roce.congestion", "hpcc-pint")]).map(|found| found.pint().map(|pint| pint.log_base))
    };
    assert_eq!(with("\"hpcc\"").expect("one has PINT"), Some(1.05));
    assert!(with("{ kind = \"hpcc-pint\", target = 0.9 }").is_ok());
    for own in ["{ kind = \"hpcc-pint\", log_base = 1.06 }", "{ kind = \"hpcc-pint\", base_rtt = \"13us\" }"]
    {
        let error = with(own).expect_err("two of them");
        assert_eq!(error.problems[0].key, "roce.congestion", "{own}");
        let message = "must have the same log_base and base_rtt for all queue pairs with PINT";
        assert!(error.problems[0].message.starts_with(message), "{}", error.problems[0].message);
    }
}

#[test]
fn hosts_need_room_for_the_smallest_path_mtu() {
    let group = SCENARIO.to_owned() + "\n[[host.group]]\nname = \"old\"\nmembers = 0\nmtu = 300\n";
    for (text, sets, expected) in [
        (SCENARIO, [("topology.mtu", "300"), ("roce.mtu", "auto")], "topology.mtu: must be at least 316B"),
        (&group, [("seed", "1"), ("roce.mtu", "auto")], "host.group[0].mtu: must be at least 316B"),
        (
            SCENARIO,
            [("topology.mtu", "340"), ("roce.congestion", "hpcc")],
            "topology.mtu: must be at least 358B",
        ),
    ] {
        let error = parse(text, &sets).expect_err("too small").to_string();
        assert!(error.contains(expected), "{error}");
    }
    let smallest = experiment(&[("topology.mtu", "316"), ("roce.mtu", "auto")]);
    assert_eq!(smallest.resolved()["roce"]["mtu"], "256B");
}

#[test]
fn a_table_is_expected_where_settings_have_keys() {
    let error = parse(SCENARIO, &[("roce", "x")]).expect_err("no table").to_string();
    assert!(error.contains("roce: must be a table such as { key = value }, got string \"x\""), "{error}");
}

#[test]
fn times_of_zero_are_refused_in_seconds() {
    for (key, value) in
        [("roce.timeout", "0s"), ("roce.recovery", "{ kind = 'irn', window = 10, low_timeout = '0s' }")]
    {
        let error = parse(SCENARIO, &[(key, value)]).expect_err("zero");
        assert_eq!(error.problems[0].message, "must be above 0s, got 0s");
    }
}

/// Returns the key and the message of the first problem of a congestion control.
fn refusal_of(congestion: &str) -> (String, String) {
    let error = parse(SCENARIO, &[("roce.congestion", congestion)]).err();
    let error = error.unwrap_or_else(|| panic!("{congestion} is accepted"));
    (error.problems[0].key.clone(), error.problems[0].message.clone())
}

#[test]
fn bad_values_are_refused_with_key_range_and_value() {
    let fraction = "must be above 0 and at most 1, got";
    let time = "must be from 1ns to 1s, got";
    for (congestion, key, message) in [
        (
            "{ kind = 'dcqcn', hyper_increase = '50Mbps', increase_bytes = '0B' }",
            "hyper_increase",
            "must be left out with increase_bytes = \"0B\": a hyper increase needs expiries of the byte counter".to_owned(),
        ),
        ("{ kind = 'timely', weight = 0.0 }", "weight", format!("{fraction} 0")),
        ("{ kind = 'timely', weight = nan }", "weight", format!("{fraction} NaN")),
        ("{ kind = 'timely-patched', decrease = 1.5 }", "decrease", format!("{fraction} 1.5")),
        ("{ kind = 'timely', low = '0s' }", "low", "must be above 0s, got 0s".to_owned()),
        ("{ kind = 'timely', min_rtt = '0s' }", "min_rtt", "must be above 0s, got 0s".to_owned()),
        (
            "{ kind = 'timely', low = '60us', high = '50us' }",
            "high",
            "must be at least low = 60us, got 50us".to_owned(),
        ),
        (
            "{ kind = 'timely', update = { kind = 'each-segment', size = '0B' } }",
            "update.size",
            "must be at least 1B, got 0B".to_owned(),
        ),
        (
            "{ kind = 'timely', update = 'each-packet' }",
            "update",
            "unknown update \"each-packet\"; expected one of \"each-rtt\", \"each-segment\"".to_owned(),
        ),
        (
            "{ kind = 'timely-patched', preset = 'sigcomm15' }",
            "preset",
            "must be left out, because only the kind \"timely\" has presets".to_owned(),
        ),
        (
            "{ kind = 'timely-patched', hyperactive = 'all' }",
            "hyperactive",
            "must be left out, because only the kind \"timely\" has hyperactive increases".to_owned(),
        ),
        ("{ kind = 'timely', window = { rtt = '2s' } }", "window.rtt", format!("{time} 2s")),
        ("{ kind = 'hpcc', target = 1.25 }", "target", format!("{fraction} 1.25")),
        ("{ kind = 'hpcc', base_rtt = '0s' }", "base_rtt", format!("{time} 0ps")),
        ("{ kind = 'hpcc-pint', target = 0.0 }", "target", format!("{fraction} 0")),
        ("{ kind = 'hpcc-pint', sampled = 1.5 }", "sampled", format!("{fraction} 1.5")),
        ("{ kind = 'hpcc-pint', log_base = 1.0 }", "log_base", "must be from 1.001 to 2, got 1".to_owned()),
        ("{ kind = 'powertcp', weight = 0.0 }", "weight", format!("{fraction} 0")),
        ("{ kind = 'theta-powertcp', base_rtt = '5s' }", "base_rtt", format!("{time} 5s")),
        ("{ kind = 'dctcp', gain = 0.0 }", "gain", format!("{fraction} 0")),
        ("{ kind = 'dctcp', window = { rtt = '0s' } }", "window.rtt", format!("{time} 0ps")),
        (
            "{ kind = 'hpcc', gain = 0.5 }",
            "gain",
            "unknown key; allowed keys: target, max_stage, additive_increase, base_rtt, min_rate, per_hop, skip_empty".to_owned(),
        ),
    ] {
        assert_eq!(refusal_of(congestion), (format!("roce.congestion.{key}"), message), "{congestion}");
    }
}

#[test]
fn bad_values_of_swift_are_refused_with_key_range_and_value() {
    let fraction = "must be above 0 and at most 1, got";
    let packets = "must be above 0 and at most 1000000 packets, got";
    for (congestion, key, message) in [
        ("{ kind = 'swift', base_target = '0s' }", "base_target", "must be above 0s, got 0s".to_owned()),
        (
            "{ kind = 'swift', hop_target = '1us' }",
            "hop_target",
            "must be left out, or hops must be at least 1: the target grows by hops times hop_target"
                .to_owned(),
        ),
        ("{ kind = 'swift', scaling_min = 0.0 }", "scaling_min", format!("{packets} 0")),
        (
            "{ kind = 'swift', scaling_min = 100.0 }",
            "scaling_max",
            "must be above scaling_min = 100, got 100".to_owned(),
        ),
        ("{ kind = 'swift', additive_increase = -1.0 }", "additive_increase", format!("{packets} -1")),
        ("{ kind = 'swift', decrease = 0.0 }", "decrease", format!("{fraction} 0")),
        ("{ kind = 'swift', max_decrease = 2.0 }", "max_decrease", format!("{fraction} 2")),
        ("{ kind = 'swift', min_window = 0.0 }", "min_window", format!("{packets} 0")),
        ("{ kind = 'swift', max_window = inf }", "max_window", format!("{packets} inf")),
        (
            "{ kind = 'swift', min_window = 20.0, max_window = 10.0 }",
            "max_window",
            "must be at least min_window = 20, got 10".to_owned(),
        ),
        (
            "{ kind = 'swift', first_window = 2000.0 }",
            "first_window",
            "must be from min_window = 0.01 to max_window = 1000, got 2000".to_owned(),
        ),
        ("{ kind = 'swift', reset_after = 0 }", "reset_after", "must be at least 1, got 0".to_owned()),
    ] {
        assert_eq!(refusal_of(congestion), (format!("roce.congestion.{key}"), message), "{congestion}");
    }
}

#[test]
fn rates_of_controls_fit_the_links() {
    let least = "must be at most the rate of the hosts' links, 100Gbps, got";
    for (congestion, key, message) in [
        ("{ kind = 'dcqcn', min_rate = '101Gbps' }", "min_rate", format!("{least} 101Gbps")),
        ("{ kind = 'dcqcn-connectx', min_rate = '101Gbps' }", "min_rate", format!("{least} 101Gbps")),
        ("{ kind = 'timely', min_rate = '1Tbps' }", "min_rate", format!("{least} 1Tbps")),
        ("{ kind = 'hpcc', min_rate = '101Gbps' }", "min_rate", format!("{least} 101Gbps")),
        ("{ kind = 'hpcc-pint', min_rate = '101Gbps' }", "min_rate", format!("{least} 101Gbps")),
        ("{ kind = 'theta-powertcp', min_rate = '101Gbps' }", "min_rate", format!("{least} 101Gbps")),
        ("{ kind = 'dctcp', min_rate = '101Gbps' }", "min_rate", format!("{least} 101Gbps")),
        (
            "{ kind = 'timely', min_rate = '2Gbps', first_rate = '1Gbps' }",
            "first_rate",
            "must be at least min_rate = 2Gbps, got 1Gbps".to_owned(),
        ),
        (
            "{ kind = 'dcqcn-connectx', min_rate = '2Gbps', first_rate = '1Gbps' }",
            "first_rate",
            "must be at least min_rate = 2Gbps, got 1Gbps".to_owned(),
        ),
    ] {
        assert_eq!(refusal_of(congestion), (format!("roce.congestion.{key}"), message), "{congestion}");
    }
}

#[test]
fn controls_without_notification_packets_refuse_their_keys() {
    for congestion in
        ["timely", "timely-patched", "swift", "hpcc", "hpcc-pint", "powertcp", "theta-powertcp", "dctcp"]
    {
        let sets = [("roce.congestion", congestion), ("roce.cnp.interval", "4us")];
        let error = parse(SCENARIO, &sets).expect_err("no notifications");
        assert_eq!(error.problems[0].key, "roce.cnp", "{congestion}");
    }
}

fn without_topology() -> String {
    let (before, rest) = SCENARIO.split_once("[topology]").expect("a topology");
    let (_, after) = rest.split_once("[switch]").expect("a switch");
    format!("{before}[switch]{after}")
}

#[test]
fn telemetry_needs_paths_of_at_most_five_switches() {
    // A chain of switches with a host at each end.
    let chain = |switches: u32| {
        let links: Vec<String> =
            (1..switches).map(|n| format!("{{ between = ['s{}', 's{n}'] }}", n - 1)).collect();
        let topology = format!(
            "{{ kind = 'graph', hosts = ['a', 'b'], switches = ['s{{0..{switches}}}'], rate = '100Gbps', link_delay = '1us', \
             links = [{{ between = ['a', 's0'] }}, {{ between = ['b', 's{}'] }}, {}] }}",
            switches - 1,
            links.join(", ")
        );
        move |congestion: &str| {
            let text = without_topology().replace("receivers = 2", "receivers = 1");
            parse(&text, &[("topology", &topology), ("roce.congestion", congestion)])
        }
    };
    assert!(chain(5)("hpcc").is_ok());
    assert!(chain(6)("hpcc-pint").is_ok() && chain(6)("theta-powertcp").is_ok());
    for congestion in ["hpcc", "powertcp"] {
        let error = chain(6)(congestion).expect_err("six switches");
        assert_eq!(error.problems[0].key, "roce.congestion");
        assert_eq!(
            error.problems[0].message,
            "must be a congestion control without in-band telemetry, such as \"theta-powertcp\" or \"swift\": telemetry has \
             room for 5 switches, and the longest path has 6"
        );
    }
}

#[test]
fn telemetry_needs_fixed_routes() {
    let routes = |congestion| {
        let experiment = experiment(&[("roce.congestion", congestion)]);
        let routing = experiment.network.routing_without(&[]);
        let epoch = shallows_scenario::Epoch { at: shallows_core::Instant(1), routing, links: Vec::new() };
        let kept = experiment.network.links_change(shallows_core::Instant(1), Vec::new());
        (experiment.clone().with_epochs(vec![epoch]).err(), experiment.with_epochs(vec![kept]).err())
    };
    assert_eq!(routes("swift"), (None, None));
    let refused = "routes must not change with in-band telemetry, whose header has room for few switches";
    assert_eq!(routes("hpcc"), (Some(refused.to_owned()), None));
    let triangle = "{ kind = 'graph', hosts = ['a', 'b'], switches = ['s{0..3}'], rate = '100Gbps', link_delay = '1us', links = [\
                    { between = ['a', 's0'] }, { between = ['b', 's2'] }, { between = ['s0', 's1'] }, { between = ['s{0..2}', 's2'] }] }";
    let lossless = "{ classes = [0], alpha = 0.125, cyclic_routes = 'allow', routing_loops = [{ to = 's2', through = ['s0', 's1'] }] }";
    let in_circle = |congestion| {
        let text = without_topology().replace("receivers = 2", "receivers = 1");
        let sets = [
            ("topology", triangle),
            ("switch.lossless", lossless),
            ("stop.at", "1ms"),
            ("roce.congestion", congestion),
        ];
        parse(&text, &sets)
            .err()
            .map(|error| (error.problems[0].key.clone(), error.problems[0].message.clone()))
    };
    assert_eq!(in_circle("swift"), None);
    let message =
        "must be left out: in-band telemetry has room for 5 switches, and a packet in a loop passes more";
    assert_eq!(in_circle("hpcc"), Some(("switch.lossless.routing_loops".to_owned(), message.to_owned())));
}

#[test]
fn only_controls_that_react_to_marks_are_counted_as_such() {
    let warnings = |congestion, markers| {
        experiment(&[("roce.congestion", congestion), ("switch.markers", markers)]).warnings()
    };
    let red = "[{ kind = 'red', kmin = '40KB', kmax = '160KB', pmax = 0.2 }]";
    let deaf = "queue pairs have no congestion control that reacts to marks";
    for congestion in ["none", "timely", "swift", "hpcc"] {
        assert_eq!(warnings(congestion, red), [deaf], "{congestion}");
        assert!(warnings(congestion, "[]").is_empty(), "{congestion}");
    }
    for congestion in ["dcqcn", "dctcp"] {
        assert!(warnings(congestion, red).is_empty(), "{congestion}");
        assert_eq!(warnings(congestion, "[]").len(), 1, "{congestion}");
    }
}
