//! Recovery with selective retransmission, of IRN and of selective repeat: traces worked by hand.

use shallows_core::Duration;
use shallows_core::rdma::RdmaReplyKind::{self, Ack, SelectiveNack};
use shallows_rdma::{Recovery, Stats};

use crate::flight::Fate;
use crate::pair::{Pair, Sent, config, irn, ns};

fn nack(psn: u64, arrived: u64) -> (RdmaReplyKind, u64) {
    (SelectiveNack { arrived }, psn)
}

#[test]
fn only_missing_packets_are_retransmitted() {
    for recovery in [irn(100), Recovery::SelectiveRepeat] {
        let mut pair = Pair::losing(config(recovery), &[1, 3]);
        pair.post(ns(0), 6_000);
        pair.run();
        // Packets leave at 0, 1,116, 2,216, 3,316, 4,416 and 5,516 ns; 1 and 3 are lost. The NACK of packet 2 arrives at 12,216 ns: packet 1
        // is missing. Packet 3 is considered lost only when the NACK of packet 4 arrives at 14,416 ns.
        assert_eq!(pair.order(), [0, 1, 2, 3, 4, 5, 1, 3]);
        assert_eq!((pair.times_of(1), pair.times_of(3)), (vec![1_116, 12_216], vec![3_316, 14_416]));
        // Packet 1 fills the gap before packet 2, and packet 3 the one before 4 and 5. It arrives at 19,416 ns.
        let expected = [(Ack, 1), nack(1, 2), nack(1, 4), nack(1, 5), (Ack, 3), (Ack, 6)];
        assert_eq!(pair.kinds(), expected);
        assert_eq!(pair.now, ns(24_416));
        assert_eq!(pair.requester.stats(), Stats { timeouts: 0, retransmits: 2, naks: 3 });
    }
}

#[test]
fn new_data_follows_when_no_lost_packet_is_left_and_the_window_is_open() {
    let mut pair = Pair::losing(config(irn(6)), &[1, 3]);
    pair.post(ns(0), 10_000);
    pair.run();
    // Packets 0 to 5 fill the window. The acknowledgement of packet 0 (10,000 ns) opens it for packet 6. NACKs at 12,216 and 14,416 ns
    // retransmit packets 1 and 3, for which the window stays closed. Packet 1 is acknowledged at 22,216 ns together with packet 2: packets
    // 7 and 8 leave at 22,216 and 23,316 ns. The acknowledgement of packet 3 and later ones (24,416 ns) releases packet 9.
    assert_eq!(pair.order(), [0, 1, 2, 3, 4, 5, 6, 1, 3, 7, 8, 9]);
    let times: Vec<u64> = [6, 7, 8, 9].into_iter().flat_map(|psn| pair.times_of(psn)).collect();
    assert_eq!(times, [10_000, 22_216, 23_316, 24_416]);
    assert_eq!(pair.requester.stats(), Stats { timeouts: 0, retransmits: 2, naks: 4 });
}

#[test]
fn packets_after_the_recovery_point_are_retransmitted_once() {
    // Packets 1 and 13 are lost, and the retransmission of packet 1 is late.
    let late = Fate { extra: Duration::from_micros(10), ..Fate::default() };
    let mut pair = Pair::new(config(irn(100)), |sent| match sent {
        Sent::Data { psn: 1 | 13, before: 0 } => Fate { lost: true, ..Fate::default() },
        Sent::Data { psn: 1, .. } => late,
        _ => Fate::default(),
    });
    pair.post(ns(0), 20_000);
    pair.run();
    // The recovery begins at 12,216 ns when packets 0 to 11 have left: packet n leaves at n * 1,100 + 16 ns. Packet 1 follows at 13,216 ns,
    // packet 13 at 15,416 ns, packet 14 at 16,516 ns. The NACK of packet 14 arrives at 26,516 ns; at that time nothing else is left to send,
    // because packet 19 left at 22,016 ns. Packet 1 arrives at 28,216 ns, and its acknowledgement passes the recovery point. Packet 13 has
    // left already, and the NACKs of packets 15 to 19 do not send it again.
    assert_eq!((pair.times_of(1), pair.times_of(13)), (vec![1_116, 13_216], vec![15_416, 26_516]));
    assert_eq!(pair.requester.stats().retransmits, 2);
    assert_eq!(pair.requester.stats().timeouts, 0);
    assert_eq!(pair.kinds().last(), Some(&(Ack, 20)));
}

#[test]
fn a_lost_retransmission_costs_a_timeout() {
    let mut pair = Pair::losing(config(irn(100)), &[1, 1]);
    pair.post(ns(0), 6_000);
    pair.run();
    // The acknowledgement of packet 0 restarts the timer at 10,000 ns; five packets are in flight, so that it expires 320 µs later.
    assert_eq!(pair.times_of(1), [1_116, 12_216, 330_000]);
    assert_eq!(pair.requester.stats(), Stats { timeouts: 1, retransmits: 2, naks: 4 });
    assert_eq!((pair.now, pair.kinds().last()), (ns(340_000), Some(&(Ack, 6))));
}

