//! Congestion notification packets: their spacing, latency and causes.

use shallows_core::rdma::{RdmaData, RdmaReply, RdmaReplyKind};
use shallows_core::{Duration, Instant};
use shallows_rdma::{Config, Notification, Recovery, Responder};

use crate::flight::Fate;
use crate::pair::{Pair, Sent, config, ns};

fn notifying(interval: u64, latency: u64, out_of_order: bool) -> Config {
    let [interval, latency] = [interval, latency].map(Duration::from_nanos);
    let notification = Notification { interval: Some(interval), latency, out_of_order };
    Config { notification, ..config(Recovery::GoBackN) }
}

/// Returns a full packet of a long message, which was sent 1 µs before `at`.
fn packet(at: Instant, psn: u64) -> RdmaData {
    let sent_at = Instant(at.0 - 1_000_000);
    RdmaData { psn, offset: psn * 1_000, sent_at, len: 1_000, ..RdmaData::default() }
}

/// Passes the packet `psn` to the responder and returns the CNP.
fn cnp(responder: &mut Responder, config: &Config, at: u64, psn: u64, marked: bool) -> Option<RdmaReply> {
    responder.on_data(config, ns(at), &packet(ns(at), psn), marked)[1]
}

#[test]
fn marks_during_an_interval_cause_one_cnp_at_its_end() {
    let config = notifying(50_000, 0, false);
    let mut responder = Responder::new(&config);
    let reply = |psn: u64, sent_at| RdmaReply {
        kind: RdmaReplyKind::Cnp,
        psn,
        received: psn * 1_000,
        echo: ns(sent_at),
        marked: true,
        utilisation: None,
    };
    assert_eq!(cnp(&mut responder, &config, 10_000, 0, false), None);
    assert_eq!(cnp(&mut responder, &config, 11_000, 1, true), Some(reply(2, 10_000)));
    assert_eq!(responder.deadline(), None);
    for (at, psn) in [(12_000, 2), (60_999, 3)] {
        assert_eq!(cnp(&mut responder, &config, at, psn, true), None);
        assert_eq!(responder.deadline(), Some(ns(61_000)));
    }
    assert_eq!(responder.on_timer(&config, ns(60_999)), None);
    assert_eq!(responder.on_timer(&config, ns(61_000)), Some(reply(4, 11_000)));
    assert_eq!(responder.deadline(), None);
    // No packet is marked from 61 to 111 µs, so the next mark causes a CNP at once.
    assert_eq!(cnp(&mut responder, &config, 80_000, 4, false), None);
    assert_eq!(cnp(&mut responder, &config, 111_000, 5, true), Some(reply(6, 110_000)));
    assert_eq!(responder.deadline(), None);
}

#[test]
fn the_latency_delays_cnps_and_keeps_their_spacing() {
    // Packets arrive each microsecond from 4 to 13 µs, all marked. CNPs are caused at 4, 8, 12 and 16 µs and leave 10 µs later. Each echoes
    // the first packet of its interval, which was sent 1 µs before it arrived.
    let config = notifying(4_000, 10_000, false);
    let mut responder = Responder::new(&config);
    for step in 4..14 {
        assert_eq!(cnp(&mut responder, &config, step * 1_000, step - 4, true), None);
    }
    for (due, echo) in [(14_000, 3_000), (18_000, 4_000), (22_000, 7_000), (26_000, 11_000)] {
        assert_eq!(responder.deadline(), Some(ns(due)));
        assert_eq!(responder.on_timer(&config, ns(due - 1)), None);
        let cnp = responder.on_timer(&config, ns(due)).unwrap();
        assert_eq!((cnp.kind, cnp.psn, cnp.echo), (RdmaReplyKind::Cnp, 10, ns(echo)));
    }
    assert_eq!((responder.deadline(), responder.on_timer(&config, ns(90_000))), (None, None));
}

#[test]
fn without_an_interval_there_are_no_cnps() {
    let config = config(Recovery::GoBackN);
    let mut responder = Responder::new(&config);
    assert_eq!(cnp(&mut responder, &config, 2_000, 0, true), None);
}

#[test]
fn packets_that_arrive_out_of_order_cause_cnps_only_if_configured() {
    for out_of_order in [false, true] {
        let config = notifying(50_000, 0, out_of_order);
        let mut responder = Responder::new(&config);
        assert_eq!(cnp(&mut responder, &config, 1_000, 0, false), None);
        let found = cnp(&mut responder, &config, 2_000, 2, false);
        assert_eq!(
            found.map(|cnp| (cnp.kind, cnp.psn, cnp.marked)),
            out_of_order.then_some((RdmaReplyKind::Cnp, 1, false))
        );
        // A duplicate is not out of order in this sense: no packet before it is missing.
        assert_eq!(cnp(&mut responder, &config, 90_000, 0, false), None);
    }
}

#[test]
fn cnps_cross_the_network() {
    let mut pair = Pair::new(notifying(2_000, 500, false), |sent| match sent {
        Sent::Data { .. } => Fate { marked: true, ..Fate::default() },
        Sent::Reply(..) => Fate::default(),
    });
    pair.post(ns(0), 4_000);
    pair.run();
    // Packets arrive at 5,000, 6,116, 7,216 and 8,316 ns. The first one causes a CNP at once, the second and the third one at the ends of
    // the intervals, at 7,000 and 9,000 ns.
    let cnps: Vec<_> = pair
        .replies
        .iter()
        .filter(|(_, reply)| reply.kind == RdmaReplyKind::Cnp)
        .map(|(at, _)| *at)
        .collect();
    assert_eq!(cnps, [ns(5_500), ns(7_500), ns(9_500)]);
}

#[test]
fn packets_within_the_tolerance_of_reordering_cause_no_cnp() {
    let config = Config { reordering: 2, ..notifying(0, 0, true) };
    let mut responder = Responder::new(&config);
    // Packet 0 is missing: packets 1 and 2 are within the tolerance, and packet 3 is not. A mark always counts.
    let found = [(1, false), (2, false), (1, true), (3, false)]
        .map(|(psn, marked)| cnp(&mut responder, &config, 10_000 + psn, psn, marked).is_some());
    assert_eq!(found, [false, false, true, true]);
}
