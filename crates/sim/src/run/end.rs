//! The end of a run that ends when its last flow completes.
//!
//! Time is cut into steps whose length the scenario alone defines. The run ends with the step in which its last flow
//! completes, so that all counters and the simulated time are the same however the network is executed: as one partition, in
//! partitions, or on threads, each of which may be ahead of the last completion, but never beyond the end of its step. Where
//! sources of datagrams or echo requests stop at times of their own, it ends with the first step from the last of these on
//! after which no packet is under way.

use shallows_core::{Duration, Instant};
use shallows_scenario::Experiment;

/// Length of a step: the shortest delay of a link between two switches, or of any link where no such link has a delay above
/// zero; one picosecond in a network without delays.
fn end_step(experiment: &Experiment) -> Duration {
    let network = &experiment.network;
    let shortest = |between_switches: bool| {
        let counts = |link: &&shallows_scenario::Link| {
            !between_switches || link.from.0.min(link.to.0) >= network.hosts
        };
        let delays = network.links.iter().filter(counts).map(|link| link.delay);
        delays.filter(|&delay| delay > Duration::ZERO).min()
    };
    shortest(true).or_else(|| shortest(false)).unwrap_or(Duration(1))
}

/// When a run of which every flow is complete is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    step: Duration,
    /// The last instant at which a source may send that stops at a time of its own, if there are such.
    sources: Option<Instant>,
}

impl Ending {
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let sources = experiment.sources_stop().map(|stop| Instant(stop.0 - 1));
        Self { step: end_step(experiment), sources }
    }

    /// The last instant of the step that contains `now`.
    pub(crate) fn step_end(self, now: Instant) -> Instant {
        step_end(now, self.step)
    }

    /// Whether it is over at the end of a step, if so many packets are under way and the next thing happens at `next`.
    pub(crate) fn is_over(self, under_way: u64, next: Instant) -> bool {
        self.sources.is_none_or(|last| under_way == 0 && next > self.step_end(last))
    }

    /// The end of the run, which is over, if the last thing happened at `now`.
    pub(crate) fn after(self, now: Instant) -> Instant {
        self.step_end(self.sources.map_or(now, |last| last.max(now))) + Duration(1)
    }
}

/// The last instant of the step that contains `now`.
pub(crate) fn step_end(now: Instant, step: Duration) -> Instant {
    Instant((now.0 / step.0 + 1) * step.0 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::testing::parse;

    #[test]
    fn a_step_ends_a_picosecond_before_the_next_begins() {
        // Steps of ten: 0 to 9, 10 to 19, and so on.
        for (now, end) in [(0, 9), (9, 9), (10, 19), (19, 19), (25, 29)] {
            assert_eq!(step_end(Instant(now), Duration(10)), Instant(end));
        }
        assert_eq!(step_end(Instant(7), Duration(1)), Instant(7));
    }

    #[test]
    fn a_step_is_the_shortest_delay_above_zero_between_switches_or_else_of_any_link() {
        let step = |topology: &str| {
            let text = format!(
                "topology = {topology}\n[switch]\nbuffer = {{ kind = 'static-partition', per_port = '100KB' }}\n\
                 [tcp]\n[[workload]]\nkind = 'long-lived'\nsenders = 0\nreceivers = 2\n[stop]\nat = '1ms'\n"
            );
            end_step(&parse(&text, &[]))
        };
        let dumbbell = |host: &str, bottleneck: &str| {
            step(&format!(
                "{{ kind = 'dumbbell', left = 2, right = 2, rate = '10Gbps', link_delay = '{host}', \
                 bottleneck_delay = '{bottleneck}' }}"
            ))
        };
        assert_eq!(dumbbell("2us", "7us"), Duration::from_micros(7));
        assert_eq!(dumbbell("2us", "0s"), Duration::from_micros(2));
        assert_eq!(dumbbell("0s", "0s"), Duration(1));
        let star = step("{ kind = 'star', hosts = 4, rate = '10Gbps', link_delay = '3us' }");
        assert_eq!(star, Duration::from_micros(3));
    }
}
