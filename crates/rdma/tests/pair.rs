//! A queue pair with WRITEs or SENDs over a network. Laws are checked at every step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use shallows_core::rdma::{RdmaData, RdmaReply, RdmaReplyKind};
use shallows_core::{Bytes, Duration, Instant};
use shallows_rdma::congestion::{self, Telemetry};
use shallows_rdma::{Config, Irn, Notification, Operation, Recovery, Requester, Responder};

use crate::flight::{Fate, Flight, OVERHEAD, RATE, check_spacing, time_on_wire};

/// Number of events after which a run is considered endless.
const MOST_EVENTS: u32 = 3_000_000;

/// Returns a configuration with full packets of 1,000 bytes, an acknowledgement per packet, a timeout of 50 µs and neither CNPs nor congestion control.
pub(crate) fn config(recovery: Recovery) -> Config {
    Config {
        operation: Operation::Write,
        mtu: Bytes(1_000),
        recovery,
        reordering: 0,
        ack_every: 1,
        timeout: Duration::from_micros(50),
        adaptive: None,
        retry_count: None,
        notification: Notification { interval: None, latency: Duration::ZERO, out_of_order: false },
        congestion: congestion::Config::None,
        burst_room: Bytes(0),
    }
}

/// Returns IRN with this window, and timeouts of 100 µs for at most 3 packets in flight and 320 µs for more.
pub(crate) fn irn(window: u32) -> Recovery {
    let [low_timeout, high_timeout] = [100, 320].map(Duration::from_micros);
    Recovery::Irn(Irn { window, low_timeout, high_timeout, few: 3 })
}

/// Returns a time in nanoseconds.
pub(crate) fn ns(time: u64) -> Instant {
    Instant::ZERO + Duration::from_nanos(time)
}

/// Packet for which a network chooses a fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Data with its PSN, and the number of times that it was sent before.
    Data { psn: u64, before: u32 },
    /// Reply.
    Reply(RdmaReplyKind, u64),
}

#[derive(Clone, Copy)]
enum Packet {
    /// Data, and the telemetry of the only hop.
    Data(RdmaData, Telemetry),
    /// Reply, and the telemetry of the data that caused it.
    Reply(RdmaReply, Option<Telemetry>),
}

/// A queue pair and the packets in the network.
pub(crate) struct Pair<'a> {
    pub(crate) config: Arc<Config>,
    pub(crate) requester: Requester,
    pub(crate) responder: Responder,
    pub(crate) now: Instant,
    /// Packets that the requester has sent.
    pub(crate) data: Vec<RdmaData>,
    /// Replies that the responder has sent, and the times at which it sent them.
    pub(crate) replies: Vec<(Instant, RdmaReply)>,
    /// Time until which the requester's class is paused.
    pub(crate) paused_until: Instant,
    /// Time until which the NIC sends the last packet.
    busy_until: Instant,
    /// Bytes that the hop has sent.
    forwarded: u64,
    network: Box<dyn FnMut(Sent) -> Fate + 'a>,
    flight: Flight<Packet>,
    times_sent: BTreeMap<u64, u32>,
    /// First PSN that no reply to the requester has acknowledged.
    acked: u64,
    /// First PSN that has not arrived.
    missing: u64,
    /// PSNs above `missing` that have arrived.
    arrived: BTreeSet<u64>,
}

impl<'a> Pair<'a> {
    /// Creates a queue pair over a network that chooses the fate of each packet.
    pub(crate) fn new(config: Config, network: impl FnMut(Sent) -> Fate + 'a) -> Self {
        let config = Arc::new(config);
        Self {
            requester: Requester::new(config.clone(), RATE, OVERHEAD),
            responder: Responder::new(&config),
            config,
            now: Instant::ZERO,
            data: Vec::new(),
            replies: Vec::new(),
            paused_until: Instant::ZERO,
            busy_until: Instant::ZERO,
            forwarded: 0,
            network: Box::new(network),
            flight: Flight::new(),
            times_sent: BTreeMap::new(),
            acked: 0,
            missing: 0,
            arrived: BTreeSet::new(),
        }
    }

    /// Creates a queue pair over a network that loses packets with these PSNs. A PSN that occurs twice is lost twice.
    pub(crate) fn losing(config: Config, psns: &[u64]) -> Self {
        let psns = psns.to_vec();
        let lost = move |psn, before: u32| psns.iter().filter(|lost| **lost == psn).count() > before as usize;
        Self::new(config, move |sent| match sent {
            Sent::Data { psn, before } => Fate { lost: lost(psn, before), ..Fate::default() },
            Sent::Reply(..) => Fate::default(),
        })
    }

    /// Posts a message at a time at which no earlier event is left.
    pub(crate) fn post(&mut self, at: Instant, bytes: u64) {
        self.run_until(at);
        self.requester.post(at, bytes);
        self.pump();
    }

    /// Runs all events, and checks that the queue pair then has delivered all data or ended.
    pub(crate) fn run(&mut self) {
        self.run_until(Instant::MAX);
        assert!(self.requester.is_idle(), "the queue pair stalls: {:?}", self.requester);
        if self.requester.ended().is_none() {
            assert_eq!(self.requester.acked(), self.requester.posted());
            assert_eq!(self.responder.received(), self.requester.posted());
        }
    }

