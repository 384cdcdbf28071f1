//! TCP congestion control (RFC 5681), rule by rule.

use crate::script::{Listening, MSS, NOTHING, RTT, Scripted, ack, dctcp, every, reno, without_sack};
use shallows_core::packet::{AckSegment, Flags};
use shallows_core::{Bytes, Duration};
use shallows_transport::congestion::{Avoidance, LossBase, dctcp};
use shallows_transport::{Config, Marks, Method, Phase, Receiver, RestartAfterIdle};

/// Returns a sender in congestion avoidance at a cwnd of five segments, after all data was acknowledged.
///
/// Ten segments were in flight and the first was lost: ssthresh = cwnd = 10 / 2 (Eq. 4).
fn avoiding(config: Config) -> Scripted {
    let mut script = Scripted::started(config, 1_000 * MSS);
    for above in 2..=10 {
        script.ack(0, &[(MSS, above * MSS)]);
    }
    let outstanding = script.sender.sent();
    script.ack(outstanding, &[]);
    assert_eq!((script.cwnd(), script.ssthresh()), (5 * MSS, 5 * MSS));
    script
}

#[test]
fn a_new_connection_sends_its_initial_window_and_waits() {
    let mut script = Scripted::new(reno());
    assert_eq!(script.write(100 * MSS), (0..10).map(|index| index * MSS).collect::<Vec<_>>());
}

#[test]
fn the_default_initial_window_is_that_of_rfc_6928() {
    let window = |mss| Config::new(Bytes(mss), reno().congestion).initial_window.0;
    // RFC 6928 Eq. 1: min(10 MSS, max(2 MSS, 14,600)).
    assert_eq!(
        (window(1_000), window(1_460), window(2_000), window(8_960)),
        (10_000, 14_600, 14_600, 17_920)
    );
}

#[test]
fn slow_start_adds_one_segment_per_acknowledgement() {
    let mut script = Scripted::started(reno(), 100 * MSS);
    // §3.1 Eq. 2: min(N, SMSS).
    script.ack(MSS, &[]);
    assert_eq!(script.cwnd(), 11 * MSS);
    script.ack(MSS + 300, &[]);
    assert_eq!(script.cwnd(), 11 * MSS + 300);
    script.ack(4 * MSS, &[]);
    assert_eq!(script.cwnd(), 12 * MSS + 300, "2,700 bytes at once add one segment");
}

#[test]
fn slow_start_with_appropriate_byte_counting_adds_two() {
    // RFC 3465 §2.2: L = 2.
    let mut script = Scripted::started(Config { slow_start_limit: 2, ..reno() }, 100 * MSS);
    script.ack(4 * MSS, &[]);
    assert_eq!(script.cwnd(), 12 * MSS);
    // A segment is missing, but no loss is detected: cwnd grows as usual.
    script.ack(4 * MSS, &[(5 * MSS, 6 * MSS)]);
    script.ack(6 * MSS, &[(7 * MSS, 8 * MSS)]);
    assert_eq!(script.cwnd(), 14 * MSS);
}

#[test]
fn each_acknowledgement_in_slow_start_clocks_out_two_segments() {
    let mut script = Scripted::started(reno(), 100 * MSS);
    assert_eq!(script.ack(MSS, &[]), [10 * MSS, 11 * MSS]);
}

#[test]
fn congestion_avoidance_adds_a_segment_once_a_window_was_acknowledged() {
    let mut script = avoiding(reno());
    let una = script.sender.acked();
    // §3.1: five segments are acknowledged, then one more window of six.
    for index in 1..5 {
        script.ack(una + index * MSS, &[]);
        assert_eq!(script.cwnd(), 5 * MSS);
    }
    script.ack(una + 5 * MSS, &[]);
    assert_eq!(script.cwnd(), 6 * MSS);
    script.ack(una + 8 * MSS, &[]);
    script.ack(una + 11 * MSS - 1, &[]);
    assert_eq!(script.cwnd(), 6 * MSS);
    script.ack(una + 11 * MSS, &[]);
    assert_eq!(script.cwnd(), 7 * MSS);
}

