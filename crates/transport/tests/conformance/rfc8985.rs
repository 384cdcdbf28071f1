//! RACK-TLP (RFC 8985), in segments of 1,000 bytes and round trips of 100 µs.

use crate::script::{MSS, NOTHING, RTT, Scripted, reno};
use shallows_core::packet::Flags;
use shallows_core::{Bytes, Duration, Instant};
use shallows_transport::{Bound, Config, Method, Phase, RtoConfig, rack};

/// Returns a configuration with delayed acknowledgements of at most 40 µs and timers without ticks.
fn config() -> Config {
    let rack = rack::Config { max_ack_delay: Duration::from_micros(40), timer_slack: Duration::ZERO };
    Config { recovery: Method::Rack(None), rack, ..reno() }
}

/// Returns a sender that has sent ten of `segments` segments; the first `acked` of them are acknowledged a round trip later.
fn sent(config: Config, segments: u64, acked: u64) -> Scripted {
    let mut script = Scripted::started(config, segments * MSS);
    script.wait(RTT);
    if acked > 0 {
        ack(&mut script, acked, &[]);
    }
    script
}

/// Acknowledges all segments below `una` and the `sacked` ones. Returns the segments sent.
fn ack(script: &mut Scripted, una: u64, sacked: &[(u64, u64)]) -> Vec<u64> {
    let ranges: Vec<_> = sacked.iter().map(|&(start, end)| (start * MSS, end * MSS)).collect();
    numbers(&script.ack(una * MSS, &ranges))
}

fn numbers(sent: &[u64]) -> Vec<u64> {
    sent.iter().map(|seq| seq / MSS).collect()
}

fn deadline(script: &Scripted) -> Instant {
    script.sender.deadline().expect("a timer runs")
}

fn until_deadline(script: &Scripted) -> Duration {
    deadline(script) - script.now
}

fn expire(script: &mut Scripted) -> Vec<u64> {
    let sent = script.time_out();
    numbers(&sent)
}

#[test]
fn a_lost_tail_is_repaired_without_a_timeout() {
    // §3.2's example of a lost tail: 7, 8 and 9 of ten segments are lost.
    let mut script = sent(config(), 10, 7);
    // §7.2: PTO = 2 · SRTT with three segments outstanding.
    assert_eq!(until_deadline(&script), RTT * 2);
    assert_eq!(expire(&mut script), [9], "the highest segment is the probe");
    script.wait(RTT);
    // The probe was sent 300 µs after 7 and 8 and is delivered: 7 and 8 are lost. cwnd is half of three segments, at least two.
    assert_eq!(ack(&mut script, 7, &[(9, 10)]), [7, 8]);
    assert_eq!((script.sender.stats().timeouts, script.sender.stats().fast_recoveries), (0, 1));
    script.wait(RTT);
    ack(&mut script, 10, &[]);
    assert!(script.sender.is_idle());

    // RFC 6675 waits for the retransmission timer.
    let mut script = sent(Config { recovery: Method::Sack(None), ..config() }, 10, 7);
    assert_eq!(until_deadline(&script), Duration::from_secs(1));
    assert_eq!(expire(&mut script), [7]);
    assert_eq!(script.sender.stats().timeouts, 1);
}

#[test]
fn a_lone_segment_gets_the_time_of_a_delayed_acknowledgement() {
    let script = sent(config(), 10, 9);
    assert_eq!(until_deadline(&script), RTT * 2 + Duration::from_micros(40));
}

#[test]
fn ticks_of_a_timer_come_on_top() {
    let timer_slack = Duration::from_micros(30);
    let rack = rack::Config { timer_slack, ..config().rack };
    let mut script = sent(Config { rack, ..config() }, 10, 7);
    assert_eq!(until_deadline(&script), RTT * 2 + timer_slack);
    ack(&mut script, 7, &[(8, 9)]);
    assert_eq!(until_deadline(&script), RTT / 4 + timer_slack, "the reordering timer likewise");
}

