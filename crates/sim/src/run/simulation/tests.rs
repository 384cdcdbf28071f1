//! Tests of runs with partitions that change while they go on.

use super::*;
use crate::network::testing::fabric;
use crate::run::crossing::Crossings;
use crate::run::thread_count::ThreadCount;

/// Runs a simulation of `experiment` to its end, and compares its summary with that of an undivided run.
pub(super) fn assert_ends_as_if_undivided(mut simulation: Simulation, experiment: Experiment) {
    simulation.advance(u64::MAX);
    let mut alone = Simulation::new(experiment);
    alone.advance(u64::MAX);
    assert_eq!(simulation.finish().summary(), alone.finish().summary());
}

#[test]
fn partitions_in_which_little_happens_are_put_together_and_only_time_tells() {
    // A packet of 1,500 bytes takes 1.2 us on each of four links, and its acknowledgement has three or four events as well. At 80 %
    // load of six hosts, a window of 50 us has a thousand events, in four partitions.
    for (load, partitions) in [("0.01", 1), ("0.8", 4)] {
        let experiment = fabric(&[("workload.0.load", load)]);
        let division = Division::in_pieces(&experiment, 1, 0).expect("it has four switches");
        let mut simulation =
            Simulation::of_partitions(experiment.clone(), division, nowhere).expect("nowhere");
        let before = simulation.advance(5_000).events;
        simulation.judge();
        assert_eq!(simulation.partitions(), partitions, "at a load of {load}");
        assert!(simulation.progress().events >= before, "it has come as far");
        assert_ends_as_if_undivided(simulation, experiment);
    }
}

#[test]
fn the_number_of_partitions_is_decided_after_the_trial() {
    let experiment = fabric(&[("workload.0.load", "0.01")]);
    let division = Division::in_pieces(&experiment, 1, 0).expect("it has four switches");
    let mut simulation = Simulation::of_partitions(experiment, division, nowhere).expect("nowhere");
    simulation.on_trial = true;
    // A trial has more than a million events.
    simulation.advance(5_000);
    assert_eq!((simulation.partitions(), simulation.on_trial), (4, true));
}

#[test]
fn a_run_that_starts_again_with_fewer_partitions_still_adapts_its_threads() {
    let experiment = fabric(&[("workload.0.load", "0.01")]);
    let division = Division::in_pieces(&experiment, 2, 0).expect("it has four switches");
    for adapts in [false, true] {
        let mut simulation =
            Simulation::of_partitions(experiment.clone(), division.clone(), nowhere).expect("nowhere");
        if adapts {
            simulation.adapt_threads(2);
        }
        simulation.advance(5_000);
        simulation.judge();
        assert_eq!(simulation.partitions(), 2);
        let windows = simulation.windows.as_ref().expect("it is divided");
        assert_eq!(windows.thread_count.is_some(), adapts);
    }
}

#[test]
fn every_segment_under_way_has_one_body() {
    let mut simulation = Simulation::new(fabric(&[("workload.0.load", "0.8")]));
    simulation.advance(5_000);
    let under_way = simulation.tally().under_way();
    assert!(under_way > 0);
    assert_eq!(simulation.packets(), under_way);
}

#[test]
fn packets_in_the_mail_count_at_a_search_for_deadlocks_and_at_the_end() {
    let experiment = fabric(&[("workload.0.load", "0.8")]);
    for searches in [true, false] {
        let division = Division::in_pieces(&experiment, 2, 0).expect("it has four switches");
        let mut simulation =
            Simulation::of_partitions(experiment.clone(), division, nowhere).expect("nowhere");
        let has_mail = |simulation: &Simulation| simulation.windows.as_ref().is_some_and(Windows::has_mail);
        while !has_mail(&simulation) {
            assert!(!simulation.advance(500).done, "some packets cross before the end");
        }
        if searches {
            assert!(!simulation.search_deadlock());
            assert!(!has_mail(&simulation));
        }
        // `finish` panics if a packet is missing.
        simulation.finish();
    }
}

#[test]
fn the_length_of_windows_changes_while_a_run_goes_on_and_only_time_tells() {
    let sets =
        [("workload.0.load", "0.8"), ("topology.uplink_delay", "700ns"), ("topology.host_delay", "9us")];
    let experiment = fabric(&sets);
    let division = Division::in_pieces(&experiment, 2, 0).expect("it has four switches");
    let open = Simulation::of_partitions(experiment.clone(), division, nowhere);
    let mut simulation = open.expect("nowhere");
    for execution in [Execution::Windows, Execution::Events].into_iter().cycle() {
        simulation.windows.as_mut().expect("it is divided").execution = execution;
        if simulation.advance(300).done {
            break;
        }
    }
    assert_ends_as_if_undivided(simulation, experiment);
}

#[test]
fn the_number_of_threads_changes_while_a_run_goes_on_and_only_time_tells() {
    let experiment = fabric(&[("workload.0.load", "0.8")]);
    let division = Division::in_pieces(&experiment, 4, 0).expect("it has four switches");
    let mut simulation = Simulation::of_partitions(experiment.clone(), division, nowhere).expect("nowhere");
    let (mut count, mut seen) = (ThreadCount::new(4, 4), std::collections::BTreeMap::new());
    loop {
        let threads = count.threads();
        *seen.entry(threads).or_insert(0) += 1;
        simulation.adapt_threads(threads);
        if simulation.advance(500).done {
            break;
        }
        // Two threads are the fastest, by made-up rates.
        let seconds = count.seconds();
        count.on_measured((seconds * if threads == 2 { 2e7 } else { 1e7 }) as u64, seconds);
    }
    assert!([1, 2, 4].iter().all(|threads| seen.contains_key(threads)), "{seen:?}");
    assert!(seen[&2] > seen[&4], "the fastest is kept: {seen:?}");
    assert_ends_as_if_undivided(simulation, experiment);
}

#[test]
fn the_partitions_of_a_thread_use_one_memory_in_turn() {
    let experiment = fabric(&[("workload.0.load", "0.8")]);
    for threads in [1, 2] {
        // Each switch is a partition.
        let division = Division::in_pieces(&experiment, threads, 0).expect("switches are connected");
        let mut simulation =
            Simulation::of_partitions(experiment.clone(), division, nowhere).expect("nothing is opened");
        simulation.advance(u64::MAX);
        let shares: Vec<_> = simulation.partitions.chunk_by(Partition::shares_memory_with).collect();
        assert_eq!(shares.iter().map(|share| share.len()).sum::<usize>(), 4);
        assert_eq!(shares.len(), threads as usize);
        for share in shares {
            let memory = share[0].memory.lock().expect("no partition panics");
            assert!(memory.scratch.has_memory());
            assert!(!memory.lists.is_empty());
            let is_empty_near = |list: &Crossings| !list.is_far && list.packets.is_empty();
            assert!(memory.lists.iter().all(|list| is_empty_near(list) && list.packets.capacity() > 0));
        }
    }
}
