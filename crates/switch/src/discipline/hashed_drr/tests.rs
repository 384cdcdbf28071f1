//! Tests of hashed DRR against hand-worked traces, ns-2's order of events and the bound on its fairness.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::discipline::testing::{Step, drain, held, join, offer, packet, reading, send, steps, stream};

/// Returns a hashed DRR in which flow *n* has bucket *n*, because ns-2's hash of the source maps numbers below 16 to themselves.
fn drr(limit: Limit, quantum: u64) -> HashedDrr<u32> {
    let config = Config { buckets: 16, quantum: Bytes(quantum), limit, hash: FlowHash::SourceOnly };
    HashedDrr::new(&config, stream(1))
}

fn sized(flow: u32, size: u16) -> Header {
    packet(flow).with_size(size)
}

#[test]
fn the_defaults_are_those_of_ns_2() {
    let Config { buckets, quantum, limit, hash } = Config::default();
    assert_eq!((buckets, quantum, limit), (10, Bytes(250), Limit::Bytes(Bytes(25_000))));
    assert_eq!(hash, FlowHash::FiveTuple);
}

#[test]
fn a_packet_waits_for_as_many_visits_as_it_holds_quanta() {
    // 250 bytes at each visit: flow 2 sends 500 bytes at its visits 2, 4, 6, …, flow 1 sends 1,500 bytes at its visits 6
    // and 12, before flow 2 in each round.
    let mut drr = drr(Limit::Packets(100), 250);
    for number in 0..2 {
        join(&mut drr, sized(1, 1_500), 10 + number).unwrap();
    }
    for number in 0..8 {
        join(&mut drr, sized(2, 500), 20 + number).unwrap();
    }
    assert_eq!(drain(&mut drr), [20, 21, 10, 22, 23, 24, 11, 25, 26, 27]);
    assert_eq!(held(&drr), (Bytes(0), 0));
}

#[test]
fn a_visit_lasts_as_long_as_the_deficit_does() {
    // 1,000 bytes at each visit: three packets of 400 bytes need 1,200, so two leave and 200 bytes are kept. At the next visit,
    // 1,200 bytes are exactly enough for three.
    let mut drr = drr(Limit::Packets(100), 1_000);
    for number in 0..6 {
        join(&mut drr, sized(1, 400), 10 + number).unwrap();
    }
    join(&mut drr, sized(2, 1_000), 20).unwrap();
    join(&mut drr, sized(2, 1_000), 21).unwrap();
    assert_eq!(drain(&mut drr), [10, 11, 20, 12, 13, 14, 21, 15]);
}

#[test]
fn an_empty_bucket_keeps_no_deficit_and_no_turn() {
    let mut drr = drr(Limit::Packets(100), 1_000);
    join(&mut drr, sized(1, 400), 10).unwrap();
    assert_eq!(send(&mut drr), Some(10));
    // If flow 1 kept its 600 bytes of deficit, its packet of 1,500 bytes would leave at the first new visit.
    join(&mut drr, sized(1, 1_500), 11).unwrap();
    join(&mut drr, sized(2, 100), 20).unwrap();
    assert_eq!(drain(&mut drr), [20, 11]);
}

#[test]
fn a_packet_that_passes_resets_the_turn_of_its_bucket() {
    let mut drr = drr(Limit::Packets(2), 1_500);
    // Flow 1 has the turn when it loses its only packet to flow 3.
    join(&mut drr, sized(1, 1_000), 10).unwrap();
    assert_eq!(drr.peek(Instant::ZERO), Some(Bytes(1_000)));
    join(&mut drr, sized(2, 1_000), 20).unwrap();
    let mut pushed = vec![];
    offer(&mut drr, Instant::ZERO, sized(3, 1_000), 30, &mut pushed).unwrap();
    assert_eq!((pushed, drain(&mut drr)), (vec![10], vec![20, 30]));
    // Its next packet passes through the empty port. The one after that has the first turn of a new round.
    let queue = drr.place(Instant::ZERO, &sized(1, 1_000)).unwrap();
    assert_eq!(drr.pass(Instant::ZERO, queue, Bytes(1_000)), Some(false));
    join(&mut drr, sized(1, 1_000), 11).unwrap();
    join(&mut drr, sized(2, 1_000), 21).unwrap();
    assert_eq!(drain(&mut drr), [11, 21]);
}

