//! Duplicates that a receiver reports (RFC 2883 §4): the examples of the RFC, byte by byte.

use crate::script::{Listening, MSS, reno, sacked, without_sack};
use shallows_core::packet::{DataSegment, Flags};
use shallows_transport::{Config, Method, Receiver};

/// Returns a receiver that has received all data below `next`.
fn having(next: u64) -> Listening {
    let mut receiving = Listening::new(Config { dsack: true, ..reno() });
    receiving.receiver = Receiver::resuming(&receiving.config, next);
    receiving
}

/// Delivers the bytes from `start` to `last`. Returns the number of the acknowledgement, and its SACK blocks.
fn arrive(receiving: &mut Listening, start: u64, last: u64) -> (u64, Vec<(u64, u64)>) {
    let segment = DataSegment { seq: start, len: (last - start + 1) as u16, ..DataSegment::default() };
    let acks = receiving.receive(segment, false);
    assert_eq!(acks.len(), 1, "at once");
    (acks[0].ack, acks[0].sack_ranges().collect())
}

#[test]
fn example_1_a_duplicate_segment() {
    let mut receiving = having(3_000);
    assert_eq!(arrive(&mut receiving, 3_000, 3_499), (3_500, vec![]));
    assert_eq!(arrive(&mut receiving, 3_500, 3_999), (4_000, vec![]));
    assert_eq!(arrive(&mut receiving, 3_000, 3_499), (4_000, vec![(3_000, 3_500)]));
}

#[test]
fn example_2_an_out_of_order_segment_and_a_duplicate_one() {
    let mut receiving = having(4_000);
    // 4000-4499 is lost.
    assert_eq!(arrive(&mut receiving, 4_500, 4_999), (4_000, vec![(4_500, 5_000)]));
    assert_eq!(arrive(&mut receiving, 3_000, 3_499), (4_000, vec![(3_000, 3_500), (4_500, 5_000)]));
}

#[test]
fn example_3_a_duplicate_of_an_out_of_order_segment() {
    let mut receiving = having(4_000);
    arrive(&mut receiving, 4_500, 4_999);
    assert_eq!(arrive(&mut receiving, 5_000, 5_499), (4_000, vec![(4_500, 5_500)]));
    assert_eq!(arrive(&mut receiving, 5_000, 5_499), (4_000, vec![(5_000, 5_500), (4_500, 5_500)]));
}

#[test]
fn example_4_a_segment_of_which_a_part_has_come() {
    let mut receiving = having(1_000);
    arrive(&mut receiving, 2_000, 2_499);
    assert_eq!(arrive(&mut receiving, 1_000, 1_499), (1_500, vec![(2_000, 2_500)]));
    // 1000-1999 again; the second half is new.
    assert_eq!(arrive(&mut receiving, 1_000, 1_999), (2_500, vec![(1_000, 1_500)]));
}

#[test]
fn example_5_of_two_parts_below_the_acknowledgement_the_first_is_reported() {
    let mut receiving = having(1_000);
    arrive(&mut receiving, 3_000, 3_499);
    assert_eq!(arrive(&mut receiving, 1_000, 1_499), (1_500, vec![(3_000, 3_500)]));
    assert_eq!(arrive(&mut receiving, 2_000, 2_499), (1_500, vec![(2_000, 2_500), (3_000, 3_500)]));
    assert_eq!(arrive(&mut receiving, 1_000, 2_499), (2_500, vec![(1_000, 1_500), (3_000, 3_500)]));
}

#[test]
fn example_6_of_two_parts_above_the_acknowledgement_the_first_is_reported_and_what_holds_it() {
    let mut receiving = having(1_000);
    arrive(&mut receiving, 3_500, 3_999);
    arrive(&mut receiving, 1_500, 1_999);
    let acks = arrive(&mut receiving, 2_500, 2_999);
    assert_eq!(acks, (1_000, vec![(2_500, 3_000), (1_500, 2_000), (3_500, 4_000)]));
    let acks = arrive(&mut receiving, 1_500, 2_999);
    assert_eq!(acks, (1_000, vec![(1_500, 2_000), (1_500, 3_000), (3_500, 4_000)]));
}

#[test]
fn a_part_that_is_held_above_the_gap_that_a_segment_fills_is_reported() {
    let mut receiving = having(1_000);
    arrive(&mut receiving, 2_000, 2_499);
    // 2000-2199 has arrived, 1000-1999 has not.
    assert_eq!(arrive(&mut receiving, 1_000, 2_199), (2_500, vec![(2_000, 2_200)]));
}

#[test]
fn a_duplicate_is_reported_once_and_what_is_new_is_none() {
    let mut receiving = having(0);
    receiving.data(0);
    assert_eq!(sacked(&receiving.data(0)[0]), [(0, 1)]);
    assert_eq!(sacked(&receiving.data(1)[0]), []);
    assert_eq!(sacked(&receiving.data(3)[0]), [(3, 4)]);
    assert_eq!(sacked(&receiving.data(2)[0]), []);
}

#[test]
fn a_lone_fin_that_comes_again_is_reported_as_the_byte_that_it_is() {
    let mut receiving = having(1_000);
    let fin = DataSegment { seq: 1_000, flags: Flags::FIN, ..DataSegment::default() };
    assert_eq!(receiving.receive(fin, false)[0].sack_count, 0);
    let again = receiving.receive(fin, false);
    assert_eq!(again[0].sack_ranges().collect::<Vec<_>>(), [(1_000, 1_001)]);
}

#[test]
fn three_blocks_are_the_most_with_it() {
    let mut receiving = having(MSS);
    for index in [3, 5, 7] {
        receiving.data(index);
    }
    assert_eq!(sacked(&receiving.data(0)[0]), [(0, 1), (7, 8), (5, 6)]);
}

#[test]
fn without_the_key_or_without_sack_nothing_is_reported() {
    for config in [reno(), without_sack(Method::NewReno)] {
        let mut receiving = Listening::new(config);
        receiving.data(0);
        assert_eq!(sacked(&receiving.data(0)[0]), []);
    }
}

#[test]
fn a_first_block_below_the_acknowledgement_or_within_the_second_is_a_duplicate_and_no_other_is() {
    let report = |ack, blocks: &[(u64, u64)]| crate::script::ack(ack, blocks).duplicate();
    assert_eq!(report(4_000, &[(3_000, 3_500)]), Some((3_000, 3_500)));
    assert_eq!(report(4_000, &[(3_500, 4_000), (4_500, 5_000)]), Some((3_500, 4_000)));
    assert_eq!(report(4_000, &[(5_000, 5_500), (4_500, 5_500)]), Some((5_000, 5_500)));
    assert_eq!(report(4_000, &[(4_500, 5_000)]), None);
    assert_eq!(report(4_000, &[(5_000, 6_000), (4_500, 5_500)]), None);
    assert_eq!(report(4_000, &[]), None);
}
