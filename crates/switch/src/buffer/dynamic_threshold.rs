//! Dynamic Threshold: limits a queue to *T = α · (B − U)* (Choudhury and Hahne, ToN '98; BCC Eq. 1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;

use super::pool::{Account, Pool};

/// Policy that limits a queue to *T = α · (B − U)*, where *B* is the size of the pool and *U* its occupancy.
#[derive(Clone, Debug)]
pub struct DynamicThreshold {
    /// *α*. On Tomahawk, a power of two from 1/128 to 8 (BCC §IV-B).
    pub alpha: f64,
    /// Bytes of a queue that are compared with the threshold.
    pub counts: DtCounts,
}

/// Bytes of a queue that Dynamic Threshold compares with *T*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DtCounts {
    /// Bytes that the queue holds in the pool.
    #[default]
    Shared,
    /// All bytes of the queue, including its reserved buffer, as in BCC's released simulator.
    Total,
}

impl DynamicThreshold {
    /// Returns the largest steady backlog of each of `busy` queues in a pool of the size `pool`, excluding the queue's `reserved` bytes.
    ///
    /// M equal queues hold αB/(1 + αM) each (Choudhury and Hahne, ToN '98). If *T* limits all q bytes of a queue, including p reserved
    /// bytes, then q = α(B − M(q − p)), so q − p = (αB − p)/(1 + αM).
    pub(super) fn limit(&self, pool: Bytes, reserved: Bytes, busy: usize) -> Bytes {
        let bounded = match self.counts {
            DtCounts::Shared => 0.0,
            DtCounts::Total => reserved.0 as f64,
        };
        let share = (self.alpha * pool.0 as f64 - bounded) / (1.0 + self.alpha * busy as f64);
        Bytes(share.max(0.0) as u64)
    }

    /// Returns the current limit of every queue in `pool`.
    #[inline]
    pub fn threshold(&self, pool: &Pool) -> Bytes {
        pool.size.saturating_sub(pool.used).scale(self.alpha)
    }

    #[inline]
    fn backlog(&self, queue: &Account) -> Bytes {
        match self.counts {
            DtCounts::Shared => queue.shared,
            DtCounts::Total => queue.backlog(),
        }
    }

    #[inline]
    pub(super) fn admits(&self, queue: &Account, pool: &Pool, size: Bytes) -> bool {
        // The arriving packet is included, so that a queue never holds more than T. The paper's "drop when Q >= T" admits one packet
        // more, but its released code does not (BCC §IV-B; myred.cc). T need not be rounded, because an integer is at most T exactly if
        // it is at most ⌊T⌋.
        self.allows(self.backlog(queue) + size, pool)
    }

    /// Returns whether a chip that counts cells admits a packet that occupies `size`.
    ///
    /// These chips compare as if the packet of k cells were already in the pool: c + k <= α · (S − U − k), for a queue of c cells in a
    /// pool of S cells with U in use. A single queue of one-cell packets then holds ⌊αS/(1 + α)⌋ cells, the number that the tests of
    /// Trident 3, Tomahawk 3 and Tomahawk 5 in sonic-mgmt expect (`tests/cells.rs`).
    pub(super) fn admits_cells(&self, queue: &Account, pool: &Pool, size: Bytes) -> bool {
        self.allows_cells(self.backlog(queue), pool, size)
    }

    /// Returns whether a queue that holds `backlog` bytes of cells may hold `size` more.
    pub(super) fn allows_cells(&self, backlog: Bytes, pool: &Pool, size: Bytes) -> bool {
        let free = pool.size.saturating_sub(pool.used + size);
        (backlog + size).0 as f64 <= free.0 as f64 * self.alpha
    }

    /// Returns whether a queue may hold `backlog` bytes.
    #[inline(always)]
    pub(super) fn allows(&self, backlog: Bytes, pool: &Pool) -> bool {
        let free = pool.size.saturating_sub(pool.used);
        backlog.0 as i64 as f64 <= free.0 as i64 as f64 * self.alpha
    }
}
