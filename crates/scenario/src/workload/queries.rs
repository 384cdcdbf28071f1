//! Queries that are asked at random times, at equal intervals or one after the other; and what becomes of them.
//!
//! Clients, workers, delays and sizes of a query are drawn from a root of its own, so that the *k*-th query of a client is
//! the same under every scheme, whenever its turn comes.

use std::collections::BTreeMap;
use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant};

use super::distribution::Sizes;
use super::query::{Asker, Leg, Query, QueryRecord};
use super::{Flow, Next, Workload};

/// What a workload of queries is made of.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) seed: u64,
    /// Its place among the workloads that send flows.
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
    pub(crate) response: Response,
    pub(crate) aggregators: Option<Aggregators>,
    pub(crate) iterations: u16,
    /// Less than any deadline.
    pub(crate) jitter: Duration,
    pub(crate) deadline: Option<Duration>,
    pub(crate) arrivals: Arrivals,
    /// Of each process of arrivals, if that is bounded.
    pub(crate) queries: Option<u64>,
    pub(crate) start: Instant,
    /// Later than this none is asked.
    pub(crate) end: Instant,
}

/// What a worker answers.
#[derive(Clone, Debug)]
pub(crate) enum Response {
    /// So much.
    Each(Bytes),
    /// An equal part of this, rounded up.
    Total(Bytes),
    /// What it draws.
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

/// Something that is to happen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// A process asks.
    Ask { process: u32 },
    /// A flow starts.
    Send(Leg),
    /// Someone has waited long enough.
    Expire { query: u32, iteration: u16, asker: Asker },
}

/// When something is to happen; equal times in the order in which it was planned.
pub(super) type Alarm = (Instant, u64);

/// What is to happen, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Agenda {
    entries: BTreeMap<Alarm, Action>,
    planned: u64,
}

impl Agenda {
    pub(super) fn add(&mut self, at: Instant, action: Action) -> Alarm {
        let alarm = (at, self.planned);
        self.planned += 1;
        self.entries.insert(alarm, action);
        alarm
    }

    pub(super) fn cancel(&mut self, alarm: Alarm) {
        self.entries.remove(&alarm);
    }
}

/// Who asks one query after the other: a client, or all together.
#[derive(Clone, Debug)]
struct Process {
    /// None where each query draws it.
    client: Option<HostId>,
    asked: u64,
    clock: Instant,
    arrivals: Stream,
    /// Roots of its queries.
    roots: Stream,
}

/// Queries and their flows.
#[derive(Clone, Debug)]
pub(crate) struct Queries {
    config: Arc<Config>,
    processes: Vec<Process>,
    agenda: Agenda,
    /// Those of which something is under way.
    active: BTreeMap<u32, Query>,
    records: Vec<QueryRecord>,
    expected_flows: Option<u64>,
}

impl Queries {
    /// Queries from `config.start` on; every client has as many workers and aggregators as it needs.
    pub(crate) fn new(config: Config) -> Self {
        let clients: Vec<Option<HostId>> =
            if config.drawn { vec![None] } else { config.clients.iter().copied().map(Some).collect() };
        let process = |(index, client)| {
            let entity = u64::from(config.workload) << 32 | index as u64;
            let stream = |purpose| Stream::new(config.seed, purpose, entity);
            Process {
                client,
                asked: 0,
                clock: config.start,
                arrivals: stream("query arrivals"),
                roots: stream("queries"),
            }
        };
        let processes = clients.into_iter().enumerate().map(process).collect();
        let mut queries = Self {
            expected_flows: config.expected_flows(),
            config: Arc::new(config),
            processes,
            agenda: Agenda::default(),
            active: BTreeMap::new(),
            records: Vec::new(),
        };
        for process in 0..queries.processes.len() as u32 {
            queries.plan_first(process);
        }
        queries
    }

    pub(crate) fn begin(&self) -> Instant {
        self.config.start
    }

    fn plan_first(&mut self, process: u32) {
        match self.config.arrivals {
            Arrivals::Poisson(_) => self.plan_next(process),
            Arrivals::Periodic(_) | Arrivals::ClosedLoop(_) => self.plan(process, self.config.start),
        }
    }

    /// The next query of a process whose times do not depend on those before.
    fn plan_next(&mut self, process: u32) {
        let Process { arrivals, clock, .. } = &mut self.processes[process as usize];
        let gap = match self.config.arrivals {
            Arrivals::Poisson(mean) => Duration((arrivals.exponential() * mean.0 as f64).round() as u64),
            Arrivals::Periodic(period) => period,
            Arrivals::ClosedLoop(_) => return,
        };
        let at = Instant(clock.0.saturating_add(gap.0));
        self.plan(process, at);
    }

    fn plan(&mut self, process: u32, at: Instant) {
        let Process { asked, clock, .. } = &mut self.processes[process as usize];
        if at <= self.config.end && self.config.queries.is_none_or(|queries| *asked < queries) {
            *clock = at;
            self.agenda.add(at, Action::Ask { process });
        }
    }

    fn ask(&mut self, process: u32, at: Instant) {
        let asking = &mut self.processes[process as usize];
        asking.asked += 1;
        let seed = asking.roots.next_u64();
        let config = Arc::clone(&self.config);
        let (client, aggregators, workers) = config.draw(asking.client, seed);
        let number = self.records.len() as u32;
        let mut query = Query::new(number, process, seed, client, &aggregators, &workers);
        self.records.push(QueryRecord {
            client,
            start: at,
            completed_at: None,
            responses: query.workers() * u32::from(config.iterations),
            in_time: 0,
            bytes: Bytes(0),
        });
        query.begin(at, &config, &mut self.agenda);
        self.active.insert(number, query);
        self.plan_next(process);
    }

