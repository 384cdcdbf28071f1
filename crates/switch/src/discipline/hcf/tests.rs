//! Comparison of HCF with its paper: Algorithm 1 (steps worked out by hand, and a literal implementation of the printed pseudocode), both
//! theorems, and every alternative of §4.

use std::collections::VecDeque;

use proptest::prelude::*;
use shallows_core::Duration;
use shallows_core::packet::PacketKind;

use super::*;
use crate::discipline::testing::{Step, drain, held, join, offer, packet, reading, send, steps, stream};

/// Number of bins that is large enough to give each of a few flows its own bin.
const MANY: u32 = 1 << 16;

fn hcf(config: &Config) -> Hcf<u32> {
    Hcf::new(config, stream(1))
}

fn of(limit: u32, division: Division) -> Config {
    Config { limit: Limit::Packets(limit), division, bins: MANY, ..Config::default() }
}

/// Returns the numbers of packets in HP and LP.
fn lengths<T: Copy + Default>(hcf: &Hcf<T>) -> (f64, f64) {
    (reading(hcf, "high_priority_packets"), reading(hcf, "low_priority_packets"))
}

/// Offers a packet of flow `payload / 10`; the last digit of `payload` is the packet's number in the flow.
fn arrive(hcf: &mut Hcf<u32>, payload: u32) -> Result<(), DropReason> {
    join(hcf, packet(payload / 10), payload)
}

#[test]
fn the_defaults_are_those_of_section_5_1_1() {
    let config = Config::default();
    assert_eq!((config.limit, config.bins), (Limit::Packets(20), 20));
    assert_eq!(config.sizes(), [10, 10]);
    assert_eq!((config.credits, config.hashes), (InitialCredits::Packets(1), 1));
    assert_eq!((config.period, config.footnote), (Period::Dynamic, Footnote::Applied));
}

#[test]
fn algorithm_1_step_by_step() {
    // B = 4: two packets in HP, two in LP; one credit per flow.
    let mut hcf = hcf(&of(4, Division::Equal));
    assert_eq!(arrive(&mut hcf, 11), Ok(()), "credit: HP");
    assert_eq!(arrive(&mut hcf, 12), Ok(()), "no credit: LP");
    assert_eq!(arrive(&mut hcf, 21), Ok(()), "credit: HP, which is full now");
    assert_eq!(arrive(&mut hcf, 31), Ok(()), "credit, but HP is full: LP");
    assert_eq!(lengths(&hcf), (2.0, 2.0));
    assert_eq!(arrive(&mut hcf, 41), Err(DropReason::PortLimit), "both are full");
    assert_eq!(send(&mut hcf), Some(11));
    assert_eq!(
        arrive(&mut hcf, 32),
        Err(DropReason::QueueLimit),
        "the footnote took its credit, and LP is full"
    );
    assert_eq!(arrive(&mut hcf, 42), Ok(()), "the drop cost no credit: HP");
    assert_eq!((lengths(&hcf), reading(&hcf, "queue_swaps")), ((2.0, 2.0), 0.0));
    assert_eq!([send(&mut hcf), send(&mut hcf)], [Some(21), Some(42)]);
    // HP is empty: LP becomes HP, and every flow has a credit again.
    assert_eq!((lengths(&hcf), reading(&hcf, "queue_swaps")), ((2.0, 0.0), 1.0));
    assert_eq!(reading(&hcf, "priority_periods"), 2.0);
    assert_eq!(arrive(&mut hcf, 13), Ok(()), "credit, but HP is full: LP");
    assert_eq!(send(&mut hcf), Some(12));
    assert_eq!(arrive(&mut hcf, 22), Ok(()), "credit: HP");
    assert_eq!(drain(&mut hcf), [31, 22, 13]);
    assert_eq!((held(&hcf), lengths(&hcf)), ((Bytes(0), 0), (0.0, 0.0)));
    assert_eq!(reading(&hcf, "queue_swaps"), 3.0, "a swap of two empty queues counts");
}

