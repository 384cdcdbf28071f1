//! Recovery with go-back-N: traces worked by hand.

use shallows_core::Duration;
use shallows_core::rdma::RdmaReplyKind::{Ack, Nak};
use shallows_core::rdma::{RdmaReply, RdmaReplyKind};
use shallows_rdma::{Config, Ended, Recovery, Stats};

use crate::flight::Fate;
use crate::pair::{Pair, Sent, config, ns};

fn lost(lost: bool) -> Fate {
    Fate { lost, ..Fate::default() }
}

#[test]
fn a_nak_sends_everything_again_from_the_missing_packet() {
    let mut pair = Pair::losing(config(Recovery::GoBackN), &[1]);
    pair.post(ns(0), 5_000);
    pair.run();
    // Packets leave at 0, 1,116, 2,216, 3,316 and 4,416 ns. Packet 1 is lost. Packet 2 arrives at 7,216 ns; its NAK arrives at 12,216 ns and
    // packets 1 to 4 leave again. The NAK is the only reply to packets 2, 3 and 4.
    assert_eq!(pair.order(), [0, 1, 2, 3, 4, 1, 2, 3, 4]);
    assert_eq!(pair.times_of(1), [1_116, 12_216]);
    assert_eq!(pair.times_of(4), [4_416, 15_516]);
    assert_eq!(pair.kinds(), [(Ack, 1), (Nak, 1), (Ack, 2), (Ack, 3), (Ack, 4), (Ack, 5)]);
    assert_eq!(pair.requester.stats(), Stats { timeouts: 0, retransmits: 4, naks: 1 });
    // The last packet arrives at 20,516 ns.
    assert_eq!(pair.now, ns(25_516));
}

#[test]
fn a_second_loss_has_a_nak_of_its_own() {
    let mut pair = Pair::losing(config(Recovery::GoBackN), &[1, 2]);
    pair.post(ns(0), 4_000);
    pair.run();
    // Packets 1 and 2 are lost: NAK for 1 by packet 3. Packet 2 was lost once only, so that the second round succeeds.
    assert_eq!(pair.order(), [0, 1, 2, 3, 1, 2, 3]);
    // If packet 1 and then packet 2 of the second round are lost, each loss costs a NAK.
    let mut pair = Pair::losing(config(Recovery::GoBackN), &[1, 2, 2]);
    pair.post(ns(0), 4_000);
    pair.run();
    assert_eq!(pair.order(), [0, 1, 2, 3, 1, 2, 3, 2, 3]);
    assert_eq!(pair.kinds(), [(Ack, 1), (Nak, 1), (Ack, 2), (Nak, 2), (Ack, 3), (Ack, 4)]);
    assert_eq!(pair.requester.stats().timeouts, 0);
}

#[test]
fn a_lost_retransmission_costs_a_timeout() {
    let mut pair = Pair::losing(config(Recovery::GoBackN), &[1, 1]);
    pair.post(ns(0), 3_000);
    pair.run();
    // The NAK arrives at 12,216 ns. The responder has sent its only NAK for packet 1, so that the timer, which the retransmission starts,
    // has to expire.
    assert_eq!(pair.times_of(1), [1_116, 12_216, 62_216]);
    assert_eq!(pair.kinds(), [(Ack, 1), (Nak, 1), (Ack, 2), (Ack, 3)]);
    assert_eq!(pair.requester.stats(), Stats { timeouts: 1, retransmits: 4, naks: 1 });
}

#[test]
fn the_loss_of_the_last_packet_costs_a_timeout() {
    let mut pair = Pair::losing(config(Recovery::GoBackN), &[1]);
    pair.post(ns(0), 2_000);
    pair.run();
    // The acknowledgement of packet 0 restarts the timer at 10,000 ns; it expires 50 µs later.
    assert_eq!(pair.times_of(1), [1_116, 60_000]);
    assert_eq!(pair.requester.stats(), Stats { timeouts: 1, retransmits: 1, naks: 0 });
    assert_eq!(pair.now, ns(70_000));
}

