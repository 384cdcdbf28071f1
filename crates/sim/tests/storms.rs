//! Lossless classes: deadlocks, hosts that pause their switch, and PFC watchdogs.

use serde_json::Value;
use shallows_core::{Bytes, Duration, Instant};
use shallows_scenario::Experiment;
use shallows_sim::{Report, Simulation};

use crate::common::{parse, run};
use crate::lossless::{INCAST, LEAF_SPINE, at, on_any_number_of_threads, random, refusal};

/// Host 0 sends datagrams at this `rate` to a host of the switch `away`. The switches `s0` to `s1` pass them around in a loop of 40 Gb/s.
fn looped(switches: usize, ttl: u8, rate: &str) -> String {
    let ring: Vec<String> = (0..switches)
        .map(|from| format!("{{ between = ['s{from}', 's{}'], rate = '40Gbps' }}", (from + 1) % switches))
        .collect();
    let ring = if switches == 2 { &ring[..1] } else { &ring[..] };
    let names: Vec<String> = (0..switches).map(|switch| format!("'s{switch}'")).collect();
    format!(
        "stop.at = '20ms'\nhost.jitter = 'off'\nhost.nic = {{ limit = '1GB', backpressure = 'off' }}\ntcp = {{}}\n\
         [topology]\nkind = 'graph'\nrate = '100Gbps'\nhosts = ['a', 'b']\nswitches = ['s{{0..{switches}}}', 'away']\n\
         links = [{{ between = ['a', 's0'] }}, {{ between = ['b', 'away'] }}, {{ between = ['s0', 'away'] }}, {}]\n\
         [switch]\nbuffer = {{ kind = 'complete-sharing', pool = '2MB' }}\n\
         lossless = {{ classes = [0], limit = '100KB', cyclic_routes = 'allow', ttl = {ttl}, \
         routing_loops = [{{ to = 'away', through = [{}] }}] }}\n\
         [[workload]]\nkind = 'udp'\nsenders = 0\nreceivers = 1\noverload = true\n\
         pattern = {{ kind = 'constant', rate = '{rate}' }}\n",
        ring.join(", "),
        names.join(", ")
    )
}

/// Returns the texts of the deadlocks of a run.
fn deadlocks(report: &Report) -> Vec<String> {
    let found = report.problems().into_iter().filter(|problem| problem.code == "deadlock");
    found.map(|problem| problem.text).collect()
}

#[test]
fn a_routing_loop_locks_above_its_critical_rate_and_not_below() {
    // HotNets '16: each packet crosses each of the n links of a loop TTL / n times, so the links are full at r = n B / TTL: 5 Gb/s for
    // n = 2, B = 40 Gb/s and TTL 16, and 10 Gb/s for n = 3 and TTL 12.
    for (switches, ttl, critical) in [(2, 16, 5_000), (3, 12, 10_000)] {
        let below = run(&looped(switches, ttl, &format!("{}Mbps", critical * 98 / 100)), &[]);
        assert_eq!(deadlocks(&below), [""; 0], "{switches} switches");
        let lost = below.summary()["lossless"]["class0"].clone();
        assert_eq!(lost["dropped"], 0);
        let above = run(&looped(switches, ttl, &format!("{}Mbps", critical * 102 / 100)), &[]);
        let text = deadlocks(&above).concat();
        assert!(text.contains("in a deadlock: these paused ports wait for each other"), "{text}");
        assert!(text.contains("s0->s1 (class 0), s1->s"), "{text}");
    }
}

#[test]
fn a_packet_is_dropped_by_the_switch_that_it_reaches_with_its_last_link() {
    // One datagram of 1,500 bytes every 3 us for 30 us: 10 datagrams. Each crosses the link of its host and 4 links of the loop, and is
    // dropped at s0.
    let text = looped(2, 5, "4Gbps").replace("overload = true", "overload = true\nstop = '30us'");
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    assert_eq!(report.port("s0->s1").expect("a port").sent, 20);
    assert_eq!(report.port("s1->s0").expect("a port").sent, 20);
    assert_eq!(at(&report, &experiment, "s0->s1").expired, 10);
    let summary = report.summary();
    let class = &summary["lossless"]["class0"];
    assert_eq!(
        (&class["ttl_expired"], &class["dropped"], &summary["packets"]["dropped"]),
        (&10.into(), &0.into(), &10.into())
    );
    // The link that a packet crosses last counts the loss, also if another partition owns the link.
    let lost = on_any_number_of_threads(&experiment, |report| {
        ["a->s0", "s0->s1", "s1->s0"].map(|name| report.lost_in_flight(name).packets)
    });
    assert_eq!(lost, [0, 0, 10]);
    // No problem but that nothing arrives.
    let codes: Vec<&str> = report.problems().iter().map(|problem| problem.code).collect();
    assert_eq!(codes, ["nothing-measured", "nothing-received"]);
}

