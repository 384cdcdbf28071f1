//! Where threads wait for each other, and how they hear that one of them will never come.
//!
//! Everything of it that two threads touch is from `sync`, so that a test can give it a memory that shows every order
//! in which they may come (`tests/gate.rs`).

use std::sync::PoisonError;

use super::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, panicking, spin_loop};

/// Where threads wait for each other: none passes before all are there and the last has decided for all; what each did before
/// is seen by all after.
#[derive(Debug)]
pub(crate) struct Gate {
    threads: usize,
    /// How often a thread looks whether all are there before it sleeps.
    looks: u32,
    waiting: AtomicUsize,
    /// How often it has opened.
    turn: AtomicUsize,
    /// A thread will never come again.
    broken: AtomicBool,
    /// How many sleep: as long as it is none, opening wakes nobody, which would take longer than all else here.
    asleep: Mutex<usize>,
    opened: Condvar,
}

impl Gate {
    /// Where so many threads meet, of which each looks so often before it sleeps.
    pub(crate) fn new(threads: usize, looks: u32) -> Self {
        Self {
            threads,
            looks,
            waiting: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            asleep: Mutex::new(0),
            opened: Condvar::new(),
        }
    }

    /// Wait for all threads, of which the last to come runs `decide`. Says whether they came.
    pub(crate) fn pass(&self, decide: impl FnOnce()) -> bool {
        let turn = self.turn.load(Ordering::Relaxed);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            decide();
            self.waiting.store(0, Ordering::Relaxed);
            self.wake(|| self.turn.store(turn.wrapping_add(1), Ordering::Release));
            return true;
        }
        let is_shut = || self.turn.load(Ordering::Relaxed) == turn && !self.broken.load(Ordering::Acquire);
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
        self.turn.load(Ordering::Acquire) != turn
    }

    /// One of the threads will never come again: no other waits for it.
    pub(crate) fn give_up(&self) {
        self.wake(|| self.broken.store(true, Ordering::Release));
    }

    /// Change what sleepers wait for, and wake them.
    fn wake(&self, change: impl FnOnce()) {
        let asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        change();
        if *asleep > 0 {
            self.opened.notify_all();
        }
    }
}

/// Tells the others if a thread panics.
pub(crate) struct Alarm<'gate>(pub(crate) &'gate Gate);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if panicking() {
            self.0.give_up();
        }
    }
}
