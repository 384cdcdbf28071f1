//! Choice between an undivided network and partitions during a run that adapts its number of threads ([`crate::run::restarts`]).

use std::io;
use std::num::NonZero;
use std::thread;

use shallows_measure::{Captures, Sink};
use shallows_scenario::Experiment;

use super::{Simulation, share};
use crate::network::division::Division;
use crate::network::stages::time_between_exchanges;
use crate::run::restarts::{Done, Restarts};
use crate::run::windows::DENSE;
use crate::run::world::pace::Execution;

impl Simulation {
    /// Builds the network for a run that measures its speed and uses the fastest number of threads, up to `threads`. Writes each capture to
    /// the sink that `open` returns for its name. Results do not depend on the number of threads.
    ///
    /// # Errors
    ///
    /// If a sink cannot be opened or written to.
    pub fn adapting(
        experiment: Experiment,
        threads: u32,
        open: impl FnMut(&str) -> io::Result<Sink>,
    ) -> io::Result<Self> {
        let captures = Captures::simulated(&experiment, open)?;
        // A quota of the system may allow fewer cores than the machine has.
        let threads = threads.min(thread::available_parallelism().map_or(1, NonZero::get) as u32);
        let several = Division::new(&experiment, threads).ok().filter(|division| division.threads() > 1);
        let one = Division::new(&experiment, 1).ok().filter(|division| division.partitions() == 1);
        let may_restart = one.is_some() && !captures.any();
        let Some(several) = several.filter(|_| may_restart) else {
            let mut built = Self::for_threads(experiment, threads, captures);
            built.adapt_threads(threads);
            return Ok(built);
        };
        let window = time_between_exchanges(&experiment, &several);
        let mut built = Self::build(experiment, one, Execution::default(), captures, threads);
        built.restarts = Some(Restarts::new(several.threads(), window));
        Ok(built)
    }

    /// Restarts an undivided run with partitions if other cores are free, or a run with partitions undivided if it uses one thread
    /// and no other core is free. Returns whether the run has restarted.
    pub(super) fn reconsider(&mut self) -> bool {
        if self.restarts.is_none() {
            return false;
        }
        let (done, events, now) = (self.shares_done(), self.events(), self.now());
        let Some(restarts) = &mut self.restarts else { return false };
        if !restarts.may_restart(done) {
            self.restarts = None;
            return false;
        }
        let is_dense = restarts.events_per_exchange(events, now) >= DENSE as f64;
        if self.windows.as_ref().map_or(!is_dense, |windows| !windows.prefers_one_thread()) {
            return false;
        }
        let Some(threads) = restarts.decide(done, self.windows.is_some()) else { return false };
        // All cores may become free later, so the network is divided for all of them.
        let most = if threads > 1 { self.threads as u32 } else { 1 };
        self.restart(Division::new(&self.experiment, most).ok(), Some(threads));
        true
    }

    /// Returns how much of the run is done.
    fn shares_done(&self) -> Done {
        let completed = self.fraction();
        let arrived = if self.experiment.stop.at.is_some() {
            completed
        } else {
            share_arrived(self.flows_started(), self.experiment.expected_flows())
        };
        Done { completed, arrived }
    }
}

/// Returns the share of flows that have arrived; 1 if the run expects no flows or an unknown number of them.
fn share_arrived(arrived: u64, expected: Option<u64>) -> f64 {
    expected.filter(|&flows| flows > 0).map_or(1.0, |flows| share(arrived as f64, flows as f64))
}

#[cfg(test)]
mod tests {
    use super::super::nowhere;
    use super::super::tests::assert_ends_as_if_undivided;
    use super::*;
    use crate::network::division::partition_window;
    use crate::network::testing::fabric;
    use crate::run::free_cores::FreeCores;
    use crate::run::windows::Windows;

    /// Builds the network for a run on up to `threads` threads, whatever the number of cores. The run measures no free cores.
    fn adapting(experiment: &Experiment, threads: u32) -> Simulation {
        let simulation = Simulation::new(experiment.clone());
        let window = partition_window(experiment).expect("it can be divided");
        Simulation {
            threads: threads as usize,
            restarts: Some(Restarts::idle(threads, window)),
            ..simulation
        }
    }