    /// Runs all events up to `end`.
    pub(crate) fn run_until(&mut self, end: Instant) {
        for _ in 0..MOST_EVENTS {
            let Some(at) = self.next_event().filter(|at| *at <= end) else {
                self.now = self.now.max(if end == Instant::MAX { self.now } else { end });
                return;
            };
            self.now = at;
            self.step();
            self.pump();
            self.check();
        }
        panic!("the queue pair is still busy after {MOST_EVENTS} events: {:?}", self.requester);
    }

    /// Returns the times at which packets with this PSN were sent, in nanoseconds.
    pub(crate) fn times_of(&self, psn: u64) -> Vec<u64> {
        self.data.iter().filter(|data| data.psn == psn).map(|data| data.sent_at.0 / 1_000).collect()
    }

    /// Returns the PSNs of all packets in the order in which they were sent.
    pub(crate) fn order(&self) -> Vec<u64> {
        self.data.iter().map(|data| data.psn).collect()
    }

    /// Returns the kinds and PSNs of all replies.
    pub(crate) fn kinds(&self) -> Vec<(RdmaReplyKind, u64)> {
        self.replies.iter().map(|(_, reply)| (reply.kind, reply.psn)).collect()
    }

    fn next_event(&self) -> Option<Instant> {
        let free = Some(self.free_at()).filter(|at| *at > self.now);
        [self.flight.next_arrival(), free, self.requester.deadline(), self.responder.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    fn step(&mut self) {
        while let Some((packet, marked)) = self.flight.land(self.now) {
            match packet {
                Packet::Data(data, hop) => self.receive(&data, hop, marked),
                Packet::Reply(reply, hop) => {
                    self.acked = self.acked.max(reply.psn);
                    self.requester.on_reply(self.now, &reply, hop.as_slice());
                }
            }
        }
        if self.requester.deadline().is_some_and(|at| at <= self.now) {
            self.requester.on_timer(self.now);
        }
        while let Some(cnp) = self.responder.on_timer(&self.config, self.now) {
            self.answer(cnp, None);
        }
    }

    fn receive(&mut self, data: &RdmaData, hop: Telemetry, marked: bool) {
        let replies = self.responder.on_data(&self.config, self.now, data, marked);
        let is_ready = replies.iter().flatten().all(|reply| !matches!(reply.kind, RdmaReplyKind::RnrNak(_)));
        // With go-back-N, the responder holds later packets only within its tolerance; with the other methods, it holds all.
        let is_held =
            self.config.recovery != Recovery::GoBackN || data.psn <= self.missing + self.config.reordering;
        if !is_ready {
            assert_eq!(data.psn, self.missing);
        } else if data.psn >= self.missing && is_held {
            self.arrived.insert(data.psn);
        }
        while self.arrived.remove(&self.missing) {
            self.missing += 1;
        }
        let hop = Some(hop).filter(|_| self.config.congestion.uses_telemetry());
        replies.into_iter().flatten().for_each(|reply| self.answer(reply, hop));
    }

    fn answer(&mut self, reply: RdmaReply, hop: Option<Telemetry>) {
        assert_eq!(reply.psn, self.missing);
        assert_eq!(reply.received, self.responder.received());
        self.replies.push((self.now, reply));
        let fate = (self.network)(Sent::Reply(reply.kind, reply.psn));
        self.flight.send(self.now, fate, Packet::Reply(reply, hop));
    }

    fn pump(&mut self) {
        while self.free_at() <= self.now
            && let Some(data) = self.requester.poll_transmit(self.now)
        {
            assert_eq!(data.sent_at, self.now);
            check_spacing(self.data.last(), &data);
            self.check_window(&data);
            self.data.push(data);
            let before = self.times_sent.entry(data.psn).or_default();
            let fate = (self.network)(Sent::Data { psn: data.psn, before: *before });
            *before += 1;
            self.busy_until = self.now + time_on_wire(&data);
            self.forward(data, fate);
        }
        let deadline = self.requester.deadline();
        assert!(deadline.is_none_or(|at| at > self.now), "the deadline {deadline:?} is over at {}", self.now);
    }

    /// Returns the time from which the NIC may send a packet.
    fn free_at(&self) -> Instant {
        self.busy_until.max(self.paused_until)
    }

    /// Sends a packet over the hop, whose queue holds it for the additional delay of the network.
    fn forward(&mut self, mut data: RdmaData, fate: Fate) {
        self.forwarded += u64::from(data.len);
        let backlog = RATE.bytes_in(fate.extra);
        let hop = Telemetry { at: self.now + fate.extra, sent: self.forwarded, backlog, rate: RATE };
        if let Some(pint) = self.config.congestion.pint() {
            let utilisation = 0.9 + fate.extra.as_secs_f64() / pint.base_rtt.as_secs_f64();
            data.utilisation = Some(pint.encode(utilisation, 0.5));
        }
        self.flight.send(self.now, fate, Packet::Data(data, hop));
    }

    /// Checks that IRN has at most a window of packets in flight. A congestion control may have closed its window after a request for an
    /// acknowledgement; IRN's window has a constant size and needs no exception.
    fn check_window(&self, data: &RdmaData) {
        if let Recovery::Irn(irn) = self.config.recovery
            && self.requester.ended().is_none()
        {
            assert!(data.psn < self.acked + u64::from(irn.window), "{data:?} is outside the window");
        }
    }

    fn check(&self) {
        assert!(self.requester.acked() <= self.responder.received());
        assert!(self.responder.received() <= self.requester.posted());
        assert_eq!(
            self.requester.is_idle() && self.requester.ended().is_none(),
            self.requester.acked() == self.requester.posted()
        );
        if self.requester.is_idle() {
            assert_eq!(self.requester.deadline(), None);
        }
    }
}
