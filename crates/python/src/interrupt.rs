//! Long work that Ctrl-C and SIGTERM can end: Python runs its handlers of signals only between its own instructions.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::defect::guard;

/// How long a signal waits at most.
const LOOK: Duration = Duration::from_millis(50);
/// As much as Linux gives the first thread of a program.
const STACK: usize = 8 << 20;

/// Run `work` in a thread of its own, and look for signals meanwhile.
///
/// If a handler raises, that is the result. What the work has made by then goes when it is done, or with the process:
/// `work` must change nothing that anybody else sees.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (send, mut receive) = sync_channel(1);
    // Whoever waited may be gone.
    let body = move || drop(send.send(guard(work)));
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(body)
        .map_err(|error| PyOSError::new_err(format!("no thread could be started: {error}")))?;
    loop {
        let waiting = &mut receive;
        match py.detach(move || waiting.recv_timeout(LOOK)) {
            Ok(done) => return done,
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => unreachable!("a panic is caught, and then sent"),
        }
    }
}
