//! Configuration of a workload of queries, and its agenda.

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
    /// Its index among the workloads that send flows.
    pub(crate) workload: u16,
    /// In ascending order, as all hosts here.
    pub(crate) clients: Vec<HostId>,
    /// Whether each query draws its client, and all have one process of arrivals in common.
    pub(crate) drawn: bool,
    pub(crate) workers: Vec<HostId>,
    /// Workers of each query; none for all that there are.
    pub(crate) fan_out: Option<usize>,
    /// Zero for no requests at all.
    pub(crate) request: Bytes,
    /// Whether answers go on the connections of their requests.
    pub(crate) shared: bool,
    pub(crate) response: Response,
    pub(crate) aggregators: Option<Aggregators>,
    pub(crate) iterations: u16,
    /// Less than any deadline.
    pub(crate) jitter: Duration,
    pub(crate) deadline: Option<Duration>,
    pub(crate) arrivals: Arrivals,
    /// Number of queries of each arrival process, if bounded.
    pub(crate) queries: Option<u64>,
    pub(crate) start: Instant,
    /// Later than this none is asked.
    pub(crate) end: Instant,
}

/// Size of a worker's answer.
#[derive(Clone, Debug)]
pub(crate) enum Response {
    /// So much.
    Each(Bytes),
    /// An equal part of this, rounded up.
    Total(Bytes),
    /// A size drawn from this distribution.
    Drawn(Arc<Sizes>),
}

/// Hosts between client and workers.
#[derive(Clone, Debug)]
pub(crate) struct Aggregators {
    pub(crate) hosts: Vec<HostId>,
    pub(crate) count: usize,
    pub(crate) size: Bytes,
    pub(crate) deadline: Option<Duration>,
}

/// When a process asks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arrivals {
    /// At exponential intervals of this mean.
    Poisson(Duration),
    /// At intervals of this length.
    Periodic(Duration),
    /// This long after the end of its last query.
    ClosedLoop(Duration),
}

/// Something that is to happen. At equal times, all that decides comes before flows start, so that these start in the order of
/// their legs, whatever brought them about first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    /// A process asks.
    Ask { process: u32 },
    /// Someone has waited long enough.
    Expire(RoundName),
    /// A flow starts.
    Send(Leg),
}

/// A round of questions: the query, which time, and who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RoundName {
    pub(super) query: u32,
    pub(super) iteration: u16,
    pub(super) asker: Asker,
}

/// Future actions, in order of time.
pub(super) type Agenda = BTreeSet<(Instant, Action)>;

/// Sender of requests: the client, or an aggregator by its place among the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asker {
    Client,
    Aggregator(u32),
}
