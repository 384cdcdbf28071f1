//! Tests of ports and markers: invalid ones are rejected with place and remedy, and valid but probably unintended ones cause a warning.

use shallows_scenario::{Experiment, ScenarioError};

/// Star of eight hosts at 10 Gbit/s, with full packets of 1,538 B and four queues with deficit round-robin.
const STAR: &str = r#"
[topology]
kind = "star"
hosts = 8
rate = "10Gbps"
framing = 38

[switch]
buffer = { kind = "dynamic-threshold", alpha = 1.0, pool = "2MB" }
port = { kind = "dwrr", queues = 4, quantum = "1p" }
markers = [{ kind = "threshold", k = "65p" }]

[[workload]]
kind = "incast"
senders = "1..8"
receivers = "0"
size = "64KB"
"#;

fn parse(text: &str, sets: &[(&str, &str)]) -> Result<Experiment, ScenarioError> {
    let sets: Vec<(String, String)> =
        sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    shallows_scenario::parse(text, "s.toml", &|_| unreachable!("no workload names a file"), &sets, None)
}

/// Returns the whole message for the star changed by `sets`.
fn message(sets: &[(&str, &str)]) -> String {
    parse(STAR, sets).err().unwrap_or_else(|| panic!("accepted: {sets:?}")).to_string()
}

fn warnings(sets: &[(&str, &str)]) -> Vec<String> {
    parse(STAR, sets).unwrap_or_else(|error| panic!("{error}")).warnings()
}

