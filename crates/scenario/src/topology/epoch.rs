//! Changes of links and routes at times that are known before the run.

use std::sync::Arc;

use shallows_core::{Duration, Instant, Rate};

use super::routes::Routing;

/// Change of links and routes. A change takes effect after all other events at the same time. A change at time zero is in effect from the
/// start.
#[derive(Clone, Debug)]
pub struct Epoch {
    /// Time of the change.
    pub at: Instant,
    /// Routes after the change. Switches detect a failed link some time after the failure, so the new routes come in a later epoch than the
    /// failure.
    pub routing: Arc<Routing>,
    /// Number and new state of each directed link that changes. A cable consists of two directed links.
    pub links: Vec<(u32, LinkState)>,
}

/// State of a link after an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// Dead link. Packets that are in flight on it are lost, and packets that wait at its port or arrive there are dropped.
    Down,
    /// Working link.
    Up {
        /// Rate in bits per second.
        rate: Rate,
        /// Delay, defined as in `Link::delay`. The new delay must be at least `Link::delay`, because partitions and the end of a run rely
        /// on this lower bound. The delay may change only when a dead link returns, because packets in flight must not overtake each other.
        delay: Duration,
    },
}
