//! Explicit congestion notification of conventional TCP (RFC 3168), rule by rule.

use crate::script::{Listening, MSS, NOTHING, RTT, Scripted, ack, dctcp, reno, reno_with_ecn};
use shallows_core::Bytes;
use shallows_core::packet::{AckSegment, DataSegment, Ecn, Flags};
use shallows_transport::congestion::dctcp;
use shallows_transport::{Config, EctPolicy, Method};

/// Returns whether the acknowledgement of segment `index` echoes congestion.
fn echo(receiving: &mut Listening, index: u64, ce: bool, flags: Flags) -> bool {
    let segment = DataSegment { seq: index * MSS, len: MSS as u16, flags, ..DataSegment::default() };
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
    // Twelve segments have been sent. §6.1.2: cwnd and ssthresh are halved.
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
        let segment = AckSegment { tsecr: script.now, ..ack(number * MSS, &[]) };
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
        // ssthresh is at least two segments (RFC 5681 Eq. 4).
        assert_eq!((script.cwnd(), script.ssthresh()), (minimum * MSS, 2 * MSS));
    }
}

#[test]
fn who_carries_ect_is_a_policy() {
    let all = |config| Config { ect: EctPolicy::All, ..config };
    let rfc = |config| Config { ect: EctPolicy::Rfc3168, ..config };
    // New data, a retransmission (§6.1.5), a pure acknowledgement (§6.1.4).
    let codepoints = |config: Config| {
        let mut script = Scripted::new(config.clone());
        script.sender.write(&script.config, script.now, MSS);
        let data = script.transmits()[0].ecn;
        script.now = script.sender.deadline().unwrap();
        script.sender.on_timer(&script.config, script.now);
        [data, script.transmits()[0].ecn, config.ack_ecn()]
    };
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

#[test]
fn a_handshake_agrees_on_ecn_only_if_both_sides_know_it() {
    // §6.1.1, all four combinations.
    for (sends, receives) in [(false, false), (false, true), (true, false), (true, true)] {
        let side = |ecn| Config { handshake: true, ..if ecn { reno_with_ecn() } else { reno() } };
        let mut script = Scripted::new(side(sends));
        let mut receiving = Listening::new(side(receives));
        script.sender.write(&script.config, script.now, 100 * MSS);
        let syn = script.transmits()[0];
        let asks = Flags::ECE.with(Flags::CWR);
        assert_eq!(syn.segment.flags, if sends { Flags::SYN.with(asks) } else { Flags::SYN });
        assert_eq!(syn.ecn, Ecn::NotEct, "a SYN must not set ECT");
        let answer = receiving.receive(syn.segment, false)[0];
        let both = sends && receives;
        assert_eq!(answer.flags.contains(Flags::ECE), both, "{sends} {receives}");
        assert!(!answer.flags.contains(Flags::CWR));
        script.sender.on_ack(&script.config, script.now, &answer);
        let data = script.transmits();
        assert_eq!(data[0].ecn, if both { Ecn::Ect } else { Ecn::NotEct }, "{sends} {receives}");
        let echo = receiving.receive(data[0].segment, true)[0];
        assert_eq!(echo.flags.contains(Flags::ECE), both, "{sends} {receives}");
        // An echo that was not negotiated has no effect: eleven segments, not half of ten.
        script.ack_with_ece(MSS);
        assert_eq!(script.cwnd(), if both { 5 * MSS } else { 11 * MSS });
    }
}

#[test]
fn a_syn_that_is_retransmitted_asks_again() {
    // §6.1.1.1 also permits a retransmitted SYN without the request.
    let mut script = Scripted::new(Config { handshake: true, ..reno_with_ecn() });
    script.sender.write(&script.config, script.now, MSS);
    let first = script.transmits()[0].segment.flags;
    script.now = script.sender.deadline().unwrap();
    script.sender.on_timer(&script.config, script.now);
    assert_eq!(script.transmits()[0].segment.flags, first);
}

#[test]
fn without_agreement_dctcp_is_conventional_tcp() {
    // RFC 8257 §3.6 and Linux: no ECT, no reaction to echoes, and the usual reaction to losses.
    let config = Config { handshake: true, ..dctcp(dctcp::Config::default()) };
    let mut script = Scripted::new(config);
    script.sender.write(&script.config, script.now, 100 * MSS);
    script.transmits();
    let answer = AckSegment { flags: Flags::SYN.with(Flags::ACK), ..ack(0, &[]) };
    script.sender.on_ack(&script.config, script.now, &answer);
    assert_eq!(script.transmits()[0].ecn, Ecn::NotEct);
    script.ack_with_ece(MSS);
    assert_eq!(script.cwnd(), 11 * MSS);
}

#[test]
fn at_one_segment_an_echo_starts_the_timer_anew_and_holds_new_data_back() {
    // §6.1.2: "should reset the retransmit timer"; a new packet may be sent only when the timer expires.
    let mut script = Scripted::started(Config { initial_window: Bytes(MSS), ..reno_with_ecn() }, 10 * MSS);
    script.wait(RTT);
    assert_eq!(script.ack_with_ece(MSS), NOTHING);
    let deadline = script.now + script.sender.rto();
    assert_eq!(script.sender.deadline(), Some(deadline));
    assert_eq!(script.write(MSS), NOTHING, "nor what is written meanwhile");
    assert_eq!(script.time_out(), [MSS]);
    let stats = script.sender.stats();
    assert_eq!((stats.timeouts, stats.retransmits, stats.ecn_reductions), (0, 0, 1), "nothing was lost");
    assert_eq!(script.cwnd(), MSS);
    // An acknowledgement without ECE lets cwnd grow again.
    assert_eq!(script.ack(2 * MSS, &[]), [2 * MSS, 3 * MSS]);
}

#[test]
fn marks_that_meet_a_lost_cwr_go_on_being_echoed_and_cut_the_next_window() {
    // §6.1.3: the receiver echoes until CWR arrives; the sender cuts once per window, and sends CWR each time.
    let mut receiving = Listening::new(reno_with_ecn());
    assert!(echo(&mut receiving, 0, true, Flags::ACK));
    for index in 1..30 {
        assert!(echo(&mut receiving, index, false, Flags::ACK), "the packet with CWR was lost");
    }
    assert!(!echo(&mut receiving, 30, false, Flags::ACK.with(Flags::CWR)));
}

#[test]
fn a_window_probe_carries_neither_ect_nor_cwr() {
    // §6.1.6.
    for recovery in [Method::Sack(None), Method::Rack(None)] {
        let config = Config { receive_window: Bytes(10 * MSS), recovery, ..reno_with_ecn() };
        let mut script = Scripted::new(config);
        script.sender.write(&script.config, script.now, 100 * MSS);
        let first = script.transmits();
        assert!(first.len() == 10 && first.iter().all(|sent| sent.ecn == Ecn::Ect), "up to the window's end");
        let closed = AckSegment { window: 0, flags: Flags::ACK.with(Flags::ECE), ..ack(10 * MSS, &[]) };
        script.sender.on_ack(&script.config, script.now, &closed);
        let probe = script.transmits()[0];
        assert_eq!((probe.ecn, probe.segment.flags), (Ecn::NotEct, Flags::ACK), "{recovery:?}");
        let open = AckSegment { window: 100_000, ..ack(11 * MSS, &[]) };
        script.sender.on_ack(&script.config, script.now, &open);
        let next = script.transmits()[0];
        let first_that_may = (next.ecn, next.segment.flags.contains(Flags::CWR));
        assert_eq!(first_that_may, (Ecn::Ect, true), "{recovery:?}");
    }
}

#[test]
fn the_window_is_cut_by_half_of_cwnd_and_not_of_what_is_in_flight() {
    // ECN* in the papers: cwnd and ssthresh are halved, whether cwnd was used or not.
    let mut script =
        Scripted::started(Config { initial_window: Bytes(20 * MSS), ..reno_with_ecn() }, 8 * MSS);
    script.ack_with_ece(MSS);
    assert_eq!((script.cwnd(), script.ssthresh()), (10 * MSS, 10 * MSS));
}

#[test]
fn a_mark_outside_of_the_window_is_ignored() {
    // §6.1.5: old data, and data beyond the allowed window.
    let mut receiving = Listening::new(Config { receive_window: Bytes(4 * MSS), ..reno_with_ecn() });
    assert!(!echo(&mut receiving, 0, false, Flags::ACK));
    assert!(!echo(&mut receiving, 0, true, Flags::ACK));
    assert!(!echo(&mut receiving, 5, true, Flags::ACK));
    assert!(echo(&mut receiving, 4, true, Flags::ACK));
}

#[test]
fn a_retransmission_does_not_carry_cwr() {
    // §6.1.5: the loss of a retransmission with CWR could not be detected.
    let mut script = Scripted::started(reno_with_ecn(), 1_000 * MSS);
    script.sender.on_ack(&script.config, script.now, &ack(0, &[(MSS, 4 * MSS)]));
    let transmits = script.transmits();
    assert!(transmits[0].retransmission);
    assert!(!transmits[0].segment.flags.contains(Flags::CWR));
}

#[test]
fn an_answer_that_only_reflects_the_flags_of_the_syn_is_no_agreement() {
    // §6.1.1: an ECN-setup SYN-ACK has ECE, and not CWR.
    let mut script = Scripted::new(Config { handshake: true, ..reno_with_ecn() });
    script.sender.write(&script.config, script.now, MSS);
    let syn = script.transmits()[0].segment;
    let answer = AckSegment { flags: syn.flags.with(Flags::ACK), ..ack(0, &[]) };
    script.sender.on_ack(&script.config, script.now, &answer);
    assert_eq!(script.transmits()[0].ecn, Ecn::NotEct);
}
