//! Loss recovery: `tcp.recovery` and its keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Duration;

use crate::quantity::Time;

/// Method of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Recovery {
    /// Selective acknowledgements (RFC 2018, RFC 6675).
    #[default]
    Sack,
    /// Selective acknowledgements with the send times of segments and tail loss probes (RACK-TLP, RFC 8985), as in Linux.
    Rack,
    /// Selective acknowledgements as in ns-2's `Agent/TCP/FullTcp/Sack`. Lost segments count as data in flight until they are acknowledged.
    /// All outstanding data is retransmitted after a timeout, and a second loss in one window waits for the timer.
    FullTcp,
    /// Selective acknowledgements as in ns-2's `Agent/TCP/Sack1`, which differs from the RFCs in details.
    Sack1,
    /// Cumulative acknowledgements only; recovery ends when all data that was outstanding at the loss is acknowledged (RFC 6582).
    NewReno,
    /// Cumulative acknowledgements only; recovery ends with the first acknowledgement of new data (RFC 5681 §3.2).
    Reno,
}

/// Details of RACK-TLP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rack {
    /// Time beyond two round trips that a tail loss probe waits for the acknowledgement of a single outstanding segment. Default
    /// `delayed_ack.timeout`; Linux has the minimum retransmission timeout, 200 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_ack_delay: Option<Time>,
    /// Additional time of the probe timer and the reordering timer beyond RFC 8985: two ticks in Linux. Default `"0s"`.
    #[serde(default = "zero")]
    pub(crate) timer_slack: Time,
}

/// Proportional rate reduction (RFC 6937, RFC 9937).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Prr {
    /// Not used: the data in flight follows the window (RFC 6675).
    #[default]
    Off,
    /// PRR with the slow start reduction bound, which the RFC recommends.
    Ssrb,
    /// PRR with the conservative reduction bound.
    Crb,
    /// PRR with either bound, depending on whether acknowledgements of new data indicate further losses (RFC 9937, Linux).
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
