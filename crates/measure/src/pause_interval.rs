//! Pauses over time.

use shallows_core::Instant;

/// Time during which a port could not send packets of one lossless class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PauseInterval {
    /// Time at which the pause took effect.
    pub since: Instant,
    /// Number of the link that the paused port feeds.
    pub link: u32,
    /// Lossless class.
    pub class: u8,
    /// Time at which the pause ended; `None` if it lasted until the end of the run.
    pub until: Option<Instant>,
}
