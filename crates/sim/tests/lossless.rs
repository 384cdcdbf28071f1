//! Lossless classes: pauses instead of drops.

use std::fmt::Debug;

use shallows_core::{Bytes, Duration, Instant};
use shallows_measure::{PauseCounts, PauseInterval};
use shallows_scenario::Experiment;
use shallows_sim::{Division, Report, Simulation, nowhere};

use crate::common::rows::{double, rows};
use crate::common::{no_files, parse, run};

/// Returns the error with which a scenario is rejected.
pub(crate) fn refusal(text: &str, sets: &[(&str, &str)]) -> String {
    let sets: Vec<(String, String)> =
        sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    match shallows_scenario::parse(text, "test.toml", &no_files, &sets, None) {
        Ok(_) => panic!("it is accepted"),
        Err(error) => error.to_string(),
    }
}

/// Returns the counts of class 0 at the port of this name.
pub(crate) fn at(report: &Report, experiment: &Experiment, name: &str) -> PauseCounts {
    of_class(0, report, experiment, name)
}

/// Returns the counts of a class at the port of this name.
pub(crate) fn of_class(class: u8, report: &Report, experiment: &Experiment, name: &str) -> PauseCounts {
    let link = experiment.network.links.iter().position(|link| link.name == name).expect("a port");
    *report.pauses().iter().find(|row| row.link == link as u32 && row.class == class).expect("a row")
}

/// Returns the `results` of an undivided run, which must be the same on one to three threads with several partitions.
pub(crate) fn on_any_number_of_threads<R: PartialEq + Debug>(
    experiment: &Experiment,
    results: impl Fn(&Report) -> R,
) -> R {
    let run = |mut simulation: Simulation| {
        simulation.advance(u64::MAX);
        results(&simulation.finish())
    };
    let alone = run(Simulation::new(experiment.clone()));
    for threads in 1..=3 {
        let division = Division::in_pieces(experiment, threads, 0).expect("it has several switches");
        let simulation =
            Simulation::of_partitions(experiment.clone(), division, nowhere).expect("nothing is captured");
        assert!(simulation.partitions() > 1);
        let divided = run(simulation);
        assert!(divided == alone, "{threads} threads: {divided:?} instead of {alone:?}");
    }
    alone
}

/// Two hosts send datagrams at full rate to a third.
pub(crate) const INCAST: &str = r#"
stop.at = "1ms"
host.jitter = "off"
host.nic = { limit = "1GB", backpressure = "off" }
tcp = {}

[topology]
kind = "star"
hosts = 3
rate = "100Gbps"
link_delay = "500ns"

[switch]
buffer = { kind = "complete-sharing", pool = "1MB" }
lossless = { classes = [0] }

[[workload]]
kind = "udp"
senders = [0, 1]
receivers = 2
overload = true
stop = "200us"
pattern = { kind = "constant", rate = "100Gbps" }
"#;

#[test]
fn an_incast_is_paused_and_nothing_is_dropped() {
    let (experiment, report) = (parse(INCAST, &[]), run(INCAST, &[]));
    let summary = report.summary();
    assert_eq!(summary["packets"]["dropped"], 0);
    for sender in 0..2 {
        let port = at(&report, &experiment, &format!("switch0->host{sender}"));
        assert!(port.sent > 0 && port.sent == port.resumed && port.frames >= 2 * port.sent, "{port:?}");
        assert!(port.max_headroom > Bytes(0) && port.max_headroom <= port.headroom, "{port:?}");
        let nic = at(&report, &experiment, &format!("host{sender}->switch0"));
        assert!(nic.received == port.sent && nic.paused > Duration::from_micros(50), "{nic:?}");
        assert_eq!((nic.sent, nic.frames), (0, 0), "hosts pause nobody");
    }
    assert!(report.problems().is_empty(), "{:?}", report.problems());
    assert_eq!(summary["lossless"]["class0"]["dropped"], 0);
    assert!(report.observations().is_empty(), "buffer limits had an effect: {:?}", report.observations());
    // The same memory without lossless classes drops half of what arrives after it is full.
    let lossy = INCAST.replace("lossless = { classes = [0] }", "");
    assert!(run(&lossy, &[]).summary()["packets"]["dropped"].as_u64() > Some(500));
}

