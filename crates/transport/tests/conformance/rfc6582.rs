//! NewReno fast recovery, without selective acknowledgements (RFC 6582), rule by rule.
//!
//! Numbers in names and comments are segments: segment 3 is the bytes 3,000 to 3,999.

use crate::script::{MSS, NOTHING, Scripted, without_sack};
use shallows_core::{Bytes, Duration};
use shallows_transport::{Config, FullAck, Method};

/// Returns a sender that has sent `window` segments and has more to send.
fn sent(window: u64) -> Scripted {
    started(window, 1_000)
}

fn started(window: u64, written: u64) -> Scripted {
    let config = Config { initial_window: Bytes(window * MSS), ..without_sack(Method::NewReno) };
    Scripted::started(config, written * MSS)
}

/// Acknowledges all segments below `una`. Returns the segments sent.
fn ack(script: &mut Scripted, una: u64) -> Vec<u64> {
    segments(script.ack(una * MSS, &[]))
}

/// Delivers `count` duplicates. Returns the segments sent.
fn duplicates(script: &mut Scripted, una: u64, count: u32) -> Vec<u64> {
    segments(script.duplicates(una * MSS, count))
}

fn segments(sent: Vec<u64>) -> Vec<u64> {
    sent.iter().map(|seq| seq / MSS).collect()
}

#[test]
fn the_third_duplicate_retransmits_and_each_one_inflates_the_window() {
    let mut script = sent(10);
    assert_eq!(duplicates(&mut script, 0, 2), NOTHING);
    // §3.2 step 2 and RFC 5681 §3.2 steps 2 and 3: ssthresh = 10 / 2, window = ssthresh + 3.
    assert_eq!(duplicates(&mut script, 0, 1), [0]);
    assert!(script.sender.in_fast_recovery());
    assert_eq!((script.cwnd(), script.ssthresh(), script.inflated()), (5 * MSS, 5 * MSS, 8 * MSS));
    // Step 4: windows of 9 and 10 segments do not exceed the outstanding data; 11 allow one segment.
    assert_eq!(duplicates(&mut script, 0, 2), NOTHING);
    assert_eq!(duplicates(&mut script, 0, 1), [10]);
    assert_eq!(duplicates(&mut script, 0, 1), [11]);
}

#[test]
fn a_partial_acknowledgement_retransmits_the_next_hole_and_deflates() {
    // Segments 0 and 10 of twenty are lost: 18 duplicates, three of which begin recovery at ssthresh = 10.
    let mut script = sent(20);
    let sent = duplicates(&mut script, 0, 18);
    // The window is 10 + 18: eight new segments in addition to the retransmission.
    assert_eq!(sent, [vec![0], (20..28).collect()].concat());
    assert_eq!(script.inflated(), 28 * MSS);
    // §3.2 step 3: minus the ten that are acknowledged, plus one: 19. 10 to 27 are outstanding, and one may be sent.
    assert_eq!(ack(&mut script, 10), [10, 28]);
    assert_eq!((script.inflated(), script.cwnd()), (19 * MSS, 10 * MSS));
    assert!(script.sender.in_fast_recovery());
}

#[test]
fn a_partial_acknowledgement_of_less_than_a_segment_adds_nothing_back() {
    let mut script = sent(10);
    duplicates(&mut script, 0, 9);
    assert_eq!(script.inflated(), 14 * MSS);
    // §3.2 step 3: "If the partial ACK acknowledges at least one SMSS of new data, then add back SMSS bytes".
    script.ack(999, &[]);
    assert_eq!(script.inflated(), 14 * MSS - 999);
    script.ack(1_999, &[]);
    assert_eq!(script.inflated(), 14 * MSS - 999);
}

#[test]
fn deflation_leaves_one_segment() {
    // All but three duplicates are lost: 5 + 3 − 9 + 1 = 0 segments.
    let mut script = sent(10);
    duplicates(&mut script, 0, 3);
    assert_eq!(ack(&mut script, 9), [9]);
    assert_eq!(script.inflated(), MSS);
}

#[test]
fn a_full_acknowledgement_ends_recovery_without_a_burst() {
    // §3.2 step 3, the first choice: min(ssthresh, max(FlightSize, SMSS) + SMSS).
    let mut script = started(10, 10);
    duplicates(&mut script, 0, 3);
    ack(&mut script, 10);
    assert!(!script.sender.in_fast_recovery());
    // No segment is in flight: one, plus one.
    assert_eq!((script.cwnd(), script.ssthresh()), (2 * MSS, 5 * MSS));

    let mut script = sent(10);
    assert_eq!(duplicates(&mut script, 0, 9), [0, 10, 11, 12, 13]);
    // Four are in flight: min(5, 4 + 1).
    assert_eq!(ack(&mut script, 10), [14]);
    assert_eq!((script.cwnd(), script.inflated()), (5 * MSS, 5 * MSS));
}

#[test]
fn a_full_acknowledgement_may_leave_ssthresh_whatever_is_in_flight() {
    // §3.2 step 3, the second choice; nothing is in flight.
    let config = Config { full_ack: FullAck::Ssthresh, ..without_sack(Method::NewReno) };
    let config = Config { initial_window: Bytes(10 * MSS), ..config };
    let mut script = Scripted::started(config, 10 * MSS);
    duplicates(&mut script, 0, 3);
    ack(&mut script, 10);
    assert_eq!((script.cwnd(), script.ssthresh()), (5 * MSS, 5 * MSS));
}