/// Returns the summary and the deadlock of `experiment`, which must be the same on any number of threads.
fn deadlock_on_any_number_of_threads(experiment: &Experiment) -> (Value, String) {
    let (found, summary, _) = on_any_number_of_threads(experiment, |report| {
        (deadlocks(report), report.summary(), report.pauses().to_vec())
    });
    let [text] = &found[..] else { panic!("no deadlock: {found:?}") };
    (summary, text.clone())
}

#[test]
fn a_deadlock_ends_the_run_at_the_same_time_on_any_number_of_threads() {
    let (summary, text) = deadlock_on_any_number_of_threads(&parse(&looped(3, 12, "11Gbps"), &[]));
    assert!(
        text.starts_with("the run ended at ") && summary["packets"]["dropped"].as_u64() > Some(0),
        "{text}"
    );
}

#[test]
fn a_deadlock_of_flows_that_start_late_is_found() {
    // Until 3 ms, nothing happens. The first windows of 400 flows, 6 MB, then fill the loop.
    let looped = looped(3, 12, "1Gbps");
    let (network, _) = looped.split_once("[[workload]]").expect("a workload");
    let text = format!("{network}[[workload]]\nkind = 'trace'\npath = 'list.csv'\n");
    let list = format!("start_ns,source,destination,bytes\n{}", "3000000,0,1,15000\n".repeat(400));
    let experiment = shallows_scenario::parse(&text, "test.toml", &|_| Ok(list.clone()), &[], None);
    let (_, text) = deadlock_on_any_number_of_threads(&experiment.unwrap_or_else(|error| panic!("{error}")));
    assert!(text.starts_with("the run ended at 5.001ms in a deadlock"), "{text}");
}

#[test]
fn a_ring_of_routes_runs_if_it_is_allowed() {
    // Each host of a ring of four sends to the host two switches on, in the same direction, so every link of the ring carries two flows.
    let links: Vec<String> = (0..4)
        .map(|from| {
            format!(
                "{{ between = ['h{from}', 's{from}'] }}, {{ between = ['s{from}', 's{}'] }}",
                (from + 1) % 4
            )
        })
        .collect();
    let loads: Vec<String> = (0..4)
        .map(|from| {
            format!(
                "[[workload]]\nkind = 'udp'\nsenders = {from}\nreceivers = {}\noverload = true\n\
                 pattern = {{ kind = 'constant', rate = '100Gbps' }}\n",
                (from + 2) % 4
            )
        })
        .collect();
    let text = |stop: &str| {
        format!(
            "stop.at = '{stop}'\nhost.nic = {{ limit = '1GB', backpressure = 'off' }}\ntcp = {{}}\n\
             topology = {{ kind = 'graph', rate = '100Gbps', hosts = ['h{{0..4}}'], switches = ['s{{0..4}}'], links = [{}] }}\n\
             switch = {{ buffer = {{ kind = 'complete-sharing', pool = '2MB' }}, \
             lossless = {{ classes = [0], limit = '50KB', cyclic_routes = 'allow' }} }}\n{}",
            links.join(", "),
            loads.concat()
        )
    };
    assert!(
        refusal(&text("1us").replace(", cyclic_routes = 'allow'", ""), &[])
            .contains("cyclic_routes = \"allow\"")
    );
    let report = run(&text("10ms"), &[]);
    assert_eq!(report.summary()["lossless"]["class0"]["dropped"], 0);
}

