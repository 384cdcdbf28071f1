//! Converts the text of a scenario to an experiment that can run.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBool;
use serde_json::json;
use sha2::{Digest, Sha256};
use shallows_scenario::Experiment;
use shallows_sim::{Division, Simulation, Sink, footprint, time_between_exchanges};

use crate::defect::{ScenarioError, guard};
use crate::interrupt::interruptible;
use crate::simulation::{PySimulation, describe_needs};
use shallows_files::read_text;

/// Checked scenario in which every default is filled in, ready to run.
#[pyclass(name = "Experiment", module = "shallows._core", frozen)]
pub(crate) struct PyExperiment(Experiment);

/// Parses and checks a scenario. Raises `ScenarioError`, whose message contains each mistake and its location.
#[pyfunction]
#[pyo3(signature = (text, file, base, overrides, seed))]
pub(crate) fn parse(
    py: Python<'_>,
    text: String,
    file: String,
    base: PathBuf,
    overrides: Vec<(String, String)>,
    seed: Option<Bound<'_, PyAny>>,
) -> PyResult<PyExperiment> {
    let seed = seed.map(|seed| read_seed(&seed)).transpose()?;
    let read = move |path: &str| read_text(&base.join(path));
    let loaded = interruptible(py, move || shallows_scenario::parse(&text, &file, &read, &overrides, seed))?;
    loaded.map(PyExperiment).map_err(|error| ScenarioError::new_err(error.to_string()))
}

/// Returns the network that `topology` describes, as JSON in the format of [`shallows_scenario::describe`]. `topology` is the table
/// `topology` of a resolved scenario, as JSON.
#[pyfunction]
pub(crate) fn network(topology: &str) -> PyResult<String> {
    let refused = |error: &dyn std::fmt::Display| ScenarioError::new_err(error.to_string());
    let topology = serde_json::from_str(topology).map_err(|error| refused(&error))?;
    let described = guard(|| shallows_scenario::describe(&topology))?;
    described.map(|network| network.to_string()).map_err(|error| refused(&error))
}

/// Reads a seed of at most 64 bits. The range of the seed is checked later, with the scenario. Python's `True`, which would convert to 1,
/// is rejected.
fn read_seed(seed: &Bound<'_, PyAny>) -> PyResult<u64> {
    let number = if seed.is_instance_of::<PyBool>() { None } else { seed.extract().ok() };
    number.ok_or_else(|| {
        let text = seed
            .repr()
            .map_or_else(|_| "a number with thousands of digits".to_owned(), |text| text.to_string());
        let shown: String = text.chars().take(40).collect();
        ScenarioError::new_err(format!(
            "the seed must be a whole number from 0 to {}, got {shown}",
            shallows_scenario::MAX_SEED
        ))
    })
}

#[pymethods]
impl PyExperiment {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    /// Hash of everything on which the results depend: the resolved scenario, input files, seed and engine sources.
    #[getter]
    fn hash(&self) -> PyResult<String> {
        let identity = guard(|| {
            json!([self.0.resolved(), self.0.inputs(), self.0.seed, env!("SHALLOWS_SOURCE_HASH")]).to_string()
        })?;
        Ok(Sha256::digest(identity).iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns a lower bound of the memory that a run uses, as a JSON list of objects with the keys `what`, `bytes` and `remedy`, largest
    /// first.
    fn footprint(&self) -> PyResult<String> {
        guard(|| describe_needs(&footprint(&self.0)))
    }

    /// Returns the number of flows that are expected by the end of the run, for each workload that sends flows. For queries, only the
    /// responses of workers are counted. Flows whose start depends on events during the run are not counted.
    fn expected_flows(&self) -> Vec<f64> {
        self.0.arrivals().iter().map(|each| each.flows).collect()
    }

    /// Returns the scenario with every default filled in, as JSON.
    fn resolved(&self) -> PyResult<String> {
        guard(|| format!("{:#}", self.0.resolved()))
    }

    /// Returns the marking curve of every marker at each kind of port, as a JSON list. A curve has the marker's thresholds and the largest
    /// backlogs that the buffer allows.
    fn marking_curves(&self) -> PyResult<String> {
        guard(|| json!(self.0.marking_curves()).to_string())
    }

    /// Returns the headroom of lossless classes and the bytes that it must hold, for each kind of switch port, as a JSON list; empty if no
    /// class is lossless.
    fn headrooms(&self) -> PyResult<String> {
        guard(|| json!(self.0.headrooms()).to_string())
    }

    /// Returns the memory that a lossless class occupies when the switch pauses the senders of the class, for each kind of switch port, as
    /// a JSON list; empty if no class is lossless.
    fn pause_thresholds(&self) -> PyResult<String> {
        guard(|| json!(self.0.pause_thresholds()).to_string())
    }

    /// Returns notes on the values that were computed for the scenario, with formulas and inputs.
    fn notes(&self) -> Vec<String> {
        self.0.notes.clone()
    }

    /// Returns warnings about settings that are valid but probably unintended.
    fn warnings(&self) -> PyResult<Vec<String>> {
        guard(|| self.0.warnings())
    }

    /// Returns the division of the run among up to `threads` threads as JSON. The keys are `threads`, `partitions`, `window_us` (mean
    /// simulated time for which partitions run independently of each other, if the network has many packets) and `evenness` (mean number of
    /// links per thread divided by the largest).
    /// If the run cannot be divided, the only key is `undivided`, with the reason.
    fn division(&self, threads: u32) -> PyResult<String> {
        guard(|| match Division::new(&self.0, threads) {
            Ok(division) => json!({
                "threads": division.threads(),
                "partitions": division.partitions(),
                "window_us": time_between_exchanges(&self.0, &division).as_micros_f64(),
                "evenness": division.evenness(),
            }),
            Err(undivided) => json!({"undivided": undivided.to_string()}),
        })
        .map(|division| division.to_string())
    }

    /// Creates a run of this experiment with up to `threads` threads, but does not start the run. If `adapts` is true, the run uses the
    /// fastest number of threads. Captures are written to files in `folder`; without a folder they are discarded.
    #[pyo3(signature = (folder=None, threads=1, adapts=false))]
    fn simulate(
        &self,
        py: Python<'_>,
        folder: Option<PathBuf>,
        threads: u32,
        adapts: bool,
    ) -> PyResult<PySimulation> {
        let experiment = self.0.clone();
        let open = move |name: &str| -> io::Result<Sink> {
            match &folder {
                Some(folder) => Ok(Box::new(File::create(folder.join(format!("{name}.pcapng")))?)),
                None => Ok(Box::new(io::sink())),
            }
        };
        let begun = interruptible(py, move || {
            let build = if adapts { Simulation::adapting } else { Simulation::capturing };
            build(experiment, threads, open)
        })?;
        Ok(PySimulation::new(begun?))
    }
}
