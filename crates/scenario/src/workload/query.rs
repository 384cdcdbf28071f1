//! The plan of one query: who takes part in it, and what each of its flows is. All of it follows from the query's root, so that
//! every host can work it out for itself.
//!
//! Its members are workers and, with two levels, the aggregators above them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration};

use super::asking::{Asker, Config, Response};
use super::interface::{Leg, LegKind};

/// Members of a query and their roles.
#[derive(Debug)]
pub(super) struct QueryPlan {
    pub(super) client: HostId,
    members: Vec<Member>,
    /// The first so many members are asked by the client.
    direct: u32,
    /// Root of what its flows draw.
    seed: u64,
}

/// Someone who was asked.
#[derive(Clone, Debug)]
struct Member {
    host: HostId,
    asker: Asker,
    /// Members that it asks in its turn; none if it is a worker.
    below: Range<u32>,
}

impl QueryPlan {
    /// The query with this root; of this client, unless it draws it.
    pub(super) fn draw(config: &Config, client: Option<HostId>, seed: u64) -> Self {
        let (client, aggregators, workers) = config.draw(client, seed);
        Self { client, seed, ..Self::of(&aggregators, &workers) }
    }

    /// A query to `workers`, in equal parts through `aggregators` if there are any.
    fn of(aggregators: &[HostId], workers: &[HostId]) -> Self {
        let (above, all) = (aggregators.len(), workers.len());
        let asked_by_client = if above == 0 { all } else { above };
        let worker = |asker| move |&host: &HostId| Member { host, asker, below: 0..0 };
        let mut members = Vec::with_capacity(above + all);
        // Aggregator i has workers i·n/m to (i+1)·n/m: parts that differ by one at most.
        let part = |i: usize| i * all / above..(i + 1) * all / above;
        members.extend(aggregators.iter().enumerate().map(|(i, &host)| {
            let Range { start, end } = part(i);
            Member { host, asker: Asker::Client, below: (above + start) as u32..(above + end) as u32 }
        }));
        if above == 0 {
            members.extend(workers.iter().map(worker(Asker::Client)));
        }
        for i in 0..above {
            members.extend(workers[part(i)].iter().map(worker(Asker::Aggregator(i as u32))));
        }
        Self { client: HostId(0), members, direct: asked_by_client as u32, seed: 0 }
    }

    /// Where someone who asks is.
    pub(super) fn host_of(&self, asker: Asker) -> HostId {
        match asker {
            Asker::Client => self.client,
            Asker::Aggregator(member) => self.host(member),
        }
    }

    /// Where a member is.
    pub(super) fn host(&self, member: u32) -> HostId {
        self.members[member as usize].host
    }

    /// Host that sends the request to a member.
    pub(super) fn asker(&self, member: u32) -> Asker {
        self.members[member as usize].asker
    }

    /// Whether a member asks nobody in its turn.
    pub(super) fn is_worker(&self, member: u32) -> bool {
        self.members[member as usize].below.is_empty()
    }

    /// Whom `asker` asks, and how long it waits for them.
    pub(super) fn asked_by(&self, asker: Asker, config: &Config) -> (Range<u32>, Option<Duration>) {
        match asker {
            Asker::Client => (0..self.direct, config.deadline),
            Asker::Aggregator(member) => {
                let patience = config.aggregators.as_ref().and_then(|aggregators| aggregators.deadline);
                (self.members[member as usize].below.clone(), patience)
            }
        }
    }

    /// How much later than it could a request leaves. Every leg draws from a stream of its own, so that the order in which
    /// answers come does not change what is drawn.
    pub(super) fn delay(&self, member: u32, iteration: u16, jitter: Duration) -> Duration {
        if jitter == Duration::ZERO {
            return jitter;
        }
        Duration(self.stream("jitter", member, iteration).below(jitter.0 + 1))
    }

    fn stream(&self, purpose: &str, member: u32, iteration: u16) -> Stream {
        Stream::new(self.seed, purpose, u64::from(iteration) << 32 | u64::from(member))
    }

    /// From whom to whom a leg goes, and how large it is.
    pub(super) fn flow(&self, leg: Leg, config: &Config) -> (HostId, HostId, Bytes) {
        let member = self.host(leg.member);
        let asker = self.host_of(self.asker(leg.member));
        match leg.kind {
            LegKind::Request => (asker, member, config.request),
            LegKind::Answer => (member, asker, self.answer_size(leg, config)),
        }
    }

    pub(super) fn answer_size(&self, leg: Leg, config: &Config) -> Bytes {
        if let Some(aggregators) = &config.aggregators
            && !self.is_worker(leg.member)
        {
            return aggregators.size;
        }
        match &config.response {
            Response::Each(size) => *size,
            Response::Total(total) => Bytes(total.0.div_ceil(u64::from(self.workers()))),
            Response::Drawn(sizes) => {
                sizes.quantile(self.stream("sizes", leg.member, leg.iteration).uniform())
            }
        }
    }

    /// How many workers it has.
    pub(super) fn workers(&self) -> u32 {
        let workers = self.members.iter().filter(|member| member.below.is_empty());
        workers.count() as u32
    }
}

/// Members of the plans that are kept: those of some ten thousand queries, some tens of megabytes.
const KEPT: usize = 1 << 20;

/// Plans of late, by name of their query. One that is gone is drawn again.
#[derive(Clone, Debug, Default)]
pub(super) struct Plans {
    plans: BTreeMap<u32, Arc<QueryPlan>>,
    /// The oldest first.
    names: VecDeque<u32>,
    members: usize,
}

impl Plans {
    /// The plan of this query, which `draw` draws.
    pub(super) fn get(&mut self, name: u32, draw: impl FnOnce() -> QueryPlan) -> Arc<QueryPlan> {
        if let Some(plan) = self.plans.get(&name) {
            return Arc::clone(plan);
        }
        let plan = Arc::new(draw());
        self.members += plan.members.len();
        self.plans.insert(name, Arc::clone(&plan));
        self.names.push_back(name);
        while self.members > KEPT && self.names.len() > 1 {
            let oldest = self.names.pop_front().and_then(|oldest| self.plans.remove(&oldest));
            self.members -= oldest.map_or(0, |oldest| oldest.members.len());
        }
        plan
    }
}
