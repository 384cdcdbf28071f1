//! The responder of RDMA READs: responses to send, and their congestion control.
//!
//! The responder has no retransmission timer and keeps no response: a requester that misses a response must request that response again.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;

use shallows_core::rdma::{RdmaData, RdmaOperation, RdmaReadRequest, RdmaReply, RdmaReplyKind};
use shallows_core::{Bytes, Instant, Rate};

use crate::config::{Config, extended_headers};
use crate::congestion::{Digest, Pace};
use crate::reaction_point::ReactionPoint;

/// The responder of READs. It sends responses in the order of their PSNs.
///
/// After each call of any other method, the driver calls [`Self::poll_transmit`] until the NIC is busy or there is no response, and then
/// reads [`Self::deadline`].
#[derive(Debug)]
pub struct ReadResponder {
    reaction: ReactionPoint,
    overhead: Bytes,
    /// PSN of the next new request.
    expected: u64,
    /// Whether a NAK for `expected` was sent.
    naked: bool,
    /// Responses to send, in the order of their PSNs.
    reads: VecDeque<Read>,
    /// PSN after the last response that was ever sent.
    sent: u64,
    /// Retransmitted responses.
    retransmits: u32,
    /// Time of the last call.
    now: Instant,
}

/// Unsent responses to one request.
#[derive(Clone, Copy, Debug)]
struct Read {
    /// PSN of the next response; `end` is the PSN after the last response.
    psn: u64,
    end: u64,
    /// Number of bytes that precede the next response in the data of the queue pair.
    offset: u64,
    /// Bytes in the responses.
    bytes: u64,
    /// Whether the next response is the first response to the request.
    is_new: bool,
}

impl ReadResponder {
    /// Creates a responder that expects the request with PSN 0. `line_rate` is the rate of the NIC's link; `overhead` is the number of
    /// bytes that a response has on the wire in addition to its data and to extended headers.
    pub fn new(config: &Config, line_rate: Rate, overhead: Bytes) -> Self {
        Self {
            reaction: ReactionPoint::new(&config.congestion, line_rate),
            overhead,
            expected: 0,
            naked: false,
            reads: VecDeque::new(),
            sent: 0,
            retransmits: 0,
            now: Instant::ZERO,
        }
    }

    /// Processes a request; returns a NAK if earlier requests are missing. The responder sends one NAK per gap, like the responder of
    /// WRITEs and SENDs.
    pub fn on_request(
        &mut self,
        config: &Config,
        now: Instant,
        request: &RdmaReadRequest,
    ) -> Option<RdmaReply> {
        self.on_timer(config, now);
        let end = request.psn + request.bytes.div_ceil(config.mtu.0);
        match request.psn.cmp(&self.expected) {
            Ordering::Greater => {
                let is_first = !std::mem::replace(&mut self.naked, true);
                return is_first.then(|| self.nak(request));
            }
            Ordering::Equal => {
                self.naked = false;
                self.expected = end;
            }
            // InfiniBand specification, volume 1: a duplicate request is executed again.
            Ordering::Less => {}
        }
        self.execute(request, end);
        None
    }

    /// Handles a congestion notification packet.
    pub fn on_cnp(&mut self, config: &Config, now: Instant) {
        self.now = now;
        self.reaction.control(&config.congestion, |control, config| control.on_cnp(config, now));
    }

    /// Returns the response to send now, if requests and rate allow one.
    pub fn poll_transmit(&mut self, config: &Config, now: Instant) -> Option<RdmaData> {
        self.now = now;
        if now < self.reaction.ready_at() {
            return None;
        }
        let read = self.reads.front_mut()?;
        let len = read.bytes.min(config.mtu.0);
        let response = RdmaData {
            psn: read.psn,
            offset: read.offset,
            sent_at: now,
            len: len as u16,
            operation: RdmaOperation::ReadResponse,
            first: std::mem::take(&mut read.is_new),
            last: len == read.bytes,
            ..RdmaData::default()
        };
        (read.psn, read.offset, read.bytes) = (read.psn + 1, read.offset + len, read.bytes - len);
        if response.last {
            self.reads.pop_front();
        }
        if response.psn < self.sent {
            self.retransmits += 1;
        }
        self.sent = self.sent.max(response.psn + 1);
        let size = Bytes(len) + self.overhead + extended_headers(&response);
        self.reaction.on_send(config, now, size);
        Some(response)
    }

    /// Returns the time at which [`Self::on_timer`] must be called and the responder polled again; `None` while the responder waits only
    /// for requests. A response that may leave now has no deadline, because the driver polls when the NIC is free.
    pub fn deadline(&self) -> Option<Instant> {
        if self.reads.is_empty() {
            return None;
        }
        let paced = Some(self.reaction.ready_at()).filter(|at| *at > self.now);
        self.reaction.deadline().into_iter().chain(paced).min()
    }

    /// Handles all timers of the congestion control that have expired.
    pub fn on_timer(&mut self, config: &Config, now: Instant) {
        self.now = now;
        self.reaction.on_timer(&config.congestion, now);
    }

    /// Returns whether a response with some of these bytes is still unsent.
    pub fn owes(&self, bytes: &Range<u64>) -> bool {
        self.reads.iter().any(|read| bytes.contains(&read.offset))
    }

    /// Returns the rate and window of the congestion control.
    pub fn pace(&self) -> Pace {
        self.reaction.pace()
    }

    /// Returns α of the congestion control, if it has one.
    pub fn alpha(&self, config: &Config) -> Option<f64> {
        self.reaction.alpha(&config.congestion, self.now)
    }

    /// Returns the number of retransmitted responses.
    pub fn retransmits(&self) -> u32 {
        self.retransmits
    }

    /// Returns the counts of the congestion control's actions.
    pub fn digest(&self) -> Digest {
        self.reaction.digest()
    }

    /// Adds the responses to a request, up to the PSN `end`. They replace unsent responses to the same READ.
    fn execute(&mut self, request: &RdmaReadRequest, end: u64) {
        let RdmaReadRequest { psn, offset, bytes, .. } = *request;
        self.reads.retain(|read| read.end <= psn || read.psn >= end);
        let place = self.reads.partition_point(|read| read.psn < psn);
        self.reads.insert(place, Read { psn, end, offset, bytes, is_new: true });
    }

    fn nak(&self, request: &RdmaReadRequest) -> RdmaReply {
        let psn = self.expected;
        RdmaReply { kind: RdmaReplyKind::Nak, psn, echo: request.sent_at, ..RdmaReply::default() }
    }
}
