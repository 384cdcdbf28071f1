//! Nodes, directed links and routes, and the properties derived from them alone.

use std::sync::Arc;

use shallows_core::packet::Header;
use shallows_core::{Bytes, Duration, Rate};
use shallows_switch::{buffer, port};

use super::epoch::Epoch;
use super::lossless::Lossless;
use super::routes::Routing;
use crate::membership::Groups;

/// Number of a host or a switch: hosts first, then switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// Hosts, switches and the links between them.
#[derive(Clone, Debug)]
pub struct Network {
    /// Number of hosts; they are the first nodes.
    pub hosts: u32,
    /// Number of switches.
    pub switches: u32,
    /// Directed links. A link and its egress port have the same number. Link *h*, for *h* below `hosts`, leaves host *h*.
    pub links: Vec<Link>,
    /// Packet memory of the ports of each node: of hosts, then of switches.
    pub buffers: Vec<buffer::Config>,
    /// Routes until the first epoch.
    pub routing: Arc<Routing>,
    /// Changes of the network: see [`Network::set_epochs`].
    pub(crate) epochs: Arc<[Epoch]>,
    /// Distinct configurations of ports; each link has the index of its configuration.
    pub ports: Vec<port::Config>,
    /// Groups of hosts.
    pub groups: Groups,
    /// Notes on the values that were computed for ports.
    pub(crate) notes: Vec<String>,
    /// Lossless classes of the network, if it has any.
    pub lossless: Option<Lossless>,
    /// Largest IP packet.
    pub mtu: Bytes,
    /// Bytes that each packet occupies on a link in addition to its IP packet.
    pub framing: Bytes,
}

/// One direction of a cable.
#[derive(Clone, Debug)]
pub struct Link {
    /// Node that the link leaves.
    pub from: NodeId,
    /// Node that the link reaches.
    pub to: NodeId,
    /// Rate in bits per second.
    pub rate: Rate,
    /// Time from the last bit sent to the packet's arrival: propagation, and the delay of the host at one end.
    pub delay: Duration,
    /// Kind of the link's egress port.
    pub kind: PortKind,
    /// Index of the egress port's configuration in [`Network::ports`].
    pub port: usize,
    /// Index of the pool of the node's buffer that the egress port uses.
    pub pool: usize,
    /// Reserved bytes of the buffer for each queue of the egress port.
    pub reserved: Bytes,
    /// Number of the link in the opposite direction of the same cable.
    pub reverse: u32,
    /// Name, such as `leaf3->spine1`.
    pub name: String,
}

/// Position of a port in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortKind {
    /// Port of a host.
    Nic,
    /// Switch port to a host.
    ToHost,
    /// Port of a leaf to a spine, or of an edge switch to an aggregation switch.
    Up,
    /// Port of a spine to a leaf, or of an aggregation switch to an edge switch.
    Down,
    /// Port of an aggregation switch to a core switch.
    CoreUp,
    /// Port of a core switch to an aggregation switch.
    CoreDown,
    /// Port between the two switches of a dumbbell.
    Bottleneck,
    /// Port between switches of a graph.
    Trunk,
}

impl Network {
    /// Returns the name of a host.
    pub(crate) fn host_name(&self, host: u32) -> &str {
        let name = &self.links[host as usize].name;
        name.split_once("->").map_or(name, |(from, _)| from)
    }

    /// Returns the links that a packet with this header takes from its source to its destination.
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

    /// Returns the configuration of the port of `link`.
    pub fn port(&self, link: &Link) -> &port::Config {
        &self.ports[link.port]
    }
}

/// First port number of a sender's connections; lower numbers are the well-known ones.
pub const FIRST_PORT: u16 = 1_024;

/// Port on which receivers listen, unless a flow has another one.
pub const SERVICE_PORT: u16 = 5_001;
