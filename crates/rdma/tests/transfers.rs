//! Transfers without loss: times of packets, and requests for acknowledgements.

use shallows_core::Bytes;
use shallows_core::rdma::RdmaReplyKind::Ack;
use shallows_rdma::{Config, Recovery, Requester};

use crate::flight::RATE;
use crate::pair::{Pair, config, irn, ns};

#[test]
fn packets_follow_each_other_at_the_line_rate() {
    let mut pair = Pair::losing(config(Recovery::GoBackN), &[]);
    pair.post(ns(0), 2_500);
    // The first packet has 1,000 + 100 + 16 bytes (RETH) on the wire, the second 1,100, the last 600; a byte takes 1 ns. The second message
    // is posted while the third packet is on the wire.
    pair.post(ns(2_300), 1);
    pair.run();
    let sent: Vec<_> = pair.data.iter().map(|data| (data.sent_at.0 / 1_000, data.offset, data.len)).collect();
    assert_eq!(sent, [(0, 0, 1_000), (1_116, 1_000, 1_000), (2_216, 2_000, 500), (2_816, 2_500, 1)]);
    let ends: Vec<_> = pair.data.iter().map(|data| (data.first, data.last)).collect();
    assert_eq!(ends, [(true, false), (false, false), (false, true), (true, true)]);
    // Each packet arrives after 5 µs and is acknowledged at once.
    let replies: Vec<_> =
        pair.replies.iter().map(|(at, reply)| (at.0 / 1_000, reply.psn, reply.received)).collect();
    assert_eq!(replies, [(5_000, 1, 1_000), (6_116, 2, 2_000), (7_216, 3, 2_500), (7_816, 4, 2_501)]);
    for ((_, reply), data) in pair.replies.iter().zip(&pair.data) {
        assert_eq!((reply.kind, reply.echo), (Ack, data.sent_at));
    }
    assert_eq!(pair.now, ns(12_816), "the last acknowledgement arrives");
    assert_eq!(pair.requester.stats(), Default::default());
}

#[test]
fn time_without_packets_earns_no_credit() {
    let mut pair = Pair::losing(config(Recovery::GoBackN), &[]);
    pair.post(ns(0), 1_000);
    pair.post(ns(40_000), 2_000);
    pair.run();
    // The pacer has been ready since 1,116 ns. The next packets leave at 40,000 ns and one time on the wire later.
    assert_eq!(pair.times_of(1), [40_000]);
    assert_eq!(pair.times_of(2), [41_116]);
}

#[test]
fn a_requester_that_waits_for_its_rate_names_the_time() {
    let mut requester = Requester::new(config(Recovery::GoBackN).into(), RATE, Bytes(100));
    assert_eq!(requester.deadline(), None, "nothing is posted");
    requester.post(ns(10), 1_500);
    assert_eq!(requester.deadline(), None, "the driver polls after each post");
    let first = requester.poll_transmit(ns(10)).unwrap();
    assert_eq!((first.psn, first.sent_at), (0, ns(10)));
    assert_eq!(requester.deadline(), Some(ns(1_126)));
    assert_eq!(requester.poll_transmit(ns(1_125)), None);
    assert_eq!(requester.poll_transmit(ns(1_126)).unwrap().psn, 1);
    // Nothing is left to send, and the timer was started with the first packet.
    assert_eq!(requester.deadline(), Some(ns(50_010)));
    assert_eq!((requester.posted(), requester.acked()), (1_500, 0));
    // The second packet has 600 bytes on the wire, so that a third one may leave from 1,726 ns on, whether the NIC polls then or later.
    requester.post(ns(1_500), 1_000);
    assert_eq!(requester.deadline(), Some(ns(1_726)));
    requester.on_timer(ns(1_726));
    assert_eq!(requester.deadline(), Some(ns(50_010)));
    assert_eq!(requester.poll_transmit(ns(3_000)).unwrap().sent_at, ns(3_000));
    requester.post(ns(9_000), 1_000);
    assert_eq!(requester.deadline(), Some(ns(50_010)));
}

/// Returns the PSNs of the packets with AckReq.
fn requests(pair: &Pair<'_>) -> Vec<u64> {
    pair.data.iter().filter(|data| data.ack_request).map(|data| data.psn).collect()
}

#[test]
fn every_fourth_packet_and_the_last_one_of_a_message_request_acknowledgements() {
    let mut pair = Pair::losing(Config { ack_every: 4, ..config(Recovery::GoBackN) }, &[]);
    pair.post(ns(0), 10_000);
    pair.post(ns(0), 5_000);
    pair.run();
    // Packets 3 and 7 by their number, packet 9 as the last one. The count starts again: packet 13 by its number, packet 14 as the last one.
    assert_eq!(requests(&pair), [3, 7, 9, 13, 14]);
    assert_eq!(pair.kinds(), [4, 8, 10, 14, 15].map(|psn| (Ack, psn)));
    assert_eq!(pair.requester.stats(), Default::default());
}

#[test]
fn a_window_below_the_interval_of_acknowledgements_never_stalls() {
    // An acknowledgement per 16 packets, but only 3 packets may be in flight: each third packet must request one.
    let mut pair = Pair::losing(Config { ack_every: 16, ..config(irn(3)) }, &[]);
    pair.post(ns(0), 8_000);
    pair.run();
    assert_eq!(requests(&pair), [2, 5, 7]);
    // Packet 2 leaves at 1,116 + 1,100 = 2,216 ns. Its acknowledgement comes after 10 µs, and the window opens for three packets.
    assert_eq!([3, 4, 5].map(|psn| pair.times_of(psn)), [[12_216], [13_316], [14_416]]);
    assert_eq!([6, 7].map(|psn| pair.times_of(psn)), [[24_416], [25_516]]);
    assert_eq!(pair.requester.stats(), Default::default(), "no timeout ends a stall");
}

#[test]
fn at_most_a_window_of_packets_is_in_flight() {
    // With acknowledgements of single packets, a window of 3 packets is full after 3 packets. Each acknowledgement then opens it for one.
    let mut pair = Pair::losing(config(irn(3)), &[]);
    pair.post(ns(0), 6_000);
    pair.run();
    let times: Vec<_> = pair.data.iter().map(|data| data.sent_at.0 / 1_000).collect();
    assert_eq!(times, [0, 1_116, 2_216, 10_000, 11_116, 12_216]);
}

#[test]
fn a_requester_is_small() {
    assert!(size_of::<Requester>() <= 256, "{} bytes", size_of::<Requester>());
}
