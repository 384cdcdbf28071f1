//! Loss recovery of ns-2's agents with selective acknowledgements: tcp-full.cc (`SackFullTcpAgent`), tcp-sack1.cc and tcp.cc of
//! ns-2.35.

use crate::script::{MSS, Scripted, ack, dctcp, reno, reno_with_ecn};
use shallows_core::Duration;
use shallows_core::packet::{AckSegment, Flags};
use shallows_transport::congestion::dctcp::Config as Dctcp;
use shallows_transport::congestion::{Avoidance, LossBase};
use shallows_transport::{Config, Method, Phase};

const BOTH: [Method; 2] = [Method::FullTcp, Method::Sack1];

/// Returns `config` with this recovery and without limited transmit, as for FullTcp in the papers.
fn with(recovery: Method, config: Config) -> Config {
    Config { recovery, limited_transmit: false, ..config }
}

/// Returns a sender with ten of 100 segments in flight.
fn started(recovery: Method) -> Scripted {
    Scripted::started(with(recovery, reno()), 100 * MSS)
}

/// Delivers a duplicate that covers the segments from `start` up to `end`. Returns the sequence numbers sent.
fn duplicate(script: &mut Scripted, una: u64, start: u64, end: u64) -> Vec<u64> {
    script.ack(una * MSS, &[(start * MSS, end * MSS)])
}

#[test]
fn what_is_lost_counts_as_in_the_network_until_acknowledgements_come_in_its_place() {
    for recovery in BOTH {
        // The first five of ten are lost. RFC 6675 removes them from the pipe at the third duplicate, and sends four of them.
        let mut script = started(recovery);
        assert_eq!(duplicate(&mut script, 0, 5, 6), [0; 0]);
        assert_eq!(duplicate(&mut script, 0, 5, 7), [0; 0]);
        assert_eq!(duplicate(&mut script, 0, 5, 8), [0], "{recovery:?}");
        assert_eq!((script.cwnd(), script.ssthresh(), script.pipe()), (5 * MSS, 5 * MSS, 7 * MSS));
        // The pipe falls by one for each acknowledgement. No segment is sent before four are left.
        assert_eq!(duplicate(&mut script, 0, 5, 9), [0; 0]);
        assert_eq!(duplicate(&mut script, 0, 5, 10), [0; 0]);
        // It falls by two for an acknowledgement of new data: the segment that it reports, and the lost one before.
        assert_eq!(duplicate(&mut script, 1, 5, 10), [MSS, 2 * MSS], "{recovery:?}");
        assert_eq!(duplicate(&mut script, 2, 5, 10), [3 * MSS, 4 * MSS], "{recovery:?}");
        assert_eq!(duplicate(&mut script, 3, 5, 10), [10 * MSS, 11 * MSS], "{recovery:?}");
        assert_eq!(script.cwnd(), 5 * MSS, "no growth meanwhile");
    }
}

#[test]
fn only_fulltcp_grows_with_the_acknowledgement_that_ends_a_recovery() {
    for (recovery, cwnd) in [(Method::FullTcp, 5_200), (Method::Sack1, 5_000)] {
        let config = Config { avoidance: Avoidance::PerAck, ..reno() };
        let mut script = Scripted::started(with(recovery, config), 100 * MSS);
        for end in 2..=4 {
            duplicate(&mut script, 0, 1, end);
        }
        script.ack(10 * MSS, &[]);
        assert_eq!(script.cwnd(), cwnd, "{recovery:?}");
    }
}

#[test]
fn after_a_timeout_what_was_sacked_is_retransmitted() {
    for recovery in BOTH {
        let mut script = started(recovery);
        // The first two are lost, and too few segments arrive for a fast retransmit.
        duplicate(&mut script, 0, 2, 3);
        duplicate(&mut script, 0, 2, 4);
        assert_eq!(script.time_out(), [0]);
        assert_eq!(
            duplicate(&mut script, 1, 2, 4),
            [MSS, 2 * MSS],
            "{recovery:?}: the receiver has the third"
        );
        // The receiver acknowledges all four, more than was retransmitted.
        assert_eq!(script.ack(4 * MSS, &[]), [4 * MSS, 5 * MSS, 6 * MSS], "{recovery:?}");
    }
}

