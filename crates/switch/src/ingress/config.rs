//! Configuration of an ingress book.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;

use crate::buffer::Cell;

/// Configuration of a chip's ingress accounting.
#[derive(Clone, Debug)]
pub struct Config {
    /// Size of the memory's cells.
    pub cell: Cell,
    /// Rule for counting the arriving packet when the chip compares a group with its limit.
    pub compares: Compares,
    /// Pools of the chip, or of one slice of its memory if slices do not share.
    pub pools: Vec<PoolConfig>,
}

/// Configuration of a pool that several groups share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Size of the shared part, which excludes reserved cells and headroom.
    pub size: Bytes,
    /// Size of the headroom pool, from which a group may take up to its own headroom; `None` if each group owns its headroom.
    pub headroom: Option<Bytes>,
}

/// Rule for counting the arriving packet when a chip compares a group with its limit. Default `"with"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compares {
    /// The packet is not counted: its group must be below the limit before the packet is added, as on Trident 2, Tomahawk and Tomahawk 2.
    Before,
    /// The packet is counted in its group and in the pool, as on Trident 3, Tomahawk 3 and Tomahawk 5.
    #[default]
    With,
    /// The packet is counted in its group but not in the pool, as in HPCC's simulator (`switch-mmu.cc`). Only an arriving packet of the
    /// group can pause the group's sender, and only a departing packet of the group can resume it.
    HpccRepo,
    /// The packet is counted in its group and in the pool, as in ns3-datacenter (`switch-mmu.cc`). Only a packet of the group that goes to
    /// headroom pauses the group's sender, and only a departing packet of the group can resume it. While the group uses headroom, all its
    /// packets go there.
    #[serde(rename = "ns3-datacenter")]
    Ns3Datacenter,
}

impl Compares {
    /// Returns whether only packets of a group itself can pause and resume its sender, as in HPCC's simulator and ns3-datacenter.
    pub(super) fn tests_own_group(self) -> bool {
        matches!(self, Self::HpccRepo | Self::Ns3Datacenter)
    }
}

/// Configuration of a priority group of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// Number of the pool that the group shares.
    pub pool: usize,
    /// Reserved memory (`size` of SONiC's buffer profile).
    pub reserved: Bytes,
    /// Limit on the group's use of its pool.
    pub limit: GroupLimit,
    /// Headroom and thresholds of a lossless group; `None` for a lossy one.
    pub lossless: Option<Lossless>,
}

/// Limit on a group's use of its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupLimit {
    /// *α* times the free part of the pool, with *α* = 2ⁿ (`dynamic_th` *n*).
    Dynamic {
        /// Exponent *n*, from -32 to 32.
        exponent: i8,
    },
    /// A fixed size (`static_th`).
    Static(Bytes),
}

/// Headroom and thresholds of a lossless group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lossless {
    /// Memory for packets that arrive after the pause (`xoff`). If there is a headroom pool, the most that the group may take from that
    /// pool.
    pub headroom: Bytes,
    /// Shared memory at or below which the group may be resumed, whatever the group's limit is (`xon`).
    pub xon: Bytes,
    /// Distance below the limit at which the group is resumed (`xon_offset`).
    pub xon_offset: Bytes,
}
