//! Selective acknowledgements that a receiver reports (RFC 2018 §4).

use crate::script::{Listening, MSS, reno, sacked, without_sack};
use shallows_core::Bytes;
use shallows_core::packet::DataSegment;
use shallows_transport::{Config, Method};

/// Delivers segment `index`, and returns the SACK blocks in its acknowledgement, counted in segments.
fn report(receiving: &mut Listening, index: u64) -> Vec<(u64, u64)> {
    let acks = receiving.data(index);
    assert_eq!(acks.len(), 1);
    sacked(&acks[0])
}

#[test]
fn the_first_block_holds_the_newest_segment_and_the_others_the_ones_before() {
    let mut receiving = Listening::new(reno());
    assert_eq!(report(&mut receiving, 5), [(5, 6)]);
    assert_eq!(report(&mut receiving, 9), [(9, 10), (5, 6)]);
    assert_eq!(report(&mut receiving, 2), [(2, 3), (9, 10), (5, 6)]);
    assert_eq!(report(&mut receiving, 7), [(7, 8), (2, 3), (9, 10)], "three blocks at most");
    assert_eq!(report(&mut receiving, 6), [(5, 8), (2, 3), (9, 10)], "it joins two into one");
    assert_eq!(report(&mut receiving, 9), [(9, 10), (5, 8), (2, 3)], "a duplicate is the newest, too");
}

#[test]
fn a_segment_that_moves_the_acknowledgement_leaves_the_order_of_the_other_blocks() {
    let mut receiving = Listening::new(reno());
    for index in [1, 5, 3] {
        receiving.data(index);
    }
    let acks = receiving.data(0);
    assert_eq!((acks[0].ack, sacked(&acks[0])), (2 * MSS, vec![(3, 4), (5, 6)]));
    let acks = receiving.data(2);
    assert_eq!((acks[0].ack, sacked(&acks[0])), (4 * MSS, vec![(5, 6)]));
    let acks = receiving.data(4);
    assert_eq!((acks[0].ack, sacked(&acks[0])), (6 * MSS, vec![]));
}

#[test]
fn a_long_segment_may_fill_several_gaps_at_once() {
    let mut receiving = Listening::new(reno());
    for index in [1, 3, 5] {
        receiving.data(index);
    }
    let acks = receiving.receive(DataSegment { seq: 0, len: 4_500, ..DataSegment::default() }, false);
    assert_eq!(acks[0].ack, 4_500);
    assert_eq!(acks[0].sack_ranges().collect::<Vec<_>>(), [(5 * MSS, 6 * MSS)]);
}

#[test]
fn data_beyond_the_window_is_not_kept() {
    let mut receiving = Listening::new(Config { receive_window: Bytes(3 * MSS), ..reno() });
    assert_eq!(report(&mut receiving, 2), [(2, 3)]);
    assert_eq!(report(&mut receiving, 3), [(2, 3)]);
}

#[test]
fn without_sack_a_receiver_keeps_what_it_has_and_reports_none_of_it() {
    // §2: SACK is used only if both sides permit it.
    let mut receiving = Listening::new(without_sack(Method::NewReno));
    assert_eq!(report(&mut receiving, 1), []);
    assert_eq!(receiving.data(0)[0].ack, 2 * MSS);
}