#[test]
fn bytes_beyond_a_window_count_for_the_next_segment() {
    let mut script = avoiding(reno());
    let una = script.sender.acked();
    // Four of five segments, then three at once: cwnd grows by one, and two of six are counted.
    script.ack(una + 4 * MSS, &[]);
    script.ack(una + 7 * MSS, &[]);
    assert_eq!(script.cwnd(), 6 * MSS);
    script.ack(una + 11 * MSS, &[]);
    assert_eq!(script.cwnd(), 7 * MSS);
}

#[test]
fn a_reduction_starts_the_count_anew() {
    let mut script = avoiding(reno());
    let una = script.sender.acked();
    script.ack(una + 4 * MSS, &[]);
    // Five segments are in flight: ssthresh = 2.5 segments.
    script.ack(una + 4 * MSS, &[(una + 5 * MSS, una + 8 * MSS)]);
    assert_eq!(script.cwnd(), 2_500);
    let outstanding = script.sender.sent();
    script.ack(outstanding, &[]);
    script.ack(outstanding + 2 * MSS, &[]);
    assert_eq!(script.cwnd(), 2_500, "2,000 bytes of 2,500");
}

#[test]
fn congestion_avoidance_per_acknowledgement_adds_at_least_a_byte() {
    // 1000² / 2,000,000 is less than one.
    let config = Config { initial_window: Bytes(4_000 * MSS), avoidance: Avoidance::PerAck, ..reno() };
    let mut script = Scripted::started(config, 10_000 * MSS);
    script.ack(0, &[(MSS, 4_000 * MSS)]);
    assert_eq!(script.cwnd(), 2_000 * MSS);
    let outstanding = script.sender.sent();
    script.ack(outstanding, &[]);
    script.ack(outstanding + MSS, &[]);
    assert_eq!(script.cwnd(), 2_000 * MSS + 1);
}

#[test]
fn congestion_avoidance_per_acknowledgement_adds_mss_squared_over_cwnd() {
    let mut script = avoiding(Config { avoidance: Avoidance::PerAck, ..reno() });
    let una = script.sender.acked();
    // Eq. 3: 1000² / 5000 = 200, then 1000² / 5200 = 192, however much is acknowledged.
    script.ack(una + MSS, &[]);
    assert_eq!(script.cwnd(), 5_200);
    script.ack(una + 3 * MSS, &[]);
    assert_eq!(script.cwnd(), 5_392);
}

#[test]
fn congestion_avoidance_per_acknowledgement_adds_nothing_for_a_duplicate() {
    // §3.1: Eq. 3 applies to "every incoming ACK that acknowledges new data".
    for config in [reno(), dctcp(dctcp::Config::default())] {
        let mut script = avoiding(Config { avoidance: Avoidance::PerAck, ..config });
        let una = script.sender.acked();
        script.ack(una, &[]);
        assert_eq!(script.cwnd(), 5 * MSS);
    }
}

#[test]
fn cwnd_stays_within_its_maximum() {
    let mut script = Scripted::started(Config { max_window: Bytes(11_500), ..reno() }, 100 * MSS);
    script.ack(MSS, &[]);
    script.ack(2 * MSS, &[]);
    assert_eq!(script.cwnd(), 11_500);
    assert_eq!(script.sender.sent() - script.sender.acked(), 11 * MSS, "only full segments fit");
}

#[test]
fn cwnd_stays_within_its_maximum_when_a_loss_sets_it() {
    // ssthresh is at least two segments (Eq. 4), the maximum is one. Three small SACK blocks prove a loss.
    let config = Config { initial_window: Bytes(MSS), max_window: Bytes(MSS), ..reno() };
    let mut script = Scripted::started(config, 100 * MSS);
    script.ack(0, &[(100, 200), (300, 400), (500, 600)]);
    assert!(script.sender.in_fast_recovery());
    assert_eq!((script.cwnd(), script.ssthresh()), (MSS, 2 * MSS));
}

