//! Routes of packets: the next link at every switch. The module `routing` finds the routes, and `paths` configures the choice among links
//! of equal cost.

use std::collections::BTreeMap;

use shallows_core::packet::{Header, HostId};
use shallows_switch::routing::{Config, Ecmp};

/// Routes of all switches, together with the rule that chooses among links of equal cost. A network with epochs has one `Routing` for each
/// epoch.
///
/// A switch with hosts is called an *edge*. Other switches reach all hosts of an edge over the same links, so a switch has one route for
/// each edge. Only the edge itself has a separate link for each of its hosts.
#[derive(Debug)]
pub struct Routing {
    /// Switch and link of each host.
    homes: Box<[Home]>,
    /// Number of switches that have hosts.
    edges: u32,
    /// Routes, indexed by switch and then by edge.
    routes: Box<[Route]>,
    /// Links of all routes that have several links. The links of one route are consecutive.
    links: Box<[u32]>,
    ecmp: Ecmp,
}

/// Switch of a host, and link from the switch to the host.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Home {
    /// Index of the host's switch among the switches that have hosts.
    pub(super) edge: u32,
    /// Number of the link from the host's switch to the host.
    pub(super) link: u32,
}

/// Route from a switch to an edge: the links that lead there on shortest paths.
#[derive(Clone, Copy, Debug, Default)]
struct Route {
    /// Number of links; zero for the route of an edge to itself.
    count: u32,
    /// Number of the link if there is only one; otherwise the index of the first link in `Routing::links`.
    first: u32,
}

impl Routing {
    /// Returns the link over which switch number `switch` forwards a packet with this header.
    #[inline(always)]
    pub fn next_hop(&self, switch: u32, header: &Header) -> u32 {
        let (home, route) = self.route(switch, header.destination());
        match route.count {
            0 => home.link,
            1 => route.first,
            _ => self.ecmp.select(switch, header, self.among(route)),
        }
    }

    /// Returns the numbers of the links of equal cost over which a switch reaches the host `destination`.
    #[inline]
    pub fn next_hops(&self, switch: u32, destination: HostId) -> &[u32] {
        let (home, route) = self.route(switch, destination);
        match route.count {
            0 => std::slice::from_ref(&home.link),
            1 => std::slice::from_ref(&route.first),
            _ => self.among(route),
        }
    }

    /// Returns the numbers of the links over which switch number `switch` reaches the edge with index `edge`.
    pub(super) fn to_edge(&self, switch: usize, edge: usize) -> &[u32] {
        let route = &self.routes[switch * self.edges as usize + edge];
        if route.count == 1 { std::slice::from_ref(&route.first) } else { self.among(route) }
    }

    /// Makes switch number `switch` forward packets for `host`, and for all other hosts of the same edge switch, over `link`.
    pub(super) fn set_route(&mut self, switch: u32, host: HostId, link: u32) {
        let edge = self.homes[host.0 as usize].edge;
        self.routes[switch as usize * self.edges as usize + edge as usize] = Route { count: 1, first: link };
    }

    #[inline]
    fn route(&self, switch: u32, destination: HostId) -> (&Home, &Route) {
        let home = &self.homes[destination.0 as usize];
        (home, &self.routes[switch as usize * self.edges as usize + home.edge as usize])
    }

    /// Returns the links of a route that has more than one link.
    #[inline]
    fn among(&self, route: &Route) -> &[u32] {
        &self.links[route.first as usize..][..route.count as usize]
    }

    /// Returns the total number of routes: one for each switch and edge.
    pub fn routes(&self) -> usize {
        self.routes.len()
    }
}

/// Routes under construction. Equal sets of links are stored only once.
pub(super) struct Table {
    homes: Box<[Home]>,
    edges: u32,
    routes: Box<[Route]>,
    links: Vec<u32>,
    /// Sets of several links that are already stored. All links of a set leave the same switch.
    known: BTreeMap<Box<[u32]>, Route>,
}

impl Table {
    /// Creates a table without routes. `homes` has the switch and the link of each host, and `switches` is the number of switches.
    pub(super) fn new(homes: Vec<Home>, switches: usize) -> Self {
        let edges = homes.iter().map(|home| home.edge + 1).max().unwrap_or(0);
        let routes = vec![Route::default(); switches * edges as usize].into();
        Self { homes: homes.into(), edges, routes, links: Vec::new(), known: BTreeMap::new() }
    }

    /// Sets the links over which switch number `switch` reaches the edge with index `edge`, which must not be the switch itself.
    pub(super) fn add(&mut self, switch: usize, edge: usize, links: &[u32]) {
        assert!(!links.is_empty(), "every switch reaches every other");
        let route = match *links {
            [first] => Route { count: 1, first },
            _ => self.set(links),
        };
        self.routes[switch * self.edges as usize + edge] = route;
    }

    fn set(&mut self, links: &[u32]) -> Route {
        if let Some(&known) = self.known.get(links) {
            return known;
        }
        let route = Route { count: links.len() as u32, first: self.links.len() as u32 };
        self.links.extend_from_slice(links);
        self.known.insert(links.into(), route);
        route
    }

    /// Finishes the table. The rule in `config` chooses among links of equal cost.
    pub(super) fn choosing(self, config: &Config) -> Routing {
        self.with(Ecmp::new(config))
    }

    /// Finishes the table. The rule of `other` chooses among links of equal cost.
    pub(super) fn like(self, other: &Routing) -> Routing {
        self.with(other.ecmp.clone())
    }

    fn with(self, ecmp: Ecmp) -> Routing {
        let Self { homes, edges, routes, links, .. } = self;
        Routing { homes, edges, routes, links: links.into(), ecmp }
    }
}
