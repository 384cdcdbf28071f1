//! Panics of the engine as Python exceptions.
//!
//! An assertion that fails inside the engine is a defect of Shallows, not a user's mistake: it must name itself so,
//! and must not take the interpreter down.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};

use pyo3::import_exception;
use pyo3::prelude::*;

import_exception!(shallows.errors, DefectError);
import_exception!(shallows.errors, ScenarioError);

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keep each panic's message and place for [`guard`] instead of printing them.
pub(crate) fn silence_panics() {
    panic::set_hook(Box::new(|info| {
        LAST.with(|last| *last.borrow_mut() = Some(info.to_string().replace('\n', " ")));
    }));
}

/// Run `work`, and turn a panic into a `DefectError`.
///
/// What `work` was changing must not be used again after an error: it may be half changed.
pub(crate) fn guard<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        let message = LAST.with(|last| last.borrow_mut().take());
        DefectError::new_err(message.unwrap_or_else(|| "a panic without a message".to_owned()))
    })
}
