//! The responder of a queue pair: replies to data.

use shallows_core::Instant;
use shallows_core::rdma::{RdmaData, RdmaReply};

use crate::Config;

/// Replies to a packet: at most an acknowledgement (or a negative one) and a CNP.
pub type Replies = [Option<RdmaReply>; 2];

/// The responder of a queue pair.
#[derive(Debug, Default)]
pub struct Responder {}

impl Responder {
    /// Creates a responder that expects the packet with PSN 0.
    pub fn new(_config: &Config) -> Self {
        Self {}
    }

    /// Creates a responder that has received all packets before `psn`, with `received` bytes.
    pub fn resuming(_config: &Config, _psn: u64, _received: u64) -> Self {
        Self {}
    }

    /// Processes a packet; `marked` is true if a switch has marked it with CE.
    pub fn on_data(&mut self, _config: &Config, _now: Instant, _packet: &RdmaData, _marked: bool) -> Replies {
        todo!()
    }

    /// Returns the number of bytes that have arrived without a gap.
    pub fn received(&self) -> u64 {
        todo!()
    }

    /// Returns the time at which [`Self::on_timer`] must be called, if any.
    pub fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Handles the expiry of the deadline; returns the CNP that is due.
    pub fn on_timer(&mut self, _config: &Config, _now: Instant) -> Option<RdmaReply> {
        None
    }
}
