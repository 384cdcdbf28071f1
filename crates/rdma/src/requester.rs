//! The requester of a queue pair: packets to send, and the processing of replies.

use std::sync::Arc;

use shallows_core::rdma::{RdmaData, RdmaReply};
use shallows_core::{Bytes, Instant, Rate};

use crate::Config;
use crate::congestion::{Algorithm, Digest, Pace};

/// Counts of a requester.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// Retransmitted packets.
    pub retransmits: u32,
    /// NAKs and NACKs received.
    pub naks: u32,
}

/// Reason for which a queue pair has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The retransmission timer expired more often in a row than [`Config::retry_count`] allows.
    RetriesExhausted,
}

/// The requester of a queue pair. It sends messages in the order in which they are posted.
#[derive(Debug)]
pub struct Requester {
    config: Arc<Config>,
    congestion: Algorithm,
    stats: Stats,
}

impl Requester {
    /// Creates a requester without messages. `line_rate` is the rate of the NIC's link; `overhead` is the number of bytes that a packet has
    /// on the wire in addition to its data.
    pub fn new(config: Arc<Config>, line_rate: Rate, _overhead: Bytes) -> Self {
        let congestion = config.congestion.build(line_rate);
        Self { config, congestion, stats: Stats::default() }
    }

    /// Posts a message of `bytes` bytes, at least 1. Each message begins with a new packet.
    pub fn post(&mut self, _now: Instant, _bytes: u64) {
        todo!()
    }

    /// Returns the number of bytes that have been posted.
    pub fn posted(&self) -> u64 {
        todo!()
    }

    /// Returns the number of bytes that are acknowledged.
    pub fn acked(&self) -> u64 {
        todo!()
    }

    /// Returns whether all posted bytes are acknowledged, or the queue pair has ended.
    pub fn is_idle(&self) -> bool {
        todo!()
    }

    /// Processes a packet from the responder.
    pub fn on_reply(&mut self, _now: Instant, _reply: &RdmaReply) {
        todo!()
    }

    /// Returns the packet to send now, if data, window and rate allow one.
    pub fn poll_transmit(&mut self, _now: Instant) -> Option<RdmaData> {
        todo!()
    }

    /// Returns the time at which [`Self::on_timer`] must be called and the requester polled again; `None` while it waits only for posts
    /// and replies.
    pub fn deadline(&self) -> Option<Instant> {
        todo!()
    }

    /// Handles the expiry of a deadline: retransmission timer, timers of the congestion control.
    pub fn on_timer(&mut self, _now: Instant) {
        todo!()
    }

    /// Returns the reason for which the queue pair has ended; `None` while it is usable.
    pub fn ended(&self) -> Option<Ended> {
        todo!()
    }

    /// Returns the counts.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Returns the rate and the window.
    pub fn pace(&self) -> Pace {
        self.congestion.pace()
    }

    /// Returns α of the congestion control, if it has one.
    pub fn alpha(&self) -> Option<f64> {
        None
    }

    /// Returns the bytes that are sent and not acknowledged.
    pub fn in_flight(&self) -> Bytes {
        todo!()
    }

    /// Returns the counts of the congestion control's actions.
    pub fn digest(&self) -> Digest {
        self.congestion.digest()
    }
}
