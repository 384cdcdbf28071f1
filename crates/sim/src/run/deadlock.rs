//! Search for deadlocks at fixed simulated times, which do not depend on the number of threads.

use std::collections::BTreeMap;

use shallows_core::{Duration, Instant};
use shallows_measure::Deadlock;
use shallows_scenario::{Experiment, Lossless};

use crate::network::deadlock::{Pauses, Sender};
use crate::run::end::Ending;
use crate::run::world::World;

/// Simulated time between two searches. A cycle of pauses counts as a deadlock if nothing in it has moved for this time.
const PERIOD: Duration = Duration::from_micros(1_000);

/// Result of advancing a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advance {
    /// The requested number of events has fired.
    Budget,
    /// All events up to the time of the next search have fired.
    Search,
    /// The run has ended.
    End,
}

/// Search for deadlocks.
#[derive(Debug)]
pub(crate) struct Search {
    ending: Ending,
    /// Time of the next search; `Instant::MAX` if no deadlock is possible.
    pub(crate) due: Instant,
    /// For each group that paused its sender at the last search, the number of packets that had left it.
    left: BTreeMap<Sender, u64>,
    pub(crate) found: Option<Deadlock>,
    /// Number of searches so far.
    pub(crate) searches: u64,
}

impl Search {
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let ending = Ending::new(experiment);
        // A watchdog ends a deadlock.
        let lasts = |lossless: &Lossless| lossless.cyclic && lossless.watchdog.is_none();
        let is_possible = experiment.network.lossless.as_ref().is_some_and(lasts);
        let due = if is_possible { ending.step_end(Instant::ZERO + PERIOD) } else { Instant::MAX };
        Self { ending, due, left: BTreeMap::new(), found: None, searches: 0 }
    }

    /// Searches for a deadlock at the time `due`. `next` is a lower bound on the time of the next event. Returns whether a
    /// deadlock was found.
    pub(crate) fn run<'a>(&mut self, worlds: impl Iterator<Item = &'a World>, next: Instant) -> bool {
        self.searches += 1;
        let mut pauses = Pauses::default();
        worlds.for_each(|world| world.add_pauses(&mut pauses));
        let cycle = pauses.cycle(|sender, group| self.left.get(&sender) == Some(&group.left));
        self.found = cycle.map(|cycle| Deadlock { at: self.due + Duration(1), cycle });
        self.left = pauses.groups.into_iter().map(|(sender, group)| (sender, group.left)).collect();
        // Without pauses, nothing changes before the next event.
        let last =
            if self.left.is_empty() { self.due.max(Instant(next.0.saturating_sub(1))) } else { self.due };
        self.due = match last.0.checked_add(2 * PERIOD.0) {
            Some(_) => self.ending.step_end(Instant((last.0 / PERIOD.0 + 1) * PERIOD.0)),
            None => Instant::MAX,
        };
        self.found.is_some()
    }
}
