//! Nodes that run by window: where packets wait, and in which order their ports send.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use shallows_core::Instant;
use shallows_scenario::{Experiment, Link};
use shallows_switch::buffer::Policy;
use shallows_switch::port::Ingress;

use crate::network::event::LinkRank;

/// In which order the ports of a switch send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Each by itself: none of them decides by what others hold.
    Apart,
    /// Each by itself, as long as a packet finds room whatever the others have sent meanwhile. Room only grows as they send.
    ApartWhileRoom,
    /// All in the order of time: what a port does depends on what others hold, or somebody watches.
    OfTime,
}

impl Order {
    /// That of the node with this number, whose links follow each other from the `first` on.
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

/// Ports at which packets wait: of a switch, or of all hosts together.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) order: Order,
    /// The number of the switch among switches.
    pub(crate) number: u32,
    /// Its place among nodes.
    pub(crate) node: u32,
    /// All ports that may be listed.
    pub(crate) all: Range<u32>,
    /// Their places, if they send apart; each once.
    pub(crate) ports: Vec<u32>,
    /// When each sends next, if they send in the order of time.
    pub(crate) departures: BinaryHeap<Reverse<(Instant, LinkRank, u32)>>,
    /// When the first of them sends next, as of the end of the last visit.
    pub(crate) next: Instant,
    /// Whether the switch is among those at which packets wait.
    pub(crate) listed: bool,
}

impl Waiting {
    /// None wait at the switch with this `number` among switches, which is kept at place `node` and has these ports.
    pub(crate) fn new(order: Order, number: u32, node: u32, all: Range<u32>) -> Self {
        let (ports, departures) = (Vec::new(), BinaryHeap::new());
        Self { order, number, node, all, ports, departures, next: Instant::MAX, listed: false }
    }

    /// None wait at hosts, whose ports come first and are so many. Each has a node, and a memory, of its own.
    pub(crate) fn of_hosts(hosts: u32) -> Self {
        Self::new(Order::Apart, u32::MAX, u32::MAX, 0..hosts)
    }
}

/// The port by which a packet leaves a switch, and the link by which it came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) port: u32,
    pub(crate) ingress: Ingress,
}