#[test]
fn without_the_footnote_a_flow_overtakes_itself() {
    // 31 is in LP because HP was full; without the footnote it keeps its credit, and 32 joins HP once HP has room.
    for (footnote, sent) in [(Footnote::Applied, vec![21, 12, 31]), (Footnote::Absent, vec![21, 32, 12, 31])]
    {
        let mut hcf = hcf(&Config { footnote, ..of(4, Division::Equal) });
        for payload in [11, 12, 21, 31] {
            arrive(&mut hcf, payload).unwrap();
        }
        assert_eq!(send(&mut hcf), Some(11));
        assert_eq!(arrive(&mut hcf, 32).is_ok(), footnote == Footnote::Absent, "LP is full");
        assert_eq!(drain(&mut hcf), sent, "{footnote:?}");
    }
}

#[test]
fn without_the_swap_a_flow_overtakes_itself() {
    // The example of §3.4: 12 waits in LP when HP becomes empty; the credits are renewed, and 13 joins HP.
    for (swap, sent) in [(Swap::WhenEmpty, [12, 13]), (Swap::Never, [13, 12])] {
        let mut hcf = hcf(&Config { swap, ..of(4, Division::Equal) });
        arrive(&mut hcf, 11).unwrap();
        arrive(&mut hcf, 12).unwrap();
        assert_eq!(send(&mut hcf), Some(11));
        assert_eq!(reading(&hcf, "priority_periods"), 2.0);
        arrive(&mut hcf, 13).unwrap();
        assert_eq!(drain(&mut hcf), sent, "{swap:?}");
    }
}

#[test]
fn with_a_fixed_period_a_flow_overtakes_itself() {
    // §4.3: "the fixed priority period violates the packets ordering". 12 is in LP when the clock renews the credits,
    // and 13 joins HP beside 11.
    for swap in [Swap::WhenEmpty, Swap::Never] {
        let period = Period::Fixed(Duration(100));
        let mut hcf = hcf(&Config { period, swap, ..of(8, Division::Equal) });
        for (now, payload) in [(0, 11), (99, 12), (100, 13), (199, 14)] {
            offer(&mut hcf, Instant(now), packet(1), payload, &mut vec![]).unwrap();
        }
        assert_eq!(drain(&mut hcf), [11, 13, 12, 14], "{swap:?}");
        assert_eq!(reading(&hcf, "priority_periods"), 2.0, "HP that becomes empty ends no fixed period");
    }
}

#[test]
fn low_priority_alone_ends_no_period() {
    // A packet larger than HP joins LP and is sent from there, twice. This causes neither a swap nor new credits.
    let division = Division::Unequal { high: 0.25, sizes: Sizes::Swap };
    let mut hcf = hcf(&Config { limit: Limit::Bytes(Bytes(4_000)), division, ..of(1, Division::Equal) });
    for payload in [11, 12] {
        join(&mut hcf, packet(1).with_size(1_001), payload).unwrap();
    }
    assert_eq!(lengths(&hcf), (0.0, 2.0));
    assert_eq!(hcf.peek(Instant::ZERO), Some(Bytes(1_001)));
    assert_eq!(drain(&mut hcf), [11, 12]);
    assert_eq!((reading(&hcf, "queue_swaps"), reading(&hcf, "priority_periods")), (0.0, 1.0));
    join(&mut hcf, packet(1), 13).unwrap();
    assert_eq!(lengths(&hcf), (0.0, 1.0), "the footnote still holds");
}

#[test]
fn credits_are_packets_or_bytes() {
    // A credit of two packets, or a credit in bytes. Any remaining byte of credit suffices for a packet of 1,000 bytes.
    for (credits, high) in [
        (InitialCredits::Packets(2), 2.0),
        (InitialCredits::Bytes(Bytes(1_500)), 2.0),
        (InitialCredits::Bytes(Bytes(1_001)), 2.0),
        (InitialCredits::Bytes(Bytes(1_000)), 1.0),
        (InitialCredits::Bytes(Bytes(1)), 1.0),
    ] {
        let mut hcf = hcf(&Config { credits, ..of(20, Division::Equal) });
        for payload in 10..15 {
            arrive(&mut hcf, payload).unwrap();
        }
        assert_eq!(lengths(&hcf), (high, 5.0 - high), "{credits:?}");
    }
    let mut hcf = hcf(&Config { credits: InitialCredits::Bytes(Bytes(1_500)), bins: 3, ..Config::default() });
    arrive(&mut hcf, 10).unwrap();
    assert_eq!(reading(&hcf, "credits_left"), 3_500.0);
}

