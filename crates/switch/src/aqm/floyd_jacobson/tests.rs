//! Tests of RED against closed forms and exact counts, and χ² tests.

use super::super::testing::Seen;
use super::*;
use crate::discipline::QueueState;

const RATE: Rate = Rate::from_gbps(1);
/// Transmission time of 500 bytes at 1 Gbit/s.
const PACKET_TIME: Duration = Duration(4_000_000);

fn explicit(min: u64, max: u64, weight: f64) -> Config {
    let thresholds = Thresholds::Explicit { min: Level(min), max: Level(max), weight };
    Config { thresholds, ..Config::default() }
}

fn red(config: &Config) -> FloydJacobson {
    FloydJacobson::new(config, 1, Stream::new(1, "red-classic", 0))
}

/// Returns a busy link with `packets` waiting packets of 1,000 bytes.
fn waiting(packets: u32) -> Seen {
    let mut seen = Seen::queue(u64::from(packets) * 1_000);
    seen.queues[0].packets = packets;
    (seen.rate, seen.busy_until, seen.port_backlog) = (RATE, Instant::MAX, seen.queues[0].backlog);
    seen
}

fn idle_since(busy_until: Instant) -> Seen {
    Seen { rate: RATE, busy_until, ..waiting(0) }
}

fn packet(size: u16) -> Header {
    Header::default().with_size(size)
}

fn arrive(red: &mut FloydJacobson, now: Instant, seen: &Seen, size: u16) -> Verdict {
    red.on_arrival(now, &packet(size), &seen.view());
    red.on_enqueue(now, &packet(size), &seen.view())
}

/// Returns a marker with this `average`.
fn at(config: &Config, average: f64) -> FloydJacobson {
    let mut red = red(config);
    red.averages[0].value = average;
    red
}

#[test]
fn the_average_over_n_arrivals_has_its_closed_form_and_hears_refused_packets() {
    // From zero, (1 − w)avg + w·q gives q(1 − (1 − w)^n). Only on_arrival updates the average, so the buffer may refuse every packet.
    for (unit, q) in [(Unit::Packets, 10.0), (Unit::Bytes, 10_000.0)] {
        let mut red = red(&Config { unit, ..explicit(5, 15, 0.002) });
        for n in 1..=1_000 {
            red.on_arrival(Instant::ZERO, &packet(1_000), &waiting(10).view());
            let expected = q * (1.0 - libm::pow(0.998, f64::from(n)));
            assert!((red.averages[0].value - expected).abs() < 1e-9 * q, "{n}");
        }
        let mut told = vec![];
        red.observe(&waiting(0).view(), &mut |reading| told.push((reading.quantity, reading.queue)));
        let name = if unit == Unit::Bytes { "average_bytes" } else { "average_packets" };
        assert_eq!(told, [(name, Some(0))]);
    }
}

#[test]
fn idle_time_is_made_up_for_by_its_closed_form() {
    // m = idle time/4 µs. The average decays by (1 − w)^m in the paper, and by (1 − w)^(⌊m⌋ + 1) in ns-2.
    for (idle, m) in [(4_000_000, 1.0), (10_000_000, 2.5), (400_000_000, 100.0)] {
        for (rule, exponent) in [(Idle::Paper, m), (Idle::AsReleased, f64::floor(m) + 1.0)] {
            let mut red = at(&Config { idle: rule, ..explicit(5, 15, 0.25) }, 8.0);
            let free = Instant(7_000_000);
            red.on_arrival(free + Duration(idle), &packet(1_000), &idle_since(free).view());
            let expected = 8.0 * libm::pow(0.75, exponent);
            assert!((red.averages[0].value - expected).abs() < 1e-12, "{rule:?} {m}");
        }
    }
}

