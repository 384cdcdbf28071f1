//! How losses are repaired: `tcp.recovery`, and the keys that belong to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Duration;

use crate::quantity::Time;

/// How losses are repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Recovery {
    /// With selective acknowledgements (RFC 2018, RFC 6675).
    #[default]
    Sack,
    /// With them and by the times at which segments were sent, and with tail loss probes (RACK-TLP, RFC 8985), as Linux.
    Rack,
    /// With them, as ns-2's `Agent/TCP/FullTcp/Sack`: what is lost counts as in the network until acknowledgements come in its
    /// place, after a timeout everything outstanding is retransmitted, and a second loss in one window waits for the timer.
    FullTcp,
    /// With them, as ns-2's `Agent/TCP/Sack1`, which differs in details.
    Sack1,
    /// Without them, until everything is repaired that was outstanding when the loss was found (RFC 6582).
    NewReno,
    /// Without them, until the first acknowledgement of new data (RFC 5681 §3.2).
    Reno,
}

/// Details of RACK-TLP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rack {
    /// How long a probe waits for the acknowledgement of a lone segment, beyond two round trips. Default
    /// `delayed_ack.timeout`; Linux has the least retransmission timeout, 200 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_ack_delay: Option<Time>,
    /// Extra wait of the probe timer and the reordering timer beyond RFC 8985: two ticks in Linux. Default `"0s"`.
    #[serde(default = "zero")]
    pub(crate) timer_slack: Time,
}

/// Proportional rate reduction (RFC 6937, RFC 9937).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Prr {
    /// Not used: what is in the network follows the window (RFC 6675).
    #[default]
    Off,
    /// With the slow start reduction bound, which the RFC recommends.
    Ssrb,
    /// With the conservative reduction bound.
    Crb,
    /// With either, as acknowledgements of new data tell of further losses or not (RFC 9937, Linux).
    SafeAck,
}

impl Default for Rack {
    fn default() -> Self {
        Self { max_ack_delay: None, timer_slack: zero() }
    }
}

fn zero() -> Time {
    Time(Duration::ZERO)
}
