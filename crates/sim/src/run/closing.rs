//! What the worlds of a run have measured, as one report.

use shallows_core::Instant;
use shallows_measure::{Measured, Report};
use shallows_scenario::Experiment;

use crate::hosts::flow::Flows;
use crate::network::event::Ranks;
use crate::run::world::World;

/// What is known of a run as a whole.
#[derive(Debug)]
pub(crate) struct Whole {
    /// When it ended.
    pub(crate) end: Instant,
    /// How many flows arrived.
    pub(crate) flows: usize,
    /// Those that were traced for a while, and are not any more.
    pub(crate) forgotten: Vec<u32>,
    /// Packets of each capture.
    pub(crate) captured: Vec<u64>,
}

/// Of a run, from the worlds of its parts.
pub(crate) fn report(experiment: Experiment, worlds: Vec<World>, whole: Whole) -> Report {
    let Whole { end, flows, forgotten, captured } = whole;
    let (parts, known): (Vec<Measured>, Vec<Flows>) =
        worlds.into_iter().map(|world| world.into_measured(end)).unzip();
    let mut measured = Measured::joined(parts);
    let ranks = Ranks::new(experiment.seed);
    measured.echoes.sort_by_key(|echo| (echo.sent_at, ranks.of(echo.probe.into())));
    measured.queries.resize(experiment.connections.len(), Vec::new());
    measured.flow_traces.forget(&forgotten);
    measured.flows = Flows::merged(known, flows);
    measured.captured = captured;
    Report::new(experiment, measured)
}