#[test]
fn duplicates_of_what_a_timeout_retransmitted_repair_nothing_and_hold_fulltcps_window() {
    for (recovery, grown) in [(Method::FullTcp, 2), (Method::Sack1, 3)] {
        let mut script = started(recovery);
        script.time_out();
        duplicate(&mut script, 1, 2, 4);
        assert_eq!(script.cwnd(), 2 * MSS);
        for end in 5..=7 {
            assert_eq!(
                duplicate(&mut script, 1, 2, end),
                [0; 0],
                "{recovery:?}: below what the timeout found"
            );
        }
        // FullTcp nevertheless counts acknowledgements as partial from then on.
        script.ack(2 * MSS, &[]);
        assert_eq!(script.cwnd(), grown * MSS, "{recovery:?}");
    }
}

#[test]
fn fulltcp_leaves_a_loss_right_after_what_was_cut_for_to_the_timer() {
    for (recovery, at, repaired) in [
        (Method::FullTcp, 10, false),
        (Method::FullTcp, 11, true),
        (Method::Sack1, 10, true),
        (Method::Sack1, 11, true),
    ] {
        let mut script = started(recovery);
        for end in 2..=4 {
            duplicate(&mut script, 0, 1, end);
        }
        // All ten are acknowledged; then new data is sent, and its first or second segment is lost.
        script.ack(10 * MSS, &[]);
        script.ack(at * MSS, &[]);
        let sent: Vec<u64> =
            (at + 2..at + 5).flat_map(|end| duplicate(&mut script, at, at + 1, end)).collect();
        assert_eq!(sent.first() == Some(&(at * MSS)), repaired, "{recovery:?} at {at}: {sent:?}");
    }
}

#[test]
fn a_loss_in_a_window_that_was_cut_for_ecn_is_repaired() {
    for recovery in BOTH {
        // Alpha is 1: the mark halves the window, and the loss halves it again (RFC 8257 §3.5).
        let mut script = Scripted::started(with(recovery, dctcp(Dctcp::default())), 100 * MSS);
        script.ack_with_ece(MSS);
        assert_eq!(script.cwnd(), 5 * MSS);
        let sent: Vec<u64> = (3..=5).flat_map(|end| duplicate(&mut script, 1, 2, end)).collect();
        assert_eq!(sent.first(), Some(&MSS), "{recovery:?}");
        // With classic ECN it does not (RFC 3168 §6.1.2).
        let mut script = Scripted::started(with(recovery, reno_with_ecn()), 100 * MSS);
        script.ack_with_ece(MSS);
        let sent: Vec<u64> = (3..=5).flat_map(|end| duplicate(&mut script, 1, 2, end)).collect();
        assert_eq!((sent.first(), script.cwnd()), (Some(&MSS), 5 * MSS), "{recovery:?}");
    }
}

#[test]
fn fulltcp_fills_holes_at_once_in_a_window_that_was_cut_for_ecn_after_a_recovery() {
    let mut script = Scripted::started(with(Method::FullTcp, dctcp(Dctcp::default())), 100 * MSS);
    for end in 2..=10 {
        duplicate(&mut script, 0, 1, end);
    }
    // New data is sent before the recovery ends. Its first segment is marked and its second is lost.
    script.ack(10 * MSS, &[]);
    script.ack_with_ece(11 * MSS);
    let first = duplicate(&mut script, 11, 12, 13);
    assert_eq!(first.first(), Some(&(11 * MSS)), "one duplicate is enough: {first:?}");
}

#[test]
fn a_timeout_after_a_mark_leaves_ssthresh_and_the_next_mark_cuts() {
    for recovery in BOTH {
        let mut script = Scripted::started(with(recovery, dctcp(Dctcp::default())), 100 * MSS);
        script.ack_with_ece(MSS);
        let ssthresh = script.ssthresh();
        script.time_out();
        assert_eq!((script.cwnd(), script.ssthresh()), (MSS, ssthresh), "{recovery:?}");

        // Without an earlier mark ssthresh is half, and the first mark after the timeout cuts, although it belongs to earlier data.
        let mut script = Scripted::started(with(recovery, dctcp(Dctcp::default())), 100 * MSS);
        script.time_out();
        assert_eq!((script.cwnd(), script.ssthresh()), (MSS, 5 * MSS), "{recovery:?}");
        script.ack(MSS, &[]);
        script.ack(2 * MSS, &[]);
        assert_eq!(script.cwnd(), 3 * MSS);
        script.ack_with_ece(3 * MSS);
        assert!(script.cwnd() < 2 * MSS, "{recovery:?}: {}", script.cwnd());
        let cut = script.cwnd();
        script.ack_with_ece(4 * MSS);
        assert!(script.cwnd() >= cut, "{recovery:?}: once");
    }
}

