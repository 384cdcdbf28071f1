//! Limited transmit (RFC 3042 §2) without selective acknowledgements. The tests with selective acknowledgements are in rfc5681.rs.

use crate::script::{MSS, NOTHING, Scripted, ack, without_sack};
use shallows_core::Bytes;
use shallows_core::packet::AckSegment;
use shallows_transport::{Config, Method};

fn config(recovery: Method) -> Config {
    Config { limited_transmit: true, ..without_sack(recovery) }
}

#[test]
fn each_of_the_first_two_duplicates_sends_a_new_segment_beyond_cwnd() {
    for recovery in [Method::NewReno, Method::Reno] {
        let mut script = Scripted::started(config(recovery), 100 * MSS);
        assert_eq!(script.ack(0, &[]), [10 * MSS]);
        assert_eq!(script.ack(0, &[]), [11 * MSS]);
        assert_eq!(script.cwnd(), 10 * MSS, "cwnd must not change");
        assert_eq!(script.ack(0, &[]), [0]);
        // RFC 5681 §3.2 step 2: half of ten segments; the two of limited transmit do not count.
        assert_eq!(script.ssthresh(), 5 * MSS);
    }
}

#[test]
fn never_more_than_two_segments_are_sent_beyond_cwnd() {
    let mut script = Scripted::started(config(Method::NewReno), 10 * MSS);
    script.ack(0, &[]);
    script.ack(0, &[]);
    // Two duplicates arrived without data to send; data written now has room for two segments.
    assert_eq!(script.write(100 * MSS), [10 * MSS, 11 * MSS]);
    // The same if duplicates begin no recovery (RFC 6582 §3.2 step 2): cwnd is 4 after a timeout, 10 to 13 are outstanding.
    let mut script = Scripted::started(config(Method::NewReno), 100 * MSS);
    script.time_out();
    script.ack(MSS, &[]);
    script.ack(2 * MSS, &[]);
    script.ack(10 * MSS, &[]);
    assert_eq!((script.cwnd(), script.sender.sent()), (4 * MSS, 14 * MSS));
    assert_eq!(script.duplicates(10 * MSS, 6), [14 * MSS, 15 * MSS]);
}

#[test]
fn after_a_timeout_it_retransmits_nothing_unless_it_is_told_to() {
    // §2 covers new data. ns-2's send_one() sends the next segment, old or new: 1 and 2 again, beyond a cwnd of one segment.
    for (limited_transmit_repairs, sent) in [(false, vec![]), (true, vec![MSS, 2 * MSS])] {
        for recovery in [Method::NewReno, Method::Reno] {
            let config = Config { limited_transmit_repairs, ..config(recovery) };
            let mut script = Scripted::started(config, 100 * MSS);
            assert_eq!(script.time_out(), [0]);
            assert_eq!(script.duplicates(0, 4), sent, "{recovery:?}");
            // New data ends it: cwnd is 2, segments 1 and 2, which are sent now unless they were sent before.
            assert_eq!(script.ack(MSS, &[]), if sent.is_empty() { vec![MSS, 2 * MSS] } else { vec![] });
        }
    }
}

#[test]
fn the_receivers_window_holds_for_it_too() {
    // Room for only the first ten segments, and for exactly one more.
    for (window, extra) in [(10 * MSS, vec![]), (11 * MSS, vec![10 * MSS])] {
        let config = Config { receive_window: Bytes(window), ..config(Method::NewReno) };
        let mut script = Scripted::started(config, 100 * MSS);
        let duplicate = AckSegment { window: window as u32, ..ack(0, &[]) };
        assert_eq!(script.receive(duplicate), extra);
        assert_eq!(script.receive(duplicate), NOTHING);
        assert_eq!(script.receive(duplicate), [0]);
    }
}

#[test]
fn an_acknowledgement_of_new_data_ends_it() {
    let mut script = Scripted::started(config(Method::NewReno), 100 * MSS);
    script.ack(0, &[]);
    script.ack(0, &[]);
    assert_eq!(script.sender.sent(), 12 * MSS);
    // cwnd 11 segments; 1 to 11 are outstanding.
    assert_eq!(script.ack(MSS, &[]), NOTHING);
    assert_eq!(script.ack(MSS, &[]), [12 * MSS], "the first duplicate of another");
}
