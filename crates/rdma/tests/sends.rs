//! SENDs, receive queues, and responders that are not ready (RNR).

use shallows_core::Duration;
use shallows_core::rdma::{RdmaOperation, RdmaReplyKind, RnrTimer};
use shallows_rdma::{Config, Ended, Operation, ReceiveQueue, Recovery, Send};

use crate::flight::Fate;
use crate::pair::{Pair, Sent, config, ns};

/// Time of the RNR timer: 80 µs.
const WAIT: u64 = 80_000;

/// Returns a configuration in which a responder has `depth` receive work requests, and posts each of them `refill` µs after its message.
fn sends(depth: u32, refill: u64, rnr_retry: Option<u32>) -> Config {
    let rnr_timer = RnrTimer::of(Duration::from_micros(80)).expect("80 µs has a code");
    let receive = Some(ReceiveQueue { depth, refill: Duration::from_micros(refill), rnr_timer });
    Config { operation: Operation::Send(Send { receive, rnr_retry }), ..config(Recovery::GoBackN) }
}

fn naks(pair: &Pair<'_>) -> Vec<u64> {
    let naks = pair.replies.iter().filter(|(_, reply)| matches!(reply.kind, RdmaReplyKind::RnrNak(_)));
    naks.map(|(_, reply)| reply.psn).collect()
}

#[test]
fn packets_of_a_send_have_no_extended_header() {
    let mut pair = Pair::losing(sends(1, 0, None), &[]);
    pair.post(ns(0), 2_000);
    pair.run();
    assert!(pair.data.iter().all(|data| data.operation == RdmaOperation::Send));
    // The first packet takes 1,100 ns at 1 byte per ns; that of a WRITE takes 1,116 ns.
    assert_eq!(pair.times_of(1), [1_100]);
}

#[test]
fn a_message_waits_for_a_receive_work_request() {
    // The two packets of the first message leave at 0 and 1,100 ns, and arrive 5 µs later. The packet of the second one arrives at 7,200 ns.
    // The work request is posted again at 6,100 + 50,000 ns, so the packet that is retransmitted at 12,200 + 80,000 ns is accepted.
    let mut pair = Pair::losing(sends(1, 50, None), &[]);
    pair.post(ns(0), 2_000);
    pair.post(ns(0), 1_000);
    pair.run();
    assert_eq!(pair.times_of(2), [2_200, 12_200 + WAIT]);
    assert_eq!((naks(&pair), pair.requester.rnr_naks()), (vec![2], 1));
    assert_eq!(pair.requester.stats().timeouts, 0);
}

#[test]
fn each_message_takes_one_work_request_for_all_its_packets() {
    let mut pair = Pair::losing(sends(3, 1_000, None), &[]);
    for bytes in [5_000, 1, 1_000] {
        pair.post(ns(0), bytes);
    }
    pair.run();
    assert_eq!(naks(&pair), []);
}

#[test]
fn packets_after_the_message_that_is_not_accepted_are_dropped_in_silence() {
    let mut pair = Pair::losing(sends(1, 0, None), &[]);
    pair.post(ns(0), 1_000);
    pair.post(ns(0), 3_000);
    pair.run();
    // With refill 0, the second message finds the work request of the first one.
    assert_eq!(naks(&pair), []);
    let mut pair = Pair::losing(sends(1, 30, None), &[]);
    pair.post(ns(0), 1_000);
    pair.post(ns(0), 3_000);
    pair.run();
    assert_eq!(naks(&pair), [1]);
    assert_eq!(pair.requester.stats().naks, 0);
    assert_eq!(pair.order(), [0, 1, 2, 3, 1, 2, 3]);
}

#[test]
fn rnr_retries_that_are_exhausted_end_the_queue_pair() {
    let mut pair = Pair::losing(sends(1, 10_000, Some(2)), &[]);
    pair.post(ns(0), 1_000);
    pair.post(ns(0), 1_000);
    pair.run();
    // The second message is sent once, and again after each of two RNR NAKs.
    assert_eq!(pair.requester.ended(), Some(Ended::RnrRetriesExhausted));
    assert_eq!((naks(&pair), pair.times_of(1).len()), (vec![1, 1, 1], 3));
}

#[test]
fn progress_resets_the_count_of_rnr_retries() {
    // Each message waits once, because work requests return after 50 µs.
    let mut pair = Pair::losing(sends(1, 50, Some(1)), &[]);
    for _ in 0..5 {
        pair.post(ns(0), 1_000);
    }
    pair.run();
    assert_eq!((pair.requester.ended(), pair.requester.rnr_naks()), (None, 4));
}

#[test]
fn a_copy_of_an_rnr_nak_has_no_effect() {
    let copied = |sent| match sent {
        Sent::Reply(RdmaReplyKind::RnrNak(_), _) => {
            Fate { copy: Some(Duration::from_micros(1)), ..Fate::default() }
        }
        _ => Fate::default(),
    };
    let mut pair = Pair::new(sends(1, 50, Some(1)), copied);
    pair.post(ns(0), 1_000);
    pair.post(ns(0), 1_000);
    pair.run();
    assert_eq!((pair.requester.ended(), pair.requester.rnr_naks()), (None, 2));
    assert_eq!(pair.times_of(1), [1_100, 11_100 + WAIT]);
}
