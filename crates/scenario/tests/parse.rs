//! Tests of the way from text to experiment: the settings of a scenario, and the meaning of its load.

use crate::common::{BCC_F2, DUMBBELL, LEAF_SPINE, parse, read};
use shallows_core::{Bytes, Duration, Instant};
use shallows_scenario::{Connections, DatagramPattern, FctEnd, Next, Stop, WarmUp, WhenBusy};
use shallows_transport::{Bound, EctPolicy, Method, congestion};

#[test]
fn bcc_f2_becomes_the_experiment_that_its_scripts_describe() {
    let e = parse(BCC_F2, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((e.name.as_str(), e.seed), ("bcc-f2", 1));
    assert_eq!((e.network.hosts, e.network.switches, e.network.links.len()), (32, 1, 64));
    // 1 us of link and 19 us of host, four times: a base RTT of 80 us.
    assert_eq!(e.network.base_rtt(), Duration::from_micros(80));
    // 9000 bytes minus 40 of headers; windows are in segments of this size.
    assert_eq!(e.tcp().mss, Bytes(8_960));
    assert_eq!(e.tcp().initial_window, Bytes(20 * 8_960));
    assert_eq!(e.tcp().max_window, Bytes(125 * 8_960));
    assert_eq!(e.tcp().rto.minimum, Duration::from_millis(5));
    assert_eq!(e.fct, FctEnd::Sender);
    assert_eq!(e.bins, [Bytes(102_400), Bytes(10_485_760)]);
    assert_eq!(e.warm_up, Duration::from_secs(1));
    assert_eq!(e.hosts.groups[0].jitter, Duration::ZERO);
    assert_eq!(e.stop, Stop { at: None, on_completion: true });
    assert_eq!(e.expected_flows(), Some(100_000));
    assert_eq!(e.network.buffers[32].pools, [Bytes(3_145_728); 4]);
    // The first eight ports, which lead to the receivers, share the first pool.
    let pools: Vec<usize> = e.network.links[32..].iter().map(|link| link.pool).collect();
    assert_eq!(pools, (0..32).map(|port| port / 8).collect::<Vec<_>>());
    assert!(e.network.links[32..].iter().all(|link| link.reserved == Bytes(131_072)));
    let warm_up =
        WarmUp { bytes: Bytes(8_960), from: Instant(100_000_000_000), to: Instant(600_000_000_000) };
    let connections = Connections::Persistent {
        per_pair: 10,
        queue_depth: 1,
        when_busy: WhenBusy::OpenAnother,
        warm_up: Some(warm_up),
    };
    assert_eq!(e.connections, [connections]);
    assert_eq!(e.pairs[0].iter().count(), 24 * 8);
}

#[test]
fn every_kind_of_workload_is_built() {
    let e = parse(LEAF_SPINE, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(e.workloads().len(), 3, "udp sends no flows");
    assert_eq!(e.stop, Stop { at: Some(Instant(50_000_000_000)), on_completion: false });
    assert_eq!(e.expected_flows(), Some(1_000 + 3 + 320));
    // An MTU of 9,000 minus 28 bytes of headers.
    assert_eq!(e.datagram_sources[0].payload, Bytes(8_972));
    assert!(matches!(e.datagram_sources[0].pattern, DatagramPattern::OnOff { .. }));
    // 9,038 bytes at 100 Gb/s.
    assert_eq!(
        e.hosts.groups[0].jitter,
        Duration::from_nanos(9_038 * 80 / 1_000) + Duration(9_038 * 80 % 1_000)
    );
    let e = parse(DUMBBELL, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(e.name, "s", "named after its file");
    assert_eq!(e.expected_flows(), None, "arrivals go on until the run ends");
    let inputs: Vec<&str> = e.inputs().iter().map(|input| input.path.as_str()).collect();
    assert_eq!(inputs, ["flows.csv", "sizes.cdf"]);
}

/// Returns the wire bytes of a flow with an MTU of 9,000 and 40 bytes of headers.
fn wire_bytes(size: u64) -> u64 {
    size + 40 * size.div_ceil(8_960)
}

#[test]
fn the_load_is_what_the_links_carry() {
    // 8 links of 100 Gb/s at 50 %, with every byte on the wire counted.
    let sets = [("workload.0.load", "0.5"), ("workload.0.counted", "wire"), ("workload.0.flows", "400000")];
    let e = parse(BCC_F2, &sets).unwrap();
    let mut workload = e.workloads().remove(0);
    let (mut bytes, mut last, mut flows) = (0, Instant::ZERO, 0);
    while let Next::Flow(flow) = workload.next(last) {
        assert!(flow.at >= last && (8..32).contains(&flow.source.0) && flow.destination.0 < 8);
        bytes += wire_bytes(flow.size.unwrap().0);
        last = flow.at;
        flows += 1;
    }
    assert_eq!(flows, 400_000);
    let seconds = (last.0 - 1_000_000_000_000) as f64 / 1e12;
    let load = bytes as f64 * 8.0 / seconds / 800e9;
    // The standard deviation of a size is 2.4 means, that of a gap one: 2.6/√400,000 = 0.4 %; the bound is four standard deviations.
    assert!((load / 0.5 - 1.0).abs() < 0.0165, "{load}");
}

/// Returns the mean time between arrivals of the first thousand flows.
fn mean_gap(text: &str, sets: &[(&str, &str)]) -> f64 {
    let e = parse(text, sets).unwrap_or_else(|error| panic!("{error}"));
    let mut workload = e.workloads().remove(0);
    let mut at = |_| match workload.next(Instant::ZERO) {
        Next::Flow(flow) => flow.at.0 as f64,
        other => panic!("{other:?}"),
    };
    let (first, last) = (at(0), (1..1_000).map(&mut at).last().expect("a thousand flows"));
    (last - first) / 999.0
}

#[test]
fn the_rate_follows_the_closed_form() {
    // Under one seed the gaps are the same numbers times the mean gap, so ratios are exact. Fixed flows of ten full segments: 89,600 bytes
    // of data, 90,000 on the wire.
    let fixed = |more: &[(&'static str, &'static str)]| {
        let mut sets =
            vec![("workload.0.sizes", "{ kind = 'fixed', size = '89600B' }"), ("workload.0.load", "0.5")];
        sets.extend(more);
        mean_gap(BCC_F2, &sets)
    };
    let wire = fixed(&[("workload.0.counted", "wire")]);
    let near =
        |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-6, "{found}, {expected}");
    near(fixed(&[("workload.0.counted", "full-segments")]), wire);
    near(fixed(&[("workload.0.counted", "payload")]), wire * 89_600.0 / 90_000.0);
    near(fixed(&[("workload.0.counted", "wire"), ("workload.0.load", "0.25")]), wire * 2.0);
    // 24 senders have three times the capacity of 8 receivers, so a third of the load gives the same flows.
    let senders = [("workload.0.counted", "wire"), ("workload.0.of", "senders"), ("workload.0.load", "0.25")];
    near(fixed(&senders), wire * 2.0 / 3.0);
    // Mean gap = 90,000 B · 8 / (0.5 · 800 Gb/s) = 1.8 us; the mean of 999 exponential gaps is within 4/√999 of it.
    assert!((wire / 1.8e6 - 1.0).abs() < 0.127, "{wire}");
}

#[test]
fn a_flow_of_one_byte_bears_a_whole_header() {
    // 41 bytes on the wire for each byte of data; with headers in proportion to the data the ratio would be close to 1.
    let gap = |counted: &'static str| {
        let one = "{ kind = 'fixed', size = '1B' }";
        let sets = [("workload.0.sizes", one), ("workload.0.load", "0.01"), ("workload.0.counted", counted)];
        mean_gap(BCC_F2, &sets)
    };
    let ratio = gap("wire") / gap("payload");
    assert!((ratio / 41.0 - 1.0).abs() < 1e-3, "{ratio}");
}

#[test]
fn a_load_of_the_uplinks_counts_only_flows_between_leaves() {
    // 64 uplinks, one of them with 40 Gb/s: 6.34 Tb/s; 112 of 127 destinations are on other leaves. The 128 links to the receivers carry
    // 12.8 Tb/s of all flows. The rates are 0.3 · 6.34 · 127/112 and 0.2 · 12.8; gaps are their inverse.
    let uplinks = mean_gap(LEAF_SPINE, &[("workload.0.load", "0.3")]);
    let receivers = mean_gap(LEAF_SPINE, &[("workload.0.load", "0.2"), ("workload.0.of", "receivers")]);
    let expected = (0.2 * 12.8) / (0.3 * 6.34 * 127.0 / 112.0);
    assert!((uplinks / receivers / expected - 1.0).abs() < 1e-6, "{}", uplinks / receivers);
}

#[test]
fn a_load_of_a_bottleneck_counts_the_directions_in_use() {
    let text = r#"
        stop.at = "100s"
        topology = { kind = "dumbbell", left = 2, right = 2, rate = "25Gbps", bottleneck_rate = "10Gbps" }
        switch.buffer = { kind = "static-partition", per_port = "200p" }
        workload = [{ kind = "poisson", load = 0.1, sizes = { kind = "fixed", size = "1MB" } }]
    "#;
    let gap = |of: &str, senders: &str, receivers: &str| {
        let sets =
            [("workload.0.of", of), ("workload.0.senders", senders), ("workload.0.receivers", receivers)];
        mean_gap(text, &sets)
    };
    let near =
        |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-6, "{found}, {expected}");
    // All flows cross the 10 Gb/s of one direction; the links to the two receivers have 50 Gb/s. Gaps are inversely proportional.
    let one_way = gap("uplinks", "0..2", "2..4");
    near(gap("senders", "2..4", "0..2") * 50.0, one_way * 10.0);
    near(gap("uplinks", "2..4", "0..2"), one_way);
    // Eight of twelve pairs cross one of two directions: 20 Gb/s over 8/12 against 10 Gb/s.
    near(gap("uplinks", "all", "all"), one_way / 3.0);
}