#[test]
fn sizes_are_shares_of_the_buffer() {
    let sizes = |limit, division| of(limit, division).sizes();
    assert_eq!(sizes(21, Division::Equal), [11, 10]);
    assert_eq!(sizes(20, Division::Unequal { high: 0.7, sizes: Sizes::Swap }), [14, 6]);
    assert_eq!(sizes(100, Division::Unequal { high: 0.29, sizes: Sizes::Stay }), [29, 71], "not 28.99…");
    assert_eq!(sizes(20, Division::Dynamic), [20, 20]);
    assert_eq!(sizes(21, Division::Thirds), [14, 7]);
    assert_eq!(sizes(20, Division::Thirds), [12, 6], "what does not divide is not used");
}

/// Fills LP and sends HP's only packet, so that the queues swap. Then offers single packets of many flows,
/// and 500 packets of one flow. Returns how many of these packets join HP, and how many join LP.
fn room_after_a_swap(config: &Config) -> (u32, u32) {
    let mut hcf = hcf(config);
    for payload in 10..1_000 {
        let _ = join(&mut hcf, packet(1), payload);
    }
    assert_eq!(send(&mut hcf), Some(10));
    assert_eq!(reading(&hcf, "queue_swaps"), 1.0);
    let before = lengths(&hcf);
    for flow in 2..500 {
        // One packet of each flow while HP has room.
        if lengths(&hcf).1 == 0.0 {
            let _ = join(&mut hcf, packet(flow), 0);
        }
    }
    for _ in 0..500 {
        let _ = join(&mut hcf, packet(2), 0);
    }
    let after = lengths(&hcf);
    ((after.0 - before.0) as u32, (after.1 - before.1) as u32)
}

#[test]
fn what_room_there_is_after_a_swap_depends_on_the_division() {
    for (limit, division, room) in [
        // HP is full immediately after the swap: the problem that §4.5 solves.
        (30, Division::Equal, (0, 15)),
        // LP's 10 packets take 10 of HP's 20: B/3 and B/3, as in Theorem 2.
        (30, Division::Thirds, (10, 10)),
        (32, Division::Thirds, (10, 10)),
        // The sizes swap with the roles: LP's 10 packets fill the new HP of 10.
        (30, Division::Unequal { high: 2.0 / 3.0, sizes: Sizes::Swap }, (0, 20)),
        (30, Division::Unequal { high: 2.0 / 3.0, sizes: Sizes::Stay }, (10, 10)),
        // LP's 20 packets exceed the new HP of 10; both queues together hold at most 30.
        (30, Division::Unequal { high: 1.0 / 3.0, sizes: Sizes::Stay }, (0, 10)),
        // LP held 29 packets, since HP held one.
        (30, Division::Dynamic, (1, 0)),
    ] {
        assert_eq!(room_after_a_swap(&of(limit, division)), room, "{limit}, {division:?}");
    }
}

#[test]
fn dynamic_division_pushes_out_the_tail_of_low_priority_for_high() {
    let mut hcf = hcf(&of(4, Division::Dynamic));
    for payload in [11, 12, 13, 21] {
        arrive(&mut hcf, payload).unwrap();
    }
    assert_eq!(lengths(&hcf), (2.0, 2.0));
    assert_eq!(arrive(&mut hcf, 22), Err(DropReason::PortLimit), "it belongs in LP");
    let mut pushed = vec![];
    offer(&mut hcf, Instant::ZERO, packet(3), 31, &mut pushed).unwrap();
    offer(&mut hcf, Instant::ZERO, packet(4), 41, &mut pushed).unwrap();
    assert_eq!((pushed, lengths(&hcf)), (vec![13, 12], (4.0, 0.0)));
    assert_eq!(arrive(&mut hcf, 51), Err(DropReason::PortLimit), "LP is empty");
    assert_eq!(held(&hcf), (Bytes(4_000), 4));
    assert_eq!(drain(&mut hcf), [11, 21, 31, 41]);
}

