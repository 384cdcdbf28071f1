//! Tests of all disciplines that have a single account in the buffer, called directly and at a port.

use proptest::prelude::*;
use shallows_core::packet::{Ecn, Header};
use shallows_core::{Duration, Instant, Rate};

use super::hcf::{Division, Footnote, InitialCredits, Period, Sizes, Swap};
use super::sfq::DropRule;
use super::testing::{Step, held, join_at, offer, packet, send, steps, stream};
use super::*;
use crate::aqm::{self, Gauge, Placed, Point, Split};
use crate::buffer::{self, Limit, Policy, ReservedRule, SharedBuffer};
use crate::port::{self, Arrival, DropReason, Ingress, Port};

/// Rate of the link. Only disciplines with a scheduler depend on it.
const RATE: Rate = Rate::from_gbps(10);

fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (6u32..30).prop_map(Limit::Packets),
        (6_000u64..30_000).prop_map(|limit| Limit::Bytes(Bytes(limit))),
    ]
}

fn hcf_configs() -> impl Strategy<Value = Config> {
    let division = prop_oneof![
        Just(Division::Equal),
        Just(Division::Thirds),
        Just(Division::Dynamic),
        Just(Division::Dynamic),
        (0.2..0.8f64).prop_map(|high| Division::Unequal { high, sizes: Sizes::Swap }),
        (0.2..0.8f64).prop_map(|high| Division::Unequal { high, sizes: Sizes::Stay }),
    ];
    let period =
        prop_oneof![Just(Period::Dynamic), (1u64..2_000).prop_map(|period| Period::Fixed(Duration(period))),];
    let others = (
        prop_oneof![Just(Footnote::Applied), Just(Footnote::Absent)],
        prop_oneof![Just(Swap::WhenEmpty), Just(Swap::Never)],
    );
    (limits(), division, period, 1u32..12, 1u32..4, 1u32..3, others).prop_map(
        |(limit, division, period, bins, hashes, credits, (footnote, swap))| {
            let credits = InitialCredits::Packets(credits);
            let config = hcf::Config::default();
            Config::Hcf(hcf::Config {
                limit,
                division,
                period,
                bins,
                hashes,
                credits,
                footnote,
                swap,
                ..config
            })
        },
    )
}

fn defaults() -> [Config; 3] {
    [
        Config::Hcf(hcf::Config::default()),
        Config::HashedDrr(hashed_drr::Config::default()),
        Config::Sfq(sfq::Config::default()),
    ]
}

fn configs() -> impl Strategy<Value = Config> {
    let hashed_drr = (limits(), 1u32..12, 100u64..3_000).prop_map(|(limit, buckets, quantum)| {
        let config = hashed_drr::Config::default();
        Config::HashedDrr(hashed_drr::Config { limit, buckets, quantum: Bytes(quantum), ..config })
    });
    let rules = prop_oneof![Just(DropRule::StealTail), Just(DropRule::StealHead), Just(DropRule::AsNs2)];
    let sfq = (6u32..30, 1u32..12, rules, 0u64..2_000).prop_map(|(max_packets, buckets, drop, period)| {
        let perturbation = (period > 0).then_some(Duration(period));
        let config = sfq::Config { max_packets, buckets, drop, perturbation, ..sfq::Config::default() };
        Config::Sfq(config)
    });
    prop_oneof![2 => hcf_configs(), 1 => hashed_drr, 1 => sfq]
}

/// Returns whether the configured limit allows this many bytes and packets to wait.
fn within_capacity(config: &Config, (bytes, packets): (Bytes, u32)) -> bool {
    let limit = match config {
        Config::Hcf(config) => config.limit,
        Config::HashedDrr(config) => config.limit,
        Config::Sfq(config) => Limit::Packets(config.max_packets),
        Config::Fifo | Config::Composed(_) => panic!("bounded by the buffer"),
    };
    match limit {
        Limit::Bytes(limit) => bytes <= limit,
        Limit::Packets(limit) => packets <= limit,
    }
}

fn buffer(pool: u64) -> SharedBuffer {
    let pools = vec![Bytes(pool)];
    let config = buffer::Config {
        policy: Policy::CompleteSharing,
        pools,
        reserved_rule: ReservedRule::Exact,
        cell: None,
    };
    let mut buffer = SharedBuffer::new(&config);
    buffer.add_queue(0, Bytes(0));
    buffer
}

fn port(discipline: Config, markers: Vec<Placed>) -> Port<u32> {
    let config = port::Config { discipline, markers, ..port::Config::default() };
    Port::new(Rate::from_gbps(100), 0, &config, |purpose, place| Stream::new(1, purpose, place as u64))
}

#[test]
fn each_accounts_for_one_queue_that_claims_what_is_left() {
    for config in defaults() {
        assert_eq!((config.queues(), config.shares()), (1, vec![Share::Strict]));
        let built = config.build::<u32>(RATE, stream(1));
        assert_eq!(with_discipline!(&built, own => own.queues()), [QueueState::default()]);
    }
}

