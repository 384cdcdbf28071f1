//! Merges the measurements of all partitions into the report of a run.

use std::collections::BTreeMap;

use shallows_core::{Instant, parallel};
use shallows_measure::{Deadlock, Measured, Report};
use shallows_scenario::Experiment;

use crate::hosts::flow::Flows;
use crate::network::event::Ranks;
use crate::run::world::World;
use crate::traffic::Names;

/// Measurements that belong to the whole run instead of one partition.
#[derive(Debug)]
pub(crate) struct Whole {
    /// Time at which the run ended.
    pub(crate) end: Instant,
    /// Names of the flows whose traces were discarded.
    pub(crate) forgotten: Vec<u32>,
    /// Number of captured packets, for each capture.
    pub(crate) captured: Vec<u64>,
    /// Deadlock that has ended the run.
    pub(crate) deadlock: Option<Deadlock>,
    /// Number of threads that compute the results.
    pub(crate) threads: usize,
}

/// Returns the report of a run, from the worlds of its partitions.
pub(crate) fn report(experiment: Experiment, worlds: Vec<World>, whole: Whole) -> Report {
    let Whole { end, forgotten, captured, deadlock, threads } = whole;
    let (partitions, known): (Vec<Measured>, Vec<Flows>) =
        parallel::map(threads, worlds, |world| world.into_measured(end)).into_iter().unzip();
    let mut measured = Measured::joined(partitions);
    let ranks = Ranks::new(experiment.seed);
    measured.echoes.sort_by_key(|echo| (echo.sent_at, ranks.of(echo.probe.into())));
    measured.queries.resize(experiment.connections.len(), Vec::new());
    measured.flow_traces.forget(&forgotten);
    let step = Names::step(&experiment, known.len() as u32);
    let (flows, names) = Flows::merged(known, ranks, step);
    measured.flows = flows;
    let traced = &mut measured.flow_traces.flows;
    if !traced.is_empty() {
        let places: BTreeMap<u32, u32> = names.into_iter().zip(0..).collect();
        *traced = std::mem::take(traced).into_iter().map(|(name, flow)| (places[&name], flow)).collect();
    }
    measured.captured = captured;
    measured.deadlock = deadlock;
    Report::new(experiment, measured, threads)
}
