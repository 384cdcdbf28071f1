//! Samples of what waits: the backlog of every port and the occupancy of every pool, at fixed intervals.

use shallows_core::{Bytes, Duration, Instant};
use shallows_switch::buffer::SharedBuffer;

/// The samples so far. Entities that were empty at the last sample and still are leave no row.
#[derive(Debug, Default)]
pub struct Sampler {
    interval: Option<Duration>,
    /// The number of the node of each buffer.
    nodes: Vec<u32>,
    /// What was recorded.
    pub rows: Vec<Row>,
    /// By port, then by node and pool: whether the last sample was empty.
    empty: Vec<bool>,
}

/// One sample of one port or pool.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// When.
    pub at: Instant,
    /// Of what.
    pub entity: Entity,
    /// What waited there.
    pub bytes: u64,
}

/// What was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entity {
    /// A port, by number of its link.
    Port(u32),
    /// A pool, by number of its node and its number there.
    Pool(u32, u32),
}

impl Sampler {
    /// Samples at this interval, if at any, of ports and of the buffers of these nodes.
    pub fn new(interval: Option<Duration>, nodes: Vec<u32>) -> Self {
        Self { interval, nodes, ..Self::default() }
    }

    /// Record the state at `now`, of which `backlogs` are those of the ports, with the numbers of their links; returns when to
    /// come again.
    ///
    /// # Panics
    ///
    /// If there is no interval.
    pub fn sample(
        &mut self,
        now: Instant,
        backlogs: impl Iterator<Item = (u32, Bytes)>,
        buffers: &[SharedBuffer],
    ) -> Instant {
        let ports = backlogs.map(|(number, bytes)| (Entity::Port(number), bytes));
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
