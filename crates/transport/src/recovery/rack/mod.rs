//! Loss detection by time, with tail loss probes (RACK-TLP, RFC 8985).
//!
//! A segment counts as lost once a segment that was sent sufficiently later has been delivered.

pub(crate) mod interface;
mod reordering;
mod segments;
mod tlp;

pub use interface::Config;
use reordering::Reordering;
use segments::{Delivered, Segments, Transmission};
use shallows_core::{Duration, Instant};
use tlp::Tlp;

use super::course::Course;
use super::frto::{Evidence, Frto};
use super::interface::{Allowance, Arrival, Clock, Expiry, Outcome, Outstanding, Phase, non_empty};
use super::prr::Bound;
use crate::config;
use crate::scoreboard::Range;

/// State of delivered data (RFC 8985 §5.3).
#[derive(Debug)]
struct Latest {
    /// *RACK.xmit_ts* and *RACK.end_seq*: the latest transmission known to be delivered.
    transmission: Transmission,
    /// Round-trip time of the latest transmission known to be delivered (*RACK.rtt*).
    rtt: Duration,
    /// Smallest round-trip time of the whole connection (*RACK.min_RTT*); `Duration::MAX` before the first sample.
    min_rtt: Duration,
    /// Highest sequence number known to be delivered (*RACK.fack*).
    highest: u64,
    reordering_seen: bool,
    /// Smallest round-trip time among the segments that the last acknowledgement reported as delivered; `Duration::MAX` without a sample.
    measured: Duration,
}

/// RACK-TLP's state of one connection.
#[derive(Debug)]
pub(crate) struct Rack {
    segments: Segments,
    latest: Latest,
    tlp: Tlp,
    reordering: Reordering,
    /// Length of the reordering window (*RACK.reo_wnd*).
    window: Duration,
    pub(super) course: Course,
    /// New data sent beyond cwnd by limited transmit.
    limited: u64,
    /// SND.UNA at the last timeout.
    timed_out_at: Option<u64>,
    /// Time at which the reordering timer fires; `rto_at` is the time for the retransmission timer. Each is `Instant::MAX` while its timer
    /// is off. The sender's timer is the earliest of these two and the probe timer (RFC 8985 §8).
    reorder_at: Instant,
    rto_at: Instant,
    frto: Frto,
}

