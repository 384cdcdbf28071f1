//! HyStart++ (RFC 9406), and Linux's HyStart, in segments of 1,000 bytes.

use crate::script::{MSS, Scripted, ack, cubic};
use shallows_core::packet::AckSegment;
use shallows_core::{Bytes, Duration, Instant};
use shallows_transport::congestion::cubic::Config as Cubic;
use shallows_transport::congestion::hystart::Config as HyStart;
use shallows_transport::{Config, Method};

const fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

/// Returns a sender of much data with a window of twenty segments.
fn started(hystart: HyStart) -> Scripted {
    let config = cubic(Cubic { hystart, ..Cubic::default() });
    Scripted::started(Config { initial_window: Bytes(20 * MSS), ..config }, 1 << 40)
}

/// Acknowledges all outstanding data, segment by segment, `gap` apart, each with this round-trip time. Returns the growth of cwnd
/// with each acknowledgement.
fn round(script: &mut Scripted, rtt: Duration, gap: Duration) -> Vec<u64> {
    let (from, to) = (script.sender.acked() / MSS, script.sender.sent() / MSS);
    script.wait(rtt);
    let acks = (from + 1)..=to;
    acks.map(|una| {
        let before = script.cwnd();
        script.wait(gap);
        let tsecr = Instant(script.now.0 - rtt.0);
        script.sender.on_ack(&script.config, script.now, &AckSegment { tsecr, ..ack(una * MSS, &[]) });
        script.transmits();
        script.cwnd() - before
    })
    .collect()
}

fn in_slow_start(script: &Scripted) -> bool {
    script.cwnd() < script.ssthresh()
}

#[test]
fn round_trips_that_grow_lead_to_conservative_slow_start_and_to_its_end_after_five_rounds() {
    let mut script = started(HyStart::PlusPlus);
    assert!(round(&mut script, ms(10), Duration::ZERO).iter().all(|&grown| grown == MSS));
    // §4.2: RttThresh = max(4 ms, 10 ms / 8); after eight samples the growth is a quarter.
    let grown = round(&mut script, ms(14), Duration::ZERO);
    assert_eq!(grown[6..9], [MSS, MSS / 4, MSS / 4]);
    // CSS_ROUNDS = 5; the partial round is the first.
    for _ in 0..4 {
        assert!(in_slow_start(&script));
        assert_eq!(round(&mut script, ms(14), Duration::ZERO)[10], MSS / 4);
    }
    round(&mut script, ms(14), Duration::ZERO);
    assert!(!in_slow_start(&script), "ssthresh {} at cwnd {}", script.ssthresh(), script.cwnd());
    assert_eq!(script.sender.stats().fast_recoveries, 0);
}

#[test]
fn a_little_more_than_before_is_jitter() {
    let mut script = started(HyStart::PlusPlus);
    round(&mut script, ms(10), Duration::ZERO);
    assert!(
        round(&mut script, Duration::from_micros(13_999), Duration::ZERO).iter().all(|&grown| grown == MSS)
    );
    // An eighth of 64 ms; of 400 ms, at most 16 ms.
    for (before, after) in [(64, 72), (400, 416)] {
        let mut script = started(HyStart::PlusPlus);
        round(&mut script, ms(before), Duration::ZERO);
        assert!(round(&mut script, ms(after - 1), Duration::ZERO).iter().all(|&grown| grown == MSS));
        let mut script = started(HyStart::PlusPlus);
        round(&mut script, ms(before), Duration::ZERO);
        assert_eq!(*round(&mut script, ms(after), Duration::ZERO).last().unwrap(), MSS / 4);
    }
}

#[test]
fn round_trips_that_come_down_again_resume_slow_start() {
    let mut script = started(HyStart::PlusPlus);
    round(&mut script, ms(10), Duration::ZERO);
    assert_eq!(*round(&mut script, ms(14), Duration::ZERO).last().unwrap(), MSS / 4);
    // §4.2: below cssBaselineMinRtt.
    let grown = round(&mut script, ms(13), Duration::ZERO);
    assert_eq!((grown[6], grown[7]), (MSS / 4, MSS));
}

