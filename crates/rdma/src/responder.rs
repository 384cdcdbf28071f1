//! The responder of a queue pair: replies to data.

use std::cmp::Ordering;
use std::collections::VecDeque;

use shallows_core::Instant;
use shallows_core::rdma::{RdmaData, RdmaReply, RdmaReplyKind};

use crate::config::{Config, Operation, ReceiveQueue, Recovery};
use crate::notification::{Cause, NotificationPoint};
use crate::ranges::Ranges;

/// Replies to a packet: at most one positive or negative acknowledgement, and at most one CNP.
pub type Replies = [Option<RdmaReply>; 2];

/// The responder of a queue pair.
#[derive(Debug, Default)]
pub struct Responder {
    /// PSN of the next packet in order.
    expected: u64,
    /// Number of bytes in the packets before `expected`.
    received: u64,
    /// Packets above a gap, with the number of bytes up to the end of each packet. Go-back-N holds only packets within its tolerance of
    /// reordering.
    held: Ranges<u64>,
    /// Whether a NAK for `expected` was sent.
    naked: bool,
    /// For each receive work request that a SEND has consumed, the time at which it is posted again; [`Instant::MAX`] until the SEND is
    /// complete. Only the last entry can belong to an incomplete SEND.
    consumed: VecDeque<Instant>,
    /// Whether a packet was marked since the last acknowledgement.
    marked: bool,
    notification: NotificationPoint,
}

impl Responder {
    /// Creates a responder that expects the packet with PSN 0.
    pub fn new(config: &Config) -> Self {
        Self::resuming(config, 0, 0)
    }

    /// Creates a responder that has received all packets before `psn`, with `received` bytes.
    pub fn resuming(_config: &Config, psn: u64, received: u64) -> Self {
        Self { expected: psn, received, ..Self::default() }
    }

    /// Processes a packet; `marked` is true if a switch has marked it with CE.
    pub fn on_data(&mut self, config: &Config, now: Instant, packet: &RdmaData, marked: bool) -> Replies {
        self.marked |= marked;
        // A packet beyond the tolerance is out of order.
        let is_out_of_order = packet.psn > self.expected + config.reordering;
        let kind = match packet.psn.cmp(&self.expected) {
            // IB specification, C9-110: a duplicate is acknowledged again, because the first acknowledgement may be lost.
            Ordering::Less => Some(RdmaReplyKind::Ack),
            Ordering::Equal => match self.take_receive(config, now, packet) {
                Some(queue) => {
                    // The responder drops later packets in silence, as after any other NAK.
                    self.naked = true;
                    Some(RdmaReplyKind::RnrNak(queue.rnr_timer))
                }
                None => self.accept(config, packet),
            },
            Ordering::Greater if is_out_of_order => self.detect_gap(config, packet),
            Ordering::Greater => {
                self.hold(packet);
                None
            }
        };
        let answer = kind.map(|kind| {
            let marked = std::mem::take(&mut self.marked);
            RdmaReply { utilisation: packet.utilisation, ..self.reply(kind, packet.sent_at, marked) }
        });
        let is_cause = marked || (is_out_of_order && config.notification.out_of_order);
        let cause = Cause { sent_at: packet.sent_at, marked };
        let due = is_cause.then(|| self.notification.on_cause(&config.notification, now, cause)).flatten();
        [answer, due.map(|cause| self.cnp(cause))]
    }

    /// Returns the number of bytes that have arrived without a gap.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns the time at which [`Self::on_timer`] must be called, if any.
    pub fn deadline(&self) -> Option<Instant> {
        self.notification.deadline()
    }

    /// Handles the expiry of the deadline; returns the CNP that is due.
    pub fn on_timer(&mut self, _config: &Config, now: Instant) -> Option<RdmaReply> {
        self.notification.take_due(now).map(|cause| self.cnp(cause))
    }

    /// Takes a receive work request if the expected packet begins a SEND. Schedules the next post of the work request if the packet ends a
    /// SEND. Returns the receive queue if no work request is left.
    fn take_receive(&mut self, config: &Config, now: Instant, packet: &RdmaData) -> Option<ReceiveQueue> {
        let Operation::Send(send) = config.operation else { return None };
        let queue = send.receive?;
        while self.consumed.pop_front_if(|at| *at <= now).is_some() {}
        if packet.first {
            if self.consumed.len() >= queue.depth as usize {
                return Some(queue);
            }
            self.consumed.push_back(Instant::MAX);
        }
        if packet.last {
            *self.consumed.back_mut().expect("the first packet has taken a work request") =
                now + queue.refill;
        }
        None
    }

    /// Accepts the expected packet, and the held packets that follow it. Returns an acknowledgement in three cases: the packet requests
    /// one, `ack_every` is 1, or the packet fills a gap. Packets above the gap may have requested acknowledgements that were not sent.
    fn accept(&mut self, config: &Config, packet: &RdmaData) -> Option<RdmaReplyKind> {
        debug_assert_eq!(
            packet.offset, self.received,
            "both sides assign PSN {} to the same bytes",
            packet.psn
        );
        self.naked = false;
        self.expected += 1;
        self.received += u64::from(packet.len);
        let held = self.held.take(self.expected);
        if let Some((end, received)) = held {
            (self.expected, self.received) = (end, received);
        }
        let is_due = packet.ack_request || config.ack_every == 1 || held.is_some();
        is_due.then_some(RdmaReplyKind::Ack)
    }

    /// Handles a packet that is ahead of the expected packet by more than the tolerance.
    fn detect_gap(&mut self, config: &Config, packet: &RdmaData) -> Option<RdmaReplyKind> {
        match config.recovery {
            // One NAK per gap: the responder then drops packets in silence until the missing one arrives.
            Recovery::GoBackN => (!std::mem::replace(&mut self.naked, true)).then_some(RdmaReplyKind::Nak),
            // IRN, section 3.1: each packet that arrives out of order causes a NACK with its PSN and the cumulative acknowledgement.
            Recovery::SelectiveRepeat | Recovery::Irn(_) => {
                self.hold(packet);
                Some(RdmaReplyKind::SelectiveNack { arrived: packet.psn })
            }
        }
    }

    /// Holds a packet above a gap.
    fn hold(&mut self, packet: &RdmaData) {
        self.held.insert(packet.psn, packet.offset + u64::from(packet.len));
    }

    fn cnp(&self, cause: Cause) -> RdmaReply {
        self.reply(RdmaReplyKind::Cnp, cause.sent_at, cause.marked)
    }

    fn reply(&self, kind: RdmaReplyKind, echo: Instant, marked: bool) -> RdmaReply {
        RdmaReply { kind, psn: self.expected, received: self.received, echo, marked, utilisation: None }
    }
}
