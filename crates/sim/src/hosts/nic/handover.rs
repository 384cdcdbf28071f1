//! How a NIC pulls packets from an endpoint: in bursts, paced or not, and not while too much of the endpoint waits in its queue.

use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant};
use shallows_scenario::Offloads;
use shallows_transport::{SmallQueue, Tso};

use crate::hosts::nic::account::Account;
use crate::hosts::packet::DataPacket;

/// Source from which a NIC pulls packets, such as an endpoint. It knows its window, rate and data; the [`Handover`] decides about bursts and backpressure.
pub(crate) trait PacketSource {
    /// The packet that it sends now, if its own rules let it send one.
    fn poll_transmit(&mut self, now: Instant) -> Option<(Header, DataPacket)>;

    /// Its account at the NIC.
    fn account(&mut self) -> &mut Account;

    /// Whether `queued` bytes of it in the NIC's queue are as many as may wait there.
    fn is_full(&self, rule: &SmallQueue, tso: Option<&Tso>, queued: Bytes) -> bool;

    /// When it is to be polled again, if nothing happens before.
    fn deadline(&self) -> Option<Instant>;

    /// Packets of the burst that it begins now; 0 if it has nothing, or waits to make the burst larger.
    fn next_burst(&self, _tso: Option<&Tso>) -> u32 {
        1
    }

    /// A packet with so much data leaves: if it is paced, its next burst is later by that.
    fn pace(&mut self, _data: Bytes) {}

    /// The NIC has stopped pulling; says whether that was because too much of it is queued.
    fn hold(&mut self, _held: bool) {}
}

/// The rules by which a NIC pulls from endpoints that are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Handover {
    /// Whether anything can hold back a packet that its endpoint would send. Where nothing can, this is all that is read.
    holds: bool,
    offloads: Offloads,
    /// Limits what waits of each endpoint in the NIC's queue. `None` pushes everything into the queue.
    backpressure: Option<SmallQueue>,
}

impl Handover {
    /// By the offloads of a host, of which it paces endpoints that set a rate in any case.
    pub(crate) fn new(offloads: Offloads, backpressure: Option<SmallQueue>, sets_rate: bool) -> Self {
        let offloads = Offloads { paced: offloads.paced || sets_rate, ..offloads };
        let mut handover = Self { holds: false, offloads, backpressure };
        handover.holds = backpressure.is_some() || handover.shapes();
        handover
    }

    /// Whether it chooses the times of packets.
    pub(crate) fn paces(&self) -> bool {
        self.offloads.paced
    }

    /// Pull the next packet, if one may go now.
    #[inline(always)]
    pub(crate) fn pull(&self, source: &mut impl PacketSource, now: Instant) -> Option<(Header, DataPacket)> {
        if self.holds && !self.lets_go(source, now) {
            return None;
        }
        let (header, packet) = source.poll_transmit(now)?;
        if self.holds {
            self.on_pull(source, header.size(), Bytes(u64::from(packet.segment.len)));
        }
        Some((header, packet))
    }

    /// Nothing more is pulled now. Returns when the source is to be polled again, if nothing happens before.
    #[inline(always)]
    pub(crate) fn rest(&self, source: &mut impl PacketSource) -> Option<Instant> {
        if !self.holds {
            return source.deadline();
        }
        let next = self.rest_burst(source);
        let deadline = source.deadline();
        next.map_or(deadline, |next| Some(deadline.map_or(next, |deadline| deadline.min(next))))
    }

    /// Whether it hands over anything else than one packet after the other as soon as they may go.
    #[inline]
    fn shapes(&self) -> bool {
        self.offloads.tso.is_some() || self.offloads.paced
    }

    /// Whether too much of a source waits in the NIC's queue.
    #[inline]
    fn is_full(&self, source: &mut impl PacketSource) -> bool {
        let Some(rule) = &self.backpressure else { return false };
        let queued = source.account().queued;
        source.is_full(rule, self.offloads.tso.as_ref(), queued)
    }

    /// Whether the next packet of a source may go, as far as the NIC is concerned.
    #[inline]
    fn lets_go(&self, source: &mut impl PacketSource, now: Instant) -> bool {
        if self.shapes() {
            return source.account().left > 0 || self.begins(source, now);
        }
        !self.is_full(source)
    }

    /// A packet goes, of so many bytes on the wire and with so much data.
    #[inline]
    fn on_pull(&self, source: &mut impl PacketSource, size: Bytes, data: Bytes) {
        if self.backpressure.is_some() && data > Bytes(0) {
            source.account().queued += size;
        }
        if self.shapes() {
            on_pull_of_burst(source, data);
        }
    }

    /// Returns when the next burst may begin, if it waits for its time.
    #[inline]
    fn rest_burst(&self, source: &mut impl PacketSource) -> Option<Instant> {
        if self.backpressure.is_some() {
            let held = self.is_full(source);
            source.hold(held);
        }
        if self.shapes() { source.account().rest() } else { None }
    }

    /// Begin the next burst of a source, if it may.
    #[inline(never)]
    fn begins(&self, source: &mut impl PacketSource, now: Instant) -> bool {
        if self.is_full(source) {
            return false;
        }
        let packets = source.next_burst(self.offloads.tso.as_ref());
        let account = source.account();
        if packets > 0 && self.offloads.paced {
            account.waits = account.pacer.next() > now;
            if account.waits {
                return false;
            }
            account.pacer.begin(now);
        }
        account.left = packets;
        packets > 0
    }
}

#[inline(never)]
fn on_pull_of_burst(source: &mut impl PacketSource, data: Bytes) {
    let account = source.account();
    account.left = account.left.saturating_sub(1);
    if data > Bytes(0) {
        source.pace(data);
    }
}