#[test]
fn a_lossy_class_beside_a_lossless_one_keeps_to_the_limit_of_its_queue() {
    let sets = [
        ("switch.buffer", "{ kind = 'dynamic-threshold', pool = '1MB', alpha = 1 }"),
        ("workload.0.class", "1"),
    ];
    let (experiment, report) = (parse(INCAST, &sets), run(INCAST, &sets));
    // 1,667 packets from each sender. The queue may take half of the pool, 333 packets; 200 us are enough for 1,667 packets more, and what
    // waits then leaves. A queue without a limit of its own would fill the memory at ingress, 873 KB.
    let port = report.port("switch0->host2").expect("a port");
    assert_eq!((port.received, port.sent, port.max_backlog), (2 * 1_667, 1_667 + 333, Bytes(333 * 1_500)));
    assert_eq!(report.summary()["packets"]["dropped"], 1_667 - 333);
    assert_eq!(at(&report, &experiment, "switch0->host0").sent, 0);
}

/// Class 0 from host 0 waits behind class 1 from host 1, which has priority and fills the link to host 2.
fn blocked() -> String {
    let source = |sender: u32, class: u32, start: &str| {
        format!(
            "[[workload]]\nkind = 'udp'\nsenders = {sender}\nreceivers = 2\nclass = {class}\noverload = true\n\
             start = '{start}'\npattern = {{ kind = 'constant', rate = '100Gbps' }}\n"
        )
    };
    format!(
        "stop.at = '100us'\nhost.jitter = 'off'\nhost.nic = {{ limit = '1GB', backpressure = 'off' }}\ntcp = {{}}\n\
         [topology]\nkind = 'star'\nhosts = 4\nrate = '100Gbps'\nlink_delay = '500ns'\nframing = '38B'\n\
         [switch]\nbuffer = {{ kind = 'complete-sharing', pool = '1MB' }}\n\
         port = {{ kind = 'strict-priority', queues = 2, classes = [1, 0] }}\n\
         lossless = {{ classes = [0], limit = '50KB', headroom = 'auto' }}\n{}{}",
        source(0, 0, "10us"),
        source(1, 1, "0s"),
    )
}

#[test]
fn a_pause_by_hand() {
    let text = blocked();
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    // A packet of 1,538 bytes takes 123.04 ns. Packet k of class 0 arrives at 10,500 ns + k * 123.04 ns. The first one leaves, because it
    // waits when the packet of class 1 before it ends and the next one of class 1 arrives at the same time; then class 1 always waits. The
    // limit of 50,000 bytes holds 32 packets, so the 34th to arrive is the first in headroom: XOFF at 14,683.36 ns. The frame of 84 bytes
    // takes 6.72 ns and 500 ns, and has effect after 394 quanta, 2,017.28 ns: at 17,207.36 ns.
    let nic = at(&report, &experiment, "host0->switch0");
    assert_eq!((nic.received, nic.paused), (1, Duration(100_000_000 - 17_207_360)));
    let pause = PauseInterval { since: Instant(17_207_360), link: nic.link, class: nic.class, until: None };
    assert_eq!(report.pause_intervals(), [pause]);
    // Until then, 59 packets have started. One has left, 32 are below the limit, and 26 are in headroom.
    assert_eq!(report.port("host0->switch0").expect("a port").sent, 59);
    let port = at(&report, &experiment, "switch0->host0");
    assert_eq!((port.sent, port.resumed, port.frames, port.dropped), (1, 0, 1, 0));
    assert_eq!((port.admitted, port.max_headroom), (59, Bytes(26 * 1_538)));
    // Own packet and frame, cable, response, the packet begun, the packet that did not fit, and one byte.
    assert_eq!(port.headroom, Bytes(1_622 + 12_500 + 25_216 + 1_538 + 1_538 + 1));
}

#[test]
fn the_table_of_pauses_has_their_times_in_microseconds() {
    // One pause lasts until the end of the run, and those of the incast end before.
    for text in [blocked(), INCAST.to_owned()] {
        let report = run(&text, &[]);
        let micros = |at: Instant| at.0 as f64 / 1e6;
        let table = rows(&report, "pause_times");
        assert!(!table.is_empty() && table.len() == report.pause_intervals().len());
        for (row, pause) in table.iter().zip(report.pause_intervals()) {
            let start = double(&row["start_us"]).expect("every pause has a start");
            assert!((start - micros(pause.since)).abs() < 1e-6, "{start} for {pause:?}");
            let difference = double(&row["end_us"]).zip(pause.until).map(|(end, until)| end - micros(until));
            assert_eq!(difference.is_some(), pause.until.is_some());
            assert!(difference.is_none_or(|difference| difference.abs() < 1e-6), "{row:?} for {pause:?}");
        }
    }
    assert!(run(&blocked(), &[]).pause_intervals().iter().all(|pause| pause.until.is_none()));
    assert!(run(INCAST, &[]).pause_intervals().iter().all(|pause| pause.until.is_some()));
}

