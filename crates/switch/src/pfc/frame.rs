//! Contents of a pause frame, and its unit of time.

use shallows_core::{Bytes, Duration, Rate};

/// Number of priorities of a link.
pub const PRIORITIES: usize = 8;

/// Size of a PFC frame on the wire: 64 bytes, preamble and gap.
pub const FRAME_SIZE: Bytes = Bytes(84);

/// Contents of a PFC frame: the pause time of each enabled priority, in quanta of 512 bit times. A pause time of zero resumes the
/// priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Pause time of each priority; `None` if the frame does not enable the priority.
    pub quanta: [Option<u16>; PRIORITIES],
}

/// Returns the time that `quanta` quanta of 512 bits take on a link of this `rate`.
pub fn pause_time(rate: Rate, quanta: u16) -> Duration {
    rate.transmission_time(Bytes(64) * u64::from(quanta))
}
