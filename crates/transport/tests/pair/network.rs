//! The network between sender and receiver, and the laws that hold at every step.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use shallows_core::packet::{AckSegment, DataSegment, Ecn, Flags};
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant};
use shallows_transport::{Config, Marks, Method, Receiver, Sender};

/// One-way delay of the network, without jitter.
const DELAY: Duration = Duration::from_micros(50);

/// Impairments of the network: probabilities per packet, in both directions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Impairments {
    pub(crate) loss: f64,
    pub(crate) duplication: f64,
    /// Probability that an ECN-capable packet is marked; other packets are lost instead.
    pub(crate) marking: f64,
    /// Largest additional delay of a packet, by which packets overtake each other.
    pub(crate) jitter: Duration,
    /// Whether the receiver's window changes with each segment, up to its initial value.
    pub(crate) resizing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packet {
    Data { segment: DataSegment, marks: Marks },
    Ack(AckSegment),
}

/// A connection and the packets in the network.
pub(crate) struct Pair {
    /// Configuration of the sender.
    pub(crate) config: Config,
    /// Configuration of the receiver.
    far: Config,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) now: Instant,
    impairments: Impairments,
    stream: Stream,
    packets: Vec<Packet>,
    /// Arrival time of each packet in the network, and its index in `packets`.
    arrivals: BinaryHeap<Reverse<(Instant, usize)>>,
    /// Whether each byte has arrived.
    arrived: Vec<bool>,
    /// The first byte that has not arrived.
    first_missing: u64,
}

impl Pair {
    /// Creates two sides with the same configuration.
    pub(crate) fn new(config: Config, seed: u64, impairments: Impairments) -> Self {
        Self::between(config.clone(), config, seed, impairments)
    }

    /// Creates a sender and a receiver with negotiated configurations.
    pub(crate) fn between(config: Config, far: Config, seed: u64, impairments: Impairments) -> Self {
        Self {
            sender: Sender::new(&config),
            receiver: Receiver::new(&far),
            config,
            far,
            now: Instant::ZERO,
            impairments,
            stream: Stream::new(seed, "pair", 0),
            packets: Vec::new(),
            arrivals: BinaryHeap::new(),
            arrived: Vec::new(),
            first_missing: 0,
        }
    }

    /// Returns the number of packets that the network has accepted so far.
    pub(crate) fn carried(&self) -> usize {
        self.packets.len()
    }

