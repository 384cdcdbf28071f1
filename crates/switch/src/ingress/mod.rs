//! Ingress accounting of a switch with lossless classes.
//!
//! Such a switch counts each packet twice, as SAI's objects do: at ingress (port → priority group → pool) in an [`IngressBook`], and at
//! egress (port → queue → pool) in a [`SharedBuffer`](crate::buffer::SharedBuffer). The ingress book bounds the memory of lossless
//! groups and decides when to pause their senders; the egress book bounds lossy queues. [`TwoBooks`] drives a node with both in tests.
//!
//! A group is charged first in its reserved cells, then in the shared part of its pool up to its limit, then, if it is lossless, in
//! headroom. A group that can take no further cell without headroom is paused. Departures free headroom first, then shared cells, then
//! reserved ones. Whenever the free memory of a pool changes, all groups of that pool are tested again. The order of charges and the
//! condition of the pause are those of Broadcom's chips; `tests/ingress.rs` reproduces packet counts that were measured on them.

mod book;
mod class_maps;
mod config;
mod group;
mod pool;
mod two_books;

pub use self::book::IngressBook;
pub use self::class_maps::ClassMaps;
pub use self::config::{Compares, Config, GroupConfig, GroupLimit, Lossless, PoolConfig};
pub use self::group::GroupCounters;
pub use self::pool::{GroupId, IngressRefusal, Signal};
pub use self::two_books::{Counted, TwoBooks};