    /// Let something happen to a query, and book what comes of it.
    fn change(&mut self, number: u32, now: Instant, happen: impl FnOnce(&mut Query, &Config, &mut Agenda)) {
        let query = self.active.get_mut(&number).expect("what happens to a query happens while it is active");
        let was_done = query.is_done();
        happen(query, &self.config, &mut self.agenda);
        let record = &mut self.records[number as usize];
        (record.in_time, record.bytes) = query.gathered();
        let (process, is_done, is_gone) = (query.process, query.is_done(), query.is_gone());
        if is_gone {
            self.active.remove(&number);
        }
        if is_done && !was_done {
            record.completed_at = Some(now);
            if let Arrivals::ClosedLoop(think_time) = self.config.arrivals {
                self.plan(process, now + think_time);
            }
        }
    }

    /// Queries and the answers of their workers. How soon one follows another that must end first is not known before.
    pub(super) fn arrivals(&self, end: Option<Instant>) -> super::Arrivals {
        let config = &self.config;
        let each = match (config.arrivals, end) {
            (Arrivals::Poisson(gap) | Arrivals::Periodic(gap), _) => {
                super::times(config.start, end, gap.0 as f64, config.queries)
            }
            (Arrivals::ClosedLoop(_), None) => config.queries.unwrap_or(0) as f64,
            (Arrivals::ClosedLoop(_), Some(_)) => 0.0,
        };
        let queries = each * if config.drawn { 1.0 } else { config.clients.len() as f64 };
        // All others are asked where none are drawn, and there is at least one.
        let answers = config.fan_out.unwrap_or(config.workers.len().saturating_sub(1).max(1));
        super::Arrivals { flows: queries * answers as f64 * f64::from(config.iterations), queries }
    }

    pub(super) fn expected_flows(&self) -> Option<u64> {
        self.expected_flows
    }
}

impl Workload for Queries {
    fn next(&mut self, now: Instant) -> Next {
        while let Some(entry) = self.agenda.entries.first_entry() {
            let at = entry.key().0;
            if at > now {
                return Next::Until(at);
            }
            match entry.remove() {
                Action::Ask { process } => self.ask(process, at),
                Action::Expire { query, iteration, asker } => {
                    self.change(query, now, |query, config, agenda| {
                        query.close(iteration, asker, now, config, agenda);
                    })
                }
                Action::Send(leg) => {
                    let (source, destination, size) = self.active[&leg.query].flow(leg, &self.config);
                    return Next::Flow(Flow {
                        at: now,
                        size: Some(size),
                        workload: self.config.workload,
                        leg: Some(leg),
                        ..Flow::between(source, destination)
                    });
                }
            }
        }
        if self.active.is_empty() { Next::Done } else { Next::Wait }
    }

    fn on_complete(&mut self, leg: Leg, now: Instant) {
        self.change(leg.query, now, |query, config, agenda| query.on_complete(leg, now, config, agenda));
    }

    fn queries(&self) -> &[QueryRecord] {
        &self.records
    }
}

impl Config {
    /// Client, aggregators and workers of the query with this root.
    fn draw(&self, client: Option<HostId>, seed: u64) -> (HostId, Vec<HostId>, Vec<HostId>) {
        let mut stream = Stream::new(seed, "participants", 0);
        let client = client.unwrap_or_else(|| self.clients[stream.below(self.clients.len() as u64) as usize]);
        let aggregators = self.aggregators.as_ref().map_or_else(Vec::new, |aggregators| {
            let others = aggregators.hosts.iter().copied().filter(|&host| host != client).collect();
            sample(others, aggregators.count, &mut stream)
        });
        let is_free = |host: &HostId| *host != client && !aggregators.contains(host);
        let free: Vec<HostId> = self.workers.iter().copied().filter(is_free).collect();
        let workers = match self.fan_out {
            Some(count) => sample(free, count, &mut stream),
            None => free,
        };
        (client, aggregators, workers)
    }

    /// Flows of all queries, if their number does not depend on what is drawn.
    pub(super) fn expected_flows(&self) -> Option<u64> {
        let queries = self.queries?;
        let works = |host: &HostId| self.workers.binary_search(host).is_ok();
        let (above, overlap) = match &self.aggregators {
            Some(aggregators) => (aggregators.count, aggregators.hosts.iter().any(works)),
            None => (0, false),
        };
        if overlap && self.fan_out.is_none() {
            return None;
        }
        let ways = if self.request == Bytes(0) { 1 } else { 2 };
        let flows = |client: &HostId| {
            let all = self.workers.len() - usize::from(works(client));
            (self.fan_out.unwrap_or(all) + above) as u64 * ways * u64::from(self.iterations)
        };
        let mut per_client = self.clients.iter().map(flows);
        let per_round = if self.drawn {
            let first = per_client.next()?;
            per_client.all(|flows| flows == first).then_some(first)?
        } else {
            per_client.sum()
        };
        Some(queries.saturating_mul(per_round))
    }
}

/// `count` of the hosts, every choice and order equally likely (Fisher and Yates).
fn sample(mut hosts: Vec<HostId>, count: usize, stream: &mut Stream) -> Vec<HostId> {
    for place in 0..count {
        let chosen = place + stream.below((hosts.len() - place) as u64) as usize;
        hosts.swap(place, chosen);
    }
    hosts.truncate(count);
    hosts
}
