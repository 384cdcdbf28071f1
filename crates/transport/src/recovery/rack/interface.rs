//! Parameters of RACK-TLP.

use shallows_core::Duration;

/// Parameters of RACK-TLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// *TLP.max_ack_delay*: longest delay of a lone segment's acknowledgement.
    pub max_ack_delay: Duration,
    /// Additional wait of the probe timer and the reordering timer: two ticks in Linux (`TCP_TIMEOUT_MIN`).
    pub timer_slack: Duration,
}
