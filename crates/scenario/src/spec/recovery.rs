//! Loss recovery: the key `tcp.recovery` and the keys of its methods.

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
    /// Selective acknowledgements, with loss detection by the send times of segments, and with tail loss probes (RACK-TLP, RFC 8985), as in
    /// Linux.
    Rack,
    /// Selective acknowledgements as in ns-2's `Agent/TCP/FullTcp/Sack`. Lost segments count as data in flight until they are acknowledged,
    /// all outstanding data is retransmitted after a timeout, and a second loss in the same window is repaired only after a timeout.
    FullTcp,
    /// Selective acknowledgements as in ns-2's `Agent/TCP/Sack1`, which differs from the RFCs in details.
    Sack1,
    /// Cumulative acknowledgements only. Recovery ends when all data that was outstanding when the loss was detected is acknowledged (RFC
    /// 6582).
    NewReno,
    /// Cumulative acknowledgements only. Recovery ends with the first acknowledgement of new data (RFC 5681 §3.2).
    Reno,
}

/// Parameters of RACK-TLP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rack {
    /// Time that a tail loss probe waits, in addition to two round trips, if only one segment is outstanding. The receiver may delay the
    /// acknowledgement of this segment. Default `delayed_ack.timeout`. Linux uses its minimum retransmission timeout, 200 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_ack_delay: Option<Time>,
    /// Time by which the probe timer and the reordering timer exceed the values of RFC 8985. Default `"0s"`; Linux has two clock ticks.
    #[serde(default = "zero")]
    pub(crate) timer_slack: Time,
}

/// Proportional rate reduction (RFC 6937, RFC 9937).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Prr {
    /// No rate reduction: during recovery, the data in flight is limited by the window alone (RFC 6675).
    #[default]
    Off,
    /// PRR with the slow start reduction bound (SSRB), which RFC 6937 recommends.
    Ssrb,
    /// PRR with the conservative reduction bound (CRB).
    Crb,
    /// PRR that chooses between the two bounds: acknowledgements of new data without signs of further losses select SSRB, all others CRB
    /// (RFC 9937, Linux).
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