/// A source of class 0 at 100 Gb/s in packets of 1,500 bytes, which take 120 ns. The hosts are `a` at switch s0 and `b` at the last switch of
/// a chain. `nic` is a table of the NIC of `b`.
pub(crate) fn chain(switches: usize, stop: &str, nic: &str) -> String {
    let links: Vec<String> =
        (1..switches).map(|switch| format!("{{ between = ['s{}', 's{switch}'] }}, ", switch - 1)).collect();
    format!(
        "stop.at = '{stop}'\nhost.jitter = 'off'\ntcp = {{}}\n\
         [host]\nnic = {{ limit = '1GB', backpressure = 'off' }}\n\
         [[host.group]]\nname = 'bad'\nmembers = 'b'\nnic = {{ {nic} }}\n\
         [topology]\nkind = 'graph'\nrate = '100Gbps'\nlink_delay = '500ns'\nhosts = ['a', 'b']\nswitches = ['s{{0..{switches}}}']\n\
         links = [{}{{ between = ['a', 's0'] }}, {{ between = ['b', 's{}'] }}]\n\
         [switch]\nbuffer = {{ kind = 'complete-sharing', pool = '2MB' }}\n\
         lossless = {{ classes = [0], limit = '90KB' }}\n\
         [[workload]]\nkind = 'udp'\nsenders = 'a'\nreceivers = 'b'\noverload = true\n\
         pattern = {{ kind = 'constant', rate = '100Gbps' }}\n",
        links.concat(),
        switches - 1
    )
    .replace("host.jitter = 'off'\ntcp = {}\n[host]\n", "tcp = {}\n[host]\njitter = 'off'\n")
}

#[test]
fn a_storm_stops_one_switch_after_the_other() {
    let text = chain(3, "100us", "pfc_storm = { start = '10us' }");
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    // Each hop: the frame of 6.72 ns, 500 ns of cable and 2,017.28 ns of response, 2,524 ns together. Then the group of the next switch
    // fills with 60 packets of 120 ns, of which the last causes the next frame. Packets arrive at s2 at 60 ns + m * 120 ns, at s1 at 40 ns
    // + m * 120 ns and at s0 at 20 ns + m * 120 ns.
    // Effect at s2: 12,524 ns. Packets of the group: 12,540 to 19,620 ns.
    // Effect at s1: 22,144 ns. Packets of the group: 22,240 to 29,320 ns.
    // Effect at s0: 31,844 ns. Packets of the group: 31,940 to 39,020 ns.
    // Effect at a: 41,544 ns.
    for (name, at_ns) in [("s2->b", 12_524), ("s1->s2", 22_144), ("s0->s1", 31_844), ("a->s0", 41_544)] {
        let port = at(&report, &experiment, name);
        assert_eq!((port.received, port.paused), (1, Duration(100_000_000 - at_ns * 1_000)), "{name}");
    }
    assert_eq!(at(&report, &experiment, "b->s2").sent, 1);
    assert_eq!(report.summary()["packets"]["dropped"], 0);
    // A tree of pauses is no deadlock.
    assert_eq!(deadlocks(&report), [""; 0]);
}

#[test]
fn a_storm_ends_at_its_stop_and_everything_moves_again() {
    let text = chain(3, "200us", "pfc_storm = { start = '10us', stop = '60us' }");
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    // The first and the last frame have effect 2,524 ns after the start and the stop.
    let port = at(&report, &experiment, "s2->b");
    assert_eq!((port.received, port.paused), (1, Duration::from_micros(50)));
    let host = at(&report, &experiment, "b->s2");
    assert_eq!((host.sent, host.resumed, host.frames), (1, 1, 2));
    // The sender waits from 41,544 ns on, and again after the end, because 100 Gb/s leave no room to catch up.
    let nic = at(&report, &experiment, "a->s0");
    assert!(nic.received >= 1 && nic.paused < Duration::from_micros(60), "{nic:?}");
    assert_eq!(report.summary()["packets"]["dropped"], 0);
    let delivered = report.port("s2->b").expect("a port").sent;
    // 150 us of 120 ns, less the 1.6 us until the first packet.
    assert!((1_200..=1_240).contains(&delivered), "{delivered}");
}

