//! Data center TCP (RFC 8257), rule by rule, with tests for bugs that other simulators have had in DCTCP.

use crate::script::{Listening, MSS, Scripted, dctcp, every, reno_with_ecn};
use proptest::prelude::*;
use shallows_core::packet::{AckSegment, Ecn, Flags};
use shallows_core::{Bytes, Duration};
use shallows_transport::Config as Transport;
use shallows_transport::congestion::dctcp::{Arithmetic, Config, DuplicateAcks, EceGrowth, WindowEnd};

/// Returns a sender that has sent its first ten segments, with alpha at `initial_alpha`.
fn started(config: Config) -> Scripted {
    Scripted::started(dctcp(config), 10_000 * MSS)
}

fn with_alpha(initial_alpha: f64) -> Scripted {
    started(Config { initial_alpha, ..Config::default() })
}

/// Returns a receiver that acknowledges every second segment.
fn delaying() -> Listening {
    let delayed_ack = every(2, Duration::from_millis(1));
    Listening::new(Transport { delayed_ack, ..dctcp(Config::default()) })
}

/// Returns, for each acknowledgement, the first segment that it does not cover, and its ECE flag.
fn echoes(acks: &[AckSegment]) -> Vec<(u64, bool)> {
    acks.iter().map(|ack| (ack.ack / MSS, ack.flags.contains(Flags::ECE))).collect()
}

#[test]
fn the_receiver_echoes_exactly_what_it_sees() {
    let mut receiving = Listening::new(dctcp(Config::default()));
    for (index, ce) in [false, true, true, false, true, false].into_iter().enumerate() {
        let acks = receiving.marked_data(index as u64, ce);
        // §3.2: no latch; CWR has no meaning.
        assert_eq!(echoes(&acks), [(index as u64 + 1, ce)]);
    }
}

#[test]
fn with_delayed_acknowledgements_a_change_is_acknowledged_at_once_in_both_directions() {
    // §3.2, m = 2. One unmarked segment waits when the marked one arrives: it is acknowledged as unmarked.
    let mut receiving = delaying();
    assert_eq!(echoes(&receiving.marked_data(0, false)), []);
    assert_eq!(echoes(&receiving.marked_data(1, true)), [(1, false), (2, true)]);
    // While the marks do not change, every second segment is acknowledged.
    assert_eq!(echoes(&receiving.marked_data(2, true)), []);
    assert_eq!(echoes(&receiving.marked_data(3, true)), [(4, true)]);
    // The marks change back, with one segment waiting, and with none.
    assert_eq!(echoes(&receiving.marked_data(4, true)), []);
    assert_eq!(echoes(&receiving.marked_data(5, false)), [(5, true), (6, false)]);
    assert_eq!(echoes(&receiving.marked_data(6, true)), [(7, true)]);
    assert_eq!(echoes(&receiving.marked_data(7, false)), [(8, false)]);
}

#[test]
fn an_odd_last_segment_keeps_its_mark_until_the_delay_is_over() {
    let mut receiving = delaying();
    receiving.marked_data(0, true);
    assert_eq!(echoes(&receiving.marked_data(1, true)), []);
    let deadline = receiving.receiver.deadline().unwrap();
    let ack = receiving.receiver.on_timer(&receiving.config, deadline).unwrap();
    assert_eq!(echoes(&[ack]), [(2, true)]);
}

proptest! {
    #[test]
    fn the_echoed_bytes_are_the_marked_bytes(
        marks in prop::collection::vec(any::<bool>(), 1..100),
        segments in 1u32..5,
    ) {
        // For any m, a sender that counts the bytes under each echo counts exactly the marked ones.
        let delayed_ack = every(segments, Duration::from_millis(1));
        let mut receiving = Listening::new(Transport { delayed_ack, ..dctcp(Config::default()) });
        let (mut acked, mut echoed) = (0, 0);
        let mut count = |acks: Vec<AckSegment>| for ack in acks {
            if ack.flags.contains(Flags::ECE) {
                echoed += ack.ack - acked;
            }
            acked = ack.ack;
        };
        for (index, &ce) in marks.iter().enumerate() {
            count(receiving.marked_data(index as u64, ce));
        }
        if let Some(deadline) = receiving.receiver.deadline() {
            count(receiving.receiver.on_timer(&receiving.config, deadline).into_iter().collect());
        }
        let marked = marks.iter().filter(|&&ce| ce).count() as u64;
        prop_assert_eq!((acked, echoed), (marks.len() as u64 * MSS, marked * MSS));
    }
}

