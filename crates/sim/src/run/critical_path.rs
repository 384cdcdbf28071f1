//! Upper bound on the speed-up of a run by more cores.

use crate::network::division::Division;
use crate::run::partition::Partition;

/// Critical path of a run: the events of the busiest core, summed over all windows, for partitions assigned to a number of cores. All
/// events count as equally long, and barriers and mail as free, so no run exceeds the bound.
#[derive(Debug)]
pub(crate) struct CriticalPath {
    dealt: Vec<Dealt>,
    /// Events of each partition before the window, by partition.
    fired: Vec<u64>,
    events: u64,
}

/// Assignment of partitions to a number of cores.
#[derive(Debug)]
struct Dealt {
    cores: u32,
    /// Core of each partition.
    core_of: Vec<u32>,
    /// Events in the window, by core.
    events: Vec<u64>,
    /// Sum over all windows of the events of the busiest core.
    longest: u64,
}

impl CriticalPath {
    /// Returns empty critical paths, one for each of these numbers of `cores`. Called before the partitions run.
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

    /// Counts a window that all partitions have run.
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

    /// Returns, by number of cores, the upper bound on the speed-up over one core.
    pub(crate) fn speed_ups(&self) -> Vec<(u32, f64)> {
        let speed_up = |dealt: &Dealt| (dealt.cores, self.events as f64 / dealt.longest.max(1) as f64);
        self.dealt.iter().map(speed_up).collect()
    }
}
