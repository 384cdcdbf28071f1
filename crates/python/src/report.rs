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
    /// Returns the contents of `summary.json` without the parts that depend on the machine.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| guard(|| self.0.summary().to_string()))
    }

    /// Returns warnings about the results, for example about markers that never marked and about losses that may make results misleading.
    fn warnings(&self) -> PyResult<Vec<String>> {
        guard(|| self.0.warnings())
    }

    /// Returns observations about the run: behaviour that is correct, but that a reader of the results should consider.
    fn observations(&self) -> PyResult<Vec<String>> {
        guard(|| self.0.observations())
    }

    /// Returns the names of the tables that this run has.
    fn tables(&self) -> Vec<&'static str> {
        self.0.tables()
    }

    /// Writes the table `name` to a Parquet file at `path`.
    fn write_table(&self, py: Python<'_>, name: &str, path: &str) -> PyResult<()> {
        py.detach(|| write(path, |out| self.0.write_table(name, out)))
    }
}

fn write(path: &str, table: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> PyResult<()> {
    let mut out = BufWriter::new(File::create(path)?);
    guard(|| table(&mut out).and_then(|()| out.flush()))??;
    Ok(())
}
