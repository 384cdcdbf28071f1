//! `[switch.lossless]`: classes whose senders are paused before packets are dropped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;
use shallows_switch::ingress::Compares;

use crate::quantity::{Automatic, Size, Time};

/// Lossless classes: priority flow control (PFC) pauses the sender of a link before a switch must drop a packet of the class. Every port
/// counts the packets of each class that arrive at it; each count is a priority group. A group takes reserved memory first, then the shared
/// memory of the switch up to its limit, then headroom. At its limit it pauses the other end of the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lossless {
    /// Lossless classes of service (DSCP), from 0 to 7. A class has the PFC priority of the same number. All other classes are lossy.
    pub(crate) classes: Vec<u8>,
    /// Limit on the shared memory that a group uses: alpha times the free shared memory. A power of two from 1/128 to 8, as on chips
    /// (SONiC: `dynamic_th` is its exponent). Default 1, unless `limit` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) alpha: Option<f64>,
    /// Fixed limit on the shared memory that a group uses (SONiC: `static_th`), instead of `alpha`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<Size>,
    /// State that is compared with the limit of a group: `"with"` the arriving packet (default), as on Trident 3, Tomahawk 3 and Tomahawk 5,
    /// or `"before"` it, as on Trident 2, Tomahawk and Tomahawk 2.
    #[serde(default)]
    pub(crate) compares: Compares,
    /// Reserved memory of each lossless group (SONiC: `size`), used first. Default `"0B"`.
    #[serde(default = "nothing")]
    pub(crate) reserved: Size,
    /// Headroom of each lossless group (SONiC: `xoff`): memory for the packets that arrive after the pause. `"auto"` (default) computes it
    /// from the rate and delay of the link, the largest packet and the response time.
    #[serde(default)]
    pub(crate) headroom: Automatic<Size>,
    /// Size of a pool of headroom that all groups of a switch share. `headroom` is then the most that one group may take from the pool, and
    /// loss is possible if too many groups pause at once. Default: every group has its own headroom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) headroom_pool: Option<Size>,
    /// Amount of shared memory: a paused group that uses at most this amount may be resumed regardless of its limit. Default `"0B"`.
    #[serde(default = "nothing")]
    pub(crate) xon: Size,
    /// Distance below the limit at which a paused group is resumed. Default `"auto"`: two of the largest packets.
    #[serde(default)]
    pub(crate) xon_offset: Automatic<Size>,
    /// Time from the arrival of a PFC frame to its effect at hosts and switches. Default `"auto"`: the largest that IEEE 802.3 allows at
    /// the rate of the link.
    #[serde(default)]
    pub(crate) response: Automatic<Time>,
    /// Pause time in a PFC frame, in quanta of 512 bit times, at least 2. A pause is repeated after half of its time. Default 65535.
    #[serde(default = "longest")]
    pub(crate) quanta: u16,
}

fn nothing() -> Size {
    Size(Bytes(0))
}

fn longest() -> u16 {
    u16::MAX
}
