//! Queue pairs with several outstanding messages in a simulated network.

use shallows_core::{Bytes, Duration, Instant};
use shallows_sim::Report;

use crate::common::{parse, run};
use crate::lossless::on_any_number_of_threads;
use crate::roce::{INCAST, PAIR, completion_times};

/// Time of a message of one packet with 1,098 bytes on the wire, at 100 Gb/s, and of its acknowledgement with 86 bytes.
const PACKET: Duration = Duration(87_840);
const ACK: Duration = Duration(6_880);
/// Delay of the two links between the hosts.
const WAY: Duration = Duration::from_micros(2);

/// Returns [`PAIR`] with `messages` messages of one packet on one queue pair of this depth. A message is posted every nanosecond.
fn small_messages(messages: u32, depth: u32) -> String {
    let connections = format!("{{ kind = \"persistent\", when_busy = \"queue\", queue_depth = {depth} }}");
    let keys = format!("size = \"1KB\"\nrepeats = {messages}\nperiod = \"1ns\"\nconnections = {connections}");
    PAIR.replace("size = \"10KB\"", &keys)
}

/// Returns the time from the first bit of a message to its acknowledgement.
fn round_trip() -> Duration {
    WAY * 2 + PACKET * 2 + ACK * 2
}

fn counts(report: &Report, name: &str) -> u64 {
    report.summary()["queue_pairs"][name].as_u64().expect("a count")
}

fn queued(report: &Report) -> Vec<Option<Duration>> {
    report.flows().map(|flow| flow.queued).collect()
}

/// Returns the times at which flows were complete, in order of their arrival.
fn ends(report: &Report) -> Vec<Instant> {
    report.flows().map(|flow| flow.arrival + flow.completion_time.expect("complete")).collect()
}

#[test]
fn a_second_outstanding_message_saves_the_round_trip_but_the_time_of_a_packet() {
    let [one, two] = [1, 2].map(|depth| run(&small_messages(2, depth), &[]));
    // The first packet crosses both links. With depth 2, the second one leaves the NIC directly after it, 87.84 ns later. With depth 1, the
    // second one leaves when the first is acknowledged. It was posted 1 ns after the first.
    let (alone, posted) = (WAY + PACKET * 2, Duration::from_nanos(1));
    assert_eq!(completion_times(&two), [Some(alone), Some(alone + PACKET - posted)]);
    assert_eq!(completion_times(&one), [Some(alone), Some(alone + round_trip() - posted)]);
    assert_eq!(queued(&two), [Some(Duration::ZERO), Some(PACKET - posted)]);
    assert_eq!(queued(&one), [Some(Duration::ZERO), Some(round_trip() - posted)]);
}

#[test]
fn a_message_is_complete_at_its_sender_when_its_last_packet_is_acknowledged() {
    let report = run(&small_messages(3, 3), &[("measure.fct", "sender")]);
    let posted = |place: u64| Duration::from_nanos(place);
    let expected = [0, 1, 2].map(|place| Some(round_trip() + PACKET * place - posted(place)));
    assert_eq!(completion_times(&report), expected);
    // With coalesced acknowledgements, the last packet of each message still requests one.
    let report = run(&small_messages(3, 3), &[("measure.fct", "sender"), ("roce.ack_every", "100")]);
    assert_eq!(completion_times(&report), expected);
}

