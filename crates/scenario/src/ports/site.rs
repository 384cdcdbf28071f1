//! One port of the network, with the properties from which its settings are computed.

use shallows_core::{Bytes, Duration};

use crate::topology::{Link, Network};

/// One port of the network, with the properties from which its settings are computed.
pub(crate) struct Site<'a> {
    pub(crate) network: &'a Network,
    pub(crate) link: &'a Link,
    /// Size of a full packet on the link, including framing.
    pub(crate) packet: Bytes,
    pub(crate) base_rtt: Duration,
}
