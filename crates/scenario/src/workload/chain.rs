//! Flow lists with dependencies: flows emit signals, and signals release waiting flows.
//!
//! A signal is a counter, and a waiting flow starts when its signal has reached a given count. With a count of 1, flows form chains. With a
//! count equal to the number of flows that emit the signal, they form barriers. With counts of 1, 2, 3 …, they form queues of consecutive
//! flows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;
use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::{Duration, Instant};

use super::interface::{Flow, LocalHosts, Milestone, Next, Workload};

/// Dependency of a flow in a list: the number of a signal, and the count of this signal at which the flow starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) signal: u32,
    pub(crate) count: NonZeroU32,
}

/// Lists of numbers, stored one after the other in one vector: a million lists then do not need a million allocations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lists {
    /// Exclusive end of each list in `items`. A list whose index lies beyond the end of this vector counts as empty.
    ends: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Appends `items` to the list with index `place`. Lists with a higher index must not exist yet.
    pub(crate) fn push(&mut self, place: u32, items: impl IntoIterator<Item = u32>) {
        debug_assert!(place as usize + 1 >= self.ends.len(), "lists grow at their end");
        self.ends.resize(place as usize + 1, self.items.len() as u32);
        self.items.extend(items);
        self.ends[place as usize] = self.items.len() as u32;
    }

    fn at(&self, place: u32) -> &[u32] {
        let place = place as usize;
        let Some(&end) = self.ends.get(place) else { return &[] };
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.items[start as usize..end as usize]
    }

    /// Returns the stored lists in order, each with its index.
    fn iter(&self) -> impl Iterator<Item = (u32, &[u32])> {
        (0..self.ends.len() as u32).map(|place| (place, self.at(place)))
    }
}

/// Dependencies between the flows of a list. A flow is identified by its index in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Links {
    /// Dependency of each flow. The vector ends with the last flow that waits. In a waiting flow, `Flow::at` is the delay from the signal
    /// to the start of the flow.
    pub(crate) waits: Vec<Option<Wait>>,
    /// Signals that each flow emits when it is received.
    pub(crate) received: Lists,
    /// Signals that each flow emits when it is acknowledged.
    pub(crate) acked: Lists,
    /// Number of signals.
    pub(crate) signals: u32,
}

impl Links {
    /// Makes the flow with index `place` wait. Calls must be in ascending order of `place`.
    pub(crate) fn wait(&mut self, place: u32, wait: Wait) {
        debug_assert!(place as usize >= self.waits.len(), "flows wait in their order");
        self.waits.resize(place as usize, None);
        self.waits.push(Some(wait));
    }

    /// Returns the dependency of the flow with index `place`, or `None` if the flow does not wait.
    pub(crate) fn wait_of(&self, place: u32) -> Option<Wait> {
        self.waits.get(place as usize).copied().flatten()
    }

    /// Returns whether any flow waits for a signal.
    pub(crate) fn wait_at_all(&self) -> bool {
        !self.waits.is_empty()
    }

    /// Returns the waiting flows in the order of the list, each with its dependency.
    fn waiting(&self) -> impl Iterator<Item = (u32, Wait)> + '_ {
        (0..).zip(&self.waits).filter_map(|(place, wait)| wait.map(|wait| (place, wait)))
    }

    /// Returns the signals that a flow emits: first the signals for its receipt, then the signals for its acknowledgement.
    fn given_by(&self, flow: u32) -> impl Iterator<Item = u32> + '_ {
        self.received.at(flow).iter().chain(self.acked.at(flow)).copied()
    }

    /// Returns whether some flow waits for an event at a host other than its own sender. The receipt of a flow is an event at its receiver,
    /// and its acknowledgement is an event at its sender.
    fn cross_hosts(&self, flows: &[Flow]) -> bool {
        let mut given = vec![Given::Nowhere; self.signals as usize];
        let mut give = |givers: &Lists, end: fn(&Flow) -> HostId| {
            for (flow, signals) in givers.iter() {
                for &signal in signals {
                    given[signal as usize].add(end(&flows[flow as usize]));
                }
            }
        };
        give(&self.received, |flow| flow.destination);
        give(&self.acked, |flow| flow.source);
        self.waiting().any(|(flow, wait)| given[wait.signal as usize].elsewhere(flows[flow as usize].source))
    }

    /// Returns the first flow that would wait for ever, and the maximum count that its signal can reach. Returns `None` if every waiting
    /// flow can start. `flows` is the number of flows.
    pub(crate) fn stuck(&self, flows: u32) -> Option<(u32, u32)> {
        let mut signals = Signals::of(self);
        let mut ready: Vec<u32> = (0..flows).filter(|&flow| self.wait_of(flow).is_none()).collect();
        while let Some(flow) = ready.pop() {
            for signal in self.given_by(flow) {
                ready.extend(signals.give(signal, self));
            }
        }
        let flow = signals.left().min()?;
        let signal = self.wait_of(flow)?.signal;
        let givers = (0..flows).flat_map(|flow| self.given_by(flow)).filter(|&given| given == signal);
        Some((flow, givers.count() as u32))
    }
}

