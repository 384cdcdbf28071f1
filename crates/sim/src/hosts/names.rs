//! Names of connections and flows in packets.

use std::num::NonZeroU32;

/// Name of a connection in the packets of both directions; unique together with the sender's host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// Slot of the sender at its host.
    pub(crate) slot: u32,
    /// Number that distinguishes a closed connection from its successor in the same slot.
    pub(crate) generation: u32,
}

/// Number of a flow, from 0 to 2³² - 2, so that `Option<FlowNumber>` takes no more memory than a `u32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowNumber(NonZeroU32);

impl FlowNumber {
    #[inline]
    pub(crate) fn new(number: u32) -> Self {
        Self(NonZeroU32::new(!number).expect("there are fewer than 2^32 - 1 flows"))
    }

    #[inline]
    pub(crate) fn get(self) -> u32 {
        !self.0.get()
    }
}
