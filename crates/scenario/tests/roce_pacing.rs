//! Timeouts, tolerances, bursts and limits of the NICs of queue pairs in scenarios.

use shallows_core::{Bytes, Duration, Rate};
use shallows_rdma::{Adaptive, Decrease, Irn, Recovery};
use shallows_scenario::SendLimits;

use crate::common::{parse, refusal};
use crate::roce::{SCENARIO, experiment, settings};

#[test]
fn adaptive_timeouts_have_the_values_of_connectx_5_by_default() {
    let adaptive = |value| settings(&[("roce.adaptive_timeout", value)]).adaptive;
    let first = Duration::from_nanos(4_096 << 9);
    let expected = Adaptive { first, attempts: 1, decrease: Decrease::Reset };
    assert_eq!(adaptive("{}"), Some(expected));
    let given = Adaptive { first: Duration::from_millis(1), attempts: 3, decrease: Decrease::By(4) };
    assert_eq!(adaptive("{ first = '1ms', attempts = 3, decrease = 'quarter' }"), Some(given));
    assert_eq!(adaptive("{ decrease = 'half' }").unwrap().decrease, Decrease::By(2));
}

#[test]
fn adaptive_timeouts_are_checked() {
    for (key, sets, expected) in [
        (
            "roce.adaptive_timeout",
            [("roce.recovery", "{ kind = 'irn', window = 10 }"), ("roce.adaptive_timeout", "{}")],
            "must be left out with the recovery \"irn\", which has timeouts of its own",
        ),
        (
            "roce.adaptive_timeout.first",
            [("roce.timeout", "1ms"), ("roce.adaptive_timeout.first", "2ms")],
            "must be at most roce.timeout = 1ms, got 2ms",
        ),
        (
            "roce.adaptive_timeout.first",
            [("roce.timeout", "1ms"), ("roce.adaptive_timeout.first", "0s")],
            "must be above 0s, got 0s",
        ),
        (
            "roce.adaptive_timeout.attempts",
            [("roce.timeout", "10ms"), ("roce.adaptive_timeout.attempts", "0")],
            "must be at least 1, got 0",
        ),
        (
            "roce.adaptive_timeout.decrease",
            [("roce.timeout", "10ms"), ("roce.adaptive_timeout.decrease", "halves")],
            "\"halves\" is unknown; expected one of \"reset\", \"half\", \"quarter\"",
        ),
    ] {
        let error = parse(SCENARIO, &sets).expect_err(expected);
        assert_eq!((error.problems[0].key.as_str(), error.problems[0].message.as_str()), (key, expected));
    }
}

#[test]
fn a_note_names_a_timeout_that_irn_does_not_use() {
    let notes = |recovery, timeout| {
        experiment(&[("roce.recovery", recovery), ("roce.timeout", timeout)]).notes.clone()
    };
    let irn = "{ kind = 'irn', window = 10 }";
    assert_eq!(
        notes(irn, "320us"),
        ["roce.timeout = \"320us\" has no effect, because the recovery \"irn\" has timeouts of its own"]
    );
    // The default of `roce.timeout`, which a resolved scenario contains.
    assert!(notes(irn, "67108864ns").is_empty() && notes("go-back-n", "320us").is_empty());
}

#[test]
fn irn_has_the_timeouts_of_its_paper_by_default() {
    let recovery = |value| settings(&[("roce.recovery", value)]).recovery;
    let (low_timeout, high_timeout) = (Duration::from_micros(100), Duration::from_micros(320));
    let expected = Irn { window: 10, low_timeout, high_timeout, few: 3 };
    assert_eq!(recovery("{ kind = 'irn', window = 10 }"), Recovery::Irn(expected));
    let given = "{ kind = 'irn', window = 40, low_timeout = '50us', high_timeout = '50us', few = 0 }";
    let (low_timeout, high_timeout) = (Duration::from_micros(50), Duration::from_micros(50));
    let expected = Irn { window: 40, low_timeout, high_timeout, few: 0 };
    assert_eq!(recovery(given), Recovery::Irn(expected));
}

#[test]
fn numbers_and_timeouts_without_a_meaning_are_refused() {
    for (key, value, place, message) in [
        ("roce.ack_every", "0", "roce.ack_every", "must be at least 1, got 0"),
        ("roce.retry_count", "8", "roce.retry_count", "must be at most 7, got 8"),
        (
            "roce.recovery",
            "{ kind = 'irn', window = 0 }",
            "roce.recovery.window",
            "must be at least 1, got 0",
        ),
        (
            "roce.recovery",
            "{ kind = 'irn', window = 10, high_timeout = '50us' }",
            "roce.recovery.high_timeout",
            "must be at least low_timeout = 100us, got 50us",
        ),
    ] {
        assert_eq!(refusal(SCENARIO, &[(key, value)]), (place.to_owned(), message.to_owned()), "{value}");
    }
    let adaptive = "{ first = '1ms', attempts = 1 }";
    let equal = settings(&[("roce.timeout", "1ms"), ("roce.adaptive_timeout", adaptive)]);
    assert_eq!(equal.adaptive.map(|adaptive| adaptive.first), Some(equal.timeout));
}

