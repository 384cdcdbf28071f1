//! Loss recovery with selective acknowledgements (RFC 6675), rule by rule.
//!
//! Numbers in names and comments are segments: segment 3 is the bytes 3,000 to 3,999.

use crate::script::{MSS, NOTHING, Scripted, reno};
use shallows_core::Bytes;
use shallows_transport::{Config, Phase, SackAfterTimeout};

/// Returns a sender that has sent `window` segments and has more to send.
fn sent(window: u64) -> Scripted {
    let config = Config { initial_window: Bytes(window * MSS), ..reno() };
    Scripted::started(config, 1_000 * MSS)
}

/// Returns a sender that has sent `window` segments and has no more to send.
fn sent_all(window: u64) -> Scripted {
    let config = Config { initial_window: Bytes(window * MSS), ..reno() };
    Scripted::started(config, window * MSS)
}

/// Acknowledges all segments below `una` and the `sacked` ones. Returns the segments sent.
fn ack(script: &mut Scripted, una: u64, sacked: &[(u64, u64)]) -> Vec<u64> {
    let ranges: Vec<_> = sacked.iter().map(|&(start, end)| (start * MSS, end * MSS)).collect();
    script.ack(una * MSS, &ranges).iter().map(|seq| seq / MSS).collect()
}

#[test]
fn the_third_duplicate_begins_recovery() {
    let mut script = sent(10);
    ack(&mut script, 0, &[(1, 2)]);
    ack(&mut script, 0, &[(1, 3)]);
    assert_eq!(script.sender.phase(), Phase::Open);
    assert!(!script.sender.in_fast_recovery());
    // §5 step 1 and steps 4.1 to 4.4: ssthresh = cwnd = 10 / 2. Segments 0 to 11 are outstanding, three of them
    // SACKed: with segment 0 lost and retransmitted, pipe = (12 − 1 − 3) + 1 = 9 > cwnd.
    assert_eq!(ack(&mut script, 0, &[(1, 4)]), [0]);
    assert!(script.sender.in_fast_recovery());
    assert_eq!(script.sender.phase(), Phase::Recovery);
    assert_eq!((script.cwnd(), script.ssthresh(), script.pipe()), (5 * MSS, 5 * MSS, 9 * MSS));
    assert_eq!(script.sender.stats().fast_recoveries, 1);
}

#[test]
fn one_acknowledgement_that_proves_the_loss_is_enough() {
    // §5 step 2: acknowledgements were lost, but more than two segments lie above segment 0.
    let mut script = sent(10);
    assert_eq!(ack(&mut script, 0, &[(1, 4)]), [0]);
    assert_eq!(script.ssthresh(), 5 * MSS);
}

#[test]
fn three_separate_blocks_prove_a_loss_however_small() {
    let mut script = sent(10);
    let sent = script.ack(0, &[(1_000, 1_001), (3_000, 3_001), (5_000, 5_001)]);
    assert_eq!(sent[0], 0);
    assert!(script.sender.in_fast_recovery());
}

#[test]
fn duplicates_without_news_do_not_count() {
    // §2: a duplicate acknowledgement selectively acknowledges new data.
    let mut script = sent(10);
    for _ in 0..5 {
        assert_eq!(ack(&mut script, 0, &[]), NOTHING);
    }
    ack(&mut script, 0, &[(1, 2)]);
    for _ in 0..5 {
        assert_eq!(ack(&mut script, 0, &[(1, 2)]), NOTHING);
    }
    assert!(!script.sender.in_fast_recovery());
}

