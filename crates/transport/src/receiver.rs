//! The receiving side of a connection: received data, acknowledgements, and the echo of marks.

use shallows_core::packet::{AckSegment, DataSegment, Ecn, Flags, Header};
use shallows_core::{Bytes, Instant};

use crate::config::{AckCounts, Config};
use crate::congestion::EcnMode;
use crate::reassembly::Reassembly;
use crate::receive_window::ReceiveWindow;
use crate::scoreboard::Range;

/// Marks that switches set on a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Congestion experienced (RFC 3168 §5).
    pub ce: bool,
    /// Explicit incast notification (Pulser §III-A).
    pub incast: bool,
}

impl Marks {
    /// Returns the marks of the packet with this header.
    #[inline]
    pub fn of(header: &Header) -> Self {
        Self { ce: header.ecn() == Ecn::Ce, incast: header.incast() }
    }

    /// Returns the flags that echo these marks.
    #[inline]
    fn echo(self) -> u8 {
        (u8::from(self.ce) * Flags::ECE.0) | (u8::from(self.incast) * Flags::INCAST_ECHO.0)
    }
}

/// Acknowledgements to send for one arrival, in order: none, one or two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acks {
    first: Option<AckSegment>,
    second: Option<AckSegment>,
}

impl Iterator for Acks {
    type Item = AckSegment;

    #[inline]
    fn next(&mut self) -> Option<AckSegment> {
        self.first.take().or_else(|| self.second.take())
    }
}

impl Acks {
    /// Returns the first and the second acknowledgement.
    #[inline(always)]
    pub fn both(self) -> (Option<AckSegment>, Option<AckSegment>) {
        (self.first, self.second)
    }

    /// Returns the same acknowledgements, copied field by field, so that the compiler keeps the results of the caller's other branches in
    /// registers.
    #[inline(always)]
    fn by_field(self) -> Self {
        let copy = |AckSegment { ack, tsval, tsecr, sack, window, flags, sack_count }| AckSegment {
            ack,
            tsval,
            tsecr,
            sack,
            window,
            flags,
            sack_count,
        };
        Self { first: self.first.map(copy), second: self.second.map(copy) }
    }
}

/// The receiving side of a connection. The application reads data as soon as it arrives.
#[derive(Debug)]
pub struct Receiver {
    next: u64,
    reassembly: Reassembly,
    /// TS.Recent, the timestamp to echo (RFC 7323 §4.3).
    recent_timestamp: Instant,
    last_ack_sent: u64,
    /// Time at which a delayed acknowledgement is due; `Instant::MAX` if none is.
    deadline: Instant,
    window: ReceiveWindow,
    /// In-order segments that no acknowledgement covers yet.
    pending: u32,
    /// Remaining number of segments that are acknowledged at once, although their acknowledgements could be delayed.
    quick: u32,
    /// Flags to echo in acknowledgements. With accurate ECN, ECE follows DCTCP.CE (RFC 8257 §3.2); with classic ECN, ECE stays set until
    /// CWR (RFC 3168 §6.1.3). The incast notification follows the rule of DCTCP.CE.
    echo: u8,
    /// Flags that may be echoed, as negotiated by both sides.
    echoes: u8,
    /// Whether ECE, once set, stays set until a segment with CWR arrives (classic ECN).
    latches: bool,
}

impl Receiver {
    /// Creates the receiver of a new connection.
    pub fn new(config: &Config) -> Self {
        debug_assert!((config.mss.0..=u64::from(u32::MAX)).contains(&config.receive_window.0));
        debug_assert!(config.delayed_ack.segments > 0);
        Self {
            next: 0,
            reassembly: Reassembly::default(),
            recent_timestamp: Instant::ZERO,
            last_ack_sent: 0,
            deadline: Instant::MAX,
            window: ReceiveWindow::new(config.receive_window),
            pending: 0,
            quick: config.delayed_ack.quick,
            echo: 0,
            echoes: if config.handshake { 0 } else { config.congestion.echoes().0 },
            latches: config.congestion.ecn_mode() == EcnMode::Classic,
        }
    }

    /// Creates a receiver that has received all data before `next` and has no other state.
    pub fn resuming(config: &Config, next: u64) -> Self {
        Self { next, last_ack_sent: next, ..Self::new(config) }
    }

