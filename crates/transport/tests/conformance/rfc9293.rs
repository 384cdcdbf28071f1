//! Rules of RFC 9293 for the end of a connection and for the receiver's window.

use crate::script::{Listening, MSS, RTT, Scripted, every, reno};
use shallows_core::packet::{AckSegment, DataSegment, Flags};
use shallows_core::{Bytes, Duration, Instant};
use shallows_transport::{Config, Marks};

fn with_fin() -> Config {
    Config { fin: true, ..reno() }
}

/// Sends all segments. Returns number, length and FIN of each.
fn sent(script: &mut Scripted) -> Vec<(u64, u16, bool)> {
    let describe = |segment: DataSegment| (segment.seq, segment.len, segment.flags.contains(Flags::FIN));
    script.transmits().iter().map(|transmit| describe(transmit.segment)).collect()
}

#[test]
fn the_last_segment_of_what_was_written_pushes() {
    // §3.9.1.2: PSH is set on the last queued segment.
    let mut script = Scripted::new(reno());
    let mut pushes = |bytes: u64| {
        script.sender.write(&script.config, script.now, bytes);
        let sent = script.transmits();
        sent.iter().map(|transmit| transmit.segment.flags.contains(Flags::PSH)).collect::<Vec<_>>()
    };
    assert_eq!(pushes(2 * MSS + 1), [false, false, true]);
    assert_eq!(pushes(MSS), [true]);
}

#[test]
fn the_last_segment_carries_the_fin() {
    // §3.6: the FIN follows the data; §3.4: it counts as a byte.
    for (written, last) in [(2 * MSS, (MSS, 1_000, true)), (MSS + 1, (MSS, 1, true))] {
        let mut script = Scripted::new(with_fin());
        script.sender.write(&script.config, script.now, written);
        script.sender.close(&script.config);
        assert_eq!(sent(&mut script), [(0, 1_000, false), last]);
        assert!(!script.sender.is_idle());
        script.ack(written, &[]);
        assert!(!script.sender.is_idle(), "the FIN is not acknowledged");
        assert!(script.sender.deadline().is_some());
        script.ack(written + 1, &[]);
        assert!(script.sender.is_idle());
        assert_eq!(script.sender.deadline(), None);
    }
}

#[test]
fn a_fin_goes_alone_when_the_data_is_gone() {
    let mut script = Scripted::started(with_fin(), 2 * MSS);
    script.sender.close(&script.config);
    script.sender.close(&script.config);
    assert_eq!(sent(&mut script), [(2 * MSS, 0, true)]);
    assert_eq!(sent(&mut script), []);
}

#[test]
fn a_fin_that_is_not_asked_for_is_not_sent() {
    let mut script = Scripted::new(reno());
    script.sender.write(&script.config, script.now, MSS);
    script.sender.close(&script.config);
    assert_eq!(sent(&mut script), [(0, 1_000, false)]);
    script.ack(MSS, &[]);
    assert!(script.sender.is_idle());
}

#[test]
fn a_lost_fin_is_retransmitted() {
    let mut script = Scripted::new(with_fin());
    script.sender.write(&script.config, script.now, MSS);
    script.sender.close(&script.config);
    sent(&mut script);
    script.now = script.sender.deadline().unwrap();
    script.sender.on_timer(&script.config, script.now);
    // The window is one segment: the byte of the FIN does not fit in with the data.
    assert_eq!(sent(&mut script), [(0, 1_000, false)]);
    let ack = crate::script::ack(MSS, &[]);
    script.sender.on_ack(&script.config, script.now, &ack);
    assert_eq!(sent(&mut script), [(MSS, 0, true)]);
}

#[test]
fn a_fin_is_acknowledged_at_once_and_in_its_place() {
    // §3.10.7.4; also, the odd last segment of RFC 8257 §3.2 does not wait for a delayed acknowledgement.
    let delayed_ack = every(2, RTT);
    let mut receiving = Listening::new(Config { delayed_ack, ..with_fin() });
    let fin = |index: u64, len: u16| DataSegment {
        seq: index * MSS,
        len,
        flags: Flags::FIN,
        ..DataSegment::default()
    };
    assert_eq!(receiving.receive(fin(1, 500), false)[0].ack, 0, "above a gap");
    let acks = receiving.data(0);
    assert_eq!(acks[0].ack, 1_501);
    assert_eq!(receiving.receiver.received(), 1_501);
    assert_eq!(receiving.receive(fin(1, 500), false)[0].ack, 1_501, "a copy");
    let mut receiving = Listening::new(Config { delayed_ack, ..with_fin() });
    assert_eq!(receiving.receive(fin(0, 1_000), false)[0].ack, 1_001);
    let mut receiving = Listening::new(Config { delayed_ack, ..with_fin() });
    receiving.data(0);
    assert_eq!(receiving.receive(fin(1, 0), false)[0].ack, 1_001, "alone");
}

