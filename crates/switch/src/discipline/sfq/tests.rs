//! Tests of SFQ against hand-worked traces and independent models of its drop rules.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::discipline::testing::{Step, drain, held, join, offer, packet, reading, send, steps, stream};

/// Returns an SFQ in which no two of the tests' flows share a bucket.
fn sfq(max_packets: u32, drop: DropRule) -> Sfq<u32> {
    let config = Config { buckets: 16, max_packets, hash: FlowHash::SourceOnly, drop, ..Config::default() };
    Sfq::new(&config, stream(1))
}

#[test]
fn the_sizes_are_those_of_ns_2_and_the_rest_is_mckenneys() {
    let expected = Config {
        buckets: 16,
        max_packets: 40,
        hash: FlowHash::AddressPair,
        perturbation: None,
        drop: DropRule::StealTail,
    };
    assert_eq!(Config::default(), expected);
}

#[test]
fn each_bucket_sends_a_packet_in_turn_whatever_its_size() {
    let mut sfq = sfq(40, DropRule::StealTail);
    for (flow, payload) in [(1, 10), (1, 11), (1, 12), (2, 20), (3, 30), (3, 31)] {
        join(&mut sfq, packet(flow).with_size(100 * flow as u16), payload).unwrap();
    }
    assert_eq!((reading(&sfq, "busy_buckets"), reading(&sfq, "longest_bucket_packets")), (3.0, 3.0));
    assert_eq!(held(&sfq), (Bytes(1_100), 6));
    assert_eq!(drain(&mut sfq), [10, 20, 30, 11, 31, 12]);
}

#[test]
fn a_packet_steals_from_the_tail_or_the_head_of_the_longest_bucket() {
    for (drop, stolen, sent) in
        [(DropRule::StealTail, 12, [10, 20, 11]), (DropRule::StealHead, 10, [11, 20, 12])]
    {
        let mut sfq = sfq(3, drop);
        for payload in 10..13 {
            join(&mut sfq, packet(1), payload).unwrap();
        }
        let mut pushed = vec![];
        offer(&mut sfq, Instant::ZERO, packet(2), 20, &mut pushed).unwrap();
        assert_eq!(pushed, [stolen], "{drop:?}");
        assert_eq!(drain(&mut sfq), sent, "{drop:?}");
    }
}

#[test]
fn nobody_steals_from_a_bucket_that_is_no_longer_than_his_own() {
    for (drop, pushed_out, sent) in
        [(DropRule::StealTail, vec![], vec![10, 20, 11]), (DropRule::StealHead, vec![20], vec![10, 21, 11])]
    {
        let mut sfq = sfq(3, drop);
        for (flow, payload) in [(1, 10), (1, 11), (2, 20)] {
            join(&mut sfq, packet(flow), payload).unwrap();
        }
        // Including the arriving packet, both buckets hold two.
        let mut pushed = vec![];
        let joined = offer(&mut sfq, Instant::ZERO, packet(2), 21, &mut pushed);
        assert_eq!(joined.err(), (drop == DropRule::StealTail).then_some(DropReason::PortLimit), "{drop:?}");
        assert_eq!(pushed, pushed_out, "{drop:?}");
        assert_eq!(drain(&mut sfq), sent, "{drop:?}");
    }
}

#[test]
fn where_no_bucket_holds_more_than_one_packet_a_new_flow_is_refused() {
    for drop in [DropRule::StealTail, DropRule::StealHead] {
        let mut sfq = sfq(2, drop);
        join(&mut sfq, packet(1), 10).unwrap();
        join(&mut sfq, packet(2), 20).unwrap();
        assert_eq!(join(&mut sfq, packet(3), 30), Err(DropReason::PortLimit), "{drop:?}");
        assert_eq!(drain(&mut sfq), [10, 20], "{drop:?}");
    }
}