#[test]
fn what_a_port_pushes_out_is_counted_and_its_memory_is_free_again() {
    // The first packet goes on the wire. Four packets wait in a buffer of exactly their size, and the next arrival pushes one of them
    // out.
    let drr = hashed_drr::Config { limit: Limit::Packets(4), ..Default::default() };
    let dynamic = hcf::Config {
        limit: Limit::Packets(4),
        division: Division::Dynamic,
        bins: 1 << 16,
        ..Default::default()
    };
    let sfq = sfq::Config { max_packets: 4, buckets: 1 << 10, ..Default::default() };
    for (config, victim) in [(Config::HashedDrr(drr), 1), (Config::Hcf(dynamic), 4), (Config::Sfq(sfq), 4)] {
        let (mut port, mut buffer, mut dropped) = (port(config.clone(), vec![]), buffer(4_000), vec![]);
        for payload in 0..5 {
            port.receive(Instant::ZERO, Ingress::NONE, packet(1), payload, &mut buffer, &mut dropped);
        }
        assert!(dropped.is_empty(), "{dropped:?}");
        let arrival = port.receive(Instant::ZERO, Ingress::NONE, packet(2), 5, &mut buffer, &mut dropped);
        assert!(matches!(arrival, Arrival::Queued), "{config:?}");
        assert_eq!(dropped, [victim], "{config:?}");
        let counters = port.counters();
        assert_eq!(counters.dropped[DropReason::PushedOut as usize], 1);
        assert_eq!((counters.enqueued(), counters.dequeued()), (6, 2), "{config:?}");
        assert_eq!(port.backlog(), Bytes(4_000));
        port.audit(&buffer);
        buffer.audit();
    }
}

/// Checks that each packet of `steps` has exactly one fate: it is sent, dropped, or still waiting at the end. While packets wait, every
/// dequeue returns one, with the size that `peek` returned.
fn conserves_packets(
    discipline: &mut impl Discipline<u32>,
    config: &Config,
    steps: Vec<Step>,
) -> Result<(), TestCaseError> {
    let (mut now, mut waiting) = (Instant::ZERO, std::collections::BTreeMap::new());
    for (number, Step { flow, size, arrives, wait }) in (0..).zip(steps) {
        now = now + Duration(wait);
        if arrives {
            let mut pushed = vec![];
            if offer(discipline, now, packet(flow).with_size(size), number, &mut pushed).is_ok() {
                waiting.insert(number, u64::from(size));
            }
            for victim in pushed {
                prop_assert!(waiting.remove(&victim).is_some());
            }
        } else {
            let next = discipline.peek(now);
            let left = discipline.dequeue(now);
            prop_assert_eq!(next, left.map(|left| left.item.header.size()));
            prop_assert_eq!(left.is_some(), !waiting.is_empty());
            if let Some(left) = left {
                prop_assert_eq!((left.queue, left.ends_turn), (0, false));
                prop_assert_eq!(waiting.remove(&left.item.payload), Some(left.item.header.size().0));
            }
        }
        let counted = (Bytes(waiting.values().sum()), waiting.len() as u32);
        prop_assert_eq!(held(discipline), counted);
        prop_assert!(within_capacity(config, counted));
    }
    while let Some(number) = send(discipline) {
        prop_assert!(waiting.remove(&number).is_some());
    }
    prop_assert!(waiting.is_empty());
    Ok(())
}

/// Offers a packet to two disciplines, and checks that both admit or refuse it, and push out the same packets.
fn offer_to_both<D: Discipline<u32>>(
    both: [&mut D; 2],
    now: Instant,
    header: Header,
    number: u32,
) -> Result<(), TestCaseError> {
    let [first, second] = both.map(|discipline| {
        let mut pushed = vec![];
        (offer(discipline, now, header, number, &mut pushed), pushed)
    });
    prop_assert_eq!(first, second);
    Ok(())
}

/// Checks that a packet that the buffer or a marker refuses after [`Discipline::place`] does not affect later packets.
fn forgets_refused_packets(
    disturbed: &mut (impl Discipline<u32> + Clone),
    steps: Vec<Step>,
) -> Result<(), TestCaseError> {
    let (mut now, mut undisturbed) = (Instant::ZERO, disturbed.clone());
    for (number, Step { flow, size, arrives, wait }) in (0..).zip(steps) {
        now = now + Duration(wait);
        if arrives {
            let _ = disturbed.place(now, &packet(flow + 1).with_size(1_500 - size / 2));
            let header = packet(flow).with_size(size);
            offer_to_both([&mut *disturbed, &mut undisturbed], now, header, number)?;
        } else {
            prop_assert_eq!(send(disturbed), send(&mut undisturbed));
        }
    }
    Ok(())
}

/// Returns all readings of the discipline.
fn readings(discipline: &impl Discipline<u32>) -> Vec<(&'static str, f64)> {
    let mut told = vec![];
    discipline.observe(&mut |reading| told.push((reading.quantity, reading.value)));
    told
}

