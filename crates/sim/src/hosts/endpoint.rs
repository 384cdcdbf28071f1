//! Endpoints of connections: one enum of all transports.
//!
//! Its host hands it bytes, and what comes back from the far end; its NIC pulls packets from it
//! ([`crate::hosts::pulling`]). Where a connection stands among flows and pools is beside it, as that is the same for all
//! transports.

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

    /// So many bytes more are to be sent.
    pub(super) fn write(&mut self, config: &Config, now: Instant, bytes: u64) {
        let Self::Tcp(sender) = self;
        sender.write(config, now, bytes);
    }

    /// Nothing comes after what has been written.
    pub(super) fn close(&mut self, config: &Config) {
        let Self::Tcp(sender) = self;
        sender.close(config);
    }

    /// Sequence number after the last byte that has been written.
    #[inline]
    pub(super) fn written(&self) -> u64 {
        let Self::Tcp(sender) = self;
        sender.written()
    }

    /// Sequence number of the first byte that is not acknowledged.
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

    /// An acknowledgement has arrived.
    #[inline(always)]
    pub(super) fn on_ack(&mut self, config: &Config, now: Instant, segment: &AckSegment) {
        let Self::Tcp(sender) = self;
        sender.on_ack(config, now, segment);
    }

    /// Data of the other direction has arrived, which carries an acknowledgement.
    pub(super) fn on_carried(&mut self, config: &Config, now: Instant, segment: &DataSegment) {
        let Self::Tcp(sender) = self;
        sender.on_carried(config, now, segment);
    }

    /// When its timer fires.
    #[inline(always)]
    pub(super) fn deadline(&self) -> Option<Instant> {
        let Self::Tcp(sender) = self;
        sender.deadline()
    }

    /// Its timer has fired.
    pub(super) fn on_timer(&mut self, config: &Config, now: Instant) {
        let Self::Tcp(sender) = self;
        sender.on_timer(config, now);
    }

    /// The segment that it sends now, if its own rules let it send one.
    #[inline(always)]
    pub(super) fn poll_transmit(&mut self, config: &Config, now: Instant) -> Option<Transmit> {
        let Self::Tcp(sender) = self;
        sender.poll_transmit(config, now)
    }

    /// Data that it could send, for the forming of bursts; `None` while it repairs a loss.
    pub(super) fn backlog(&self) -> Option<Backlog> {
        let Self::Tcp(sender) = self;
        sender.backlog()
    }

    /// Whether all that was written is acknowledged.
    pub(super) fn is_idle(&self) -> bool {
        let Self::Tcp(sender) = self;
        sender.is_idle()
    }

    /// How fast its packets should leave; none if it does not know.
    #[inline]
    pub(super) fn pacing_rate(&self) -> Option<PacingRate> {
        let Self::Tcp(sender) = self;
        sender.pacing_rate()
    }

    /// Its NIC has stopped pulling, because too much of it is queued or not.
    #[inline]
    pub(super) fn hold(&mut self, config: &Config, held: bool) {
        let Self::Tcp(sender) = self;
        sender.hold(config, held);
    }

    /// Whether its NIC holds it back.
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        let Self::Tcp(sender) = self;
        sender.is_held()
    }
}