#[test]
fn flows_keep_pairs_and_sizes_at_every_load_and_under_every_scheme() {
    let flows = |sets: &[(&str, &str)]| {
        let mut workload = parse(BCC_F2, sets).unwrap().workloads().remove(0);
        let next = |_| match workload.next(Instant::ZERO) {
            Next::Flow(flow) => (flow.source, flow.destination, flow.size),
            other => panic!("{other:?}"),
        };
        (0..500).map(next).collect::<Vec<_>>()
    };
    let base = flows(&[]);
    assert_eq!(base, flows(&[("workload.0.load", "0.4")]));
    assert_eq!(base, flows(&[("switch.markers", "[]"), ("tcp.congestion", "reno")]));
    assert_ne!(base, flows(&[("seed", "2")]));
}

#[test]
fn workloads_start_afresh_each_time() {
    let e = parse(LEAF_SPINE, &[]).unwrap();
    for (mut once, mut again) in e.workloads().into_iter().zip(e.workloads()) {
        for _ in 0..100 {
            assert_eq!(once.next(Instant::ZERO), again.next(Instant::ZERO));
        }
    }
}

#[test]
fn an_incast_repeats_with_its_period_and_spread() {
    let e = parse(LEAF_SPINE, &[]).unwrap();
    let mut workload = e.workloads().remove(2);
    for round in 0..10 {
        let mut last = Instant::ZERO;
        let mut senders = Vec::new();
        for _ in 0..32 {
            let Next::Flow(flow) = workload.next(Instant::ZERO) else { panic!("{} of 32", senders.len()) };
            let since = flow.at.0 - round * 2_000_000_000;
            assert!(since <= 10_000_000 && flow.at >= last);
            // 1 MB in 32 parts.
            assert_eq!((flow.size, flow.destination.0, flow.workload), (Some(Bytes(31_250)), 0, 2));
            (last, _) = (flow.at, senders.push(flow.source.0));
        }
        senders.sort_unstable();
        assert_eq!(senders, (16..48).collect::<Vec<_>>());
    }
    assert_eq!(workload.next(Instant::ZERO), Next::Done);
}

