//! Groups of ports that run together in time windows, their ports with waiting packets, and the order in which these ports send.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use shallows_core::Instant;
use shallows_scenario::{Experiment, Link};
use shallows_switch::buffer::Policy;

use crate::network::event::LinkRank;

/// Order in which the ports of a group send their packets of one time window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Port by port. Allowed if the decisions of a port do not depend on other ports.
    Apart,
    /// Port by port, if an arriving packet fits the shared memory before other ports have sent. Otherwise the other ports send first, which
    /// frees memory.
    ApartWhileRoom,
    /// All ports together, in order of time. Required if decisions depend on the backlog of other ports, or if an observer records every
    /// change of a port.
    OfTime,
}

impl Order {
    /// Returns the order for the node with this number. The links that leave the node have consecutive numbers, starting at `first`.
    pub(crate) fn of(experiment: &Experiment, node: u32, first: u32) -> Self {
        let network = &experiment.network;
        let links = || network.links[first as usize..].iter().take_while(|link| link.from.0 == node);
        let reads_pool =
            |link: &Link| network.port(link).markers.iter().any(|placed| placed.marker.reads_pool());
        let is_here = |number: &u32| network.links[*number as usize].from.0 == node;
        let mut traces = experiment.port_traces.iter().filter(|trace| trace.every.is_none());
        let is_traced = traces.any(|trace| trace.links.iter().any(is_here));
        let is_abm = matches!(network.buffers[node as usize].policy, Policy::Abm(_));
        if is_abm || is_traced || links().any(reads_pool) {
            return Self::OfTime;
        }
        let mut pools: Vec<usize> = links().map(|link| link.pool).collect();
        pools.sort_unstable();
        let shares = pools.windows(2).any(|pair| pair[0] == pair[1]);
        if shares { Self::ApartWhileRoom } else { Self::Apart }
    }
}

/// Number of the groups of ports that run together. `Turns::steps` gives the order in which turns run ([`crate::network::turns`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn(pub(crate) u8);

impl Turn {
    /// Turn of all hosts together, which run before the switches.
    pub(crate) const HOSTS: Self = Self(0);
    /// First turn of switches.
    pub(crate) const FIRST: Self = Self(1);

    /// Returns the number as an index.
    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0.into()
    }
}

/// Group of ports that run together: all ports of a switch, those ports of a switch that have the same turn, or all ports of hosts.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) order: Order,
    /// Number of the switch among all switches.
    pub(crate) switch: u32,
    /// Index of the switch among the nodes of its partition.
    pub(crate) node: u32,
    pub(crate) turn: Turn,
    /// Whether the switch has other groups too.
    pub(crate) is_part: bool,
    /// Ports with waiting packets, without duplicates: a lower bound on the time of the port's next departure, and the port's index. Empty
    /// if `order` is `OfTime`.
    pub(crate) ports: Vec<(Instant, u32)>,
    /// For each port with waiting packets, a lower bound on the time of its next departure, and its link's rank and index. Empty unless
    /// `order` is `OfTime`.
    pub(crate) departures: BinaryHeap<Reverse<(Instant, LinkRank, u32)>>,
    /// Time of the earliest departure, computed at the end of the last visit.
    pub(crate) next: Instant,
    /// Whether this group is in the list of its turn ([`Busy`]).
    pub(crate) listed: bool,
}

/// Groups with one [`Turn`] that may have waiting packets.
#[derive(Debug)]
pub(crate) struct Busy {
    /// Indices of the groups in `Network::groups`.
    pub(crate) entries: Vec<u32>,
    /// Lower bound on the time of the earliest departure from any port of these groups.
    pub(crate) next: Instant,
}

impl Default for Busy {
    fn default() -> Self {
        Self { entries: Vec::new(), next: Instant::MAX }
    }
}

impl Group {
    /// Returns a group of ports of a switch, without waiting packets. The arguments are the values of the fields with the same names.
    pub(crate) fn new(order: Order, switch: u32, node: u32, turn: Turn, is_part: bool) -> Self {
        let (ports, departures) = (Vec::new(), BinaryHeap::new());
        Self { order, switch, node, turn, is_part, ports, departures, next: Instant::MAX, listed: false }
    }

    /// Returns the group of all ports of hosts, without waiting packets. Hosts share no memory, so their ports can send in any order.
    pub(crate) fn of_hosts() -> Self {
        Self::new(Order::Apart, u32::MAX, u32::MAX, Turn::HOSTS, false)
    }

    /// Makes the next visit compute the next departure of each port anew. Called when a link has changed.
    pub(crate) fn forget_departures(&mut self) {
        self.ports.iter_mut().for_each(|(next, _)| *next = Instant::ZERO);
        let forgotten = |Reverse((_, rank, place))| Reverse((Instant::ZERO, rank, place));
        self.departures = self.departures.drain().map(forgotten).collect();
    }

    /// Returns whether no port has waiting packets.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ports.is_empty() && self.departures.is_empty()
    }
}