#[test]
fn alpha_moves_once_per_window_by_the_fraction_of_marked_bytes() {
    let mut script = with_alpha(0.0);
    // §3.3: the first acknowledgement ends the first window; the next window ends above the ten segments sent.
    script.ack(MSS, &[]);
    assert_eq!(script.alpha(), 0.0);
    // Segments 1 to 9 and the segment that passes the end: 10 segments, 3 of them marked.
    for number in 2..=10 {
        if (4..=6).contains(&number) {
            script.ack_with_ece(number * MSS);
        } else {
            script.ack(number * MSS, &[]);
        }
        assert_eq!(script.alpha(), 0.0, "within the window");
    }
    script.ack(11 * MSS, &[]);
    // 15/16 · 0 + 1/16 · 3/10.
    assert_eq!(script.alpha(), 0.3 / 16.0);
}

#[test]
fn the_fraction_is_of_bytes_not_of_acknowledgements() {
    let mut script = with_alpha(0.0);
    script.ack(MSS, &[]);
    // One acknowledgement of nine marked segments, and one of three unmarked ones, which ends the window.
    script.ack_with_ece(10 * MSS);
    script.ack(13 * MSS, &[]);
    assert_eq!(script.alpha(), 9.0 / 12.0 / 16.0);
}

#[test]
fn a_window_may_end_where_it_is_reached() {
    let config = Config { initial_alpha: 0.0, window_end: WindowEnd::Reached, ..Config::default() };
    let mut script = started(config);
    script.ack(MSS, &[]);
    script.ack_with_ece(9 * MSS);
    assert_eq!(script.alpha(), 0.0);
    script.ack(10 * MSS, &[]);
    // Nine segments, eight of them marked, without waiting for the eleventh.
    assert_eq!(script.alpha(), 8.0 / 9.0 / 16.0);
}

#[test]
fn duplicates_may_count_as_segments() {
    for (duplicate_acks, marked, acked) in
        [(DuplicateAcks::Ignored, 9.0, 10.0), (DuplicateAcks::OneSegment, 9.0, 12.0)]
    {
        let config = Config { initial_alpha: 0.0, duplicate_acks, ..Config::default() };
        let mut script = started(config);
        script.ack(MSS, &[]);
        script.ack(MSS, &[]);
        script.ack(MSS, &[]);
        script.ack_with_ece(10 * MSS);
        script.ack(11 * MSS, &[]);
        assert_eq!(script.alpha(), marked / acked / 16.0, "{duplicate_acks:?}");
    }
}

#[test]
fn the_window_is_cut_by_half_of_alpha() {
    // §3.3 step 9, on the first acknowledgement: alpha = 15/16 · 0.6 + 1/16 = 0.625; 10 · (1 − 0.3125) = 6.875.
    let mut script = with_alpha(0.6);
    script.ack_with_ece(MSS);
    assert_eq!((script.cwnd(), script.ssthresh()), (6_875, 6_875));
}

#[test]
fn a_fully_marked_start_halves() {
    let mut script = with_alpha(1.0);
    script.ack_with_ece(MSS);
    assert_eq!(script.cwnd(), 5 * MSS);
}

#[test]
fn the_window_is_cut_at_most_once_per_window() {
    let mut script = with_alpha(1.0);
    for number in 1..=10 {
        script.ack_with_ece(number * MSS);
    }
    // Ten segments had been sent when the first mark was echoed.
    assert_eq!(script.sender.stats().ecn_reductions, 1);
    assert!(script.cwnd() >= 5 * MSS);
    script.ack_with_ece(11 * MSS);
    assert_eq!(script.sender.stats().ecn_reductions, 2);
}

#[test]
fn an_acknowledgement_that_cuts_does_not_grow() {
    // In slow start, where growth would show: 10 segments minus 1/2, not (10 + 1) minus 1/2, nor 5 + 1.
    let mut script = with_alpha(1.0);
    script.ack_with_ece(MSS);
    assert_eq!(script.cwnd(), 5 * MSS);
    // With alpha at zero cwnd is neither cut nor grown, but slow start ends.
    let config = Config { initial_alpha: 0.0, gain: 1e-12, ..Config::default() };
    let mut script = started(config);
    script.ack_with_ece(MSS);
    assert_eq!((script.cwnd(), script.ssthresh()), (10 * MSS, 10 * MSS));
}

