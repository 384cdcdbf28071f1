//! ECN*: classic ECN on every packet, RFC 3168 §6.1 by section.

use crate::script::{CE, CWR, ECE, ECT, Kernel, NOT_ECT, Receiving, SYN, Seen, Sending};

const STAR: &str = "\"ecn-star\"";
const PATIENT: &str = "rto = {min = \"400ms\"}";

fn started() -> Option<Sending> {
    Some(Sending::started(Kernel::with(STAR, PATIENT)?, 200))
}

#[test]
fn the_echo_stays_until_the_sender_tells_of_a_smaller_window() {
    // §6.1.3, with every segment acknowledged.
    let Some(kernel) = Kernel::with(STAR, "delayed_ack = {segments = 1}") else { return };
    let mut receiving = Receiving::warm(kernel, 4);
    let mut echoed =
        |ecn, flags| receiving.data(ecn, flags, false).iter().map(|&(_, ece)| ece).collect::<Vec<_>>();
    assert_eq!(echoed(ECT, 0), [false]);
    assert_eq!(echoed(CE, 0), [true]);
    assert_eq!(echoed(ECT, 0), [true]);
    assert_eq!(echoed(ECT, CWR), [false]);
    // A mark on the segment with CWR starts the echo again.
    assert_eq!(echoed(CE, CWR), [true]);
    assert_eq!(echoed(ECT, 0), [true]);
}

#[test]
fn an_echo_halves_the_window_once_in_a_round_trip() {
    // §6.1.2.
    let Some(mut sending) = started() else { return };
    let sent: Vec<Seen> = (1..=10).flat_map(|number| sending.ack(number, ECE, &[])).collect();
    let told: Vec<bool> = sent.iter().map(|segment| segment.has(CWR)).collect();
    assert_eq!(sending.windows(), (5, Some(5)));
    assert_eq!((told[0], told.iter().filter(|&&cwr| cwr).count()), (true, 1), "CWR is on the first new data");
    sending.ack(11, ECE, &[]);
    assert_eq!(sending.windows().1, Some(2));
}

#[test]
fn a_loss_in_a_window_that_was_halved_halves_it_no_further() {
    // §6.1.2: once per window of data.
    let Some(mut sending) = started() else { return };
    sending.ack(1, ECE, &[]);
    sending.ack(1, 0, &[(2, 6)]);
    assert_eq!(sending.windows().1, Some(5));
}

#[test]
fn every_packet_is_ecn_capable_unless_nobody_agreed() {
    // RFC 3168 §6.1.1, 6.1.4 and 6.1.5 exempt SYNs, acknowledgements and retransmissions; the papers' switches would drop them.
    let Some(kernel) = Kernel::with(STAR, PATIENT) else { return };
    let (mut sending, [syn, ack]) = Sending::open(kernel, true);
    assert_eq!((syn.flags, syn.ecn, ack.ecn), (SYN | ECE | CWR, ECT, ECT));
    assert!(sending.write(10).iter().all(|segment| segment.ecn == ECT));
    assert_eq!(sending.ack(0, 0, &[(1, 5)])[0].ecn, ECT, "a retransmission");
    drop(sending);
    let Some(kernel) = Kernel::with(STAR, PATIENT) else { return };
    let (mut sending, _) = Sending::open(kernel, false);
    assert!(sending.write(10).iter().all(|segment| segment.ecn == NOT_ECT));
}