#[test]
fn dynamic_division_in_bytes_pushes_out_what_it_must_and_nothing_in_vain() {
    let mut hcf = hcf(&Config { limit: Limit::Bytes(Bytes(4_000)), ..of(1, Division::Dynamic) });
    for (payload, size) in [(11, 1_000), (12, 1_000), (13, 1_000), (14, 500)] {
        join(&mut hcf, packet(1).with_size(size), payload).unwrap();
    }
    let refused = join(&mut hcf, packet(2).with_size(3_001), 21);
    assert_eq!(refused, Err(DropReason::PortLimit), "beside the 1,000 of HP it could never fit");
    let mut pushed = vec![];
    offer(&mut hcf, Instant::ZERO, packet(2).with_size(2_000), 22, &mut pushed).unwrap();
    assert_eq!((pushed, held(&hcf)), (vec![14, 13], (Bytes(4_000), 3)), "exactly full");
    assert_eq!(
        (reading(&hcf, "high_priority_bytes"), reading(&hcf, "low_priority_bytes")),
        (3_000.0, 1_000.0)
    );
}

#[test]
fn only_dynamic_division_pushes_out() {
    for division in [Division::Equal, Division::Thirds] {
        let mut hcf = hcf(&of(6, division));
        for payload in 10..20 {
            let _ = arrive(&mut hcf, payload);
        }
        // `join` panics if a packet is pushed out.
        let _ = [21, 31, 41, 51, 61].map(|payload| arrive(&mut hcf, payload));
        assert_eq!(arrive(&mut hcf, 71), Err(DropReason::PortLimit), "{division:?}");
    }
}

#[test]
fn acknowledgements_and_datagrams_are_hashed_like_any_flow() {
    for kind in [PacketKind::PureAck, PacketKind::Datagram] {
        let mut hcf = hcf(&of(20, Division::Equal));
        for payload in [11, 12, 21, 22] {
            join(&mut hcf, packet(payload / 10).with_size(64).with_kind(kind), payload).unwrap();
        }
        assert_eq!(drain(&mut hcf), [11, 21, 12, 22], "{kind:?}");
    }
}

#[test]
fn two_flows_that_collide_do_not_collide_for_ever() {
    // With two bins, two flows collide in half of the periods: about 200 of 400, standard deviation 10. Five standard deviations are 50.
    for rekey in [Rekey::Drawn, Rekey::PeriodStart] {
        let mut hcf = hcf(&Config { bins: 2, rekey, ..of(20, Division::Equal) });
        let mut collisions = 0;
        for period in 0..400u64 {
            arrive(&mut hcf, 10).unwrap();
            arrive(&mut hcf, 20).unwrap();
            collisions += u32::from(lengths(&hcf) == (1.0, 1.0));
            while hcf.dequeue(Instant(period * 1_000)).is_some() {}
        }
        assert!(collisions.abs_diff(200) < 50, "{rekey:?}: {collisions}");
    }
}

#[test]
fn ports_whose_periods_begin_together_hash_alike_only_under_their_clock() {
    // Eight bins and four periods of eight flows each: the probability that two different hashes agree everywhere is below one in a
    // million.
    let lengths_by_period = |rekey, seed| {
        let period = Period::Fixed(Duration(100));
        let config = Config { bins: 8, rekey, period, ..of(100, Division::Equal) };
        let mut hcf = Hcf::new(&config, stream(seed));
        [110, 220, 330, 440].map(|now| {
            for flow in 0..8 {
                // The two ports handle the flows at different times within the same periods.
                offer(&mut hcf, Instant(now + seed), packet(flow), flow, &mut vec![]).unwrap();
            }
            drain(&mut hcf)
        })
    };
    let alike = |rekey| lengths_by_period(rekey, 1) == lengths_by_period(rekey, 2);
    assert!(alike(Rekey::PeriodStart));
    assert!(!alike(Rekey::Drawn));
}

