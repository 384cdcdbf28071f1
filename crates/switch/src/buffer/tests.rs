//! Tests of buffer management against closed forms and an independent packet count.

use proptest::prelude::*;
use shallows_core::Bytes;

use super::*;

fn dynamic(alpha: f64, counts: DtCounts) -> Policy {
    Policy::DynamicThreshold(DynamicThreshold { alpha, counts })
}

fn buffer(policy: Policy, pool: u64, queues: usize, reserved: u64) -> SharedBuffer {
    let mut buffer = SharedBuffer::new(&Config {
        policy,
        pools: vec![Bytes(pool)],
        reserved_rule: ReservedRule::Exact,
        cell: None,
    });
    for _ in 0..queues {
        buffer.add_queue(0, Bytes(reserved));
    }
    buffer
}

#[test]
fn dynamic_threshold_reaches_its_fixed_point_for_one_to_eight_active_queues() {
    // Choudhury and Hahne, ToN '98: M greedy queues settle at αB/(1+αM) each. The queues fill in turn. Each stops at the last packet that
    // keeps it within α(B−U), which is less than one packet from the fixed point.
    let (pool, packet) = (3 * 1024 * 1024, 1_500);
    for alpha in [0.5, 1.0, 4.0] {
        for active in 1..=8 {
            let mut buffer = buffer(dynamic(alpha, DtCounts::Shared), pool, 8, 0);
            let mut grew = true;
            while grew {
                grew = (0..active).filter(|&queue| buffer.admit(queue, Bytes(packet)).is_ok()).count() > 0;
            }
            let fixed_point = alpha * pool as f64 / (1.0 + alpha * active as f64);
            for queue in 0..active {
                let off = fixed_point - buffer.queue(queue).backlog().0 as f64;
                assert!(off.abs() <= packet as f64, "α = {alpha}, M = {active}: off by {off}");
            }
            buffer.audit();
        }
    }
}

#[test]
fn fair_shares_of_bcc_are_met() {
    // B = 3 MiB, α = 4: 2.52 MB for one active port, 0.740 for four, 0.381 for eight (BCC §IV-B's formula).
    for (active, share) in [(1, 2_516_582), (4, 740_171), (8, 381_300)] {
        let mut buffer = buffer(dynamic(4.0, DtCounts::Shared), 3 * 1024 * 1024, 8, 0);
        while (0..active).filter(|&queue| buffer.admit(queue, Bytes(1)).is_ok()).count() > 0 {}
        assert!(buffer.queue(0).backlog().0.abs_diff(share) <= 1, "{active}: {}", buffer.queue(0).backlog());
    }
}

#[test]
fn reserved_bytes_are_used_first_and_a_packet_frees_what_it_took() {
    let mut buffer = buffer(dynamic(1.0, DtCounts::Shared), 10_000, 1, 2_500);
    let held: Vec<_> = (0..3).map(|_| buffer.admit(0, Bytes(1_000)).unwrap()).collect();
    assert_eq!(held, [Memory::Reserved, Memory::Reserved, Memory::Shared]);
    assert_eq!((buffer.queue(0).reserved, buffer.queue(0).shared), (Bytes(2_000), Bytes(1_000)));
    buffer.release(0, Bytes(1_000), Memory::Reserved);
    assert_eq!(buffer.admit(0, Bytes(1_000)), Ok(Memory::Reserved), "the reserve has room again");
    assert_eq!(buffer.pools()[0].used, Bytes(1_000));
}

#[test]
fn dynamic_threshold_compares_the_backlog_it_was_told_to() {
    // α = 1 and a pool of 6,000. After four packets the queue holds 2,000 reserved and 2,000 shared, so T = 4,000;
    // one more packet brings the shared bytes to 3,000 and the total to 5,000.
    for (counts, admitted) in [(DtCounts::Shared, true), (DtCounts::Total, false)] {
        let mut buffer = buffer(dynamic(1.0, counts), 6_000, 1, 2_000);
        for _ in 0..4 {
            buffer.admit(0, Bytes(1_000)).unwrap();
        }
        assert_eq!(buffer.admit(0, Bytes(1_000)).is_ok(), admitted, "{counts:?}");
    }
}

#[test]
fn the_released_reserved_rule_of_bcc_sticks_at_about_one_packet() {
    // Each second packet of a burst adds 18,000 to the counter and subtracts 9,000, until 27,000 more no longer
    // fit in 131,072. The counter then rests at 108,000 with an empty queue and 117,000 with one packet, and only
    // a packet that arrives at an empty queue is stored in the reserved buffer.
    let policy = Policy::StaticPartition { limit: Limit::Packets(1_000) };
    let config =
        Config { policy, pools: vec![Bytes(1 << 30)], reserved_rule: ReservedRule::AsReleased, cell: None };
    let mut buffer = SharedBuffer::new(&config);
    buffer.add_queue(0, Bytes(131_072));
    let mut fifo = std::collections::VecDeque::new();
    for step in 0..10_000u32 {
        // Two arrivals, then departures until the queue is empty, repeatedly.
        if step % 4 < 2 {
            fifo.push_back(buffer.admit(0, Bytes(9_000)).unwrap());
        } else if let Some(memory) = fifo.pop_front() {
            buffer.release(0, Bytes(9_000), memory);
        }
    }
    assert_eq!(buffer.queues[0].reserved_counter, Bytes(108_000));
    assert_eq!(buffer.admit(0, Bytes(9_000)), Ok(Memory::Reserved), "an empty queue still gets one packet");
    assert_eq!(buffer.queues[0].reserved_counter, Bytes(117_000));
    assert_eq!(buffer.admit(0, Bytes(9_000)), Ok(Memory::Shared));
}

