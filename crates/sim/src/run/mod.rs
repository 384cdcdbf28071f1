//! A run: one world for each partition of the network, and the code that advances these worlds in parallel.

pub(crate) mod barrier;
pub(crate) mod closing;
pub(crate) mod crew;
pub(crate) mod critical_path;
pub(crate) mod crossing;
pub(crate) mod deadlock;
pub(crate) mod end;
pub(crate) mod footprint;
pub(crate) mod free_cores;
pub(crate) mod observers;
pub(crate) mod partition;
pub(crate) mod restarts;
pub(crate) mod schedule;
pub(crate) mod simulation;
pub(crate) mod stretch;
pub(crate) mod sync;
pub(crate) mod thread_count;
pub(crate) mod thread_memory;
pub(crate) mod windows;
pub(crate) mod world;
