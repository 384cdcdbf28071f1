//! How much faster a run could be on more cores at most: what of it has to happen one after another.

use crate::network::division::Division;
use crate::run::partition::Partition;

/// Counts, window by window, the events of the core that has most of them, if the partitions were dealt to so many cores and an
/// event took as long as another. That meeting and handing over take time is left out, so that no run is faster than this.
#[derive(Debug)]
pub(crate) struct CriticalPath {
    dealt: Vec<Dealt>,
    /// By partition: what it had fired before the window.
    fired: Vec<u64>,
    events: u64,
}

/// The partitions on so many cores.
#[derive(Debug)]
struct Dealt {
    cores: u32,
    /// By partition.
    core_of: Vec<u32>,
    /// By core: events of the window.
    events: Vec<u64>,
    /// Sum over all windows of the events of the busiest core.
    longest: u64,
}

impl CriticalPath {
    /// Path of partitions that have not run yet, for each of these numbers of `cores`.
    pub(crate) fn new(division: &Division, cores: &[u32]) -> Self {
        let dealt = |&cores: &u32| Dealt {
            cores,
            core_of: division.dealt_to(cores),
            events: vec![0; cores as usize],
            longest: 0,
        };
        let partitions = division.partitions() as usize;
        Self { dealt: cores.iter().map(dealt).collect(), fired: vec![0; partitions], events: 0 }
    }

    /// All partitions have lived through a window.
    pub(crate) fn on_window(&mut self, partitions: &[Partition]) {
        for ((number, partition), fired) in partitions.iter().enumerate().zip(&mut self.fired) {
            let events = partition.events() - std::mem::replace(fired, partition.events());
            self.events += events;
            for dealt in &mut self.dealt {
                dealt.events[dealt.core_of[number] as usize] += events;
            }
        }
        for dealt in &mut self.dealt {
            dealt.longest += dealt.events.iter().max().copied().unwrap_or_default();
            dealt.events.fill(0);
        }
    }

    /// By number of cores: how many times as fast as on one.
    pub(crate) fn speed_ups(&self) -> Vec<(u32, f64)> {
        let speed_up = |dealt: &Dealt| (dealt.cores, self.events as f64 / dealt.longest.max(1) as f64);
        self.dealt.iter().map(speed_up).collect()
    }
}