#[test]
fn a_slow_host_pauses_its_switch_by_hand() {
    let receive = "receive = { rate = '50Gbps', buffer = '100KB', xoff = '30KB', xon = '15KB' }";
    let text = chain(1, "18us", receive);
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    // Packets arrive every 120 ns from 1,240 ns on, and take 240 ns to read. The 40th finds 19 packets read, so 21 are more than 30 KB: XOFF
    // at 5,920 ns, with effect at 8,444 ns. The switch has then begun 66 packets. The 66th arrives at 9,040 ns, when 32 are read: 34 wait.
    // After 56, at 14,680 ns, 10 are left: XON, with effect at 17,204 ns.
    let port = at(&report, &experiment, "s0->b");
    assert_eq!((port.received, port.paused), (1, Duration(17_204_000 - 8_444_000)));
    let host = at(&report, &experiment, "b->s0");
    assert_eq!((host.sent, host.resumed, host.frames, host.dropped), (1, 1, 2, 0));
    assert_eq!((host.max_headroom, host.headroom), (Bytes(34 * 1_500 - 30_000), Bytes(70_000)));
    assert!(report.problems().is_empty(), "{:?}", report.problems());
}

#[test]
fn a_slow_host_reads_at_the_lower_of_its_limits_of_bytes_and_packets() {
    // A packet of 1,500 bytes takes 240 ns at 50 Gb/s, and 1 s / 5,000,000 = 200 ns at 5 Mpps.
    let limited = |keys: &str| {
        let keys = format!("receive = {{ {keys}, buffer = '100KB', xoff = '30KB', xon = '15KB' }}");
        chain(1, "18us", &keys)
    };
    let counts = |text: &str| {
        let (experiment, report) = (parse(text, &[]), run(text, &[]));
        let [port, host] = ["s0->b", "b->s0"].map(|name| at(&report, &experiment, name));
        (port.received, port.paused, host.sent, host.resumed, host.max_headroom)
    };
    // The limit of bytes binds, as in `a_slow_host_pauses_its_switch_by_hand`.
    let by_bytes = counts(&limited("rate = '50Gbps'"));
    assert_eq!(counts(&limited("rate = '50Gbps', packet_rate = '5Mpps'")), by_bytes);
    // The limit of packets binds and has the same times: 1 s / 240 ns, rounded up to the next whole number of packets per second, is
    // 4,166,667 packets of 240,000 ps.
    for keys in ["packet_rate = '4166667pps'", "rate = '51Gbps', packet_rate = '4166667pps'"] {
        assert_eq!(counts(&limited(keys)), by_bytes, "{keys}");
    }
}

#[test]
fn a_limit_of_packets_per_second_pauses_the_switch_by_hand() {
    // Packets of 155 bytes, 28 of them headers, take 12.4 ns on a link, and 100 ns to read at 10 Mpps, more than the 24.8 ns at 50 Gb/s. They
    // arrive every 12.4 ns from 1,024.8 ns on. The 23rd, 272.8 ns later, finds two read, so 21 are more than 3.1 KB: XOFF, with effect at
    // 3,821.6 ns. The switch has then begun 267 packets. The last arrives 3,298.4 ns after the first, when 32 are read: 235 wait. After 257,
    // at 26,724.8 ns, 10 are left: XON, with effect at 29,248.8 ns.
    let keys = "rate = '50Gbps', packet_rate = '10Mpps', buffer = '100KB', xoff = '3.1KB', xon = '1.55KB'";
    let text = chain(1, "29.5us", &format!("receive = {{ {keys} }}"));
    let text = text.replace("overload = true", "overload = true\npayload = '127B'");
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    let port = at(&report, &experiment, "s0->b");
    assert_eq!((port.received, port.paused), (1, Duration(29_248_800 - 3_821_600)));
    let host = at(&report, &experiment, "b->s0");
    assert_eq!((host.sent, host.resumed, host.frames, host.dropped), (1, 1, 2, 0));
    assert_eq!((host.max_headroom, host.headroom), (Bytes(235 * 155 - 3_100), Bytes(96_900)));
}

