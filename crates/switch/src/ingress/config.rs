//! Configuration of an ingress book.

use shallows_core::Bytes;

use crate::buffer::Cell;

/// Configuration of a chip's ingress accounting.
#[derive(Clone, Debug)]
pub struct Config {
    /// Cell of the memory.
    pub cell: Cell,
    /// Comparison of a group with its limit.
    pub compares: Compares,
    /// Pools of the chip, or of one slice of its memory if slices do not share.
    pub pools: Vec<PoolConfig>,
}

/// A pool that groups share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// Shared part, without reserved cells and headroom.
    pub size: Bytes,
    /// Size of the pool of headroom, in which a group may take up to its own headroom; `None` if each group owns its headroom.
    pub headroom: Option<Bytes>,
}

/// State that a chip compares with the limit of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compares {
    /// The state before the packet: the packet's group must be below the limit, as on Trident 2, Tomahawk and Tomahawk 2.
    Before,
    /// The state with the packet counted in its group and in the pool, as on Trident 3, Tomahawk 3 and Tomahawk 5.
    With,
}

/// A priority group of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// Number of the pool.
    pub pool: usize,
    /// Reserved memory (`size` of SONiC's buffer profile).
    pub reserved: Bytes,
    /// Limit of the shared part.
    pub limit: GroupLimit,
    /// Headroom and thresholds of a lossless group; `None` for a lossy one.
    pub lossless: Option<Lossless>,
}

/// Limit of the shared part of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupLimit {
    /// *α* times the free part of the pool, with *α* = 2ⁿ (`dynamic_th` *n*).
    Dynamic {
        /// *n*, from -32 to 32.
        exponent: i8,
    },
    /// A fixed size (`static_th`).
    Static(Bytes),
}

/// Headroom and thresholds of a lossless group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lossless {
    /// Memory for packets that arrive after the pause (`xoff`). With a pool of headroom, the maximum part of that pool for this group.
    pub headroom: Bytes,
    /// Amount of shared memory up to which the group may be resumed regardless of its limit (`xon`).
    pub xon: Bytes,
    /// Distance below the limit at which the group is resumed (`xon_offset`).
    pub xon_offset: Bytes,
}
