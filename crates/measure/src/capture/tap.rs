//! Captured packets of one partition of a network, kept until they are written.

use shallows_core::Instant;
use shallows_core::packet::{Body, Header};

/// Captured packets. Packets of the same port are in the order in which they left.
#[derive(Debug, Default)]
pub struct Tap(Vec<CapturedPacket>);

/// Packet that started to leave the port of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct CapturedPacket {
    pub(super) at: Instant,
    pub(super) link: u32,
    pub(super) header: Header,
    /// Contents of the packet; `None` for a datagram.
    pub(super) body: Option<Body>,
}

impl Tap {
    /// Records a packet that starts to leave the port of a link.
    pub fn record(&mut self, at: Instant, link: u32, header: &Header, body: Option<&Body>) {
        self.0.push(CapturedPacket { at, link, header: *header, body: body.copied() });
    }

    /// Removes and returns the packets that left before `until`.
    pub(super) fn take_before(&mut self, until: Instant) -> impl Iterator<Item = CapturedPacket> + '_ {
        self.0.extract_if(.., move |captured| captured.at < until)
    }
}
