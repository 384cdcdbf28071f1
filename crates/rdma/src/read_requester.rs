//! The requester of RDMA READs: requests to send, and the processing of responses.
//!
//! A request reserves the PSNs of its responses. A response above a gap is an implied NAK (InfiniBand specification, volume 1): the
//! requester drops the response, and again requests everything from the missing response on.

use std::cmp::Ordering;
use std::sync::Arc;

use shallows_core::rdma::{RdmaData, RdmaReadRequest, RdmaReply, RdmaReplyKind};
use shallows_core::{Bytes, Instant};

use crate::config::{Config, Operation};
use crate::messages::Messages;
use crate::notification::{Cause, NotificationPoint};
use crate::requester::{Ended, Stats};

/// The requester of READs. It requests messages in the order in which they are posted.
///
/// After each call of any other method, the driver calls [`Self::poll_cnp`] and [`Self::poll_transmit`] until they return nothing, and then
/// reads [`Self::deadline`].
#[derive(Debug)]
pub struct ReadRequester {
    config: Arc<Config>,
    messages: Messages,
    /// PSN of the next response in order.
    expected: u64,
    /// Number of bytes in the responses before `expected`.
    received: u64,
    /// PSN of the next request. A loss moves it back.
    next: u64,
    /// PSN after the last response that was ever requested.
    requested: u64,
    /// Whether the response `expected` was requested again because a later response has arrived.
    naked: bool,
    /// Lowest PSN for which a NAK is not a duplicate.
    fresh_nak: u64,
    notification: NotificationPoint,
    /// CNP to send now.
    cnp: Option<Cause>,
    /// Time at which the retransmission timer was started; `Instant::MAX` while it is stopped.
    timer: Instant,
    /// Number of timeouts since the last progress.
    retries: u32,
    ended: Option<Ended>,
    stats: Stats,
}

impl ReadRequester {
    /// Creates a requester without messages.
    pub fn new(config: Arc<Config>) -> Self {
        Self {
            config,
            messages: Messages::default(),
            expected: 0,
            received: 0,
            next: 0,
            requested: 0,
            naked: false,
            fresh_nak: 0,
            notification: NotificationPoint::default(),
            cnp: None,
            timer: Instant::MAX,
            retries: 0,
            ended: None,
            stats: Stats::default(),
        }
    }

    /// Posts a READ of `bytes` bytes, at least 1.
    pub fn post(&mut self, bytes: u64) {
        self.messages.push(self.config.mtu, bytes);
    }

    /// Returns the number of bytes that have been posted.
    pub fn posted(&self) -> u64 {
        self.messages.bytes()
    }

    /// Returns the number of bytes that have arrived without a gap.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns the bytes that are requested and have not arrived.
    pub fn in_flight(&self) -> Bytes {
        Bytes(self.messages.offset(self.config.mtu, self.next) - self.received)
    }

    /// Returns whether all posted bytes have arrived, or the queue pair has ended.
    pub fn is_idle(&self) -> bool {
        self.expected == self.messages.packets() || self.ended.is_some()
    }

    /// Processes a response; `marked` is true if a switch has marked it with CE.
    pub fn on_response(&mut self, now: Instant, response: &RdmaData, marked: bool) {
        if self.ended.is_some() {
            return;
        }
        match response.psn.cmp(&self.expected) {
            Ordering::Less => {}
            Ordering::Equal => self.accept(now, response),
            Ordering::Greater => self.detect_gap(),
        }
        let is_early = response.psn > self.expected;
        if marked || (is_early && self.config.notification.out_of_order) {
            let cause = Cause { sent_at: response.sent_at, marked };
            self.cnp = self.notification.on_cause(&self.config.notification, now, cause);
        }
    }

