//! Offloads of a NIC.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Automatic, Time};

/// Whether connections spread what they send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pacing {
    /// A connection sends what its window allows.
    #[default]
    Off,
    /// A burst waits until the pacing rate has sent the one before, as under Linux' `sch_fq`: 2 · cwnd / SRTT early in slow
    /// start, then 1.2 · cwnd / SRTT; the first ten segments wait for nothing.
    Fq,
}

/// Packets that have arrived wait for others before the host hears of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Coalescing {
    /// At most so long after the first that waits (`rx-usecs`). `"auto"`: the NIC adapts time and packets to what arrives, between
    /// 2 us with 256 packets and 64 us with 64, as Linux' dynamic interrupt moderation does (`adaptive-rx`).
    pub(crate) time: Automatic<Time>,
    /// Until so many are there (`rx-frames`). Default: only the time counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) packets: Option<u32>,
    /// Segments of a connection that follow each other are handed up as one, of at most 64 KB (GRO), which is acknowledged as one;
    /// other ECN bits begin another. Default true.
    #[serde(default = "yes")]
    pub(crate) gro: bool,
    /// Among so many queues a hash of the five-tuple spreads what arrives (RSS), and each waits for itself. Default 1; NICs have as
    /// many as their host has processors.
    #[serde(default = "one")]
    pub(crate) queues: u32,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}
