//! Extension module `shallows._core`: it takes the text of scenarios and returns the results of runs.
//!
//! This crate only converts between Python and Rust. The meaning of a scenario and the behaviour of a run are defined elsewhere. Documents
//! are passed as JSON text, and tables as Parquet files. A panic in the engine becomes `shallows.errors.DefectError`.

mod columns;
mod defect;
mod experiment;
mod interrupt;
mod report;
mod simulation;

use pyo3::prelude::*;
use serde_json::json;

/// Returns the JSON Schema of a scenario file.
#[pyfunction]
fn schema() -> String {
    shallows_scenario::schema().to_string()
}

/// Returns a description of this build as JSON: version, commit, whether the sources differ from the commit, source hash and build profile.
#[pyfunction]
fn version() -> String {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "commit": option_env!("SHALLOWS_COMMIT").filter(|commit| !commit.is_empty()),
        "dirty": env!("SHALLOWS_DIRTY") == "true",
        "source_hash": env!("SHALLOWS_SOURCE_HASH"),
        "profile": env!("SHALLOWS_PROFILE"),
    })
    .to_string()
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    defect::silence_panics();
    module.add_class::<experiment::PyExperiment>()?;
    module.add_class::<simulation::PySimulation>()?;
    module.add_class::<report::PyReport>()?;
    module.add_class::<columns::PyColumns>()?;
    module.add_function(wrap_pyfunction!(experiment::parse, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::network, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)
}
