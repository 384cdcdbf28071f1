//! Nodes and cables before they become a network.

use shallows_core::{Duration, Rate};

use super::network::{NodeId, PortKind};

/// Maximum number of hosts, more than any published packet-level simulation has; it bounds memory when a value is mistyped.
pub(super) const MAX_HOSTS: u64 = 1 << 17;

/// Maximum number of cables.
pub(super) const MAX_CABLES: u64 = 1 << 20;

/// Maximum number of ports of each switch of a fat tree, which has k³/4 hosts.
pub(super) const MAX_PORTS: u32 = 128;

/// Maximum product of the number of cables between switches and the number of leaves; it bounds time and memory of the route search.
pub(super) const MAX_ROUTES: u64 = 1 << 27;

/// Cable between two nodes, before it becomes two links.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) ends: [NodeId; 2],
    pub(super) rate: Rate,
    /// Propagation delay.
    pub(super) delay: Duration,
    /// Kind of the port at each end.
    pub(super) kinds: [PortKind; 2],
}

impl Planned {
    pub(super) fn is_at_host(&self) -> bool {
        self.kinds.iter().any(|kind| matches!(kind, PortKind::Nic | PortKind::ToHost))
    }
}

/// Nodes and cables, before link overrides are applied.
#[derive(Debug, Default)]
pub(super) struct NetworkPlan {
    pub(super) hosts: u32,
    /// Names of hosts; `None` for `host0`, `host1` and so on.
    pub(super) host_names: Option<Vec<String>>,
    pub(super) switch_names: Vec<String>,
    /// Cable of each host, in the order of hosts; then the cables between switches.
    pub(super) cables: Vec<Planned>,
}