#[test]
fn acknowledgements_with_ece_grow_the_window_as_any_other_unless_told_otherwise() {
    // Five segments after the first cut, in congestion avoidance per window: a cwnd of 5 grows by one segment.
    for (ece_growth, grown) in [(EceGrowth::All, 6), (EceGrowth::NotFirst, 6), (EceGrowth::None, 5)] {
        let mut script = started(Config { ece_growth, ..Config::default() });
        for number in 1..=6 {
            script.ack_with_ece(number * MSS);
        }
        assert_eq!(script.cwnd(), grown * MSS, "{ece_growth:?}");
    }
    // The first of a second run of marks in the same window grows cwnd, or does not: five acknowledgements
    // after the cut, the fourth of which begins a run.
    for (ece_growth, grown) in [(EceGrowth::All, 6), (EceGrowth::NotFirst, 5), (EceGrowth::None, 5)] {
        let mut script = started(Config { ece_growth, ..Config::default() });
        script.ack_with_ece(MSS);
        for number in 2..=4 {
            script.ack(number * MSS, &[]);
        }
        script.ack_with_ece(5 * MSS);
        script.ack(6 * MSS, &[]);
        assert_eq!(script.cwnd(), grown * MSS, "{ece_growth:?}");
    }
}

#[test]
fn a_loss_counts_as_for_conventional_tcp_even_if_alpha_is_zero() {
    // §3.5.
    let mut script = with_alpha(0.0);
    script.ack(0, &[(MSS, 4 * MSS)]);
    assert_eq!((script.cwnd(), script.ssthresh()), (5 * MSS, 5 * MSS));
    let mut script = with_alpha(0.0);
    script.time_out();
    assert_eq!((script.cwnd(), script.ssthresh()), (MSS, 5 * MSS));
}

#[test]
fn a_loss_halves_even_a_window_that_was_cut_for_marks() {
    // §3.5: alpha is about 0.1, so the cut is slight; ten segments are in flight.
    let mut script = with_alpha(0.1);
    script.ack_with_ece(MSS);
    let cwnd = script.cwnd();
    assert!(cwnd > 9 * MSS);
    let in_flight = script.sender.sent() - script.sender.acked();
    script.ack(MSS, &[(2 * MSS, 6 * MSS)]);
    assert_eq!(script.cwnd(), in_flight / 2);
}

#[test]
fn a_mark_after_a_loss_in_the_same_window_changes_nothing() {
    let mut script = with_alpha(1.0);
    script.ack(0, &[(MSS, 4 * MSS)]);
    script.ack_with_ece(4 * MSS);
    assert_eq!(script.cwnd(), 5 * MSS);
    assert_eq!(script.sender.stats().ecn_reductions, 0);
}

#[test]
fn alpha_decays_by_the_gain_in_unmarked_windows_and_reaches_zero() {
    let mut script = Scripted::started(
        Transport { max_window: Bytes(10 * MSS), ..dctcp(Config::default()) },
        u64::from(u32::MAX) * MSS,
    );
    let mut expected = 1.0;
    for window in 0..400 {
        // All data sent so far; no more was sent when the previous window ended.
        let sent = script.sender.sent();
        script.ack(sent, &[]);
        expected *= 15.0 / 16.0;
        if expected > 1e-8 {
            assert!((script.alpha() / expected - 1.0).abs() < 1e-12, "window {window}");
        }
    }
    // §4.2: ln(2^-30) / ln(15/16) = 322.2 windows.
    assert_eq!(script.alpha(), 0.0);
}

#[test]
fn the_settings_of_the_papers_simulations_can_be_said() {
    // BCC's ns-2 run: window 20, at most 125, one acknowledgement per packet, α₀ = 0.
    let config = Config {
        initial_alpha: 0.0,
        duplicate_acks: DuplicateAcks::OneSegment,
        ece_growth: EceGrowth::NotFirst,
        ..Config::default()
    };
    let config = Transport { initial_window: Bytes(20 * MSS), max_window: Bytes(125 * MSS), ..dctcp(config) };
    let mut script = Scripted::started(config, 10_000 * MSS);
    for number in 1..=200 {
        script.ack(number * MSS, &[]);
    }
    assert_eq!(script.cwnd(), 125 * MSS);
    // α₀ = 0: the first mark ends slow start without a cut.
    script.ack_with_ece(201 * MSS);
    assert_eq!((script.cwnd(), script.ssthresh()), (125 * MSS, 125 * MSS));
}

#[test]
fn an_unmarked_acknowledgement_cuts_nothing_whatever_alpha_is() {
    let mut script = with_alpha(1.0);
    for number in 1..=10 {
        script.ack(number * MSS, &[]);
        assert_eq!(script.cwnd(), (10 + number) * MSS);
    }
    assert!(script.alpha() > 0.8);
}

