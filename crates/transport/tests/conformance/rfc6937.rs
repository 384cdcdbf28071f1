//! Proportional rate reduction (RFC 6937 §3), in segments of 1,000 bytes.

use crate::script::{MSS, NOTHING, RTT, Scripted, reno};
use shallows_core::Bytes;
use shallows_transport::{Bound, Config, Method};

/// Returns a sender that has sent twenty segments and has more to send.
fn sent(bound: Option<Bound>) -> Scripted {
    with(Method::Sack(bound))
}

fn with(recovery: Method) -> Scripted {
    let config = Config { initial_window: Bytes(20 * MSS), recovery, limited_transmit: false, ..reno() };
    Scripted::started(config, 1_000 * MSS)
}

/// Acknowledges all segments below `una` and the `sacked` ones. Returns the segments sent.
fn ack(script: &mut Scripted, una: u64, sacked: &[(u64, u64)]) -> Vec<u64> {
    let ranges: Vec<_> = sacked.iter().map(|&(start, end)| (start * MSS, end * MSS)).collect();
    script.ack(una * MSS, &ranges).iter().map(|seq| seq / MSS).collect()
}

#[test]
fn with_one_loss_every_second_acknowledgement_sends_a_segment() {
    for bound in [Bound::SlowStart, Bound::Conservative] {
        let mut script = sent(Some(bound));
        ack(&mut script, 0, &[(1, 2)]);
        ack(&mut script, 0, &[(1, 3)]);
        // ssthresh 10 of RecoverFS 20. prr_delivered counts from this acknowledgement on; the retransmission is sent first.
        assert_eq!(ack(&mut script, 0, &[(1, 4)]), [0]);
        // sndcnt = ⌈prr_delivered · 10/20⌉ − prr_out: 1,000 − 1,000, 1,500 − 1,000, 2,000 − 1,000 …
        let sent: Vec<_> = (5..=14).map(|above| ack(&mut script, 0, &[(1, above)])).collect();
        let expected =
            [vec![], vec![], vec![20], vec![], vec![21], vec![], vec![22], vec![], vec![23], vec![]];
        assert_eq!(sent, expected, "{bound:?}");
    }
    // Without rate reduction: pipe is 17 after the third duplicate and 10 after seven more, which send nothing.
    let mut script = sent(None);
    for above in 2..=11 {
        let expected = if above == 4 { vec![0] } else { vec![] };
        assert_eq!(ack(&mut script, 0, &[(1, above)]), expected);
    }
    assert_eq!(ack(&mut script, 0, &[(1, 12)]), [20]);
}

#[test]
fn the_slow_start_bound_sends_a_segment_more_than_was_delivered() {
    let mut script = sent(Some(Bound::SlowStart));
    ack(&mut script, 0, &[(15, 16)]);
    ack(&mut script, 0, &[(15, 17)]);
    // 0 to 14 are lost, 18 and 19 are in the network: pipe 2 < ssthresh 10. limit = max(1 − 0, 1) + 1.
    assert_eq!(ack(&mut script, 0, &[(15, 18)]), [0, 1]);
    // limit = max(2 − 2, 1) + 1.
    assert_eq!(ack(&mut script, 0, &[(15, 19)]), [2, 3]);
}

#[test]
fn the_conservative_bound_sends_what_was_delivered() {
    let mut script = sent(Some(Bound::Conservative));
    ack(&mut script, 0, &[(15, 16)]);
    ack(&mut script, 0, &[(15, 17)]);
    // limit = prr_delivered − prr_out = 1 − 0, then 2 − 1.
    assert_eq!(ack(&mut script, 0, &[(15, 18)]), [0]);
    assert_eq!(ack(&mut script, 0, &[(15, 19)]), [1]);
}

#[test]
fn without_it_the_same_losses_release_a_burst() {
    let mut script = sent(None);
    ack(&mut script, 0, &[(15, 16)]);
    ack(&mut script, 0, &[(15, 17)]);
    // RFC 6675 §5 step C: cwnd 10, pipe 2.
    assert_eq!(ack(&mut script, 0, &[(15, 18)]), (0..8).collect::<Vec<_>>());
}

#[test]
fn the_network_is_filled_up_to_ssthresh_and_no_further() {
    let mut script = sent(Some(Bound::SlowStart));
    ack(&mut script, 0, &[(15, 17)]);
    ack(&mut script, 0, &[(15, 18)]);
    for una in 1..15 {
        ack(&mut script, una, &[(15, 20)]);
        assert!(script.pipe() <= 10 * MSS, "pipe {} after {una}", script.pipe());
    }
    assert_eq!(script.pipe(), 10 * MSS);
}

