//! Ports with waiting packets, and the order in which they send, at nodes that run by window.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use shallows_core::Instant;
use shallows_scenario::{Experiment, Link};
use shallows_switch::buffer::Policy;
use shallows_switch::port::Ingress;

use crate::network::event::LinkRank;

/// Order in which the ports of a switch send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Port by port: the decisions of a port do not depend on other ports.
    Apart,
    /// Port by port, as long as the packet fits even before other ports have sent; when these send, the free memory only grows.
    ApartWhileRoom,
    /// All ports in order of time: decisions depend on the backlog of other ports, or an observer records them.
    OfTime,
}

impl Order {
    /// Returns the order for the node with this number, whose links have consecutive numbers from `first` on.
    pub(crate) fn of(experiment: &Experiment, node: u32, first: u32) -> Self {
        let network = &experiment.network;
        let links = || network.links[first as usize..].iter().take_while(|link| link.from.0 == node);
        let reads_pool =
            |link: &Link| network.port(link).markers.iter().any(|placed| placed.marker.reads_pool());
        if matches!(network.buffers[node as usize].policy, Policy::Abm(_)) || links().any(reads_pool) {
            return Self::OfTime;
        }
        let mut pools: Vec<usize> = links().map(|link| link.pool).collect();
        pools.sort_unstable();
        let shares = pools.windows(2).any(|pair| pair[0] == pair[1]);
        if shares { Self::ApartWhileRoom } else { Self::Apart }
    }
}

/// Ports with waiting packets, of a switch or of all hosts together.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) order: Order,
    /// Number of the switch among switches.
    pub(crate) number: u32,
    /// Place of the switch among nodes.
    pub(crate) node: u32,
    /// All ports of the switch.
    pub(crate) all: Range<u32>,
    /// Places of the ports with waiting packets, each once, unless `order` is `OfTime`.
    pub(crate) ports: Vec<u32>,
    /// Next departure of each port with waiting packets, if `order` is `OfTime`.
    pub(crate) departures: BinaryHeap<Reverse<(Instant, LinkRank, u32)>>,
    /// Time of the first departure, as of the end of the last visit.
    pub(crate) next: Instant,
    /// Whether the switch is in the network's list `busy`.
    pub(crate) listed: bool,
}

impl Waiting {
    /// Returns an entry without waiting packets for the switch with this `number` among switches, place `node` and ports `all`.
    pub(crate) fn new(order: Order, number: u32, node: u32, all: Range<u32>) -> Self {
        let (ports, departures) = (Vec::new(), BinaryHeap::new());
        Self { order, number, node, all, ports, departures, next: Instant::MAX, listed: false }
    }

    /// Returns an entry without waiting packets for all hosts, whose ports come first. Each host has a node and a memory of its own.
    pub(crate) fn of_hosts(hosts: u32) -> Self {
        Self::new(Order::Apart, u32::MAX, u32::MAX, 0..hosts)
    }
}

/// Egress port and ingress of a packet at a switch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Way {
    pub(crate) port: u32,
    pub(crate) ingress: Ingress,
}
