//! Flows that were drawn ahead of time, and wait at the host that sends them.

use std::collections::VecDeque;

use shallows_core::event::EventQueue;
use shallows_scenario::Flow;

use crate::event::{Class, Event, Ranks};

/// Flows with their numbers, by workload in order of arrival. Of each workload the first has an event.
#[derive(Debug)]
pub(crate) struct Announced {
    waiting: Vec<VecDeque<(Flow, u32)>>,
    ranks: Ranks,
}

impl Announced {
    /// None so far, of so many workloads.
    pub(crate) fn new(workloads: usize, ranks: Ranks) -> Self {
        Self { waiting: vec![VecDeque::new(); workloads], ranks }
    }

    /// This flow will arrive, no earlier than any of its workload before.
    pub(crate) fn announce(&mut self, flow: Flow, number: u32, queue: &mut EventQueue<Event>) {
        let waiting = &mut self.waiting[usize::from(flow.workload)];
        waiting.push_back((flow, number));
        if waiting.len() == 1 {
            queue.schedule(flow.at, Event::new(Class::Arrival, flow.workload.into(), self.ranks));
        }
    }

    /// The flow of this workload that arrives now.
    pub(crate) fn arrive(&mut self, workload: usize, queue: &mut EventQueue<Event>) -> Option<(Flow, u32)> {
        let waiting = &mut self.waiting[workload];
        let arrived = waiting.pop_front();
        if let Some((next, _)) = waiting.front() {
            queue.schedule(next.at, Event::new(Class::Arrival, workload as u64, self.ranks));
        }
        arrived
    }
}
