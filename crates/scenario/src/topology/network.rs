//! Nodes, directed links and routes, and what follows from them alone.

use serde_json::json;
use shallows_core::packet::{Header, HostId};
use shallows_core::{Bytes, Duration, Rate};
use shallows_switch::routing::Ecmp;
use shallows_switch::{buffer, port};

/// A host or a switch, by number: hosts first, then switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// Hosts, switches and the links between them.
#[derive(Clone, Debug)]
pub struct Network {
    /// How many hosts there are; they are the first nodes.
    pub hosts: u32,
    /// How many switches there are.
    pub switches: u32,
    /// Directed links. A link's number is also that of the egress port it leaves from. Link *h* below `hosts` is the
    /// one that leaves host *h*.
    pub links: Vec<Link>,
    /// What links are the two directions of: that of each host, then those between switches as they are listed.
    pub cables: Vec<Cable>,
    /// Hosts, then switches.
    pub nodes: Vec<Node>,
    /// What ports are made of; links say which of these theirs is.
    pub ports: Vec<port::Config>,
    /// What was computed for its ports.
    pub(crate) notes: Vec<String>,
    /// Largest IP packet.
    pub mtu: Bytes,
    /// What every link carries for a packet beyond the IP packet itself.
    pub framing: Bytes,
}

/// What two nodes are linked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// A host, if there is one, comes first.
    pub ends: [NodeId; 2],
    /// Bits per second, in each direction.
    pub rate: Rate,
    /// From the last bit sent to the packet's arrival, as [`Link::delay`].
    pub delay: Duration,
}

/// One direction of a cable.
#[derive(Clone, Debug)]
pub struct Link {
    /// Where it leaves.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// Bits per second.
    pub rate: Rate,
    /// From the last bit sent to the packet's arrival: propagation, and the delay of the host at one end.
    pub delay: Duration,
    /// Where it stands in the network.
    pub kind: PortKind,
    /// Which of [`Network::ports`] its port is.
    pub port: usize,
    /// Which pool of its node's buffer its port shares.
    pub pool: usize,
    /// Bytes of that buffer that each queue of its port has alone.
    pub private: Bytes,
    /// Such as `leaf3->spine1`.
    pub name: String,
}

/// Where a port stands in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortKind {
    /// From a host.
    Nic,
    /// From a switch to a host.
    ToHost,
    /// From a leaf to a spine.
    Up,
    /// From a spine to a leaf.
    Down,
    /// Between the two switches of a dumbbell.
    Bottleneck,
    /// Between switches of a graph.
    Trunk,
}

impl Network {
    /// What a host is called.
    pub(crate) fn host_name(&self, host: u32) -> &str {
        let name = &self.links[host as usize].name;
        name.split_once("->").map_or(name, |(from, _)| from)
    }

    /// Nodes by name, and cables by their ends, rate (bit/s) and delay (ps), as JSON.
    pub fn describe(&self) -> serde_json::Value {
        let mut names = vec![""; (self.hosts + self.switches) as usize];
        for link in &self.links {
            names[link.from.0 as usize] = link.name.split("->").next().unwrap_or_default();
        }
        let (hosts, switches) = names.split_at(self.hosts as usize);
        let cable = |cable: &Cable| json!([cable.ends[0].0, cable.ends[1].0, cable.rate.0, cable.delay.0]);
        let cables: Vec<_> = self.cables.iter().map(cable).collect();
        json!({"hosts": hosts, "switches": switches, "cables": cables})
    }

    /// The links that a packet with this header takes from its source to its destination.
    pub fn path(&self, header: &Header) -> Vec<&Link> {
        let mut path = vec![&self.links[header.source.0 as usize]];
        loop {
            let reached = path[path.len() - 1].to;
            if reached.0 < self.hosts {
                return path;
            }
            let node = &self.nodes[reached.0 as usize];
            let next = node.ecmp.select(header, node.routes.next_hops(header.destination));
            path.push(&self.links[next as usize]);
        }
    }

    /// What the port of `link` is made of.
    pub fn port(&self, link: &Link) -> &port::Config {
        &self.ports[link.port]
    }
}

/// What a host or a switch is made of, apart from its ports.
#[derive(Clone, Debug)]
pub struct Node {
    /// Memory behind its ports.
    pub buffer: buffer::Config,
    /// Next hops; empty at hosts.
    pub routes: Routes,
    /// How it chooses among equal-cost next hops.
    pub ecmp: Ecmp,
}

/// First port number of a sender's connections; below are the well-known ones.
pub const FIRST_PORT: u16 = 1_024;

/// Port on which receivers listen, but for flows that say another.
pub const SERVICE_PORT: u16 = 5_001;

/// The next hops of one switch.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// By destination host.
    group_of: Vec<u32>,
    /// Links of equal cost.
    groups: Vec<Box<[u32]>>,
}

impl Routes {
    /// Routes in which destination *h* is reached over `groups[group_of[h]]`.
    ///
    /// # Panics
    ///
    /// If a group is missing or empty.
    pub(crate) fn new(group_of: Vec<u32>, groups: Vec<Box<[u32]>>) -> Self {
        assert!(groups.iter().all(|group| !group.is_empty()), "every group has a link");
        assert!(group_of.iter().all(|&group| (group as usize) < groups.len()), "every group exists");
        Self { group_of, groups }
    }

    /// Numbers of the links over which `destination` is reached, all at equal cost.
    #[inline]
    pub fn next_hops(&self, destination: HostId) -> &[u32] {
        &self.groups[self.group_of[destination.0 as usize] as usize]
    }
}
