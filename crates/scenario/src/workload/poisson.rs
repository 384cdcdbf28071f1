//! Flows that arrive at random times between random pairs.
//!
//! One Poisson process serves the whole workload. Times, pairs and sizes come from separate streams, so the *k*-th flow has the same pair
//! and size at any load and under any compared scheme.

use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::random::Stream;
use shallows_core::{Duration, Instant};

use super::distribution::Sizes;
use super::interface::{Flow, Next, Workload};

/// Configuration of a Poisson workload.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) seed: u64,
    /// Index of this workload among the workloads that send flows.
    pub(crate) workload: u16,
    pub(crate) sizes: Arc<Sizes>,
    pub(crate) senders: Arc<[HostId]>,
    pub(crate) receivers: Arc<[HostId]>,
    /// Mean time between two flows, in picoseconds.
    pub(crate) mean_gap: f64,
    pub(crate) start: Instant,
    /// Number of flows; `None` for no limit.
    pub(crate) flows: Option<u64>,
    /// Time after which no flow arrives.
    pub(crate) end: Instant,
}

impl Config {
    /// Returns the expected number of flows until `end`, or the total if `end` is `None`.
    pub(super) fn arrivals(&self, end: Option<Instant>) -> f64 {
        super::interface::times(self.start, end, self.mean_gap, self.flows)
    }
}

/// Workload with one Poisson process for all pairs of hosts.
#[derive(Clone, Debug)]
pub(crate) struct Poisson {
    config: Config,
    sent: u64,
    clock: Instant,
    arrivals: Stream,
    pairs: Stream,
    sizes: Stream,
}

impl Poisson {
    /// Creates the workload. Flows arrive after `config.start`. At least one sender must have a receiver other than itself.
    pub(crate) fn new(config: Config) -> Self {
        let stream = |purpose| Stream::new(config.seed, purpose, u64::from(config.workload));
        Self {
            sent: 0,
            clock: config.start,
            arrivals: stream("arrivals"),
            pairs: stream("pairs"),
            sizes: stream("sizes"),
            config,
        }
    }

    pub(crate) fn begin(&self) -> Instant {
        self.config.start
    }

    pub(super) fn arrivals(&self, end: Option<Instant>) -> f64 {
        self.config.arrivals(end)
    }

    pub(super) fn expected_flows(&self) -> Option<u64> {
        self.config.flows
    }

    /// Draws a sender and a receiver. All ordered pairs of distinct hosts are equally likely.
    fn pair(&mut self) -> (HostId, HostId) {
        loop {
            let source = draw(&mut self.pairs, &self.config.senders);
            let destination = draw(&mut self.pairs, &self.config.receivers);
            if source != destination {
                return (source, destination);
            }
        }
    }
}

fn draw(stream: &mut Stream, hosts: &[HostId]) -> HostId {
    hosts[stream.below(hosts.len() as u64) as usize]
}

impl Workload for Poisson {
    fn next(&mut self, now: Instant) -> Next {
        if self.config.flows.is_some_and(|flows| self.sent >= flows) {
            return Next::Done;
        }
        let gap = Duration((self.arrivals.exponential() * self.config.mean_gap).round() as u64);
        let at = Instant(self.clock.0.saturating_add(gap.0));
        if at > self.config.end {
            self.config.flows = Some(self.sent);
            return Next::Done;
        }
        self.clock = at;
        self.sent += 1;
        let (source, destination) = self.pair();
        let size = self.config.sizes.quantile(self.sizes.uniform());
        let workload = self.config.workload;
        let flow = Flow::between(source, destination);
        Next::Flow(Flow { at: at.max(now), size: Some(size), workload, ..flow })
    }
}
