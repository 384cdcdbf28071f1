//! Rules by which a NIC pulls packets from an endpoint: bursts, pacing, and backpressure.

use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant};
use shallows_scenario::Offloads;
use shallows_transport::{SmallQueue, Tso};

use crate::hosts::nic::account::Account;
use crate::hosts::packet::DataPacket;

/// Source from which a NIC pulls packets, such as an endpoint. The source has the window, the rate and the data; the [`Handover`] has the
/// rules for bursts and backpressure.
pub(crate) trait PacketSource {
    /// Returns the packet to send now, if the source's window, rate and data allow one.
    fn poll_transmit(&mut self, now: Instant) -> Option<(Header, DataPacket)>;

    /// Returns the NIC's records about this source.
    fn account(&mut self) -> &mut Account;

    /// Returns whether the source's bytes in the NIC's queue, `queued`, reach the limit of `rule`.
    fn is_full(&self, rule: &SmallQueue, tso: Option<&Tso>, queued: Bytes) -> bool;

    /// Returns the time at which the source must be polled again if no event occurs earlier.
    fn deadline(&self) -> Option<Instant>;

    /// Returns the number of packets of the burst that the source begins now; 0 if it has no packets, or waits for a larger burst.
    fn next_burst(&self, _tso: Option<&Tso>) -> u32 {
        1
    }

    /// Delays the next burst of a paced source after a packet with `data` bytes of data.
    fn pace(&mut self, _data: Bytes) {}

    /// Records that the NIC stops pulling; `held` is true if the reason is backpressure.
    fn hold(&mut self, _held: bool) {}
}

/// Rules by which a NIC pulls from endpoints of one configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Handover {
    /// Whether any rule can delay a packet; otherwise the other fields are not read.
    holds: bool,
    offloads: Offloads,
    /// Limit on the bytes of each endpoint in the NIC's queue. Without a limit (`None`), endpoints send everything into the queue.
    backpressure: Option<SmallQueue>,
}

impl Handover {
    /// Builds the rules from the offloads of a host; endpoints that set a rate are always paced.
    pub(crate) fn new(offloads: Offloads, backpressure: Option<SmallQueue>, sets_rate: bool) -> Self {
        let offloads = Offloads { paced: offloads.paced || sets_rate, ..offloads };
        let mut handover = Self { holds: false, offloads, backpressure };
        handover.holds = backpressure.is_some() || handover.shapes();
        handover
    }

    /// Returns whether an endpoint waits while too many of its bytes are in the NIC's queue.
    #[inline]
    pub(crate) fn has_backpressure(&self) -> bool {
        self.backpressure.is_some()
    }

    /// Returns whether these rules can delay packets by pacing.
    pub(crate) fn paces(&self) -> bool {
        self.offloads.paced
    }

    /// Pulls the next packet, if one may be sent now.
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

    /// Ends a series of pulls. Returns the time at which the source must be polled again if no event occurs earlier.
    #[inline(always)]
    pub(crate) fn rest(&self, source: &mut impl PacketSource) -> Option<Instant> {
        if !self.holds {
            return source.deadline();
        }
        let next = self.rest_burst(source);
        let deadline = source.deadline();
        next.map_or(deadline, |next| Some(deadline.map_or(next, |deadline| deadline.min(next))))
    }

    /// Returns whether these rules form bursts or pace packets. If not, each packet leaves as soon as backpressure allows.
    #[inline]
    fn shapes(&self) -> bool {
        self.offloads.tso.is_some() || self.offloads.paced
    }

    /// Returns whether too many bytes of a source wait in the NIC's queue.
    #[inline]
    fn is_full(&self, source: &mut impl PacketSource) -> bool {
        let Some(rule) = &self.backpressure else { return false };
        let queued = source.account().queued;
        source.is_full(rule, self.offloads.tso.as_ref(), queued)
    }

    /// Returns whether the rules of the NIC allow the next packet of a source.
    #[inline]
    fn lets_go(&self, source: &mut impl PacketSource, now: Instant) -> bool {
        if self.shapes() {
            return source.account().left > 0 || self.begins(source, now);
        }
        !self.is_full(source)
    }

    /// Accounts for a pulled packet of `size` bytes on the wire with `data` bytes of data.
    #[inline]
    fn on_pull(&self, source: &mut impl PacketSource, size: Bytes, data: Bytes) {
        if self.backpressure.is_some() && data > Bytes(0) {
            source.account().queued += size;
        }
        if self.shapes() {
            on_pull_of_burst(source, data);
        }
    }

    /// Returns the time at which the next burst may begin, if it must wait.
    #[inline]
    fn rest_burst(&self, source: &mut impl PacketSource) -> Option<Instant> {
        if self.backpressure.is_some() {
            let held = self.is_full(source);
            source.hold(held);
        }
        if self.shapes() { source.account().rest() } else { None }
    }

    /// Begins the next burst of a source, if the rules allow it; returns whether the burst has begun.
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
