//! Synchronisation primitives of the barrier.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub(crate) use std::sync::{Condvar, Mutex};
pub(crate) use std::thread::panicking;
