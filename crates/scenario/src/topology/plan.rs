//! Nodes and cables before they become a network.

use shallows_core::{Duration, Rate};

use super::network::{NodeId, PortKind};

/// More hosts than any published simulation of packets has; bounds the memory of a slip of the pen.
pub(super) const MAX_HOSTS: u64 = 1 << 17;

/// Most cables of a network.
pub(super) const MAX_CABLES: u64 = 1 << 20;

/// Ports of each switch of a fat tree, which has a quarter of the cube of hosts.
pub(super) const MAX_PORTS: u32 = 128;

/// Cables between switches times leaves: the work and memory of finding all routes.
pub(super) const MAX_ROUTES: u64 = 1 << 27;

/// A cable between two nodes, before it becomes two links.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) ends: [NodeId; 2],
    pub(super) rate: Rate,
    /// Propagation.
    pub(super) delay: Duration,
    /// Kind of the port at each end.
    pub(super) kinds: [PortKind; 2],
}

impl Planned {
    pub(super) fn is_at_host(&self) -> bool {
        self.kinds.iter().any(|kind| matches!(kind, PortKind::Nic | PortKind::ToHost))
    }
}

/// Nodes and cables, before they are checked against overrides.
#[derive(Debug, Default)]
pub(super) struct NetworkPlan {
    pub(super) hosts: u32,
    /// Default: `host0`, `host1` and so on.
    pub(super) host_names: Option<Vec<String>>,
    pub(super) switch_names: Vec<String>,
    /// The cable of each host, in their order; then those between switches.
    pub(super) cables: Vec<Planned>,
}