/// Checks that a packet that passes through an empty port has the same effects as one that joins a queue and leaves it at once.
fn passes_as_if_it_had_waited(
    passed: &mut (impl Discipline<u32> + Clone),
    steps: Vec<Step>,
) -> Result<(), TestCaseError> {
    let (mut now, mut waited) = (Instant::ZERO, passed.clone());
    for (number, Step { flow, size, arrives, wait }) in (0..).zip(steps) {
        now = now + Duration(wait);
        let header = packet(flow).with_size(size);
        if !arrives {
            prop_assert_eq!(send(passed), send(&mut waited));
        } else if held(passed).1 > 0 {
            offer_to_both([&mut *passed, &mut waited], now, header, number)?;
        } else {
            let joined = join_at(&mut waited, now, header, number);
            prop_assert!(passed.push_out(now, &header).is_none());
            let placed = passed.place(now, &header);
            prop_assert_eq!(placed.map(|_| ()), joined);
            // A queue that is smaller than the packet refuses it.
            if let Ok(queue) = placed {
                let ends_turn = waited.dequeue(now).map(|left| left.ends_turn);
                prop_assert_eq!(passed.pass(now, queue, header.size()), ends_turn);
            }
        }
        prop_assert_eq!(held(passed), held(&waited));
        prop_assert_eq!(readings(passed), readings(&waited));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_packet_that_passes_has_the_effects_of_one_that_joins_and_leaves(config in configs(), steps in steps(8, 300)) {
        with_discipline!(&mut config.build(RATE, stream(1)), own => passes_as_if_it_had_waited(own, steps))?;
    }

    #[test]
    fn packets_are_conserved_and_the_link_is_never_idle_in_vain(config in configs(), steps in steps(8, 300)) {
        with_discipline!(&mut config.build(RATE, stream(1)), own => conserves_packets(own, &config, steps))?;
    }

    #[test]
    fn a_packet_that_others_refuse_leaves_no_trace(config in configs(), steps in steps(8, 300)) {
        with_discipline!(&mut config.build(RATE, stream(1)), own => forgets_refused_packets(own, steps))?;
    }

    /// The port and the buffer count the same packets and bytes, whether packets are pushed out, refused or marked. The buffer is too small
    /// for some arrivals, and a marker drops other packets.
    #[test]
    fn the_books_of_a_port_balance(config in configs(), pool in 3_000u64..40_000, steps in steps(8, 300)) {
        let marker = aqm::Config::Threshold {
            gauge: Gauge { point: Point::Dequeue, ..Gauge::default() },
            threshold: Bytes(9_000).into(),
            split: Split::Standard,
        };
        let mut port = port(config, vec![Placed::everywhere(marker)]);
        let (mut buffer, mut dropped, mut now) = (buffer(pool), vec![], Instant::ZERO);
        for (number, Step { flow, size, arrives, .. }) in (0..).zip(steps) {
            if arrives {
                let ecn = if flow % 2 == 0 { Ecn::Ect } else { Ecn::NotEct };
                let header = packet(flow).with_size(size).with_ecn(ecn);
                port.receive(now, Ingress::NONE, header, number, &mut buffer, &mut dropped);
            } else {
                now = now.max(port.busy_until());
                port.transmit_next(now, &mut buffer, &mut dropped);
            }
            port.audit(&buffer);
            buffer.audit();
            prop_assert_eq!(dropped.len() as u64, port.counters().dropped_total());
        }
    }
}

#[test]
fn a_packet_that_is_sent_at_once_does_not_count_as_waiting() {
    for config in defaults() {
        let (mut port, mut buffer, mut dropped) = (port(config.clone(), vec![]), buffer(4_000), vec![]);
        for (payload, most) in [(0, 0), (1, 1_000), (2, 2_000)] {
            port.receive(Instant::ZERO, Ingress::NONE, packet(payload), payload, &mut buffer, &mut dropped);
            assert_eq!(port.counters().max_backlog, Bytes(most), "{config:?}");
        }
    }
}

#[test]
fn a_port_takes_the_bytes_of_its_bins_and_buckets() {
    // A bucket takes eight words (the flag takes one) and four packets; a turn two words (the flag takes one); a bin two words.
    let bucket = 8 * 8 + 4 * size_of::<Item<u64>>() as u64;
    let drr = hashed_drr::Config { buckets: 5, ..hashed_drr::Config::default() };
    assert_eq!(Config::HashedDrr(drr).footprint::<u64>(), 5 * (bucket + 2 * 8));
    let sfq = sfq::Config { buckets: 3, ..sfq::Config::default() };
    assert_eq!(Config::Sfq(sfq).footprint::<u64>(), 3 * bucket);
    // Seven bins, and the numbers of the two bins of a packet.
    let hcf = hcf::Config { bins: 7, hashes: 2, ..hcf::Config::default() };
    assert_eq!(Config::Hcf(hcf).footprint::<u64>(), 7 * 16 + 2 * 8);
    assert_eq!(Config::Fifo.footprint::<u64>(), 0);
}
