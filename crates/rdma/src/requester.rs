//! The requester of a queue pair: packets to send, and the processing of replies.

use std::num::NonZeroU16;
use std::sync::Arc;

use shallows_core::rdma::{RdmaData, RdmaOperation, RdmaReply, RdmaReplyKind, RnrTimer};
use shallows_core::{Bytes, Duration, Instant, Rate};

use crate::adaptive::AdaptiveTimeout;
use crate::config::{Config, Operation, Recovery, extended_headers};
use crate::congestion::{self, Ack, Algorithm, Digest, Loss, Pace, Telemetry};
use crate::messages::{Messages, Segment};
use crate::reaction_point::ReactionPoint;
use crate::recovery::Scoreboard;

/// Counts of a requester.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// Retransmitted packets.
    pub retransmits: u32,
    /// Number of NAKs and NACKs received, not counting RNR NAKs.
    pub naks: u32,
}

/// Reason for which a queue pair has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The retransmission timer expired more times in a row than [`Config::retry_count`] allows. With adaptive timeouts, it expired after
    /// at least [`Config::retry_count`] times [`Config::timeout`] without progress.
    RetriesExhausted,
    /// The responder lacked a receive work request more times in a row than [`Send::rnr_retry`](crate::Send::rnr_retry) allows.
    RnrRetriesExhausted,
}

/// The requester of a queue pair. It sends messages in the order in which they are posted.
///
/// After each call of any other method, the driver calls [`Self::poll_transmit`] until the NIC is busy or there is no packet, and then
/// reads [`Self::deadline`].
#[derive(Debug)]
pub struct Requester {
    config: Arc<Config>,
    reaction: ReactionPoint,
    /// Bytes that a packet has on the wire in addition to its data and to RETH.
    overhead: u16,
    messages: Messages,
    /// First PSN that is not acknowledged.
    una: u64,
    /// Number of bytes in the packets before `una`.
    acked: u64,
    /// PSN of the next packet in order. Go-back-N moves it back to `una`.
    next: u64,
    /// Number of bytes in the packets before `next`.
    next_offset: u64,
    /// PSN after the last packet that was ever sent.
    sent: u64,
    /// PSN after the last packet with AckReq; at most `una` if no outstanding packet has AckReq.
    requested: u64,
    /// Packets sent since the last AckReq.
    unrequested: u32,
    /// Lowest PSN for which a NAK is not a duplicate.
    fresh_nak: u64,
    /// Scoreboard of the current recovery with selective retransmission, if any.
    scoreboard: Option<Box<Scoreboard>>,
    /// Time at which the retransmission timer was started; `Instant::MAX` while it is stopped.
    timer: Instant,
    /// Adaptive timeout, if the queue pair has one.
    adaptive: Option<Box<AdaptiveTimeout>>,
    /// Timeouts since the last progress.
    retries: u32,
    /// Time before which the requester sends nothing, because of an RNR NAK.
    rnr_until: Instant,
    /// RNR NAKs since the last progress.
    rnr_retries: u32,
    /// RNR NAKs received.
    rnr_naks: u32,
    /// Whether the congestion control must still process a mark. A reply reported the mark without acknowledging new data.
    marked: bool,
    /// Time of the last call.
    now: Instant,
    ended: Option<Ended>,
    stats: Stats,
}

impl Requester {
    /// Creates a requester without messages. `line_rate` is the rate of the NIC's link. `overhead` is the number of bytes that a packet has
    /// on the wire in addition to its data and to the [`RETH`](crate::RETH) in the first packet of a message.
    pub fn new(config: Arc<Config>, line_rate: Rate, overhead: Bytes) -> Self {
        Self {
            reaction: ReactionPoint::new(&config.congestion, line_rate),
            adaptive: config.adaptive.map(|config| Box::new(AdaptiveTimeout::new(config))),
            config,
            overhead: overhead.0.try_into().expect("headers and framing are shorter than 64 KiB"),
            messages: Messages::default(),
            una: 0,
            acked: 0,
            next: 0,
            next_offset: 0,
            sent: 0,
            requested: 0,
            unrequested: 0,
            fresh_nak: 0,
            scoreboard: None,
            timer: Instant::MAX,
            retries: 0,
            rnr_until: Instant::ZERO,
            rnr_retries: 0,
            rnr_naks: 0,
            marked: false,
            now: Instant::ZERO,
            ended: None,
            stats: Stats::default(),
        }
    }

