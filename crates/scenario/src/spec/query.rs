//! `[[workload]]` of requests and answers: queries that many hosts answer, and blocks that many servers hold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Duration};
use toml::Table;

use super::Tcp;
use super::omitted::is_default;
use super::workload::{Class, Connections, Sizes};
use crate::hosts::HostSet;
use crate::quantity::{Size, Time};
use crate::tagged::tagged;

/// Queries in the partition/aggregate pattern (DCTCP, SIGCOMM '10, §2.1): a client asks workers, directly or through
/// aggregators, and gathers their answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartitionAggregate {
    /// Hosts that ask.
    pub(crate) clients: HostSet,
    /// Clients that send queries. Default `"each"`.
    #[serde(default)]
    pub(crate) asking: Asking,
    /// Hosts that answer. Default `"all"`; nobody asks itself.
    #[serde(default)]
    pub(crate) workers: HostSet,
    /// How many workers a query has, drawn anew for each. Default: all but its client and its aggregators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fan_out: Option<u32>,
    /// Size of a request. Default `"1.6KB"` (DCTCP §2.2); `"0B"`: none is sent, and everyone answers unasked.
    #[serde(default = "request")]
    pub(crate) request: Size,
    /// Size of each worker's answer. Exactly one of `size`, `total` and `sizes` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<Size>,
    /// Size of all answers of a query together, in equal parts, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<Size>,
    /// A distribution from which each answer draws its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sizes: Option<Sizes>,
    /// Hosts between client and workers, each of which asks an equal part of the workers. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) aggregators: Option<Aggregators>,
    /// How many times in a row a query asks the same workers; DCTCP §2.1 speaks of 1 to 4, and up to 20. Default 1.
    #[serde(default = "one_iteration")]
    pub(crate) iterations: u16,
    /// Each request leaves up to this much later, uniformly; without requests, each answer. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) jitter: Time,
    /// How long a client waits in each iteration; what comes later is received and not counted. Default: for everyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deadline: Option<Time>,
    /// When queries are asked.
    pub(crate) arrivals: Arrivals,
    /// How many each client asks, or all together with `asking = "drawn"`. Default: as many as there are before
    /// `stop.at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queries: Option<u64>,
    /// When asking begins. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// How flows use connections. Default `"new"`.
    #[serde(default)]
    pub(crate) connections: Connections,
    /// On which connections answers go. Default `"own-connection"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) answers: Answers,
    /// Class of service of its flows: a number (DSCP), or a rule; all flows of a query draw one. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
    /// Keys in which its connections differ from what `[tcp]` and the groups of its hosts say, as a group differs from `[tcp]`. Not those
    /// that a host has once: `timestamps`, `receive_window`, `receiver`, `ack_class`, selective acknowledgements. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
}

/// Clients that send queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Asking {
    /// Each of them, with arrivals of its own.
    #[default]
    Each,
    /// One, drawn anew for each query; they have their arrivals in common.
    Drawn,
}

/// On which connections answers go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answers {
    /// On others than their requests: each connection carries data one way.
    #[default]
    OwnConnection,
    /// On that of their request, whose acknowledgement they carry; the connection takes its next request when the answer is there.
    SameConnection,
}

/// Hosts between the client of a query and its workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Aggregators {
    /// How many a query has, drawn anew for each.
    pub(crate) count: u32,
    /// Hosts from which they are drawn. Default `"all"`; never the client, and no aggregator is a worker of its query.
    #[serde(default)]
    pub(crate) hosts: HostSet,
    /// Size of the answer that each aggregator sends to the client when it has its answers.
    pub(crate) size: Size,
    /// How long it waits for them, from the request on; then it answers with what it has. Default: for everyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deadline: Option<Time>,
}

tagged! {
    /// When queries are asked.
    Arrivals, "arrivals" {
        /// At random times.
        "poisson" => Poisson(PoissonArrivals),
        /// At equal intervals.
        "periodic" => Periodic(PeriodicArrivals),
        /// Each after the end of the last.
        "closed-loop" => ClosedLoop(ClosedLoop),
    }
}

/// At random times that do not depend on each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PoissonArrivals {
    /// Mean time from one query to the next.
    pub(crate) mean: Time,
}

/// At equal intervals, whether or not the last query is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PeriodicArrivals {
    /// From one query to the next.
    pub(crate) period: Time,
}

/// Each after the end of the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClosedLoop {
    /// From the end of a query to the next. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) think_time: Time,
}

/// Blocks that lie in equal parts on several servers. A client fetches all parts at once, and the next block when it has
/// the last one whole: the incast of storage (Vasudevan et al., SIGCOMM '09) and of DCTCP (SIGCOMM '10) §4.2.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlockTransfer {
    /// Hosts that fetch, each on its own.
    pub(crate) clients: HostSet,
    /// Hosts that hold the blocks. Default `"all"`; nobody asks itself.
    #[serde(default)]
    pub(crate) servers: HostSet,
    /// Over how many servers a block is split, drawn anew for each. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fan_out: Option<u32>,
    /// Size of a block; its parts are rounded up.
    pub(crate) block: Size,
    /// Size of the request to each server. Default `"0B"`: none is sent, and all servers start at once, as in HCF's
    /// simulations.
    #[serde(default = "no_bytes")]
    pub(crate) request: Size,
    /// How many blocks each client fetches. Default 1.
    #[serde(default = "one_block")]
    pub(crate) repeats: u32,
    /// From the end of a block to the next. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) think_time: Time,
    /// Each request leaves up to this much later, uniformly; without requests, each part. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) jitter: Time,
    /// When the first block is fetched. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// How flows use connections. Default `"new"`.
    #[serde(default)]
    pub(crate) connections: Connections,
    /// On which connections answers go. Default `"own-connection"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) answers: Answers,
    /// Class of service of its flows: a number (DSCP), or a rule; all flows of a block draw one. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
    /// Keys in which its connections differ from what `[tcp]` and the groups of its hosts say, as a group differs from `[tcp]`. Not those
    /// that a host has once: `timestamps`, `receive_window`, `receiver`, `ack_class`, selective acknowledgements. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
}

fn request() -> Size {
    Size(Bytes(1_600))
}

fn no_bytes() -> Size {
    Size(Bytes(0))
}

fn one_iteration() -> u16 {
    1
}

fn one_block() -> u32 {
    1
}

fn no_time() -> Time {
    Time(Duration::ZERO)
}
