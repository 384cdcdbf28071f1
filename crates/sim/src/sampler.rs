//! Samples of what waits: the backlog of every port and the occupancy of every pool, at fixed intervals.

use shallows_core::{Duration, Instant};
use shallows_switch::buffer::SharedBuffer;

use crate::link::Link;

/// The samples so far. Entities that were empty at the last sample and still are leave no row.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    pub(crate) interval: Option<Duration>,
    /// The number of the node of each buffer.
    nodes: Vec<u32>,
    pub(crate) rows: Vec<Row>,
    /// By place of a link, then by node and pool: whether the last sample was empty.
    empty: Vec<bool>,
}

/// One sample of one port or pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) at: Instant,
    pub(crate) entity: Entity,
    pub(crate) bytes: u64,
}

/// What was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Entity {
    /// A port, by number of its link.
    Port(u32),
    /// A pool, by number of its node and its number there.
    Pool(u32, u32),
}

impl Sampler {
    /// Of buffers of these nodes.
    pub(crate) fn new(interval: Option<Duration>, nodes: Vec<u32>) -> Self {
        Self { interval, nodes, ..Self::default() }
    }

    /// Record the state at `now`; returns when to come again.
    pub(crate) fn sample(&mut self, now: Instant, links: &[Link], buffers: &[SharedBuffer]) -> Instant {
        let ports = links.iter().map(|link| (Entity::Port(link.number), link.port.backlog()));
        let pools = self.nodes.iter().zip(buffers).flat_map(|(&node, buffer)| {
            let pools = buffer.pools().iter().enumerate();
            pools.map(move |(pool, state)| (Entity::Pool(node, pool as u32), state.used))
        });
        for (place, (entity, bytes)) in ports.chain(pools).enumerate() {
            if place == self.empty.len() {
                self.empty.push(true);
            }
            let was_empty = std::mem::replace(&mut self.empty[place], bytes.0 == 0);
            if bytes.0 > 0 || !was_empty {
                self.rows.push(Row { at: now, entity, bytes: bytes.0 });
            }
        }
        now + self.interval.expect("sampling is scheduled only with an interval")
    }
}