#[test]
fn a_slow_host_gets_its_rate_without_loss() {
    // Two hysteresis loops at half the rate: the port to the host sends half of the time.
    let receive = |keys: &str| chain(2, "2ms", &format!("receive = {{ rate = '50Gbps', {keys} }}"));
    let text = receive("buffer = '100KB'");
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    let share = report.port("s1->b").expect("a port").sent_bytes.0 as f64 * 8.0 / 2e-3 / 50e9;
    assert!((0.98..1.05).contains(&share), "{share}");
    let paused = at(&report, &experiment, "s1->b").paused.as_secs_f64() / 2e-3;
    assert!((0.47..0.52).contains(&paused), "{paused}");
    let host = at(&report, &experiment, "b->s1");
    // Cable 2 * 6,250, response 25,216, packets 3 * 1,500, frame 84 and one byte.
    assert_eq!(host.headroom, Bytes(42_301));
    assert!(host.max_headroom <= host.headroom && host.dropped == 0, "{host:?}");
    assert_eq!(report.summary()["packets"]["dropped"], 0);
    // Too little room above xoff makes the run invalid.
    let warnings = parse(&receive("buffer = '40KB', xoff = '35KB'"), &[]).warnings();
    let expected = "the receive buffer of b has room for 5KB above xoff, but 42.301KB can arrive after a pause: up to 37.301KB can be lost; use \
                    host.nic.receive.xoff = \"auto\"";
    assert_eq!(warnings.iter().filter(|text| *text == expected).count(), 1, "{warnings:?}");
    assert!(!experiment.warnings().iter().any(|text| text.contains("receive buffer")));
    let report = run(&receive("buffer = '40KB', xoff = '35KB'"), &[]);
    let problems = report.problems();
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    assert_eq!(problem.code, "lossless-drop");
    assert!(problem.text.contains("by the receive buffer of b ("), "{}", problem.text);
    let summary = report.summary();
    let packets = &summary["packets"];
    assert!(
        packets["dropped"].as_u64() > Some(0) && packets["dropped_in_nics"] == packets["dropped"],
        "{packets}"
    );
    assert_eq!(
        (&packets["dropped_in_switches"], &summary["loss_rate_in_switches"]),
        (&0.into(), &0.0.into())
    );
    assert_eq!(summary["loss_rate_in_nics"], summary["loss_rate"]);
}

#[test]
fn segments_that_a_receive_buffer_drops_count_as_losses_of_nics() {
    // The buffer has too little room above xoff. All losses are segments with data from host a.
    let text = chain(2, "2ms", "receive = { rate = '50Gbps', buffer = '40KB', xoff = '35KB' }");
    let (chain, _) = text.split_once("[[workload]]").expect("one workload");
    let flow = "[[workload]]\nkind = 'incast'\nsenders = 'a'\nreceivers = 'b'\nsize = '1MB'\n";
    let summary = run(&[chain, flow].concat(), &[("tcp.initial_window", "100")]).summary();
    let packets = &summary["packets"];
    assert!(packets["dropped"].as_u64() > Some(0), "{packets}");
    assert_eq!(packets["dropped_data_in_nics"], packets["dropped"]);
    assert_eq!(packets["dropped_data_in_switches"], 0);
}

#[test]
fn hosts_that_pause_give_the_same_bytes_on_any_number_of_threads() {
    let groups = "[[host.group]]\nname = 'slow'\nmembers = '0..2'\nnic = { receive = { rate = '20Gbps', buffer = '200KB' } }\n\
                  [[host.group]]\nname = 'busy'\nmembers = '2..4'\nnic = { receive = { packet_rate = '2Mpps', buffer = '200KB' } }\n\
                  [[host.group]]\nname = 'storm'\nmembers = 5\nnic = { pfc_storm = { start = '50us', stop = '300us' } }\n";
    let text = random(LEAF_SPINE).replace("[topology]", &format!("{groups}[topology]"));
    let experiment = parse(&text, &[]);
    let (summary, pauses) =
        on_any_number_of_threads(&experiment, |report| (report.summary(), report.pauses().to_vec()));
    assert_eq!(summary["packets"]["dropped"], 0);
    for hosts in [0..2, 2..4] {
        assert!(pauses.iter().any(|row| hosts.contains(&row.link) && row.sent > 0), "hosts {hosts:?} pause");
    }
}

