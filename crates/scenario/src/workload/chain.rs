//! Flows of a list of which some wait for others: a flow gives signals, and signals let flows start.
//!
//! A signal is a counter. A flow that waits for it names the count at which it starts, so that one rule makes chains (1),
//! barriers (as many as give it) and queues of flows that follow one another (1, 2, 3 …).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::{Duration, Instant};

use super::interface::{Flow, LocalHosts, Milestone, Next, Workload};

/// What a flow of a list waits for: a signal, by number, to be given so many times, at least once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) signal: u32,
    pub(crate) count: u32,
}

/// The flows of a list, by their place in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Links {
    /// Of those that wait; their flow's time is the delay after the signal.
    pub(crate) waits: BTreeMap<u32, Wait>,
    /// Signals that a flow gives when it is received, and when it is acknowledged.
    pub(crate) received: BTreeMap<u32, Vec<u32>>,
    pub(crate) acked: BTreeMap<u32, Vec<u32>>,
    /// How many signals there are.
    pub(crate) signals: u32,
}

impl Links {
    /// Signals that a flow gives, first those when it is received.
    fn given_by(&self, flow: u32) -> impl Iterator<Item = u32> + '_ {
        self.received.get(&flow).into_iter().chain(self.acked.get(&flow)).flatten().copied()
    }

    /// Those who wait for each signal, in the order in which it lets them go.
    fn waiting(&self) -> Vec<Vec<(u32, u32)>> {
        let mut waiting = vec![Vec::new(); self.signals as usize];
        for (&flow, wait) in &self.waits {
            waiting[wait.signal as usize].push((wait.count, flow));
        }
        waiting.iter_mut().for_each(|flows| flows.sort_unstable());
        waiting
    }

    /// Whether some flow waits for what happens at another host than its sender: a flow is received at its receiver and
    /// acknowledged at its sender.
    fn cross_hosts(&self, flows: &[Flow]) -> bool {
        let mut given_at: Vec<BTreeSet<HostId>> = vec![BTreeSet::new(); self.signals as usize];
        let mut give = |givers: &BTreeMap<u32, Vec<u32>>, end: fn(&Flow) -> HostId| {
            for (&flow, signals) in givers {
                for &signal in signals {
                    given_at[signal as usize].insert(end(&flows[flow as usize]));
                }
            }
        };
        give(&self.received, |flow| flow.destination);
        give(&self.acked, |flow| flow.source);
        self.waits.iter().any(|(&flow, wait)| {
            let waiting = flows[flow as usize].source;
            given_at[wait.signal as usize].iter().any(|&host| host != waiting)
        })
    }

    /// Of `flows`, the first that would wait for ever, and how many times its signal is given at most.
    pub(crate) fn stuck(&self, flows: u32) -> Option<(u32, u32)> {
        let waiting = self.waiting();
        let mut released = vec![0; waiting.len()];
        let mut given = vec![0; waiting.len()];
        let mut ready: Vec<u32> = (0..flows).filter(|flow| !self.waits.contains_key(flow)).collect();
        while let Some(flow) = ready.pop() {
            for signal in self.given_by(flow) {
                ready.extend(release(signal, &waiting, &mut given, &mut released));
            }
        }
        let stuck = waiting.iter().zip(&released).flat_map(|(flows, &gone)| &flows[gone..]);
        let (_, flow) = stuck.min_by_key(|(_, flow)| flow)?;
        let signal = self.waits[flow].signal;
        let givers = (0..flows).flat_map(|flow| self.given_by(flow)).filter(|&given| given == signal);
        Some((*flow, givers.count() as u32))
    }
}

/// Give a signal once; returns the flows that it lets go.
fn release<'a>(
    signal: u32,
    waiting: &'a [Vec<(u32, u32)>],
    given: &mut [u32],
    released: &mut [usize],
) -> impl Iterator<Item = u32> + 'a {
    let signal = signal as usize;
    given[signal] += 1;
    let first = released[signal];
    let flows = &waiting[signal];
    released[signal] += flows[first..].partition_point(|&(count, _)| count <= given[signal]);
    flows[first..released[signal]].iter().map(|&(_, flow)| flow)
}