#[test]
fn a_timeout_sends_everything_again_from_the_first_unacknowledged_packet() {
    // All acknowledgements before 40 µs are lost, and with them the NAK of the gap.
    let mut replies = 0;
    let mut pair = Pair::new(config(Recovery::GoBackN), |sent| match sent {
        Sent::Data { psn, before } => lost((psn, before) == (1, 0)),
        Sent::Reply(..) => {
            replies += 1;
            lost(replies <= 2)
        }
    });
    pair.post(ns(0), 3_000);
    pair.run();
    // The timer starts with packet 0 at 0 ns and expires at 50,000 ns. Packet 0 is a duplicate, which is acknowledged again.
    assert_eq!(pair.order(), [0, 1, 2, 0, 1, 2]);
    assert_eq!(pair.times_of(0), [0, 50_000]);
    assert_eq!(pair.kinds(), [(Ack, 1), (Nak, 1), (Ack, 1), (Ack, 2), (Ack, 3)]);
    assert_eq!(pair.requester.stats(), Stats { timeouts: 1, retransmits: 3, naks: 0 });
}

#[test]
fn an_acknowledgement_after_a_timeout_skips_packets_that_have_arrived() {
    // Of the first round, only the acknowledgement of the last packet arrives, and late. The responder sends it at 8,316 ns.
    let late = Fate { extra: Duration::from_nanos(37_184), ..Fate::default() };
    let mut round = 0;
    let mut pair = Pair::new(config(Recovery::GoBackN), |sent| match sent {
        Sent::Data { psn: 0, before } => {
            round = before;
            Fate::default()
        }
        Sent::Reply(Ack, 4) if round == 0 => late,
        Sent::Reply(..) => lost(round == 0),
        Sent::Data { .. } => Fate::default(),
    });
    pair.post(ns(0), 4_000);
    pair.run_until(ns(50_600));
    // Packet 0 leaves again at 50,000 ns. The acknowledgement arrives at 8,316 + 5,000 + 37,184 = 50,500 ns, before packet 1 may leave.
    assert_eq!(pair.order(), [0, 1, 2, 3, 0]);
    assert_eq!((pair.requester.acked(), pair.requester.deadline()), (4_000, None));
    // The acknowledgement of the duplicate changes nothing.
    pair.run();
    assert_eq!(pair.kinds().last(), Some(&(Ack, 4)));
    assert_eq!(pair.requester.stats(), Stats { timeouts: 1, retransmits: 1, naks: 0 });
}

#[test]
fn a_queue_pair_ends_after_its_retries() {
    let config = Config { retry_count: Some(2), ..config(Recovery::GoBackN) };
    let mut pair = Pair::losing(config, &[0, 0, 0]);
    pair.post(ns(0), 1_000);
    pair.run();
    // The packet leaves at 0, 50 and 100 µs; the third timeout in a row, at 150 µs, ends the queue pair.
    assert_eq!(pair.times_of(0), [0, 50_000, 100_000]);
    assert_eq!((pair.requester.ended(), pair.now), (Some(Ended::RetriesExhausted), ns(150_000)));
    assert_eq!(pair.requester.stats(), Stats { timeouts: 3, retransmits: 2, naks: 0 });
    // It then sends nothing, whatever happens.
    pair.post(ns(200_000), 1_000);
    let reply = RdmaReply { kind: Ack, psn: 1, received: 1_000, ..RdmaReply::default() };
    pair.requester.on_reply(ns(200_000), &reply, &[]);
    pair.run();
    assert_eq!((pair.data.len(), pair.requester.acked()), (3, 0));
    assert!(pair.requester.is_idle());
}