#[test]
fn an_acknowledgement_that_reveals_a_loss_does_not_grow_the_window() {
    let mut script = Scripted::started(Config { loss_base: LossBase::Cwnd, ..reno() }, 100 * MSS);
    script.ack(MSS, &[(2 * MSS, 6 * MSS)]);
    assert_eq!(script.cwnd(), 5 * MSS, "half of ten segments, not of eleven");
}

#[test]
fn a_loss_leaves_half_of_what_was_in_flight() {
    // cwnd is 20 segments, but only eight were written: Eq. 4 halves FlightSize.
    let mut script = Scripted::started(Config { initial_window: Bytes(20 * MSS), ..reno() }, 8 * MSS);
    for above in 2..=4 {
        script.ack(0, &[(MSS, above * MSS)]);
    }
    assert_eq!((script.cwnd(), script.ssthresh()), (4 * MSS, 4 * MSS));
}

#[test]
fn a_loss_may_be_told_to_leave_half_of_cwnd() {
    let config = Config { initial_window: Bytes(20 * MSS), loss_base: LossBase::Cwnd, ..reno() };
    let mut script = Scripted::started(config, 8 * MSS);
    for above in 2..=4 {
        script.ack(0, &[(MSS, above * MSS)]);
    }
    assert_eq!((script.cwnd(), script.ssthresh()), (10 * MSS, 10 * MSS));
}

#[test]
fn ssthresh_is_at_least_two_segments() {
    let mut script = Scripted::started(reno(), 3 * MSS);
    script.time_out();
    assert_eq!((script.cwnd(), script.ssthresh()), (MSS, 2 * MSS));
}

#[test]
fn a_timeout_leaves_one_segment_and_a_second_one_leaves_ssthresh_alone() {
    for recovery in [Method::Sack(None), Method::NewReno, Method::Reno] {
        let config = Config { recovery, loss_base: LossBase::Cwnd, ..reno() };
        let mut script = Scripted::started(config, 100 * MSS);
        assert_eq!(script.time_out(), [0]);
        assert_eq!((script.cwnd(), script.ssthresh(), script.sender.phase()), (MSS, 5 * MSS, Phase::Timeout));
        // §3.1: ssthresh is held constant when the same segment times out again, although half of cwnd is now less.
        assert_eq!(script.time_out(), [0]);
        assert_eq!((script.cwnd(), script.ssthresh()), (MSS, 5 * MSS));
        assert_eq!(script.sender.stats().timeouts, 2);
    }
}

#[test]
fn a_timeout_leaves_half_of_what_is_in_flight_and_not_of_all_that_was_sent() {
    // Eq. 4. Six segments are acknowledged, and the ten after them are lost.
    let mut script = Scripted::started(reno(), 16 * MSS);
    (1..=6).for_each(|number| drop(script.ack(number * MSS, &[])));
    assert_eq!(script.sender.sent(), 16 * MSS);
    script.time_out();
    assert_eq!(script.ssthresh(), 5 * MSS);
}

#[test]
fn after_a_timeout_slow_start_runs_up_to_ssthresh() {
    let mut script = Scripted::started(reno(), 100 * MSS);
    script.time_out();
    assert_eq!(script.ack(MSS, &[]), [MSS, 2 * MSS]);
    assert_eq!(script.ack(2 * MSS, &[]), [3 * MSS, 4 * MSS]);
    assert_eq!(script.ack(3 * MSS, &[]), [5 * MSS, 6 * MSS]);
    assert_eq!(script.ack(4 * MSS, &[]), [7 * MSS, 8 * MSS]);
    assert_eq!(script.cwnd(), 5 * MSS);
    assert_eq!(script.ack(5 * MSS, &[]), [9 * MSS], "now congestion avoidance");
    assert_eq!(script.ack(6 * MSS, &[]), [10 * MSS], "new data after what was outstanding");
}

