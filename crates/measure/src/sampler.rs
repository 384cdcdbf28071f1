//! Samples of what waits: the backlog of every port and the occupancy of every pool, at fixed intervals.

use shallows_core::{Bytes, Duration, Instant};
use shallows_switch::buffer::SharedBuffer;

/// The samples so far. Entities that were empty at the last sample and still are leave no row.
#[derive(Debug, Default)]
pub struct Sampler {
    interval: Option<Duration>,
    /// Recorded samples.
    pub rows: Vec<SampleRow>,
    /// By port, then by node and pool: whether the last sample was empty.
    empty: Vec<bool>,
}

/// One sample of one port or pool.
#[derive(Clone, Copy, Debug)]
pub struct SampleRow {
    /// When.
    pub at: Instant,
    /// Sampled port or pool.
    pub entity: Entity,
    /// Backlog.
    pub bytes: u64,
}

/// Sampled entity.
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

    /// Record at `now` what waits at these ports, by number of their links, and in these memories, by number of their nodes; they come
    /// in the same order each time. Returns when to come again.
    ///
    /// # Panics
    ///
    /// If there is no interval.
    pub fn sample<'a>(
        &mut self,
        now: Instant,
        ports: impl Iterator<Item = (u32, Bytes)>,
        memories: impl Iterator<Item = (u32, &'a SharedBuffer)>,
    ) -> Instant {
        let ports = ports.map(|(number, bytes)| (Entity::Port(number), bytes));
        let pools = memories.flat_map(|(node, memory)| {
            let pools = memory.pools().iter().enumerate();
            pools.map(move |(pool, state)| (Entity::Pool(node, pool as u32), state.used))
        });
        for (place, (entity, bytes)) in ports.chain(pools).enumerate() {
            if place == self.empty.len() {
                self.empty.push(true);
            }
            let was_empty = std::mem::replace(&mut self.empty[place], bytes.0 == 0);
            if bytes.0 > 0 || !was_empty {
                self.rows.push(SampleRow { at: now, entity, bytes: bytes.0 });
            }
        }
        now + self.interval.expect("sampling is scheduled only with an interval")
    }
}