#[test]
fn three_duplicates_count_even_if_their_segments_are_small() {
    // §5 step 1: segments of 100 bytes in one block; `IsLost` would need more than 2,000 bytes.
    let small = || {
        let mut script = Scripted::new(reno());
        for _ in 0..10 {
            script.write(100);
        }
        script
    };
    let mut script = small();
    script.ack(0, &[(100, 200)]);
    script.ack(0, &[(100, 300)]);
    assert!(!script.sender.in_fast_recovery());
    assert_eq!(script.ack(0, &[(100, 400)])[0], 0);
    assert!(script.sender.in_fast_recovery());
    // §5: an acknowledgement of new data restarts the count.
    let mut script = small();
    script.ack(0, &[(100, 200)]);
    script.ack(0, &[(100, 300)]);
    script.ack(300, &[]);
    script.ack(300, &[(400, 500)]);
    script.ack(300, &[(400, 600)]);
    assert!(!script.sender.in_fast_recovery());
    script.ack(300, &[(400, 700)]);
    assert!(script.sender.in_fast_recovery());
}

#[test]
fn a_higher_duplicate_threshold_tolerates_more_reordering() {
    let config = Config { duplicate_threshold: 5, ..reno() };
    let mut script = Scripted::started(config, 1_000 * MSS);
    for above in 2..=5 {
        ack(&mut script, 0, &[(1, above)]);
    }
    assert!(!script.sender.in_fast_recovery());
    ack(&mut script, 0, &[(1, 6)]);
    assert!(script.sender.in_fast_recovery());
}

#[test]
fn recovery_follows_the_pipe() {
    // Twenty segments; 0, 5 and 6 are lost. The others are acknowledged one by one.
    let mut script = sent_all(20);
    assert_eq!(ack(&mut script, 0, &[(1, 2)]), NOTHING);
    assert_eq!(ack(&mut script, 0, &[(1, 3)]), NOTHING);
    // cwnd = 10; pipe = 16 not lost and not SACKed (4 to 19) + segment 0 again = 17.
    assert_eq!(ack(&mut script, 0, &[(1, 4)]), [0]);
    assert_eq!((script.cwnd(), script.pipe()), (10 * MSS, 17 * MSS));
    assert_eq!(ack(&mut script, 0, &[(1, 5)]), NOTHING);
    // 7 and 8: pipe 15, 14. With 9, three segments lie above 5 and 6, which are lost: 13 − 2 = 11.
    assert_eq!(ack(&mut script, 0, &[(7, 8), (1, 5)]), NOTHING);
    assert_eq!(ack(&mut script, 0, &[(7, 9), (1, 5)]), NOTHING);
    assert_eq!(ack(&mut script, 0, &[(7, 10), (1, 5)]), NOTHING);
    assert_eq!(script.pipe(), 11 * MSS);
    // 10: pipe 10, cwnd 10. 11: pipe 9, so one segment may be sent, the first lost hole (§4 NextSeg rule 1).
    assert_eq!(ack(&mut script, 0, &[(7, 11), (1, 5)]), NOTHING);
    assert_eq!(ack(&mut script, 0, &[(7, 12), (1, 5)]), [5]);
    assert_eq!(ack(&mut script, 0, &[(7, 13), (1, 5)]), [6]);
    // The retransmission of 0 arrives: pipe = 7 in flight (13 to 19) + 5 and 6 again = 9. There is no new data and no
    // other hole below the highest SACKed segment; rule 4 sends the last segment again, once.
    assert_eq!(ack(&mut script, 5, &[(7, 13)]), [19]);
    assert_eq!(script.pipe(), 10 * MSS);
    assert_eq!(ack(&mut script, 5, &[(7, 14)]), NOTHING);
    assert_eq!(ack(&mut script, 5, &[(7, 15)]), NOTHING);
    assert_eq!(ack(&mut script, 6, &[(7, 15)]), NOTHING);
    assert_eq!(ack(&mut script, 20, &[]), NOTHING);
    assert!(!script.sender.in_fast_recovery());
    assert_eq!(script.sender.stats().retransmits, 4);
    assert_eq!(script.cwnd(), 10 * MSS);
}

