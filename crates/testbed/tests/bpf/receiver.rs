//! RFC 8257 §3.2: content and time of a receiver's echoes.

use crate::script::{ACK, CE, CWR, ECE, ECT, INCAST, Kernel, Receiving, SYN};

/// The testbed's own congestion controls that are DCTCP, or contain it.
const BOTH: [&str; 2] = ["\"dctcp\"", "\"pulser\""];
/// Number of segments after which the kernel delays acknowledgements. It acknowledges the first sixteen at once, and also those that grow
/// its window.
const WARM: u32 = 60;

fn delaying(congestion: &str) -> Option<Receiving> {
    Some(Receiving::warm(Kernel::with(congestion, "")?, WARM))
}

/// Sends one segment for each of `marks`. Returns the acknowledgements after each segment: the number of segments that they acknowledge,
/// counted from the first of these, and their ECE flags.
fn echoes(receiving: &mut Receiving, marks: &[bool]) -> Vec<Vec<(u32, bool)>> {
    let first = receiving.next();
    let each = |&ce: &bool| receiving.data(if ce { CE } else { ECT }, 0, false);
    let all: Vec<_> = marks.iter().map(each).collect();
    all.into_iter().map(|acks| acks.into_iter().map(|(ack, ece)| (ack - first, ece)).collect()).collect()
}

#[test]
fn the_receiver_echoes_exactly_what_it_sees() {
    for congestion in BOTH {
        let Some(kernel) = Kernel::with(congestion, "delayed_ack = {segments = 1}") else { return };
        let mut receiving = Receiving::warm(kernel, 4);
        let marks = [false, true, true, false, true, false];
        // Echoes have no latch.
        let expected: Vec<_> = marks.iter().zip(1..).map(|(&ce, ack)| vec![(ack, ce)]).collect();
        assert_eq!(echoes(&mut receiving, &marks), expected, "{congestion}");
    }
}

#[test]
fn with_delayed_acknowledgements_a_change_is_acknowledged_at_once_in_both_directions() {
    for congestion in BOTH {
        let Some(mut receiving) = delaying(congestion) else { return };
        let found = echoes(&mut receiving, &[false, true, true, true, true, false, true, false]);
        // m = 2, as crates/transport/tests/conformance/rfc8257.rs derives it.
        let expected: [&[(u32, bool)]; 8] = [
            &[],
            &[(1, false), (2, true)],
            &[],
            &[(4, true)],
            &[],
            &[(5, true), (6, false)],
            &[(7, true)],
            &[(8, false)],
        ];
        assert_eq!(found, expected, "{congestion}");
    }
}

#[test]
fn an_odd_last_segment_keeps_its_mark_until_the_delay_is_over() {
    for congestion in BOTH {
        let Some(mut receiving) = delaying(congestion) else { return };
        assert_eq!(echoes(&mut receiving, &[true, true]), [vec![(1, true)], vec![]], "{congestion}");
        assert_eq!(receiving.late(), [(WARM + 2, true)], "{congestion}");
    }
}

#[test]
fn the_echoed_bytes_are_the_marked_bytes() {
    for congestion in BOTH {
        let Some(mut receiving) = delaying(congestion) else { return };
        // xorshift32 suffices as a random generator.
        let mut state = 1u32;
        let marks: Vec<bool> = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state & 1 == 1
        })
        .take(100)
        .collect();
        let first = receiving.next();
        let mut acks: Vec<(u32, bool)> = echoes(&mut receiving, &marks).concat();
        acks.extend(receiving.late().iter().map(|&(ack, ece)| (ack - first, ece)));
        let (mut acked, mut echoed) = (0, 0);
        for (ack, ece) in acks {
            echoed += if ece { ack - acked } else { 0 };
            acked = ack;
        }
        let marked = marks.iter().filter(|&&ce| ce).count() as u32;
        assert_eq!((acked, echoed), (100, marked), "{congestion}");
    }
}

#[test]
fn a_segment_that_tells_of_a_smaller_window_is_acknowledged_at_once() {
    // Not a rule of the RFC, but of the kernel (tcp_ecn_accept_cwr), and `delayed_ack.cwr_at_once` of a simulation.
    for congestion in BOTH {
        let Some(mut receiving) = delaying(congestion) else { return };
        let mut acks = |flags| receiving.data(ECT, flags, false).len();
        assert_eq!([CWR, 0, 0, 0, CWR].map(&mut acks), [1, 0, 1, 0, 1], "{congestion}");
    }
}

#[test]
fn everything_that_it_sends_is_ecn_capable() {
    // §3.6 discusses it; a marking switch would drop packets that are not ECN-capable.
    for congestion in BOTH {
        let Some(kernel) = Kernel::with(congestion, "") else { return };
        let (mut receiving, answer) = Receiving::open(kernel);
        assert_eq!(
            (answer.flags & (SYN | ACK | ECE | CWR), answer.ecn),
            (SYN | ACK | ECE, ECT),
            "{congestion}"
        );
        assert_eq!(receiving.segment(ECT, 0, false)[0].ecn, ECT, "{congestion}: an acknowledgement");
    }
}

#[test]
fn pulsers_signal_is_echoed_per_packet_and_by_nobody_else() {
    // Pulser §III-B, with every segment acknowledged.
    for (congestion, echoed) in [("\"pulser\"", true), ("\"dctcp\"", false)] {
        let Some(kernel) = Kernel::with(congestion, "delayed_ack = {segments = 1}") else { return };
        let mut receiving = Receiving::warm(kernel, 4);
        for incast in [false, true, true, false] {
            let acks = receiving.segment(ECT, 0, incast);
            assert_eq!(acks.len(), 1);
            assert_eq!(acks[0].has(INCAST), incast && echoed, "{congestion}");
        }
    }
}

#[test]
fn pulsers_change_of_signal_is_acknowledged_at_once() {
    let Some(mut receiving) = delaying("\"pulser\"") else { return };
    let mut acks = |incast| -> Vec<bool> {
        receiving.segment(ECT, 0, incast).iter().map(|ack| ack.has(INCAST)).collect()
    };
    assert_eq!(acks(false), [false; 0]);
    assert_eq!(acks(true), [false, true]);
    assert_eq!(acks(true), [false; 0]);
    assert_eq!(acks(true), [true]);
    assert_eq!(acks(false), [false]);
}
