//! Echo requests between hosts, used to measure round-trip times.

use shallows_core::{Duration, Instant};

/// One echo request and its round-trip time.
#[derive(Clone, Copy, Debug)]
pub struct Echo {
    /// Index of the request's host pair in the experiment's `probes`.
    pub probe: u32,
    /// Time at which the request was sent.
    pub sent_at: Instant,
    /// Round-trip time; `None` if request or reply was lost, or still in flight at the end of the run.
    pub rtt: Option<Duration>,
}