#[test]
fn progress_allows_all_retries_again() {
    let config = Config { retry_count: Some(1), ..config(Recovery::GoBackN) };
    let mut pair = Pair::losing(config, &[0, 1]);
    pair.post(ns(0), 1_000);
    pair.post(ns(70_000), 1_000);
    pair.run();
    assert_eq!(pair.requester.stats().timeouts, 2);
    assert_eq!(pair.requester.ended(), None);
}

#[test]
fn copies_of_replies_cause_no_retransmission() {
    let mut pair = Pair::new(config(Recovery::GoBackN), |sent| match sent {
        Sent::Data { psn, before } => lost((psn, before) == (1, 0)),
        // The second copy of a NAK arrives when packets 1 and 2 have left again, at 12,216 and 13,316 ns.
        Sent::Reply(..) => Fate { copy: Some(Duration::from_nanos(1_500)), ..Fate::default() },
    });
    pair.post(ns(0), 4_000);
    pair.run();
    assert_eq!(pair.order(), [0, 1, 2, 3, 1, 2, 3]);
    assert_eq!(pair.requester.stats(), Stats { timeouts: 0, retransmits: 3, naks: 2 });
}

#[test]
fn a_late_nak_causes_no_retransmission() {
    let mut pair = Pair::new(config(Recovery::GoBackN), |sent| match sent {
        Sent::Data { psn, before } => lost((psn, before) == (1, 0)),
        Sent::Reply(Nak, _) => Fate { extra: Duration::from_micros(100), ..Fate::default() },
        Sent::Reply(..) => Fate::default(),
    });
    pair.post(ns(0), 3_000);
    // The timer expires at 60,000 ns, and packets 1 and 2 leave again. The NAK arrives at 112,216 ns, when packets 3 and 4 have left.
    pair.post(ns(110_000), 2_000);
    pair.run();
    assert_eq!(pair.order(), [0, 1, 2, 1, 2, 3, 4]);
    assert_eq!(pair.requester.stats(), Stats { timeouts: 1, retransmits: 2, naks: 1 });
}

#[test]
fn acknowledged_messages_occupy_no_memory() {
    let mut pair = Pair::losing(config(Recovery::GoBackN), &[]);
    for _ in 0..3 {
        pair.post(pair.now, 1_500);
    }
    let messages = |pair: &Pair<'_>| format!("{:?}", pair.requester).matches("Message {").count();
    pair.run_until(ns(14_000));
    // Packets leave at 0, 1,116, 1,716, 2,832 and 3,432 ns, and later. The acknowledgements of 0 to 3 have arrived after 10 µs each.
    assert_eq!(messages(&pair), 1);
    pair.run();
    assert_eq!(messages(&pair), 0);
}

#[test]
fn a_retransmission_that_may_leave_at_once_has_no_deadline() {
    let mut pair = Pair::losing(config(Recovery::GoBackN), &[0]);
    pair.post(ns(0), 3_000);
    pair.run_until(ns(9_000));
    // The rate has allowed a packet since 3,316 ns.
    let reply = RdmaReply { kind: Nak, psn: 0, ..RdmaReply::default() };
    pair.requester.on_reply(ns(9_000), &reply, &[]);
    assert_eq!(pair.requester.deadline(), None);
    assert_eq!(pair.requester.poll_transmit(ns(9_000)).map(|data| data.psn), Some(0));
}

#[test]
fn replies_for_packets_that_were_never_sent_are_ignored() {
    let mut pair = Pair::losing(config(Recovery::GoBackN), &[]);
    pair.post(ns(0), 3_000);
    for kind in [Ack, Nak, RdmaReplyKind::SelectiveNack { arrived: 9 }] {
        let reply = RdmaReply { kind, psn: 2, received: 2_000, ..RdmaReply::default() };
        pair.requester.on_reply(ns(0), &reply, &[]);
        assert_eq!(pair.requester.acked(), 0);
    }
    pair.run();
    assert_eq!(pair.order(), [0, 1, 2]);
}

