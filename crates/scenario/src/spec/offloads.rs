//! `[host.nic]`: pacing and interrupt coalescing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Automatic, Time};

/// Whether and how connections pace their packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pacing {
    /// No pacing: a connection sends as much as its window allows.
    #[default]
    Off,
    /// Pacing as in Linux' `sch_fq`: a burst leaves once the pacing rate has had time to send the previous burst. The rate is 2 · cwnd /
    /// SRTT early in slow start, and 1.2 · cwnd / SRTT afterwards. The first ten segments do not wait.
    Fq,
}

/// Interrupt coalescing: the NIC collects arriving packets and passes them to the host together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Coalescing {
    /// Longest wait after the arrival of the first packet (`rx-usecs`). `"auto"`: the NIC adapts this time and `packets` to the arrivals,
    /// from 2 us with 256 packets to 64 us with 64 packets, like Linux' dynamic interrupt moderation (`adaptive-rx`).
    pub(crate) time: Automatic<Time>,
    /// Number of collected packets that ends the wait early (`rx-frames`). Default: only the time ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) packets: Option<u32>,
    /// Whether consecutive segments of a connection are merged into one segment of at most 64 KB (GRO), which is acknowledged as one
    /// segment. A segment whose ECN bits differ is not merged with the segment before it. Default true.
    #[serde(default = "yes")]
    pub(crate) gro: bool,
    /// Number of receive queues. Each queue collects packets separately, and a hash of the five-tuple chooses the queue of a packet (RSS).
    /// Default 1; real NICs usually have one queue for each processor of the host.
    #[serde(default = "one")]
    pub(crate) queues: u32,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}
