//! RFC 8257 §3.3 to §3.6 and §4.2: reaction of a sender to echoes. Numbers are derived as in
//! `crates/transport/tests/conformance/rfc8257.rs`, from an initial alpha of 1, which a kernel always has.

use shallows_core::Duration;

use crate::script::{CWR, ECE, ECT, INCAST, Kernel, NOT_ECT, SYN, Seen, Sending};

/// The testbed's own congestion controls that are DCTCP, or contain it.
const BOTH: [&str; 2] = ["\"dctcp\"", "\"pulser\""];
/// Retransmission timeout that is longer than all waits in these tests, except waits for a timeout.
const PATIENT: &str = "rto = {min = \"400ms\"}";
/// `TCP_CA_Recovery` of net/tcp_states.h.
const RECOVERY: u8 = 3;

/// Returns a connection with ten of many segments in flight, and an alpha of 1.
fn started(congestion: &str) -> Option<Sending> {
    Some(Sending::started(Kernel::with(congestion, PATIENT)?, 200))
}

/// Returns a connection that has sent `windows` windows of ten segments without a mark. Ten more segments are in flight; also returns the
/// number of the first one in flight.
fn decayed(congestion: &str, windows: u32) -> Option<(Sending, u32)> {
    let mut sending = Sending::started(Kernel::with(congestion, PATIENT)?, 10);
    for window in 1..=windows {
        sending.ack(window * 10, 0, &[]);
        sending.write(10);
    }
    Some((sending, windows * 10))
}

/// Returns the number of segments with CWR.
fn cuts(sent: &[Seen]) -> usize {
    sent.iter().filter(|segment| segment.has(CWR)).count()
}

#[test]
fn alpha_moves_once_per_window_by_the_fraction_of_marked_segments() {
    for congestion in BOTH {
        let Some(mut sending) = started(congestion) else { return };
        let alpha = |sending: &mut Sending, number| {
            sending.ack(number, if (4..=6).contains(&number) { ECE } else { 0 }, &[]);
            sending.alpha()
        };
        // The first acknowledgement ends an empty window: 1,024 - 64.
        let found: Vec<u32> = (1..=20).map(|number| alpha(&mut sending, number)).collect();
        assert_eq!(found[..9], [960; 9], "{congestion}");
        // The next window has segments 2 to 10: 960 - 60 + floor(3 * 64 / 9).
        assert_eq!(found[9..19], [921; 10], "{congestion}");
        // 921 - 57, with no mark.
        assert_eq!(found[19], 864, "{congestion}");
    }
}

#[test]
fn the_fraction_is_of_segments_not_of_acknowledgements() {
    for congestion in BOTH {
        let Some(mut sending) = started(congestion) else { return };
        sending.ack(1, 0, &[]);
        sending.ack(9, ECE, &[]);
        sending.ack(10, 0, &[]);
        // One acknowledgement for eight marked segments, one for one unmarked: 960 - 60 + floor(8 * 64 / 9).
        assert_eq!(sending.alpha(), 956, "{congestion}");
    }
}

#[test]
fn the_window_is_cut_by_half_of_alpha_and_does_not_grow_with_that() {
    for congestion in BOTH {
        let Some(mut sending) = started(congestion) else { return };
        // 960 after the empty window, + 64; and half of ten segments.
        sending.ack(1, ECE, &[]);
        assert_eq!((sending.alpha(), sending.windows().1), (1024, Some(5)), "{congestion}");
        let Some(mut sending) = restarted(sending, congestion) else { return };
        (1..=3).for_each(|number| drop(sending.ack(number, 0, &[])));
        sending.ack(4, ECE, &[]);
        // 13 - floor(13 * 960 / 2,048).
        assert_eq!(sending.windows().1, Some(7), "{congestion}");
    }
}

/// Returns another connection, after the previous one has been closed.
fn restarted(before: Sending, congestion: &str) -> Option<Sending> {
    drop(before);
    started(congestion)
}

#[test]
fn the_window_is_cut_at_most_once_per_window() {
    for congestion in BOTH {
        let Some(mut sending) = started(congestion) else { return };
        let sent: Vec<Seen> = (1..=10).flat_map(|number| sending.ack(number, ECE, &[])).collect();
        // Ten segments had been sent when the first mark arrived; more have been sent since.
        assert_eq!((cuts(&sent), sending.windows()), (1, (5, Some(5))), "{congestion}");
        let sent = sending.ack(11, ECE, &[]);
        // 5 - floor(5 * 1,024 / 2,048).
        assert_eq!((cuts(&sent), sending.windows().1), (1, Some(3)), "{congestion}");
    }
}

#[test]
fn an_unmarked_acknowledgement_cuts_nothing_whatever_alpha_is() {
    for congestion in BOTH {
        let Some(mut sending) = started(congestion) else { return };
        for number in 1..=10 {
            sending.ack(number, 0, &[]);
            assert_eq!(sending.windows(), (10 + number, None), "{congestion}");
        }
        assert!(sending.alpha() > 800);
    }
}

#[test]
fn while_the_window_comes_down_nothing_grows_and_afterwards_it_does() {
    // §3.4 allows growth; a kernel is in a separate state for a round trip (CWR), as with `ece_reaction = "prr"` in a simulation.
    for congestion in BOTH {
        let Some(mut sending) = started(congestion) else { return };
        sending.ack(1, ECE, &[]);
        (2..=10).for_each(|number| drop(sending.ack(number, 0, &[])));
        assert_eq!(sending.windows(), (5, Some(5)), "{congestion}");
        // Congestion avoidance: a segment for each window of five.
        (11..=16).for_each(|number| drop(sending.ack(number, 0, &[])));
        assert_eq!(sending.windows().0, 6, "{congestion}");
    }
}

