//! Search for deadlocks at fixed simulated times, which do not depend on the number of threads.

use std::collections::BTreeMap;

use shallows_core::{Duration, Instant};
use shallows_measure::Deadlock;
use shallows_scenario::{Experiment, Lossless};

use crate::network::deadlock::{Pauses, Sender};
use crate::run::end::Ending;
use crate::run::world::World;

/// Simulated time between two searches. A cycle of pauses counts as a deadlock if no packet of the cycle has moved for this time.
const PERIOD: Duration = Duration::from_micros(1_000);

/// Reason why a run stopped advancing.
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
    /// For each priority group that paused its sender at the last search, the number of packets that had left the group.
    left: BTreeMap<Sender, u64>,
    pub(crate) found: Option<Deadlock>,
    /// Number of searches so far.
    pub(crate) searches: u64,
}

impl Search {
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let ending = Ending::new(experiment);
        // A watchdog ends a deadlock, so no search is needed.
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
        // Without pauses, no deadlock can arise before the next event.
        let last =
            if self.left.is_empty() { self.due.max(Instant(next.0.saturating_sub(1))) } else { self.due };
        self.due = match last.0.checked_add(2 * PERIOD.0) {
            Some(_) => self.ending.step_end(Instant((last.0 / PERIOD.0 + 1) * PERIOD.0)),
            None => Instant::MAX,
        };
        self.found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::testing::parse;
    use crate::run::simulation::Simulation;

    /// Two switches, whose routes to a third switch form a loop that no packet uses. Host `a` at `s0` sends to host `b` at `s1`, at 100
    /// Gb/s in class 0. The link of `b` has 40 Gb/s, and `b` pauses both lossless classes from 10 us on. All classes share a queue.
    const STORM: &str = r#"
        stop.at = "100us"
        tcp = {}

        [host]
        jitter = "off"
        nic = { limit = "1GB", backpressure = "off" }
        group = [{ name = "bad", members = "b", nic = { pfc_storm = { start = "10us" } } }]

        [topology]
        kind = "graph"
        rate = "100Gbps"
        link_delay = "500ns"
        hosts = ["a", "b", "c"]
        switches = ["s0", "s1", "away"]
        links = [
            { between = ["s0", "s1"] }, { between = ["s0", "away"] }, { between = ["a", "s0"] },
            { between = ["b", "s1"], rate = "40Gbps" }, { between = ["c", "away"] },
        ]

        [switch]
        buffer = { kind = "complete-sharing", pool = "2MB" }
        lossless.classes = [0, 1]
        lossless.limit = "90KB"
        lossless.cyclic_routes = "allow"
        lossless.routing_loops = [{ to = "away", through = ["s0", "s1"] }]

        [[workload]]
        kind = "udp"
        senders = "a"
        receivers = "b"
        overload = true
        pattern = { kind = "constant", rate = "100Gbps" }
    "#;

    #[test]
    fn a_search_sees_who_is_paused_and_where_the_packets_of_each_group_wait() {
        let experiment = parse(STORM, &[]);
        let link = |name: &str| {
            experiment.network.links.iter().position(|link| link.name == name).expect("a link") as u32
        };
        let [nic, ring, last] = ["a->s0", "s0->s1", "s1->b"].map(link);
        let mut simulation = Simulation::new(experiment.clone());
        simulation.advance(u64::MAX);
        let mut pauses = Pauses::default();
        simulation.worlds().for_each(|world| world.add_pauses(&mut pauses));
        // Host `b` pauses both classes for ever. The switches pause only class 0, because only this class has packets.
        assert_eq!(pauses.endless, [(last, 0), (last, 1)].into());
        assert_eq!(pauses.paused, [(nic, 0), (ring, 0), (last, 0), (last, 1)].into());
        // The transmission of a packet takes 120 ns, or 300 ns on the link to `b`. The first packet reaches `s1` at 1,240 ns. The pause by
        // `b` takes effect at 12,027 ns, after the frame of 17 ns, a delay of 500 ns, and 118 quanta. Until then, `s1` has begun to send 36
        // packets: the first at once, and 35 that had waited. No waiting packet has left `s0`, because packets have waited there only since
        // the link to `s1` was paused.
        assert_eq!(pauses.groups.keys().copied().collect::<Vec<_>>(), [(nic, 0), (ring, 0)]);
        let group = |link| &pauses.groups[&(link, 0)];
        assert_eq!((group(nic).left, &group(nic).waits[..]), (0, &[(ring, 0b11)][..]));
        assert_eq!((group(ring).left, &group(ring).waits[..]), (35, &[(last, 0b11)][..]));
    }
}