#[test]
fn the_seed_of_the_caller_replaces_that_of_the_file() {
    let e = shallows_scenario::parse(BCC_F2, "s.toml", &read, &[], Some(99)).unwrap();
    assert_eq!((e.seed, e.resolved()["seed"].as_u64()), (99, Some(99)));
}

#[test]
fn every_transport_of_the_papers_can_be_said() {
    let tcp =
        |sets: &[(&str, &str)]| parse(DUMBBELL, sets).unwrap_or_else(|error| panic!("{error}")).tcp().clone();
    // ECN*: regular TCP with ECN, and ECT on every packet as in the papers' ns-2.
    let ecn_star = tcp(&[("tcp.congestion", "ecn-star")]);
    assert_eq!(ecn_star.congestion, congestion::Config::Reno(congestion::reno::Config { ecn: true }));
    assert_eq!(ecn_star.ect, EctPolicy::All);
    assert_eq!(tcp(&[("tcp.congestion", "{ kind = 'reno', ecn = true }")]).ect, EctPolicy::Rfc3168);
    let pulser = tcp(&[("tcp.congestion", "{ kind = 'pulser', dctcp = { initial_alpha = 0.0 } }")]);
    let congestion::Config::Pulser(config) = &pulser.congestion else { panic!("{:?}", pulser.congestion) };
    assert_eq!(config.safe_window, pulser.mss * 4);
    assert_eq!((config.dctcp.initial_alpha, config.signal), (0.0, congestion::pulser::Signal::Incast));
    assert_eq!(pulser.ect, EctPolicy::All);
    let cubic = tcp(&[("tcp.congestion", "cubic"), ("tcp.prr", "crb"), ("tcp.fin", "true")]);
    assert_eq!(cubic.congestion, congestion::Config::Cubic(congestion::cubic::Config::default()));
    assert_eq!((cubic.recovery, cubic.fin), (Method::Sack(Some(Bound::Conservative)), true));
    assert_eq!(tcp(&[("tcp.recovery", "fulltcp")]).recovery, Method::FullTcp);
    assert_eq!(tcp(&[("tcp.recovery", "sack1")]).recovery, Method::Sack1);
    let rack = tcp(&[("tcp.recovery", "rack"), ("tcp.prr", "safe-ack"), ("tcp.delayed_ack.timeout", "3ms")]);
    assert_eq!(rack.recovery, Method::Rack(Some(Bound::SafeAck)));
    assert_eq!((rack.rack.max_ack_delay, rack.rack.timer_slack), (Duration::from_millis(3), Duration::ZERO));
    let rack =
        tcp(&[("tcp.recovery", "rack"), ("tcp.rack", "{ max_ack_delay = '200ms', timer_slack = '8ms' }")]);
    assert_eq!(rack.rack.max_ack_delay, Duration::from_millis(200));
    assert_eq!(rack.rack.timer_slack, Duration::from_millis(8));
    assert_eq!(tcp(&[("tcp.recovery", "newreno")]).recovery, Method::NewReno);
    assert_eq!(tcp(&[("tcp.recovery", "reno")]).recovery, Method::Reno);
    assert_eq!(tcp(&[]).recovery, Method::Sack(None));
}

