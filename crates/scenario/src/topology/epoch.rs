//! Changes of the network at times that are known before the run.

use std::sync::Arc;

use shallows_core::{Duration, Instant, Rate};

use super::routes::Routing;

/// Change of the network. It takes effect after all other events at its time; at time zero it is in effect from the start.
#[derive(Clone, Debug)]
pub struct Epoch {
    /// Time of the change.
    pub at: Instant,
    /// Routes after the change. Switches detect a dead link some time after the failure; the detection is a separate epoch.
    pub routing: Arc<Routing>,
    /// Directed links that change, by number. A cable has two.
    pub links: Vec<(u32, LinkState)>,
}

/// State of a link after an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// Dead link: packets in flight are lost, and packets that wait at its port or arrive there are dropped.
    Down,
    /// Working link.
    Up {
        /// Rate in bits per second.
        rate: Rate,
        /// Delay, defined as `Link::delay` and at least that value, because partitions and the end of a run rely on the shortest delay. It
        /// may change only when a dead link returns, because packets in flight keep their order.
        delay: Duration,
    },
}