/// A key of the star, a value that no port can be built with, and its message.
const IMPOSSIBLE: &[(&str, &str, &str)] = &[
    (
        "switch.port.quantum",
        "0B",
        "switch.port.quantum: a queue with a quantum of 0 never sends; the papers take at least one MTU",
    ),
    (
        "switch.port.quantum",
        "['1p', '2p']",
        "switch.port.quantum: 2 values for 4 queues; one for each, or one for all",
    ),
    (
        "switch.port",
        "{ kind = 'wfq', queues = 2, weight = [1, 0] }",
        "switch.port.weight: a queue of weight 0 never sends; at least 1",
    ),
    ("switch.port.queues", "0", "switch.port.queues: 0 queues; at least 1 and at most 64"),
    ("switch.port.strict", "61", "switch.port.strict: with 61 more a port has above 64 queues; at most 60"),
    (
        "switch.port.classes",
        "[0, 4]",
        "switch.port.classes[1]: class 1 joins queue 4, and the last of 4 queues is 3",
    ),
    ("switch.port.classes", "[]", "switch.port.classes: no class has a queue; at least one"),
    (
        "switch.port.queue_limit",
        "1500B",
        "switch.port.queue_limit: 1.5KB does not hold one packet of 1.538KB",
    ),
    ("switch.port.port_limit", "0p", "switch.port.port_limit: 0p does not hold one packet of 1.538KB"),
    (
        "workload.0.class",
        "5",
        "workload[0].class: class 5 has no queue at switch0->host0, which knows classes 0 to 3; give that port another \
         queue, or its `classes` an entry for it",
    ),
    ("workload.0.class", "64", "workload[0].class: class 64 is not from 0 to 63"),
    (
        "tcp.ack_class",
        "5",
        "tcp.ack_class: class 5 has no queue at switch0->host0, which knows classes 0 to 3; give that port another \
         queue, or its `classes` an entry for it",
    ),
    ("tcp.ack_class", "64", "tcp.ack_class: class 64 is not from 0 to 63"),
    (
        "switch.port",
        "{ kind = 'hcf', limit = '20p', credits = '0p' }",
        "switch.port.credits: without credits no packet is of high priority; at least 1p",
    ),
    ("switch.port", "{ kind = 'hcf', limit = '20p', bins = 0 }", "switch.port.bins: 0 bins; at least 1"),
    (
        "switch.port",
        "{ kind = 'hcf', limit = '20p', hashes = 0 }",
        "switch.port.hashes: 0 hashes; at least 1",
    ),
    (
        "switch.port",
        "{ kind = 'hcf', limit = '1p' }",
        "switch.port.limit: 1p divided equally leaves a queue that does not hold one packet of 1.538KB",
    ),
    ("switch.port", "{ kind = 'hashed-drr', buckets = 0 }", "switch.port.buckets: 0 buckets; at least 1"),
    (
        "switch.port",
        "{ kind = 'sfq', max_packets = 0 }",
        "switch.port.max_packets: with 0 none is ever admitted; at least 1",
    ),
    (
        "switch.port",
        "{ kind = 'sfq', max_packets = 1, drop = 'as-ns2' }",
        "switch.port.max_packets: with 1 none is ever admitted; at least 2",
    ),
    (
        "switch.port",
        "{ kind = 'sfq', hash = 'address-sum', perturbation = '5ms' }",
        "switch.port.perturbation: a hash as in ns-2 is the same for ever; leave this out, or hash by \"five-tuple\" or \
         \"address-pair\"",
    ),
    ("switch.port", "{ kind = 'sfq', perturbation = '0s' }", "switch.port.perturbation: no time; above 0s"),
    (
        "switch.markers",
        "[{ kind = 'ein', high_water = '65p', samples = 0 }]",
        "switch.markers[0].samples: 0 samples; from 1 to 4096",
    ),
    (
        "switch.markers",
        "[{ kind = 'ein-as-released', samples = 1 }]",
        "switch.markers[0].samples: 1 samples; from 2 to 4096",
    ),
    (
        "switch.markers",
        "[{ kind = 'threshold', k = '65p', queues = [4] }]",
        "switch.markers[0].queues[0]: there is no queue 4; the last of 4 is 3",
    ),
    (
        "switch.shaper",
        "{ rate = '1Gbps', burst = '1500B' }",
        "switch.shaper.burst: 1.5KB does not hold one packet of 1.538KB",
    ),
    (
        "switch.overrides",
        "[{ ports = ['up'], egress_drop = 'free' }]",
        "switch.overrides[0].ports[0]: no such port is named \"up\"; one is \"switch0->host0\", * \
         stands for anything, and a kind for all its ports: to-host",
    ),
    (
        "switch.overrides",
        "[{ ports = ['to-host'] }]",
        "switch.overrides[0]: it changes nothing; give it a port, markers, a shaper or an egress_drop",
    ),
    (
        "switch.buffer",
        "{ kind = 'abm', pool = '2MB', alpha = [0.5, 0.0] }",
        "switch.buffer.alpha: 0 is not above 0 and at most 1024",
    ),
    (
        "switch.buffer",
        "{ kind = 'abm', pool = '2MB', alpha = [] }",
        "switch.buffer.alpha: no queue has one; at least one, for all",
    ),
    (
        "switch.buffer",
        "{ kind = 'abm', pool = '2MB', alpha = 1e-300 }",
        "does not hold one packet of 1.538KB, nor do reserved bytes",
    ),
    // 0.0007 of 2 MB are 1,400 bytes.
    (
        "switch.buffer",
        "{ kind = 'abm', pool = '2MB', alpha = [0.5, 0.0007] }",
        "switch.buffer.alpha: 0.0007 of a pool of 2MB does not hold one packet of 1.538KB, nor do reserved bytes",
    ),
    (
        "switch.buffer",
        "{ kind = 'complete-sharing', pool = '2MB', cell = '0B' }",
        "switch.buffer.cell: 0B; at least 1B, or leave it out",
    ),
    // A full packet of 1,538 bytes takes seven cells of 254 bytes, 1,778 bytes.
    (
        "switch.buffer",
        "{ kind = 'complete-sharing', pool = '1777B', cell = '254B' }",
        "switch.buffer.pool: 1.777KB does not hold one packet of 1.538KB (1.778KB in cells of 254B)",
    ),
    (
        "switch.buffer",
        "{ kind = 'static-partition', per_port = '1700B', cell = '254B' }",
        "switch.buffer.per_port: 1.7KB does not hold one packet of 1.538KB (1.778KB in cells of 254B)",
    ),
    // A threshold counts the packet in the pool: 13 of 20 cells remain beside it, and half of them are not seven.
    (
        "switch.buffer",
        "{ kind = 'dynamic-threshold', pool = '5080B', alpha = 0.5, cell = '254B' }",
        "switch.buffer.alpha: 0.5 of a pool of 5.08KB does not hold one packet of 1.538KB (1.778KB in cells of \
         254B), nor do reserved bytes",
    ),
    (
        "switch.buffer",
        "{ kind = 'abm', pool = '2MB', reserved = '253B', cell = '254B' }",
        "switch.buffer.reserved: 253B does not hold one cell of 254B",
    ),
    (
        "switch.buffer",
        "{ kind = 'complete-sharing', pool = '2MB', reserved = '9KB', reserved_rule = 'as-released', cell = '254B' }",
        "switch.buffer.reserved_rule: \"as-released\" counts bytes; leave it out, or leave out cell",
    ),
    (
        "switch.markers",
        "[{ kind = 'threshold', k = '65p', unit = 'cells' }]",
        "switch.markers[0].k: unit = \"cells\", and the memory of this port has none: give switch.buffer a cell",
    ),
    (
        "switch.markers",
        "[{ kind = 'red-classic', unit = 'cells' }]",
        "switch.markers[0].unit: its average is in bytes or packets; \"cells\" is for \"threshold\" and \"red\"",
    ),
    (
        "switch.buffer",
        "{ kind = 'static-partition', per_port = '100p', pool = '2MB' }",
        "switch.buffer.pool: unknown key; known here: per_port, cell",
    ),
    (
        "switch.buffer",
        "{ kind = 'abm', pool = '2MB', congested = 1.5 }",
        "switch.buffer.congested: 1.5 is not above 0 and at most 1",
    ),
    (
        "switch.buffer",
        "{ kind = 'abm', pool = '2MB', window = '1KB' }",
        "switch.buffer.window: 1KB is less than one packet of 1.538KB",
    ),
];

