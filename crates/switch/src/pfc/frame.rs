//! Contents of a pause frame, and its unit of time.

use shallows_core::{Bytes, Duration, Rate};

/// Number of priorities.
pub const PRIORITIES: usize = 8;

/// Contents of a frame: the pause time of each enabled priority, in quanta of 512 bit times. A time of zero resumes the priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Pause time by priority; `None` if the priority is not enabled in the frame.
    pub quanta: [Option<u16>; PRIORITIES],
}

/// Returns the time of this many quanta, of 512 bits each, on a link of this `rate`.
pub fn pause_time(rate: Rate, quanta: u16) -> Duration {
    rate.transmission_time(Bytes(64) * u64::from(quanta))
}