#[test]
fn the_longest_bucket_loses_its_head_also_to_others() {
    let mut drr = drr(Limit::Bytes(Bytes(4_000)), 250);
    for (flow, size, payload) in [(1, 1_000, 10), (2, 500, 20), (1, 1_000, 11), (3, 1_500, 30)] {
        join(&mut drr, sized(flow, size), payload).unwrap();
    }
    assert_eq!(held(&drr), (Bytes(4_000), 4), "exactly full is not too full");
    let mut pushed = vec![];
    offer(&mut drr, Instant::ZERO, sized(2, 100), 21, &mut pushed).unwrap();
    assert_eq!(pushed, [10], "2,000 bytes of flow 1");
    // Flow 1 holds 1,000 bytes, flow 2 600, flow 3 1,500, and there is room for 900. With 1,400 more, flow 2 has the most, 2,000.
    pushed.clear();
    offer(&mut drr, Instant::ZERO, sized(2, 1_400), 22, &mut pushed).unwrap();
    assert_eq!(pushed, [20]);
    assert_eq!(held(&drr), (Bytes(4_000), 4));
    assert_eq!(reading(&drr, "busy_buckets"), 3.0);
    assert_eq!(reading(&drr, "longest_bucket_bytes"), 1_500.0);
}

#[test]
fn a_packet_that_is_itself_the_longest_bucket_is_refused() {
    let mut drr = drr(Limit::Packets(2), 250);
    join(&mut drr, sized(1, 500), 10).unwrap();
    join(&mut drr, sized(2, 500), 20).unwrap();
    assert_eq!(join(&mut drr, sized(3, 501), 30), Err(DropReason::PortLimit));
    // In a tie, the bucket that comes first in the round loses a packet; a new bucket would come last.
    let mut pushed = vec![];
    offer(&mut drr, Instant::ZERO, sized(3, 500), 31, &mut pushed).unwrap();
    assert_eq!(pushed, [10]);
    assert_eq!(drain(&mut drr), [20, 31]);
}

