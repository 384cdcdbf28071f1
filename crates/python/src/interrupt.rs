//! Runs long work so that Ctrl-C and SIGTERM can end it. By itself, Python runs signal handlers only between its own instructions, not
//! during a call to Rust.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::defect::guard;

/// Longest time until a signal is handled.
const LOOK: Duration = Duration::from_millis(50);
/// Stack size of the thread that runs the work: the size that Linux gives the first thread of a program.
const STACK: usize = 8 << 20;

/// Runs `work` in a separate thread, and runs Python's signal handlers meanwhile.
///
/// If a signal handler raises an exception, that exception is returned. `work` then continues in its thread, and its result is discarded,
/// so `work` must have no visible side effects.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (send, mut receive) = sync_channel(1);
    // Sending fails if a signal has ended the wait for the result.
    let body = move || drop(send.send(guard(work)));
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(body)
        .map_err(|error| PyOSError::new_err(format!("a thread could not be started: {error}")))?;
    loop {
        let waiting = &mut receive;
        match py.detach(move || waiting.recv_timeout(LOOK)) {
            Ok(done) => return done,
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => unreachable!("a panic is caught, and then sent"),
        }
    }
}
