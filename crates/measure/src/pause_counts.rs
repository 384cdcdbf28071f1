//! Counts of the pauses at a port, read at the end of a run.

use shallows_core::{Bytes, Duration, Instant};

/// Counts of the pauses of one lossless class at the port of one link. Hosts send pauses only if they have a receive buffer or a PFC storm.
/// All classes share the headroom of a receive buffer, which is the part of the buffer above `xoff`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseCounts {
    /// Number of the link.
    pub link: u32,
    /// Lossless class.
    pub class: u8,
    /// Number of times that this port paused the sender at the other end of the link.
    pub sent: u64,
    /// Number of times that this port let the paused sender resume.
    pub resumed: u64,
    /// PFC frames from this port with this class: pauses, repetitions and resumptions.
    pub frames: u64,
    /// Number of times that the other end of the link paused this port.
    pub received: u64,
    /// Time for which this port was paused.
    pub paused: Duration,
    /// Packets that arrived through this port, waited in the switch and were counted in the priority group of this port and class.
    pub admitted: u64,
    /// Packets that arrived through this port and were dropped because the headroom was full.
    pub dropped: u64,
    /// Packets that arrived through this port and were dropped because their TTL had expired.
    pub expired: u64,
    /// Number of times that the PFC watchdog of this port let the class ignore pauses.
    pub storms: u64,
    /// Packets that the PFC watchdog of this port dropped.
    pub dropped_by_watchdog: u64,
    /// Headroom of the priority group of this port and class.
    pub headroom: Bytes,
    /// Largest part of the headroom that was in use at once.
    pub max_headroom: Bytes,
}

/// Cycle of paused senders in which each sender waits for the next sender, so that no sender of the cycle can send again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// Time at which the deadlock ended the run.
    pub at: Instant,
    /// Paused senders in the cycle, each given by its link number and its class.
    pub cycle: Vec<(u32, u8)>,
}
