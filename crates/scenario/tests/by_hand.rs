//! Hand-worked tests of experiments that are built from small scenarios.

use crate::common::{DUMBBELL, parse};
use shallows_core::{Bytes, Duration, Instant, Rate};
use shallows_scenario::{
    Classes, Coalescing, Experiment, Flow, FlowChoice, Next, Offloads, PortKind, Wait, Workload,
};
use shallows_switch::EgressDrop;
use shallows_switch::aqm::{self, Level};
use shallows_transport::receive_window::Control;
use shallows_transport::{Tso, congestion};

/// Star of eight hosts; a full packet has 1,538 bytes on the wire.
const STAR: &str = r#"
stop.at = "1ms"

[topology]
kind = "star"
hosts = 8
rate = "10Gbps"
framing = 38

[switch]
buffer = { kind = "static-partition", per_port = "100p" }
markers = [{ kind = "threshold", k = "65p" }]

[tcp]
timestamps = false
"#;

const INCAST: &str = "{ kind = 'incast', senders = '1..8', receivers = '0', size = '64KB' }";

/// Returns the star with these workloads, changed by `sets`.
fn star(workloads: &[&str], sets: &[(&str, &str)]) -> Result<Experiment, String> {
    let text = format!("workload = [{}]\n{STAR}", workloads.join(", "));
    parse(&text, sets).map_err(|error| error.to_string())
}

