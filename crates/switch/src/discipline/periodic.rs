//! Events that are due at every multiple of a period.

use shallows_core::{Duration, Instant};

/// An event that is due at every multiple of its period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Periodic {
    period: Duration,
    next: Instant,
}

impl Periodic {
    /// Creates an event that is first due one `period` after time zero.
    ///
    /// # Panics
    ///
    /// Panics if the period is zero.
    pub(super) fn new(period: Duration) -> Self {
        assert!(period > Duration::ZERO, "what recurs needs a period");
        Self { period, next: Instant::ZERO + period }
    }

    /// Returns the latest multiple of the period up to `now`, if one has passed since the previous call. Several multiples count as one.
    #[inline]
    pub(super) fn due(&mut self, now: Instant) -> Option<Instant> {
        if now < self.next {
            return None;
        }
        let start = Instant::ZERO + self.period * (now.0 / self.period.0);
        self.next = start + self.period;
        Some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_fall_due_once_each_and_together_if_nobody_asks() {
        let mut periodic = Periodic::new(Duration(10));
        let due =
            [0, 9, 10, 10, 19, 20, 47, 49, 50].map(|now| periodic.due(Instant(now)).map(|start| start.0));
        assert_eq!(due, [None, None, Some(10), None, None, Some(20), Some(40), None, Some(50)]);
    }

    #[test]
    #[should_panic(expected = "needs a period")]
    fn nothing_recurs_without_a_period() {
        Periodic::new(Duration::ZERO);
    }
}
