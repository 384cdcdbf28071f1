//! CUBIC (RFC 9438), rule by rule. Windows in comments are in segments of 1,000 bytes.

use crate::script::{MSS, RTT, Scripted, ack, cubic};
use shallows_core::packet::AckSegment;
use shallows_core::{Bytes, Duration};
use shallows_transport::Config as Transport;
use shallows_transport::congestion::cubic::{Clock, Config, Counting};

/// Returns a sender that lost one of a hundred segments and has recovered: W_max = 100, cwnd = ssthresh = 70.
fn reduced(config: Config) -> Scripted {
    let config = Transport { initial_window: Bytes(100 * MSS), ..cubic(config) };
    let mut script = Scripted::started(config, 1_000_000 * MSS);
    script.ack(0, &[(MSS, 5 * MSS)]);
    let outstanding = script.sender.sent();
    script.ack(outstanding, &[]);
    assert!(!script.sender.in_fast_recovery());
    script
}

/// Acknowledges a whole cwnd at once, `span` after the last acknowledgement. Returns cwnd.
fn round(script: &mut Scripted, span: Duration) -> u64 {
    script.wait(span);
    let window = script.cwnd();
    let number = script.sender.acked() + window;
    // cwnd need not be whole segments; acknowledged data must have been sent.
    script.ack(number.min(script.sender.sent()), &[]);
    script.cwnd()
}

/// Returns W_cubic (§4.2 Eq. 1) in bytes, for C = 0.4 and cwnd = 70 after W_max = 100: K = ∛(30 / 0.4).
fn w_cubic(seconds: f64) -> f64 {
    let k = libm::cbrt(75.0);
    let distance = seconds - k;
    (0.4 * distance * distance * distance + 100.0) * MSS as f64
}

fn close(found: u64, expected: f64, within: f64) {
    assert!((found as f64 - expected).abs() <= within, "{found} for {expected}");
}

#[test]
fn a_loss_leaves_seven_tenths() {
    // §4.6.
    let script = reduced(Config::default());
    assert_eq!((script.cwnd(), script.ssthresh()), (70 * MSS, 70 * MSS));
}

#[test]
fn the_window_follows_the_cubic_function_to_its_plateau_and_beyond() {
    let mut script = reduced(Config::default());
    // The first acknowledgement in congestion avoidance starts the clock.
    round(&mut script, Duration::ZERO);
    let mut t = 0.0;
    let mut last = script.cwnd();
    for _ in 0..35 {
        t += 0.2;
        let cwnd = round(&mut script, Duration::from_millis(200));
        // §4.2: the target of an acknowledgement is W_cubic a round trip later. An acknowledgement of a whole window reaches it,
        // except for the difference between cwnd and the last whole segment sent.
        close(cwnd, w_cubic(t + RTT.as_secs_f64()), 0.02 * w_cubic(t));
        assert!(cwnd >= last, "an acknowledgement never reduces the window");
        last = cwnd;
    }
    // K = 4.217 s: the plateau has passed, and after 7 s the window is 108.6.
    close(script.cwnd(), w_cubic(7.0), 0.01 * w_cubic(7.0));
}

#[test]
fn growth_is_at_most_by_half_per_round_trip() {
    // §4.2: the target is at most 1.5 cwnd, however late the acknowledgement arrives.
    let mut script = reduced(Config::default());
    round(&mut script, Duration::ZERO);
    let cwnd = script.cwnd();
    let next = round(&mut script, Duration::from_secs(100));
    assert!(next <= cwnd * 3 / 2 && next >= cwnd * 3 / 2 - 2 * MSS, "{cwnd} to {next}");
}