#[test]
fn a_bloom_counter_lets_as_many_flows_pass_as_its_theory_says() {
    // 500 flows with a packet each, 1,000 bins, c₀ = 1. With κ hashes, n flows leave a fraction p = 1 − e^(−κn/K) of the bins without
    // credit, and the next flow is wrongly sent to LP with probability p^κ: ∫₀⁵⁰⁰ p^κ dn = 106.5 for κ = 1, 84.0 for κ = 2, 88.4 for κ =
    // 3. The standard deviation of one period is about 8, that of the mean of 256 periods about 0.5. Four of these are 2, so the three
    // ranges do not overlap.
    for (hashes, expected) in [(1, 106.5), (2, 84.0), (3, 88.4)] {
        let config = Config { bins: 1_000, hashes, ..of(2_000, Division::Equal) };
        let mut low = 0.0;
        for seed in 0..256 {
            let mut hcf = Hcf::new(&config, stream(seed));
            for flow in 0..500 {
                join(&mut hcf, packet(flow), flow).unwrap();
            }
            low += lengths(&hcf).1;
        }
        let mean: f64 = low / 256.0;
        assert!((mean - expected).abs() < 2.0, "κ = {hashes}: {mean}");
    }
}

#[test]
fn no_step_touches_more_bins_than_its_hashes_need_however_many_there_are() {
    // Each bin of a packet is read for push-out, read for the choice of the queue, and spent: three times κ steps. Swaps and new periods
    // touch no bin.
    let most_touched = |bins, hashes| {
        let config = Config { bins, hashes, ..of(12, Division::Dynamic) };
        let (mut hcf, mut random, mut most) = (hcf(&config), stream(9), 0);
        for number in 0..20_000 {
            let before = hcf.credits.touched.get();
            if random.below(3) > 0 {
                let _ = offer(&mut hcf, Instant(number), packet(random.below(30) as u32), 0, &mut vec![]);
            } else {
                hcf.dequeue(Instant(number));
            }
            most = most.max(hcf.credits.touched.get() - before);
        }
        assert!(reading(&hcf, "queue_swaps") > 100.0);
        most
    };
    for hashes in [1, 4] {
        for bins in [16, 4_096, 1 << 20] {
            let most = most_touched(bins, hashes);
            assert!((1..=3 * u64::from(hashes)).contains(&most), "{bins} bins, κ = {hashes}: {most}");
        }
    }
}

#[test]
fn what_no_port_can_be_built_with_is_refused() {
    let base = of(20, Division::Equal);
    for (config, problem) in [
        (Config { bins: 0, ..base.clone() }, "flows are hashed"),
        (Config { hashes: 0, ..base.clone() }, "a packet is hashed"),
        (Config { credits: InitialCredits::Packets(0), ..base.clone() }, "without credits"),
        (Config { credits: InitialCredits::Bytes(Bytes(0)), ..base }, "without credits"),
        (of(1, Division::Equal), "HP and LP hold"),
        (of(2, Division::Thirds), "HP and LP hold"),
        (of(20, Division::Unequal { high: 1.0, sizes: Sizes::Swap }), "HP and LP hold"),
        (of(20, Division::Unequal { high: 0.0, sizes: Sizes::Swap }), "HP and LP hold"),
        (of(20, Division::Unequal { high: 7.0, sizes: Sizes::Swap }), "HP and LP hold"),
    ] {
        let panic = std::panic::catch_unwind(|| hcf(&config)).unwrap_err();
        let message = panic.downcast_ref::<&str>().unwrap();
        assert!(message.contains(problem), "{message}");
    }
    hcf(&of(2, Division::Equal));
    hcf(&of(3, Division::Thirds));
}

/// Algorithm 1 as printed, with an array of credits that init() fills.
struct Printed {
    queues: [VecDeque<u32>; 2],
    credits: Vec<u32>,
    seed: u64,
    stream: Stream,
}

impl Printed {
    fn init(&mut self, initial: u32) {
        self.credits.fill(initial);
        self.seed = self.stream.next_u64();
    }

