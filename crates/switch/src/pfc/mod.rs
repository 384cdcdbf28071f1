//! Priority-based flow control (IEEE 802.1Q clause 36): the frames that pause a sender by priority.
//!
//! A [`Pauser`] at the congested end of a link announces pauses and resumes of priorities in frames, and repeats pauses before they
//! expire. [`PauseTimers`] at the sending end apply the frames after a response time, and resume a priority when its pause time is over.
//! The driver sends frames ahead of data and never pauses them.

mod frame;
mod pause_timers;
mod pauser;
mod receive_buffer;
mod watchdog;

pub use self::frame::{FRAME_SIZE, Frame, PRIORITIES, pause_time};
pub use self::pause_timers::{Change, PauseTimers};
pub use self::pauser::{Config as PauserConfig, Pauser};
pub use self::receive_buffer::{ReceiveBuffer, ReceiveConfig};
pub use self::watchdog::{Poll, Verdict, Watchdog, WatchdogAction, WatchdogConfig};
