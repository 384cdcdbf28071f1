//! A change of the network at a time that is known before the run.

use std::sync::Arc;

use shallows_core::{Duration, Instant, Rate};

use super::routes::Routing;

/// A change of the network. It takes effect after all else that happens at its time; at time zero it is in force from the start.
#[derive(Clone, Debug)]
pub struct Epoch {
    /// When.
    pub at: Instant,
    /// The routes from then on. Switches learn of a dead link later than the link dies: that is an epoch of its own.
    pub routing: Arc<Routing>,
    /// The directed links that change, by number. A cable has two.
    pub links: Vec<(u32, LinkState)>,
}

/// State of a link from an epoch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It is dead: what is in flight is lost, and what waits at its port or comes there is dropped.
    Down,
    /// It works.
    Up {
        /// Bits per second.
        rate: Rate,
        /// As `Link::delay`, and at least what that says: partitions and the end of a run reckon with the
        /// shortest delay. It changes only as a link returns, because packets in flight keep their order.
        delay: Duration,
    },
}