fn sound(workloads: &[&str], sets: &[(&str, &str)]) -> Experiment {
    star(workloads, sets).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns all flows of a workload without dependencies between flows.
fn flows(workload: &mut dyn Workload) -> Vec<Flow> {
    std::iter::from_fn(|| match workload.next(Instant::ZERO) {
        Next::Flow(flow) => Some(flow),
        _ => None,
    })
    .collect()
}

fn flows_of(experiment: &Experiment, workload: usize) -> Vec<Flow> {
    flows(&mut *experiment.workloads()[workload])
}

#[test]
fn what_just_fits_is_accepted_and_what_just_does_not_is_refused() {
    let ping = "{ kind = 'ping', senders = '0', receivers = '1', interval = '1us', payload = '100B' }";
    let rounds = INCAST.replace("}", ", spread = '1us', repeats = 2, period = '2us' }");
    let sharing = |pool: &str| format!("{{ kind = 'complete-sharing', pool = '{pool}' }}");
    let shaper = |burst: &str| format!("{{ rate = '1Gbps', burst = '{burst}' }}");
    let capture = |snap: &str| format!("[{{ name = 'a', hosts = '0', snap = '{snap}' }}]");
    let burst = |limit: &str| format!("{{ tso = 'linux', limit = '{limit}' }}");
    let coalescing = |time: &str, packets: u32| format!("{{ time = '{time}', packets = {packets} }}");
    let queues = |queues: u32| format!("{{ time = '8us', queues = {queues} }}");
    for (workload, key, fits, too_much) in [
        (INCAST, "switch.buffer", sharing("1538B"), sharing("1537B")),
        (INCAST, "switch.shaper", shaper("1538B"), shaper("1537B")),
        // One packet waits while another is sent, so two must fit.
        (INCAST, "host.nic.backpressure", "3076B".to_owned(), "3075B".to_owned()),
        // `buffer_overhead` has an effect only with backpressure.
        (
            INCAST,
            "host.nic",
            "{ buffer_overhead = '832B' }".to_owned(),
            "{ buffer_overhead = '832B', backpressure = 'off' }".to_owned(),
        ),
        // Two segments of 1,460 bytes, and at most 64 KB; such a burst has 44 packets.
        (INCAST, "host.nic.tso", "2920B".to_owned(), "2919B".to_owned()),
        (INCAST, "host.nic.tso", "64KiB".to_owned(), "65537B".to_owned()),
        (INCAST, "host.nic", burst("67672B"), burst("67671B")),
        (INCAST, "host.nic.coalescing", coalescing("100ms", 1), coalescing("100001us", 1)),
        (INCAST, "host.nic.coalescing", coalescing("1ps", 1), coalescing("0s", 1)),
        (INCAST, "host.nic.coalescing", coalescing("8us", 1), coalescing("8us", 0)),
        (INCAST, "host.nic.coalescing", queues(1), queues(0)),
        (INCAST, "host.nic.coalescing", queues(256), queues(257)),
        (INCAST, "measure.sample_queues", "1ns".to_owned(), "999ps".to_owned()),
        // Ethernet, IP and TCP with all options: 14, 20 and 60 bytes.
        (INCAST, "measure.captures", capture("94B"), capture("93B")),
        (INCAST, "measure.bins", "['1KB', '1001B']".to_owned(), "['1KB', '1KB']".to_owned()),
        (INCAST, "measure.warm_up", "999us".to_owned(), "1ms".to_owned()),
        (&rounds, "workload.0.period", "1001ns".to_owned(), "1us".to_owned()),
        // 28 bytes of IP and ICMP headers in an MTU of 1,500.
        (ping, "workload.0.payload", "1472B".to_owned(), "1473B".to_owned()),
    ] {
        if let Err(error) = star(&[workload], &[(key, &fits)]) {
            panic!("{key} = {fits}: {error}");
        }
        let error =
            star(&[workload], &[(key, &too_much)]).err().unwrap_or_else(|| panic!("{key} = {too_much}"));
        let place = key.rsplit('.').next().expect("a key has a last part");
        assert!(error.contains(place), "{error}");
    }
}

#[test]
fn each_parameter_of_a_transport_goes_where_it_belongs() {
    let tcp = sound(
        &[INCAST],
        &[
            ("tcp.rto", "{ initial = '3s', min = '7ms', max = '9s', granularity = '11us' }"),
            ("tcp.delayed_ack", "{ segments = 3, timeout = '5ms' }"),
            ("tcp.minimum_window", "4"),
            ("tcp.congestion", "{ kind = 'cubic', c = 0.3, beta = 0.6, fast_convergence = false }"),
        ],
    )
    .tcp()
    .clone();
    assert_eq!((tcp.rto.initial, tcp.rto.minimum), (Duration::from_secs(3), Duration::from_millis(7)));
    assert_eq!((tcp.rto.maximum, tcp.rto.granularity), (Duration::from_secs(9), Duration::from_micros(11)));
    assert_eq!((tcp.delayed_ack.segments, tcp.delayed_ack.timeout), (3, Duration::from_millis(5)));
    assert_eq!(tcp.minimum_window, Bytes(4 * 1_460));
    let congestion::Config::Cubic(cubic) = &tcp.congestion else { panic!("{:?}", tcp.congestion) };
    assert_eq!((cubic.c, cubic.beta, cubic.fast_convergence), (0.3, 0.6, false));

    let receiver = "{ kind = 'ictcp', share = 0.8, gamma1 = 0.15, gamma2 = 0.45, beta = 0.3, decrease_after = 5, \
                    fairness = 0.25, rtt_limit = '3ms', minimum = 3 }";
    let sets = [
        ("tcp.timestamps", "true"),
        ("tcp.receiver", receiver),
        ("tcp.congestion", "{ kind = 'dctcp', g = 0.125, initial_alpha = 0.5 }"),
    ];
    let tcp = sound(&[INCAST], &sets).tcp().clone();
    let Control::Ictcp(ictcp) = &tcp.receive_control else { panic!("{:?}", tcp.receive_control) };
    assert_eq!((ictcp.share, ictcp.gamma1, ictcp.gamma2), (0.8, 0.15, 0.45));
    assert_eq!((ictcp.beta, ictcp.decrease_after, ictcp.fairness), (0.3, 5, 0.25));
    // Timestamps take 12 of the 1,460 bytes.
    assert_eq!((ictcp.rtt_limit, ictcp.minimum), (Duration::from_millis(3), Bytes(3 * 1_448)));
    let congestion::Config::Dctcp(dctcp) = &tcp.congestion else { panic!("{:?}", tcp.congestion) };
    assert_eq!((dctcp.gain, dctcp.initial_alpha), (0.125, 0.5));
}

#[test]
fn each_choice_of_a_transport_is_made_where_it_is_said_and_nowhere_else() {
    use shallows_transport::{
        AckCounts, AppLimited, EctPolicy, FullAck, LostSyn, RestartAfterIdle, SackAfterTimeout,
    };
    let with = |sets: &[(&str, &str)]| sound(&[INCAST], sets).tcp().clone();
    let plain = with(&[]);
    let byte_counting = congestion::Avoidance::ByteCounting;
    assert_eq!((plain.avoidance, plain.loss_base), (byte_counting, congestion::LossBase::FlightSize));
    type Check = fn(&shallows_transport::Config) -> bool;
    let choices: [(&[(&str, &str)], Check); 19] = [
        (&[("tcp.avoidance", "per-ack")], |t| t.avoidance == congestion::Avoidance::PerAck),
        (&[("tcp.avoidance", "counted")], |t| t.avoidance == congestion::Avoidance::Counted),
        (&[("tcp.loss_base", "cwnd")], |t| t.loss_base == congestion::LossBase::Cwnd),
        (&[("tcp.recovery", "newreno"), ("tcp.full_ack", "ssthresh")], |t| t.full_ack == FullAck::Ssthresh),
        (&[("tcp.sack_after_timeout", "forgotten")], |t| t.sack_after_timeout == SackAfterTimeout::Forgotten),
        (&[("tcp.restart_after_idle", "off")], |t| t.restart_after_idle == RestartAfterIdle::Off),
        (&[("tcp.restart_after_idle", "reset")], |t| t.restart_after_idle == RestartAfterIdle::Reset),
        (&[("tcp.app_limited", "linux")], |t| t.app_limited == AppLimited::Linux),
        (&[("tcp.handshake", "true")], |t| t.handshake),
        (&[("tcp.fin", "true")], |t| t.fin),
        (&[("tcp.frto", "true")], |t| t.frto),
        (&[("tcp.dsack", "true")], |t| t.dsack),
        (&[("tcp.limited_transmit", "false")], |t| !t.limited_transmit),
        (&[("tcp.recovery", "newreno"), ("tcp.limited_transmit_repairs", "true")], |t| {
            t.limited_transmit_repairs
        }),
        (&[("tcp.duplicate_threshold", "5")], |t| t.duplicate_threshold == 5),
        (&[("tcp.slow_start_limit", "2")], |t| t.slow_start_limit == 2),
        (&[("tcp.ect", "rfc3168")], |t| t.ect == EctPolicy::Rfc3168),
        (&[("tcp.delayed_ack.counts", "bytes")], |t| t.delayed_ack.counts == AckCounts::Bytes),
        (&[("tcp.delayed_ack.quick", "16")], |t| t.delayed_ack.quick == 16),
    ];
    for (sets, is_made) in choices {
        assert!(is_made(&with(sets)), "{sets:?}");
        assert!(!is_made(&with(&[])), "{sets:?} is nothing else than before");
    }
    let syn = with(&[("tcp.handshake", "true"), ("tcp.lost_syn", "linux")]);
    assert_eq!((syn.lost_syn, plain.lost_syn), (LostSyn::Linux, LostSyn::Careful));
}

#[test]
fn a_nic_holds_back_in_packets_with_their_framing() {
    let experiment = sound(&[INCAST], &[("host.nic.backpressure", "8KB")]);
    let small = experiment.hosts.agreement(0, 0).backpressure.unwrap();
    assert_eq!((small.limit_output, small.packet), (Bytes(8_000), Bytes(1_538)));
}

#[test]
fn nics_do_for_their_hosts_what_the_scenario_says() {
    let offloads = |nic: &str| sound(&[INCAST], &[("host.nic", nic)]).hosts.groups[0].offloads;
    assert_eq!(offloads("{}"), Offloads::default());
    let linux = offloads("{ tso = 'linux', pacing = 'fq', coalescing = { time = '8us' } }");
    assert_eq!(linux.tso, Some(Tso { largest: Bytes(65_536), autosized: true }));
    assert!(linux.paced);
    let wait = |packets| Wait::Fixed { time: Duration::from_micros(8), packets };
    let all = Coalescing { wait: wait(u32::MAX), gro: true, queues: 1 };
    assert_eq!(linux.coalescing, Some(all));
    let other =
        offloads("{ tso = '16KB', coalescing = { time = '8us', packets = 128, gro = false, queues = 4 } }");
    assert_eq!(other.tso, Some(Tso { largest: Bytes(16_000), autosized: false }));
    assert!(!other.paced);
    let adaptive = offloads("{ coalescing = { time = 'auto' } }").coalescing;
    assert_eq!(adaptive, Some(Coalescing { wait: Wait::Adaptive, ..all }));
    let nic = "{ coalescing = { time = 'auto', packets = 3 } }";
    let error = star(&[INCAST], &[("host.nic", nic)]).expect_err("two say how many");
    assert!(error.contains("must be left out with time = \"auto\""), "{error}");
    assert_eq!(other.coalescing, Some(Coalescing { wait: wait(128), gro: false, queues: 4 }));
}

#[test]
fn a_burst_that_its_nic_does_not_hold_is_refused() {
    let error = star(&[INCAST], &[("host.nic", "{ tso = '3KB', limit = '1p' }")]).expect_err("too small");
    assert!(error.contains("host.nic.tso") && error.contains("host.nic.limit = 1p"), "{error}");
}

#[test]
fn the_last_entry_that_names_a_port_counts_part_by_part() {
    let overrides = "[{ ports = ['to-host'], markers = [{ kind = 'threshold', k = '10p' }] }, \
                     { ports = ['*->host1'], markers = [{ kind = 'threshold', k = '20p' }], egress_drop = 'free' }, \
                     { ports = ['*->host1'], shaper = { rate = '1Gbps', burst = '4KB' } }]";
    let network = sound(&[INCAST], &[("switch.overrides", overrides)]).network.clone();
    let at = |name: &str| {
        let port = network.port(network.links.iter().find(|link| link.name == name).unwrap());
        let aqm::Config::Threshold { threshold, .. } = port.markers[0].marker else { panic!("{name}") };
        (threshold, port.egress_drop, port.shaper.map(|shaper| shaper.rate))
    };
    assert_eq!(at("switch0->host0"), (Level(10 * 1_538), EgressDrop::Slot, None));
    assert_eq!(at("switch0->host1"), (Level(20 * 1_538), EgressDrop::Free, Some(Rate::from_gbps(1))));
}

/// Returns kmin and kmax of the first marker of ports to hosts, and the limits with one, four and eight busy ports.
fn curve(buffer: &str, port: &str, marker: &str) -> (u64, u64, Vec<u64>) {
    let markers = format!("[{marker}]");
    let sets = [("switch.buffer", buffer), ("switch.port", port), ("switch.markers", &markers)];
    let curves = sound(&[INCAST], &sets).marking_curves();
    let curve = curves.into_iter().find(|curve| curve.port == PortKind::ToHost).expect("one to a host");
    (curve.kmin.bytes, curve.kmax.bytes, curve.limits.iter().map(|limit| limit.limit_bytes).collect())
}

#[test]
fn a_queue_is_bounded_by_its_part_of_the_pool_and_by_its_own_limit() {
    let threshold = "{ kind = 'threshold', k = '1p' }";
    let limits = |buffer: &str, port: &str| curve(buffer, port, threshold).2;
    // M busy ports with complete sharing have a share of 1/M each.
    let sharing = "{ kind = 'complete-sharing', pool = '1MB' }";
    assert_eq!(limits(sharing, "{ kind = 'fifo' }"), [1_000_000, 250_000, 125_000]);
    // ABM: αB/(M·(1 + α)), which is 1 MB / 3M at α = 1/2.
    let abm = "{ kind = 'abm', pool = '1MB', alpha = 0.5 }";
    assert_eq!(limits(abm, "{ kind = 'fifo' }"), [333_333, 83_333, 41_666]);
    // A queue is limited by the largest `queue_limit`; the eight ports of 1 MB have 125,000 bytes each.
    let queues = "{ kind = 'dwrr', queues = 2, quantum = '1p', queue_limit = ['10p', '20p'] }";
    assert_eq!(limits(sharing, queues), [20 * 1_538; 3]);
}

#[test]
fn thresholds_of_queues_are_their_shares_of_the_standard_one() {
    let buffer = "{ kind = 'static-partition', per_port = '100p' }";
    let port = "{ kind = 'dwrr', queues = 2, quantum = ['1p', '3p'] }";
    let found = |marker: &str| {
        let (kmin, kmax, _) = curve(buffer, port, marker);
        (kmin, kmax)
    };
    // A quarter and three quarters of 40 packets.
    let minimum = found("{ kind = 'threshold', k = '40p', split = 'minimum' }");
    assert_eq!(minimum, (10 * 1_538, 30 * 1_538));
    // The same while both queues are busy, and all of it for a queue alone.
    assert_eq!(found("{ kind = 'mq-ecn', k = '40p' }"), (10 * 1_538, 40 * 1_538));
    // 10 Gb/s for 80 us are 100,000 bytes.
    assert_eq!(found("{ kind = 'threshold', k = '80us' }"), (100_000, 100_000));
    let sets = [("switch.port", port), ("switch.markers", "[{ kind = 'mq-ecn', k = '40p', beta = 0.5 }]")];
    let network = sound(&[INCAST], &sets).network.clone();
    let aqm::Config::MqEcn(config) = &network.port(&network.links[8]).markers[0].marker else { panic!() };
    assert_eq!(config.beta, 0.5);
}

#[test]
fn the_fastest_port_of_a_pool_decides_what_bcc_reserves() {
    let sets = [
        ("topology.links", "[{ between = ['host3', 'switch0'], rate = '40Gbps' }]"),
        ("switch.buffer", "{ kind = 'dynamic-threshold', alpha = 2.0, pool = '1MB' }"),
        ("switch.markers", "[{ kind = 'bcc', rtt = '20us', lambda = 0.5, h = '1us' }]"),
    ];
    // B_R = 40 Gb/s · 20 us · 1.5 = 150,000 B; Kmax = 1 MB − B_R/2; Kmin = Kmax − 40 Gb/s · 8 · 1 us = Kmax − 40,000.
    for curve in sound(&[INCAST], &sets).marking_curves() {
        assert_eq!((curve.kmax.bytes, curve.kmin.bytes), (925_000, 885_000), "{}", curve.example);
    }
}

#[test]
fn uplinks_have_a_rate_and_a_delay_of_their_own() {
    let topology = "{ kind = 'leaf-spine', leaves = 2, spines = 2, hosts_per_leaf = 4, rate = '10Gbps', \
                    uplink_rate = '40Gbps', link_delay = '2us', uplink_delay = '5us' }";
    let network = sound(&[INCAST], &[("topology", topology)]).network.clone();
    for link in &network.links {
        let is_uplink = matches!(link.kind, PortKind::Up | PortKind::Down);
        let (gbps, us) = if is_uplink { (40, 5) } else { (10, 2) };
        assert_eq!(
            (link.rate, link.delay),
            (Rate::from_gbps(gbps), Duration::from_micros(us)),
            "{}",
            link.name
        );
    }
    // Two links of 2 us and two of 5 us, in both directions.
    assert_eq!(network.base_rtt(), Duration::from_micros(28));
}

#[test]
fn nobody_sends_to_himself_and_each_direction_carries_its_own() {
    let udp = |hosts: &str, rate: &str| {
        format!("{{ kind = 'udp', {hosts}, pattern = {{ kind = 'constant', rate = '{rate}' }} }}")
    };
    // Each of four hosts sends to three others and receives from three: 12 Gb/s over 10 Gb/s.
    let error = star(&[&udp("senders = '0..4', receivers = '0..4'", "4Gbps")], &[]).unwrap_err();
    assert!(error.contains(" 1.2000 times"), "{error}");
    // Four hosts send to one on the other leaf: 5 Gb/s over 2 Gb/s from their leaf up and over 10 Gb/s down to the other leaf, and nothing
    // in the other direction.
    let topology = "{ kind = 'leaf-spine', leaves = 2, spines = 1, hosts_per_leaf = 4, rate = '10Gbps', \
                    links = [{ between = ['leaf0', 'spine0'], rate = '2Gbps' }] }";
    let error = star(&[&udp("senders = '0..4', receivers = '4'", "1250Mbps")], &[("topology", topology)])
        .unwrap_err();
    assert!(error.contains("leaf0->spine0 would carry 2.5000 times"), "{error}");
}

#[test]
fn arrivals_until_the_end_are_counted_from_the_first_on() {
    // Half of 10 Gb/s in flows of 1,600 bytes on the wire, including 100 of framing: 390.625 in a millisecond, plus the first.
    let poisson = "{ kind = 'poisson', load = 0.5, of = 'receivers', counted = 'wire', senders = '1..8', receivers = '0', \
                   sizes = { kind = 'fixed', size = '1460B' } }";
    let arrivals = sound(&[poisson], &[("topology.framing", "100B")]).arrivals();
    assert!((arrivals[0].flows - 391.625).abs() < 1e-9, "{arrivals:?}");
    // The second flow of the list arrives exactly at the end.
    let arrivals = parse(DUMBBELL, &[("stop.at", "1us")]).unwrap().arrivals();
    assert_eq!(arrivals[1].flows, 2.0);
    // Two clients send queries at 0, 100 us, … 1 ms: eleven times, three workers each, two iterations.
    let queries = "{ kind = 'partition-aggregate', clients = '0, 1', workers = '2..8', fan_out = 3, size = '2KB', \
                   iterations = 2, arrivals = { kind = 'periodic', period = '100us' } }";
    let arrivals = sound(&[queries], &[]).arrivals();
    assert_eq!((arrivals[0].queries, arrivals[0].flows), (22.0, 132.0));
}

#[test]
fn the_total_of_an_incast_is_divided_among_those_who_answer() {
    // Host 3 does not respond to itself: three parts of 10,000 bytes, rounded up.
    let incast = "{ kind = 'incast', senders = '0..4', receivers = '3', total = '10000B' }";
    let flows = flows_of(&sound(&[incast], &[]), 0);
    let sizes: Vec<_> = flows.iter().map(|flow| (flow.source.0, flow.size)).collect();
    assert_eq!(sizes, [0, 1, 2].map(|host| (host, Some(Bytes(3_334)))));
}

#[test]
fn long_lived_flows_are_as_many_as_asked_for_from_their_start_on() {
    let long = "{ kind = 'long-lived', senders = '0..2', receivers = '7', per_pair = 3, start = '5us', spread = '2us' }";
    let flows = flows_of(&sound(&[long], &[]), 0);
    let from: Vec<u32> = flows.iter().map(|flow| flow.source.0).collect();
    assert_eq!([0, 1].map(|host| from.iter().filter(|&&source| source == host).count()), [3, 3]);
    assert!(flows.iter().all(|flow| (5_000_000..=7_000_000).contains(&flow.at.0)), "{flows:?}");
}

#[test]
fn sizes_are_whole_packets_and_no_smaller_than_the_minimum() {
    let sizes = |sizes: &str| -> Vec<u64> {
        let poisson = format!("{{ kind = 'poisson', load = 0.5, flows = 400, sizes = {sizes} }}");
        flows_of(&sound(&[&poisson], &[("stop", "{}")]), 0).iter().map(|flow| flow.size.unwrap().0).collect()
    };
    // In the files of MQ-ECN, a packet has 1,460 bytes of data, and the shortest flow has six packets.
    let packets = sizes("'web-search-packets'");
    assert!(packets.iter().all(|size| size % 1_460 == 0), "{packets:?}");
    assert_eq!(packets.iter().min(), Some(&(6 * 1_460)));
    // 10,000 bytes are 6.8 packets, so the 15 % of flows with 6 packets are raised to 7.
    assert_eq!(sizes("{ kind = 'web-search-packets', minimum = '10KB' }").iter().min(), Some(&(7 * 1_460)));
    // More than half of the flows are shorter than the minimum.
    assert_eq!(sizes("{ kind = 'web-search', minimum = '100KB' }").iter().min(), Some(&100_000));
    assert_eq!(sizes("{ kind = 'file', path = 'sizes.cdf', minimum = '50KB' }").iter().min(), Some(&50_000));
}

#[test]
fn weights_of_classes_are_shares_of_their_sum() {
    let incast = INCAST.replace("}", ", class = { kind = 'random', weights = [1, 0, 3] } }");
    assert_eq!(sound(&[&incast], &[]).classes, [Classes::Random(vec![0.25, 0.25, 1.0])]);
}

#[test]
fn workloads_that_are_alike_draw_apart() {
    let differ = |workload: &str, what: fn(&Flow) -> u64| {
        let experiment = sound(&[workload, workload], &[]);
        let drawn = |workload| flows_of(&experiment, workload).iter().map(what).collect::<Vec<_>>();
        let (first, second) = (drawn(0), drawn(1));
        assert_eq!(first.len(), second.len());
        assert_ne!(first, second, "{workload}");
    };
    let poisson =
        "{ kind = 'poisson', load = 0.01, flows = 50, sizes = { kind = 'uniform', from = '1B', to = '8B' } }";
    for what in
        [|flow: &Flow| flow.at.0, |flow: &Flow| u64::from(flow.source.0), |flow: &Flow| flow.size.unwrap().0]
    {
        differ(poisson, what);
    }
    // Flows that differ only in their classes.
    let classes = "{ kind = 'incast', senders = '0..8', receivers = '0..8', size = '1KB', \
                   class = { kind = 'random', weights = [1, 1] } }";
    differ(classes, |flow| flow.class.into());
    differ(&INCAST.replace("}", ", spread = '10us' }"), |flow| flow.at.0);
    differ("{ kind = 'long-lived', senders = '1..8', receivers = '0', spread = '10us' }", |flow| flow.at.0);
}

#[test]
fn the_size_of_a_flow_does_not_follow_from_its_pair() {
    // The size equals the sender's number plus one only by chance.
    let poisson = "{ kind = 'poisson', load = 0.01, flows = 1, sizes = { kind = 'uniform', from = '1B', to = '8B' }, \
                   senders = '0..8', receivers = '8' }";
    let same = (0..64).filter(|seed| {
        let experiment = sound(&[poisson], &[("topology.hosts", "9"), ("seed", &seed.to_string())]);
        let flow = flows_of(&experiment, 0)[0];
        u64::from(flow.source.0) + 1 == flow.size.unwrap().0
    });
    // Binomial with mean 8 and standard deviation 2.6; the bound is six standard deviations above the mean.
    assert!(same.count() < 24);
}

#[test]
fn a_workload_is_chosen_by_its_place_among_all_and_known_by_that_among_those_with_flows() {
    let udp =
        "{ kind = 'udp', senders = '0', receivers = '1', pattern = { kind = 'constant', rate = '1Gbps' } }";
    let traced = |trace: &str| {
        let sets = [("measure.flow_traces", trace)];
        sound(&[udp, INCAST, INCAST], &sets).flow_traces[0].choice.clone()
    };
    assert_eq!(traced("[{ workload = 2 }]"), FlowChoice::Workload(1));
    assert_eq!(traced("[{ workload = 2, sample = 5 }]"), FlowChoice::Sample { count: 5, workload: Some(1) });
}

#[test]
fn a_host_is_captured_in_both_directions() {
    let captures =
        sound(&[INCAST], &[("measure.captures", "[{ name = 'a', hosts = '2' }]")]).captures.clone();
    // Links 0 to 7 leave the hosts, links 8 to 15 lead to them.
    assert_eq!(captures[0].links, [2, 10]);
}

#[test]
fn columns_count_characters() {
    // The x is the thirteenth character, and the fifteenth byte.
    let error = parse("name = \"ää\" x", &[]).unwrap_err().problems.remove(0);
    assert_eq!((error.line, error.column), (1, 13), "{error}");
}

#[test]
fn a_round_begins_a_pause_after_the_end_of_the_last() {
    let rounds =
        "{ kind = 'incast', senders = '1', receivers = '0', size = '1KB', repeats = 2, think_time = '3us' }";
    let mut workload = sound(&[rounds], &[]).workloads().remove(0);
    let Next::Flow(flow) = workload.next(Instant::ZERO) else { panic!("it sends at once") };
    let end = Instant(10_000_000);
    workload.on_complete(flow.leg.unwrap(), end);
    assert_eq!(workload.next(end), Next::Until(end + Duration::from_micros(3)));
}

#[test]
fn a_query_is_whole_with_the_answers_of_all_its_iterations() {
    let query = "{ kind = 'partition-aggregate', clients = '0, 1', workers = '2..8', fan_out = 3, size = '2KB', queries = 1, \
                 iterations = 2, arrivals = { kind = 'poisson', mean = '50us' } }";
    let mut workload = sound(&[query], &[]).workloads().remove(0);
    let mut now = Instant::ZERO;
    while workload.queries().len() < 2 {
        if let Next::Until(at) = workload.next(now) {
            now = at;
        }
    }
    let queries = workload.queries();
    assert_eq!([queries[0].responses, queries[1].responses], [6, 6]);
    assert_ne!(queries[0].start, queries[1].start, "clients ask independently");
}

#[test]
fn an_acknowledgement_that_is_as_late_as_the_timer_is_too_late() {
    let warned = |timeout: &str| {
        let sets = [("tcp.rto.min", "5ms"), ("tcp.delayed_ack.timeout", timeout)];
        sound(&[INCAST], &sets).warnings().iter().any(|text| text.contains("can be delayed for"))
    };
    assert_eq!(["4999us", "5ms"].map(warned), [false, true]);
}
