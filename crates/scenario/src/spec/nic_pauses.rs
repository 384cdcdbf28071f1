//! Hosts that pause their switch: receive buffers of slow hosts, PFC storms, and watchdogs of NICs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Duration;

use crate::quantity::{Automatic, PacketRate, Size, Speed, Time};

/// Receive buffer of a NIC, from which the host reads packets in order at a limited rate. The NIC pauses all lossless classes of its switch
/// before the buffer is full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Receive {
    /// Rate at which the host reads the bytes of packets. Default: no limit; `rate`, `packet_rate` or both are required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<Speed>,
    /// Largest number of packets that the host reads per second, acknowledgements included. For each packet, this limit or `rate` applies,
    /// whichever takes longer. Default: no limit; `rate`, `packet_rate` or both are required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) packet_rate: Option<PacketRate>,
    /// Size of the buffer.
    pub(crate) buffer: Size,
    /// Backlog of the receive buffer above which the NIC pauses its switch. Default `"auto"`: the size of the buffer less the bytes that
    /// can arrive after the pause.
    #[serde(default)]
    pub(crate) xoff: Automatic<Size>,
    /// Backlog of the receive buffer at which the NIC resumes its switch. Default `"auto"`: `xoff` less the size of the largest packet, as
    /// in the mlx5 driver of Linux.
    #[serde(default)]
    pub(crate) xon: Automatic<Size>,
}

/// PFC storm: a faulty NIC pauses its switch and repeats the pause, regardless of the packets that arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PfcStorm {
    /// Start of the PFC storm. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// End of the PFC storm. Default: it never ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stop: Option<Time>,
    /// Lossless classes that the NIC pauses. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) classes: Option<Vec<u8>>,
}

/// PFC watchdog of a NIC: if the NIC has paused its switch for the detection time without a break, it stops sending pauses, and drops
/// packets when its receive buffer is full. A congested receive buffer and a PFC storm are reasons for a pause. After a restoration time
/// without a reason, the NIC may pause its switch again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NicWatchdog {
    /// Time of an unbroken pause after which the NIC stops sending pauses. Default `"100ms"`, as in the mlx5 driver of Linux with the
    /// automatic `pfc-prevention-tout`.
    #[serde(default = "tenth")]
    pub(crate) detection: Time,
    /// Time for which the NIC must have had no reason to pause before it may send pauses again. Default `"100ms"`.
    #[serde(default = "tenth")]
    pub(crate) restoration: Time,
    /// Time between two polls of the watchdog, no longer than `detection` and `restoration`. Default `"10ms"`.
    #[serde(default = "hundredth")]
    pub(crate) poll: Time,
}

fn no_time() -> Time {
    Time(Duration::ZERO)
}

fn tenth() -> Time {
    Time(Duration::from_millis(100))
}

fn hundredth() -> Time {
    Time(Duration::from_millis(10))
}
