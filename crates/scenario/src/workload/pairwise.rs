//! Poisson processes, one for each pair of hosts, drawn like those in the ns-2 scripts of BCC and MQ-ECN.
//!
//! A generator with the seed 17 *i* + 1244 *j* draws the times of the flows from sender *i* to receiver *j*. Another generator, with the
//! seed 33 *i* + 4369 *j*, draws their sizes.
//!
//! These seeds are close to each other, and the generator is seeded poorly ([`shallows_core::mrg32k3a`]). Senders with close numbers
//! therefore begin with flows of almost the same sizes at almost the same times. This matters because a pair has only about five flows in
//! the papers' runs. The seed of the run is not used, so runs with different seeds have the same flows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use shallows_core::Instant;
use shallows_core::mrg32k3a::Mrg32k3a;
use shallows_core::packet::HostId;

use super::interface::{Flow, Next, Workload};
use super::poisson::Config;

/// Arrival processes of all pairs. All have the same mean time between flows.
#[derive(Clone, Debug)]
pub(crate) struct Pairwise {
    /// Configuration of the workload. Its seed is not used.
    config: Config,
    /// Mean time between two flows of the same pair, in picoseconds.
    mean_gap: f64,
    sent: u64,
    processes: Vec<Process>,
    /// Next arrival of each process, earliest first. At equal times, the process with the lower number comes first.
    next: BinaryHeap<Reverse<(Instant, u32)>>,
}

/// Arrival process of one pair.
#[derive(Clone, Debug)]
struct Process {
    source: HostId,
    destination: HostId,
    times: Mrg32k3a,
    sizes: Mrg32k3a,
    /// Time from the start of the workload to the pair's next arrival, in units of `mean_gap`, so that rounding errors do not accumulate.
    elapsed: f64,
}

impl Pairwise {
    /// Creates the processes. Flows arrive after `config.start`.
    pub(crate) fn new(config: Config) -> Self {
        let pairs = config.receivers.iter().flat_map(|&destination| {
            config.senders.iter().map(move |&source| (source, destination)).filter(|pair| pair.0 != pair.1)
        });
        let mut processes: Vec<Process> =
            pairs.map(|(source, destination)| Process::new(source, destination)).collect();
        let mean_gap = config.mean_gap * processes.len() as f64;
        let first = |process: &mut Process| process.arrive(config.start, mean_gap);
        let next = (0..).zip(&mut processes).map(|(number, process)| Reverse((first(process), number)));
        Self { sent: 0, next: next.collect(), processes, mean_gap, config }
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
}

impl Process {
    fn new(source: HostId, destination: HostId) -> Self {
        let (i, j) = (source.0, destination.0);
        Self {
            source,
            destination,
            times: Mrg32k3a::new(17 * i + 1_244 * j),
            sizes: Mrg32k3a::new(33 * i + 4_369 * j),
            elapsed: 0.0,
        }
    }

    /// Draws the time of the pair's next flow.
    fn arrive(&mut self, start: Instant, mean_gap: f64) -> Instant {
        self.elapsed += self.times.exponential();
        Instant(start.0.saturating_add((self.elapsed * mean_gap).round() as u64))
    }
}

impl Workload for Pairwise {
    fn next(&mut self, now: Instant) -> Next {
        if self.config.flows.is_some_and(|flows| self.sent >= flows) {
            return Next::Done;
        }
        let Some(Reverse((at, number))) = self.next.pop().filter(|next| next.0.0 <= self.config.end) else {
            self.config.flows = Some(self.sent);
            return Next::Done;
        };
        self.sent += 1;
        let process = &mut self.processes[number as usize];
        let size = self.config.sizes.quantile(process.sizes.uniform());
        self.next.push(Reverse((process.arrive(self.config.start, self.mean_gap), number)));
        let flow = Flow::between(process.source, process.destination);
        Next::Flow(Flow { at: at.max(now), size: Some(size), workload: self.config.workload, ..flow })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::distribution::Sizes;
    use super::*;
    use crate::spec;

    fn flows(senders: &[u32], receivers: &[u32], count: u64) -> Vec<Flow> {
        let hosts = |numbers: &[u32]| numbers.iter().map(|&number| HostId(number)).collect();
        let sizes = spec::Sizes::WebSearch(spec::Sampling::default());
        let pairs = senders.iter().flat_map(|i| receivers.iter().filter(move |j| i != *j)).count();
        let mut workload = Pairwise::new(Config {
            seed: 1,
            workload: 0,
            sizes: Arc::new(Sizes::build(&sizes, |_| None).unwrap().unwrap()),
            senders: hosts(senders),
            receivers: hosts(receivers),
            mean_gap: 1e9 / pairs as f64,
            start: Instant(1_000),
            flows: Some(count),
            end: Instant::MAX,
        });
        std::iter::from_fn(|| match workload.next(Instant::ZERO) {
            Next::Flow(flow) => Some(flow),
            _ => None,
        })
        .collect()
    }

    #[test]
    fn a_pair_has_the_flows_that_its_seeds_give_it() {
        // Host 1 to host 0: seeds 17 and 33. The generator's first draw is (592852 s mod m1) − (−842977 s mod m2), plus m1, over m1 + 1:
        // 24431737 and 47405001 over 4294967088. −ln 0.00568846 = 5.16932 gaps of 1 ms. In web search, 15 % of flows have up to 10,000
        // bytes: ⌈735.8⌉.
        let first = flows(&[0, 1], &[0, 1], 40).into_iter().find(|flow| flow.source == HostId(1)).unwrap();
        assert_eq!((first.destination, first.size.unwrap().0), (HostId(0), 736));
        assert!((first.at.0 as f64 - 5.169_32e9).abs() < 1e4, "{:?}", first.at);
    }

    #[test]
    fn arrivals_are_in_order_and_those_of_a_pair_do_not_depend_on_others() {
        let many = flows(&[0, 1, 2], &[0, 1, 2, 3], 300);
        assert_eq!(many.len(), 300);
        assert!(many.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let of_pair = |flows: &[Flow]| -> Vec<Flow> {
            let pair = |flow: &&Flow| (flow.source, flow.destination) == (HostId(2), HostId(3));
            flows.iter().filter(pair).copied().take(10).collect()
        };
        assert_eq!(of_pair(&many), of_pair(&flows(&[2], &[3], 10)));
        assert!(many.iter().all(|flow| flow.source != flow.destination));
    }
}