#[test]
fn an_empty_queue_at_a_busy_link_is_a_sample_and_idle_time_counts_once() {
    let mut red = at(&explicit(5, 15, 0.25), 8.0);
    let seen = idle_since(Instant(7_000_000));
    red.on_arrival(Instant(7_000_000), &packet(1_000), &seen.view());
    assert_eq!(red.averages[0].value, 6.0, "the link is free only now: a sample of zero");
    let later = Instant(7_000_000) + PACKET_TIME;
    red.on_arrival(later, &packet(1_000), &seen.view());
    assert!((red.averages[0].value - 4.5).abs() < 1e-12, "one packet time");
    // The last packet was dropped, and another arrives at the same time. No idle time has passed since, so the average takes a sample.
    red.on_arrival(later, &packet(1_000), &seen.view());
    assert!((red.averages[0].value - 3.375).abs() < 1e-12);
    red.on_arrival(later + PACKET_TIME * 2, &packet(1_000), &seen.view());
    assert!((red.averages[0].value - 3.375 * 0.5625).abs() < 1e-12);
    // A packet waits although the link is free, so the port is not idle.
    red.averages[0].value = 8.0;
    red.on_arrival(later + PACKET_TIME * 9, &packet(1_000), &Seen { busy_until: later, ..waiting(4) }.view());
    assert_eq!(red.averages[0].value, 7.0);
}

#[test]
fn every_queue_makes_up_for_the_idle_time_of_its_port_at_its_own_arrival() {
    let mut red = FloydJacobson::new(&explicit(5, 15, 0.25), 2, Stream::new(1, "red-classic", 0));
    let mut seen = idle_since(Instant::ZERO);
    seen.queues.push(seen.queues[0].clone());
    for average in &mut red.averages {
        average.value = 8.0;
    }
    red.on_arrival(Instant::ZERO + PACKET_TIME, &packet(1_000), &seen.view());
    (seen.queue, seen.busy_until, seen.port_backlog) = (1, Instant::MAX, Bytes(1_000));
    red.on_arrival(Instant::ZERO + PACKET_TIME * 5, &packet(1_000), &seen.view());
    assert_eq!([red.averages[0].value, red.averages[1].value], [6.0, 6.0]);
    let config = Config { scope: Scope::Port, ..explicit(5, 15, 0.25) };
    let mut red = FloydJacobson::new(&config, 2, Stream::new(1, "red-classic", 0));
    seen.queues[0].packets = 4;
    red.on_arrival(Instant::ZERO, &packet(1_000), &seen.view());
    let mut told = vec![];
    red.observe(&seen.view(), &mut |reading| told.push((reading.queue, reading.value)));
    assert_eq!(told, [(None, 1.0)], "a port has one average, of all its queues");
}

#[test]
fn the_share_of_marked_packets_follows_the_curve() {
    // min 5, max 15, max_p 0.1: the probability is 0.05 at an average of 10; with gentle, 0.1 + 0.9 · 3/15 = 0.28 at 18.
    let n = 100_000;
    for (above, average, expected) in [
        (Above::Certain, 4.999, 0.0),
        (Above::Certain, 5.0, 0.0),
        (Above::Certain, 10.0, 0.05),
        (Above::Certain, 14.999, 0.1),
        (Above::Certain, 15.0, 1.0),
        (Above::Gentle, 15.0, 0.1),
        (Above::Gentle, 18.0, 0.28),
        (Above::Gentle, 29.999, 1.0),
        (Above::Gentle, 30.0, 1.0),
    ] {
        let config = Config { above, spacing: Spacing::Geometric, ..explicit(5, 15, 0.002) };
        let mut red = at(&config, average);
        let seen = waiting(3);
        let marked =
            (0..n).filter(|_| red.on_enqueue(Instant::ZERO, &packet(500), &seen.view()).marks()).count();
        let share = marked as f64 / f64::from(n);
        let tolerance = 4.0 * (expected * (1.0 - expected) / f64::from(n)).sqrt();
        assert!((share - expected).abs() <= tolerance + 1e-4, "{above:?} {average}: {share}");
    }
}