#[test]
fn ports_that_cannot_be_built_are_refused_with_place_and_remedy() {
    for &(key, value, expected) in IMPOSSIBLE {
        let found = message(&[(key, value)]);
        let told = found.strip_prefix(&format!("--set {key}={value}: ")).unwrap_or(&found);
        assert!(told.lines().next().is_some_and(|line| line.ends_with(expected)), "{key} = {value}: {found}");
    }
}

#[test]
fn markers_in_the_wrong_place_are_refused() {
    let mq_ecn = [("switch.port", "fifo"), ("switch.markers", "[{ kind = 'mq-ecn', k = '65p' }]")];
    assert!(message(&mq_ecn).contains("switch.markers[0]: mq-ecn needs queues that share the link"));
    let partition = ("switch.buffer", "{ kind = 'static-partition', per_port = '200p' }");
    let found = message(&[partition, ("switch.markers", "[{ kind = 'bcc' }]")]);
    assert!(
        found
            .contains("switch.markers[0]: a bcc marker needs a pool that ports share by a dynamic threshold")
    );
}

#[test]
fn a_marker_beyond_what_its_queue_may_hold_is_warned_of_with_both_numbers() {
    // K = 65 · 1,538 B = 99,970 B.
    let limited = |limit: &str| {
        format!(
            "the threshold marker of to-host ports (switch0->host0) cannot fire: its threshold, 99.97KB, is not below \
             the {limit} that can ever wait"
        )
    };
    for (sets, limit) in [
        (&[("switch.port.queue_limit", "60p")][..], "92.28KB"),
        (&[("switch.port.port_limit", "90KB")], "90KB"),
        // Four queues of 16 packets each.
        (&[("switch.port.queue_limit", "16p"), ("switch.markers.0.scope", "port")], "98.432KB"),
        (&[("switch.port", "{ kind = 'hcf', limit = '20p' }")], "30.76KB"),
        (&[("switch.port", "{ kind = 'hashed-drr' }")], "25KB"),
        (&[("switch.port", "{ kind = 'sfq', max_packets = 40 }")], "61.52KB"),
        (&[("switch.buffer", "{ kind = 'static-partition', per_port = '65p' }")], "99.97KB"),
    ] {
        assert_eq!(warnings(sets), [limited(limit)], "{sets:?}");
    }
    for sets in [
        &[("switch.port.queue_limit", "66p")][..],
        &[("switch.port.queue_limit", "17p"), ("switch.markers.0.scope", "port")],
        &[("switch.port", "{ kind = 'sfq', max_packets = 66 }")],
    ] {
        assert!(warnings(sets).is_empty(), "{sets:?}");
    }
}

