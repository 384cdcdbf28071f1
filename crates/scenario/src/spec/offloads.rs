//! `[host.nic]`: pacing and interrupt coalescing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Automatic, Time};

/// Pacing of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pacing {
    /// No pacing: a connection sends as much as its window allows.
    #[default]
    Off,
    /// Pacing as in Linux' `sch_fq`: a burst leaves when the pacing rate has sent the previous burst. The rate is 2 · cwnd / SRTT early in
    /// slow start, then 1.2 · cwnd / SRTT; the first ten segments do not wait.
    Fq,
}

/// Interrupt coalescing: the NIC collects arriving packets, and the host receives them together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Coalescing {
    /// Longest wait after the first waiting packet (`rx-usecs`). `"auto"`: the NIC adapts time and packets to the arrivals, between 2 us
    /// with 256 packets and 64 us with 64, like Linux' dynamic interrupt moderation (`adaptive-rx`).
    pub(crate) time: Automatic<Time>,
    /// Number of packets that ends the wait (`rx-frames`). Default: only the time ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) packets: Option<u32>,
    /// Merging of consecutive segments of a connection into one of at most 64 KB (GRO), which is acknowledged as one. A segment with
    /// different ECN bits is not merged with the segment before it. Default true.
    #[serde(default = "yes")]
    pub(crate) gro: bool,
    /// Number of receive queues, each with its own wait. A hash of the five-tuple spreads arrivals over them (RSS). Default 1; NICs usually
    /// have one for each processor of the host.
    #[serde(default = "one")]
    pub(crate) queues: u32,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}
