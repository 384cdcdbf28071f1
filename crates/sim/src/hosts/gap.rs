//! Starvation of a flow: the longest time without progress at one of its ends.

use shallows_core::{Duration, Instant};

/// Longest time without an event of one kind (such as an arrival of data) since the start of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gap {
    since: Instant,
    longest: Duration,
}

impl Gap {
    /// Creates a measurement that starts at `now`, the start of the flow.
    pub(crate) fn from(now: Instant) -> Self {
        Self { since: now, longest: Duration::ZERO }
    }

    /// Records an event, which ends the current gap and begins the next one.
    #[inline]
    pub(crate) fn end(&mut self, now: Instant) {
        self.longest = self.longest.max(now - self.since);
        self.since = now;
    }

    /// Returns the longest gap so far.
    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }

    /// Returns the longest gap, including the last gap, which lasts until the `end` of the run.
    pub(crate) fn until(mut self, end: Instant) -> Duration {
        self.end(end);
        self.longest
    }
}
