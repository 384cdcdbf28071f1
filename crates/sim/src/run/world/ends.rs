//! The driver of a network in a simulation: it stores packet bodies, notifies observers, and passes packets to other partitions.

use shallows_core::Instant;
use shallows_core::event::EventQueue;
use shallows_core::packet::{Header, HostId};
use shallows_measure::Lost;

use crate::hosts::packet::{PacketRef, Packets, Queued};
use crate::network::event::{Class, Event};
use crate::network::link::Target;
use crate::network::{Change, Driver, LinkAt};
use crate::run::crossing::Exits;
use crate::run::observers::Observers;

/// Packet bodies, observers, and the exits to other partitions.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) packets: Packets,
    pub(super) observers: Observers,
    /// Links to other partitions, and the packets that were sent on them.
    pub(super) exits: Exits,
    /// Whether hosts are notified of packets with data that their NICs drop. `dropped` contains the pending notifications.
    pub(super) tells_drops: bool,
    pub(super) dropped: Vec<(HostId, Queued)>,
}

/// Driver of a network in a simulation: packet bodies, observers and exits, with the event queue.
pub(super) struct Around<'a> {
    pub(super) ends: &'a mut Ends,
    pub(super) queue: &'a mut EventQueue<Event>,
}

impl Driver<PacketRef> for Around<'_> {
    #[inline(always)]
    fn now(&self) -> Instant {
        self.queue.now()
    }

    #[inline(always)]
    fn transmit_at(&mut self, at: Instant, link: LinkAt) {
        self.queue.schedule(at, Event::of_link(Class::Transmit, link.rank, link.place));
    }

    #[inline(always)]
    fn deliver_at(&mut self, at: Instant, link: LinkAt) {
        self.queue.schedule(at, Event::of_link(Class::Deliver, link.rank, link.place));
    }

    fn pause_at(&mut self, at: Instant, link: LinkAt) {
        self.queue.schedule(at, Event::of_link(Class::Pause, link.rank, link.place));
    }

    fn nothing(&self) -> PacketRef {
        PacketRef::NONE
    }

    fn change_at(&mut self, at: Instant, epoch: u32) {
        self.queue.schedule(at, Event::of_epoch(epoch));
    }

    fn cancel_transmit(&mut self, at: Instant, link: LinkAt) {
        let found = self.queue.cancel(at, Event::of_link(Class::Transmit, link.rank, link.place));
        assert!(found, "a port that is to send has an event");
    }

    fn cancel_deliver(&mut self, at: Instant, link: LinkAt) {
        let found = self.queue.cancel(at, Event::of_link(Class::Deliver, link.rank, link.place));
        assert!(found, "the first packet in flight has an event");
    }

    #[inline(never)]
    fn observe(&mut self, now: Instant, change: Change<'_, PacketRef>) {
        self.ends.observers.port_changed(now, change, &mut self.ends.packets);
    }

    #[inline(always)]
    fn leave(&mut self, exit: u32, arrival: Instant, header: Header, payload: PacketRef) {
        self.ends.exits.leave(exit, arrival, header, payload);
    }

    fn lose(&mut self, exit: u32) -> Lost {
        self.ends.exits.lose(exit, &mut self.ends.packets)
    }

    #[inline(always)]
    fn expect(&self, target: Target, payload: PacketRef) {
        // Only a host or an exit to another partition reads the body of the packet.
        if matches!(target, Target::Host) || self.ends.exits.are_there() {
            self.ends.packets.prefetch(payload);
        }
    }

    fn discard(&mut self, host: Option<HostId>, payload: PacketRef) -> bool {
        if let Some(host) = host
            && self.ends.tells_drops
            && let Some(queued) = self.ends.packets.queued(payload)
        {
            self.ends.dropped.push((host, queued));
        }
        self.ends.packets.discard(payload)
    }
}