#[test]
fn at_the_least_window_it_sends_on() {
    for congestion in BOTH {
        let tcp = format!("{PATIENT}\ninitial_window = 2");
        let Some(kernel) = Kernel::with(congestion, &tcp) else { return };
        let mut sending = Sending::started(kernel, 50);
        let sent: Vec<Seen> = (1..=10).flat_map(|number| sending.ack(number, ECE, &[])).collect();
        // Two segments are the minimum of a kernel: one is sent for each that is acknowledged.
        assert_eq!((sent.len(), sending.windows()), (10, (2, Some(2))), "{congestion}");
    }
}

#[test]
fn alpha_decays_by_the_gain_in_unmarked_windows_and_reaches_zero() {
    for congestion in BOTH {
        let Some(kernel) = Kernel::with(congestion, PATIENT) else { return };
        let mut sending = Sending::started(kernel, 10);
        let mut found = Vec::new();
        for window in 1..=100 {
            sending.ack(window * 10, 0, &[]);
            found.push(sending.alpha());
            sending.write(10);
        }
        // alpha -= floor(alpha / 16).
        assert_eq!(found[..5], [960, 900, 844, 792, 743], "{congestion}");
        // §4.2: below 16 the shift gives nothing, and the rest is removed at once.
        let last = found.iter().position(|&alpha| alpha == 0).expect("it reaches zero");
        assert!(found[last - 1] < 16 && found[last - 2] >= 16, "{congestion}: {found:?}");
    }
}

#[test]
fn a_loss_counts_as_for_conventional_tcp_even_if_alpha_is_zero() {
    for congestion in BOTH {
        let Some((mut sending, next)) = decayed(congestion, 90) else { return };
        let (cwnd, _) = sending.windows();
        assert_eq!(sending.alpha(), 0);
        sending.ack(next, 0, &[(next + 1, next + 5)]);
        assert_eq!((sending.info().state, sending.windows().1), (RECOVERY, Some(cwnd / 2)), "{congestion}");
    }
}

#[test]
fn a_timeout_counts_as_for_conventional_tcp_even_if_alpha_is_zero() {
    for congestion in BOTH {
        let Some((mut sending, _)) = decayed(congestion, 90) else { return };
        let (cwnd, _) = sending.windows();
        let again = sending.sent(Duration::from_millis(700));
        assert_eq!((again.len(), sending.windows()), (1, (1, Some(cwnd / 2))), "{congestion}");
        assert_eq!(again[0].ecn, ECT, "{congestion}: a retransmission is ECN-capable, too");
    }
}

#[test]
fn a_loss_halves_even_a_window_that_was_cut_for_marks() {
    for congestion in BOTH {
        let Some((mut sending, next)) = decayed(congestion, 40) else { return };
        let (cwnd, _) = sending.windows();
        sending.ack(next + 1, ECE, &[]);
        // Alpha is small, and so is the cut.
        let (during, cut) = sending.windows();
        assert!(cut.is_some_and(|cut| cut > cwnd * 3 / 4), "{congestion}: {cut:?} of {cwnd}");
        sending.ack(next + 1, 0, &[(next + 2, next + 6)]);
        assert_eq!((sending.info().state, sending.windows().1), (RECOVERY, Some(during / 2)), "{congestion}");
    }
}

#[test]
fn a_mark_after_a_loss_in_the_same_window_changes_nothing() {
    for congestion in BOTH {
        let Some(mut sending) = started(congestion) else { return };
        sending.ack(0, 0, &[(1, 4)]);
        assert_eq!(sending.windows().1, Some(5), "{congestion}");
        let sent = sending.ack(4, ECE, &[]);
        assert_eq!((sending.windows().1, cuts(&sent)), (Some(5), 0), "{congestion}");
    }
}

#[test]
fn everything_that_it_sends_is_ecn_capable() {
    // §3.6 discusses it; RFC 3168 §6.1.1 forbids it, and negotiates ECN by ECE and CWR.
    for congestion in BOTH {
        let Some(kernel) = Kernel::with(congestion, PATIENT) else { return };
        let (mut sending, [syn, ack]) = Sending::open(kernel, true);
        assert_eq!((syn.flags, syn.ecn, ack.ecn), (SYN | ECE | CWR, ECT, ECT), "{congestion}");
        assert!(sending.write(10).iter().all(|segment| segment.ecn == ECT), "{congestion}");
    }
}

#[test]
fn without_agreement_it_is_conventional_tcp() {
    for congestion in BOTH {
        let Some(kernel) = Kernel::with(congestion, PATIENT) else { return };
        let (mut sending, _) = Sending::open(kernel, false);
        let sent = sending.write(50);
        assert!(sent.iter().all(|segment| segment.ecn == NOT_ECT), "{congestion}");
        // Echoes have no effect, and losses their usual one.
        sending.ack(1, ECE, &[]);
        assert_eq!(sending.windows(), (11, None), "{congestion}");
        sending.ack(1, 0, &[(2, 6)]);
        assert_eq!(sending.windows().1, Some(5), "{congestion}");
    }
}

#[test]
fn pulsers_signal_stops_a_sender_and_its_end_restores_the_window() {
    let Some(mut sending) = started("\"pulser\"") else { return };
    // Ten segments are in flight, and the safe window is four: six must be acknowledged before another is sent.
    let sent: Vec<usize> = (1..=7).map(|number| sending.ack(number, INCAST, &[]).len()).collect();
    assert_eq!(sent, [0, 0, 0, 0, 0, 0, 1]);
    sending.ack(8, 0, &[]);
    assert!(sending.windows().0 >= 10, "{:?}", sending.windows());
    assert_eq!(sending.windows().1, None, "it was no congestion");
}
