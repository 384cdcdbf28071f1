//! What a scenario says of RACK-TLP.

use shallows_core::Duration;

/// Parameters of RACK-TLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// *TLP.max_ack_delay*: how long a receiver may delay the acknowledgement of a lone segment.
    pub max_ack_delay: Duration,
    /// What the probe timer and the reordering timer wait beyond what the RFC says: two ticks in Linux (`TCP_TIMEOUT_MIN`).
    pub timer_slack: Duration,
}