#[test]
fn packets_of_a_lossless_class_fill_whole_cells() {
    // A packet of 1,538 bytes fills 7 cells of 254 bytes, 1,778 bytes. The limit of 50,000 bytes is 196 cells, exactly 28 packets. The 29th
    // packet to arrive fills the last of them: XOFF at 10,500 ns + 29 * 123.04 ns = 14,068.16 ns, and its effect 2,524 ns later.
    let text = blocked().replace("pool = '1MB'", "pool = '1MB', cell = '254B'");
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    let nic = at(&report, &experiment, "host0->switch0");
    assert_eq!((nic.received, nic.paused), (1, Duration(100_000_000 - 16_592_160)));
    // Until then, 54 packets have started: one has left, 28 are below the limit, and 25 are in headroom.
    assert_eq!(report.port("host0->switch0").expect("a port").sent, 54);
    let port = at(&report, &experiment, "switch0->host0");
    assert_eq!((port.admitted, port.max_headroom), (54, Bytes(25 * 1_778)));
    // 42,415 bytes can arrive. Acknowledgements of 78 bytes, the smallest packets, need 254 / 78 times their size: 543.8 cells.
    assert_eq!(port.headroom, Bytes(544 * 254));
}

#[test]
fn a_pool_of_headroom_that_is_too_small_drops_and_the_run_is_valid() {
    // As in the pause by hand, 26 packets arrive after the limit; 13 of them, 19,994 bytes, fit in the pool.
    let text = |pool: &str| blocked().replace("headroom = 'auto'", &format!("headroom_pool = '{pool}'"));
    let (experiment, report) = (parse(&text("20KB"), &[]), run(&text("20KB"), &[]));
    let port = at(&report, &experiment, "switch0->host0");
    assert_eq!((port.admitted, port.dropped, port.max_headroom), (1 + 32 + 13, 13, Bytes(13 * 1_538)));
    assert_eq!(report.summary()["lossless"]["class0"]["dropped"], 13);
    assert!(report.problems().is_empty(), "{:?}", report.problems());
    let report = run(&text("40KB"), &[]);
    assert_eq!(report.summary()["lossless"]["class0"]["dropped"], 0);
    // Two senders that are paused at once share the pool.
    let incast = |pool: &str| {
        run(INCAST, &[("switch.lossless.headroom_pool", pool)]).summary()["lossless"]["class0"]["dropped"]
            .as_u64()
    };
    assert!(incast("40KB") > Some(0));
    assert_eq!(incast("90KB"), Some(0));
}

#[test]
fn a_pause_stops_one_of_two_lossless_classes_if_each_has_a_queue() {
    // Hosts 0 and 1 send class 0 to host 2, whose link is congested. Host 0 also sends class 1 to host 3 at 40 Gb/s.
    let source = |senders: &str, receiver: u32, class: u8, rate: u32| {
        format!(
            "[[workload]]\nkind = 'udp'\nsenders = {senders}\nreceivers = {receiver}\nclass = {class}\noverload = true\n\
             pattern = {{ kind = 'constant', rate = '{rate}Gbps' }}\n"
        )
    };
    let text = |nic: &str| {
        format!(
            "stop.at = '500us'\nhost.jitter = 'off'\nhost.nic = {{ limit = '1GB', backpressure = 'off'{nic} }}\ntcp = {{}}\n\
             [topology]\nkind = 'star'\nhosts = 4\nrate = '100Gbps'\nlink_delay = '500ns'\n\
             [switch]\nbuffer = {{ kind = 'dynamic-threshold', pool = '2MB' }}\nport = {{ kind = 'dwrr', queues = 2, quantum = '1500B' }}\n\
             lossless = {{ classes = [0, 1], alpha = 0.125 }}\n{}{}",
            source("[0, 1]", 2, 0, 60),
            source("0", 3, 1, 40)
        )
    };
    let share = |text: &str| {
        let (experiment, report) = (parse(text, &[]), run(text, &[]));
        let paused = |class| of_class(class, &report, &experiment, "host0->switch0").paused;
        assert!(paused(0) > Duration::from_micros(20), "class 0 is paused");
        assert_eq!(paused(1), Duration::ZERO, "class 1 is not");
        assert!(report.problems().is_empty(), "{:?}", report.problems());
        report.port("switch0->host3").expect("a port").sent_bytes.0 as f64 * 8.0 / 500e-6 / 40e9
    };
    assert!(share(&text(", port = { kind = 'dwrr', queues = 2, quantum = '1500B' }")) > 0.98);
    let alone = share(&text(""));
    assert!(alone < 0.95, "both classes wait in one queue of the NIC: {alone}");
}