#[test]
fn a_probe_goes_no_later_than_the_retransmission_timer() {
    let rto = RtoConfig { minimum: Duration::from_micros(150), granularity: Duration(1), ..config().rto };
    // SRTT 100 µs + 4 · 50 µs = 300 µs is later, but another sample of 100 µs makes it 250, and so on down to 150.
    let mut script = sent(Config { rto, ..config() }, 10, 0);
    for una in 1..=8 {
        ack(&mut script, una, &[]);
    }
    assert!(script.sender.rto() < RTT * 2);
    assert_eq!(until_deadline(&script), script.sender.rto());
    assert_eq!(expire(&mut script), [9]);
    assert_eq!(script.sender.stats().timeouts, 0, "in its place");
    assert_eq!(until_deadline(&script), script.sender.rto(), "which starts anew");
}

#[test]
fn without_a_round_trip_time_no_probe_goes() {
    let mut script = sent(config(), 10, 0);
    assert_eq!(until_deadline(&script), Duration::from_secs(1) - RTT);
    assert_eq!(expire(&mut script), [0]);
    assert_eq!(script.sender.stats().timeouts, 1);
}

#[test]
fn one_probe_is_under_way_at_a_time() {
    let mut script = sent(config(), 10, 7);
    assert_eq!(expire(&mut script), [9]);
    // §7.3: then the retransmission timer applies, starting at the probe.
    assert_eq!(until_deadline(&script), Duration::from_secs(1));
    assert_eq!(expire(&mut script), [7]);
    assert_eq!(script.sender.stats().timeouts, 1);
}

#[test]
fn new_data_is_the_better_probe_and_cwnd_does_not_hold_it_back() {
    let mut script = sent(config(), 1_000, 2);
    // Slow start by bytes: one segment for the acknowledgement of two, so that eleven are outstanding.
    assert_eq!((script.cwnd(), script.sender.sent()), (11 * MSS, 13 * MSS));
    assert_eq!(expire(&mut script), [13]);
    assert_eq!(script.cwnd(), 11 * MSS);
    // §7.4.2: when the probe is acknowledged, cwnd does not change.
    script.wait(RTT);
    ack(&mut script, 14, &[]);
    assert_eq!(script.cwnd(), 12 * MSS);
}

#[test]
fn a_probe_respects_the_receivers_window() {
    let mut script = sent(Config { receive_window: Bytes(10 * MSS), ..config() }, 1_000, 0);
    script.receive(shallows_core::packet::AckSegment { window: 8_000, ..crate::script::ack(2 * MSS, &[]) });
    assert_eq!(script.sender.usable_window(), Bytes(8 * MSS));
    assert_eq!(expire(&mut script), [9]);
}

#[test]
fn a_loss_that_the_probe_itself_repairs_reduces_the_window() {
    let mut script = sent(config(), 10, 9);
    assert_eq!(expire(&mut script), [9]);
    script.wait(RTT);
    // The acknowledgement of the probe may belong to the original: the probe's episode continues.
    ack(&mut script, 10, &[]);
    assert_eq!(script.cwnd(), 12 * MSS);
    // §7.4.2: an acknowledgement of more data, and no duplicate for the original: the original was lost.
    script.write(6 * MSS);
    script.wait(RTT);
    ack(&mut script, 11, &[]);
    assert_eq!((script.cwnd(), script.ssthresh()), (2_500, 2_500), "half of the five that are in flight");
    assert_eq!(script.sender.phase(), Phase::Open);
}

#[test]
fn a_needless_probe_reduces_nothing() {
    let mut script = sent(config(), 10, 9);
    assert_eq!(expire(&mut script), [9]);
    script.wait(RTT);
    ack(&mut script, 10, &[]);
    script.write(6 * MSS);
    // §7.4.2, case 2: a duplicate without SACK, because both copies arrived.
    ack(&mut script, 10, &[]);
    script.wait(RTT);
    ack(&mut script, 11, &[]);
    assert_eq!(script.cwnd(), 13 * MSS);
}