#[test]
fn one_bucket_is_a_fifo_that_drops_as_it_is_told() {
    for (drop, sent) in [(DropRule::StealTail, [0, 1, 2]), (DropRule::StealHead, [7, 8, 9])] {
        let mut sfq = Sfq::new(&Config { buckets: 1, max_packets: 3, drop, ..Config::default() }, stream(1));
        for payload in 0..10 {
            let _ = offer(&mut sfq, Instant::ZERO, packet(payload), payload, &mut vec![]);
        }
        assert_eq!(drain(&mut sfq), sent, "{drop:?}");
    }
}

#[test]
fn a_lone_bucket_fills_half_of_what_is_left_under_the_rule_of_ns_2() {
    // 40 packets, 16 buckets: if u packets wait, there is room for 40 − u. A packet is admitted while u < ⌊(40 − u)/2⌋, that is up to u =
    // 12: 12 < 14, but 13 = 13.
    let mut sfq = sfq(40, DropRule::AsNs2);
    let joined = (0..30).filter(|&payload| join(&mut sfq, packet(1), payload).is_ok()).count();
    assert_eq!(joined, 13);
    assert_eq!(join(&mut sfq, packet(1), 99), Err(DropReason::QueueLimit));
}

#[test]
fn with_little_room_a_bucket_gets_a_fair_share_under_the_rule_of_ns_2() {
    // Two packets each of 13 flows leave room for 14 of 40, fewer than 16 buckets. The fair share is ⌊40/16⌋ = 2: a bucket with
    // 2 packets may take one more. A bucket with 3 may not, although it holds less than half of the room left.
    let mut sfq = sfq(40, DropRule::AsNs2);
    for payload in 0..26 {
        join(&mut sfq, packet(payload % 13), payload).unwrap();
    }
    assert_eq!(join(&mut sfq, packet(0), 100), Ok(()));
    assert_eq!(join(&mut sfq, packet(0), 101), Err(DropReason::QueueLimit));
    assert_eq!(join(&mut sfq, packet(13), 102), Ok(()));
}

#[test]
fn the_last_place_is_never_taken_under_the_rule_of_ns_2() {
    let mut sfq = sfq(3, DropRule::AsNs2);
    join(&mut sfq, packet(1), 1).unwrap();
    join(&mut sfq, packet(2), 2).unwrap();
    assert_eq!(join(&mut sfq, packet(3), 3), Err(DropReason::PortLimit), "half of one is nothing");
}

#[test]
fn a_bucket_emptied_for_a_packet_that_then_does_not_come_is_not_busy() {
    let mut sfq = sfq(1, DropRule::StealHead);
    join(&mut sfq, packet(1), 10).unwrap();
    assert_eq!(sfq.push_out(Instant::ZERO, &packet(1)).map(|left| left.item.payload), Some(10));
    assert_eq!(reading(&sfq, "busy_buckets"), 0.0);
    // The circle still contains the bucket, so another packet cannot pass.
    let queue = sfq.place(Instant::ZERO, &packet(2)).unwrap();
    assert_eq!(sfq.pass(Instant::ZERO, queue, Bytes(1_000)), None);
    assert_eq!(send(&mut sfq), None);
}

#[test]
fn a_perturbed_hash_separates_flows_that_collide() {
    // Two flows in two buckets collide in half of the periods: about 200 of 400, standard deviation 10. Five standard deviations are 50.
    let config = Config { buckets: 2, perturbation: Some(Duration(100)), ..Config::default() };
    let mut sfq = Sfq::new(&config, stream(3));
    let mut apart = 0;
    for period in 0..400 {
        let now = Instant(period * 100);
        for flow in [1, 2] {
            offer(&mut sfq, now, packet(flow), flow, &mut vec![]).unwrap();
        }
        let first = reading(&sfq, "busy_buckets");
        for flow in [1, 2] {
            offer(&mut sfq, now + Duration(99), packet(flow), flow, &mut vec![]).unwrap();
        }
        assert_eq!(reading(&sfq, "busy_buckets"), first, "the hash lasts for the whole period");
        apart += u32::from(first == 2.0);
        drain(&mut sfq);
    }
    assert!(apart.abs_diff(200) < 50, "{apart}");
}