#[test]
fn coalesced_acknowledgements_survive_a_loss() {
    let config = Config { ack_every: 4, ..config(Recovery::GoBackN) };
    let mut pair = Pair::losing(config, &[6]);
    pair.post(ns(0), 20_000);
    pair.run();
    // Packet 7 leaves at 7,716 ns; it requests an acknowledgement and causes a NAK for 6, which acknowledges 0 to 5. When the NAK arrives, at
    // 17,716 ns, packets up to 16 have left. The count of packets starts again with packet 6: packets 9, 13 and 17 request acknowledgements,
    // and packet 19 as the last one.
    assert_eq!(pair.order(), (0..=16).chain(6..20).collect::<Vec<_>>());
    assert_eq!(pair.kinds(), [(Ack, 4), (Nak, 6), (Ack, 10), (Ack, 14), (Ack, 18), (Ack, 20)]);
}

/// Returns the settings of a responder that tolerates packets that follow the expected one by up to `reordering` packets.
fn tolerating(reordering: u64) -> Config {
    Config { reordering, ..config(Recovery::GoBackN) }
}

#[test]
fn packets_within_the_tolerance_are_held_without_a_nak() {
    // Packets leave at 0, 1,116, 2,216, 3,316, 4,416 and 5,516 ns. Packet 1 is late: it arrives at 9,116 ns, after packets 2 and 3.
    let late = |sent| match sent {
        Sent::Data { psn: 1, before: 0 } => Fate { extra: Duration::from_micros(3), ..Fate::default() },
        _ => Fate::default(),
    };
    let mut pair = Pair::new(tolerating(2), late);
    pair.post(ns(0), 6_000);
    pair.run();
    // Packet 3 precedes packet 1 by two. Packet 1 acknowledges all three.
    assert_eq!(pair.order(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(pair.kinds(), [(Ack, 1), (Ack, 4), (Ack, 5), (Ack, 6)]);
    assert_eq!(pair.requester.stats(), Stats::default());

    let mut pair = Pair::new(tolerating(1), late);
    pair.post(ns(0), 6_000);
    pair.run_until(ns(12_000));
    // Packet 2 is held, and packet 3 dropped with a NAK at 8,316 ns. Packet 1 then acknowledges itself and packet 2. The next missing packet
    // is 3: packet 4 is held, and packet 5 causes a NAK.
    assert_eq!(pair.kinds(), [(Ack, 1), (Nak, 1), (Ack, 3), (Nak, 3)]);
}

#[test]
fn a_tolerance_delays_the_nak_of_a_lost_packet() {
    let mut pair = Pair::losing(tolerating(2), &[1]);
    pair.post(ns(0), 6_000);
    pair.run();
    // Packets 2 and 3 are held. Packet 4 arrives at 9,416 ns and causes the NAK, two packets later than without a tolerance. The requester
    // sends everything again; packet 1 acknowledges the packets that are held, which arrive as duplicates.
    assert_eq!(pair.order(), [0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5]);
    assert_eq!(pair.times_of(1), [1_116, 14_416]);
    let expected = [(Ack, 1), (Nak, 1), (Ack, 4), (Ack, 4), (Ack, 4), (Ack, 5), (Ack, 6)];
    assert_eq!(pair.kinds(), expected);
    assert_eq!(pair.requester.stats(), Stats { timeouts: 0, retransmits: 5, naks: 1 });
}

#[test]
fn a_loss_with_fewer_later_packets_than_the_tolerance_costs_a_timeout() {
    let mut pair = Pair::losing(tolerating(2), &[1]);
    pair.post(ns(0), 4_000);
    pair.run();
    // The acknowledgement of packet 0 restarts the timer at 10,000 ns. Packets 2 and 3 are held, so that packet 1 acknowledges all.
    assert_eq!(pair.times_of(1), [1_116, 60_000]);
    assert_eq!(pair.kinds()[..2], [(Ack, 1), (Ack, 4)]);
    assert_eq!(pair.requester.stats().naks, 0);
}