#[test]
fn limited_transmit_sends_a_new_segment_for_each_of_the_first_two_duplicates() {
    let mut script = Scripted::started(reno(), 100 * MSS);
    assert_eq!(script.ack(0, &[(MSS, 2 * MSS)]), [10 * MSS]);
    assert_eq!(script.ack(0, &[(MSS, 3 * MSS)]), [11 * MSS]);
    assert_eq!(script.ack(0, &[(MSS, 4 * MSS)])[0], 0, "the third retransmits");
    // §3.2 step 2: the two segments of limited transmit do not count; ten were in flight.
    assert_eq!(script.ssthresh(), 5 * MSS);
}

#[test]
fn without_limited_transmit_the_first_two_duplicates_send_nothing() {
    let mut script = Scripted::started(Config { limited_transmit: false, ..reno() }, 100 * MSS);
    assert_eq!(script.ack(0, &[(MSS, 2 * MSS)]), NOTHING);
    assert_eq!(script.ack(0, &[(MSS, 3 * MSS)]), NOTHING);
    assert_eq!(script.ack(0, &[(MSS, 4 * MSS)]), [0]);
}

#[test]
fn the_window_starts_over_after_an_idle_timeout() {
    // §4.1; the timer's minimum is one second.
    for (idle, restart, cwnd) in [
        (Duration::from_millis(1_001), RestartAfterIdle::Reduce, 10 * MSS),
        (Duration::from_millis(1_000), RestartAfterIdle::Reduce, 20 * MSS),
        (Duration::from_millis(1_001), RestartAfterIdle::Off, 20 * MSS),
        // SRTT + G: after ten samples of 100 us, four RTTVAR are below a millisecond.
        (Duration::from_micros(1_100), RestartAfterIdle::Reset, 20 * MSS),
        (Duration::from_micros(1_101), RestartAfterIdle::Reset, 10 * MSS),
    ] {
        let mut script = Scripted::started(Config { restart_after_idle: restart, ..reno() }, 10 * MSS);
        for index in 1..=10 {
            script.ack(index * MSS, &[]);
        }
        script.wait(idle);
        script.write(MSS);
        assert_eq!(script.cwnd(), cwnd, "idle for {idle}, restart {restart:?}");
    }
}

#[test]
fn a_window_below_the_initial_one_is_not_raised_by_idleness() {
    let mut script = avoiding(reno());
    let rest = script.sender.written();
    while script.sender.acked() < rest {
        let sent = script.sender.sent();
        script.ack(sent, &[]);
    }
    // Reduce cwnd to one segment, then acknowledge everything.
    script.write(MSS);
    script.time_out();
    script.ack(rest + MSS, &[]);
    let cwnd = script.cwnd();
    assert!(cwnd < 10 * MSS, "{cwnd}");
    script.wait(Duration::from_secs(10));
    script.write(MSS);
    assert_eq!(script.cwnd(), cwnd);
}

#[test]
fn a_window_below_the_initial_one_is_raised_where_ns_2_is_followed() {
    // Unlike §4.1, ns-2's CLOSE_CWND_INIT sets cwnd to the initial window even if cwnd was smaller.
    let mut script = avoiding(Config { restart_after_idle: RestartAfterIdle::Reset, ..reno() });
    let rest = script.sender.written();
    while script.sender.acked() < rest {
        let sent = script.sender.sent();
        script.ack(sent, &[]);
    }
    script.write(MSS);
    script.time_out();
    script.ack(rest + MSS, &[]);
    assert!(script.cwnd() < 10 * MSS);
    // Round trips take 100 us and G is 1 ms: SRTT + max(G, 4 RTTVAR) is slightly above a millisecond, far below the
    // minimum of one second.
    script.wait(Duration::from_millis(1));
    script.write(MSS);
    assert!(script.cwnd() < 10 * MSS);
    let sent = script.sender.sent();
    script.ack(sent, &[]);
    script.wait(Duration::from_millis(2));
    script.write(MSS);
    assert_eq!(script.cwnd(), 10 * MSS);
}

