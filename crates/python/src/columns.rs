//! Columns of a table of a finished run, from which the command line computes its summaries.

use std::fs::File;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};
use shallows_sim::{Cell, Columns};

use crate::defect::guard;

/// Columns that were read from a table, and the rows that are selected.
#[pyclass(name = "Columns", module = "shallows._core", frozen)]
pub(crate) struct PyColumns(Columns);

#[pymethods]
impl PyColumns {
    /// Reads columns from the Parquet file at `path`. Columns in `wanted` that the file does not have are skipped.
    #[staticmethod]
    fn read(py: Python<'_>, path: &str, wanted: Vec<String>) -> PyResult<Self> {
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let read = || Columns::read(File::open(path)?, &wanted);
        py.detach(|| guard(read))?.map(Self).map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// Names of the columns that were read.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.0.names().collect()
    }

    /// Returns the number of selected rows.
    fn __len__(&self) -> usize {
        self.0.height()
    }

    /// Returns the selected rows whose value in this column is above `above` and at most `up_to`. Rows with a null are excluded.
    #[pyo3(signature = (column, above = f64::NEG_INFINITY, up_to = f64::INFINITY))]
    fn between(&self, column: &str, above: f64, up_to: f64) -> PyResult<Self> {
        self.0.between(column, above, up_to).map(Self).map_err(PyValueError::new_err)
    }

    /// Groups the selected rows by their value in this column. Returns pairs of a value and its rows, in ascending order of the values.
    fn groups(&self, py: Python<'_>, column: &str) -> PyResult<Vec<(Py<PyAny>, Self)>> {
        let groups = self.0.groups(column).map_err(PyValueError::new_err)?;
        groups.into_iter().map(|(cell, rows)| Ok((object(py, cell)?, Self(rows)))).collect()
    }

    /// Returns the sum of a column of whole numbers over the selected rows.
    fn sum(&self, column: &str) -> PyResult<i64> {
        self.0.sum(column).map_err(PyValueError::new_err)
    }

    /// Returns this column's numbers in the selected rows, in ascending order and without nulls.
    fn ordered<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyAny>> {
        let values = py.detach(|| self.0.ordered(column)).map_err(PyValueError::new_err)?;
        let bytes = PyBytes::new_with(py, 8 * values.len(), |bytes| {
            for (place, value) in bytes.chunks_exact_mut(8).zip(values) {
                place.copy_from_slice(&value.to_ne_bytes());
            }
            Ok(())
        })?;
        PyMemoryView::from(&bytes)?.call_method1("cast", ("d",))
    }

    /// Returns this column's value in each selected row, in the order of the rows.
    fn values(&self, py: Python<'_>, column: &str) -> PyResult<Vec<Py<PyAny>>> {
        let values = self.0.values(column).map_err(PyValueError::new_err)?;
        values.map(|cell| object(py, cell)).collect()
    }
}

fn object(py: Python<'_>, cell: Cell) -> PyResult<Py<PyAny>> {
    match cell {
        Cell::Missing => Ok(py.None()),
        Cell::Integer(value) => value.into_py_any(py),
        Cell::Float(value) => value.into_py_any(py),
        Cell::Text(value) => value.into_py_any(py),
    }
}