    /// Handles a segment with these marks, or `segments` consecutive segments that the host has merged (GRO). Each segment counts towards a
    /// delayed acknowledgement; one acknowledgement covers them all. Returns the acknowledgements to send now; none if the segment carries no
    /// data, SYN or FIN.
    ///
    /// Always inlined, and results of rare cases are copied ([`Acks::by_field`]), so that the compiler keeps acknowledgements in registers.
    #[inline(always)]
    pub fn on_data(
        &mut self,
        config: &Config,
        now: Instant,
        segment: &DataSegment,
        marks: Marks,
        segments: u32,
    ) -> Acks {
        if segments > 1 {
            return self.on_merged(config, now, segment, marks, segments).by_field();
        }
        let fin = segment.flags.0 & Flags::FIN.0;
        if segment.len == 0 && fin == 0 {
            return self.open(config, now, segment).by_field();
        }
        let seen = marks.echo() & self.echoes;
        if seen != self.echo && self.changes_echo(segment, seen) {
            return self.on_change(config, now, segment, seen).by_field();
        }
        let in_order = self.accept(config, segment);
        // RFC 9293 §3.10.7.4: a FIN is acknowledged when it arrives.
        let hurries = fin != 0 || (config.delayed_ack.cwr_at_once && segment.flags.contains(Flags::CWR));
        let waits = in_order && !hurries && self.has_few(config);
        Acks { first: self.acknowledge_unless(waits, config, now), second: None }
    }

    /// Implements [`Self::on_data`] for several merged segments.
    #[inline(never)]
    fn on_merged(
        &mut self,
        config: &Config,
        now: Instant,
        merged: &DataSegment,
        marks: Marks,
        segments: u32,
    ) -> Acks {
        let mut acks = self.on_data(config, now, merged, marks, 1);
        if self.pending > 0 {
            self.pending += segments - 1;
            if !self.has_few(config) {
                let ack = Some(self.acknowledge(config, now));
                *(if acks.first.is_none() { &mut acks.first } else { &mut acks.second }) = ack;
            }
        }
        acks
    }

    /// Returns whether the unacknowledged segments are too few to require an acknowledgement (RFC 5681 §4.2).
    #[inline]
    fn has_few(&self, config: &Config) -> bool {
        let enough = config.delayed_ack.segments;
        match config.delayed_ack.counts {
            AckCounts::Arrivals => self.pending < enough,
            AckCounts::Bytes => self.next - self.last_ack_sent < config.mss.0 * u64::from(enough),
        }
    }

    /// Returns the acknowledgement to send now. If it may be delayed (`waits`) and no quick acknowledgements are left, arms the timer and
    /// returns `None`.
    #[inline]
    fn acknowledge_unless(&mut self, waits: bool, config: &Config, now: Instant) -> Option<AckSegment> {
        if waits && self.quick > 0 {
            self.quick -= 1;
        } else if waits {
            // RFC 5681 §4.2: the oldest segment sets the deadline.
            self.deadline = self.deadline.min(now + config.delayed_ack.timeout);
            return None;
        }
        Some(self.acknowledge(config, now))
    }

    /// Handles a segment with marks that differ from the current echo. With classic ECN (RFC 3168), updates the echo and returns `false`.
    /// With DCTCP, returns `true`, and the caller must change the echo.
    fn changes_echo(&mut self, segment: &DataSegment, seen: u8) -> bool {
        if !self.latches {
            return true;
        }
        // RFC 3168 §6.1.3: CWR ends the echo of earlier marks. §6.1.5: marks on data outside the window do not count.
        let kept = if segment.flags.contains(Flags::CWR) { 0 } else { self.echo };
        let expected = segment.end() > self.next && self.window.allows(segment.end());
        self.echo = if expected { kept | seen } else { kept };
        false
    }

    /// Acknowledges a change of marks at once. If data is pending, acknowledges that data first with the old echo, so that the sender
    /// counts every byte with the right mark (RFC 8257 §3.2). Pulser §III-B echoes incast per packet in the same way.
    #[inline(never)]
    fn on_change(&mut self, config: &Config, now: Instant, segment: &DataSegment, seen: u8) -> Acks {
        let prior = (self.pending > 0).then(|| self.acknowledge(config, now));
        self.echo = seen;
        let in_order = self.accept(config, segment);
        // ns-2 delays the acknowledgement of the segment that changes the echo, like the acknowledgement of any other segment.
        let by_bytes = config.delayed_ack.counts == AckCounts::Bytes && !segment.flags.contains(Flags::FIN);
        let waits = in_order && by_bytes && self.has_few(config);
        Acks { first: prior, second: self.acknowledge_unless(waits, config, now) }
    }

