//! Queue pairs whose congestion control limits the rate and the window.

use shallows_core::rdma::RdmaReply;
use shallows_core::rdma::RdmaReplyKind::{Ack, SelectiveNack};
use shallows_core::{Bytes, Duration, Rate};
use shallows_rdma::congestion::{self, Telemetry, Window, dcqcn, dctcp, hpcc, swift};
use shallows_rdma::{Config, Notification, Recovery, Requester, Stats};

use crate::flight::{Fate, OVERHEAD, RATE};
use crate::pair::{Pair, Sent, config, irn, ns};

/// Returns DCTCP with this window, which halves the rate at the first mark.
fn dctcp(window: Window) -> congestion::Config {
    let [additive_increase, min_rate] = [Rate(0), Rate(1)];
    congestion::Config::RdmaDctcp(dctcp::Config { gain: 1.0, additive_increase, min_rate, window })
}

/// Returns a configuration with DCQCN as published, whose responder sends at most one CNP per `interval`. DCQCN's first CNPs halve the rate.
fn dcqcn(window: Window, interval: Duration) -> Config {
    let congestion = congestion::Config::Dcqcn(dcqcn::Config { window, ..dcqcn::Config::sigcomm15() });
    let notification =
        Notification { interval: Some(interval), latency: Duration::ZERO, out_of_order: false };
    Config { notification, congestion, ..config(Recovery::GoBackN) }
}

/// Creates a queue pair over a network that marks packets with these PSNs.
fn marking<'a>(config: Config, psns: std::ops::Range<u64>) -> Pair<'a> {
    Pair::new(config, move |sent| match sent {
        Sent::Data { psn, .. } => Fate { marked: psns.contains(&psn), ..Fate::default() },
        Sent::Reply(..) => Fate::default(),
    })
}

/// Returns the PSNs of the packets with AckReq.
fn requests(pair: &Pair<'_>) -> Vec<u64> {
    pair.data.iter().filter(|data| data.ack_request).map(|data| data.psn).collect()
}

#[test]
fn a_window_of_bytes_is_open_while_fewer_bytes_are_outstanding() {
    // At 8 Gb/s, 2.5 µs are 2,500 bytes: three packets leave, and the last one closes the window and requests an acknowledgement.
    let window = Window::Fixed(Duration::from_nanos(2_500));
    let mut pair =
        Pair::losing(Config { ack_every: 16, congestion: dctcp(window), ..config(Recovery::GoBackN) }, &[]);
    pair.post(ns(0), 8_000);
    pair.run();
    assert_eq!(requests(&pair), [2, 5, 7]);
    assert_eq!([3, 4, 5].map(|psn| pair.times_of(psn)), [[12_216], [13_316], [14_416]]);
    assert_eq!(pair.requester.stats(), Stats::default());
}

#[test]
fn a_window_below_a_packet_lets_single_packets_pass() {
    // Windows of 0 and 1 byte.
    for time in [0, 1] {
        let congestion = dctcp(Window::Fixed(Duration::from_nanos(time)));
        let mut pair = Pair::losing(Config { ack_every: 16, congestion, ..config(Recovery::GoBackN) }, &[]);
        pair.post(ns(0), 3_000);
        pair.run();
        // Each packet leaves when the previous one is acknowledged, 10 µs after it has left.
        assert_eq!([0, 1, 2].map(|psn| pair.times_of(psn)), [[0], [10_000], [20_000]]);
    }
}

#[test]
fn a_window_that_closes_between_two_requests_never_stalls() {
    // The window is 24,000 bytes. Packets 0, 1 and 2 are marked, and each causes a CNP that halves rate and window. The CNPs arrive at 10,000,
    // 11,116 and 12,216 ns, when packets 0 to 9 are outstanding without AckReq. The window is then 3,000 bytes.
    let config = dcqcn(Window::Variable(Duration::from_micros(24)), Duration::ZERO);
    let mut pair = marking(Config { ack_every: 16, timeout: Duration::from_millis(10), ..config }, 0..3);
    pair.post(ns(0), 30_000);
    pair.run_until(ns(60_000));
    // Packet 9 left at 9,916 ns. At an eighth of the rate, packet 10 leaves 8,800 ns later. It requests the acknowledgement that opens the
    // window, 10 µs later, for packets 11, 12 and 13. Packet 13 closes the window.
    assert_eq!([10, 11, 12, 13].map(|psn| pair.times_of(psn)[0]), [18_716, 28_716, 37_516, 46_316]);
    assert_eq!(requests(&pair), [10, 13]);
    pair.run();
    assert_eq!(pair.requester.stats(), Stats::default(), "no timeout ends a stall");
}

