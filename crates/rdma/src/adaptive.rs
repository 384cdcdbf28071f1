//! Adaptive retransmission timeouts: they grow while nothing is acknowledged, and shrink again with acknowledgements.
//!
//! The rules are those of ConnectX NICs for a single range of timeouts (NVIDIA, "Adaptive Retransmission: Parameters Control", August 2025,
//! and the fields `timeout_retry_num`, `dec_mode` and `qp_total_timeout` of the register `ROCE_ACCL`). A NIC draws the first timeout of a
//! queue pair at random from its range. Here the first timeout is fixed, because runs must not depend on the order in which queue pairs
//! open.

use shallows_core::{Duration, Instant};

use crate::config::{Adaptive, Decrease};

/// State of the adaptive timeout of a queue pair.
#[derive(Debug)]
pub(crate) struct AdaptiveTimeout {
    config: Adaptive,
    /// Present timeout.
    timeout: Duration,
    /// Number of consecutive timeouts of the present length.
    attempts: u32,
    /// Start of the first timeout since the last progress; `None` if no timeout has expired since then.
    stuck_since: Option<Instant>,
}

impl AdaptiveTimeout {
    pub(crate) fn new(config: Adaptive) -> Self {
        Self { config, timeout: config.first, attempts: 0, stuck_since: None }
    }

    /// Returns the present timeout.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Records that the timeout that started at `started` has expired. `most` is the longest permitted timeout.
    pub(crate) fn on_timeout(&mut self, started: Instant, most: Duration) {
        self.stuck_since.get_or_insert(started);
        self.attempts += 1;
        // `timeout_retry_num`: number of attempts with the same timeout, before the timeout is increased.
        if self.attempts == self.config.attempts {
            self.attempts = 0;
            // `Config::timeout` is the upper limit.
            self.timeout = (self.timeout * 2).min(most);
        }
    }

    /// Records that new data was acknowledged.
    pub(crate) fn on_progress(&mut self) {
        self.stuck_since = None;
        self.attempts = 0;
        // `dec_mode`: the timeout falls to a quarter, to a half or to the lower bound.
        self.timeout = match self.config.decrease {
            Decrease::By(divisor) => (self.timeout / divisor).max(self.config.first),
            Decrease::Reset => self.config.first,
        };
    }

    /// Returns the time without progress, counted from the start of the first timeout since the last progress.
    pub(crate) fn stuck_for(&self, now: Instant) -> Duration {
        self.stuck_since.map_or(Duration::ZERO, |since| now.saturating_since(since))
    }
}
