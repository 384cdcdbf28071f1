//! Queue pairs between groups of hosts with different settings.

use shallows_core::Duration;
use shallows_sim::Report;

use crate::common::{parse, run};
use crate::lossless::on_any_number_of_threads;
use crate::roce::{INCAST, completion_times};

/// Times and counts of a run of `text` in which a group of these `members` has this `roce` table, which are the same on any number of threads.
fn results(
    text: &str,
    members: &str,
    roce: &str,
    sets: &[(&str, &str)],
) -> (Vec<Option<Duration>>, serde_json::Value) {
    let group = format!("\n[[host.group]]\nname = 'new'\nmembers = '{members}'\nroce = {roce}\n");
    let experiment = parse(&[text, &group].concat(), sets);
    let results = |report: &Report| (completion_times(report), report.summary()["queue_pairs"].clone());
    on_any_number_of_threads(&experiment, results)
}

/// Returns the mean completion time of the flows with these numbers, in microseconds.
fn mean(times: &[Option<Duration>]) -> f64 {
    times.iter().map(|time| time.expect("a complete flow").as_micros_f64()).sum::<f64>() / times.len() as f64
}

#[test]
fn groups_with_different_presets_of_dcqcn_send_at_different_rates() {
    let of_all = "{ kind = 'dcqcn-connectx', preset = 'connectx' }";
    let results = |preset: &str| {
        let roce = format!("{{ congestion = {{ kind = 'dcqcn-connectx', preset = '{preset}' }} }}");
        results(INCAST, "0..4", &roce, &[("roce.congestion", of_all), ("roce.cnp.interval", "50us")])
    };
    let (same, different) = (results("connectx"), results("hpcc-repo"));
    assert_ne!(same, different);
    // The flows of hosts 0 to 3 are the first. A rate of HPCC's repository rises again sooner than one of a ConnectX NIC.
    let share = |times: &[Option<Duration>]| mean(&times[..4]) / mean(&times[4..]);
    assert!((0.9..1.1).contains(&share(&same.0)), "{same:?}");
    assert!(!(0.8..1.25).contains(&share(&different.0)), "{different:?}");
}

#[test]
fn the_congestion_control_of_the_host_that_sends_data_acts() {
    let reads =
        INCAST.replace("senders = \"0..8\"", "senders = 8").replace("receivers = 8", "receivers = \"0..8\"");
    let (write, read) = (("roce.operation", "write"), ("roce.operation", "read"));
    // Host 8 gets the data of the hosts 0 to 7.
    for (text, operation, members, acts) in [
        (INCAST, write, "0..8", true),
        (INCAST, write, "8", false),
        (&reads, read, "0..8", true),
        (&reads, read, "8", false),
    ] {
        let (times, counts) = results(text, members, "{ congestion = 'dcqcn' }", &[operation]);
        assert!(times.iter().all(Option::is_some), "{members}");
        for count in ["cnps", "cuts"] {
            assert_eq!(counts[count].as_u64() > Some(0), acts, "{operation:?} {members}: {counts}");
        }
    }
}

#[test]
fn the_host_that_gets_data_spaces_its_cnps() {
    let cnps = |interval: &str| {
        let cnp = format!("{{ cnp = {{ interval = '{interval}' }} }}");
        let (_, counts) = results(INCAST, "8", &cnp, &[("roce.congestion", "dcqcn")]);
        counts["cnps"].as_u64().expect("a count")
    };
    let (often, seldom) = (cnps("4us"), cnps("50us"));
    assert!(often > 2 * seldom, "{often} {seldom}");
}

/// A group of four hosts with a congestion control of their own, and a second workload with another one.
const THREE_CONTROLS: &str = r#"
    [[workload]]
    kind = "incast"
    transport = "roce"
    roce = { operation = "write", congestion = "swift" }
    senders = 9
    receivers = 8
    size = "1KB"
    repeats = 3
    period = "10us"
    connections = { kind = "persistent", when_busy = "queue" }

    [[host.group]]
    name = "new"
    members = "0..4"
    roce = { congestion = "dcqcn-connectx" }
"#;

#[test]
fn each_workload_and_group_that_sends_data_has_counts_of_its_own() {
    // With READs, the hosts 0 to 7 also send the data, but host 8 opens the queue pairs. Host 9 is in no group.
    let reads =
        INCAST.replace("senders = \"0..8\"", "senders = 8").replace("receivers = 8", "receivers = \"0..8\"");
    for (text, operation) in [(INCAST, "write"), (&reads, "read")] {
        let sets = [("roce.operation", operation), ("roce.congestion", "dcqcn")];
        let experiment = parse(&[text, THREE_CONTROLS].concat(), &sets);
        let (rows, total) = on_any_number_of_threads(&experiment, |report| {
            let summary = report.summary();
            (summary["queue_pair_controls"].clone(), summary["queue_pairs"].clone())
        });
        let rows = rows.as_array().expect("rows");
        let labels = |row: &serde_json::Value| {
            (
                row["workload"].as_u64(),
                row["group"].clone(),
                row["congestion"].clone(),
                row["queue_pairs"].as_u64(),
            )
        };
        assert_eq!(
            rows.iter().map(labels).collect::<Vec<_>>(),
            [
                (Some(0), "default".into(), "dcqcn".into(), Some(4)),
                (Some(0), "new".into(), "dcqcn-connectx".into(), Some(4)),
                (Some(1), "default".into(), "swift".into(), Some(1)),
            ],
            "{operation}"
        );
        for (name, count) in total.as_object().expect("counts") {
            let sum = rows.iter().map(|row| row[name].as_u64().expect("a count")).sum::<u64>();
            assert_eq!(count.as_u64(), Some(sum), "{operation} {name}");
        }
        let cuts = |row: &serde_json::Value| row["cuts"].as_u64();
        assert!(cuts(&rows[0]) > Some(0) && cuts(&rows[1]) > Some(0), "{operation}: {rows:?}");
        assert_eq!(cuts(&rows[2]), Some(0), "three small messages cause no queue");
    }
}

#[test]
fn a_warning_names_a_congestion_control_that_never_acts_beside_others() {
    let warnings = |sets: &[(&str, &str)]| {
        let warnings = run(&[INCAST, THREE_CONTROLS].concat(), sets).warnings();
        warnings.into_iter().filter(|warning| warning.contains("congestion control")).collect::<Vec<_>>()
    };
    let swift = "the congestion control of workload 1 and group \"default\" (\"swift\") never reduced a rate or a window";
    assert_eq!(warnings(&[("roce.congestion", "dcqcn")]), [swift]);
    let none =
        ["roce", "workload.1.roce", "host.group.0.roce"].map(|table| (format!("{table}.congestion"), "none"));
    let none: Vec<(&str, &str)> = none.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    assert_eq!(warnings(&none), [""; 0], "queue pairs without congestion control need no warning");
    // One message of a single host causes no queue.
    let alone = [("workload.0.senders", "0"), ("roce.congestion", "dcqcn")];
    assert_eq!(warnings(&alone), ["the congestion control of queue pairs never reduced a rate or a window"]);
}
