//! Tests of the barrier of a run's threads. `loom` explores every order in which threads arrive, and every value that a
//! relaxed read may return.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use barrier::Barrier;

#[path = "../src/run/barrier.rs"]
#[allow(dead_code)] // nothing panics here
mod barrier;

/// The types of `sync.rs`, replaced by those of `loom`.
mod sync {
    pub(crate) use std::thread::panicking;

    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    pub(crate) use loom::sync::{Condvar, Mutex};
}

/// Number of times that a thread spins before it sleeps.
const LOOKS: u32 = 1;

/// Runs a walk on each of several threads, in every order of execution with at most `preemptions` preemptions.
fn in_every_order(
    threads: usize,
    preemptions: Option<usize>,
    walk: impl Fn(usize, &Barrier, &[AtomicU64]) + Copy + Send + Sync + 'static,
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemptions;
    model.check(move || {
        let barrier = Arc::new(Barrier::new(threads, LOOKS));
        let board: Arc<Vec<AtomicU64>> = Arc::new((0..=threads).map(|_| AtomicU64::new(0)).collect());
        let others: Vec<_> = (1..threads)
            .map(|mine| {
                let (barrier, board) = (Arc::clone(&barrier), Arc::clone(&board));
                thread::spawn(move || walk(mine, &barrier, &board))
            })
            .collect();
        walk(0, &barrier, &board);
        others.into_iter().for_each(|other| other.join().expect("it does not panic"));
    });
}

/// Imitates the steps of a run: each thread writes its count, the last thread to arrive reads all counts and writes a decision, and each
/// thread reads the decision.
fn write_and_read(steps: u64, mine: usize, barrier: &Barrier, board: &[AtomicU64]) {
    let [written @ .., decision] = board else { unreachable!("it has an entry more than threads") };
    for step in 1..=steps {
        written[mine].store(step, Ordering::Relaxed);
        let decide = || {
            let all = written.iter().all(|entry| entry.load(Ordering::Relaxed) == step);
            assert!(all, "written before, and not yet anew");
            decision.store(step, Ordering::Relaxed);
        };
        assert!(barrier.pass(decide));
        assert_eq!(decision.load(Ordering::Relaxed), step, "decided before, and not yet anew");
    }
}

#[test]
fn what_two_threads_wrote_before_the_barrier_the_last_reads_and_both_what_it_decides() {
    in_every_order(2, None, |mine, barrier, board| write_and_read(1, mine, barrier, board));
    in_every_order(2, Some(2), |mine, barrier, board| write_and_read(3, mine, barrier, board));
}

#[test]
fn so_do_three() {
    in_every_order(3, Some(2), |mine, barrier, board| write_and_read(1, mine, barrier, board));
}

#[test]
fn who_waits_for_a_thread_that_has_given_up_is_told() {
    in_every_order(2, None, |mine, barrier, _| {
        assert!(barrier.pass(|| ()));
        if mine == 0 {
            barrier.give_up();
        } else {
            assert!(!barrier.pass(|| ()), "it came once, and not again");
        }
    });
}
