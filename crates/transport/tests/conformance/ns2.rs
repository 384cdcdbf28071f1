//! Deviations of ns-2's hosts from the RFCs that a scenario can select: tcp.cc and tcp-full.cc of ns-2.35.

use crate::script::{Listening, MSS, RTT, Scripted, dctcp, every, reno};
use shallows_core::packet::{DataSegment, Flags};
use shallows_core::{Bytes, Duration, Instant};
use shallows_transport::congestion::dctcp::{Config as Dctcp, EceGrowth};
use shallows_transport::congestion::{Avoidance, LossBase};
use shallows_transport::{AckCounts, Config, DelayedAck, RestartAfterIdle};

/// Returns a sender that counts acknowledgements, in congestion avoidance. A loss has halved its cwnd from ten to five segments.
fn counting(config: Config) -> Scripted {
    let config = Config { avoidance: Avoidance::Counted, loss_base: LossBase::Cwnd, ..config };
    let mut script = Scripted::started(config, 10 * MSS);
    script.ack(0, &[(MSS, 4 * MSS)]);
    let outstanding = script.sender.sent();
    script.ack(outstanding, &[]);
    assert_eq!((script.cwnd(), script.ssthresh()), (5 * MSS, 5 * MSS));
    script
}

#[test]
fn acknowledgements_are_counted_whatever_they_acknowledge_and_none_is_carried_over() {
    let mut script = counting(reno());
    script.write(100 * MSS);
    let una = script.sender.acked();
    // Five acknowledgements for a cwnd of five, whether they cover two segments, one, or a part of one.
    for (number, cwnd) in [(2_000, 5), (3_000, 5), (3_001, 5), (3_002, 5), (5_000, 6)] {
        script.ack(una + number, &[]);
        assert_eq!(script.cwnd(), cwnd * MSS, "at {number}");
    }
    // Then six acknowledgements, not five.
    for (number, cwnd) in [(6, 6), (7, 6), (8, 6), (9, 6), (10, 6), (11, 7)] {
        script.ack(una + number * MSS, &[]);
        assert_eq!(script.cwnd(), cwnd * MSS, "at {number}");
    }
}

#[test]
fn a_window_of_a_fraction_of_segments_needs_one_more_acknowledgement() {
    // RFC 8257 §3.3 step 9: alpha = 15/16 · 0.6 + 1/16 = 0.625; 10 · (1 − 0.3125) = 6.875 segments.
    let config = dctcp(Dctcp { initial_alpha: 0.6, ..Dctcp::default() });
    let mut script = Scripted::started(Config { avoidance: Avoidance::Counted, ..config }, 100 * MSS);
    script.ack_with_ece(MSS);
    for number in 2..=7 {
        script.ack(number * MSS, &[]);
        assert_eq!(script.cwnd(), 6_875);
    }
    script.ack(8 * MSS, &[]);
    assert_eq!(script.cwnd(), 7_875);
}

#[test]
fn an_acknowledgement_that_cuts_within_a_run_of_ece_counts() {
    // All data is marked: alpha stays 1. The first acknowledgement cuts 10 to 5, and five more make it 6. The eleventh is above the
    // data sent by then, and cuts 6 to 3. It counts as one of the next three, or not.
    for (ece_growth, grown_at) in [(EceGrowth::NotFirst, 13), (EceGrowth::All, 14)] {
        let config = dctcp(Dctcp { ece_growth, ..Dctcp::default() });
        let mut script = Scripted::started(Config { avoidance: Avoidance::Counted, ..config }, 100 * MSS);
        let cwnds: Vec<u64> = (1..=14)
            .map(|number| {
                script.ack_with_ece(number * MSS);
                script.cwnd() / MSS
            })
            .collect();
        assert_eq!(cwnds[..12], [5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 3, 3], "{ece_growth:?}");
        assert_eq!(cwnds.iter().rposition(|&cwnd| cwnd == 3), Some(grown_at - 2), "{ece_growth:?}");
    }
}

#[test]
fn a_cut_that_begins_a_run_does_not_count() {
    let config = dctcp(Dctcp { ece_growth: EceGrowth::NotFirst, ..Dctcp::default() });
    let mut script = Scripted::started(Config { avoidance: Avoidance::Counted, ..config }, 100 * MSS);
    script.ack_with_ece(MSS);
    for number in 2..=5 {
        script.ack_with_ece(number * MSS);
    }
    assert_eq!(script.cwnd(), 5 * MSS, "four of five");
    script.ack_with_ece(6 * MSS);
    assert_eq!(script.cwnd(), 6 * MSS);
}

