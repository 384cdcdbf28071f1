//! A sender for tests of its interface to the host.

use shallows_core::packet::{AckSegment, Flags};
use shallows_core::{Bytes, Duration, Instant};

use crate::congestion::{self, reno};
use crate::{Config, Sender};

pub(crate) const MSS: u64 = 1_460;
pub(crate) const RTT: Duration = Duration::from_micros(100);

/// A sender for tests, with a round-trip time of 100 us.
pub(crate) struct Driven {
    pub(crate) config: Config,
    pub(crate) sender: Sender,
    pub(crate) now: Instant,
}

impl Driven {
    /// Creates a Reno sender that has much data and has sent its first ten segments.
    pub(crate) fn new() -> Self {
        Self::of(1_000_000_000)
    }

    /// Creates a Reno sender that has `bytes` of data and has sent its first window.
    pub(crate) fn of(bytes: u64) -> Self {
        Self::under(congestion::Config::Reno(reno::Config { ecn: true }), bytes)
    }

    /// Creates a sender that uses this congestion control, has `bytes` of data, and has sent its first window.
    pub(crate) fn under(congestion: congestion::Config, bytes: u64) -> Self {
        let config = Config::new(Bytes(MSS), congestion);
        let now = Instant::ZERO + Duration::from_millis(1);
        let mut driven = Self { sender: Sender::new(&config), config, now };
        driven.sender.write(&driven.config, now, bytes);
        while driven.send() {}
        driven
    }

    /// Sends a segment, if one may be sent. Returns whether a segment was sent.
    pub(crate) fn send(&mut self) -> bool {
        self.sender.poll_transmit(&self.config, self.now).is_some()
    }

    /// Acknowledges `segments` segments in total, one round trip later.
    pub(crate) fn ack(&mut self, segments: u64, flags: Flags) {
        let sent = self.now;
        self.now = self.now + RTT;
        self.ack_of(sent, segments, flags);
    }

    /// Acknowledges `segments` segments in total, echoing the timestamp `tsecr`.
    pub(crate) fn ack_of(&mut self, tsecr: Instant, segments: u64, flags: Flags) {
        let ack = segments * MSS;
        let segment = AckSegment { ack, tsecr, flags, window: 1 << 30, ..AckSegment::default() };
        self.sender.on_ack(&self.config, self.now, &segment);
    }
}