#[test]
fn small_messages_reach_the_smaller_of_line_rate_and_depth_per_round_trip() {
    const MESSAGES: u32 = 960;
    for depth in [1, 2, 4, 8, 16, 32, 47, 48, 64, 960] {
        let report = run(&small_messages(MESSAGES, depth), &[]);
        let last = ends(&report).into_iter().max().expect("960 messages");
        // Message n begins with the acknowledgement of message n - depth, if the packets of `depth` messages take less than a round trip.
        let (rounds, place) = ((MESSAGES - 1) / depth, (MESSAGES - 1) % depth);
        let begin = if PACKET * u64::from(depth) < round_trip() {
            round_trip() * u64::from(rounds) + PACKET * u64::from(place)
        } else {
            PACKET * u64::from(MESSAGES - 1)
        };
        assert_eq!(last, Instant::ZERO + begin + WAY + PACKET * 2, "depth {depth}");
        // min(line rate, depth · size/RTT), but for the first and the last round trip.
        let per_us = |messages: u32, time: Duration| f64::from(messages) / time.as_micros_f64();
        let goodput = per_us(MESSAGES, begin + WAY + PACKET * 2);
        let expected = per_us(depth, round_trip()).min(per_us(1, PACKET));
        assert!((goodput / expected - 1.0).abs() < 0.06, "depth {depth}: {goodput} instead of {expected}");
    }
}

#[test]
fn packets_of_later_messages_follow_without_a_gap_and_ends_are_in_order() {
    // Messages of 3, 3 and 3 packets at once: nine packets, of which each third one is 16 bytes longer.
    let sets = [("workload.0.size", "2500B"), ("measure.fct", "receiver")];
    let report = run(&small_messages(3, 3), &sets);
    // 1,098, 1,082 and 582 bytes take 87.84, 86.56 and 46.56 ns.
    let message = Duration(87_840 + 86_560 + 46_560);
    // The last packet of a message waits at the switch while the larger one before it is sent.
    let expected = |place: u64| Some(WAY + PACKET + message * (place + 1) - Duration::from_nanos(place));
    assert_eq!(completion_times(&report), [0, 1, 2].map(expected));
    assert_eq!(counts(&report, "queue_pairs"), 1);
}

#[test]
fn a_delay_of_messages_overlaps_on_one_queue_pair() {
    let report = run(&small_messages(3, 3), &[("host.nic.send.message_delay", "3us")]);
    let delay = Duration::from_micros(3);
    let expected = |place: u64| Some(delay + WAY + PACKET * (2 + place) - Duration::from_nanos(place));
    assert_eq!(completion_times(&report), [0, 1, 2].map(expected));
}

#[test]
fn reads_are_outstanding_up_to_their_limit() {
    // A request has 98 bytes, 7.84 ns; a response of one packet has 1,086 bytes, 86.88 ns.
    let (request, response) = (Duration(7_840), Duration(86_880));
    let read = |outstanding| format!("{{ kind = 'read', max_rd_atomic = {outstanding} }}");
    let reads = |depth, outstanding: &str| run(&small_messages(3, depth), &[("roce.operation", outstanding)]);
    let posted = Duration::from_nanos;
    let alone = WAY * 2 + request * 2 + response * 2;
    // The responses follow each other without a gap.
    let together = |place: u64| Some(alone + response * place - posted(place));
    assert_eq!(completion_times(&reads(3, "read")), [0, 1, 2].map(together));
    assert_eq!(completion_times(&reads(3, &read(3))), [0, 1, 2].map(together));
    // One READ at a time, by either limit.
    let in_turn = |place: u64| Some(alone * (place + 1) - posted(place));
    for report in [reads(3, &read(1)), reads(1, "read")] {
        assert_eq!(completion_times(&report), [0, 1, 2].map(in_turn));
        assert_eq!(queued(&report), [0, 1, 2].map(|place| Some(alone * place - posted(place))));
    }
}