#[test]
fn a_late_segment_is_given_a_quarter_of_the_round_trip() {
    let mut script = sent(config(), 10, 1);
    // 2 was sent with 1 and has arrived; reo_wnd = min_RTT / 4.
    assert_eq!(ack(&mut script, 1, &[(2, 3)]), NOTHING);
    assert_eq!(until_deadline(&script), RTT / 4);
    script.wait(RTT / 5);
    ack(&mut script, 3, &[]);
    assert_eq!(script.sender.stats().fast_recoveries, 0, "it was only late");

    let mut script = sent(config(), 10, 1);
    ack(&mut script, 1, &[(2, 3)]);
    assert_eq!(expire(&mut script), [1], "it was lost");
    assert_eq!((script.sender.stats().timeouts, script.sender.stats().fast_recoveries), (0, 1));
}

#[test]
fn without_reordering_three_selective_acknowledgements_are_enough() {
    // §6.2 step 4: reo_wnd is zero then.
    let mut script = sent(config(), 10, 1);
    assert_eq!(ack(&mut script, 1, &[(2, 4)]), NOTHING);
    assert_eq!(ack(&mut script, 1, &[(2, 5)]), [1]);
}

#[test]
fn once_reordering_was_seen_they_are_not() {
    let mut script = sent(config(), 20, 1);
    ack(&mut script, 1, &[(2, 3)]);
    // Step 3: 1 is below 2, which arrived before it.
    ack(&mut script, 3, &[]);
    for above in 5..=9 {
        assert_eq!(ack(&mut script, 3, &[(4, above)]).iter().find(|&&seq| seq == 3), None);
    }
    assert_eq!(script.sender.stats().fast_recoveries, 0);
    script.wait(RTT / 5);
    ack(&mut script, 10, &[]);
    assert_eq!(script.sender.stats().retransmits, 0);
}

#[test]
fn a_lost_acknowledgement_is_no_reordering() {
    // The blocks of one acknowledgement are processed together; the most recent block is first.
    let mut script = sent(config(), 10, 1);
    ack(&mut script, 1, &[(5, 6), (3, 4)]);
    // With reordering the sender would wait 25 µs more.
    assert_eq!(ack(&mut script, 1, &[(7, 8), (5, 6), (3, 4)]), [1, 2]);
}

#[test]
fn a_lost_retransmission_is_found_without_a_timeout() {
    // §3.2: 0 is lost, and so is its retransmission; new data that was sent later is delivered.
    let mut script = sent(config(), 1_000, 0);
    let mut later = ack(&mut script, 0, &[(1, 4)]);
    assert_eq!(later.remove(0), 0);
    for above in 5..=10 {
        later.extend(ack(&mut script, 0, &[(1, above)]));
    }
    // cwnd is five. Limited transmit and the room left by the last SACKed segments sent these.
    let last = *later.last().expect("new data was sent");
    assert!(last >= 10);
    script.wait(RTT);
    assert_eq!(ack(&mut script, 0, &[(1, last + 1)])[0], 0);
    assert_eq!(script.sender.stats().timeouts, 0);
    script.wait(RTT);
    assert!(!ack(&mut script, last + 1, &[]).contains(&0));
}

#[test]
fn a_segment_that_may_be_the_original_says_nothing_about_what_was_retransmitted() {
    // §6.2 step 2: 9 is retransmitted, and acknowledged 10 µs later, less than min_RTT: ambiguous with and without timestamps.
    for timestamps in [true, false] {
        let config = Config { timestamps, ..config() };
        let mut script = sent(config.clone(), 10, 8);
        assert_eq!(expire(&mut script), [9]);
        script.wait(Duration::from_micros(10));
        assert_eq!(ack(&mut script, 8, &[(9, 10)]), NOTHING, "8 was sent with the original");
        assert_eq!(script.sender.stats().fast_recoveries, 0);
        // After a round trip the retransmission is acknowledged, and 8 was sent before it.
        let mut script = sent(config, 10, 8);
        assert_eq!(expire(&mut script), [9]);
        script.wait(RTT);
        assert_eq!(ack(&mut script, 8, &[(9, 10)]), [8]);
    }
}