#[test]
fn a_connection_with_a_handshake_sends_data_only_after_the_answer() {
    // RFC 9293 §3.5; the round trip of the SYN is the first sample (RFC 6298 §2.2: SRTT = R).
    let mut script = Scripted::new(Config { handshake: true, ..reno() });
    script.sender.write(&script.config, script.now, 3 * MSS);
    let sent = script.sender.poll_transmit(&script.config, script.now).unwrap();
    assert_eq!((sent.segment.flags, sent.segment.len), (Flags::SYN, 0));
    assert_eq!(script.sender.poll_transmit(&script.config, script.now), None);
    script.now = script.now + RTT;
    script.sender.on_ack(&script.config, script.now, &ack(0, &[]));
    assert_eq!(script.sender.poll_transmit(&script.config, script.now), None, "that was no answer to a SYN");
    let mut receiver = Receiver::new(&script.config);
    let answers: Vec<_> =
        receiver.on_data(&script.config, script.now, &sent.segment, Marks::default(), 1).collect();
    assert_eq!(answers.len(), 1);
    assert!(answers[0].flags.contains(Flags::SYN.with(Flags::ACK)));
    script.sender.on_ack(&script.config, script.now, &answers[0]);
    assert_eq!(script.sender.srtt(), Some(RTT));
    let data = script.sender.poll_transmit(&script.config, script.now).unwrap();
    assert_eq!((data.segment.seq, data.segment.end()), (0, MSS));
}

#[test]
fn a_lost_syn_is_retransmitted_and_leaves_one_segment_of_window() {
    // RFC 5681 §3.1: the initial window after a lost SYN is one segment. RFC 6298 §5.5 and §5.7: the timer doubles,
    // and starts at three seconds when data is sent.
    let mut script = Scripted::new(Config { handshake: true, ..reno() });
    script.sender.write(&script.config, script.now, 3 * MSS);
    let syn = script.sender.poll_transmit(&script.config, script.now).unwrap();
    assert_eq!((syn.retransmission, syn.segment.tsval), (false, script.now));
    script.now = script.sender.deadline().unwrap();
    script.sender.on_timer(&script.config, script.now);
    let again = script.sender.poll_transmit(&script.config, script.now).unwrap();
    assert_eq!((again.segment.flags, again.retransmission), (Flags::SYN, true));
    assert_eq!(again.segment.tsval, script.now, "RFC 7323 §3.2");
    assert_eq!(script.sender.deadline(), Some(script.now + Duration::from_secs(2)));
    let answer = AckSegment { flags: Flags::SYN.with(Flags::ACK), ..ack(0, &[]) };
    script.sender.on_ack(&script.config, script.now, &answer);
    assert_eq!((script.cwnd(), script.sender.rto()), (MSS, Duration::from_secs(3)));
}

#[test]
fn a_connection_with_data_outstanding_is_not_idle() {
    let mut script = Scripted::started(reno(), 20 * MSS);
    for number in 1..=10 {
        script.ack(number * MSS, &[]);
    }
    assert_eq!((script.cwnd(), script.sender.sent()), (20 * MSS, 20 * MSS));
    // Acknowledgements keep the timer from firing while no data is sent for longer than a timeout.
    for number in 11..=14 {
        script.wait(Duration::from_millis(900));
        script.ack(number * MSS, &[]);
    }
    let cwnd = script.cwnd();
    script.write(MSS);
    assert_eq!(script.cwnd(), cwnd);
}

#[test]
fn a_short_last_segment_goes_at_once() {
    let mut script = Scripted::new(reno());
    script.sender.write(&script.config, script.now, 2 * MSS + 1);
    let lengths: Vec<_> = script.transmits().iter().map(|transmit| transmit.segment.len).collect();
    assert_eq!(lengths, [1_000, 1_000, 1]);
    // Data written later starts a new segment.
    assert_eq!(script.write(MSS), [2 * MSS + 1]);
}

#[test]
fn the_receivers_window_holds_the_sender_back() {
    let mut script = Scripted::started(Config { receive_window: Bytes(3_500), ..reno() }, 100 * MSS);
    assert_eq!(script.sender.sent(), 3 * MSS);
    let offer = |number, window| AckSegment { window, ..ack(number, &[]) };
    assert_eq!(script.receive(offer(MSS, 4_000)), [3 * MSS, 4 * MSS]);
    assert_eq!(script.receive(offer(2 * MSS, 4_999)), [5 * MSS]);
}

