//! Run that advances in steps of wall-clock time, so that Python can show progress and handle signals between steps.

use std::sync::Mutex;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::json;
use shallows_sim::{Need, Progress, Simulation};

use crate::defect::guard;
use crate::report::PyReport;

/// Run of one experiment. Contains `None` after the run has finished or failed, and while another thread uses it.
#[pyclass(name = "Simulation", module = "shallows._core", frozen)]
pub(crate) struct PySimulation(Mutex<Option<Simulation>>);

/// Number of events between two readings of the clock: some milliseconds of work. With several threads, a step has more events, because
/// waking the threads takes time in each step.
const STEP: u64 = 1 << 15;
const STEP_OF_THREADS: u64 = 1 << 19;

impl PySimulation {
    pub(crate) fn new(simulation: Simulation) -> Self {
        Self(Mutex::new(Some(simulation)))
    }

    /// Takes the simulation out of this object. Returns an error if the simulation is absent: after `finish`, after a defect, and while
    /// another thread uses it.
    fn take(&self) -> PyResult<Simulation> {
        let held = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        held.ok_or_else(|| {
            PyRuntimeError::new_err("the simulation is finished, or another thread is advancing it")
        })
    }

    fn put_back(&self, simulation: Simulation) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(simulation);
    }
}

#[pymethods]
impl PySimulation {
    /// Simulates for about `milliseconds` of wall-clock time. Returns the progress as JSON. Raises `OSError` if a capture could not be
    /// written.
    fn advance(&self, py: Python<'_>, milliseconds: u64) -> PyResult<String> {
        let mut simulation = self.take()?;
        let (simulation, progress, written) = py.detach(|| {
            guard(move || {
                let progress = advance_for(&mut simulation, Duration::from_millis(milliseconds));
                let written = simulation.flush_captures();
                (simulation, progress, written)
            })
        })?;
        self.put_back(simulation);
        written?;
        Ok(describe(&progress))
    }

    /// Returns the memory that the records of the run use so far, as a JSON list like that of
    /// [`crate::experiment::PyExperiment::footprint`].
    fn held(&self) -> PyResult<String> {
        let simulation = self.take()?;
        let held = guard(|| describe_needs(&simulation.held()))?;
        self.put_back(simulation);
        Ok(held)
    }

    /// Ends the run and returns its report.
    fn finish(&self, py: Python<'_>) -> PyResult<PyReport> {
        let simulation = self.take()?;
        py.detach(|| guard(move || simulation.finish())).map(PyReport::new)
    }
}

// The wall clock only decides when to return to Python. It does not affect the results.
#[expect(clippy::disallowed_types)]
fn advance_for(simulation: &mut Simulation, wall: Duration) -> Progress {
    let start = std::time::Instant::now();
    loop {
        let step = if simulation.partitions() > 1 { STEP_OF_THREADS } else { STEP };
        let progress = simulation.advance(step);
        if progress.done || start.elapsed() >= wall {
            return progress;
        }
    }
}

/// Returns the uses of memory as a JSON list, largest first. Each entry has the keys `what`, `bytes` and `remedy`, a change that reduces
/// the use.
pub(crate) fn describe_needs(needs: &[Need]) -> String {
    let each = |need: &Need| json!({"what": need.what, "bytes": need.bytes, "remedy": need.remedy});
    json!(needs.iter().map(each).collect::<Vec<_>>()).to_string()
}

fn describe(progress: &Progress) -> String {
    json!({
        "done": progress.done,
        "simulated_s": progress.now.as_secs_f64(),
        "fraction": progress.fraction,
        "flows_started": progress.flows_started,
        "flows_completed": progress.flows_completed,
        "packet_hops": progress.packet_hops,
        "events": progress.events,
    })
    .to_string()
}
