//! F-RTO with selective acknowledgements (RFC 5682 §3.1), in segments of 1,000 bytes.

use crate::script::{MSS, Scripted, reno};
use shallows_transport::{Config, Method, Phase};

/// Returns a sender with ten of `segments` segments in flight whose timer has fired.
fn timed_out(recovery: Method, frto: bool, segments: u64) -> Scripted {
    let mut script = Scripted::started(Config { recovery, frto, ..reno() }, segments * MSS);
    assert_eq!(numbers(&script.time_out()), [0]);
    script
}

fn numbers(sent: &[u64]) -> Vec<u64> {
    sent.iter().map(|seq| seq / MSS).collect()
}

fn ack(script: &mut Scripted, una: u64, sacked: &[(u64, u64)]) -> Vec<u64> {
    let ranges: Vec<_> = sacked.iter().map(|&(start, end)| (start * MSS, end * MSS)).collect();
    numbers(&script.ack(una * MSS, &ranges))
}

const METHODS: [Method; 2] = [Method::Sack(None), Method::Rack(None)];

#[test]
fn late_acknowledgements_prove_a_timeout_spurious_and_the_window_is_restored() {
    for method in METHODS {
        let mut script = timed_out(method, true, 1_000);
        // Step 2b: two new segments instead of 1 and 2.
        assert_eq!(ack(&mut script, 1, &[]), [10, 11], "{method:?}");
        // Step 3b: segment 1 was sent once, and has arrived.
        let sent = ack(&mut script, 2, &[]);
        assert!(sent.iter().all(|&segment| segment >= 12), "{method:?}: {sent:?}");
        assert_eq!((script.sender.phase(), script.sender.stats().retransmits), (Phase::Open, 1));
        assert!(script.cwnd() >= 10 * MSS && script.ssthresh() > 1_000 * MSS, "as before");
        for una in 3..=12 {
            assert!(ack(&mut script, una, &[]).iter().all(|&segment| segment >= 12));
        }
        assert_eq!(script.sender.stats().retransmits, 1);
        // Without F-RTO the outstanding data is retransmitted.
        let mut script = timed_out(method, false, 1_000);
        assert_eq!(ack(&mut script, 1, &[]), [1, 2]);
    }
}

#[test]
fn a_selective_acknowledgement_of_what_was_sent_once_proves_it_too() {
    for method in METHODS {
        let mut script = timed_out(method, true, 1_000);
        ack(&mut script, 1, &[]);
        ack(&mut script, 1, &[(5, 6)]);
        assert!(script.cwnd() >= 10 * MSS, "{method:?}");
    }
}

#[test]
fn an_acknowledgement_of_new_data_alone_means_that_the_rest_is_lost() {
    for method in METHODS {
        let mut script = timed_out(method, true, 1_000);
        assert_eq!(ack(&mut script, 1, &[]), [10, 11]);
        // Step 3a.
        assert_eq!(ack(&mut script, 1, &[(10, 11)])[0], 1, "{method:?}");
        assert_eq!(script.sender.phase(), Phase::Timeout);
        assert_eq!(script.ssthresh(), 5 * MSS);
    }
}

#[test]
fn duplicates_before_the_first_new_acknowledgement_are_waited_out() {
    for method in METHODS {
        let mut script = timed_out(method, true, 1_000);
        ack(&mut script, 0, &[(4, 5)]);
        assert_eq!(ack(&mut script, 1, &[(4, 5)]), [10, 11], "{method:?}");
        ack(&mut script, 2, &[(4, 5)]);
        assert!(script.cwnd() >= 10 * MSS);
    }
}

#[test]
fn without_new_data_or_with_everything_acknowledged_recovery_is_conventional() {
    for method in METHODS {
        let mut script = timed_out(method, true, 10);
        assert_eq!(ack(&mut script, 1, &[]), [1, 2], "{method:?}");
        let mut script = timed_out(method, true, 1_000);
        ack(&mut script, 10, &[]);
        assert_eq!((script.ssthresh(), script.sender.phase()), (5 * MSS, Phase::Open));
    }
}

#[test]
fn a_timeout_within_the_recovery_from_one_is_not_asked_about() {
    for method in METHODS {
        let mut script = timed_out(method, true, 1_000);
        assert_eq!(numbers(&script.time_out()), [0]);
        assert_eq!(ack(&mut script, 1, &[]), [1, 2], "{method:?}");
    }
}