#[test]
fn a_timeout_that_is_repeated_halves_ssthresh_again() {
    for recovery in BOTH {
        let mut script = started(recovery);
        script.time_out();
        script.time_out();
        // Half of one segment, but at least two segments (RFC 5681 Eq. 4).
        assert_eq!(script.ssthresh(), 5 * MSS, "{recovery:?}: of what is outstanding");
        let config = Config { loss_base: LossBase::Cwnd, ..script.config.clone() };
        let mut script = Scripted::started(config, 100 * MSS);
        script.time_out();
        script.time_out();
        assert_eq!(script.ssthresh(), 2 * MSS, "{recovery:?}: of cwnd");
    }
}

#[test]
fn any_new_data_ends_the_back_off() {
    for (recovery, first) in [(Method::FullTcp, 2), (Method::Sack1, 1)] {
        let config = Config { timestamps: false, ..reno() };
        let mut script = Scripted::started(with(recovery, config), 100 * MSS);
        let second = Duration::from_secs(1);
        script.time_out();
        let left = |script: &Scripted| script.sender.deadline().unwrap().saturating_since(script.now);
        assert_eq!(left(&script), second * 2);
        // FullTcp starts its timer before it ends the back-off. There is no sample: retransmitted data is not timed.
        script.ack(MSS, &[]);
        assert_eq!(left(&script), second * first, "{recovery:?}");
        script.ack(2 * MSS, &[]);
        assert_eq!(left(&script), second, "{recovery:?}");
        assert_eq!(script.sender.srtt(), None);
    }
}

#[test]
fn a_lost_syn_costs_the_wait_alone() {
    // Observed with ns-2.35 with a first timer of 100 ms, `windowInit_` 10 and the SYN lost: a second SYN after 100 ms, ten
    // segments after its answer, and when these were lost a timeout again after 100 ms. RFC 6298 §5.7 would wait three seconds.
    let config = Config { handshake: true, ..reno() };
    let mut script = Scripted::new(with(Method::FullTcp, config));
    script.sender.write(&script.config, script.now, 100 * MSS);
    let (window, rto) = (script.cwnd(), script.sender.rto());
    script.transmits();
    assert_eq!(script.sender.stats().segments_sent, 1, "the SYN");
    script.time_out();
    let answer = AckSegment { flags: Flags::SYN.with(Flags::ACK), ..ack(0, &[]) };
    script.sender.on_ack(&script.config, script.now, &answer);
    assert_eq!((script.cwnd(), script.sender.rto()), (window, rto));
}

#[test]
fn the_timer_starts_anew_with_a_fast_retransmit() {
    for recovery in BOTH {
        let mut script = started(recovery);
        for end in 2..=4 {
            script.wait(Duration::from_millis(1));
            duplicate(&mut script, 0, 1, end);
        }
        assert_eq!(script.sender.deadline(), Some(script.now + script.sender.rto()), "{recovery:?}");
    }
}

#[test]
fn a_timeout_within_a_recovery_sends_a_segment_whatever_the_pipe_is() {
    let mut script = started(Method::FullTcp);
    for end in 6..=8 {
        duplicate(&mut script, 0, 5, end);
    }
    assert_eq!((script.cwnd(), script.pipe()), (5 * MSS, 7 * MSS));
    assert_eq!(script.time_out(), [0]);
    // The sender keeps its count until new data is acknowledged.
    assert_eq!(duplicate(&mut script, 0, 5, 9), [0; 0]);
    assert_eq!(script.ack(MSS, &[]), [MSS, 2 * MSS]);
}

#[test]
fn fulltcp_takes_a_mark_on_a_duplicate_for_none() {
    let config = with(Method::FullTcp, dctcp(Dctcp::default()));
    let mut script = Scripted::started(config, 100 * MSS);
    script.ack(MSS, &[]);
    let cwnd = script.cwnd();
    let marked = |number, sacked: &[(u64, u64)]| AckSegment {
        flags: Flags::ACK.with(Flags::ECE),
        ..ack(number, sacked)
    };
    script.receive(marked(MSS, &[(2 * MSS, 3 * MSS)]));
    assert_eq!(script.cwnd(), cwnd);
    script.receive(marked(3 * MSS, &[]));
    assert!(script.cwnd() < cwnd);
}

