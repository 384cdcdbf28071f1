//! The way of packets: at every switch the link to be taken next. `routing` finds the routes, `paths` says how to choose.

use std::collections::BTreeMap;

use shallows_core::packet::{Header, HostId};
use shallows_switch::routing::{Config, Ecmp};

/// The routes of all switches, and how they choose among those of equal cost. A network that changes has another one from each epoch on.
///
/// Hosts of one switch are reached in one way, so that a switch has a route to each *edge*, a switch with hosts, and the
/// edge knows the link of each host.
#[derive(Debug)]
pub struct Routing {
    /// By host.
    homes: Box<[Home]>,
    /// How many switches have hosts.
    edges: u32,
    /// By switch, then by edge.
    routes: Box<[Route]>,
    /// Links of equal cost, side by side.
    links: Box<[u32]>,
    ecmp: Ecmp,
}

/// Where a host is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Home {
    /// The number of its switch among those that have hosts.
    pub(super) edge: u32,
    /// That leads to it.
    pub(super) link: u32,
}

/// The links over which an edge is reached.
#[derive(Clone, Copy, Debug, Default)]
struct Route {
    /// None at the edge itself.
    count: u32,
    /// If it is one, that link; of several, where they begin.
    first: u32,
}

impl Routing {
    /// The link by which a switch, by its number among switches, passes a packet with this header on.
    #[inline]
    pub fn next_hop(&self, switch: u32, header: &Header) -> u32 {
        let (home, route) = self.route(switch, header.destination);
        match route.count {
            0 => home.link,
            1 => route.first,
            _ => self.ecmp.select(switch, header, self.among(route)),
        }
    }

    /// Numbers of the links over which a switch reaches `destination`, all at equal cost.
    #[inline]
    pub fn next_hops(&self, switch: u32, destination: HostId) -> &[u32] {
        let (home, route) = self.route(switch, destination);
        match route.count {
            0 => std::slice::from_ref(&home.link),
            1 => std::slice::from_ref(&route.first),
            _ => self.among(route),
        }
    }

    /// Numbers of the links over which a switch that is not this edge reaches it.
    pub(super) fn to_edge(&self, switch: usize, edge: usize) -> &[u32] {
        let route = &self.routes[switch * self.edges as usize + edge];
        if route.count == 1 { std::slice::from_ref(&route.first) } else { self.among(route) }
    }

    #[inline]
    fn route(&self, switch: u32, destination: HostId) -> (&Home, &Route) {
        let home = &self.homes[destination.0 as usize];
        (home, &self.routes[switch as usize * self.edges as usize + home.edge as usize])
    }

    /// The links of a route that has several.
    #[inline]
    fn among(&self, route: &Route) -> &[u32] {
        &self.links[route.first as usize..][..route.count as usize]
    }

    /// How many routes all switches have together.
    pub fn routes(&self) -> usize {
        self.routes.len()
    }
}

/// Routes while they are gathered; equal sets of links are kept once.
pub(super) struct Table {
    homes: Box<[Home]>,
    edges: u32,
    routes: Box<[Route]>,
    links: Vec<u32>,
    /// The sets of several links so far; a link leaves one switch.
    known: BTreeMap<Box<[u32]>, Route>,
}

impl Table {
    /// No routes yet, between so many switches and these hosts.
    pub(super) fn new(homes: Vec<Home>, switches: usize) -> Self {
        let edges = homes.iter().map(|home| home.edge + 1).max().unwrap_or(0);
        let routes = vec![Route::default(); switches * edges as usize].into();
        Self { homes: homes.into(), edges, routes, links: Vec::new(), known: BTreeMap::new() }
    }

    /// A switch that has not its hosts reaches an edge over these links.
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

    /// The routes, among which switches choose as `config` says.
    pub(super) fn choosing(self, config: &Config) -> Routing {
        self.with(Ecmp::new(config))
    }

    /// The routes, among which switches choose as among those of `other`.
    pub(super) fn like(self, other: &Routing) -> Routing {
        self.with(other.ecmp.clone())
    }

    fn with(self, ecmp: Ecmp) -> Routing {
        let Self { homes, edges, routes, links, .. } = self;
        Routing { homes, edges, routes, links: links.into(), ecmp }
    }
}