    /// Posts a message of `bytes` bytes, at least 1. Each message begins with a new packet.
    pub fn post(&mut self, now: Instant, bytes: u64) {
        self.now = now;
        self.reaction.on_timer(&self.config.congestion, now);
        self.messages.push(self.config.mtu, bytes);
    }

    /// Returns the number of bytes that have been posted.
    pub fn posted(&self) -> u64 {
        self.messages.bytes()
    }

    /// Returns the number of bytes that are acknowledged.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// Returns whether all posted bytes are acknowledged, or the queue pair has ended.
    pub fn is_idle(&self) -> bool {
        self.una == self.messages.packets() || self.ended.is_some()
    }

    /// Processes a packet from the responder. Duplicates and late packets cause no retransmission. `telemetry` is the in-band telemetry of
    /// the packet that triggered the reply.
    pub fn on_reply(&mut self, now: Instant, reply: &RdmaReply, telemetry: &[Telemetry]) {
        self.now = now;
        if self.ended.is_some() {
            return;
        }
        match reply.kind {
            RdmaReplyKind::Cnp => self.control(|control, config| control.on_cnp(config, now)),
            RdmaReplyKind::ReadCnp => {}
            RdmaReplyKind::Ack => self.acknowledge(now, reply, telemetry),
            RdmaReplyKind::Nak => {
                self.stats.naks += 1;
                self.acknowledge(now, reply, telemetry);
                self.on_nak(now, reply.psn);
            }
            RdmaReplyKind::RnrNak(timer) => {
                self.rnr_naks += 1;
                self.acknowledge(now, reply, telemetry);
                self.on_rnr_nak(now, reply.psn, timer);
            }
            RdmaReplyKind::SelectiveNack { arrived } => {
                self.stats.naks += 1;
                self.acknowledge(now, reply, telemetry);
                self.on_selective_nack(now, arrived);
            }
        }
    }

