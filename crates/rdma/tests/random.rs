//! Queue pairs over networks that lose, delay, duplicate, mark and pause packets at random.

use proptest::prelude::*;
use shallows_core::random::Stream;
use shallows_core::rdma::RnrTimer;
use shallows_core::{Bytes, Duration};
use shallows_rdma::congestion::{
    self, Window, connectx, dcqcn, dctcp, hpcc, hpcc_pint, powertcp, swift, timely,
};
use shallows_rdma::{
    Adaptive, Config, Decrease, Ended, Irn, Notification, Operation, ReceiveQueue, Recovery, Send, Stats,
};

use crate::flight::{Fate, RATE};
use crate::pair::{Pair, Sent, config, ns};

/// Impairments of a network: probabilities per packet, in both directions.
#[derive(Clone, Copy, Debug)]
struct Impairments {
    loss: f64,
    duplication: f64,
    marking: f64,
    /// Largest additional delay, by which packets overtake each other.
    jitter: Duration,
}

prop_compose! {
    fn impairments()(loss in 0.0..0.4, lossless: bool, duplication in 0.0..0.3, marking in 0.0..1.0, jitter in 0u64..30) -> Impairments {
        let loss = if lossless { 0.0 } else { loss };
        Impairments { loss, duplication, marking, jitter: Duration::from_micros(jitter) }
    }
}

fn recovery() -> impl Strategy<Value = Recovery> {
    let irn = (1u32..40, 10u64..200, 0u64..200, 0u32..10).prop_map(|(window, low, more, few)| {
        let [low_timeout, high_timeout] = [low, low + more].map(Duration::from_micros);
        Recovery::Irn(Irn { window, low_timeout, high_timeout, few })
    });
    prop_oneof![Just(Recovery::GoBackN), Just(Recovery::SelectiveRepeat), irn]
}

/// Generates congestion controls. Round trips of the network take 10 µs.
fn congestion() -> impl Strategy<Value = congestion::Config> {
    let rtt = Duration::from_micros(10);
    let window = prop_oneof![
        Just(Window::None),
        (1u64..30).prop_map(|us| Window::Fixed(Duration::from_micros(us))),
        (1u64..30).prop_map(|us| Window::Variable(Duration::from_micros(us))),
    ];
    (0..11, window).prop_map(move |(kind, window)| match kind {
        0 => congestion::Config::Dcqcn(dcqcn::Config { window, ..dcqcn::Config::sigcomm15() }),
        1 => congestion::Config::ConnectX(connectx::Config { window, ..connectx::Config::hpcc_repo(RATE) }),
        2 => congestion::Config::RdmaDctcp(dctcp::Config {
            window,
            ..dctcp::Config::hpcc_repo(Bytes(1_000), rtt)
        }),
        3 => congestion::Config::Timely(timely::Config::timely(RATE)),
        4 => congestion::Config::Swift(swift::Config::htsim(Bytes(1_000))),
        5 => congestion::Config::PowerTcp(powertcp::Config::nsdi22(powertcp::Signal::Delay, RATE, rtt, 4)),
        6 => {
            congestion::Config::PowerTcp(powertcp::Config::nsdi22(powertcp::Signal::Telemetry, RATE, rtt, 4))
        }
        7 => congestion::Config::Timely(timely::Config::patched(RATE)),
        8 => congestion::Config::Hpcc(hpcc::Config::sigcomm19(RATE, rtt)),
        9 => congestion::Config::HpccPint(hpcc_pint::Config::hpcc_repo(hpcc::Config::sigcomm19(RATE, rtt))),
        _ => congestion::Config::None,
    })
}

/// Generates operations. Only go-back-N has limited receive queues.
fn operation(recovery: Recovery) -> impl Strategy<Value = Operation> {
    let depth = match recovery {
        Recovery::GoBackN => prop::option::of(1u32..4).boxed(),
        Recovery::SelectiveRepeat | Recovery::Irn(_) => Just(None).boxed(),
    };
    let send = (depth, 0u64..100, 1u64..4, prop::option::of(0u32..7)).prop_map(
        |(depth, refill, timer, rnr_retry)| {
            let rnr_timer =
                RnrTimer::of(Duration::from_micros(10 * timer)).expect("10, 20 and 30 µs are times of codes");
            let refill = Duration::from_micros(refill);
            let receive = depth.map(|depth| ReceiveQueue { depth, refill, rnr_timer });
            Operation::Send(Send { receive, rnr_retry })
        },
    );
    prop_oneof![Just(Operation::Write), send]
}

fn decrease() -> impl Strategy<Value = Decrease> {
    prop_oneof![Just(Decrease::Reset), Just(Decrease::By(2)), Just(Decrease::By(4))]
}