#[test]
fn recovery_sends_when_there_is_room_for_a_full_segment() {
    let mut script = sent(10);
    ack(&mut script, 0, &[(1, 4)]);
    // §5 step C: cwnd 5; pipe = 3.5 segments + segment 0 again.
    assert_eq!(script.ack(0, &[(MSS, 6_500)]), NOTHING);
    assert_eq!(script.pipe(), 4_500);
    assert_eq!(script.ack(0, &[(MSS, 7_000)]), [10 * MSS]);
}

#[test]
fn new_data_goes_before_holes_that_may_not_be_lost() {
    // Segment 0 is lost, and only two segments lie above the hole at 11.
    let mut script = sent(14);
    ack(&mut script, 0, &[(1, 11)]);
    assert!(script.sender.in_fast_recovery());
    // cwnd 7; pipe = 3 (11 to 13) + 1 = 4: three more may be sent. §4 NextSeg rule 2.
    assert_eq!((script.cwnd(), script.pipe()), (7 * MSS, 7 * MSS));
    assert_eq!(script.sender.sent(), 17 * MSS);
    assert_eq!(ack(&mut script, 0, &[(12, 14), (1, 11)]), [17, 18]);
    // The hole is not lost either when it is the next expected segment: pipe = 8 − 2, and one more may be sent.
    assert_eq!(ack(&mut script, 11, &[(12, 14)]), [19]);
}

#[test]
fn without_new_data_a_hole_that_may_not_be_lost_is_retransmitted() {
    let mut script = sent_all(14);
    // Rule 4 applies at once: no other segment may be sent, pipe 4 < 7; the last segment, once.
    assert_eq!(ack(&mut script, 0, &[(1, 11)]), [0]);
    // §4 NextSeg rule 3: 11 is below the highest SACKed, though not lost.
    assert_eq!(ack(&mut script, 0, &[(12, 13), (1, 11)]), [11]);
    assert_eq!(ack(&mut script, 0, &[(12, 14), (1, 11)]), NOTHING);
}

#[test]
fn the_rescue_retransmission_waits_until_the_first_one_has_arrived_and_comes_once() {
    // Segments 0, 8 and 9 are lost; no data above 8 proves it.
    let mut script = sent_all(10);
    assert_eq!(ack(&mut script, 0, &[(1, 8)]), [0]);
    // §4 NextSeg rule 4: HighACK > RescueRxt; the rescue must include the highest outstanding byte.
    assert_eq!(ack(&mut script, 8, &[]), [9]);
    // The acknowledgement of 9 reveals the hole; rule 3 fills it.
    assert_eq!(ack(&mut script, 8, &[(9, 10)]), [8]);
    assert_eq!(ack(&mut script, 10, &[]), NOTHING);
    assert_eq!(script.sender.stats().timeouts, 0);
}

#[test]
fn the_rescue_retransmission_waits_for_more_than_the_first_one() {
    let mut script = sent_all(11);
    script.ack(MSS, &[]);
    // Segments 1, 2 and 10 are lost, and 1 is retransmitted when §4 NextSeg rule 4 first applies.
    assert_eq!(ack(&mut script, 1, &[(3, 10)]), [1, 2]);
    // HighACK = RescueRxt: no rescue yet.
    assert_eq!(ack(&mut script, 2, &[(3, 10)]), NOTHING);
    assert_eq!(ack(&mut script, 10, &[]), [10]);
}

#[test]
fn partial_acknowledgements_neither_grow_nor_cut_the_window() {
    let mut script = sent(20);
    ack(&mut script, 0, &[(1, 4), (5, 9), (10, 15)]);
    let cwnd = script.cwnd();
    assert_eq!(cwnd, 10 * MSS);
    ack(&mut script, 4, &[(5, 9), (10, 15)]);
    ack(&mut script, 9, &[(10, 18)]);
    assert_eq!(script.cwnd(), cwnd);
    assert_eq!(script.sender.stats().fast_recoveries, 1);
}

