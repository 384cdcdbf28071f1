//! A node: ports, and the memory that they share.
//!
//! A switch is one, and so is a host, which has one port. A driver tells a node what arrives, and for which of its
//! ports ([`Node::receive`]), and lets a port send when that is due ([`Node::transmit`] at [`Node::wake_at`]); or it lets all of them send what is due by some time
//! ([`Node::advance`], which tells [`Effects`] what comes of it).

use std::ops::Range;

use shallows_core::Instant;
use shallows_core::packet::Header;

use crate::buffer::SharedBuffer;
use crate::port::{Arrival, Departure, Ingress, Port};

/// A node, as far as its driver lends it what is its own: drivers keep the ports of all nodes in one array.
#[derive(Debug)]
pub struct Node<'a, L> {
    /// The ports of all nodes, or what holds each.
    pub all: &'a mut [L],
    /// Which of them are this node's.
    pub ports: Range<u32>,
    /// The memory behind them.
    pub memory: &'a mut SharedBuffer,
}

/// Receiver of the actions of a node's ports, in order of time. A port is named by its index among those of all nodes.
pub trait Effects<T> {
    /// A packet starts to leave a port.
    fn departs(&mut self, port: u32, departure: Departure<T>);

    /// A port has dropped a packet.
    fn drops(&mut self, port: u32, payload: T);
}

impl<L> Node<'_, L> {
    /// A packet arrives, which is to leave by `port`. What that port drops, it or another, goes to `dropped`.
    #[inline(always)]
    pub fn receive<T: Copy + Default>(
        &mut self,
        now: Instant,
        port: u32,
        ingress: Ingress,
        header: Header,
        payload: T,
        dropped: &mut impl Extend<T>,
    ) -> Arrival<T>
    where
        L: AsMut<Port<T>>,
    {
        self.all[port as usize].as_mut().receive(now, ingress, header, payload, self.memory, dropped)
    }

    /// A port is free: it sends the next packet that waits there. What it drops goes to `dropped`.
    #[inline(always)]
    pub fn transmit<T: Copy + Default>(
        &mut self,
        now: Instant,
        port: u32,
        dropped: &mut impl Extend<T>,
    ) -> Option<Departure<T>>
    where
        L: AsMut<Port<T>>,
    {
        self.all[port as usize].as_mut().transmit_next(now, self.memory, dropped)
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
            if let Some(departure) = self.transmit(at, port, &mut Dropped { port, effects }) {
                effects.departs(port, departure);
            }
        }
    }
}

/// Forwards the packets that a port drops to the effects.
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