#[test]
fn the_timestamp_that_is_echoed_tells_an_original_from_what_was_retransmitted() {
    let mut script = sent(config(), 10, 8);
    assert_eq!(expire(&mut script), [9]);
    // 120 µs are more than min_RTT, but the echoed timestamp is older than the retransmission.
    script.wait(Duration::from_micros(120));
    let segment = crate::script::ack(8 * MSS, &[(9 * MSS, 10 * MSS)]);
    let tsecr = Instant(script.now.0 - Duration::from_micros(130).0);
    script.sender.on_ack(&script.config, script.now, &shallows_core::packet::AckSegment { tsecr, ..segment });
    assert!(script.transmits().is_empty());
    assert_eq!(script.sender.stats().fast_recoveries, 0);
}

#[test]
fn a_timeout_takes_for_lost_the_first_segment_and_what_is_old() {
    // §6.3: 0 to 9 were sent long ago, 10 and 11 just before the timer fired.
    let rto = RtoConfig { initial: RTT * 3, minimum: RTT * 3, ..config().rto };
    let mut script = sent(Config { rto, ..config() }, 10, 1);
    script.wait(RTT * 2);
    script.write(2 * MSS);
    assert_eq!(script.sender.sent(), 12 * MSS);
    // The probe timer, restarted by 11, fires first instead of the retransmission timer.
    assert_eq!(expire(&mut script), [11]);
    assert_eq!(expire(&mut script), [1]);
    assert_eq!((script.sender.stats().timeouts, script.cwnd()), (1, MSS));
    // All segments were sent at least 300 µs ago: only 1 is in the network.
    assert_eq!(script.pipe(), MSS);
}

#[test]
fn a_timeout_leaves_what_was_just_sent() {
    // The probe was sent and no second one follows: the retransmission timer fires 300 µs after it.
    let rto = RtoConfig { minimum: RTT * 3, granularity: Duration(1), ..config().rto };
    let mut script = sent(Config { rto, ..config() }, 10, 7);
    assert_eq!(expire(&mut script), [9]);
    script.wait(until_deadline(&script) - Duration::from_micros(1));
    script.write(2 * MSS);
    assert_eq!(expire(&mut script), [7]);
    // RACK.rtt is 100 µs: 10 and 11, sent a microsecond ago, are in the network, and 7 is again; 8 and 9 are lost.
    assert_eq!(script.pipe(), 3 * MSS);
}

#[test]
fn a_timeout_ends_fast_recovery_and_no_recovery_begins_before_its_end() {
    let mut script = sent(config(), 20, 0);
    assert_eq!(ack(&mut script, 0, &[(1, 4)])[0], 0);
    assert_eq!(script.sender.phase(), Phase::Recovery);
    while script.sender.stats().timeouts == 0 {
        expire(&mut script);
    }
    assert_eq!(script.sender.phase(), Phase::Timeout);
    script.wait(RTT);
    ack(&mut script, 1, &[(1, 4)]);
    ack(&mut script, 5, &[(6, 9)]);
    assert_eq!(script.sender.stats().fast_recoveries, 1);
}

#[test]
fn a_receiver_that_reneges_gets_everything_again() {
    let mut script = sent(config(), 10, 0);
    ack(&mut script, 0, &[(1, 10)]);
    script.wait(RTT);
    // The SACKed segments are not acknowledged with the first segment: the receiver has discarded them (RFC 2018 §8).
    ack(&mut script, 1, &[]);
    while script.sender.stats().timeouts == 0 {
        expire(&mut script);
    }
    let mut again = 1;
    for una in 2..=10 {
        script.wait(RTT);
        again += ack(&mut script, una, &[]).len();
    }
    assert_eq!(again, 9);
    assert!(script.sender.is_idle());
}

#[test]
fn recovery_sends_in_proportion_under_prr() {
    let recovery = Method::Rack(Some(Bound::SafeAck));
    let mut script = sent(Config { recovery, limited_transmit: false, ..config() }, 1_000, 0);
    ack(&mut script, 0, &[(1, 3)]);
    // ssthresh 5 of RecoverFS 10: ⌈1 · 5/10⌉ = 1 for the retransmission; six are in the network, then five …
    assert_eq!(ack(&mut script, 0, &[(1, 4)]), [0]);
    // … ⌈2 · 5/10⌉ − 1 = 0; ssthresh segments are in the network, and their number is kept from then on.
    let sent: Vec<_> = (5..=8).map(|above| ack(&mut script, 0, &[(1, above)])).collect();
    assert_eq!(sent, [vec![], vec![], vec![10], vec![11]]);
}

