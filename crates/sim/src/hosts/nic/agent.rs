//! Host-wide agents: each controls all connections of one host together, at the host's NIC.

use std::fmt::Debug;

use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant};
use shallows_transport::receive_window::ictcp::Ictcp;

use crate::hosts::packet::Packet;

/// Agent of one host. It acts when the host processes a packet, and at its own deadline.
pub(crate) trait HostAgent: Debug + Send {
    /// Handles a packet of any kind, or several merged packets, with `bytes` bytes on the wire.
    fn on_packet(&mut self, now: Instant, bytes: Bytes);

    /// Handles `data` bytes that arrive on a connection. Called after [`Self::on_packet`] for the same packet. Returns the receive window
    /// to advertise from now on; `None` if the agent does not set windows.
    ///
    /// `connection` is the slot of the connection's receiver. `echo` is the timestamp that the packet echoes, or zero.
    fn on_data(&mut self, now: Instant, connection: u32, data: Bytes, echo: Instant) -> Option<Bytes>;

    /// Handles the end of a connection; its slot may be reused.
    fn on_close(&mut self, connection: u32);

    /// Returns the time at which [`Self::poll`] must be called even if no packet arrives. The NIC reads this time after each call of
    /// another method.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Returns the next packet that the agent sends now; called until it returns `None`.
    fn poll(&mut self, _now: Instant) -> Option<(Header, Packet)> {
        None
    }
}

impl HostAgent for Ictcp {
    fn on_packet(&mut self, now: Instant, bytes: Bytes) {
        Self::on_packet(self, now, bytes);
    }

    fn on_data(&mut self, now: Instant, connection: u32, data: Bytes, echo: Instant) -> Option<Bytes> {
        Some(Self::on_data(self, now, connection, data, echo))
    }

    fn on_close(&mut self, connection: u32) {
        self.close(connection);
    }
}
