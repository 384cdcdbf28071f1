//! Host-wide agents: what controls all connections of a host together, at its NIC.

use std::fmt::Debug;

use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant};
use shallows_transport::receive_window::ictcp::Ictcp;

use crate::hosts::packet::Packet;

/// One agent, of one host. It is driven by what the host takes up, and by its own deadline.
pub(crate) trait HostAgent: Debug + Send {
    /// The host takes up a packet of any kind, or several merged ones, of `bytes` on the wire.
    fn on_packet(&mut self, now: Instant, bytes: Bytes);

    /// The host takes up `data` bytes of a connection, named by the slot of its receiver, that echo the timestamp `echo`, zero if none. Called
    /// after [`Self::on_packet`]. Returns the window to advertise from now on, if the agent sets windows.
    fn on_data(&mut self, now: Instant, connection: u32, data: Bytes, echo: Instant) -> Option<Bytes>;

    /// A connection has closed; its slot may be used again.
    fn on_close(&mut self, connection: u32);

    /// When [`Self::poll`] is due next, if nothing arrives before. Read after everything that the agent is handed.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// The next packet that the agent sends now; called until there is none.
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
