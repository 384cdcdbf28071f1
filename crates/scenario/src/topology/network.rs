//! Nodes, directed links and routes, and what follows from them alone.

use std::sync::Arc;

use shallows_core::packet::Header;
use shallows_core::{Bytes, Duration, Rate};
use shallows_switch::{buffer, port};

use super::epoch::Epoch;
use super::routes::Routing;
use crate::membership::Groups;

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
    /// Memory behind the ports of each node: of hosts, then of switches.
    pub buffers: Vec<buffer::Config>,
    /// Which way packets take, until the first epoch.
    pub routing: Arc<Routing>,
    /// How it changes: see [`Network::set_epochs`].
    pub(crate) epochs: Arc<[Epoch]>,
    /// Configurations of ports; each link names its own.
    pub ports: Vec<port::Config>,
    /// Which hosts are alike.
    pub groups: Groups,
    /// Values computed for its ports, with formulas.
    pub(crate) notes: Vec<String>,
    /// Largest IP packet.
    pub mtu: Bytes,
    /// Bytes that every link carries for a packet beyond the IP packet.
    pub framing: Bytes,
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
    pub reserved: Bytes,
    /// The number of the other direction of its cable.
    pub reverse: u32,
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
    /// From a leaf to a spine, or from an edge to an aggregation switch.
    Up,
    /// From a spine to a leaf, or from an aggregation to an edge switch.
    Down,
    /// From an aggregation to a core switch.
    CoreUp,
    /// From a core to an aggregation switch.
    CoreDown,
    /// Between the two switches of a dumbbell.
    Bottleneck,
    /// Between switches of a graph.
    Trunk,
}

impl Network {
    /// Name of a host.
    pub(crate) fn host_name(&self, host: u32) -> &str {
        let name = &self.links[host as usize].name;
        name.split_once("->").map_or(name, |(from, _)| from)
    }

    /// The links that a packet with this header takes from its source to its destination.
    pub fn path(&self, header: &Header) -> Vec<&Link> {
        let mut path = vec![&self.links[header.source.0 as usize]];
        loop {
            let reached = path[path.len() - 1].to;
            if reached.0 < self.hosts {
                return path;
            }
            let next = self.routing.next_hop(reached.0 - self.hosts, header);
            path.push(&self.links[next as usize]);
        }
    }

    /// Configuration of the port of `link`.
    pub fn port(&self, link: &Link) -> &port::Config {
        &self.ports[link.port]
    }
}

/// First port number of a sender's connections; below are the well-known ones.
pub const FIRST_PORT: u16 = 1_024;

/// Port on which receivers listen, but for flows that say another.
pub const SERVICE_PORT: u16 = 5_001;