#[test]
fn impossible_hosts_are_refused_with_the_numbers() {
    for (nic, words) in [
        (
            "receive = { rate = '50Gbps', buffer = '40KB' }",
            "that can arrive after a pause: at least 43.801KB, got 40KB",
        ),
        (
            "receive = { rate = '50Gbps', buffer = '90KB', xoff = '1KB' }",
            "at least one packet of 1.5KB and less than",
        ),
        (
            "receive = { rate = '50Gbps', buffer = '90KB', xoff = '9KB', xon = '10KB' }",
            "must be at most xoff (9KB), got 10KB",
        ),
        (
            "receive = { buffer = '90KB' }",
            "nic.receive: must have a rate, such as \"40Gbps\", or a packet_rate, such as \"20Mpps\"",
        ),
        ("pfc_storm = { classes = [1] }", "must be lossless classes, at least one of [0], got [1]"),
        (
            "pfc_storm = {}, shaper = { rate = '10Gbps', burst = '100KB' }",
            "must be left out, because a shaper delays the PFC frames of a receive buffer or a PFC storm",
        ),
        ("pfc_storm = { start = '2us', stop = '1us' }", "must be after the start at 2us, got 1us"),
    ] {
        let text = refusal(&chain(2, "1us", nic), &[]);
        assert!(text.contains(words), "{text}");
        let lossy = chain(2, "1us", nic).replace("lossless = { classes = [0], limit = '90KB' }", "");
        let text = refusal(&lossy, &[]);
        assert!(text.contains("only lossless classes have pauses"), "{text}");
    }
    let text = refusal(&chain(2, "1us", "receive = { packet_rate = '0pps', buffer = '90KB' }"), &[]);
    assert!(text.contains("must be from 1pps to 10Gpps, got \"0pps\""), "{text}");
}

#[test]
fn a_pause_that_a_hosts_jitter_can_end_too_early_is_refused() {
    // Half of 1,000 quanta is 2.56 us; the response time is 2.017 us, and a packet and a frame take 0.127 us.
    let short = [("switch.lossless.quanta", "1000"), ("host.jitter", "10us")];
    for nic in ["pfc_storm = {}", "receive = { rate = '50Gbps', buffer = '900KB' }"] {
        parse(&chain(2, "1us", nic), &short[..1]);
        let text = refusal(&chain(2, "1us", nic), &short);
        assert!(text.contains("half of the pause time must be at least 12.144us, got 2.56us"), "{text}");
    }
    // The host does not pause its switch.
    parse(&chain(2, "1us", ""), &short);
}

/// The storm of `chain` from 1 ms to 3 ms, and a watchdog with this `action`.
fn watched(action: &str) -> String {
    chain(3, "4ms", "pfc_storm = { start = '1ms', stop = '3ms' }").replace(
        "limit = '90KB' }",
        &format!(
            "limit = '90KB', watchdog = {{ detection = '400us', restoration = '400us', poll = '200us', action = '{action}' }} }}"
        ),
    )
}

#[test]
fn a_watchdog_ends_a_storm_by_hand() {
    // The pause has effect at 1,002.524 us, and is repeated every 167.767 us until 2,845.4 us. Polls at 1,200 us (paused, but not at the last
    // poll), 1,400 us and 1,600 us: 400 us of storm. The polls at 3,200 us and 3,400 us find no new pause, so the queue obeys again.
    for action in ["drop", "forward"] {
        let text = watched(action);
        let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
        let port = at(&report, &experiment, "s2->b");
        assert_eq!((port.received, port.storms), (1, 1), "{action}");
        assert_eq!(port.paused, Duration(1_600_000_000 - 1_002_524_000), "{action}");
        // The pauses that spread from s2 last as long, so the other switches find storms at the same poll.
        let storms = ["s1->s2", "s0->s1", "a->s0"].map(|name| at(&report, &experiment, name).storms);
        assert_eq!(storms, [1, 1, 0], "a host has no watchdog");
        let codes: Vec<&str> = report.problems().iter().map(|problem| problem.code).collect();
        assert_eq!(codes, [""; 0], "drops by a watchdog keep a run valid");
        let warning = "PFC watchdogs found storms (3) and dropped packets (";
        assert!(report.warnings().iter().any(|text| text.starts_with(warning)), "{:?}", report.warnings());
    }
}