#[test]
fn with_short_round_trips_it_is_as_fast_as_reno() {
    // §4.3: in 100 round trips of 100 µs the cubic function grows by 0.4 · (4.217³ − 4.207³) = 0.2 segments, Reno's
    // estimate by alpha = 3 · 0.3 / 1.7 = 0.529 in each.
    let mut script = reduced(Config::default());
    for _ in 0..40 {
        round(&mut script, RTT);
    }
    close(script.cwnd(), (70.0 + 40.0 * 0.9 / 1.7) * MSS as f64, 1.5 * MSS as f64);
    // After the window has regained the old 100 segments, it grows by one segment in each round trip.
    while script.cwnd() < 101 * MSS {
        round(&mut script, RTT);
    }
    let regained = script.cwnd();
    for _ in 0..20 {
        round(&mut script, RTT);
    }
    close(script.cwnd() - regained, 20.0 * MSS as f64, MSS as f64);
}

#[test]
fn a_flow_that_is_cut_before_it_regained_its_window_leaves_room() {
    // §4.7: cut at 70 again, W_max = 70 · (1 + 0.7) / 2 = 59.5 instead of 70.
    for (fast_convergence, w_max) in [(true, 59.5), (false, 70.0)] {
        let mut script = reduced(Config { fast_convergence, ..Config::default() });
        let first = script.sender.acked();
        // A window of 70 segments is outstanding.
        script.ack(first, &[(first + MSS, first + 5 * MSS)]);
        let outstanding = script.sender.sent();
        script.ack(outstanding, &[]);
        close(script.cwnd(), 49.0 * MSS as f64, MSS as f64);
        let cwnd = script.cwnd() as f64 / MSS as f64;
        let k = libm::cbrt((w_max - cwnd) / 0.4);
        round(&mut script, Duration::ZERO);
        // Halfway to the plateau an eighth of the distance remains; from a plateau at cwnd an eighth would be covered.
        for _ in 0..5 {
            round(&mut script, Duration::from_secs_f64(k / 10.0));
        }
        close(script.cwnd(), (w_max - (w_max - cwnd) / 8.0) * MSS as f64, 0.02 * w_max * MSS as f64);
        // On the plateau, K after the start, the window is W_max.
        for _ in 0..5 {
            round(&mut script, Duration::from_secs_f64(k / 10.0));
        }
        close(script.cwnd(), w_max * MSS as f64, 0.02 * w_max * MSS as f64);
    }
}

#[test]
fn a_timeout_leaves_one_segment_and_the_next_stage_starts_on_its_plateau() {
    // §4.8: ssthresh by beta; K = 0 and W_max = cwnd at the start of congestion avoidance.
    let config = Transport { initial_window: Bytes(100 * MSS), ..cubic(Config::default()) };
    let mut script = Scripted::started(config, 1_000_000 * MSS);
    script.time_out();
    assert_eq!((script.cwnd(), script.ssthresh()), (MSS, 70 * MSS));
    let outstanding = script.sender.sent();
    script.ack(outstanding, &[]);
    while script.cwnd() < 70 * MSS {
        let next = script.sender.acked() + MSS;
        script.ack(next, &[]);
    }
    round(&mut script, Duration::ZERO);
    let start = script.cwnd();
    close(start, 70.5 * MSS as f64, MSS as f64);
    for _ in 0..10 {
        round(&mut script, Duration::from_millis(500));
    }
    // W_cubic(5 s) = 70 + 0.4 · 125 = 120; from a plateau at 100 it would be 100.2 by then.
    close(script.cwnd(), 120.0 * MSS as f64, 2.5 * MSS as f64);
}

#[test]
fn a_second_timeout_of_the_same_segment_leaves_ssthresh_alone() {
    let mut script = Scripted::started(cubic(Config::default()), 100 * MSS);
    script.time_out();
    script.time_out();
    assert_eq!((script.cwnd(), script.ssthresh()), (MSS, 7 * MSS));
}

#[test]
fn time_without_data_does_not_count() {
    // §4.2, §5.8: the clock of the cubic function stops while the application has no data to send.
    let config = Transport {
        restart_after_idle: shallows_transport::RestartAfterIdle::Off,
        ..cubic(Config::default())
    };
    let config = Transport { initial_window: Bytes(100 * MSS), ..config };
    let mut script = Scripted::started(config, 100 * MSS);
    script.ack(0, &[(MSS, 5 * MSS)]);
    script.ack(100 * MSS, &[]);
    // The first acknowledgement starts the clock; then no data is sent for a minute.
    script.write(MSS);
    script.ack(101 * MSS, &[]);
    script.wait(Duration::from_secs(60));
    script.write(1_000_000 * MSS);
    let cwnd = script.cwnd();
    let grown = round(&mut script, RTT);
    // As after 200 µs, not as after a minute, when the target would be 1.5 cwnd.
    assert!(grown - cwnd < MSS, "{cwnd} to {grown}");
}

