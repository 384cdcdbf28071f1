//! Schedulers against traces worked by hand.

use super::*;

const ORDERS: [Order; 2] = [Order::Cyclic, Order::Activation];

/// Returns a link whose queue *q* holds packets of the sizes `queues[q]`.
fn filled(config: &Config, queues: &[&[u64]]) -> Link {
    let mut link = Link::new(config);
    for (queue, sizes) in queues.iter().enumerate() {
        sizes.iter().for_each(|&size| link.arrive(queue, size));
    }
    link
}

#[test]
fn dwrr_carries_over_what_a_turn_leaves_and_wrr_loses_it() {
    // Quanta 1,500 B. Queue 0 has packets of 1,000 B, queue 1 of 1,500 B.
    let queues: [&[u64]; 2] = [&[1_000; 6], &[1_500; 6]];
    // DWRR: the deficit of queue 0 after its turns is 500 (1 packet sent), 0 (2 packets sent), 500, 0.
    let mut link = filled(&dwrr(&[1_500, 1_500]), &queues);
    assert_eq!(link.order(10), [0, 1, 0, 0, 1, 0, 1, 0, 0, 1]);
    // WRR: 500 B are left in each turn and lost.
    for order in ORDERS {
        let mut link = filled(&wrr(&[1_500, 1_500], order), &queues);
        assert_eq!(link.order(10), [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    }
}

#[test]
fn a_packet_may_use_up_the_quantum_to_the_last_byte() {
    // Packets of 700 and 800 B fit in 1,500 B. With one byte more they do not, and the turn ends after the first packet.
    for (last, turns) in
        [(800, vec![(0, false), (0, true), (1, true)]), (801, vec![(0, true), (1, true), (0, true)])]
    {
        for config in
            [dwrr(&[1_500; 2]), wrr(&[1_500; 2], Order::Cyclic), wrr(&[1_500; 2], Order::Activation)]
        {
            let mut link = filled(&config, &[&[700, last], &[100]]);
            assert_eq!(link.turns(3), turns, "{config:?}");
        }
    }
}

#[test]
fn turns_end_as_worked_by_hand_for_one_two_and_eight_busy_queues() {
    // Quanta of two packets: each queue sends two packets in its turn, and the turn ends with the second. A lone queue has turns too,
    // because MQ-ECN samples its round time.
    for busy in [1, 2, 8] {
        let sizes: &[u64] = &[1_500; 6];
        for config in
            [dwrr(&[3_000; 8]), wrr(&[3_000; 8], Order::Cyclic), wrr(&[3_000; 8], Order::Activation)]
        {
            let mut link = filled(&config, &vec![sizes; busy]);
            let round = || (0..busy).flat_map(|queue| [(queue, false), (queue, true)]);
            let expected: Vec<_> = round().chain(round()).chain(round()).collect();
            assert_eq!(link.turns(100), expected, "{busy} of {config:?}");
        }
    }
}

#[test]
fn a_queue_that_empties_ends_its_turn_with_quantum_left_and_starts_anew() {
    // One packet of 500 B out of a quantum of 3,000 B: the turn ends. The remaining 2,500 B are not kept: the next turn also
    // sends two packets of 1,500 B and not three.
    for config in [dwrr(&[3_000; 2]), wrr(&[3_000; 2], Order::Cyclic), wrr(&[3_000; 2], Order::Activation)] {
        let mut link = filled(&config, &[&[500], &[1_500; 3]]);
        assert_eq!(link.turns(1), [(0, true)]);
        (0..4).for_each(|_| link.arrive(0, 1_500));
        let expected = [(1, false), (1, true), (0, false), (0, true), (1, true), (0, false), (0, true)];
        assert_eq!(link.turns(9), expected, "{config:?}");
    }
}

#[test]
fn who_becomes_busy_during_the_last_packet_of_a_turn_goes_before_its_queue() {
    // Queue 2 becomes busy while queue 0 sends the last packet of its turn. Queue 0 moves to the end of the list 0, 1 only when the link
    // is free again, so queue 2 joins the list before it.
    for config in [dwrr(&[1_500; 3]), wrr(&[1_500; 3], Order::Activation)] {
        let mut link = filled(&config, &[&[1_500; 2], &[1_500; 2]]);
        assert_eq!(link.turns(1), [(0, true)]);
        link.arrive(2, 1_500);
        assert_eq!(link.order(5), [1, 2, 0, 1], "{config:?}");
    }
}

#[test]
fn cyclic_rounds_go_by_number_and_lists_by_time() {
    // Queue 3, then 1, then 2 become busy.
    for (order, first, then) in [(Order::Cyclic, 1, [2, 3, 1, 2, 3]), (Order::Activation, 3, [1, 2, 3, 1, 2])]
    {
        let mut link = Link::new(&wrr(&[1_500; 4], order));
        for queue in [3, 1, 2, 3, 1, 2] {
            link.arrive(queue, 1_500);
        }
        assert_eq!(link.order(1), [first]);
        assert_eq!(link.order(9), then, "{order:?}");
    }
}

#[test]
fn the_turn_passes_on_from_the_queue_that_emptied_last() {
    // Queue 1 of four sends its only packet and the port idles. Then each queue receives a packet, and queue 2 is next by number.
    let mut link = filled(&wrr(&[1_500; 4], Order::Cyclic), &[&[], &[1_500]]);
    assert_eq!(link.order(9), [1]);
    (0..4).for_each(|queue| link.arrive(queue, 1_500));
    assert_eq!(link.order(9), [2, 3, 0, 1]);
}

#[test]
fn a_cyclic_round_knows_all_64_queues() {
    let mut link = filled(&wrr(&[1_500; 64], Order::Cyclic), &[[1_500, 1_500].as_slice(); 64]);
    let numbers = || 0..64;
    assert_eq!(link.order(200), numbers().chain(numbers()).collect::<Vec<_>>());
}

#[test]
fn a_choice_stands_whatever_arrives_after_it() {
    // Queue 1 becomes busy after queue 2 was selected. It comes first by number, but must wait.
    let mut link = filled(&wrr(&[1_500; 3], Order::Cyclic), &[&[], &[], &[1_500, 1_500]]);
    assert_eq!(link.scheduler.select(link.now, &link.queues, Every), Some(2));
    link.arrive(1, 1_500);
    assert_eq!(link.order(9), [2, 1, 2]);
}

#[test]
fn a_wrr_turn_sends_one_packet_even_if_that_exceeds_the_quantum() {
    // Queue 0: 9,000 B at a quantum of 500 B, one packet per turn. Queue 1: two packets of 300 B fit in 700 B.
    for order in ORDERS {
        let mut link = filled(&wrr(&[500, 700], order), &[&[9_000; 3], &[300; 6]]);
        let expected = [(0, true), (1, false), (1, true)];
        assert_eq!(link.turns(9), [expected, expected, expected].concat(), "{order:?}");
    }
}

#[test]
fn dwrr_saves_small_quanta_until_a_packet_fits() {
    // Quanta 500 and 1,000 B, packets of 1,500 B. Queue 0 has saved enough for a packet in rounds 3, 6 and 9. The deficit of queue 1 is
    // 1,000; 2,000 − 1,500 = 500; 1,500 − 1,500 = 0 B after each round, so it sends in rounds 2, 3, 5, 6, 8, 9.
    let mut link = filled(&dwrr(&[500, 1_000]), &[&[1_500; 20], &[1_500; 20]]);
    assert_eq!(link.order(9), [1, 0, 1, 1, 0, 1, 1, 0, 1]);
}

#[test]
fn dwrr_keeps_no_byte_for_a_queue_that_empties() {
    // Queue 0 becomes empty with 1,000 of 1,500 B left. Its next packet, of 1,501 B, does not fit in its first turn.
    let mut link = filled(&dwrr(&[1_500, 1_500]), &[&[500], &[1_500; 3]]);
    assert_eq!(link.order(1), [0]);
    link.arrive(0, 1_501);
    assert_eq!(link.order(9), [1, 1, 0, 1]);
}

#[test]
fn quanta_far_below_a_packet_cost_no_rounds() {
    // With a quantum of one byte, a packet of 9,000 B takes 9,000 rounds. The scheduler skips them and visits each queue at most twice.
    let mut link = filled(&dwrr(&[1, 2, 1]), &[&[9_000; 4], &[9_000; 8], &[9_000; 4]]);
    // The first packet of queue 1 fits in round 4,500; in round 9,000 the next packets of queues 0, 1 and 2 fit.
    assert_eq!(link.order(8), [1, 0, 1, 2, 1, 0, 1, 2]);
    assert!((8..=8 * 2 * 3).contains(&link.visits()), "{} visits", link.visits());
    // A lone queue is also visited at most twice per packet.
    let mut link = filled(&dwrr(&[1]), &[&[9_000; 2]]);
    assert_eq!(link.order(2), [0, 0]);
    assert!((2..=2 * 2).contains(&link.visits()), "{} visits", link.visits());
}

#[test]
fn dwrr_tells_the_deficits_that_it_keeps() {
    let mut link = filled(&strict_above(1, dwrr(&[1_500, 2_000])), &[&[], &[1_000; 3], &[1_500; 3]]);
    assert_eq!(link.order(2), [1, 2]);
    let mut readings = vec![];
    link.scheduler.observe(&mut |reading| readings.push((reading.quantity, reading.queue, reading.value)));
    // The readings number the queues as the port does, not as DWRR does.
    assert_eq!(readings, [("deficit_bytes", Some(1), 500.0), ("deficit_bytes", Some(2), 500.0)]);
}

#[test]
fn strict_priority_goes_first_and_interrupts_a_turn_without_ending_it() {
    // Queues 0 and 1 above DWRR with quanta of two packets.
    let config = strict_above(2, dwrr(&[3_000, 3_000]));
    let mut link = filled(&config, &[&[], &[], &[1_500; 4], &[1_500; 4]]);
    assert_eq!(link.turns(1), [(2, false)]);
    link.arrive(1, 1_500);
    link.arrive(0, 1_500);
    link.arrive(1, 1_500);
    // Then queue 2 sends the second packet of its turn, and queue 3 follows.
    let expected =
        [(0, false), (1, false), (1, false), (2, true), (3, false), (3, true), (2, false), (2, true)];
    assert_eq!(link.turns(8), expected);
}

#[test]
fn strict_priority_alone_ends_no_turn() {
    // MQ-ECN §3.4 takes no samples from strict-priority queues: they have no rounds.
    let mut link = filled(&Config::StrictPriority { queues: 2 }, &[&[1_500], &[1_500; 2]]);
    assert_eq!(link.turns(3), [(0, false), (1, false), (1, false)]);
}

#[test]
fn shares_are_those_of_each_scheduler_strict_queues_first() {
    let round = |quantum| Share::Round { quantum: Bytes(quantum) };
    assert_eq!(dwrr(&[1_500, 6_000]).shares(), [round(1_500), round(6_000)]);
    assert_eq!(wrr(&[1_500, 6_000], Order::Cyclic).shares(), [round(1_500), round(6_000)]);
    assert_eq!(wfq(&[1, 4], VirtualTime::Gps).shares(), [Share::Weight(1), Share::Weight(4)]);
    assert_eq!(
        strict_above(2, wfq(&[3], VirtualTime::Gps)).shares(),
        [Share::Strict, Share::Strict, Share::Weight(3)]
    );
}

/// Starts with one packet of 1,000 B in each of ten queues of weight 1. Just after the first packet has started, a packet joins a queue
/// of weight 10. Returns the place of this late packet in the order of service.
fn place_of_the_late(virtual_time: VirtualTime) -> usize {
    let mut weights = vec![1; 10];
    weights.push(10);
    let mut link = filled(&wfq(&weights, virtual_time), &[[1_000].as_slice(); 10]);
    assert_eq!(link.order(1), [0]);
    link.arrive_at(Instant(1), 10, 1_000);
    let order = link.order(10);
    assert_eq!(order.len(), 10);
    1 + order.iter().position(|&queue| queue == 10).expect("it is served")
}

#[test]
fn wfq_follows_gps_where_self_clocked_tags_lag() {
    // GPS has hardly begun: V ≈ 0, so the late packet has the tag 100 and is sent before all others, whose tags are 1,000. GPS would
    // finish it after 2,000 byte times (at half of the link's rate), and so does WFQ.
    assert_eq!(place_of_the_late(VirtualTime::Gps), 1);
    // SCFQ: V is the tag of the packet on the wire, 1,000, so the late tag is 1,100: behind all others.
    assert_eq!(place_of_the_late(VirtualTime::SelfClocked), 10);
    // As released, the others have 1,000, 2,000 … 10,000, and the late tag is 10,100.
    assert_eq!(place_of_the_late(VirtualTime::AsReleased), 10);
}

#[test]
fn the_released_wfq_starts_each_queue_behind_the_last_tag() {
    // Two equal queues with packets of 1,000 B. SCFQ tags both heads 1,000, and they alternate.
    let queues: [&[u64]; 2] = [&[1_000; 4], &[1_000; 4]];
    let mut link = filled(&wfq(&[1, 1], VirtualTime::SelfClocked), &queues);
    assert_eq!(link.order(8), [0, 1, 0, 1, 0, 1, 0, 1]);
    // As released, queue 1 starts where the head of queue 0 ends: tags 1,000 and 2,000; then 2,000 and 2,000, and queue 0
    // is first. From then on they alternate, until queue 0 is empty.
    let mut link = filled(&wfq(&[1, 1], VirtualTime::AsReleased), &queues);
    assert_eq!(link.order(8), [0, 0, 1, 0, 1, 0, 1, 1]);
}

#[test]
fn the_released_wfq_remembers_the_largest_tag_and_not_the_last() {
    // Weights 1 and 4. Queue 0: tag 4,000. Queue 1 becomes busy: 4,000 + 1,000/4 = 4,250. Queue 0 sends; its next head has
    // 8,000, and so has the virtual time. Queue 1 sends, 4,250; its next heads 4,500, 4,750 … leave the virtual time at
    // 8,000. Queue 1 becomes empty. A new packet in queue 1 starts at 8,000: behind queue 0, whose second tag is 8,000.
    let mut link = filled(&wfq(&[1, 4], VirtualTime::AsReleased), &[&[4_000; 2], &[1_000; 3]]);
    assert_eq!(link.order(4), [0, 1, 1, 1]);
    link.arrive(1, 1_000);
    assert_eq!(link.order(3), [0, 1]);
}

#[test]
fn wfq_below_strict_priority_counts_only_the_work_that_is_left_to_it() {
    // Queue 1 (first of two equal ones below) has four packets of 1,000 B, tags 1,000 … 4,000; one leaves in 80 ns. A packet of
    // strict priority, 9,000 B, holds the link from 80 to 800 ns. At 400 ns queue 2 gets a packet: V is 1,000, the work
    // done, so its tag is 2,000; only the equal tag of queue 1 precedes it. By the clock, V would be beyond 4,000.
    let mut link = filled(&strict_above(1, wfq(&[1, 1], VirtualTime::Gps)), &[&[], &[1_000; 4]]);
    assert_eq!(link.order(1), [1]);
    link.arrive_at(Instant(10_000), 0, 9_000);
    assert_eq!(link.order(1), [0]);
    link.arrive_at(Instant(400_000), 2, 1_000);
    assert_eq!(link.order(9), [1, 2, 1, 1]);
}

#[test]
fn weights_one_to_four_divide_a_link_one_to_four() {
    // MQ-ECN's test-dwrr.tcl: quanta 1,500 and 6,000 at 10 Gbit/s; service 2 starts at half of the time. In this test both keep
    // packets waiting while they are on.
    let configs = [
        dwrr(&[1_500, 6_000]),
        wrr(&[1_500, 6_000], Order::Cyclic),
        wrr(&[1_500, 6_000], Order::Activation),
        wfq(&[1, 4], VirtualTime::Gps),
        wfq(&[1, 4], VirtualTime::SelfClocked),
        wfq(&[1, 4], VirtualTime::AsReleased),
    ];
    for config in configs {
        let mut link = filled(&config, &[&[1_500; 2], &[]]);
        let mut sent = [[0u64; 2]; 2];
        for packet in 0..10_000 {
            let half = packet / 5_000;
            if packet == 5_000 {
                (0..2).for_each(|_| link.arrive(1, 1_500));
            }
            let queue = link.serve().expect("work is left").queue;
            sent[half][queue] += 1;
            link.arrive(queue, 1_500);
        }
        assert_eq!(sent[0], [5_000, 0], "{config:?}");
        // One fifth and four fifths, except for the packets of a round at the start.
        assert!(sent[1][0].abs_diff(1_000) <= 4 && sent[1][1].abs_diff(4_000) <= 4, "{sent:?} of {config:?}");
    }
}

#[test]
#[should_panic(expected = "would never send")]
fn dwrr_refuses_a_quantum_of_zero() {
    let _ = dwrr(&[1_500, 0]).build(RATE);
}

#[test]
#[should_panic(expected = "no share")]
fn wrr_refuses_a_quantum_of_zero() {
    let _ = wrr(&[0, 1_500], Order::Cyclic).build(RATE);
}

#[test]
#[should_panic(expected = "bits of one word")]
fn wrr_refuses_a_65th_queue() {
    let _ = wrr(&[1_500; 65], Order::Cyclic).build(RATE);
}

#[test]
fn dwrr_takes_256_queues() {
    let mut link = filled(&dwrr(&[1_500; 256]), &[[1_500, 1_500].as_slice(); 256]);
    let numbers = || 0..256;
    assert_eq!(link.order(600), numbers().chain(numbers()).collect::<Vec<_>>());
}

#[test]
#[should_panic(expected = "eight bits")]
fn dwrr_refuses_a_257th_queue() {
    let _ = dwrr(&[1_500; 257]).build(RATE);
}

#[test]
fn wfq_refuses_a_weight_of_zero() {
    for virtual_time in [VirtualTime::Gps, VirtualTime::SelfClocked] {
        let built = std::panic::catch_unwind(|| wfq(&[1, 0], virtual_time).build(RATE));
        assert!(built.is_err(), "{virtual_time:?}");
    }
}

#[test]
fn a_packet_that_passes_leaves_the_state_of_one_that_joined_and_left() {
    let quanta = vec![Bytes(1_500), Bytes(3_000), Bytes(1_500)];
    let configs = [
        Config::StrictPriority { queues: 3 },
        Config::Wrr { quanta: quanta.clone(), order: Order::Cyclic },
        Config::Wrr { quanta: quanta.clone(), order: Order::Activation },
        Config::Dwrr { quanta: quanta.clone() },
        Config::StrictAbove { queues: 1, below: Box::new(Config::Dwrr { quanta: quanta[1..].to_vec() }) },
        Config::Wfq { weights: vec![1, 2, 3], virtual_time: VirtualTime::Gps },
        Config::Wfq { weights: vec![1, 2, 3], virtual_time: VirtualTime::SelfClocked },
        Config::Wfq { weights: vec![1, 2, 3], virtual_time: VirtualTime::AsReleased },
    ];
    for config in configs {
        for passed in 0..3 {
            let [mut passes, mut joins] = [config.build(RATE), config.build(RATE)];
            let mut queues = vec![QueueState::default(); config.shares().len()];
            let ends =
                passes.pass(Instant::ZERO, passed, Bytes(9_000)).expect("these need not join and leave");
            // A packet larger than every quantum takes several rounds, and also leaves no state behind.
            for (packets, size) in [(1, 9_000), (0, 0)] {
                (queues[passed].packets, queues[passed].head) = (packets, Bytes(size));
                queues[passed].backlog = Bytes(size);
                if packets == 1 {
                    joins.on_enqueue(Instant::ZERO, passed, Bytes(size), &queues);
                    assert_eq!(joins.select(Instant::ZERO, &queues, Every), Some(passed));
                }
            }
            assert_eq!(joins.on_dequeue(Instant::ZERO, passed, Bytes(9_000), &queues), ends, "{config:?}");
            for (queue, packets) in
                (0..3).rev().flat_map(|queue| (1..=4).map(move |packets| (queue, packets)))
            {
                (queues[queue].packets, queues[queue].head) = (packets, Bytes(1_000));
                queues[queue].backlog = Bytes(1_000) * u64::from(packets);
                passes.on_enqueue(Instant::ZERO, queue, Bytes(1_000), &queues);
                joins.on_enqueue(Instant::ZERO, queue, Bytes(1_000), &queues);
            }
            for _ in 0..12 {
                let next = passes.select(Instant::ZERO, &queues, Every);
                assert_eq!(
                    next,
                    joins.select(Instant::ZERO, &queues, Every),
                    "{config:?} after queue {passed}"
                );
                let queue = next.expect("something waits");
                queues[queue].packets -= 1;
                if queues[queue].packets == 0 {
                    queues[queue].head = Bytes(0);
                }
                let ended = passes.on_dequeue(Instant::ZERO, queue, Bytes(1_000), &queues);
                assert_eq!(ended, joins.on_dequeue(Instant::ZERO, queue, Bytes(1_000), &queues));
            }
        }
    }
}