#[test]
fn irn_retransmits_one_packet_per_timeout_at_the_end_of_a_message() {
    let mut pair = Pair::losing(config(irn(100)), &[2, 3, 4]);
    pair.post(ns(0), 5_000);
    pair.run();
    // Packet 1 is acknowledged at 11,116 ns. Three packets are in flight, so that the timer expires 100 µs later. No packet after packet 2
    // has arrived, so that only packet 2 is considered lost. Each later packet needs a timeout of its own, 100 µs after an acknowledgement.
    assert_eq!([2, 3, 4].map(|psn| pair.times_of(psn)[1]), [111_116, 221_116, 331_116]);
    assert_eq!(pair.requester.stats(), Stats { timeouts: 3, retransmits: 3, naks: 0 });
}

#[test]
fn selective_repeat_retransmits_all_missing_packets_after_a_timeout() {
    let mut pair = Pair::losing(config(Recovery::SelectiveRepeat), &[2, 3, 5, 5]);
    pair.post(ns(0), 6_000);
    pair.run();
    // The NACK of packet 4 leaves packets 2 and 3 missing: they follow at 14,416 and 15,516 ns. Packet 5 is lost. The acknowledgement of
    // packets 3 and 4 arrives at 25,516 ns; the timer expires 50 µs later, and again after 50 µs because packet 5 is lost once more.
    assert_eq!(pair.order(), [0, 1, 2, 3, 4, 5, 2, 3, 5, 5]);
    assert_eq!(pair.times_of(5), [5_516, 75_516, 125_516]);
    assert_eq!(pair.requester.stats(), Stats { timeouts: 2, retransmits: 4, naks: 1 });

    let mut pair = Pair::losing(config(Recovery::SelectiveRepeat), &[2, 3, 4]);
    pair.post(ns(0), 5_000);
    pair.run();
    // The timer expires 50 µs after the acknowledgement of packet 1 at 11,116 ns. All three packets follow at once.
    assert_eq!([2, 3, 4].map(|psn| pair.times_of(psn)[1]), [61_116, 62_216, 63_316]);
    assert_eq!(pair.requester.stats(), Stats { timeouts: 1, retransmits: 3, naks: 0 });
}

#[test]
fn a_timeout_during_a_recovery_covers_the_packets_after_its_recovery_point() {
    // Packet 1 is lost twice. Packets 6 to 25, which leave during the recovery of packet 1, are all lost.
    let lost: Vec<u64> = [1, 1].into_iter().chain(6..26).collect();
    let mut pair = Pair::losing(config(Recovery::SelectiveRepeat), &lost);
    pair.post(ns(0), 6_000);
    pair.post(ns(15_000), 20_000);
    pair.run();
    // Packet 0 is acknowledged at 10,000 ns. One timeout, 50 µs later, recovers all packets.
    assert_eq!(pair.times_of(1), [1_116, 12_216, 60_000]);
    assert_eq!(pair.requester.stats(), Stats { timeouts: 1, retransmits: 22, naks: 4 });
}

#[test]
fn many_packets_in_flight_lengthen_the_timeout_of_irn() {
    // With 3 packets in flight, the timer that packet 0 starts expires after 100 µs; with 4, after 320 µs.
    for (packets, expected) in [(3, 100_000), (4, 320_000)] {
        let mut pair = Pair::losing(config(irn(100)), &[0, 1, 2, 3]);
        pair.post(ns(0), packets * 1_000);
        pair.run_until(ns(330_000));
        assert_eq!(pair.times_of(0)[..2], [0, expected]);
    }
}

#[test]
fn a_packet_that_is_only_late_is_retransmitted_alone() {
    // Packet 1 arrives at 9,116 ns, after packets 2 and 3.
    let mut pair = Pair::new(config(irn(100)), |sent| match sent {
        Sent::Data { psn: 1, before: 0 } => Fate { extra: Duration::from_micros(3), ..Fate::default() },
        _ => Fate::default(),
    });
    pair.post(ns(0), 6_000);
    pair.run();
    assert_eq!(pair.order(), [0, 1, 2, 3, 4, 5, 1]);
    let expected = [(Ack, 1), nack(1, 2), nack(1, 3), (Ack, 4), (Ack, 5), (Ack, 6), (Ack, 6)];
    assert_eq!(pair.kinds(), expected);
}

#[test]
fn the_packet_that_fills_a_gap_is_acknowledged_even_if_no_packet_requests_it() {
    // Packet 1 is late; of packets 0 to 3, none requests an acknowledgement but the last one, whose request is answered with a NACK.
    let late = Fate { extra: Duration::from_micros(30), ..Fate::default() };
    let mut pair =
        Pair::new(shallows_rdma::Config { ack_every: 16, ..config(Recovery::SelectiveRepeat) }, |sent| {
            match sent {
                Sent::Data { psn: 1, before: 0 } => late,
                Sent::Data { psn: 1, .. } => Fate { lost: true, ..Fate::default() },
                _ => Fate::default(),
            }
        });
    pair.post(ns(0), 4_000);
    pair.run();
    // Packet 1 arrives at 1,116 + 5,000 + 30,000 ns. Without its acknowledgement, a timeout would follow.
    assert_eq!(
        pair.replies.last().map(|(at, reply)| (*at, reply.kind, reply.psn)),
        Some((ns(36_116), Ack, 4))
    );
    assert_eq!(pair.requester.stats(), Stats { timeouts: 0, retransmits: 1, naks: 2 });
}
