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

/// Impossible values: a key of the star, its value, and the error message.
const IMPOSSIBLE: &[(&str, &str, &str)] = &[
    (
        "switch.port.quantum",
        "0B",
        "switch.port.quantum: must be above 0 for every queue, because a queue with a quantum of 0 never sends; the \
         papers use at least one MTU",
    ),
    (
        "switch.port.quantum",
        "['1p', '2p']",
        "switch.port.quantum: must be one value for all queues or one value for each of the 4 queues, got 2 values",
    ),
    (
        "switch.port",
        "{ kind = 'wfq', queues = 2, weight = [1, 0] }",
        "switch.port.weight: must be at least 1 for every queue, because a queue with a weight of 0 never sends",
    ),
    ("switch.port.queues", "0", "switch.port.queues: must be from 1 to 64, got 0"),
    (
        "switch.port.strict",
        "61",
        "switch.port.strict: must be at most 60, so that the port has at most 64 queues, got 61",
    ),
    (
        "switch.port.classes",
        "[0, 4]",
        "switch.port.classes[1]: class 1 must have a queue from 0 to 3, got queue 4",
    ),
    ("switch.port.classes", "[]", "switch.port.classes: must have at least one entry, got an empty list"),
    (
        "switch.port.queue_limit",
        "1500B",
        "switch.port.queue_limit: must be at least one packet of 1.538KB, got 1.5KB",
    ),
    (
        "switch.port.port_limit",
        "0p",
        "switch.port.port_limit: must be at least one packet of 1.538KB, got 0p",
    ),
    (
        "workload.0.class",
        "5",
        "workload[0].class: class 5 has no queue at the port switch0->host0, whose classes are 0 to 3; add a queue \
         to that port, or an entry for the class to its `classes`",
    ),
    ("workload.0.class", "64", "workload[0].class: must be a class from 0 to 63, got 64"),
    (
        "tcp.ack_class",
        "5",
        "tcp.ack_class: class 5 has no queue at the port switch0->host0, whose classes are 0 to 3; add a queue to \
         that port, or an entry for the class to its `classes`",
    ),
    ("tcp.ack_class", "64", "tcp.ack_class: must be a class from 0 to 63, got 64"),
    (
        "switch.port",
        "{ kind = 'hcf', limit = '20p', credits = '0p' }",
        "switch.port.credits: must be at least 1p, got 0p",
    ),
    (
        "switch.port",
        "{ kind = 'hcf', limit = '20p', bins = 0 }",
        "switch.port.bins: must be at least 1, got 0",
    ),
    (
        "switch.port",
        "{ kind = 'hcf', limit = '20p', hashes = 0 }",
        "switch.port.hashes: must be at least 1, got 0",
    ),
    (
        "switch.port",
        "{ kind = 'hcf', limit = '1p' }",
        "switch.port.limit: must leave room for one packet of 1.538KB in each of the two queues, got a limit of 1p, divided equally",
    ),
    ("switch.port", "{ kind = 'hashed-drr', buckets = 0 }", "switch.port.buckets: must be at least 1, got 0"),
    (
        "switch.port",
        "{ kind = 'sfq', max_packets = 0 }",
        "switch.port.max_packets: must be at least 1, got 0",
    ),
    (
        "switch.port",
        "{ kind = 'sfq', max_packets = 1, drop = 'as-ns2' }",
        "switch.port.max_packets: must be at least 2, got 1",
    ),
    (
        "switch.port",
        "{ kind = 'sfq', hash = 'address-sum', perturbation = '5ms' }",
        "switch.port.perturbation: must be left out with a hash as in ns-2, which never changes; or set hash = \
         \"five-tuple\" or \"address-pair\"",
    ),
    (
        "switch.port",
        "{ kind = 'sfq', perturbation = '0s' }",
        "switch.port.perturbation: must be above 0s, got 0s",
    ),
    (
        "switch.markers",
        "[{ kind = 'ein', high_water = '65p', samples = 0 }]",
        "switch.markers[0].samples: must be from 1 to 4096, got 0",
    ),
    (
        "switch.markers",
        "[{ kind = 'ein-as-released', samples = 1 }]",
        "switch.markers[0].samples: must be from 2 to 4096, got 1",
    ),
    (
        "switch.markers",
        "[{ kind = 'threshold', k = '65p', queues = [4] }]",
        "switch.markers[0].queues[0]: must be a queue from 0 to 3, got 4",
    ),
    (
        "switch.shaper",
        "{ rate = '1Gbps', burst = '1500B' }",
        "switch.shaper.burst: must be at least one packet of 1.538KB, got 1.5KB",
    ),
    (
        "switch.overrides",
        "[{ ports = ['up'], egress_drop = 'free' }]",
        "switch.overrides[0].ports[0]: no port matches \"up\"; use a name such as \"switch0->host0\", a pattern in \
         which * matches any text, or a kind: to-host",
    ),
    (
        "switch.overrides",
        "[{ ports = ['to-host'] }]",
        "switch.overrides[0]: must have a port, markers, a shaper or an egress_drop",
    ),
    (
        "switch.buffer",
        "{ kind = 'abm', pool = '2MB', alpha = [0.5, 0.0] }",
        "switch.buffer.alpha: must be above 0 and at most 1024, got 0",
    ),
    (
        "switch.buffer",
        "{ kind = 'abm', pool = '2MB', alpha = [] }",
        "switch.buffer.alpha: must have at least one value, got an empty list",
    ),
    (
        "switch.buffer",
        "{ kind = 'abm', pool = '2MB', alpha = 1e-300 }",
        "got alpha = 1e-300; use a larger alpha, or reserve at least one packet for each port (switch.buffer.reserved)",
    ),
    // 0.0007 of 2 MB are 1,400 bytes.
    (
        "switch.buffer",
        "{ kind = 'abm', pool = '2MB', alpha = [0.5, 0.0007] }",
        "switch.buffer.alpha: alpha times the pool of 2MB must be at least one packet of 1.538KB, got alpha = \
         0.0007; use a larger alpha, or reserve at least one packet for each port (switch.buffer.reserved)",
    ),
    (
        "switch.buffer",
        "{ kind = 'complete-sharing', pool = '2MB', cell = '0B' }",
        "switch.buffer.cell: must be at least 1B, got 0B; leave the key out to count bytes",
    ),
    // A full packet of 1,538 bytes takes seven cells of 254 bytes, 1,778 bytes.
    (
        "switch.buffer",
        "{ kind = 'complete-sharing', pool = '1777B', cell = '254B' }",
        "switch.buffer.pool: must be at least one packet of 1.538KB (1.778KB in cells of 254B), got 1.777KB",
    ),
    (
        "switch.buffer",
        "{ kind = 'static-partition', per_port = '1700B', cell = '254B' }",
        "switch.buffer.per_port: must be at least one packet of 1.538KB (1.778KB in cells of 254B), got 1.7KB",
    ),
    // A threshold counts the packet in the pool: 13 of 20 cells remain beside it, and half of them are not seven.
    (
        "switch.buffer",
        "{ kind = 'dynamic-threshold', pool = '5080B', alpha = 0.5, cell = '254B' }",
        "switch.buffer.alpha: alpha times the pool of 5.08KB must be at least one packet of 1.538KB (1.778KB in cells \
         of 254B), got alpha = 0.5; use a larger alpha, or reserve at least one packet for each port \
         (switch.buffer.reserved)",
    ),
    (
        "switch.buffer",
        "{ kind = 'abm', pool = '2MB', reserved = '253B', cell = '254B' }",
        "switch.buffer.reserved: must be zero or at least one cell of 254B, got 253B",
    ),
    (
        "switch.buffer",
        "{ kind = 'complete-sharing', pool = '2MB', reserved = '9KB', reserved_rule = 'as-released', cell = '254B' }",
        "switch.buffer.reserved_rule: \"as-released\" requires memory counted in bytes; leave out reserved_rule or cell",
    ),
    (
        "switch.markers",
        "[{ kind = 'threshold', k = '65p', unit = 'cells' }]",
        "switch.markers[0].k: unit = \"cells\" requires memory counted in cells; set switch.buffer.cell",
    ),
    (
        "switch.markers",
        "[{ kind = 'red-classic', unit = 'cells' }]",
        "switch.markers[0].unit: must be \"bytes\" or \"packets\" for the average of this marker, got \"cells\"; only \
         \"threshold\" and \"red\" allow \"cells\"",
    ),
    (
        "switch.buffer",
        "{ kind = 'static-partition', per_port = '100p', pool = '2MB' }",
        "switch.buffer.pool: unknown key; allowed keys: per_port, cell",
    ),
    (
        "switch.buffer",
        "{ kind = 'abm', pool = '2MB', congested = 1.5 }",
        "switch.buffer.congested: must be above 0 and at most 1, got 1.5",
    ),
    (
        "switch.buffer",
        "{ kind = 'abm', pool = '2MB', window = '1KB' }",
        "switch.buffer.window: must be at least one packet of 1.538KB, got 1KB",
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
        found.contains("switch.markers[0]: a bcc marker needs switch.buffer of kind \"dynamic-threshold\"")
    );
}