#[test]
fn a_pause_that_is_not_repeated_in_time_would_lapse_and_is_repeated() {
    // 1,000 quanta are 5.12 us, so that the sender would resume many times in 80 us.
    let text = blocked().replace("headroom = 'auto'", "quanta = 1000");
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    let port = at(&report, &experiment, "switch0->host0");
    // Frames at 14.68 us and every 500 quanta (2.56 us) after that.
    assert_eq!((port.sent, port.frames, port.dropped), (1, 1 + (100_000_000 - 14_683_360) / 2_560_000, 0));
    assert_eq!(report.port("host0->switch0").expect("a port").sent, 59);
}

#[test]
fn a_victim_is_paused_although_its_own_port_is_free() {
    let source = |senders: &str, receiver: u32| {
        format!(
            "[[workload]]\nkind = 'udp'\nsenders = {senders}\nreceivers = {receiver}\noverload = true\n\
             pattern = {{ kind = 'constant', rate = '100Gbps' }}\n"
        )
    };
    let text = |lossless: &str| {
        format!(
            "stop.at = '500us'\nhost.nic = {{ limit = '1GB', backpressure = 'off' }}\ntcp = {{}}\n\
             [topology]\nkind = 'dumbbell'\nleft = 3\nright = 2\nrate = '100Gbps'\nbottleneck_rate = '400Gbps'\n\
             link_delay = '500ns'\n[switch]\nbuffer = {{ kind = 'dynamic-threshold', pool = '2MB' }}\n{lossless}\n{}{}",
            source("[0, 1]", 3),
            source("2", 4)
        )
    };
    let share = |text: &str| {
        let report = run(text, &[]);
        report.port("right->host4").expect("a port").sent_bytes.0 as f64 * 8.0 / 500e-6 / 100e9
    };
    let (lossy, lossless) = (share(&text("")), share(&text("lossless = { classes = [0] }")));
    assert!(lossy > 0.98, "{lossy}");
    // The trunk carries what host 3 takes, and as much again for host 4 in each third of what it carries.
    assert!((0.4..0.75).contains(&lossless), "{lossless}");
}

/// Flows of random sizes between random hosts, with small limits so that pauses spread.
pub(crate) fn random(topology: &str) -> String {
    format!(
        "tcp.congestion = 'cubic'\nhost.nic = {{ limit = '1GB' }}\n{topology}\n\
         [switch]\nbuffer = {{ kind = 'dynamic-threshold', pool = '2MB' }}\n\
         lossless = {{ classes = [0], alpha = 0.0078125 }}\n\
         [[workload]]\nkind = 'poisson'\nload = 0.8\noverload = true\nflows = 400\nsizes = {{ kind = 'fixed', size = '100KB' }}\n"
    )
}

pub(crate) const LEAF_SPINE: &str =
    "[topology]\nkind = 'leaf-spine'\nleaves = 3\nspines = 2\nhosts_per_leaf = 4\nrate = '100Gbps'";
const FAT_TREE: &str = "[topology]\nkind = 'fat-tree'\nk = 4\nrate = '25Gbps'";

#[test]
fn random_flows_lose_nothing_and_any_number_of_threads_gives_the_same_bytes() {
    for topology in [LEAF_SPINE, FAT_TREE] {
        let experiment = parse(&random(topology), &[]);
        let (summary, ..) = on_any_number_of_threads(&experiment, |report| {
            (report.summary(), report.pauses().to_vec(), report.pause_intervals().to_vec())
        });
        assert_eq!(summary["packets"]["dropped"], 0, "{topology}");
        assert!(summary["lossless"]["class0"]["pauses"].as_u64() > Some(10), "{topology}");
    }
}