#[test]
fn a_receivers_window_can_be_changed_and_what_was_offered_is_not_taken_back() {
    // §3.8.6: a receiver should not shrink the window.
    let mut receiving = Listening::new(Config { receive_window: Bytes(10 * MSS), ..reno() });
    assert_eq!(receiving.data(0)[0].window, 10_000);
    receiving.receiver.resize_window(Bytes(4 * MSS));
    // The sender was allowed up to segment 11: nine segments of this are left, then eight, until four are.
    let windows: Vec<_> = (1..=9).map(|index| receiving.data(index)[0].window).collect();
    assert_eq!(windows, [9_000, 8_000, 7_000, 6_000, 5_000, 4_000, 4_000, 4_000, 4_000]);
    receiving.receiver.resize_window(Bytes(20 * MSS));
    assert_eq!(receiving.data(10)[0].window, 20_000);
}

#[test]
fn data_within_a_window_that_was_offered_is_kept_though_it_shrinks() {
    let mut receiving = Listening::new(Config { receive_window: Bytes(10 * MSS), ..reno() });
    receiving.receiver.resize_window(Bytes(MSS));
    assert_eq!(receiving.data(9)[0].sack_count, 1);
    assert_eq!(receiving.data(10)[0].sack_count, 1, "not beyond it");
    assert_eq!(crate::script::sacked(&receiving.data(10)[0]), [(9, 10)]);
}

#[test]
fn a_window_probe_goes_alone_until_the_window_opens() {
    let mut script = Scripted::started(Config { receive_window: Bytes(2 * MSS), ..reno() }, 100 * MSS);
    let closed = AckSegment { window: 0, ..crate::script::ack(2 * MSS, &[]) };
    assert_eq!(script.receive(closed), [2 * MSS]);
    // §3.8.6.1: the timer sends the segment again, with back-off; no other segment is sent.
    assert_eq!(script.time_out(), [2 * MSS]);
    let first = script.sender.rto();
    assert_eq!(script.time_out(), [2 * MSS]);
    assert_eq!(script.sender.rto(), first * 2);
    let open = AckSegment { window: 3 * MSS as u32, ..crate::script::ack(3 * MSS, &[]) };
    assert_eq!(script.receive(open), [3 * MSS, 4 * MSS], "slow start from one segment");
}

#[test]
fn a_segment_without_data_or_flags_says_nothing() {
    let mut receiving = Listening::new(reno());
    let empty = DataSegment { flags: Flags::ACK, ..DataSegment::default() };
    assert_eq!(receiving.receive_with(empty, Marks::default()), []);
    receiving.now = receiving.now + Duration::from_secs(1);
    assert_eq!(receiving.receiver.deadline(), None);
}

#[test]
fn a_syn_is_answered_with_the_window_its_timestamp_and_what_has_arrived() {
    let config = Config { handshake: true, receive_window: Bytes(10 * MSS), ..reno() };
    let mut receiving = Listening::new(config);
    let syn = DataSegment { flags: Flags::SYN, tsval: Instant(7), ..DataSegment::default() };
    // §3.5; RFC 7323 §3.2: TSecr of the SYN-ACK is the TSval of the SYN.
    let answer = receiving.receive(syn, false)[0];
    assert_eq!((answer.ack, answer.window, answer.tsecr), (0, 10_000, Instant(7)));
    // §3.10.7.4: a late copy of the SYN is answered with the next expected number.
    receiving.data(0);
    assert_eq!(receiving.receive(syn, false)[0].ack, MSS);
}

#[test]
fn a_fin_for_which_the_window_has_no_room_waits() {
    // §3.4: a FIN has its own number. The data fits exactly, so the receiver would have to drop the FIN.
    let mut script = Scripted::new(Config { receive_window: Bytes(2 * MSS), ..with_fin() });
    script.sender.write(&script.config, script.now, 2 * MSS);
    script.sender.close(&script.config);
    assert_eq!(sent(&mut script), [(0, 1_000, false), (MSS, 1_000, false)]);
    let open = AckSegment { window: 2 * MSS as u32, ..crate::script::ack(MSS, &[]) };
    script.sender.on_ack(&script.config, script.now, &open);
    assert_eq!(sent(&mut script), [(2 * MSS, 0, true)]);
    // With one byte more, the data carries the FIN.
    let mut script = Scripted::new(Config { receive_window: Bytes(2 * MSS + 1), ..with_fin() });
    script.sender.write(&script.config, script.now, 2 * MSS);
    script.sender.close(&script.config);
    assert_eq!(sent(&mut script), [(0, 1_000, false), (MSS, 1_000, true)]);
}
