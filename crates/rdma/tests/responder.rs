//! Replies of a responder to single packets.

use shallows_core::rdma::RdmaReplyKind::{self, Ack, Nak, SelectiveNack};
use shallows_core::rdma::{RdmaData, RdmaReply};
use shallows_rdma::{Config, Recovery, Responder};

use crate::pair::{config, ns};

/// Passes a full packet to the responder and returns the acknowledgement.
fn take(
    responder: &mut Responder,
    config: &Config,
    psn: u64,
    ack_request: bool,
    marked: bool,
) -> Option<RdmaReply> {
    let packet = RdmaData {
        psn,
        offset: psn * 1_000,
        sent_at: ns(psn),
        len: 1_000,
        ack_request,
        ..RdmaData::default()
    };
    let [reply, cnp] = responder.on_data(config, ns(100), &packet, marked);
    assert_eq!(cnp, None);
    reply
}

/// Passes unmarked packets and returns the kinds and PSNs of the replies.
fn replies(
    responder: &mut Responder,
    config: &Config,
    psns: &[u64],
    ack_request: bool,
) -> Vec<Option<(RdmaReplyKind, u64)>> {
    let reply =
        |&psn: &u64| take(responder, config, psn, ack_request, false).map(|reply| (reply.kind, reply.psn));
    psns.iter().map(reply).collect()
}

fn coalescing(recovery: Recovery) -> Config {
    Config { ack_every: 8, ..config(recovery) }
}

#[test]
fn one_nak_is_sent_per_gap() {
    let config = coalescing(Recovery::GoBackN);
    let mut responder = Responder::new(&config);
    // Packets above the gap are dropped, so that 3 has to arrive again. The next gap has a NAK of its own.
    let found = replies(&mut responder, &config, &[0, 2, 3, 2, 1, 2, 5, 3, 5, 6], false);
    let nak = |psn| Some((Nak, psn));
    assert_eq!(found, [None, nak(1), None, None, None, None, nak(3), None, nak(4), None]);
    assert_eq!(responder.received(), 4_000);
}

#[test]
fn duplicates_are_acknowledged_at_once() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let config = coalescing(recovery);
        let mut responder = Responder::resuming(&config, 5, 5_000);
        assert_eq!(
            replies(&mut responder, &config, &[4, 0, 5], false),
            [Some((Ack, 5)), Some((Ack, 5)), None]
        );
        assert_eq!(responder.received(), 6_000);
    }
}

#[test]
fn acknowledgements_follow_requests_or_each_packet() {
    let config = coalescing(Recovery::GoBackN);
    let mut responder = Responder::new(&config);
    assert_eq!(replies(&mut responder, &config, &[0, 1], false), [None, None]);
    assert_eq!(replies(&mut responder, &config, &[2], true), [Some((Ack, 3))]);
    let each = self::config(Recovery::GoBackN);
    assert_eq!(replies(&mut responder, &each, &[3], false), [Some((Ack, 4))]);
}

#[test]
fn packets_above_a_gap_are_kept_and_reported_one_by_one() {
    let config = coalescing(Recovery::SelectiveRepeat);
    let mut responder = Responder::new(&config);
    let nack = |psn, arrived| Some((SelectiveNack { arrived }, psn));
    // Packets 2 and 4 are held. Packet 1 fills the gap before 2; packet 3 fills the one before 4.
    let found = replies(&mut responder, &config, &[0, 2, 4, 2, 1, 3, 5], false);
    assert_eq!(found, [None, nack(1, 2), nack(1, 4), nack(1, 2), Some((Ack, 3)), Some((Ack, 5)), None]);
    assert_eq!(responder.received(), 6_000);
}

#[test]
fn an_acknowledgement_carries_every_mark_since_the_last_one() {
    let config = coalescing(Recovery::GoBackN);
    let mut responder = Responder::new(&config);
    assert_eq!(take(&mut responder, &config, 0, false, true), None);
    let reply = take(&mut responder, &config, 1, true, false).unwrap();
    assert_eq!(
        (reply.kind, reply.psn, reply.received, reply.echo, reply.marked),
        (Ack, 2, 2_000, ns(1), true)
    );
    let reply = take(&mut responder, &config, 2, true, false).unwrap();
    assert!(!reply.marked, "the mark was reported");
    // The mark of a dropped packet is reported too, because the same queue set it.
    assert!(take(&mut responder, &config, 5, false, true).unwrap().marked);
    assert_eq!(take(&mut responder, &config, 6, false, true), None);
    assert!(take(&mut responder, &config, 3, true, false).unwrap().marked);
}
