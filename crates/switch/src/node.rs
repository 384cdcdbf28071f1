//! A node of the network: its ports, and the memory that they share.
//!
//! A switch is a node with several ports; a host is a node with one port. The driver passes each arriving packet and its egress port to
//! [`Node::receive`]. It calls [`Node::transmit`] for a port at the time that [`Node::wake_at`] returns. Alternatively it calls
//! [`Node::advance`], which sends all packets due by a given time and passes the results to [`Effects`].

use std::ops::Range;

use shallows_core::Instant;
use shallows_core::packet::Header;

use crate::buffer::SharedBuffer;
use crate::port::{Arrival, Departure, Entry, Port};

/// A node, borrowed from its driver. Drivers keep the ports of all nodes in one array.
#[derive(Debug)]
pub struct Node<'a, L> {
    /// Ports of all nodes. Each element is a port, or a value of the driver that contains one port.
    pub all: &'a mut [L],
    /// Indices of this node's ports in `all`.
    pub ports: Range<u32>,
    /// Memory that the node's ports share.
    pub memory: &'a mut SharedBuffer,
}

/// Receives the departures and drops of a node's ports, in order of time. Each port is identified by its index among the ports of all
/// nodes.
pub trait Effects<T> {
    /// Handles a packet whose transmission starts at `port`.
    fn departs(&mut self, port: u32, departure: Departure<T>);

    /// Handles a packet that `port` has dropped.
    fn drops(&mut self, port: u32, payload: T);
}

impl<L> Node<'_, L> {
    /// Handles an arriving packet that must leave through `port`. The payloads of all dropped packets (the arriving one, or waiting ones)
    /// are added to `dropped`.
    #[inline(always)]
    pub fn receive<T: Copy + Default>(
        &mut self,
        now: Instant,
        port: u32,
        entry: impl Into<Entry>,
        header: Header,
        payload: T,
        dropped: &mut impl Extend<T>,
    ) -> Arrival<T>
    where
        L: AsMut<Port<T>>,
    {
        self.all[port as usize].as_mut().receive(now, entry, header, payload, self.memory, dropped)
    }

    /// Sends the next waiting packet of `port`, whose link must be free. The payloads of packets that are dropped instead are added to
    /// `dropped`.
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

    /// Returns the time at which `port` must send next; `None` while `port` has no waiting packet that it may send.
    #[inline(always)]
    pub fn wake_at<T: Copy + Default>(&mut self, port: u32) -> Option<Instant>
    where
        L: AsMut<Port<T>>,
    {
        self.all[port as usize].as_mut().wake_at()
    }

    /// Sends all packets that are due up to and including `until`, in order of time. Packets that are due at the same time are sent in the
    /// order of their ports. The order matters, because each departure frees memory for other ports.
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

/// Passes the packets that a port drops to [`Effects::drops`].
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
