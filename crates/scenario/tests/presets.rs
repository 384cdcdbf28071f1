//! Tests that the table of docs/presets.md equals the preset, and that a preset omits keys that have no effect together with the given
//! keys.

use std::collections::BTreeMap;
use std::fs;

use crate::common::{DUMBBELL, parse};
use shallows_core::Duration;
use toml::{Table, Value};

fn read(path: &str) -> String {
    fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).expect("it is in the repository")
}

/// Collects the keys that are not tables, with their values in TOML notation.
fn leaves(table: &Table, prefix: &str, found: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        match value {
            Value::Table(inner) => leaves(inner, &format!("{prefix}{key}."), found),
            _ => {
                found.insert(format!("{prefix}{key}"), value.to_string());
            }
        }
    }
}

/// Returns the first two columns of the first table of the page.
fn documented() -> BTreeMap<String, String> {
    let page = read("../../docs/presets.md");
    let first = page.split("\n## ").next().expect("a page has a beginning");
    let rows = first.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.map(|row| row.split(" | ").map(|cell| cell.trim_matches('`')));
    cells
        .map(|mut cells| (cells.next().expect("a key").to_owned(), cells.next().expect("a value").to_owned()))
        .collect()
}

#[test]
fn the_table_of_linux_6_has_every_key_with_its_value_and_no_other() {
    let presets: Table = toml::from_str(&read("src/spec/presets.toml")).expect("it is TOML");
    let mut set = BTreeMap::new();
    leaves(presets["linux-6"].as_table().expect("a table"), "", &mut set);
    assert_eq!(documented(), set);
}

#[test]
fn a_preset_lowers_the_window_over_a_round_trip_where_echoes_are_answered() {
    let reaction = |congestion: &str| {
        let sets = [("tcp.preset", "linux-6"), ("tcp.congestion", congestion)];
        parse(DUMBBELL, &sets).unwrap_or_else(|error| panic!("{congestion}: {error}")).tcp().ece_reaction
    };
    for answers in
        ["dctcp", "pulser", "ecn-star", "{ kind = 'reno', ecn = true }", "{ kind = 'cubic', ecn = true }"]
    {
        assert_eq!(reaction(answers), shallows_transport::EceReaction::Prr, "{answers}");
    }
    // In Pulser's testbed, ECE activates the brake and has no other effect on the window.
    for answers_none in
        ["reno", "cubic", "{ kind = 'reno', ecn = false }", "{ kind = 'pulser', as_released = true }"]
    {
        assert_eq!(reaction(answers_none), shallows_transport::EceReaction::AtOnce, "{answers_none}");
    }
}

#[test]
fn timers_of_linux_6_follow_a_given_minimum_rto_unless_they_are_given_themselves() {
    let set = |sets: &[(&str, &str)]| {
        let all: Vec<(&str, &str)> = [("tcp.preset", "linux-6")].iter().chain(sets).copied().collect();
        let experiment = parse(DUMBBELL, &all).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
        let tcp = experiment.tcp();
        let times = [tcp.rto.minimum, tcp.rto.granularity, tcp.rack.max_ack_delay, tcp.delayed_ack.timeout];
        (times.map(|time| time.as_micros_f64() / 1e3), experiment.notes.join("\n"))
    };
    // tcp_rtt_estimator and tcp_schedule_loss_probe read tcp_rto_min: 200 ms by default.
    assert_eq!(set(&[]).0, [200.0, 200.0, 200.0, 40.0]);
    let (times, notes) = set(&[("tcp.rto", "{ min = '5ms' }")]);
    assert_eq!(times, [5.0, 5.0, 5.0, 4.0]);
    let derived =
        ["rto.granularity = \"5ms\"", "rack.max_ack_delay = \"5ms\"", "delayed_ack.timeout = \"4ms\""];
    for said in derived {
        assert!(notes.contains(said), "{notes}");
    }
    let given = [
        ("tcp.rto", "{ min = '5ms', granularity = '1ms' }"),
        ("tcp.rack", "{ max_ack_delay = '7ms' }"),
        ("tcp.delayed_ack", "{ timeout = '9ms' }"),
    ];
    assert_eq!(set(&given).0, [5.0, 1.0, 7.0, 9.0]);
    // Without RACK there is no probe, so the preset omits its key.
    assert_eq!(set(&[("tcp.rto", "{ min = '5ms' }"), ("tcp.recovery", "sack")]).0[..2], [5.0; 2]);
}