#[test]
fn a_marker_beyond_what_its_queue_may_hold_is_warned_of_with_both_numbers() {
    // K = 65 · 1,538 B = 99,970 B.
    let limited = |limit: &str| {
        format!(
            "the threshold marker of to-host ports (switch0->host0) cannot fire: the threshold of 99.97KB is not \
             below the maximum backlog of {limit}"
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
    let braking = "pulser reacts to explicit incast notifications, but no switch has an ein marker: pulser behaves \
                   as DCTCP";
    let unheard = "an ein marker sends incast notifications, but no connection reacts to them: only pulser without \
                   as_released does";
    let silent = "connections use ECN, but no switch has a marker: only packet drops reduce the sending rate";
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
            "a quantum of 1.5KB is less than a full packet of 1.538KB: DWRR then skips rounds, and WRR sends more \
             than the quantum; the MQ-ECN paper uses at least one MTU",
        ),
        (
            &[("switch.shaper", "{ rate = '10Gbps', burst = '3KB' }")],
            "the shaper of switch0->host0 has no effect: its rate of 10Gbps is not below the link rate of 10Gbps",
        ),
        (
            &[("switch.markers", "[{ kind = 'threshold', k = '1500B', counts_packet = true }]")],
            "to-host ports (switch0->host0) mark every full packet, even if no other packet waits: the backlog \
             includes the packet itself, and K = 1.5KB is less than a full packet of 1.538KB",
        ),
        (
            &[("switch.markers", "[{ kind = 'threshold', k = '2KB', split = 'minimum' }]")],
            "split = \"minimum\" gives a queue of to-host ports (switch0->host0) a threshold of 500B, less than one \
             packet: the queue marks all waiting packets, and with an averaged backlog it drops all packets that are \
             not ECN-capable; use a larger k, or split = \"standard\"",
        ),
        (
            &[("switch.markers", "[{ kind = 'mq-ecn', k = '1KB' }]")],
            "to-host ports (switch0->host0) mark every full packet, even if no other packet waits: the backlog \
             includes the packet itself, and K = 1KB is less than a full packet of 1.538KB",
        ),
    ] {
        assert_eq!(warnings(sets), [expected]);
    }
    assert!(warnings(&[]).is_empty());
    assert!(warnings(&[("switch.shaper", "{ rate = '9.95Gbps', burst = '3KB' }")]).is_empty());
    assert!(warnings(&[("switch.markers.0.counts_packet", "true")]).is_empty());
}