#[test]
fn limited_transmit_is_sack1s_alone() {
    for (recovery, limited, sent) in [
        (Method::Sack1, true, vec![10 * MSS, 11 * MSS]),
        (Method::Sack1, false, vec![]),
        (Method::FullTcp, true, vec![]),
    ] {
        let config = Config { limited_transmit: limited, ..with(recovery, reno()) };
        let mut script = Scripted::started(config, 100 * MSS);
        let early: Vec<u64> = (2..=3).flat_map(|end| duplicate(&mut script, 0, 1, end)).collect();
        assert_eq!(early, sent, "{recovery:?}");
    }
}

#[test]
fn beyond_the_first_segment_the_pipe_is_what_is_outstanding_and_less_than_a_segment_of_room_sends_nothing() {
    for recovery in BOTH {
        let mut script = started(recovery);
        script.ack(MSS, &[]);
        assert_eq!((script.sender.phase(), script.pipe()), (Phase::Open, 11 * MSS), "{recovery:?}");
        duplicate(&mut script, 1, 2, 3);
        assert_eq!((script.sender.phase(), script.pipe()), (Phase::Open, 11 * MSS), "{recovery:?}");
        duplicate(&mut script, 1, 2, 4);
        assert_eq!(duplicate(&mut script, 1, 2, 5), [MSS]);
        // Eleven segments minus three duplicates; cwnd is 5.5 segments, five of which count.
        assert_eq!((script.sender.phase(), script.pipe()), (Phase::Recovery, 8 * MSS), "{recovery:?}");
        assert_eq!(script.cwnd(), 5_500);
        for end in 6..=8 {
            assert_eq!(duplicate(&mut script, 1, 2, end), [0; 0], "{recovery:?}: up to {end}");
        }
        assert_eq!(script.pipe(), 5 * MSS);
        assert_eq!(duplicate(&mut script, 1, 2, 9), [12 * MSS], "{recovery:?}");
    }
}

#[test]
fn a_timeout_lasts_until_all_is_retransmitted_and_halves_what_was_not_sacked() {
    for recovery in BOTH {
        let mut script = started(recovery);
        duplicate(&mut script, 0, 2, 3);
        duplicate(&mut script, 0, 2, 4);
        script.time_out();
        // FlightSize is ten segments minus the two that have arrived (RFC 5681 Eq. 4).
        assert_eq!((script.sender.phase(), script.ssthresh()), (Phase::Timeout, 4 * MSS), "{recovery:?}");
        assert_eq!(duplicate(&mut script, 1, 2, 4), [MSS, 2 * MSS]);
        assert_eq!(
            script.sender.phase(),
            Phase::Timeout,
            "{recovery:?}: three to nine are not retransmitted"
        );
        script.ack(10 * MSS, &[]);
        assert_eq!(script.sender.phase(), Phase::Open, "{recovery:?}");
    }
}

#[test]
fn fulltcp_counts_duplicates_without_blocks_anew_after_new_data() {
    let mut script = started(Method::FullTcp);
    assert_eq!(script.duplicates(0, 2), [0; 0]);
    script.ack(MSS, &[]);
    assert_eq!(script.duplicates(MSS, 2), [0; 0], "two and two");
    assert_eq!(script.sender.stats().fast_recoveries, 0);
    assert_eq!(script.duplicates(MSS, 1), [MSS]);
}

#[test]
fn sack1_counts_duplicates_again_once_the_only_segment_of_a_timeout_is_acknowledged() {
    let mut script = Scripted::started(with(Method::Sack1, reno()), MSS);
    assert_eq!(script.time_out(), [0]);
    script.ack(0, &[]);
    script.ack(MSS, &[]);
    script.write(100 * MSS);
    script.ack(2 * MSS, &[]);
    script.ack(script.sender.sent(), &[]);
    script.ack(script.sender.sent(), &[]);
    let una = script.sender.acked() / MSS;
    let sent: Vec<u64> = (2..=4).flat_map(|end| duplicate(&mut script, una, una + 1, una + end)).collect();
    assert_eq!(sent, [una * MSS]);
}
