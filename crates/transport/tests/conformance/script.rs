//! One side of a connection under a test's control. The test takes the place of the network and the other side.

use shallows_core::packet::{AckSegment, DataSegment, Flags, SackBlock};
use shallows_core::{Bytes, Duration, Instant};
use shallows_transport::congestion::{self, cubic, dctcp, pulser, reno};
use shallows_transport::{Config, DelayedAck, Marks, Method, Receiver, Sender, Transmit};

/// Segments of 1,000 bytes, so that sequence numbers read as segments.
pub(crate) const MSS: u64 = 1_000;

/// No segments. Comparisons with an empty array are ambiguous, because JSON values also compare with numbers.
pub(crate) const NOTHING: [u64; 0] = [];

/// Round-trip time of the tests.
pub(crate) const RTT: Duration = Duration::from_micros(100);

/// Returns the RFC defaults for Reno, with an initial window of ten segments and an acknowledgement per segment.
pub(crate) fn reno() -> Config {
    let config = Config::new(Bytes(MSS), congestion::Config::Reno(reno::Config::default()));
    Config {
        initial_window: Bytes(10 * MSS),
        delayed_ack: DelayedAck { segments: 1, ..config.delayed_ack },
        ..config
    }
}

/// Returns a rule that acknowledges every `segments` segments, and fewer after `timeout`.
pub(crate) fn every(segments: u32, timeout: Duration) -> DelayedAck {
    DelayedAck { segments, timeout, ..reno().delayed_ack }
}

/// Returns the configuration of [`reno()`] with ECN.
pub(crate) fn reno_with_ecn() -> Config {
    Config { congestion: congestion::Config::Reno(reno::Config { ecn: true }), ..reno() }
}

/// Returns the configuration of [`reno()`] without selective acknowledgements and limited transmit.
pub(crate) fn without_sack(recovery: Method) -> Config {
    Config { recovery, limited_transmit: false, ..reno() }
}

/// Returns the configuration of [`reno()`] with DCTCP instead.
pub(crate) fn dctcp(dctcp: dctcp::Config) -> Config {
    with(congestion::Config::Dctcp(dctcp))
}

/// Returns the configuration of [`reno()`] with CUBIC instead.
pub(crate) fn cubic(cubic: cubic::Config) -> Config {
    with(congestion::Config::Cubic(cubic))
}

/// Returns the configuration of [`reno()`] with Pulser instead.
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

/// Returns an acknowledgement of all data below `ack`, and of `sacked`.
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

    /// Creates a sender that has written `bytes` and sent its first window.
    pub(crate) fn started(config: Config, bytes: u64) -> Self {
        let mut script = Self::new(config);
        script.write(bytes);
        script
    }

    pub(crate) fn wait(&mut self, span: Duration) {
        self.now = self.now + span;
    }

    /// Writes `bytes`. Returns the sequence numbers sent.
    pub(crate) fn write(&mut self, bytes: u64) -> Vec<u64> {
        self.sender.write(&self.config, self.now, bytes);
        self.sent()
    }

    /// Delivers `segment`. Returns the sequence numbers sent.
    pub(crate) fn receive(&mut self, segment: AckSegment) -> Vec<u64> {
        let tsecr = Instant(self.now.0 - RTT.0);
        self.sender.on_ack(&self.config, self.now, &AckSegment { tsecr, ..segment });
        self.sent()
    }

    /// Delivers an acknowledgement of all data below `number` and of `sacked`. Returns the sequence numbers sent.
    pub(crate) fn ack(&mut self, number: u64, sacked: &[(u64, u64)]) -> Vec<u64> {
        self.receive(ack(number, sacked))
    }

    /// Delivers `count` duplicate acknowledgements of all data below `number`. Returns all sequence numbers sent.
    pub(crate) fn duplicates(&mut self, number: u64, count: u32) -> Vec<u64> {
        (0..count).flat_map(|_| self.ack(number, &[])).collect()
    }

    /// Delivers an acknowledgement with these flags. Returns the sequence numbers sent.
    pub(crate) fn ack_with(&mut self, number: u64, flags: Flags) -> Vec<u64> {
        self.receive(AckSegment { flags: Flags::ACK.with(flags), ..ack(number, &[]) })
    }

    /// Delivers an acknowledgement with ECE. Returns the sequence numbers sent.
    pub(crate) fn ack_with_ece(&mut self, number: u64) -> Vec<u64> {
        self.ack_with(number, Flags::ECE)
    }

    /// Fires the retransmission timer. Returns the sequence numbers sent.
    pub(crate) fn time_out(&mut self) -> Vec<u64> {
        self.now = self.sender.deadline().expect("the timer runs");
        self.sender.on_timer(&self.config, self.now);
        self.sent()
    }

    /// Sends all segments that may be sent now, and returns them.
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

    /// Delivers segment number `index`, unmarked.
    pub(crate) fn data(&mut self, index: u64) -> Vec<AckSegment> {
        self.marked_data(index, false)
    }

    /// Delivers segment number `index`, marked if `ce`.
    pub(crate) fn marked_data(&mut self, index: u64, ce: bool) -> Vec<AckSegment> {
        self.receive(DataSegment { seq: index * MSS, len: MSS as u16, ..DataSegment::default() }, ce)
    }

    pub(crate) fn receive(&mut self, segment: DataSegment, ce: bool) -> Vec<AckSegment> {
        self.receive_with(segment, Marks { ce, ..Marks::default() })
    }

    pub(crate) fn receive_with(&mut self, segment: DataSegment, marks: Marks) -> Vec<AckSegment> {
        self.receiver.on_data(&self.config, self.now, &segment, marks, 1).collect()
    }
}

/// Returns the segments that the SACK blocks of `ack` cover, as pairs of first number and number after the last.
pub(crate) fn sacked(ack: &AckSegment) -> Vec<(u64, u64)> {
    ack.sack_ranges().map(|(start, end)| (start / MSS, end / MSS)).collect()
}
