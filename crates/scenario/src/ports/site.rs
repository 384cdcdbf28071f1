//! Position of a port, for values that are computed for it.

use shallows_core::{Bytes, Duration};

use crate::topology::{Link, Network};

/// Position of a port in the network.
pub(crate) struct Site<'a> {
    pub(crate) network: &'a Network,
    pub(crate) link: &'a Link,
    /// Size of a full packet on the link.
    pub(crate) packet: Bytes,
    pub(crate) base_rtt: Duration,
}