/// Hosts at which a signal can be emitted: none, one or several.
#[derive(Clone, Copy)]
enum Given {
    Nowhere,
    At(HostId),
    Several,
}

impl Given {
    fn add(&mut self, host: HostId) {
        *self = match *self {
            Self::Nowhere => Self::At(host),
            Self::At(other) if other == host => Self::At(host),
            Self::At(_) | Self::Several => Self::Several,
        };
    }

    /// Returns whether the signal is emitted at a host other than `host`.
    fn elsewhere(self, host: HostId) -> bool {
        match self {
            Self::Nowhere => false,
            Self::At(only) => only != host,
            Self::Several => true,
        }
    }
}

/// Current count of each signal, and the flows that each signal has released.
#[derive(Clone, Debug)]
struct Signals {
    /// Flows that wait for each signal, in the order in which the signal releases them.
    waiting: Arc<Lists>,
    given: Vec<u32>,
    /// Number of flows that each signal has released. These are the first flows in the signal's list in `waiting`.
    gone: Vec<u32>,
}

impl Signals {
    /// Creates the signals of `links`, all with count zero.
    fn of(links: &Links) -> Self {
        let mut flows: Vec<u32> = links.waiting().map(|(flow, _)| flow).collect();
        let wait = |flow: u32| links.wait_of(flow).expect("it waits");
        flows.sort_unstable_by_key(|&flow| (wait(flow).signal, wait(flow).count, flow));
        let mut waiting = Lists::default();
        for flows in flows.chunk_by(|&one, &other| wait(one).signal == wait(other).signal) {
            waiting.push(wait(flows[0]).signal, flows.iter().copied());
        }
        let none = vec![0; links.signals as usize];
        Self { waiting: Arc::new(waiting), given: none.clone(), gone: none }
    }

    /// Increases the count of a signal by one. Returns the flows that the new count releases.
    fn give(&mut self, signal: u32, links: &Links) -> &[u32] {
        let place = signal as usize;
        self.given[place] += 1;
        let given = self.given[place];
        let waiting = &self.waiting.at(signal)[self.gone[place] as usize..];
        let leaves = |flow: &u32| links.wait_of(*flow).is_some_and(|wait| wait.count.get() <= given);
        let leaving = waiting.partition_point(leaves);
        self.gone[place] += leaving as u32;
        &waiting[..leaving]
    }

    /// Returns the flows that no signal has released yet.
    fn left(&self) -> impl Iterator<Item = u32> + '_ {
        self.waiting.iter().flat_map(|(signal, flows)| &flows[self.gone[signal as usize] as usize..]).copied()
    }
}

/// Workload that sends the flows of a list with dependencies, limited to the flows from a set of hosts.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    list: Arc<List>,
    /// Flows that have a start time, earliest first. Flows with equal times are in the order of the list.
    ready: BinaryHeap<Reverse<(Instant, u32)>>,
    signals: Signals,
    /// Number of flows that have not started.
    left: usize,
}

#[derive(Debug)]
struct List {
    flows: Vec<Flow>,
    links: Links,
}

impl Chain {
    /// Creates the workload of `flows` with the dependencies `links`. Every flow must be able to start.
    pub(crate) fn new(flows: Vec<Flow>, links: Links) -> Self {
        debug_assert_eq!(links.stuck(flows.len() as u32), None);
        let starting = (0..).zip(&flows).filter(|&(place, _)| links.wait_of(place).is_none());
        let ready = starting.map(|(place, flow)| Reverse((flow.at, place))).collect();
        let signals = Signals::of(&links);
        let left = flows.len();
        Self { list: Arc::new(List { flows, links }), ready, signals, left }
    }

    /// Returns the part of the workload that these hosts send.
    pub(super) fn start(&self, hosts: &LocalHosts) -> Self {
        let flows = &self.list.flows;
        let is_sent = |place: u32| hosts.has(flows[place as usize].source);
        let ready = self.ready.iter().copied().filter(|Reverse((_, place))| is_sent(*place)).collect();
        let left = flows.iter().filter(|flow| hosts.has(flow.source)).count();
        Self { ready, left, ..self.clone() }
    }

    /// Returns whether an event at one host can start flows at another host at once, without a packet between them.
    pub(super) fn crosses_hosts(&self) -> bool {
        self.list.links.cross_hosts(&self.list.flows)
    }

    /// Returns the start times of the flows that do not wait for a signal.
    pub(crate) fn times(&self) -> Vec<Instant> {
        self.ready.iter().map(|Reverse((at, _))| *at).collect()
    }

    pub(super) fn expected_flows(&self) -> u64 {
        self.list.flows.len() as u64
    }
}

