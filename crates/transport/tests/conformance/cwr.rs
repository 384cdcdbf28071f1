//! Gradual reduction of a window over a round trip after an ECN echo: Linux's CWR (`tcp_enter_cwr`, `tcp_cwnd_reduction`,
//! `tcp_fastretrans_alert`), with the formulas of RFC 6937 §3 in bytes. Segments of 1,000 bytes.

use crate::script::{MSS, RTT, Scripted, cubic, dctcp, pulser, reno_with_ecn};
use shallows_core::packet::Flags;
use shallows_core::{Bytes, Duration};
use shallows_transport::congestion::{cubic as cubic_config, dctcp as dctcp_config, pulser as pulser_config};
use shallows_transport::{Config, EceReaction, Phase, RestartAfterIdle, RtoConfig};

fn gradual(config: Config) -> Config {
    Config { ece_reaction: EceReaction::Prr, ..config }
}

/// Returns a sender that has sent its window of ten segments.
fn started(config: Config) -> Scripted {
    Scripted::started(gradual(config), 1_000 * MSS)
}

/// Acknowledges all segments below `una`. Returns the segments sent, and cwnd.
fn ack(script: &mut Scripted, una: u64) -> (Vec<u64>, u64) {
    (script.ack(una * MSS, &[]).iter().map(|seq| seq / MSS).collect(), script.cwnd())
}

fn echo(script: &mut Scripted, una: u64) -> (Vec<u64>, u64) {
    (script.ack_with_ece(una * MSS).iter().map(|seq| seq / MSS).collect(), script.cwnd())
}

#[test]
fn the_window_comes_down_in_proportion_to_what_is_delivered() {
    let mut script = started(reno_with_ecn());
    // From 10,000 to 5,000 bytes. Nine segments are in flight; ⌈1,000 · 5/10⌉ = 500, but one segment is sent at once.
    assert_eq!(echo(&mut script, 1), (vec![10], 10_000));
    assert_eq!(script.ssthresh(), 5_000);
    // In flight: 9,000; prr_delivered · 5/10 − prr_out = 1,000 − 1,000.
    assert_eq!(ack(&mut script, 2), (vec![], 9_000));
    // 8,000; 1,500 − 1,000 is less than a segment. Linux counts segments, ⌈1.5⌉, and would send the next segment now.
    assert_eq!(ack(&mut script, 3), (vec![], 8_500));
    // 7,000; 2,000 − 1,000.
    assert_eq!(ack(&mut script, 4), (vec![11], 8_000));
    assert_eq!(ack(&mut script, 5), (vec![], 7_500));
    // 6,000; 3,000 − 2,000.
    assert_eq!(ack(&mut script, 6), (vec![12], 7_000));
    assert_eq!(ack(&mut script, 7), (vec![], 6_500));
    // 5,000 in flight are ssthresh: from now on as much is sent as is delivered.
    assert_eq!(ack(&mut script, 8), (vec![], 5_000));
    assert_eq!(ack(&mut script, 9), (vec![13], 5_000));
    assert_eq!(ack(&mut script, 10), (vec![14], 5_000));
    assert_eq!(ack(&mut script, 11), (vec![15], 5_000));
}

#[test]
fn without_it_the_same_echo_silences_half_a_window() {
    let mut script = Scripted::started(reno_with_ecn(), 1_000 * MSS);
    assert_eq!(echo(&mut script, 1), (vec![], 5_000));
    for una in 2..=5 {
        assert_eq!(ack(&mut script, una), (vec![], 5_000));
    }
    // Meanwhile a whole window was acknowledged, so cwnd grows by a segment.
    assert_eq!(ack(&mut script, 6), (vec![10, 11], 6_000));
}

#[test]
fn each_congestion_control_says_where_it_ends() {
    // Alpha is 1: one half. CUBIC leaves 0.7 (RFC 9438 §4.6).
    let configs = [
        (reno_with_ecn(), 5_000),
        (dctcp(dctcp_config::Config::default()), 5_000),
        (cubic(cubic_config::Config { ecn: true, ..cubic_config::Config::default() }), 7_000),
    ];
    for (config, end) in configs {
        let mut script = started(config);
        echo(&mut script, 1);
        assert_eq!((script.cwnd(), script.ssthresh()), (10_000, end));
        for una in 2..=10 {
            ack(&mut script, una);
        }
        assert_eq!((script.cwnd(), script.ssthresh()), (end, end));
    }
}

#[test]
fn nothing_grows_and_no_echo_counts_before_it_ends() {
    let mut script = started(dctcp(dctcp_config::Config { gain: 0.5, ..dctcp_config::Config::default() }));
    for una in 1..=10 {
        echo(&mut script, una);
    }
    assert_eq!((script.cwnd(), script.ssthresh(), script.sender.stats().ecn_reductions), (5_000, 5_000, 1));
    // The acknowledgement that ends the reduction may begin the next: from 5,000 to 2,500 bytes, with one segment at once.
    assert_eq!(echo(&mut script, 11), (vec![15], 5_000));
    assert_eq!((script.ssthresh(), script.sender.stats().ecn_reductions), (2_500, 2));
}

#[test]
fn growth_goes_on_with_the_acknowledgement_that_ends_it() {
    let mut script = started(reno_with_ecn());
    echo(&mut script, 1);
    // RFC 5681 §3.1: segments 11 to 15 are a window of 5,000 bytes; earlier acknowledgements do not count.
    for una in 2..=14 {
        ack(&mut script, una);
        assert_eq!(script.sender.stats().ecn_reductions, 1);
    }
    assert_eq!(script.cwnd(), 5_000);
    ack(&mut script, 15);
    assert_eq!(script.cwnd(), 6_000);
}

