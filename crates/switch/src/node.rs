//! A node: ports, the memory that they share, and the choice of the port by which a packet leaves.
//!
//! A switch is one, and so is a host, which has one port. A driver tells a node what arrives ([`Node::receive`]), and lets a port
//! send when that is due ([`Node::transmit`] at [`Node::wake_at`]); or it lets all of them send what is due by some time
//! ([`Node::advance`]). What comes of it the node tells [`Effects`].

use std::ops::Range;

use shallows_core::Instant;
use shallows_core::packet::Header;

use crate::buffer::SharedBuffer;
use crate::port::{Arrival, Departure, Ingress, Port};

/// A node, as far as its driver lends it what is its own: drivers keep the ports of all nodes in one array.
#[derive(Debug)]
pub struct Node<'a, L, P> {
    /// The ports of all nodes, or what holds each.
    pub all: &'a mut [L],
    /// Which of them are this node's.
    pub ports: Range<u32>,
    /// The memory behind them.
    pub memory: &'a mut SharedBuffer,
    /// What chooses among them.
    pub paths: P,
}

/// What chooses the port by which a node passes a packet on.
pub trait Paths {
    /// The place of that port among those of all nodes.
    fn port_of(&mut self, header: &Header) -> u32;
}

/// What a node does to the world around it. Ports are told by their place among those of all nodes.
pub trait Effects<T> {
    /// A packet starts to leave a port.
    fn departs(&mut self, port: u32, departure: Departure<T>);

    /// A port has dropped a packet.
    fn drops(&mut self, port: u32, payload: T);
}

impl<L, P> Node<'_, L, P> {
    /// A packet arrives, which the node sends on, keeps or drops. Returns the port that it chose.
    #[inline(always)]
    pub fn receive<T: Copy + Default>(
        &mut self,
        now: Instant,
        ingress: Ingress,
        header: Header,
        payload: T,
        effects: &mut impl Effects<T>,
    ) -> u32
    where
        L: AsMut<Port<T>>,
        P: Paths,
    {
        let port = self.paths.port_of(&header);
        let mut dropped = Dropped { port, effects };
        let at = self.all[port as usize].as_mut();
        if let Arrival::Sent(departure) = at.receive(now, ingress, header, payload, self.memory, &mut dropped)
        {
            effects.departs(port, departure);
        }
        port
    }

    /// A port is free: it sends the next packet that waits there.
    #[inline(always)]
    pub fn transmit<T: Copy + Default>(&mut self, now: Instant, port: u32, effects: &mut impl Effects<T>)
    where
        L: AsMut<Port<T>>,
    {
        let mut dropped = Dropped { port, effects };
        let departure = self.all[port as usize].as_mut().transmit_next(now, self.memory, &mut dropped);
        if let Some(departure) = departure {
            effects.departs(port, departure);
        }
    }

    /// When a port is to send next; never while nothing waits there.
    #[inline(always)]
    pub fn wake_at<T: Copy + Default>(&mut self, port: u32) -> Option<Instant>
    where
        L: AsMut<Port<T>>,
    {
        self.all[port as usize].as_mut().wake_at()
    }

    /// All ports send what is due until `until`, in the order of time, and of ports at equal times: what one sends gives room to the
    /// others.
    pub fn advance<T: Copy + Default>(&mut self, until: Instant, effects: &mut impl Effects<T>)
    where
        L: AsMut<Port<T>>,
    {
        while let Some((at, port)) =
            self.ports.clone().filter_map(|port| Some((self.wake_at(port)?, port))).min()
            && at <= until
        {
            self.transmit(at, port, effects);
        }
    }
}

/// What a port drops, on its way to the effects.
struct Dropped<'a, E> {
    port: u32,
    effects: &'a mut E,
}

impl<T, E: Effects<T>> Extend<T> for Dropped<'_, E> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, dropped: I) {
        dropped.into_iter().for_each(|payload| self.effects.drops(self.port, payload));
    }
}

#[cfg(test)]
mod tests;
