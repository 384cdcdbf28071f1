//! Queue pairs between groups of hosts with different settings.

use shallows_core::Duration;
use shallows_sim::Report;

use crate::common::parse;
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
