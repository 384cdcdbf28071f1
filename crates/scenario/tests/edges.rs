//! Tests of values at a limit and just beyond it, and of defaults, each worked out by hand.

use crate::common::parse;
use shallows_core::{Duration, Instant};
use shallows_scenario::{Experiment, Next};
use shallows_switch::{aqm, discipline};

/// Star of four hosts with a workload. A full packet has 1,538 bytes on the wire.
const STAR: &str = r#"
stop.at = "1ms"

[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
framing = 38

[switch]
buffer = { kind = "static-partition", per_port = "100p" }
"#;

const INCAST: &str = "{ kind = 'incast', senders = '1..3', receivers = '0', size = '64KB' }";

fn star(workload: &str, sets: &[(&str, &str)]) -> Result<Experiment, String> {
    parse(&format!("workload = [{workload}]\n{STAR}"), sets).map_err(|error| error.to_string())
}

fn sound(workload: &str, sets: &[(&str, &str)]) -> Experiment {
    star(workload, sets).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the marker configuration of the ports to hosts.
fn marker(text: &str) -> aqm::Config {
    let experiment = sound(INCAST, &[("switch.markers", &format!("[{text}]"))]);
    let network = &experiment.network;
    let link = network.links.iter().find(|link| link.name == "switch0->host0").expect("it leads to a host");
    network.port(link).markers[0].marker.clone()
}

#[test]
fn markers_take_no_time_that_is_none_and_no_weight_of_nothing() {
    for (text, key, fits, too_little) in [
        ("{ kind = 'mq-ecn', k = '40p', idle_time = VALUE }", "idle_time", "'1ps'", "'0s'"),
        ("{ kind = 'ein-as-released', packet_time = VALUE }", "packet_time", "'1ps'", "'0s'"),
        (
            "{ kind = 'red-classic', kmin = '5p', kmax = '9p', weight = 0.002, typical_packet = VALUE }",
            "typical_packet",
            "'1B'",
            "'0B'",
        ),
        ("{ kind = 'red', kmin = '5p', kmax = '9p', pmax = 0.1, weight = VALUE }", "weight", "1.0", "1.001"),
        ("{ kind = 'red', kmin = '5p', kmax = '9p', pmax = 0.1, weight = VALUE }", "weight", "1e-9", "0.0"),
    ] {
        let told = |value: &str| {
            let markers = format!("[{}]", text.replace("VALUE", value));
            star(
                INCAST,
                &[
                    ("switch.port", "{ kind = 'dwrr', queues = 2, quantum = '1538B' }"),
                    ("switch.markers", &markers),
                ],
            )
            .err()
            .unwrap_or_default()
        };
        assert_eq!(told(fits), "");
        assert!(told(too_little).contains(key), "{}", told(too_little));
    }
}

#[test]
fn a_weight_is_that_of_the_average() {
    let aqm::Config::Red { gauge, .. } =
        marker("{ kind = 'red', kmin = '5p', kmax = '9p', pmax = 0.1, weight = 0.25 }")
    else {
        panic!("another marker");
    };
    assert_eq!(gauge.averaging, aqm::Averaging::Ewma { weight: 0.25 });
}

#[test]
fn spacing_is_by_count_where_it_is_asked_for() {
    let spacing = |more: &str| {
        let text = format!("{{ kind = 'red', kmin = '5p', kmax = '9p', pmax = 0.1{more} }}");
        let aqm::Config::Red { spacing, .. } = marker(&text) else { panic!("another marker") };
        spacing
    };
    assert_eq!(spacing(""), aqm::Spacing::Independent);
    assert!(matches!(spacing(", spacing = 'count'"), aqm::Spacing::Count { .. }));
}

#[test]
fn what_stops_does_so_after_it_starts() {
    for kind in
        ["kind = 'udp', pattern = { kind = 'constant', rate = '1Gbps' }", "kind = 'ping', interval = '10us'"]
    {
        let told = |stop: &str| {
            let workload =
                format!("{{ {kind}, senders = '0', receivers = '1', start = '5us', stop = '{stop}' }}");
            star(&workload, &[]).err().unwrap_or_default()
        };
        assert_eq!((told("5000001ps"), told("6us")), (String::new(), String::new()));
        for stop in ["5us", "4us"] {
            assert!(told(stop).contains("must be after start = 5us"), "{}", told(stop));
        }
    }
}

#[test]
fn weights_of_classes_are_not_all_nothing() {
    let told = |weights: &str| {
        let class = format!(", class = {{ kind = 'random', weights = {weights} }} }}");
        star(&INCAST.replace(" }", &class), &[("switch.port", "{ kind = 'strict-priority', queues = 2 }")])
            .err()
            .unwrap_or_default()
    };
    assert_eq!(told("[0, 1]"), "");
    assert!(told("[0, 0]").contains("one must be above 0"), "{}", told("[0, 0]"));
}

#[test]
fn classes_are_drawn_by_at_most_64_weights() {
    let told = |count: usize| {
        let class = format!(", class = {{ kind = 'random', weights = {:?} }} }}", vec![1; count]);
        star(
            &INCAST.replace(" }", &class),
            &[
                ("switch.port", "{ kind = 'strict-priority', queues = 64 }"),
                ("host.nic.port", "{ kind = 'strict-priority', queues = 64 }"),
            ],
        )
        .err()
        .unwrap_or_default()
    };
    assert_eq!(told(64), "");
    assert!(told(65).contains("at most 64 classes"), "{}", told(65));
}

#[test]
fn a_list_says_the_class_of_each_flow_or_the_workload_says_it_of_all() {
    let told = |column: bool, class: &str| {
        let (head, tail) = if column { (",class", ",2") } else { ("", "") };
        let read = |_: &str| Ok(format!("start_ns,source,destination,bytes{head}\n0,0,1,9{tail}\n"));
        let text = format!("workload = [{{ kind = 'trace', path = 'a.csv'{class} }}]\n{STAR}");
        let sets = [("switch.port".to_owned(), "{ kind = 'strict-priority', queues = 3 }".to_owned())];
        shallows_scenario::parse(&text, "s.toml", &read, &sets, None)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    for (column, class) in [(false, ""), (true, ""), (false, ", class = 1")] {
        assert_eq!(told(column, class), "", "{column}{class}");
    }
    assert!(told(true, ", class = 1").contains("remove the key or the column"));
}

#[test]
fn queues_that_share_a_limit_hold_a_packet_each() {
    for (division, least) in
        [("equal", 2), ("thirds", 3), ("dynamic", 1), ("{ kind = 'unequal', high = 0.75 }", 4)]
    {
        let told = |packets: u32| {
            let division =
                if division.starts_with('{') { division.to_owned() } else { format!("'{division}'") };
            let port = format!("{{ kind = 'hcf', limit = '{packets}p', division = {division} }}");
            star(INCAST, &[("switch.port", &port)]).err().unwrap_or_default()
        };
        assert_eq!(told(least), "", "{division}");
        assert!(least == 1 || told(least - 1).contains("room for one packet"), "{division}");
    }
}

#[test]
fn buckets_earn_something_and_hash_by_what_the_pages_say() {
    let of = |port: &str| {
        let experiment = sound(INCAST, &[("switch.port", port)]);
        let network = &experiment.network;
        let link =
            network.links.iter().find(|link| link.name == "switch0->host0").expect("it leads to a host");
        network.port(link).discipline.clone()
    };
    let discipline::Config::Sfq(sfq) = of("'sfq'") else { panic!("another discipline") };
    let discipline::Config::HashedDrr(drr) = of("{ kind = 'hashed-drr', quantum = '1B' }") else {
        panic!("another discipline")
    };
    assert_eq!((sfq.hash, drr.hash), (discipline::FlowHash::AddressPair, discipline::FlowHash::FiveTuple));
    let none =
        star(INCAST, &[("switch.port", "{ kind = 'hashed-drr', quantum = '0B' }")]).err().unwrap_or_default();
    assert!(none.contains("must be above 0B, got 0B"), "{none}");
}

#[test]
fn a_load_is_less_than_one_and_offers_no_link_more_than_it_has_but_those_of_others() {
    let poisson = |senders: &str, receivers: &str, load: &str| {
        format!(
            "{{ kind = 'poisson', senders = '{senders}', receivers = '{receivers}', of = 'receivers', load = {load}, \
             sizes = {{ kind = 'fixed', size = '1KB' }} }}"
        )
    };
    let told = |workloads: &[String]| star(&workloads.join(", "), &[]).err().unwrap_or_default();
    assert!(told(&[poisson("1", "0", "1.0")]).contains("must be above 0 and below 1, got 1"));
    assert!(told(&[poisson("1", "0", "0.0")]).contains("must be above 0 and below 1, got 0"));
    assert_eq!(told(&[poisson("1", "0", "0.5")]), "");
    // The first workload overloads its link, which is allowed. The second one uses other links and is accepted.
    let over = poisson("1", "0", "1.5, overload = true");
    assert_eq!(told(&[over.clone(), poisson("2", "3", "0.5")]), "");
    assert!(told(&[over, poisson("2", "0", "0.5")]).contains("the link switch0->host0 would carry"));
}

#[test]
fn a_burst_of_a_group_fits_its_nic_with_the_framing_of_each_packet() {
    // 65,536 bytes are 45 segments of 1,448, of 1,538 bytes on the wire.
    let told = |limit: u32| {
        let group =
            format!("[{{ name = 'g', members = 0, nic = {{ tso = '65536B', limit = '{limit}B' }} }}]");
        star(INCAST, &[("host.group", &group)]).err().unwrap_or_default()
    };
    assert_eq!(told(45 * 1_538), "");
    assert!(told(45 * 1_538 - 1).contains("must fit into the queue of the NIC"), "{}", told(45 * 1_538 - 1));
}

#[test]
fn rounds_of_an_incast_are_expected_as_far_as_the_run_lasts() {
    let workload = INCAST.replace(" }", ", repeats = 3, period = '400us' }");
    let flows = |stop: &str| sound(&workload, &[("stop.at", stop)]).arrivals()[0].flows;
    // Two senders with three rounds, or with the rounds that begin until 400 us: at 0 and 400.
    assert_eq!(["2ms", "400us"].map(flows), [6.0, 4.0]);
}

#[test]
fn a_first_window_is_spelled_out_in_whole_segments() {
    // Ten segments of 1,500 bytes minus 20 of IP, 20 of TCP and 12 of timestamps.
    let resolved = sound(INCAST, &[("tcp.timestamps", "true")]).resolved();
    assert_eq!(resolved["tcp"]["initial_window"], "14.48KB");
}

#[test]
fn rounds_take_no_longer_than_a_hundred_days_together() {
    let told = |repeats: u32| {
        let more = format!(", spread = '1us', period = '86400s', repeats = {repeats} }}");
        star(&INCAST.replace(" }", &more), &[]).err().unwrap_or_default()
    };
    assert!(!told(100).contains("at most 100 days"), "{}", told(100));
    assert!(told(101).contains("at most 100 days"), "{}", told(101));
}

#[test]
fn a_spread_holds_both_its_ends() {
    // 0 and 1 ps each have a probability of one half: all 200 draws are equal with a probability of 2⁻¹⁹⁹.
    let workload = INCAST.replace(" }", ", spread = '1ps', period = '1us', repeats = 100 }");
    let experiment = sound(&workload, &[]);
    let mut generator = experiment.workloads().remove(0);
    let mut seen = Vec::new();
    while let Next::Flow(flow) = generator.next(Instant::ZERO) {
        seen.push((flow.at - Instant::ZERO).0 % 1_000_000);
    }
    assert_eq!(seen.len(), 200);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [0, 1]);
}

#[test]
fn a_seed_and_the_decisions_of_a_receiver_are_what_the_pages_say_where_nothing_is_said() {
    let tcp = sound(INCAST, &[("tcp.timestamps", "true"), ("tcp.receiver", "'ictcp'")]);
    assert_eq!(tcp.seed, 1);
    assert!(tcp.tcp().timestamps);
    let shallows_transport::receive_window::Control::Ictcp(ictcp) = &tcp.tcp().receive_control else {
        panic!("another receiver");
    };
    assert_eq!((ictcp.decrease_after, ictcp.rtt_limit), (3, Duration::from_millis(2)));
    assert!(!sound(INCAST, &[("tcp.timestamps", "false")]).tcp().timestamps);
}

#[test]
fn a_file_is_known_by_the_hash_of_what_it_holds() {
    let read = |_: &str| Ok("start_ns,source,destination,bytes\n0,0,1,9\n".to_owned());
    let text = format!("workload = [{{ kind = 'trace', path = 'a.csv' }}]\n{STAR}");
    let experiment =
        shallows_scenario::parse(&text, "s.toml", &read, &[], None).unwrap_or_else(|error| panic!("{error}"));
    let [input] = experiment.inputs() else { panic!("one file is read") };
    // Computed by another implementation: h = 14695981039346656037; for b in text: h = (h ^ b) · 1099511628211 mod 2⁶⁴.
    assert_eq!((input.path.as_str(), input.content_hash.as_str()), ("a.csv", "33c76f7a438066ad"));
}

#[test]
fn a_threshold_of_a_packet_that_counts_itself_does_not_mark_everything() {
    let warned = |k: u32| {
        let markers = format!("[{{ kind = 'threshold', k = '{k}B', counts_packet = true }}]");
        let warnings = sound(INCAST, &[("switch.markers", &markers)]).warnings();
        warnings.iter().any(|text| text.contains("mark every full packet"))
    };
    assert_eq!([1_537, 1_538].map(warned), [true, false]);
}

#[test]
fn a_share_is_more_than_nothing_and_less_than_all() {
    let told = |high: &str| {
        let port =
            format!("{{ kind = 'hcf', limit = '100p', division = {{ kind = 'unequal', high = {high} }} }}");
        star(INCAST, &[("switch.port", &port)]).err().unwrap_or_default()
    };
    assert_eq!([told("0.01"), told("0.99")], ["", ""]);
    for none in ["0.0", "1.0", "-0.5"] {
        assert!(told(none).contains("must be above 0 and below 1"), "{}", told(none));
    }
}

#[test]
fn automatic_thresholds_of_red_aim_at_some_delay() {
    let told = |delay: &str| {
        let markers = format!("[{{ kind = 'red-classic', target_delay = '{delay}' }}]");
        star(INCAST, &[("switch.markers", &markers)]).err().unwrap_or_default()
    };
    assert_eq!(told("1ps"), "");
    assert!(told("0s").contains("must be above 0s, got 0s"), "{}", told("0s"));
}

#[test]
fn timers_take_some_time() {
    for timer in ["min", "initial"] {
        let told =
            |time: &str| star(INCAST, &[(&format!("tcp.rto.{timer}"), time)]).err().unwrap_or_default();
        assert_eq!(told("1ps"), "", "{timer}");
        assert!(told("0s").contains("must be above 0s, got 0s"), "{}", told("0s"));
    }
}

#[test]
fn a_distribution_may_rise_at_once_and_may_stand_still() {
    let told = |points: &str| {
        let workload = "{ kind = 'poisson', load = 0.5, sizes = { kind = 'file', path = 'a.cdf' } }";
        let text = format!("workload = [{workload}]\n{STAR}");
        let read = |_: &str| Ok(points.to_owned());
        shallows_scenario::parse(&text, "s.toml", &read, &[], None)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    // Half of the flows have 1,000 bytes; no flow has between 2,000 and 3,000.
    assert_eq!(told("1000 0\n1000 0.5\n2000 0.7\n3000 0.7\n4000 1\n"), "");
    assert!(told("1000 0\n999 1\n").contains("must not be less than in the line before"));
    assert!(told("1000 0.5\n2000 0.4\n3000 1\n").contains("must not be less than in the line before"));
}

#[test]
fn a_pool_that_all_share_can_be_full_to_the_last_byte() {
    // Three busy ports have 333,333 of 1,000,001 bytes each, and all of the pool together.
    let markers = "[{ kind = 'threshold', k = '1000000B', scope = 'pool' }]";
    let experiment = sound(
        INCAST,
        &[("switch.buffer", "{ kind = 'complete-sharing', pool = '1000001B' }"), ("switch.markers", markers)],
    );
    let curves = experiment.marking_curves();
    let limits: Vec<u64> = curves[0].limits.iter().map(|limit| limit.limit_bytes).collect();
    assert_eq!((limits, curves[0].can_fire), (vec![1_000_001; 2], true));
}

#[test]
fn arrivals_are_as_exponential_times_whoever_draws_them() {
    // A load of 0.5 of 10 Gb/s into each of four hosts is 20 Gb/s. A flow of 1,448 bytes is one packet of 1,538: 615.2 ns.
    let gaps = |draws: &str| -> Vec<f64> {
        let workload = format!(
            "{{ kind = 'poisson', load = 0.5, sizes = {{ kind = 'fixed', size = '1448B' }}, draws = '{draws}', \
             flows = 10_000 }}"
        );
        let experiment = sound(&workload, &[("stop.at", "1s")]);
        assert_eq!((experiment.expected_flows(), experiment.arrivals()[0].flows), (Some(10_000), 10_000.0));
        let mut generator = experiment.workloads().remove(0);
        let mut times = vec![Instant::ZERO];
        while let Next::Flow(flow) = generator.next(Instant::ZERO) {
            times.push(flow.at);
        }
        assert_eq!(times.len(), 10_001);
        times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64() / 615.2e-9).collect()
    };
    let mean_of = |values: &[f64]| values.iter().sum::<f64>() / 10_000.0;
    // The mean of 10,000 exponential times has a standard deviation of 1 %. The mean of their squares is twice the square of the mean, with
    // a standard deviation of √20/100 of that: 2.2 %. The seeds of ns-2's scripts are close to each other, so their slack is larger.
    for (draws, slack) in [("own", 0.05), ("ns-2", 0.1)] {
        let gaps = gaps(draws);
        let squares: Vec<f64> = gaps.iter().map(|gap| gap * gap).collect();
        let (mean, squares) = (mean_of(&gaps), mean_of(&squares));
        assert!(
            (mean - 1.0).abs() < slack && (squares / 2.0 - 1.0).abs() < 2.5 * slack,
            "{draws}: {mean}, {squares}"
        );
    }
}

#[test]
fn a_network_is_described_by_its_nodes_cables_and_ports() {
    let topology = serde_json::json!({"kind": "dumbbell", "left": 1, "right": 1, "rate": "10Gbps",
        "bottleneck_rate": "1Gbps", "bottleneck_delay": "5us", "host_delay": "3us"});
    let described = shallows_scenario::describe(&topology).unwrap_or_else(|error| panic!("{error}"));
    // Hosts 0 and 1, switches 2 and 3; 1 us are 10⁶ ps.
    let cables = [
        serde_json::json!([0, 2, 10_000_000_000_u64, 1_000_000]),
        serde_json::json!([1, 3, 10_000_000_000_u64, 1_000_000]),
        serde_json::json!([2, 3, 1_000_000_000, 5_000_000]),
    ];
    assert_eq!(described["hosts"], serde_json::json!(["host0", "host1"]));
    assert_eq!(described["switches"].as_array().map(Vec::len), Some(2));
    assert_eq!(described["tiers"], serde_json::json!([0, 0]));
    assert_eq!(described["host_delay"], 3_000_000);
    let mut found = described["cables"].as_array().expect("a list").clone();
    found.sort_by_key(ToString::to_string);
    assert_eq!(found, cables);
    // Each cable has a port at both ends.
    let mut ports = described["ports"].as_array().expect("a list").clone();
    ports.sort_by_key(ToString::to_string);
    assert_eq!(
        serde_json::json!(ports),
        serde_json::json!([
            ["host0->left", "nic"],
            ["host1->right", "nic"],
            ["left->host0", "to-host"],
            ["left->right", "bottleneck"],
            ["right->host1", "to-host"],
            ["right->left", "bottleneck"],
        ])
    );
}

#[test]
fn what_is_of_another_type_is_answered_with_what_is_expected() {
    for (key, expected) in [
        ("workload.0.senders", "a set of hosts: \"all\""),
        ("tcp.initial_window", "a whole number of segments, or a size such as \"180KB\""),
        ("topology.mtu", "a whole number of bytes from 0 to 65535, or a size such as \"9KB\""),
        ("seed", "a whole number from 0 to 9223372036854775807"),
        ("switch.port", "one of"),
        ("topology.rate", "a rate such as"),
        ("tcp.rto.min", "a duration such as"),
        ("measure.bins.0", "a size such as"),
    ] {
        let set = if key == "measure.bins.0" { ("measure.bins", "[false]") } else { (key, "false") };
        let told = star(INCAST, &[set]).err().unwrap_or_default();
        assert!(told.contains(expected), "{key}: {told}");
    }
    let weights = star(INCAST, &[("switch.port", "{ kind = 'wfq', queues = 2, weight = false }")]);
    let told = weights.err().unwrap_or_default();
    assert!(told.contains("one value for all queues, or a list with one value for each queue"), "{told}");
}

#[test]
fn parameters_of_congestion_controls_are_above_nothing_and_within_their_bounds() {
    for (text, fits, beyond) in [
        ("{ kind = 'cubic', c = VALUE }", ["1e-9", "1e9"], ["0.0", "inf"]),
        ("{ kind = 'cubic', beta = VALUE }", ["1e-9", "0.999"], ["0.0", "1.0"]),
        ("{ kind = 'dctcp', g = VALUE }", ["1e-9", "1.0"], ["0.0", "1.001"]),
        ("{ kind = 'dctcp', initial_alpha = VALUE }", ["0.0", "1.0"], ["-0.001", "1.001"]),
        ("{ kind = 'pulser', safe_window = VALUE }", ["1", "2"], ["0", "'1B'"]),
        ("{ kind = 'pulser', dctcp = { g = VALUE } }", ["1e-9", "1.0"], ["0.0", "1.001"]),
    ] {
        let told = |value: &str| {
            star(INCAST, &[("tcp.congestion", &text.replace("VALUE", value))]).err().unwrap_or_default()
        };
        assert_eq!(fits.map(told), ["", ""], "{text}");
        for value in beyond {
            assert!(told(value).contains("tcp.congestion"), "{text} with {value}");
        }
    }
}

#[test]
fn a_link_is_not_offered_all_that_it_carries() {
    // Two senders with a load of one half each fill the link to their receiver; a load of 3/8 each offers three quarters.
    let told = |load: &str| {
        let poisson = format!(
            "{{ kind = 'poisson', senders = '1..3', receivers = '0', of = 'senders', load = {load}, \
             sizes = {{ kind = 'fixed', size = '1KB' }} }}"
        );
        star(&poisson, &[]).err().unwrap_or_default()
    };
    assert_eq!(told("0.375"), "");
    assert!(
        told("0.5").contains("the link switch0->host0 would carry 1.0000 times its rate of 10Gbps"),
        "{}",
        told("0.5")
    );
}

#[test]
fn what_is_wrong_with_a_table_of_the_file_is_shown_there_whatever_option_set_a_part_of_it() {
    let markers = "switch.markers = [{ kind = 'red-classic' }]";
    let text = format!(
        "topology = {{ kind = 'star', hosts = 4, rate = '10Gbps' }}\nworkload = [{INCAST}]\n{markers}\n\
         switch.buffer = {{ kind = 'static-partition', per_port = '100p' }}\n"
    );
    let problems = parse(&text, &[("switch.markers.0.kmin", "5p")]).err().map(|error| error.problems);
    let problems = problems.unwrap_or_default();
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    assert!(problem.message.contains("must have all of kmin, kmax and weight"), "{}", problem.message);
    assert_eq!((problem.set.as_deref(), problem.source_line.as_str()), (None, markers));
}

#[test]
fn what_a_threshold_leaves_is_less_than_a_packet_with_its_framing_or_not() {
    // A full packet has 1,538 bytes. A packet that does not count itself is marked only if it meets others, however small the threshold is.
    let warned = |marker: &str, text: &str| {
        let sets = [
            ("switch.port", "{ kind = 'dwrr', queues = 2, quantum = '1538B' }"),
            ("switch.markers", &format!("[{marker}]")),
        ];
        sound(INCAST, &sets).warnings().iter().any(|warning| warning.contains(text))
    };
    for (counts, everything) in [("true", true), ("false", false)] {
        let marker = format!("{{ kind = 'threshold', k = '1000B', counts_packet = {counts} }}");
        assert_eq!(warned(&marker, "mark every full packet"), everything, "{counts}");
    }
    // Each of two queues has half of the threshold.
    for (k, less) in [(2 * 1_538, false), (2 * 1_538 - 2, true), (2 * 1_480, true)] {
        let marker = format!("{{ kind = 'threshold', k = '{k}B', split = 'minimum' }}");
        assert_eq!(warned(&marker, "less than one packet"), less, "{k}");
    }
}

#[test]
fn as_many_classes_are_in_use_as_are_asked_for() {
    let classes = |rule: &str| -> Vec<u8> {
        let workload = INCAST.replace(" }", &format!(", class = {rule} }}"));
        let experiment = sound(
            &workload,
            &[
                ("switch.port", "{ kind = 'strict-priority', queues = 3 }"),
                ("host.nic.port", "{ kind = 'strict-priority', queues = 3 }"),
            ],
        );
        let mut generator = experiment.workloads().remove(0);
        let flows = std::iter::from_fn(|| match generator.next(Instant::ZERO) {
            Next::Flow(flow) => Some((flow.source.0, flow.class)),
            _ => None,
        });
        let mut flows: Vec<_> = flows.collect();
        flows.sort_unstable();
        flows.into_iter().map(|(_, class)| class).collect()
    };
    // Hosts 1 and 2, modulo two and three; then (0 · 4 + 1) and (0 · 4 + 2) modulo two for four hosts and receiver 0.
    assert_eq!(classes("{ kind = 'by-sender', classes = 2 }"), [1, 0]);
    assert_eq!(classes("{ kind = 'by-sender', classes = 3 }"), [1, 2]);
    assert_eq!(classes("{ kind = 'by-pair', classes = 2 }"), [1, 0]);
}

#[test]
fn a_flow_that_arrives_at_the_very_end_arrives() {
    let times = |stop: &str, draws: &str| -> Vec<Instant> {
        let workload = format!(
            "{{ kind = 'poisson', load = 0.5, sizes = {{ kind = 'fixed', size = '1448B' }}, draws = '{draws}' }}"
        );
        let mut generator = sound(&workload, &[("stop.at", stop)]).workloads().remove(0);
        let flows = std::iter::from_fn(|| match generator.next(Instant::ZERO) {
            Next::Flow(flow) => Some(flow.at),
            _ => None,
        });
        flows.collect()
    };
    for draws in ["own", "ns-2"] {
        let all = times("100us", draws);
        let last = all.last().expect("some of 160").0;
        assert_eq!(times(&format!("{last}ps"), draws), all);
        assert_eq!(times(&format!("{}ps", last - 1), draws), all[..all.len() - 1]);
    }
}

#[test]
fn an_option_begins_with_the_name_of_a_section() {
    for option in ["0", "7.rate"] {
        let told = star(INCAST, &[(option, "1")]).err().unwrap_or_default();
        let section = option.split('.').next().unwrap_or_default();
        assert!(
            told.starts_with(&format!("--set {option}=1: {section}: unknown key; allowed keys: name,")),
            "{told}"
        );
    }
}
