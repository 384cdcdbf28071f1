//! A sender and a receiver over a network that loses, reorders, duplicates and marks packets. Every law is checked at
//! every step.

mod network;

use std::cell::Cell;

use network::{Impairments, Pair};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use shallows_core::packet::{AckSegment, DataSegment, Flags, MAX_SACK_BLOCKS, SackBlock};
use shallows_core::{Bytes, Duration, Instant};
use shallows_transport::congestion::{
    self, Avoidance, EcnMode, LossBase, cubic, dctcp, hystart, pulser, reno,
};
use shallows_transport::{
    AckCounts, AppLimited, Bound, Config, DelayedAck, EceReaction, EctPolicy, FullAck, LostSyn, Marks,
    Method, Receiver, RestartAfterIdle, RtoConfig, SackAfterTimeout, Sender, rack,
};

const MSS: u64 = 1_000;

prop_compose! {
    fn dctcp_config()(
        initial_alpha in 0.0f64..=1.0,
        gain in prop::sample::select(vec![1.0 / 16.0, 1.0]),
        reached: bool,
        one_segment: bool,
        growth in 0usize..3,
        arithmetic in 0usize..3,
    ) -> dctcp::Config {
        use dctcp::{Arithmetic, DuplicateAcks, EceGrowth, WindowEnd};
        dctcp::Config {
            gain,
            initial_alpha,
            window_end: if reached { WindowEnd::Reached } else { WindowEnd::Passed },
            duplicate_acks: if one_segment { DuplicateAcks::OneSegment } else { DuplicateAcks::Ignored },
            ece_growth: [EceGrowth::All, EceGrowth::NotFirst, EceGrowth::None][growth],
            arithmetic: [Arithmetic::Float, Arithmetic::Fixed, Arithmetic::Segments][arithmetic],
        }
    }
}

prop_compose! {
    fn cubic_config()(
        ecn: bool,
        fast_convergence: bool,
        c in 0.1f64..10.0,
        beta in 0.3f64..0.9,
        kind in 0usize..3,
        whole: bool,
        tick in 0u64..5_000,
        hold in 0u64..30_000,
    ) -> cubic::Config {
        use hystart::Config::{Off, PlusPlus};
        let counting = if whole { cubic::Counting::Segments } else { cubic::Counting::Exact };
        let [tick, hold] = [tick, hold].map(Duration::from_micros);
        let clock = cubic::Clock { tick, hold };
        cubic::Config { ecn, c, beta, fast_convergence, hystart: [Off, PlusPlus, hystart::Config::LINUX][kind], counting, clock }
    }
}

prop_compose! {
    fn pulser_config()(dctcp in dctcp_config(), safe in 1u64..6, window: bool, ece: bool) -> pulser::Config {
        pulser::Config {
            dctcp,
            safe_window: Bytes(safe * MSS),
            restore: if window { pulser::Restore::CleanWindow } else { pulser::Restore::FirstCleanAck },
            signal: if ece { pulser::Signal::Ece } else { pulser::Signal::Incast },
        }
    }
}

fn congestion_config() -> impl Strategy<Value = congestion::Config> {
    prop_oneof![
        any::<bool>().prop_map(|ecn| congestion::Config::Reno(reno::Config { ecn })),
        dctcp_config().prop_map(congestion::Config::Dctcp),
        cubic_config().prop_map(congestion::Config::Cubic),
        pulser_config().prop_map(congestion::Config::Pulser),
    ]
}

fn recovery() -> impl Strategy<Value = Method> {
    let bounds = vec![None, Some(Bound::SlowStart), Some(Bound::Conservative), Some(Bound::SafeAck)];
    prop_oneof![
        prop::sample::select(bounds.clone()).prop_map(Method::Sack),
        prop::sample::select(bounds).prop_map(Method::Rack),
        Just(Method::FullTcp),
        Just(Method::Sack1),
        Just(Method::NewReno),
        Just(Method::Reno),
    ]
}

prop_compose! {
    fn rack()(delay in 0u64..400, slack in 0u64..100) -> rack::Config {
        rack::Config {
            max_ack_delay: Duration::from_micros(delay),
            timer_slack: Duration::from_micros(slack),
        }
    }
}