#[test]
fn slow_start_is_that_of_reno() {
    // §4.10 refers to RFC 5681.
    let mut script = Scripted::started(cubic(Config::default()), 100 * MSS);
    script.ack(MSS, &[]);
    script.ack(2 * MSS, &[]);
    assert_eq!(script.cwnd(), 12 * MSS);
}

#[test]
fn a_mark_leaves_seven_tenths() {
    // §4.6: ECE acts as a loss, once per window.
    let mut script = Scripted::started(cubic(Config { ecn: true, ..Config::default() }), 1_000 * MSS);
    script.ack_with_ece(MSS);
    assert_eq!((script.cwnd(), script.ssthresh()), (7 * MSS, 7 * MSS));
    script.ack_with_ece(2 * MSS);
    assert_eq!(script.cwnd(), 7 * MSS);
}

#[test]
fn beta_and_c_are_parameters() {
    let mut script = Scripted::started(cubic(Config { beta: 0.5, ..Config::default() }), 100 * MSS);
    script.ack(0, &[(MSS, 5 * MSS)]);
    assert_eq!(script.cwnd(), 5 * MSS);
    // C = 4: the plateau of 100 is reached after ∛(30 / 4) = 1.957 s.
    let mut script = reduced(Config { c: 4.0, ..Config::default() });
    round(&mut script, Duration::ZERO);
    for _ in 0..10 {
        round(&mut script, Duration::from_micros(195_700));
    }
    close(script.cwnd(), 100.0 * MSS as f64, MSS as f64);
}

#[test]
fn every_reduction_starts_the_function_anew() {
    let mut script = reduced(Config::default());
    round(&mut script, Duration::ZERO);
    // A loss on the plateau: W_max is 100 again, and the clock restarts.
    for _ in 0..20 {
        round(&mut script, Duration::from_millis(211));
    }
    let w_max = script.cwnd() as f64 / MSS as f64;
    close(script.cwnd(), 100.0 * MSS as f64, 0.5 * MSS as f64);
    let una = script.sender.acked();
    script.ack(una, &[(una + MSS, una + 5 * MSS)]);
    let outstanding = script.sender.sent();
    script.ack(outstanding, &[]);
    round(&mut script, Duration::ZERO);
    // Half a second after the start 70 + 0.4 · (4.217³ − 3.717³) = 79.5; with a running clock it would be the plateau.
    for _ in 0..5 {
        round(&mut script, Duration::from_millis(100));
    }
    close(script.cwnd(), w_cubic(0.5) * w_max / 100.0, 2.0 * MSS as f64);
}

#[test]
fn parts_of_a_byte_add_up() {
    // Near its plateau at 1,000 segments, an acknowledgement of one segment adds less than a byte when the window
    // is within a segment of the target. C = 4: K = ∛(300 / 4) = 4.217 s.
    let config =
        Transport { initial_window: Bytes(1_000 * MSS), ..cubic(Config { c: 4.0, ..Config::default() }) };
    let mut script = Scripted::started(config, 10_000_000 * MSS);
    script.ack(0, &[(MSS, 5 * MSS)]);
    let outstanding = script.sender.sent();
    script.ack(outstanding, &[]);
    for _ in 0..22 {
        let sent = script.sender.sent();
        while script.sender.acked() + MSS <= sent {
            let next = script.sender.acked() + MSS;
            script.ack(next, &[]);
        }
        script.wait(Duration::from_millis(200));
    }
    // 4.2 s after the start the function is at 1,000 − 4 · 0.017³.
    close(script.cwnd(), 1_000.0 * MSS as f64, 0.5 * MSS as f64);
}