#[test]
fn outstanding_sends_wait_for_receive_work_requests_in_order() {
    let operation =
        "{ kind = 'send', receive_depth = 2, refill = '20us', rnr_timer = '30us', rnr_retry = 7 }";
    let report = run(&small_messages(10, 4), &[("roce.operation", operation)]);
    let ends = ends(&report);
    assert!(ends.is_sorted() && ends.len() == 10, "{ends:?}");
    // Two messages per receive queue: each further pair is refused once, and then waits for at least 30 µs.
    assert_eq!(counts(&report, "rnr_naks"), 4);
    let last = (ends[9] - Instant::ZERO).as_micros_f64();
    assert!((120.0..145.0).contains(&last), "{last}");
    // Retransmissions count for the message to which their packets belong.
    let of_flows: u32 = report.flows().map(|flow| flow.retransmits).sum();
    assert!(of_flows > 0 && u64::from(of_flows) == counts(&report, "retransmits"), "{of_flows}");
    assert!(report.flows().take(2).all(|flow| flow.retransmits == 0));
}

#[test]
fn all_outstanding_messages_fail_with_their_queue_pair() {
    let operation = "{ kind = 'send', receive_depth = 1, refill = '1s', rnr_timer = '10us', rnr_retry = 2 }";
    let sets = [("roce.operation", operation), ("stop.at", "1ms")];
    let report = run(&small_messages(8, 4), &sets);
    // The first message is complete; four more are outstanding, and three never begin.
    assert_eq!(completion_times(&report).iter().flatten().count(), 1);
    assert_eq!(["rnr_naks", "rnr_retries_exhausted"].map(|name| counts(&report, name)), [3, 1]);
    let abandoned = "flows that waited for these queue pairs never began (3)".to_owned();
    assert!(report.warnings().contains(&abandoned), "{:?}", report.warnings());
    assert_eq!(report.flows().filter(|flow| flow.queued.is_some()).count(), 5);
    // The run ends when all flows have ended.
    assert!(report.summary()["simulated_s"].as_f64() < Some(1e-4), "{}", report.summary());
}

#[test]
fn a_timeout_that_ends_a_queue_pair_ends_all_outstanding_messages() {
    // The timeout is shorter than the round trip.
    let sets = [("roce.timeout", "1us"), ("roce.retry_count", "0")];
    for (text, abandoned) in [(small_messages(8, 4), 4), (small_messages(8, 8), 0)] {
        let report = run(&text, &sets);
        assert_eq!((counts(&report, "retries_exhausted"), completion_times(&report)), (1, vec![None; 8]));
        let unsent = report.flows().filter(|flow| flow.queued.is_none()).count();
        assert_eq!(unsent, abandoned);
        assert_eq!(report.flows().map(|flow| flow.timeouts).sum::<u32>(), 1);
    }
    // Messages that the NIC delays by 3 µs fail too, when their delay is over. The first one still reaches its receiver.
    let delayed = [sets[0], sets[1], ("host.nic.send.message_delay", "3us"), ("workload.0.period", "900ns")];
    let report = run(&small_messages(4, 4), &delayed);
    let arrives = Some(Duration::from_micros(3) + WAY + PACKET * 2);
    assert_eq!(completion_times(&report), [arrives, None, None, None]);
    assert_eq!(counts(&report, "retries_exhausted"), 1);
    assert_eq!(
        report.flows().map(|flow| flow.queued.is_some()).collect::<Vec<_>>(),
        [true, true, false, false]
    );
}

#[test]
fn messages_follow_the_warm_up_data_of_their_queue_pair() {
    let warm_up = ("workload.0.connections.warm_up", "{ bytes = '1KB', from = '0s', to = '0s' }");
    let report = run(&small_messages(4, 2), &[warm_up, ("workload.0.start", "1ns")]);
    // The data of the warm-up has the first packet, and two messages are outstanding at a time.
    let first = WAY + PACKET * 3 - Duration::from_nanos(1);
    let (turn, posted) =
        (|place: u64| round_trip() * (place / 2) + PACKET * (place % 2), Duration::from_nanos);
    let expected = |place: u64| Some(first + turn(place) - posted(place));
    assert_eq!(completion_times(&report), [0, 1, 2, 3].map(expected));
    // A queue pair that has ended before its first message ends all of them.
    let sets = [warm_up, ("workload.0.start", "10us"), ("roce.timeout", "1us"), ("roce.retry_count", "0")];
    let report = run(&small_messages(4, 2), &sets);
    assert_eq!((counts(&report, "retries_exhausted"), completion_times(&report)), (1, vec![None; 4]));
    assert!(report.summary()["simulated_s"].as_f64() < Some(1e-4), "{}", report.summary());
}