fn avoidance() -> impl Strategy<Value = Avoidance> {
    prop::sample::select(vec![Avoidance::ByteCounting, Avoidance::PerAck, Avoidance::Counted])
}

fn full_ack() -> impl Strategy<Value = FullAck> {
    prop::sample::select(vec![FullAck::Limited, FullAck::Ssthresh])
}

fn ece_reaction() -> impl Strategy<Value = EceReaction> {
    prop::sample::select(vec![EceReaction::AtOnce, EceReaction::Prr])
}

fn ack_counts() -> impl Strategy<Value = AckCounts> {
    prop::sample::select(vec![AckCounts::Arrivals, AckCounts::Bytes])
}

prop_compose! {
    /// Generates any configuration that a scenario may hold, with segments of 1,000 bytes and round trips of about 100 µs.
    fn config()(
        (congestion, recovery, rack) in (congestion_config(), recovery(), rack()),
        (initial, more) in (1u64..20, 0u64..60),
        receive_window in 1u64..100,
        (slow_start_limit, duplicate_threshold, segments) in (1u32..4, 1u32..6, 1u32..4),
        (avoidance, counts, full_ack, limited_transmit_repairs, reaction) in
            (avoidance(), ack_counts(), full_ack(), any::<bool>(), ece_reaction()),
        switches in prop::array::uniform8(any::<bool>()),
        (frto, dsack, linux, quick) in (any::<bool>(), any::<bool>(), any::<bool>(), 0u32..20),
        (minimum, extra) in (1u64..2_000, 0u64..5_000),
    ) -> Config {
        let [limited_transmit, reset, handshake, timestamps, forgotten, of_cwnd, fin, all] = switches;
        Config {
            initial_window: Bytes(initial * MSS),
            max_window: Bytes((initial + more) * MSS),
            receive_window: Bytes(receive_window * MSS),
            slow_start_limit,
            recovery,
            rack,
            full_ack,
            duplicate_threshold,
            limited_transmit,
            limited_transmit_repairs,
            restart_after_idle: if reset { RestartAfterIdle::Reset } else { RestartAfterIdle::Reduce },
            handshake,
            fin,
            ect: if all { EctPolicy::All } else { EctPolicy::Rfc3168 },
            timestamps,
            avoidance,
            ece_reaction: reaction,
            loss_base: if of_cwnd { LossBase::Cwnd } else { LossBase::FlightSize },
            sack_after_timeout: if forgotten { SackAfterTimeout::Forgotten } else { SackAfterTimeout::Kept },
            frto,
            dsack: dsack && matches!(recovery, Method::Sack(_) | Method::Rack(_)),
            app_limited: if linux { AppLimited::Linux } else { AppLimited::Grows },
            delayed_ack: DelayedAck {
                quick,
                cwr_at_once: linux,
                segments,
                counts,
                timeout: Duration::from_micros(50),
            },
            lost_syn: if reaction == EceReaction::Prr { LostSyn::Linux } else { LostSyn::Careful },
            rto: RtoConfig {
                initial: Duration::from_micros(minimum),
                minimum: Duration::from_micros(minimum),
                maximum: Duration::from_micros(minimum + extra),
                granularity: Duration::from_micros(1),
            },
            ..Config::new(Bytes(MSS), congestion)
        }
    }
}

/// Returns the configurations on which a sender and a receiver agree, as the function `agree` in the crate `scenario` does.
fn agreed(near: Config, far: Config) -> (Config, Config) {
    let speaks = |side: &Config| side.congestion.ecn_mode() != EcnMode::Off;
    // Without a SYN, neither side would learn that the other does not support ECN.
    let handshake = near.handshake || speaks(&near) != speaks(&far);
    let timestamps = near.timestamps && far.timestamps;
    let both = near.recovery.uses_sack() && far.recovery.uses_sack();
    let side = |side: Config| {
        let plain = side.recovery.uses_sack() && !both;
        Config {
            receive_window: far.receive_window,
            handshake,
            timestamps,
            recovery: if plain { Method::NewReno } else { side.recovery },
            frto: side.frto && !plain,
            dsack: side.dsack && !plain,
            ..side
        }
    };
    (side(near), side(far.clone()))
}

/// Smallest number of packets that networks carry in each run of the tests.
const PACKETS: usize = 10_000_000;

