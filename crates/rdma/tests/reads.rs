//! Queue pairs with READs over a network. Laws are checked at every step.

use std::sync::Arc;

use proptest::prelude::*;
use shallows_core::random::Stream;
use shallows_core::rdma::{RdmaData, RdmaReadRequest, RdmaReply, RdmaReplyKind};
use shallows_core::{Bytes, Duration, Instant};
use shallows_rdma::congestion::{self, dcqcn};
use shallows_rdma::{
    Config, Ended, Notification, Operation, Read, ReadRequester, ReadResponder, Recovery, Stats,
    extended_headers,
};

use crate::flight::{Fate, Flight, OVERHEAD, RATE, check_spacing};
use crate::pair::{config, ns};

/// Number of events after which a run is considered endless.
const MOST_EVENTS: u32 = 1_000_000;

fn reads(outstanding: u32) -> Config {
    Config { operation: Operation::Read(Read { outstanding }), ..config(Recovery::GoBackN) }
}

/// Returns a response of a queue pair with full packets of 1,000 bytes.
fn response(psn: u64, len: u16, sent_at: Instant) -> RdmaData {
    RdmaData { psn, offset: psn * 1_000, len, sent_at, ..RdmaData::default() }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Packet {
    Request(RdmaReadRequest),
    Response(RdmaData),
    Nak(RdmaReply),
    Cnp(RdmaReply),
}

/// A queue pair with READs and the packets in the network.
struct Reads<'a> {
    config: Arc<Config>,
    requester: ReadRequester,
    responder: ReadResponder,
    now: Instant,
    /// Packets in the order in which they were sent, with the times at which they were sent.
    sent: Vec<(Instant, Packet)>,
    network: Box<dyn FnMut(&Packet) -> Fate + 'a>,
    flight: Flight<Packet>,
    /// Time until which the responder's class is paused.
    paused_until: Instant,
}

impl<'a> Reads<'a> {
    fn new(config: Config, network: impl FnMut(&Packet) -> Fate + 'a) -> Self {
        let config = Arc::new(config);
        Self {
            requester: ReadRequester::new(config.clone()),
            responder: ReadResponder::new(&config, RATE, OVERHEAD),
            config,
            now: Instant::ZERO,
            sent: Vec::new(),
            network: Box::new(network),
            flight: Flight::new(),
            paused_until: Instant::ZERO,
        }
    }

    /// Creates a queue pair over a network that loses the packets at these positions in the order of sending.
    fn losing(config: Config, places: &'a [usize]) -> Self {
        let mut place = 0;
        Self::new(config, move |_| {
            place += 1;
            Fate { lost: places.contains(&(place - 1)), ..Fate::default() }
        })
    }

    fn post(&mut self, at: Instant, bytes: u64) {
        self.run_until(at);
        self.requester.post(bytes);
        self.pump();
    }

    /// Runs all events, and checks that both sides then agree or that the queue pair has ended.
    fn run(&mut self) {
        self.run_until(Instant::MAX);
        assert!(self.requester.is_idle(), "the queue pair stalls: {:?}", self.requester);
        if self.requester.ended().is_none() {
            assert_eq!(self.requester.received(), self.requester.posted());
            assert_eq!(self.requester.in_flight(), Bytes(0));
            assert_eq!(self.responder.deadline(), None, "{:?}", self.responder);
        }
        assert_eq!(self.requester.deadline(), None);
    }

    fn run_until(&mut self, end: Instant) {
        for _ in 0..MOST_EVENTS {
            let Some(at) = self.next_event().filter(|at| *at <= end) else {
                self.now = self.now.max(if end == Instant::MAX { self.now } else { end });
                return;
            };
            self.now = at;
            self.step();
            self.pump();
            assert!(self.requester.received() <= self.requester.posted());
        }
        panic!("the queue pair is still busy after {MOST_EVENTS} events: {:?}", self.requester);
    }

