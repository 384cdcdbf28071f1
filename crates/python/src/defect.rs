//! Converts panics of the engine to Python exceptions.
//!
//! A panic, such as a failed assertion, is a defect of Shallows and not a user's mistake. It is raised as `DefectError`, and the
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

/// Stops the printing of panics. Instead, the message and the location of each panic are kept for [`guard`].
pub(crate) fn silence_panics() {
    panic::set_hook(Box::new(|info| {
        LAST.with(|last| *last.borrow_mut() = Some(info.to_string().replace('\n', " ")));
    }));
}

/// Runs `work` and returns its result. A panic becomes a `DefectError`.
///
/// After a `DefectError`, values that `work` was changing may be half changed and must not be used.
pub(crate) fn guard<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        let message = LAST.with(|last| last.borrow_mut().take());
        DefectError::new_err(message.unwrap_or_else(|| "a panic without a message".to_owned()))
    })
}
