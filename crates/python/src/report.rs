//! Results of a finished run: a summary as JSON, tables as Parquet files.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use pyo3::prelude::*;
use shallows_sim::Report;

use crate::defect::guard;

/// Results of a finished run.
#[pyclass(name = "Report", module = "shallows._core", frozen)]
pub(crate) struct PyReport(Report);

impl PyReport {
    pub(crate) fn new(report: Report) -> Self {
        Self(report)
    }
}

#[pymethods]
impl PyReport {
    /// Returns `summary.json` without its machine-dependent parts.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| guard(|| self.0.summary().to_string()))
    }

    /// Returns warnings about the results: markers that never fired, misleading losses.
    fn warnings(&self) -> PyResult<Vec<String>> {
        guard(|| self.0.warnings())
    }

    /// Returns observations: correct behaviour that matters for reading the results.
    fn observations(&self) -> PyResult<Vec<String>> {
        guard(|| self.0.observations())
    }

    /// Returns the names of the tables that this run has.
    fn tables(&self) -> Vec<&'static str> {
        self.0.tables()
    }

    /// Writes the table of this name as a Parquet file.
    fn write_table(&self, py: Python<'_>, name: &str, path: &str) -> PyResult<()> {
        py.detach(|| write(path, |out| self.0.write_table(name, out)))
    }
}

fn write(path: &str, table: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> PyResult<()> {
    let mut out = BufWriter::new(File::create(path)?);
    guard(|| table(&mut out).and_then(|()| out.flush()))??;
    Ok(())
}