    /// Handles a segment without data: answers a SYN and ignores anything else.
    #[cold]
    fn open(&mut self, config: &Config, now: Instant, segment: &DataSegment) -> Acks {
        if !segment.flags.contains(Flags::SYN) {
            return Acks::default();
        }
        let mut flags = Flags::ACK.with(Flags::SYN);
        // RFC 3168 §6.1.1: the sender supports ECN; the answer states whether the receiver does, too.
        let knows = config.congestion.ecn_mode() != EcnMode::Off;
        if knows && segment.flags.contains(Flags::ECE.with(Flags::CWR)) {
            self.echoes = config.congestion.echoes().0;
            flags = flags.with(Flags::ECE);
        }
        let (ack, window) = (self.next, self.window.advertise(self.next));
        let answer =
            AckSegment { ack, tsval: now, tsecr: segment.tsval, window, flags, ..AckSegment::default() };
        Acks { first: Some(answer), second: None }
    }

    /// Adds the pending acknowledgement to a data segment of the opposite direction, so that no separate acknowledgement is needed (RFC
    /// 9293 §3.8.6.3). Adds none while data is missing, because data segments have no room for SACK blocks.
    pub fn carry(&mut self, config: &Config, now: Instant, data: DataSegment) -> DataSegment {
        // The number zero in a header means no acknowledgement.
        if !self.reassembly.is_empty() || self.next as u32 == 0 {
            return data;
        }
        // Linux, tcp_event_data_sent: a connection that sends data is interactive, and no longer acknowledges at once.
        self.quick = 0;
        data.carrying(&self.acknowledge(config, now))
    }

    /// Offers a window of `size` bytes from now on, at least one segment and below 4 GiB. An offer is never revoked: a
    /// smaller window takes effect as data arrives.
    pub fn resize_window(&mut self, size: Bytes) {
        self.window.resize(size);
    }

    /// Handles the deadline. Returns the delayed acknowledgement if it is due.
    pub fn on_timer(&mut self, config: &Config, now: Instant) -> Option<AckSegment> {
        (now >= self.deadline).then(|| self.acknowledge(config, now))
    }