#[test]
#[should_panic(expected = "at least one bucket")]
fn without_buckets_nothing_is_hashed() {
    Sfq::<u32>::new(&Config { buckets: 0, ..Config::default() }, stream(1));
}

#[test]
#[should_panic(expected = "none is ever admitted")]
fn without_room_nothing_is_admitted() {
    Sfq::<u32>::new(&Config { max_packets: 0, ..Config::default() }, stream(1));
}

#[test]
#[should_panic(expected = "none is ever admitted")]
fn the_rule_of_ns_2_admits_nothing_into_one_place() {
    Sfq::<u32>::new(&Config { max_packets: 1, drop: DropRule::AsNs2, ..Config::default() }, stream(1));
}

#[test]
#[should_panic(expected = "cannot be perturbed")]
fn a_hash_without_a_seed_is_not_perturbed() {
    let perturbation = Some(Duration::from_secs(10));
    Sfq::<u32>::new(&Config { hash: FlowHash::AddressSum, perturbation, ..Config::default() }, stream(1));
}

#[test]
fn one_place_is_enough_for_stealing() {
    let mut sfq = sfq(1, DropRule::StealTail);
    assert_eq!(join(&mut sfq, packet(1), 1), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// SFQ sends and drops the same packets as a model that keeps one list of packets per flow, in the order of turns, and applies the
/// published drop rules.
    #[test]
    fn departures_and_drops_are_those_of_the_rule(
        steps in steps(8, 300),
        max_packets in 2u32..50,
        drop in prop_oneof![Just(DropRule::StealTail), Just(DropRule::StealHead), Just(DropRule::AsNs2)],
    ) {
        let mut sfq = sfq(max_packets, drop);
        let mut round: VecDeque<(u32, VecDeque<u32>)> = VecDeque::new();
        for (number, Step { flow, arrives, .. }) in (0..).zip(steps) {
            if arrives {
                let mut dropped = vec![];
                if offer(&mut sfq, Instant::ZERO, packet(flow), number, &mut dropped).is_err() {
                    dropped.push(number);
                }
                if !round.iter().any(|bucket| bucket.0 == flow) {
                    round.push_back((flow, VecDeque::new()));
                }
                let own = round.iter().position(|bucket| bucket.0 == flow).unwrap();
                let waiting: usize = round.iter().map(|bucket| bucket.1.len()).sum();
                let (left, used) = (max_packets as usize - waiting, round[own].1.len());
                let share = max_packets as usize / 16;
                let mut expected = vec![];
                if drop == DropRule::AsNs2 && (used >= left >> 1 || (left < 16 && used > share) || left == 0) {
                    expected.push(number);
                } else {
                    round[own].1.push_back(number);
                    if waiting == max_packets as usize {
                        let most = round.iter().map(|bucket| bucket.1.len()).max().unwrap();
                        let longest = if round[own].1.len() == most {
                            own
                        } else {
                            round.iter().position(|bucket| bucket.1.len() == most).unwrap()
                        };
                        let bucket = &mut round[longest].1;
                        let victim = if drop == DropRule::StealHead { bucket.pop_front() } else { bucket.pop_back() };
                        expected.extend(victim);
                    }
                }
                round.retain(|bucket| !bucket.1.is_empty());
                prop_assert_eq!(dropped, expected);
            } else {
                let expected = round.pop_front().map(|(flow, mut bucket)| {
                    let number = bucket.pop_front().unwrap();
                    if !bucket.is_empty() {
                        round.push_back((flow, bucket));
                    }
                    number
                });
                prop_assert_eq!(send(&mut sfq), expected);
            }
        }
    }
}
