//! The end of a run that ends when its last flow completes.
//!
//! Simulated time is divided into steps of equal length, which depends only on the scenario. The run ends at the end of the step in which
//! its last flow completes. All counters and the end of the run are therefore the same for any number of partitions and threads: a thread
//! may run beyond the last completion, but not beyond the end of that step. If sources of datagrams or echo requests have stop times, the
//! run continues at least to the end of the step of the last stop. After that, the run ends with the first step after which no packet is in
//! a queue or in flight.

use shallows_core::{Duration, Instant};
use shallows_scenario::Experiment;

/// Returns the length of a step: the shortest delay above zero of a link between switches. If there is no such link, returns the shortest
/// delay above zero of any link, or one picosecond if all delays are zero.
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

/// Rule for the end of a run whose flows are all complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    step: Duration,
    /// Last instant at which a source of datagrams or echo requests with a stop time may send; `None` without such sources.
    sources: Option<Instant>,
}

impl Ending {
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let sources = experiment.sources_stop().map(|stop| Instant(stop.0 - 1));
        Self { step: end_step(experiment), sources }
    }

    /// Returns the last instant of the step that contains `now`.
    pub(crate) fn step_end(self, now: Instant) -> Instant {
        step_end(now, self.step)
    }

    /// Returns whether the run is over at the end of a step. `under_way` counts packets in queues and in flight; `next` is the time
    /// of the next event.
    pub(crate) fn is_over(self, under_way: u64, next: Instant) -> bool {
        self.sources.is_none_or(|last| under_way == 0 && next > self.step_end(last))
    }

    /// Returns whether sources of datagrams or echo requests may still send at the time `end`, so that the run ends later.
    pub(crate) fn is_after(self, end: Instant) -> bool {
        self.sources.is_some_and(|last| end <= last)
    }

    /// Returns the end time of a run that is over. `now` is the time of the run's last event.
    pub(crate) fn after(self, now: Instant) -> Instant {
        self.step_end(self.sources.map_or(now, |last| last.max(now))) + Duration(1)
    }
}

/// Returns the last instant of the step of length `step` that contains `now`.
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
    fn a_run_with_sources_of_datagrams_lasts_until_their_last_packet() {
        let of = |stop: &str| {
            let text = "[topology]\nkind = 'star'\nhosts = 3\nrate = '10Gbps'\n[switch]\n\
                        buffer = { kind = 'static-partition', per_port = '100KB' }\n[[workload]]\nkind = 'udp'\nsenders = 0\n\
                        receivers = 1\npattern = { kind = 'constant', rate = '1Gbps' }\n";
            Ending::new(&parse(&format!("{text}{stop}"), &[]))
        };
        let ending = of("stop = '9us'\n");
        assert!(ending.is_after(Instant(8_999_999)) && !ending.is_after(Instant(9_000_000)));
        assert!(!of("[stop]\nat = '9us'\n").is_after(Instant::ZERO), "it ends at a time");
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
