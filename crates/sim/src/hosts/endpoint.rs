//! Endpoints of connections: an enum of transports.
//!
//! A host passes bytes of flows and acknowledgements to an endpoint, and its NIC pulls packets from it ([`crate::hosts::pulling`]).
//! Endpoints contain no code for flows or pools of connections, which are the same for all transports.

use shallows_core::Instant;
use shallows_core::packet::{AckSegment, DataSegment};
use shallows_transport::{Backlog, Config, PacingRate, Sender, Stats, Transmit};

/// Transport of a connection's sending side.
#[derive(Debug)]
pub(crate) enum Endpoint {
    /// A TCP sender.
    Tcp(Sender),
}

impl Endpoint {
    pub(super) fn new(config: &Config) -> Self {
        Self::Tcp(Sender::new(config))
    }

    /// Appends bytes to the data to send.
    pub(super) fn write(&mut self, config: &Config, now: Instant, bytes: u64) {
        let Self::Tcp(sender) = self;
        sender.write(config, now, bytes);
    }

    /// Closes the stream after the bytes that have been written.
    pub(super) fn close(&mut self, config: &Config) {
        let Self::Tcp(sender) = self;
        sender.close(config);
    }

    /// Returns the sequence number after the last byte that has been written.
    #[inline]
    pub(super) fn written(&self) -> u64 {
        let Self::Tcp(sender) = self;
        sender.written()
    }

    /// Returns the sequence number of the first unacknowledged byte.
    #[inline]
    pub(crate) fn acked(&self) -> u64 {
        let Self::Tcp(sender) = self;
        sender.acked()
    }

    #[inline]
    pub(super) fn stats(&self) -> Stats {
        let Self::Tcp(sender) = self;
        sender.stats()
    }

    /// Processes an acknowledgement.
    #[inline(always)]
    pub(super) fn on_ack(&mut self, config: &Config, now: Instant, segment: &AckSegment) {
        let Self::Tcp(sender) = self;
        sender.on_ack(config, now, segment);
    }

    /// Processes the acknowledgement that a data segment of the other direction carries.
    pub(super) fn on_carried(&mut self, config: &Config, now: Instant, segment: &DataSegment) {
        let Self::Tcp(sender) = self;
        sender.on_carried(config, now, segment);
    }

    /// Returns the time at which the endpoint's timer expires.
    #[inline(always)]
    pub(super) fn deadline(&self) -> Option<Instant> {
        let Self::Tcp(sender) = self;
        sender.deadline()
    }

    /// Handles the expiry of the endpoint's timer.
    pub(super) fn on_timer(&mut self, config: &Config, now: Instant) {
        let Self::Tcp(sender) = self;
        sender.on_timer(config, now);
    }

    /// Returns the segment to send now, if window, rate and data allow one.
    #[inline(always)]
    pub(super) fn poll_transmit(&mut self, config: &Config, now: Instant) -> Option<Transmit> {
        let Self::Tcp(sender) = self;
        sender.poll_transmit(config, now)
    }

    /// Returns the data that the endpoint could send, from which burst sizes follow; `None` while the connection opens or repairs a loss.
    pub(super) fn backlog(&self) -> Option<Backlog> {
        let Self::Tcp(sender) = self;
        sender.backlog()
    }

    /// Returns whether all written bytes are acknowledged.
    pub(super) fn is_idle(&self) -> bool {
        let Self::Tcp(sender) = self;
        sender.is_idle()
    }

    /// Returns the endpoint's pacing rate, if it has one.
    #[inline]
    pub(super) fn pacing_rate(&self) -> Option<PacingRate> {
        let Self::Tcp(sender) = self;
        sender.pacing_rate()
    }

    /// Records whether the NIC has stopped pulling from the endpoint because of backpressure.
    #[inline]
    pub(super) fn hold(&mut self, config: &Config, held: bool) {
        let Self::Tcp(sender) = self;
        sender.hold(config, held);
    }

    /// Returns whether the NIC has stopped pulling from the endpoint because of backpressure.
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        let Self::Tcp(sender) = self;
        sender.is_held()
    }
}