    /// Returns the packet to send now, if data, window and rate allow one.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<RdmaData> {
        self.now = now;
        if now < self.reaction.ready_at() {
            return None;
        }
        self.sendable().map(|psn| self.transmit(now, psn))
    }

    /// Returns the time at which [`Self::on_timer`] must be called and the requester polled again; `None` while the requester waits only
    /// for posts and replies. A packet that may leave now has no deadline, because the driver polls when the NIC is free.
    pub fn deadline(&self) -> Option<Instant> {
        let mut earliest = self.expiry();
        if !self.is_idle() {
            earliest = self.reaction.deadline().map_or(earliest, |at| earliest.min(at));
            if let Some(at) = self.waiting_until() {
                earliest = earliest.min(at);
            }
        }
        (earliest < Instant::MAX).then_some(earliest)
    }

    /// Handles the expiry of the retransmission timer or of a timer of the congestion control.
    pub fn on_timer(&mut self, now: Instant) {
        self.now = now;
        self.reaction.on_timer(&self.config.congestion, now);
        if self.expiry() <= now {
            self.on_timeout(now);
        }
    }

    /// Returns the reason for which the queue pair has ended; `None` while it is usable.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Returns the counts.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Returns the number of RNR NAKs received.
    pub fn rnr_naks(&self) -> u32 {
        self.rnr_naks
    }

    /// Returns the rate and the window.
    pub fn pace(&self) -> Pace {
        self.reaction.pace()
    }

    /// Returns α of the congestion control, if it has one.
    pub fn alpha(&self) -> Option<f64> {
        self.reaction.alpha(&self.config.congestion, self.now)
    }

    /// Returns the bytes that are sent and not acknowledged.
    pub fn in_flight(&self) -> Bytes {
        Bytes(self.next_offset - self.acked)
    }

    /// Returns the counts of the congestion control's actions.
    pub fn digest(&self) -> Digest {
        self.reaction.digest()
    }

    /// Returns the number of bytes in the packets that were ever sent.
    fn sent_offset(&self) -> u64 {
        if self.sent == self.next {
            self.next_offset
        } else {
            self.messages.offset(self.config.mtu, self.sent)
        }
    }

    fn control(&mut self, event: impl FnOnce(&mut Algorithm, &congestion::Config)) {
        self.reaction.control(&self.config.congestion, event);
    }

    /// Handles the cumulative part of a reply: all packets before the reply's PSN have arrived.
    fn acknowledge(&mut self, now: Instant, reply: &RdmaReply, telemetry: &[Telemetry]) {
        let psn = reply.psn;
        if psn > self.sent {
            return;
        }
        self.marked |= reply.marked;
        if psn <= self.una {
            return;
        }
        let number = self.messages.offset(self.config.mtu, psn);
        let ack = Ack {
            now,
            number,
            acked: Bytes(number - self.acked),
            next: self.sent_offset(),
            rtt: now.saturating_since(reply.echo),
            marked: std::mem::take(&mut self.marked),
            telemetry,
            utilisation: reply.utilisation,
        };
        self.control(|control, config| control.on_ack(config, &ack));
        self.una = psn;
        self.acked = number;
        // After go-back-N has moved `next` back, packets sent earlier may still arrive.
        self.next = self.next.max(psn);
        self.next_offset = self.next_offset.max(number);
        self.messages.release(psn);
        if self.scoreboard.as_mut().is_some_and(|board| !board.advance(psn)) {
            self.scoreboard = None;
        }
        (self.retries, self.rnr_retries) = (0, 0);
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.on_progress();
        }
        // IB specification, o9-85: an acknowledgement restarts the timer while packets are outstanding.
        self.timer = if self.next > self.una { now } else { Instant::MAX };
    }

    /// Handles a NAK: go-back-N retransmits everything from the missing packet on. The responder sends one NAK per PSN, so a second NAK for
    /// the same PSN is a duplicate from the network.
    fn on_nak(&mut self, now: Instant, psn: u64) {
        if psn < self.fresh_nak || psn != self.una {
            return;
        }
        self.fresh_nak = psn + 1;
        self.control(|control, config| control.on_loss(config, now, Loss::Nak));
        self.go_back();
    }

    /// Handles an RNR NAK: the requester waits, and then retransmits everything from the first packet of the message on. Copies of an RNR
    /// NAK that was already handled have no effect.
    fn on_rnr_nak(&mut self, now: Instant, psn: u64, timer: RnrTimer) {
        if psn != self.una || self.next == self.una {
            return;
        }
        self.go_back();
        let Operation::Send(send) = self.config.operation else { return };
        if send.rnr_retry == Some(self.rnr_retries) {
            self.ended = Some(Ended::RnrRetriesExhausted);
            return;
        }
        self.rnr_retries += 1;
        self.rnr_until = now + timer.time();
    }

    /// Handles a NACK for a packet that arrived out of order. The first such NACK begins a recovery.
    fn on_selective_nack(&mut self, now: Instant, arrived: u64) {
        if arrived <= self.una || arrived >= self.sent {
            return;
        }
        if self.scoreboard.is_none() {
            self.control(|control, config| control.on_loss(config, now, Loss::Nak));
        }
        let (una, sent) = (self.una, self.sent);
        self.scoreboard.get_or_insert_with(|| Box::new(Scoreboard::new(una, sent))).on_arrived(arrived);
    }

    fn on_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        let started = std::mem::replace(&mut self.timer, Instant::MAX);
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.on_timeout(started, self.config.timeout);
        }
        if self.is_exhausted(now) {
            self.ended = Some(Ended::RetriesExhausted);
            return;
        }
        self.retries += 1;
        self.control(|control, config| control.on_loss(config, now, Loss::Timeout));
        let (una, sent) = (self.una, self.sent);
        let lost_before = match self.config.recovery {
            Recovery::GoBackN => return self.go_back(),
            // All packets sent so far count as lost, except those known to have arrived.
            Recovery::SelectiveRepeat => sent,
            // Section 3.1: only the packet at the cumulative acknowledgement counts as lost; a later packet counts as lost if a packet
            // after it has arrived.
            Recovery::Irn(_) => una + 1,
        };
        let board = self.scoreboard.get_or_insert_with(|| Box::new(Scoreboard::new(una, sent)));
        board.on_timeout(una, sent, lost_before);
    }

    /// Returns whether a timeout at `now` ends the queue pair.
    fn is_exhausted(&self, now: Instant) -> bool {
        let Some(most) = self.config.retry_count else { return false };
        match &self.adaptive {
            None => self.retries == most,
            // `qp_total_timeout`: the queue pair fails if the time without progress reaches its timeout multiplied by its retry count.
            Some(adaptive) => adaptive.stuck_for(now) >= self.config.timeout * u64::from(most),
        }
    }

    /// Moves `next` back to the first packet that is not acknowledged.
    fn go_back(&mut self) {
        (self.next, self.next_offset) = (self.una, self.acked);
        self.requested = self.una;
        self.unrequested = 0;
        self.timer = Instant::MAX;
    }

    /// Returns the time at which the retransmission timer expires; `Instant::MAX` while it is stopped. IRN's timeout depends on the number
    /// of packets in flight at present (section 3.1), so the deadline moves as packets are sent.
    fn expiry(&self) -> Instant {
        if self.timer == Instant::MAX { Instant::MAX } else { self.timer + self.timeout() }
    }

    fn timeout(&self) -> Duration {
        match self.config.recovery {
            Recovery::Irn(irn) if self.next - self.una <= u64::from(irn.few) => irn.low_timeout,
            Recovery::Irn(irn) => irn.high_timeout,
            Recovery::GoBackN | Recovery::SelectiveRepeat => {
                self.adaptive.as_ref().map_or(self.config.timeout, |adaptive| adaptive.timeout())
            }
        }
    }

    /// Returns the time until which an RNR NAK or the rate delays the next packet. Returns `None` if the next packet may leave now, or if
    /// it must wait for posts or acknowledgements.
    fn waiting_until(&self) -> Option<Instant> {
        if self.rnr_until > self.now {
            return Some(self.rnr_until);
        }
        let ready_at = self.reaction.ready_at();
        (ready_at > self.now && self.sendable().is_some()).then_some(ready_at)
    }

    /// Returns the PSN of the next packet, if there is data and the window allows it. A lost packet needs no window, because it replaces a
    /// packet that is no longer in the network.
    fn sendable(&self) -> Option<u64> {
        if self.ended.is_some() || self.rnr_until > self.now {
            return None;
        }
        if let Some(lost) = self.scoreboard.as_ref().and_then(|board| board.lost()) {
            return Some(lost);
        }
        // A congestion control may close the window while no outstanding packet has AckReq. The requester then sends one more packet, whose
        // acknowledgement opens the window.
        let is_allowed =
            self.next < self.messages.packets() && (self.requested <= self.una || self.has_room());
        is_allowed.then_some(self.next)
    }

    /// Returns whether the window is open for the packet `next`.
    fn has_room(&self) -> bool {
        // IRN, section 3.2: packets in flight are those between the cumulative acknowledgement and the next packet (BDP-FC).
        if let Recovery::Irn(irn) = self.config.recovery
            && self.next - self.una >= u64::from(irn.window)
        {
            return false;
        }
        self.reaction.window().is_none_or(|window| self.in_flight() < window)
    }

    fn transmit(&mut self, now: Instant, psn: u64) -> RdmaData {
        let Segment { offset, len, first, last } = self.messages.segment(self.config.mtu, psn);
        let is_selective = psn < self.next;
        if psn < self.sent {
            self.stats.retransmits += 1;
        }
        if is_selective {
            self.scoreboard
                .as_mut()
                .expect("only the scoreboard names a packet before `next`")
                .on_retransmit(psn);
        } else {
            (self.next, self.next_offset) = (psn + 1, offset + u64::from(len));
            self.sent = self.sent.max(self.next);
        }
        let operation = match self.config.operation {
            Operation::Write => RdmaOperation::Write,
            Operation::Send(_) => RdmaOperation::Send,
            Operation::Read(_) => unreachable!("READs have requesters of their own"),
        };
        let mut packet = RdmaData {
            psn,
            offset,
            sent_at: now,
            len,
            operation,
            first,
            last,
            ack_request: false,
            utilisation: self.config.congestion.pint().map(|_| NonZeroU16::MIN),
        };
        let size = Bytes(u64::from(len) + u64::from(self.overhead)) + extended_headers(&packet);
        self.reaction.on_send(&self.config, now, size);
        if self.timer == Instant::MAX {
            self.timer = now;
        }
        self.unrequested += 1;
        packet.ack_request =
            last || is_selective || self.unrequested >= self.config.ack_every || !self.has_room();
        if packet.ack_request {
            self.requested = self.requested.max(psn + 1);
            self.unrequested = 0;
        }
        packet
    }
}
