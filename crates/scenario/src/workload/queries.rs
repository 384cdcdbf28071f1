//! The query workload, and records of the outcomes of queries. Queries start at random times, at equal intervals, or one after the other.
//!
//! The client, workers, delays and sizes of a query are drawn from a random stream that belongs to the query. The *k*-th query of a client
//! is therefore the same under every scheme, even if it starts at another time. Each host can also compute the query without communication.
//! Clients and aggregators send rounds of requests, workers respond to the requests that they receive, and each host acts only on data that
//! has reached it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant};

use super::asking::{Action, Agenda, Arrivals, Asker, Config, RoundName};
use super::interface::{self, Flow, Leg, LegKind, LocalHosts, Next, QueryRecord, Workload, times};
use super::query::{Plans, QueryPlan};

/// Arrival process of the queries of one client, or of all clients together.
#[derive(Clone, Debug)]
struct Process {
    /// Client that sends the queries; `None` if each query draws its client.
    client: Option<HostId>,
    asked: u32,
    clock: Instant,
    arrivals: Stream,
    /// Stream that draws a seed for each query; `seeds` has the seeds that are already drawn.
    roots: Stream,
    seeds: Vec<u64>,
}

/// Workload of queries, limited to the queries in which a set of hosts takes part.
#[derive(Clone, Debug)]
pub(crate) struct Queries {
    config: Arc<Config>,
    hosts: LocalHosts,
    processes: Vec<Process>,
    agenda: Agenda,
    plans: Plans,
    /// Unfinished queries whose clients are among `hosts`, by name.
    asked: BTreeMap<u32, Asked>,
    /// Rounds that wait for responses and whose requesters are among `hosts`.
    rounds: BTreeMap<RoundName, Round>,
    /// Number of flows that are scheduled or being sent. Valid only if `hosts` contains all hosts.
    legs: i64,
    records: Vec<QueryRecord>,
    expected_flows: Option<u64>,
}

/// State of an unfinished query, kept at its client.
#[derive(Clone, Debug)]
struct Asked {
    iteration: u16,
    /// Index of the query's record among all records.
    record: usize,
}

/// Round of requests that the client or an aggregator has sent. The round ends with its last response or at its deadline. TCP still
/// delivers later responses, but they are not counted.
#[derive(Clone, Debug)]
struct Round {
    missing: u32,
    answers: u32,
    bytes: Bytes,
    deadline: Option<Instant>,
}