#[test]
fn the_network_that_holds_less_is_filled_as_in_slow_start() {
    // Three segments are in flight, of a window of ten.
    let mut script = Scripted::started(gradual(reno_with_ecn()), 3 * MSS);
    // RFC 6937 §3: min(ssthresh − pipe, max(prr_delivered − prr_out, DeliveredData) + SMSS) = min(5 − 2, 1 + 1).
    assert_eq!(echo(&mut script, 1), (vec![], 4_000));
    assert_eq!(ack(&mut script, 2), (vec![], 4_000));
    assert_eq!(ack(&mut script, 3), (vec![], 4_000));
    assert_eq!(script.write(20 * MSS).len(), 4);
    assert_eq!(ack(&mut script, 4), (vec![7, 8], 5_000));
}

#[test]
fn a_loss_ends_it() {
    // RFC 3168 §6.1.2: a window is reduced once, for ECN or for losses.
    let mut script = started(reno_with_ecn());
    echo(&mut script, 1);
    for above in 3..=5 {
        script.ack(MSS, &[(2 * MSS, above * MSS)]);
    }
    assert_eq!(script.sender.phase(), Phase::Recovery);
    assert_eq!((script.cwnd(), script.ssthresh()), (5_000, 5_000));
    // RFC 8257 §3.5: with DCTCP a loss cuts more. Alpha is 1/2, so 7,500 bytes would remain; the loss leaves half of 1 to 10.
    let alpha = dctcp_config::Config { gain: 0.5, initial_alpha: 0.0, ..dctcp_config::Config::default() };
    let mut script = started(dctcp(alpha));
    echo(&mut script, 1);
    assert_eq!(script.ssthresh(), 7_500);
    for above in 3..=5 {
        script.ack(MSS, &[(2 * MSS, above * MSS)]);
    }
    assert_eq!(script.sender.phase(), Phase::Recovery);
    assert_eq!((script.cwnd(), script.ssthresh()), (5_000, 5_000));
}

#[test]
fn duplicates_neither_lower_nor_raise_it() {
    let mut script = started(reno_with_ecn());
    echo(&mut script, 1);
    script.ack(MSS, &[(2 * MSS, 3 * MSS)]);
    assert_eq!((script.sender.phase(), script.cwnd()), (Phase::Open, 10_000));
    // The late segments arrive: the first completes three delivered segments, and ⌈3,000 · 5/10⌉ is less than the two that were
    // sent, one at the beginning and one by limited transmit. Nine are in flight.
    assert_eq!(ack(&mut script, 3), (vec![], 9_000));
}

#[test]
fn a_timeout_ends_it() {
    let mut script = started(reno_with_ecn());
    echo(&mut script, 1);
    ack(&mut script, 2);
    script.time_out();
    assert_eq!((script.cwnd(), script.sender.phase()), (MSS, Phase::Timeout));
    // No reduction remains: slow start adds a segment.
    ack(&mut script, 3);
    assert_eq!(script.cwnd(), 2 * MSS);
}

#[test]
fn an_idle_timeout_ends_it() {
    let milliseconds = Duration::from_millis(1);
    let rto = RtoConfig { initial: milliseconds, minimum: milliseconds, ..RtoConfig::default() };
    let config = Config { rto, restart_after_idle: RestartAfterIdle::Off, ..gradual(reno_with_ecn()) };
    let mut script = Scripted::started(config, 3 * MSS);
    for una in 1..=3 {
        echo(&mut script, una);
    }
    assert_eq!(script.cwnd(), 4_000);
    script.wait(Duration::from_millis(2));
    assert_eq!(script.write(20 * MSS).len(), 5);
}

#[test]
fn a_short_pause_does_not_end_it() {
    let mut script = Scripted::started(gradual(reno_with_ecn()), 3 * MSS);
    for una in 1..=3 {
        echo(&mut script, una);
    }
    script.wait(RTT);
    assert_eq!(script.write(20 * MSS).len(), 4);
}

#[test]
fn a_window_of_one_segment_waits_for_the_timer_instead() {
    // RFC 3168 §6.1.2.
    let mut script =
        Scripted::started(Config { initial_window: Bytes(MSS), ..gradual(reno_with_ecn()) }, 1_000 * MSS);
    assert_eq!(echo(&mut script, 1), (vec![], MSS));
    assert_eq!(script.time_out(), [MSS]);
}

#[test]
fn a_brake_ends_it() {
    let config = pulser_config::Config {
        dctcp: dctcp_config::Config::default(),
        safe_window: Bytes(4 * MSS),
        restore: pulser_config::Restore::default(),
        signal: pulser_config::Signal::default(),
    };
    let mut script = started(pulser(config));
    assert_eq!(echo(&mut script, 1), (vec![10], 10_000));
    script.ack_with(2 * MSS, Flags::INCAST_ECHO);
    assert_eq!((script.cwnd(), script.sender.phase()), (4_000, Phase::Braking));
    // While the brake is on, an echo acts at once (cwnd stays at most the safe window).
    for una in 3..=11 {
        script.ack_with(una * MSS, Flags::INCAST_ECHO);
        assert_eq!(script.cwnd(), 4_000);
    }
    script.ack_with(12 * MSS, Flags::INCAST_ECHO.with(Flags::ECE));
    assert!(script.cwnd() < 4_000, "cwnd {}", script.cwnd());
}