#[test]
fn several_losses_of_a_window_halve_it_once() {
    // Segments 0, 5 and 10 of twenty.
    let mut script = sent(20);
    duplicates(&mut script, 0, 17);
    assert_eq!(ack(&mut script, 5)[0], 5);
    assert_eq!(ack(&mut script, 10)[0], 10);
    ack(&mut script, 20);
    assert!(!script.sender.in_fast_recovery());
    let stats = script.sender.stats();
    assert_eq!((stats.fast_recoveries, stats.retransmits, stats.timeouts), (1, 3, 0));
    assert_eq!(script.ssthresh(), 10 * MSS);
}

#[test]
fn only_the_first_partial_acknowledgement_restarts_the_timer() {
    let mut script = sent(30);
    duplicates(&mut script, 0, 20);
    script.wait(Duration::from_millis(100));
    ack(&mut script, 10);
    // The minimum of the timer is one second.
    let deadline = script.now + Duration::from_secs(1);
    assert_eq!(script.sender.deadline(), Some(deadline));
    script.wait(Duration::from_millis(100));
    ack(&mut script, 20);
    assert!(script.sender.in_fast_recovery());
    assert_eq!(script.sender.deadline(), Some(deadline), "§3.2 step 3, the impatient variant");
    script.wait(Duration::from_millis(100));
    ack(&mut script, 30);
    assert_eq!(script.sender.deadline(), Some(script.now + Duration::from_secs(1)));
}

#[test]
fn duplicates_that_cover_no_more_than_recover_begin_nothing() {
    // §3.2 step 2. Recovery ends with an acknowledgement of exactly the data outstanding at its start.
    let mut script = sent(10);
    duplicates(&mut script, 0, 9);
    ack(&mut script, 10);
    assert_eq!(duplicates(&mut script, 10, 5), NOTHING);
    assert_eq!(script.sender.stats().fast_recoveries, 1);
    // One segment more is covered.
    ack(&mut script, 11);
    assert_eq!(duplicates(&mut script, 11, 3)[0], 11);
    assert_eq!(script.sender.stats().fast_recoveries, 2);
}

#[test]
fn duplicates_of_what_a_timeout_retransmitted_begin_nothing() {
    // §3.2 step 4: the receiver has 1 to 9; 0 arrives, and the segments that are retransmitted now are duplicates.
    let mut script = sent(10);
    assert_eq!(segments(script.time_out()), [0]);
    assert_eq!(ack(&mut script, 1), [1, 2]);
    assert_eq!(duplicates(&mut script, 1, 5), NOTHING);
    assert!(!script.sender.in_fast_recovery());
    assert_eq!(script.sender.stats().fast_recoveries, 0);
    ack(&mut script, 10);
    duplicates(&mut script, 10, 5);
    assert_eq!(script.sender.stats().fast_recoveries, 0, "recover itself is not covered");
}

#[test]
fn after_a_timeout_everything_outstanding_is_retransmitted_in_slow_start() {
    let mut script = sent(10);
    assert_eq!(segments(script.time_out()), [0]);
    assert_eq!((script.cwnd(), script.ssthresh(), script.pipe()), (MSS, 5 * MSS, MSS));
    assert_eq!(ack(&mut script, 1), [1, 2]);
    assert_eq!(ack(&mut script, 2), [3, 4]);
    // The receiver already had 4 to 9.
    assert_eq!(ack(&mut script, 10), [10, 11, 12, 13]);
    assert_eq!(script.cwnd(), 4 * MSS);
}

#[test]
fn a_lost_retransmission_ends_in_a_timeout() {
    let mut script = sent(10);
    duplicates(&mut script, 0, 9);
    let new = script.sender.sent() / MSS - 10;
    // Segment 0 is lost again, and the data sent beyond it arrives. More duplicates are the only sign of it.
    let sent = duplicates(&mut script, 0, new as u32);
    assert!(sent.iter().all(|&segment| segment > 0));
    assert_eq!(segments(script.time_out()), [0]);
    assert!(!script.sender.in_fast_recovery());
    assert_eq!(script.cwnd(), MSS);
}

#[test]
fn a_timeout_halves_what_has_not_left_the_network() {
    // Segment 0 is lost twice. Each duplicate allows a new segment, a hundred beyond the window of ten.
    let mut script = sent(10);
    duplicates(&mut script, 0, 110);
    let outstanding = script.sender.sent();
    assert!(outstanding > 100 * MSS);
    script.time_out();
    // cwnd was five, and each of 110 duplicates means that a segment has left the network.
    assert_eq!(script.ssthresh(), ((outstanding - 110 * MSS) / 2).max(2 * MSS));
}

#[test]
fn the_first_segment_of_a_connection_can_be_retransmitted_fast() {
    // §3.2 step 1 sets recover to the initial sequence number, which the duplicates of a lost first segment do not
    // exceed. This sender has no `recover` before the first loss.
    let mut script = sent(10);
    assert_eq!(duplicates(&mut script, 0, 3), [0]);
}