/// The flows of a list that some hosts send, as they run.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    list: Arc<List>,
    /// Flows that are to start, by time and place; equal times in the order of the list.
    ready: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Of each signal, how often it was given, and how many that waited for it have gone.
    given: Vec<u32>,
    released: Vec<usize>,
    /// Flows that have not started.
    left: usize,
}

#[derive(Debug)]
struct List {
    flows: Vec<Flow>,
    links: Links,
    waiting: Vec<Vec<(u32, u32)>>,
}

impl Chain {
    /// These flows, none of which waits for ever.
    pub(crate) fn new(flows: Vec<Flow>, links: Links) -> Self {
        debug_assert_eq!(links.stuck(flows.len() as u32), None);
        let starting = (0..).zip(&flows).filter(|(place, _)| !links.waits.contains_key(place));
        let ready = starting.map(|(place, flow)| Reverse((flow.at, place))).collect();
        let waiting = links.waiting();
        let (given, released) = (vec![0; waiting.len()], vec![0; waiting.len()]);
        let left = flows.len();
        Self { list: Arc::new(List { flows, links, waiting }), ready, given, released, left }
    }

    /// The same, as far as these hosts send them.
    pub(super) fn start(&self, hosts: &LocalHosts) -> Self {
        let flows = &self.list.flows;
        let is_sent = |place: u32| hosts.has(flows[place as usize].source);
        let ready = self.ready.iter().copied().filter(|Reverse((_, place))| is_sent(*place)).collect();
        let left = flows.iter().filter(|flow| hosts.has(flow.source)).count();
        Self { ready, left, ..self.clone() }
    }

    /// Whether something that happens at one host starts flows at another at once.
    pub(super) fn crosses_hosts(&self) -> bool {
        self.list.links.cross_hosts(&self.list.flows)
    }

    /// Of flows that wait for nothing.
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
        let List { flows, links, waiting } = &*self.list;
        let given = match milestone {
            Milestone::Received => links.received.get(&listed),
            Milestone::Acked => links.acked.get(&listed),
        };
        for &signal in given.into_iter().flatten() {
            for flow in release(signal, waiting, &mut self.given, &mut self.released) {
                // It is sent where the signal is given, or else these are all hosts.
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

    /// Flows that are named by their time alone.
    fn chain(starts_ps: &[u64], links: Links) -> Chain {
        let flow = |&at: &u64| Flow { at: Instant(at), ..Flow::between(HostId(0), HostId(1)) };
        Chain::new(starts_ps.iter().map(flow).collect(), links)
    }

    /// Waits and signals as they are written: flow, signal, count; flow, signals.
    fn links(waits: &[(u32, u32, u32)], received: &[(u32, &[u32])]) -> Links {
        let wait = |&(flow, signal, count): &(u32, u32, u32)| (flow, Wait { signal, count });
        let gives = |(flow, signals): &(u32, &[u32])| (*flow, signals.to_vec());
        Links {
            waits: waits.iter().map(wait).collect(),
            received: received.iter().map(gives).collect(),
            acked: BTreeMap::new(),
            signals: 3,
        }
    }

    fn place(next: Next) -> Option<u32> {
        match next {
            Next::Flow(flow) => flow.listed,
            _ => None,
        }
    }

    #[test]
    fn a_flow_that_is_let_go_overtakes_one_that_is_to_start_later() {
        // Flow 0 starts at 0 and gives signal 0; flow 1 starts at 90, flow 2 at 5 after the signal.
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
        // Flows 0 and 1 give signal 1: flow 2 goes with the first of them, flow 3 with the second.
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
        // Given once, awaited twice; a circle of 1 and 2; a chain that ends.
        assert_eq!(links(&[(1, 0, 2)], &[(0, &[0])]).stuck(2), Some((1, 1)));
        assert_eq!(links(&[(1, 0, 1), (2, 1, 1)], &[(1, &[1]), (2, &[0])]).stuck(3), Some((1, 1)));
        assert_eq!(links(&[(1, 0, 1), (2, 1, 1)], &[(0, &[0, 2]), (1, &[1])]).stuck(3), None);
    }
}