#[test]
fn a_window_that_was_offered_is_not_taken_back() {
    // RFC 9293 §3.8.6: the first acknowledgement offers up to segment 9; the next one, with a smaller window, up to 3.
    let config = Config { initial_window: Bytes(4 * MSS), receive_window: Bytes(9 * MSS), ..reno() };
    let mut script = Scripted::started(config, 100 * MSS);
    assert_eq!(
        script.receive(AckSegment { window: 1_000, ..ack(2 * MSS, &[]) }),
        [4 * MSS, 5 * MSS, 6 * MSS]
    );
}

#[test]
fn a_closed_window_is_probed_with_a_segment() {
    let mut script = Scripted::started(Config { receive_window: Bytes(2 * MSS), ..reno() }, 100 * MSS);
    // The segment is sent instead of RFC 9293 §3.8.6.1's persist timer.
    let closed = AckSegment { window: 0, ..ack(2 * MSS, &[]) };
    assert_eq!(script.receive(closed), [2 * MSS], "one, not cwnd");
}

#[test]
fn every_second_segment_is_acknowledged_and_a_lone_one_after_the_delay() {
    let config = reno();
    let delayed_ack = every(2, Duration::from_millis(1));
    let mut receiving = Listening::new(Config { delayed_ack, ..config });
    assert_eq!(receiving.data(0), []);
    assert_eq!(receiving.data(1)[0].ack, 2 * MSS);
    assert_eq!(receiving.receiver.deadline(), None);
    // §4.2.
    receiving.now = receiving.now + RTT;
    assert_eq!(receiving.data(2), []);
    let deadline = receiving.receiver.deadline().unwrap();
    assert_eq!(deadline, receiving.now + delayed_ack.timeout);
    assert_eq!(receiving.receiver.on_timer(&receiving.config, receiving.now), None, "too early");
    let ack = receiving.receiver.on_timer(&receiving.config, deadline).unwrap();
    assert_eq!((ack.ack, receiving.receiver.deadline()), (3 * MSS, None));
}

#[test]
fn a_later_segment_does_not_put_off_a_delayed_acknowledgement() {
    let delayed_ack = every(3, Duration::from_millis(1));
    let mut receiving = Listening::new(Config { delayed_ack, ..reno() });
    receiving.data(0);
    let deadline = receiving.receiver.deadline();
    receiving.now = receiving.now + RTT;
    assert_eq!(receiving.data(1), []);
    assert_eq!(receiving.receiver.deadline(), deadline);
    assert_eq!(receiving.data(2).len(), 1);
}

#[test]
fn a_segment_above_a_gap_and_one_that_fills_it_are_acknowledged_at_once() {
    let mut receiving = Listening::new(Config { delayed_ack: every(2, RTT), ..reno() });
    // §4.2.
    assert_eq!(receiving.data(1)[0].ack, 0);
    assert_eq!(receiving.data(3)[0].ack, 0);
    assert_eq!(receiving.data(0)[0].ack, 2 * MSS, "part of the gap");
    assert_eq!(receiving.data(2)[0].ack, 4 * MSS, "all of it");
    assert_eq!(receiving.data(0)[0].ack, 4 * MSS, "a duplicate");
    assert_eq!(receiving.data(4), [], "in order again");
}

#[test]
fn reno_leaves_fast_recovery_with_the_first_acknowledgement_of_new_data() {
    // Segments 0 and 10 of twenty are lost. §3.2 step 6: cwnd = ssthresh; the second loss is not detected yet.
    let config = Config { initial_window: Bytes(20 * MSS), ..without_sack(Method::Reno) };
    let mut script = Scripted::started(config, 1_000 * MSS);
    let sent = script.duplicates(0, 18);
    assert_eq!(sent[0], 0);
    assert_eq!(script.inflated(), 28 * MSS);
    assert_eq!(script.ack(10 * MSS, &[]), NOTHING);
    assert!(!script.sender.in_fast_recovery());
    assert_eq!((script.cwnd(), script.inflated()), (10 * MSS, 10 * MSS));
    // Three more duplicates reveal it, and halve the 18 outstanding segments; NewReno would not halve again.
    assert_eq!(script.duplicates(10 * MSS, 3), [10 * MSS]);
    assert_eq!((script.sender.stats().fast_recoveries, script.ssthresh()), (2, 9 * MSS));
}

