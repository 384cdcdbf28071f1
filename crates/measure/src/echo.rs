//! Echo requests between hosts, of which round-trip times are measured.

use shallows_core::{Duration, Instant};

/// One request, and how long its reply took.
#[derive(Clone, Copy, Debug)]
pub struct Echo {
    /// Which pair, by its place in the experiment.
    pub probe: u32,
    /// When the request left.
    pub sent_at: Instant,
    /// None if request or reply was lost, or was still under way when the run stopped.
    pub rtt: Option<Duration>,
}
