//! One side of a connection under a test's control: the test plays the network and the other side.

use shallows_core::packet::{AckSegment, DataSegment, Flags, SackBlock};
use shallows_core::{Bytes, Duration, Instant};
use shallows_transport::congestion::{self, cubic, dctcp, pulser, reno};
use shallows_transport::{Config, DelayedAck, Marks, Method, Receiver, Sender, Transmit};

/// Segments of 1,000 bytes, so that sequence numbers read as segments.
pub(crate) const MSS: u64 = 1_000;

/// No segment leaves. (With JSON values about, which equal numbers too, an empty list would not say what it is a list of.)
pub(crate) const NOTHING: [u64; 0] = [];

/// How long a test's round trip takes.
pub(crate) const RTT: Duration = Duration::from_micros(100);

/// RFC defaults for Reno, with an initial window of ten segments and an acknowledgement per segment.
pub(crate) fn reno() -> Config {
    let config = Config::new(Bytes(MSS), congestion::Config::Reno(reno::Config::default()));
    Config {
        initial_window: Bytes(10 * MSS),
        delayed_ack: DelayedAck { segments: 1, ..config.delayed_ack },
        ..config
    }
}

/// An acknowledgement for every so many segments, and of fewer after `timeout`.
pub(crate) fn every(segments: u32, timeout: Duration) -> DelayedAck {
    DelayedAck { segments, timeout, ..reno().delayed_ack }
}

/// The same for Reno with ECN.
pub(crate) fn reno_with_ecn() -> Config {
    Config { congestion: congestion::Config::Reno(reno::Config { ecn: true }), ..reno() }
}

/// The same for Reno without selective acknowledgements, and without limited transmit.
pub(crate) fn without_sack(recovery: Method) -> Config {
    Config { recovery, limited_transmit: false, ..reno() }
}

/// The same for DCTCP.
pub(crate) fn dctcp(dctcp: dctcp::Config) -> Config {
    with(congestion::Config::Dctcp(dctcp))
}

/// The same for CUBIC.
pub(crate) fn cubic(cubic: cubic::Config) -> Config {
    with(congestion::Config::Cubic(cubic))
}

/// The same for Pulser.
pub(crate) fn pulser(pulser: pulser::Config) -> Config {
    with(congestion::Config::Pulser(pulser))
}

fn with(congestion: congestion::Config) -> Config {
    let config = Config::new(Bytes(MSS), congestion);
    Config {
        initial_window: Bytes(10 * MSS),
        delayed_ack: DelayedAck { segments: 1, ..config.delayed_ack },
        ..config
    }
}

/// An acknowledgement of everything below `ack`, and of `sacked`.
pub(crate) fn ack(ack: u64, sacked: &[(u64, u64)]) -> AckSegment {
    let mut segment = AckSegment { ack, flags: Flags::ACK, window: 1 << 30, ..AckSegment::default() };
    for (slot, &(start, end)) in segment.sack.iter_mut().zip(sacked) {
        let raw = SackBlock { start: start.wrapping_sub(ack) as u32, end: end.wrapping_sub(ack) as u32 };
        *slot = if end <= ack { SackBlock::new(ack, start, end).expect("it is near") } else { raw };
    }
    segment.sack_count = sacked.len() as u8;
    segment
}

/// A sender, and a clock.
pub(crate) struct Scripted {
    pub(crate) config: Config,
    pub(crate) sender: Sender,
    pub(crate) now: Instant,
}

impl Scripted {
    pub(crate) fn new(config: Config) -> Self {
        let sender = Sender::new(&config);
        Self { config, sender, now: Instant::ZERO + Duration::from_secs(1) }
    }

    /// A sender whose first segments, a window of them, are on their way.
    pub(crate) fn started(config: Config, bytes: u64) -> Self {
        let mut script = Self::new(config);
        script.write(bytes);
        script
    }

    pub(crate) fn wait(&mut self, span: Duration) {
        self.now = self.now + span;
    }

    /// Write, and return the sequence numbers of what is sent.
    pub(crate) fn write(&mut self, bytes: u64) -> Vec<u64> {
        self.sender.write(&self.config, self.now, bytes);
        self.sent()
    }