#[test]
fn a_static_partition_holds_its_limit_in_bytes_or_packets() {
    // Two ports with a partition each; the first port has two queues, which share its partition.
    let partition = |limit| {
        let policy = Policy::StaticPartition { limit };
        let pools = vec![Bytes(10_000); 2];
        let mut buffer =
            SharedBuffer::new(&Config { policy, pools, reserved_rule: ReservedRule::Exact, cell: None });
        let first = [buffer.add_queue(0, Bytes(0)), buffer.add_sibling(0, Bytes(0))];
        (first, buffer.add_queue(1, Bytes(0)), buffer)
    };
    let (first, second, mut bytes) = partition(Limit::Bytes(Bytes(2_500)));
    assert!(bytes.admit(first[0], Bytes(1_500)).is_ok());
    assert_eq!(bytes.admit(first[0], Bytes(1_500)), Err(Refusal::QueueLimit));
    assert_eq!(
        bytes.admit(first[1], Bytes(1_001)),
        Err(Refusal::QueueLimit),
        "the queues of a port share it"
    );
    assert!(bytes.admit(first[1], Bytes(1_000)).is_ok(), "exactly full is not too full");
    assert!(bytes.admit(second, Bytes(2_500)).is_ok(), "the other port has its own");
    let (first, second, mut packets) = partition(Limit::Packets(1));
    assert!(packets.admit(first[0], Bytes(9_000)).is_ok());
    assert_eq!(packets.admit(first[0], Bytes(1)), Err(Refusal::QueueLimit));
    assert_eq!(packets.admit(first[1], Bytes(1)), Err(Refusal::QueueLimit));
    assert!(packets.admit(second, Bytes(1)).is_ok());
}

#[test]
fn complete_sharing_ends_only_where_the_pool_does() {
    let mut buffer = buffer(Policy::CompleteSharing, 3_000, 2, 0);
    assert!(buffer.admit(0, Bytes(2_000)).is_ok());
    assert_eq!(buffer.admit(1, Bytes(1_001)), Err(Refusal::PoolFull));
    assert!(buffer.admit(1, Bytes(1_000)).is_ok());
}

#[test]
#[should_panic(expected = "pool 0 counts what its queues hold")]
fn an_audit_finds_bytes_that_no_queue_holds() {
    let mut buffer = buffer(Policy::CompleteSharing, 10_000, 1, 0);
    buffer.pools[0].used = Bytes(1);
    buffer.audit();
}

proptest! {
    /// Random arrivals and departures, compared with an independent count of the bytes of each packet.
    #[test]
    fn the_books_balance(
        policy in prop_oneof![
            Just(Policy::CompleteSharing),
            Just(Policy::StaticPartition { limit: Limit::Bytes(Bytes(20_000)) }),
            Just(Policy::Abm(AbmConfig { alpha: vec![4.0], window: Bytes(9_000), ..AbmConfig::default() })),
            (1u32..80).prop_map(|alpha| dynamic(f64::from(alpha) / 10.0, DtCounts::Total)),
        ],
        steps in prop::collection::vec((0usize..3, 1u64..9_000, any::<bool>()), 1..300),
    ) {
        let mut buffer = buffer(policy, 60_000, 3, 10_000);
        let mut held: Vec<std::collections::VecDeque<(u64, Memory)>> = vec![Default::default(); 3];
        for (queue, size, arrives) in steps {
            if arrives {
                if let Ok(memory) = buffer.admit(queue, Bytes(size)) {
                    held[queue].push_back((size, memory));
                }
            } else if let Some((size, memory)) = held[queue].pop_front() {
                buffer.release(queue, Bytes(size), memory);
            }
            buffer.audit();
            let in_pool = held.iter().flatten().filter(|held| held.1 == Memory::Shared).count();
            prop_assert_eq!(buffer.pool_of(0).packets as usize, in_pool);
            for (queue, packets) in held.iter().enumerate() {
                let sum = |memory| packets.iter().filter(|held| held.1 == memory).map(|held| held.0).sum::<u64>();
                prop_assert_eq!(buffer.queue(queue).shared.0, sum(Memory::Shared));
                prop_assert_eq!(buffer.queue(queue).reserved.0, sum(Memory::Reserved));
                prop_assert_eq!(buffer.queue(queue).packets as usize, packets.len());
            }
        }
    }
}

proptest! {
    #[test]
    fn dynamic_threshold_admits_what_keeps_a_queue_within_its_rounded_threshold(
        (held, others, size) in (0u64..5_000, 0u64..5_000, 1u64..2_000),
        alpha in prop_oneof![Just(0.1), Just(1.0 / 3.0), Just(0.5), Just(1.0), 0.01f64..8.0],
    ) {
        let mut buffer = buffer(dynamic(alpha, DtCounts::Shared), 10_000, 2, 0);
        buffer.take(0, Bytes(held), Memory::Shared);
        buffer.take(1, Bytes(others), Memory::Shared);
        let threshold = buffer.threshold(0).expect("it has one");
        let refused = matches!(buffer.room(0, Bytes(size)), Err(Refusal::QueueLimit));
        prop_assert_eq!(refused, Bytes(held + size) > threshold);
    }
}