    fn next_event(&self) -> Option<Instant> {
        let resumed = Some(self.paused_until).filter(|at| *at > self.now);
        let responder = self.responder.deadline().map(|at| at.max(self.paused_until));
        [self.flight.next_arrival(), resumed, self.requester.deadline(), responder]
            .into_iter()
            .flatten()
            .min()
    }

    fn step(&mut self) {
        while let Some((packet, marked)) = self.flight.land(self.now) {
            match packet {
                Packet::Request(request) => {
                    let nak = self.responder.on_request(&self.config, self.now, &request);
                    nak.into_iter().for_each(|nak| self.send(Packet::Nak(nak)));
                }
                Packet::Response(response) => {
                    let before = self.requester.received();
                    self.requester.on_response(self.now, &response, marked);
                    let is_next = response.offset == before && self.requester.ended().is_none();
                    let expected = before + if is_next { u64::from(response.len) } else { 0 };
                    assert_eq!(self.requester.received(), expected, "{response:?}");
                }
                Packet::Nak(nak) => self.requester.on_nak(nak.psn),
                Packet::Cnp(_) => self.responder.on_cnp(&self.config, self.now),
            }
            self.pump();
        }
        self.requester.on_timer(self.now);
        self.responder.on_timer(&self.config, self.now);
    }

    fn pump(&mut self) {
        while let Some(cnp) = self.requester.poll_cnp(self.now) {
            assert_eq!(cnp.kind, RdmaReplyKind::ReadCnp);
            self.send(Packet::Cnp(cnp));
        }
        while let Some(request) = self.requester.poll_transmit(self.now) {
            assert_eq!(request.sent_at, self.now);
            self.send(Packet::Request(request));
        }
        while self.now >= self.paused_until
            && let Some(response) = self.responder.poll_transmit(&self.config, self.now)
        {
            check_spacing(self.responses().last(), &response);
            self.send(Packet::Response(response));
        }
    }

    fn send(&mut self, packet: Packet) {
        self.sent.push((self.now, packet));
        let fate = (self.network)(&packet);
        self.flight.send(self.now, fate, packet);
    }

    fn responses(&self) -> impl DoubleEndedIterator<Item = &RdmaData> {
        self.sent.iter().filter_map(|(_, packet)| match packet {
            Packet::Response(response) => Some(response),
            _ => None,
        })
    }

    /// Returns the PSNs of the responses in the order of sending.
    fn order(&self) -> Vec<u64> {
        self.responses().map(|response| response.psn).collect()
    }

    /// Returns time in nanoseconds, PSN and bytes of each request.
    fn requests(&self) -> Vec<(u64, u64, u64)> {
        let requests = self.sent.iter().filter_map(|(at, packet)| match packet {
            Packet::Request(request) => Some((at.0 / 1_000, request.psn, request.bytes)),
            _ => None,
        });
        requests.collect()
    }

    fn naks(&self) -> Vec<u64> {
        let naks = self.sent.iter().filter_map(|(_, packet)| match packet {
            Packet::Nak(nak) => Some(nak.psn),
            _ => None,
        });
        naks.collect()
    }
}

#[test]
fn a_request_reserves_the_psns_of_its_responses() {
    let mut pair = Reads::losing(reads(16), &[]);
    pair.post(ns(0), 2_500);
    pair.post(ns(0), 1_000);
    pair.run();
    assert_eq!(pair.requests(), [(0, 0, 2_500), (0, 3, 1_000)]);
    let ends =
        pair.responses().map(|response| (response.psn, response.offset, response.first, response.last));
    let expected =
        [(0, 0, true, false), (1, 1_000, false, false), (2, 2_000, false, true), (3, 2_500, true, true)];
    assert_eq!(ends.collect::<Vec<_>>(), expected);
    assert_eq!(pair.requester.stats(), Default::default());
}

