//! Operations of queue pairs in a simulated network.

use shallows_core::Duration;
use shallows_sim::Report;

use crate::common::{parse, run};
use crate::lossless::on_any_number_of_threads;
use crate::roce::{INCAST, PAIR, completion_times};

fn counts(report: &Report, name: &str) -> u64 {
    report.summary()["queue_pairs"][name].as_u64().expect("a count")
}

#[test]
fn a_send_has_no_rdma_header_on_the_wire() {
    let report = run(PAIR, &[("roce.operation", "send")]);
    // As for a WRITE, but all packets have 1,082 bytes, which take 86.56 ns at 100 Gb/s.
    let expected = Duration::from_nanos(2_000) + Duration(2 * 86_560 + 9 * 86_560);
    assert_eq!(completion_times(&report), [Some(expected)]);
    let ideal = report.summary()["slowdown"]["all"]["max"].as_f64().unwrap();
    assert!((ideal - 1.0).abs() < 1e-9, "{ideal}");
}

/// Five messages on one queue pair, whose receiver posts its only receive work request 20 µs after each message.
const SENDS: [(&str, &str); 4] = [
    ("roce.operation", "{ kind = 'send', receive_depth = 1, refill = '20us', rnr_timer = '30us' }"),
    ("workload.0.repeats", "5"),
    ("workload.0.period", "1us"),
    ("workload.0.connections", "{ kind = 'persistent', when_busy = 'queue' }"),
];

#[test]
fn a_receiver_without_work_requests_delays_messages() {
    let report = run(PAIR, &SENDS);
    assert!(completion_times(&report).iter().all(Option::is_some));
    // Each of the four later messages is refused once.
    let found = ["queue_pairs", "rnr_naks", "naks", "timeouts", "rnr_retries_exhausted"]
        .map(|name| counts(&report, name));
    assert_eq!(found, [1, 4, 0, 0, 0]);
    // The first message arrives after 2 µs and ten packets. The other four wait for at least 30 µs each.
    let last = completion_times(&report).into_iter().flatten().max().unwrap();
    assert!((125.0..160.0).contains(&last.as_micros_f64()), "{last}");
}

#[test]
fn rnr_retries_that_are_exhausted_end_a_queue_pair_with_their_reason() {
    let operation = "{ kind = 'send', receive_depth = 1, refill = '1s', rnr_timer = '10us', rnr_retry = 2 }";
    let sets = [SENDS[1], SENDS[2], SENDS[3], ("roce.operation", operation), ("stop.at", "1ms")];
    let report = run(PAIR, &sets);
    let found = ["rnr_naks", "rnr_retries_exhausted", "retries_exhausted"].map(|name| counts(&report, name));
    assert_eq!(found, [3, 1, 0]);
    assert_eq!(completion_times(&report).iter().flatten().count(), 1);
    let expected = "queue pairs ended with an error (1), because their responders had no receive work requests: RNR retries \
                    were exhausted";
    assert!(report.warnings().contains(&expected.to_owned()), "{:?}", report.warnings());
}

#[test]
fn workloads_can_have_different_operations_on_any_number_of_threads() {
    let second = "[[workload]]\nkind = 'incast'\ntransport = 'roce'\nsenders = 0\nreceivers = 9\nsize = '1MB'\n\
                  roce = { operation = { kind = 'send', receive_depth = 1 }, congestion = 'swift' }";
    let experiment = parse(&format!("{INCAST}\n{second}"), &[("roce.congestion", "dcqcn")]);
    let (times, pairs) = on_any_number_of_threads(&experiment, |report| {
        (completion_times(report), report.summary()["queue_pairs"].clone())
    });
    assert!(times.iter().all(Option::is_some), "{times:?}");
    assert_eq!(pairs["queue_pairs"], 9);
}
