//! Headroom from the properties of the link alone, without the margins of a chip.

use std::fmt;

use shallows_core::{Bytes, Duration, Rate};

use crate::pfc::FRAME_SIZE;

/// A link over which packets arrive at the switch, and the largest packets on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Rate of the direction in which data arrive at the switch.
    pub rate: Rate,
    /// Rate of the opposite direction, which carries the PFC frame.
    pub reverse_rate: Rate,
    /// Propagation delay of one direction.
    pub propagation: Duration,
    /// Largest packet in either direction, with its framing.
    pub packet: Bytes,
    /// Bytes that the sender may still send after the arrival of the PFC frame, until it responds; see [`super::largest_response`].
    pub response: Bytes,
}

/// Terms of the headroom of a link. Each term is rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Bytes that arrive while a packet of the switch blocks the PFC frame, and while the PFC frame itself is sent.
    pub own: Bytes,
    /// Bytes in flight on the cable in both directions.
    pub cable: Bytes,
    /// Bytes that arrive until the sender responds.
    pub response: Bytes,
    /// Largest packet, which the sender may have begun when it responds.
    pub peer: Bytes,
}

impl Headroom {
    /// Returns the headroom of a priority group on this link.
    pub fn of(link: &Link) -> Self {
        let ratio = |bytes: Bytes| {
            let scaled = (u128::from(bytes.0) * u128::from(link.rate.0)).div_ceil(link.reverse_rate.0.into());
            Bytes(scaled as u64)
        };
        Self {
            own: ratio(link.packet + FRAME_SIZE),
            cable: link.rate.bytes_in_up(link.propagation * 2),
            response: link.response,
            peer: link.packet,
        }
    }

    /// Returns the sum of the terms.
    pub fn total(&self) -> Bytes {
        self.own + self.cable + self.response + self.peer
    }
}

impl fmt::Display for Headroom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { own, cable, response, peer } = self;
        write!(
            f,
            "{} = {own} (own packet, PFC frame) + {cable} (cable, both directions) + {response} (response) + {peer} \
             (packet that the sender has begun)",
            self.total()
        )
    }
}