#[test]
fn the_example_of_the_reference_page_is_a_scenario() {
    let page = include_str!("../../../docs/scenario.md");
    let example = page.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).expect("it has one");
    let e = parse(example, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(e.expected_flows(), Some(16));
    assert!(e.warnings().is_empty());
}

#[test]
fn the_schema_describes_every_key_and_knows_every_kind() {
    let schema = shallows_scenario::schema();
    let text = schema.to_string();
    for kind in [
        "leaf-spine",
        "dynamic-threshold",
        "dctcp",
        "poisson",
        "hadoop-packets",
        "on-off",
        "persistent",
        "red",
    ] {
        assert!(text.contains(&format!("\"const\":\"{kind}\"")), "{kind}");
    }
    let mut undescribed = Vec::new();
    let mut open = 0;
    visit(&schema, &mut |object| {
        let Some(properties) = object.get("properties").and_then(|properties| properties.as_object()) else {
            return;
        };
        open += usize::from(object.get("additionalProperties") != Some(&serde_json::Value::Bool(false)));
        let silent = properties
            .iter()
            .filter(|(key, property)| *key != "kind" && property.get("description").is_none());
        undescribed.extend(silent.map(|(key, _)| key.clone()));
    });
    assert!(undescribed.is_empty(), "{undescribed:?}");
    assert_eq!(open, 0, "unknown keys are errors everywhere");
    assert!(
        text.contains("\"enum\":[\"reno\",\"ecn-star\",\"dctcp\",\"cubic\",\"pulser\"]"),
        "a kind alone will do"
    );
}