#[test]
fn signals_that_nobody_hears_or_sends_are_warned_of() {
    let ein = "[{ kind = 'threshold', k = '65p' }, { kind = 'ein', high_water = '65p' }]";
    let braking =
        "pulser brakes on explicit incast notifications, but no switch has an ein marker: it is DCTCP here";
    let unheard = "an ein marker notifies of incast, but only pulser without as_released reacts to that";
    let silent = "connections use ECN, but no switch marks: only drops will slow them down";
    for (sets, expected) in [
        (&[("tcp.congestion", "pulser")][..], &[braking][..]),
        (&[("tcp.congestion", "pulser"), ("switch.markers", ein)], &[]),
        (&[("switch.markers", ein)], &[unheard]),
        (
            &[("switch.markers", ein), ("tcp.congestion", "{ kind = 'pulser', as_released = true }")],
            &[unheard],
        ),
        (&[("tcp.congestion", "{ kind = 'pulser', as_released = true }")], &[]),
        // Pulser is used beside a threshold, because `ein` alone sets no CE.
        (
            &[("switch.markers", "[{ kind = 'ein', high_water = '65p' }]"), ("tcp.congestion", "pulser")],
            &[silent],
        ),
        (&[("switch.markers", "[{ kind = 'codel' }]")], &[silent]),
        (&[("switch.markers", "[{ kind = 'codel', action = 'mark' }]")], &[]),
        (&[("switch.markers", "[{ kind = 'red-classic', variant = 'ns-2' }]")], &[silent]),
        (&[("switch.markers", "[{ kind = 'ein-as-released' }]")], &[]),
        (&[("switch.markers", "[{ kind = 'codel' }]"), ("tcp.congestion", "cubic")], &[]),
        (
            &[("switch.markers", "[{ kind = 'tcn', threshold = '50us' }]"), ("tcp.congestion", "cubic")],
            &["connections do not use ECN: markers drop their packets instead of marking them"],
        ),
    ] {
        assert_eq!(warnings(sets), expected, "{sets:?}");
    }
}

#[test]
fn settings_of_ports_that_are_rarely_meant_are_warned_of() {
    for (sets, expected) in [
        (
            &[("switch.port.quantum", "1500B")][..],
            "a quantum of 1.5KB is below a full packet of 1.538KB: DWRR then skips rounds, WRR sends more than its quantum \
             (MQ-ECN takes at least one MTU)",
        ),
        (
            &[("switch.shaper", "{ rate = '10Gbps', burst = '3KB' }")],
            "the shaper of switch0->host0 holds nothing back: 10Gbps at a link of 10Gbps",
        ),
        (
            &[("switch.markers", "[{ kind = 'threshold', k = '1500B', counts_packet = true }]")],
            "to-host ports (switch0->host0) mark every full packet, also one that meets no other: K = 1.5KB counts the \
             packet itself, and one has 1.538KB",
        ),
        (
            &[("switch.markers", "[{ kind = 'threshold', k = '2KB', split = 'minimum' }]")],
            "split = \"minimum\" leaves a queue of to-host ports (switch0->host0) a threshold of 500B, less than one packet: \
             it marks all that waits, and drops for ever what is not ECN-capable if the backlog is averaged too (a larger \
             k, or split = \"standard\", prevents it)",
        ),
        (
            &[("switch.markers", "[{ kind = 'mq-ecn', k = '1KB' }]")],
            "to-host ports (switch0->host0) mark every full packet, also one that meets no other: K = 1KB counts the \
             packet itself, and one has 1.538KB",
        ),
    ] {
        assert_eq!(warnings(sets), [expected]);
    }
    assert!(warnings(&[]).is_empty());
    assert!(warnings(&[("switch.shaper", "{ rate = '9.95Gbps', burst = '3KB' }")]).is_empty());
    assert!(warnings(&[("switch.markers.0.counts_packet", "true")]).is_empty());
}
