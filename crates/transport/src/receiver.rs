//! The receiving side of a connection: what it has, when it acknowledges, what it echoes.

use shallows_core::Instant;
use shallows_core::packet::{Flags, Segment};

use crate::config::Config;
use crate::congestion::EcnMode;
use crate::reassembly::Reassembly;
use crate::scoreboard::Range;

/// The acknowledgements to send for one arrival, in this order: none, one, or two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acks {
    first: Option<Segment>,
    second: Option<Segment>,
}

impl Iterator for Acks {
    type Item = Segment;

    #[inline]
    fn next(&mut self) -> Option<Segment> {
        self.first.take().or_else(|| self.second.take())
    }
}

/// The receiving side of a connection. Its application reads at once.
#[derive(Debug)]
pub struct Receiver {
    next: u64,
    reassembly: Reassembly,
    /// TS.Recent, the timestamp to echo (RFC 7323 §4.3).
    recent_timestamp: Instant,
    last_ack_sent: u64,
    /// When a delayed acknowledgement is due; `Instant::MAX` if none is.
    deadline: Instant,
    /// Segments in order that no acknowledgement covers yet.
    pending: u32,
    /// Whether acknowledgements carry ECE: DCTCP.CE (RFC 8257 §3.2), or until CWR (RFC 3168 §6.1.3).
    ece: bool,
}

impl Receiver {
    /// A connection on which nothing arrived.
    pub fn new(config: &Config) -> Self {
        debug_assert!((config.mss.0..=u64::from(u32::MAX)).contains(&config.receive_window.0));
        debug_assert!(config.delayed_ack.segments > 0);
        Self {
            next: 0,
            reassembly: Reassembly::default(),
            recent_timestamp: Instant::ZERO,
            last_ack_sent: 0,
            deadline: Instant::MAX,
            pending: 0,
            ece: false,
        }
    }

    /// A segment arrived, `ce` if it was marked. Returns the acknowledgements to send now; none if it has no data.
    #[inline]
    pub fn on_data(&mut self, config: &Config, now: Instant, segment: &Segment, ce: bool) -> Acks {
        if segment.len == 0 {
            return self.open(config, segment);
        }
        let (prior, flipped) = self.observe_ecn(config, segment.flags, ce);
        if segment.seq <= self.last_ack_sent {
            // RFC 7323 §4.3: of a batch the first is echoed, so that the sample holds the delay.
            self.recent_timestamp = segment.timestamp;
        }
        let in_order = self.accept(config, segment);
        let now_due = flipped || !in_order || self.pending >= config.delayed_ack.segments;
        if !now_due {
            // RFC 5681 §4.2.
            self.deadline = self.deadline.min(now + config.delayed_ack.timeout);
            return Acks { first: prior, second: None };
        }
        Acks { first: prior, second: Some(self.acknowledge(config)) }
    }

    /// A segment without data: a SYN is answered, anything else says nothing.
    #[cold]
    fn open(&self, config: &Config, segment: &Segment) -> Acks {
        let answer = Segment {
            ack: self.next,
            timestamp: segment.timestamp,
            window: config.receive_window.0 as u32,
            flags: Flags::ACK.with(Flags::SYN),
            ..Segment::default()
        };
        Acks { first: segment.flags.contains(Flags::SYN).then_some(answer), second: None }
    }

    /// The deadline has come. Returns the delayed acknowledgement, unless it went meanwhile.
    pub fn on_timer(&mut self, config: &Config, now: Instant) -> Option<Segment> {
        (now >= self.deadline).then(|| self.acknowledge(config))
    }

    /// When [`Self::on_timer`] is to be called.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        (self.deadline != Instant::MAX).then_some(self.deadline)
    }

    /// Bytes received without a gap (RCV.NXT).
    #[inline]
    pub fn received(&self) -> u64 {
        self.next
    }

    /// Note the mark of a packet. Returns what must be acknowledged before it, and whether it must be itself.
    #[inline]
    fn observe_ecn(&mut self, config: &Config, flags: Flags, ce: bool) -> (Option<Segment>, bool) {
        match config.congestion.ecn_mode() {
            // RFC 8257 §3.2: a change is acknowledged at once, and what waited for an acknowledgement before it
            // with the old state, so that the sender attributes every byte.
            EcnMode::Accurate if ce != self.ece => {
                let prior = (self.pending > 0).then(|| self.acknowledge(config));
                self.ece = ce;
                (prior, true)
            }
            EcnMode::Classic => {
                // RFC 3168 §6.1.3: CWR ends the echo of earlier marks.
                self.ece = ce || (self.ece && !flags.contains(Flags::CWR));
                (None, false)
            }
            EcnMode::Accurate | EcnMode::Off => (None, false),
        }
    }

    /// Take in the data. Says whether it may wait for a delayed acknowledgement: it came in order and there is no
    /// gap (RFC 5681 §4.2).
    #[inline]
    fn accept(&mut self, config: &Config, segment: &Segment) -> bool {
        if segment.seq == self.next && self.reassembly.is_empty() {
            self.next = segment.end();
            self.pending += 1;
            return true;
        }
        self.accept_out_of_order(config, segment);
        false
    }

    #[cold]
    fn accept_out_of_order(&mut self, config: &Config, segment: &Segment) {
        let range = Range { start: segment.seq, end: segment.end() };
        if range.start <= self.next {
            self.next = self.reassembly.advance(self.next.max(range.end));
        } else if range.end - self.next <= config.receive_window.0 {
            self.reassembly.insert(range);
        }
    }

    #[inline]
    fn acknowledge(&mut self, config: &Config) -> Segment {
        self.pending = 0;
        self.deadline = Instant::MAX;
        self.last_ack_sent = self.next;
        let mut flags = Flags::ACK;
        if self.ece {
            flags = flags.with(Flags::ECE);
        }
        let mut ack = Segment {
            ack: self.next,
            timestamp: self.recent_timestamp,
            window: config.receive_window.0 as u32,
            flags,
            ..Segment::default()
        };
        if !self.reassembly.is_empty() {
            (ack.sack, ack.sack_count) = self.reassembly.sack(self.next);
        }
        ack
    }
}