impl Workload for Chain {
    fn next(&mut self, now: Instant) -> Next {
        match self.ready.peek() {
            None if self.left == 0 => Next::Done,
            None => Next::Wait,
            Some(&Reverse((at, _))) if at > now => Next::Until(at),
            Some(&Reverse((_, place))) => {
                self.ready.pop();
                self.left -= 1;
                Next::Flow(Flow { at: now, listed: Some(place), ..self.list.flows[place as usize] })
            }
        }
    }

    fn due(&self) -> Option<Instant> {
        self.ready.peek().map(|Reverse((at, _))| *at)
    }

    fn on_milestone(&mut self, listed: u32, milestone: Milestone, now: Instant) {
        let List { flows, links } = &*self.list;
        let given = match milestone {
            Milestone::Received => links.received.at(listed),
            Milestone::Acked => links.acked.at(listed),
        };
        for &signal in given {
            for &flow in self.signals.give(signal, links) {
                // This chain receives the signal, because the signal is emitted at the flow's sender or this chain runs at all hosts.
                let delay = Duration(flows[flow as usize].at.0);
                self.ready.push(Reverse((now + delay, flow)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::packet::HostId;

    use super::*;

    /// Creates a chain of flows. Each flow has a different start time, so that the tests can identify the flow by this time.
    fn chain(starts_ps: &[u64], links: Links) -> Chain {
        let flow = |&at: &u64| Flow { at: Instant(at), ..Flow::between(HostId(0), HostId(1)) };
        Chain::new(starts_ps.iter().map(flow).collect(), links)
    }

    /// Creates dependencies: `waits` has tuples of flow, signal and count; `received` has tuples of a flow and the signals that it emits.
    fn links(waits: &[(u32, u32, u32)], received: &[(u32, &[u32])]) -> Links {
        let mut links = Links { signals: 3, ..Links::default() };
        for &(flow, signal, count) in waits {
            links.wait(flow, Wait { signal, count: NonZeroU32::new(count).unwrap() });
        }
        for &(flow, signals) in received {
            links.received.push(flow, signals.iter().copied());
        }
        links
    }

    fn place(next: Next) -> Option<u32> {
        match next {
            Next::Flow(flow) => flow.listed,
            _ => None,
        }
    }

    #[test]
    fn a_flow_that_is_let_go_overtakes_one_that_is_to_start_later() {
        // Flow 0 starts at 0 and emits signal 0. Flow 1 starts at 90. Flow 2 starts 5 after the signal.
        let mut chain = chain(&[0, 90, 5], links(&[(2, 0, 1)], &[(0, &[0])]));
        assert_eq!(place(chain.next(Instant(0))), Some(0));
        assert_eq!(chain.next(Instant(0)), Next::Until(Instant(90)));
        chain.on_milestone(0, Milestone::Acked, Instant(20));
        assert_eq!(
            chain.next(Instant(20)),
            Next::Until(Instant(90)),
            "it gives its signal when it is received"
        );
        chain.on_milestone(0, Milestone::Received, Instant(30));
        assert_eq!(chain.next(Instant(30)), Next::Until(Instant(35)));
        assert_eq!(place(chain.next(Instant(35))), Some(2));
        assert_eq!(place(chain.next(Instant(90))), Some(1));
        assert_eq!(chain.next(Instant(90)), Next::Done);
    }

    #[test]
    fn a_count_of_all_is_a_barrier_and_rising_counts_are_a_queue() {
        // Flows 0 and 1 emit signal 1. Flow 2 starts with the first emission, and flow 3 with the second.
        let mut chain = chain(&[0, 0, 0, 0], links(&[(2, 1, 1), (3, 1, 2)], &[(0, &[1]), (1, &[1])]));
        assert_eq!([0, 1].map(|_| place(chain.next(Instant(0)))), [Some(0), Some(1)]);
        assert_eq!(chain.next(Instant(0)), Next::Wait);
        chain.on_milestone(1, Milestone::Received, Instant(7));
        assert_eq!(place(chain.next(Instant(7))), Some(2));
        assert_eq!(chain.next(Instant(7)), Next::Wait);
        chain.on_milestone(0, Milestone::Received, Instant(9));
        assert_eq!(place(chain.next(Instant(9))), Some(3));
        assert_eq!(chain.next(Instant(9)), Next::Done);
    }

    #[test]
    fn who_would_wait_for_ever_is_found() {
        // First a signal that is emitted once while a flow waits for a count of 2, then flows 1 and 2 that wait for each other, then a
        // chain that ends.
        assert_eq!(links(&[(1, 0, 2)], &[(0, &[0])]).stuck(2), Some((1, 1)));
        assert_eq!(links(&[(1, 0, 1), (2, 1, 1)], &[(1, &[1]), (2, &[0])]).stuck(3), Some((1, 1)));
        assert_eq!(links(&[(1, 0, 1), (2, 1, 1)], &[(0, &[0, 2]), (1, &[1])]).stuck(3), None);
    }
}
