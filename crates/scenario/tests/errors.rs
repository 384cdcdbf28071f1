//! Invalid text, keys and options: each mistake is rejected with its place, the value found and the allowed values.

use crate::common::{BCC_F2, message, parse};

/// Returns the message for BCC-F2 with one line replaced by others.
fn replaced(from: &str, to: &str) -> String {
    assert!(BCC_F2.contains(from), "{from}");
    message(&BCC_F2.replacen(from, to, 1), &[])
}

#[test]
fn an_unknown_key_is_shown_in_its_line_with_the_nearest_one() {
    assert_eq!(
        replaced("alpha = 4\n", "alfa = 4\n"),
        "s.toml:19:1: switch.buffer.alfa: unknown key (did you mean \"alpha\"?); allowed keys: alpha, pool, \
         ports_per_pool, reserved, reserved_rule, counts, cell\n   |\n19 | alfa = 4\n   | ^"
    );
    let unknown = message(&format!("colour = 'red'\n{BCC_F2}"), &[]);
    assert!(
        unknown.starts_with("s.toml:1:1: colour: unknown key; allowed keys: name, seed, stop,"),
        "{unknown}"
    );
}

#[test]
fn a_wrong_unit_inside_a_list_of_tagged_tables_is_shown_at_its_key() {
    let found = replaced(
        "markers = [{ kind = \"threshold\", k = \"720KB\"",
        "markers = [{ kind = \"threshold\", k = \"720kb\"",
    );
    assert_eq!(
        found,
        "s.toml:15:34: switch.markers[0].k: must be a size such as \"720KB\", got \"720kb\": the unit is missing or unknown; did you mean \"720KB\"? \
         (units: B, KB, MB, GB, TB, KiB, MiB, GiB); a number of packets such as \"80p\" is also allowed; a transmission time on the link such as \"20us\" is also allowed\n   |\n\
         15 | markers = [{ kind = \"threshold\", k = \"720kb\", at = \"dequeue\", counts_packet = true }]\n   \
         |                                  ^"
    );
}

#[test]
fn an_unknown_kind_is_refused_with_the_known_ones() {
    for (from, to, expected) in [
        (
            "kind = \"star\"",
            "kind = \"leafspine\"",
            "s.toml:6:1: topology.kind: unknown topology \"leafspine\" (did you mean \"leaf-spine\"?); expected one of \
             \"star\", \"dumbbell\", \"leaf-spine\", \"fat-tree\", \"graph\"",
        ),
        (
            "kind = \"threshold\", k = \"720KB\", at = \"dequeue\"",
            "k = \"720KB\", at = \"dequeue\"",
            "s.toml:15:12: switch.markers[0]: the key \"kind\" is missing; it must be one of \"drop-tail\", \"threshold\", \"red\", \"mq-ecn\", \
             \"red-classic\", \"ein\", \"ein-as-released\", \"tcn\", \"codel\", \"bcc\"",
        ),
        (
            "egress_drop = \"slot\"",
            "egress_drop = \"slots\"",
            "s.toml:14:1: switch.egress_drop: \"slots\" is unknown (did you mean \"slot\"?); expected one of \
             \"slot\", \"free\"",
        ),
    ] {
        let found = replaced(from, to);
        assert_eq!(found.lines().next(), Some(expected));
    }
}

#[test]
fn several_mistakes_are_reported_at_once() {
    let sets = [("topology.hosts", "0"), ("switch.buffer.alpha", "0"), ("tcp.congestion.g", "2")];
    let problems = parse(BCC_F2, &sets).unwrap_err().problems;
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["tcp.congestion.g", "switch.buffer.alpha", "topology.hosts"]);
    assert!(problems.iter().all(|problem| problem.set.is_some() && problem.line == 0));
}

#[test]
fn a_star_in_a_key_is_every_entry_of_a_list() {
    let two = "[{ kind = 'threshold', k = '1KB' }, { kind = 'threshold', k = '2KB', at = 'dequeue' }]";
    let sets = [("switch.markers", two), ("switch.markers.*.k", "30KB")];
    let resolved = parse(BCC_F2, &sets).unwrap().resolved();
    let markers = resolved["switch"]["markers"].as_array().unwrap();
    let found: Vec<_> = markers.iter().map(|marker| (&marker["k"], &marker["at"])).collect();
    assert_eq!(found, [(&"30KB".into(), &"enqueue".into()), (&"30KB".into(), &"dequeue".into())]);
}

#[test]
fn what_an_option_gets_wrong_is_said_of_the_option() {
    for (key, value, expected) in [
        (
            "switch.bufer.alpha",
            "1",
            "switch.bufer: unknown key (did you mean \"buffer\"?); allowed keys: buffer, port, markers, shaper, egress_drop, \
             ecmp, lossless, overrides",
        ),
        ("workload.3.load", "1", "workload[3] does not exist; workload has 1 entries"),
        ("topology.rate.x", "1", "cannot set a key in rate: rate must be a table, got \"100Gbps\""),
        ("a..b", "1", "the key must have the form section.key or section[0].key"),
        ("seed.x", "1", "cannot set a key in seed: seed must be a table, got 1"),
        (
            "topology.*.rate",
            "1",
            "\"topology\" must be a list with at least one entry, because * stands for every entry",
        ),
        ("workload.*.senders", "77", "workload[0].senders: must name hosts from 0 to 31, got host 77"),
    ] {
        let found = message(BCC_F2, &[(key, value)]);
        assert_eq!(found, format!("--set {key}={value}: {expected}"));
    }
}

#[test]
fn text_that_is_not_toml_is_refused_at_its_place() {
    assert_eq!(
        replaced("load = 0.9", "load = 0.9\nload = 0.8"),
        "s.toml:47:1: duplicate key\n   |\n47 | load = 0.8\n   | ^"
    );
    assert_eq!(
        message("seed = ", &[]).lines().next(),
        Some("s.toml:1:8: string values must be quoted, expected literal string")
    );
    assert_eq!(message("", &[]), "s.toml: the key \"topology\" is missing");
}