prop_compose! {
    fn any_config()(recovery in recovery())(
        operation in operation(recovery),
        recovery in Just(recovery),
        congestion in congestion(),
        mtu in 1u64..5_000,
        reordering in 0u64..30,
        ack_every in 1u32..40,
        timeout in 5u64..200,
        adaptive in prop::option::of((1u64..200, 1u32..4, decrease())),
        retry_count in prop::option::of(0u32..20),
        (interval, latency, out_of_order) in (prop::option::of(0u64..50), 0u64..60, any::<bool>()),
        burst_room in prop_oneof![Just(0), 1u64..20_000],
    ) -> Config {
        let interval = interval.map(Duration::from_micros);
        let notification = Notification { interval, latency: Duration::from_micros(latency), out_of_order };
        let adaptive = adaptive.filter(|_| !matches!(recovery, Recovery::Irn(_)));
        let adaptive = adaptive.map(|(first, attempts, decrease)| {
            Adaptive { first: Duration::from_micros(first.min(timeout)), attempts, decrease }
        });
        let timeout = Duration::from_micros(timeout);
        // A responder with a limited receive queue takes packets in order only.
        let is_limited = matches!(operation, Operation::Send(Send { receive: Some(_), .. }));
        let tolerates = recovery == Recovery::GoBackN && !is_limited;
        Config {
            operation,
            mtu: Bytes(mtu.min(4_096)),
            recovery,
            reordering: if tolerates { reordering } else { 0 },
            ack_every,
            timeout,
            adaptive,
            retry_count,
            notification,
            congestion,
            burst_room: Bytes(burst_room),
        }
    }
}

/// Times in nanoseconds after the previous post, sizes of messages in packets and bytes of the last packet, and pauses of the requester's
/// class in nanoseconds after each post.
fn posts() -> impl Strategy<Value = Vec<(u64, u64, u64, u64)>> {
    let pause = prop_oneof![Just(0), 0u64..100_000];
    prop::collection::vec((0u64..100_000, 0u64..60, 1u64..4_096, pause), 1..6)
}

/// Runs a queue pair until all data has arrived or the queue pair has ended.
fn run<'a>(config: &Config, impairments: Impairments, posts: &[(u64, u64, u64, u64)], seed: u64) -> Pair<'a> {
    let mut stream = Stream::new(seed, "network", 0);
    let mut pair = Pair::new(config.clone(), move |_: Sent| {
        let mut delay = || Duration(stream.below(impairments.jitter.0 + 1));
        let (extra, copy) = (delay(), delay());
        Fate {
            lost: stream.uniform() < impairments.loss,
            marked: stream.uniform() < impairments.marking,
            extra,
            copy: (stream.uniform() < impairments.duplication).then_some(copy),
        }
    });
    let mut at = 0;
    for (after, packets, rest, pause) in posts {
        at += after;
        pair.post(ns(at), packets * config.mtu.0 + rest.min(&config.mtu.0));
        pair.paused_until = pair.paused_until.max(ns(at + pause));
    }
    pair.run();
    pair
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_run_delivers_all_data_or_ends_with_a_reason(
        config in any_config(),
        impairments in impairments(),
        posts in posts(),
        seed: u64,
    ) {
        let pair = run(&config, impairments, &posts, seed);
        let is_possible = match pair.requester.ended() {
            None => true,
            Some(Ended::RetriesExhausted) => config.retry_count.is_some(),
            Some(Ended::RnrRetriesExhausted) => {
                matches!(config.operation, Operation::Send(Send { receive: Some(_), rnr_retry: Some(_) }))
            }
        };
        prop_assert!(is_possible, "{:?}", pair.requester.ended());
        let again = run(&config, impairments, &posts, seed);
        prop_assert_eq!(&pair.data, &again.data, "the same seed gives the same packets");
        prop_assert_eq!(pair.replies, again.replies);
    }

    #[test]
    fn a_network_without_loss_and_reordering_causes_no_retransmission(
        config in any_config(),
        marking in 0.0..1.0,
        posts in posts(),
        seed: u64,
    ) {
        // Coalescing delays acknowledgements by the time of up to 40 packets, at a rate that the control may have lowered.
        let recovery = match config.recovery {
            Recovery::Irn(irn) => {
                let timeout = Duration::from_secs(100);
                Recovery::Irn(Irn { low_timeout: timeout, high_timeout: timeout, ..irn })
            }
            other => other,
        };
        // An RNR NAK also causes retransmissions.
        let operation = match config.operation {
            Operation::Send(send) => Operation::Send(Send { receive: None, ..send }),
            other => other,
        };
        let timeout = Duration::from_secs(100);
        let config = Config { operation, recovery, timeout, adaptive: None, ..config };
        let impairments = Impairments { loss: 0.0, duplication: 0.0, marking, jitter: Duration::ZERO };
        let pair = run(&config, impairments, &posts, seed);
        prop_assert_eq!(pair.requester.stats(), Stats::default());
    }
}

#[test]
fn a_queue_pair_in_a_dead_network_ends() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat, crate::pair::irn(5)] {
        let config = Config { retry_count: Some(7), ..config(recovery) };
        let impairments = Impairments { loss: 1.0, duplication: 0.0, marking: 0.0, jitter: Duration::ZERO };
        let pair = run(&config, impairments, &[(0, 20, 1, 0)], 1);
        assert!(pair.requester.ended().is_some());
        assert_eq!(pair.requester.stats().timeouts, 8);
    }
}
