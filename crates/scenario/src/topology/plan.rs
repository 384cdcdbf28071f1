//! Plan of a network: nodes and cables, before cables become links.

use shallows_core::{Duration, Rate};

use super::network::{NodeId, PortKind};

/// Maximum number of hosts. The limit exceeds the number of hosts in any published packet-level simulation, and bounds the memory that a
/// mistyped value uses.
pub(super) const MAX_HOSTS: u64 = 1 << 17;

/// Maximum number of cables.
pub(super) const MAX_CABLES: u64 = 1 << 20;

/// Maximum number of ports of a switch in a fat tree. A tree with k ports per switch has k³/4 hosts.
pub(super) const MAX_PORTS: u32 = 128;

/// Maximum product of the number of cables between switches and the number of switches with hosts. It limits the time and memory for
/// finding routes.
pub(super) const MAX_ROUTES: u64 = 1 << 27;

/// Planned cable between two nodes. It becomes one link in each direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) ends: [NodeId; 2],
    pub(super) rate: Rate,
    /// Propagation delay.
    pub(super) delay: Duration,
    /// Kind of the port at each end of the cable, in the order of `ends`.
    pub(super) kinds: [PortKind; 2],
}

impl Planned {
    pub(super) fn is_at_host(&self) -> bool {
        self.kinds.iter().any(|kind| matches!(kind, PortKind::Nic | PortKind::ToHost))
    }
}

/// Nodes and cables of a network.
#[derive(Debug, Default)]
pub(super) struct NetworkPlan {
    pub(super) hosts: u32,
    /// Names of hosts; `None` if they have the names `host0`, `host1` and so on.
    pub(super) host_names: Option<Vec<String>>,
    pub(super) switch_names: Vec<String>,
    /// Cables: first the cable of each host, in the order of hosts, and then the cables between switches.
    pub(super) cables: Vec<Planned>,
}
