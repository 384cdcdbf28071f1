//! Classes of service of flows.

use shallows_core::Instant;
use shallows_core::packet::HostId;
use shallows_core::random::Stream;

use super::interface::{Leg, Milestone, Next, QueryRecord, Workload};

/// Rule that gives each flow of a workload its class of service.
#[derive(Clone, Debug, PartialEq)]
pub enum Classes {
    /// The same class for all flows.
    Fixed(u8),
    /// Traffic from host *h* has class *h* modulo this number.
    BySender(u8),
    /// Traffic from host *s* to host *r* has class (*r* · `hosts` + *s*) modulo `classes`.
    ByPair {
        /// Number of hosts.
        hosts: u32,
        /// Number of classes.
        classes: u8,
    },
    /// A random class for each flow; all flows of a query have the same class. Entry *c* of the list is the share of flows with a class up
    /// to *c*.
    Random(Vec<f64>),
    /// Each flow of a list has the class in its row. The field is the highest class in the list.
    Listed(u8),
}

impl Classes {
    /// Returns the class of a flow from `source` to `destination`. A random class is drawn from `stream`.
    pub fn of(&self, source: HostId, destination: HostId, stream: &mut Stream) -> u8 {
        match self {
            Self::Random(cumulative) => {
                let draw = stream.uniform();
                let class = cumulative.iter().position(|&share| draw < share);
                class.unwrap_or(cumulative.len() - 1) as u8
            }
            _ => self.before_any_flow(source, destination),
        }
    }

    /// Returns the class of packets that `source` sends to `destination` before the first flow: 0 if the class is random or listed.
    pub fn before_any_flow(&self, source: HostId, destination: HostId) -> u8 {
        match *self {
            Self::Fixed(class) => class,
            Self::BySender(classes) => (source.0 % u32::from(classes)) as u8,
            Self::ByPair { hosts, classes } => {
                let pair = u64::from(destination.0) * u64::from(hosts) + u64::from(source.0);
                (pair % u64::from(classes)) as u8
            }
            Self::Random(_) | Self::Listed(_) => 0,
        }
    }

    /// Applies `map` to each class that flows can have, and returns the highest result. For a list of flows, applies `map` only to the
    /// highest class in the list.
    pub(crate) fn highest_of(&self, map: impl Fn(u8) -> u8) -> u8 {
        let up_to = |last| (0..=last).map(&map).max().unwrap_or_default();
        match self {
            Self::Fixed(class) | Self::Listed(class) => map(*class),
            Self::BySender(classes) | Self::ByPair { classes, .. } => up_to(classes - 1),
            Self::Random(cumulative) => up_to((cumulative.len() - 1) as u8),
        }
    }
}

/// Workload that sets the class of service of each flow of another workload.
#[derive(Debug)]
pub(crate) struct Classed {
    workload: Box<dyn Workload>,
    classes: Classes,
    stream: Stream,
    /// Seed of the random streams for queries and listed flows. Each query and each listed flow has its own stream, so its class does not
    /// depend on the order of starts, which the network affects.
    own_seed: u64,
}

impl Classed {
    /// Sets the classes of the flows of `workload` by the rule `classes`. `index` is the index of the workload among the workloads that
    /// send flows, and selects the random stream. Workloads of kind `udp` and `ping` have no such index, so they do not change the classes
    /// of flows.
    pub(crate) fn new(workload: Box<dyn Workload>, classes: Classes, seed: u64, index: u64) -> Self {
        let own_seed = Stream::new(seed, "query classes", index).next_u64();
        Self { workload, classes, stream: Stream::new(seed, "classes", index), own_seed }
    }
}

impl Workload for Classed {
    fn next(&mut self, now: Instant) -> Next {
        let mut next = self.workload.next(now);
        if let Next::Flow(flow) = &mut next
            && !matches!(self.classes, Classes::Listed(_))
        {
            flow.class = match flow.leg.map(|leg| leg.query).or(flow.listed) {
                None => self.classes.of(flow.source, flow.destination, &mut self.stream),
                Some(number) => {
                    let mut stream = Stream::new(self.own_seed, "class", number.into());
                    self.classes.of(flow.source, flow.destination, &mut stream)
                }
            };
        }
        next
    }

    fn due(&self) -> Option<Instant> {
        self.workload.due()
    }

    fn on_complete(&mut self, leg: Leg, now: Instant) {
        self.workload.on_complete(leg, now);
    }

    fn on_milestone(&mut self, listed: u32, milestone: Milestone, now: Instant) {
        self.workload.on_milestone(listed, milestone, now);
    }

    fn queries(&self) -> &[QueryRecord] {
        self.workload.queries()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_class_is_as_frequent_as_its_weight() {
        // Shares 0.2, 0, 0.8 of 10,000: binomial with standard deviation 40; five standard deviations are 200.
        let classes = Classes::Random(vec![0.2, 0.2, 1.0]);
        let mut stream = Stream::new(1, "classes", 0);
        let mut counts = [0u32; 3];
        for _ in 0..10_000 {
            counts[usize::from(classes.of(HostId(0), HostId(1), &mut stream))] += 1;
        }
        assert!(counts[0].abs_diff(2_000) < 200 && counts[1] == 0, "{counts:?}");
        assert_eq!(classes.highest_of(|class| class), 2);
    }

    #[test]
    fn a_sender_keeps_its_class() {
        let classes = Classes::BySender(8);
        let mut stream = Stream::new(1, "classes", 0);
        let found: Vec<u8> =
            [0, 7, 8, 143].map(|host| classes.of(HostId(host), HostId(1), &mut stream)).into();
        assert_eq!(found, [0, 7, 0, 7]);
        assert_eq!(classes.highest_of(|class| class), 7);
    }

    #[test]
    fn a_pair_keeps_its_class() {
        // MQ-ECN's network has 144 hosts: 144 = 4·32 + 16 = 18·8, so `by-pair` equals `by-sender` with 8 classes, but not with 32.
        let class = |classes, source, destination| {
            Classes::ByPair { hosts: 144, classes }.before_any_flow(HostId(source), HostId(destination))
        };
        assert_eq!([0, 1, 2, 3].map(|receiver| class(32, 5, receiver)), [5, 21, 5, 21]);
        assert_eq!([0, 1, 2, 143].map(|receiver| class(8, 13, receiver)), [5; 4]);
        assert_eq!(Classes::ByPair { hosts: 144, classes: 32 }.highest_of(|class| class), 31);
    }
}