#[test]
fn impossible_settings_are_refused_with_the_numbers() {
    let key = |key: &str| format!("switch.lossless.{key}");
    for (name, value, words) in [
        ("headroom", "0B", "a lossless class without headroom loses packets, got 0B"),
        ("headroom", "500KB", "0B + 1.5MB, and one packet of 1.5KB: at least 1501.5KB, got 1MB"),
        ("alpha", "0.3", "must be a power of two from 1/128 to 8, got 0.3"),
        (
            "pause",
            "802.3x",
            "switch.lossless.pause: must be \"pfc\", got \"802.3x\": pauses of a whole link (IEEE 802.3x) are not modelled; with \
             switch.port = \"fifo\", a PFC pause of one class stops all packets of a port",
        ),
        ("pause", "none", "expected one of \"pfc\", \"802.3x\""),
        ("classes", "[9]", "must be distinct classes from 0 to 7, at least one, got [9]"),
        (
            "quanta",
            "700",
            "half of the pause time must be at least 2.144us, got 1.792us; use more quanta. A pause is repeated",
        ),
    ] {
        let text = refusal(INCAST, &[(&key(name), value)]);
        assert!(text.contains(words), "{text}");
    }
    for (loops, words) in [
        ("[{ to = 'switch0', through = ['switch0', 'switch0'] }]", "switch0 must not be in the loop"),
        ("[{ to = 'switch1', through = [] }]", "no switch is named \"switch1\""),
        ("[{ to = 'switch0', through = [] }]", "a loop must have at least two switches"),
    ] {
        let text = refusal(INCAST, &[(&key("routing_loops"), loops)]);
        assert!(text.contains(words), "{text}");
    }
    let ttl = refusal(INCAST, &[(&key("ttl"), "8")]);
    assert!(ttl.contains("needs a routing loop: add switch.lossless.routing_loops, or remove ttl"), "{ttl}");
    let both = refusal(INCAST, &[(&key("alpha"), "2"), (&key("limit"), "50KB")]);
    assert!(both.contains("must be left out, got 2: limit = 50KB sets a fixed limit"), "{both}");
    let rate = refusal(INCAST, &[("topology.rate", "30Gbps")]);
    assert!(rate.contains("IEEE 802.3 has no response time for the rate 30Gbps"), "{rate}");
    let shared = refusal(INCAST, &[("switch.buffer.ports_per_pool", "1")]);
    assert!(shared.contains("with one pool and without `reserved`"), "{shared}");
    let marks = refusal(INCAST, &[("switch.markers", "[{kind = 'codel'}]")]);
    assert!(marks.contains("must act when packets join the queue"), "{marks}");
    let bins = refusal(INCAST, &[("switch.port", "{kind = 'sfq'}")]);
    assert!(bins.contains("must have queues that can be paused"), "{bins}");
}

#[test]
fn routes_that_form_a_cycle_are_refused_with_the_cycle() {
    let ring = |switches: usize| {
        let links: Vec<String> = (0..switches)
            .map(|from| {
                let to = (from + 1) % switches;
                format!("{{ between = ['h{from}', 's{from}'] }}, {{ between = ['s{from}', 's{to}'] }}")
            })
            .collect();
        format!(
            "stop.at = '1us'\ntcp = {{}}\ntopology = {{ kind = 'graph', rate = '100Gbps', hosts = ['h{{0..{switches}}}'], \
             switches = ['s{{0..{switches}}}'], links = [{}] }}\n\
             switch = {{ buffer = {{ kind = 'complete-sharing', pool = '1MB' }}, lossless = {{ classes = [0] }} }}\n\
             workload = [{{ kind = 'incast', senders = 0, receivers = 1, size = '1KB' }}]\n",
            links.join(", ")
        )
    };
    // Routes of a ring of five switches cross two of its links, so each link waits for the next one.
    let text = refusal(&ring(5), &[]);
    assert!(text.contains("pauses can wait for each other in a cycle (deadlock): "), "{text}");
    let names =
        text.split("(deadlock): ").nth(1).and_then(|rest| rest.split(", which waits for the first").next());
    let links: Vec<&str> = names.expect("a cycle").split(" waits for ").collect();
    assert_eq!(links.len(), 5, "{links:?}");
    for (link, next) in links.iter().zip(links.iter().cycle().skip(1)) {
        assert_eq!(link.split("->").nth(1), next.split("->").next(), "{links:?}");
    }
    // In a ring of three switches, every route crosses only one.
    assert!(parse(&ring(3), &[]).network.lossless.is_some());
}
