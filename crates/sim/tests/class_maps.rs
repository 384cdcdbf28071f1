//! Lossless classes: maps from DSCPs to classes, from classes to priority groups, and from PFC priorities to queues.

use shallows_core::{Bytes, Duration};

use crate::common::{parse, run};
use crate::lossless::{INCAST, at, of_class, on_any_number_of_threads, refusal};

/// Hosts 0 and 1 send DSCP 26 at full rate to host 2, and host 0 sends DSCP 34 at 20 Gb/s to host 3. Ports have a queue for each class.
fn dscps(lossless: &str) -> String {
    let source = |senders: &str, receiver: u32, dscp: u8, rate: u32| {
        format!(
            "[[workload]]\nkind = 'udp'\nsenders = {senders}\nreceivers = {receiver}\nclass = {dscp}\noverload = true\n\
             pattern = {{ kind = 'constant', rate = '{rate}Gbps' }}\n"
        )
    };
    format!(
        "stop.at = '500us'\nhost.jitter = 'off'\ntcp = {{}}\n\
         [host.nic]\nlimit = '1GB'\nbackpressure = 'off'\nport = {{ kind = 'dwrr', queues = 5, quantum = '1500B' }}\n\
         [topology]\nkind = 'star'\nhosts = 4\nrate = '100Gbps'\nlink_delay = '500ns'\n\
         [switch]\nbuffer = {{ kind = 'dynamic-threshold', pool = '2MB' }}\nport = {{ kind = 'dwrr', queues = 5, quantum = '1500B' }}\n\
         lossless = {{ classes = [3, 4], alpha = 0.125, dscp_to_tc = {{ 26 = 3, 34 = 4 }}{lossless} }}\n{}{}",
        source("[0, 1]", 2, 26, 80),
        source("0", 3, 34, 20)
    )
}

#[test]
fn packets_have_the_class_to_which_their_dscp_maps() {
    let text = dscps("");
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    assert_eq!(report.summary()["packets"]["dropped"], 0);
    assert!(report.problems().is_empty(), "{:?}", report.problems());
    let nic = |class| of_class(class, &report, &experiment, "host0->switch0");
    assert!(nic(3).paused > Duration::from_micros(100), "{:?}", nic(3));
    assert_eq!(
        (nic(4).paused, nic(4).received),
        (Duration::ZERO, 0),
        "class 4 has a queue and a group of its own"
    );
    let port = of_class(4, &report, &experiment, "switch0->host0");
    assert_eq!((port.sent, port.max_headroom), (0, Bytes(0)));
    // With another map, DSCP 26 is lossy.
    let lossy = run(&text, &[("switch.lossless.dscp_to_tc", "{ 26 = 1, 34 = 4 }")]);
    assert!(lossy.summary()["packets"]["dropped"].as_u64() > Some(500));
    assert_eq!(lossy.summary()["lossless"]["class3"]["frames"], 0);
    // A class needs a queue, whatever the DSCPs of its packets.
    let unmapped = refusal(&text, &[("switch.lossless.dscp_to_tc", "{ 34 = 4 }")]);
    assert!(unmapped.contains("class 26 has no queue at the port host0->switch0"), "{unmapped}");
    let narrow = refusal(&text, &[("host.nic.port.queues", "3")]);
    assert!(
        narrow.contains("class 3 has no queue at the port host0->switch0, whose classes are 0 to 2"),
        "{narrow}"
    );
}

#[test]
fn classes_that_share_a_priority_group_are_paused_together_by_one_frame() {
    let text = dscps(", tc_to_priority_group = { 4 = 3 }");
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    assert_eq!(report.summary()["packets"]["dropped"], 0);
    let [three, four] = [3, 4].map(|class| of_class(class, &report, &experiment, "host0->switch0"));
    assert!(three.received > 1 && three.paused > Duration::from_micros(100), "{three:?}");
    assert_eq!((three.received, three.paused), (four.received, four.paused));
    let [three, four] = [3, 4].map(|class| of_class(class, &report, &experiment, "switch0->host0"));
    assert_eq!((three.sent, three.frames, three.max_headroom), (four.sent, four.frames, four.max_headroom));
    // The group has one headroom: the shared memory is larger than with two groups by the headroom of the four ports.
    let shared = |text: &str| parse(text, &[]).pause_thresholds()[0].shared_bytes;
    assert_eq!(shared(&text), shared(&dscps("")) + 4 * three.headroom.0);
}

