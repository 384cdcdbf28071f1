//! Data in both directions of a connection: the acknowledgements that data carries (RFC 9293 §3.8.6.3, RFC 5681 §4.2).

use crate::script::{Listening, MSS, RTT, Scripted, dctcp, every, reno, reno_with_ecn};
use shallows_core::packet::{AckSegment, DataSegment, Flags};
use shallows_core::{Bytes, Duration, Instant};
use shallows_transport::{Config, DelayedAck};

const TIMEOUT: Duration = Duration::from_millis(40);

/// Returns a segment of the other direction, as its sender hands it over.
fn other() -> DataSegment {
    let sent_at = Instant::ZERO + Duration::from_micros(7);
    DataSegment { seq: 5 * MSS, len: 300, tsval: sent_at, flags: Flags::ACK, ..DataSegment::default() }
}

/// Returns the segment [`other()`] with the acknowledgement that `listening` adds to it.
fn carried(listening: &mut Listening) -> DataSegment {
    listening.receiver.carry(&listening.config, listening.now, other())
}

#[test]
fn data_carries_the_acknowledgement_that_would_have_waited() {
    let mut listening = Listening::new(Config { delayed_ack: every(2, TIMEOUT), ..reno() });
    assert_eq!(listening.data(0), []);
    assert!(listening.receiver.deadline().is_some(), "it waits");
    let data = carried(&mut listening);
    assert_eq!((data.seq, data.len, data.tsval), (other().seq, other().len, other().tsval));
    let ack = data.carried(0, 77).expect("one that is new");
    assert_eq!((ack.ack, ack.window, ack.tsval), (MSS, 77, other().tsval));
    // No acknowledgement is pending, and the next segment is the first of two again.
    assert_eq!(listening.receiver.deadline(), None);
    assert_eq!(listening.data(1), []);
    assert_eq!(listening.data(2).len(), 1);
}

#[test]
fn what_is_known_is_carried_and_no_news() {
    let mut listening = Listening::new(reno());
    assert_eq!(carried(&mut listening), other(), "nothing has come");
    assert_eq!(listening.data(0).len(), 1);
    let data = carried(&mut listening);
    assert!(data.carried_ack.is_some());
    assert_eq!(data.carried(MSS, 77), None);
    assert_eq!(data.carried(2 * MSS, 77), None, "it is older than what is known");
}

#[test]
fn numbers_go_on_where_a_header_begins_anew() {
    // Sequence numbers have 32 bits, as in a header.
    let far = (1 << 32) - MSS;
    let ack = AckSegment { ack: far + 3 * MSS, flags: Flags::ACK, ..AckSegment::default() };
    let data = other().carrying(&ack);
    assert_eq!(data.carried(far, 1).map(|ack| ack.ack), Some(far + 3 * MSS));
    assert_eq!(data.carried(far + 3 * MSS, 1), None);
}

#[test]
fn while_something_is_missing_data_carries_nothing() {
    // Data segments have no room for SACK blocks; separate acknowledgements carry them.
    let mut listening = Listening::new(reno());
    listening.data(0);
    assert_eq!(listening.data(2).len(), 1);
    assert_eq!(carried(&mut listening), other());
    listening.data(1);
    assert_eq!(carried(&mut listening).carried(0, 1).map(|ack| ack.ack), Some(3 * MSS));
}

#[test]
fn an_acknowledgement_on_data_counts_as_any_other() {
    let mut script = Scripted::started(reno(), 20 * MSS);
    let ack = AckSegment { ack: 2 * MSS, tsecr: script.now, flags: Flags::ACK, ..AckSegment::default() };
    script.now = script.now + RTT;
    let data = other().carrying(&ack);
    script.sender.on_carried(&script.config, script.now, &data);
    // Slow start: one more segment for the acknowledgement, two for the data that it covers.
    assert_eq!((script.sender.acked(), script.cwnd()), (2 * MSS, 11 * MSS));
    assert_eq!(script.sender.srtt(), Some(RTT));
    assert_eq!(script.transmits().len(), 3);
}

#[test]
fn data_that_acknowledges_nothing_new_is_no_duplicate() {
    // RFC 5681 §2: a duplicate carries no data.
    let mut script = Scripted::started(reno(), 20 * MSS);
    script.ack(MSS, &[]);
    let ack = AckSegment { ack: MSS, flags: Flags::ACK, ..AckSegment::default() };
    for _ in 0..5 {
        script.sender.on_carried(&script.config, script.now, &other().carrying(&ack));
    }
    assert_eq!((script.transmits(), script.sender.stats().fast_recoveries), (vec![], 0));
}

#[test]
fn the_window_stays_what_it_was_last_told_and_moves_along() {
    let config = Config { receive_window: Bytes(4 * MSS), ..reno() };
    let mut script = Scripted::started(config, 20 * MSS);
    assert_eq!(script.sender.sent(), 4 * MSS);
    let ack = AckSegment { ack: 2 * MSS, flags: Flags::ACK, ..AckSegment::default() };
    script.sender.on_carried(&script.config, script.now, &other().carrying(&ack));
    script.transmits();
    assert_eq!(script.sender.sent(), 6 * MSS);
}

#[test]
fn data_echoes_marks_as_acknowledgements_do() {
    for config in [reno_with_ecn(), dctcp(Default::default())] {
        let mut listening = Listening::new(Config { delayed_ack: every(2, TIMEOUT), ..config });
        listening.marked_data(0, true);
        let ack = carried(&mut listening).carried(0, 1);
        // DCTCP acknowledges a change of marks at once.
        let told = ack.is_none_or(|ack| ack.flags.contains(Flags::ECE));
        assert!(told && carried(&mut listening).flags.contains(Flags::ECE));
    }
}

#[test]
fn a_connection_that_answers_acknowledges_no_longer_at_once() {
    // Linux, tcp_event_data_sent: a connection is interactive after its first answer.
    let delayed_ack = DelayedAck { quick: 16, ..every(2, TIMEOUT) };
    let mut listening = Listening::new(Config { delayed_ack, ..reno() });
    assert_eq!(listening.data(0).len(), 1);
    carried(&mut listening);
    assert_eq!(listening.data(1), []);
}