#[test]
fn the_first_and_the_last_response_have_an_extended_header() {
    let mut pair = Reads::losing(reads(16), &[]);
    pair.post(ns(0), 3_000);
    pair.post(ns(0), 10);
    pair.run();
    let headers: Vec<_> = pair.responses().map(|response| extended_headers(response).0).collect();
    assert_eq!(headers, [4, 0, 4, 4]);
    // The requests arrive after 5 µs. A full response takes 1,100 ns, and 4 ns for an AETH, at 1 byte per ns.
    let times: Vec<_> = pair.responses().map(|response| response.sent_at.0 / 1_000).collect();
    assert_eq!(times, [5_000, 6_104, 7_204, 8_308]);
}

#[test]
fn at_most_the_limit_of_reads_is_outstanding() {
    let mut pair = Reads::losing(reads(2), &[]);
    for _ in 0..4 {
        pair.post(ns(0), 1_000);
    }
    pair.run();
    // The first response leaves after 5 µs and arrives 5 µs later, the second one 1,104 ns after the first.
    let times: Vec<_> = pair.requests().into_iter().map(|(at, ..)| at).collect();
    assert_eq!(times, [0, 0, 10_000, 11_104]);
}

#[test]
fn a_gap_in_the_responses_requests_the_rest_again() {
    // Packet 0 is the request, and packets 1 to 10 are the responses 0 to 9. Response 3 is lost.
    let mut pair = Reads::losing(reads(16), &[4]);
    pair.post(ns(0), 10_000);
    pair.run();
    // Response 4 leaves at 5,000 + 1,104 + 3 * 1,100 ns and arrives 5 µs later.
    assert_eq!(pair.requests(), [(0, 0, 10_000), (14_404, 3, 7_000)]);
    let again: Vec<_> = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].into_iter().chain(3..10).collect();
    assert_eq!(pair.order(), again);
    let stats = pair.requester.stats();
    assert_eq!((stats.naks, stats.retransmits, stats.timeouts), (1, 1, 0));
    assert_eq!(pair.responder.retransmits(), 7);
    // The responses to the repeated request are a message of their own.
    assert_eq!(pair.responses().filter(|response| response.first && response.psn == 3).count(), 1);
}

#[test]
fn the_loss_of_the_last_response_costs_a_timeout() {
    let mut pair = Reads::losing(reads(16), &[2]);
    pair.post(ns(0), 2_000);
    pair.run();
    // Response 0 arrives at 10 µs and restarts the timer of 50 µs.
    assert_eq!(pair.requests(), [(0, 0, 2_000), (60_000, 1, 1_000)]);
    assert_eq!(pair.requester.stats().timeouts, 1);
}

#[test]
fn a_lost_request_costs_a_nak_or_a_timeout() {
    let mut pair = Reads::losing(reads(16), &[0]);
    pair.post(ns(0), 1_000);
    pair.post(ns(0), 1_000);
    pair.run();
    // The second request arrives after 5 µs, and the NAK after 10 µs.
    assert_eq!(pair.naks(), [0]);
    assert_eq!(pair.requests(), [(0, 0, 1_000), (0, 1, 1_000), (10_000, 0, 1_000), (10_000, 1, 1_000)]);
    assert_eq!(pair.requester.stats(), Stats { naks: 1, retransmits: 2, timeouts: 0 });
    let mut pair = Reads::losing(reads(16), &[0]);
    pair.post(ns(0), 1_000);
    pair.run();
    assert_eq!(pair.requests(), [(0, 0, 1_000), (50_000, 0, 1_000)]);
}