#[test]
fn one_bucket_is_a_fifo_that_drops_its_head() {
    let config = Config { buckets: 1, limit: Limit::Packets(3), ..Config::default() };
    let mut drr = HashedDrr::new(&config, stream(1));
    let mut pushed = vec![];
    for payload in 0..10 {
        offer(&mut drr, Instant::ZERO, packet(payload), payload, &mut pushed).unwrap();
    }
    assert_eq!(pushed, [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(drain(&mut drr), [7, 8, 9]);
}

#[test]
fn a_bucket_emptied_for_a_packet_that_then_does_not_come_is_not_busy() {
    let mut drr = drr(Limit::Packets(1), 250);
    join(&mut drr, sized(1, 500), 10).unwrap();
    assert_eq!(drr.push_out(Instant::ZERO, &sized(1, 500)).map(|left| left.item.payload), Some(10));
    assert_eq!(reading(&drr, "busy_buckets"), 0.0);
    // The circle still contains the bucket, so another packet cannot pass.
    let queue = drr.place(Instant::ZERO, &sized(2, 500)).unwrap();
    assert_eq!(drr.pass(Instant::ZERO, queue, Bytes(500)), None);
    assert_eq!(send(&mut drr), None);
}

#[test]
fn five_tuples_are_hashed_apart_where_sources_are_not() {
    for (hash, buckets) in [(FlowHash::FiveTuple, 50), (FlowHash::SourceOnly, 1)] {
        let config = Config { buckets: 1 << 20, limit: Limit::Packets(100), hash, ..Config::default() };
        let mut drr = HashedDrr::new(&config, stream(1));
        for port in 0..50 {
            join(&mut drr, packet(1).with_ports(port, 80), u32::from(port)).unwrap();
        }
        assert_eq!(reading(&drr, "busy_buckets"), f64::from(buckets), "{hash:?}");
    }
}

#[test]
#[should_panic(expected = "at least one bucket")]
fn without_buckets_nothing_is_hashed() {
    HashedDrr::<u32>::new(&Config { buckets: 0, ..Config::default() }, stream(1));
}

#[test]
#[should_panic(expected = "a quantum of zero")]
fn without_a_quantum_nothing_is_served() {
    HashedDrr::<u32>::new(&Config { quantum: Bytes(0), ..Config::default() }, stream(1));
}

/// Step-by-step model of ns-2's DRR: enqueue first, then drop the head of the longest bucket while the limit is exceeded.
#[derive(Default)]
struct Ns2 {
    /// Identifying number and size of each waiting packet, for each bucket.
    buckets: Vec<VecDeque<(u32, u64)>>,
    deficits: Vec<u64>,
    begun: Vec<bool>,
    /// The buckets that hold packets, starting with the one that has the turn.
    round: VecDeque<usize>,
}

impl Ns2 {
    fn new() -> Self {
        Self {
            buckets: vec![VecDeque::new(); 16],
            deficits: vec![0; 16],
            begun: vec![false; 16],
            round: VecDeque::new(),
        }
    }

    fn bytes(&self, bucket: usize) -> u64 {
        self.buckets[bucket].iter().map(|packet| packet.1).sum()
    }

    fn arrive(
        &mut self,
        bucket: usize,
        number: u32,
        size: u64,
        fits: impl Fn(usize, u64) -> bool,
    ) -> Vec<u32> {
        self.buckets[bucket].push_back((number, size));
        if self.buckets[bucket].len() == 1 {
            self.round.push_back(bucket);
            self.deficits[bucket] = 0;
        }
        let mut dropped = vec![];
        loop {
            let packets = self.buckets.iter().map(VecDeque::len).sum();
            if fits(packets, (0..16).map(|bucket| self.bytes(bucket)).sum()) {
                return dropped;
            }
            let most = self.round.iter().map(|&bucket| self.bytes(bucket)).max().unwrap();
            let place = self.round.iter().position(|&bucket| self.bytes(bucket) == most).unwrap();
            let longest = self.round[place];
            dropped.push(self.buckets[longest].pop_front().unwrap().0);
            if self.buckets[longest].is_empty() {
                self.round.remove(place);
            }
        }
    }

    fn depart(&mut self, quantum: u64) -> Option<u32> {
        loop {
            let bucket = *self.round.front()?;
            if !self.begun[bucket] {
                self.deficits[bucket] += quantum;
                self.begun[bucket] = true;
            }
            let (number, size) = *self.buckets[bucket].front().unwrap();
            if self.deficits[bucket] >= size {
                self.deficits[bucket] -= size;
                self.buckets[bucket].pop_front();
                if self.buckets[bucket].is_empty() {
                    self.begun[bucket] = false;
                    self.round.pop_front();
                }
                return Some(number);
            }
            self.begun[bucket] = false;
            self.round.rotate_left(1);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn departures_and_drops_are_those_of_ns_2(
        steps in steps(8, 300),
        quantum in 200u64..3_000,
        limit in prop_oneof![
            (1u32..20).prop_map(Limit::Packets),
            (1_000u64..20_000).prop_map(|limit| Limit::Bytes(Bytes(limit))),
        ],
    ) {
        let (mut drr, mut ns2) = (drr(limit, quantum), Ns2::new());
        let fits = |packets, bytes| match limit {
            Limit::Packets(limit) => packets <= limit as usize,
            Limit::Bytes(limit) => bytes <= limit.0,
        };
        for (number, Step { flow, size, arrives, .. }) in (0..).zip(steps) {
            if arrives {
                let mut dropped = vec![];
                if offer(&mut drr, Instant::ZERO, sized(flow, size), number, &mut dropped).is_err() {
                    dropped.push(number);
                }
                prop_assert_eq!(dropped, ns2.arrive(flow as usize, number, size.into(), fits));
            } else {
                prop_assert_eq!(send(&mut drr), ns2.depart(quantum));
            }
        }
        prop_assert_eq!(drain(&mut drr), Vec::from_iter(std::iter::from_fn(|| ns2.depart(quantum))));
    }

    /// DRR (SIGCOMM '95) Theorem 2's argument: in m visits a backlogged bucket sends m·Q plus or minus one packet, and
    /// the visits of two buckets differ by at most one.
    #[test]
    fn two_backlogged_buckets_differ_by_a_quantum_and_two_packets(
        sizes in prop::collection::vec((64u16..=1_500, 64u16..=1_500), 300),
        quantum in 100u64..4_000,
    ) {
        let mut drr = drr(Limit::Packets(1_000), quantum);
        for (first, second) in sizes {
            join(&mut drr, sized(1, first), 0).unwrap();
            join(&mut drr, sized(2, second), 1).unwrap();
        }
        let mut sent = [0u64; 2];
        while drr.circle.packets(1) > 0 && drr.circle.packets(2) > 0 {
            let left = drr.dequeue(Instant::ZERO).unwrap();
            sent[left.item.payload as usize] += left.item.header.size().0;
            prop_assert!(sent[0].abs_diff(sent[1]) <= quantum + 2 * 1_500, "{:?}", sent);
        }
    }
}