#[test]
fn reno_begins_no_recovery_for_duplicates_of_what_a_timeout_retransmitted() {
    let mut script = Scripted::started(without_sack(Method::Reno), 1_000 * MSS);
    script.time_out();
    script.ack(MSS, &[]);
    script.duplicates(MSS, 5);
    assert_eq!(script.sender.stats().fast_recoveries, 0);
    script.ack(10 * MSS, &[]);
    script.duplicates(10 * MSS, 5);
    assert_eq!(script.sender.stats().fast_recoveries, 0, "no more than what was outstanding then is covered");
    script.ack(11 * MSS, &[]);
    script.duplicates(11 * MSS, 3);
    assert_eq!(script.sender.stats().fast_recoveries, 1);
    // This recovery makes Reno forget the timeout: within a window, recovery begins again and again.
    script.ack(12 * MSS, &[]);
    script.duplicates(12 * MSS, 3);
    assert_eq!(script.sender.stats().fast_recoveries, 2);
}

#[test]
fn an_acknowledgement_that_changes_the_window_is_no_duplicate() {
    // §2 (e).
    let mut script = Scripted::started(without_sack(Method::NewReno), 100 * MSS);
    for window in [1 << 20, 1 << 21, 1 << 22, 1 << 23] {
        assert_eq!(script.receive(AckSegment { window, ..ack(0, &[]) }), NOTHING);
    }
    assert!(!script.sender.in_fast_recovery());
    let same = AckSegment { window: 1 << 23, ..ack(0, &[]) };
    assert_eq!((0..3).flat_map(|_| script.receive(same)).collect::<Vec<_>>(), [0]);
}

#[test]
fn without_anything_outstanding_nothing_is_a_duplicate() {
    // §2 (a).
    let mut script = Scripted::started(without_sack(Method::NewReno), 10 * MSS);
    script.ack(10 * MSS, &[]);
    assert_eq!(script.duplicates(10 * MSS, 5), NOTHING);
    script.write(10 * MSS);
    assert_eq!(script.duplicates(10 * MSS, 2), NOTHING);
    assert!(!script.sender.in_fast_recovery(), "only two count");
}

#[test]
fn the_delay_of_acknowledgements_holds_for_every_segment() {
    // Not only until the first acknowledgement: every third segment is acknowledged.
    let delayed_ack = every(3, Duration::from_millis(1));
    let mut receiving = Listening::new(Config { delayed_ack, ..reno() });
    let counts: Vec<_> = (0..12).map(|index| receiving.data(index).len()).collect();
    assert_eq!(counts, [0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1]);
}

#[test]
fn after_a_timeout_byte_counting_adds_one_segment() {
    // RFC 3465 §2.3: L = 1 while slow start repairs the data outstanding at a timeout, 2 after that.
    let mut script = Scripted::started(Config { slow_start_limit: 2, ..reno() }, 1_000 * MSS);
    script.time_out();
    script.ack(4 * MSS, &[]);
    assert_eq!(script.cwnd(), 2 * MSS);
    script.ack(10 * MSS, &[]);
    assert_eq!(script.cwnd(), 3 * MSS);
    script.ack(12 * MSS, &[]);
    assert_eq!(script.cwnd(), 5 * MSS);
}

#[test]
fn a_lost_retransmission_ends_in_a_timeout() {
    // Reno cannot detect the loss, nor can NewReno (rfc6582.rs); with SACK, RFC 6675 does not try to (rfc6675.rs).
    let mut script = Scripted::started(without_sack(Method::Reno), 1_000 * MSS);
    script.duplicates(0, 30);
    assert_eq!(script.sender.stats().retransmits, 1);
    assert_eq!(script.time_out(), [0]);
}