    /// Writes `bytes` of the application.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.sender.write(&self.config, self.now, bytes);
        self.arrived.resize(self.sender.written() as usize, false);
        self.pump();
    }

    /// Closes the sender: the application writes no more data.
    pub(crate) fn close(&mut self) {
        self.sender.close(&self.config);
        self.pump();
    }

    /// Writes and closes before anything is sent, so that the last data carries the FIN.
    pub(crate) fn write_and_close(&mut self, bytes: u64) {
        self.sender.write(&self.config, self.now, bytes);
        self.arrived.resize(bytes as usize, false);
        self.close();
    }

    /// Runs all events up to `end`.
    pub(crate) fn run_until(&mut self, end: Instant) {
        while let Some(at) = self.next_event()
            && at <= end
        {
            self.now = at;
            self.step();
        }
        self.now = self.now.max(end);
    }

    /// Runs until no event is left.
    pub(crate) fn finish(&mut self) {
        let mut steps = 0;
        while let Some(at) = self.next_event() {
            self.now = at;
            self.step();
            steps += 1;
            assert!(steps < 1_000_000, "the flow does not end");
        }
    }

    fn next_event(&self) -> Option<Instant> {
        let arrival = self.arrivals.peek().map(|Reverse((at, _))| *at);
        [arrival, self.sender.deadline(), self.receiver.deadline()].into_iter().flatten().min()
    }

    fn step(&mut self) {
        if let Some(&Reverse((at, index))) = self.arrivals.peek()
            && at <= self.now
        {
            self.arrivals.pop();
            self.arrive(self.packets[index]);
        }
        if self.receiver.deadline().is_some_and(|deadline| deadline <= self.now) {
            let ack = self.receiver.on_timer(&self.far, self.now).expect("it is due");
            self.send(Packet::Ack(ack), self.far.ack_ecn());
        }
        if self.sender.deadline().is_some_and(|deadline| deadline <= self.now) {
            self.sender.on_timer(&self.config, self.now);
        }
        self.pump();
        self.check();
    }

    fn arrive(&mut self, packet: Packet) {
        match packet {
            Packet::Data { segment, marks } => {
                // The sender must not send data for which the receiver has no room.
                assert!(segment.end() <= self.receiver.received() + self.far.receive_window.0);
                self.arrived[segment.seq as usize..segment.end() as usize].fill(true);
                while self.arrived.get(self.first_missing as usize).is_some_and(|&arrived| arrived) {
                    self.first_missing += 1;
                }
                if self.impairments.resizing {
                    let (mss, most) = (self.far.mss.0, self.far.receive_window.0);
                    self.receiver.resize_window(Bytes(mss + self.stream.below(most - mss + 1)));
                }
                for ack in self.receiver.on_data(&self.far, self.now, &segment, marks, 1) {
                    self.send(Packet::Ack(ack), self.far.ack_ecn());
                }
            }
            Packet::Ack(segment) => self.sender.on_ack(&self.config, self.now, &segment),
        }
    }

    fn pump(&mut self) {
        while let Some(transmit) = self.sender.poll_transmit(&self.config, self.now) {
            let segment = transmit.segment;
            let is_empty = segment.flags.contains(Flags::SYN) || segment.flags.contains(Flags::FIN);
            assert!(segment.len > 0 || is_empty);
            assert!(u64::from(segment.len) <= self.config.mss.0);
            self.send(Packet::Data { segment, marks: Marks::default() }, transmit.ecn);
        }
    }

    fn send(&mut self, packet: Packet, ecn: Ecn) {
        let Impairments { loss, duplication, marking, jitter, .. } = self.impairments;
        let marked = self.stream.uniform() < marking * 0.3;
        if self.stream.uniform() < loss || marked && ecn == Ecn::NotEct {
            return;
        }
        let packet = match packet {
            Packet::Data { segment, .. } => {
                let incast = self.stream.uniform() < marking * 0.3;
                Packet::Data { segment, marks: Marks { ce: marked, incast } }
            }
            Packet::Ack(segment) => Packet::Ack(segment),
        };
        let copies = if self.stream.uniform() < duplication { 2 } else { 1 };
        for _ in 0..copies {
            let delay = DELAY + Duration(self.stream.below(jitter.0 + 1));
            self.arrivals.push(Reverse((self.now + delay, self.packets.len())));
            self.packets.push(packet);
        }
    }

    fn check(&self) {
        check_sender(&self.config, &self.sender);
        let received = self.receiver.received();
        // A FIN counts after all data before it has arrived.
        let fin = received == self.arrived.len() as u64 + 1 && self.config.fin;
        let data = received - u64::from(fin);
        assert_eq!(data, self.first_missing, "delivered once, in order, and as soon as possible");
        assert!(self.sender.acked() <= received && received <= self.sender.sent());
        if self.sender.acked() < self.sender.sent() {
            assert!(self.sender.deadline().is_some(), "something outstanding without a timer");
        }
    }
}

/// Invariants of every sender, with any configuration.
pub(crate) fn check_sender(config: &Config, sender: &Sender) {
    assert!(config.mss <= sender.cwnd() && sender.cwnd() <= config.max_window);
    assert!(sender.ssthresh() >= Bytes(2 * config.mss.0));
    assert!(sender.alpha().is_none_or(|alpha| (0.0..=1.0).contains(&alpha)));
    assert!(sender.acked() <= sender.sent() && sender.sent() <= sender.written());
    // RFC 6675: pipe counts a byte at most twice, sent and retransmitted, plus one rescue segment.
    let outstanding = sender.sent() - sender.acked();
    // ns-2's pipe counts acknowledgements, however much each covers.
    let counted = matches!(config.recovery, Method::FullTcp | Method::Sack1);
    let most = 2 * outstanding + config.mss.0;
    assert!(counted || sender.pipe().0 <= most, "pipe {} of {outstanding}", sender.pipe());
    // Holds however much partial acknowledgements deflate the window (RFC 6582 §3.2 step 3).
    assert!(sender.inflated_window(config) >= config.mss);
    assert!(config.rto.minimum <= sender.rto() && sender.rto() <= config.rto.maximum);
}
