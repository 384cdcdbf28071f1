//! Nodes, directed links and routes of a network, and properties that follow from them alone.

use std::sync::Arc;

use shallows_core::packet::Header;
use shallows_core::{Bytes, Duration, Rate};
use shallows_switch::{buffer, port};

use super::epoch::Epoch;
use super::lossless::Lossless;
use super::routes::Routing;
use crate::membership::Groups;

/// Number of a host or a switch. All hosts come before all switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// Hosts, switches and the links between them.
#[derive(Clone, Debug)]
pub struct Network {
    /// Number of hosts; they are the first nodes.
    pub hosts: u32,
    /// Number of switches.
    pub switches: u32,
    /// Directed links. A link has the same number as the port that it leaves. Link *h*, for *h* below `hosts`, leaves host *h*.
    pub links: Vec<Link>,
    /// Packet memory of each node: hosts first, then switches.
    pub buffers: Vec<buffer::Config>,
    /// Routes until the first epoch.
    pub routing: Arc<Routing>,
    /// Epochs in order of time, set by [`Network::set_epochs`].
    pub(crate) epochs: Arc<[Epoch]>,
    /// Distinct configurations of ports. [`Link::port`] is an index into them.
    pub ports: Vec<port::Config>,
    /// Groups of hosts.
    pub groups: Groups,
    /// Notes on values that were computed for ports.
    pub(crate) notes: Vec<String>,
    /// Lossless classes of the network, if it has any.
    pub lossless: Option<Lossless>,
    /// Size of the largest IP packet.
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
    /// Time from sending a packet's last bit to the packet's arrival: propagation, plus the delay of the host if one end is a host.
    pub delay: Duration,
    /// Kind of the link's egress port.
    pub kind: PortKind,
    /// Index of the egress port's configuration in [`Network::ports`].
    pub port: usize,
    /// Index of the pool that the egress port uses, among the pools of the node's buffer.
    pub pool: usize,
    /// Bytes of the buffer that are reserved for each queue of the egress port.
    pub reserved: Bytes,
    /// Number of the link in the opposite direction of the same cable.
    pub reverse: u32,
    /// Name of the link, such as `leaf3->spine1`.
    pub name: String,
}

/// Kind of a port, by its position in the network.
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

impl Link {
    /// Returns the name of the node that the link leaves.
    pub fn from_name(&self) -> &str {
        self.name.split_once("->").map_or(&self.name, |(from, _)| from)
    }
}

impl Network {
    /// Returns the name of a host.
    pub(crate) fn host_name(&self, host: u32) -> &str {
        self.links[host as usize].from_name()
    }

    /// Returns the links over which a packet with this header travels from its source to its destination. If the routes form a loop, only
    /// the first `switches` + 1 links are returned.
    pub fn path(&self, header: &Header) -> Vec<&Link> {
        let mut path = vec![&self.links[header.source().0 as usize]];
        loop {
            let reached = path[path.len() - 1].to;
            if reached.0 < self.hosts || path.len() > self.switches as usize {
                return path;
            }
            let next = self.routing.next_hop(reached.0 - self.hosts, header);
            path.push(&self.links[next as usize]);
        }
    }

    /// Returns the class of packets with this DSCP. The class selects the queue of a packet at each port.
    pub(crate) fn class_of(&self, dscp: u8) -> u8 {
        self.lossless.as_ref().map_or(dscp, |lossless| lossless.maps.class(dscp))
    }

    /// Returns the configuration of the port of `link`.
    pub fn port(&self, link: &Link) -> &port::Config {
        &self.ports[link.port]
    }
}

/// First port number that a sender uses for connections; lower numbers are well-known ports.
pub const FIRST_PORT: u16 = 1_024;

/// Default port number on which receivers listen. A flow may use another port number.
pub const SERVICE_PORT: u16 = 5_001;