    /// Returns the time at which to call [`Self::on_timer`].
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        (self.deadline != Instant::MAX).then_some(self.deadline)
    }

    /// Returns the number of bytes received without a gap (RCV.NXT); a FIN counts as one byte.
    #[inline]
    pub fn received(&self) -> u64 {
        self.next
    }

    /// Stores a segment. Returns whether its acknowledgement may be delayed, because the segment arrived in order and there is no gap (RFC
    /// 5681 §4.2).
    #[inline]
    fn accept(&mut self, config: &Config, segment: &DataSegment) -> bool {
        // RFC 7323 §4.3 (2), and Linux, tcp_replace_ts_recent: the first timestamp of a batch is echoed, so that the RTT sample includes
        // the delay of the acknowledgement. A timestamp older than the last echoed one is never echoed.
        if segment.seq <= self.last_ack_sent && segment.tsval >= self.recent_timestamp {
            self.recent_timestamp = segment.tsval;
        }
        // RFC 9293 §3.4: a FIN follows the data and counts as a byte.
        let end = segment.end() + u64::from(segment.flags.0 & Flags::FIN.0);
        if segment.seq == self.next && self.reassembly.is_empty() {
            self.next = end;
            self.pending += 1;
            return true;
        }
        self.accept_out_of_order(config, Range { start: segment.seq, end });
        false
    }

    #[cold]
    fn accept_out_of_order(&mut self, config: &Config, range: Range) {
        let is_expected = range.start <= self.next || self.window.allows(range.end);
        if config.dsack && is_expected {
            self.reassembly.note_duplicate(range, self.next);
        }
        if range.start <= self.next {
            self.next = self.reassembly.advance(self.next.max(range.end));
        } else if is_expected {
            self.reassembly.insert(range);
        }
    }

    #[inline]
    fn acknowledge(&mut self, config: &Config, now: Instant) -> AckSegment {
        self.pending = 0;
        self.deadline = Instant::MAX;
        self.last_ack_sent = self.next;
        let mut ack = AckSegment {
            ack: self.next,
            tsval: now,
            tsecr: self.recent_timestamp,
            window: self.window.advertise(self.next),
            flags: Flags(Flags::ACK.0 | self.echo),
            ..AckSegment::default()
        };
        if self.reassembly.reports() && config.recovery.uses_sack() {
            (ack.sack, ack.sack_count) = self.reassembly.sack(self.next);
        }
        ack
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Duration;

    use super::*;
    use crate::config::DelayedAck;
    use crate::congestion::{self, dctcp};

    const MSS: u64 = 1_460;
    const NOW: Instant = Instant(1_000_000);

    /// Returns a receiver that acknowledges every second segment.
    fn delaying() -> (Config, Receiver) {
        let config = Config::new(Bytes(MSS), congestion::Config::Dctcp(dctcp::Config::default()));
        let delayed_ack = DelayedAck { segments: 2, timeout: Duration::from_millis(1), ..config.delayed_ack };
        let config = Config { delayed_ack, ..config };
        let receiver = Receiver::new(&config);
        (config, receiver)
    }

    /// Delivers `segments` merged segments, which are numbered from `first` on and marked if `ce` is true. Returns each acknowledgement and
    /// its ECE.
    fn merged(
        (config, receiver): &mut (Config, Receiver),
        first: u64,
        segments: u32,
        ce: bool,
    ) -> Vec<(u64, bool)> {
        let len = (u64::from(segments) * MSS) as u16;
        let segment = DataSegment { seq: first * MSS, len, flags: Flags::ACK, ..DataSegment::default() };
        let acks = receiver.on_data(config, NOW, &segment, Marks { ce, incast: false }, segments);
        acks.map(|ack| (ack.ack / MSS, ack.flags.contains(Flags::ECE))).collect()
    }

    #[test]
    fn merged_segments_share_one_acknowledgement_and_a_single_one_waits() {
        let mut receiving = delaying();
        assert_eq!(merged(&mut receiving, 0, 44, false), [(44, false)]);
        assert_eq!(merged(&mut receiving, 44, 1, false), []);
        // One segment that waits and two more, in one acknowledgement.
        assert_eq!(merged(&mut receiving, 45, 2, false), [(47, false)]);
        assert_eq!(receiving.1.deadline(), None);
        // Merged segments above a gap are acknowledged at once, with one acknowledgement.
        assert_eq!(merged(&mut receiving, 50, 5, false), [(47, false)]);
    }

    #[test]
    fn a_change_of_marks_is_acknowledged_as_for_single_segments() {
        let mut receiving = delaying();
        assert_eq!(merged(&mut receiving, 0, 1, false), []);
        // RFC 8257 §3.2: first the waiting segment, unmarked; then all marked segments.
        assert_eq!(merged(&mut receiving, 1, 10, true), [(1, false), (11, true)]);
        assert_eq!(merged(&mut receiving, 11, 10, true), [(21, true)]);
        assert_eq!(merged(&mut receiving, 21, 3, false), [(24, false)]);
    }

    #[test]
    fn a_segment_that_was_overtaken_by_its_retransmission_is_not_echoed() {
        let (config, mut receiver) = delaying();
        let mut echo = |nth: u64, sent| {
            let (seq, len, tsval) = (nth * MSS, MSS as u16, Instant(sent));
            let segment = DataSegment { seq, len, tsval, flags: Flags::ACK, ..DataSegment::default() };
            let mut acks = receiver.on_data(&config, NOW, &segment, Marks::default(), 1);
            acks.next().map(|ack| (ack.ack / MSS, ack.tsecr.0))
        };
        assert_eq!((echo(0, 10), echo(1, 10)), (None, Some((2, 10))));
        // The retransmission of the third segment arrives first. SEG.TSval = 40 is not older than TS.Recent = 10.
        assert_eq!((echo(2, 40), echo(3, 41)), (None, Some((4, 40))));
        // RFC 7323 §4.3 (2): SEG.SEQ is at most Last.ACK.sent, but SEG.TSval = 12 is below TS.Recent = 40.
        assert_eq!(echo(2, 12), Some((4, 40)));
    }

    #[test]
    fn counting_bytes_a_change_of_marks_waits_for_no_acknowledgement_of_its_own() {
        let (config, receiver) = delaying();
        let counts = AckCounts::Bytes;
        let config = Config { delayed_ack: DelayedAck { counts, ..config.delayed_ack }, ..config };
        let mut receiving = (config, receiver);
        assert_eq!(merged(&mut receiving, 0, 1, true), []);
        assert_eq!(merged(&mut receiving, 1, 2, false), [(1, true), (3, false)]);
    }
}