#[test]
fn an_acknowledgement_that_delivers_nothing_sends_nothing() {
    let mut script = sent(Some(Bound::SlowStart));
    ack(&mut script, 0, &[(15, 18)]);
    for _ in 0..5 {
        assert_eq!(ack(&mut script, 0, &[(15, 18)]), NOTHING);
    }
}

#[test]
fn recovery_ends_at_ssthresh() {
    let mut script = sent(Some(Bound::SlowStart));
    for above in 2..=20 {
        ack(&mut script, 0, &[(1, above)]);
    }
    ack(&mut script, 20, &[]);
    assert!(!script.sender.in_fast_recovery());
    assert_eq!((script.cwnd(), script.ssthresh()), (10 * MSS, 10 * MSS));
}

#[test]
fn what_was_selectively_acknowledged_counts_as_delivered_once() {
    let mut script = sent(Some(Bound::Conservative));
    // 1 to 6 are acknowledged at once: ⌈6 · 10/20⌉ = 3, one of which is the retransmission.
    assert_eq!(ack(&mut script, 0, &[(1, 7)]), [0, 20, 21]);
    // The retransmission delivers one segment, although the acknowledgement advances by seven: ⌈7 · 10/20⌉ = 3.5 minus 3 is
    // less than a segment. One more delivered segment makes four.
    assert_eq!(ack(&mut script, 7, &[]), NOTHING);
    assert_eq!(ack(&mut script, 8, &[]), [22]);
}

#[test]
fn the_proportion_is_rounded_up() {
    // 10,999 bytes in eleven segments; 0 and 1 are lost: ssthresh = 5,499.
    let config = Config {
        initial_window: Bytes(20 * MSS),
        recovery: Method::Sack(Some(Bound::Conservative)),
        ..reno()
    };
    let mut script = Scripted::started(config, 10_999);
    // ⌈3,000 · 5,499 / 10,999⌉ = 1,500, one segment of which is the first retransmission.
    assert_eq!(ack(&mut script, 0, &[(2, 5)]), [0]);
    assert_eq!(script.ssthresh(), 5_499);
    // ⌈4,000 · 5,499 / 10,999⌉ = ⌈1,999.8⌉: exactly one more segment.
    assert_eq!(ack(&mut script, 0, &[(2, 6)]), [1]);
}

#[test]
fn with_ssthresh_in_the_network_nothing_more_is_sent() {
    // 1 to 9 are acknowledged at once: ten segments are left in the network, which is ssthresh.
    let mut script = sent(Some(Bound::SlowStart));
    assert_eq!(ack(&mut script, 0, &[(1, 10)]), [0]);
}

#[test]
fn recover_fs_is_what_is_outstanding_and_not_all_that_was_sent() {
    // 1 to 21 are outstanding: RecoverFS = 21, ssthresh = 10.5.
    let mut script = sent(Some(Bound::Conservative));
    assert_eq!(ack(&mut script, 1, &[]), [20, 21]);
    // ⌈3 · 10.5/21⌉ = 1.5 segments, one of which is the retransmission; ⌈4 · 10.5/21⌉ = 2.
    assert_eq!(ack(&mut script, 1, &[(2, 5)]), [1]);
    assert_eq!(ack(&mut script, 1, &[(2, 6)]), [22]);
}

#[test]
fn a_safe_acknowledgement_sends_a_segment_more_than_was_delivered_and_no_other() {
    // RFC 9937 §6.2.
    for recovery in [Method::Sack(Some(Bound::SafeAck)), Method::Rack(Some(Bound::SafeAck))] {
        let mut script = with(recovery);
        script.wait(RTT);
        ack(&mut script, 0, &[(15, 16)]);
        ack(&mut script, 0, &[(15, 17)]);
        // 0 to 14 are lost, 18 and 19 are in the network: max(1 − 0, 1), because SND.UNA does not advance.
        assert_eq!(ack(&mut script, 0, &[(15, 18)]), [0], "{recovery:?}");
        assert_eq!(ack(&mut script, 0, &[(15, 19)]), [1], "{recovery:?}");
        // SND.UNA advances, and no further segment is lost: max(3 − 2, 1) + 1.
        assert_eq!(ack(&mut script, 1, &[(15, 19)]), [2, 3], "{recovery:?}");
    }
}
