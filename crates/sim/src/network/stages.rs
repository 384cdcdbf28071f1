//! Time windows of partitions that are longer than the shortest delay between partitions.
//!
//! In such a *long window*, ports run in the order in which packets pass through them ([`crate::network::turns`]). After ports that send to
//! other partitions have run, partitions exchange packets. A *stage* is the part of a long window between two exchanges: the hosts or the
//! ports of some turns run through the whole window.

use std::ops::Range;

use shallows_core::{Duration, Instant};
use shallows_scenario::Experiment;

use crate::network::division::{Division, window};
use crate::network::turns::{Turns, intervals};

/// Stages of the long windows of a divided network.
#[derive(Debug)]
pub(crate) struct Stages {
    pub(crate) turns: Turns,
    /// Length of a short time window of the network: the shortest delay of a link.
    pub(crate) short: Duration,
    /// For each stage, the range of indices in `turns.steps`. Hosts run in the first stage, before the ports of switches.
    pub(crate) steps: Vec<Range<usize>>,
    /// Intervals at which switches are sampled and traced.
    intervals: Vec<Duration>,
    /// Times at which the network changes. Ascending.
    changes: Vec<Instant>,
}

impl Stages {
    /// Returns the stages of the long windows of a network with this division. `None` in each of these cases:
    ///
    /// - The network is not divided.
    /// - Long windows would have as many exchanges of packets per simulated time as the windows of the division.
    /// - The run ends when all flows have ended, and queue pairs can end flows without a packet from the receiver.
    pub(crate) fn new(experiment: &Experiment, division: &Division) -> Option<Self> {
        let fails = experiment.stop.on_completion && experiment.has_queue_pairs();
        (division.partitions() > 1 && !fails).then_some(())?;
        let network = &experiment.network;
        let (turns, short) = (Turns::along_paths(experiment)?, window(experiment)?);
        let mut sends = vec![false; turns.steps.len()];
        for (link, turn) in network.links.iter().zip(&turns.of_links) {
            if division.partition_of(link.from.0) != division.partition_of(link.to.0) {
                let step = turns.steps.iter().position(|step| step.turn == *turn);
                sends[step.expect("only links between switches leave a partition")] = true;
            }
        }
        let (mut steps, mut start) = (Vec::new(), 0);
        for (step, sends) in sends.into_iter().enumerate() {
            if sends || step + 1 == turns.steps.len() {
                steps.push(start..step + 1);
                start = step + 1;
            }
        }
        let changes = network.epochs().iter().map(|epoch| epoch.at).collect();
        let stages = Self { turns, short, steps, intervals: intervals(experiment).collect(), changes };
        (stages.mean_length() > division.window()).then_some(stages)
    }

    /// Returns the mean simulated time between two exchanges of packets.
    pub(crate) fn mean_length(&self) -> Duration {
        Duration(self.turns.window.0 / self.steps.len() as u64)
    }

    /// Returns the first time, `first` or later, at which switches are sampled or traced, or at which the network changes. At such a time,
    /// switches must have run to this time, so it cannot be within a long window. Returns `Instant::MAX` if there is no such time.
    pub(crate) fn next_stop(&self, first: Instant) -> Instant {
        let multiples = self.intervals.iter().map(|every| Instant(first.0.div_ceil(every.0) * every.0));
        let changes = self.changes.iter().copied().filter(|&change| change >= first);
        multiples.chain(changes).min().unwrap_or(Instant::MAX)
    }
}
