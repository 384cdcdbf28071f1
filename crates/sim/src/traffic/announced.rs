//! Waiting list of the flows that were drawn before their arrival times.

use std::collections::VecDeque;

use shallows_core::event::EventQueue;

use crate::network::event::{Class, Event, Ranks};
use crate::traffic::Newcomer;

/// Flows that have been drawn but have not arrived, for each workload in order of arrival. Only the first flow of each workload has a
/// scheduled event.
#[derive(Debug)]
pub(crate) struct Announced {
    waiting: Vec<VecDeque<Newcomer>>,
    ranks: Ranks,
}

impl Announced {
    /// Returns an empty list for this number of workloads.
    pub(crate) fn new(workloads: usize, ranks: Ranks) -> Self {
        Self { waiting: vec![VecDeque::new(); workloads], ranks }
    }

    /// Adds a flow, which must not arrive before earlier flows of the same workload.
    pub(crate) fn announce(&mut self, newcomer: Newcomer, queue: &mut EventQueue<Event>) {
        let flow = newcomer.flow;
        let waiting = &mut self.waiting[usize::from(flow.workload)];
        waiting.push_back(newcomer);
        if waiting.len() == 1 {
            queue.schedule(flow.at, Event::new(Class::Arrival, flow.workload.into(), self.ranks));
        }
    }

    /// Removes and returns the flow of this workload that arrives now, and schedules the arrival of the workload's next flow.
    pub(crate) fn arrive(&mut self, workload: usize, queue: &mut EventQueue<Event>) -> Option<Newcomer> {
        let waiting = &mut self.waiting[workload];
        let arrived = waiting.pop_front();
        if let Some(next) = waiting.front() {
            queue.schedule(next.flow.at, Event::new(Class::Arrival, workload as u64, self.ranks));
        }
        arrived
    }
}