#[test]
fn a_window_that_closes_with_an_acknowledgement_never_stalls() {
    // As above, but packets 14, 15 and 16 are marked, and the window is 40,000 bytes at first.
    let config = dcqcn(Window::Variable(Duration::from_micros(40)), Duration::ZERO);
    let mut pair = marking(Config { ack_every: 16, timeout: Duration::from_millis(10), ..config }, 14..17);
    pair.post(ns(0), 40_000);
    pair.run_until(ns(40_000));
    // The CNPs arrive at 25,416, 26,516 and 27,616 ns. The second one arrives with the acknowledgement that packet 15 has requested, and
    // leaves packets 16 to 23 outstanding. The window is 5,000 bytes. Packet 23 left at 25,316 ns; at an eighth of the rate, packet 24 leaves
    // 8,800 ns later.
    assert_eq!((requests(&pair), pair.times_of(24)), (vec![15, 24], vec![34_116]));
    pair.run();
    assert_eq!(pair.requester.stats(), Stats::default(), "no timeout ends a stall");
}

#[test]
fn a_window_that_closes_after_a_retransmission_never_stalls() {
    // As above, but packet 8 is lost, and the retransmissions of packets 8, 9 and 10 are marked.
    let config = dcqcn(Window::Variable(Duration::from_micros(24)), Duration::ZERO);
    let config = Config { ack_every: 16, timeout: Duration::from_millis(10), ..config };
    let mut pair = Pair::new(config, |sent| match sent {
        Sent::Data { psn, before } => Fate {
            lost: psn == 8 && before == 0,
            marked: (8..11).contains(&psn) && before == 1,
            ..Fate::default()
        },
        Sent::Reply(..) => Fate::default(),
    });
    pair.post(ns(0), 40_000);
    pair.run_until(ns(60_000));
    // Packet n leaves at n * 1,100 + 16 ns. The NAK, which packet 9 causes, arrives at 19,916 ns; packet 18 has left at 19,816 ns, and packet
    // 15 has requested an acknowledgement in vain. Packet 8 leaves again at 20,916 ns, and packet 17 at 30,816 ns. The CNPs arrive at 30,916,
    // 32,016 and 33,116 ns. At an eighth of the rate, packet 18 leaves at 39,616 ns and requests the acknowledgement that opens the window.
    assert_eq!(requests(&pair)[..2], [15, 18]);
    assert_eq!(pair.times_of(18), [19_816, 39_616]);
    pair.run();
    assert_eq!(pair.requester.stats().timeouts, 0, "no timeout ends a stall");
}

#[test]
fn a_cut_of_the_rate_moves_the_packet_that_waits() {
    // Packet 0 is marked. Its CNP arrives at 10,000 ns and halves the rate. Packet 9 left at 9,916 ns, and packet 10 would leave 1,100 ns
    // later; it now leaves 2,200 ns later. DCQCN raises the rate 55 µs after the CNP: (8 + 4) / 2 = 6 Gb/s, or 1,466.667 ns per packet.
    let mut pair = marking(dcqcn(Window::None, Duration::from_micros(50)), 0..1);
    pair.post(ns(0), 40_000);
    pair.run();
    let times = |psns: [u64; 3]| psns.map(|psn| pair.times_of(psn)[0]);
    assert_eq!(times([9, 10, 11]), [9_916, 12_116, 14_316]);
    // Packet 34 leaves at 9,916 + 25 * 2,200 = 64,916 ns. The rate rises at 65,000 ns.
    assert_eq!(times([34, 35, 36]), [64_916, 66_382, 67_849]);
    assert_eq!(pair.requester.digest().cnps, 1);
}

