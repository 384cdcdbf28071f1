//! Samples of what waits: the backlog of every port and the occupancy of every pool, at fixed intervals.

use shallows_core::{Duration, Instant};

use crate::network::Network;

/// The samples so far. Entities that were empty at the last sample and still are leave no row.
#[derive(Debug, Default)]
pub struct Sampler {
    interval: Option<Duration>,
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
    /// Samples at this interval, if at any.
    pub fn new(interval: Option<Duration>) -> Self {
        Self { interval, ..Self::default() }
    }

    /// Record the state of a network at `now`; returns when to come again.
    ///
    /// # Panics
    ///
    /// If there is no interval.
    pub fn sample<T: Copy + Default>(&mut self, now: Instant, network: &Network<T>) -> Instant {
        let ports = network.backlogs().map(|(number, bytes)| (Entity::Port(number), bytes));
        let pools = network.memories().flat_map(|(node, memory)| {
            let pools = memory.pools().iter().enumerate();
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