#[test]
fn marks_are_spaced_uniformly_over_the_span_of_each_rule() {
    // p = 1/10. Gaps with §7, Method 2: 1…10. With the count of Fig. 2: 1…9. With ns-2's wait_: 10…19.
    for (spacing, first, last) in
        [(Spacing::Uniform, 1, 10), (Spacing::Counted, 1, 9), (Spacing::Wait, 10, 19)]
    {
        let mut red = at(&Config { spacing, ..explicit(0, 20, 1.0) }, 10.0);
        red.config.max_p = 0.2;
        let seen = waiting(10);
        let mut gaps = [0u32; 32];
        let (mut marks, mut gap) = (0, 0);
        while marks < 50_000 {
            gap += 1;
            assert!(gap < gaps.len(), "{spacing:?}: no mark in {gap} packets");
            if red.on_enqueue(Instant::ZERO, &packet(500), &seen.view()).marks() {
                // The first gap begins where the average crossed the threshold, so it is not counted.
                gaps[gap] += u32::from(marks > 0);
                (marks, gap) = (marks + 1, 0);
            }
        }
        let (inside, all) = (&gaps[first..=last], gaps.iter().sum::<u32>());
        assert_eq!(inside.iter().sum::<u32>(), all, "{spacing:?}: {gaps:?}");
        let expected = f64::from(all) / inside.len() as f64;
        let off = |count: u32| f64::from(count) - expected;
        let chi2: f64 = inside.iter().map(|&count| off(count) * off(count) / expected).sum();
        // 27.9 is the 0.1 % level of χ² with nine degrees of freedom.
        assert!(chi2 < 27.9, "{spacing:?}: {chi2}, {gaps:?}");
    }
}

#[test]
fn the_count_starts_anew_below_the_threshold_and_after_a_forced_mark() {
    // Each row: the probabilities of three packets in a row at p = 1/4, the first just above the minimum threshold.
    for (spacing, expected) in [
        (Spacing::Uniform, [0.25, 1.0 / 3.0, 0.5]),
        (Spacing::Counted, [0.25, 1.0 / 3.0, 0.5]),
        (Spacing::Wait, [0.0, 0.0, 0.0]),
        (Spacing::Geometric, [0.25; 3]),
    ] {
        let mut red = red(&Config { spacing, ..explicit(5, 15, 0.5) });
        for _ in 0..2 {
            let spaced = [(); 3].map(|()| red.space(0, 0.25, Bytes(500)));
            assert_eq!(spaced, expected, "{spacing:?}");
            red.averages[0].value = 4.0;
            assert_eq!(red.on_enqueue(Instant::ZERO, &packet(500), &waiting(3).view()), Verdict::PASS);
        }
        // After a forced mark, the next packet is the first since a mark. At that packet, only the count of Fig. 2 is one.
        red.space(0, 0.25, Bytes(500));
        red.averages[0].value = 15.0;
        assert_eq!(red.on_enqueue(Instant::ZERO, &packet(500), &waiting(3).view()), Verdict::MARK);
        let after = if spacing == Spacing::Counted { 1.0 / 3.0 } else { expected[0] };
        assert_eq!(red.space(0, 0.25, Bytes(500)), after, "{spacing:?}");
    }
    let mut red = red(&Config { spacing: Spacing::Wait, ..explicit(5, 15, 0.5) });
    let spaced = [(); 8].map(|()| red.space(0, 0.25, Bytes(500)));
    // c·p reaches 1 at the fourth packet: 1/4 / (2 − c/4) = 1/(8 − c), c = 4…7, and 1 at the eighth.
    assert_eq!(spaced, [0.0, 0.0, 0.0, 0.25, 1.0 / 3.0, 0.5, 1.0, 1.0]);
}

#[test]
fn by_bytes_the_count_is_in_whole_packets_and_large_packets_are_likelier_victims() {
    // Typical packet 500 B, p = 1/4. The first packet of 750 B has a count of 0 and is 1.5 times as likely. The second has
    // ⌊1.5⌋ = 1: 1/3 · 1.5. The third has ⌊3⌋: 1/4 / (1 − 3/4) = 1, which is not scaled.
    let config = Config { weighing: Weighing::Bytes, ..explicit(5, 15, 0.5) };
    let mut red = red(&config);
    let spaced = [(); 3].map(|()| red.space(0, 0.25, Bytes(750)));
    assert_eq!(spaced, [0.375, 0.5, 1.0]);
    red.averages[0].count = 0;
    assert_eq!(red.space(0, 0.25, Bytes(250)), 0.125);
    assert_eq!(red.space(0, 0.9, Bytes(1_000)), 1.0, "no probability exceeds one");
}

