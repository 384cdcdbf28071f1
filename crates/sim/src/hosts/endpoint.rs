//! The sending side of a TCP connection as its NIC sees it.

use shallows_core::packet::{Header, PacketKind};
use shallows_core::{Bytes, Instant};
use shallows_transport::{SmallQueue, Tso};

use crate::hosts::connection::{Name, SenderSide};
use crate::hosts::nic::account::Account;
use crate::hosts::nic::handover::Endpoint;
use crate::hosts::packet::{Framing, NO_FLOW, Packet};
use crate::hosts::transports::Transport;

/// One sender, in this slot of its host.
pub(super) struct TcpSender<'a> {
    pub(super) side: &'a mut SenderSide,
    pub(super) transport: &'a Transport,
    pub(super) slot: u32,
}

impl Endpoint for TcpSender<'_> {
    #[inline(always)]
    fn poll_transmit(&mut self, now: Instant) -> Option<(Header, Packet)> {
        let Self { side, transport, slot } = self;
        let transmit = side.sender.poll_transmit(&transport.config, now)?;
        let segment = transmit.segment;
        let header =
            side.address.forward(transport.header_bytes + segment.len, transmit.ecn, PacketKind::Data);
        let framing = Framing {
            flow: side.flow.unwrap_or(NO_FLOW),
            start: side.flow_start,
            started: side.started,
            timeouts: side.sender.stats().timeouts - side.before.0,
        };
        let name = Name { slot: *slot, generation: side.generation };
        Some((header, Packet::data(segment, framing, name)))
    }

    #[inline(always)]
    fn account(&mut self) -> &mut Account {
        &mut self.side.account
    }

    #[inline]
    fn is_full(&self, rule: &SmallQueue, tso: Option<&Tso>, queued: Bytes) -> bool {
        let (sender, config) = (&self.side.sender, &self.transport.config);
        match tso {
            None => rule.is_full(sender, queued),
            Some(tso) => {
                let segments = tso.size(config, sender).0 / config.mss.0;
                rule.is_full_of(rule.packet * segments, sender, queued)
            }
        }
    }

    #[inline(always)]
    fn deadline(&self) -> Option<Instant> {
        self.side.sender.deadline()
    }

    fn next_burst(&self, tso: Option<&Tso>) -> u32 {
        let sender = &self.side.sender;
        let in_flight = sender.sent() > sender.acked();
        if sender.is_idle() || in_flight && sender.sendable() == Some(Bytes(0)) {
            return 0;
        }
        tso.map_or(1, |tso| tso.next(&self.transport.config, sender))
    }

    fn pace(&mut self, data: Bytes) {
        self.side.account.pacer.on_send(&self.side.sender, data);
    }

    #[inline]
    fn hold(&mut self, held: bool) {
        self.side.sender.hold(&self.transport.config, held);
    }
}
