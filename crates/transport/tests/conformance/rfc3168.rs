//! Explicit congestion notification as conventional TCP uses it (RFC 3168), rule by rule.

use crate::script::{Listening, MSS, Scripted, ack, dctcp, reno, reno_with_ecn};
use shallows_core::Bytes;
use shallows_core::packet::{Ecn, Flags, Segment};
use shallows_transport::congestion::dctcp;
use shallows_transport::{Config, EctPolicy};

/// Whether the acknowledgement of segment `index` echoes congestion.
fn echo(receiving: &mut Listening, index: u64, ce: bool, flags: Flags) -> bool {
    let segment = Segment { seq: index * MSS, len: MSS as u16, flags, ..Segment::default() };
    receiving.receive(segment, ce)[0].flags.contains(Flags::ECE)
}

#[test]
fn the_receiver_echoes_a_mark_until_the_sender_has_reduced() {
    let mut receiving = Listening::new(reno_with_ecn());
    assert!(!echo(&mut receiving, 0, false, Flags::ACK));
    // §6.1.3.
    assert!(echo(&mut receiving, 1, true, Flags::ACK));
    assert!(echo(&mut receiving, 2, false, Flags::ACK));
    assert!(!echo(&mut receiving, 3, false, Flags::CWR));
    assert!(echo(&mut receiving, 4, true, Flags::CWR), "a mark on that very packet is a new one");
    assert!(echo(&mut receiving, 5, false, Flags::ACK));
}

#[test]
fn the_sender_halves_once_per_window() {
    let mut script = Scripted::started(reno_with_ecn(), 1_000 * MSS);
    script.ack(MSS, &[]);
    assert_eq!(script.cwnd(), 11 * MSS);
    // Twelve segments have been sent. §6.1.2: cwnd is halved, and ssthresh with it.
    script.ack_with_ece(2 * MSS);
    assert_eq!((script.cwnd(), script.ssthresh()), (5_500, 5_500));
    for number in 3..=12 {
        script.ack_with_ece(number * MSS);
        assert_eq!(script.cwnd(), 5_500, "neither cut again nor grown by an acknowledgement with ECE");
    }
    script.ack_with_ece(13 * MSS);
    assert_eq!(script.cwnd(), 2_750, "the first one of what was sent after the reduction");
    assert_eq!(script.sender.stats().ecn_reductions, 2);
}

#[test]
fn the_first_new_data_after_a_reduction_says_so() {
    let mut script = Scripted::started(reno_with_ecn(), 1_000 * MSS);
    script.ack_with_ece(MSS);
    let mut cwr = Vec::new();
    for number in 2..=10 {
        let segment = Segment { timestamp: script.now, ..ack(number * MSS, &[]) };
        script.sender.on_ack(&script.config, script.now, &segment);
        cwr.extend(script.transmits().iter().map(|transmit| transmit.segment.flags.contains(Flags::CWR)));
    }
    assert!(cwr.len() > 2);
    assert!(cwr[0]);
    assert!(cwr[1..].iter().all(|flag| !flag));
}

#[test]
fn a_window_is_not_reduced_for_a_mark_and_for_a_loss() {
    // §6.1.2: first the mark, then the loss.
    let mut script = Scripted::started(reno_with_ecn(), 1_000 * MSS);
    script.ack_with_ece(MSS);
    assert_eq!(script.cwnd(), 5 * MSS);
    assert_eq!(script.ack(MSS, &[(2 * MSS, 6 * MSS)])[0], MSS, "it is retransmitted all the same");
    assert_eq!(script.cwnd(), 5 * MSS);
    // First the loss, then the mark.
    let mut script = Scripted::started(reno_with_ecn(), 1_000 * MSS);
    script.ack(0, &[(MSS, 4 * MSS)]);
    assert_eq!(script.cwnd(), 5 * MSS);
    script.ack_with_ece(MSS);
    assert_eq!(script.cwnd(), 5 * MSS);
    assert_eq!(script.sender.stats().ecn_reductions, 0);
}

#[test]
fn cwnd_does_not_fall_below_its_minimum() {
    for minimum in [1, 2] {
        let config = Config { minimum_window: Bytes(minimum * MSS), ..reno_with_ecn() };
        let mut script = Scripted::started(config, 1_000 * MSS);
        for _ in 0..10 {
            let outstanding = script.sender.sent();
            script.ack_with_ece(outstanding);
        }
        // ssthresh is two segments at least (RFC 5681 Eq. 4).
        assert_eq!((script.cwnd(), script.ssthresh()), (minimum * MSS, 2 * MSS));
    }
}

#[test]
fn who_carries_ect_is_a_policy() {
    let all = |config| Config { ect: EctPolicy::All, ..config };
    let rfc = |config| Config { ect: EctPolicy::Rfc3168, ..config };
    // New data, a retransmission (§6.1.5), a pure acknowledgement (§6.1.4).
    let codepoints = |config: Config| [config.data_ecn(false), config.data_ecn(true), config.ack_ecn()];
    assert_eq!(codepoints(all(reno())), [Ecn::NotEct; 3]);
    assert_eq!(codepoints(rfc(reno_with_ecn())), [Ecn::Ect, Ecn::NotEct, Ecn::NotEct]);
    assert_eq!(codepoints(all(reno_with_ecn())), [Ecn::Ect; 3]);
    let dctcp = dctcp(dctcp::Config::default());
    assert_eq!(codepoints(dctcp.clone()), [Ecn::Ect; 3], "as DCTCP is deployed");
    assert_eq!(codepoints(rfc(dctcp)), [Ecn::Ect, Ecn::NotEct, Ecn::NotEct]);
    assert_eq!(codepoints(reno_with_ecn()), codepoints(rfc(reno_with_ecn())), "the default");
}

#[test]
fn retransmissions_carry_the_codepoint_of_the_policy() {
    let mut script = Scripted::started(reno_with_ecn(), 10 * MSS);
    script.now = script.sender.deadline().unwrap();
    script.sender.on_timer(&script.config, script.now);
    let transmits = script.transmits();
    assert!(transmits[0].retransmission);
    assert_eq!(transmits[0].ecn, Ecn::NotEct);
}

#[test]
fn without_ecn_marks_are_neither_echoed_nor_heeded() {
    let mut receiving = Listening::new(reno());
    assert!(!echo(&mut receiving, 0, true, Flags::ACK));
    let mut script = Scripted::started(reno(), 1_000 * MSS);
    script.ack_with_ece(MSS);
    assert_eq!(script.cwnd(), 11 * MSS);
}