#[test]
fn a_pause_that_lasts_when_its_watchdog_obeys_again_counts_once() {
    // A pause of 220 us is repeated every 110 us. Each poll finds a new frame until the one at 2,100 us, while the pause lasts.
    let text = chain(2, "4ms", "pfc_storm = { start = '1ms', stop = '3ms' }").replace(
        "limit = '90KB' }",
        "limit = '90KB', quanta = 42968, \
         watchdog = { detection = '400us', restoration = '100us', poll = '100us', action = 'forward' } }",
    );
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    let port = at(&report, &experiment, "s1->b");
    assert_eq!((port.received, port.storms, at(&report, &experiment, "b->s1").sent), (1, 2, 1));
    // 400 us of storm from the poll at 1,100 us on, and again from the one at 2,100 us on, where the pause stops the queue again.
    let at_ns = |ns: u64| Instant(ns * 1_000);
    let pauses =
        [(1_002_524, 1_500_000), (2_100_000, 2_500_000)].map(|(from, to)| (at_ns(from), Some(at_ns(to))));
    let of_port = report.pause_intervals().iter().filter(|pause| pause.link == port.link);
    assert_eq!(of_port.map(|pause| (pause.since, pause.until)).collect::<Vec<_>>(), pauses);
}

#[test]
fn pauses_that_end_between_the_polls_of_a_watchdog_are_no_storm() {
    // The slow host pauses its switch every 16,584 ns, from 8,444 ns on for 8,760 ns each time, so that every poll finds a pause.
    let receive = "receive = { rate = '50Gbps', buffer = '100KB', xoff = '30KB', xon = '15KB' }";
    let text = chain(1, "2ms", receive).replace(
        "limit = '90KB' }",
        "limit = '90KB', watchdog = { detection = '400us', restoration = '400us', poll = '16584ns' } }",
    );
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    let port = at(&report, &experiment, "s0->b");
    assert_eq!((port.received, port.storms), (1 + (2_000_000 - 8_444) / 16_584, 0));
}

#[test]
fn a_slow_host_fires_one_event_for_each_packet_that_it_reads() {
    // In a millisecond, `a` creates 8,333 datagrams, one event each. `b` reads 4,167 of them: up to five events each, of which two are
    // departures, two arrivals, and one the end of reading. The host pauses its switch 60 times, and the switch pauses `a`; a pause and its
    // end have at most ten events.
    let text = chain(1, "1s", "receive = { rate = '50Gbps', buffer = '100KB', xoff = '30KB', xon = '15KB' }");
    let events = |stop: &str| {
        let mut simulation = Simulation::new(parse(&text, &[("stop.at", stop)]));
        simulation.advance(u64::MAX).events
    };
    let fired = events("2ms") - events("1ms");
    assert!(fired <= 8_333 + 5 * 4_167 + 2 * 10 * 61, "{fired}");
}

#[test]
fn a_watchdog_drops_or_forwards_the_packets_of_a_storm() {
    let (text, forward) = (watched("drop"), watched("forward"));
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    // Between 1,600 us and 3,400 us, a packet of 120 ns is dropped at every moment: at s0 until 2,000 us, when no pause has come from s1 for
    // two polls, and then at s2. The queues of s1 and s2, 60 packets each, are dropped in addition.
    let by = ["s0->s1", "s1->s2", "s2->b"].map(|name| at(&report, &experiment, name).dropped_by_watchdog);
    let dropped: u64 = by.iter().sum();
    assert!((14_850..15_250).contains(&dropped) && (3_300..3_500).contains(&by[0]), "{by:?}");
    let summary = report.summary();
    assert_eq!(summary["packets"]["dropped"], dropped);
    assert_eq!(summary["lossless"]["class0"]["dropped_by_watchdog"], dropped);
    let report = run(&forward, &[]);
    assert_eq!(report.summary()["packets"]["dropped"], 0);
    // The pause ends 597.476 us after its start; without it, the host would get a packet every 120 ns.
    let sent = report.port("s2->b").expect("a port").sent;
    let expected = (4_000_000 - 597_476 - 1_600) / 120;
    assert!(sent.abs_diff(expected) < 10, "{sent}, expected {expected}");
}

#[test]
fn a_watchdog_gives_the_same_bytes_on_any_number_of_threads() {
    let experiment = parse(&watched("drop"), &[]);
    on_any_number_of_threads(&experiment, |report| (report.summary(), report.pauses().to_vec()));
}