#[test]
fn the_control_counts_the_bytes_on_the_wire() {
    let config = dcqcn(Window::None, Duration::from_micros(50));
    // DCQCN's byte counter raises the rate after 11,000 bytes, which are ten packets; its timer does not expire during this test.
    let counting = dcqcn::Config {
        increase_bytes: Some(Bytes(11_000)),
        increase_period: Duration::from_secs(1),
        ..dcqcn::Config::sigcomm15()
    };
    let mut pair = marking(Config { congestion: congestion::Config::Dcqcn(counting), ..config }, 0..1);
    pair.post(ns(0), 40_000);
    pair.run_until(ns(40_000));
    // The CNP arrives at 10,000 ns and resets the counter. Packet 10 leaves at 12,116 ns and packet 19 at 12,116 + 9 * 2,200 = 31,916 ns. The
    // rate is then (8 + 4) / 2 = 6 Gb/s.
    assert_eq!([10, 19, 20].map(|psn| pair.times_of(psn)[0]), [12_116, 31_916, 33_382]);
}

#[test]
fn timers_of_an_idle_queue_pair_wait_for_the_next_message() {
    let mut pair = marking(dcqcn(Window::None, Duration::from_micros(50)), 0..1);
    pair.post(ns(0), 1_000);
    pair.run();
    assert_eq!((pair.now, pair.requester.deadline()), (ns(10_000), None));
    assert_eq!(pair.requester.pace().rate, Rate::from_gbps(4));
    // Two of DCQCN's timers have expired, at 65 and 120 µs, when the next message is posted: fast recovery to 6 and 7 Gb/s.
    pair.post(ns(130_000), 1_000);
    assert_eq!(pair.requester.pace().rate, Rate::from_gbps(7));
    assert_eq!(pair.times_of(1), [130_000]);
    pair.run();
}

#[test]
fn each_recovery_reports_one_loss_to_the_control() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat, irn(100)] {
        // Packets 10, 60 and 100 are lost, and packets follow each of them. Packet 99, the last one of its message, costs a timeout. Round
        // trips of 10 µs are below Swift's target, so that it has no other reason to reduce its window.
        let congestion = congestion::Config::Swift(swift::Config::htsim(Bytes(1_000)));
        let mut pair = Pair::losing(Config { congestion, ..config(recovery) }, &[10, 60, 99, 100]);
        pair.post(ns(0), 100_000);
        pair.run();
        pair.post(pair.now, 10_000);
        pair.run();
        assert_eq!(pair.requester.stats().timeouts, 1);
        assert_eq!(pair.requester.digest().cuts, 4, "{recovery:?}");
    }
}

#[test]
fn losses_up_to_the_recovery_point_are_one_loss_to_the_control() {
    let congestion = congestion::Config::Swift(swift::Config::htsim(Bytes(1_000)));
    let mut pair = Pair::losing(Config { congestion, ..config(Recovery::SelectiveRepeat) }, &[1, 11]);
    pair.post(ns(0), 20_000);
    pair.run();
    // Packets 0 to 11 have left when the NACK of packet 2 begins the recovery, at 12,216 ns. The acknowledgement of packet 1, for packets up to
    // 10, arrives before the NACK that reports packet 11.
    assert_eq!((pair.times_of(1), pair.times_of(11)[0]), (vec![1_116, 13_216], 12_116));
    assert_eq!((pair.requester.stats().retransmits, pair.requester.digest().cuts), (2, 1));
}

#[test]
fn nacks_that_report_no_gap_are_ignored() {
    let congestion = congestion::Config::Swift(swift::Config::htsim(Bytes(1_000)));
    let config = Config { congestion, ..config(Recovery::SelectiveRepeat) };
    let mut requester = Requester::new(config.into(), RATE, OVERHEAD);
    requester.post(ns(0), 4_000);
    for at in [0, 2_000] {
        assert!(requester.poll_transmit(ns(at)).is_some());
    }
    // Packet 0 cannot be both missing and received, and packet 2 was not sent.
    for arrived in [0, 2] {
        let reply = RdmaReply { kind: SelectiveNack { arrived }, ..RdmaReply::default() };
        requester.on_reply(ns(4_000), &reply, &[]);
    }
    assert_eq!(requester.digest().cuts, 0);
    assert_eq!(requester.poll_transmit(ns(4_000)).map(|data| data.psn), Some(2));
}