    #[test]
    fn a_run_that_adapts_is_divided_while_cores_are_free_and_only_time_tells() {
        let experiment = fabric(&[("workload.0.load", "0.8")]);
        let mut simulation = adapting(&experiment, 4);
        simulation.advance(1_000);
        for (free, prefers_one, partitions, threads, why) in [
            (0, false, 1, 1, "no core is free"),
            (1, false, 4, 2, "a core is free"),
            (0, false, 4, 2, "two threads have not proved to be slow"),
            (1, true, 4, 1, "one thread is the fastest, but a core is free"),
            (0, true, 1, 1, "one thread is the fastest, and no core is free"),
            (3, false, 4, 4, "three cores are free"),
        ] {
            if let Some(windows) = &mut simulation.windows {
                windows.adapt_threads(if prefers_one { 1 } else { 2 });
            }
            let restarts = simulation.restarts.as_mut().expect("it may restart");
            (restarts.cores, restarts.discarded) = (Some(FreeCores::known(free)), 0.0);
            // A divided run has one stretch, which is too short to change the number of threads.
            simulation.advance(if simulation.partitions() > 1 { 1 } else { 1_000 });
            let running = simulation.windows.as_ref().map_or(1, Windows::threads);
            assert_eq!((simulation.partitions(), running), (partitions, threads), "{why}");
        }
        assert_ends_as_if_undivided(simulation, experiment);
    }

    #[test]
    fn free_cores_are_noticed_after_some_thousand_events() {
        let mut simulation =
            adapting(&fabric(&[("workload.0.load", "0.8"), ("workload.0.flows", "3000")]), 2);
        simulation.restarts.as_mut().expect("it may restart").cores = Some(FreeCores::known(1));
        assert!(!simulation.advance(u64::MAX).done, "the call ends with the restart");
        assert_eq!(simulation.partitions(), 2);
        assert!(simulation.advance(u64::MAX).done);
    }

    #[test]
    fn a_run_that_has_come_far_does_not_restart() {
        let experiment = fabric(&[("workload.0.load", "0.8")]);
        let mut simulation = adapting(&experiment, 2);
        let mut before = 0.0;
        while simulation.restarts.is_some() {
            before = simulation.fraction();
            simulation.advance(200);
        }
        assert!(before <= 0.1 && simulation.fraction() > 0.1, "{before}");
        assert_eq!(simulation.partitions(), 1);
    }

    #[test]
    fn a_run_with_few_events_per_exchange_stays_undivided() {
        for (load, partitions) in [("0.01", 1), ("0.8", 2)] {
            let mut simulation = adapting(&fabric(&[("workload.0.load", load)]), 2);
            simulation.advance(1_000);
            simulation.restarts.as_mut().expect("it may restart").cores = Some(FreeCores::known(1));
            simulation.advance(1_000);
            assert_eq!(simulation.partitions(), partitions, "at a load of {load}");
        }
    }

    #[test]
    fn the_progress_of_a_run_counts_flows_that_have_arrived() {
        let done = |sets: &[(&str, &str)]| {
            let mut simulation = adapting(&fabric(sets), 2);
            simulation.advance(3_000);
            let done = simulation.shares_done();
            (done.completed, done.arrived, simulation.progress())
        };
        let load = ("workload.0.load", "0.8");
        let (completed, arrived, progress) = done(&[load]);
        assert_eq!(
            [completed, arrived],
            [progress.flows_completed, progress.flows_started].map(|flows| flows as f64 / 300.0)
        );
        assert!(arrived > completed);
        let (completed, arrived, progress) = done(&[load, ("stop.at", "50ms")]);
        assert!(arrived == completed && completed >= progress.now.as_secs_f64() / 0.05, "time counts");
    }

    #[test]
    fn a_run_with_an_unknown_number_of_flows_may_be_almost_complete() {
        let expected = [Some(40), Some(10), Some(0), None];
        assert_eq!(expected.map(|flows| share_arrived(10, flows)), [0.25, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn a_run_that_cannot_restart_is_divided_from_the_start() {
        let small = fabric(&[("workload.0.load", "0.01")]);
        let partitions = |experiment: &Experiment, threads| {
            let simulation = Simulation::adapting(experiment.clone(), threads, nowhere).expect("nowhere");
            (simulation.partitions(), simulation.restarts.is_some())
        };
        let has_cores = thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        assert_eq!(partitions(&small, 2), (1, has_cores));
        assert_eq!(partitions(&small, 1), (1, false), "it has only one thread");
        let large = fabric(&[("workload.0.load", "0.0001"), ("topology.hosts_per_leaf", "600")]);
        let (several, may_restart) = partitions(&large, 2);
        assert!(several > 1 && !may_restart, "it has partitions even on one thread");
        let captured =
            fabric(&[("workload.0.load", "0.01"), ("measure.captures", "[{ name = 'a', hosts = '0' }]")]);
        let simulation = Simulation::adapting(captured, 2, nowhere).expect("nowhere");
        assert_eq!(
            (simulation.partitions() > 1, simulation.restarts.is_some()),
            (has_cores, false),
            "captures are written while the run goes on"
        );
        assert_eq!(simulation.windows.is_some_and(|windows| windows.adapts_threads()), has_cores);
    }
}