/// Calls `see` with every object of a document.
fn visit(value: &serde_json::Value, see: &mut impl FnMut(&serde_json::Map<String, serde_json::Value>)) {
    match value {
        serde_json::Value::Object(object) => {
            see(object);
            object.values().for_each(|value| visit(value, see));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|value| visit(value, see)),
        _ => {}
    }
}

#[test]
fn a_preset_sets_every_key_at_once_and_keys_beside_it_override() {
    let set = |sets: &[(&str, &str)]| parse(DUMBBELL, sets).unwrap_or_else(|error| panic!("{error}"));
    let linux = set(&[("tcp.preset", "linux-6"), ("tcp.rto.min", "5ms")]);
    assert_eq!(linux.tcp().recovery, Method::Rack(Some(Bound::SafeAck)));
    assert_eq!(
        (linux.tcp().rto.minimum, linux.tcp().rto.maximum),
        (Duration::from_millis(5), Duration::from_secs(120))
    );
    let congestion::Config::Cubic(cubic) = linux.tcp().congestion else {
        panic!("{:?}", linux.tcp().congestion)
    };
    assert_eq!((cubic.ecn, cubic.hystart), (false, congestion::hystart::Config::LINUX));
    assert_eq!((linux.tcp().frto, linux.tcp().dsack, linux.tcp().delayed_ack.quick), (true, true, 16));
    assert_eq!(linux.tcp().app_limited, shallows_transport::AppLimited::Linux);
    let note = linux.notes.iter().find(|note| note.starts_with("tcp.preset")).expect("it is told");
    assert!(note.contains("rto.max = \"120s\"") && !note.contains("rto.min"), "{note}");
    // Keys of the preset for one kind of congestion control, and keys of the replaced kind that are dropped.
    let dctcp =
        set(&[("tcp.preset", "linux-6"), ("tcp.congestion", "{ kind = 'dctcp', g = 0.125 }")]).tcp().clone();
    let congestion::Config::Dctcp(config) = dctcp.congestion else { panic!("{:?}", dctcp.congestion) };
    assert_eq!((config.gain, config.arithmetic), (0.125, congestion::dctcp::Arithmetic::Segments));
    assert_eq!(dctcp.ece_reaction, shallows_transport::EceReaction::Prr);
    // A name alone selects the same keys. Without delayed acknowledgements, no quick acknowledgements are needed.
    let named = [("tcp.preset", "linux-6"), ("tcp.congestion", "dctcp"), ("tcp.delayed_ack.segments", "1")];
    let named = set(&named).tcp().clone();
    let congestion::Config::Dctcp(config) = named.congestion else { panic!("{:?}", named.congestion) };
    assert_eq!(config.arithmetic, congestion::dctcp::Arithmetic::Segments);
    assert_eq!((named.delayed_ack.segments, named.delayed_ack.quick), (1, 0));
    let newreno = set(&[("tcp.preset", "linux-6"), ("tcp.recovery", "newreno")]).tcp().clone();
    assert_eq!((newreno.recovery, newreno.dsack), (Method::NewReno, false));
    // A resolved scenario does not apply its preset twice.
    assert_eq!(set(&[("tcp.preset", "rfc")]).tcp(), set(&[]).tcp());
    for preset in ["linux-6", "windows-2022", "rfc", "ns-2"] {
        let resolved = set(&[("tcp.preset", preset)]).resolved();
        let text = toml::to_string(&resolved).unwrap();
        let again = parse(&text, &[]).unwrap_or_else(|error| panic!("{error}")).resolved();
        assert_eq!(resolved, again);
    }
}

#[test]
fn the_preset_of_ns_2_is_what_the_scenarios_of_bcc_set() {
    let scenario = include_str!("../../../experiments/bcc/fig4.toml");
    let start = scenario.find("[tcp]").unwrap();
    let end = start + scenario[start..].find("[measure]").unwrap();
    let preset = format!("{}[tcp]\npreset = \"ns-2\"\n{}", &scenario[..start], &scenario[end..]);
    assert_eq!(parse(&preset, &[]).unwrap().tcp(), parse(scenario, &[]).unwrap().tcp());
}
