//! RDMA READs in a simulated network.

use shallows_core::Duration;
use shallows_sim::Report;

use crate::common::{parse, run};
use crate::lossless::on_any_number_of_threads;
use crate::roce::{INCAST, PAIR, completion_times};

const READ: (&str, &str) = ("roce.operation", "read");

fn counts(report: &Report, name: &str) -> u64 {
    report.summary()["queue_pairs"][name].as_u64().expect("a count")
}

/// Returns the scenario of an incast with READs: the one host on the right reads from the eight hosts on the left.
fn incast() -> String {
    INCAST.replace("senders = \"0..8\"", "senders = 8").replace("receivers = 8", "receivers = \"0..8\"")
}

#[test]
fn a_read_takes_the_time_of_its_request_and_of_its_responses() {
    for end in ["receiver", "sender"] {
        let report = run(PAIR, &[READ, ("measure.fct", end)]);
        // The request has 44 + 16 + 38 bytes, which take 7.84 ns at 100 Gb/s. The first and the last response have 1,086 bytes, 86.88 ns; the
        // others have 1,082 bytes, 86.56 ns. Each crosses two links of 1 µs.
        let expected = Duration::from_nanos(4_000) + Duration(2 * 7_840 + 2 * 86_880 + 8 * 86_560 + 86_880);
        assert_eq!(completion_times(&report), [Some(expected)]);
        let ideal = report.summary()["slowdown"]["all"]["max"].as_f64().unwrap();
        assert!((ideal - 1.0).abs() < 1e-9, "{ideal}");
        assert_eq!(report.summary()["packets"]["lost_in_flight"], serde_json::Value::Null);
        assert_eq!(
            ["queue_pairs", "naks", "retransmits", "timeouts"].map(|name| counts(&report, name)),
            [1, 0, 0, 0]
        );
    }
}

#[test]
fn responders_of_reads_slow_down_when_cnps_arrive_on_any_number_of_threads() {
    for congestion in ["none", "dcqcn", "dcqcn-connectx"] {
        let experiment = parse(&incast(), &[READ, ("roce.congestion", congestion)]);
        let (times, pairs) = on_any_number_of_threads(&experiment, |report| {
            (completion_times(report), report.summary()["queue_pairs"].clone())
        });
        assert!(times.len() == 8 && times.iter().all(Option::is_some), "{congestion}: {times:?}");
        assert_eq!(pairs["queue_pairs"], 8);
        for count in ["cnps", "cuts"] {
            assert_eq!(pairs[count].as_u64() > Some(0), congestion != "none", "{congestion}: {pairs}");
        }
        assert_eq!(pairs["retransmits"], 0, "the class is lossless");
    }
}

#[test]
fn reads_survive_losses_on_any_number_of_threads() {
    let lossy = incast().replace("lossless = { classes = [0], alpha = 0.125 }", "");
    let sets = [
        READ,
        ("switch.buffer", "{ kind = 'static-partition', per_port = '30KB' }"),
        ("roce.timeout", "1ms"),
    ];
    let experiment = parse(&lossy, &sets);
    let (times, pairs) = on_any_number_of_threads(&experiment, |report| {
        (completion_times(report), report.summary()["queue_pairs"].clone())
    });
    assert!(times.iter().all(Option::is_some), "{times:?}");
    assert!(pairs["naks"].as_u64() > Some(0) && pairs["retransmits"].as_u64() > Some(0), "{pairs}");
}

#[test]
fn reads_on_one_queue_pair_follow_each_other() {
    let sets = [
        READ,
        ("workload.0.repeats", "3"),
        ("workload.0.period", "1us"),
        ("workload.0.connections", "{ kind = 'persistent', when_busy = 'queue' }"),
    ];
    let report = run(PAIR, &sets);
    let times: Vec<_> = completion_times(&report).into_iter().flatten().collect();
    // Each READ begins when the previous one is complete, 4 µs, a request and eleven responses later, and was posted 1 µs after it.
    let alone = Duration::from_nanos(4_000) + Duration(2 * 7_840 + 3 * 86_880 + 8 * 86_560);
    let wait = alone - Duration::from_micros(1);
    assert_eq!(times, [alone, alone + wait, alone + wait * 2]);
    assert_eq!(counts(&report, "queue_pairs"), 1);
}

#[test]
fn an_unfinished_read_records_the_bytes_that_have_arrived() {
    // The first response arrives after 4,189 ns, and each further one after 86.56 ns.
    let report = run(PAIR, &[READ, ("stop.at", "4.5us")]);
    let flow = report.flows().next().expect("a flow");
    assert_eq!((flow.completion_time, flow.delivered.0), (None, 4_000));
}
