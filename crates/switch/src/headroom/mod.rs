//! Headroom of a lossless priority group: the bytes that can still arrive after the decision to pause the group's sender.
//!
//! [`generic`] adds the bytes that arrive while the PFC frame is delayed, crosses the cable and takes effect. [`sonic_spectrum`] is the
//! formula that SONiC ships for NVIDIA's chips; it also includes cells, pipelines and margins. Both return the sum and each of its terms.

pub mod generic;
pub mod sonic_spectrum;

use shallows_core::{Bytes, Rate};

/// Largest response time of a sender to a PFC frame, in quanta of 512 bit times (IEEE 802.3 31B.3.7, as SONiC lists it).
const RESPONSE_QUANTA: [(u64, u64); 10] = [
    (100, 1),
    (1_000, 2),
    (10_000, 67),
    (25_000, 80),
    (40_000, 118),
    (50_000, 147),
    (100_000, 394),
    (200_000, 453),
    (400_000, 905),
    (800_000, 905),
];

/// Returns the bytes that a sender of this `rate` may still send before it responds to a PFC frame; `None` if IEEE 802.3 specifies no
/// response time for the rate.
pub fn largest_response(rate: Rate) -> Option<Bytes> {
    let quanta = RESPONSE_QUANTA.iter().find(|&&(mbps, _)| rate.0 == mbps * 1_000_000)?.1;
    Some(Bytes(quanta * 64))
}