#[test]
fn an_acknowledgement_of_linux_6_waits_a_tick_less_than_the_minimum_rto() {
    // tcp_delack_max: max(tcp_rto_min, 2) - 1 ticks of 4 ms, at most TCP_DELACK_MIN, 40 ms, which the preset has. 5 ms are 2 ticks, 10 ms
    // 3, 40 ms 10, 44 ms 11 and 200 ms 50. A kernel with such ticks cannot have 1 ms; with HZ = 1000 that is one tick, and so is the delay.
    let rows = [("1ms", 1), ("4ms", 4), ("5ms", 4), ("10ms", 8), ("40ms", 36), ("44ms", 40), ("1s", 40)];
    for (minimum, expected) in rows {
        let sets = [("tcp.preset", "linux-6"), ("tcp.rto.min", minimum)];
        let experiment = parse(DUMBBELL, &sets).unwrap_or_else(|error| panic!("{minimum}: {error}"));
        assert_eq!(experiment.tcp().delayed_ack.timeout, Duration::from_millis(expected), "{minimum}");
    }
    // Only the key whose value is not a time is named.
    let sets = [("tcp.preset", "linux-6"), ("tcp.rto.min", "5 parsecs")];
    let error = parse(DUMBBELL, &sets).expect_err("it is no time").to_string();
    assert!(error.contains("tcp.rto.min") && !error.contains("delayed_ack"), "{error}");
}

#[test]
fn what_a_preset_sets_in_vain_goes_with_what_it_belongs_to() {
    let set = |sets: &[(&str, &str)]| {
        let all: Vec<(&str, &str)> = [("tcp.preset", "linux-6")].iter().chain(sets).copied().collect();
        parse(DUMBBELL, &all).unwrap_or_else(|error| panic!("{sets:?}: {error}")).resolved()
    };
    // `presets.toml`: linux-6 has CUBIC in segments with a clock, Linux' handling of a lost SYN, and RACK.
    let rack = set(&[]);
    assert_eq!(rack["tcp"]["congestion"]["counting"], "segments");
    assert!(rack["tcp"]["congestion"].get("tick").is_some() && rack["tcp"].get("rack").is_some());
    assert_eq!(
        (&rack["tcp"]["frto"], &rack["tcp"]["dsack"], &rack["tcp"]["prr"]),
        (&true.into(), &true.into(), &"safe-ack".into())
    );
    let exact = set(&[("tcp.congestion", "{ kind = 'cubic', counting = 'exact' }")]);
    assert!(
        exact["tcp"]["congestion"].get("tick").is_none() && exact["tcp"]["congestion"].get("hold").is_none()
    );
    let sack = set(&[("tcp.recovery", "sack")]);
    assert!(sack["tcp"].get("rack").is_none());
    assert_eq!((&sack["tcp"]["frto"], &sack["tcp"]["prr"]), (&true.into(), &"safe-ack".into()));
    let reno = set(&[("tcp.recovery", "reno")]);
    assert!(reno["tcp"].get("frto").is_none() && reno["tcp"].get("dsack").is_none());
    assert_eq!(reno["tcp"]["prr"], "off");
    assert_eq!(set(&[("tcp.handshake", "false")])["tcp"].get("lost_syn"), None);
    let at_once = set(&[("tcp.delayed_ack.segments", "1")]);
    assert!(at_once["tcp"]["delayed_ack"].get("cwr_at_once").is_none());
    assert_eq!(rack["tcp"]["delayed_ack"]["cwr_at_once"], true);
}