    fn arrive(&mut self, header: &Header, number: u32, size: usize, footnote: Footnote) -> bool {
        let bin = spread(header.five_tuple_hash(self.seed), self.credits.len());
        if self.credits[bin] > 0 && self.queues[0].len() < size {
            self.queues[0].push_back(number);
            self.credits[bin] -= 1;
            true
        } else if self.queues[1].len() < size {
            self.queues[1].push_back(number);
            if footnote == Footnote::Applied {
                self.credits[bin] = 0;
            }
            true
        } else {
            false
        }
    }

    fn transmit(&mut self, initial: u32) -> Option<u32> {
        if self.queues[0].is_empty() {
            return self.queues[1].pop_front();
        }
        let number = self.queues[0].pop_front();
        if self.queues[0].is_empty() {
            self.queues.swap(0, 1);
            self.init(initial);
        }
        number
    }
}

fn divisions() -> impl Strategy<Value = Division> {
    let sizes = prop_oneof![Just(Sizes::Swap), Just(Sizes::Stay)];
    prop_oneof![
        Just(Division::Equal),
        (0.2..0.8f64, sizes).prop_map(|(high, sizes)| Division::Unequal { high, sizes }),
        Just(Division::Thirds),
        Just(Division::Dynamic),
    ]
}

/// Generates configurations that meet the conditions of Theorem 1: the period is dynamic, the queues swap, and footnote 1 applies. All
/// other options vary.
fn ordered_configs() -> impl Strategy<Value = Config> {
    let limits = prop_oneof![
        (6u32..30).prop_map(Limit::Packets),
        (6_000u64..30_000).prop_map(|limit| Limit::Bytes(Bytes(limit))),
    ];
    let credits = prop_oneof![
        (1u32..4).prop_map(InitialCredits::Packets),
        (1u64..4_000).prop_map(|credits| InitialCredits::Bytes(Bytes(credits))),
    ];
    let rekeys = prop_oneof![Just(Rekey::Drawn), Just(Rekey::PeriodStart)];
    (limits, divisions(), 1u32..12, credits, 1u32..4, rekeys).prop_map(
        |(limit, division, bins, credits, hashes, rekey)| Config {
            limit,
            division,
            bins,
            credits,
            hashes,
            rekey,
            ..Config::default()
        },
    )
}

/// Runs `steps`. Returns the flow and number of every packet that was sent, in order of sending.
fn sent_after(config: &Config, steps: &[Step]) -> Vec<(u32, u32)> {
    let mut hcf = Hcf::new(config, stream(5));
    let (mut now, mut sent) = (0, vec![]);
    for (number, step) in (0..).zip(steps) {
        now += step.wait;
        if step.arrives {
            let header = packet(step.flow).with_size(step.size);
            let _ = offer(&mut hcf, Instant(now), header, (step.flow, number), &mut vec![]);
        } else {
            sent.extend(hcf.dequeue(Instant(now)).map(|left| left.item.payload));
        }
    }
    sent.extend(drain(&mut hcf));
    sent
}

fn in_order(sent: &[(u32, u32)]) -> bool {
    (0..8).all(|flow| sent.iter().filter(|packet| packet.0 == flow).is_sorted())
}

