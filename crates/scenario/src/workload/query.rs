//! Plan of one query: its participants and its flows. The plan follows from the query's seed alone, so every host can compute it.
//!
//! The members of a query are its workers and, if the query has two levels, the aggregators between client and workers.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration};

use super::asking::{Asker, Config, Response};
use super::interface::{Leg, LegKind};

/// Participants of a query and their roles.
#[derive(Debug)]
pub(super) struct QueryPlan {
    pub(super) client: HostId,
    members: Vec<Member>,
    /// Number of members to which the client itself sends requests: the first entries of `members`.
    direct: u32,
    /// Seed of the random draws for the query's flows.
    seed: u64,
}

/// Aggregator or worker of a query.
#[derive(Clone, Debug)]
struct Member {
    host: HostId,
    asker: Asker,
    /// Indices of the members to which an aggregator sends requests; empty for a worker.
    below: Range<u32>,
}

impl QueryPlan {
    /// Draws the query with this seed. If `client` is `None`, the client is drawn too.
    pub(super) fn draw(config: &Config, client: Option<HostId>, seed: u64) -> Self {
        let (client, aggregators, workers) = config.draw(client, seed);
        Self { client, seed, ..Self::of(&aggregators, &workers) }
    }

    /// Creates the plan of a query to `workers`. If there are aggregators, each has an equal part of the workers.
    fn of(aggregators: &[HostId], workers: &[HostId]) -> Self {
        let (above, all) = (aggregators.len(), workers.len());
        let asked_by_client = if above == 0 { all } else { above };
        let worker = |asker| move |&host: &HostId| Member { host, asker, below: 0..0 };
        let mut members = Vec::with_capacity(above + all);
        // Aggregator i has the workers from i·n/m up to (i+1)·n/m, so the numbers of workers differ by one at most.
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

    /// Returns the host of a requester.
    pub(super) fn host_of(&self, asker: Asker) -> HostId {
        match asker {
            Asker::Client => self.client,
            Asker::Aggregator(member) => self.host(member),
        }
    }

    /// Returns the host of a member.
    pub(super) fn host(&self, member: u32) -> HostId {
        self.members[member as usize].host
    }

    /// Returns the requester from which a member gets its request.
    pub(super) fn asker(&self, member: u32) -> Asker {
        self.members[member as usize].asker
    }

    /// Returns whether a member is a worker, which sends no requests.
    pub(super) fn is_worker(&self, member: u32) -> bool {
        self.members[member as usize].below.is_empty()
    }

    /// Returns the range of members to which `asker` sends requests, and the maximum time for which `asker` waits for responses.
    pub(super) fn asked_by(&self, asker: Asker, config: &Config) -> (Range<u32>, Option<Duration>) {
        match asker {
            Asker::Client => (0..self.direct, config.deadline),
            Asker::Aggregator(member) => {
                let patience = config.aggregators.as_ref().and_then(|aggregators| aggregators.deadline);
                (self.members[member as usize].below.clone(), patience)
            }
        }
    }

    /// Draws the delay of a member's request, or of its response if there are no requests. Each member has its own stream in each
    /// iteration, so the order in which responses arrive does not change the delays.
    pub(super) fn delay(&self, member: u32, iteration: u16, jitter: Duration) -> Duration {
        if jitter == Duration::ZERO {
            return jitter;
        }
        Duration(self.stream("jitter", member, iteration).below(jitter.0 + 1))
    }

    fn stream(&self, purpose: &str, member: u32, iteration: u16) -> Stream {
        Stream::new(self.seed, purpose, u64::from(iteration) << 32 | u64::from(member))
    }

    /// Returns the sender, the receiver and the size of the flow that carries `leg`, a part of the query.
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

    /// Returns the number of workers of the query.
    pub(super) fn workers(&self) -> u32 {
        let workers = self.members.iter().filter(|member| member.below.is_empty());
        workers.count() as u32
    }
}

/// Maximum number of members in all kept plans together. This is enough for about ten thousand queries and takes some tens of megabytes.
const KEPT: usize = 1 << 20;

/// Recently drawn plans, by the name of the query. A plan that is no longer kept is drawn again when it is needed.
#[derive(Clone, Debug, Default)]
pub(super) struct Plans {
    plans: BTreeMap<u32, Arc<QueryPlan>>,
    /// Names of the kept plans, oldest first.
    names: VecDeque<u32>,
    members: usize,
}

impl Plans {
    /// Returns the plan of the query with this name. If the plan is not kept, `draw` draws it.
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