    /// Hand over `segment`, and return the sequence numbers of what is sent.
    pub(crate) fn receive(&mut self, segment: AckSegment) -> Vec<u64> {
        let tsecr = Instant(self.now.0 - RTT.0);
        self.sender.on_ack(&self.config, self.now, &AckSegment { tsecr, ..segment });
        self.sent()
    }

    /// Hand over an acknowledgement of everything below `number` and of `sacked`.
    pub(crate) fn ack(&mut self, number: u64, sacked: &[(u64, u64)]) -> Vec<u64> {
        self.receive(ack(number, sacked))
    }

    /// Hand over `count` duplicate acknowledgements of everything below `number`, and return what they send together.
    pub(crate) fn duplicates(&mut self, number: u64, count: u32) -> Vec<u64> {
        (0..count).flat_map(|_| self.ack(number, &[])).collect()
    }

    /// Hand over an acknowledgement with these flags.
    pub(crate) fn ack_with(&mut self, number: u64, flags: Flags) -> Vec<u64> {
        self.receive(AckSegment { flags: Flags::ACK.with(flags), ..ack(number, &[]) })
    }

    /// Hand over an acknowledgement with ECE.
    pub(crate) fn ack_with_ece(&mut self, number: u64) -> Vec<u64> {
        self.ack_with(number, Flags::ECE)
    }

    /// Let the retransmission timer fire, and return the sequence numbers of what is sent.
    pub(crate) fn time_out(&mut self) -> Vec<u64> {
        self.now = self.sender.deadline().expect("the timer runs");
        self.sender.on_timer(&self.config, self.now);
        self.sent()
    }

    /// Segments that the sender sends now.
    pub(crate) fn transmits(&mut self) -> Vec<Transmit> {
        std::iter::from_fn(|| self.sender.poll_transmit(&self.config, self.now)).collect()
    }

    fn sent(&mut self) -> Vec<u64> {
        self.transmits().iter().map(|transmit| transmit.segment.seq).collect()
    }

    pub(crate) fn cwnd(&self) -> u64 {
        self.sender.cwnd().0
    }

    pub(crate) fn inflated(&self) -> u64 {
        self.sender.inflated_window(&self.config).0
    }

    pub(crate) fn ssthresh(&self) -> u64 {
        self.sender.ssthresh().0
    }

    pub(crate) fn pipe(&self) -> u64 {
        self.sender.pipe().0
    }

    pub(crate) fn alpha(&self) -> f64 {
        self.sender.alpha().expect("DCTCP has an alpha")
    }
}

/// A receiver, and a clock.
pub(crate) struct Listening {
    pub(crate) config: Config,
    pub(crate) receiver: Receiver,
    pub(crate) now: Instant,
}

impl Listening {
    pub(crate) fn new(config: Config) -> Self {
        let receiver = Receiver::new(&config);
        Self { config, receiver, now: Instant::ZERO }
    }

    /// Hand over segment number `index`, unmarked.
    pub(crate) fn data(&mut self, index: u64) -> Vec<AckSegment> {
        self.marked_data(index, false)
    }

    /// Hand over segment number `index`, marked if `ce`.
    pub(crate) fn marked_data(&mut self, index: u64, ce: bool) -> Vec<AckSegment> {
        self.receive(DataSegment { seq: index * MSS, len: MSS as u16, ..DataSegment::default() }, ce)
    }

    pub(crate) fn receive(&mut self, segment: DataSegment, ce: bool) -> Vec<AckSegment> {
        self.receive_with(segment, Marks { ce, ..Marks::default() })
    }

    pub(crate) fn receive_with(&mut self, segment: DataSegment, marks: Marks) -> Vec<AckSegment> {
        self.receiver.on_data(&self.config, self.now, &segment, marks).collect()
    }
}

/// The segments that the SACK blocks of `ack` cover, as pairs of first number and number after the last.
pub(crate) fn sacked(ack: &AckSegment) -> Vec<(u64, u64)> {
    ack.sack_ranges().map(|(start, end)| (start / MSS, end / MSS)).collect()
}
