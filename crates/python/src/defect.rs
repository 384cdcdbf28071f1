//! Panics of the engine as Python exceptions.
//!
//! An assertion that fails inside the engine is a defect of Shallows, not a user's mistake. It is raised as `DefectError`, and the
//! interpreter continues.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};

use pyo3::import_exception;
use pyo3::prelude::*;

import_exception!(shallows.errors, DefectError);
import_exception!(shallows.errors, ScenarioError);

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps each panic's message and location for [`guard`] instead of printing them.
pub(crate) fn silence_panics() {
    panic::set_hook(Box::new(|info| {
        LAST.with(|last| *last.borrow_mut() = Some(info.to_string().replace('\n', " ")));
    }));
}

/// Runs `work` and converts a panic into a `DefectError`.
///
/// Values that `work` was changing must not be used after an error, because they may be half changed.
pub(crate) fn guard<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        let message = LAST.with(|last| last.borrow_mut().take());
        DefectError::new_err(message.unwrap_or_else(|| "a panic without a message".to_owned()))
    })
}