#[test]
fn in_whole_1024ths_alpha_decays_as_in_linux_and_reaches_zero() {
    let config =
        Config { arithmetic: Arithmetic::Fixed, window_end: WindowEnd::Reached, ..Config::default() };
    let mut script = Scripted::started(
        Transport { max_window: Bytes(10 * MSS), ..dctcp(config) },
        u64::from(u32::MAX) * MSS,
    );
    let mut found = Vec::new();
    for _ in 0..100 {
        let sent = script.sender.sent();
        script.ack(sent, &[]);
        found.push(script.alpha() * 1_024.0);
    }
    // alpha −= ⌊alpha / 16⌋: 64, 60, 56, 52 …
    assert_eq!(found[..5], [960.0, 900.0, 844.0, 792.0, 743.0]);
    // Below 16 the shift gives zero, and the whole rest is removed (§4.2).
    let last = found.iter().position(|&alpha| alpha == 0.0).expect("it reaches zero");
    assert!(found[last - 1] < 16.0 && found[last - 2] >= 16.0, "{found:?}");
}

#[test]
fn in_whole_1024ths_alpha_rises_by_the_fraction_rounded_down() {
    let config = Config { arithmetic: Arithmetic::Fixed, initial_alpha: 0.0, ..Config::default() };
    let mut script = started(config);
    script.ack(MSS, &[]);
    for number in 2..=10 {
        if (4..=6).contains(&number) {
            script.ack_with_ece(number * MSS);
        } else {
            script.ack(number * MSS, &[]);
        }
    }
    script.ack(11 * MSS, &[]);
    // ⌊3,000 · 64 / 10,000⌋ = ⌊19.2⌋, and the cut uses it: 1024ths of half a window.
    assert_eq!(script.alpha() * 1_024.0, 19.0);
    let cwnd = script.cwnd();
    let sent = script.sender.sent();
    // This acknowledgement ends another window, all marked: 19 − 1 + 64 = 82.
    script.ack_with_ece(sent);
    assert_eq!(script.alpha() * 1_024.0, 82.0);
    assert_eq!(script.cwnd(), cwnd - cwnd * 82 / 2_048);
}

#[test]
fn in_whole_segments_a_cut_is_rounded_down_as_in_linux() {
    // Alpha is 1: two of five segments are cut, floor(5 · 1,024 / 2,048); one of three, where half would be one and a half.
    for (segments, left) in [(10, 5), (5, 3), (3, 2)] {
        let config = Config { arithmetic: Arithmetic::Segments, ..Config::default() };
        let config = Transport { initial_window: Bytes(segments * MSS), ..dctcp(config) };
        let mut script = Scripted::started(config, 100 * MSS);
        script.ack_with_ece(MSS);
        assert_eq!(script.cwnd(), left * MSS, "{segments}");
    }
    // Same inputs as for a kernel (crates/testbed/tests/bpf): three acknowledgements, and 13 segments at 960 / 1,024.
    let arithmetic = Arithmetic::Segments;
    let mut script = started(Config { arithmetic, window_end: WindowEnd::Reached, ..Config::default() });
    (1..=3).for_each(|number| drop(script.ack(number * MSS, &[])));
    script.ack_with_ece(4 * MSS);
    assert_eq!(script.cwnd(), 7 * MSS);
}

#[test]
fn segments_sent_after_a_cut_do_not_allow_another_one_in_the_same_window() {
    // The flag for a due CWR is cleared with the first segment; the limit on cuts must not be cleared with it.
    let mut script = with_alpha(1.0);
    script.ack_with_ece(MSS);
    let (cwnd, end) = (script.cwnd(), script.sender.sent());
    while script.sender.acked() < end - MSS {
        let next = script.sender.acked() + MSS;
        script.ack_with_ece(next);
        assert!(script.cwnd() >= cwnd);
    }
    assert!(script.sender.sent() > end, "new segments have gone out meanwhile");
    assert_eq!(script.sender.stats().ecn_reductions, 1);
}

#[test]
fn at_one_segment_dctcp_sends_on() {
    // RFC 3168 §6.1.2 holds conventional TCP back; §3.3 has no such rule, nor does Linux.
    let config = Transport { initial_window: Bytes(MSS), ..dctcp(Config::default()) };
    let mut script = Scripted::started(config, 10 * MSS);
    assert_eq!(script.ack_with_ece(MSS), [MSS]);
    assert_eq!(script.cwnd(), MSS);
}

#[test]
fn control_packets_are_ecn_capable_with_dctcp_and_not_with_classic_ecn() {
    // §3.6 discusses it; RFC 3168 §6.1.1 forbids it. A marking switch would drop a SYN that is not ECN-capable.
    for (config, expected) in [(dctcp(Config::default()), Ecn::Ect), (reno_with_ecn(), Ecn::NotEct)] {
        let mut script = Scripted::new(Transport { handshake: true, ..config });
        script.sender.write(&script.config, script.now, MSS);
        assert_eq!(script.transmits()[0].ecn, expected, "SYN");
        assert_eq!(script.config.ack_ecn(), expected, "SYN-ACK and ACK");
    }
}