#[test]
fn a_nak_keeps_the_reads_before_it() {
    // The second of three requests is lost, and its NAK leaves while the responses of the first are under way.
    let mut pair = Reads::losing(reads(16), &[1]);
    for _ in 0..3 {
        pair.post(ns(0), 2_000);
    }
    pair.run();
    assert_eq!(pair.naks(), [2]);
    assert_eq!(pair.order(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn one_nak_is_sent_per_gap() {
    let config = reads(16);
    let mut responder = ReadResponder::new(&config, RATE, OVERHEAD);
    let mut nak = |psn| {
        let request = RdmaReadRequest { psn, offset: psn * 1_000, bytes: 2_000, sent_at: ns(psn) };
        responder.on_request(&config, ns(10), &request)
    };
    // A NAK carries the PSN of the missing request, and the time at which the request after the gap was sent.
    let expected = |psn, sent_at| {
        let kind = RdmaReplyKind::Nak;
        Some(RdmaReply { kind, psn, echo: ns(sent_at), ..RdmaReply::default() })
    };
    assert_eq!([2, 4, 0, 4, 6, 2].map(&mut nak), [expected(0, 2), None, None, expected(2, 4), None, None]);
}

#[test]
fn a_request_that_is_repeated_replaces_its_own_responses_only() {
    let config = reads(16);
    let mut responder = ReadResponder::new(&config, RATE, OVERHEAD);
    let request = |psn, bytes| RdmaReadRequest { psn, offset: psn * 1_000, bytes, sent_at: ns(0) };
    let requests = [request(0, 3_000), request(3, 2_000), request(1, 2_000)];
    assert!(requests.iter().all(|request| responder.on_request(&config, ns(0), request).is_none()));
    let mut order = Vec::new();
    let mut now = ns(0);
    while let Some(response) = responder.poll_transmit(&config, now) {
        order.push(response.psn);
        now = responder.deadline().unwrap_or(now);
    }
    assert_eq!(order, [1, 2, 3, 4]);
}

#[test]
fn copies_of_naks_and_responses_cause_no_second_request() {
    let copied = |packet: &Packet| Fate {
        lost: matches!(packet, Packet::Request(request) if request.psn == 0 && request.sent_at == ns(0)),
        copy: (!matches!(packet, Packet::Request(_))).then_some(Duration::from_micros(1)),
        ..Fate::default()
    };
    let mut pair = Reads::new(reads(16), copied);
    pair.post(ns(0), 1_000);
    pair.post(ns(0), 5_000);
    pair.run();
    assert_eq!(pair.requests().len(), 4);
    assert_eq!(pair.order(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn marked_responses_cause_cnps_that_slow_the_responder() {
    let interval = Some(Duration::from_micros(4));
    let notification = Notification { interval, latency: Duration::from_micros(1), out_of_order: false };
    let congestion = congestion::Config::Dcqcn(dcqcn::Config::sigcomm15());
    let config = Config { notification, congestion, ..reads(16) };
    let mut pair = Reads::new(config, |_| Fate { marked: true, ..Fate::default() });
    pair.post(ns(0), 20_000);
    pair.run();
    let cnps =
        pair.sent.iter().filter_map(|(at, packet)| matches!(packet, Packet::Cnp(_)).then_some(at.0 / 1_000));
    let cnps: Vec<_> = cnps.collect();
    // The first response arrives at 10 µs, and the latency is 1 µs.
    assert_eq!(cnps[..3], [11_000, 15_000, 19_000]);
    assert_eq!(pair.responder.digest().cnps as usize, cnps.len());
    assert!(pair.responder.digest().cuts > 0);
    // Without CNPs, the last response leaves after 5,000 + 1,104 + 18 * 1,100 ns.
    assert!(pair.responses().last().expect("there are responses").sent_at > ns(25_904));
}

#[test]
fn the_cnp_of_a_response_names_its_cause_and_what_has_arrived() {
    for out_of_order in [false, true] {
        let interval = Some(Duration::from_micros(4));
        let notification = Notification { interval, latency: Duration::ZERO, out_of_order };
        let mut requester = ReadRequester::new(Arc::new(Config { notification, ..reads(16) }));
        requester.post(5_000);
        assert!(requester.poll_transmit(ns(0)).is_some());
        let mut cnp = |at, psn, marked| {
            requester.on_response(ns(at), &response(psn, 1_000, ns(at - 5_000)), marked);
            requester.poll_cnp(ns(at))
        };
        let expected = |psn, sent_at, marked| {
            let kind = RdmaReplyKind::ReadCnp;
            Some(RdmaReply { kind, psn, received: psn * 1_000, echo: ns(sent_at), marked, utilisation: None })
        };
        assert_eq!(cnp(10_000, 0, false), None, "in order");
        assert_eq!(cnp(20_000, 2, false), expected(1, 15_000, false).filter(|_| out_of_order), "above a gap");
        assert_eq!(cnp(30_000, 0, false), None, "a copy is not early");
        assert_eq!(cnp(40_000, 1, true), expected(2, 35_000, true), "in order and marked");
    }
}

#[test]
fn a_requester_is_busy_until_the_last_response_arrives() {
    let mut requester = ReadRequester::new(Arc::new(reads(16)));
    let state = |requester: &ReadRequester| (requester.in_flight().0, requester.is_idle());
    assert_eq!(state(&requester), (0, true));
    requester.post(2_500);
    assert_eq!(state(&requester), (0, false));
    assert!(requester.poll_transmit(ns(0)).is_some());
    assert_eq!(state(&requester), (2_500, false));
    for (psn, len, expected) in [(0, 1_000, (1_500, false)), (1, 1_000, (500, false)), (2, 500, (0, true))] {
        requester.on_response(ns(10_000), &response(psn, len, ns(5_000)), false);
        assert_eq!(state(&requester), expected, "{psn}");
    }
}

#[test]
fn a_responder_is_busy_and_waits_for_its_rate_until_its_last_response() {
    let config = reads(16);
    let mut responder = ReadResponder::new(&config, RATE, OVERHEAD);
    assert!(!responder.owes(&(0..2_000)));
    let request = RdmaReadRequest { psn: 0, offset: 0, bytes: 2_000, sent_at: ns(0) };
    assert_eq!(responder.on_request(&config, ns(0), &request), None);
    assert!(responder.owes(&(0..2_000)) && responder.poll_transmit(&config, ns(0)).is_some());
    // 1,104 bytes at 1 byte per ns. From then on, the responder waits only for its NIC.
    for (at, deadline) in [(0, Some(ns(1_104))), (1_103, Some(ns(1_104))), (1_104, None)] {
        responder.on_timer(&config, ns(at));
        assert_eq!((responder.deadline(), responder.owes(&(0..2_000))), (deadline, true), "{at}");
    }
    assert!(responder.poll_transmit(&config, ns(1_104)).is_some());
    assert!(!responder.owes(&(0..2_000)));
}

#[test]
fn the_alpha_of_a_responder_is_that_of_its_congestion_control() {
    let alpha = |congestion| {
        let config = Config { congestion, ..reads(16) };
        let mut responder = ReadResponder::new(&config, RATE, OVERHEAD);
        responder.on_cnp(&config, ns(0));
        let before = responder.alpha(&config);
        responder.on_timer(&config, ns(55_000));
        [before, responder.alpha(&config)]
    };
    assert_eq!(alpha(congestion::Config::None), [None, None]);
    // DCQCN: α is 1 at first and after a CNP, and 55 µs without a CNP multiply it by 1 - 1/256.
    let dcqcn = congestion::Config::Dcqcn(dcqcn::Config::sigcomm15());
    assert_eq!(alpha(dcqcn), [Some(1.0), Some(255.0 / 256.0)]);
}

#[test]
fn a_queue_pair_in_a_dead_network_ends() {
    let config = Config { retry_count: Some(7), ..reads(16) };
    let mut pair = Reads::new(config, |_| Fate { lost: true, ..Fate::default() });
    pair.post(ns(0), 1_000);
    pair.run();
    assert_eq!(pair.requester.ended(), Some(Ended::RetriesExhausted));
    assert_eq!((pair.requester.stats().timeouts, pair.requests().len()), (8, 8));
}

#[test]
fn progress_allows_all_retries_again() {
    let config = Config { retry_count: Some(1), ..reads(16) };
    // Each request is answered by one response, and all later ones are lost.
    let mut pair = Reads::new(config, |packet| Fate {
        lost: matches!(packet, Packet::Response(response) if !response.first),
        ..Fate::default()
    });
    pair.post(ns(0), 5_000);
    pair.run();
    assert_eq!((pair.requester.ended(), pair.requester.stats().timeouts), (None, 4));
}

prop_compose! {
    fn any_config()(
        outstanding in 1u32..5,
        mtu in 200u64..4_097,
        timeout in 15u64..200,
        retry_count in prop::option::of(0u32..20),
        controlled: bool,
        (interval, latency, out_of_order) in (prop::option::of(0u64..50), 0u64..60, any::<bool>()),
    ) -> Config {
        let interval = interval.map(Duration::from_micros);
        let notification = Notification { interval, latency: Duration::from_micros(latency), out_of_order };
        let congestion = match controlled {
            true => congestion::Config::Dcqcn(dcqcn::Config::sigcomm15()),
            false => congestion::Config::None,
        };
        let timeout = Duration::from_micros(timeout);
        Config { mtu: Bytes(mtu), timeout, retry_count, notification, congestion, ..reads(outstanding) }
    }
}

/// Impairments of a network: probabilities per packet in both directions, and the largest additional delay in microseconds.
type Impairments = (f64, f64, f64, u64);

/// Runs READs of these sizes, posted at intervals in nanoseconds. The responder is paused for some time after each post.
fn run<'a>(
    config: &Config,
    (loss, duplication, marking, jitter): Impairments,
    posts: &[(u64, u64, u64)],
    seed: u64,
) -> Reads<'a> {
    let mut stream = Stream::new(seed, "network", 0);
    let mut pair = Reads::new(config.clone(), move |_| {
        let mut delay = || Duration(stream.below(Duration::from_micros(jitter).0 + 1));
        let (extra, copy) = (delay(), delay());
        let (lost, marked) = (stream.uniform() < loss, stream.uniform() < marking);
        Fate { lost, marked, extra, copy: (stream.uniform() < duplication).then_some(copy) }
    });
    let mut at = 0;
    for (after, bytes, pause) in posts {
        at += after;
        pair.post(ns(at), *bytes);
        pair.paused_until = pair.paused_until.max(ns(at + pause));
    }
    pair.run();
    pair
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_run_delivers_all_data_or_ends_with_a_reason(
        config in any_config(),
        lossless: bool,
        impairments in (0.0..0.3, 0.0..0.3, 0.0..1.0, 0u64..20),
        posts in prop::collection::vec((0u64..100_000, 200u64..30_000, 0u64..100_000), 1..6),
        seed: u64,
    ) {
        let (loss, duplication, marking, jitter) = impairments;
        let impairments = (if lossless { 0.0 } else { loss }, duplication, marking, jitter);
        let pair = run(&config, impairments, &posts, seed);
        let ended = pair.requester.ended();
        prop_assert!(ended.is_none() || (ended == Some(Ended::RetriesExhausted) && config.retry_count.is_some()));
        if ended.is_none() {
            let asked: u64 = posts.iter().map(|(_, bytes, _)| bytes).sum();
            prop_assert_eq!(pair.requester.received(), asked);
        }
        let repeated = run(&config, impairments, &posts, seed);
        prop_assert_eq!(pair.sent, repeated.sent, "the same seed gives the same packets");
    }

    #[test]
    fn a_network_without_loss_and_reordering_causes_no_second_request(
        config in any_config(),
        marking in 0.0..1.0,
        posts in prop::collection::vec((0u64..100_000, 200u64..30_000, 0u64..100_000), 1..6),
        seed: u64,
    ) {
        let config = Config { timeout: Duration::from_secs(100), ..config };
        let pair = run(&config, (0.0, 0.0, marking, 0), &posts, seed);
        prop_assert_eq!(pair.requester.stats(), Default::default());
        prop_assert_eq!(pair.responder.retransmits(), 0);
    }
}