impl Queries {
    /// Creates the workload. Queries begin at `config.start` or later. Enough workers and aggregators must be available to every client.
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
                seeds: Vec::new(),
            }
        };
        Self {
            processes: clients.into_iter().enumerate().map(process).collect(),
            expected_flows: config.expected_flows(),
            config: Arc::new(config),
            hosts: LocalHosts::all(),
            agenda: BTreeSet::new(),
            plans: Plans::default(),
            asked: BTreeMap::new(),
            rounds: BTreeMap::new(),
            legs: 0,
            records: Vec::new(),
        }
    }

    /// Returns the workload limited to the queries in which these hosts take part.
    pub(super) fn start(&self, hosts: &LocalHosts) -> Self {
        let mut queries = Self { hosts: hosts.clone(), ..self.clone() };
        for process in 0..queries.processes.len() as u32 {
            // Queries of clients at other hosts are needed only if workers in `hosts` respond without requests. If queries draw their
            // clients, all queries are needed, because a host in `hosts` can be drawn.
            let client = queries.processes[process as usize].client;
            if queries.config.is_unasked() || client.is_none_or(|client| hosts.has(client)) {
                queries.plan_first(process);
            }
        }
        queries
    }

    pub(crate) fn begin(&self) -> Instant {
        self.config.start
    }

    /// Returns whether an event at one host can start flows at another host at once, without a packet between them. This is possible if the
    /// end of a query can start another client's query, or if workers respond at the end of a query or iteration without receiving
    /// requests.
    pub(super) fn crosses_hosts(&self) -> bool {
        let Config { drawn, iterations, queries, .. } = *self.config;
        let in_turn = matches!(self.config.arrivals, Arrivals::ClosedLoop(_)) && queries != Some(1);
        (in_turn && (drawn || self.config.is_unasked())) || (iterations > 1 && self.config.is_unasked())
    }

    fn plan_first(&mut self, process: u32) {
        match self.config.arrivals {
            Arrivals::Poisson(_) => self.plan_next(process),
            Arrivals::Periodic(_) | Arrivals::ClosedLoop(_) => self.plan(process, self.config.start),
        }
    }

    /// Schedules the next query of an arrival process, if the query's time does not depend on previous queries.
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
        if at <= self.config.end && self.config.queries.is_none_or(|queries| u64::from(*asked) < queries) {
            *clock = at;
            self.agenda.insert((at, Action::Ask { process }));
        }
    }

    /// Returns the plan of the query with this name.
    fn plan_of(&mut self, name: u32) -> Arc<QueryPlan> {
        let Self { processes, plans, config, .. } = self;
        plans.get(name, || {
            let count = processes.len() as u32;
            let process = &mut processes[(name % count) as usize];
            let place = (name / count) as usize;
            while process.seeds.len() <= place {
                process.seeds.push(process.roots.next_u64());
            }
            QueryPlan::draw(config, process.client, process.seeds[place])
        })
    }

    fn ask(&mut self, process: u32, at: Instant) {
        let count = self.processes.len() as u32;
        let asking = &mut self.processes[process as usize];
        let name = asking.asked.checked_mul(count).and_then(|first| first.checked_add(process));
        let name = name.expect("fewer than 2^32 queries");
        asking.asked += 1;
        let plan = self.plan_of(name);
        if self.hosts.has(plan.client) {
            self.asked.insert(name, Asked { iteration: 0, record: self.records.len() });
            self.records.push(QueryRecord {
                name,
                client: plan.client,
                start: at,
                completed_at: None,
                responses: plan.workers() * u32::from(self.config.iterations),
                in_time: 0,
                bytes: Bytes(0),
            });
        }
        self.open(&plan, RoundName { query: name, iteration: 0, asker: Asker::Client }, at);
        self.plan_next(process);
    }

    /// Opens a round and schedules its requests. If workers respond without requests, schedules the responses of all workers below the
    /// requester instead.
    fn open(&mut self, plan: &QueryPlan, round: RoundName, now: Instant) {
        let RoundName { query, iteration, asker } = round;
        let (members, patience) = plan.asked_by(asker, &self.config);
        if self.hosts.has(plan.host_of(asker)) {
            let deadline = patience.map(|patience| now + patience);
            let missing = members.len() as u32;
            self.rounds.insert(round, Round { missing, answers: 0, bytes: Bytes(0), deadline });
            self.agenda.extend(deadline.map(|deadline| (deadline, Action::Expire(round))));
        }
        let unasked = self.config.is_unasked();
        for member in members {
            if unasked && !plan.is_worker(member) {
                // Without requests, the workers below an aggregator start when the client's round opens.
                self.open(plan, RoundName { asker: Asker::Aggregator(member), ..round }, now);
                continue;
            }
            let (sender, kind, answers) = match unasked {
                true => (plan.host(member), LegKind::Answer, 1),
                false => (plan.host_of(asker), LegKind::Request, 0),
            };
            if self.hosts.has(sender) {
                let delay = plan.delay(member, iteration, self.config.jitter);
                self.send(Leg { query, member, iteration, kind, answers }, now + delay);
            }
        }
    }

    fn send(&mut self, leg: Leg, at: Instant) {
        self.legs += 1;
        self.agenda.insert((at, Action::Send(leg)));
    }

    /// Ends a round after its last response or at its deadline. If an aggregator sent the requests, it then responds to the client.
    fn close(&mut self, plan: &QueryPlan, name: RoundName, now: Instant) {
        let RoundName { query, iteration, asker } = name;
        let round = self.rounds.remove(&name).expect("a round is closed once");
        if let Some(deadline) = round.deadline {
            self.agenda.remove(&(deadline, Action::Expire(name)));
        }
        let member = match asker {
            Asker::Aggregator(member) => member,
            Asker::Client => return self.end_iteration(plan, query, &round, now),
        };
        self.send(Leg { query, member, iteration, kind: LegKind::Answer, answers: round.answers }, now);
    }

    /// Ends an iteration of a query at its client, and starts the next iteration or ends the query.
    fn end_iteration(&mut self, plan: &QueryPlan, query: u32, round: &Round, now: Instant) {
        let asked = self.asked.get_mut(&query).expect("a query is asked until its last iteration ends");
        let record = &mut self.records[asked.record];
        record.in_time += round.answers;
        record.bytes += round.bytes;
        asked.iteration += 1;
        let iteration = asked.iteration;
        if iteration < self.config.iterations {
            return self.open(plan, RoundName { query, iteration, asker: Asker::Client }, now);
        }
        record.completed_at = Some(now);
        self.asked.remove(&query);
        if let Arrivals::ClosedLoop(think_time) = self.config.arrivals {
            self.plan(query % self.processes.len() as u32, now + think_time);
        }
    }

    /// Returns the expected numbers of queries and of their workers' responses. If the run has an end, queries that wait for the end of
    /// another query are not counted, because their times are unknown.
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
        // If `fan_out` is not set, all workers except the client respond, and there is at least one.
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
        while let Some(&(at, action)) = self.agenda.first() {
            if at > now {
                return Next::Until(at);
            }
            self.agenda.pop_first();
            match action {
                Action::Ask { process } => self.ask(process, at),
                Action::Expire(round) => {
                    let plan = self.plan_of(round.query);
                    self.close(&plan, round, now);
                }
                Action::Send(leg) => {
                    let (source, destination, size) = self.plan_of(leg.query).flow(leg, &self.config);
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
        let is_over = self.asked.is_empty() && self.rounds.is_empty() && self.legs == 0;
        if is_over { Next::Done } else { Next::Wait }
    }

    fn due(&self) -> Option<Instant> {
        self.agenda.first().map(|&(at, _)| at)
    }

    fn on_complete(&mut self, leg: Leg, now: Instant) {
        self.legs -= 1;
        let plan = self.plan_of(leg.query);
        let Leg { query, member, iteration, .. } = leg;
        let asker = plan.asker(member);
        match leg.kind {
            LegKind::Request if plan.is_worker(member) => {
                self.send(Leg { kind: LegKind::Answer, answers: 1, ..leg }, now);
            }
            LegKind::Request => {
                self.open(&plan, RoundName { query, iteration, asker: Asker::Aggregator(member) }, now);
            }
            LegKind::Answer => {
                let name = RoundName { query, iteration, asker };
                // The response is too late if its round has ended.
                let Some(round) = self.rounds.get_mut(&name) else { return };
                round.missing -= 1;
                round.answers += leg.answers;
                round.bytes += plan.answer_size(leg, &self.config);
                if round.missing == 0 {
                    self.close(&plan, name, now);
                }
            }
        }
    }

    fn queries(&self) -> &[QueryRecord] {
        &self.records
    }
}

impl Config {
    /// Returns whether workers respond without requests.
    fn is_unasked(&self) -> bool {
        self.request == Bytes(0)
    }

    /// Draws the client (unless it is given), the aggregators and the workers of the query with this seed.
    pub(super) fn draw(&self, client: Option<HostId>, seed: u64) -> (HostId, Vec<HostId>, Vec<HostId>) {
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

    /// Returns the number of flows of all queries; `None` if this number is unbounded or depends on random draws.
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

/// Draws `count` of the hosts. Every selection in every order is equally likely (Fisher and Yates).
fn sample(mut hosts: Vec<HostId>, count: usize, stream: &mut Stream) -> Vec<HostId> {
    for place in 0..count {
        let chosen = place + stream.below((hosts.len() - place) as u64) as usize;
        hosts.swap(place, chosen);
    }
    hosts.truncate(count);
    hosts
}
