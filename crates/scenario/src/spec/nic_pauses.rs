//! Hosts that pause their switch: receive buffers of slow hosts, and PFC storms.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Duration;

use crate::quantity::{Automatic, Size, Speed, Time};

/// Receive buffer of a NIC, from which the host reads packets in order at a limited rate. The NIC pauses all lossless classes of its switch
/// before the buffer is full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Receive {
    /// Rate at which the host reads packets.
    pub(crate) rate: Speed,
    /// Size of the buffer.
    pub(crate) buffer: Size,
    /// Backlog above which the NIC pauses its switch. Default `"auto"`: the size of the buffer less the bytes that can arrive after the
    /// pause.
    #[serde(default)]
    pub(crate) xoff: Automatic<Size>,
    /// Backlog at which the NIC resumes its switch. Default `"auto"`: one of the largest packets below `xoff`, as in the mlx5 driver of
    /// Linux.
    #[serde(default)]
    pub(crate) xon: Automatic<Size>,
}

/// PFC storm: a faulty NIC pauses its switch and repeats the pause, regardless of the packets that arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PfcStorm {
    /// Start of the storm. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// End of the storm. Default: it never ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Time>,
    /// Lossless classes that the NIC pauses. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) classes: Option<Vec<u8>>,
}

fn no_time() -> Time {
    Time(Duration::ZERO)
}
