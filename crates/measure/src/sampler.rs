//! Samples of buffer use: the backlog of every port and the occupancy of every pool, at fixed intervals.

use shallows_core::{Bytes, Duration, Instant};
use shallows_switch::buffer::SharedBuffer;

/// Samples recorded so far. A sample of zero bytes adds a row only if the previous sample of the same port or pool was above zero. A first
/// sample of zero bytes adds no row.
#[derive(Debug, Default)]
pub struct Sampler {
    interval: Option<Duration>,
    /// Recorded samples.
    pub rows: Vec<SampleRow>,
    /// Whether each entity was empty at its last sample: ports first, then pools by node. Before its first sample, an entity counts as
    /// empty.
    empty: Vec<bool>,
}

/// One sample of one port or pool.
#[derive(Clone, Copy, Debug)]
pub struct SampleRow {
    /// Time of the sample.
    pub at: Instant,
    /// Sampled port or pool.
    pub entity: Entity,
    /// Backlog of the port or occupancy of the pool, in bytes.
    pub bytes: u64,
}

/// Sampled port or pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entity {
    /// Port, by the number of its link.
    Port(u32),
    /// Pool, by the number of its node and its index at that node.
    Pool(u32, u32),
}

impl Sampler {
    /// Creates a sampler with this interval; `None` disables sampling.
    pub fn new(interval: Option<Duration>) -> Self {
        Self { interval, ..Self::default() }
    }

    /// Records the backlog of each port and the occupancy of each pool at `now`. `ports` has link numbers and backlogs; `memories` has node
    /// numbers and shared buffers. The order must be the same in each call. Returns the time of the next sample.
    ///
    /// # Panics
    ///
    /// If the sampler has no interval.
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
