//! A barrier for the threads of a run. If one thread panics, the barrier releases all others.
//!
//! All shared state has types of the module `sync`. A test (`tests/barrier.rs`) replaces these types with those of a model checker.

use std::sync::PoisonError;

use super::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, panicking, spin_loop};

/// State that waiting threads read again and again. It shares no cache line with other values, so that threads that wait and threads that
/// arrive do not slow down each other. (Processors often load two lines of 64 bytes at once.)
#[derive(Debug)]
#[repr(align(128))]
struct Gate {
    /// Number of times that the barrier has opened, with wrap-around.
    turn: AtomicUsize,
    /// Whether a thread has panicked and will not arrive again.
    broken: AtomicBool,
}

/// Barrier of a fixed number of threads. The last thread to arrive runs a closure before any thread passes. After the barrier, each thread
/// can read all values that the other threads wrote before the barrier.
#[derive(Debug)]
pub(crate) struct Barrier {
    threads: usize,
    /// Number of times that a waiting thread spins before it sleeps.
    looks: u32,
    waiting: AtomicUsize,
    gate: Gate,
    /// Number of sleeping threads. If this number is zero, opening the barrier skips the wake-up, which is the slowest step.
    asleep: Mutex<usize>,
    opened: Condvar,
}

impl Barrier {
    /// Returns a barrier for `threads` threads. A waiting thread spins `looks` times before it sleeps.
    pub(crate) fn new(threads: usize, looks: u32) -> Self {
        Self {
            threads,
            looks,
            waiting: AtomicUsize::new(0),
            gate: Gate { turn: AtomicUsize::new(0), broken: AtomicBool::new(false) },
            asleep: Mutex::new(0),
            opened: Condvar::new(),
        }
    }

    /// Waits for all threads. The last thread to arrive runs `decide`. Returns false if a thread called [`Self::give_up`].
    pub(crate) fn pass(&self, decide: impl FnOnce()) -> bool {
        let turn = self.gate.turn.load(Ordering::Relaxed);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            decide();
            self.waiting.store(0, Ordering::Relaxed);
            self.wake(|| self.gate.turn.store(turn.wrapping_add(1), Ordering::Release));
            return true;
        }
        let is_shut =
            || self.gate.turn.load(Ordering::Relaxed) == turn && !self.gate.broken.load(Ordering::Acquire);
        for _ in 0..self.looks {
            if !is_shut() {
                break;
            }
            spin_loop();
        }
        if is_shut() {
            let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
            *asleep += 1;
            while is_shut() {
                asleep = self.opened.wait(asleep).unwrap_or_else(PoisonError::into_inner);
            }
            *asleep -= 1;
        }
        self.gate.turn.load(Ordering::Acquire) != turn
    }

    /// Releases all waiting threads, because the calling thread will not arrive again.
    pub(crate) fn give_up(&self) {
        self.wake(|| self.gate.broken.store(true, Ordering::Release));
    }

    /// Changes the state that sleeping threads wait for, and wakes these threads.
    fn wake(&self, change: impl FnOnce()) {
        let asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        change();
        if *asleep > 0 {
            self.opened.notify_all();
        }
    }
}

/// Guard that calls [`Barrier::give_up`] if its thread panics.
pub(crate) struct Alarm<'barrier>(pub(crate) &'barrier Barrier);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if panicking() {
            self.0.give_up();
        }
    }
}