#[test]
fn a_restart_starts_the_count_anew() {
    let mut script = counting(Config { restart_after_idle: RestartAfterIdle::Reset, ..reno() });
    script.write(4 * MSS);
    let una = script.sender.acked();
    for number in 1..=4 {
        script.ack(una + number * MSS, &[]);
    }
    assert!(script.sender.is_idle());
    script.wait(Duration::from_secs(10));
    script.write(100 * MSS);
    assert_eq!(script.cwnd(), 10 * MSS, "the initial window; four acknowledgements would be counted");
    for number in 5..=13 {
        script.ack(una + number * MSS, &[]);
    }
    assert_eq!(script.cwnd(), 10 * MSS);
    script.ack(una + 14 * MSS, &[]);
    assert_eq!(script.cwnd(), 11 * MSS);
}

/// Returns a receiver that acknowledges when `segments` full segments' worth of data is pending, or after 6 µs.
fn by_bytes(segments: u32, config: Config) -> Listening {
    let delayed_ack = DelayedAck { counts: AckCounts::Bytes, ..every(segments, Duration::from_micros(6)) };
    Listening::new(Config { delayed_ack, ..config })
}

fn short(seq: u64, len: u16) -> DataSegment {
    DataSegment { seq, len, ..DataSegment::default() }
}

#[test]
fn a_full_segment_is_acknowledged_at_once_and_a_short_one_after_the_interval() {
    let mut receiving = by_bytes(1, reno());
    assert_eq!(receiving.data(0)[0].ack, MSS);
    receiving.now = receiving.now + RTT;
    assert_eq!(receiving.receive(short(MSS, 999), false), []);
    let deadline = receiving.receiver.deadline().unwrap();
    assert_eq!(deadline, receiving.now + Duration::from_micros(6));
    let ack = receiving.receiver.on_timer(&receiving.config, deadline).unwrap();
    assert_eq!((ack.ack, receiving.receiver.deadline()), (1_999, None));
}

#[test]
fn short_segments_that_are_as_much_as_a_full_one_are_acknowledged_at_once() {
    let mut receiving = by_bytes(1, reno());
    assert_eq!(receiving.receive(short(0, 400), false), []);
    assert_eq!(receiving.receive(short(400, 400), false), []);
    assert_eq!(receiving.receive(short(800, 200), false)[0].ack, MSS);
    // Two full segments' worth is needed: one and a half wait.
    let mut receiving = by_bytes(2, reno());
    assert_eq!(receiving.data(0), []);
    assert_eq!(receiving.receive(short(MSS, 500), false), []);
    assert_eq!(receiving.receive(short(1_500, 500), false)[0].ack, 2 * MSS);
}

#[test]
fn a_short_segment_above_a_gap_is_acknowledged_at_once() {
    let mut receiving = by_bytes(1, reno());
    assert_eq!(receiving.receive(short(MSS, 10), false)[0].ack, 0);
}

#[test]
fn a_short_segment_that_ends_the_connection_is_acknowledged_at_once() {
    // RFC 9293 §3.10.7.4, with and without a change of marks.
    for ce in [false, true] {
        let mut receiving = by_bytes(1, Config { fin: true, ..dctcp(Dctcp::default()) });
        let last = DataSegment { flags: Flags::ACK.with(Flags::FIN), ..short(0, 10) };
        assert_eq!(receiving.receive(last, ce)[0].ack, 11);
    }
}

#[test]
fn of_a_change_of_marks_only_what_came_before_is_acknowledged_at_once() {
    let mut receiving = by_bytes(1, dctcp(Dctcp::default()));
    assert_eq!(receiving.receive(short(0, 10), false), []);
    let acks = receiving.receive(short(10, 20), true);
    let [before] = acks[..] else { panic!("{acks:?}") };
    assert_eq!((before.ack, before.flags.contains(Flags::ECE)), (10, false));
    let now = Instant::ZERO + Duration::from_micros(6);
    let ack = receiving.receiver.on_timer(&receiving.config, now).unwrap();
    assert_eq!((ack.ack, ack.flags.contains(Flags::ECE)), (30, true));
    // A full segment with changed marks is acknowledged as any full segment.
    let full = receiving.receive(short(30, MSS as u16), false);
    assert_eq!((full.len(), full[0].ack, full[0].flags.contains(Flags::ECE)), (1, 30 + MSS, false));
}

#[test]
fn slow_start_is_that_of_the_rfc() {
    let config = Config { avoidance: Avoidance::Counted, initial_window: Bytes(2 * MSS), ..reno() };
    let mut script = Scripted::started(config, 100 * MSS);
    script.ack(MSS, &[]);
    assert_eq!(script.cwnd(), 3 * MSS);
}