#[test]
fn it_holds_for_the_first_slow_start_only() {
    let mut script = started(HyStart::PlusPlus);
    for _ in 0..2 {
        round(&mut script, ms(10), Duration::ZERO);
    }
    // 80 segments are outstanding: ssthresh 40.
    script.time_out();
    script.ack(script.sender.sent(), &[]);
    for segments in [2, 4, 8] {
        assert_eq!(round(&mut script, ms(10), Duration::ZERO).len(), segments);
    }
    assert_eq!(round(&mut script, ms(30), Duration::ZERO), [MSS; 16]);
}

#[test]
fn off_it_ends_nothing() {
    let mut script = started(HyStart::Off);
    for rtt in [10, 20, 40, 80] {
        assert!(round(&mut script, ms(rtt), Duration::from_micros(100)).iter().all(|&grown| grown == MSS));
    }
}

#[test]
fn linux_ends_slow_start_at_once_when_round_trips_grow() {
    // RACK also times every segment.
    for recovery in [Method::Sack(None), Method::Rack(None)] {
        let config = cubic(Cubic { hystart: HyStart::LINUX, ..Cubic::default() });
        let config = Config { initial_window: Bytes(20 * MSS), recovery, ..config };
        let mut script = Scripted::started(config, 1 << 40);
        round(&mut script, ms(10), Duration::ZERO);
        // Above delay_min + 4 ms, after eight samples: from the ninth acknowledgement on.
        let grown = round(&mut script, Duration::from_micros(14_001), Duration::ZERO);
        assert_eq!(grown[7], MSS);
        assert!(grown[8] < MSS && !in_slow_start(&script), "{recovery:?}");
        assert_eq!(script.ssthresh(), 48 * MSS);
    }
}

#[test]
fn linux_ends_slow_start_after_a_train_of_half_a_round_trip() {
    // (delay_min 10 ms + hystart_ack_delay: at most 1 ms) / 2 = 5.5 ms. With acknowledgements 1 ms apart, the sixth is 5 ms after the
    // first, which began the round, and the seventh exceeds the limit.
    let mut script = started(HyStart::LINUX);
    let grown = round(&mut script, ms(10), ms(1));
    assert_eq!(grown[..6], [MSS; 6]);
    assert!(grown[6] < MSS && !in_slow_start(&script));
    // Gaps of more than 2 ms end a train.
    let mut script = started(HyStart::LINUX);
    assert!(round(&mut script, ms(10), Duration::from_micros(2_001)).iter().all(|&grown| grown == MSS));
}

#[test]
fn linux_where_time_passes_more_slowly_ends_it_as_much_sooner() {
    // A factor of four: a train may have gaps of 0.5 ms and be (3.5 ms + 0.25 ms) / 2 long, so that the fifth acknowledgement exceeds
    // the limit; delays of 1 ms are noticed.
    let dilated = HyStart::Linux { delay: ms(1) };
    let mut script = started(dilated);
    let grown = round(&mut script, Duration::from_micros(3_500), Duration::from_micros(500));
    assert_eq!(grown[..4], [MSS; 4]);
    assert!(grown[4] < MSS && !in_slow_start(&script));
    let mut script = started(dilated);
    assert!(round(&mut script, ms(3), Duration::from_micros(501)).iter().all(|&grown| grown == MSS));
    let grown = round(&mut script, Duration::from_micros(4_001), Duration::from_micros(501));
    assert_eq!(grown[7], MSS);
    assert!(grown[8] < MSS && !in_slow_start(&script));
}

#[test]
fn linux_leaves_windows_below_sixteen_segments_alone() {
    let config = cubic(Cubic { hystart: HyStart::LINUX, ..Cubic::default() });
    let config = Config { initial_window: Bytes(8 * MSS), ..config };
    let mut script = Scripted::started(config, 1 << 40);
    assert!(round(&mut script, ms(10), ms(1)).iter().all(|&grown| grown == MSS));
}

#[test]
fn linux_allows_a_train_for_bursts_at_the_pacing_rate() {
    // hystart_ack_delay: 4 · 64 KiB at twice cwnd in every SRTT of 100 µs, which is 13,107 µs / cwnd in segments. Gaps of 47 µs:
    // at the seventh acknowledgement the train is 282 µs long and may be (100 + 485) / 2 = 293 at 27 segments, or 284 at 28;
    // at the eighth it is 329, and may be 284 or 276.
    let mut script = started(HyStart::LINUX);
    let grown = round(&mut script, Duration::from_micros(100), Duration::from_micros(47));
    assert_eq!(grown[..7], [MSS; 7]);
    assert!(grown[7] < MSS && !in_slow_start(&script));
}