/// Returns the configuration of [`config()`] with reports of duplicate data (RFC 2883).
fn heeding() -> Config {
    Config { dsack: true, ..config() }
}

/// SACKs the second of two segments that were sent together. Returns how long the sender then waits for the first.
fn patience(script: &mut Scripted) -> Duration {
    let una = script.sender.acked() / MSS;
    ack(script, una, &[(una + 1, una + 2)]);
    until_deadline(script)
}

/// Acknowledges all sent data, and waits for a round trip.
fn next_round(script: &mut Scripted) {
    ack(script, script.sender.sent() / MSS, &[]);
    script.wait(RTT);
}

#[test]
fn each_round_with_something_received_again_widens_the_window_by_a_quarter_of_the_round_trip() {
    // §6.2 step 4: reo_wnd_mult grows once until SND.NXT of that time is acknowledged; SRTT is the limit.
    let mut script = sent(heeding(), 100_000, 1);
    for quarters in 2..=6 {
        let una = script.sender.acked() / MSS;
        ack(&mut script, una, &[(0, 1)]);
        ack(&mut script, una, &[(0, 1)]);
        assert_eq!(patience(&mut script), (RTT / 4 * quarters).min(RTT));
        ack(&mut script, una + 2, &[]);
        script.wait(RTT);
        next_round(&mut script);
    }

    let mut script = sent(config(), 1_000, 1);
    ack(&mut script, 1, &[(0, 1)]);
    assert_eq!(patience(&mut script), RTT / 4, "without the key");
}

#[test]
fn sixteen_recoveries_later_the_window_is_the_first_one_again() {
    let mut script = sent(heeding(), 100_000, 1);
    ack(&mut script, 1, &[(0, 1)]);
    for recoveries in 0..16 {
        assert_eq!(patience(&mut script), RTT / 2, "after {recoveries}");
        expire(&mut script);
        assert_eq!(script.sender.phase(), Phase::Recovery);
        script.wait(RTT);
        next_round(&mut script);
        assert_eq!(script.sender.stats().fast_recoveries, recoveries + 1);
    }
    assert_eq!(patience(&mut script), RTT / 4);
}

#[test]
fn another_report_keeps_the_window_for_sixteen_recoveries_more() {
    let mut script = sent(heeding(), 100_000, 1);
    ack(&mut script, 1, &[(0, 1)]);
    for recoveries in 0..26 {
        if recoveries == 10 {
            let una = script.sender.acked() / MSS;
            ack(&mut script, una, &[(0, 1)]);
        }
        assert_eq!(
            patience(&mut script),
            RTT / 4 * if recoveries < 10 { 2 } else { 3 },
            "after {recoveries}"
        );
        expire(&mut script);
        script.wait(RTT);
        next_round(&mut script);
    }
    assert_eq!(patience(&mut script), RTT / 4);
}

#[test]
fn a_probe_that_is_reported_to_have_come_again_reduces_nothing() {
    // §7.4.2, case 1; in one acknowledgement if a delayed one of the original also covers the probe.
    for (key, at_once, expected) in
        [(true, false, 13 * MSS), (true, true, 13 * MSS), (false, false, 2_500), (false, true, 2_500)]
    {
        let mut script = sent(Config { dsack: key, ..config() }, 10, 9);
        assert_eq!(expire(&mut script), [9]);
        script.wait(RTT);
        let before = if at_once { vec![] } else { ack(&mut script, 10, &[]) };
        assert_eq!(before, NOTHING);
        ack(&mut script, 10, &[(9, 10)]);
        script.write(6 * MSS);
        script.wait(RTT);
        ack(&mut script, 11, &[]);
        assert_eq!(script.cwnd(), expected, "{key}, {at_once}");
    }
}