#[test]
fn shared_groups_give_the_same_results_on_any_number_of_threads() {
    let text = "tcp.congestion = 'cubic'\nhost.nic = { limit = '1GB' }\n\
        [topology]\nkind = 'leaf-spine'\nleaves = 3\nspines = 2\nhosts_per_leaf = 4\nrate = '100Gbps'\n\
        [switch]\nbuffer = { kind = 'dynamic-threshold', pool = '2MB' }\nport = { kind = 'dwrr', queues = 3, quantum = '1500B' }\n\
        lossless = { classes = [1, 2], alpha = 0.0078125, dscp_to_tc = { 10 = 1, 18 = 2 }, tc_to_priority_group = { 2 = 1 } }\n\
        [[workload]]\nkind = 'poisson'\nload = 0.5\nclass = 10\noverload = true\nflows = 200\nsizes = { kind = 'fixed', size = '100KB' }\n\
        [[workload]]\nkind = 'poisson'\nload = 0.5\nclass = 18\noverload = true\nflows = 200\nsizes = { kind = 'fixed', size = '100KB' }\n";
    let (summary, ..) = on_any_number_of_threads(&parse(text, &[]), |report| {
        (report.summary(), report.pauses().to_vec(), report.pause_intervals().to_vec())
    });
    assert_eq!(summary["packets"]["dropped"], 0);
    let pauses = |class: &str| summary["lossless"][class]["pauses"].as_u64();
    assert!(pauses("class1") > Some(10) && pauses("class1") == pauses("class2"));
}

#[test]
fn drops_are_counted_for_the_class_of_the_packet_and_not_for_its_group() {
    // Two packets fit in the headroom of the shared group. Class 4 sends little and loses less than class 3.
    let text = dscps(", tc_to_priority_group = { 4 = 3 }, headroom = '3KB'");
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    let dropped = |class: u8| {
        let ports = ["switch0->host0", "switch0->host1"];
        ports.map(|port| of_class(class, &report, &experiment, port).dropped).iter().sum::<u64>()
    };
    let (three, four) = (dropped(3), dropped(4));
    assert!(three > four && four > 0, "{three} and {four}");
    assert_eq!(report.summary()["packets"]["dropped"], three + four);
}

#[test]
fn the_maps_that_the_defaults_stand_for_change_nothing() {
    let explicit = [
        ("switch.lossless.dscp_to_tc", "{ 0 = 0, 5 = 5 }"),
        ("switch.lossless.tc_to_priority_group", "{ 0 = 0, 1 = 2 }"),
        ("switch.lossless.pfc_priority_to_queue", "{ 0 = 0, 3 = 3 }"),
    ];
    let (implied, explicit) = (run(INCAST, &[]), run(INCAST, &explicit));
    assert_eq!(implied.pauses(), explicit.pauses());
    assert_eq!(at(&implied, &parse(INCAST, &[]), "switch0->host0").class, 0);
}

#[test]
fn wrong_maps_are_refused_with_the_remedy() {
    let text = dscps("");
    for (key, value, words) in [
        (
            "dscp_to_tc",
            "{ 64 = 3 }",
            "switch.lossless.dscp_to_tc: must map DSCPs from 0 to 63 to traffic classes from 0 to 7, got 64 = 3",
        ),
        (
            "dscp_to_tc",
            "{ 26 = 8 }",
            "switch.lossless.dscp_to_tc: must map DSCPs from 0 to 63 to traffic classes from 0 to 7, got 26 = 8",
        ),
        (
            "dscp_to_tc",
            "{ x = 3 }",
            "switch.lossless.dscp_to_tc: must be a table from numbers to numbers, such as { 26 = 3 }, got the key \"x\"",
        ),
        (
            "dscp_to_tc",
            "{ 3 = 4 }",
            "must map a DSCP to each lossless class, got none for class 3; add an entry such as 26 = 3, or remove the class from \
             switch.lossless.classes",
        ),
        (
            "tc_to_priority_group",
            "{ 8 = 3 }",
            "must map traffic classes from 0 to 7 to priority groups from 0 to 7, got 8 = 3",
        ),
        (
            "tc_to_priority_group",
            "{ 3 = 0 }",
            "switch.lossless.tc_to_priority_group: must not map lossless and lossy classes to the same priority group, got group 0 for \
             the lossless class 3 and the lossy class 0; map class 3 to a group without lossy classes, such as 1",
        ),
        (
            "tc_to_priority_group",
            "{ 7 = 4 }",
            "got group 4 for the lossless class 4 and the lossy class 7; map class 4 to a group without lossy classes, such as 1",
        ),
        (
            "pfc_priority_to_queue",
            "{ 3 = 3, 4 = 9 }",
            "must map PFC priorities from 0 to 7 to queues from 0 to 7, got 4 = 9",
        ),
        (
            "pfc_priority_to_queue",
            "{ 3 = 4 }",
            "switch.lossless.pfc_priority_to_queue: must map PFC priority 3 to queue 3, where the lossless class 3 waits at to-host ports, \
             got queue 4: a pause would stop another class; change this map, or the key classes of switch.port",
        ),
    ] {
        let found = refusal(&text, &[(&format!("switch.lossless.{key}"), value)]);
        assert!(found.contains(words), "{found}");
    }
}