#[test]
fn recovery_ends_with_everything_that_was_outstanding_at_its_start() {
    let mut script = sent(10);
    ack(&mut script, 0, &[(1, 9)]);
    let recovery_point = 10;
    ack(&mut script, recovery_point - 1, &[]);
    assert!(script.sender.in_fast_recovery());
    ack(&mut script, recovery_point, &[]);
    assert!(!script.sender.in_fast_recovery());
    assert_eq!(script.cwnd(), 5 * MSS, "the acknowledgement that ends it does not grow cwnd");
}

#[test]
fn a_loss_in_a_later_window_is_a_second_recovery() {
    let mut script = sent(20);
    ack(&mut script, 0, &[(1, 20)]);
    let outstanding = script.sender.sent() / MSS;
    ack(&mut script, outstanding, &[]);
    let cwnd = script.cwnd();
    let first = script.sender.acked() / MSS;
    ack(&mut script, first, &[(first + 1, first + 4)]);
    assert_eq!(script.sender.stats().fast_recoveries, 2);
    assert_eq!(script.cwnd(), cwnd / 2);
}

#[test]
fn after_a_timeout_only_the_holes_are_retransmitted() {
    let mut script = sent(10);
    ack(&mut script, 0, &[(2, 3)]);
    ack(&mut script, 0, &[(2, 3), (5, 6)]);
    assert_eq!(script.time_out(), [0]);
    assert_eq!((script.cwnd(), script.pipe()), (MSS, MSS));
    // §5.1: slow start fills the holes.
    assert_eq!(ack(&mut script, 1, &[(2, 3), (5, 6)]), [1, 3]);
    assert_eq!(ack(&mut script, 3, &[(5, 6)]), [4, 6]);
}

#[test]
fn after_a_timeout_what_was_sacked_may_be_forgotten() {
    let mut script =
        Scripted::started(Config { sack_after_timeout: SackAfterTimeout::Forgotten, ..reno() }, 1_000 * MSS);
    ack(&mut script, 0, &[(2, 3)]);
    assert_eq!(script.time_out(), [0]);
    assert_eq!(ack(&mut script, 1, &[]), [1, 2]);
}

#[test]
fn after_a_timeout_no_recovery_begins_before_what_was_outstanding_is_acknowledged() {
    let mut script = sent(10);
    script.time_out();
    // §5.1: these duplicates are caused by segments from before the timeout.
    ack(&mut script, 0, &[(1, 2), (3, 4), (5, 9)]);
    assert!(!script.sender.in_fast_recovery());
    assert_eq!(script.cwnd(), MSS);
    ack(&mut script, 10, &[]);
    let first = script.sender.acked() / MSS;
    assert!(script.sender.sent() / MSS > first);
    script.write(0);
    while script.sender.sent() / MSS < first + 8 {
        let next = script.sender.sent() / MSS;
        ack(&mut script, next, &[]);
    }
    let first = script.sender.acked() / MSS;
    ack(&mut script, first, &[(first + 1, first + 4)]);
    assert!(script.sender.in_fast_recovery());
}

#[test]
fn what_was_retransmitted_in_one_recovery_is_not_in_the_pipe_after_it() {
    // Segments 0 and 10 of twelve are lost; rule 3 sends 10 again, which lies beyond the recovery point.
    let mut script = Scripted::started(reno(), 12 * MSS);
    assert_eq!(ack(&mut script, 0, &[(1, 10)]), [0, 10, 11]);
    assert_eq!(ack(&mut script, 0, &[(11, 12), (1, 10)]), [10]);
    ack(&mut script, 10, &[(11, 12)]);
    assert!(!script.sender.in_fast_recovery());
    // Without a duplicate, FlightSize counts: cwnd is 5, and segments 10 to 14 are outstanding.
    assert_eq!(script.write(10 * MSS), [12 * MSS, 13 * MSS, 14 * MSS]);
    // With a duplicate, pipe counts, and §5 step 3.1 resets HighRxt: 10, 13 and 14 are in the network.
    assert_eq!(ack(&mut script, 10, &[(11, 13)]), [15, 16]);
}

