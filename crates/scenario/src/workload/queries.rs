//! Queries that are asked at random times, at equal intervals or one after the other; and what becomes of them.
//!
//! Clients, workers, delays and sizes of a query are drawn from a root of its own, so that the *k*-th query of a client is
//! the same under every scheme, whenever its turn comes.

use std::collections::BTreeMap;
use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant};

use super::asking::{Action, Agenda, Arrivals, Config};
use super::interface::{self, Flow, Leg, Next, QueryRecord, Workload, times};
use super::query::Query;

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
    pub(super) fn arrivals(&self, end: Option<Instant>) -> interface::Arrivals {
        let config = &self.config;
        let each = match (config.arrivals, end) {
            (Arrivals::Poisson(gap) | Arrivals::Periodic(gap), _) => {
                times(config.start, end, gap.0 as f64, config.queries)
            }
            (Arrivals::ClosedLoop(_), None) => config.queries.unwrap_or(0) as f64,
            (Arrivals::ClosedLoop(_), Some(_)) => 0.0,
        };
        let queries = each * if config.drawn { 1.0 } else { config.clients.len() as f64 };
        // All others are asked where none are drawn, and there is at least one.
        let answers = config.fan_out.unwrap_or(config.workers.len().saturating_sub(1).max(1));
        interface::Arrivals { flows: queries * answers as f64 * f64::from(config.iterations), queries }
    }

    pub(super) fn expected_flows(&self) -> Option<u64> {
        self.expected_flows
    }

    pub(super) fn shares(&self) -> bool {
        self.config.shared
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
