//! Counters of a port at the end of a run.

use shallows_switch::Port;
use shallows_switch::aqm::MarkerCounts;
use shallows_switch::port::Counters;

/// Counts of the port of one link.
#[derive(Clone, Debug)]
pub struct PortCounts {
    /// Number of the link.
    pub link: u32,
    /// Counters of the port as a whole.
    pub port: Counters,
    /// Counters of each queue of the port.
    pub queues: Vec<Counters>,
    /// Name and counters of each marker of the port.
    pub markers: Vec<(&'static str, MarkerCounts)>,
    /// Segments with data that the port dropped.
    pub data_dropped: u64,
}

impl PortCounts {
    /// Reads the counters of this link's port, which has dropped `data_dropped` segments with data.
    pub fn of<T: Copy + Default>(link: u32, port: &Port<T>, data_dropped: u64) -> Self {
        let markers = port.markers().iter().map(|marker| (marker.name(), marker.counts())).collect();
        Self { link, port: port.counters(), queues: port.queue_counters(), markers, data_dropped }
    }
}
