//! A node that counts its packets at ingress and at egress.

use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant};

use super::book::IngressBook;
use super::class_maps::ClassMaps;
use super::pool::GroupId;
use crate::node::{Effects, Node};
use crate::port::{Arrival, Departure, Ingress, Port};

/// A node, its ingress book, and the maps of its traffic classes.
#[derive(Debug)]
pub struct TwoBooks<'a, L> {
    /// The node, whose memory is the egress book.
    pub node: Node<'a, L>,
    /// The ingress book.
    pub ingress: &'a mut IngressBook,
    /// Class maps of all ports.
    pub maps: &'a ClassMaps,
}

/// Payload of a packet, with the account that the ingress book has charged for the packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted<T> {
    /// The driver's reference to the rest of the packet.
    pub payload: T,
    group: GroupId,
    size: Bytes,
}

impl<L> TwoBooks<'_, L> {
    /// Handles a packet that arrived through `ingress` and must leave through `port`. All dropped packets (the arriving one, or waiting
    /// ones) are passed to `effects`.
    ///
    /// A packet that finds its port idle leaves at once and is charged in neither book. After every call of a function of this type, the
    /// driver must carry out the signals that [`IngressBook::next_signal`] returns.
    pub fn receive<T: Copy + Default>(
        &mut self,
        now: Instant,
        port: u32,
        ingress: Ingress,
        header: Header,
        payload: T,
        effects: &mut impl Effects<T>,
    ) -> Arrival<T>
    where
        L: AsMut<Port<Counted<T>>>,
    {
        let (group, size) = (self.ingress.group(ingress, self.maps.group(header.class())), header.size());
        if self.ingress.room(group, size).is_err() {
            self.ingress.refuse(group);
            effects.drops(port, payload);
            return Arrival::Dropped;
        }
        let mut dropped = Vec::new();
        let own = Counted { payload, group, size };
        let arrival = self.node.receive(now, port, ingress, header, own, &mut dropped);
        if matches!(arrival, Arrival::Dropped) {
            // The packet itself is the last of the dropped ones, and the ingress book has not charged it.
            let own = dropped.pop().expect("the node has dropped the packet");
            effects.drops(port, own.payload);
        }
        for other in dropped {
            self.ingress.release(other.group, other.size);
            effects.drops(port, other.payload);
        }
        match arrival {
            Arrival::Sent(departure) => Arrival::Sent(departure.map(|own| own.payload)),
            Arrival::Queued => {
                self.ingress.admit(group, size).expect("there was room before the packet joined its queue");
                Arrival::Queued
            }
            Arrival::Dropped => Arrival::Dropped,
        }
    }

    /// Sends all packets due up to and including `until`, as [`Node::advance`] does, and frees their memory in both books.
    pub fn advance<T: Copy + Default>(&mut self, until: Instant, effects: &mut impl Effects<T>)
    where
        L: AsMut<Port<Counted<T>>>,
    {
        self.node.advance(until, &mut Freeing { ingress: self.ingress, effects });
    }
}

/// Frees the ingress memory of packets that leave or are dropped.
struct Freeing<'a, E> {
    ingress: &'a mut IngressBook,
    effects: &'a mut E,
}

impl<T, E: Effects<T>> Effects<Counted<T>> for Freeing<'_, E> {
    fn departs(&mut self, port: u32, departure: Departure<Counted<T>>) {
        self.ingress.release(departure.payload.group, departure.payload.size);
        self.effects.departs(port, departure.map(|counted| counted.payload));
    }

    fn drops(&mut self, port: u32, payload: Counted<T>) {
        self.ingress.release(payload.group, payload.size);
        self.effects.drops(port, payload.payload);
    }
}