    /// Processes a NAK: the responder lacks the requests from the NAK's PSN on. Responses to earlier requests still arrive. The responder
    /// sends one NAK per PSN, so a second NAK for the same PSN is a duplicate from the network.
    pub fn on_nak(&mut self, psn: u64) {
        if self.ended.is_some() {
            return;
        }
        self.stats.naks += 1;
        if psn < self.fresh_nak.max(self.expected) || psn >= self.next {
            return;
        }
        self.fresh_nak = psn + 1;
        self.go_back(psn);
    }

    /// Returns the CNP to send now, if any.
    pub fn poll_cnp(&mut self, now: Instant) -> Option<RdmaReply> {
        if self.ended.is_some() {
            return None;
        }
        let cause = self.cnp.take().or_else(|| self.notification.take_due(now))?;
        Some(RdmaReply {
            kind: RdmaReplyKind::ReadCnp,
            psn: self.expected,
            received: self.received,
            echo: cause.sent_at,
            marked: cause.marked,
            ..RdmaReply::default()
        })
    }

    /// Returns the request to send now, if the limit of outstanding READs allows one.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<RdmaReadRequest> {
        let Operation::Read(read) = self.config.operation else { return None };
        let is_allowed = self.messages.begun(self.next + 1) <= read.outstanding as usize;
        if self.ended.is_some() || self.next == self.messages.packets() || !is_allowed {
            return None;
        }
        let psn = self.next;
        let (end, bytes) = self.messages.rest(self.config.mtu, psn);
        if psn < self.requested {
            self.stats.retransmits += 1;
        }
        self.next = end;
        self.requested = self.requested.max(end);
        if self.timer == Instant::MAX {
            self.timer = now;
        }
        Some(RdmaReadRequest { psn, offset: self.messages.offset(self.config.mtu, psn), bytes, sent_at: now })
    }

    /// Returns the time at which [`Self::on_timer`] and [`Self::poll_cnp`] must be called; `None` while the requester waits only for posts
    /// and responses.
    pub fn deadline(&self) -> Option<Instant> {
        if self.ended.is_some() {
            return None;
        }
        [self.expiry(), self.notification.deadline()].into_iter().flatten().min()
    }

    /// Handles the expiry of the retransmission timer.
    pub fn on_timer(&mut self, now: Instant) {
        if self.expiry().is_none_or(|at| at > now) {
            return;
        }
        self.stats.timeouts += 1;
        if self.config.retry_count == Some(self.retries) {
            self.ended = Some(Ended::RetriesExhausted);
            return;
        }
        self.retries += 1;
        // A gap in the responses to the new request is detected like a gap in those to the first request.
        self.naked = false;
        self.go_back(self.expected);
    }

    /// Returns the reason for which the queue pair has ended; `None` while it is usable.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Returns the counts. A gap in the responses counts as a NAK. A new request for responses that were already requested counts as a
    /// retransmission.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Accepts the expected response, which counts as progress.
    fn accept(&mut self, now: Instant, response: &RdmaData) {
        debug_assert_eq!(
            response.offset, self.received,
            "both sides assign PSN {} to the same bytes",
            response.psn
        );
        self.naked = false;
        self.retries = 0;
        self.expected += 1;
        self.received += u64::from(response.len);
        // After a loss was assumed, the missing response may still arrive.
        self.next = self.next.max(self.expected);
        self.messages.release(self.expected);
        self.timer = if self.next > self.expected { now } else { Instant::MAX };
    }

    /// Handles a response above a gap. The requester requests the missing response once, and then drops responses until the missing one
    /// arrives.
    fn detect_gap(&mut self) {
        if !std::mem::replace(&mut self.naked, true) {
            self.stats.naks += 1;
            self.go_back(self.expected);
        }
    }

    /// Moves the next request back to this PSN, so that the requester again requests everything from this PSN on.
    fn go_back(&mut self, psn: u64) {
        self.next = psn;
        self.timer = Instant::MAX;
    }

    fn expiry(&self) -> Option<Instant> {
        (self.timer < Instant::MAX).then(|| self.timer + self.config.timeout)
    }
}
