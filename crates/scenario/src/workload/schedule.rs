//! Workloads whose flows have known start times: long-lived flows, flows of a list, and rounds of incast.

use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant};

use super::interface::{Flow, Next, Workload};

/// Workload of flows in order of their start times.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    flows: Arc<[Flow]>,
    sent: usize,
}

impl Schedule {
    /// Creates a workload of these flows, which must be in order of their start times.
    pub(crate) fn new(flows: Vec<Flow>) -> Self {
        debug_assert!(flows.is_sorted_by_key(|flow| flow.at));
        Self { flows: flows.into(), sent: 0 }
    }

    /// Creates a workload with `config.per_pair` unbounded flows for each pair. Each flow starts up to `spread` later than `start`.
    pub(crate) fn long_lived(pairs: impl Iterator<Item = (HostId, HostId)>, config: &LongLived) -> Self {
        let mut stream = Stream::new(config.seed, "starts", u64::from(config.workload));
        let pairs = pairs.flat_map(|pair| std::iter::repeat_n(pair, config.per_pair as usize));
        let mut flows: Vec<Flow> = pairs
            .map(|(source, destination)| Flow {
                at: config.start + delay(&mut stream, config.spread),
                workload: config.workload,
                ..Flow::between(source, destination)
            })
            .collect();
        flows.sort_by_key(|flow| flow.at);
        Self::new(flows)
    }

    pub(crate) fn times(&self) -> Vec<Instant> {
        self.flows.iter().map(|flow| flow.at).collect()
    }

    /// Returns the start time of the last flow; `None` if some flow is unbounded or if there are no flows.
    pub(crate) fn last(&self) -> Option<Instant> {
        self.flows.last().filter(|_| self.flows.iter().all(|flow| flow.size.is_some())).map(|flow| flow.at)
    }

    pub(super) fn arrivals(&self, end: Option<Instant>) -> f64 {
        end.map_or(self.flows.len(), |end| self.flows.partition_point(|flow| flow.at <= end)) as f64
    }

    pub(super) fn expected_flows(&self) -> u64 {
        self.flows.len() as u64
    }
}

/// Configuration of a workload of long-lived flows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongLived {
    pub(crate) seed: u64,
    pub(crate) workload: u16,
    pub(crate) per_pair: u32,
    pub(crate) start: Instant,
    pub(crate) spread: Duration,
}

impl Workload for Schedule {
    fn next(&mut self, now: Instant) -> Next {
        let Some(flow) = self.flows.get(self.sent) else {
            return Next::Done;
        };
        self.sent += 1;
        Next::Flow(Flow { at: flow.at.max(now), ..*flow })
    }
}

/// Workload of rounds. In each round, every sender sends to every receiver at once.
#[derive(Clone, Debug)]
pub(crate) struct Incast {
    config: IncastConfig,
    round: u32,
    /// Flows of the current round that have not started, latest first.
    pending: Vec<Flow>,
    delays: Stream,
}

/// Configuration of an incast.
#[derive(Clone, Debug)]
pub(crate) struct IncastConfig {
    pub(crate) seed: u64,
    pub(crate) workload: u16,
    pub(crate) pairs: Arc<[(HostId, HostId)]>,
    /// Size of the flow from each sender to each receiver.
    pub(crate) size: Bytes,
    pub(crate) start: Instant,
    pub(crate) repeats: u32,
    pub(crate) period: Duration,
    /// Maximum random delay of a flow's start. It is less than `period`, so that rounds do not overlap.
    pub(crate) spread: Duration,
}

impl Incast {
    /// Creates the workload, whose first round starts at `config.start`.
    pub(crate) fn new(config: IncastConfig) -> Self {
        let delays = Stream::new(config.seed, "starts", u64::from(config.workload));
        Self { config, round: 0, pending: Vec::new(), delays }
    }

    pub(crate) fn begin(&self) -> Instant {
        self.config.start
    }

    /// Returns the latest possible start time of a flow.
    pub(crate) fn last(&self) -> Instant {
        let config = &self.config;
        config.start + config.period * u64::from(config.repeats - 1) + config.spread
    }

    pub(super) fn arrivals(&self, end: Option<Instant>) -> f64 {
        let config = &self.config;
        let gap = config.period.0.max(1) as f64;
        config.pairs.len() as f64
            * super::interface::times(config.start, end, gap, Some(config.repeats.into()))
    }

    pub(super) fn expected_flows(&self) -> u64 {
        self.config.pairs.len() as u64 * u64::from(self.config.repeats)
    }

    fn start_round(&mut self) {
        let config = &self.config;
        let start = config.start + config.period * u64::from(self.round);
        self.pending.extend(config.pairs.iter().map(|&(source, destination)| Flow {
            at: start + delay(&mut self.delays, config.spread),
            size: Some(config.size),
            workload: config.workload,
            ..Flow::between(source, destination)
        }));
        // The sort is stable, so flows with equal times start in the order of their pairs.
        self.pending.sort_by_key(|flow| flow.at);
        self.pending.reverse();
        self.round += 1;
    }
}

impl Workload for Incast {
    fn next(&mut self, now: Instant) -> Next {
        if self.pending.is_empty() && self.round < self.config.repeats {
            self.start_round();
        }
        match self.pending.pop() {
            Some(flow) => Next::Flow(Flow { at: flow.at.max(now), ..flow }),
            None => Next::Done,
        }
    }
}

/// Draws a delay, uniform from zero to `spread`, both included.
fn delay(stream: &mut Stream, spread: Duration) -> Duration {
    if spread == Duration::ZERO { spread } else { Duration(stream.below(spread.0 + 1)) }
}