#[test]
fn the_count_in_whole_packets_decides_how_long_wait_waits() {
    // Typical packet 500 B, packets of 750 B, p = 1/4: the counts are ⌊1.5⌋, 3, ⌊4.5⌋, 6, ⌊7.5⌋ packets. The probability is zero
    // while c·p < 1, then 1/4 / (2 − c/4) = 1/4, 1/2, 1, times 1.5 for the size. A probability of 1 is not scaled, as the small
    // packet shows.
    let config = Config { spacing: Spacing::Wait, weighing: Weighing::Bytes, ..explicit(5, 15, 0.5) };
    let mut red = red(&config);
    let spaced = [(); 5].map(|()| red.space(0, 0.25, Bytes(750)));
    assert_eq!(spaced, [0.0, 0.0, 0.375, 0.75, 1.0]);
    assert_eq!(red.space(0, 0.25, Bytes(250)), 1.0);
}

#[test]
fn each_range_of_the_average_begins_at_its_threshold() {
    // §4: "if min_th ≤ avg < max_th: increment count"; below min_th the count restarts.
    for (average, count) in [(4.999, 0), (5.0, 3)] {
        let mut red = at(&explicit(5, 15, 0.5), average);
        red.averages[0].count = 2;
        assert_eq!(red.on_enqueue(Instant::ZERO, &packet(500), &waiting(3).view()), Verdict::PASS);
        assert_eq!(red.averages[0].count, count, "{average}");
    }
    // ns-2, gentle_: at twice max_th a packet is dropped by force, not marked with probability 1.
    for (average, expected) in [(29.999_999, Verdict::MARK), (30.0, Verdict::DROP)] {
        let config = Config { above: Above::Gentle, forced: Forced::Drop, ..explicit(5, 15, 0.5) };
        let mut red = at(&config, average);
        red.averages[0].count = 10;
        assert_eq!(red.on_enqueue(Instant::ZERO, &packet(500), &waiting(3).view()), expected);
    }
}

#[test]
fn a_chance_of_nothing_draws_no_number() {
    // At the minimum threshold itself the probability is zero, and the random stream does not advance.
    let mut red = at(&explicit(5, 15, 0.5), 5.0);
    let next = |red: &FloydJacobson| red.stream.clone().next_u64();
    let before = next(&red);
    assert_eq!(red.on_enqueue(Instant::ZERO, &packet(500), &waiting(3).view()), Verdict::PASS);
    assert_eq!(next(&red), before);
}

#[test]
fn a_free_link_is_not_idle_while_something_waits() {
    // A shaper holds back the packets of queue 0. Queue 1 is empty: its average takes a sample of zero, and no idle time is counted.
    let mut red = FloydJacobson::new(&explicit(5, 15, 0.25), 2, Stream::new(1, "red-classic", 0));
    red.averages[1].value = 8.0;
    let mut seen = Seen { busy_until: Instant::ZERO, queue: 1, ..waiting(4) };
    seen.queues.push(QueueState::default());
    red.on_arrival(Instant::ZERO + PACKET_TIME * 9, &packet(500), &seen.view());
    assert_eq!(red.averages[1].value, 6.0);
}

#[test]
fn a_victim_is_marked_or_dropped_and_a_forced_one_dropped_where_asked() {
    use Action::{Drop, Mark};
    for (action, forced, average, expected) in [
        (Mark, Forced::AsBelow, 10.0, Verdict::MARK),
        (Mark, Forced::AsBelow, 15.0, Verdict::MARK),
        (Mark, Forced::Drop, 10.0, Verdict::MARK),
        (Mark, Forced::Drop, 15.0, Verdict::DROP),
        (Drop, Forced::AsBelow, 10.0, Verdict::DROP),
        (Drop, Forced::AsBelow, 15.0, Verdict::DROP),
        (Mark, Forced::AsBelow, 4.9, Verdict::PASS),
    ] {
        // max_p = 1, and this is the tenth packet since the last mark, so the probability is 1 between the thresholds.
        let config = Config { action, forced, max_p: 1.0, ..explicit(5, 15, 0.5) };
        let mut red = at(&config, average);
        red.averages[0].count = 10;
        let verdict = red.on_enqueue(Instant::ZERO, &packet(500), &waiting(3).view());
        assert_eq!(verdict, expected, "{action:?} {forced:?} {average}");
    }
}

