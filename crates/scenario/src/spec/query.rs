//! `[[workload]]` of requests and responses: queries to many hosts, and blocks split over many servers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Duration};
use toml::Table;

use super::Tcp;
use super::omitted::is_default;
use super::roce::{Roce, Transport};
use super::workload::{Class, Connections, Sizes};
use crate::hosts::HostSet;
use crate::quantity::{Size, Time};
use crate::tagged::tagged;

/// Queries in the partition/aggregate pattern (DCTCP, SIGCOMM '10, §2.1): a client sends requests to workers, directly or through
/// aggregators, and gathers their responses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartitionAggregate {
    /// Hosts that send queries.
    pub(crate) clients: HostSet,
    /// Whether each client sends queries of its own, or one client is drawn for each query. Default `"each"`.
    #[serde(default)]
    pub(crate) asking: Asking,
    /// Hosts that respond to queries. A host sends no request to itself. Default `"all"`.
    #[serde(default)]
    pub(crate) workers: HostSet,
    /// Number of workers of a query; each query draws its workers anew. Default: all workers except the client and the aggregators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fan_out: Option<u32>,
    /// Size of a request. `"0B"`: no request is sent, and all workers respond at once. Default `"1.6KB"` (DCTCP §2.2).
    #[serde(default = "request")]
    pub(crate) request: Size,
    /// Size of each response. Set exactly one of `size`, `total` and `sizes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<Size>,
    /// Total size of all responses to a query. Each response is an equal part, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<Size>,
    /// Distribution from which the size of each response is drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sizes: Option<Sizes>,
    /// Hosts between client and workers. Each aggregator sends requests to an equal part of the workers. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) aggregators: Option<Aggregators>,
    /// Number of rounds of a query, all with the same workers. DCTCP §2.1 reports 1 to 4, and up to 20. Default 1.
    #[serde(default = "one_iteration")]
    pub(crate) iterations: u16,
    /// Maximum random delay of each request; delays are distributed uniformly. Without requests, each response is delayed instead. Default
    /// `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) jitter: Time,
    /// Time for which a client waits in each round. Later responses are received but not counted. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deadline: Option<Time>,
    /// Rule for the times at which queries start.
    pub(crate) arrivals: Arrivals,
    /// Number of queries of each client; with `asking = "drawn"`, of all clients together. Default: as many as start before `stop.at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queries: Option<u64>,
    /// Earliest time at which a query starts. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// Whether each flow opens a new connection or uses a pool of open ones. Default `"new"`.
    #[serde(default)]
    pub(crate) connections: Connections,
    /// Whether a response uses its own connection or that of its request. Default `"own-connection"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) answers: Answers,
    /// Class of service (DSCP): a number from 0 to 63, or a rule. All flows of a query have the same class. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
    /// Settings of this workload's connections. They take precedence over `[tcp]` and over the `tcp` tables of host groups. A workload
    /// cannot set keys that apply to all connections of a host: `timestamps`, `receive_window`, `receiver`, `ack_class`, and selective
    /// acknowledgements. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
    /// Transport of the workload's flows. Default `"tcp"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) transport: Transport,
    /// Settings of this workload's queue pairs. They take precedence over `[roce]`. Only with `transport = "roce"`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Roce>")]
    pub(crate) roce: Option<Table>,
}

/// Choice of the client that sends a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Asking {
    /// Each client sends queries, at its own times.
    #[default]
    Each,
    /// Each query draws its client. All clients share one sequence of query times.
    Drawn,
}

/// Connection that a response uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answers {
    /// The response has its own connection, so that each connection carries data in one direction only.
    #[default]
    OwnConnection,
    /// The response uses the connection of its request. The response also acknowledges the request, and the connection carries the next
    /// request only after the response.
    SameConnection,
}

/// Hosts between the client of a query and its workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Aggregators {
    /// Number of aggregators of a query; each query draws them anew.
    pub(crate) count: u32,
    /// Hosts from which aggregators are drawn. A query's client is never an aggregator, and an aggregator is not a worker of the same
    /// query. Default `"all"`.
    #[serde(default)]
    pub(crate) hosts: HostSet,
    /// Size of the response that an aggregator sends to the client once its workers have responded.
    pub(crate) size: Size,
    /// Time for which an aggregator waits for its workers after it has received its request. After this time, it responds without the
    /// missing responses. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deadline: Option<Time>,
}

tagged! {
    /// Rule for the times at which queries start.
    Arrivals, "arrivals" {
        /// Queries start at random, independent times.
        "poisson" => Poisson(PoissonArrivals),
        /// Queries start at equal intervals.
        "periodic" => Periodic(PeriodicArrivals),
        /// Each query starts after the end of the previous one.
        "closed-loop" => ClosedLoop(ClosedLoop),
    }
}

/// Random, independent start times of queries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PoissonArrivals {
    /// Mean time from the start of a query to the start of the next.
    pub(crate) mean: Time,
}

/// Equal intervals between the starts of queries, even if the previous query is not complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PeriodicArrivals {
    /// Time from the start of a query to the start of the next.
    pub(crate) period: Time,
}

/// Each query starts after the end of the previous one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClosedLoop {
    /// Time from the end of a query to the start of the next. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) think_time: Time,
}

/// Blocks whose equal parts are on several servers. A client fetches all parts of a block at once, and fetches the next block when the last
/// part is complete. This is the incast of storage systems (Vasudevan et al., SIGCOMM '09) and of DCTCP (SIGCOMM '10) §4.2.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlockTransfer {
    /// Hosts that fetch blocks. Each fetches independently of the others.
    pub(crate) clients: HostSet,
    /// Hosts that hold the blocks. A host sends no request to itself. Default `"all"`.
    #[serde(default)]
    pub(crate) servers: HostSet,
    /// Number of servers that hold the parts of a block; each block draws its servers anew. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fan_out: Option<u32>,
    /// Size of a block. The size of a part is rounded up.
    pub(crate) block: Size,
    /// Size of the request to each server. `"0B"` (default): no request is sent, and all servers send their parts at once, as in HCF's
    /// simulations.
    #[serde(default = "no_bytes")]
    pub(crate) request: Size,
    /// Number of blocks that each client fetches. Default 1.
    #[serde(default = "one_block")]
    pub(crate) repeats: u32,
    /// Time from the arrival of a block's last part to the request for the next block. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) think_time: Time,
    /// Maximum random delay of each request; delays are distributed uniformly. Without requests, each part is delayed instead. Default
    /// `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) jitter: Time,
    /// Time at which the first block is fetched. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) start: Time,
    /// Whether each flow opens a new connection or uses a pool of open ones. Default `"new"`.
    #[serde(default)]
    pub(crate) connections: Connections,
    /// Whether a response uses its own connection or that of its request. Default `"own-connection"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) answers: Answers,
    /// Class of service (DSCP): a number from 0 to 63, or a rule. All flows of a block have the same class. Default 0.
    #[serde(default)]
    pub(crate) class: Class,
    /// Settings of this workload's connections. They take precedence over `[tcp]` and over the `tcp` tables of host groups. A workload
    /// cannot set keys that apply to all connections of a host: `timestamps`, `receive_window`, `receiver`, `ack_class`, and selective
    /// acknowledgements. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Tcp>")]
    pub(crate) tcp: Option<Table>,
    /// Transport of the workload's flows. Default `"tcp"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) transport: Transport,
    /// Settings of this workload's queue pairs. They take precedence over `[roce]`. Only with `transport = "roce"`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Roce>")]
    pub(crate) roce: Option<Table>,
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