#[test]
fn a_random_search_finds_reordering_wherever_theorem_1_does_not_hold() {
    // This is the same search as in the property test below. It shows that the search can find reordering.
    let random_steps = |seed| {
        let mut random = stream(seed);
        let mut step = || Step {
            flow: random.below(8) as u32,
            size: 1_000,
            arrives: random.below(9) < 5,
            wait: random.below(40),
        };
        (0..300).map(|_| step()).collect::<Vec<_>>()
    };
    let reordered = |config: Config| {
        (0..100).filter(|&seed| !in_order(&sent_after(&config, &random_steps(seed)))).count()
    };
    let base = Config { limit: Limit::Packets(12), ..Config::default() };
    assert_eq!(reordered(base.clone()), 0);
    let absent = Config { footnote: Footnote::Absent, ..base.clone() };
    assert!(reordered(absent.clone()) > 0, "without the footnote");
    assert!(reordered(Config { division: Division::Thirds, ..absent.clone() }) > 0, "nor in three thirds");
    assert!(reordered(Config { hashes: 2, ..absent }) > 0, "nor with a Bloom counter");
    assert!(reordered(Config { swap: Swap::Never, ..base.clone() }) > 0, "without the swap");
    assert!(reordered(Config { period: Period::Fixed(Duration(500)), ..base }) > 0, "with a fixed period");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn theorem_1_packets_of_a_flow_leave_in_order(config in ordered_configs(), steps in steps(8, 300)) {
        let sent = sent_after(&config, &steps);
        prop_assert!(in_order(&sent), "{:?}", sent);
        // All packets that share a bin are one flow: with one bin, HCF is a FIFO (§4.2).
        let one_bin = Config { bins: 1, ..config };
        prop_assert!(sent_after(&one_bin, &steps).is_sorted_by_key(|packet| packet.1));
    }

    /// With dynamic division, a packet joins LP only when its bins have no credits. Footnote 1 takes the credits of the bins
    /// of such a packet, so it has no effect here. Theorem 1 therefore holds without it.
    #[test]
    fn dynamic_division_keeps_the_order_even_without_the_footnote(
        config in ordered_configs(),
        steps in steps(8, 300),
    ) {
        let config = Config { division: Division::Dynamic, footnote: Footnote::Absent, ..config };
        prop_assert!(in_order(&sent_after(&config, &steps)));
    }

    #[test]
    fn theorem_2_three_thirds_leave_a_third_for_each_priority(
        third in 1u32..12,
        bins in 1u32..12,
        steps in steps(8, 300),
    ) {
        let config = Config { bins, ..of(3 * third, Division::Thirds) };
        let mut hcf = Hcf::new(&config, stream(5));
        let mut periods = 1.0;
        for step in steps {
            if step.arrives {
                let _ = join(&mut hcf, packet(step.flow), 0);
            } else {
                send(&mut hcf);
            }
            if reading(&hcf, "priority_periods") > periods {
                periods = reading(&hcf, "priority_periods");
                let (high, low) = lengths(&hcf);
                prop_assert!(high <= f64::from(third) && low == 0.0);
                // Of these packets, B/3 find a credit and B/3 do not.
                let mut probe = hcf.clone();
                for _ in 0..third {
                    probe.credits.renew();
                    prop_assert_eq!(join(&mut probe, packet(1), 0), Ok(()));
                }
                prop_assert_eq!(lengths(&probe), (high + f64::from(third), 0.0));
                for _ in 0..third {
                    prop_assert_eq!(join(&mut probe, packet(1), 0), Ok(()));
                }
                prop_assert_eq!(lengths(&probe).1, f64::from(third));
            }
        }
    }

    #[test]
    fn every_decision_is_that_of_the_printed_algorithm(
        size in 1u32..8,
        bins in 1u32..12,
        initial in 1u32..4,
        footnote in prop_oneof![Just(Footnote::Applied), Just(Footnote::Absent)],
        steps in steps(8, 300),
    ) {
        let credits = InitialCredits::Packets(initial);
        let mut hcf = Hcf::new(&Config { bins, credits, footnote, ..of(2 * size, Division::Equal) }, stream(5));
        let mut printed = Printed {
            queues: Default::default(),
            credits: vec![0; bins as usize],
            seed: 0,
            stream: stream(5),
        };
        printed.init(initial);
        for (number, step) in (0..).zip(steps) {
            if step.arrives {
                let header = packet(step.flow);
                let joined = join(&mut hcf, header, number).is_ok();
                prop_assert_eq!(joined, printed.arrive(&header, number, size as usize, footnote));
            } else {
                prop_assert_eq!(send(&mut hcf), printed.transmit(initial));
            }
            prop_assert_eq!(lengths(&hcf), (printed.queues[0].len() as f64, printed.queues[1].len() as f64));
            prop_assert_eq!(reading(&hcf, "credits_left"), f64::from(printed.credits.iter().sum::<u32>()));
        }
    }
}