#[test]
fn without_a_duplicate_the_pipe_sends_nothing_beyond_cwnd() {
    let mut script = Scripted::started(reno(), 13 * MSS);
    assert_eq!(ack(&mut script, 0, &[(1, 10)]), [0, 10, 11, 12]);
    assert_eq!(ack(&mut script, 0, &[(11, 13), (1, 10)]), [10]);
    ack(&mut script, 10, &[(11, 13)]);
    assert!(!script.sender.in_fast_recovery());
    // RFC 5681: 10 to 14 are outstanding, which is cwnd, although only three of them are in the network.
    assert_eq!(script.write(10 * MSS), [13 * MSS, 14 * MSS]);
}

#[test]
fn a_first_retransmission_that_became_needless_is_not_sent_later() {
    let mut script = sent(10);
    let hand_over = |script: &mut Scripted, number: u64, sacked: &[(u64, u64)]| {
        script.sender.on_ack(&script.config, script.now, &crate::script::ack(number, sacked));
    };
    // The recovery begins and ends before any segment is sent.
    hand_over(&mut script, 0, &[(MSS, 4 * MSS)]);
    hand_over(&mut script, 10 * MSS, &[]);
    let first = script.sender.sent();
    script.transmits();
    hand_over(&mut script, first, &[(first + MSS, first + 2 * MSS)]);
    assert!(script.transmits().iter().all(|transmit| !transmit.retransmission));
}

#[test]
fn a_timeout_halves_what_was_not_sacked() {
    // Segment 0 is lost twice. Meanwhile each duplicate allows a new segment, a hundred beyond the window of ten.
    let mut script = sent(10);
    for above in 2..=110 {
        ack(&mut script, 0, &[(1, above)]);
    }
    let in_network = script.sender.sent() - 109 * MSS;
    assert!(script.sender.sent() > 100 * MSS && in_network <= 6 * MSS);
    script.time_out();
    assert_eq!(script.ssthresh(), in_network / 2, "not half of more than a hundred segments");
}

#[test]
fn a_timeout_ends_recovery() {
    let mut script = sent(20);
    ack(&mut script, 0, &[(1, 10)]);
    assert!(script.sender.in_fast_recovery());
    assert_eq!(script.time_out(), [0]);
    assert!(!script.sender.in_fast_recovery());
    assert_eq!(script.cwnd(), MSS);
}

#[test]
fn a_receiver_that_reneges_gets_everything_again() {
    let mut script = sent_all(10);
    ack(&mut script, 0, &[(1, 3)]);
    // The receiver acknowledges only segment 0: it has discarded 1 and 2 (RFC 2018 §8).
    ack(&mut script, 1, &[]);
    assert_eq!(script.time_out(), [MSS]);
    assert_eq!(ack(&mut script, 2, &[]), [2, 3]);
}

#[test]
fn acknowledgements_that_make_no_sense_are_ignored() {
    let mut script = sent(10);
    assert_eq!(ack(&mut script, 11, &[]), NOTHING);
    assert_eq!(ack(&mut script, 0, &[(11, 12)]), NOTHING);
    // A block that begins at the acknowledgement number has no meaning, either.
    for above in 1..=5 {
        assert_eq!(ack(&mut script, 0, &[(0, above)]), NOTHING);
    }
    // Nor does an empty block.
    for at in 1..=5 {
        assert_eq!(ack(&mut script, 0, &[(at, at)]), NOTHING);
    }
    assert_eq!((script.sender.acked(), script.pipe()), (0, 10 * MSS));
}

#[test]
fn a_lost_retransmission_ends_in_a_timeout() {
    // §4 NextSeg sends no octet below HighRxt again, as §6 notes; RFC 8985 would detect the loss.
    let mut script = sent(10);
    for above in 2..=30 {
        let sent = script.sender.sent() / MSS;
        ack(&mut script, 0, &[(1, above.min(sent))]);
    }
    assert_eq!(script.sender.stats().retransmits, 1);
    assert_eq!(script.time_out(), [0]);
}
