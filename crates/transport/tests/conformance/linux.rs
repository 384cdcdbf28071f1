//! Rules of Linux that differ from the RFCs, in segments of 1,000 bytes.

use crate::script::{Listening, MSS, Scripted, dctcp, every, reno};
use shallows_core::Duration;
use shallows_core::packet::{DataSegment, Flags};
use shallows_transport::congestion::dctcp;
use shallows_transport::{AppLimited, Config, DelayedAck};

#[test]
fn the_first_segments_of_a_connection_are_acknowledged_at_once() {
    let timeout = Duration::from_millis(40);
    let delayed_ack = DelayedAck { quick: 3, segments: 2, timeout, ..reno().delayed_ack };
    let mut listening = Listening::new(Config { delayed_ack, ..reno() });
    let acks: Vec<usize> = (0..7).map(|index| listening.data(index).len()).collect();
    assert_eq!(acks, [1, 1, 1, 0, 1, 0, 1]);
}

#[test]
fn a_segment_that_tells_of_a_smaller_window_may_be_acknowledged_at_once() {
    let acks = |cwr_at_once: bool| -> Vec<usize> {
        let delayed_ack = DelayedAck { cwr_at_once, ..every(2, Duration::from_millis(40)) };
        let mut listening = Listening::new(Config { delayed_ack, ..dctcp(dctcp::Config::default()) });
        let mut segment = |index: u64, flags: Flags| {
            let segment = DataSegment { seq: index * MSS, len: MSS as u16, flags, ..DataSegment::default() };
            listening.receive(segment, false).len()
        };
        let cwr = Flags::ACK.with(Flags::CWR);
        [cwr, Flags::ACK, Flags::ACK, Flags::ACK, cwr]
            .into_iter()
            .zip(0..)
            .map(|(flags, index)| segment(index, flags))
            .collect()
    };
    // Every second segment is acknowledged; or the first, and then every second one, the last as a pair of segments 3 and 4.
    assert_eq!(acks(false), [0, 1, 0, 1, 0]);
    assert_eq!(acks(true), [1, 0, 1, 0, 1]);
}

/// Returns how much one acknowledgement increases cwnd. The sender is in slow start at a cwnd of ten and writes `segments` segments.
fn growth(app_limited: AppLimited, segments: u64) -> u64 {
    let mut script = Scripted::started(Config { app_limited, ..reno() }, segments * MSS);
    script.ack(MSS, &[]);
    script.cwnd() - 10 * MSS
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    // In slow start cwnd grows up to twice the outstanding data: 10 < 2 · 6.
    for (segments, grown) in [(2, 0), (5, 0), (6, MSS), (10, MSS), (100, MSS)] {
        assert_eq!(growth(AppLimited::Linux, segments), grown, "{segments}");
        assert_eq!(growth(AppLimited::Grows, segments), MSS, "{segments}");
    }
}

#[test]
fn in_congestion_avoidance_it_grows_only_when_it_is_full() {
    for (segments, grows) in [(9, false), (10, true)] {
        let mut script = Scripted::started(Config { app_limited: AppLimited::Linux, ..reno() }, 20 * MSS);
        // A loss: ssthresh and cwnd are ten of the twenty segments, and all losses are repaired.
        script.ack(10 * MSS, &[]);
        script.ack(10 * MSS, &[(11 * MSS, 14 * MSS)]);
        script.ack(20 * MSS, &[]);
        let cwnd = script.cwnd();
        assert!(cwnd >= script.ssthresh() && cwnd == 5 * MSS, "{cwnd}");
        // Two windows: byte counting adds a segment for each full window.
        for _ in 0..10 {
            let una = script.sender.acked();
            script.write(if grows { script.cwnd() } else { script.cwnd() - MSS });
            script.ack(una + script.sender.sent() - una, &[]);
        }
        assert_eq!(script.cwnd() > cwnd, grows, "{segments}");
    }
}
