//! Warm-up: each persistent connection sends some bytes before its first flow.

use shallows_core::event::EventQueue;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant};
use shallows_scenario::{Connections, Experiment};

use crate::hosts::Hosts;
use crate::hosts::connection::Place;
use crate::network::event::{Class, Event, Ranks};

/// Connections that have yet to send their warm-up bytes, latest first.
#[derive(Debug)]
pub(crate) struct WarmUps {
    pending: Vec<WarmUp>,
    ranks: Ranks,
}

/// Connection that sends `bytes` bytes at time `at` to warm up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarmUp {
    at: Instant,
    pub(crate) place: Place,
    pub(crate) bytes: Bytes,
}

impl WarmUps {
    pub(crate) fn new(ranks: Ranks) -> Self {
        Self { pending: Vec::new(), ranks }
    }

    /// Opens the persistent connections of `hosts` that have a warm-up, and schedules the first warm-up.
    pub(crate) fn start(
        &mut self,
        experiment: &Experiment,
        hosts: &mut Hosts,
        queue: &mut EventQueue<Event>,
    ) {
        for (index, policy) in experiment.connections.iter().enumerate() {
            let Connections::Persistent { per_pair, warm_up: Some(warm_up), .. } = policy else { continue };
            let mut stream = Stream::new(experiment.seed, "warm-up", index as u64);
            let spread = (warm_up.to - warm_up.from).0.max(1);
            let classes = &experiment.classes[index];
            for (source, destination) in experiment.pairs[index].iter() {
                for _ in 0..*per_pair {
                    let at = warm_up.from + Duration(stream.below(spread));
                    if hosts.has(source) {
                        let class = classes.before_any_flow(source, destination);
                        let place = hosts.open_persistent(index as u16, source, destination, class);
                        self.pending.push(WarmUp { at, place, bytes: warm_up.bytes });
                    }
                }
            }
        }
        self.pending.sort_by_key(|warm_up| std::cmp::Reverse((warm_up.at, warm_up.place)));
        self.schedule(queue);
    }

    fn schedule(&mut self, queue: &mut EventQueue<Event>) {
        if let Some(next) = self.pending.last() {
            queue.schedule(next.at, Event::new(Class::WarmUp, 0, self.ranks));
        }
    }

    /// Removes and returns a warm-up that is due now. If none is due, schedules the next one and returns `None`.
    pub(crate) fn next(&mut self, queue: &mut EventQueue<Event>) -> Option<WarmUp> {
        let due = self.pending.pop_if(|next| next.at <= queue.now());
        if due.is_none() {
            self.schedule(queue);
        }
        due
    }
}