#[test]
fn the_target_is_a_round_trip_ahead() {
    // Round trips of 100 ms; the first acknowledgement in congestion avoidance, of a whole window.
    let rtt = Duration::from_millis(100);
    let config = Transport { initial_window: Bytes(100 * MSS), ..cubic(Config::default()) };
    let mut script = Scripted::started(config, 1_000_000 * MSS);
    let acknowledge = |script: &mut Scripted, number: u64, sacked: &[(u64, u64)]| {
        let tsecr = shallows_core::Instant(script.now.0 - rtt.0);
        let segment = AckSegment { tsecr, ..ack(number, sacked) };
        script.sender.on_ack(&script.config, script.now, &segment);
        script.transmits();
    };
    acknowledge(&mut script, 0, &[(MSS, 5 * MSS)]);
    let outstanding = script.sender.sent();
    acknowledge(&mut script, outstanding, &[]);
    assert_eq!((script.cwnd(), script.sender.srtt()), (70 * MSS, Some(rtt)));
    let outstanding = script.sender.sent();
    assert_eq!(outstanding - script.sender.acked(), 70 * MSS);
    acknowledge(&mut script, outstanding, &[]);
    // At its start the function is still at 70, below Reno's estimate of 70.53 (§4.3).
    assert_eq!(script.cwnd(), 70_529);
    script.wait(rtt);
    let outstanding = script.sender.sent();
    acknowledge(&mut script, outstanding, &[]);
    // W_cubic(0.1 + 0.1 s) = 74.07, not W_cubic(0.1 s) = 72.08.
    close(script.cwnd(), w_cubic(0.2), 0.1 * MSS as f64);
}

#[test]
fn linux_counts_whole_segments() {
    // The function is constant for hours. Linux truncates its distance from the plateau, 29.99, to 29: the target of 70 is
    // 71, and the window grows by one in 70 segments. Then Reno's estimate must grow first: it needs 15/8 of a window for each
    // segment, 133 at 71. After 134 it has 71, as cwnd; after 267, 197 later, it has 72, and enough has been counted meanwhile.
    let mut script = reduced(Config { c: 1e-9, counting: Counting::Segments, ..Config::default() });
    let acks = [0; 2].map(|_| {
        let before = script.cwnd();
        let grown = (1..).find(|_| {
            script.ack(script.sender.acked() + MSS, &[]);
            script.cwnd() > before
        });
        grown.expect("it grows")
    });
    assert_eq!((acks, script.cwnd()), ([70, 197], 72 * MSS));
    // §4.6: 0.7 of 72 is 50.4.
    let next = script.sender.acked();
    script.ack(next, &[(next + MSS, next + 5 * MSS)]);
    assert_eq!(script.ssthresh(), 50 * MSS);
}

#[test]
fn linux_looks_at_its_clock_in_ticks_and_at_a_window_that_stands_still_less_often() {
    // As above, with an acknowledgement every 100 us from the start of a tick of 4 ms. The first 70 grow the window to 71. The next,
    // in the second tick, computes no growth. For 28 ms nothing is computed; in the tenth tick, 360 after the first, Reno's estimate is
    // two ahead, and enough has been counted. The next tick computes no growth, and in the ninth after it the estimate is three ahead.
    let clock = Clock { tick: Duration::from_millis(4), hold: Duration::from_millis(28) };
    let mut script = reduced(Config { c: 1e-9, counting: Counting::Segments, clock, ..Config::default() });
    assert_eq!(script.now.0 % clock.tick.0, 0);
    let acks = [0; 4].map(|_| {
        let before = script.cwnd();
        let grown = (1..).find(|_| {
            script.ack(script.sender.acked() + MSS, &[]);
            script.wait(Duration::from_micros(100));
            script.cwnd() > before
        });
        grown.expect("it grows")
    });
    // Three ahead of 72, the window grows by one in 24 segments, still in the same tick.
    assert_eq!((acks, script.cwnd()), ([70, 291, 360, 23], 74 * MSS));
}
