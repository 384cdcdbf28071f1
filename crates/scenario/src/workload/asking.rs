//! Configuration of a workload of queries, and the actions that the workload schedules.

use std::collections::BTreeSet;
use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration, Instant};

use super::distribution::Sizes;
use super::interface::Leg;

/// Configuration of a workload of queries.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) seed: u64,
    /// Index of this workload among the workloads that send flows.
    pub(crate) workload: u16,
    /// Clients in ascending order. All lists of hosts in this module are in ascending order.
    pub(crate) clients: Vec<HostId>,
    /// Whether each query draws its client at random. If so, all clients share one arrival process.
    pub(crate) drawn: bool,
    pub(crate) workers: Vec<HostId>,
    /// Number of workers of each query; `None` if every available host is a worker.
    pub(crate) fan_out: Option<usize>,
    /// Size of a request; zero for no requests.
    pub(crate) request: Bytes,
    /// Whether responses use the connections of their requests.
    pub(crate) shared: bool,
    pub(crate) response: Response,
    pub(crate) aggregators: Option<Aggregators>,
    pub(crate) iterations: u16,
    /// Maximum random delay of a request; less than every deadline.
    pub(crate) jitter: Duration,
    pub(crate) deadline: Option<Duration>,
    pub(crate) arrivals: Arrivals,
    /// Maximum number of queries that each arrival process starts; `None` for no limit.
    pub(crate) queries: Option<u64>,
    pub(crate) start: Instant,
    /// Time after which no query starts.
    pub(crate) end: Instant,
}

/// Size of a worker's response.
#[derive(Clone, Debug)]
pub(crate) enum Response {
    /// The same size for each response.
    Each(Bytes),
    /// Total size of all responses to a query. Each response is an equal part, rounded up.
    Total(Bytes),
    /// A size that each response draws from a distribution.
    Drawn(Arc<Sizes>),
}

/// Configuration of the aggregators between client and workers.
#[derive(Clone, Debug)]
pub(crate) struct Aggregators {
    pub(crate) hosts: Vec<HostId>,
    pub(crate) count: usize,
    pub(crate) size: Bytes,
    pub(crate) deadline: Option<Duration>,
}

/// Rule for the times at which an arrival process starts queries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arrivals {
    /// Exponentially distributed intervals with this mean.
    Poisson(Duration),
    /// Intervals of this length.
    Periodic(Duration),
    /// A pause of this length after the end of the previous query.
    ClosedLoop(Duration),
}

/// Scheduled action. Actions at equal times run in the order of this enum: flows start after all other actions, in the order of their
/// [`Leg`]s. The order in which actions were scheduled has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    /// Start of a query by an arrival process.
    Ask { process: u32 },
    /// Expiry of the deadline of a round of requests.
    Expire(RoundName),
    /// Start of a flow.
    Send(Leg),
}

/// Key of a round of requests: the query, the iteration, and the requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RoundName {
    pub(super) query: u32,
    pub(super) iteration: u16,
    pub(super) asker: Asker,
}

/// Scheduled actions in order of time.
pub(super) type Agenda = BTreeSet<(Instant, Action)>;

/// Sender of a round's requests: the client, or an aggregator, given by its index among the members of the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asker {
    Client,
    Aggregator(u32),
}
