//! Upper bound on the speed-up of a run on several cores.

use crate::network::division::Division;
use crate::run::partition::Partition;

/// Lengths of a run's critical path on different numbers of cores: the number of events of the busiest core, summed over all time windows. Each
/// stage of a long window counts as a window.
///
/// The speed-up over one core is at most the number of all events divided by this sum. The real speed-up is smaller, because barriers and
/// the exchange of packets take time. The bound assumes that all events take the same time.
#[derive(Debug)]
pub(crate) struct CriticalPath {
    dealt: Vec<Dealt>,
    /// Number of events of each partition before the current time window.
    fired: Vec<u64>,
    events: u64,
}

/// Assignment of partitions to `cores` cores, and the resulting length of the critical path.
#[derive(Debug)]
struct Dealt {
    cores: u32,
    /// Core of each partition.
    core_of: Vec<u32>,
    /// Number of events of each core in the current time window.
    events: Vec<u64>,
    /// Length of the critical path: number of events of the busiest core, summed over all time windows.
    longest: u64,
}

impl CriticalPath {
    /// Returns an empty critical path for each number of cores in `cores`. Called before the partitions run.
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

    /// Adds the events of a time window. Called after all partitions have run this window.
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

    /// Returns each number of cores, with the upper bound on the speed-up of the run over one core.
    pub(crate) fn speed_ups(&self) -> Vec<(u32, f64)> {
        let speed_up = |dealt: &Dealt| (dealt.cores, self.events as f64 / dealt.longest.max(1) as f64);
        self.dealt.iter().map(speed_up).collect()
    }
}