#[test]
fn a_trace_of_a_message_begins_when_it_is_posted() {
    let report = run(&small_messages(3, 3), &[("measure.flow_traces", "[{ flows = [1] }]")]);
    // Bytes in flight: three packets leave one after the other, and the first acknowledgement completes the first message. The second one
    // completes the traced message.
    let found: Vec<_> =
        report.flow_trace(1, "pipe_bytes").map(|(at, bytes)| (at - Instant::ZERO, bytes)).collect();
    let expected = [
        (Duration::from_nanos(1), 1_000.0),
        (PACKET, 2_000.0),
        (PACKET * 2, 3_000.0),
        (round_trip(), 2_000.0),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_trace_of_a_message_ends_before_its_queue_pair_fails() {
    // The second SEND begins with the acknowledgement of the first one, is refused, and may not be repeated.
    let operation = "{ kind = 'send', receive_depth = 1, refill = '1s', rnr_retry = 0 }";
    let sets = [("roce.operation", operation), ("measure.flow_traces", "[{ flows = [1] }]")];
    let report = run(&small_messages(2, 1), &sets);
    // A SEND has 1,082 bytes, 86.56 ns.
    let begun = Instant::ZERO + WAY * 2 + Duration(86_560) * 2 + ACK * 2;
    assert_eq!(report.flow_trace(1, "pipe_bytes").collect::<Vec<_>>(), [(begun, 1_000.0)]);
    assert_eq!(counts(&report, "rnr_retries_exhausted"), 1);
}

#[test]
fn a_flow_takes_the_queue_pair_with_the_fewest_messages() {
    // Two queue pairs of depth 2: the first two of four messages take one each, so that the NIC sends all four in order of arrival.
    let sets = [("workload.0.connections.per_pair", "2")];
    let report = run(&small_messages(4, 2), &sets);
    assert_eq!(counts(&report, "queue_pairs"), 2);
    let expected = |place: u64| Some(WAY + PACKET * (2 + place) - Duration::from_nanos(place));
    assert_eq!(completion_times(&report), [0, 1, 2, 3].map(expected));
}

#[test]
fn outstanding_messages_survive_losses_on_any_number_of_threads() {
    let messages = "repeats = 40\nperiod = \"2us\"\nconnections = { kind = \"persistent\", when_busy = \"queue\" }\nsize = \"20KB\"";
    let text = INCAST.replace("size = \"1MB\"", messages);
    let lossy = text.replace("lossless = { classes = [0], alpha = 0.125 }", "");
    let sets = [
        ("workload.0.connections.queue_depth", "16"),
        ("switch.buffer", "{ kind = 'static-partition', per_port = '30KB' }"),
        ("switch.markers", "[]"),
        ("roce.timeout", "100us"),
    ];
    let recoveries = [
        ("roce.recovery", "go-back-n"),
        ("roce.recovery", "selective-repeat"),
        ("roce.recovery", "{ kind = 'irn', window = 50 }"),
        ("roce.operation", "{ kind = 'send', receive_depth = 4, rnr_timer = '10us' }"),
    ];
    for recovery in recoveries {
        let sets: Vec<_> = sets.into_iter().chain([recovery]).collect();
        let experiment = parse(&lossy, &sets);
        let (flows, pairs) = on_any_number_of_threads(&experiment, |report| {
            let flows = report.flows().map(|flow| {
                (
                    flow.source,
                    flow.arrival,
                    flow.completion_time,
                    flow.delivered,
                    flow.retransmits,
                    flow.queued,
                )
            });
            (flows.collect::<Vec<_>>(), report.summary()["queue_pairs"].clone())
        });
        assert_eq!((flows.len(), &pairs["queue_pairs"]), (320, &8.into()), "{recovery:?}");
        assert!(pairs["retransmits"].as_u64() > Some(0), "{recovery:?}: {pairs}");
        let of_flows: u32 = flows.iter().map(|(.., retransmits, _)| retransmits).sum();
        assert_eq!(pairs["retransmits"], of_flows, "{recovery:?}");
        for (source, ..) in &flows[..8] {
            let own = flows.iter().filter(|(other, ..)| other == source);
            let ends: Vec<_> =
                own.clone().map(|(_, arrival, time, ..)| *arrival + time.expect("complete")).collect();
            assert!(ends.is_sorted(), "{recovery:?}: {ends:?}");
            assert!(own.clone().all(|(.., delivered, _, _)| *delivered == Bytes(20_000)), "{recovery:?}");
        }
    }
}

#[test]
fn outstanding_reads_survive_losses_on_any_number_of_threads() {
    let text =
        INCAST.replace("senders = \"0..8\"", "senders = 8").replace("receivers = 8", "receivers = \"0..8\"");
    let messages = "repeats = 40\nperiod = \"2us\"\nconnections = { kind = \"persistent\", when_busy = \"queue\", queue_depth = 8 }\nsize = \"20KB\"";
    let lossy = text.replace("lossless = { classes = [0], alpha = 0.125 }", "");
    let sets = [
        ("roce.operation", "{ kind = 'read', max_rd_atomic = 4 }"),
        ("switch.buffer", "{ kind = 'static-partition', per_port = '30KB' }"),
        ("switch.markers", "[]"),
        ("roce.timeout", "100us"),
    ];
    let experiment = parse(&lossy.replace("size = \"1MB\"", messages), &sets);
    let (times, pairs) = on_any_number_of_threads(&experiment, |report| {
        (completion_times(report), report.summary()["queue_pairs"].clone())
    });
    assert!(times.len() == 320 && times.iter().all(Option::is_some), "{times:?}");
    assert!(pairs["naks"].as_u64() > Some(0) && pairs["retransmits"].as_u64() > Some(0), "{pairs}");
}

/// Returns [`small_messages`] on two queue pairs.
fn on_two_queue_pairs(messages: u32, depth: u32) -> String {
    small_messages(messages, depth).replace("queue_depth", "per_pair = 2, queue_depth")
}

#[test]
fn a_queue_pair_that_ends_during_its_warm_up_gets_no_messages() {
    let warm_up = ("workload.0.connections.warm_up", "{ bytes = '1KB', from = '0s', to = '0s' }");
    let sets = [warm_up, ("workload.0.start", "20us"), ("roce.timeout", "1us"), ("roce.retry_count", "0")];
    let report = run(&on_two_queue_pairs(4, 1), &sets);
    // Both queue pairs end before the first message, so that no message ever begins.
    assert_eq!((counts(&report, "retries_exhausted"), completion_times(&report)), (2, vec![None; 4]));
    let abandoned = "flows that waited for these queue pairs never began (4)".to_owned();
    assert!(report.warnings().contains(&abandoned), "{:?}", report.warnings());
}

#[test]
fn a_queue_pair_sends_while_the_nic_delays_its_next_message() {
    // IRN allows one packet at a time. Messages wait 10 us in the NIC, at the same time.
    let sets = [
        ("roce.recovery", "{ kind = 'irn', window = 1 }"),
        ("host.nic.send.message_delay", "10us"),
        ("roce.retry_count", "7"),
    ];
    let report = run(&small_messages(6, 3), &sets);
    // Each packet leaves when the one before is acknowledged, and not when the delay of another message is over.
    let ends = ends(&report);
    for pair in ends[..3].windows(2) {
        assert_eq!(pair[1] - pair[0], round_trip(), "{ends:?}");
    }
}