#[test]
fn ns2_spares_what_finds_at_most_one_packet_or_byte() {
    for (empty_queue, packets, expected) in [
        (EmptyQueue::Judged, 0, Verdict::MARK),
        (EmptyQueue::Spared, 1, Verdict::PASS),
        (EmptyQueue::Spared, 2, Verdict::MARK),
    ] {
        let mut red = at(&Config { empty_queue, ..explicit(5, 15, 0.5) }, 99.0);
        assert_eq!(red.on_enqueue(Instant::ZERO, &packet(500), &waiting(packets).view()), expected);
    }
}

#[test]
fn automatic_configuration_is_that_of_ns2() {
    // 100 Mbit/s: ptc = 10^8/4,000 = 25,000 packets/s; min = max(5, 0.005 · 25,000/2) = 62.5, max = 187.5,
    // q_w = 1 − exp(−1/25,000) = 4.0e-5 (FACTS: "q_w ≈ 4e-5 at 100 Mb/s"). In bytes, times 500.
    for (unit, min) in [(Unit::Packets, 62.5), (Unit::Bytes, 31_250.0)] {
        let config = Config { unit, ..Config::default() };
        let line = Line::new(&config, Rate(100_000_000));
        assert_eq!((line.min, line.max), (min, 3.0 * min));
        assert!((line.weight - 3.999_92e-5).abs() < 1e-10, "{}", line.weight);
        assert_eq!(line.packet_time, Duration::from_micros(40));
    }
    // 1 Mbit/s: half of the target delay is the time of 0.625 packets, so the minimum of 5 applies.
    assert_eq!(Line::new(&Config::default(), Rate(1_000_000)).min, 5.0);
    assert_eq!(Config::default().typical_packet, Bytes(500));
    // RED reads the rate of the link at the first arrival. 100 packets wait; the average exceeds 62.5 only after many arrivals.
    let mut red = red(&Config { max_p: 1.0, ..Config::as_released() });
    let seen = Seen { rate: Rate(100_000_000), ..waiting(100) };
    assert_eq!(arrive(&mut red, Instant::ZERO, &seen, 500), Verdict::PASS);
    assert_eq!(red.line.map(|line| (line.min, line.max)), Some((31_250.0, 93_750.0)));
}

#[test]
fn as_released_every_choice_is_that_of_ns2() {
    // ns-default.tcl: bytes_, queue_in_bytes_, gentle_ and wait_ are true, setbit_ is false, linterm_ is 10. red.cc drops
    // above the end of gentle_'s slope, whatever setbit_ is, and passes packets that find at most one packet.
    let config = Config::as_released();
    assert_eq!((config.unit, config.weighing), (Unit::Bytes, Weighing::Bytes));
    assert_eq!((config.above, config.spacing), (Above::Gentle, Spacing::Wait));
    assert_eq!((config.action, config.forced), (Action::Drop, Forced::Drop));
    assert_eq!((config.idle, config.empty_queue), (Idle::AsReleased, EmptyQueue::Spared));
    assert_eq!(config.max_p, 0.1);
}

#[test]
#[should_panic(expected = "not RED's")]
fn thresholds_out_of_order_are_refused() {
    red(&explicit(16, 15, 0.5));
}

#[test]
#[should_panic(expected = "not RED's")]
fn an_average_that_never_moves_is_refused() {
    red(&explicit(5, 15, 0.0));
}

#[test]
#[should_panic(expected = "no probability: 1.5")]
fn a_probability_above_one_is_refused() {
    red(&Config { max_p: 1.5, ..Config::default() });
}
