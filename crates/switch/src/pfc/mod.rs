//! Priority-based flow control (IEEE 802.1Q clause 36): the frames that pause a sender by priority.
//!
//! A [`Pauser`] at the congested end of a link turns pauses and resumes of priorities into frames, and repeats them before they expire.
//! [`PauseTimers`] at the sending end obey the frames after a response time, and let a priority go on when its time is over. The driver
//! sends frames ahead of data and never pauses them.

mod pause_timers;
mod pauser;

use shallows_core::{Bytes, Duration, Rate};

pub use self::pause_timers::{Change, PauseTimers};
pub use self::pauser::{Config as PauserConfig, Pauser};

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