#[test]
fn every_byte_arrives_and_every_flow_ends_whatever_the_network_does() {
    let impairments =
        ((0.0f64..0.4, 0.0f64..0.2, 0.0f64..1.0), prop::sample::select(vec![0, 10, 300]), any::<bool>())
            .prop_map(|((loss, duplication, marking), reordering, resizing)| Impairments {
                loss,
                duplication,
                marking,
                jitter: Duration::from_micros(reordering),
                resizing,
            });
    let writes = prop::collection::vec((1u64..60_000, 0u64..10_000), 1..4);
    // Every other connection is between hosts of different kinds.
    let sides = (config(), prop::option::of(config())).prop_map(|(near, far)| match far {
        Some(far) => agreed(near, far),
        None => (near.clone(), near),
    });
    let connections = (sides, any::<u64>(), impairments, writes);
    let carried = Cell::new(0);
    for seed in first_seed().. {
        if carried.get() >= PACKETS {
            break;
        }
        println!("PROPTEST_RNG_SEED={seed}, after {} packets", carried.get());
        let rng_seed = RngSeed::Fixed(seed);
        let mut runner = TestRunner::new(ProptestConfig {
            cases: 5_000,
            rng_seed,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        let result = runner.run(&connections, |((near, far), seed, impairments, writes)| {
            let mut pair = Pair::between(near, far, seed, impairments);
            let mut written = 0;
            for (bytes, pause) in writes {
                pair.write(bytes);
                written += bytes;
                pair.run_until(pair.now + Duration::from_micros(pause));
            }
            let written = written + u64::from(pair.config.fin);
            pair.close();
            pair.finish();
            carried.set(carried.get() + pair.carried());
            prop_assert_eq!(pair.receiver.received(), written);
            prop_assert_eq!(pair.sender.acked(), written);
            prop_assert!(pair.sender.is_idle());
            prop_assert_eq!(pair.sender.pipe(), Bytes(0));
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn reordering_within_a_quarter_of_a_round_trip_begins_no_recovery() {
    // Round trips of 100 to 120 µs: late packets are late by at most 20 µs, less than min_RTT / 4.
    let late = Impairments { jitter: Duration::from_micros(10), ..Impairments::default() };
    let stats = |recovery| {
        let reno = congestion::Config::Reno(reno::Config::default());
        let delayed_ack = DelayedAck { segments: 1, ..Config::new(Bytes(MSS), reno).delayed_ack };
        let config = Config { recovery, delayed_ack, ..Config::new(Bytes(MSS), reno) };
        let mut pair = Pair::new(config, 1, late);
        pair.write(3_000_000);
        pair.finish();
        pair.sender.stats()
    };
    let (sack, rack) = (stats(Method::Sack(None)), stats(Method::Rack(None)));
    assert!(sack.fast_recoveries > 10, "{sack:?}");
    // RFC 8985 §6.2 step 4: before RACK has observed reordering, three selective acknowledgements may count as a loss.
    assert!(rack.fast_recoveries <= 1 && rack.retransmits <= 10 && rack.timeouts == 0, "{rack:?}");
}

/// Returns the seed in the environment, or a random one.
fn first_seed() -> u64 {
    match ProptestConfig::default().rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => TestRunner::default().rng().next_u64() >> 1,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn a_perfect_network_needs_no_retransmission(config in config(), bytes in 1u64..300_000) {
        // The timer must not be shorter than a round trip with a delayed acknowledgement.
        let rto = RtoConfig {
            initial: Duration::from_millis(1),
            minimum: Duration::from_millis(1),
            maximum: Duration::from_millis(2),
            ..config.rto
        };
        let syns = u64::from(config.handshake);
        let mut pair = Pair::new(Config { rto, ..config }, 0, Impairments::default());
        pair.write_and_close(bytes);
        pair.finish();
        let stats = pair.sender.stats();
        prop_assert_eq!((stats.timeouts, stats.fast_recoveries), (0, 0));
        // A probe that was sent because of a delayed acknowledgement is no repair (RFC 8985 §7.3).
        let probes = u64::from(stats.retransmits);
        prop_assert!(probes == 0 || matches!(config.recovery, Method::Rack(_)));
        // If the receiver's window has no room for a FIN, the FIN is sent separately.
        let least = bytes.div_ceil(MSS) + syns + probes;
        prop_assert!((least..=least + u64::from(pair.config.fin)).contains(&stats.segments_sent));
    }

    #[test]
    fn no_sequence_of_acknowledgements_breaks_or_stalls_a_sender(
        config in config(),
        acks in prop::collection::vec(any_ack(), 1..60),
    ) {
        let mut sender = Sender::new(&config);
        let mut now = Instant::ZERO;
        sender.write(&config, now, 200 * MSS);
        for (segment, elapsed) in acks {
            while sender.poll_transmit(&config, now).is_some() {}
            // Relative to the acknowledged data, so that most acknowledgements are acceptable.
            let segment = AckSegment { ack: sender.acked() + segment.ack, ..segment };
            now = now + Duration::from_micros(elapsed);
            if sender.deadline().is_some_and(|deadline| deadline <= now) {
                sender.on_timer(&config, now);
            }
            sender.on_ack(&config, now, &segment);
            network::check_sender(&config, &sender);
        }
        while sender.poll_transmit(&config, now).is_some() {}
        // After any acknowledgements, a timeout sends the first segment that is not acknowledged.
        if !sender.is_idle() {
            let before = sender.stats().timeouts;
            let mut transmit = None;
            while sender.stats().timeouts == before {
                prop_assert!(sender.deadline().is_some_and(|deadline| deadline >= now));
                now = sender.deadline().expect("something is outstanding");
                sender.on_timer(&config, now);
                transmit = sender.poll_transmit(&config, now);
            }
            prop_assert_eq!(transmit.expect("a retransmission").segment.seq, sender.acked());
        }
    }

    #[test]
    fn no_sequence_of_segments_breaks_a_receiver(
        config in config(),
        segments in prop::collection::vec((0u64..60_000, 0u16..3_000, any::<u8>(), any::<bool>()), 1..100),
    ) {
        let mut receiver = Receiver::new(&config);
        let mut received = 0;
        for (index, (seq, len, flags, ce)) in segments.into_iter().enumerate() {
            let now = Instant::ZERO + Duration::from_micros(index as u64);
            let segment = DataSegment { seq, len, flags: Flags(flags), ..DataSegment::default() };
            for ack in receiver.on_data(&config, now, &segment, Marks { ce, incast: seq % 3 == 0 }, 1) {
                prop_assert!(received <= ack.ack && ack.ack <= receiver.received());
                received = ack.ack;
                let above = |&(start, end): &(u64, u64)| ack.ack < start && start < end;
                let reported = usize::from(config.dsack && ack.duplicate().is_some());
                prop_assert!(ack.sack_ranges().skip(reported).all(|block| above(&block)));
                // RFC 2883 §4: the reported duplicate lies within the arriving segment.
                if reported > 0 {
                    let (start, end) = ack.duplicate().expect("it is reported");
                    prop_assert!(seq <= start && start < end && end <= segment.end() + 1);
                }
            }
        }
    }
}

prop_compose! {
    /// Generates any acknowledgement, its number relative to the previous one, and the microseconds until it arrives.
    fn any_ack()(
        ack in prop_oneof![Just(0), 0u64..3_000, 0u64..100_000],
        blocks in prop::collection::vec((0u32..30_000, 0u32..5_000), 0..=MAX_SACK_BLOCKS),
        (aligned, below) in any::<(bool, bool)>(),
        window in prop_oneof![Just(0), 0u32..5_000, Just(1 << 20)],
        flags: u8,
        elapsed in 0u64..500,
    ) -> (AckSegment, u64) {
        let round = |bytes: u32| if aligned { bytes / 1_000 * 1_000 } else { bytes };
        let mut sack = [SackBlock::default(); MAX_SACK_BLOCKS];
        for (slot, &(start, len)) in sack.iter_mut().zip(&blocks) {
            *slot = SackBlock { start: round(start), end: round(start + len) };
        }
        if below {
            sack[0] = SackBlock { start: sack[0].end, end: sack[0].start };
        }
        let sack_count = blocks.len() as u8;
        (AckSegment { ack, sack, sack_count, window, flags: Flags(flags), ..AckSegment::default() }, elapsed)
    }
}