#[test]
fn a_watchdog_has_the_defaults_of_sonic_and_ends_a_deadlock() {
    let text = looped(3, 12, "11Gbps").replace("ttl = 12", "ttl = 12, watchdog = {}");
    let experiment = parse(&text, &[]);
    let watchdog = experiment.network.lossless.as_ref().and_then(|lossless| lossless.watchdog).expect("one");
    let fifth = Duration::from_millis(200);
    assert_eq!((watchdog.detection, watchdog.restoration, watchdog.poll), (fifth, fifth, fifth));
    // With short times, the watchdog breaks the loop again and again, and the run goes on.
    let quick = "watchdog = { detection = '2ms', restoration = '2ms', poll = '1ms' }";
    let text = text.replace("watchdog = {}", quick);
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    assert_eq!(deadlocks(&report), [""; 0]);
    let storms: u64 =
        ["s0->s1", "s1->s2", "s2->s0"].iter().map(|name| at(&report, &experiment, name).storms).sum();
    assert!(storms > 0 && report.port("s0->s1").expect("a port").sent > 100_000 / 8, "{storms}");
    for (key, value, words) in [
        ("poll", "0s", "must be a time above zero, got 0ps"),
        ("detection", "100ms", "must be at least the time between two polls, 200ms, got 100ms"),
        ("restoration", "100ms", "must be at least the time between two polls, 200ms, got 100ms"),
    ] {
        let text = refusal(INCAST, &[(&format!("switch.lossless.watchdog.{key}"), value)]);
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn a_storm_that_never_ends_needs_an_end_of_the_run() {
    let endless = |nic: &str| {
        let text = chain(2, "1ms", nic).replace("stop.at = '1ms'\n", "");
        let (head, _) = text.split_once("[[workload]]").expect("a workload");
        format!("{head}[[workload]]\nkind = 'incast'\nsenders = 'a'\nreceivers = 'b'\nsize = '1MB'\n")
    };
    let text = refusal(&endless("pfc_storm = { start = '10us' }"), &[]);
    let expected = "host.group[0].nic.pfc_storm.stop: is missing, so the storm never ends and can stop flows for ever; without stop.at, \
                    the run waits for these flows; set host.group[0].nic.pfc_storm.stop, host.group[0].nic.watchdog or stop.at";
    assert!(text.contains(expected), "{text}");
    parse(&endless("pfc_storm = { start = '10us' }"), &[("stop.at", "1ms")]);
    for nic in
        ["pfc_storm = { start = '10us', stop = '1ms' }", "pfc_storm = { start = '10us' }, watchdog = {}"]
    {
        let report = run(&endless(nic), &[]);
        assert_eq!(report.summary()["flows"]["completed"], 1, "{nic}");
    }
}

#[test]
fn a_storm_that_stops_all_flows_is_named_after_the_run() {
    // The flow fills all groups of the chain. From then on, nothing but PFC frames moves.
    let text = chain(3, "20ms", "pfc_storm = { start = '10us' }");
    let warnings = on_any_number_of_threads(&parse(&text, &[]), Report::warnings);
    let expected = "the PFC storm of b paused its switch from 10us to the end of the run at 20ms";
    assert!(warnings.iter().any(|warning| warning == expected), "{warnings:?}");
    let ended = chain(3, "20ms", "pfc_storm = { start = '10us', stop = '1ms' }");
    assert!(!run(&ended, &[]).warnings().iter().any(|warning| warning.contains("PFC storm")));
}

#[test]
fn a_call_returns_while_only_samples_fire() {
    // After 0.1 ms, all ports are paused; there is a PFC frame every 168 us, and a sample every 100 ns.
    let text =
        format!("measure.sample_queues = '100ns'\n{}", chain(3, "1s", "pfc_storm = { start = '10us' }"));
    for threads in 1..=2 {
        let mut simulation = Simulation::divided(parse(&text, &[]), threads);
        simulation.advance(20_000);
        for _ in 0..3 {
            let before = simulation.progress().now;
            let now = simulation.advance(10_000).now;
            assert!(now - before < Duration::from_millis(4), "{threads} threads: {before} to {now}");
        }
    }
}