#[test]
fn go_back_n_has_a_tolerance_of_reordering() {
    let reordering = |value| settings(&[("roce.recovery", value)]).reordering;
    let found = ["go-back-n", "{ kind = 'go-back-n', reordering = 8 }", "selective-repeat"].map(reordering);
    assert_eq!(found, [0, 8, 0]);
    for (value, expected) in [
        (
            "{ kind = 'go-back-n', reordering = 8388608 }",
            "roce.recovery.reordering: must be at most 8388607, got 8388608",
        ),
        ("{ kind = 'selective-repeat', reordering = 8 }", "roce.recovery.reordering: unknown key"),
    ] {
        let error = parse(SCENARIO, &[("roce.recovery", value)]).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn bursts_have_at_least_two_packets_and_a_rate() {
    let room = |sets: &[(&str, &str)]| settings(sets).burst_room;
    assert_eq!(room(&[]), Bytes(0));
    // The first packet of a message has 1,098 bytes on the wire, and 1,140 with telemetry. A burst has room as long as it can take another.
    assert_eq!(room(&[("roce.congestion", "timely"), ("roce.burst", "2196B")]), Bytes(1_098));
    assert_eq!(room(&[("roce.congestion", "hpcc"), ("roce.burst", "3KB")]), Bytes(1_860));
    for (congestion, given, expected) in [
        (
            "timely",
            "2195B",
            "must be at least 2.196KB (twice the size of the largest packet on the wire), got 2.195KB: a smaller burst has no effect",
        ),
        (
            "hpcc",
            "0B",
            "must be at least 2.28KB (twice the size of the largest packet on the wire), got 0B: a smaller burst has no effect",
        ),
        (
            "none",
            "16KB",
            "must be left out, or roce.congestion must not be \"none\": queue pairs without congestion control send at line rate",
        ),
    ] {
        let sets = [("roce.congestion", congestion), ("roce.burst", given)];
        assert_eq!(refusal(SCENARIO, &sets), ("roce.burst".to_owned(), expected.to_owned()));
    }
}

#[test]
fn limits_of_nics_need_queue_pairs() {
    let limits =
        [("host.nic.send", "{ packet_rate = '20Mpps', dma_rate = '90Gbps', message_delay = '2us' }")];
    let send = experiment(&limits).hosts.groups[0].send;
    let expected = SendLimits {
        packet_time: Duration::from_nanos(50),
        dma_rate: Some(Rate::from_gbps(90)),
        message_delay: Duration::from_micros(2),
    };
    assert_eq!(send, Some(expected));
    assert_eq!(experiment(&[]).hosts.groups[0].send, None);
    let tcp = SCENARIO.replace("transport = \"roce\"", "").replace("[roce]\nmtu = \"1000B\"", "");
    let error = parse(&tcp, &limits).expect_err("no queue pairs").to_string();
    assert!(error.contains("host.nic.send: must be left out, or a workload must have transport"), "{error}");
}

#[test]
fn nics_that_could_drop_packets_of_queue_pairs_are_refused() {
    for (key, value, expected) in [
        (
            "host.nic.limit",
            "100p",
            "must be at least 64MB (the default) with queue pairs, because they lose no packets in their NICs, got 100p",
        ),
        (
            "host.nic.backpressure",
            "off",
            "must be a size with queue pairs, because TCP connections would fill the queue of the NIC, and queue pairs lose no \
             packets there",
        ),
        (
            "host.nic.markers",
            "[{ kind = 'codel', target = '1us', interval = '5us', action = 'drop' }]",
            "must not drop packets with queue pairs, because they lose no packets in their NICs; use markers that only mark",
        ),
    ] {
        let error = parse(SCENARIO, &[(key, value)]).expect_err("drops");
        assert_eq!((error.problems[0].key.as_str(), error.problems[0].message.as_str()), (key, expected));
    }
    experiment(&[("host.nic.limit", "64MB")]);
    experiment(&[(
        "host.nic.markers",
        "[{ kind = 'codel', target = '1us', interval = '5us', action = 'mark' }]",
    )]);
}
