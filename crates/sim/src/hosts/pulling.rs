//! The sending side of a connection as a packet source for its NIC.

use shallows_core::packet::{Header, PacketKind};
use shallows_core::{Bytes, Instant};
use shallows_transport::{Backlog, SmallQueue, Tso};

use crate::hosts::connection::SenderSide;
use crate::hosts::names::Name;
use crate::hosts::nic::account::Account;
use crate::hosts::nic::handover::PacketSource;
use crate::hosts::packet::DataPacket;
use crate::hosts::transports::Transport;

/// A sender, with its transport and its slot at the host.
pub(super) struct Pulling<'a> {
    pub(super) side: &'a mut SenderSide,
    pub(super) transport: &'a Transport,
    pub(super) slot: u32,
}

impl PacketSource for Pulling<'_> {
    #[inline(always)]
    fn poll_transmit(&mut self, now: Instant) -> Option<(Header, DataPacket)> {
        let Self { side, transport, slot } = self;
        let sender = side.endpoint.tcp_mut();
        let transmit = sender.poll_transmit(&transport.config, now)?;
        let timeouts = sender.stats().timeouts;
        let segment = transmit.segment;
        let header =
            side.address.forward(transport.header_bytes + segment.len, transmit.ecn, PacketKind::Data);
        let framing = side.framing(timeouts);
        let name = Name { slot: *slot, generation: side.generation };
        Some((header, DataPacket { segment, framing, name }))
    }

    #[inline(always)]
    fn account(&mut self) -> &mut Account {
        &mut self.side.account
    }

    #[inline]
    fn is_full(&self, rule: &SmallQueue, tso: Option<&Tso>, queued: Bytes) -> bool {
        let (rate, config) = (self.side.endpoint.tcp().pacing_rate(), &self.transport.config);
        match tso {
            None => rule.is_full(rate, queued),
            Some(tso) => {
                let segments = tso.size(config, rate).0 / config.mss.0;
                rule.is_full_of(rule.packet * segments, rate, queued)
            }
        }
    }

    #[inline(always)]
    fn deadline(&self) -> Option<Instant> {
        self.side.endpoint.tcp().deadline()
    }

    fn next_burst(&self, tso: Option<&Tso>) -> u32 {
        let sender = self.side.endpoint.tcp();
        let backlog = sender.backlog();
        let is_spent = |backlog: Backlog| backlog.sendable == Bytes(0) && backlog.in_flight > Bytes(0);
        if sender.is_idle() || backlog.is_some_and(is_spent) {
            return 0;
        }
        tso.map_or(1, |tso| tso.next(&self.transport.config, sender.pacing_rate(), backlog))
    }

    fn pace(&mut self, data: Bytes) {
        self.side.account.pacer.on_send(self.side.endpoint.tcp().pacing_rate(), data);
    }

    #[inline]
    fn hold(&mut self, held: bool) {
        self.side.endpoint.tcp_mut().hold(&self.transport.config, held);
    }
}