#[test]
fn a_report_of_something_else_leaves_the_probe_to_be_answered() {
    let mut script = sent(heeding(), 10, 9);
    assert_eq!(expire(&mut script), [9]);
    script.wait(RTT);
    ack(&mut script, 10, &[(8, 9)]);
    script.write(6 * MSS);
    script.wait(RTT);
    ack(&mut script, 11, &[]);
    assert_eq!(script.cwnd(), 2_500);
}

#[test]
fn a_probe_and_what_follows_it_are_undone_together_or_not_at_all() {
    // 9 is retransmitted as a probe and arrives twice. Then 8, which was lost, is retransmitted; its copy is not reported.
    let mut script = sent(heeding(), 10, 8);
    assert_eq!(expire(&mut script), [9]);
    script.wait(RTT);
    assert_eq!(ack(&mut script, 8, &[(9, 10)]), [8]);
    let reduced = script.cwnd();
    ack(&mut script, 8, &[(9, 10), (9, 10)]);
    assert_eq!((script.sender.phase(), script.cwnd()), (Phase::Recovery, reduced));
    // If 8 was late instead, all retransmissions are now reported.
    ack(&mut script, 10, &[(8, 9)]);
    assert!(script.cwnd() > reduced);
}

#[test]
fn limited_transmit_sends_as_much_as_has_left_the_network() {
    // RFC 6675 §5 step 3.3.
    for (limited_transmit, sent_early) in [(true, vec![10, 11]), (false, vec![])] {
        let mut script = sent(Config { limited_transmit, ..config() }, 1_000, 0);
        let early: Vec<u64> = (2..=3).flat_map(|above| ack(&mut script, 0, &[(1, above)])).collect();
        assert_eq!(early, sent_early);
    }
}

#[test]
fn new_data_after_silence_is_probed_for_like_any_other() {
    let mut script = sent(config(), 10, 10);
    assert_eq!(script.sender.deadline(), None);
    script.write(3 * MSS);
    assert_eq!(until_deadline(&script), RTT * 2);
}

#[test]
fn a_fin_is_retransmitted_with_its_segment() {
    // RFC 9293 §3.4: the FIN is a byte of the sequence space, and the segment ends behind it.
    let mut script = Scripted::new(Config { fin: true, ..config() });
    script.sender.write(&script.config, script.now, MSS);
    script.sender.close(&script.config);
    for _ in 0..2 {
        let transmits = script.transmits();
        assert_eq!(transmits.len(), 1);
        assert!(transmits[0].segment.len == 1_000 && transmits[0].segment.flags.contains(Flags::FIN));
        script.now = deadline(&script);
        script.sender.on_timer(&script.config, script.now);
    }
}

#[test]
fn its_host_holds_back_what_it_could_send_and_all_of_a_repair() {
    let held = |script: &mut Scripted| {
        script.sender.hold(&script.config, true);
        script.sender.is_held()
    };
    let config = Config { limited_transmit: false, ..config() };
    for recovery in [Method::Rack(None), Method::Sack(None)] {
        let mut script = sent(Config { recovery, ..config.clone() }, 1_000, 0);
        assert!(!held(&mut script), "{recovery:?}: its window does");
        ack(&mut script, 0, &[(1, 4)]);
        assert_eq!(script.sender.phase(), Phase::Recovery);
        assert!(held(&mut script), "{recovery:?}");
    }
    // A segment is missing, and only RACK's state handles every segment without that.
    let mut script = sent(Config { recovery: Method::Sack(None), ..config }, 1_000, 0);
    ack(&mut script, 0, &[(1, 2)]);
    assert_eq!(script.sender.phase(), Phase::Open);
    assert!(held(&mut script));
}

#[test]
fn the_retransmission_timer_starts_anew_when_the_first_segment_is_retransmitted() {
    // Linux, `tcp_xmit_retransmit_queue`: from the loss on, not from the transmission a round trip before.
    let mut script = sent(config(), 10, 0);
    assert_eq!(until_deadline(&script), Duration::from_secs(1) - RTT);
    assert_eq!(ack(&mut script, 0, &[(1, 4)])[0], 0);
    assert_eq!(until_deadline(&script), script.sender.rto());
}
