//! Receivers of connections: the windows that they advertise (`tcp.receiver`), and the times of their acknowledgements (`tcp.delayed_ack`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Duration;
use shallows_transport::AckCounts;

use super::omitted::is_default;
use crate::quantity::{Time, Window};
use crate::tagged::tagged;

tagged! {
    /// Rule for the windows that receivers advertise.
    Receiver, "receiver" {
        /// A constant window, `receive_window`.
        "fixed" => Fixed(FixedWindow),
        /// Windows that follow the unused bandwidth of the receiving host's link (ICTCP, CoNEXT '10). Requires `timestamps`.
        "ictcp" => Ictcp(Ictcp),
    }
}

/// Constant receive window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixedWindow {}

/// Receive windows that divide the bandwidth of the receiving host's link among connections (ICTCP).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ictcp {
    /// Share of the link's rate that all connections together may use, above 0 and at most 1. Default 0.9.
    #[serde(default = "nine_tenths")]
    pub(crate) share: f64,
    /// Largest unused share of a window at which the window may grow. Default 0.1.
    #[serde(default = "tenth")]
    pub(crate) gamma1: f64,
    /// Unused share of a window above which the window shrinks. Default 0.5.
    #[serde(default = "half")]
    pub(crate) gamma2: f64,
    /// Weight of earlier measurements in the moving average of the throughput, from 0 to 1. Default 0.2, as in the ICTCP
    /// kernel module of the SING group.
    #[serde(default = "fifth")]
    pub(crate) beta: f64,
    /// Number of consecutive round trips in which too much of a window is unused, after which the window shrinks. Default 3; the ICTCP
    /// kernel module of the SING group uses 1.
    #[serde(default = "three")]
    pub(crate) decrease_after: u32,
    /// Share of the link's rate. While the unused bandwidth is below this share, windows above the average shrink. Default 0.2.
    #[serde(default = "fifth")]
    pub(crate) fairness: f64,
    /// Round-trip time above which the window of a connection is not controlled. Default `"2ms"`.
    #[serde(default = "two_milliseconds")]
    pub(crate) rtt_limit: Time,
    /// Initial and smallest window of a connection. Default 2 segments.
    #[serde(default = "two_segments")]
    pub(crate) minimum: Window,
}

/// Rules by which a receiver delays acknowledgements of data that arrives in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DelayedAck {
    /// Maximum number of segments per acknowledgement; 1 means that each segment is acknowledged at once. Default 2 (RFC 5681 §4.2).
    #[serde(default = "two")]
    pub(crate) segments: u32,
    /// Definition of a segment for the count in `segments`. Default `"arrivals"`.
    #[serde(default)]
    pub(crate) counts: AckCounts,
    /// Number of segments at the start of a connection that are acknowledged at once. Default 0; Linux uses 16 (`TCP_MAX_QUICKACKS`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) quick: u32,
    /// Whether a segment with CWR is acknowledged at once, because the sender's window may be small (Linux, `tcp_ecn_accept_cwr`). Default
    /// `false`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) cwr_at_once: bool,
    /// Longest delay of an acknowledgement. Default `"40ms"`, as in Linux.
    #[serde(default = "forty_milliseconds")]
    pub(crate) timeout: Time,
}

impl Default for Receiver {
    fn default() -> Self {
        Self::Fixed(FixedWindow {})
    }
}

impl Default for DelayedAck {
    fn default() -> Self {
        Self {
            segments: two(),
            counts: AckCounts::default(),
            quick: 0,
            cwr_at_once: false,
            timeout: forty_milliseconds(),
        }
    }
}

fn two() -> u32 {
    2
}

fn nine_tenths() -> f64 {
    0.9
}

fn half() -> f64 {
    0.5
}

fn fifth() -> f64 {
    0.2
}

fn tenth() -> f64 {
    0.1
}

fn two_segments() -> Window {
    Window::Segments(2)
}

fn two_milliseconds() -> Time {
    Time(Duration::from_millis(2))
}

fn forty_milliseconds() -> Time {
    Time(Duration::from_millis(40))
}

fn three() -> u32 {
    3
}
