//! RDMA READs in a simulated network.

use shallows_core::{Duration, Instant};
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
        assert_eq!(report.summary()["packets"]["data"], 10);
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
fn requests_and_cnps_of_reads_have_sixteen_bytes_after_their_headers() {
    let report = run(&incast(), &[READ, ("roce.congestion", "dcqcn")]);
    let port = report.port("host8->right").expect("the port of the requesters");
    // A RETH and the padding of a CNP have 16 bytes each. They follow 44 bytes of headers; framing adds 38 bytes.
    assert_eq!(port.sent_bytes.0, port.sent * (44 + 16 + 38));
    assert!(port.sent > 8, "{} packets are the requests alone", port.sent);
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

#[test]
fn the_responder_of_a_read_records_rate_and_alpha_from_the_first_request_on() {
    // The request arrives after 2 µs and twice 7.84 ns. Without marks, DCQCN keeps line rate and the α of a new queue pair, 1.
    let sets = [READ, ("roce.congestion", "dcqcn"), ("measure.flow_traces", "[{ flows = [0] }]")];
    let report = run(PAIR, &sets);
    let trace = |quantity: &str| report.flow_trace(0, quantity).collect::<Vec<_>>();
    let begun = Instant(2_015_680);
    assert_eq!((trace("rate_gbps"), trace("alpha")), (vec![(begun, 100.0)], vec![(begun, 1.0)]));
    // The requester records the bytes in flight and the bytes that have arrived. Neither end has a window.
    assert_eq!(trace("pipe_bytes").first(), Some(&(Instant::ZERO, 10_000.0)));
    assert_eq!(trace("acked_bytes").last().map(|&(_, bytes)| bytes), Some(10_000.0));
    assert_eq!(trace("cwnd_bytes"), []);
}

#[test]
fn traces_of_reads_have_both_ends_on_any_number_of_threads() {
    for interval in ["", ", every = '10us'"] {
        let traces = format!("[{{ workload = 0{interval} }}]");
        let sets = [READ, ("roce.congestion", "dcqcn"), ("measure.flow_traces", traces.as_str())];
        let found = on_any_number_of_threads(&parse(&incast(), &sets), |report| {
            let of_flow = |flow| {
                ["rate_gbps", "alpha", "acked_bytes"]
                    .map(|quantity| report.flow_trace(flow, quantity).collect::<Vec<_>>())
            };
            (0..8).map(of_flow).collect::<Vec<_>>()
        });
        for [rates, alphas, acked] in &found {
            let lowest = rates.iter().map(|&(_, rate)| rate).fold(f64::INFINITY, f64::min);
            assert!(rates[0].1 == 100.0 && lowest < 30.0, "{rates:?}");
            assert!(
                alphas.iter().all(|&(_, alpha)| (0.0..=1.0).contains(&alpha)) && alphas.len() > 3,
                "{alphas:?}"
            );
            assert!(acked.len() > 10, "{acked:?}");
            let at_intervals = |rows: &[(Instant, f64)]| rows.iter().all(|(at, _)| at.0 % 10_000_000 == 0);
            assert_eq!(at_intervals(rates) && at_intervals(alphas), !interval.is_empty());
            // No response is left to send after the requester has all data.
            let [last, end] = [rates, acked].map(|rows| rows.last().expect("a row").0);
            assert!(last <= end, "{last} {end}");
        }
    }
}

#[test]
fn a_trace_of_reads_on_one_queue_pair_records_each_flow_on_its_own() {
    let sets = [
        READ,
        ("roce.congestion", "dcqcn"),
        ("measure.flow_traces", "[{ flows = [1] }]"),
        ("workload.0.repeats", "3"),
        ("workload.0.period", "1us"),
        ("workload.0.connections", "{ kind = 'persistent', when_busy = 'queue' }"),
    ];
    let report = run(PAIR, &sets);
    let first = report.flow_trace(1, "rate_gbps").collect::<Vec<_>>();
    // The second request leaves when the first READ is complete, and takes 2 µs and 15.68 ns.
    let alone = Duration::from_nanos(4_000) + Duration(2 * 7_840 + 3 * 86_880 + 8 * 86_560);
    assert_eq!(first, [(Instant::ZERO + alone + Duration(2_015_680), 100.0)]);
    for flow in [0, 2] {
        assert_eq!(report.flow_trace(flow, "rate_gbps").count(), 0, "{flow}");
    }
}

#[test]
fn each_outstanding_read_is_traced_until_its_last_response_leaves() {
    let sets = [
        READ,
        ("roce.congestion", "dcqcn"),
        ("measure.flow_traces", "[{ workload = 0, every = '1us' }]"),
        ("workload.0.repeats", "2"),
        ("workload.0.period", "1ns"),
        ("workload.0.connections", "{ kind = 'persistent', when_busy = 'queue', queue_depth = 2 }"),
    ];
    let report = run(&incast(), &sets);
    let rates = |flow| report.flow_trace(flow, "rate_gbps").collect::<Vec<_>>();
    // Both READs of a queue pair are requested together, and the responses to the second one follow those to the first.
    for (first, second) in (0..8).map(|flow| (rates(flow), rates(flow + 8))) {
        assert!(first.len() > 3 && second.starts_with(&first), "{first:?} {second:?}");
        assert!(second.len() > first.len(), "{first:?} {second:?}");
    }
}

#[test]
fn a_queue_pair_with_reads_fails_once_although_responses_and_cnps_follow() {
    // The timeout is shorter than the time in which the responses arrive.
    let sets = [
        READ,
        ("roce.congestion", "dcqcn"),
        ("roce.timeout", "5us"),
        ("roce.retry_count", "0"),
        ("roce.cnp.interval", "50us"),
        ("stop.at", "2ms"),
    ];
    let report = run(&incast(), &sets);
    let ended = counts(&report, "retries_exhausted");
    assert!(ended > 0, "{}", report.summary());
    let unfinished = report.flows().filter(|flow| flow.completion_time.is_none()).count() as u64;
    assert_eq!(ended, unfinished);
    // The run ends when each flow is complete or has failed.
    assert!(report.summary()["simulated_s"].as_f64() < Some(1.9e-3), "{}", report.summary());
}
