//! A run in steps of wall time, so that Python can show progress and be interrupted between them.

use std::sync::Mutex;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::json;
use shallows_sim::{Need, Progress, Simulation};

use crate::defect::guard;
use crate::report::PyReport;

/// A run of one experiment.
#[pyclass(name = "Simulation", module = "shallows._core", frozen)]
pub(crate) struct PySimulation(Mutex<Option<Simulation>>);

/// Events between two looks at the clock: some milliseconds of work. Threads are woken for each step, which is to be
/// worth it.
const STEP: u64 = 1 << 15;
const STEP_OF_THREADS: u64 = 1 << 19;

impl PySimulation {
    pub(crate) fn new(simulation: Simulation) -> Self {
        Self(Mutex::new(Some(simulation)))
    }

    /// The simulation, which is gone after `finish` and after a defect.
    fn take(&self) -> PyResult<Simulation> {
        let held = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        held.ok_or_else(|| {
            PyRuntimeError::new_err("this simulation is finished, or being advanced elsewhere")
        })
    }

    fn put_back(&self, simulation: Simulation) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(simulation);
    }
}

#[pymethods]
impl PySimulation {
    /// From now on run on the number of threads that is fastest at the moment, at most on the number given to `simulate`.
    fn adapt_threads(&self) -> PyResult<()> {
        let mut simulation = self.take()?;
        let simulation = guard(move || {
            simulation.adapt_threads();
            simulation
        })?;
        self.put_back(simulation);
        Ok(())
    }

    /// Simulate for about this many milliseconds of wall time; returns the progress as JSON. `OSError` if a capture could
    /// not be written.
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

    /// Memory of the run's records so far, as the JSON list of [`crate::experiment::PyExperiment::footprint`].
    fn held(&self) -> PyResult<String> {
        let simulation = self.take()?;
        let held = guard(|| describe_needs(&simulation.held()))?;
        self.put_back(simulation);
        Ok(held)
    }

    /// Close the books of the run.
    fn finish(&self, py: Python<'_>) -> PyResult<PyReport> {
        let simulation = self.take()?;
        py.detach(|| guard(move || simulation.finish())).map(PyReport::new)
    }
}

// The wall clock decides only when to pause for Python, never what happens in the run.
#[expect(clippy::disallowed_types)]
fn advance_for(simulation: &mut Simulation, wall: Duration) -> Progress {
    let start = std::time::Instant::now();
    let step = if simulation.partitions() > 1 { STEP_OF_THREADS } else { STEP };
    loop {
        let progress = simulation.advance(step);
        if progress.done || start.elapsed() >= wall {
            return progress;
        }
    }
}

/// A JSON list of what takes memory, how many bytes, and what makes it less, largest first.
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
