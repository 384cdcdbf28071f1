//! How long a flow starves: the longest time without progress at one of its ends.

use shallows_core::{Duration, Instant};

/// The longest time between two events of a kind, from the start of a flow on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gap {
    since: Instant,
    longest: Duration,
}

impl Gap {
    /// The flow starts now: from here on its first event is waited for.
    pub(crate) fn from(now: Instant) -> Self {
        Self { since: now, longest: Duration::ZERO }
    }

    /// One of the events.
    #[inline]
    pub(crate) fn end(&mut self, now: Instant) {
        self.longest = self.longest.max(now - self.since);
        self.since = now;
    }

    /// The longest so far.
    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }

    /// The longest if the last one ends with the run.
    pub(crate) fn until(mut self, end: Instant) -> Duration {
        self.end(end);
        self.longest
    }
}