#[test]
fn marks_in_replies_without_progress_reach_the_control() {
    let config = Config { congestion: dctcp(Window::None), ..config(Recovery::SelectiveRepeat) };
    let mut requester = Requester::new(config.into(), RATE, OVERHEAD);
    requester.post(ns(0), 3_000);
    for at in [0, 1_116, 2_216] {
        assert!(requester.poll_transmit(ns(at)).is_some());
    }
    let reply = |kind, psn, marked| RdmaReply {
        kind,
        psn,
        received: psn * 1_000,
        echo: ns(0),
        marked,
        utilisation: None,
    };
    requester.on_reply(ns(10_000), &reply(SelectiveNack { arrived: 1 }, 0, true), &[]);
    assert_eq!(requester.pace().rate, RATE, "a control learns of marks with acknowledged data");
    requester.on_reply(ns(11_000), &reply(Ack, 2, false), &[]);
    assert_eq!(requester.pace().rate, Rate::from_gbps(4));
    // The mark was reported once. A new round-trip time has begun, in which a mark would cut the rate again.
    requester.on_reply(ns(12_000), &reply(Ack, 3, false), &[]);
    assert_eq!(requester.digest().cuts, 1);
}

#[test]
fn the_control_receives_the_number_of_acknowledged_bytes() {
    let config = Config { ack_every: 16, congestion: dctcp(Window::None), ..config(Recovery::GoBackN) };
    let mut requester = Requester::new(config.into(), RATE, OVERHEAD);
    requester.post(ns(0), 20_000);
    let send = |requester: &mut Requester, psns: std::ops::Range<u64>| {
        for psn in psns {
            assert_eq!(requester.poll_transmit(ns(psn * 10_000)).map(|data| data.psn), Some(psn));
        }
    };
    let acknowledge = |requester: &mut Requester, psn: u64, marked| {
        let reply =
            RdmaReply { kind: Ack, psn, received: psn * 1_000, echo: ns(0), marked, utilisation: None };
        requester.on_reply(ns(90_000), &reply, &[]);
    };
    send(&mut requester, 0..4);
    acknowledge(&mut requester, 1, false);
    send(&mut requester, 4..8);
    // The first round-trip time ends beyond 4,000 bytes. A mark halves the rate, which does not fall again up to 8,000 bytes.
    acknowledge(&mut requester, 4, true);
    assert_eq!(requester.pace().rate, Rate::from_gbps(4));
    acknowledge(&mut requester, 5, false);
    acknowledge(&mut requester, 8, false);
    send(&mut requester, 8..9);
    // In the second round-trip time, 1,000 of the 4,000 bytes above 5,000 are marked: α = 1/4, and the rate falls by 1/8.
    acknowledge(&mut requester, 9, true);
    assert_eq!(requester.pace().rate, Rate(3_500_000_000));
}

#[test]
fn in_band_telemetry_reaches_the_control() {
    let congestion = congestion::Config::Hpcc(hpcc::Config::sigcomm19(RATE, Duration::from_micros(10)));
    let mut requester =
        Requester::new(Config { congestion, ..config(Recovery::GoBackN) }.into(), RATE, OVERHEAD);
    requester.post(ns(0), 2_000);
    for (at, psn) in [(0, 0), (1_116, 1)] {
        assert_eq!(requester.poll_transmit(ns(at)).map(|data| data.psn), Some(psn));
    }
    assert_eq!(requester.in_flight(), Bytes(2_000));
    let hop = Telemetry { at: ns(5_000), sent: 1_116, backlog: Bytes(0), rate: RATE };
    let reply =
        RdmaReply { kind: Ack, psn: 1, received: 1_000, echo: ns(0), marked: false, utilisation: None };
    requester.on_reply(ns(10_000), &reply, &[hop]);
    // A copy acknowledges nothing.
    requester.on_reply(ns(10_500), &reply, &[hop]);
    assert_eq!((requester.digest().telemetry, requester.in_flight()), (1, Bytes(1_000)));
}

#[test]
fn the_round_trip_time_is_that_of_the_packet_that_causes_the_acknowledgement() {
    // θ-PowerTCP, TIMELY and Swift need it; a retransmitted packet is timed from its retransmission.
    let mut pair = Pair::losing(config(Recovery::GoBackN), &[0]);
    pair.post(ns(0), 1_000);
    pair.run();
    let (at, reply) = pair.replies[0];
    assert_eq!((at, reply.echo), (ns(55_000), ns(50_000)));
}