impl Rack {
    pub(super) fn new(bound: Option<Bound>) -> Self {
        Self {
            segments: Segments::default(),
            latest: Latest {
                transmission: (Instant::ZERO, 0),
                rtt: Duration::ZERO,
                min_rtt: Duration::MAX,
                highest: 0,
                reordering_seen: false,
                measured: Duration::MAX,
            },
            tlp: Tlp::new(),
            reordering: Reordering::new(),
            window: Duration::ZERO,
            course: Course::new(bound),
            limited: 0,
            timed_out_at: None,
            reorder_at: Instant::MAX,
            rto_at: Instant::MAX,
            frto: Frto::Off,
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.course.phase
    }

    /// Returns the number of bytes in flight: outstanding, and neither selectively acknowledged nor lost.
    pub(super) fn pipe(&self, data: Outstanding) -> u64 {
        data.next - data.una - self.segments.sacked() - self.segments.lost()
    }

    pub(super) fn sacked(&self) -> u64 {
        self.segments.sacked()
    }

    pub(super) fn limited(&self) -> u64 {
        self.limited
    }

    pub(super) fn measured(&self) -> Duration {
        self.latest.measured
    }

    /// Returns the time at which the sender's timer fires; `Instant::MAX` for never.
    pub(super) fn deadline(&self) -> Instant {
        self.reorder_at.min(self.tlp.at).min(self.rto_at)
    }

    /// Sets the retransmission timer to `at`.
    pub(super) fn restart_timer(&mut self, at: Instant) {
        self.rto_at = at;
    }

    /// Processes an acknowledgement (RFC 8985 §6.2).
    pub(super) fn on_ack(
        &mut self,
        config: &config::Config,
        data: Outstanding,
        arrival: Arrival<'_>,
        clock: Clock,
    ) -> Outcome {
        let sacked = self.segments.sacked();
        let original = self.take_in(config, data, arrival, clock.now);
        if arrival.acked > 0 {
            self.limited = 0;
            self.tlp.on_new_data();
            // RFC 6298 §5.2 and §5.3.
            self.rto_at = if data.una == data.next { Instant::MAX } else { clock.now + clock.rto };
        }
        let evidence =
            Evidence { una: data.una, advances: arrival.acked > 0, recover: self.course.point, original };
        let (reported, needless) = self.course.hear(config, data.next, arrival.segment);
        let spurious = self.frto.on_ack(evidence) || needless;
        if spurious {
            self.frto = Frto::Off;
            self.segments.restore();
        }
        let ended = self.course.end(data.una, spurious);
        self.reordering.on_ack((data.una, data.next), reported.is_some(), ended);
        let bare = arrival.acked == 0 && arrival.segment.sack_count == 0;
        let repaired = self.tlp.on_ack(data.una, bare, reported);
        let (found, begins) = self.detect(config, data, clock);
        // Bytes that were SACKed earlier have already been counted.
        let delivered = (arrival.acked + self.segments.sacked()).saturating_sub(sacked);
        self.course.deliver(delivered, arrival.acked > 0 && !found);
        if self.phase() != Phase::Open || self.segments.sacked() > 0 || self.reorder_at != Instant::MAX {
            // RFC 8985 §7.2: other timers cover these segments.
            self.tlp.at = Instant::MAX;
        } else if arrival.acked > 0 {
            self.tlp.schedule(&config.rack, clock, self.segments.len());
        }
        Outcome { begins, repaired, spurious, keeps_timer: true, ..Outcome::default() }
    }

    /// Processes deliveries segment by segment (RFC 8985 §6.2 steps 1 to 3). Returns whether one of the segments was
    /// sent only once, before the last recovery began.
    fn take_in(
        &mut self,
        config: &config::Config,
        data: Outstanding,
        arrival: Arrival<'_>,
        now: Instant,
    ) -> bool {
        let recover = self.course.point;
        let Self { segments, latest, .. } = self;
        latest.measured = Duration::MAX;
        let mut original = false;
        let echo = config.timestamps.then_some(arrival.segment.tsecr);
        let mut deliver = |delivered: Delivered| {
            original |= !delivered.retransmitted && delivered.end <= recover;
            latest.deliver(delivered, echo, now);
        };
        segments.acknowledge(data.una, &mut deliver);
        let mut blocks = [Range { start: 0, end: 0 }; shallows_core::packet::MAX_SACK_BLOCKS];
        for (block, (start, end)) in blocks.iter_mut().zip(arrival.segment.sack_ranges()) {
            *block = Range { start, end };
        }
        // In ascending order, because otherwise a loss of acknowledgements would look like reordering.
        blocks.sort_unstable_by_key(|block| block.start);
        for block in blocks {
            // Any other block is old, or covers data that was never sent.
            if data.una < block.start && block.start < block.end && block.end <= data.next {
                segments.sack(block, &mut deliver);
            }
        }
        original
    }

    /// Detects losses (RFC 8985 §6.2 steps 4 and 5). Returns whether any segment is newly lost, and whether fast recovery
    /// begins.
    fn detect(&mut self, config: &config::Config, data: Outstanding, clock: Clock) -> (bool, bool) {
        self.window = self.reordering_window(config, clock.srtt);
        let patience = self.latest.rtt + self.window;
        let (found, wait) = self.segments.detect(self.latest.transmission, patience, clock.now);
        self.reorder_at = wait.map_or(Instant::MAX, |at| at + config.rack.timer_slack);
        let begins = self.phase() == Phase::Open && self.segments.lost() > 0;
        if begins {
            self.course.begin(data);
            self.tlp.reset();
        }
        (found, begins)
    }

    /// Returns the length of the reordering window (RFC 8985 §6.2 step 4).
    fn reordering_window(&self, config: &config::Config, srtt: Duration) -> Duration {
        let in_order = !self.latest.reordering_seen;
        let enough = self.segments.sacked_segments() >= config.duplicate_threshold;
        if in_order && (self.phase() != Phase::Open || enough) || self.latest.min_rtt == Duration::MAX {
            return Duration::ZERO;
        }
        self.reordering.window(self.latest.min_rtt, srtt)
    }

    /// Handles the sender's timer.
    pub(super) fn on_timer(&mut self, config: &config::Config, data: Outstanding, clock: Clock) -> Expiry {
        if self.reorder_at <= clock.now {
            let (found, begins) = self.detect(config, data, clock);
            if self.rto_at > clock.now {
                return if begins { Expiry::Found } else { Expiry::Nothing };
            }
            if found {
                self.rto_at = clock.now + clock.rto;
                return if begins { Expiry::Found } else { Expiry::Nothing };
            }
        }
        if self.tlp.at != Instant::MAX {
            // RFC 8985 §7.2: if the retransmission timer fires before the probe timer, the probe is sent at that time.
            self.tlp.at = Instant::MAX;
            self.tlp.due = true;
            self.rto_at = clock.now + clock.rto;
            return Expiry::Nothing;
        }
        Expiry::Timeout
    }

    /// Handles the retransmission timer (RFC 8985 §6.3). Returns whether the timer had already fired for the same segment.
    pub(super) fn on_timeout(&mut self, config: &config::Config, data: Outstanding, now: Instant) -> bool {
        let repeated = self.timed_out_at == Some(data.una);
        let applies = config.frto && self.phase() == Phase::Open && !repeated;
        self.frto = match self.segments.first().filter(|_| applies) {
            Some(first) => Frto::Sent { end: first.end },
            None => Frto::Off,
        };
        self.timed_out_at = Some(data.una);
        self.segments.lose_on_timeout(self.latest.rtt + self.window, now);
        self.course.time_out(data);
        self.course.first_due = true;
        self.limited = 0;
        self.tlp.reset();
        self.reorder_at = Instant::MAX;
        repeated
    }

    /// Returns the bytes to send next, if any may be sent, and counts them as sent.
    pub(super) fn next_segment(
        &mut self,
        config: &config::Config,
        data: Outstanding,
        allowance: Allowance,
        clock: Clock,
    ) -> Option<Range> {
        let pipe = self.pipe(data);
        self.course.take_in(pipe, allowance.cwnd, config.mss.0);
        let unsent = non_empty(Range { start: data.next, end: data.next + allowance.unsent });
        let range = if std::mem::take(&mut self.tlp.due) {
            self.probe(unsent, data, clock.now)?
        } else if self.phase() == Phase::Open {
            self.open(config, data, allowance.cwnd, unsent, clock)?
        } else {
            // RFC 6675 §5 steps 4.3 and C.
            let has_room = self.course.room(allowance.cwnd, pipe) >= config.mss.0;
            let first = std::mem::take(&mut self.course.first_due);
            if !first && let Some(goes) = self.frto.asks(unsent.is_some()) {
                return self.send(unsent.filter(|_| goes), clock.now);
            }
            let lost = if has_room || first { self.segments.resend_lost(clock.now) } else { None };
            lost.or_else(|| self.send(unsent.filter(|_| has_room), clock.now))?
        };
        self.course.on_send(config, range, data.next);
        if self.rto_at == Instant::MAX || (range.start == data.una && data.next > data.una) {
            // RFC 6298 §5.1. As in Linux (`tcp_xmit_retransmit_queue`), a retransmission of the first outstanding segment restarts the
            // timer.
            self.rto_at = clock.now + clock.rto;
        }
        Some(range)
    }

    /// Sends a probe regardless of cwnd (RFC 8985 §7.3): new data if there is any, otherwise the last segment.
    fn probe(&mut self, unsent: Option<Range>, data: Outstanding, now: Instant) -> Option<Range> {
        let fresh = self.send(unsent, now);
        let is_retransmission = fresh.is_none();
        let range = fresh.or_else(|| self.segments.resend_last(now))?;
        self.tlp.on_probe(data.next.max(range.end), is_retransmission);
        if is_retransmission {
            self.course.undo.begin(data.una);
        }
        Some(range)
    }

    /// Sends unsent data while no loss is being repaired.
    fn open(
        &mut self,
        config: &config::Config,
        data: Outstanding,
        cwnd: u64,
        unsent: Option<Range>,
        clock: Clock,
    ) -> Option<Range> {
        let range = unsent?;
        if range.end - data.una > cwnd {
            // RFC 6675 §5 step 3.3: selectively acknowledged data has left the network.
            let limited_transmit = config.limited_transmit && self.segments.sacked() > 0;
            if !limited_transmit || self.pipe(data) + range.len() > cwnd {
                return None;
            }
            self.limited += range.len();
        }
        self.send(unsent, clock.now);
        if self.segments.sacked() == 0 && self.reorder_at == Instant::MAX {
            self.tlp.schedule(&config.rack, clock, self.segments.len());
        }
        Some(range)
    }

    /// Moves the end of the last segment of new data to `next`, because the segment now carries a FIN.
    pub(super) fn extend(&mut self, next: u64) {
        self.segments.extend(next);
    }

    fn send(&mut self, unsent: Option<Range>, now: Instant) -> Option<Range> {
        unsent.inspect(|range| self.segments.push(range.end, now))
    }
}

impl Latest {
    /// Records a segment that is newly known to be delivered (RFC 8985 §6.2).
    fn deliver(&mut self, segment: Delivered, echo: Option<Instant>, now: Instant) {
        let reordered = segment.end < self.highest && !segment.retransmitted;
        self.reordering_seen |= reordered;
        self.highest = self.highest.max(segment.end);
        let rtt = now.saturating_since(segment.sent_at);
        if !segment.retransmitted {
            self.min_rtt = self.min_rtt.min(rtt);
            self.measured = self.measured.min(rtt);
        } else if echo.is_some_and(|echo| echo < segment.sent_at)
            || (self.min_rtt != Duration::MAX && rtt < self.min_rtt)
        {
            // The original arrived, not the retransmission.
            return;
        }
        self.rtt = rtt;
        self.transmission = self.transmission.max((segment.sent_at, segment.end));
    }
}
